//! Attention masks.
//!
//! A mask states for every query and key of a batch whether the query may attend to the key.
//! It acts before the softmax: a hidden key gets the score minus infinity, and so the weight zero,
//! and the weights of the others add up to one. (Rows of weights that are set to zero after the
//! softmax add up to less.)

use candle_core::{D, Device, Result, Tensor};
use pe_candle::ScoreMask;

/// The directions in which a token may attend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sight {
    /// The whole sentence, as in an encoder.
    #[default]
    Whole,
    /// Itself and earlier tokens: the look-ahead mask, lower-triangular.
    Past,
}

/// Mask by sentence of a batch, query, and key: 1 where the query sees the key.
#[derive(Debug, Clone)]
pub struct Mask {
    /// [B, 1, T, T], u8.
    visible: Tensor,
    /// [B, 1, T, 1], u8: queries that see anything at all.
    sighted: Tensor,
    /// The same as rules.
    rules: ScoreMask,
}

impl Mask {
    /// Builds the mask of a batch of sentences that were padded to `len` tokens at the end.
    /// `lengths` are their numbers of real tokens.
    ///
    /// # Errors
    /// Returns an error if Candle does.
    pub fn new(lengths: &[usize], len: usize, sight: Sight, device: &Device) -> Result<Self> {
        let keys = Tensor::arange(0u32, len as u32, device)?.reshape((1, 1, 1, len))?;
        let ends: Vec<u32> = lengths.iter().map(|n| (*n).min(len) as u32).collect();
        let ends = Tensor::from_vec(ends, (lengths.len(), 1, 1, 1), device)?;
        let shape = (lengths.len(), 1, len, len);
        let real = keys.broadcast_lt(&ends)?.broadcast_as(shape)?;
        let visible = match sight {
            Sight::Whole => real.contiguous()?,
            Sight::Past => {
                let queries = keys.reshape((1, 1, len, 1))?;
                (&real * keys.broadcast_le(&queries)?.broadcast_as(shape)?)?
            }
        };
        let sighted = visible.max_keepdim(D::Minus1)?;
        let rules = match sight {
            Sight::Whole => ScoreMask::none(),
            Sight::Past => ScoreMask::causal(0),
        };
        let rules = rules.with_padding(&real.narrow(2, 0, 1)?.reshape((lengths.len(), len))?)?;
        Ok(Self {
            visible,
            sighted,
            rules,
        })
    }

    /// Returns the rules that [`softmax_with_bias`](pe_candle::softmax_with_bias) accepts.
    pub(super) fn rules(&self) -> &ScoreMask {
        &self.rules
    }

    /// Returns the attention weights of the scores [B, H, T, T]: the softmax over the keys that each
    /// query sees. A query that sees nothing gets zeros, not NaN.
    ///
    /// # Errors
    /// Returns an error if the scores have another shape.
    pub fn softmax(&self, scores: &Tensor) -> Result<Tensor> {
        let shape = scores.shape();
        let zeros = scores.zeros_like()?;
        let hidden =
            Tensor::full(f32::NEG_INFINITY, shape, scores.device())?.to_dtype(scores.dtype())?;
        // Blind queries take part with equal scores and are emptied below: a row
        // of minus infinities has no softmax.
        let sighted = self.sighted.broadcast_as(shape)?;
        let scores = self
            .visible
            .broadcast_as(shape)?
            .where_cond(scores, &hidden)?;
        let scores = sighted.where_cond(&scores, &zeros)?;
        let weights = candle_nn::ops::softmax(&scores, D::Minus1)?;
        sighted.where_cond(&weights, &zeros)
    }
}
