//! Where the tokens of a call are.

use candle_core::{Device, Result, Tensor};
use pe_candle::{
    LearnedPositional, LearnedRows, RotaryEmbedding, ScoreMask, position_ids_for_packed,
    position_ids_from_attention_mask,
};

/// The tokens of a call: after `offset` cached ones, with padding among them, or packed sequences.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    pub offset: usize,
    /// Positions of the tokens of this call, where they are not `offset`, `offset + 1`, and so on.
    pub positions: Option<Tensor>,
    /// 1 for tokens and 0 for padding, `[B, offset + T]`.
    pub padding: Option<Tensor>,
    /// Lengths of packed sequences.
    pub lengths: Option<Vec<usize>>,
    /// Cosines and sines of the tokens, where positions have several coordinates.
    pub cos_sin: Option<(Tensor, Tensor)>,
}

impl Batch {
    /// Tokens after `offset` cached ones.
    pub fn at(offset: usize) -> Self {
        Self {
            offset,
            ..Self::default()
        }
    }

    /// A batch with padding on any side. The mask `[B, offset + T]` is 1 for tokens, cached ones included.
    pub fn padded(mask: &Tensor, offset: usize) -> Result<Self> {
        let positions = position_ids_from_attention_mask(mask, 1)?;
        Ok(Self {
            offset,
            positions: Some(positions.narrow(1, offset, mask.dim(1)? - offset)?),
            padding: Some(mask.clone()),
            ..Self::default()
        })
    }

    /// Sequences of these lengths, one after the other in one row.
    pub fn packed(lengths: &[usize], device: &Device) -> Result<Self> {
        Ok(Self {
            positions: Some(position_ids_for_packed(lengths, device)?.unsqueeze(0)?),
            lengths: Some(lengths.to_vec()),
            ..Self::default()
        })
    }

    /// Rotates queries and keys, `[B, H, T, head_dim]`.
    pub fn rotate(
        &self,
        rotary: &RotaryEmbedding,
        q: &Tensor,
        k: &Tensor,
    ) -> Result<(Tensor, Tensor)> {
        match (&self.cos_sin, &self.positions) {
            (Some((cos, sin)), _) => rotary.apply_qkv_with_cos_sin(q, k, cos, sin),
            (None, Some(ids)) => rotary.apply_qkv_with_positions(q, k, ids),
            (None, None) => rotary.apply_qkv(q, k, self.offset),
        }
    }

    /// Adds learned positions to embeddings, `[B, T, hidden_size]`.
    pub fn add(&self, positions: &LearnedPositional, xs: &Tensor) -> Result<Tensor> {
        let Some(ids) = &self.positions else {
            return positions.forward_at(xs, self.offset, false);
        };
        match positions.config().rows {
            // These ids are rows.
            LearnedRows::Padding(row) => {
                let first = Tensor::full(row + 1, ids.shape(), ids.device())?;
                positions.forward_with_positions(xs, &(ids + first)?, false)
            }
            _ => positions.forward_with_positions(xs, ids, false),
        }
    }

    /// Returns the keys that a decoder's queries see: those of earlier tokens, or the last `window` of them.
    pub fn causal(&self, window: Option<usize>) -> Result<ScoreMask> {
        self.seen(match window {
            None => ScoreMask::causal(self.offset),
            Some(window) => ScoreMask::sliding_window(self.offset, window),
        })
    }

    /// Returns the keys that an encoder's queries see: all of their sequence.
    pub fn whole(&self) -> Result<ScoreMask> {
        self.seen(ScoreMask::none())
    }

    fn seen(&self, mut mask: ScoreMask) -> Result<ScoreMask> {
        if let Some(padding) = &self.padding {
            mask = mask.with_padding(padding)?;
        }
        match &self.lengths {
            None => Ok(mask),
            Some(lengths) => mask.with_packed(lengths),
        }
    }
}
