//! Rules for the keys that a query may attend to, and the scale of scores.

use std::sync::Arc;

use candle_core::{DType, Result, Tensor, bail};

use crate::kernel::{Packed, Rules};

/// Rules that exclude keys. No mask of the shape of the scores is built.
///
/// Query `i` of a call is at position `offset + i`, and key `j` at position `j`.
///
/// # Examples
/// ```
/// use candle_core::{Device, Tensor};
/// use pe_candle::ScoreMask;
///
/// let all = ScoreMask::none();
/// let decoder = ScoreMask::causal(0);
/// let gemma = ScoreMask::sliding_window(100, 512); // the query at position 100 and the 511 keys before it
/// let padded = Tensor::new(&[[0u32, 0, 1, 1], [1, 1, 1, 1]], &Device::Cpu)?;
/// let batch = ScoreMask::causal(0).with_padding(&padded)?;
/// let packed = ScoreMask::none().with_packed(&[3, 2])?; // two sequences in one row
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct ScoreMask {
    pub(super) rules: Rules,
}

impl ScoreMask {
    /// Excludes nothing.
    pub fn none() -> Self {
        Self::default()
    }

    /// Excludes the keys after each query.
    pub fn causal(offset: usize) -> Self {
        Self::window(offset, None, Some(0))
    }

    /// Excludes the keys after each query, and all but `window` keys up to it: the sliding window of Mistral and Gemma.
    pub fn sliding_window(offset: usize, window: usize) -> Self {
        Self::window(offset, Some(window.saturating_sub(1)), Some(0))
    }

    /// Excludes keys that are more than `before` positions before the query, or more than `after` positions after it.
    pub fn window(offset: usize, before: Option<usize>, after: Option<usize>) -> Self {
        Self {
            rules: Rules {
                offset,
                before,
                after,
                ..Rules::default()
            },
        }
    }

    /// Excludes keys of padding as well. The mask has shape `[batch, kv_len]`, of integers or floats: 0 is padding.
    ///
    /// # Errors
    /// Returns an error if the mask has other than two axes.
    pub fn with_padding(mut self, mask: &Tensor) -> Result<Self> {
        let (batch, kv_len) = mask.dims2()?;
        let kept = mask.to_dtype(DType::F32)?.flatten_all()?.to_vec1::<f32>()?;
        let kept: Arc<[u8]> = kept.into_iter().map(|kept| u8::from(kept != 0.0)).collect();
        self.rules.padding = Some((kept, [batch, kv_len]));
        Ok(self)
    }

    /// Excludes keys of other sequences as well. The sequences of these lengths follow each other, as in
    /// [`position_ids_for_packed`](crate::position_ids_for_packed), as queries and as keys.
    ///
    /// # Errors
    /// Returns an error if the lengths together exceed 2^32 - 1, or memory does not suffice for them.
    pub fn with_packed(self, lengths: &[usize]) -> Result<Self> {
        self.with_packed_cross(lengths, lengths)
    }

    /// Excludes keys of other sequences as well, where queries and keys are packed with different lengths: the attention of a decoder
    /// to its encoder. Query sequence `i` sees key sequence `i`.
    ///
    /// # Examples
    /// ```
    /// use candle_core::{DType, Device, Tensor};
    /// use pe_candle::{ScoreMask, softmax_with_bias};
    ///
    /// let mask = ScoreMask::none().with_packed_cross(&[1, 2], &[2, 1])?;
    /// let scores = Tensor::zeros((1, 3, 3), DType::F32, &Device::Cpu)?;
    /// let weights = softmax_with_bias(&scores, None, 1.0, &mask)?.squeeze(0)?;
    /// assert_eq!(weights.to_vec2::<f32>()?, [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the numbers of sequences differ, the lengths of either together exceed 2^32 - 1, or memory does not suffice
    /// for them.
    pub fn with_packed_cross(mut self, lengths: &[usize], kv_lengths: &[usize]) -> Result<Self> {
        if lengths.len() != kv_lengths.len() {
            let (queries, keys) = (lengths.len(), kv_lengths.len());
            bail!("{queries} sequences of queries do not go with {keys} sequences of keys");
        }
        let sum = |lengths: &[usize]| {
            let add = |sum: usize, len: &usize| sum.checked_add(*len);
            let total = lengths.iter().try_fold(0, add);
            match total.filter(|total| u32::try_from(*total).is_ok()) {
                Some(total) => Ok(total),
                None => bail!("lengths {lengths:?} together exceed 4294967295"),
            }
        };
        let (total, kv_total) = (sum(lengths)?, sum(kv_lengths)?);
        let (mut ranges, mut first) = (Vec::new(), 0);
        if ranges.try_reserve_exact(total).is_err() {
            bail!("no memory for the sequences of {total} queries");
        }
        for (len, kv_len) in lengths.iter().zip(kv_lengths) {
            ranges.resize(ranges.len() + len, (first as u32, (first + kv_len) as u32));
            first += kv_len;
        }
        self.rules.packed = Some(Packed {
            keys: ranges.into(),
            kv_len: kv_total,
        });
        Ok(self)
    }

    /// Checks that the mask goes with scores of a shape, which messages show as `shown`.
    pub(super) fn check(
        &self,
        shown: &[usize],
        [batch, _, q_len, kv_len]: [usize; 4],
    ) -> Result<()> {
        let Rules {
            offset,
            padding,
            packed,
            ..
        } = &self.rules;
        if let Some((_, of)) = padding
            && *of != [batch, kv_len]
        {
            bail!("a padding mask of shape {of:?} does not go with scores of shape {shown:?}");
        }
        if let Some(Packed { keys, kv_len: all }) = packed
            && (*all != kv_len || offset.saturating_add(q_len) > keys.len())
        {
            let packed = match keys.len() {
                queries if queries == *all => format!("{all} packed tokens"),
                queries => format!("{queries} packed queries and {all} packed keys"),
            };
            bail!(
                "{packed} do not go with {q_len} queries from position {offset} on and {kv_len} keys"
            )
        }
        Ok(())
    }
}

/// A bound on scores, `cap tanh(z / cap)`, and whether the bias is bounded with them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SoftCap {
    /// The scaled scores, before the bias is added: `attn_logit_softcapping` of Gemma 2.
    Scores(f64),
    /// The sum of scaled scores and bias: `attention_logit_cap` of Gemma 4's audio encoder, `attn_softclamp_logits` of x-transformers.
    /// Exclude keys by a [`ScoreMask`]: minus infinity in a bias would be bounded too.
    Sums(f64),
}

/// Scale of the scores: `factor s + bias`, with a soft cap on either the scores or the sums.
///
/// # Examples
/// ```
/// use pe_candle::{ScoreScale, SoftCap};
///
/// let plain = ScoreScale::from(0.125); // 1 / sqrt(64)
/// let gemma = ScoreScale { factor: 0.0625, soft_cap: Some(SoftCap::Scores(50.0)) };
/// assert_eq!(plain.soft_cap, None);
/// # let _ = gemma;
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoreScale {
    /// Factor of the scores: 1 / sqrt(head_dim) in most models, 1 in T5.
    pub factor: f64,
    /// Bound on the scores, or on their sums with the bias.
    pub soft_cap: Option<SoftCap>,
}

impl From<f64> for ScoreScale {
    fn from(factor: f64) -> Self {
        Self {
            factor,
            soft_cap: None,
        }
    }
}

impl ScoreScale {
    /// Returns the cap of the scores, and that of the sums.
    pub(super) fn caps(&self) -> [Option<f64>; 2] {
        match self.soft_cap {
            None => [None, None],
            Some(SoftCap::Scores(cap)) => [Some(cap), None],
            Some(SoftCap::Sums(cap)) => [None, Some(cap)],
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        if !self.factor.is_finite() {
            bail!("scale {:?} is not a finite number", self.factor);
        }
        match self.caps().into_iter().flatten().next() {
            Some(cap) if !(cap.is_finite() && cap > 0.0) => {
                bail!("soft_cap {cap:?} is not a positive finite number")
            }
            _ => Ok(()),
        }
    }
}
