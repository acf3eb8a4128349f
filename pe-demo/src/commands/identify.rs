//! `pe-demo identify`: the convention of tables, from their numbers alone.

mod document;
pub(super) mod words;

use std::io::Write;
use std::path::Path;

use anyhow::{Result, bail};
use pe_core::{Element, Identification, Identified};

pub(super) use self::document::Document;
use crate::sources::tensors::{self, Tensor, Wanted, each_type};
use crate::terminal::emit::{print, print_line};
use crate::terminal::outcome::Outcome;
use crate::terminal::page::Page;
use crate::terminal::width::{clean, clean_path};

/// Prints the convention of the named tensor of a file, or of each.
pub(crate) fn run(
    file: &Path,
    tensor: Option<&str>,
    json: bool,
    out: &mut dyn Write,
) -> Result<Outcome> {
    let wanted = Wanted {
        name: tensor,
        most_bytes: Wanted::MOST,
    };
    let mut found = 0usize;
    tensors::read(file, wanted, &mut |tensor| {
        found += 1;
        let report = Report::new(&tensor)?;
        match json {
            true => print_line(out, &Document::new(&report)),
            false => {
                let mut page = Page::new();
                words::tensor(&mut page, &report);
                print(out, &page)
            }
        }
    })?;
    if found == 0 {
        let name = match tensor {
            Some(name) => format!("no tensor \"{}\"", clean(name, 200)),
            None => "no tensors".to_owned(),
        };
        bail!("{}: {name}", clean_path(file));
    }
    Ok(Outcome::Success)
}

/// Returns the tensors of a file that follow a convention, without those that do not and those above 64 MiB.
pub(super) fn conventions(file: &Path) -> Result<Vec<Report>> {
    let mut reports = Vec::new();
    let wanted = Wanted {
        name: None,
        most_bytes: 1 << 26,
    };
    tensors::read(file, wanted, &mut |tensor| {
        let report = Report::new(&tensor)?;
        if report.identification.agreement.is_some() {
            reports.push(report);
        }
        Ok(())
    })?;
    Ok(reports)
}

/// What is known of a tensor.
pub(crate) struct Report {
    pub(crate) name: String,
    pub(crate) dtype: String,
    pub(crate) shape: Vec<usize>,
    pub(crate) statistics: Option<Statistics>,
    pub(crate) identification: Identification,
}

/// Statistics of the entries.
pub(crate) struct Statistics {
    pub(crate) least: f64,
    pub(crate) mean: f64,
    pub(crate) largest: f64,
    pub(crate) not_finite: usize,
}

impl Report {
    fn new(tensor: &Tensor) -> Result<Self> {
        let Tensor {
            name,
            dtype,
            shape,
            entries,
        } = tensor;
        let (statistics, identification) = match entries {
            Some(entries) => (
                Some(each_type!(entries, values => Statistics::of(values))),
                entries.identify(name, shape)?,
            ),
            None => (
                None,
                Identification::unknown("its type has no floats, or it is larger than 1 GiB"),
            ),
        };
        Ok(Self {
            name: name.clone(),
            dtype: dtype.clone(),
            shape: shape.clone(),
            statistics,
            identification,
        })
    }

    /// Returns the preset that the convention belongs to, if it has one.
    pub(crate) fn preset(&self) -> Option<&'static str> {
        match &self.identification.found {
            Identified::Sinusoidal { presets, .. } => presets.first().map(|preset| preset.name()),
            Identified::Grid { preset, .. } => Some(preset.name()),
            _ => None,
        }
    }
}

impl Statistics {
    fn of<T: Element>(values: &[T]) -> Self {
        let mut all = Self {
            least: f64::INFINITY,
            mean: 0.0,
            largest: f64::NEG_INFINITY,
            not_finite: 0,
        };
        let mut count = 0usize;
        for value in values.iter().map(|value| value.to_f64()) {
            if value.is_finite() {
                count += 1;
                all.least = all.least.min(value);
                all.largest = all.largest.max(value);
                all.mean += value;
            } else {
                all.not_finite += 1;
            }
        }
        all.mean /= count.max(1) as f64;
        all
    }
}
