//! `pe-demo inspect`: what a safetensors file holds, and whether its table is right; what a
//! model's config.json or GGUF file says about rotary embeddings.

mod document;
mod model;

use std::io::Write;
use std::path::Path;

use anyhow::{Result, bail};
use pe_candle::checkpoint::{self, AnySpec, Comparison, FileReport, SpecStatus, TensorReport};

use self::document::Document;
use crate::sources::{config_json, gguf};
use crate::terminal::emit::emit;
use crate::terminal::numbers::thousands;
use crate::terminal::outcome::Outcome;
use crate::terminal::page::Page;
use crate::terminal::width::{WIDTH, clean, clean_path, columns, pad};
use crate::words;

pub(crate) fn run(file: &Path, json: bool, out: &mut dyn Write) -> Result<Outcome> {
    if gguf::is_gguf(file) || config_json::is_json(file) {
        return model::run(file, json, out);
    }
    let report = checkpoint::inspect(file)?;
    let verdict = Verdict::of(&report)?;
    let document = Document::new(&report, &verdict)?;
    emit(out, json, &document, || page(&report, &verdict))?;
    let fine = match &verdict {
        Verdict::NoSpecification => true,
        Verdict::Invalid(_) => false,
        Verdict::Compared(_, comparison) => comparison.is_right(),
    };
    Ok(match fine {
        true => Outcome::Success,
        false => Outcome::Failure,
    })
}

/// The verdict on the table.
enum Verdict {
    NoSpecification,
    Invalid(String),
    Compared(Box<AnySpec>, Comparison),
}

impl Verdict {
    fn of(report: &FileReport) -> Result<Self> {
        Ok(match &report.spec {
            SpecStatus::Absent => Self::NoSpecification,
            SpecStatus::Invalid(why) => Self::Invalid(why.clone()),
            SpecStatus::Valid(spec) => {
                Self::Compared(Box::new(spec.clone()), spec.compare(&report.path)?)
            }
            other => bail!("no words for {other:?}"),
        })
    }
}

fn page(report: &FileReport, verdict: &Verdict) -> Result<Page> {
    let mut page = Page::new();
    page.wrap("", &clean_path(&report.path));
    page.line(format!("  {} bytes", thousands(report.bytes)));

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
        Verdict::Compared(spec, comparison) => {
            let scheme = match &**spec {
                AnySpec::Sinusoidal(_) => String::new(),
                spec => format!("{}; ", spec.name()),
            };
            let words = words::tables::describe(spec);
            page.wrap(&format!("  specification: {scheme}"), &words);
            judge(&mut page, spec, comparison);
        }
    }
    Ok(page)
}

/// Prints whether all entries are right, or the first wrong one with its expected value.
fn judge(page: &mut Page, spec: &AnySpec, comparison: &Comparison) {
    let entries = thousands(comparison.entries);
    let Some(first) = &comparison.first_wrong else {
        page.line(format!("  right: all {entries} entries are as specified"));
        return;
    };
    let [column, position] = words::tables::places(spec);
    let mut place = match spec.tensors().len() {
        1 => String::new(),
        _ => format!("{}, ", first.tensor),
    };
    if first.position.is_some() {
        place += &format!("row {}, ", first.row);
    }
    place += &format!("{column} {}", first.column);
    if let Some(at) = first.position {
        place += &format!(" ({position} {at})");
    }
    let (wrong, found, expected) = (thousands(comparison.wrong), first.found, first.expected);
    page.wrap(
        "  wrong: ",
        &format!(
            "{wrong} of {entries} entries differ; the first is {place}: {found} in the file, \
             {expected} expected"
        ),
    );
}

/// Prints names, types, and shapes. Names get the columns that the others leave.
fn list(page: &mut Page, tensors: &[TensorReport]) {
    let widest = |cells: &[String]| cells.iter().map(|cell| columns(cell)).max();
    let (dtypes, shapes): (Vec<String>, Vec<String>) = tensors
        .iter()
        .map(|tensor| {
            let shape = format!("{:?}", tensor.shape);
            (clean(&tensor.dtype, 12), clean(&shape, 32))
        })
        .unzip();
    let dtype_width = widest(&dtypes).unwrap_or(0);
    let room = WIDTH - 8 - dtype_width - widest(&shapes).unwrap_or(0);
    let names: Vec<String> = tensors.iter().map(|t| clean(&t.name, room)).collect();
    let name_width = widest(&names).unwrap_or(0);
    for ((name, dtype), shape) in names.iter().zip(&dtypes).zip(&shapes) {
        page.line(format!(
            "    {}  {}  {shape}",
            pad(name, name_width),
            pad(dtype, dtype_width)
        ));
    }
}
