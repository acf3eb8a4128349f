//! Rotation by caller-supplied cosines and sines, with a layer or without one.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use candle_core::{Result, Tensor, bail};
use pe_core::PairLayout;

use super::tables::Angles;
use crate::kernel::{Plan, Rotation, TokenRows};
use crate::tensors::axes::HeadOrder;
use crate::tensors::dtypes::{TableKind, check_dtypes};
use crate::tensors::memory;

/// Rotates pairs of columns by given cosines and sines, without a layer or tables. Replaces
/// `candle_nn::rotary_emb::{rope, rope_i, rope_thd}`.
///
/// ```text
/// (a, b) -> (a cos - b sin, a sin + b cos)
/// ```
///
/// `cos` and `sin` have shape `[T, pairs]` for all sequences, or `[B, T, pairs]`. Pair `i` is columns
/// `i` and `i + pairs`, or `2i` and `2i + 1`. Columns after the first `2 * pairs` pass unchanged.
///
/// `xs` has the axes of `order` and any strides. `cos` and `sin` have its type, or `f32`. The result has
/// the type of `xs`. In `f32` the bits are those of Candle's functions. 16-bit float types are computed
/// in `f32` and rounded once. Gradients flow to `xs`. `cos` and `sin` are constants.
///
/// # Examples
/// ```
/// use candle_core::{DType, Device, Tensor};
/// use pe_candle::{HeadOrder, PairLayout, rotary};
///
/// let q = Tensor::randn(0f32, 1., (1, 4, 10, 64), &Device::Cpu)?;
/// let angles = Tensor::randn(0f32, 1., (10, 32), &Device::Cpu)?;
/// let (cos, sin) = (angles.cos()?, angles.sin()?);
/// let ours = rotary::rotate(&q, &cos, &sin, PairLayout::HalfSplit, HeadOrder::HeadFirst)?;
/// let theirs = candle_nn::rotary_emb::rope(&q, &cos, &sin)?; // no gradient reaches q
/// assert_eq!(ours.flatten_all()?.to_vec1::<f32>()?, theirs.flatten_all()?.to_vec1::<f32>()?);
/// # Ok::<(), candle_core::Error>(())
/// ```
///
/// # Errors
/// Returns an error if
/// - the shapes do not match, or the types cannot be combined,
/// - the input is on another device than `cos` and `sin`,
/// - `cos` or `sin` is tracked for gradients, which would not reach it.
pub fn rotate(
    xs: &Tensor,
    cos: &Tensor,
    sin: &Tensor,
    layout: PairLayout,
    order: HeadOrder,
) -> Result<Tensor> {
    let given = Given { cos, sin };
    let found = given.check("the input", xs, order)?;
    Rotation::rotate_one(
        given.rotation(found, &[("the input", xs)], layout, order)?,
        xs,
    )
}

/// Rotates queries and keys by given cosines and sines, like [`rotate`]. Their numbers of heads may
/// differ.
///
/// # Examples
/// ```
/// use candle_core::{DType, Device, Tensor};
/// use pe_candle::{HeadOrder, PairLayout, rotary};
///
/// let q = Tensor::ones((1, 8, 5, 64), DType::F32, &Device::Cpu)?;
/// let k = Tensor::ones((1, 2, 5, 64), DType::F32, &Device::Cpu)?;
/// let angles = Tensor::randn(0f32, 1., (5, 32), &Device::Cpu)?;
/// let (cos, sin) = (angles.cos()?, angles.sin()?);
/// let (layout, order) = (PairLayout::HalfSplit, HeadOrder::HeadFirst);
/// let (q, k) = rotary::rotate_qkv(&q, &k, &cos, &sin, layout, order)?;
/// # assert_eq!((q.dims(), k.dims()), (&[1, 8, 5, 64][..], &[1, 2, 5, 64][..]));
/// # Ok::<(), candle_core::Error>(())
/// ```
///
/// # Errors
/// Returns an error if queries and keys differ in batch or length. Also returns the errors
/// of [`rotate`].
pub fn rotate_qkv(
    q: &Tensor,
    k: &Tensor,
    cos: &Tensor,
    sin: &Tensor,
    layout: PairLayout,
    order: HeadOrder,
) -> Result<(Tensor, Tensor)> {
    let given = Given { cos, sin };
    let (of_q, of_k) = (
        given.check("the query", q, order)?,
        given.check("the key", k, order)?,
    );
    let (found, inputs) = (
        check_same(q, of_q, k, of_k)?,
        [("the query", q), ("the key", k)],
    );
    Rotation::rotate_both(given.rotation(found, &inputs, layout, order)?, q, k)
}

/// Checks that queries and keys agree in batch and time, and returns both.
pub(super) fn check_same(
    q: &Tensor,
    of_q: (usize, usize),
    k: &Tensor,
    of_k: (usize, usize),
) -> Result<(usize, usize)> {
    if of_q != of_k {
        bail!(
            "query and key must agree in batch and time: query {:?} has {of_q:?}, key {:?} \
             has {of_k:?}",
            q.dims(),
            k.dims()
        );
    }
    Ok(of_q)
}

/// Checks that cosines and sines have one shape and type.
pub(super) fn check_agree(cos: &Tensor, sin: &Tensor) -> Result<()> {
    if cos.dims() != sin.dims() || cos.dtype() != sin.dtype() {
        bail!(
            "cos and sin must agree: cos is {} {:?}, sin is {} {:?}",
            cos.dtype().as_str(),
            cos.dims(),
            sin.dtype().as_str(),
            sin.dims()
        );
    }
    Ok(())
}

/// Caller-supplied cosines and sines.
pub(super) struct Given<'a> {
    pub(super) cos: &'a Tensor,
    pub(super) sin: &'a Tensor,
}

impl Given<'_> {
    /// Checks an input without a layer, and returns its batch and time.
    pub(super) fn check(
        &self,
        what: &str,
        xs: &Tensor,
        order: HeadOrder,
    ) -> Result<(usize, usize)> {
        let Some(found) = order.read(xs.dims()) else {
            bail!("{what}: {}, got {:?}", order.describe(), xs.dims());
        };
        memory::declared(what, xs)?;
        let (pairs, width) = (self.pairs(), xs.dims().last().copied().unwrap_or(0));
        if pairs == 0 || pairs > width / 2 {
            let most = width / 2;
            bail!("cos has {pairs} columns: {what} of head_dim {width} takes 1..={most}");
        }
        Ok(found)
    }

    /// Returns the rotation, without a layer, of inputs with one batch and time.
    pub(super) fn rotation(
        &self,
        (batch, time): (usize, usize),
        inputs: &[(&str, &Tensor)],
        layout: PairLayout,
        order: HeadOrder,
    ) -> Result<Option<Rotation>> {
        let Some(tokens) = self.tokens(batch, time) else {
            bail!(
                "cos must have shape [{time}, pairs] or [{batch}, {time}, pairs], got {:?}",
                self.cos.dims()
            );
        };
        let rotation = |angles| Rotation::new(angles, tokens, (layout, order), Plan::best());
        Ok(self.angles(inputs)?.map(rotation))
    }

    /// Returns the number of columns of the cosines.
    pub(super) fn pairs(&self) -> usize {
        self.cos.dims().last().copied().unwrap_or(0)
    }

    /// Returns the rows of the tokens, or `None` for another shape.
    pub(super) fn tokens(&self, batch: usize, time: usize) -> Option<TokenRows> {
        match *self.cos.dims() {
            [t, _] if t == time => Some(TokenRows::From(0)),
            [b, t, _] if (b, t) == (batch, time) => Some(TokenRows::Each),
            _ => None,
        }
    }

    /// Checks the angles against their inputs. Returns `None` if all inputs are empty.
    pub(super) fn angles(&self, inputs: &[(&str, &Tensor)]) -> Result<Option<Angles>> {
        let Self { cos, sin } = *self;
        check_agree(cos, sin)?;
        for (name, table) in [("cos", cos), ("sin", sin)] {
            for (what, xs) in inputs {
                check_dtypes(what, xs.dtype(), TableKind::CosSin, table.dtype())?;
                if !xs.device().same_device(table.device()) {
                    let (input, table) = (xs.device().location(), table.device().location());
                    bail!("{what} is on {input:?}, but {name} is on {table:?}");
                }
            }
            if table.track_op() {
                bail!("{name} is tracked for gradients, which would not reach it: detach it");
            }
        }
        for table in [cos, sin] {
            memory::for_result("cos and sin", table)?;
        }
        if inputs.iter().all(|(_, xs)| xs.elem_count() == 0) {
            return Ok(None);
        }
        Ok(Some(Angles {
            start: 0,
            cos: cos.contiguous()?,
            sin: sin.contiguous()?,
        }))
    }
}
