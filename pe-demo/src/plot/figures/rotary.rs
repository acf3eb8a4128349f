//! Rotary frequencies of models, over each other and against the length they were trained with.

use std::path::Path;

use anyhow::{Context, Result};
use pe_core::hf_config::{self, UnknownKeys};
use pe_core::{Llama3Scaling, RopeScaling, Rotary, RotaryConfig, RotaryFrequencies, YarnScaling};

use super::{PAIR, Settings};
use crate::model;
use crate::page;
use crate::plot::figure::{Axis, Content, Curve, Fact, Figure, Mark, Panel, Shape};

/// A model's rotary embedding.
struct Model {
    name: String,
    frequencies: RotaryFrequencies,
    /// The length that it was trained with before any scaling.
    trained: usize,
}

/// The frequencies of several configurations on one logarithmic axis.
pub(crate) fn rotary_frequencies(settings: &Settings) -> Result<Figure> {
    let models = models(settings)?;
    let curves: Vec<Curve> = models
        .iter()
        .map(|model| curve(model, &model.frequencies.inv_freq()))
        .collect();
    let mut facts = Vec::new();
    for model in &models {
        let slowest = model.frequencies.inv_freq().last().copied();
        facts.push(Fact::new(
            format!("{}: slowest rate", model.name),
            slowest.unwrap_or(0.0),
        ));
    }
    Ok(Figure {
        name: "rotary-frequencies",
        title: "Rotary frequencies of models".to_owned(),
        note: "Radians per position of each pair of a head".to_owned(),
        facts,
        panels: vec![panel(&curves, "radians per position")],
        shape: shape(),
    })
}

/// Wavelengths in units of the trained length: above one a pair never came full circle.
pub(crate) fn rotary_wavelengths(settings: &Settings) -> Result<Figure> {
    let models = models(settings)?;
    let mut curves = Vec::new();
    let mut facts = Vec::new();
    for model in &models {
        let trained = model.trained as f64;
        let waves = model.frequencies.wavelengths();
        let shares: Vec<f64> = waves.iter().map(|wave| wave / trained).collect();
        curves.push(curve(model, &shares));
        let incomplete = waves.iter().filter(|wave| **wave > trained).count();
        facts.push(Fact::new(
            format!(
                "{}: pairs of {} with a wavelength above {}",
                model.name,
                waves.len(),
                page::thousands(model.trained as u64),
            ),
            incomplete as f64,
        ));
    }
    let last = last_pair(&curves);
    curves.push(Curve {
        name: "trained length".to_owned(),
        x: vec![0.0, last],
        y: vec![1.0, 1.0],
        mark: Mark::Guide,
    });
    Ok(Figure {
        name: "rotary-wavelengths",
        title: "Wavelengths against the trained length".to_owned(),
        note: "Wavelength of each pair over the length that the model was first trained with"
            .to_owned(),
        facts,
        panels: vec![panel(&curves, "wavelength / trained length")],
        shape: shape(),
    })
}

fn shape() -> Shape {
    Shape {
        width: 760,
        columns: 1,
        aspect: 0.6,
    }
}

fn last_pair(curves: &[Curve]) -> f64 {
    let ends = curves.iter().filter_map(|curve| curve.x.last());
    ends.copied().fold(1.0, f64::max)
}

fn panel(curves: &[Curve], label: &str) -> Panel {
    let values = || curves.iter().flat_map(|curve| curve.y.iter().copied());
    let low = values().fold(f64::INFINITY, f64::min);
    let high = values().fold(0.0, f64::max);
    let range = if low < high { (low, high) } else { (0.1, 1.0) };
    Panel {
        title: None,
        x: Axis::linear(PAIR, (0.0, last_pair(curves))),
        y: Axis::logarithmic(label, range),
        content: Content::Curves(curves.to_vec()),
    }
}

/// A number for each pair; pairs that do not turn are left out.
fn curve(model: &Model, numbers: &[f64]) -> Curve {
    let rates = model.frequencies.inv_freq();
    let pairs = super::source::sampled(rates.len(), super::source::MOST_POINTS);
    let (x, y) = pairs
        .into_iter()
        .filter(|pair| rates[*pair] > 0.0)
        .map(|pair| (pair as f64, numbers[pair]))
        .unzip();
    Curve {
        name: model.name.clone(),
        x,
        y,
        mark: Mark::Line,
    }
}

/// The models of the settings' files, or three well-known ones.
fn models(settings: &Settings) -> Result<Vec<Model>> {
    if settings.configs.is_empty() {
        return known();
    }
    let mut models = Vec::new();
    for path in &settings.configs {
        models.extend(read(path).with_context(|| format!("cannot use {}", path.display()))?);
    }
    Ok(models)
}

fn known() -> Result<Vec<Model>> {
    let llama3 = RopeScaling::Llama3(Llama3Scaling {
        factor: 8.0,
        low_freq_factor: 1.0,
        high_freq_factor: 4.0,
        original_max_position_embeddings: 8192,
    });
    [
        ("Llama 2", 1e4, RopeScaling::Default, 4096),
        ("Llama 3.1", 5e5, llama3, 8192),
        (
            "Qwen2.5 with YaRN",
            1e6,
            RopeScaling::Yarn(YarnScaling::new(4.0, 32_768)),
            32_768,
        ),
    ]
    .into_iter()
    .map(|(name, base, scaling, trained)| {
        let rotary = Rotary::new(RotaryConfig {
            base,
            scaling,
            ..RotaryConfig::new(128)
        })?;
        Ok(Model {
            name: name.to_owned(),
            frequencies: rotary.frequencies(trained)?,
            trained,
        })
    })
    .collect()
}

/// The rotary embeddings that a model's config.json states: one, or one per type of layer.
fn read(path: &Path) -> Result<Vec<Model>> {
    let model = hf_config::read(&model::read(path)?, UnknownKeys::Warn)?;
    // Files of this kind all have one name; the folder's tells more.
    let stem = path.file_stem();
    let name = match path.parent().and_then(Path::file_name) {
        Some(folder) if stem.is_some_and(|stem| stem == "config") => Some(folder),
        _ => stem,
    };
    let name = name.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    model
        .layers
        .iter()
        .map(|layer| {
            let config = layer.rotary.clone();
            let trained = trained(&config).with_context(|| {
                "it does not say how long the sequences were: max_position_embeddings is missing"
            })?;
            let name = match &layer.layer_type {
                Some(layer) => format!("{name}, {layer}"),
                None => name.clone(),
            };
            Ok(Model {
                name: page::clean(&name, 40),
                frequencies: Rotary::new(config)?.frequencies(trained)?,
                trained,
            })
        })
        .collect()
}

/// The length before scaling, where the specification tells it.
fn trained(config: &RotaryConfig) -> Option<usize> {
    match &config.scaling {
        RopeScaling::Llama3(scaling) => Some(scaling.original_max_position_embeddings),
        RopeScaling::Yarn(scaling) => Some(scaling.original_max_position_embeddings),
        RopeScaling::LongRope(scaling) => Some(scaling.original_max_position_embeddings),
        _ => config.max_position_embeddings,
    }
}
