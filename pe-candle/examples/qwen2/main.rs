//! A model of candle-transformers, before and after its rotary part is replaced.
//!
//!     cargo run --release -p pe-candle --example qwen2
//!
//! Qwen2 with small random weights (`model.rs`) runs with candle-transformers' own rotary part
//! (`original.rs`) and with [`pe_candle::RotaryEmbedding`]. In `f32` the logits are equal: bit for bit with
//! the model's own tables, closely with this crate's tables. In `bf16` the complete model, or its rotary
//! part alone, is compared with a run in `f64`. The original rounds positions to `bf16`, which represents
//! integers exactly only up to 256.

mod model;
mod original;
mod weights;

use candle_core::{DType, Device, Result, Tensor, bail};
use model::{Config, Model, Rotary};
use pe_candle::{RotaryEmbedding, RotaryEmbeddingConfig, RotaryRecipe};

const CPU: &Device = &Device::Cpu;
/// Tokens per call.
const CHUNK: usize = 256;

fn config() -> Config {
    Config {
        vocab_size: 256,
        hidden_size: 256,
        intermediate_size: 512,
        num_hidden_layers: 2,
        num_attention_heads: 4,
        num_key_value_heads: 2,
        max_position_embeddings: 8192,
        rope_theta: 1e6,
        rms_norm_eps: 1e-6,
    }
}

/// This component in place of the model's own struct.
fn rotary(cfg: &Config, recipe: RotaryRecipe, dtype: DType) -> Result<RotaryEmbedding> {
    let head_dim = cfg.hidden_size / cfg.num_attention_heads;
    let config = RotaryEmbeddingConfig {
        max_seq_len: Some(cfg.max_position_embeddings),
        ..RotaryEmbeddingConfig::with_base(head_dim, cfg.rope_theta)
    };
    RotaryEmbedding::new(config.with_recipe(recipe), dtype, CPU)
}

/// This component with given tables: cosines and sines of all positions.
#[derive(Debug, Clone)]
struct Given(RotaryEmbedding, original::RotaryEmbedding);

impl Rotary for Given {
    fn apply_rotary_emb_qkv(
        &self,
        q: &Tensor,
        k: &Tensor,
        seqlen_offset: usize,
    ) -> Result<(Tensor, Tensor)> {
        let Self(rotary, tables) = self;
        let cos = tables.cos.narrow(0, seqlen_offset, q.dim(2)?)?;
        let sin = tables.sin.narrow(0, seqlen_offset, q.dim(2)?)?;
        rotary.apply_qkv_with_cos_sin(q, k, &cos, &sin)
    }
}

impl Rotary for original::RotaryEmbedding {
    fn apply_rotary_emb_qkv(
        &self,
        q: &Tensor,
        k: &Tensor,
        seqlen_offset: usize,
    ) -> Result<(Tensor, Tensor)> {
        self.apply_rotary_emb_qkv(q, k, seqlen_offset)
    }
}

/// A rotary part that works in `bf16`, in a model that does not.
#[derive(Debug, Clone)]
struct Halved<R>(R);

impl<R: Rotary> Rotary for Halved<R> {
    fn apply_rotary_emb_qkv(
        &self,
        q: &Tensor,
        k: &Tensor,
        seqlen_offset: usize,
    ) -> Result<(Tensor, Tensor)> {
        let (dtype, half) = (q.dtype(), DType::BF16);
        let (q, k) = (q.to_dtype(half)?, k.to_dtype(half)?);
        let (q, k) = self.0.apply_rotary_emb_qkv(&q, &k, seqlen_offset)?;
        Ok((q.to_dtype(dtype)?, k.to_dtype(dtype)?))
    }
}

/// The logits after 256, 512 ... tokens, as `f64`.
fn run(cfg: &Config, rotary: impl Rotary, tokens: &Tensor, dtype: DType) -> Result<Vec<Vec<f64>>> {
    let mut model = Model::new(cfg, &rotary, weights::weights(cfg, dtype)?)?;
    let mut logits = Vec::new();
    for offset in (0..tokens.dim(1)?).step_by(CHUNK) {
        let all = model.forward(&tokens.narrow(1, offset, CHUNK)?, offset)?;
        let last = all.narrow(1, all.dim(1)? - 1, 1)?.flatten_all()?;
        logits.push(last.to_dtype(DType::F64)?.to_vec1()?);
    }
    Ok(logits)
}

/// Returns the largest difference, and the root mean square of the differences relative to that of the
/// logits.
fn differences(found: &[f64], wanted: &[f64]) -> (f64, f64) {
    let pairs = found.iter().zip(wanted);
    let gaps = pairs.map(|(found, wanted)| (found - wanted).abs());
    let squares = |xs: &mut dyn Iterator<Item = f64>| xs.map(|x| x * x).sum::<f64>();
    let largest = gaps.clone().fold(0.0, f64::max);
    let mean = squares(&mut gaps.clone()) / squares(&mut wanted.iter().copied());
    (largest, mean.sqrt())
}

fn main() -> Result<()> {
    let cfg = config();
    let tokens = weights::tokens(&cfg, 4096)?;
    let exact = |dtype| rotary(&cfg, RotaryRecipe::Exact, dtype);
    let theirs = |dtype| original::RotaryEmbedding::new(dtype, &cfg, CPU);
    let reference = run(&cfg, exact(DType::F64)?, &tokens, DType::F64)?;

    println!("f32, logits of 256 to 4096 tokens    largest difference from the original's");
    let of = DType::F32;
    let original = run(&cfg, theirs(of)?, &tokens, of)?;
    let given = Given(exact(of)?, theirs(of)?);
    let recipe = rotary(&cfg, RotaryRecipe::HfF32, of)?;
    for (name, logits, bound) in [
        (
            "the original's own tables",
            run(&cfg, given, &tokens, of)?,
            0.0,
        ),
        (
            "tables by the recipe hf-f32",
            run(&cfg, recipe, &tokens, of)?,
            2e-3,
        ),
        ("exact tables", run(&cfg, exact(of)?, &tokens, of)?, 2e-2),
    ] {
        let pairs = logits.iter().zip(&original);
        let largest = pairs.map(|(found, original)| differences(found, original).0);
        let largest = largest.fold(0.0, f64::max);
        println!("  {name:34} {largest:.2e}");
        if largest > bound {
            bail!("{name}: logits differ by {largest:e}");
        }
    }

    println!("\nerror of the logits against f64 (root mean square, relative)");
    println!("              all in bf16        rotary part alone");
    println!("  tokens    before     after    before     after");
    let half = DType::BF16;
    let columns = [
        run(&cfg, theirs(half)?, &tokens, half)?,
        run(&cfg, exact(half)?, &tokens, half)?,
        run(&cfg, Halved(theirs(half)?), &tokens, DType::F32)?,
        run(&cfg, Halved(exact(half)?), &tokens, DType::F32)?,
    ];
    for (index, wanted) in reference.iter().enumerate() {
        let count = index + 1;
        if !count.is_power_of_two() {
            continue;
        }
        print!("  {:6}", count * CHUNK);
        for logits in &columns {
            print!(" {:9.4}", differences(&logits[index], wanted).1);
        }
        println!();
    }
    Ok(())
}
