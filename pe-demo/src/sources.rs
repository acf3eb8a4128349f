//! Files on this machine and on the hub: what names them, how they are read, and what may be replaced.

pub(crate) mod config_json;
pub(crate) mod fetch;
pub(crate) mod file;
pub(crate) mod gguf;
pub mod origin;
pub(crate) mod overwrite;
pub(crate) mod tensors;
pub(crate) mod write;
