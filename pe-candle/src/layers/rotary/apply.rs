//! The calls: one tensor or queries and keys, at an offset, with ids, or by caller-supplied angles.

use candle_core::{Result, Tensor};

use super::RotaryEmbedding;
use crate::kernel::Rotation;
use crate::tensors::memory;

impl RotaryEmbedding {
    /// Rotates one tensor by the positions starting at `offset`, one for each index along `T`.
    ///
    /// # Examples
    /// ```
    /// use candle_core::{DType, Device, Tensor};
    /// use pe_candle::{RotaryEmbedding, RotaryEmbeddingConfig};
    ///
    /// let config = RotaryEmbeddingConfig::new(64);
    /// let rotary = RotaryEmbedding::new(config, DType::F32, &Device::Cpu)?;
    /// let k = Tensor::randn(0f32, 1., (1, 8, 10, 64), &Device::Cpu)?;
    /// let whole = rotary.apply(&k, 0)?;
    /// let last = rotary.apply(&k.narrow(2, 9, 1)?, 9)?; // a step of decoding
    /// let wanted = whole.narrow(2, 9, 1)?;
    /// assert_eq!(last.flatten_all()?.to_vec1::<f32>()?, wanted.flatten_all()?.to_vec1::<f32>()?);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if
    /// - the shape of the input does not match the config's axis order and `head_dim`,
    /// - its type cannot be combined with the tables', or it is on another device,
    /// - a position is beyond the tables.
    pub fn apply(&self, xs: &Tensor, offset: usize) -> Result<Tensor> {
        let (_, time) = self.check("the input", xs)?;
        Rotation::rotate_one(self.at_offset(offset, time)?, xs)
    }

    /// Rotates queries and keys by the positions starting at `offset`. Their numbers of heads may differ.
    ///
    /// # Examples
    /// ```
    /// use candle_core::{DType, Device, Tensor};
    /// use pe_candle::{RotaryEmbedding, RotaryEmbeddingConfig};
    ///
    /// let rotary = RotaryEmbedding::new(RotaryEmbeddingConfig::new(64), DType::F32, &Device::Cpu)?;
    /// let q = Tensor::ones((1, 8, 5, 64), DType::F32, &Device::Cpu)?; // [B, H, T, head_dim]
    /// let k = Tensor::ones((1, 2, 5, 64), DType::F32, &Device::Cpu)?;
    /// let (q, k) = rotary.apply_qkv(&q, &k, 100)?;
    /// # assert_eq!((q.dims(), k.dims()), (&[1, 8, 5, 64][..], &[1, 2, 5, 64][..]));
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if queries and keys differ in batch or length. Also returns the errors of
    /// [`apply`](Self::apply), for either.
    pub fn apply_qkv(&self, q: &Tensor, k: &Tensor, offset: usize) -> Result<(Tensor, Tensor)> {
        let (_, time) = self.check_pair(q, k)?;
        Rotation::rotate_both(self.at_offset(offset, time)?, q, k)
    }

    /// Does the same as [`apply_qkv`](Self::apply_qkv), under the name used in Candle's own models.
    ///
    /// # Errors
    /// Returns the errors of [`apply_qkv`](Self::apply_qkv).
    pub fn apply_rotary_emb_qkv(
        &self,
        q: &Tensor,
        k: &Tensor,
        seqlen_offset: usize,
    ) -> Result<(Tensor, Tensor)> {
        self.apply_qkv(q, k, seqlen_offset)
    }

    /// Rotates one tensor by each token's own position.
    ///
    /// `position_ids` has shape `[T]` or `[1, T]` if all sequences have the same positions, or `[B, T]`,
    /// for every axis order. The ids are `u32` or `i64`, on any device. Ids on a GPU are copied to the
    /// host and checked, because Candle reads some invalid ids as a row of zeros.
    ///
    /// # Examples
    /// ```
    /// use candle_core::{DType, Device, Tensor};
    /// use pe_candle::{RotaryEmbedding, RotaryEmbeddingConfig, position_ids_for_packed};
    ///
    /// let config = RotaryEmbeddingConfig::new(64);
    /// let rotary = RotaryEmbedding::new(config, DType::F32, &Device::Cpu)?;
    /// // Two sequences of 3 and 2 tokens, in one row.
    /// let q = Tensor::ones((1, 4, 5, 64), DType::F32, &Device::Cpu)?;
    /// let ids = position_ids_for_packed(&[3, 2], &Device::Cpu)?;
    /// let q = rotary.apply_with_positions(&q, &ids)?;
    /// let at = |t| q.narrow(2, t, 1)?.flatten_all()?.to_vec1::<f32>();
    /// assert_eq!(at(1)?, at(4)?); // both are position 1
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the ids have another shape or type, or the tables have no row for an id. The
    /// message names the id and its index. Also returns the errors of [`apply`](Self::apply).
    pub fn apply_with_positions(&self, xs: &Tensor, position_ids: &Tensor) -> Result<Tensor> {
        let (batch, time) = self.check("the input", xs)?;
        Rotation::rotate_one(self.at_ids(position_ids, batch, time)?, xs)
    }

    /// Rotates queries and keys by each token's own position.
    ///
    /// # Errors
    /// Returns the errors of [`apply_with_positions`](Self::apply_with_positions) and
    /// [`apply_qkv`](Self::apply_qkv).
    pub fn apply_qkv_with_positions(
        &self,
        q: &Tensor,
        k: &Tensor,
        position_ids: &Tensor,
    ) -> Result<(Tensor, Tensor)> {
        let (batch, time) = self.check_pair(q, k)?;
        Rotation::rotate_both(self.at_ids(position_ids, batch, time)?, q, k)
    }

    /// Rotates one tensor by `T` positions of each sequence, starting at `offsets[b]`, for servers that
    /// decode sequences of different lengths together.
    ///
    /// # Examples
    /// ```
    /// use candle_core::{DType, Device, Tensor};
    /// use pe_candle::{RotaryEmbedding, RotaryEmbeddingConfig};
    ///
    /// let config = RotaryEmbeddingConfig::new(64);
    /// let rotary = RotaryEmbedding::new(config, DType::F32, &Device::Cpu)?;
    /// let q = Tensor::ones((2, 4, 1, 64), DType::F32, &Device::Cpu)?;
    /// let q = rotary.apply_at_offsets(&q, &[17, 3])?;
    /// # assert_eq!(q.dims(), [2, 4, 1, 64]);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the number of offsets is not the number of sequences. Also returns the errors of
    /// [`apply`](Self::apply).
    pub fn apply_at_offsets(&self, xs: &Tensor, offsets: &[usize]) -> Result<Tensor> {
        let (batch, time) = self.check("the input", xs)?;
        Rotation::rotate_one(self.at_offsets(offsets, batch, time)?, xs)
    }

    /// Rotates queries and keys by positions that start at an offset of each sequence.
    ///
    /// # Errors
    /// Returns the errors of [`apply_at_offsets`](Self::apply_at_offsets) and
    /// [`apply_qkv`](Self::apply_qkv).
    pub fn apply_qkv_at_offsets(
        &self,
        q: &Tensor,
        k: &Tensor,
        offsets: &[usize],
    ) -> Result<(Tensor, Tensor)> {
        let (batch, time) = self.check_pair(q, k)?;
        Rotation::rotate_both(self.at_offsets(offsets, batch, time)?, q, k)
    }

    /// Rotates one tensor by caller-supplied angles, such as those of positions in several dimensions
    /// (M-RoPE, images), or learned or interpolated ones.
    ///
    /// `cos` and `sin` have shape `[T, rotary_dim / 2]` for all sequences, or `[B, T, rotary_dim / 2]`.
    /// They are constants of this operation.
    ///
    /// # Examples
    /// ```
    /// use candle_core::{DType, Device, Tensor};
    /// use pe_candle::{RotaryEmbedding, RotaryEmbeddingConfig};
    ///
    /// let config = RotaryEmbeddingConfig::new(64);
    /// let rotary = RotaryEmbedding::new(config, DType::F32, &Device::Cpu)?;
    /// let q = Tensor::ones((2, 4, 6, 64), DType::F32, &Device::Cpu)?;
    /// let (cos, sin) = rotary.cos_sin(0, 6)?;
    /// let a = rotary.apply_with_cos_sin(&q, &cos, &sin)?;
    /// let b = rotary.apply(&q, 0)?;
    /// assert_eq!(a.flatten_all()?.to_vec1::<f32>()?, b.flatten_all()?.to_vec1::<f32>()?);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if `cos` or `sin`
    /// - has another shape, or a type that cannot be combined with the input's,
    /// - differs from the other in shape or type,
    /// - is on another device than the input,
    /// - is tracked for gradients, which would not reach it.
    ///
    /// Also returns the errors of [`apply`](Self::apply).
    pub fn apply_with_cos_sin(&self, xs: &Tensor, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
        let found = self.check("the input", xs)?;
        Rotation::rotate_one(self.by_cos_sin(found, &[("the input", xs)], cos, sin)?, xs)
    }

    /// Rotates queries and keys by caller-supplied angles.
    ///
    /// # Errors
    /// Returns the errors of [`apply_with_cos_sin`](Self::apply_with_cos_sin) and
    /// [`apply_qkv`](Self::apply_qkv).
    pub fn apply_qkv_with_cos_sin(
        &self,
        q: &Tensor,
        k: &Tensor,
        cos: &Tensor,
        sin: &Tensor,
    ) -> Result<(Tensor, Tensor)> {
        let found = self.check_pair(q, k)?;
        let inputs = [("the query", q), ("the key", k)];
        Rotation::rotate_both(self.by_cos_sin(found, &inputs, cos, sin)?, q, k)
    }

    /// Rotates `xs` in place by the positions starting at `offset`, for inference.
    ///
    /// The results are those of [`apply`](Self::apply). Nothing is allocated. Candle's clones, views, and
    /// detached tensors share their memory. All tensors that share it with `xs` change as well, and
    /// gradients that need the old values are wrong.
    ///
    /// # Examples
    /// ```
    /// use candle_core::{DType, Device, Tensor};
    /// use pe_candle::{RotaryEmbedding, RotaryEmbeddingConfig};
    ///
    /// let config = RotaryEmbeddingConfig::new(64);
    /// let rotary = RotaryEmbedding::new(config, DType::F32, &Device::Cpu)?;
    /// let q = Tensor::randn(0f32, 1., (1, 4, 10, 64), &Device::Cpu)?;
    /// let wanted = rotary.apply(&q, 3)?;
    /// rotary.apply_inplace(&q, 3)?;
    /// assert_eq!(q.flatten_all()?.to_vec1::<f32>()?, wanted.flatten_all()?.to_vec1::<f32>()?);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the input
    /// - is a variable or was computed from one, because its gradient would be wrong,
    /// - is a view with overlapping elements, such as a broadcast one,
    /// - shares its memory with the tables,
    /// - is not on the CPU.
    ///
    /// Also returns the errors of [`apply`](Self::apply). The input is unchanged after an error.
    pub fn apply_inplace(&self, xs: &Tensor, offset: usize) -> Result<()> {
        let (_, time) = self.check("the input", xs)?;
        memory::own("rotate", xs)?;
        Rotation::rotate_in_place(self.at_offset(offset, time)?, xs)
    }

    /// Rotates `xs` in place by each token's own position.
    ///
    /// # Errors
    /// Returns the errors of [`apply_inplace`](Self::apply_inplace) and
    /// [`apply_with_positions`](Self::apply_with_positions).
    pub fn apply_with_positions_inplace(&self, xs: &Tensor, position_ids: &Tensor) -> Result<()> {
        let (batch, time) = self.check("the input", xs)?;
        memory::own("rotate", xs)?;
        Rotation::rotate_in_place(self.at_ids(position_ids, batch, time)?, xs)
    }
}
