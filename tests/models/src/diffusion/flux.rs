//! The FLUX.1 transformer of diffusers: a rotary embedding over image, row, and column, for text and image together.

use candle_core::{D, Module, Result, Tensor};
use candle_nn::{Linear, VarBuilder, linear};
use pe_candle::{
    AxialRotaryConfig, AxialRotaryEmbedding, AxialRotaryEmbeddingConfig, PairLayout, RotaryAxis,
    ScoreMask, TimestepPreset,
};
use serde::Deserialize;
use serde_json::Value;

use super::TimeEmbedding;
use crate::blocks::{RmsNorm, attend, split_heads};
use crate::config;

#[derive(Debug, Clone, Deserialize)]
struct Config {
    in_channels: usize,
    num_layers: usize,
    num_single_layers: usize,
    attention_head_dim: usize,
    num_attention_heads: usize,
    joint_attention_dim: usize,
    pooled_projection_dim: usize,
    axes_dims_rope: Vec<usize>,
}

/// The transformer.
#[derive(Debug, Clone)]
pub struct Flux {
    x_embedder: Linear,
    context_embedder: Linear,
    time: TimeEmbedding,
    text: [Linear; 2],
    rotary: AxialRotaryEmbedding,
    double: Vec<Double>,
    single: Vec<Single>,
    norm_out: Linear,
    proj_out: Linear,
}

impl Flux {
    pub fn load(config: &Value, vb: VarBuilder<'_>) -> Result<Self> {
        let cfg: Config = config::read(config)?;
        let width = cfg.attention_head_dim * cfg.num_attention_heads;
        let time = vb.pp("time_text_embed");
        let text = |name, from| linear(from, width, time.pp("text_embedder").pp(name));
        // `AxialRotaryPreset::Flux` has the widths of the released model, 16, 56, and 56.
        let axes = cfg
            .axes_dims_rope
            .iter()
            .map(|width| RotaryAxis::new(*width, 10_000.0));
        let rotary = AxialRotaryEmbeddingConfig::new(AxialRotaryConfig {
            layout: PairLayout::Interleaved,
            ..AxialRotaryConfig::new(axes.collect::<Vec<_>>())
        });
        let double =
            |index| Double::load(&cfg, width, vb.pp(format!("transformer_blocks.{index}")));
        let single = |index| {
            Single::load(
                &cfg,
                width,
                vb.pp(format!("single_transformer_blocks.{index}")),
            )
        };
        Ok(Self {
            x_embedder: linear(cfg.in_channels, width, vb.pp("x_embedder"))?,
            context_embedder: linear(cfg.joint_attention_dim, width, vb.pp("context_embedder"))?,
            time: TimeEmbedding::load(
                TimestepPreset::Flux,
                256,
                width,
                time.pp("timestep_embedder"),
            )?,
            text: [
                text("linear_1", cfg.pooled_projection_dim)?,
                text("linear_2", width)?,
            ],
            rotary: AxialRotaryEmbedding::new(rotary, vb.dtype(), vb.device())?,
            double: (0..cfg.num_layers).map(double).collect::<Result<_>>()?,
            single: (0..cfg.num_single_layers)
                .map(single)
                .collect::<Result<_>>()?,
            norm_out: linear(width, 2 * width, vb.pp("norm_out.linear"))?,
            proj_out: linear(width, cfg.in_channels, vb.pp("proj_out"))?,
        })
    }

    /// Returns the velocities of latents `[B, T, channels]` at timesteps of 0 to 1. `ids` are the coordinates of text and image
    /// tokens, `[T, 3]` each.
    pub fn forward(
        &self,
        latents: &Tensor,
        text: &Tensor,
        pooled: &Tensor,
        timesteps: &Tensor,
        [text_ids, image_ids]: [&Tensor; 2],
    ) -> Result<Tensor> {
        let ids = Tensor::cat(&[text_ids, image_ids], 0)?;
        let pooled = pooled.apply(&self.text[0])?.silu()?.apply(&self.text[1])?;
        let condition = (self.time.forward(timesteps)? + pooled)?.silu()?;
        let mut xs = self.x_embedder.forward(latents)?;
        let mut text = self.context_embedder.forward(text)?;
        let len = text.dim(1)?;
        for block in &self.double {
            (text, xs) = block.forward(&text, &xs, &condition, &self.rotary, &ids)?;
        }
        let mut xs = Tensor::cat(&[&text, &xs], 1)?;
        for block in &self.single {
            xs = block.forward(&xs, &condition, &self.rotary, &ids)?;
        }
        let xs = xs.narrow(1, len, xs.dim(1)? - len)?;
        let [scale, shift] = modulation(&self.norm_out, &condition)?;
        modulated(&xs, &scale, &shift)?.apply(&self.proj_out)
    }
}

/// Projections of a stream, and the norms of its queries and keys.
#[derive(Debug, Clone)]
struct Stream {
    qkv: [Linear; 3],
    norms: [RmsNorm; 2],
    num_heads: usize,
}

impl Stream {
    fn load(
        cfg: &Config,
        width: usize,
        qkv: [&str; 3],
        norms: [&str; 2],
        vb: VarBuilder<'_>,
    ) -> Result<Self> {
        let [q, k, v] = qkv.map(|name| linear(width, width, vb.pp(name)));
        let [norm_q, norm_k] =
            norms.map(|name| RmsNorm::new(cfg.attention_head_dim, 1e-6, vb.pp(name)));
        Ok(Self {
            qkv: [q?, k?, v?],
            norms: [norm_q?, norm_k?],
            num_heads: cfg.num_attention_heads,
        })
    }

    fn project(&self, xs: &Tensor) -> Result<[Tensor; 3]> {
        let head = |part: usize| split_heads(&self.qkv[part].forward(xs)?, self.num_heads);
        Ok([
            self.norms[0].forward(&head(0)?)?,
            self.norms[1].forward(&head(1)?)?,
            head(2)?,
        ])
    }
}

/// Rotates and attends.
fn attention(
    [q, k, v]: [Tensor; 3],
    rotary: &AxialRotaryEmbedding,
    ids: &Tensor,
) -> Result<Tensor> {
    let (q, k) = rotary.apply_qkv(&q, &k, ids)?;
    let scale = (q.dim(D::Minus1)? as f64).sqrt().recip();
    attend((&q, &k, &v), scale, None, &ScoreMask::none())
}

/// A block with weights of their own for text and image.
#[derive(Debug, Clone)]
struct Double {
    image: Stream,
    text: Stream,
    /// Of the image and of the text: modulation, output, and the feed-forward part.
    parts: [(Linear, Linear, [Linear; 2]); 2],
}

impl Double {
    fn load(cfg: &Config, width: usize, vb: VarBuilder<'_>) -> Result<Self> {
        let (attn, inner) = (vb.pp("attn"), 4 * width);
        let part = |norm, out, ff| {
            Ok::<_, candle_core::Error>((
                linear(width, 6 * width, vb.pp(norm).pp("linear"))?,
                linear(width, width, attn.pp(out))?,
                [
                    linear(width, inner, vb.pp(ff).pp("net.0.proj"))?,
                    linear(inner, width, vb.pp(ff).pp("net.2"))?,
                ],
            ))
        };
        let text = ["add_q_proj", "add_k_proj", "add_v_proj"];
        Ok(Self {
            image: Stream::load(
                cfg,
                width,
                ["to_q", "to_k", "to_v"],
                ["norm_q", "norm_k"],
                attn.clone(),
            )?,
            text: Stream::load(
                cfg,
                width,
                text,
                ["norm_added_q", "norm_added_k"],
                attn.clone(),
            )?,
            parts: [
                part("norm1", "to_out.0", "ff")?,
                part("norm1_context", "to_add_out", "ff_context")?,
            ],
        })
    }

    fn forward(
        &self,
        text: &Tensor,
        image: &Tensor,
        condition: &Tensor,
        rotary: &AxialRotaryEmbedding,
        ids: &Tensor,
    ) -> Result<(Tensor, Tensor)> {
        let of_image: [Tensor; 6] = modulation(&self.parts[0].0, condition)?;
        let of_text: [Tensor; 6] = modulation(&self.parts[1].0, condition)?;
        let projected = |stream: &Stream, xs: &Tensor, [shift, scale, ..]: &[Tensor; 6]| {
            stream.project(&modulated(xs, scale, shift)?)
        };
        let (first, second) = (
            projected(&self.text, text, &of_text)?,
            projected(&self.image, image, &of_image)?,
        );
        let both = |part: usize| Tensor::cat(&[&first[part], &second[part]], 2);
        let ys = attention([both(0)?, both(1)?, both(2)?], rotary, ids)?;
        let len = text.dim(1)?;
        let rest = |xs: &Tensor,
                    ys: &Tensor,
                    (_, out, [up, down]): &(Linear, Linear, [Linear; 2]),
                    of: &[Tensor; 6]| {
            let [_, _, gate, shift, scale, gate_mlp] = of;
            let xs = (xs + gate.broadcast_mul(&ys.apply(out)?)?)?;
            let ys = modulated(&xs, scale, shift)?
                .apply(up)?
                .gelu()?
                .apply(down)?;
            &xs + gate_mlp.broadcast_mul(&ys)?
        };
        let of_text = rest(text, &ys.narrow(1, 0, len)?, &self.parts[1], &of_text)?;
        let of_image = rest(
            image,
            &ys.narrow(1, len, ys.dim(1)? - len)?,
            &self.parts[0],
            &of_image,
        )?;
        Ok((of_text, of_image))
    }
}

/// A block with the same weights for all tokens, attention and feed-forward part next to each other.
#[derive(Debug, Clone)]
struct Single {
    stream: Stream,
    modulation: Linear,
    mlp: Linear,
    out: Linear,
}

impl Single {
    fn load(cfg: &Config, width: usize, vb: VarBuilder<'_>) -> Result<Self> {
        Ok(Self {
            stream: Stream::load(
                cfg,
                width,
                ["to_q", "to_k", "to_v"],
                ["norm_q", "norm_k"],
                vb.pp("attn"),
            )?,
            modulation: linear(width, 3 * width, vb.pp("norm.linear"))?,
            mlp: linear(width, 4 * width, vb.pp("proj_mlp"))?,
            out: linear(5 * width, width, vb.pp("proj_out"))?,
        })
    }

    fn forward(
        &self,
        xs: &Tensor,
        condition: &Tensor,
        rotary: &AxialRotaryEmbedding,
        ids: &Tensor,
    ) -> Result<Tensor> {
        let [shift, scale, gate] = modulation(&self.modulation, condition)?;
        let normed = modulated(xs, &scale, &shift)?;
        let attended = attention(self.stream.project(&normed)?, rotary, ids)?;
        let mlp = normed.apply(&self.mlp)?.gelu()?;
        xs + gate.broadcast_mul(&Tensor::cat(&[attended, mlp], 2)?.apply(&self.out)?)?
    }
}

/// Projects the condition to `N` factors and terms, each `[B, 1, D]`.
fn modulation<const N: usize>(linear: &Linear, condition: &Tensor) -> Result<[Tensor; N]> {
    let parts = linear
        .forward(condition)?
        .unsqueeze(1)?
        .chunk(N, D::Minus1)?;
    parts
        .try_into()
        .map_err(|_| candle_core::Error::msg("the modulation has other parts"))
}

/// Computes `norm(xs) (1 + scale) + shift`.
fn modulated(xs: &Tensor, scale: &Tensor, shift: &Tensor) -> Result<Tensor> {
    let ones = Tensor::ones(xs.dim(D::Minus1)?, xs.dtype(), xs.device())?;
    let xs = candle_nn::LayerNorm::new_no_bias(ones, 1e-6).forward(xs)?;
    xs.broadcast_mul(&(scale + 1.0)?)?.broadcast_add(shift)
}
