//! `pe-demo export`: a table in a safetensors file.

mod options;
mod rotary;

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use pe_candle::checkpoint::{self, DEFAULT_TENSOR, SinusoidalSpec};

use self::options::Table;
use crate::terminal::emit::print;
use crate::terminal::numbers::thousands;
use crate::terminal::outcome::Outcome;
use crate::terminal::page::Page;
use crate::terminal::width::clean_path;
use crate::words;

pub(crate) use options::Options;

pub(crate) fn run(options: &Options, out: &mut dyn Write) -> Result<Outcome> {
    match &options.table {
        Table::Sinusoidal(spec) => sinusoidal(&options.output, spec, out),
        Table::Rotary(table) => rotary::run(&options.output, table, out),
    }
}

fn sinusoidal(output: &Path, spec: &SinusoidalSpec, out: &mut dyn Write) -> Result<Outcome> {
    checkpoint::export(output, spec)?;
    let mut page = Page::new();
    page.wrap("wrote ", &clean_path(output));
    page.line(format!(
        "  tensor {DEFAULT_TENSOR} [{}, {}] {}, {} bytes of numbers",
        spec.rows(),
        spec.config().d_model,
        spec.dtype().as_str(),
        thousands(spec.bytes().unwrap_or(0)),
    ));
    page.wrap("  ", &words::additive::table(spec));
    print(out, &page)?;
    Ok(Outcome::Success)
}
