//! The report on a tensor as JSON.

use pe_core::{Identified, RotaryColumns, RotaryPart};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Report, Statistics};

/// One tensor. Other programs read these names.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Document {
    tensor: String,
    dtype: String,
    shape: Vec<usize>,
    scheme: &'static str,
    preset: Option<&'static str>,
    presets: Vec<&'static str>,
    layout: Option<&'static str>,
    spacing: Option<&'static str>,
    base: Option<f64>,
    start: Option<f64>,
    step: Option<f64>,
    scale: Option<f64>,
    odd_width: Option<&'static str>,
    padding_idx: Option<u32>,
    recipe: Option<&'static str>,
    equal_share: Option<f64>,
    largest_error: Option<f64>,
    part: Option<&'static str>,
    columns: Option<&'static str>,
    attention_factor: Option<f64>,
    scaling: Option<Value>,
    num_heads: Option<usize>,
    bias_max: Option<f64>,
    sides: Option<Vec<usize>>,
    norms: Option<[f64; 3]>,
    neighbor_similarity: Option<f64>,
    distant_similarity: Option<f64>,
    reason: Option<&'static str>,
    min: Option<f64>,
    mean: Option<f64>,
    max: Option<f64>,
    not_finite: Option<usize>,
}

impl Document {
    /// Returns the report as a JSON object.
    pub(crate) fn new(report: &Report) -> Self {
        let plain = Self::plain(report);
        match &report.identification.found {
            Identified::Sinusoidal {
                config,
                start,
                step,
                scale,
                presets,
            } => Self {
                presets: presets.iter().map(|preset| preset.name()).collect(),
                layout: Some(config.layout.name()),
                spacing: Some(config.spacing.name()),
                base: Some(config.base.value()),
                start: Some(*start),
                step: Some(*step),
                scale: Some(*scale),
                odd_width: Some(config.odd_width.name()).filter(|_| config.d_model % 2 == 1),
                padding_idx: config.padding_idx,
                recipe: Some(config.recipe.name()),
                ..plain
            },
            Identified::Rotary {
                config,
                part,
                columns,
                attention_factor,
            } => Self {
                layout: match columns {
                    RotaryColumns::Once => None,
                    RotaryColumns::Concatenated => Some("half-split"),
                    RotaryColumns::Repeated => Some("interleaved"),
                },
                spacing: Some("paper"),
                base: Some(config.base),
                start: Some(0.0),
                recipe: Some(config.recipe.name()),
                part: Some(part_name(*part)),
                columns: Some(columns_name(*columns)),
                attention_factor: Some(*attention_factor),
                scaling: Some(json!(config.scaling)),
                ..plain
            },
            Identified::InvFreq { config } => Self {
                spacing: Some("paper"),
                base: Some(config.base),
                recipe: Some(config.recipe.name()),
                scaling: Some(json!(config.scaling)),
                ..plain
            },
            Identified::Alibi { config, .. } => Self {
                num_heads: Some(config.num_heads),
                bias_max: Some(config.bias_max),
                recipe: Some("exact"),
                ..plain
            },
            Identified::Grid { sides, .. } => Self {
                sides: Some(sides.clone()),
                recipe: Some("exact"),
                ..plain
            },
            Identified::Learned(statistics) => Self {
                norms: Some([
                    statistics.least_norm,
                    statistics.mean_norm,
                    statistics.largest_norm,
                ]),
                neighbor_similarity: statistics.neighbor_similarity,
                distant_similarity: statistics.distant_similarity,
                ..plain
            },
            Identified::Unknown { reason } => Self {
                reason: Some(reason),
                ..plain
            },
            _ => plain,
        }
    }

    /// Returns the fields that every tensor has.
    fn plain(report: &Report) -> Self {
        let agreement = report.identification.agreement;
        // Numbers of JSON are finite.
        let statistic = |of: fn(&Statistics) -> f64| {
            report
                .statistics
                .as_ref()
                .map(of)
                .filter(|value| value.is_finite())
        };
        Self {
            tensor: report.name.clone(),
            dtype: report.dtype.clone(),
            shape: report.shape.clone(),
            scheme: report.identification.found.name(),
            preset: report.preset(),
            equal_share: agreement.map(|agreement| agreement.equal_share),
            largest_error: agreement.map(|agreement| agreement.largest_error),
            min: statistic(|statistics| statistics.least),
            mean: statistic(|statistics| statistics.mean),
            max: statistic(|statistics| statistics.largest),
            not_finite: report
                .statistics
                .as_ref()
                .map(|statistics| statistics.not_finite),
            ..Self::default()
        }
    }
}

pub(super) fn part_name(part: RotaryPart) -> &'static str {
    match part {
        RotaryPart::Cos => "cos",
        RotaryPart::Sin => "sin",
    }
}

fn columns_name(columns: RotaryColumns) -> &'static str {
    match columns {
        RotaryColumns::Once => "once",
        RotaryColumns::Concatenated => "concatenated",
        RotaryColumns::Repeated => "repeated",
    }
}
