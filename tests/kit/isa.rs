//! The instruction set that the benchmarks run on.

use candle_core::{Error, Result};
use pe_core::Backend;

/// Returns the instruction sets of this machine by their short names, the best one last.
pub fn available() -> Vec<&'static str> {
    let names = Backend::available().into_iter();
    names.map(|(name, _)| short(name)).collect()
}

/// Makes tables and layers use the instruction set of that short name in this process.
///
/// # Errors
/// Returns an error if this machine does not have the set, or if a table or layer has been made
/// already.
pub fn force(wanted: &str) -> Result<()> {
    let mut sets = Backend::available().into_iter();
    let forced = sets.any(|(name, backend)| short(name) == wanted && backend.force());
    if forced {
        return Ok(());
    }
    Err(Error::Msg(format!(
        "the instruction set {wanted:?} cannot be forced; this machine has {}",
        available().join(", ")
    )))
}

fn short(name: &'static str) -> &'static str {
    match name {
        "scalar" => "portable",
        "x86-64-v3 (AVX2, FMA)" => "avx2",
        "x86-64-v4 (AVX-512)" => "avx512",
        "NEON" => "neon",
        other => other,
    }
}
