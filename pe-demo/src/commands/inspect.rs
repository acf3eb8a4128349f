//! `pe-demo inspect`: what a safetensors file holds, and whether its table is right; what a
//! model's config.json says about rotary embeddings.

mod model;

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::{Result, bail};
use pe_candle::checkpoint::{
    self, AnySpec, Comparison, FileReport, RotarySpec, SinusoidalSpec, SpecStatus, TensorReport,
};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::cli::InspectArgs;
use crate::commands::export::{describe, describe_rotary};
use crate::terminal::console::Outcome;
use crate::terminal::page::{self, Page, clean};

pub(crate) fn run(args: &InspectArgs, out: &mut dyn Write) -> Result<Outcome> {
    if crate::words::model::is_json(&args.file) {
        return model::run(args, out);
    }
    let report = checkpoint::inspect(&args.file)?;
    let verdict = Verdict::of(&report)?;
    if args.json {
        crate::terminal::json::write(out, &Document::new(&report, &verdict)?)?;
    } else {
        out.write_all(page(&report, &verdict)?.text().as_bytes())?;
    }
    let fine = match &verdict {
        Verdict::NoSpecification => true,
        Verdict::Invalid(_) => false,
        Verdict::Additive(_, comparison) => comparison.is_right(),
        Verdict::Rotary(_, comparison) => comparison.is_right(),
    };
    Ok(if fine {
        Outcome::Success
    } else {
        Outcome::Failure
    })
}

/// What can be said about the table.
enum Verdict {
    NoSpecification,
    Invalid(String),
    Additive(SinusoidalSpec, Comparison),
    Rotary(RotarySpec, Comparison),
}

impl Verdict {
    fn of(report: &FileReport) -> Result<Self> {
        Ok(match &report.spec {
            SpecStatus::Absent => Self::NoSpecification,
            SpecStatus::Invalid(why) => Self::Invalid(why.clone()),
            SpecStatus::Valid(AnySpec::Sinusoidal(spec)) => {
                let comparison = checkpoint::compare(&report.path, spec)?;
                Self::Additive(spec.clone(), comparison)
            }
            SpecStatus::Valid(AnySpec::Rotary(spec)) => {
                let comparison = checkpoint::compare(&report.path, spec)?;
                Self::Rotary(spec.clone(), comparison)
            }
            SpecStatus::Valid(_) => bail!("the specification is of a scheme that is not shown"),
        })
    }
}

fn page(report: &FileReport, verdict: &Verdict) -> Result<Page> {
    let mut page = Page::new();
    page.wrap("", &page::path(&report.path));
    page.line(format!("  {} bytes", page::thousands(report.bytes)));

    let count = report.tensors.len();
    page.line(format!(
        "  {count} tensor{}",
        if count == 1 { "" } else { "s" }
    ));
    list(&mut page, &report.tensors);

    for (key, value) in &report.metadata {
        if key != checkpoint::METADATA_KEY {
            page.wrap("  metadata ", &clean(&format!("{key}: {value}"), 240));
        }
    }
    match verdict {
        Verdict::NoSpecification => page.line("  no specification of a positional encoding"),
        Verdict::Invalid(why) => {
            page.wrap("  specification: ", &clean(why, 400));
            page.line("  the table cannot be checked");
        }
        Verdict::Additive(spec, comparison) => {
            page.wrap("  specification: ", &describe(spec));
            let first = comparison.first_wrong.as_ref().map(|first| {
                let (row, column) = (first.row, first.column);
                let position = first.position.unwrap_or_default();
                let place = format!("row {row}, column {column} (position {position})");
                (place, first.found, first.expected)
            });
            judge(&mut page, comparison.entries, comparison.wrong, first);
        }
        Verdict::Rotary(spec, comparison) => {
            page.wrap("  specification: rotary; ", &describe_rotary(spec));
            let first = comparison.first_wrong.as_ref().map(|first| {
                let (tensor, row, pair) = (&first.tensor, first.row, first.column);
                let place = match first.position {
                    None => format!("{tensor}, pair {pair}"),
                    Some(position) => {
                        format!("{tensor}, row {row}, pair {pair} (position {position})")
                    }
                };
                (place, first.found, first.expected)
            });
            judge(&mut page, comparison.entries, comparison.wrong, first);
        }
    }
    Ok(page)
}

/// Right or wrong; the first wrong entry's place, value and what it should be.
fn judge(page: &mut Page, entries: u64, wrong: u64, first: Option<(String, f64, f64)>) {
    let entries = page::thousands(entries);
    let Some((place, found, expected)) = first else {
        page.line(format!("  right: all {entries} entries are as specified"));
        return;
    };
    let wrong = page::thousands(wrong);
    page.wrap(
        "  wrong: ",
        &format!(
            "{wrong} of {entries} entries differ; the first is {place}: {found} in the file, \
             {expected} expected"
        ),
    );
}

/// Names, types and shapes; the name gets what room the others leave.
fn list(page: &mut Page, tensors: &[TensorReport]) {
    let widest = |cells: &[String]| cells.iter().map(|cell| page::columns(cell)).max();
    let (dtypes, shapes): (Vec<String>, Vec<String>) = tensors
        .iter()
        .map(|tensor| {
            let shape = format!("{:?}", tensor.shape);
            (clean(&tensor.dtype, 12), clean(&shape, 32))
        })
        .unzip();
    let dtype_width = widest(&dtypes).unwrap_or(0);
    let room = page::WIDTH - 8 - dtype_width - widest(&shapes).unwrap_or(0);
    let names: Vec<String> = tensors.iter().map(|t| clean(&t.name, room)).collect();
    let name_width = widest(&names).unwrap_or(0);
    for ((name, dtype), shape) in names.iter().zip(&dtypes).zip(&shapes) {
        page.line(format!(
            "    {}  {}  {shape}",
            page::pad(name, name_width),
            page::pad(dtype, dtype_width)
        ));
    }
}

/// The report as JSON, written from where the names are: a file can have very many.
#[derive(Serialize)]
struct Document<'a> {
    bytes: u64,
    file: String,
    metadata: BTreeMap<&'a str, &'a str>,
    table: Value,
    tensors: Tensors<'a>,
}

impl<'a> Document<'a> {
    fn new(report: &'a FileReport, verdict: &Verdict) -> Result<Self> {
        let metadata = report.metadata.iter();
        Ok(Self {
            bytes: report.bytes,
            file: report.path.display().to_string(),
            metadata: metadata.map(|(key, value)| (&**key, &**value)).collect(),
            table: match verdict {
                Verdict::NoSpecification => json!({ "status": "no specification" }),
                Verdict::Invalid(why) => {
                    json!({ "status": "invalid specification", "reason": why })
                }
                Verdict::Additive(spec, comparison) => additive(report, spec, comparison)?,
                Verdict::Rotary(spec, comparison) => rotary(spec, comparison)?,
            },
            tensors: Tensors(&report.tensors),
        })
    }
}

struct Tensors<'a>(&'a [TensorReport]);

impl Serialize for Tensors<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Entry<'a> {
            bytes: u64,
            dtype: &'a str,
            name: &'a str,
            shape: &'a [usize],
        }
        serializer.collect_seq(self.0.iter().map(|tensor| Entry {
            bytes: tensor.bytes,
            dtype: &tensor.dtype,
            name: &tensor.name,
            shape: &tensor.shape,
        }))
    }
}

fn status(right: bool) -> &'static str {
    if right { "right" } else { "wrong" }
}

fn additive(report: &FileReport, spec: &SinusoidalSpec, comparison: &Comparison) -> Result<Value> {
    let specification: Value = serde_json::from_str(&spec.to_json()?)?;
    let first = comparison.first_wrong.as_ref().map(|first| {
        json!({
            "row": first.row,
            "column": first.column,
            "position": first.position,
            "found": first.found,
            "expected": first.expected,
        })
    });
    Ok(json!({
        "status": status(comparison.is_right()),
        "tensor": report.table.as_ref().ok(),
        "specification": specification,
        "entries": comparison.entries,
        "wrong": comparison.wrong,
        "first_wrong": first,
    }))
}

fn rotary(spec: &RotarySpec, comparison: &Comparison) -> Result<Value> {
    let specification: Value = serde_json::from_str(&spec.to_json()?)?;
    let first = comparison.first_wrong.as_ref().map(|first| {
        json!({
            "tensor": first.tensor,
            "row": first.position.map(|_| first.row),
            "pair": first.column,
            "position": first.position,
            "found": first.found,
            "expected": first.expected,
        })
    });
    Ok(json!({
        "status": status(comparison.is_right()),
        "tensors": [
            checkpoint::COS_TENSOR, checkpoint::SIN_TENSOR, checkpoint::INV_FREQ_TENSOR
        ],
        "specification": specification,
        "entries": comparison.entries,
        "wrong": comparison.wrong,
        "first_wrong": first,
    }))
}
