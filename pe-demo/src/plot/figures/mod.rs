//! The figures, one file per group.

pub(crate) mod binary;
pub(crate) mod curves;
pub(crate) mod maps;
pub(crate) mod rates;
pub(crate) mod rings;
pub(crate) mod similarity;
mod source;

pub(crate) use source::{Settings, Source};

/// The paper, as the captions call it.
pub(super) const POSITION: &str = "position";
pub(super) const COLUMN: &str = "column";
pub(super) const PAIR: &str = "pair";
