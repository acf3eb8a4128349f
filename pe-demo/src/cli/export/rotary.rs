//! The arguments that choose a rotary embedding.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use pe_core::MAX_D_MODEL;

use crate::cli::numbers::{Scaling, positive, scaling, whole};
use crate::cli::values::{base_help, input};

/// The kind of table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum TableArg {
    /// Sines and cosines that are added to embeddings
    #[default]
    Sinusoidal,
    /// Cosines and sines that rotate queries and keys
    Rotary,
    /// Embeddings of diffusion timesteps
    Timestep,
    /// Sines and cosines of the cells of a grid, such as the patches of an image
    Grid,
    /// Fourier features of the cells of a grid
    Fourier,
    /// ALiBi: the bias of each distance and head
    Alibi,
}

impl TableArg {
    /// Returns the name, as on the command line and in files.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sinusoidal => "sinusoidal",
            Self::Rotary => "rotary",
            Self::Timestep => "timestep",
            Self::Grid => "grid",
            Self::Fourier => "fourier",
            Self::Alibi => "alibi",
        }
    }
}

/// Treatment of keys of a config.json that would be ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum UnknownKeysArg {
    /// They are an error that lists them
    #[default]
    Reject,
    /// They are listed, and the table is written
    Warn,
}

/// The rotary embedding.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of --scheme rotary")]
pub(crate) struct RotaryArgs {
    /// config.json or GGUF file of a model, which determines the table
    #[arg(
        long,
        value_name = "FILE",
        value_parser = input(),
        conflicts_with_all = ["head_dim", "rotary_dim", "theta", "scaling"]
    )]
    pub(crate) config: Option<PathBuf>,
    /// Type of layers, if the model has a set of frequencies for each
    #[arg(hide_short_help = true, long, value_name = "NAME")]
    pub(crate) layer_type: Option<String>,
    /// Treatment of rotary keys of config.json that have no effect [default: reject]
    #[arg(hide_short_help = true, long, value_enum, value_name = "HOW")]
    pub(crate) unknown_keys: Option<UnknownKeysArg>,
    /// Width of a head
    #[arg(
        long,
        value_name = "N",
        value_parser = whole::<usize>(2, MAX_D_MODEL as u64),
        allow_negative_numbers = true
    )]
    pub(crate) head_dim: Option<usize>,
    /// Rotated dimensions per head [default: head_dim]
    #[arg(
        hide_short_help = true,
        long,
        value_name = "N",
        value_parser = whole::<usize>(2, MAX_D_MODEL as u64),
        allow_negative_numbers = true
    )]
    pub(crate) rotary_dim: Option<usize>,
    #[arg(long, help = base_help(), value_name = "B", value_parser = positive, allow_hyphen_values = true)]
    pub(crate) theta: Option<f64>,
    /// Scaling of the frequencies for longer sequences [default: default]
    #[arg(
        long,
        value_name = "TYPE[:KEY=VALUE,...]",
        value_parser = scaling,
        allow_hyphen_values = true,
        long_help = SCALING_HELP
    )]
    pub(crate) scaling: Option<Scaling>,
    /// Sequence length of the frequencies [default: up to the last row]
    ///
    /// The frequencies of dynamic and longrope scaling depend on it; those of all others are the
    /// same at every length.
    #[arg(
        hide_short_help = true,
        long,
        value_name = "L",
        value_parser = whole::<usize>(1, pe_core::POSITIONS),
        allow_negative_numbers = true
    )]
    pub(crate) seq_len: Option<usize>,
}

const SCALING_HELP: &str = "\
Scaling of the frequencies for longer sequences [default: default]. TYPE and KEY
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
