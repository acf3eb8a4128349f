//! A small language model with the rotary embedding of pe-candle or with that of Candle's models, for the comparison of both.

use candle_core::{D, DType, Device, Module, Result, Tensor};
use candle_nn::{Linear, RmsNorm};
use pe_candle::{RotaryEmbedding, RotaryEmbeddingConfig, ScoreMask};

use crate::blocks::{attend, split_heads};

/// Base of the frequencies.
const BASE: f64 = 10_000.0;

/// A rotary embedding.
#[derive(Debug, Clone)]
pub enum Rope {
    /// That of pe-candle.
    Ours(RotaryEmbedding),
    /// `candle_nn::rotary_emb::rope` with tables.
    Candle { cos: Tensor, sin: Tensor },
}

impl Rope {
    pub fn ours(head_dim: usize, dtype: DType) -> Result<Self> {
        let config = RotaryEmbeddingConfig {
            max_seq_len: Some(1 << 20),
            ..RotaryEmbeddingConfig::with_base(head_dim, BASE)
        };
        Ok(Self::Ours(RotaryEmbedding::new(
            config,
            dtype,
            &Device::Cpu,
        )?))
    }

    /// The lines of candle-transformers' `qwen2.rs`, `qwen3.rs`, `mistral.rs`, and 24 others: frequencies and positions in the model's
    /// type.
    #[allow(clippy::disallowed_methods)]
    pub fn candle(head_dim: usize, max_seq_len: usize, dtype: DType) -> Result<Self> {
        let inv_freq: Vec<_> = (0..head_dim)
            .step_by(2)
            .map(|i| 1f32 / BASE.powf(i as f64 / head_dim as f64) as f32)
            .collect();
        let len = inv_freq.len();
        let inv_freq = Tensor::from_vec(inv_freq, (1, len), &Device::Cpu)?.to_dtype(dtype)?;
        let t = Tensor::arange(0u32, max_seq_len as u32, &Device::Cpu)?
            .to_dtype(dtype)?
            .reshape((max_seq_len, 1))?;
        let freqs = t.matmul(&inv_freq)?;
        Ok(Self::Candle {
            cos: freqs.cos()?,
            sin: freqs.sin()?,
        })
    }

    /// Rotates queries and keys, `[B, H, T, head_dim]`.
    pub fn rotate(&self, q: &Tensor, k: &Tensor, offset: usize) -> Result<(Tensor, Tensor)> {
        match self {
            Self::Ours(rotary) => rotary.apply_qkv(q, k, offset),
            Self::Candle { cos, sin } => {
                let len = q.dim(2)?;
                let (cos, sin) = (cos.narrow(0, offset, len)?, sin.narrow(0, offset, len)?);
                let rope = |xs: &Tensor| candle_nn::rotary_emb::rope(&xs.contiguous()?, &cos, &sin);
                Ok((rope(q)?, rope(k)?))
            }
        }
    }
}

/// Sizes of a model.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    pub vocab: usize,
    pub width: usize,
    pub num_heads: usize,
    pub layers: usize,
}

/// A weight of a shape, drawn with a standard deviation.
pub type Weights<'a> = dyn FnMut(&[usize], f64) -> Result<Tensor> + 'a;

/// A language model.
#[derive(Debug, Clone)]
pub struct Lm {
    embedding: Tensor,
    layers: Vec<Layer>,
    norm: RmsNorm,
    head: Linear,
    num_heads: usize,
    pub rope: Rope,
}

#[derive(Debug, Clone)]
struct Layer {
    norms: [RmsNorm; 2],
    qkvo: [Linear; 4],
    mlp: [Linear; 2],
}

impl Lm {
    pub fn new(sizes: Sizes, rope: Rope, weights: &mut Weights<'_>) -> Result<Self> {
        let width = sizes.width;
        let mut linear = |outputs: usize, inputs: usize| {
            let weight = weights(&[outputs, inputs], (inputs as f64).sqrt().recip())?;
            Ok::<_, candle_core::Error>(Linear::new(weight, None))
        };
        let embedding = linear(sizes.vocab, width)?.weight().clone();
        let ones = Tensor::ones(width, embedding.dtype(), &Device::Cpu)?;
        let norm = || RmsNorm::new(ones.clone(), 1e-6);
        let layers = (0..sizes.layers).map(|_| {
            Ok(Layer {
                norms: [norm(), norm()],
                qkvo: [
                    linear(width, width)?,
                    linear(width, width)?,
                    linear(width, width)?,
                    linear(width, width)?,
                ],
                mlp: [linear(2 * width, width)?, linear(width, 2 * width)?],
            })
        });
        Ok(Self {
            layers: layers.collect::<Result<_>>()?,
            norm: norm(),
            head: linear(sizes.vocab, width)?,
            embedding,
            num_heads: sizes.num_heads,
            rope,
        })
    }

    /// Returns the logits of tokens `[B, T]` at positions from `offset`.
    pub fn forward(&self, tokens: &Tensor, offset: usize) -> Result<Tensor> {
        let mut xs = candle_nn::Embedding::new(self.embedding.clone(), self.embedding.dim(1)?)
            .forward(tokens)?;
        for Layer { norms, qkvo, mlp } in &self.layers {
            let ys = norms[0].forward_diff(&xs)?;
            let head = |part: usize| split_heads(&qkvo[part].forward(&ys)?, self.num_heads);
            let (q, k) = self.rope.rotate(&head(0)?, &head(1)?, offset)?;
            // Twice the usual scale: attention of drawn weights depends on positions.
            let scale = 2.0 / (q.dim(D::Minus1)? as f64).sqrt();
            let ys = attend((&q, &k, &head(2)?), scale, None, &ScoreMask::causal(0))?;
            xs = (xs + ys.apply(&qkvo[3])?)?;
            let ys = norms[1].forward_diff(&xs)?.apply(&mlp[0])?.silu()?;
            xs = (xs + ys.apply(&mlp[1])?)?;
        }
        self.norm.forward_diff(&xs)?.apply(&self.head)
    }
}

/// Draws numbers with a mean of 0 from a counter, the same everywhere.
pub fn draw(shape: &[usize], std: f64, seed: &mut u64) -> Result<Tensor> {
    let mut next = || {
        *seed = seed.wrapping_add(1);
        let [bits, ..] =
            pe_candle::philox4x32_10([*seed as u32, (*seed >> 32) as u32, 0, 0], [7, 11]);
        f64::from(bits) / f64::from(u32::MAX) - 0.5
    };
    let len = shape.iter().product();
    // A sum of 4 uniform numbers has the variance 4 / 12.
    let values: Vec<f64> = (0..len)
        .map(|_| (next() + next() + next() + next()) * 3f64.sqrt() * std)
        .collect();
    Tensor::from_vec(values, shape, &Device::Cpu)
}

/// Returns the relative root mean square error of logits in bf16 against f64, at positions from `offset`.
pub fn bf16_error(offset: usize, candle: bool) -> Result<f64> {
    let sizes = Sizes {
        vocab: 128,
        width: 256,
        num_heads: 4,
        layers: 2,
    };
    let head_dim = sizes.width / sizes.num_heads;
    let time = 64;
    let tokens = (0..time as u32).map(|at| at * 37 % 128).collect::<Vec<_>>();
    let tokens = Tensor::from_vec(tokens, (1, time), &Device::Cpu)?;
    let logits = |rope: Rope, dtype| {
        let mut seed = 1;
        // Both models have the weights that bf16 represents.
        let mut weights = |shape: &[usize], std| {
            draw(shape, std, &mut seed)?
                .to_dtype(DType::BF16)?
                .to_dtype(dtype)
        };
        Lm::new(sizes, rope, &mut weights)?
            .forward(&tokens, offset)?
            .to_dtype(DType::F64)
    };
    let wanted = logits(Rope::ours(head_dim, DType::F64)?, DType::F64)?;
    let rope = match candle {
        true => Rope::candle(head_dim, offset + time, DType::BF16)?,
        false => Rope::ours(head_dim, DType::BF16)?,
    };
    let norm = |xs: &Tensor| xs.sqr()?.sum_all()?.to_scalar::<f64>();
    Ok((norm(&(logits(rope, DType::BF16)? - &wanted)?)? / norm(&wanted)?).sqrt())
}
