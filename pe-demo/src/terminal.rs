//! The process and its terminal: pages of text, JSON, remarks, interruption.

pub(crate) mod console;
pub(crate) mod interrupt;
pub(crate) mod json;
pub(crate) mod log;
pub(crate) mod page;
pub(crate) mod process;
