//! One command each: its options, the work, and its output.

pub(crate) mod convert;
pub(crate) mod diagnose;
pub(crate) mod encode;
pub(crate) mod export;
pub(crate) mod identify;
pub(crate) mod inspect;
pub(crate) mod plot;
pub(crate) mod report;
pub(crate) mod resize;
pub(crate) mod shell;
pub mod studies;
pub(crate) mod train;
