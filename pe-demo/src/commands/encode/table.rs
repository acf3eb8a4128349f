//! The table of encodings that `pe-demo encode` writes.

use std::path::PathBuf;

use anyhow::{Context, Result};
use candle_core::{DType, Device};
use pe_candle::checkpoint::{self, DEFAULT_TENSOR, SinusoidalSpec};
use serde::Serialize;

use super::options::TableOption;
use crate::commands::studies::Section;
use crate::encoder::Encoder;
use crate::terminal::log::Verbosity;
use crate::terminal::page::Page;
use crate::terminal::width::{clean, clean_path};
use crate::text::tokenizer::Sentence;

/// The file of the table, or why it is missing.
#[derive(Debug, Serialize)]
pub(super) struct TableFile {
    /// The real path, once it is written.
    file: PathBuf,
    /// Whether an option asked for it.
    #[serde(skip)]
    asked: bool,
    /// Whether nothing is printed about it.
    #[serde(skip)]
    silent: bool,
    tensor: &'static str,
    shape: [usize; 2],
    dtype: &'static str,
    /// The first entries of the last row.
    last_row_starts: Vec<f32>,
    error: Option<String>,
}

impl TableFile {
    /// Writes the encoder's own table. It is an error if it cannot be written and was asked for.
    pub(super) fn write(option: &TableOption, encoder: &Encoder) -> Result<Self> {
        let file = &option.file;
        let position = &encoder.config().position;
        let rows = position.max_seq_len;
        let spec = SinusoidalSpec::new(position.sinusoidal, 0, rows, DType::F32)?;
        let table = encoder.position().encoding(0, rows)?;
        let table = table.to_device(&Device::Cpu)?;
        let result = checkpoint::save(file, &table, &spec);
        let error = match (result, option.asked) {
            (Ok(()), _) => None,
            (Err(error), false) => Some(error.to_string()),
            (Err(error), true) => return Err(error).context("the table"),
        };
        Ok(Self {
            file: file.canonicalize().unwrap_or_else(|_| file.to_owned()),
            asked: option.asked,
            tensor: DEFAULT_TENSOR,
            shape: [rows, spec.config().d_model],
            dtype: "f32",
            last_row_starts: table
                .get(rows - 1)?
                .to_vec1()?
                .into_iter()
                .take(4)
                .collect(),
            error,
            silent: false,
        })
    }

    /// Silences the section unless the table could not be written.
    pub(super) fn silence(&mut self, verbosity: Verbosity) {
        self.silent = verbosity == Verbosity::Quiet && self.error.is_none();
    }
}

impl Section for TableFile {
    fn print(&self, page: &mut Page, _: &[Sentence]) {
        if self.silent {
            return;
        }
        page.heading("The table of encodings");
        let path = clean_path(&self.file);
        let [rows, width] = self.shape;
        match &self.error {
            None => {
                page.wrap("wrote ", &path);
                let starts = self.last_row_starts.iter();
                let starts: Vec<String> = starts.map(|x| format!("{x:.6}")).collect();
                page.wrap(
                    "  ",
                    &format!(
                        "tensor {} [{rows}, {width}] {}; row {} starts {}",
                        self.tensor,
                        self.dtype,
                        rows - 1,
                        starts.join(" ")
                    ),
                );
                page.wrap("  ", &format!("look at it with: pe-demo inspect {path}"));
                if !self.asked {
                    page.wrap(
                        "  ",
                        "written because no sentence was given: --table FILE writes it elsewhere, \
                         --no-table not at all",
                    );
                }
            }
            Some(why) => {
                page.wrap("not written: ", &clean(why, 400));
                page.line("  (--table FILE writes it elsewhere)");
            }
        }
    }
}
