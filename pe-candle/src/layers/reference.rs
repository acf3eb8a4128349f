//! Reference of the additive layer, composed of Candle's own operations. It runs on every device of
//! Candle, and tests compare the CPU's fused passes with it.

use candle_core::{DType, Result, Tensor};

use crate::layers::dropout::Dropout;

/// Returns the type in which inputs of a type are computed: `f32` for 16-bit float types.
pub(crate) fn compute_dtype(input: DType) -> DType {
    match input {
        DType::F16 | DType::BF16 => DType::F32,
        other => other,
    }
}

/// Computes `dropout(xs * scale + pe)`. `pe` broadcasts to the shape of `xs`.
///
/// All operations use [`compute_dtype`], and the result is rounded to the type of `xs` once. In `f32`
/// and `f64` the product, the sum, and the dropout's product are three operations with a rounding each.
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
    // A separate view, because the backward pass of Candle's addition stores a gradient for both
    // operands, and must not store one for the table.
    let pe = pe.to_dtype(dtype)?.broadcast_as(xs.shape())?;
    let sum = (scaled + pe)?;
    dropout.forward(&sum, train)?.to_dtype(xs.dtype())
}

/// Returns the rows of `table` with the given ids, of shape `[ids.len(), d_model]`. The ids must be
/// checked, because Candle reads some that are out of range as a row of zeros.
pub(crate) fn gather(table: &Tensor, ids: Vec<u32>) -> Result<Tensor> {
    let count = ids.len();
    let ids = Tensor::from_vec(ids, count, table.device())?;
    table.index_select(&ids, 0)
}

/// Does the same for inputs of a type, without a gradient of the row `padding`. Gradients of a row that
/// is used several times are added up in [`compute_dtype`].
pub(crate) fn gather_trained(
    table: &Tensor,
    ids: Vec<u32>,
    input: DType,
    padding: Option<u32>,
) -> Result<Tensor> {
    if !table.track_op() {
        return gather(table, ids);
    }
    let table = &table.to_dtype(compute_dtype(input))?;
    let trains = |id: &u32| u8::from(Some(*id) != padding);
    let trained: Vec<u8> = ids.iter().map(trains).collect();
    let rows = gather(table, ids)?;
    if !trained.contains(&0) {
        return Ok(rows);
    }
    let trained = Tensor::from_vec(trained, (rows.dims2()?.0, 1), table.device())?;
    let trained = trained.broadcast_as(rows.shape())?;
    trained.where_cond(&rows, &rows.detach())
}
