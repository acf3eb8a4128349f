//! `pe-demo export --scheme rotary`: cosines, sines and frequencies.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use pe_candle::checkpoint::{self, RotarySpec, RotaryTables};
use pe_core::hf_config::{self, HfLayer, HfRotary, UnknownKeys};
use pe_core::{Error, PairLayout, Rotary, RotaryConfig};
use serde_json::{Value, json};

use super::check_positions;
use crate::cli::{ExportArgs, Scaling, UnknownKeysArg};
use crate::terminal::console::{BadUsage, Outcome};
use crate::terminal::page::{self, Page, clean};
use crate::words::model;

/// What the arguments ask for, and what there is to say about it.
struct Chosen {
    config: RotaryConfig,
    /// Of the model, if there is one.
    layout: Option<PairLayout>,
    warnings: Vec<String>,
}

pub(super) fn run(args: &ExportArgs, out: &mut dyn Write) -> Result<Outcome> {
    let mut chosen = match &args.rotary.config {
        Some(path) => from_file(args, path)?,
        None => from_options(args)?,
    };
    if let Some(recipe) = args.recipe {
        let Some(recipe) = recipe.rotary() else {
            bail!(BadUsage(
                "--recipe exp-f32 and pow-f32 are of --scheme sinusoidal; that of --scheme rotary \
                 is exact or hf-f32"
                    .to_owned()
            ));
        };
        chosen.config.recipe = recipe;
    }
    let rotary = match (Rotary::new(chosen.config.clone()), &args.rotary.config) {
        (Ok(rotary), _) => rotary,
        (Err(error), Some(path)) => {
            return Err(anyhow!("{}: {}", page::path(path), model::reason(&error)));
        }
        (Err(error), None) => bail!(BadUsage(explain(args, &error))),
    };
    let spec = specification(args, rotary)?;
    checkpoint::export(&args.output, &spec)?;
    out.write_all(page(args, &spec, &chosen)?.text().as_bytes())?;
    Ok(Outcome::Success)
}

fn specification(args: &ExportArgs, rotary: Rotary) -> Result<RotarySpec> {
    let config = rotary.config();
    let rows = match (args.max_seq_len, config.max_position_embeddings) {
        (Some(rows), _) => rows,
        (None, Some(longest)) => match longest.checked_sub(args.start as usize) {
            Some(rows @ 1..) => rows,
            _ => bail!(BadUsage(format!(
                "--start {} is not below the model's max_position_embeddings {longest}: how many \
                 rows there are is for --max-seq-len to say",
                args.start
            ))),
        },
        (None, None) => bail!(BadUsage(
            "--max-seq-len is needed: no max_position_embeddings says how many rows there are"
                .to_owned()
        )),
    };
    check_positions(args.start, rows)?;
    let reached = (args.start as usize).checked_add(rows);
    let seq_len = args.rotary.seq_len.or(reached);
    let seq_len = seq_len.filter(|_| rotary.depends_on_seq_len());
    RotaryTables::new(rotary, seq_len)
        .and_then(|tables| RotarySpec::of(tables, args.start, rows, args.dtype.into()))
        .with_context(|| page::path(&args.output))
}

fn page(args: &ExportArgs, spec: &RotarySpec, chosen: &Chosen) -> Result<Page> {
    let (pairs, dtype) = (spec.config().rotary_dim / 2, spec.dtype().as_str());
    let inv_freq = if dtype == "f64" { "f64" } else { "f32" };
    let mut page = Page::new();
    page.wrap("wrote ", &page::path(&args.output));
    page.wrap(
        "  ",
        &format!(
            "tensors cos and sin [{}, {pairs}] {dtype}, inv_freq [{pairs}] {inv_freq}, {} bytes \
             of numbers",
            spec.rows(),
            page::thousands(spec.bytes().unwrap_or(0)),
        ),
    );
    page.wrap("  ", &describe(spec));
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
    if let (Some(length), None) = (args.rotary.seq_len, spec.scheme().seq_len()) {
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

/// A specification in words.
pub(crate) fn describe(spec: &RotarySpec) -> String {
    let frequencies = spec.scheme().frequencies();
    let of_length = match spec.scheme().seq_len() {
        Some(length) => format!(", frequencies of sequences of {length} positions"),
        None => String::new(),
    };
    format!(
        "{}; {}{of_length}; {}; attention factor {}; {}",
        page::positions(spec.positions()),
        model::describe(spec.config()),
        model::wavelengths(&frequencies.wavelengths()),
        page::short(frequencies.attention_factor()),
        model::recipe(spec.config().recipe),
    )
}

fn from_file(args: &ExportArgs, path: &Path) -> Result<Chosen> {
    let model = model::parse(path, &model::read(path)?)?;
    if !model.warnings.is_empty() && args.rotary.unknown_keys != Some(UnknownKeysArg::Warn) {
        bail!(
            "{}: keys that would be ignored: {} (--unknown-keys warn goes on without them)",
            page::path(path),
            clean(&model.warnings.join("; "), 400)
        );
    }
    let layer = layer(&model, path, args.rotary.layer_type.as_deref())?;
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
            page::path(path)
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

fn from_options(args: &ExportArgs) -> Result<Chosen> {
    let options = &args.rotary;
    let Some(head_dim) = options.head_dim else {
        bail!(BadUsage(
            "--scheme rotary needs --config or --head-dim".to_owned()
        ));
    };
    let scaling = options.scaling.as_ref();
    let rotary_dim = match options.rotary_dim {
        Some(dim) if dim > head_dim => bail!(BadUsage(format!(
            "--rotary-dim {dim} exceeds --head-dim {head_dim}"
        ))),
        Some(dim) if dim % 2 == 1 => bail!(BadUsage(format!(
            "--rotary-dim {dim} is odd, and columns turn in pairs"
        ))),
        Some(dim) => {
            let given = |scaling: &&Scaling| {
                scaling.name == "proportional" || scaling.keys.contains_key("partial_rotary_factor")
            };
            if let Some(scaling) = scaling.filter(given) {
                bail!(BadUsage(format!(
                    "--rotary-dim {dim} does not go with --scaling {}, whose \
                     partial_rotary_factor says how many columns turn",
                    clean(&scaling.name, 80)
                )));
            }
            dim
        }
        None if head_dim % 2 == 1 => bail!(BadUsage(format!(
            "--head-dim {head_dim} is odd, and columns turn in pairs: give an even --rotary-dim"
        ))),
        None => head_dim,
    };
    // The keys mean what they mean in a config.json, so it is read as one.
    let mut parameters = scaling.map_or_else(Default::default, |s| s.keys.clone());
    let longest = parameters.remove("max_position_embeddings");
    let name = scaling.map_or("default", |scaling| scaling.name.as_str());
    parameters.insert("rope_type".to_owned(), Value::from(name));
    let document = json!({
        "head_dim": rotary_dim,
        "rope_theta": options.theta.unwrap_or(10000.0),
        "max_position_embeddings": longest,
        "rope_scaling": parameters,
    });
    let read = hf_config::read(&document.to_string(), UnknownKeys::Reject);
    let model = read.map_err(|error| BadUsage(explain(args, &error)))?;
    let layer = model
        .layer(None)
        .map_err(|error| BadUsage(explain(args, &error)))?;
    Ok(Chosen {
        config: layer.rotary.clone(),
        layout: None,
        warnings: Vec::new(),
    })
}

/// The library's error in the words of the command line.
fn explain(args: &ExportArgs, error: &Error) -> String {
    let theta = page::short(args.rotary.theta.unwrap_or(10000.0));
    match (&args.rotary.scaling, error) {
        (_, Error::Parameter { name, expected, .. }) if name.starts_with("base") => {
            format!("--theta {theta} is not {expected}")
        }
        (_, Error::Frequency { .. }) => {
            format!("--theta {theta} gives a frequency outside the supported range")
        }
        (Some(scaling), error) => format!(
            "--scaling {}: {}",
            clean(&scaling.name, 80),
            model::reason(error).replace("rope_scaling.", "")
        ),
        (None, error) => model::reason(error),
    }
}
