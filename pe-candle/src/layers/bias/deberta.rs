//! The disentangled scores of DeBERTa: content to position, and position to content.

mod weights;

use std::sync::Arc;

use candle_core::{Result, Tensor, bail};
use pe_core::hf_config::{self, HfBias, HfConfig};
use pe_core::{DebertaBuckets, DebertaBucketsConfig, relative_distances};

use super::{AttentionBias, other_bias};
use crate::kernel::{Read, Term};

/// Configuration of a [`DebertaBias`]: plain data, checked by the layer's constructor.
///
/// # Examples
/// ```
/// use pe_candle::DebertaBiasConfig;
///
/// let json = r#"{"model_type": "deberta-v2", "num_attention_heads": 12, "relative_attention": true,
///     "position_buckets": 256, "max_position_embeddings": 512, "pos_att_type": "p2c|c2p"}"#;
/// let config = DebertaBiasConfig::from_hf_config(json)?;
/// assert_eq!((config.buckets.position_buckets, config.scale(64)), (Some(256), 1.0 / 192f64.sqrt()));
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DebertaBiasConfig {
    /// Number of heads.
    pub num_heads: usize,
    /// Buckets of distances.
    pub buckets: DebertaBucketsConfig,
    /// Whether queries are scored against positions (`c2p` in `pos_att_type`). Defaults to true.
    pub content_to_position: bool,
    /// Whether keys are scored against positions (`p2c`). Defaults to true.
    pub position_to_content: bool,
}

impl DebertaBiasConfig {
    /// Creates the configuration of both scores.
    pub const fn new(num_heads: usize, buckets: DebertaBucketsConfig) -> Self {
        Self {
            num_heads,
            buckets,
            content_to_position: true,
            position_to_content: true,
        }
    }

    /// Reads the configuration from a model's `config.json` ([`hf_config::read_bias`]).
    ///
    /// # Errors
    /// Returns an error if the file states another bias or none. Also returns the errors of [`hf_config::read_bias`].
    pub fn from_hf_config<'a>(config: impl Into<HfConfig<'a>>) -> Result<Self> {
        match hf_config::read_bias(config)? {
            Some(HfBias::Disentangled {
                num_heads,
                buckets,
                content_to_position,
                position_to_content,
            }) => Ok(Self {
                num_heads,
                buckets,
                content_to_position,
                position_to_content,
            }),
            other => Err(other_bias("disentangled bias", other)),
        }
    }

    /// Returns the factor of all scores, `1 / sqrt(n head_dim)`. `n` is 1, plus 1 for each of the two scores that are switched on.
    pub fn scale(&self, head_dim: usize) -> f64 {
        let kinds = [self.content_to_position, self.position_to_content].map(u8::from);
        let count = 1 + kinds.into_iter().sum::<u8>();
        1.0 / (f64::from(count) * head_dim as f64).sqrt()
    }
}

/// The disentangled scores of DeBERTa v2 and v3.
///
/// The reference gathers `[batch, heads, q_len, kv_len]` twice, from indices that it repeats over the batch. Here both gathers are reads of the
/// pass over the scores, by one list of rows per distance. [`weights`](Self::weights) computes a whole layer, and [`bias`](Self::bias) is for
/// scores of your own.
///
/// # Examples
/// ```
/// use candle_core::{DType, Device, Tensor};
/// use pe_candle::{DebertaBias, DebertaBiasConfig, DebertaBucketsConfig, ScoreMask, softmax_with_bias};
///
/// let buckets = DebertaBucketsConfig {
///     position_buckets: Some(256),
///     max_relative_positions: 512,
/// };
/// let config = DebertaBiasConfig::new(12, buckets);
/// let deberta = DebertaBias::new(config)?;
/// let q = Tensor::ones((2, 12, 32, 64), DType::F32, &Device::Cpu)?;
/// let k = Tensor::ones((2, 12, 32, 64), DType::F32, &Device::Cpu)?;
/// // The projected relative embeddings, [heads, 2 x 256, head_dim].
/// let rows = Tensor::ones((12, 512, 64), DType::F32, &Device::Cpu)?;
/// let scale = config.scale(64);
/// let bias = deberta.bias(&q, &k, Some(&rows), Some(&rows), scale)?;
/// let scores = q.matmul(&k.t()?)?;
/// let weights = softmax_with_bias(&scores, Some(&bias), scale, &ScoreMask::none())?;
/// # assert_eq!(weights.dims(), [2, 12, 32, 32]);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct DebertaBias {
    config: DebertaBiasConfig,
    buckets: DebertaBuckets,
}

impl DebertaBias {
    /// Checks the configuration.
    ///
    /// # Errors
    /// Returns an error if the buckets are invalid.
    pub fn new(config: DebertaBiasConfig) -> Result<Self> {
        let buckets = DebertaBuckets::new(config.buckets)?;
        Ok(Self { config, buckets })
    }

    /// Returns the configuration.
    pub fn config(&self) -> &DebertaBiasConfig {
        &self.config
    }

    /// Returns the buckets.
    pub fn buckets(&self) -> &DebertaBuckets {
        &self.buckets
    }

    /// Returns the bias of queries and keys `[batch, heads, len, head_dim]`.
    ///
    /// `pos_key` and `pos_query` are the projected relative embeddings, `[heads, 2 span, head_dim]` each: the first for content to
    /// position (`c2p` in `pos_att_type`), the second for position to content (`p2c`). `scale` multiplies both
    /// ([`DebertaBiasConfig::scale`]). Gradients flow to all four.
    ///
    /// # Errors
    /// Returns an error if neither is given, or a shape does not match.
    pub fn bias(
        &self,
        q: &Tensor,
        k: &Tensor,
        pos_key: Option<&Tensor>,
        pos_query: Option<&Tensor>,
        scale: f64,
    ) -> Result<AttentionBias> {
        let (q_len, kv_len) = (q.dims4()?.2, k.dims4()?.2);
        let part = |xs: &Tensor, rows: Option<&Tensor>, read| -> Result<Option<AttentionBias>> {
            let Some(rows) = rows else { return Ok(None) };
            let (batch, heads, len, width) = xs.dims4()?;
            // One product per head, which is read as it lies: the sequences follow each other.
            let xs = xs.transpose(0, 1)?.contiguous()?;
            let xs = xs.reshape((heads, batch * len, width))?;
            let values = xs.matmul(&(rows * scale)?.t()?)?;
            self.check(len, &[batch, heads, len, values.dim(2)?])?;
            let term = Term::heads_first([batch, heads], len * self.width(), read);
            AttentionBias::of(&values, term, q_len, kv_len).map(Some)
        };
        let [row, column] = self.reads(q_len, kv_len)?;
        both(part(q, pos_key, row)?, part(k, pos_query, column)?)
    }

    /// Returns the bias of given scores: `c2p`, `[batch, heads, q_len, 2 span]`, of queries against the embeddings, and `p2c`,
    /// `[batch, heads, kv_len, 2 span]`, of keys.
    ///
    /// # Errors
    /// Returns an error if neither is given, or a shape does not match.
    pub fn bias_of_scores(
        &self,
        c2p: Option<&Tensor>,
        p2c: Option<&Tensor>,
        q_len: usize,
        kv_len: usize,
    ) -> Result<AttentionBias> {
        let part = |scores: Option<&Tensor>, len, read| -> Result<Option<AttentionBias>> {
            let Some(scores) = scores else {
                return Ok(None);
            };
            let (batch, heads, ..) = scores.dims4()?;
            self.check(len, scores.dims())?;
            let term = Term::new([batch, heads], len * self.width(), read);
            AttentionBias::of(scores, term, q_len, kv_len).map(Some)
        };
        let [row, column] = self.reads(q_len, kv_len)?;
        both(part(c2p, q_len, row)?, part(p2c, kv_len, column)?)
    }

    /// Returns the number of relative embeddings.
    fn width(&self) -> usize {
        2 * self.buckets.span()
    }

    /// Checks that the last axes of scores are `len` tokens and all embeddings.
    fn check(&self, len: usize, dims: &[usize]) -> Result<()> {
        let width = self.width();
        if !dims.ends_with(&[len, width]) {
            bail!("scores of shape {dims:?} are not those of {len} tokens and {width} embeddings");
        }
        Ok(())
    }

    /// Returns how rows of scores read those of queries and those of keys against the embeddings.
    fn reads(&self, q_len: usize, kv_len: usize) -> Result<[Read; 2]> {
        let distances = relative_distances(q_len, kv_len, 0)?;
        let index: Arc<[u32]> = distances
            .map(|distance| self.buckets.row(-distance))
            .collect();
        let (width, start) = (self.width(), q_len - 1);
        let of_queries = Read::GatherRow {
            width,
            index: index.clone(),
            start,
        };
        let of_keys = Read::GatherColumn {
            width,
            index,
            start,
        };
        Ok([of_queries, of_keys])
    }
}

/// Returns the sum of both biases, or the only one.
fn both(c2p: Option<AttentionBias>, p2c: Option<AttentionBias>) -> Result<AttentionBias> {
    match (c2p, p2c) {
        (Some(c2p), Some(p2c)) => c2p.and(&p2c),
        (Some(bias), None) | (None, Some(bias)) => Ok(bias),
        (None, None) => bail!("a disentangled bias needs c2p or p2c"),
    }
}
