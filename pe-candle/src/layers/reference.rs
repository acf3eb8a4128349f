//! Reference of the additive layer, composed of Candle's own operations. It runs on every device of
//! Candle, and tests compare the CPU's fused passes with it.

use std::sync::OnceLock;

use candle_core::utils::{cuda_is_available, metal_is_available};
use candle_core::{CpuStorage, DType, Layout, Result, Shape, Tensor, bail};
use pe_core::RowTaps;

use crate::kernel::{Plan, Rotation, Route, SoftmaxBias};
use crate::layers::dropout::{Dropout, DropoutOp};
use crate::layers::grid::reference::gather_sum;

/// The reference paths of the layers.
///
/// Together with the operations of Candle they are as large as the rest of the crate, and the kernels need none of them. A
/// program contains them if Candle is compiled for GPUs, or if it calls [`Paths::link`], as the hooks of tests do.
pub(crate) struct Paths {
    pub(crate) add: fn(&Tensor, &Tensor, Option<f64>, &Dropout, bool) -> Result<Tensor>,
    pub(crate) gather: fn(&Tensor, Vec<u32>, DType, Option<u32>) -> Result<Tensor>,
    pub(crate) pick: fn(&Tensor, &Tensor) -> Result<Tensor>,
    pub(crate) sum: fn(&Tensor, &RowTaps) -> Result<Tensor>,
    pub(crate) rotate: fn(&Rotation, &Tensor, Route) -> Result<Tensor>,
    pub(crate) by_angles: fn(&Rotation, &Tensor) -> Result<Tensor>,
    pub(super) weigh: fn(&SoftmaxBias, &Tensor, [&Tensor; 2]) -> Result<Tensor>,
    pub(super) drop: fn(&DropoutOp, &CpuStorage, &Layout) -> Result<(CpuStorage, Shape)>,
}

static PATHS: Paths = Paths {
    add: add_encoding,
    gather: gather_trained,
    pick,
    sum: gather_sum,
    rotate: Rotation::by_reference,
    by_angles: Rotation::by_angles,
    weigh: SoftmaxBias::by_reference,
    drop: DropoutOp::on_backend,
};

static LINKED: OnceLock<&Paths> = OnceLock::new();

impl Paths {
    /// Makes the paths part of this program.
    pub(crate) fn link() {
        LINKED.get_or_init(|| &PATHS);
    }

    /// Returns the paths for a call that no kernel computes.
    pub(crate) fn get(plan: &Plan) -> Result<&'static Self> {
        // Constants: without GPUs nothing names the paths here.
        if cuda_is_available() || metal_is_available() {
            return Ok(&PATHS);
        }
        match (plan.reference, LINKED.get()) {
            (Some(_), Some(paths)) => Ok(paths),
            _ => bail!("this program is compiled for no device but the cpu"),
        }
    }
}

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
    pick(table, &Tensor::from_vec(ids, count, table.device())?)
}

/// Returns the rows of `table` with the ids of a tensor, which must be checked too.
fn pick(table: &Tensor, ids: &Tensor) -> Result<Tensor> {
    table.contiguous()?.index_select(ids, 0)
}

/// Does the same for inputs of a type, without a gradient of the row `padding`. Gradients of a row that
/// is used several times are added up in [`compute_dtype`].
fn gather_trained(
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
