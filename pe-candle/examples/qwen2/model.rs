//! Qwen2 of candle-transformers 0.11.1 (`src/models/qwen2.rs`, licensed MIT or Apache-2.0, by the
//! authors of Candle), with its rotary part replaced.
//!
//! Changes: any [`Rotary`] replaces the struct `RotaryEmbedding`. `f64` uses the differentiable norm,
//! because the fused one does not support it. Tracing, the sliding window, and caller-supplied masks are
//! omitted.

use candle_core::{D, DType, Device, Module, Result, Tensor};
use candle_nn::{Activation, Linear, RmsNorm, VarBuilder, linear, linear_no_bias};
use pe_candle::RotaryEmbedding;

#[derive(Debug, Clone)]
pub(crate) struct Config {
    pub(crate) vocab_size: usize,
    pub(crate) hidden_size: usize,
    pub(crate) intermediate_size: usize,
    pub(crate) num_hidden_layers: usize,
    pub(crate) num_attention_heads: usize,
    pub(crate) num_key_value_heads: usize,
    pub(crate) max_position_embeddings: usize,
    pub(crate) rope_theta: f64,
    pub(crate) rms_norm_eps: f64,
}

/// The rotary part of a model: what attention asks of it.
pub(crate) trait Rotary: Clone {
    fn apply_rotary_emb_qkv(
        &self,
        q: &Tensor,
        k: &Tensor,
        seqlen_offset: usize,
    ) -> Result<(Tensor, Tensor)>;
}

impl Rotary for RotaryEmbedding {
    fn apply_rotary_emb_qkv(
        &self,
        q: &Tensor,
        k: &Tensor,
        seqlen_offset: usize,
    ) -> Result<(Tensor, Tensor)> {
        self.apply_rotary_emb_qkv(q, k, seqlen_offset)
    }
}

fn norm(norm: &RmsNorm, xs: &Tensor) -> Result<Tensor> {
    match xs.dtype() {
        DType::F64 => norm.forward_diff(xs),
        _ => norm.forward(xs),
    }
}

#[derive(Debug, Clone)]
struct Mlp {
    gate_proj: Linear,
    up_proj: Linear,
    down_proj: Linear,
}

impl Mlp {
    fn new(cfg: &Config, vb: VarBuilder<'_>) -> Result<Self> {
        let (hidden_sz, intermediate_sz) = (cfg.hidden_size, cfg.intermediate_size);
        Ok(Self {
            gate_proj: linear_no_bias(hidden_sz, intermediate_sz, vb.pp("gate_proj"))?,
            up_proj: linear_no_bias(hidden_sz, intermediate_sz, vb.pp("up_proj"))?,
            down_proj: linear_no_bias(intermediate_sz, hidden_sz, vb.pp("down_proj"))?,
        })
    }
}

impl Module for Mlp {
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        let lhs = xs.apply(&self.gate_proj)?.apply(&Activation::Silu)?;
        let rhs = xs.apply(&self.up_proj)?;
        (lhs * rhs)?.apply(&self.down_proj)
    }
}

#[derive(Debug, Clone)]
struct Attention<R> {
    q_proj: Linear,
    k_proj: Linear,
    v_proj: Linear,
    o_proj: Linear,
    num_heads: usize,
    num_kv_heads: usize,
    head_dim: usize,
    rotary_emb: R,
    kv_cache: Option<(Tensor, Tensor)>,
}

impl<R: Rotary> Attention<R> {
    fn new(rotary_emb: R, cfg: &Config, vb: VarBuilder<'_>) -> Result<Self> {
        let hidden_sz = cfg.hidden_size;
        let (num_heads, num_kv_heads) = (cfg.num_attention_heads, cfg.num_key_value_heads);
        let head_dim = hidden_sz / num_heads;
        Ok(Self {
            q_proj: linear(hidden_sz, num_heads * head_dim, vb.pp("q_proj"))?,
            k_proj: linear(hidden_sz, num_kv_heads * head_dim, vb.pp("k_proj"))?,
            v_proj: linear(hidden_sz, num_kv_heads * head_dim, vb.pp("v_proj"))?,
            o_proj: linear_no_bias(num_heads * head_dim, hidden_sz, vb.pp("o_proj"))?,
            num_heads,
            num_kv_heads,
            head_dim,
            rotary_emb,
            kv_cache: None,
        })
    }

    fn forward(
        &mut self,
        xs: &Tensor,
        attention_mask: Option<&Tensor>,
        seqlen_offset: usize,
    ) -> Result<Tensor> {
        let (b_sz, q_len, _) = xs.dims3()?;
        let heads = |xs: Tensor, count: usize| {
            xs.reshape((b_sz, q_len, count, self.head_dim))?
                .transpose(1, 2)
        };
        let query_states = heads(self.q_proj.forward(xs)?, self.num_heads)?;
        let key_states = heads(self.k_proj.forward(xs)?, self.num_kv_heads)?;
        let value_states = heads(self.v_proj.forward(xs)?, self.num_kv_heads)?;

        let (query_states, key_states) =
            self.rotary_emb
                .apply_rotary_emb_qkv(&query_states, &key_states, seqlen_offset)?;

        let (key_states, value_states) = match &self.kv_cache {
            None => (key_states, value_states),
            Some((prev_k, prev_v)) => (
                Tensor::cat(&[prev_k, &key_states], 2)?,
                Tensor::cat(&[prev_v, &value_states], 2)?,
            ),
        };
        self.kv_cache = Some((key_states.clone(), value_states.clone()));

        let groups = self.num_heads / self.num_kv_heads;
        let key_states = repeat_kv(key_states, groups)?.contiguous()?;
        let value_states = repeat_kv(value_states, groups)?.contiguous()?;

        let scale = 1f64 / f64::sqrt(self.head_dim as f64);
        let attn_weights = (query_states.matmul(&key_states.transpose(2, 3)?)? * scale)?;
        let attn_weights = match attention_mask {
            None => attn_weights,
            Some(mask) => attn_weights.broadcast_add(mask)?,
        };
        let attn_weights = candle_nn::ops::softmax_last_dim(&attn_weights)?;
        let attn_output = attn_weights.matmul(&value_states)?;
        attn_output
            .transpose(1, 2)?
            .reshape((b_sz, q_len, self.num_heads * self.head_dim))?
            .apply(&self.o_proj)
    }
}

fn repeat_kv(xs: Tensor, n_rep: usize) -> Result<Tensor> {
    if n_rep == 1 {
        return Ok(xs);
    }
    let (b_sz, n_kv_head, seq_len, head_dim) = xs.dims4()?;
    Tensor::cat(&vec![&xs; n_rep], 2)?.reshape((b_sz, n_kv_head * n_rep, seq_len, head_dim))
}

#[derive(Debug, Clone)]
struct DecoderLayer<R> {
    self_attn: Attention<R>,
    mlp: Mlp,
    input_layernorm: RmsNorm,
    post_attention_layernorm: RmsNorm,
}

impl<R: Rotary> DecoderLayer<R> {
    fn new(rotary_emb: R, cfg: &Config, vb: VarBuilder<'_>) -> Result<Self> {
        let rms_norm = |name| candle_nn::rms_norm(cfg.hidden_size, cfg.rms_norm_eps, vb.pp(name));
        Ok(Self {
            self_attn: Attention::new(rotary_emb, cfg, vb.pp("self_attn"))?,
            mlp: Mlp::new(cfg, vb.pp("mlp"))?,
            input_layernorm: rms_norm("input_layernorm")?,
            post_attention_layernorm: rms_norm("post_attention_layernorm")?,
        })
    }

    fn forward(
        &mut self,
        xs: &Tensor,
        attention_mask: Option<&Tensor>,
        seqlen_offset: usize,
    ) -> Result<Tensor> {
        let residual = xs;
        let xs = norm(&self.input_layernorm, xs)?;
        let xs = self.self_attn.forward(&xs, attention_mask, seqlen_offset)?;
        let xs = (xs + residual)?;
        let residual = &xs;
        let xs = norm(&self.post_attention_layernorm, &xs)?.apply(&self.mlp)?;
        residual + xs
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Model<R> {
    embed_tokens: candle_nn::Embedding,
    layers: Vec<DecoderLayer<R>>,
    norm: RmsNorm,
    lm_head: Linear,
    device: Device,
    dtype: DType,
}

impl<R: Rotary> Model<R> {
    pub(crate) fn new(cfg: &Config, rotary: &R, vb: VarBuilder<'_>) -> Result<Self> {
        let vb_m = vb.pp("model");
        let embed_tokens =
            candle_nn::embedding(cfg.vocab_size, cfg.hidden_size, vb_m.pp("embed_tokens"))?;
        let layers = (0..cfg.num_hidden_layers)
            .map(|index| DecoderLayer::new(rotary.clone(), cfg, vb_m.pp("layers").pp(index)))
            .collect::<Result<_>>()?;
        Ok(Self {
            lm_head: Linear::new(embed_tokens.embeddings().clone(), None),
            embed_tokens,
            layers,
            norm: candle_nn::rms_norm(cfg.hidden_size, cfg.rms_norm_eps, vb_m.pp("norm"))?,
            device: vb.device().clone(),
            dtype: vb.dtype(),
        })
    }

    fn causal_mask(&self, b_size: usize, tgt_len: usize, seqlen_offset: usize) -> Result<Tensor> {
        let mask: Vec<_> = (0..tgt_len)
            .flat_map(|i| (0..tgt_len).map(move |j| if i < j { f32::NEG_INFINITY } else { 0. }))
            .collect();
        let mask = Tensor::from_slice(&mask, (tgt_len, tgt_len), &self.device)?;
        let mask0 = Tensor::zeros((tgt_len, seqlen_offset), DType::F32, &self.device)?;
        Tensor::cat(&[&mask0, &mask], D::Minus1)?
            .expand((b_size, 1, tgt_len, tgt_len + seqlen_offset))?
            .to_dtype(self.dtype)
    }

    /// The logits of every token, `[B, T, vocab_size]`.
    pub(crate) fn forward(&mut self, input_ids: &Tensor, seqlen_offset: usize) -> Result<Tensor> {
        let (b_size, seq_len) = input_ids.dims2()?;
        let attention_mask = match seq_len {
            0 | 1 => None,
            _ => Some(self.causal_mask(b_size, seq_len, seqlen_offset)?),
        };
        let mut xs = self.embed_tokens.forward(input_ids)?;
        for layer in self.layers.iter_mut() {
            xs = layer.forward(&xs, attention_mask.as_ref(), seqlen_offset)?;
        }
        norm(&self.norm, &xs)?.apply(&self.lm_head)
    }

    /// Clears the KV cache, for the tests, which share this file.
    #[allow(dead_code)]
    pub(crate) fn clear_kv_cache(&mut self) {
        for layer in self.layers.iter_mut() {
            layer.self_attn.kv_cache = None;
        }
    }
}
