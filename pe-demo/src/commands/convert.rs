//! `pe-demo convert`: a table of one convention in another, or weights in the other pair layout.

mod options;
mod table;
mod weights;

use std::io::Write;

use anyhow::Result;

use crate::terminal::emit::print;
use crate::terminal::outcome::Outcome;

pub(crate) use options::Options;

/// Converts the file, writes the other, and prints what it contains.
pub(crate) fn run(options: &Options, out: &mut dyn Write) -> Result<Outcome> {
    let page = match options {
        Options::Table(table) => table::convert(table)?,
        Options::Weights(weights) => weights::convert(weights)?,
    };
    print(out, &page)?;
    Ok(Outcome::Success)
}
