//! Query and key weights of a checkpoint in the other pair layout.

use anyhow::{Result, anyhow, bail};
use pe_candle::checkpoint::{PairConversion, convert_pairs};
use pe_core::PairLayout;
use serde_json::Value;

use crate::cli::ConvertArgs;
use crate::sources::config_json;
use crate::terminal::outcome::BadUsage;
use crate::terminal::page::Page;
use crate::terminal::width::clean_path;

pub(super) fn convert(args: &ConvertArgs) -> Result<Page> {
    let Some(to) = args.layout.and_then(|layout| layout.pairs) else {
        let why = "--layout of query and key weights is half-split or interleaved";
        return Err(BadUsage(why.to_owned()).into());
    };
    let from = match to {
        PairLayout::HalfSplit => PairLayout::Interleaved,
        PairLayout::Interleaved => PairLayout::HalfSplit,
    };
    let heads = heads(args, from, to)?;
    let done = convert_pairs(&args.file, &args.output, &heads)?;
    let mut page = Page::new();
    page.wrap("wrote ", &clean_path(&args.output));
    let PairConversion {
        num_heads,
        num_kv_heads,
        head_dim,
        rotary_dim,
        ..
    } = heads;
    page.wrap(
        "  ",
        &format!(
            "{} tensors of queries and keys, from {} to {}: {num_heads} and {num_kv_heads} heads of \
             {head_dim}, of which {rotary_dim} columns rotate",
            done.permuted.len(),
            from.name(),
            to.name()
        ),
    );
    page.line(format!("  unchanged: {} other tensors", done.others));
    Ok(page)
}

/// Returns the heads that the arguments or the config.json give.
fn heads(args: &ConvertArgs, from: PairLayout, to: PairLayout) -> Result<PairConversion> {
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
