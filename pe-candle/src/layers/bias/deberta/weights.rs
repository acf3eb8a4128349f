//! Weights of a few heads at a time: their three products stay in the cache, and only the weights are kept.

use std::sync::{Mutex, PoisonError};

use candle_core::{CpuStorage, CustomOp3, DType, Layout, Result, Shape, Tensor, bail};

use super::{DebertaBias, both};
use crate::kernel::{Level, Outcome, Read, Rules, SoftmaxBias, Term, join, threads};
use crate::layers::bias::{
    AttentionBias, ScoreMask, ScoreScale, softmax_with_bias, softmax_with_bias_inplace,
};
use crate::tensors::memory;

/// Elements of a product of a few heads, 1 MiB in `f32`: such memory is used again and again.
const BLOCK: usize = 1 << 18;

impl DebertaBias {
    /// Computes the weights of a whole layer, `softmax(scale (q k^T + c2p + p2c))`, `[batch, heads, q_len, kv_len]`.
    ///
    /// These are the weights of [`softmax_with_bias`] with [`bias`](Self::bias), and the arguments are those of `bias`. A product of queries
    /// and keys and two with the embeddings are as large as the weights. On the CPU this method computes them for a few heads at a
    /// time and keeps none of them, not even for gradients. Gradients flow to all four tensors.
    ///
    /// # Examples
    /// ```
    /// use candle_core::{DType, Device, Tensor};
    /// use pe_candle::{DebertaBias, DebertaBiasConfig, DebertaBucketsConfig, ScoreMask};
    ///
    /// let buckets = DebertaBucketsConfig {
    ///     position_buckets: Some(256),
    ///     max_relative_positions: 512,
    /// };
    /// let deberta = DebertaBias::new(DebertaBiasConfig::new(12, buckets))?;
    /// let q = Tensor::ones((2, 12, 32, 64), DType::F32, &Device::Cpu)?;
    /// let k = Tensor::ones((2, 12, 32, 64), DType::F32, &Device::Cpu)?;
    /// let rows = Tensor::ones((12, 512, 64), DType::F32, &Device::Cpu)?; // [heads, 2 x 256, head_dim]
    /// let scale = deberta.config().scale(64);
    /// let weights = deberta.weights(&q, &k, Some(&rows), Some(&rows), scale, &ScoreMask::none())?;
    /// # assert_eq!(weights.dims(), [2, 12, 32, 32]);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`bias`](Self::bias) and [`softmax_with_bias`].
    pub fn weights(
        &self,
        q: &Tensor,
        k: &Tensor,
        pos_key: Option<&Tensor>,
        pos_query: Option<&Tensor>,
        scale: f64,
        mask: &ScoreMask,
    ) -> Result<Tensor> {
        let (dims, k_dims) = (q.dims4()?, k.dims4()?);
        let (batch, heads, q_len, head_dim) = dims;
        let kv_len = k_dims.2;
        if k_dims != (batch, heads, kv_len, head_dim) {
            bail!("queries of shape {dims:?} do not go with keys of shape {k_dims:?}");
        }
        let blocked = matches!(q.dtype(), DType::F32 | DType::F64 | DType::F16);
        if !blocked || !q.device().is_cpu() || q.dims().contains(&0) || kv_len == 0 {
            let bias = self.bias(q, k, pos_key, pos_query, scale)?;
            let scores = q.matmul(&k.t()?)?;
            return softmax_with_bias(&scores, Some(&bias), scale, mask);
        }
        let width = self.width();
        for rows in [pos_key, pos_query].into_iter().flatten() {
            if rows.dims() != [heads, width, head_dim] {
                let (dims, wanted) = (rows.dims(), [heads, width, head_dim]);
                bail!("the embeddings must have shape {wanted:?}, got {dims:?}");
            }
        }
        let dims = [batch, heads, q_len, kv_len];
        ScoreScale::from(scale).check()?;
        mask.check(&dims, dims)?;
        memory::size("the weights", &dims, q.dtype())?;
        let weights = Weights {
            level: Level::best(),
            reads: self.reads(q_len, kv_len)?,
            kinds: [pos_key.is_some(), pos_query.is_some()],
            layer: self.clone(),
            scale,
            rules: mask.rules.clone(),
            dims,
            done: Mutex::new(None),
        };
        let rows = match [pos_key, pos_query] {
            [Some(pos_key), Some(pos_query)] => Tensor::cat(&[pos_key, pos_query], 1)?,
            [Some(rows), None] | [None, Some(rows)] => rows.clone(),
            [None, None] => bail!("a disentangled bias needs c2p or p2c"),
        };
        weights.apply(q, k, &rows)
    }
}

/// The operation: weights from queries, keys, and the embeddings of both kinds in one tensor.
struct Weights {
    level: Level,
    layer: DebertaBias,
    reads: [Read; 2],
    /// Whether queries, and keys, are scored against positions.
    kinds: [bool; 2],
    scale: f64,
    rules: Rules,
    dims: [usize; 4],
    /// The weights until Candle asks for them.
    done: Mutex<Option<CpuStorage>>,
}

/// Some heads of a sequence.
#[derive(Clone, Copy)]
struct Block {
    batch: usize,
    head: usize,
    heads: usize,
}

impl Block {
    /// Returns the part of `[batch, heads, ..]`.
    fn of(self, xs: &Tensor) -> Result<Tensor> {
        let sequence = xs.narrow(0, self.batch, 1)?;
        sequence.narrow(1, self.head, self.heads)
    }

    /// Returns the part of `[heads, ..]`.
    fn of_heads(self, rows: &Tensor) -> Result<Tensor> {
        rows.narrow(0, self.head, self.heads)
    }
}

impl Weights {
    fn apply(self, q: &Tensor, k: &Tensor, rows: &Tensor) -> Result<Tensor> {
        let [one, two, three] = [q, k, rows].map(Tensor::detach);
        let scaled = self.rows(&three)?;
        let parts = self
            .blocks()
            .map(|block| self.compute(block, &one, &two, &scaled));
        let weights = join(q.dtype(), self.dims.iter().product(), parts)?;
        *self.done.lock().unwrap_or_else(PoisonError::into_inner) = Some(weights);
        if q.track_op() || k.track_op() || rows.track_op() {
            q.apply_op3(k, rows, self)
        } else {
            q.apply_op3_no_bwd(k, rows, &self)
        }
    }

    /// Lists the blocks in the order of the weights.
    fn blocks(&self) -> impl Iterator<Item = Block> + use<> {
        let [batch, heads, q_len, kv_len] = self.dims;
        let product = q_len.max(kv_len) * kv_len.max(self.layer.width());
        // The gradients of the terms come with those of the scores if each thread has several heads.
        let least = match threads() {
            0 | 1 => 1,
            threads => 4 * threads,
        };
        let count = (BLOCK / product).max(least).min(heads);
        let of_sequence = move |batch| {
            (0..heads).step_by(count).map(move |head| Block {
                batch,
                head,
                heads: count.min(heads - head),
            })
        };
        (0..batch).flat_map(of_sequence)
    }

    /// Returns the embeddings of both kinds, times the scale.
    fn rows(&self, rows: &Tensor) -> Result<[Option<Tensor>; 2]> {
        let (rows, width) = ((rows * self.scale)?, self.layer.width());
        let first = match self.kinds[0] {
            true => Some(rows.narrow(1, 0, width)?),
            false => None,
        };
        let second = match self.kinds[1] {
            true => Some(rows.narrow(1, rows.dim(1)? - width, width)?),
            false => None,
        };
        Ok([first, second])
    }

    /// Returns the rules of a sequence.
    fn mask(&self, batch: usize) -> ScoreMask {
        let rules = self.rules.of_sequence(batch, self.dims[3]);
        ScoreMask { rules }
    }

    /// Returns the weights of a block.
    fn compute(
        &self,
        block: Block,
        q: &Tensor,
        k: &Tensor,
        rows: &[Option<Tensor>; 2],
    ) -> Result<Tensor> {
        let [_, _, q_len, kv_len] = self.dims;
        let (q, k) = (block.of(q)?, block.of(k)?);
        let part = |rows: &Option<Tensor>, xs: &Tensor, read| -> Result<Option<AttentionBias>> {
            let Some(rows) = rows else { return Ok(None) };
            let rows = block.of_heads(rows)?.unsqueeze(0)?;
            let (values, term) = (xs.matmul(&rows.t()?)?, self.term(block, read));
            AttentionBias::of(&values, term, q_len, kv_len).map(Some)
        };
        let ([c2p, p2c], [row, column]) = (rows, &self.reads);
        let bias = both(part(c2p, &q, row)?, part(p2c, &k, column)?)?;
        let (scores, mask) = (q.matmul(&k.t()?)?, self.mask(block.batch));
        softmax_with_bias_inplace(&scores, Some(&bias), self.scale, &mask)?;
        Ok(scores)
    }

    /// Returns how a block reads the scores of its queries, or keys, against the embeddings.
    fn term(&self, block: Block, read: &Read) -> Term {
        let (width, [_, _, q_len, kv_len]) = (self.layer.width(), self.dims);
        let len = match read {
            Read::GatherRow { .. } => q_len,
            _ => kv_len,
        };
        Term::new([1, block.heads], len * width, read.clone())
    }

    /// Returns the gradients of the scores of a block, and of those of its queries and keys against the embeddings.
    fn gradients(
        &self,
        block: Block,
        weights: &Tensor,
        grad: &Tensor,
    ) -> Result<(Tensor, [Option<Tensor>; 2])> {
        let [_, _, q_len, kv_len] = self.dims;
        let mut terms = [None, None];
        for ((term, read), kind) in terms.iter_mut().zip(&self.reads).zip(self.kinds) {
            *term = kind.then(|| self.term(block, read));
        }
        let width = self.layer.width();
        let shapes = [q_len, kv_len].map(|len| Shape::from((1, block.heads, len, width)));
        let op = SoftmaxBias {
            level: self.level,
            dims: [1, block.heads, q_len, kv_len],
            factor: self.scale,
            caps: [None, None],
            rules: self.mask(block.batch).rules,
            terms,
            outcome: Outcome::Weights,
        };
        op.gradients_of_all(&block.of(weights)?, &block.of(grad)?, &shapes)
    }
}

impl CustomOp3 for Weights {
    fn name(&self) -> &'static str {
        "deberta-weights"
    }

    fn cpu_fwd(
        &self,
        _: &CpuStorage,
        _: &Layout,
        _: &CpuStorage,
        _: &Layout,
        _: &CpuStorage,
        _: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        match done.take() {
            Some(weights) => Ok((weights, Shape::from(&self.dims[..]))),
            None => bail!("the weights are computed once"),
        }
    }

    fn bwd(
        &self,
        q: &Tensor,
        k: &Tensor,
        rows: &Tensor,
        weights: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let [q, k, rows, weights, grad] = [q, k, rows, weights, grad].map(Tensor::detach);
        let (dtype, grad, rows) = (q.dtype(), grad.contiguous()?, self.rows(&rows)?);
        // Gradients of queries and keys, the heads of a sequence after the others.
        let mut of_tokens = [Vec::new(), Vec::new()];
        // Those of the embeddings, for the blocks of a sequence.
        let mut of_rows: [Vec<Tensor>; 2] = Default::default();
        let mut number = 0;
        for block in self.blocks() {
            number = if block.head == 0 { 0 } else { number + 1 };
            let tokens = [block.of(&q)?, block.of(&k)?];
            let (of_scores, of_terms) = self.gradients(block, &weights, &grad)?;
            let mut sums = [
                of_scores.matmul(&tokens[1])?,
                of_scores.t()?.matmul(&tokens[0])?,
            ];
            for (kind, of_term) in of_terms.into_iter().enumerate() {
                if let (Some(of_term), Some(rows)) = (of_term, &rows[kind]) {
                    let (of_term, rows) = (of_term.to_dtype(dtype)?, block.of_heads(rows)?);
                    sums[kind] = (&sums[kind] + of_term.matmul(&rows.unsqueeze(0)?)?)?;
                    let of_block = of_term.t()?.matmul(&tokens[kind])?.squeeze(0)?;
                    match of_rows[kind].get_mut(number) {
                        Some(sum) => *sum = (&*sum + of_block)?,
                        None => of_rows[kind].push(of_block),
                    }
                }
            }
            for (all, sum) in of_tokens.iter_mut().zip(sums) {
                all.push(sum.squeeze(0)?);
            }
        }
        let [of_q, of_k] = of_tokens;
        let of_q = Tensor::cat(&of_q, 0)?.reshape(q.shape())?;
        let of_k = Tensor::cat(&of_k, 0)?.reshape(k.shape())?;
        let of_kinds = of_rows.iter().filter(|blocks| !blocks.is_empty());
        let of_kinds: Vec<_> = of_kinds
            .map(|blocks| Tensor::cat(blocks, 0)? * self.scale)
            .collect::<Result<_>>()?;
        let of_rows = Tensor::cat(&of_kinds, 1)?;
        Ok((Some(of_q), Some(of_k), Some(of_rows)))
    }
}
