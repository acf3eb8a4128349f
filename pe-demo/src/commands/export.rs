//! `pe-demo export`: a table in a safetensors file.

mod options;
mod rotary;

use std::fs::File;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use pe_candle::checkpoint::AnySpec;

use self::options::Table;
use crate::terminal::emit::print;
use crate::terminal::numbers::thousands;
use crate::terminal::outcome::Outcome;
use crate::terminal::page::Page;
use crate::terminal::width::clean_path;
use crate::words;

pub(crate) use options::Options;

pub(crate) fn run(options: &Options, out: &mut dyn Write) -> Result<Outcome> {
    match options.to_stdout() {
        true => to_stdout(&options.table, out),
        false => to_file(&options.output, &options.table, out),
    }
}

fn to_file(output: &Path, table: &Table, out: &mut dyn Write) -> Result<Outcome> {
    match table {
        Table::Described(spec) => described(output, spec, out),
        Table::Rotary(table) => rotary::run(output, table, out),
    }
}

/// Writes the file to standard output, and nothing else. The tables are computed one block after the
/// other, so there is a file first, which can be written at every place.
fn to_stdout(table: &Table, out: &mut dyn Write) -> Result<Outcome> {
    let folder = tempfile::tempdir().context("no folder for the file before it is copied")?;
    let path = folder.path().join("table.safetensors");
    to_file(&path, table, &mut std::io::sink())?;
    let mut file = File::open(&path).with_context(|| clean_path(&path))?;
    std::io::copy(&mut file, out)?;
    Ok(Outcome::Success)
}

fn described(output: &Path, spec: &AnySpec, out: &mut dyn Write) -> Result<Outcome> {
    spec.export(output)?;
    let mut page = Page::new();
    page.wrap("wrote ", &clean_path(output));
    let ([rows, width], dtype) = (spec.shape(), spec.dtype().as_str());
    let tensors = match &spec.tensors()[..] {
        [table, slopes] => {
            let single = if dtype == "f64" { "f64" } else { "f32" };
            format!("tensors {table} [{rows}, {width}] {dtype}, {slopes} [{width}] {single}")
        }
        tensors => format!("tensor {} [{rows}, {width}] {dtype}", tensors.join(", ")),
    };
    page.line(format!(
        "  {tensors}, {} bytes of numbers",
        thousands(spec.bytes().unwrap_or(0)),
    ));
    page.wrap("  ", &words::tables::describe(spec));
    print(out, &page)?;
    Ok(Outcome::Success)
}
