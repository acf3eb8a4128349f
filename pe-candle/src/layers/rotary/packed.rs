//! Packed calls of servers: queries and keys of many sequences one after the other, without a batch, with
//! a position for each token.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use candle_core::{Result, Tensor, bail};
use pe_core::PairLayout;

use super::RotaryEmbedding;
use super::given::{check_agree, check_same};
use super::ids::{per_token, picked};
use super::tables::Angles;
use crate::kernel::{Plan, Rotation, TokenRows};
use crate::tensors::axes::HeadOrder;
use crate::tensors::dtypes::{TableKind, check_dtypes};
use crate::tensors::memory;
use crate::tensors::positions::{CheckedIds, bounds};

/// Axes of packed inputs, with a batch of one in front if they have no batch.
const ORDER: HeadOrder = HeadOrder::TimeFirst;

impl RotaryEmbedding {
    /// Rotates packed queries and keys by the position of each token, the call of servers.
    ///
    /// `q` and `k` have shape `[tokens, heads, head_dim]` and may have different numbers of heads and
    /// any strides, such as those of parts of one projection. `position_ids` has shape `[tokens]` and
    /// type `u32` or `i64`. `[B, T, heads, head_dim]` with ids `[T]` or `[B, T]` works too. The axes are
    /// those of packed inputs, whatever [`axis_order`](field@crate::RotaryEmbeddingConfig::axis_order) says.
    ///
    /// On a device other than the CPU, ids are copied to the host once, to check them, and not at the
    /// calls that follow with the same tensor, such as those of the other layers of a model. Write new
    /// positions into a new tensor: a change in place is not checked again.
    ///
    /// # Examples
    /// ```
    /// use candle_core::{DType, Device, Tensor};
    /// use pe_candle::{RotaryEmbedding, RotaryEmbeddingConfig, position_ids_for_packed};
    ///
    /// let device = &Device::Cpu;
    /// let rotary = RotaryEmbedding::new(RotaryEmbeddingConfig::new(64), DType::BF16, device)?;
    /// let positions = position_ids_for_packed(&[5, 3], device)?; // two sequences, 8 tokens
    /// let qkv = Tensor::zeros((8, 8 + 2 + 2, 64), DType::BF16, device)?; // 8 heads, 2 of keys and values
    /// let (q, k) = (qkv.narrow(1, 0, 8)?, qkv.narrow(1, 8, 2)?);
    /// let (q, k) = rotary.apply_qkv_packed(&q, &k, &positions)?;
    /// assert_eq!((q.dims(), k.dims()), (&[8, 8, 64][..], &[8, 2, 64][..]));
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if
    /// - the shapes, types, or devices do not match,
    /// - an id is beyond the tables.
    pub fn apply_qkv_packed(
        &self,
        q: &Tensor,
        k: &Tensor,
        position_ids: &Tensor,
    ) -> Result<(Tensor, Tensor)> {
        let (q_view, k_view) = (batched("the query", q)?, batched("the key", k)?);
        let rotation = self.packed(&q_view, &k_view, position_ids)?;
        let (ys, zs) = Rotation::rotate_both(rotation, &q_view, &k_view)?;
        Ok((ys.reshape(q.shape())?, zs.reshape(k.shape())?))
    }

    /// Rotates packed queries and keys in place, like [`apply_qkv_packed`](Self::apply_qkv_packed).
    ///
    /// # Examples
    /// ```
    /// use candle_core::{DType, Device, Tensor};
    /// use pe_candle::{RotaryEmbedding, RotaryEmbeddingConfig};
    ///
    /// let rotary = RotaryEmbedding::new(RotaryEmbeddingConfig::new(64), DType::F32, &Device::Cpu)?;
    /// let qkv = Tensor::ones((3, 8 + 2 + 2, 64), DType::F32, &Device::Cpu)?;
    /// let (q, k) = (qkv.narrow(1, 0, 8)?, qkv.narrow(1, 8, 2)?); // views of its memory
    /// let positions = Tensor::new(&[0u32, 1, 0], &Device::Cpu)?;
    /// rotary.apply_qkv_packed_inplace(&q, &k, &positions)?;
    /// assert_eq!(q.get(0)?.to_vec2::<f32>()?, q.get(2)?.to_vec2::<f32>()?);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if `q` and `k` are one tensor. Also returns the errors of
    /// [`apply_qkv_packed`](Self::apply_qkv_packed) and [`apply_inplace`](Self::apply_inplace). The inputs
    /// are unchanged after an error.
    pub fn apply_qkv_packed_inplace(
        &self,
        q: &Tensor,
        k: &Tensor,
        position_ids: &Tensor,
    ) -> Result<()> {
        let (q_view, k_view) = (batched("the query", q)?, batched("the key", k)?);
        check_two(q, k)?;
        let rotation = self.packed(&q_view, &k_view, position_ids)?;
        rotate_two_in_place(rotation, &q_view, &k_view)
    }

    /// Checks packed inputs, and returns their rotation.
    fn packed(&self, q: &Tensor, k: &Tensor, position_ids: &Tensor) -> Result<Option<Rotation>> {
        let of = |what, xs| self.check_in(ORDER, what, xs);
        let (batch, time) = check_same(q, of("the query", q)?, k, of("the key", k)?)?;
        let rotation = self.at_ids(position_ids, batch, time)?;
        Ok(rotation.map(|rotation| Rotation {
            order: ORDER,
            ..rotation
        }))
    }
}

/// Cosines and sines of positions from 0, as a server stores them.
#[derive(Debug, Clone, Copy)]
pub enum CosSinCache<'a> {
    /// One table `[positions, 2 * pairs]`: the cosines of a position, then its sines. vLLM's
    /// `cos_sin_cache`.
    Fused(&'a Tensor),
    /// Two tables `[positions, pairs]`.
    Apart {
        /// The cosines.
        cos: &'a Tensor,
        /// The sines.
        sin: &'a Tensor,
    },
}

impl<'a> From<&'a Tensor> for CosSinCache<'a> {
    fn from(fused: &'a Tensor) -> Self {
        Self::Fused(fused)
    }
}

impl<'a> From<(&'a Tensor, &'a Tensor)> for CosSinCache<'a> {
    fn from((cos, sin): (&'a Tensor, &'a Tensor)) -> Self {
        Self::Apart { cos, sin }
    }
}

/// Rotates packed queries and keys by the rows of a caller-supplied table, without a layer. Replaces the
/// calls of vLLM, text-embeddings-inference, and mistral.rs:
///
/// | there | here |
/// |---|---|
/// | `rotary_embedding(positions, q, k, head_size, cos_sin_cache, is_neox)` | `rotate_packed_inplace(&q, &k, &cos_sin_cache, &positions, layout)` |
/// | `(q, k, cos, sin, positions, is_neox)` | `rotate_packed(&q, &k, (&cos, &sin), &positions, layout)` |
///
/// `is_neox` is [`PairLayout::HalfSplit`], its opposite [`PairLayout::Interleaved`]. Shapes and positions
/// are those of [`RotaryEmbedding::apply_qkv_packed`]. Tables have the type of the inputs, or `f32`, which is more accurate for
/// 16-bit float types: [`RotaryEmbedding::cos_sin`] of a layer of `f32`.
/// Columns after the first `2 * pairs` pass unchanged. Gradients flow to `q` and `k`.
///
/// # Examples
/// ```
/// use candle_core::{DType, Device, Tensor};
/// use pe_candle::{PairLayout, rotary};
///
/// let device = &Device::Cpu;
/// let (q, k) = (
///     Tensor::ones((3, 8, 64), DType::BF16, device)?,
///     Tensor::ones((3, 2, 64), DType::BF16, device)?,
/// );
/// let cos_sin_cache = Tensor::rand(-1f32, 1., (4096, 64), device)?; // [max_position, rotary_dim]
/// let positions = Tensor::new(&[0i64, 1, 4095], device)?;
/// let (q, k) = rotary::rotate_packed(&q, &k, &cos_sin_cache, &positions, PairLayout::HalfSplit)?;
/// # assert_eq!((q.dims(), k.dims()), (&[3, 8, 64][..], &[3, 2, 64][..]));
/// # Ok::<(), candle_core::Error>(())
/// ```
///
/// # Errors
/// Returns an error if
/// - the shapes do not match, or the types cannot be combined,
/// - the inputs and the table are on different devices,
/// - a position is beyond the table,
/// - the table is tracked for gradients, which would not reach it.
pub fn rotate_packed<'a>(
    q: &Tensor,
    k: &Tensor,
    cos_sin: impl Into<CosSinCache<'a>>,
    positions: &Tensor,
    layout: PairLayout,
) -> Result<(Tensor, Tensor)> {
    let (q_view, k_view) = (batched("the query", q)?, batched("the key", k)?);
    let rotation = cos_sin
        .into()
        .rotation(&q_view, &k_view, positions, layout)?;
    let (ys, zs) = Rotation::rotate_both(rotation, &q_view, &k_view)?;
    Ok((ys.reshape(q.shape())?, zs.reshape(k.shape())?))
}

/// Rotates packed queries and keys in place by the rows of a caller-supplied table, like
/// [`rotate_packed`].
///
/// # Examples
/// ```
/// use candle_core::{DType, Device, Tensor};
/// use pe_candle::{PairLayout, rotary};
///
/// let q = Tensor::ones((2, 4, 64), DType::F32, &Device::Cpu)?;
/// let k = Tensor::ones((2, 1, 64), DType::F32, &Device::Cpu)?;
/// let (cos, sin) = (Tensor::zeros((9, 32), DType::F32, &Device::Cpu)?, Tensor::ones((9, 32), DType::F32, &Device::Cpu)?);
/// let positions = Tensor::new(&[8u32, 3], &Device::Cpu)?;
/// rotary::rotate_packed_inplace(&q, &k, (&cos, &sin), &positions, PairLayout::HalfSplit)?;
/// assert_eq!(q.get(0)?.get(0)?.narrow(0, 31, 2)?.to_vec1::<f32>()?, [-1.0, 1.0]); // a quarter turn
/// # Ok::<(), candle_core::Error>(())
/// ```
///
/// # Errors
/// Returns an error if `q` and `k` are one tensor. Also returns the errors of [`rotate_packed`] and of
/// [`RotaryEmbedding::apply_inplace`]. The inputs are unchanged after an error.
pub fn rotate_packed_inplace<'a>(
    q: &Tensor,
    k: &Tensor,
    cos_sin: impl Into<CosSinCache<'a>>,
    positions: &Tensor,
    layout: PairLayout,
) -> Result<()> {
    let (q_view, k_view) = (batched("the query", q)?, batched("the key", k)?);
    check_two(q, k)?;
    let rotation = cos_sin
        .into()
        .rotation(&q_view, &k_view, positions, layout)?;
    rotate_two_in_place(rotation, &q_view, &k_view)
}

impl CosSinCache<'_> {
    /// Returns the cosines and the sines, views if they are in one table.
    fn tables(self) -> Result<(Tensor, Tensor)> {
        let rank = |name: &str, table: &Tensor| match table.rank() {
            2 => Ok(()),
            _ => bail!("{name} must have two axes, got {:?}", table.dims()),
        };
        match self {
            Self::Fused(table) => {
                rank("the table of cosines and sines", table)?;
                let width = table.dim(1)?;
                if width % 2 != 0 {
                    bail!("the table of cosines and sines has {width} columns, an odd number");
                }
                let pairs = width / 2;
                Ok((table.narrow(1, 0, pairs)?, table.narrow(1, pairs, pairs)?))
            }
            Self::Apart { cos, sin } => {
                rank("cos", cos)?;
                check_agree(cos, sin)?;
                Ok((cos.clone(), sin.clone()))
            }
        }
    }

    /// Checks everything about a call, and returns its rotation.
    fn rotation(
        self,
        q: &Tensor,
        k: &Tensor,
        positions: &Tensor,
        layout: PairLayout,
    ) -> Result<Option<Rotation>> {
        let (cos, sin) = self.tables()?;
        let (rows, pairs) = cos.dims2()?;
        let mut found = Vec::with_capacity(2);
        for (what, xs) in [("the query", q), ("the key", k)] {
            let Some(read) = ORDER.read(xs.dims()) else {
                bail!("{what}: {}, got {:?}", ORDER.describe(), xs.dims());
            };
            memory::declared(what, xs)?;
            let most = xs.dims().last().copied().unwrap_or(0) / 2;
            if pairs == 0 || pairs > most {
                bail!(
                    "cos has {pairs} columns: {what} of shape {:?} takes 1..={most}",
                    xs.dims()
                );
            }
            for table in [&cos, &sin] {
                check_dtypes(what, xs.dtype(), TableKind::CosSin, table.dtype())?;
                if !xs.device().same_device(table.device()) {
                    let (input, table) = (xs.device().location(), table.device().location());
                    bail!("{what} is on {input:?}, but the table is on {table:?}");
                }
                if table.track_op() {
                    bail!(
                        "the table is tracked for gradients, which would not reach it: detach it"
                    );
                }
            }
            found.push(read);
        }
        let (batch, time) = match *found {
            [of_q, of_k] => check_same(q, of_q, k, of_k)?,
            _ => return Ok(None),
        };
        memory::for_result("cos and sin", &cos)?;
        let angles = |cos, sin| Angles { start: 0, cos, sin };
        let rotation =
            |angles, tokens| Rotation::new(angles, tokens, (layout, ORDER), Plan::best());
        let per_token = per_token(positions, batch, time)?;
        if !q.device().is_cpu() {
            let Some(_) = bounds(positions, rows)? else {
                return Ok(None);
            };
            let rows_of = |table: &Tensor| picked(&Plan::best(), table, positions, 0, per_token);
            let tokens = if per_token {
                TokenRows::Each
            } else {
                TokenRows::From(0)
            };
            return Ok(Some(rotation(
                angles(rows_of(&cos)?, rows_of(&sin)?),
                tokens,
            )));
        }
        let ids = CheckedIds::read(positions, rows)?.ids;
        if ids.is_empty() {
            return Ok(None);
        }
        let tokens = match per_token {
            true => TokenRows::PerToken(ids.into()),
            false => TokenRows::PerStep(ids.into()),
        };
        // Views of a fused table are read where they are.
        let rows_apart = |table: &Tensor| table.stride().last() == Some(&1);
        let angles = match rows_apart(&cos) && rows_apart(&sin) && cos.stride() == sin.stride() {
            true => angles(cos, sin),
            false => angles(cos.contiguous()?, sin.contiguous()?),
        };
        Ok(Some(rotation(angles, tokens)))
    }
}

/// Returns `[tokens, heads, head_dim]` as a batch of one, and inputs with a batch unchanged.
fn batched(what: &str, xs: &Tensor) -> Result<Tensor> {
    match xs.rank() {
        3 => xs.unsqueeze(0),
        4 => Ok(xs.clone()),
        _ => bail!(
            "{what}: packed input must have shape [tokens, H, head_dim] or [B, T, H, head_dim], got {:?}",
            xs.dims()
        ),
    }
}

/// Checks that queries and keys can be changed in place, one after the other.
fn check_two(q: &Tensor, k: &Tensor) -> Result<()> {
    if q.id() == k.id() {
        bail!("query and key are one tensor, which would be rotated twice in place");
    }
    memory::own("rotate", q)?;
    memory::own("rotate", k)
}

fn rotate_two_in_place(rotation: Option<Rotation>, q: &Tensor, k: &Tensor) -> Result<()> {
    Rotation::rotate_in_place(rotation.clone(), q)?;
    Rotation::rotate_in_place(rotation, k)
}
