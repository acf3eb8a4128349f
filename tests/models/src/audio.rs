//! Whisper: sinusoids in the encoder, a learned table in the decoder.

use candle_core::{Module, ModuleT, Result, Tensor};
use candle_nn::{
    Activation, Conv1d, Conv1dConfig, Embedding, Linear, VarBuilder, conv1d, embedding, linear,
    linear_no_bias,
};
use pe_candle::{
    LearnedPositional, LearnedPositionalConfig, LearnedPreset, PositionalEncoding,
    PositionalEncodingConfig, Preset, ScoreMask,
};
use serde::Deserialize;
use serde_json::Value;

use crate::blocks::{KvCache, attend, split_heads};
use crate::config;
use crate::vision::{Layer, LayerNorm, Names, Qkv};

const NAMES: Names = Names {
    norm1: "self_attn_layer_norm",
    qkv: Qkv::Apart(["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"]),
    out: "self_attn.out_proj",
    norm2: "final_layer_norm",
    fc1: "fc1",
    fc2: "fc2",
    scales: None,
};

#[derive(Debug, Clone, Deserialize)]
struct Config {
    d_model: usize,
    encoder_layers: usize,
    decoder_layers: usize,
    encoder_attention_heads: usize,
    decoder_attention_heads: usize,
    encoder_ffn_dim: usize,
    decoder_ffn_dim: usize,
    vocab_size: usize,
    num_mel_bins: usize,
    max_source_positions: usize,
    max_target_positions: usize,
}

/// The encoder of speech.
#[derive(Debug, Clone)]
pub struct Encoder {
    convs: [Conv1d; 2],
    positions: PositionalEncoding,
    layers: Vec<Layer>,
    norm: LayerNorm,
}

impl Encoder {
    pub fn load(config: &Value, vb: VarBuilder<'_>) -> Result<Self> {
        let cfg: Config = config::read(config)?;
        let (vb, width) = (vb.pp("encoder"), cfg.d_model);
        let conv = |from, stride, name| {
            let conv = Conv1dConfig {
                padding: 1,
                stride,
                ..Conv1dConfig::default()
            };
            conv1d(from, width, 3, conv, vb.pp(name))
        };
        let positions = PositionalEncodingConfig {
            max_seq_len: cfg.max_source_positions,
            ..PositionalEncodingConfig::from_preset(Preset::Whisper, width)
        };
        let sizes = (width, cfg.encoder_ffn_dim, cfg.encoder_attention_heads);
        let layer = |index| {
            Layer::new(
                NAMES,
                sizes,
                (Activation::Gelu, 1e-5),
                &vb.pp(format!("layers.{index}")),
            )
        };
        Ok(Self {
            convs: [
                conv(cfg.num_mel_bins, 1, "conv1")?,
                conv(width, 2, "conv2")?,
            ],
            positions: PositionalEncoding::new(positions, vb.dtype(), vb.device())?,
            layers: (0..cfg.encoder_layers).map(layer).collect::<Result<_>>()?,
            norm: LayerNorm::new(width, 1e-5, vb.pp("layer_norm"))?,
        })
    }

    /// Returns the last hidden states `[B, T / 2, D]` of mel features `[B, bins, T]`.
    pub fn forward(&self, features: &Tensor) -> Result<Tensor> {
        let xs = self.convs[0].forward(features)?.gelu_erf()?;
        let xs = self.convs[1].forward(&xs)?.gelu_erf()?.transpose(1, 2)?;
        let mut xs = self.positions.forward_t(&xs, false)?;
        for layer in &self.layers {
            xs = layer.forward(&xs, |q, k, v| {
                attend((q, k, v), scale(q)?, None, &ScoreMask::none())
            })?;
        }
        self.norm.forward(&xs)
    }
}

/// The decoder of text.
#[derive(Debug, Clone)]
pub struct Decoder {
    embed_tokens: Embedding,
    positions: LearnedPositional,
    layers: Vec<DecoderLayer>,
    norm: LayerNorm,
}

#[derive(Debug, Clone)]
struct DecoderLayer {
    own: Layer,
    cross_norm: LayerNorm,
    cross: [Linear; 4],
    num_heads: usize,
    cache: KvCache,
}

impl Decoder {
    pub fn load(config: &Value, vb: VarBuilder<'_>) -> Result<Self> {
        let cfg: Config = config::read(config)?;
        let (vb, width, num_heads) = (vb.pp("decoder"), cfg.d_model, cfg.decoder_attention_heads);
        let layer = |index| {
            let vb = vb.pp(format!("layers.{index}"));
            let own = Layer::new(
                NAMES,
                (width, cfg.decoder_ffn_dim, num_heads),
                (Activation::Gelu, 1e-5),
                &vb,
            )?;
            let project = |name: &str| linear(width, width, vb.pp("encoder_attn").pp(name));
            Ok(DecoderLayer {
                own,
                cross_norm: LayerNorm::new(width, 1e-5, vb.pp("encoder_attn_layer_norm"))?,
                cross: [
                    project("q_proj")?,
                    linear_no_bias(width, width, vb.pp("encoder_attn.k_proj"))?,
                    project("v_proj")?,
                    project("out_proj")?,
                ],
                num_heads,
                cache: KvCache::default(),
            })
        };
        let positions = LearnedPositionalConfig::from_preset(
            LearnedPreset::Whisper,
            width,
            cfg.max_target_positions,
        );
        Ok(Self {
            embed_tokens: embedding(cfg.vocab_size, width, vb.pp("embed_tokens"))?,
            positions: LearnedPositional::new(positions, vb.clone())?,
            layers: (0..cfg.decoder_layers).map(layer).collect::<Result<_>>()?,
            norm: LayerNorm::new(width, 1e-5, vb.pp("layer_norm"))?,
        })
    }

    /// Returns the last hidden states of tokens `[B, T]` after `offset` cached ones.
    pub fn forward(&mut self, tokens: &Tensor, speech: &Tensor, offset: usize) -> Result<Tensor> {
        let xs = self.embed_tokens.forward(tokens)?;
        let mut xs = self.positions.forward_at(&xs, offset, false)?;
        for layer in &mut self.layers {
            xs = layer.forward(&xs, speech, offset)?;
        }
        self.norm.forward(&xs)
    }
}

impl DecoderLayer {
    fn forward(&mut self, xs: &Tensor, speech: &Tensor, offset: usize) -> Result<Tensor> {
        let attention = |xs: &Tensor| {
            self.own.attention(xs, |q, k, v| {
                let (k, v) = self.cache.append(k.clone(), v.clone())?;
                attend((q, &k, &v), scale(q)?, None, &ScoreMask::causal(offset))
            })
        };
        let cross = |xs: &Tensor| {
            let head = |part: usize, xs: &Tensor| {
                split_heads(&self.cross[part].forward(xs)?, self.num_heads)
            };
            let q = head(0, &self.cross_norm.forward(xs)?)?;
            let ys = attend(
                (&q, &head(1, speech)?, &head(2, speech)?),
                scale(&q)?,
                None,
                &ScoreMask::none(),
            )?;
            xs + ys.apply(&self.cross[3])?
        };
        self.own.forward_between(xs, attention, cross)
    }
}

fn scale(q: &Tensor) -> Result<f64> {
    Ok((q.dim(3)? as f64).sqrt().recip())
}
