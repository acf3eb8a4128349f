//! Layers: configuration, layer, and its reference composed of Candle's own operations.

pub(crate) mod additive;
pub mod bias;
pub(crate) mod config;
pub(crate) mod dropout;
pub(crate) mod fourier;
pub(crate) mod grid;
pub(crate) mod inference;
pub(crate) mod learned;
pub(crate) mod published;
pub(crate) mod reference;
pub mod rotary;
pub(crate) mod rows;
pub(crate) mod sync;
pub(crate) mod timestep;
