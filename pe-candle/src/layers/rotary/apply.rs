//! The calls: one tensor or queries and keys, at an offset, with ids, or by angles from elsewhere.

use candle_core::{Result, Tensor};

use super::input::check_own;
use super::{RotaryEmbedding, Turn};

impl RotaryEmbedding {
    /// Turns one tensor by the positions `offset ..`, one per step along `T`.
    ///
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
    /// An input whose shape is not that of the config's axis order, whose type does not go with
    /// the tables', or that is on another device; positions beyond the tables.
    pub fn apply(&self, xs: &Tensor, offset: usize) -> Result<Tensor> {
        let (_, time) = self.check("the input", xs)?;
        Turn::one(self.at_offset(offset, time)?, xs)
    }

    /// Turns queries and keys by the positions `offset ..`. Their numbers of heads may differ.
    ///
    /// # Errors
    /// Returns an error if queries and keys differ in batch or length. Also returns the errors of
    /// [`apply`](Self::apply), for either.
    pub fn apply_qkv(&self, q: &Tensor, k: &Tensor, offset: usize) -> Result<(Tensor, Tensor)> {
        let (_, time) = self.check_pair(q, k)?;
        Turn::both(self.at_offset(offset, time)?, q, k)
    }

    /// Does what [`apply_qkv`](Self::apply_qkv) does, under the name that it has in Candle's own
    /// models.
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

    /// Turns one tensor by each token's own position.
    ///
    /// `position_ids` is `[T]` or `[1, T]` for all sequences alike, or `[B, T]`, for either axis
    /// order; `u32` or `i64`, on any device. Those of a GPU are copied to the host to be
    /// checked, since Candle reads certain wrong ids as a row of zeros.
    ///
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
    /// Ids of another shape or type; an id that the tables have no row for, with its place; else
    /// as [`apply`](Self::apply).
    pub fn apply_with_positions(&self, xs: &Tensor, position_ids: &Tensor) -> Result<Tensor> {
        let (batch, time) = self.check("the input", xs)?;
        Turn::one(self.at_ids(position_ids, batch, time)?, xs)
    }

    /// Turns queries and keys by each token's own position.
    ///
    /// # Errors
    /// As [`apply_with_positions`](Self::apply_with_positions) and
    /// [`apply_qkv`](Self::apply_qkv).
    pub fn apply_qkv_with_positions(
        &self,
        q: &Tensor,
        k: &Tensor,
        position_ids: &Tensor,
    ) -> Result<(Tensor, Tensor)> {
        let (batch, time) = self.check_pair(q, k)?;
        Turn::both(self.at_ids(position_ids, batch, time)?, q, k)
    }

    /// Turns one tensor by positions that begin at an offset of each sequence's own: `T`
    /// positions from `offsets[b]` on, as a server has it that decodes sequences of different
    /// lengths together.
    ///
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
    /// A number of offsets that is not the batch; else as [`apply`](Self::apply).
    pub fn apply_at_offsets(&self, xs: &Tensor, offsets: &[usize]) -> Result<Tensor> {
        let (batch, time) = self.check("the input", xs)?;
        Turn::one(self.at_offsets(offsets, batch, time)?, xs)
    }

    /// Turns queries and keys by positions that begin at an offset of each sequence's own.
    ///
    /// # Errors
    /// As [`apply_at_offsets`](Self::apply_at_offsets) and
    /// [`apply_qkv`](Self::apply_qkv).
    pub fn apply_qkv_at_offsets(
        &self,
        q: &Tensor,
        k: &Tensor,
        offsets: &[usize],
    ) -> Result<(Tensor, Tensor)> {
        let (batch, time) = self.check_pair(q, k)?;
        Turn::both(self.at_offsets(offsets, batch, time)?, q, k)
    }

    /// Turns one tensor by angles from elsewhere: cosines and sines of each step, `[T,
    /// rotary_dim / 2]`, or of each token, `[B, T, rotary_dim / 2]`. The general door: positions
    /// in several dimensions (M-RoPE, images), learned or interpolated angles.
    ///
    /// They are constants to this operation.
    ///
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
    /// Cosines and sines of other or different shapes or types, on another device than the
    /// input, or tracked for gradients, which would not reach them; else as
    /// [`apply`](Self::apply).
    pub fn apply_with_cos_sin(&self, xs: &Tensor, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
        let found = self.check("the input", xs)?;
        Turn::one(self.by_cos_sin(found, &[("the input", xs)], cos, sin)?, xs)
    }

    /// Turns queries and keys by angles from elsewhere.
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
        Turn::both(self.by_cos_sin(found, &inputs, cos, sin)?, q, k)
    }

    /// Turns `xs` itself by the positions `offset ..`: for inference.
    ///
    /// The numbers are those of [`apply`](Self::apply). No memory is asked for. Candle's clones,
    /// views and detached tensors share their memory: whatever shares it with `xs` changes as
    /// well, and gradients that need the old numbers come out wrong.
    ///
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
    /// An input that is a variable or was computed from one, since its gradient would be that
    /// of other numbers; a view with elements in the same place, such as a broadcast one; an
    /// input that shares its memory with the tables; an input that is not on the CPU; else as
    /// [`apply`](Self::apply). The input is unchanged then.
    pub fn apply_inplace(&self, xs: &Tensor, offset: usize) -> Result<()> {
        let (_, time) = self.check("the input", xs)?;
        check_own(xs)?;
        Turn::in_place(self.at_offset(offset, time)?, xs)
    }

    /// Turns `xs` itself by each token's own position.
    ///
    /// # Errors
    /// As [`apply_inplace`](Self::apply_inplace) and
    /// [`apply_with_positions`](Self::apply_with_positions).
    pub fn apply_inplace_with_positions(&self, xs: &Tensor, position_ids: &Tensor) -> Result<()> {
        let (batch, time) = self.check("the input", xs)?;
        check_own(xs)?;
        Turn::in_place(self.at_ids(position_ids, batch, time)?, xs)
    }
}
