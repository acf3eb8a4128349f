//! The table of encodings that `pe-demo encode` writes beside what it shows.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use candle_core::DType;
use pe_candle::checkpoint::{self, DEFAULT_TENSOR, TableSpec};
use serde::Serialize;

use crate::cli::EncodeArgs;
use crate::encoder::{Encoder, Scheme};
use crate::page::{self, Page, clean};

/// Where the table goes unless `--table` says otherwise.
const DEFAULT_TABLE: &str = "pe-demo-table.safetensors";

/// The table, or why it is not there.
#[derive(Debug, Serialize)]
pub(super) struct TableFile {
    file: PathBuf,
    tensor: &'static str,
    shape: [usize; 2],
    dtype: &'static str,
    /// The first entries of the last row.
    last_row_starts: Vec<f32>,
    error: Option<String>,
}

impl TableFile {
    /// Writes the encoder's own table. Only a place that was asked for must be writable.
    pub(super) fn write(args: &EncodeArgs, encoder: &Encoder) -> Result<Option<Self>> {
        // With trained weights the table is the same as without, and no one asked for it.
        let wanted = args.table.is_some() || (!args.no_table && args.weights.is_none());
        if !wanted || encoder.config().scheme != Scheme::Sinusoidal {
            return Ok(None);
        }
        let position = &encoder.config().position;
        let rows = position.max_seq_len;
        let spec = TableSpec::new(position.sinusoidal, 0, rows, DType::F32);
        let table = encoder.position().encoding(0, rows)?;
        let file = args.table.as_deref().unwrap_or(Path::new(DEFAULT_TABLE));
        let result = checkpoint::save(file, &table, &spec);
        let error = match (result, &args.table) {
            (Ok(()), _) => None,
            (Err(error), None) => Some(error.to_string()),
            (Err(error), Some(_)) => return Err(error).context("the table"),
        };
        Ok(Some(Self {
            file: file.to_owned(),
            tensor: DEFAULT_TENSOR,
            shape: [rows, spec.config.d_model],
            dtype: "f32",
            last_row_starts: table
                .get(rows - 1)?
                .to_vec1()?
                .into_iter()
                .take(4)
                .collect(),
            error,
        }))
    }

    pub(super) fn print(&self, page: &mut Page) {
        page.heading("The table of encodings");
        let path = page::path(&self.file);
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
                page.line("  look at it with: pe-demo inspect FILE");
            }
            Some(why) => {
                page.wrap("not written: ", &clean(why, 400));
                page.line("  (--table FILE writes it elsewhere)");
            }
        }
    }
}
