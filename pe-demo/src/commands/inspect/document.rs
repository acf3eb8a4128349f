//! The report on a safetensors file as JSON.

use std::collections::BTreeMap;

use anyhow::Result;
use pe_candle::checkpoint::{AnySpec, Comparison, FileReport, TensorReport};
use serde::Serialize;
use serde_json::Value;

use super::Verdict;
use crate::commands::identify::{self, Report};

/// The report, written from where the names are: a file can have very many. Fields are in the order
/// of their names.
#[derive(Serialize)]
pub(super) struct Document<'a> {
    bytes: u64,
    file: String,
    /// The tensors whose numbers follow a convention, where the file says nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    identified: Vec<identify::Document>,
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
    Compared {
        entries: u64,
        first_wrong: Option<FirstWrong<'a>>,
        specification: Value,
        status: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        tensor: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        tensors: Option<Vec<&'static str>>,
        wrong: u64,
    },
}

#[derive(Serialize)]
struct FirstWrong<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
    expected: f64,
    found: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pair: Option<usize>,
    position: Option<u64>,
    row: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tensor: Option<&'a str>,
}

impl<'a> Document<'a> {
    pub(super) fn new(
        report: &'a FileReport,
        verdict: &'a Verdict,
        conventions: &[Report],
    ) -> Result<Self> {
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
            identified: conventions.iter().map(identify::Document::new).collect(),
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
                Verdict::Compared(spec, comparison) => compared(report, spec, comparison)?,
            },
            tensors: report.tensors.iter().map(tensor).collect(),
        })
    }
}

/// Describes a comparison. A table of one tensor has its name in the file, and a rotary one has pairs instead of columns.
fn compared<'a>(
    report: &'a FileReport,
    spec: &AnySpec,
    comparison: &'a Comparison,
) -> Result<Table<'a>> {
    let tensors = Some(spec.tensors()).filter(|tensors| tensors.len() > 1);
    let paired = matches!(spec, AnySpec::Rotary(_));
    Ok(Table::Compared {
        entries: comparison.entries,
        first_wrong: comparison.first_wrong.as_ref().map(|first| FirstWrong {
            column: (!paired).then_some(first.column),
            expected: first.expected,
            found: first.found,
            pair: paired.then_some(first.column),
            position: first.position,
            row: first.position.map(|_| first.row),
            tensor: tensors.as_ref().map(|_| first.tensor.as_str()),
        }),
        specification: serde_json::from_str(&spec.to_json()?)?,
        status: match comparison.is_right() {
            true => "right",
            false => "wrong",
        },
        tensor: match tensors {
            None => report.table.as_deref().ok(),
            Some(_) => None,
        },
        tensors,
        wrong: comparison.wrong,
    })
}
