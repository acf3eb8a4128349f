//! Encodings that users build: checked configurations and their tables.

pub(crate) mod bias;
pub(crate) mod fourier;
pub(crate) mod grid;
pub(crate) mod resize;
pub(crate) mod rotary;
pub(crate) mod sinusoidal;
pub mod testing;
pub(crate) mod timestep;
