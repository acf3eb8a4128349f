//! What users put into a model: configuration, layer, and its composition of Candle's own operations.

pub(crate) mod dropout;
pub(crate) mod plain;
pub(crate) mod sync;
pub(crate) mod published;
pub(crate) mod rows;
pub(crate) mod config;
pub(crate) mod additive;
pub mod rotary;
