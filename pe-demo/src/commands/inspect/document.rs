//! The report on a safetensors file as JSON.

use std::collections::BTreeMap;

use anyhow::Result;
use pe_candle::checkpoint::{
    self, Comparison, FileReport, RotarySpec, SinusoidalSpec, TensorReport,
};
use serde::Serialize;
use serde_json::Value;

use super::Verdict;

/// The report, written from where the names are: a file can have very many. Fields are in the order
/// of their names.
#[derive(Serialize)]
pub(super) struct Document<'a> {
    bytes: u64,
    file: String,
    metadata: BTreeMap<&'a str, &'a str>,
    table: Table<'a>,
    tensors: Vec<Tensor<'a>>,
}

#[derive(Serialize)]
struct Tensor<'a> {
    bytes: u64,
    dtype: &'a str,
    name: &'a str,
    shape: &'a [usize],
}

/// The verdict on the table.
#[derive(Serialize)]
#[serde(untagged)]
enum Table<'a> {
    Unknown {
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<&'a str>,
        status: &'static str,
    },
    Additive {
        entries: u64,
        first_wrong: Option<FirstWrong>,
        specification: Value,
        status: &'static str,
        tensor: Option<&'a String>,
        wrong: u64,
    },
    Rotary {
        entries: u64,
        first_wrong: Option<FirstWrongRotary>,
        specification: Value,
        status: &'static str,
        tensors: [&'static str; 3],
        wrong: u64,
    },
}

#[derive(Serialize)]
struct FirstWrong {
    column: usize,
    expected: f64,
    found: f64,
    position: Option<u64>,
    row: usize,
}

#[derive(Serialize)]
struct FirstWrongRotary {
    expected: f64,
    found: f64,
    pair: usize,
    position: Option<u64>,
    row: Option<usize>,
    tensor: String,
}

impl<'a> Document<'a> {
    pub(super) fn new(report: &'a FileReport, verdict: &'a Verdict) -> Result<Self> {
        let metadata = report.metadata.iter();
        let tensor = |tensor: &'a TensorReport| Tensor {
            bytes: tensor.bytes,
            dtype: &tensor.dtype,
            name: &tensor.name,
            shape: &tensor.shape,
        };
        Ok(Self {
            bytes: report.bytes,
            file: report.path.display().to_string(),
            metadata: metadata.map(|(key, value)| (&**key, &**value)).collect(),
            table: match verdict {
                Verdict::NoSpecification => Table::Unknown {
                    reason: None,
                    status: "no specification",
                },
                Verdict::Invalid(why) => Table::Unknown {
                    reason: Some(why),
                    status: "invalid specification",
                },
                Verdict::Additive(spec, comparison) => additive(report, spec, comparison)?,
                Verdict::Rotary(spec, comparison) => rotary(spec, comparison)?,
            },
            tensors: report.tensors.iter().map(tensor).collect(),
        })
    }
}

fn status(right: bool) -> &'static str {
    match right {
        true => "right",
        false => "wrong",
    }
}

fn additive<'a>(
    report: &'a FileReport,
    spec: &SinusoidalSpec,
    comparison: &Comparison,
) -> Result<Table<'a>> {
    Ok(Table::Additive {
        entries: comparison.entries,
        first_wrong: comparison.first_wrong.as_ref().map(|first| FirstWrong {
            column: first.column,
            expected: first.expected,
            found: first.found,
            position: first.position,
            row: first.row,
        }),
        specification: serde_json::from_str(&spec.to_json()?)?,
        status: status(comparison.is_right()),
        tensor: report.table.as_ref().ok(),
        wrong: comparison.wrong,
    })
}

fn rotary(spec: &RotarySpec, comparison: &Comparison) -> Result<Table<'static>> {
    Ok(Table::Rotary {
        entries: comparison.entries,
        first_wrong: comparison
            .first_wrong
            .as_ref()
            .map(|first| FirstWrongRotary {
                expected: first.expected,
                found: first.found,
                pair: first.column,
                position: first.position,
                row: first.position.map(|_| first.row),
                tensor: first.tensor.clone(),
            }),
        specification: serde_json::from_str(&spec.to_json()?)?,
        status: status(comparison.is_right()),
        tensors: [
            checkpoint::COS_TENSOR,
            checkpoint::SIN_TENSOR,
            checkpoint::INV_FREQ_TENSOR,
        ],
        wrong: comparison.wrong,
    })
}
