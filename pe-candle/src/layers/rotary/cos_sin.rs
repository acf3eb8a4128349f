//! Cosines and sines as tensors: of a range of positions, and of tokens with several coordinates.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use candle_core::{DType, Result, Tensor, WithDType, bail};
use half::{bf16, f16};
use pe_core::{Element, RotaryFrequencies};

use super::tables::Angles;
use super::{RotaryEmbedding, Shared};
use crate::tensors::convert::table_to_tensor;
use crate::tensors::positions::CheckedIds;

impl RotaryEmbedding {
    /// Returns the cosines and sines of the positions `offset .. offset + len` for
    /// `candle_nn::rotary_emb::rope`. Each tensor has shape `[len, rotary_dim / 2]` and the layer's type.
    ///
    /// They are views of the tables if the types agree. Otherwise they are computed in the layer's type
    /// with one rounding. Copy them before changing them in place. A layer of a 16-bit float type rotates by `f32`
    /// tables, which a layer of `f32` with the same configuration returns.
    ///
    /// # Examples
    /// ```
    /// use candle_core::{DType, Device, Tensor};
    /// use pe_candle::{RotaryEmbedding, RotaryEmbeddingConfig};
    ///
    /// let config = RotaryEmbeddingConfig::new(64);
    /// let rotary = RotaryEmbedding::new(config, DType::F32, &Device::Cpu)?;
    /// let q = Tensor::randn(0f32, 1., (1, 4, 10, 64), &Device::Cpu)?;
    /// let (cos, sin) = rotary.cos_sin(5, 10)?;
    /// let theirs = candle_nn::rotary_emb::rope(&q, &cos, &sin)?;
    /// let ours = rotary.apply(&q, 5)?;
    /// assert_eq!(ours.flatten_all()?.to_vec1::<f32>()?, theirs.flatten_all()?.to_vec1::<f32>()?);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if a position is beyond the tables.
    pub fn cos_sin(&self, offset: usize, len: usize) -> Result<(Tensor, Tensor)> {
        let Shared { dtype, tables, .. } = &*self.shared;
        let end = self.end_of(offset, len)?;
        if *dtype != tables.dtype() || len == 0 {
            let frequencies = tables.rotary().frequencies(end)?;
            let angles = Angles::compute(&frequencies, offset..end, *dtype, tables.device())?;
            return Ok((angles.cos, angles.sin));
        }
        let angles = tables.get(offset..end, end)?;
        let of = |table: &Tensor| table.narrow(0, offset.saturating_sub(angles.start), len);
        Ok((of(&angles.cos)?, of(&angles.sin)?))
    }

    /// Computes the cosines and sines of tokens with several coordinates, such as those of M-RoPE
    /// (P. Wang et al.: "Qwen2-VL", 2024), for [`apply_with_cos_sin`](Self::apply_with_cos_sin). Each
    /// tensor has shape `[B, T, rotary_dim / 2]` and the type of the tables. One call serves all blocks
    /// of a model.
    ///
    /// `axes` contains the coordinate of each pair ([`Mrope::axes`](pe_core::Mrope::axes) returns it).
    /// `position_ids` of shape `[axes, B, T]` contains the coordinates of each token, as in
    /// transformers. The ids are `u32` or `i64`, on any device.
    ///
    /// # Examples
    /// ```
    /// use candle_core::{DType, Device, Tensor};
    /// use pe_candle::{Mrope, MropeArrangement, RotaryEmbedding, RotaryEmbeddingConfig};
    ///
    /// let config = RotaryEmbeddingConfig::new(128);
    /// let rotary = RotaryEmbedding::new(config, DType::BF16, &Device::Cpu)?;
    /// let mrope = Mrope { sections: [16, 24, 24], arrangement: MropeArrangement::Chunked };
    /// // Time, row and column of three tokens: a word, and two patches of an image.
    /// let ids = Tensor::new(&[[[0u32, 1, 1]], [[0, 1, 1]], [[0, 1, 2]]], &Device::Cpu)?;
    /// let (cos, sin) = rotary.cos_sin_by_axis(&mrope.axes(64)?, &ids)?;
    /// let q = Tensor::zeros((1, 12, 3, 128), DType::BF16, &Device::Cpu)?;
    /// let q = rotary.apply_with_cos_sin(&q, &cos, &sin)?;
    /// # assert_eq!((q.dims(), cos.dims()), (&[1, 12, 3, 128][..], &[1, 3, 64][..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if
    /// - `axes` does not have one entry per pair, or names a coordinate that the ids lack,
    /// - the ids have another rank or type,
    /// - an id is beyond the tables.
    pub fn cos_sin_by_axis(&self, axes: &[u8], position_ids: &Tensor) -> Result<(Tensor, Tensor)> {
        let [count, batch, time] = match *position_ids.dims() {
            [count, batch, time] if count != 0 => [count, batch, time],
            ref dims => bail!("position ids must have shape [axes, B, T], got {dims:?}"),
        };
        if count > 1 + usize::from(u8::MAX) {
            bail!("position ids have {count} axes, at most 256 can be named");
        }
        let (mut lists, mut rows) = (Vec::with_capacity(count), 0);
        for axis in 0..count {
            let checked = CheckedIds::read(&position_ids.get(axis)?, self.max_seq_len())?;
            rows = rows.max(checked.rows);
            lists.push(checked.ids);
        }
        let tables = &self.shared.tables;
        let frequencies = tables.rotary().frequencies(rows)?;
        let compute = match tables.dtype() {
            DType::F32 => on_host::<f32>,
            DType::F64 => on_host::<f64>,
            DType::F16 => on_host::<f16>,
            DType::BF16 => on_host::<bf16>,
            other => bail!("tables are f32, f64, f16 or bf16, not {}", other.as_str()),
        };
        let shape = (batch, time, tables.rotary().pairs());
        let [cos, sin] = compute(&frequencies, axes, &lists)?;
        let to_device = |table: Tensor| table.reshape(shape)?.to_device(tables.device());
        Ok((to_device(cos)?, to_device(sin)?))
    }
}

/// Computes cosines and sines on the host, of shape `[tokens, pairs]` each.
fn on_host<T: Element + WithDType>(
    frequencies: &RotaryFrequencies,
    axes: &[u8],
    lists: &[Vec<u32>],
) -> Result<[Tensor; 2]> {
    let lists: Vec<&[u32]> = lists.iter().map(Vec::as_slice).collect();
    let tables = frequencies.tables_by_axis::<T>(axes, &lists)?;
    let host = &candle_core::Device::Cpu;
    Ok([
        table_to_tensor(tables.cos, host)?,
        table_to_tensor(tables.sin, host)?,
    ])
}
