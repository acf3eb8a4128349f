//! What users put into a model: configuration, layer, and its composition of Candle's own operations.

pub(crate) mod additive;
pub(crate) mod config;
pub(crate) mod dropout;
pub(crate) mod plain;
pub(crate) mod published;
pub mod rotary;
pub(crate) mod rows;
pub(crate) mod sync;
