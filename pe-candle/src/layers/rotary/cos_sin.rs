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
    /// Cosines and sines of the positions `offset .. offset + len`, `[len, rotary_dim / 2]`
    /// each, in the type that the layer was made for: what `candle_nn::rotary_emb::rope` takes.
    ///
    /// They are views of the tables where the types agree, and made afresh with one rounding
    /// where not. Copy them before changing them in place.
    ///
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
    /// Positions beyond the tables.
    pub fn cos_sin(&self, offset: usize, len: usize) -> Result<(Tensor, Tensor)> {
        let Shared { dtype, tables, .. } = &*self.shared;
        let end = self.end_of(offset, len)?;
        if *dtype != tables.dtype() || len == 0 {
            let frequencies = tables.rotary().frequencies(end)?;
            let made = Angles::make(&frequencies, offset..end, *dtype, tables.device())?;
            return Ok((made.cos, made.sin));
        }
        let angles = tables.get(offset..end, end)?;
        let of = |table: &Tensor| table.narrow(0, offset.saturating_sub(angles.start), len);
        Ok((of(&angles.cos)?, of(&angles.sin)?))
    }

    /// Cosines and sines of tokens with several coordinates, `[B, T, rotary_dim / 2]` each, for
    /// [`apply_with_cos_sin`](Self::apply_with_cos_sin): M-RoPE (P. Wang et al.: "Qwen2-VL", 2024)
    /// and its like. They are made once for all blocks of a model.
    ///
    /// `axes` names the coordinate that each pair follows ([`Mrope::axes`](pe_core::Mrope::axes)
    /// makes it), and `position_ids`, `[axes, B, T]`, holds the coordinates of each token, as
    /// transformers has them; `u32` or `i64`, on any device. The type is that of the tables.
    ///
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
    /// A number of axes that is not that of the pairs; ids of another rank or type, or without
    /// an axis that is named; an id beyond the tables.
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
        let of = match tables.dtype() {
            DType::F32 => made::<f32>,
            DType::F64 => made::<f64>,
            DType::F16 => made::<f16>,
            DType::BF16 => made::<bf16>,
            other => bail!("tables are f32, f64, f16 or bf16, not {}", other.as_str()),
        };
        let shape = (batch, time, tables.rotary().pairs());
        let [cos, sin] = of(&frequencies, axes, &lists)?;
        let place = |table: Tensor| table.reshape(shape)?.to_device(tables.device());
        Ok((place(cos)?, place(sin)?))
    }
}

/// Cosines and sines on the host, `[tokens, pairs]` each.
fn made<T: Element + WithDType>(
    frequencies: &RotaryFrequencies,
    axes: &[u8],
    lists: &[Vec<u32>],
) -> Result<[Tensor; 2]> {
    let lists: Vec<&[u32]> = lists.iter().map(Vec::as_slice).collect();
    let tables = frequencies.tables_by_axis::<T>(axes, &lists);
    let tables = tables?;
    let host = &candle_core::Device::Cpu;
    Ok([
        table_to_tensor(tables.cos, host)?,
        table_to_tensor(tables.sin, host)?,
    ])
}
