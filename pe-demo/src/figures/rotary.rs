//! Rotary frequencies of models, over each other and against the length they were trained with.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use pe_core::{Llama3Scaling, RopeScaling, RotaryConfig, YarnScaling};

use super::entry::Entry;
use super::source::{PAIR, Settings};
use crate::chart::{Axis, Content, Curve, Fact, Figure, Mark, Panel, Shape};
use crate::sources::config_json;
use crate::terminal::width::{clean, clean_path};
use crate::words::lengths::{Before, ORIGINAL, Rates, Set, Within, number};

/// The frequencies of a model's layers, for sequences of some lengths.
struct Model {
    model: String,
    /// Name of the model, with the lengths if it has several sets.
    name: String,
    set: Set,
    /// Whether the stated lengths are those before and after a scaling.
    scaled: bool,
    /// The frequencies before the scaling, with the first set of a model.
    before: Option<Before>,
}

impl Model {
    /// Builds one model per set of frequencies.
    fn all(name: &str, config: &RotaryConfig) -> Result<Vec<Self>> {
        let Rates { mut before, sets } = Rates::new(config)?;
        let scaled = before.is_some();
        let model = |set: Set| Self {
            model: name.to_owned(),
            name: match &set.short {
                Some(sequences) => format!("{name}, {sequences}"),
                None => name.to_owned(),
            },
            set,
            scaled,
            before: before.take(),
        };
        Ok(sets.into_iter().map(model).collect())
    }

    /// Describes when the model had a length.
    fn when(&self, length: &Within) -> &'static str {
        match (self.scaled, length.key == ORIGINAL) {
            (false, _) => "",
            (true, true) => " before scaling",
            (true, false) => " after scaling",
        }
    }
}

/// Draws the frequencies of several configurations on one logarithmic axis.
pub(super) fn rotary_frequencies(entry: &Entry, settings: &Settings) -> Result<Figure> {
    let models = models(settings)?;
    let mut curves = Vec::new();
    let mut facts = Vec::new();
    for model in &models {
        let rates = model.set.frequencies.inv_freq();
        curves.push(curve(model, &rates));
        facts.push(Fact::new(
            format!("{}: slowest rate", model.name),
            rates.last().copied().unwrap_or(0.0),
        ));
    }
    let slowed = slowed(&models);
    let mut panels = vec![panel(&curves, "radians per position")];
    if slowed.iter().any(|curve| curve.mark == Mark::Line) {
        panels[0].title = Some("Rates".to_owned());
        panels.push(Panel {
            title: Some("Rates after the scaling, relative to those before".to_owned()),
            x: Axis::linear(PAIR, (0.0, last_pair(&curves))),
            y: Axis::linear("ratio", (0.0, 1.06)).with_ticks([0.0, 0.25, 0.5, 0.75, 1.0]),
            content: Content::Curves(slowed),
        });
    }
    let aspect = if panels.len() > 1 { 0.42 } else { 0.6 };
    Ok(Figure {
        name: entry.name,
        title: entry.title.to_owned(),
        note: "Radians per position of each pair of a head".to_owned(),
        facts,
        panels,
        shape: Shape { aspect, ..shape() },
    })
}

/// Returns the rates of scaled models relative to those before the scaling. The curves of others are empty, so that
/// each model has one color in both panels.
fn slowed(models: &[Model]) -> Vec<Curve> {
    let before = |model: &Model| {
        let of_model = models.iter().filter(|other| other.model == model.model);
        of_model.filter_map(|other| other.before.as_ref()).next()
    };
    let ratios = models.iter().map(|model| match before(model) {
        Some(before) => {
            let waves = before.wavelengths.iter().zip(&model.set.wavelengths);
            let ratios: Vec<f64> = waves.map(|(before, after)| before / after).collect();
            curve(model, &ratios)
        }
        None => Curve {
            name: String::new(),
            x: Vec::new(),
            y: Vec::new(),
            mark: Mark::Hidden,
        },
    });
    ratios.collect()
}

/// Draws wavelengths before and after a scaling, and the lengths that the models state. A pair above such
/// a line never completes a turn within that length.
pub(super) fn rotary_wavelengths(entry: &Entry, settings: &Settings) -> Result<Figure> {
    let models = models(settings)?;
    let mut curves = Vec::new();
    let mut facts = Vec::new();
    // By length and by when models had it, the models.
    let mut lengths: BTreeMap<usize, BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
    for model in &models {
        let waves = &model.set.wavelengths;
        curves.push(curve(model, waves));
        let mut above = |name: &str, which, length: &Within| {
            facts.push(Fact::new(
                format!(
                    "{name}: pairs of {} with {which} wavelength above {}",
                    waves.len(),
                    number(length.positions),
                ),
                length.incomplete.len() as f64,
            ));
        };
        if let Some(before) = &model.before {
            above(&model.model, "an unscaled", &before.within);
        }
        for length in &model.set.within {
            lengths
                .entry(length.positions)
                .or_default()
                .entry(model.when(length))
                .or_default()
                .push(&model.model);
            let which = if model.scaled { "a scaled" } else { "a" };
            above(&model.name, which, length);
        }
        if model.set.within.is_empty() {
            let turning = waves.iter().copied().filter(|wave| wave.is_finite());
            facts.push(Fact::new(
                format!("{}: longest wavelength; no length stated", model.name),
                turning.fold(0.0, f64::max),
            ));
        }
    }
    for (index, model) in models.iter().enumerate() {
        if let Some(before) = &model.before {
            curves.push(Curve {
                name: format!("{} before scaling", model.model),
                mark: Mark::Thin(index),
                ..line(&before.wavelengths, &before.wavelengths)
            });
        }
    }
    let thin = match curves.len() > models.len() {
        true => "; thin: before the scaling",
        false => "",
    };
    let last = last_pair(&curves);
    for (length, models) in lengths {
        let models: Vec<String> = models
            .iter()
            .map(|(when, models)| format!("{}{when}", models.join(", ")))
            .collect();
        curves.push(Curve {
            name: format!("{}: {}", number(length), models.join("; ")),
            x: vec![0.0, last],
            y: vec![length as f64; 2],
            mark: Mark::Level,
        });
    }
    Ok(Figure {
        name: entry.name,
        title: entry.title.to_owned(),
        note: format!(
            "Positions that a turn of each pair takes; a pair above a gray line never completes \
             a turn within that length{thin}"
        ),
        facts,
        panels: vec![panel(&curves, "wavelength in positions")],
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

fn curve(model: &Model, numbers: &[f64]) -> Curve {
    Curve {
        name: model.name.clone(),
        ..line(&model.set.wavelengths, numbers)
    }
}

/// Builds a curve over the pairs. Pairs that do not rotate are left out.
fn line(waves: &[f64], numbers: &[f64]) -> Curve {
    let pairs = super::source::sampled(waves.len(), super::source::MOST_POINTS);
    let (x, y) = pairs
        .into_iter()
        .filter(|pair| waves[*pair].is_finite())
        .map(|pair| (pair as f64, numbers[pair]))
        .unzip();
    Curve {
        name: String::new(),
        x,
        y,
        mark: Mark::Line,
    }
}

/// Returns the models of the settings' files, or three well-known ones.
fn models(settings: &Settings) -> Result<Vec<Model>> {
    if settings.configs.is_empty() {
        return known();
    }
    let mut models = Vec::new();
    for path in &settings.configs {
        models.extend(read(path)?);
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
    let yarn = RopeScaling::Yarn(YarnScaling::new(4.0, 32_768));
    let mut models = Vec::new();
    for (name, base, scaling, longest) in [
        ("Llama 2", 1e4, RopeScaling::Default, 4096),
        ("Llama 3.1", 5e5, llama3, 131_072),
        ("Qwen2.5 with YaRN", 1e6, yarn, 131_072),
    ] {
        let config = RotaryConfig {
            base,
            scaling,
            max_position_embeddings: Some(longest),
            ..RotaryConfig::new(128)
        };
        models.extend(Model::all(name, &config)?);
    }
    Ok(models)
}

/// Reads the rotary embeddings of a model's config.json: one, or one per type of layer.
fn read(path: &Path) -> Result<Vec<Model>> {
    let model = config_json::parse(path, &config_json::read(path)?)?;
    // Files of this kind share one name, so the folder's is more specific.
    let stem = path.file_stem();
    let name = match path.parent().and_then(Path::file_name) {
        Some(folder) if stem.is_some_and(|stem| stem == "config") => Some(folder),
        _ => stem,
    };
    let name = name.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let mut models = Vec::new();
    for layer in &model.layers {
        let name = match &layer.layer_type {
            Some(layer) => format!("{name}, {layer}"),
            None => name.clone(),
        };
        let all = Model::all(&clean(&name, 40), &layer.rotary);
        models.extend(all.with_context(|| clean_path(path))?);
    }
    Ok(models)
}
