//! `pe-demo export`: a table in a safetensors file.

mod rotary;

use std::io::Write;

use anyhow::{Context, Result, bail};
use pe_candle::checkpoint::{self, DEFAULT_TENSOR, SinusoidalSpec};
use pe_core::{Base, Error, POSITIONS, Recipe, Sinusoidal, SinusoidalConfig, Spacing};

use crate::cli::{ExportArgs, TableArg};
use crate::terminal::console::{BadUsage, Outcome};
use crate::terminal::page::{self, Page, short};

pub(crate) use rotary::describe as describe_rotary;

pub(crate) fn run(args: &ExportArgs, out: &mut dyn Write) -> Result<Outcome> {
    refuse_foreign(args)?;
    match args.scheme {
        TableArg::Sinusoidal => sinusoidal(args, out),
        TableArg::Rotary => rotary::run(args, out),
    }
}

/// Options of the other scheme would be ignored.
fn refuse_foreign(args: &ExportArgs) -> Result<()> {
    let rotary = &args.rotary;
    let (scheme, other, options) = match args.scheme {
        TableArg::Sinusoidal => (
            "sinusoidal",
            "rotary",
            &[
                ("--config", rotary.config.is_some()),
                ("--layer-type", rotary.layer_type.is_some()),
                ("--unknown-keys", rotary.unknown_keys.is_some()),
                ("--head-dim", rotary.head_dim.is_some()),
                ("--rotary-dim", rotary.rotary_dim.is_some()),
                ("--theta", rotary.theta.is_some()),
                ("--scaling", rotary.scaling.is_some()),
                ("--seq-len", rotary.seq_len.is_some()),
            ][..],
        ),
        TableArg::Rotary => (
            "rotary",
            "sinusoidal",
            &[
                ("--d-model", args.d_model.is_some()),
                ("--preset", args.preset.is_some()),
                ("--base", args.base.is_some()),
                ("--min-rate", args.min_rate.is_some()),
                ("--layout", args.layout.is_some()),
                ("--spacing", args.spacing.is_some()),
                ("--odd-width", args.odd_width.is_some()),
            ][..],
        ),
    };
    let given: Vec<&str> = options
        .iter()
        .filter_map(|(name, given)| given.then_some(*name))
        .collect();
    if given.is_empty() {
        return Ok(());
    }
    bail!(BadUsage(format!(
        "not with --scheme {scheme}: {} (of --scheme {other})",
        given.join(", ")
    )))
}

fn sinusoidal(args: &ExportArgs, out: &mut dyn Write) -> Result<Outcome> {
    let (Some(d_model), Some(rows)) = (args.d_model, args.max_seq_len) else {
        bail!(BadUsage(
            "--scheme sinusoidal needs --d-model and --max-seq-len".to_owned()
        ));
    };
    let encoding = encoding(args, config(args, d_model)?, rows)?;
    let spec = SinusoidalSpec::of(encoding, args.start, rows, args.dtype.into())
        .with_context(|| page::path(&args.output))?;
    checkpoint::export(&args.output, &spec)?;

    let mut page = Page::new();
    page.wrap("wrote ", &page::path(&args.output));
    page.line(format!(
        "  tensor {DEFAULT_TENSOR} [{}, {}] {}, {} bytes of numbers",
        spec.rows(),
        spec.config().d_model,
        spec.dtype().as_str(),
        page::thousands(spec.bytes().unwrap_or(0)),
    ));
    page.wrap("  ", &describe(&spec));
    out.write_all(page.text().as_bytes())?;
    Ok(Outcome::Success)
}

/// The preset's parts, or the paper's, where no option says otherwise.
fn config(args: &ExportArgs, d_model: usize) -> Result<SinusoidalConfig> {
    let mut config = match args.preset {
        Some(preset) => preset.config(d_model),
        None => SinusoidalConfig::new(d_model),
    };
    if let Some(base) = args.base {
        config.base = Base::Value(base);
    }
    if let Some(rate) = args.min_rate {
        config.base = Base::MinRate(rate);
    }
    if let Some(layout) = args.layout {
        config.layout = layout.into();
    }
    if let Some(spacing) = args.spacing {
        config.spacing = spacing;
    }
    if let Some(odd) = args.odd_width {
        config.odd_width = odd.into();
    }
    if let Some(recipe) = args.recipe {
        let Some(recipe) = recipe.additive() else {
            bail!(BadUsage(
                "--recipe hf-f32 is of --scheme rotary; that of --scheme sinusoidal is exact, \
                 exp-f32 or pow-f32"
                    .to_owned()
            ));
        };
        config.recipe = recipe;
    }
    Ok(config)
}

/// What each option alone cannot tell. (The size of the table is not bad usage: it is checked
/// before the file is written.)
fn encoding(args: &ExportArgs, config: SinusoidalConfig, rows: usize) -> Result<Sinusoidal> {
    check_positions(args.start, rows)?;
    match Sinusoidal::new(config) {
        Ok(encoding) => Ok(encoding),
        Err(error) => match explain(args, &config, &error) {
            Some(why) => bail!(BadUsage(why)),
            None => Err(error.into()),
        },
    }
}

fn check_positions(start: u64, rows: usize) -> Result<()> {
    let end = start.saturating_add(rows as u64);
    if end > POSITIONS {
        bail!(BadUsage(format!(
            "--start {start} and --max-seq-len {rows} ask for positions {start}..{end}, which run \
             past {POSITIONS}"
        )));
    }
    Ok(())
}

/// The library's error in the words of the command line, if the arguments are to blame.
fn explain(args: &ExportArgs, config: &SinusoidalConfig, error: &Error) -> Option<String> {
    let preset = match args.preset {
        Some(preset) => format!("--preset {}", preset.name()),
        None => "the defaults".to_owned(),
    };
    let spacing = match config.spacing {
        Spacing::Shifted(shift) => format!("shifted={}", short(shift)),
        spacing => spacing.name().to_owned(),
    };
    let spacing = match args.spacing {
        Some(_) => format!("--spacing {spacing}"),
        None => format!("the spacing {spacing} of {preset}"),
    };
    match *error {
        Error::OddDModel { d_model } => Some(format!(
            "--d-model {d_model} is odd, and sine and cosine columns come in pairs: choose \
             --odd-width truncate, round-up or zero-pad"
        )),
        Error::FreqShift { shift, pairs } if shift >= pairs as f64 => Some(format!(
            "{spacing} needs more pairs of columns than {}, and --d-model {} has {pairs}: take a \
             greater width or another --spacing",
            short(shift),
            config.d_model
        )),
        Error::FreqShift { .. } => Some(format!("{spacing}: {error}")),
        Error::Recipe { recipe, .. } => {
            Some(format!("--recipe {recipe} is not defined for {spacing}"))
        }
        Error::Frequency { .. } => {
            let origin = match (args.base, args.min_rate) {
                (Some(base), _) => format!("--base {}", short(base)),
                (None, Some(rate)) => format!("--min-rate {}", short(rate)),
                (None, None) => spacing,
            };
            Some(format!(
                "{origin} gives a frequency outside the supported range (at most 2^32 radians \
                 per position, at least 2^-1500000)"
            ))
        }
        _ => None,
    }
}

/// A specification in words.
pub(crate) fn describe(spec: &SinusoidalSpec) -> String {
    let config = spec.config();
    let positions = page::positions(spec.positions());
    let base = match config.base {
        Base::Value(base) => format!("base {}", short(base)),
        Base::MinRate(rate) => format!("min_rate {}", short(rate)),
    };
    let layout = page::kebab(&config.layout);
    let spacing = match config.spacing {
        Spacing::Shifted(shift) => format!("spacing shifted={}", short(shift)),
        spacing => format!("{} spacing", spacing.name()),
    };
    let mut text = format!("{positions}; {base}, {layout} columns, {spacing}");
    if config.d_model % 2 == 1 {
        text += &format!(", odd width: {}", page::kebab(&config.odd_width));
    }
    if let Some(padding) = config.padding_idx {
        text += &format!(", zeros at position {padding}");
    }
    text + &match config.recipe {
        Recipe::Exact => "; every entry the nearest number of its type".to_owned(),
        recipe => format!("; entries of the recipe {}", recipe.name()),
    }
}
