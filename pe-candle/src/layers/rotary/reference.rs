//! Reference of the rotary layer, composed of Candle's own operations. It runs on every device of
//! Candle, and tests compare the CPU's fused pass with it.

use candle_core::{D, Result, Tensor, bail};
use pe_core::PairLayout;

use crate::kernel::{Rotation, Route};
use crate::layers::reference::compute_dtype;
use crate::tensors::axes::HeadOrder;

impl Rotation {
    /// Does what [`fused`](Self::fused) does by Candle's operations.
    pub(crate) fn by_reference(&self, xs: &Tensor, route: Route) -> Result<Tensor> {
        let (order, layout) = (self.order, self.layout);
        let Some((batch, time)) = order.read(xs.dims()) else {
            bail!("{}, got {:?}", order.describe(), xs.dims());
        };
        let rows = |table: &Tensor| self.rows.rows_of(table, batch, time);
        let (cos, sin) = (rows(&self.cos)?, rows(&self.sin)?);
        rotate(xs, &cos, &sin, layout, order, route)
    }

    /// Does what [`AngleRotation`](crate::kernel::AngleRotation) does by Candle's operations. The tables of
    /// this rotation are the angles.
    pub(crate) fn by_angles(&self, xs: &Tensor) -> Result<Tensor> {
        let rotation = Self {
            cos: self.cos.cos()?,
            sin: self.sin.sin()?,
            ..self.clone()
        };
        rotation.by_reference(xs, Route::Operations)
    }
}

/// Rotates heads with the axes of `order`. The cosines and sines have shape `[T, pairs]` or
/// `[B, T, pairs]`.
///
/// All operations use [`compute_dtype`], and the result is rounded to the type of `xs` once.
pub(super) fn rotate(
    xs: &Tensor,
    cos: &Tensor,
    sin: &Tensor,
    layout: PairLayout,
    order: HeadOrder,
    route: Route,
) -> Result<Tensor> {
    let dtype = compute_dtype(xs.dtype());
    let (cos, sin) = (cos.to_dtype(dtype)?, sin.to_dtype(dtype)?);
    let rotary_dim = 2 * cos.dim(D::Minus1)?;
    let rest = xs.dim(D::Minus1)? - rotary_dim;
    let unrotated = xs.narrow(D::Minus1, 0, rotary_dim)?.to_dtype(dtype)?;
    let rotated = match route {
        Route::Rope => kernels(&unrotated, &cos, &sin, layout, order)?,
        Route::Operations => operations(&unrotated, &cos, &sin, layout, order)?,
    };
    let rotated = rotated.to_dtype(xs.dtype())?;
    if rest == 0 {
        return Ok(rotated);
    }
    let rest = xs.narrow(D::Minus1, rotary_dim, rest)?;
    Tensor::cat(&[rotated, rest], D::Minus1)
}

/// Rotates by Candle's own kernels.
fn kernels(
    xs: &Tensor,
    cos: &Tensor,
    sin: &Tensor,
    layout: PairLayout,
    order: HeadOrder,
) -> Result<Tensor> {
    use candle_nn::rotary_emb::{rope, rope_i, rope_thd};
    let (cos, sin) = (cos.contiguous()?, sin.contiguous()?);
    match (layout, order) {
        (PairLayout::HalfSplit, HeadOrder::HeadFirst) => rope(&xs.contiguous()?, &cos, &sin),
        (PairLayout::HalfSplit, HeadOrder::TimeFirst) => rope_thd(&xs.contiguous()?, &cos, &sin),
        (PairLayout::Interleaved, HeadOrder::HeadFirst) => rope_i(&xs.contiguous()?, &cos, &sin),
        (PairLayout::Interleaved, HeadOrder::TimeFirst) => {
            let head_first = xs.transpose(1, 2)?.contiguous()?;
            rope_i(&head_first, &cos, &sin)?.transpose(1, 2)
        }
        (_, HeadOrder::SequenceFirst) => {
            let time_first = xs.transpose(0, 1)?;
            let rotated = kernels(&time_first, &cos, &sin, layout, HeadOrder::TimeFirst)?;
            rotated.transpose(0, 1)
        }
    }
}

/// Rotates by products and sums.
fn operations(
    xs: &Tensor,
    cos: &Tensor,
    sin: &Tensor,
    layout: PairLayout,
    order: HeadOrder,
) -> Result<Tensor> {
    let pairs = cos.dim(D::Minus1)?;
    let (a, b) = match layout {
        PairLayout::HalfSplit => (
            xs.narrow(D::Minus1, 0, pairs)?,
            xs.narrow(D::Minus1, pairs, pairs)?,
        ),
        PairLayout::Interleaved => {
            let (b_size, i, j, _) = xs.dims4()?;
            let columns = xs.reshape((b_size, i, j, pairs, 2))?;
            let column = |index| columns.narrow(D::Minus1, index, 1)?.squeeze(D::Minus1);
            (column(0)?, column(1)?)
        }
    };
    // Separate views, because the backward pass of Candle's product stores a gradient for both
    // operands, and must not store one for the tables.
    let (cos, sin) = (broadcast(cos, &a, order)?, broadcast(sin, &a, order)?);
    let y = ((&a * &cos)? - (&b * &sin)?)?;
    let z = ((&a * &sin)? + (&b * &cos)?)?;
    match layout {
        PairLayout::HalfSplit => Tensor::cat(&[y, z], D::Minus1),
        PairLayout::Interleaved => Tensor::stack(&[y, z], D::Minus1)?.flatten_from(3),
    }
}

/// Broadcasts a table of shape `[T, pairs]` or `[B, T, pairs]` to the shape of the heads.
fn broadcast(table: &Tensor, heads: &Tensor, order: HeadOrder) -> Result<Tensor> {
    let table = match (table.rank(), order) {
        (2, HeadOrder::HeadFirst) => table.clone(),
        (2, HeadOrder::TimeFirst) | (3, HeadOrder::HeadFirst) => table.unsqueeze(1)?,
        (3, HeadOrder::TimeFirst) => table.unsqueeze(2)?,
        (2, HeadOrder::SequenceFirst) => table.unsqueeze(1)?.unsqueeze(1)?,
        (3, HeadOrder::SequenceFirst) => table.transpose(0, 1)?.unsqueeze(2)?,
        // [1, H, T, pairs].
        (4, HeadOrder::HeadFirst) => table.clone(),
        (4, HeadOrder::TimeFirst) => table.transpose(1, 2)?,
        (4, HeadOrder::SequenceFirst) => table.permute((2, 0, 1, 3))?,
        _ => bail!(
            "tables must have shape [T, pairs] or [B, T, pairs], got {:?}",
            table.dims()
        ),
    };
    table.broadcast_as(heads.shape())
}
