//! Biases of attention: positions in the scores.
//!
//! A layer ([`Alibi`], [`T5Bias`], [`RelativeTable`], [`DecomposedBias`], [`DebertaBias`], [`RelativeSinusoid`]) returns an
//! [`AttentionBias`] for a call, and [`softmax_with_bias`] or [`add_to_scores`] reads it in its pass over the scores.
//!
//! | models | bias | keys of `config.json` |
//! |---|---|---|
//! | BLOOM, Falcon-RW, Jina-BERT v2 | [`Alibi`] | `model_type: bloom`; `alibi: true`; `position_embedding_type: alibi` |
//! | MPT | [`Alibi`] | `attn_config: {alibi, alibi_bias_max}` |
//! | T5, mT5, UMT5, LongT5, Pix2Struct, Switch, MPNet | [`T5Bias`] | `relative_attention_num_buckets`, `relative_attention_max_distance` |
//! | LayoutLMv2, LayoutLMv3 | [`T5Bias`], one for tokens and two for boxes | `has_relative_attention_bias`, `rel_pos_bins`, `max_rel_pos`; `has_spatial_attention_bias`, `rel_2d_pos_bins`, `max_rel_2d_pos` |
//! | WavLM | [`T5Bias`], [gated](AttentionBias::gated) | `num_buckets`, `max_bucket_distance` |
//! | DeBERTa v2, v3 | [`DebertaBias`] | `relative_attention`, `position_buckets`, `max_relative_positions`, `pos_att_type` |
//! | Swin, Swin v2, BEiT, data2vec-vision, LeViT | [`RelativeTable`] | `window_size`; `use_relative_position_bias`; the model type |
//! | SAM, ViTDet, MViTv2 | [`DecomposedBias`] | `use_rel_pos`; `use_relative_position_embeddings` |
//! | Transformer-XL, XLNet, wav2vec2-conformer, Parakeet | [`RelativeSinusoid`] | `position_embeddings_type: relative`; the model type |
//! | Gemma 4's audio encoder | [`RelativeSinusoid`], [`SoftCap::Sums`] | `attention_context_left`, `attention_context_right`, `attention_logit_cap` |
//!
//! [`hf_config::read_bias`](pe_core::hf_config::read_bias) reads the keys of ALiBi, T5 and its relatives, and DeBERTa.
//!
//! # Other kernels
//! candle-flash-attn accepts [`Alibi::flash_attn_slopes`]. [`AttentionBias::to_mask`] builds the additive mask of `candle_nn` and Metal's
//! `sdpa`. A kernel with a function of its own for each score computes, for query `i` at position `p` and key `j`:
//!
//! | bias | function of a scaled score `s` |
//! |---|---|
//! | [`Alibi`] | `s - slopes[head] abs(p - j)` |
//! | [`T5Bias`] | `s + table[bucket(j - p), head]` ([`T5Buckets::bucket`](pe_core::T5Buckets::bucket)) |
//! | [`RelativeTable`] | `s + table[index[i, j], head]` ([`RelativeIndex`](pe_core::RelativeIndex)) |
//! | [`DecomposedBias`] | `s + q[i] . R_h[row of i, row of j] + q[i] . R_w[column of i, column of j]` |
//! | [`DebertaBias`] | `s + c2p[i, row(p - j)] + p2c[j, row(p - j)]` ([`DebertaBuckets::row`](pe_core::DebertaBuckets::row)) |
//! | [`RelativeSinusoid`] | `s + (q[i] + v) . r[p - j]` |
//! | a gated bias | `s + gate[head, i]` times the bias |
//! | [`SoftCap::Scores`], [`SoftCap::Sums`] | `cap tanh(s / cap)` before the bias is added, or of the sum |
//! | [`ScoreMask`] | minus infinity for an excluded key |
//!
//! # Example
//! Candle's `jina_bert` builds a tensor of `[1, 12, 8192, 8192]` when it loads (3 GiB). Here the layer holds 12 x 2 numbers per
//! position (767 KiB), and the softmax reads them. The program `examples/jina_alibi.rs` runs all 8,192 positions and prints its memory.
//!
//! ```
//! use candle_core::{DType, Device, Tensor};
//! use pe_candle::{Alibi, AlibiConfig, ScoreMask, softmax_with_bias};
//!
//! let alibi = Alibi::new(AlibiConfig::new(12), DType::F32, &Device::Cpu)?; // once per model; clones share it
//! let q = Tensor::randn(0f32, 1., (2, 12, 64, 32), &Device::Cpu)?; // [batch, heads, time, head_dim]
//! let k = Tensor::randn(0f32, 1., (2, 12, 64, 32), &Device::Cpu)?;
//! let padding = Tensor::ones((2, 64), DType::U32, &Device::Cpu)?; // the attention mask of the tokenizer
//! let scores = q.matmul(&k.transpose(2, 3)?)?;
//! let bias = alibi.bias(64, 64, 0)?;
//! let mask = ScoreMask::none().with_padding(&padding)?;
//! let weights = softmax_with_bias(&scores, Some(&bias), 32f64.powf(-0.5), &mask)?;
//! # assert_eq!(weights.dims(), [2, 12, 64, 64]);
//! # Ok::<(), candle_core::Error>(())
//! ```

pub(crate) mod alibi;
mod by_distance;
pub(crate) mod deberta;
pub(crate) mod decomposed;
pub(crate) mod mask;
mod reference;
pub(crate) mod relative_table;
pub(crate) mod scores;
pub(crate) mod sinusoid;
pub(crate) mod t5;

use candle_core::{DType, Error, Result, Tensor, bail};
use pe_core::hf_config::HfBias;

use crate::kernel::{Plan, Read, Term};
use crate::tensors::memory;
pub use alibi::Alibi;
pub use deberta::{DebertaBias, DebertaBiasConfig};
pub use decomposed::{DecomposedBias, DecomposedBiasConfig};
pub use mask::{ScoreMask, ScoreScale, SoftCap};
pub use relative_table::{RelativeRows, RelativeTable, RelativeTableConfig};
pub use scores::{
    add_to_scores, add_to_scores_inplace, softmax_with_bias, softmax_with_bias_inplace,
};
pub use sinusoid::{RelativeDistances, RelativeSinusoid, RelativeSinusoidConfig};
pub use t5::{T5Bias, T5BiasConfig};

/// Returns the error about a `config.json` that states another bias than the wanted one, or none.
fn other_bias(wanted: &str, found: Option<HfBias>) -> Error {
    Error::msg(match found {
        Some(found) => format!("the model has no {wanted}, but {found:?}"),
        None => format!("the model has no {wanted}, nor another bias that its config.json states"),
    })
}

/// Bias of the scores of one call: small tensors, and the rule by which each row of scores reads them.
///
/// Gradients flow to the tensors. Clones share them.
#[derive(Debug, Clone)]
pub struct AttentionBias {
    q_len: usize,
    kv_len: usize,
    /// One or two.
    pub(super) parts: Vec<Part>,
    pub(crate) plan: Plan,
}

/// Contiguous values of a bias, and how they are read.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) values: Tensor,
    pub(super) term: Term,
}

impl AttentionBias {
    /// Creates a bias of values that a term describes.
    pub(super) fn of(values: &Tensor, term: Term, q_len: usize, kv_len: usize) -> Result<Self> {
        let values = values.contiguous()?;
        Ok(Self {
            q_len,
            kv_len,
            parts: vec![Part { values, term }],
            plan: Plan::best(),
        })
    }

    /// Creates a bias of one value per head and distance: `values` is `[heads, q_len + kv_len - 1]`, in the order of
    /// [`relative_distances`](pe_core::relative_distances).
    ///
    /// # Examples
    /// ```
    /// use candle_core::{Device, Tensor};
    /// use pe_candle::AttentionBias;
    ///
    /// let values = Tensor::new(&[[-1f32, 0., 1., 2.]], &Device::Cpu)?; // distances -1 to 2
    /// let bias = AttentionBias::from_distances(&values, 2, 3)?;
    /// let wanted = [[0., 1., 2.], [-1., 0., 1.]];
    /// assert_eq!(bias.to_tensor()?.squeeze(0)?.squeeze(0)?.to_vec2::<f32>()?, wanted);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if `values` has another shape.
    pub fn from_distances(values: &Tensor, q_len: usize, kv_len: usize) -> Result<Self> {
        let (heads, count) = values.dims2()?;
        if q_len == 0 || count.checked_add(1) != q_len.checked_add(kv_len) {
            bail!("{count} distances are not those of {q_len} queries and {kv_len} keys");
        }
        let read = Read::Strided {
            start: q_len - 1,
            row: -1,
        };
        Self::of(values, Term::new([1, heads], count, read), q_len, kv_len)
    }

    /// Creates a bias of one value per head and key, the same for every query: `values` is `[heads, kv_len]`, or
    /// `[batch, heads, kv_len]`.
    ///
    /// # Errors
    /// Returns an error if `values` has another number of axes.
    pub fn from_keys(values: &Tensor, q_len: usize) -> Result<Self> {
        let values = match values.rank() {
            2 => values.unsqueeze(0)?,
            _ => values.clone(),
        };
        let (batch, heads, kv_len) = values.dims3()?;
        let read = Read::Strided { start: 0, row: 0 };
        Self::of(
            &values,
            Term::new([batch, heads], kv_len, read),
            q_len,
            kv_len,
        )
    }

    /// Creates a bias of a tensor `[1 or batch, 1 or heads, q_len, kv_len]`: an additive mask, or a bias of another library.
    ///
    /// # Errors
    /// Returns an error if the tensor has other than four axes.
    pub fn from_tensor(values: &Tensor) -> Result<Self> {
        let (batch, heads, q_len, kv_len) = values.dims4()?;
        memory::for_result("the bias", values)?;
        let read = Read::Strided {
            start: 0,
            row: kv_len as isize,
        };
        Self::of(
            values,
            Term::new([batch, heads], q_len * kv_len, read),
            q_len,
            kv_len,
        )
    }

    /// Creates the bias of Transformer-XL from scores of queries against encodings of distances, by the relative shift: a strided read,
    /// without padding or a copy.
    ///
    /// `scores` is `[batch, heads, q_len, n]` for `n` distances `query - key`, descending by 1 to `-(q_len - 1)`. With
    /// `n = q_len + kv_len - 1` the first one is `kv_len - 1` (Conformer), and with `n = q_len + kv_len` it is `kv_len` (XLNet). The
    /// queries are the last `q_len` of `kv_len` positions.
    ///
    /// # Errors
    /// Returns an error if `scores` has another shape.
    pub fn from_shifted(scores: &Tensor, kv_len: usize) -> Result<Self> {
        let (batch, heads, q_len, count) = scores.dims4()?;
        let extra = count
            .wrapping_add(1)
            .wrapping_sub(q_len.wrapping_add(kv_len));
        if extra > 1 || q_len == 0 || kv_len == 0 {
            bail!("scores of {count} distances are not those of {q_len} queries and {kv_len} keys");
        }
        memory::for_result("the bias", scores)?;
        let read = Read::Strided {
            start: q_len - 1 + extra,
            row: count as isize - 1,
        };
        Self::of(
            scores,
            Term::new([batch, heads], q_len * count, read),
            q_len,
            kv_len,
        )
    }

    /// Returns the sum of two biases, such as one by distance and an additive mask.
    ///
    /// # Errors
    /// Returns an error if they have other lengths, or more than two parts together ([`DecomposedBias`] and [`DebertaBias`] have two).
    pub fn and(mut self, other: &Self) -> Result<Self> {
        if [self.q_len, self.kv_len] != [other.q_len, other.kv_len] {
            let (a, b) = ([self.q_len, self.kv_len], [other.q_len, other.kv_len]);
            bail!("biases of queries and keys {a:?} and {b:?} have no sum");
        }
        self.parts.extend(other.parts.iter().cloned());
        if self.parts.len() > 2 {
            bail!(
                "a bias of {} parts: two at most are read in one pass",
                self.parts.len()
            );
        }
        Ok(self)
    }

    /// Multiplies the bias by a factor per query, `[1 or batch, 1 or heads, q_len]`: WavLM's gate of the hidden states. Gradients flow to
    /// the factors, and nothing of the shape of the scores is built.
    ///
    /// # Examples
    /// ```
    /// use candle_core::{Device, Tensor};
    /// use pe_candle::AttentionBias;
    ///
    /// let values = Tensor::new(&[[-1f32, 0., 1., 2.]], &Device::Cpu)?; // distances -1 to 2
    /// let gate = Tensor::new(&[[[10f32, 100.]]], &Device::Cpu)?; // [batch, heads, q_len]
    /// let bias = AttentionBias::from_distances(&values, 2, 3)?.gated(&gate)?;
    /// let wanted = [[0., 10., 20.], [-100., 0., 100.]];
    /// assert_eq!(bias.to_tensor()?.squeeze(0)?.squeeze(0)?.to_vec2::<f32>()?, wanted);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the factors have another shape, or the bias has two parts.
    pub fn gated(mut self, gate: &Tensor) -> Result<Self> {
        let (batch, heads, q_len) = gate.dims3()?;
        if q_len != self.q_len || self.parts.len() != 1 {
            bail!(
                "a gate of shape {:?} does not go with a bias of {} queries and {} parts",
                gate.dims(),
                self.q_len,
                self.parts.len()
            );
        }
        let term = Term::new([batch, heads], q_len, Read::Gate);
        let values = gate.contiguous()?;
        self.parts.push(Part { values, term });
        Ok(self)
    }

    /// Returns the number of queries.
    pub fn q_len(&self) -> usize {
        self.q_len
    }

    /// Returns the number of keys.
    pub fn kv_len(&self) -> usize {
        self.kv_len
    }

    /// Returns the bias as a tensor `[1 or batch, 1 or heads, q_len, kv_len]`, for other kernels. The fused passes avoid
    /// it. Gradients flow through it.
    ///
    /// # Errors
    /// Returns an error if queries and keys exceed the memory or 32-bit indices.
    pub fn to_tensor(&self) -> Result<Tensor> {
        let Self { q_len, kv_len, .. } = *self;
        let count = q_len.checked_mul(kv_len);
        if count.is_none_or(|count| u32::try_from(count).is_err()) {
            bail!("a bias of {q_len} queries and {kv_len} keys is too large for one tensor");
        }
        for part in &self.parts {
            part.term.check_alone(q_len, kv_len)?;
        }
        let parts = self.parts.iter().map(|part| (&part.term, &part.values));
        match reference::sum(parts, q_len, kv_len)? {
            Some(sum) => Ok(sum),
            None => bail!("the bias has no parts"),
        }
    }

    /// Returns the bias with minus infinity for excluded keys, `[1 or batch, 1 or heads, q_len, kv_len]`: the additive mask that callers of
    /// `candle_nn` and of Metal's `sdpa` pass on.
    ///
    /// # Errors
    /// Returns the errors of [`to_tensor`](Self::to_tensor), and an error if the mask does not go with the bias.
    pub fn to_mask(&self, mask: &ScoreMask, dtype: DType) -> Result<Tensor> {
        let bias = self.to_tensor()?;
        let batch = mask
            .rules
            .padding
            .as_ref()
            .map_or(1, |(_, [batch, _])| *batch);
        let (own, heads, q_len, kv_len) = bias.dims4()?;
        let zeros = Tensor::zeros(
            (batch.max(own), heads, q_len, kv_len),
            bias.dtype(),
            bias.device(),
        )?;
        add_to_scores(&zeros, Some(self), 1.0, mask)?.to_dtype(dtype)
    }

    /// Checks that the bias goes with scores of a shape.
    pub(super) fn check(&self, dims: [usize; 4]) -> Result<()> {
        let [batch, heads, q_len, kv_len] = dims;
        let owners = |part: &Part| part.term.owners(part.values.elem_count());
        let fits = |part: &Part| {
            let [sequences, of_heads] = owners(part);
            (sequences <= 1 || sequences == batch) && (of_heads <= 1 || of_heads == heads)
        };
        if [q_len, kv_len] != [self.q_len, self.kv_len] || !self.parts.iter().all(fits) {
            bail!(
                "a bias of {} queries, {} keys, and {:?} sequences and heads does not go with scores of shape {dims:?}",
                self.q_len,
                self.kv_len,
                self.parts.iter().map(owners).collect::<Vec<_>>()
            );
        }
        Ok(())
    }
}
