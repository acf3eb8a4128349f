//! The options of `pe-demo convert`, checked.

use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use pe_candle::checkpoint::PairConversion;
use pe_core::{PairLayout, Preset, SinusoidLayout};
use serde_json::Value;

use crate::cli::ConvertArgs;
use crate::sources::{config_json, overwrite};
use crate::terminal::outcome::BadUsage;
use crate::terminal::width::clean_path;

/// Work of the command.
pub(crate) enum Options {
    Table(Table),
    Weights(Weights),
}

/// A table to convert.
pub(crate) struct Table {
    pub(super) file: PathBuf,
    pub(super) output: PathBuf,
    /// Name of the tensor. Without it, the only table of the file.
    pub(super) tensor: Option<String>,
    pub(super) target: Target,
}

/// The convention that is asked for.
#[derive(Clone, Copy)]
pub(super) enum Target {
    Preset(Preset),
    /// A layout by its name: a table of a sinusoidal encoding and one of a rotary embedding have different ones.
    Layout {
        columns: Option<SinusoidLayout>,
        pairs: Option<PairLayout>,
    },
}

/// A checkpoint with weights to permute.
pub(crate) struct Weights {
    pub(super) file: PathBuf,
    pub(super) output: PathBuf,
    pub(super) heads: PairConversion,
}

impl Options {
    /// Checks the arguments, and reads the config.json if they name one.
    pub(crate) fn new(args: ConvertArgs) -> Result<Self> {
        let output = [("--output", args.output.clone())];
        let mut inputs = vec![("the file", args.file.clone())];
        inputs.extend(args.config.clone().map(|config| ("--config", config)));
        overwrite::check(&output, &inputs)?;
        let layout = args.layout;
        if args.config.is_some() || args.num_heads.is_some() {
            let Some(to) = layout.and_then(|layout| layout.pairs) else {
                let why = "--layout of query and key weights is half-split or interleaved";
                return Err(BadUsage(why.to_owned()).into());
            };
            return Ok(Self::Weights(Weights {
                heads: heads(&args, to)?,
                file: args.file,
                output: args.output,
            }));
        }
        let target = match args.to {
            Some(preset) => Target::Preset(preset),
            None => Target::Layout {
                columns: layout.and_then(|layout| layout.columns),
                pairs: layout.and_then(|layout| layout.pairs),
            },
        };
        Ok(Self::Table(Table {
            file: args.file,
            output: args.output,
            tensor: args.tensor,
            target,
        }))
    }
}

/// Returns the heads that the arguments or the config.json specify.
fn heads(args: &ConvertArgs, to: PairLayout) -> Result<PairConversion> {
    let from = match to {
        PairLayout::HalfSplit => PairLayout::Interleaved,
        PairLayout::Interleaved => PairLayout::HalfSplit,
    };
    if let (Some(num_heads), Some(head_dim)) = (args.num_heads, args.head_dim) {
        return Ok(PairConversion {
            from,
            to,
            num_heads,
            num_kv_heads: args.num_kv_heads.unwrap_or(num_heads),
            head_dim,
            rotary_dim: args.rotary_dim.unwrap_or(head_dim),
        });
    }
    let Some(config) = &args.config else {
        bail!("neither --config nor --num-heads");
    };
    let text = config_json::read(config)?;
    let model = config_json::parse(config, &text)?;
    let layer = model
        .layer(None)
        .map_err(|error| anyhow!("{}: {}", clean_path(config), config_json::reason(&error)))?;
    let json: Value = serde_json::from_str(&text)?;
    let count = |key: &str| {
        let inner = json.get("text_config").and_then(|inner| inner.get(key));
        let value = json.get(key).or(inner)?.as_u64()?;
        usize::try_from(value).ok().filter(|count| *count > 0)
    };
    let num_heads = count("num_attention_heads").or_else(|| count("n_head"));
    let num_heads = num_heads.ok_or_else(|| {
        anyhow!(
            "{}: no num_attention_heads; give --num-heads",
            clean_path(config)
        )
    })?;
    Ok(PairConversion {
        from,
        to,
        num_heads,
        num_kv_heads: count("num_key_value_heads").unwrap_or(num_heads),
        head_dim: layer.head_dim,
        rotary_dim: layer.rotary.rotary_dim,
    })
}
