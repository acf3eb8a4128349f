//! The figures: their catalog, and builders with one file per group.

mod biases;
mod binary;
mod catalog;
mod curves;
mod entry;
mod fourier;
mod grids;
mod maps;
mod rates;
mod rings;
mod rotary;
mod similarity;
mod source;

pub(crate) use catalog::{CATALOG, SECTIONS, Section};
pub(crate) use entry::{Entry, Setting};
pub(crate) use source::Settings;
