//! `pe-demo inspect config.json`: a model's rotary embedding in words.

mod words;

use std::io::Write;

use anyhow::{Result, anyhow};
use pe_core::hf_config::{HfLayer, HfRotary};
use pe_core::{RopeScaling, Rotary, RotaryConfig, RotaryFrequencies};
use serde_json::{Value, json};

use crate::cli::InspectArgs;
use crate::console::Outcome;
use crate::model;
use crate::page::{self, thousands};

pub(super) fn run(args: &InspectArgs, out: &mut dyn Write) -> Result<Outcome> {
    let text = model::read(&args.file)?;
    let model = model::parse(&args.file, &text)?;
    let layers = model
        .layers
        .iter()
        .map(|layer| {
            Layer::new(layer)
                .map_err(|error| anyhow!("{}: {}", page::path(&args.file), model::reason(&error)))
        })
        .collect::<Result<Vec<_>>>()?;
    if args.json {
        crate::json::write(out, &document(args, text.len(), &model, &layers))?;
    } else {
        let page = words::page(args, text.len(), &model, &layers);
        out.write_all(page.text().as_bytes())?;
    }
    Ok(Outcome::Success)
}

/// One type of layers with its frequencies.
struct Layer<'a> {
    layer: &'a HfLayer,
    /// The frequencies without the scaling in the length trained with before it, where the
    /// scaling states that length.
    before: Option<Within>,
    sets: Vec<Set>,
}

/// Frequencies and the sequences that have them.
struct Set {
    /// Which sequences, in words.
    sequences: String,
    /// A length of such sequences; `None` for all.
    seq_len: Option<usize>,
    frequencies: RotaryFrequencies,
    wavelengths: Vec<f64>,
    within: Vec<Within>,
}

impl Set {
    /// The number of pairs that turn.
    fn turning(&self) -> usize {
        self.wavelengths.iter().filter(|w| w.is_finite()).count()
    }
}

/// The pairs that never complete a turn within a length.
struct Within {
    positions: usize,
    /// The key that states the length.
    key: &'static str,
    words: String,
    incomplete: Vec<usize>,
}

/// A length, the key that states it, and whether it is known to be the trained one.
type Length = (Option<usize>, &'static str, &'static str);

const TRAINED: &str = "the trained ";
const LONGEST: &str = "max_position_embeddings";
const ORIGINAL: &str = "original_max_position_embeddings";

impl<'a> Layer<'a> {
    fn new(layer: &'a HfLayer) -> pe_core::Result<Self> {
        let config = &layer.rotary;
        let rotary = Rotary::new(config.clone())?;
        let longest = config.max_position_embeddings;
        let set = |sequences: String, seq_len: Option<usize>, lengths: &[Length]| {
            let frequencies = rotary.frequencies(seq_len.unwrap_or(0))?;
            let wavelengths = frequencies.wavelengths();
            let within = |(positions, key, trained): &Length| {
                let positions = (*positions)?;
                Some(Within {
                    positions,
                    key,
                    words: format!("within {trained}{} positions ({key})", number(positions)),
                    incomplete: incomplete(&wavelengths, positions),
                })
            };
            let within = lengths.iter().filter_map(within).collect();
            Ok::<_, pe_core::Error>(Set {
                sequences,
                seq_len,
                frequencies,
                wavelengths,
                within,
            })
        };
        let up_to = |length: usize| format!("sequences of up to {} positions", number(length));
        let sets = match (&config.scaling, longest) {
            (RopeScaling::Dynamic { .. }, Some(trained)) => {
                let twice = trained.saturating_mul(2);
                vec![
                    set(
                        up_to(trained),
                        Some(trained),
                        &[(longest, LONGEST, TRAINED)],
                    )?,
                    set(
                        format!(
                            "longer sequences, whose base grows with their length; at {} positions",
                            number(twice)
                        ),
                        Some(twice),
                        &[],
                    )?,
                ]
            }
            (RopeScaling::LongRope(longrope), _) => {
                let trained = longrope.original_max_position_embeddings;
                let beyond = longest.filter(|longest| *longest > trained);
                vec![
                    set(
                        up_to(trained),
                        Some(trained),
                        &[(Some(trained), ORIGINAL, TRAINED)],
                    )?,
                    set(
                        "longer sequences".to_owned(),
                        Some(beyond.unwrap_or(trained.saturating_add(1))),
                        &[(beyond, LONGEST, "")],
                    )?,
                ]
            }
            (scaling, _) => {
                let trained = original(scaling);
                let longest = longest.filter(|longest| Some(*longest) != trained);
                let unscaled = if *scaling == RopeScaling::Default {
                    TRAINED
                } else {
                    ""
                };
                let lengths = [(trained, ORIGINAL, TRAINED), (longest, LONGEST, unscaled)];
                vec![set("sequences of every length".to_owned(), None, &lengths)?]
            }
        };
        let before = original(&config.scaling).map(|positions| {
            let unscaled = Rotary::new(RotaryConfig {
                scaling: RopeScaling::Default,
                ..config.clone()
            })?;
            let wavelengths = unscaled.frequencies(0)?.wavelengths();
            Ok::<_, pe_core::Error>(Within {
                positions,
                key: ORIGINAL,
                words: format!(
                    "before the scaling, within the trained {} positions ({ORIGINAL})",
                    number(positions)
                ),
                incomplete: incomplete(&wavelengths, positions),
            })
        });
        Ok(Self {
            layer,
            before: before.transpose()?,
            sets,
        })
    }
}

/// The length trained with, where the scaling states it.
fn original(scaling: &RopeScaling) -> Option<usize> {
    match scaling {
        RopeScaling::Yarn(yarn) => Some(yarn.original_max_position_embeddings),
        RopeScaling::LongRope(longrope) => Some(longrope.original_max_position_embeddings),
        RopeScaling::Llama3(llama3) => Some(llama3.original_max_position_embeddings),
        _ => None,
    }
}

/// The pairs whose turn takes longer.
fn incomplete(wavelengths: &[f64], positions: usize) -> Vec<usize> {
    let pairs = wavelengths.iter().enumerate();
    pairs
        .filter_map(|(pair, wavelength)| (*wavelength > positions as f64).then_some(pair))
        .collect()
}

fn number(count: usize) -> String {
    thousands(count as u64)
}

fn document(args: &InspectArgs, bytes: usize, model: &HfRotary, layers: &[Layer<'_>]) -> Value {
    let keys: Vec<Value> = model
        .keys
        .iter()
        .map(|key| json!({ "path": key.path, "value": key.value, "meaning": key.meaning }))
        .collect();
    json!({
        "file": args.file.display().to_string(),
        "bytes": bytes,
        "model_type": model.model_type,
        "layers": layers.iter().map(layer_document).collect::<Vec<_>>(),
        "keys": keys,
        "not_understood": model.warnings,
    })
}

fn layer_document(layer: &Layer<'_>) -> Value {
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
    let of = layer.layer;
    json!({
        "layer_type": of.layer_type,
        "type": of.rotary.scaling.name(),
        "head_dim": of.head_dim,
        "pair_layout": of.layout,
        "config": of.rotary,
        "mrope": of.mrope,
        "before_scaling": layer.before.as_ref().map(within),
        "sets": layer.sets.iter().map(set).collect::<Vec<_>>(),
    })
}
