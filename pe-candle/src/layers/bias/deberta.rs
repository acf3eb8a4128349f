//! The disentangled scores of DeBERTa: content to position, and position to content.

use std::sync::Arc;

use candle_core::{Result, Tensor, bail};
use pe_core::{DebertaBuckets, DebertaBucketsConfig, relative_distances};

use super::AttentionBias;
use crate::kernel::Read;

/// The disentangled scores of DeBERTa v2 and v3.
///
/// The reference gathers `[batch, heads, q_len, kv_len]` twice, from indices that it repeats over the batch. Here both gathers are reads of the
/// pass over the scores, by one list of rows per distance.
///
/// # Examples
/// ```
/// use candle_core::{DType, Device, Tensor};
/// use pe_candle::{DebertaBias, DebertaBucketsConfig, ScoreMask, softmax_with_bias};
///
/// let deberta = DebertaBias::new(DebertaBucketsConfig {
///     position_buckets: Some(256),
///     max_relative_positions: 512,
/// })?;
/// let q = Tensor::ones((2, 12, 32, 64), DType::F32, &Device::Cpu)?;
/// let k = Tensor::ones((2, 12, 32, 64), DType::F32, &Device::Cpu)?;
/// // The projected relative embeddings, [heads, 2 x 256, head_dim].
/// let rows = Tensor::ones((12, 512, 64), DType::F32, &Device::Cpu)?;
/// let scale = 1.0 / (3.0 * 64f64).sqrt();
/// let bias = deberta.bias(&q, &k, Some(&rows), Some(&rows), scale)?;
/// let scores = q.matmul(&k.t()?)?;
/// let weights = softmax_with_bias(&scores, Some(&bias), scale, &ScoreMask::none())?;
/// # assert_eq!(weights.dims(), [2, 12, 32, 32]);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct DebertaBias {
    buckets: DebertaBuckets,
}

impl DebertaBias {
    /// Checks the specification.
    ///
    /// # Errors
    /// Returns an error if the specification is invalid.
    pub fn new(config: DebertaBucketsConfig) -> Result<Self> {
        let buckets = DebertaBuckets::new(config)?;
        Ok(Self { buckets })
    }

    /// Returns the buckets.
    pub fn buckets(&self) -> &DebertaBuckets {
        &self.buckets
    }

    /// Returns the bias of queries and keys `[batch, heads, len, head_dim]`.
    ///
    /// `pos_key` and `pos_query` are the projected relative embeddings, `[heads, 2 span, head_dim]` each: the first for content to
    /// position (`c2p` in `pos_att_type`), the second for position to content (`p2c`). `scale` multiplies both, 1 / sqrt(3 head_dim) with
    /// both and 1 / sqrt(2 head_dim) with one of them. Gradients flow to all four.
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
        let scores = |xs: &Tensor, rows: Option<&Tensor>| -> Result<Option<Tensor>> {
            let Some(rows) = rows else { return Ok(None) };
            let (batch, heads, len, width) = xs.dims4()?;
            // One product per head: the sequences follow each other.
            let xs = xs
                .transpose(0, 1)?
                .contiguous()?
                .reshape((heads, batch * len, width))?;
            let scores = (xs.matmul(&rows.t()?.contiguous()?)? * scale)?;
            let count = scores.dim(2)?;
            let scores = scores.reshape((heads, batch, len, count))?;
            scores.transpose(0, 1)?.contiguous().map(Some)
        };
        let (c2p, p2c) = (scores(q, pos_key)?, scores(k, pos_query)?);
        self.bias_of_scores(c2p.as_ref(), p2c.as_ref(), q_len, kv_len)
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
        let width = 2 * self.buckets.span();
        let distances = relative_distances(q_len, kv_len, 0)?;
        let index: Arc<[u32]> = distances
            .map(|distance| self.buckets.row(-distance))
            .collect();
        let start = q_len - 1;
        let part = |scores: &Tensor, len: usize, read: Read| {
            let (batch, heads, found, columns) = scores.dims4()?;
            if [found, columns] != [len, width] {
                let dims = scores.dims();
                bail!(
                    "scores of shape {dims:?} are not those of {len} tokens and {width} embeddings"
                );
            }
            AttentionBias::of(
                &scores.reshape((batch, heads, len * width))?,
                read,
                q_len,
                kv_len,
            )
        };
        let c2p = c2p.map(|scores| {
            let index = index.clone();
            part(
                scores,
                q_len,
                Read::GatherRow {
                    width,
                    index,
                    start,
                },
            )
        });
        let p2c = p2c.map(|scores| {
            let index = index.clone();
            part(
                scores,
                kv_len,
                Read::GatherColumn {
                    width,
                    index,
                    start,
                },
            )
        });
        match (c2p.transpose()?, p2c.transpose()?) {
            (Some(c2p), Some(p2c)) => c2p.and(&p2c),
            (Some(bias), None) | (None, Some(bias)) => Ok(bias),
            (None, None) => bail!("a disentangled bias needs c2p or p2c"),
        }
    }
}
