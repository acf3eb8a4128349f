//! `pe-demo inspect`: what a safetensors file holds, and whether its table is right.

use std::io::Write;

use anyhow::Result;
use pe_candle::checkpoint::{self, Comparison, FileReport, SpecStatus, TableSpec, TensorReport};
use serde_json::{Value, json};

use crate::cli::InspectArgs;
use crate::console::Outcome;
use crate::export::describe;
use crate::page::{self, Page, clean};

pub(crate) fn run(args: &InspectArgs, out: &mut dyn Write) -> Result<Outcome> {
    let report = checkpoint::inspect(&args.file)?;
    let verdict = Verdict::of(&report)?;
    let text = if args.json {
        format!("{:#}\n", document(&report, &verdict)?)
    } else {
        page(&report, &verdict).text().to_owned()
    };
    out.write_all(text.as_bytes())?;
    Ok(match verdict {
        Verdict::NoSpecification | Verdict::Right(..) => Outcome::Success,
        Verdict::Invalid(_) | Verdict::Wrong(..) => Outcome::Failure,
    })
}

/// What can be said about the table.
enum Verdict {
    NoSpecification,
    Invalid(String),
    Right(TableSpec, Comparison),
    Wrong(TableSpec, Comparison),
}

impl Verdict {
    fn of(report: &FileReport) -> Result<Self> {
        let spec = match &report.spec {
            SpecStatus::Absent => return Ok(Self::NoSpecification),
            SpecStatus::Invalid(why) => return Ok(Self::Invalid(why.clone())),
            SpecStatus::Valid(spec) => *spec,
        };
        let name = report.table.as_ref().ok();
        let comparison = checkpoint::compare(&report.path, name.map(String::as_str), &spec)?;
        Ok(if comparison.is_right() {
            Self::Right(spec, comparison)
        } else {
            Self::Wrong(spec, comparison)
        })
    }
}

fn page(report: &FileReport, verdict: &Verdict) -> Page {
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
        Verdict::Right(spec, comparison) => {
            page.wrap("  specification: ", &describe(spec));
            let entries = page::thousands(comparison.entries);
            page.line(format!("  right: all {entries} entries are as specified"));
        }
        Verdict::Wrong(spec, comparison) => {
            page.wrap("  specification: ", &describe(spec));
            page.wrap("  wrong: ", &wrong(comparison));
        }
    }
    page
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

fn wrong(comparison: &Comparison) -> String {
    let mut text = format!(
        "{} of {} entries differ",
        page::thousands(comparison.wrong),
        page::thousands(comparison.entries)
    );
    if let Some(first) = comparison.first_wrong {
        text += &format!(
            "; the first is row {}, column {} (position {}): {} in the file, {} expected",
            first.row, first.column, first.position, first.found, first.expected
        );
    }
    text
}

fn document(report: &FileReport, verdict: &Verdict) -> Result<Value> {
    let tensors: Vec<Value> = report
        .tensors
        .iter()
        .map(|tensor| {
            json!({
                "name": tensor.name,
                "dtype": tensor.dtype,
                "shape": tensor.shape,
                "bytes": tensor.bytes,
            })
        })
        .collect();
    let metadata: serde_json::Map<String, Value> = report
        .metadata
        .iter()
        .map(|(key, value)| (key.clone(), Value::from(value.as_str())))
        .collect();
    let verdict = match verdict {
        Verdict::NoSpecification => json!({ "status": "no specification" }),
        Verdict::Invalid(why) => json!({ "status": "invalid specification", "reason": why }),
        Verdict::Right(spec, comparison) => table("right", report, spec, comparison)?,
        Verdict::Wrong(spec, comparison) => table("wrong", report, spec, comparison)?,
    };
    Ok(json!({
        "file": report.path.display().to_string(),
        "bytes": report.bytes,
        "tensors": tensors,
        "metadata": metadata,
        "table": verdict,
    }))
}

fn table(
    status: &str,
    report: &FileReport,
    spec: &TableSpec,
    comparison: &Comparison,
) -> Result<Value> {
    let specification: Value = serde_json::from_str(&spec.to_json()?)?;
    let first = comparison.first_wrong.map(|first| {
        json!({
            "row": first.row,
            "column": first.column,
            "position": first.position,
            "found": first.found,
            "expected": first.expected,
        })
    });
    Ok(json!({
        "status": status,
        "tensor": report.table.as_ref().ok(),
        "specification": specification,
        "entries": comparison.entries,
        "wrong": comparison.wrong,
        "first_wrong": first,
    }))
}
