//! The arguments that choose a rotary embedding.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use pe_core::MAX_D_MODEL;
use serde_json::{Map, Value};

use super::values::{input, positive, whole};

/// What kind of table is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum TableArg {
    /// Sines and cosines that are added to embeddings
    #[default]
    Sinusoidal,
    /// Cosines and sines that turn queries and keys
    Rotary,
}

/// What happens to keys of a config.json that would be ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum UnknownKeysArg {
    /// They are an error that lists them
    #[default]
    Reject,
    /// They are listed, and the table is written
    Warn,
}

/// Which rotary embedding.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of --scheme rotary")]
pub(crate) struct RotaryArgs {
    /// Take everything from a Hugging Face model's config.json
    #[arg(
        long,
        value_name = "FILE",
        value_parser = input(),
        conflicts_with_all = ["head_dim", "rotary_dim", "theta", "scaling"]
    )]
    pub(crate) config: Option<PathBuf>,
    /// Type of layers, where the model has a set of frequencies for each
    #[arg(long, value_name = "NAME")]
    pub(crate) layer_type: Option<String>,
    /// Keys of config.json about rotary embeddings that have no effect [default: reject]
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) unknown_keys: Option<UnknownKeysArg>,
    /// Width of a head
    #[arg(
        long,
        value_name = "N",
        value_parser = whole::<usize>(2, MAX_D_MODEL as u64),
        allow_negative_numbers = true
    )]
    pub(crate) head_dim: Option<usize>,
    /// Columns of the head that turn [default: all]
    #[arg(
        long,
        value_name = "N",
        value_parser = whole::<usize>(2, MAX_D_MODEL as u64),
        allow_negative_numbers = true
    )]
    pub(crate) rotary_dim: Option<usize>,
    /// The number whose powers the frequencies are [default: 10000]
    #[arg(long, value_name = "B", value_parser = positive, allow_hyphen_values = true)]
    pub(crate) theta: Option<f64>,
    /// How frequencies are changed for longer sequences [default: default]
    #[arg(
        long,
        value_name = "TYPE[:KEY=VALUE,...]",
        value_parser = scaling,
        allow_hyphen_values = true,
        long_help = SCALING_HELP
    )]
    pub(crate) scaling: Option<Scaling>,
    /// Sequence length whose frequencies are meant [default: up to the last row]
    ///
    /// The frequencies of dynamic and longrope scaling depend on it; those of all others are the
    /// same at every length.
    #[arg(
        long,
        value_name = "L",
        value_parser = whole::<usize>(1, pe_core::POSITIONS),
        allow_negative_numbers = true
    )]
    pub(crate) seq_len: Option<usize>,
}

const SCALING_HELP: &str = "\
How frequencies are changed for longer sequences [default: default]. TYPE and KEY
are those of a config.json, VALUE is a number, true, false or a list [a,b,...]:
- default
- linear: factor
- dynamic: factor, max_position_embeddings
- yarn: factor, original_max_position_embeddings; perhaps beta_fast,
  beta_slow, mscale, mscale_all_dim, attention_factor, truncate
- longrope: short_factor=[...], long_factor=[...],
  original_max_position_embeddings, factor or max_position_embeddings;
  perhaps attention_factor, short_mscale, long_mscale
- llama3: factor, low_freq_factor, high_freq_factor,
  original_max_position_embeddings
- proportional: partial_rotary_factor; perhaps factor
Such as llama3:factor=8,low_freq_factor=1 and so on, without spaces.
max_position_embeddings goes with every type: it says how many rows there are
unless --max-seq-len does.";

/// A scaling as it would stand in a config.json.
#[derive(Debug, Clone)]
pub struct Scaling {
    /// Its `rope_type`.
    pub name: String,
    /// The other keys.
    pub keys: Map<String, Value>,
}

/// `TYPE[:KEY=VALUE,...]`; commas inside brackets do not part keys.
///
/// # Errors
/// Any other text, with what is expected.
pub fn scaling(text: &str) -> Result<Scaling, String> {
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    if name.is_empty() {
        return Err("no type before the keys (such as linear:factor=4)".to_owned());
    }
    let mut keys = Map::new();
    for item in outside_brackets(rest) {
        let Some((key, value)) = item.split_once('=') else {
            return Err(format!("{item:?} is not KEY=VALUE"));
        };
        let key = key.trim();
        if matches!(key, "rope_type" | "type") {
            return Err(format!("the {key} stands before the colon"));
        }
        let value: Value = match serde_json::from_str(value) {
            Ok(value @ (Value::Number(_) | Value::Bool(_))) => value,
            Ok(Value::Array(list)) if list.iter().all(Value::is_number) => Value::Array(list),
            _ => {
                return Err(format!(
                    "{key}={value} is not a number, true, false or a list of numbers"
                ));
            }
        };
        if keys.insert(key.to_owned(), value).is_some() {
            return Err(format!("{key} is given twice"));
        }
    }
    Ok(Scaling {
        name: name.to_owned(),
        keys,
    })
}

/// The parts between commas that are not inside brackets; none of an empty text.
fn outside_brackets(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let part = |c: char| {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    };
    match text {
        "" => Vec::new(),
        _ => text.split(part).collect(),
    }
}
