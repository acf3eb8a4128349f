//! `pe-demo inspect config.json`: a model's positional encoding in words.

mod words;

use std::io::Write;

use anyhow::{Result, anyhow};
use pe_core::hf_config::{HfKey, HfLayer, HfModel, HfPositions, HfRotary};
use serde_json::{Value, json};

use crate::cli::InspectArgs;
use crate::terminal::console::Outcome;
use crate::terminal::page;
use crate::words::model::lengths::{Rates, Set, Within};
use crate::words::model::{self, reason};

pub(super) fn run(args: &InspectArgs, out: &mut dyn Write) -> Result<Outcome> {
    let text = model::read(&args.file)?;
    let bytes = text.len();
    let page = match model::parse_any(&args.file, &text)? {
        HfModel::Other(positions) if args.json => {
            return json(out, &other_document(args, bytes, &positions));
        }
        HfModel::Other(positions) => words::other(args, bytes, &positions),
        HfModel::Rotary(model) => {
            let layers = model
                .layers
                .iter()
                .map(|layer| Ok((layer, Rates::new(&layer.rotary)?)))
                .collect::<pe_core::Result<Vec<_>>>()
                .map_err(|error| anyhow!("{}: {}", page::path(&args.file), reason(&error)))?;
            if args.json {
                return json(out, &document(args, bytes, &model, &layers));
            }
            words::page(args, bytes, &model, &layers)
        }
    };
    out.write_all(page.text().as_bytes())?;
    Ok(Outcome::Success)
}

fn json(out: &mut dyn Write, document: &Value) -> Result<Outcome> {
    crate::terminal::json::write(out, document)?;
    Ok(Outcome::Success)
}

/// One type of layers with its frequencies.
type Layer<'a> = (&'a HfLayer, Rates);

fn keys(keys: &[HfKey]) -> Vec<Value> {
    keys.iter()
        .map(|key| json!({ "path": key.path, "value": key.value, "meaning": key.meaning }))
        .collect()
}

fn other_document(args: &InspectArgs, bytes: usize, positions: &HfPositions) -> Value {
    let schemes: Vec<Value> = positions
        .schemes
        .iter()
        .map(|scheme| json!({ "name": scheme.name(), "explanation": scheme.explanation() }))
        .collect();
    json!({
        "file": args.file.display().to_string(),
        "bytes": bytes,
        "model_type": positions.model_type,
        "layers": [],
        "schemes": schemes,
        "note": positions.note,
        "keys": keys(&positions.keys),
        "not_understood": positions.warnings,
    })
}

fn document(args: &InspectArgs, bytes: usize, model: &HfRotary, layers: &[Layer<'_>]) -> Value {
    json!({
        "file": args.file.display().to_string(),
        "bytes": bytes,
        "model_type": model.model_type,
        "layers": layers.iter().map(layer_document).collect::<Vec<_>>(),
        "keys": keys(&model.keys),
        "not_understood": model.warnings,
    })
}

fn layer_document((of, rates): &Layer<'_>) -> Value {
    let within = |within: &Within| {
        json!({
            "positions": within.positions,
            "key": within.key,
            "incomplete_pairs": within.incomplete,
        })
    };
    let set = |set: &Set| {
        json!({
            "sequences": set.sequences,
            "seq_len": set.seq_len,
            "attention_factor": set.frequencies.attention_factor(),
            "inv_freq": set.frequencies.inv_freq(),
            // null where a pair does not turn.
            "wavelengths": set.wavelengths,
            "within": set.within.iter().map(within).collect::<Vec<_>>(),
        })
    };
    json!({
        "layer_type": of.layer_type,
        "type": of.rotary.scaling.name(),
        "head_dim": of.head_dim,
        "pair_layout": of.layout,
        "config": of.rotary,
        "mrope": of.mrope,
        "before_scaling": rates.before.as_ref().map(|before| within(&before.within)),
        "sets": rates.sets.iter().map(set).collect::<Vec<_>>(),
    })
}
