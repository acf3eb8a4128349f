//! Parts that models share. All of them have gradients: candle-nn's `ops::softmax_last_dim`, `RmsNorm::forward`, `LayerNorm::forward`, and
//! `rotary_emb::rope` have none.

use candle_core::{Module, Result, Tensor};
use candle_nn::{Activation, Linear, VarBuilder, linear_b};
use pe_candle::{AttentionBias, ScoreMask, ScoreScale, softmax_with_bias};

use crate::Config;

/// Splits `[B, T, num_heads * D]` into heads, `[B, num_heads, T, D]`.
pub fn split_heads(xs: &Tensor, num_heads: usize) -> Result<Tensor> {
    let (batch, time, width) = xs.dims3()?;
    xs.reshape((batch, time, num_heads, width / num_heads))?
        .transpose(1, 2)
}

/// Computes `softmax(scale(q k^T) + bias) v` for heads `[B, H, T, D]`, with the keys that `mask` leaves. Each key serves as many
/// consecutive queries' heads as it takes. Returns `[B, T, H * D]`.
pub fn attend(
    (q, k, v): (&Tensor, &Tensor, &Tensor),
    scale: impl Into<ScoreScale>,
    bias: Option<&AttentionBias>,
    mask: &ScoreMask,
) -> Result<Tensor> {
    let groups = q.dim(1)? / k.dim(1)?;
    let repeated = |xs: &Tensor| {
        let (batch, heads, time, width) = xs.dims4()?;
        xs.unsqueeze(2)?
            .broadcast_as((batch, heads, groups, time, width))?
            .reshape((batch, heads * groups, time, width))
    };
    let scores = q.contiguous()?.matmul(&repeated(k)?.transpose(2, 3)?)?;
    let weights = softmax_with_bias(&scores, bias, scale, mask)?;
    let ys = weights.matmul(&repeated(v)?)?.transpose(1, 2)?;
    ys.flatten_from(2)
}

/// Keys and values of earlier calls, `[B, H, T, D]`.
#[derive(Debug, Clone, Default)]
pub struct KvCache(Option<(Tensor, Tensor)>);

impl KvCache {
    /// Returns all keys and values, those of this call last.
    pub fn append(&mut self, k: Tensor, v: Tensor) -> Result<(Tensor, Tensor)> {
        let all = match &self.0 {
            None => (k, v),
            Some((earlier_k, earlier_v)) => (
                Tensor::cat(&[earlier_k, &k], 2)?,
                Tensor::cat(&[earlier_v, &v], 2)?,
            ),
        };
        self.0 = Some(all.clone());
        Ok(all)
    }
}

/// The projections of attention, with a cache.
#[derive(Debug, Clone)]
pub struct Attention {
    q_proj: Linear,
    k_proj: Linear,
    v_proj: Linear,
    o_proj: Linear,
    num_heads: usize,
    num_kv_heads: usize,
    cache: KvCache,
    /// Scale of the scores, `1 / sqrt(head_dim)` unless a model sets another.
    pub scale: f64,
}

impl Attention {
    /// Loads `q_proj`, `k_proj`, and `v_proj`, with or without a bias, and `o_proj` without one.
    pub fn new(cfg: &Config, bias: bool, vb: VarBuilder<'_>) -> Result<Self> {
        let (num_heads, num_kv_heads) = (cfg.num_attention_heads, cfg.num_kv_heads());
        let project =
            |heads, name| linear_b(cfg.hidden_size, heads * cfg.head_dim(), bias, vb.pp(name));
        Ok(Self {
            q_proj: project(num_heads, "q_proj")?,
            k_proj: project(num_kv_heads, "k_proj")?,
            v_proj: project(num_kv_heads, "v_proj")?,
            o_proj: linear_b(
                num_heads * cfg.head_dim(),
                cfg.hidden_size,
                false,
                vb.pp("o_proj"),
            )?,
            num_heads,
            num_kv_heads,
            cache: KvCache::default(),
            scale: (cfg.head_dim() as f64).powf(-0.5),
        })
    }

    /// Projects activations `[B, T, hidden_size]` to queries, keys, and values, `[B, H, T, head_dim]`.
    pub fn project(&self, xs: &Tensor) -> Result<(Tensor, Tensor, Tensor)> {
        Ok((
            split_heads(&self.q_proj.forward(xs)?, self.num_heads)?,
            split_heads(&self.k_proj.forward(xs)?, self.num_kv_heads)?,
            split_heads(&self.v_proj.forward(xs)?, self.num_kv_heads)?,
        ))
    }

    /// Attends to the cached keys and to these.
    pub fn attend(
        &mut self,
        (q, k, v): (Tensor, Tensor, Tensor),
        mask: &ScoreMask,
    ) -> Result<Tensor> {
        let (k, v) = self.cache.append(k, v)?;
        let ys = attend((&q, &k, &v), self.scale, None, mask)?;
        self.o_proj.forward(&ys)
    }
}

/// The feed-forward part `down(act(gate x) * up x)`.
#[derive(Debug, Clone)]
pub struct GatedMlp {
    gate_proj: Linear,
    up_proj: Linear,
    down_proj: Linear,
    act: Activation,
}

impl GatedMlp {
    pub fn new(cfg: &Config, vb: VarBuilder<'_>) -> Result<Self> {
        let (hidden, inner) = (cfg.hidden_size, cfg.intermediate_size);
        Ok(Self {
            gate_proj: linear_b(hidden, inner, false, vb.pp("gate_proj"))?,
            up_proj: linear_b(hidden, inner, false, vb.pp("up_proj"))?,
            down_proj: linear_b(inner, hidden, false, vb.pp("down_proj"))?,
            act: cfg.hidden_act,
        })
    }
}

impl Module for GatedMlp {
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        let gate = self.gate_proj.forward(xs)?.apply(&self.act)?;
        (gate * self.up_proj.forward(xs)?)?.apply(&self.down_proj)
    }
}

/// A root-mean-square norm with a gradient.
#[derive(Debug, Clone)]
pub struct RmsNorm(candle_nn::RmsNorm);

impl RmsNorm {
    pub fn new(size: usize, eps: f64, vb: VarBuilder<'_>) -> Result<Self> {
        Ok(Self(candle_nn::rms_norm(size, eps, vb)?))
    }
}

impl Module for RmsNorm {
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        self.0.forward_diff(xs)
    }
}
