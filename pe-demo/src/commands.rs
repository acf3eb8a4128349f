//! What each command does.

pub(crate) mod plot;
pub(crate) mod report;
