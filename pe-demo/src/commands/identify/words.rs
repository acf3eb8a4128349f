//! The report on a tensor in words.

use pe_core::{
    Identified, LearnedStatistics, Preset, RopeScaling, RotaryColumns, SinusoidalConfig,
};

use super::Report;
use super::document::part_name;
use crate::terminal::page::Page;
use crate::terminal::width::clean;

/// Writes the name of a tensor, its convention, and how well it agrees.
pub(crate) fn tensor(page: &mut Page, report: &Report) {
    let (dtype, shape) = (clean(&report.dtype, 12), &report.shape);
    page.wrap(
        "",
        &format!("{}  {dtype} {shape:?}", clean(&report.name, 200)),
    );
    page.wrap("  ", &convention(report));
    if let Some(agreement) = report.identification.agreement {
        let share = 100.0 * agreement.equal_share;
        let words = match agreement.equal_share {
            1.0 => "all entries are equal to the computed ones, bit for bit".to_owned(),
            _ => format!(
                "{share:.1}% of the entries are equal to the computed ones; the largest difference is {:.1e}",
                agreement.largest_error
            ),
        };
        page.wrap("  ", &words);
    }
    if let Some(statistics) = &report.statistics {
        let not_finite = match statistics.not_finite {
            0 => String::new(),
            count => format!("; {count} not finite"),
        };
        if statistics.least.is_finite() {
            page.wrap(
                "  ",
                &format!(
                    "from {:.6} to {:.6}, mean {:.6}{not_finite}",
                    statistics.least, statistics.largest, statistics.mean
                ),
            );
        }
    }
}

/// Returns the convention in a sentence.
pub(crate) fn convention(report: &Report) -> String {
    match &report.identification.found {
        Identified::Sinusoidal {
            config,
            start,
            step,
            scale,
            presets,
        } => sinusoidal(config, presets, [*start, *step, *scale]),
        Identified::Rotary {
            config,
            part,
            columns,
            attention_factor,
        } => {
            let columns = match columns {
                RotaryColumns::Once => "one column for each frequency",
                RotaryColumns::Concatenated => "all frequencies twice (half-split pairs)",
                RotaryColumns::Repeated => "each frequency twice in a row (interleaved pairs)",
            };
            let factor = match attention_factor {
                1.0 => String::new(),
                factor => format!(", times {factor}"),
            };
            format!(
                "rotary: {} from position 0, base {}, {}, {columns}{factor}; recipe {}",
                part_name(*part),
                config.base,
                scaling(&config.scaling),
                config.recipe.name()
            )
        }
        Identified::InvFreq { config } => format!(
            "frequencies of a rotary embedding: {} columns, base {}, {}; recipe {}",
            config.rotary_dim,
            config.base,
            scaling(&config.scaling),
            config.recipe.name()
        ),
        Identified::Alibi { config, keys, .. } => format!(
            "ALiBi: {} of {} heads, largest exponent {}",
            match keys {
                Some(keys) => format!("biases over {keys} keys"),
                None => "slopes".to_owned(),
            },
            config.num_heads,
            config.bias_max
        ),
        Identified::Grid { preset, sides } => {
            let sides: Vec<String> = sides.iter().map(usize::to_string).collect();
            format!(
                "sinusoidal grid of {}: {}",
                sides.join(" x "),
                preset.name()
            )
        }
        Identified::Learned(statistics) => learned(statistics),
        Identified::Unknown { reason } => format!("no table of positions: {reason}"),
        other => other.name().to_owned(),
    }
}

/// Returns the words for a sinusoidal table with its first position, step, and scale.
fn sinusoidal(
    config: &SinusoidalConfig,
    presets: &[Preset],
    [start, step, scale]: [f64; 3],
) -> String {
    let names: Vec<&str> = presets.iter().map(|preset| preset.name()).collect();
    let mut words = format!(
        "sinusoidal: {}, spacing {}, base {}, positions from {start}",
        config.layout.name(),
        config.spacing.name(),
        config.base.value(),
    );
    if step != 1.0 {
        words += &format!(" in steps of {step}");
    }
    if scale != 1.0 {
        words += &format!(", times {scale}");
    }
    if config.d_model % 2 == 1 {
        words += &format!(", odd width: {}", config.odd_width.name());
    }
    if let Some(row) = config.padding_idx {
        words += &format!(", zeros at position {row}");
    }
    words += &format!("; recipe {}", config.recipe.name());
    match names.is_empty() {
        true => words,
        false => format!("{words}; as in {}", names.join(", ")),
    }
}

/// Returns the words for a table without a known convention.
fn learned(statistics: &LearnedStatistics) -> String {
    let mut words = format!(
        "none of the known conventions, so learned or something else; norms of the rows from {:.3} to {:.3}",
        statistics.least_norm, statistics.largest_norm
    );
    if let Some(near) = statistics.neighbor_similarity {
        words += &format!("; cosine of neighboring rows {near:.2}");
    }
    if let Some(far) = statistics.distant_similarity {
        words += &format!(", of distant ones {far:.2}");
    }
    words
}

fn scaling(scaling: &RopeScaling) -> String {
    match scaling {
        RopeScaling::Default => "no scaling".to_owned(),
        RopeScaling::Linear { factor } => format!("linear scaling by {factor}"),
        RopeScaling::Llama3(llama3) => format!(
            "llama3 scaling by {} from {} positions",
            llama3.factor, llama3.original_max_position_embeddings
        ),
        RopeScaling::Yarn(yarn) => format!(
            "yarn scaling by {} from {} positions",
            yarn.factor, yarn.original_max_position_embeddings
        ),
        other => format!("{} scaling", other.name()),
    }
}
