//! The figures, one file per group.

mod binary;
mod catalog;
mod curves;
mod maps;
mod rates;
mod rings;
mod rotary;
mod similarity;
mod source;

pub(crate) use catalog::{CATALOG, Entry, Setting};
pub(crate) use source::Settings;

use source::Source;

// What axes are called.
const POSITION: &str = "position";
const COLUMN: &str = "column";
const PAIR: &str = "pair";
