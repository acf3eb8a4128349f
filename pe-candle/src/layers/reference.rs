//! The additive path composed of Candle's own operations: every device that
//! Candle has can run it, and the kernels for the CPU are held against it.

use candle_core::{DType, Result, Tensor};

use crate::layers::dropout::Dropout;

/// The type in which inputs of a type are computed: half types in `f32`.
pub(crate) fn compute_dtype(input: DType) -> DType {
    match input {
        DType::F16 | DType::BF16 => DType::F32,
        other => other,
    }
}

/// `dropout(xs * scale + pe)`, where `pe` broadcasts to the shape of `xs`.
///
/// Everything happens in [`compute_dtype`], and the result is rounded to the type of `xs` once.
/// In `f32` and `f64` the product, the sum and the dropout's product are rounded one by one, as
/// three operations.
pub(crate) fn add_encoding(
    xs: &Tensor,
    pe: &Tensor,
    scale: Option<f64>,
    dropout: &Dropout,
    train: bool,
) -> Result<Tensor> {
    let dtype = compute_dtype(xs.dtype());
    let scaled = match scale {
        None => xs.to_dtype(dtype)?,
        Some(factor) => xs.to_dtype(dtype)?.affine(factor, 0.0)?,
    };
    // A view of its own: the backward pass of Candle's addition files a gradient
    // for both operands, and must not file one under the table's name.
    let pe = pe.to_dtype(dtype)?.broadcast_as(xs.shape())?;
    let sum = (scaled + pe)?;
    dropout.forward(&sum, train)?.to_dtype(xs.dtype())
}

/// The rows of `table` that `ids` name, `[ids.len(), d_model]`. Candle reads some ids that are
/// out of range as a row of zeros: they must have been checked.
pub(crate) fn gather(table: &Tensor, ids: Vec<u32>) -> Result<Tensor> {
    let count = ids.len();
    let ids = Tensor::from_vec(ids, count, table.device())?;
    table.index_select(&ids, 0)
}
