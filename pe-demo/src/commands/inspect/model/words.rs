//! The explanation as a page.

use pe_core::hf_config::{HfKey, HfPositions, HfRotary};
use pe_core::{Direction, Mrope, MropeArrangement, RopeScaling, RotaryConfig};

use super::{Layer, Source};
use crate::terminal::numbers::{short, wavelength};
use crate::terminal::page::Page;
use crate::terminal::width::{clean, clean_path};
use crate::words::lengths::{Rates, Set, Within, number, ranges};
use crate::words::rotary;

pub(super) fn page(source: &Source<'_>, model: &HfRotary, layers: &[Layer<'_>]) -> Page {
    let mut page = start(source, model.model_type.as_deref());
    if layers.is_empty() {
        page.line("  no type of layers has a rotary embedding");
    }
    for layer in layers {
        explain(&mut page, layer);
    }
    if let Some(temperature) = &model.unrotated_temperature {
        page.heading("Layers without a rotary embedding");
        page.wrap("  ", &rotary::temperature(temperature));
    }
    end(&mut page, &model.keys, &model.warnings);
    page
}

/// Describes a model without a rotary embedding.
pub(super) fn other(source: &Source<'_>, positions: &HfPositions) -> Page {
    let mut page = start(source, positions.model_type.as_deref());
    page.heading("Positions");
    page.line("  no rotary embedding");
    for scheme in &positions.schemes {
        page.wrap(
            "  ",
            &format!("{}: {}", scheme.name(), scheme.explanation()),
        );
    }
    if let Some(note) = positions.note {
        page.wrap("  ", note);
    }
    end(&mut page, &positions.keys, &positions.warnings);
    page
}

fn start(source: &Source<'_>, model_type: Option<&str>) -> Page {
    let mut page = Page::new();
    page.wrap("", &clean_path(source.file));
    let of = match model_type {
        Some(name) => format!("model_type {}", clean(name, 80)),
        None => "no model_type".to_owned(),
    };
    page.wrap(
        "  ",
        &format!(
            "{} bytes; a model's configuration, {of}",
            number(source.bytes)
        ),
    );
    page
}

fn end(page: &mut Page, keys: &[HfKey], warnings: &[String]) {
    page.heading("Effect of each key");
    if keys.is_empty() {
        page.line("  no key says anything about positions");
    }
    for key in keys {
        let line = format!("{} = {}: {}", key.path, key.value, key.meaning);
        page.wrap("  - ", &clean(&line, 400));
    }
    page.heading("Keys not understood");
    if warnings.is_empty() {
        page.line("  nothing");
    }
    for warning in warnings {
        page.wrap("  - ", &clean(warning, 400));
    }
}

fn explain(page: &mut Page, (layer, Rates { before, sets }): &Layer<'_>) {
    let config = &layer.rotary;
    let pairs = config.rotary_dim / 2;
    page.heading(&match &layer.layer_type {
        None => "Rotary embedding".to_owned(),
        Some(name) => format!("Rotary embedding of {} layers", clean(name, 40)),
    });
    let (a, b) = layer.layout.columns(1, pairs);
    let turning = sets.iter().map(Set::turning).max().unwrap_or(0);
    let of_pairs = if turning < pairs {
        format!("{turning} of {pairs}")
    } else {
        pairs.to_string()
    };
    page.wrap(
        "  ",
        &format!(
            "{} of the {} columns of a head turn, in {of_pairs} pairs ({}: pair 1 is columns {a} \
             and {b})",
            2 * turning,
            layer.head_dim,
            layer.layout.name()
        ),
    );
    page.wrap("  ", &format!("type: {}", meaning(config)));
    page.wrap("  ", &format!("base {}", short(config.base)));
    if config.direction == Direction::Clockwise {
        page.wrap("  ", "clockwise: sines are negated");
    }
    if config.scaling != RopeScaling::Default {
        page.wrap("  ", &rotary::scaling(&config.scaling));
    }
    if let Some(mrope) = &layer.mrope {
        page.wrap("  ", &axes(mrope));
    }
    for temperature in &layer.temperatures {
        page.wrap("  ", &rotary::temperature(temperature));
    }
    if let Some(before) = before {
        page.wrap("  ", &sentence(&before.within, pairs));
    }
    for set in sets {
        page.wrap("  ", &format!("{}:", set.sequences));
        turns(page, set);
    }
    if before.is_none() && sets.iter().all(|set| set.within.is_empty()) {
        page.wrap(
            "  ",
            "no key says how long sequences become, and so which pairs complete a turn",
        );
    }
}

fn turns(page: &mut Page, set: &Set) {
    let all = &set.wavelengths;
    let turning = || all.iter().enumerate().filter(|(_, w)| w.is_finite());
    let least = turning().min_by(|a, b| a.1.total_cmp(b.1));
    let most = turning().max_by(|a, b| a.1.total_cmp(b.1));
    if let (Some((fast, shortest)), Some((slow, longest))) = (least, most) {
        page.wrap(
            "    ",
            &format!(
                "a turn takes {} positions in pair {fast}, the fastest, and {} in pair {slow}, \
                 the slowest",
                wavelength(*shortest),
                wavelength(*longest)
            ),
        );
    }
    let still: Vec<usize> = (0..all.len())
        .filter(|pair| all[*pair].is_infinite())
        .collect();
    if !still.is_empty() {
        page.wrap(
            "    ",
            &format!(
                "pairs {} ({} of {}) do not turn at all",
                ranges(&still),
                still.len(),
                all.len()
            ),
        );
    }
    page.wrap(
        "    ",
        &match set.frequencies.attention_factor() {
            1.0 => "cosines and sines are multiplied by nothing (attention factor 1)".to_owned(),
            factor => format!(
                "cosines and sines are multiplied by the attention factor {}",
                short(factor)
            ),
        },
    );
    for within in &set.within {
        page.wrap("    ", &sentence(within, all.len()));
    }
}

/// Describes the pairs that never complete a turn within a length.
fn sentence(within: &Within, all: usize) -> String {
    let pairs = ranges(&within.incomplete);
    let what = match within.incomplete.len() {
        0 => "every pair completes a turn".to_owned(),
        1 => format!("pair {pairs} (1 of {all}) never completes a turn"),
        count => format!("pairs {pairs} ({count} of {all}) never complete a turn"),
    };
    format!("{}: {what}", within.words)
}

/// Describes the type in words.
fn meaning(config: &RotaryConfig) -> String {
    let name = config.scaling.name();
    let what = match &config.scaling {
        RopeScaling::Default => "the frequencies are powers of the base, unchanged",
        RopeScaling::Linear { .. } => {
            "all frequencies are divided by the factor: positions seem closer together"
        }
        RopeScaling::Dynamic { .. } => {
            "the base grows with the sequence once it is longer than max_position_embeddings"
        }
        RopeScaling::Yarn(_) => {
            "fast pairs stay as they are, slow ones are slowed down by the factor, with a ramp \
             between; cosines and sines are multiplied by an attention factor"
        }
        RopeScaling::LongRope(_) => {
            "each pair is slowed down by a divisor of its own, from one list up to the trained \
             length and from another beyond"
        }
        RopeScaling::Llama3(_) => {
            "pairs with many turns within the trained length stay as they are, those with few are \
             slowed down by the factor, with a smooth change between"
        }
        RopeScaling::Proportional { .. } => {
            "the frequencies are spread over the whole head, of which only the first pairs turn"
        }
        _ => return name.to_owned(),
    };
    format!("{name}: {what}")
}

/// Describes the pairs that follow time, height, and width.
fn axes(mrope: &Mrope) -> String {
    let [time, height, width] = mrope.sections;
    let how = match mrope.arrangement {
        MropeArrangement::Chunked => "one after the other",
        MropeArrangement::Interleaved => "in turn",
        MropeArrangement::SpatialFirst => "height and width in turn, then time",
    };
    format!("{time} pairs follow time, {height} height and {width} width, {how}")
}
