//! Parts that models share. All of them have gradients: candle-nn's `ops::softmax_last_dim`, `RmsNorm::forward`, `LayerNorm::forward`, and
//! `rotary_emb::rope` have none.

use candle_core::{DType, Module, Result, Tensor};
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
/// consecutive queries' heads as it takes. Returns `[B, T, H * D]`. As in Candle's Llama, 16-bit numbers are multiplied in `f32`: on the CPU
/// their own products take longer.
pub fn attend(
    (q, k, v): (&Tensor, &Tensor, &Tensor),
    scale: impl Into<ScoreScale>,
    bias: Option<&AttentionBias>,
    mask: &ScoreMask,
) -> Result<Tensor> {
    let dtype = q.dtype();
    let wide = |xs: &Tensor| match dtype {
        DType::F16 | DType::BF16 => xs.to_dtype(DType::F32),
        _ => Ok(xs.clone()),
    };
    let (q, k, v) = (&wide(q)?, &wide(k)?, &wide(v)?);
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
    ys.flatten_from(2)?.to_dtype(dtype)
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

/// A linear map, with a bias if the checkpoint has one.
pub fn linear(inputs: usize, outputs: usize, vb: VarBuilder<'_>) -> Result<Linear> {
    linear_b(inputs, outputs, vb.contains_tensor("bias"), vb)
}

/// Parts of one stored matrix `[sum of outputs, inputs]`.
pub fn parts(inputs: usize, outputs: &[usize], vb: VarBuilder<'_>) -> Result<Vec<Linear>> {
    let weight = vb.get((outputs.iter().sum(), inputs), "weight")?;
    let mut first = 0;
    let part = |len: &usize| {
        first += len;
        Ok(Linear::new(weight.narrow(0, first - len, *len)?, None))
    };
    outputs.iter().map(part).collect()
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
    /// Norms of each head of queries and keys.
    pub head_norms: Option<[RmsNorm; 2]>,
    /// Scale of the scores, `1 / sqrt(head_dim)` unless a model sets another.
    pub scale: f64,
}

impl Attention {
    /// Loads `q_proj`, `k_proj`, and `v_proj`, or all in `qkv_proj`, and `o_proj` under the name of `output`.
    pub fn new(cfg: &Config, output: &str, vb: VarBuilder<'_>) -> Result<Self> {
        let o_proj = linear(cfg.q_width(), cfg.hidden_size, vb.pp(output))?;
        let qkv = match vb.contains_tensor("qkv_proj.weight") {
            true => {
                let widths = [cfg.q_width(), cfg.kv_width(), cfg.kv_width()];
                parts(cfg.hidden_size, &widths, vb.pp("qkv_proj"))?
            }
            false => return Self::named(cfg, ["q_proj", "k_proj", "v_proj"], o_proj, vb),
        };
        Self::from_parts(cfg, qkv, o_proj)
    }

    /// Loads the projections of queries, keys, and values under other names.
    pub fn named(
        cfg: &Config,
        [q, k, v]: [&str; 3],
        o_proj: Linear,
        vb: VarBuilder<'_>,
    ) -> Result<Self> {
        let project = |name, width| linear(cfg.hidden_size, width, vb.pp(name));
        let qkv = vec![
            project(q, cfg.q_width())?,
            project(k, cfg.kv_width())?,
            project(v, cfg.kv_width())?,
        ];
        Self::from_parts(cfg, qkv, o_proj)
    }

    /// Uses given projections: queries, keys, and values, and the output's.
    pub fn from_parts(cfg: &Config, qkv: Vec<Linear>, o_proj: Linear) -> Result<Self> {
        let [q_proj, k_proj, v_proj] = qkv.try_into().expect("three projections");
        Ok(Self {
            q_proj,
            k_proj,
            v_proj,
            o_proj,
            num_heads: cfg.num_attention_heads,
            num_kv_heads: cfg.num_kv_heads(),
            cache: KvCache::default(),
            head_norms: None,
            scale: 1.0 / (cfg.head_dim() as f64).sqrt(),
        })
    }

    /// Projects activations `[B, T, hidden_size]` to queries, keys, and values, `[B, H, T, head_dim]`.
    pub fn project(&self, xs: &Tensor) -> Result<(Tensor, Tensor, Tensor)> {
        self.project_from(xs, xs)
    }

    /// Projects activations to queries, and those of an encoder to keys and values.
    pub fn project_from(&self, xs: &Tensor, memory: &Tensor) -> Result<(Tensor, Tensor, Tensor)> {
        let q = split_heads(&self.q_proj.forward(xs)?, self.num_heads)?;
        let k = split_heads(&self.k_proj.forward(memory)?, self.num_kv_heads)?;
        let v = split_heads(&self.v_proj.forward(memory)?, self.num_kv_heads)?;
        Ok(match &self.head_norms {
            None => (q, k, v),
            Some([q_norm, k_norm]) => (q.apply(q_norm)?, k.apply(k_norm)?, v),
        })
    }

    /// Attends to these keys, and returns activations `[B, T, hidden_size]`.
    pub fn attend(
        &self,
        (q, k, v): (&Tensor, &Tensor, &Tensor),
        bias: Option<&AttentionBias>,
        mask: &ScoreMask,
    ) -> Result<Tensor> {
        attend((q, k, v), self.scale, bias, mask)?.apply(&self.o_proj)
    }

    /// Attends to the keys of earlier calls and to these.
    pub fn attend_cached(
        &mut self,
        (q, k, v): (Tensor, Tensor, Tensor),
        bias: Option<&AttentionBias>,
        mask: &ScoreMask,
    ) -> Result<Tensor> {
        let (k, v) = self.cache.append(k, v)?;
        self.attend((&q, &k, &v), bias, mask)
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
    /// Loads `gate_proj` and `up_proj`, or both in `gate_up_proj`, and `down_proj`.
    pub fn new(cfg: &Config, vb: VarBuilder<'_>) -> Result<Self> {
        let (hidden, inner) = (cfg.hidden_size, cfg.intermediate_size());
        let gate_up = match vb.contains_tensor("gate_up_proj.weight") {
            true => parts(hidden, &[inner, inner], vb.pp("gate_up_proj"))?,
            false => vec![
                linear(hidden, inner, vb.pp("gate_proj"))?,
                linear(hidden, inner, vb.pp("up_proj"))?,
            ],
        };
        let [gate_proj, up_proj] = gate_up.try_into().expect("two projections");
        Ok(Self {
            gate_proj,
            up_proj,
            down_proj: linear(inner, hidden, vb.pp("down_proj"))?,
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

/// The feed-forward part `fc2(act(fc1 x))`.
#[derive(Debug, Clone)]
pub struct Mlp {
    fc1: Linear,
    fc2: Linear,
    act: Activation,
}

impl Mlp {
    /// Uses given maps.
    pub fn from_parts(cfg: &Config, [fc1, fc2]: [Linear; 2]) -> Self {
        let act = cfg.hidden_act;
        Self { fc1, fc2, act }
    }

    /// Loads both maps under the given names.
    pub fn new(cfg: &Config, [fc1, fc2]: [&str; 2], vb: VarBuilder<'_>) -> Result<Self> {
        Ok(Self {
            fc1: linear(cfg.hidden_size, cfg.intermediate_size(), vb.pp(fc1))?,
            fc2: linear(cfg.intermediate_size(), cfg.hidden_size, vb.pp(fc2))?,
            act: cfg.hidden_act,
        })
    }
}

impl Module for Mlp {
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        xs.apply(&self.fc1)?.apply(&self.act)?.apply(&self.fc2)
    }
}

/// A layer norm with a gradient, with a bias if the checkpoint has one.
#[derive(Debug, Clone)]
pub struct LayerNorm {
    norm: candle_nn::LayerNorm,
    bias: Option<Tensor>,
}

impl LayerNorm {
    pub fn new(size: usize, eps: f64, vb: VarBuilder<'_>) -> Result<Self> {
        let bias = match vb.contains_tensor("bias") {
            true => Some(vb.get(size, "bias")?),
            false => None,
        };
        // candle-nn's own bias would choose the operation without a gradient.
        let norm = candle_nn::layer_norm_no_bias(size, eps, vb)?;
        Ok(Self { norm, bias })
    }
}

impl Module for LayerNorm {
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        let ys = self.norm.forward(xs)?;
        match &self.bias {
            None => Ok(ys),
            Some(bias) => ys.broadcast_add(bias),
        }
    }
}

/// A root-mean-square norm with a gradient.
#[derive(Debug, Clone)]
pub struct RmsNorm(candle_nn::RmsNorm);

impl RmsNorm {
    pub fn new(size: usize, eps: f64, vb: VarBuilder<'_>) -> Result<Self> {
        Ok(Self(candle_nn::rms_norm(size, eps, vb)?))
    }

    /// Loads a norm with the weights minus one: Gemma's.
    pub fn new_around_one(size: usize, eps: f64, vb: VarBuilder<'_>) -> Result<Self> {
        let weight = (vb.get(size, "weight")? + 1.0)?;
        Ok(Self(candle_nn::RmsNorm::new(weight, eps)))
    }
}

impl Module for RmsNorm {
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        self.0.forward_diff(xs)
    }
}
