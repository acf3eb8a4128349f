//! The process and its terminal.

pub(crate) mod color;
pub(crate) mod emit;
pub(crate) mod interrupt;
pub(crate) mod log;
pub(crate) mod numbers;
pub(crate) mod outcome;
pub(crate) mod page;
pub(crate) mod process;
pub(crate) mod progress;
pub(crate) mod stdout;
pub(crate) mod width;
pub(crate) mod workers;
