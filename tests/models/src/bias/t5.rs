//! T5: a trained bias per bucket of distances, in the first layer of the encoder and of the decoder.

use candle_core::{Module, Result, Tensor};
use candle_nn::{Embedding, VarBuilder, embedding};
use pe_candle::{BucketDirection, ScoreMask, T5Bias, T5BiasConfig};
use serde_json::Value;

use crate::blocks::{Attention, Mlp, RmsNorm, linear};
use crate::pre_norm::tied_logits;
use crate::{Batch, Config};

#[derive(Debug, Clone)]
struct Layer {
    attention: Attention,
    /// Attention to the encoder, and its norm.
    cross: Option<(Attention, RmsNorm)>,
    mlp: Mlp,
    norms: [RmsNorm; 2],
}

/// The encoder, or the decoder.
#[derive(Debug, Clone)]
struct Stack {
    bias: T5Bias,
    layers: Vec<Layer>,
    norm: RmsNorm,
}

#[derive(Debug, Clone)]
pub struct T5 {
    tokens: Embedding,
    encoder: Stack,
    decoder: Stack,
    logit_scale: f64,
}

fn attention(cfg: &Config, vb: VarBuilder<'_>) -> Result<Attention> {
    let output = linear(cfg.q_width(), cfg.hidden_size, vb.pp("o"))?;
    let mut attention = Attention::named(cfg, ["q", "k", "v"], output, vb)?;
    attention.scale = 1.0;
    Ok(attention)
}

impl Stack {
    fn new(cfg: &Config, bias: T5BiasConfig, vb: VarBuilder<'_>) -> Result<Self> {
        let norm = |vb: VarBuilder<'_>| RmsNorm::new(cfg.hidden_size, cfg.norm_eps, vb);
        let decoder = bias.buckets.direction == BucketDirection::Unidirectional;
        let layer = |index| {
            let vb = vb.pp(format!("block.{index}.layer"));
            let layer_norm = |part: usize| norm(vb.pp(part).pp("layer_norm"));
            let cross = match decoder {
                true => Some((attention(cfg, vb.pp("1.EncDecAttention"))?, layer_norm(1)?)),
                false => None,
            };
            let last = 1 + usize::from(decoder);
            Ok(Layer {
                attention: attention(cfg, vb.pp("0.SelfAttention"))?,
                cross,
                mlp: Mlp::new(cfg, ["wi", "wo"], vb.pp(last).pp("DenseReluDense"))?,
                norms: [layer_norm(0)?, layer_norm(last)?],
            })
        };
        let first = vb.pp("block.0.layer.0.SelfAttention");
        Ok(Self {
            bias: T5Bias::new(bias, first)?,
            layers: (0..cfg.num_hidden_layers)
                .map(layer)
                .collect::<Result<_>>()?,
            norm: norm(vb.pp("final_layer_norm"))?,
        })
    }
}

impl T5 {
    /// Loads a model by its `config.json`.
    pub fn new(config: &Value, vb: VarBuilder<'_>) -> Result<Self> {
        let cfg = Config::new(config)?;
        let stack = |direction, name| {
            Stack::new(
                &cfg,
                T5BiasConfig::from_hf_config(config, direction)?,
                vb.pp(name),
            )
        };
        Ok(Self {
            tokens: embedding(cfg.vocab_size, cfg.hidden_size, vb.pp("shared"))?,
            encoder: stack(BucketDirection::Bidirectional, "encoder")?,
            decoder: stack(BucketDirection::Unidirectional, "decoder")?,
            logit_scale: 1.0 / (cfg.hidden_size as f64).sqrt(),
        })
    }

    /// Returns what the decoder attends to, `[B, T, hidden_size]`, for token ids `[B, T]`.
    pub fn encode(&self, tokens: &Tensor, batch: &Batch) -> Result<Tensor> {
        let (mut xs, time) = (self.tokens.forward(tokens)?, tokens.dim(1)?);
        let (bias, mask) = (self.encoder.bias.bias(time, time, 0)?, batch.whole()?);
        for layer in &self.encoder.layers {
            let (q, k, v) = layer.attention.project(&xs.apply(&layer.norms[0])?)?;
            xs = (xs + layer.attention.attend((&q, &k, &v), Some(&bias), &mask)?)?;
            xs = (&xs + xs.apply(&layer.norms[1])?.apply(&layer.mlp)?)?;
        }
        xs.apply(&self.encoder.norm)
    }

    /// Returns the logits of all tokens of the decoder, `[B, T, vocab_size]`. `encoded` is the batch of the encoder. Packed sequences of the
    /// decoder attend to the packed sequences of the encoder in the same order.
    pub fn decode(
        &mut self,
        tokens: &Tensor,
        batch: &Batch,
        memory: &Tensor,
        encoded: &Batch,
    ) -> Result<Tensor> {
        let (mut xs, time) = (self.tokens.forward(tokens)?, tokens.dim(1)?);
        let bias = self
            .decoder
            .bias
            .bias(time, batch.offset + time, batch.offset)?;
        let mask = batch.causal(None)?;
        let whole = match (&batch.lengths, &encoded.lengths) {
            (Some(lengths), Some(memory)) => {
                ScoreMask::none().with_packed_cross(lengths, memory)?
            }
            _ => encoded.whole()?,
        };
        for layer in &mut self.decoder.layers {
            let qkv = layer.attention.project(&xs.apply(&layer.norms[0])?)?;
            xs = (xs + layer.attention.attend_cached(qkv, Some(&bias), &mask)?)?;
            if let Some((cross, norm)) = &layer.cross {
                let (q, k, v) = cross.project_from(&xs.apply(norm)?, memory)?;
                xs = (xs + cross.attend((&q, &k, &v), None, &whole)?)?;
            }
            xs = (&xs + xs.apply(&layer.norms[1])?.apply(&layer.mlp)?)?;
        }
        let xs = (xs.apply(&self.decoder.norm)? * self.logit_scale)?;
        tied_logits(&xs, &self.tokens)
    }
}
