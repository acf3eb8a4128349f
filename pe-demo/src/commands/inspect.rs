//! `pe-demo inspect`: what a safetensors file holds, and whether its table is right; what a
//! model's config.json or GGUF file says about rotary embeddings.

mod document;
mod model;

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use anyhow::{Result, bail};
use pe_candle::checkpoint::{self, AnySpec, Comparison, FileReport, SpecStatus, TensorReport};

use self::document::Document;
use super::identify::{self, Report};
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
    let conventions = match verdict {
        Verdict::NoSpecification => identify::conventions(file)?,
        _ => Vec::new(),
    };
    let document = Document::new(&report, &verdict, &conventions)?;
    emit(out, json, &document, || {
        page(&report, &verdict, &conventions)
    })?;
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

fn page(report: &FileReport, verdict: &Verdict, conventions: &[Report]) -> Result<Page> {
    let mut page = Page::new();
    page.wrap("", &clean_path(&report.path));
    page.line(format!("  {} bytes", thousands(report.bytes)));

    let count = report.tensors.len();
    let entries: u64 = report.tensors.iter().map(entries_of).sum();
    page.line(match count {
        1 => "  1 tensor".to_owned(),
        _ => format!("  {count} tensors, {} entries", thousands(entries)),
    });
    list(&mut page, &report.tensors);

    for (key, value) in &report.metadata {
        if key != checkpoint::METADATA_KEY {
            page.wrap("  metadata ", &clean(&format!("{key}: {value}"), 240));
        }
    }
    match verdict {
        Verdict::NoSpecification => {
            page.line("  no specification of a positional encoding");
            for report in conventions {
                let name = format!("  {}: ", clean(&report.name, 60));
                page.wrap(&name, &identify::words::convention(report));
            }
        }
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

fn entries_of(tensor: &TensorReport) -> u64 {
    let sides = tensor.shape.iter().map(|side| *side as u64);
    sides.fold(1, u64::saturating_mul)
}

/// Tensors of one type and shape whose names differ in numbers: one line, with a `*` for each number.
fn groups(tensors: &[TensorReport]) -> Vec<(TensorReport, usize)> {
    const FEW: usize = 20;
    let mut groups: Vec<(TensorReport, usize)> = Vec::new();
    let mut places = HashMap::new();
    for tensor in tensors {
        let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let parts = tensor.name.split('.');
        let pattern: Vec<&str> = parts
            .map(|part| {
                if is_number(part) && !part.is_empty() {
                    "*"
                } else {
                    part
                }
            })
            .collect();
        let name = match tensors.len() {
            0..=FEW => tensor.name.clone(),
            _ => pattern.join("."),
        };
        let key = (name.clone(), tensor.dtype.clone(), tensor.shape.clone());
        let place = *places.entry(key).or_insert_with(|| {
            let mut first = tensor.clone();
            first.name = name;
            groups.push((first, 0));
            groups.len() - 1
        });
        groups[place].1 += 1;
    }
    groups
}

/// Prints names, types, and shapes. Names get the columns that the others leave.
fn list(page: &mut Page, tensors: &[TensorReport]) {
    let (tensors, counts): (Vec<TensorReport>, Vec<usize>) = groups(tensors).into_iter().unzip();
    let widest = |cells: &[String]| cells.iter().map(|cell| columns(cell)).max();
    let (dtypes, shapes): (Vec<String>, Vec<String>) = tensors
        .iter()
        .map(|tensor| {
            let shape = format!("{:?}", tensor.shape);
            (clean(&tensor.dtype, 12), clean(&shape, 32))
        })
        .unzip();
    let of_count = |(shape, count): (String, &usize)| match count {
        1 => shape,
        _ => format!("{shape} x {count}"),
    };
    let shapes: Vec<String> = shapes.into_iter().zip(&counts).map(of_count).collect();
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
