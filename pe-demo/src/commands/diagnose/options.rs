//! The options of `pe-demo diagnose`.

use std::path::PathBuf;

use candle_core::DType;

use crate::cli::DiagnoseArgs;

/// The model, the length, and the type.
#[derive(Debug)]
pub(crate) struct Options {
    pub(super) config: PathBuf,
    /// `None` for the longest sequence that the file states.
    pub(super) length: Option<u64>,
    pub(super) dtype: DType,
    pub(super) json: bool,
}

impl From<DiagnoseArgs> for Options {
    fn from(args: DiagnoseArgs) -> Self {
        Self {
            config: args.config,
            length: args.length,
            dtype: args.dtype,
            json: args.json,
        }
    }
}
