//! Rotary tables in safetensors files.
//!
//! A file holds three tensors and the specification:
//!
//! ```text
//! cos, sin   [rows, rotary_dim/2]   attention_factor x cos(position x inv_freq), and of sin
//! inv_freq   [rotary_dim/2]         radians per position
//! ```
//!
//! `inv_freq` is f32, as other programs keep it, or f64 in a file of f64; never of 16 bits: its
//! error is multiplied by the position. Exact cosines and sines are not made from these rounded
//! numbers but from the real ones.

mod load;
mod spec;
mod verify;
mod write;

pub use load::{LoadedRotary, RotaryLoadOptions, load_rotary};
pub use spec::RotarySpec;
pub use verify::{RotaryComparison, WrongRotaryEntry, compare_rotary};
pub use write::export_rotary;

use candle_core::DType;
use safetensors::Dtype;

use super::file::header::Header;

/// The tensor of cosines.
pub const COS_TENSOR: &str = "cos";

/// The tensor of sines.
pub const SIN_TENSOR: &str = "sin";

/// The tensor of frequencies.
pub const INV_FREQ_TENSOR: &str = "inv_freq";

/// The type of the frequencies beside tables of a type.
fn inv_freq_dtype(dtype: DType) -> DType {
    match dtype {
        DType::F64 => DType::F64,
        _ => DType::F32,
    }
}

/// The three tensors that a specification describes, in the order of their bytes in the file:
/// wider types first, then by name, which is that of the safetensors crate.
fn tensors(spec: &RotarySpec) -> [(&'static str, Dtype, Vec<usize>); 3] {
    let pairs = spec.config.rotary_dim / 2;
    let table = || (Dtype::from(spec.dtype), vec![spec.rows, pairs]);
    let ((cos, cos_shape), (sin, sin_shape)) = (table(), table());
    let mut tensors = [
        (COS_TENSOR, cos, cos_shape),
        (
            INV_FREQ_TENSOR,
            Dtype::from(inv_freq_dtype(spec.dtype)),
            vec![pairs],
        ),
        (SIN_TENSOR, sin, sin_shape),
    ];
    tensors.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    tensors
}

/// Whether a file has the tensors that a specification describes; if not, why.
pub(crate) fn fits(spec: &RotarySpec, header: &Header) -> Result<(), String> {
    for (name, dtype, shape) in tensors(spec) {
        let Some(found) = header.tensor(name) else {
            return Err(format!(
                "the specification is of a rotary table, but there is no tensor {name:?}"
            ));
        };
        if (found.dtype, &found.shape) != (dtype, &shape) {
            return Err(format!(
                "the specification says {name:?} is {dtype} {shape:?}, the tensor is {} {:?}",
                found.dtype, found.shape
            ));
        }
    }
    Ok(())
}
