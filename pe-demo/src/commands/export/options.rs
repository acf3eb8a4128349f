//! The options of `pe-demo export`, checked.

mod foreign;
mod tables;

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use candle_core::DType;
use pe_candle::checkpoint::{AnySpec, SinusoidalSpec};
use pe_core::hf_config::{self, UnknownKeys};
use pe_core::{
    Base, Error, POSITIONS, Preset, Rotary, RotaryConfig, RotaryRecipe, Sinusoidal,
    SinusoidalConfig, Spacing,
};
use serde_json::{Value, json};

use crate::cli::{ExportArgs, RotaryArgs, Scaling, TableArg, UnknownKeysArg, needs};
use crate::sources::config_json::reason;
use crate::sources::overwrite;
use crate::terminal::color::Terminal;
use crate::terminal::numbers::short;
use crate::terminal::outcome::BadUsage;
use crate::terminal::width::{clean, clean_path};

/// The table to write, and its file.
#[derive(Debug)]
pub(crate) struct Options {
    pub(super) output: PathBuf,
    pub(super) table: Table,
}

/// A table of any kind.
#[derive(Debug)]
pub(super) enum Table {
    /// A table that the options describe.
    Described(AnySpec),
    Rotary(RotaryTable),
}

/// A rotary table. The number of its rows may come from a config.json.
#[derive(Debug)]
pub(super) struct RotaryTable {
    pub(super) source: RotarySource,
    pub(super) recipe: Option<RotaryRecipe>,
    pub(super) start: u64,
    pub(super) rows: Option<usize>,
    pub(super) seq_len: Option<usize>,
    pub(super) dtype: DType,
}

/// The origin of a rotary embedding.
#[derive(Debug)]
pub(super) enum RotarySource {
    /// A config.json.
    File {
        path: PathBuf,
        layer_type: Option<String>,
        /// Whether keys that would be ignored are an error.
        unknown_keys: UnknownKeys,
    },
    /// Options.
    Config(RotaryConfig),
}

impl Options {
    /// Returns whether the file goes to standard output.
    pub(crate) fn to_stdout(&self) -> bool {
        is_stdout(&self.output)
    }

    /// Checks the arguments together. (The size of the table is not bad usage: it is
    /// checked before the file is written.)
    pub(crate) fn new(args: ExportArgs) -> Result<Self> {
        check_needs(&args.rotary)?;
        if is_stdout(&args.output) {
            if Terminal::current().is_terminal() {
                bail!(BadUsage(
                    "--output - writes a safetensors file to standard output, which is a terminal: \
                     redirect it to a file or a pipe"
                        .to_owned()
                ));
            }
        } else {
            let output = [("--output", args.output.clone())];
            let config = args.rotary.config.iter();
            let inputs: Vec<_> = config.map(|path| ("--config", path.clone())).collect();
            overwrite::check(&output, &inputs)?;
        }
        foreign::check(&args)?;
        let described = |spec: Result<AnySpec>| spec.map(Table::Described);
        Ok(Self {
            table: match args.scheme {
                TableArg::Sinusoidal => described(sinusoidal(&args).map(AnySpec::Sinusoidal))?,
                TableArg::Rotary => Table::Rotary(rotary(&args)?),
                TableArg::Timestep => described(tables::timestep(&args))?,
                TableArg::Grid => described(tables::grid(&args))?,
                TableArg::Fourier => described(tables::fourier(&args))?,
                TableArg::Alibi => described(tables::alibi(&args))?,
            },
            output: args.output,
        })
    }
}

fn is_stdout(output: &Path) -> bool {
    output.as_os_str() == "-"
}

fn check_needs(args: &RotaryArgs) -> Result<(), BadUsage> {
    let config = ("--config", args.config.is_some());
    needs::check(&[
        (("--layer-type", args.layer_type.is_some()), config),
        (("--unknown-keys", args.unknown_keys.is_some()), config),
    ])
}

/// Checks that a table ends within the positions there are.
pub(super) fn check_positions(start: u64, rows: usize) -> Result<(), BadUsage> {
    let end = start.saturating_add(rows as u64);
    match end > POSITIONS {
        true => Err(BadUsage(format!(
            "--start {start} and --max-seq-len {rows} ask for positions {start}..{end}, which run \
             past {POSITIONS}"
        ))),
        false => Ok(()),
    }
}

/// Returns the preset, one of those of the scheme.
fn preset<T: FromStr<Err = Error>>(args: &ExportArgs) -> Result<Option<T>, BadUsage> {
    let parsed = args.preset.as_ref().map(|name| name.parse::<T>());
    parsed.transpose().map_err(|error| {
        let known = match error {
            Error::UnknownName { known, .. } => known,
            other => other.to_string(),
        };
        let name = args.preset.as_deref().unwrap_or_default();
        let scheme = args.scheme.name();
        BadUsage(format!(
            "--preset {name} is not of --scheme {scheme}, whose presets are {known}"
        ))
    })
}

/// Returns the additive table that the options describe.
fn sinusoidal(args: &ExportArgs) -> Result<SinusoidalSpec> {
    let (Some(d_model), Some(rows)) = (args.d_model, args.max_seq_len) else {
        bail!(BadUsage(
            "--scheme sinusoidal needs --d-model and --max-seq-len".to_owned()
        ));
    };
    let config = sinusoidal_config(args, d_model)?;
    check_positions(args.start, rows)?;
    match Sinusoidal::new(config) {
        Ok(encoding) => SinusoidalSpec::of(encoding, args.start, rows, args.dtype)
            .with_context(|| clean_path(&args.output)),
        Err(error) => match explain_sinusoidal(args, &config, &error) {
            Some(why) => bail!(BadUsage(why)),
            None => Err(error.into()),
        },
    }
}

/// Returns the preset's configuration, or the paper's, with the parts that options override.
fn sinusoidal_config(args: &ExportArgs, d_model: usize) -> Result<SinusoidalConfig> {
    let mut config = match preset::<Preset>(args)? {
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
        config.layout = layout;
    }
    if let Some(spacing) = args.spacing {
        config.spacing = spacing;
    }
    if let Some(odd) = args.odd_width {
        config.odd_width = odd;
    }
    if let Some(recipe) = args.recipe {
        let Some(recipe) = recipe.additive() else {
            bail!(BadUsage(
                "--recipe hf-f32 is of --scheme rotary; that of --scheme sinusoidal is exact, \
                 exp-f32, pow-f32 or diffusers-f32"
                    .to_owned()
            ));
        };
        config.recipe = recipe;
    }
    Ok(config)
}

/// Returns the library's error in terms of the options, if they are to blame.
fn explain_sinusoidal(
    args: &ExportArgs,
    config: &SinusoidalConfig,
    error: &Error,
) -> Option<String> {
    let preset = match &args.preset {
        Some(preset) => format!("--preset {preset}"),
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

/// Returns the rotary table that the options describe.
fn rotary(args: &ExportArgs) -> Result<RotaryTable> {
    let options = &args.rotary;
    let mut source = match &options.config {
        Some(path) => RotarySource::File {
            path: path.clone(),
            layer_type: options.layer_type.clone(),
            unknown_keys: match options.unknown_keys.unwrap_or_default() {
                UnknownKeysArg::Reject => UnknownKeys::Reject,
                UnknownKeysArg::Warn => UnknownKeys::Warn,
            },
        },
        None => RotarySource::Config(rotary_config(options)?),
    };
    let recipe = args.recipe.map(|recipe| {
        recipe.rotary().ok_or_else(|| {
            BadUsage(
                "--recipe exp-f32, pow-f32 and diffusers-f32 are of --scheme sinusoidal; that of \
                 --scheme rotary is exact or hf-f32"
                    .to_owned(),
            )
        })
    });
    let recipe = recipe.transpose()?;
    if let RotarySource::Config(config) = &mut source {
        config.recipe = recipe.unwrap_or(config.recipe);
        Rotary::new(config.clone()).map_err(|error| BadUsage(explain_rotary(options, &error)))?;
    }
    Ok(RotaryTable {
        source,
        recipe,
        start: args.start,
        rows: args.max_seq_len,
        seq_len: options.seq_len,
        dtype: args.dtype,
    })
}

/// Returns the rotary embedding that the options describe.
fn rotary_config(options: &RotaryArgs) -> Result<RotaryConfig> {
    let Some(head_dim) = options.head_dim else {
        bail!(BadUsage(
            "--scheme rotary needs --config or --head-dim".to_owned()
        ));
    };
    let rotary_dim = rotary_dim(options, head_dim)?;
    let scaling = options.scaling.as_ref();
    // The keys mean what they mean in a config.json, so it is read as one.
    let mut parameters = scaling.map_or_else(Default::default, |s| s.keys.clone());
    let longest = parameters.remove("max_position_embeddings");
    let name = scaling.map_or("default", |scaling| scaling.name.as_str());
    parameters.insert("rope_type".to_owned(), Value::from(name));
    let document = json!({
        "head_dim": rotary_dim,
        "rope_theta": theta(options),
        "max_position_embeddings": longest,
        "rope_scaling": parameters,
    });
    let read = hf_config::read(&document.to_string(), UnknownKeys::Reject);
    let model = read.map_err(|error| BadUsage(explain_rotary(options, &error)))?;
    let layer = model
        .layer(None)
        .map_err(|error| BadUsage(explain_rotary(options, &error)))?;
    Ok(layer.rotary.clone())
}

/// Returns how many columns of a head rotate.
fn rotary_dim(options: &RotaryArgs, head_dim: usize) -> Result<usize, BadUsage> {
    let scaling = options.scaling.as_ref();
    match options.rotary_dim {
        Some(dim) if dim > head_dim => Err(BadUsage(format!(
            "--rotary-dim {dim} exceeds --head-dim {head_dim}"
        ))),
        Some(dim) if dim % 2 == 1 => Err(BadUsage(format!(
            "--rotary-dim {dim} is odd, and columns turn in pairs"
        ))),
        Some(dim) => {
            let given = |scaling: &&Scaling| {
                scaling.name == "proportional" || scaling.keys.contains_key("partial_rotary_factor")
            };
            if let Some(scaling) = scaling.filter(given) {
                return Err(BadUsage(format!(
                    "--rotary-dim {dim} does not go with --scaling {}, whose \
                     partial_rotary_factor says how many columns turn",
                    clean(&scaling.name, 80)
                )));
            }
            Ok(dim)
        }
        None if head_dim % 2 == 1 => Err(BadUsage(format!(
            "--head-dim {head_dim} is odd, and columns turn in pairs: give an even --rotary-dim"
        ))),
        None => Ok(head_dim),
    }
}

/// Returns the base of the frequencies.
fn theta(options: &RotaryArgs) -> f64 {
    options.theta.unwrap_or_else(|| Base::default().value())
}

/// Returns the library's error in terms of the options.
fn explain_rotary(options: &RotaryArgs, error: &Error) -> String {
    let theta = short(theta(options));
    match (&options.scaling, error) {
        (_, Error::NotPositive { name, .. }) if name.starts_with("base") => {
            format!("--theta {theta} is not a positive finite number")
        }
        (_, Error::NotAboveOne { name, scaling, .. }) if *name == "base" => {
            format!("--theta {theta} is not above 1, as {scaling} scaling requires")
        }
        (_, Error::Frequency { .. }) => {
            format!("--theta {theta} gives a frequency outside the supported range")
        }
        (Some(scaling), error) => format!(
            "--scaling {}: {}",
            clean(&scaling.name, 80),
            reason(error).replace("rope_scaling.", "")
        ),
        (None, error) => reason(error),
    }
}
