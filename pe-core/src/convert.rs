//! Conventions of other libraries and model files, translated to specifications.

#[cfg(feature = "hf-config")]
pub mod gguf;
pub(crate) mod grid_preset;
#[cfg(feature = "hf-config")]
#[cfg(feature = "hf-config")]
pub mod hf_config;
pub(crate) mod permute;
pub(crate) mod preset;
pub(crate) mod resize_preset;
