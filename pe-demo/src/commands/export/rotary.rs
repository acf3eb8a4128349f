//! `pe-demo export --scheme rotary`: cosines, sines and frequencies.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use pe_candle::checkpoint::{self, RotarySpec, RotaryTables};
use pe_core::hf_config::{HfLayer, HfRotary, UnknownKeys};
use pe_core::{PairLayout, Rotary, RotaryConfig};

use super::options::{RotarySource, RotaryTable, check_positions};
use crate::sources::config_json::{self, reason};
use crate::sources::gguf;
use crate::terminal::emit::print;
use crate::terminal::numbers::thousands;
use crate::terminal::outcome::{BadUsage, Outcome};
use crate::terminal::page::Page;
use crate::terminal::width::{clean, clean_path};
use crate::words;

/// A rotary embedding and the remarks about it.
struct Chosen {
    config: RotaryConfig,
    /// The layout of the model, if there is one.
    layout: Option<PairLayout>,
    warnings: Vec<String>,
}

pub(super) fn run(output: &Path, table: &RotaryTable, out: &mut dyn Write) -> Result<Outcome> {
    let mut chosen = match &table.source {
        RotarySource::File {
            path,
            layer_type,
            unknown_keys,
        } => from_file(path, layer_type.as_deref(), *unknown_keys)?,
        RotarySource::Config(config) => Chosen {
            config: config.clone(),
            layout: None,
            warnings: Vec::new(),
        },
    };
    if let Some(recipe) = table.recipe {
        chosen.config.recipe = recipe;
    }
    let rotary = match (Rotary::new(chosen.config.clone()), &table.source) {
        (Err(error), RotarySource::File { path, .. }) => {
            bail!(anyhow!("{}: {}", clean_path(path), reason(&error)));
        }
        (rotary, _) => rotary?,
    };
    let spec = specification(output, table, rotary)?;
    checkpoint::export(output, &spec)?;
    print(out, &page(output, table.seq_len, &spec, &chosen)?)?;
    Ok(Outcome::Success)
}

fn specification(output: &Path, table: &RotaryTable, rotary: Rotary) -> Result<RotarySpec> {
    let config = rotary.config();
    let rows = match (table.rows, config.max_position_embeddings) {
        (Some(rows), _) => rows,
        (None, Some(longest)) => match longest.checked_sub(table.start as usize) {
            Some(rows @ 1..) => rows,
            _ => bail!(BadUsage(format!(
                "--start {} is not below the model's max_position_embeddings {longest}: how many \
                 rows there are is for --max-seq-len to say",
                table.start
            ))),
        },
        (None, None) => bail!(BadUsage(
            "--max-seq-len is needed: no max_position_embeddings says how many rows there are"
                .to_owned()
        )),
    };
    check_positions(table.start, rows)?;
    let reached = (table.start as usize).checked_add(rows);
    let seq_len = table.seq_len.or(reached);
    let seq_len = seq_len.filter(|_| rotary.depends_on_seq_len());
    RotaryTables::new(rotary, seq_len)
        .and_then(|tables| RotarySpec::of(tables, table.start, rows, table.dtype))
        .with_context(|| clean_path(output))
}

fn page(output: &Path, seq_len: Option<usize>, spec: &RotarySpec, chosen: &Chosen) -> Result<Page> {
    let (pairs, dtype) = (spec.config().rotary_dim / 2, spec.dtype().as_str());
    let inv_freq = if dtype == "f64" { "f64" } else { "f32" };
    let mut page = Page::new();
    page.wrap("wrote ", &clean_path(output));
    page.wrap(
        "  ",
        &format!(
            "tensors cos and sin [{}, {pairs}] {dtype}, inv_freq [{pairs}] {inv_freq}, {} bytes \
             of numbers",
            spec.rows(),
            thousands(spec.bytes().unwrap_or(0)),
        ),
    );
    page.wrap("  ", &words::rotary::table(spec));
    if let Some(layout) = chosen.layout {
        let (a, b) = layout.columns(1, pairs);
        page.wrap(
            "  ",
            &format!(
                "the model's pairs are {}: columns {a} and {b} form pair 1",
                layout.name()
            ),
        );
    }
    if let (Some(length), None) = (seq_len, spec.scheme().seq_len()) {
        page.wrap(
            "  ",
            &format!(
                "--seq-len {length} makes no difference: these frequencies are the same at every \
                 length"
            ),
        );
    }
    for warning in &chosen.warnings {
        page.wrap("  ignored: ", &clean(warning, 400));
    }
    Ok(page)
}

fn from_file(path: &Path, layer_type: Option<&str>, unknown: UnknownKeys) -> Result<Chosen> {
    let model = match gguf::is_gguf(path) {
        true => gguf::read_rotary(path)?,
        false => config_json::parse(path, &config_json::read(path)?)?,
    };
    if !model.warnings.is_empty() && unknown != UnknownKeys::Warn {
        bail!(
            "{}: keys that would be ignored: {} (--unknown-keys warn goes on without them)",
            clean_path(path),
            clean(&model.warnings.join("; "), 400)
        );
    }
    let layer = layer(&model, path, layer_type)?;
    Ok(Chosen {
        config: layer.rotary.clone(),
        layout: Some(layer.layout),
        warnings: model.warnings.clone(),
    })
}

fn layer<'a>(model: &'a HfRotary, path: &Path, name: Option<&str>) -> Result<&'a HfLayer> {
    let known: Vec<&str> = model
        .layers
        .iter()
        .filter_map(|layer| layer.layer_type.as_deref())
        .collect();
    let list = clean(&known.join(", "), 400);
    match (name, &model.layers[..]) {
        (_, []) => bail!(
            "{}: no type of layers has a rotary embedding",
            clean_path(path)
        ),
        (None, [only]) => Ok(only),
        (None, _) => bail!(BadUsage(format!(
            "--layer-type is needed: the model has frequencies for each of {list}"
        ))),
        (Some(name), _) if known.is_empty() => bail!(BadUsage(format!(
            "--layer-type {}: the model has one set of frequencies, for layers of every type",
            clean(name, 80)
        ))),
        (Some(name), layers) => {
            let found = layers
                .iter()
                .find(|layer| layer.layer_type.as_deref() == Some(name));
            match found {
                Some(layer) => Ok(layer),
                None => bail!(BadUsage(format!(
                    "--layer-type {} is unknown; known: {list}",
                    clean(name, 80)
                ))),
            }
        }
    }
}
