//! The instruction set that the benchmarks run on.

use candle_core::{Error, Result};
use pe_candle::testing::InstructionSet;
use pe_core::testing::Backend;

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
    let mut tables = Backend::available().into_iter();
    let mut layers = InstructionSet::available().into_iter();
    // Layers have no name of their own for NEON, which every aarch64 processor has.
    let of_layers = match wanted {
        "portable" | "neon" => "baseline",
        other => other,
    };
    let forced = tables.any(|(name, backend)| short(name) == wanted && backend.force());
    if forced && layers.any(|(name, set)| name == of_layers && set.force()) {
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
