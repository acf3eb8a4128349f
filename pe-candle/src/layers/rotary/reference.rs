//! Reference of the rotary layer, composed of Candle's own operations. It runs on every device of
//! Candle, and tests compare the CPU's fused pass with it.

use candle_core::{D, Result, Tensor, bail};
use pe_core::PairLayout;

use super::{Call, RotaryEmbedding};
use crate::layers::reference::compute_dtype;
use crate::tensors::axes::HeadOrder;

/// Operations that the reference consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// `candle_nn::rotary_emb`, which has no backward pass.
    Rope,
    /// Products and sums, with gradients.
    Operations,
}

impl RotaryEmbedding {
    /// Computes [`apply`](Self::apply) by Candle's own operations, for the tests, which compare the two
    /// on the CPU.
    #[doc(hidden)]
    pub fn apply_composed(&self, xs: &Tensor, offset: usize, route: Route) -> Result<Tensor> {
        let (_, time) = self.check("the input", xs)?;
        by_reference(xs, self.at_offset(offset, time)?, route)
    }

    /// Computes [`apply_with_positions`](Self::apply_with_positions) by Candle's own operations.
    #[doc(hidden)]
    pub fn apply_with_positions_composed(
        &self,
        xs: &Tensor,
        position_ids: &Tensor,
        route: Route,
    ) -> Result<Tensor> {
        let (batch, time) = self.check("the input", xs)?;
        by_reference(xs, self.at_ids(position_ids, batch, time)?, route)
    }

    /// Computes [`apply_at_offsets`](Self::apply_at_offsets) by Candle's own operations.
    #[doc(hidden)]
    pub fn apply_at_offsets_composed(
        &self,
        xs: &Tensor,
        offsets: &[usize],
        route: Route,
    ) -> Result<Tensor> {
        let (batch, time) = self.check("the input", xs)?;
        by_reference(xs, self.at_offsets(offsets, batch, time)?, route)
    }

    /// Computes [`apply_with_cos_sin`](Self::apply_with_cos_sin) by Candle's own operations.
    #[doc(hidden)]
    pub fn apply_with_cos_sin_composed(
        &self,
        xs: &Tensor,
        cos: &Tensor,
        sin: &Tensor,
        route: Route,
    ) -> Result<Tensor> {
        let found = self.check("the input", xs)?;
        let call = self.by_cos_sin(found, &[("the input", xs)], cos, sin)?;
        by_reference(xs, call, route)
    }
}

fn by_reference(xs: &Tensor, call: Option<Call>, route: Route) -> Result<Tensor> {
    match call {
        Some(call) => call.reference(xs, route),
        None => Ok(xs.clone()),
    }
}

impl Call {
    /// Computes [`Call::apply`] by Candle's own operations.
    pub(super) fn reference(&self, xs: &Tensor, route: Route) -> Result<Tensor> {
        let Self(rotation) = self;
        let (order, layout) = (rotation.order, rotation.layout);
        if xs.elem_count() == 0 {
            return Ok(xs.clone());
        }
        let Some((batch, time)) = order.read(xs.dims()) else {
            bail!("{}, got {:?}", order.describe(), xs.dims());
        };
        let rows = |table: &Tensor| rotation.rows.rows_of(table, batch, time);
        let (cos, sin) = (rows(&rotation.cos)?, rows(&rotation.sin)?);
        rotate(xs, &cos, &sin, layout, order, route)
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
        _ => bail!(
            "tables must have shape [T, pairs] or [B, T, pairs], got {:?}",
            table.dims()
        ),
    };
    table.broadcast_as(heads.shape())
}
