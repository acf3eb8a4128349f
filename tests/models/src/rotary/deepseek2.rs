//! DeepSeek 2 and 3: latent attention. A part of each head is rotated in interleaved pairs, and all heads share that part of the keys.
//! YaRN scales the frequencies, and the scores. (Layers with experts have the same attention and are left out.)

use candle_core::{D, Module, Result, Tensor};
use candle_nn::{Linear, VarBuilder};
use pe_candle::RotaryEmbedding;
use pe_candle::hf_config::{self, UnknownKeys};
use serde::Deserialize;
use serde_json::Value;

use crate::blocks::{GatedMlp, KvCache, RmsNorm, attend, linear, split_heads};
use crate::{Batch, Config, Decoder, config, decoder};

#[derive(Debug, Clone, Deserialize)]
struct Keys {
    kv_lora_rank: usize,
    qk_nope_head_dim: usize,
    qk_rope_head_dim: usize,
    v_head_dim: usize,
}

#[derive(Debug, Clone)]
pub struct Layer {
    rotary: RotaryEmbedding,
    keys: Keys,
    num_heads: usize,
    scale: f64,
    q_proj: Linear,
    kv_a_proj: Linear,
    kv_a_norm: RmsNorm,
    kv_b_proj: Linear,
    o_proj: Linear,
    cache: KvCache,
    mlp: GatedMlp,
    norms: [RmsNorm; 2],
}

impl Layer {
    fn attention(&mut self, xs: &Tensor, batch: &Batch) -> Result<Tensor> {
        let Keys {
            kv_lora_rank,
            qk_nope_head_dim,
            qk_rope_head_dim,
            v_head_dim,
        } = self.keys;
        let split = |xs: &Tensor, first: usize, rest: usize| {
            Ok::<_, candle_core::Error>((
                xs.narrow(D::Minus1, 0, first)?,
                xs.narrow(D::Minus1, first, rest)?,
            ))
        };
        let q = split_heads(&xs.apply(&self.q_proj)?, self.num_heads)?;
        let (q, q_rotated) = split(&q, qk_nope_head_dim, qk_rope_head_dim)?;
        let (latent, k_rotated) =
            split(&xs.apply(&self.kv_a_proj)?, kv_lora_rank, qk_rope_head_dim)?;
        let kv = latent
            .contiguous()?
            .apply(&self.kv_a_norm)?
            .apply(&self.kv_b_proj)?;
        let (k, v) = split(
            &split_heads(&kv, self.num_heads)?,
            qk_nope_head_dim,
            v_head_dim,
        )?;

        let (q_rotated, k_rotated) =
            batch.rotate(&self.rotary, &q_rotated, &k_rotated.unsqueeze(1)?)?;
        let k_rotated = k_rotated.broadcast_as(q_rotated.shape())?;
        let q = Tensor::cat(&[q, q_rotated], D::Minus1)?;
        let k = Tensor::cat(&[k, k_rotated], D::Minus1)?;
        let (k, v) = self.cache.append(k, v)?;
        attend((&q, &k, &v), self.scale, None, &batch.causal(None)?)?.apply(&self.o_proj)
    }
}

impl decoder::Layer for Layer {
    fn forward(&mut self, xs: &Tensor, batch: &Batch) -> Result<Tensor> {
        let ys = self.attention(&self.norms[0].forward(xs)?, batch)?;
        let xs = (xs + ys)?;
        &xs + xs.apply(&self.norms[1])?.apply(&self.mlp)?
    }
}

/// Loads a model by its `config.json`.
pub fn load(json: &Value, vb: VarBuilder<'_>) -> Result<Decoder<Layer, RmsNorm>> {
    let (cfg, keys): (Config, Keys) = (Config::new(json)?, config::read(json)?);
    let rotary = RotaryEmbedding::from_hf_config(json, None, vb.dtype(), vb.device())?;
    let temperatures = hf_config::read(json, UnknownKeys::Reject)?
        .layer(None)?
        .temperatures
        .clone();
    let head_dim = keys.qk_nope_head_dim + keys.qk_rope_head_dim;
    let mut scale = 1.0 / (head_dim as f64).sqrt();
    for temperature in temperatures {
        scale *= temperature.factor::<f64>(0)?;
    }
    let norm = |vb: VarBuilder<'_>| RmsNorm::new(cfg.hidden_size, cfg.norm_eps, vb);
    let layer = |_, vb: VarBuilder<'_>| {
        let (hidden, heads, latent) = (cfg.hidden_size, cfg.num_attention_heads, keys.kv_lora_rank);
        let width = keys.qk_nope_head_dim + keys.v_head_dim;
        let at = vb.pp("self_attn");
        Ok(Layer {
            rotary: rotary.clone(),
            num_heads: heads,
            scale,
            q_proj: linear(hidden, heads * head_dim, at.pp("q_proj"))?,
            kv_a_proj: linear(
                hidden,
                latent + keys.qk_rope_head_dim,
                at.pp("kv_a_proj_with_mqa"),
            )?,
            kv_a_norm: RmsNorm::new(latent, 1e-6, at.pp("kv_a_layernorm"))?,
            kv_b_proj: linear(latent, heads * width, at.pp("kv_b_proj"))?,
            o_proj: linear(heads * keys.v_head_dim, hidden, at.pp("o_proj"))?,
            cache: KvCache::default(),
            mlp: GatedMlp::new(&cfg, vb.pp("mlp"))?,
            norms: [
                norm(vb.pp("input_layernorm"))?,
                norm(vb.pp("post_attention_layernorm"))?,
            ],
            keys: keys.clone(),
        })
    };
    Decoder::new(&cfg, norm(vb.pp("model.norm"))?, layer, &vb)
}
