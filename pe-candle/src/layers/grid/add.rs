//! The addition of a grid's rows to patches.

use candle_core::{Result, Tensor, bail};

use crate::kernel::{AddEncoding, Fused, Plan, TokenRows};
use crate::layers::grid::config::LearnedGridConfig;
use crate::layers::reference::compute_dtype;
use crate::tensors::axes::AxisOrder;
use crate::tensors::dtypes::{TableKind, check_dtypes};
use crate::tensors::memory;

/// Axes of an input that has the sides of the grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PatchAxes {
    /// `[B, H, W, D]`.
    #[default]
    ChannelsLast,
    /// `[B, D, H, W]`, as convolutions have it.
    ChannelsFirst,
}

/// Checks type, device, and size of an input that the rows of a table are added to.
pub(crate) fn check_input(xs: &Tensor, table: &Tensor) -> Result<()> {
    check_dtypes("the input", xs.dtype(), TableKind::Encoding, table.dtype())?;
    if !xs.device().same_device(table.device()) {
        let (input, table) = (xs.device().location(), table.device().location());
        bail!("the input is on {input:?}, but the table is on {table:?}");
    }
    memory::for_result("the result", xs)
}

/// Adds rows to `xs`: `[B, rows, width]`, or with the given sides, if all rows are those of
/// the grid.
pub(crate) fn add(
    plan: &Plan,
    xs: &Tensor,
    rows: Tensor,
    sides: &[usize],
    axes: PatchAxes,
) -> Result<Tensor> {
    let (count, width) = rows.dims2()?;
    let whole = !sides.is_empty() && count == LearnedGridConfig::cells_of(sides);
    let rows = match (xs.dims(), axes) {
        ([_, time, d], _) if (*time, *d) == (count, width) => {
            if !rows.track_op() && plan.has_kernel(xs) && xs.elem_count() != 0 {
                let op = AddEncoding {
                    rows: TokenRows::From(0),
                    order: AxisOrder::BatchFirst,
                    scale: None,
                    masking: None,
                    level: plan.level,
                };
                return op.apply(xs, &[&rows]);
            }
            rows
        }
        ([_, d, own @ ..], PatchAxes::ChannelsFirst) if whole && *d == width && own == sides => {
            rows.t()?.reshape([&[width], sides].concat())?
        }
        ([_, own @ .., d], PatchAxes::ChannelsLast) if whole && *d == width && own == sides => {
            rows.reshape([sides, &[width]].concat())?
        }
        (dims, _) => bail!(
            "the input must be [B, {count}, {width}] for {count} rows of a grid, or have the sides of \
             the grid, got {dims:?}"
        ),
    };
    let dtype = compute_dtype(xs.dtype());
    let sum = xs.to_dtype(dtype)?.broadcast_add(&rows.to_dtype(dtype)?)?;
    sum.to_dtype(xs.dtype())
}
