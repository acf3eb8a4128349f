//! The figures of MIGRATING.md: `cargo run --release --manifest-path tests/models/Cargo.toml --bin figures -- bf16 | speed | memory`.

use std::fmt::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use candle_core::{D, DType, Device, Module, Result, Tensor, bail};
use candle_nn::{Linear, RmsNorm, ops};
use pe_candle::{
    Alibi, AlibiConfig, RotaryEmbedding, RotaryEmbeddingConfig, ScoreMask, softmax_with_bias,
};
use pe_models::blocks::{attend, split_heads};
use pe_models::tiny;

const CPU: &Device = &Device::Cpu;

fn main() -> Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("bf16") => bf16(),
        Some("speed") => speed(),
        Some("memory") => memory(),
        _ => bail!("one of: bf16, speed, memory"),
    }
}

/// Errors of logits by position, as a table and as `bf16.svg`.
fn bf16() -> Result<()> {
    let offsets = [
        3_000, 5_000, 8_000, 13_000, 20_000, 30_000, 50_000, 70_000, 100_000,
    ];
    let mut curves = [Vec::new(), Vec::new()];
    println!("| position | pe-candle | positions in bf16 |\n|---|---|---|");
    for offset in offsets {
        let found = [
            tiny::bf16_error(offset, false)?,
            tiny::bf16_error(offset, true)?,
        ];
        println!(
            "| {offset} | {:.1}% | {:.0}% |",
            100.0 * found[0],
            100.0 * found[1]
        );
        for (curve, error) in curves.iter_mut().zip(found) {
            curve.push((offset as f64, error));
        }
    }
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("bf16.svg");
    Ok(std::fs::write(path, drawing(&curves))?)
}

/// Draws both curves, with logarithmic axes.
#[allow(clippy::disallowed_methods)]
fn drawing(curves: &[Vec<(f64, f64)>; 2]) -> String {
    let x = |position: f64| 60.0 + (position / 3e3).log10() / (100f64 / 3.0).log10() * 480.0;
    let y = |error: f64| 30.0 + (1.0 / error).log10() / 3.0 * 210.0;
    let mut out = String::from(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 290" font-family="sans-serif" font-size="12" fill="#444">
<rect width="640" height="290" fill="#fff"/>
<text x="60" y="18" font-size="13">Relative error of logits in bf16 against f64</text>
"##,
    );
    for (label, error) in [("100%", 1.0), ("10%", 0.1), ("1%", 0.01), ("0.1%", 0.001)] {
        let at = y(error);
        let _ = writeln!(
            out,
            r##"<path d="M60 {at:.1}H540" stroke="#ddd"/><text x="52" y="{:.1}" text-anchor="end">{label}</text>"##,
            at + 4.0
        );
    }
    for position in [3_000, 10_000, 30_000, 100_000] {
        let _ = writeln!(
            out,
            r#"<text x="{:.1}" y="260" text-anchor="middle">{position}</text>"#,
            x(f64::from(position))
        );
    }
    let _ = writeln!(
        out,
        r#"<text x="300" y="280" text-anchor="middle">position of the first token</text>"#
    );
    for (curve, (name, color)) in curves
        .iter()
        .zip([("pe-candle", "#1b6ca8"), ("bf16 positions", "#c0392b")])
    {
        let points: Vec<_> = curve
            .iter()
            .map(|(at, error)| format!("{:.1},{:.1}", x(*at), y(*error)))
            .collect();
        let last = curve.last().map_or(1.0, |(_, error)| *error);
        let _ = writeln!(
            out,
            r#"<polyline points="{}" fill="none" stroke="{color}" stroke-width="2"/><text x="546" y="{:.1}" fill="{color}">{name}</text>"#,
            points.join(" "),
            y(last) + 4.0
        );
    }
    out + "</svg>\n"
}

/// Sizes of a block of Llama 3.2 1B.
const WIDTH: usize = 2048;
const HEADS: usize = 32;
const KV_HEADS: usize = 8;
const HEAD_DIM: usize = 64;
const INNER: usize = 8192;

/// A block, with the positional part of pe-candle or with the lines of candle-transformers' `llama.rs`.
struct Block {
    qkvo: [Linear; 4],
    mlp: [Linear; 3],
    norm: RmsNorm,
    rotary: RotaryEmbedding,
    cos: Tensor,
    sin: Tensor,
}

impl Block {
    fn new(dtype: DType) -> Result<Self> {
        let linear = |outputs: usize, inputs: usize| {
            let weight = Tensor::randn(0f32, 0.02, (outputs, inputs), CPU)?.to_dtype(dtype)?;
            Ok::<_, candle_core::Error>(Linear::new(weight, None))
        };
        let config = RotaryEmbeddingConfig::with_base(HEAD_DIM, 500_000.0);
        let rotary = RotaryEmbedding::new(config, dtype, CPU)?;
        let (cos, sin) = rotary.cos_sin(0, 1024)?;
        Ok(Self {
            qkvo: [
                linear(WIDTH, WIDTH)?,
                linear(KV_HEADS * HEAD_DIM, WIDTH)?,
                linear(KV_HEADS * HEAD_DIM, WIDTH)?,
                linear(WIDTH, WIDTH)?,
            ],
            mlp: [
                linear(INNER, WIDTH)?,
                linear(INNER, WIDTH)?,
                linear(WIDTH, INNER)?,
            ],
            norm: RmsNorm::new(Tensor::ones(WIDTH, dtype, CPU)?, 1e-5),
            rotary,
            cos: cos.to_dtype(dtype)?,
            sin: sin.to_dtype(dtype)?,
        })
    }

    /// The block, after the cached keys and values.
    fn forward(&self, xs: &Tensor, cache: Option<&(Tensor, Tensor)>, ours: bool) -> Result<Tensor> {
        let ys = self.attention(&self.norm.forward(xs)?, cache, ours)?;
        let xs = (xs + ys)?;
        let ys = self.norm.forward(&xs)?;
        let ys = (self.mlp[0].forward(&ys)?.silu()? * self.mlp[1].forward(&ys)?)?;
        xs + self.mlp[2].forward(&ys)?
    }

    fn attention(
        &self,
        xs: &Tensor,
        cache: Option<&(Tensor, Tensor)>,
        ours: bool,
    ) -> Result<Tensor> {
        let head = |part: usize, count| split_heads(&self.qkvo[part].forward(xs)?, count);
        let (q, k, v) = (head(0, HEADS)?, head(1, KV_HEADS)?, head(2, KV_HEADS)?);
        self.attend(&q, &k, &v, cache, ours)?.apply(&self.qkvo[3])
    }

    /// Rotation, cache, scores, and softmax: all between the projections.
    fn attend(
        &self,
        q: &Tensor,
        k: &Tensor,
        v: &Tensor,
        cache: Option<&(Tensor, Tensor)>,
        ours: bool,
    ) -> Result<Tensor> {
        let offset = cache.map_or(Ok(0), |(k, _)| k.dim(2))?;
        let joined = |earlier: Option<&Tensor>, new: Tensor| match earlier {
            None => Ok(new),
            Some(earlier) => Tensor::cat(&[earlier, &new], 2),
        };
        if ours {
            let (q, k) = self.rotary.apply_qkv(q, k, offset)?;
            let k = joined(cache.map(|(k, _)| k), k)?;
            let v = joined(cache.map(|(_, v)| v), v.clone())?;
            let scale = (HEAD_DIM as f64).sqrt().recip();
            return attend((&q, &k, &v), scale, None, &ScoreMask::causal(offset));
        }
        let len = q.dim(2)?;
        let (cos, sin) = (
            self.cos.narrow(0, offset, len)?,
            self.sin.narrow(0, offset, len)?,
        );
        let rope = |xs: &Tensor| candle_nn::rotary_emb::rope(&xs.contiguous()?, &cos, &sin);
        let (q, k) = (rope(q)?, rope(k)?);
        let k = joined(cache.map(|(k, _)| k), k)?.contiguous()?;
        let v = joined(cache.map(|(_, v)| v), v.contiguous()?)?.contiguous()?;
        let repeated = |xs: Tensor| {
            let (batch, heads, time, width) = xs.dims4()?;
            Tensor::cat(&vec![&xs; HEADS / KV_HEADS], 2)?.reshape((
                batch,
                heads * HEADS / KV_HEADS,
                time,
                width,
            ))
        };
        let (k, v) = (
            repeated(k)?.to_dtype(DType::F32)?,
            repeated(v)?.to_dtype(DType::F32)?,
        );
        let scores = (q.to_dtype(DType::F32)?.matmul(&k.t()?)? / (HEAD_DIM as f64).sqrt())?;
        let scores = if len == 1 {
            scores
        } else {
            let mask: Vec<_> = (0..len)
                .flat_map(|i| (0..len).map(move |j| u8::from(j > i)))
                .collect();
            let mask = Tensor::from_slice(&mask, (len, len), CPU)?.broadcast_as(scores.shape())?;
            let least = Tensor::new(f32::NEG_INFINITY, CPU)?.broadcast_as(mask.dims())?;
            mask.where_cond(&least, &scores)?
        };
        let ys = ops::softmax(&scores, D::Minus1)?.matmul(&v.contiguous()?)?;
        ys.to_dtype(q.dtype())?.transpose(1, 2)?.flatten_from(2)
    }
}

/// Times of a block, Candle's and ours in turns: medians.
fn speed() -> Result<()> {
    println!("| work | type | here | Candle | |\n|---|---|---|---|---|");
    for dtype in [DType::F32, DType::BF16] {
        let block = Block::new(dtype)?;
        let random = |heads: usize, time: usize| {
            let xs = Tensor::randn(0f32, 1.0, (1, time, heads * HEAD_DIM), CPU)?.to_dtype(dtype)?;
            split_heads(&xs, heads)
        };
        let cache = (
            random(KV_HEADS, 512)?.contiguous()?,
            random(KV_HEADS, 512)?.contiguous()?,
        );
        let rounds = if dtype == DType::F32 { 9 } else { 5 };
        for (name, time, cache) in [
            ("prompt of 512", 512, None),
            ("step after 512", 1, Some(&cache)),
        ] {
            let xs = Tensor::randn(0f32, 1.0, (1, time, WIDTH), CPU)?.to_dtype(dtype)?;
            let (q, k, v) = (
                random(HEADS, time)?,
                random(KV_HEADS, time)?,
                random(KV_HEADS, time)?,
            );
            let apart = (block.forward(&xs, cache, true)? - block.forward(&xs, cache, false)?)?;
            let apart = apart
                .to_dtype(DType::F32)?
                .abs()?
                .max_all()?
                .to_scalar::<f32>()?;
            let rounds = if time == 1 { 5 * rounds } else { rounds };
            let [ours, candle] =
                in_turns(rounds, |ours| block.forward(&xs, cache, ours).map(drop))?;
            row(&format!("block, {name}"), dtype, ours, candle);
            let [ours, candle] = in_turns(rounds, |ours| {
                block.attend(&q, &k, &v, cache, ours).map(drop)
            })?;
            row(&format!("rotation to softmax, {name}"), dtype, ours, candle);
            eprintln!("{name} {dtype:?}: outputs differ by {apart:.1e}");
        }
    }
    Ok(())
}

fn row(name: &str, dtype: DType, ours: Duration, candle: Duration) {
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let (dtype, ratio) = (dtype.as_str(), ms(candle) / ms(ours));
    println!(
        "| {name} | {dtype} | {:.1} ms | {:.1} ms | {ratio:.2} |",
        ms(ours),
        ms(candle)
    );
}

fn in_turns(rounds: usize, run: impl Fn(bool) -> Result<()>) -> Result<[Duration; 2]> {
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..=rounds {
        for (times, ours) in times.iter_mut().zip([true, false]) {
            let start = Instant::now();
            run(ours)?;
            times.push(start.elapsed());
        }
    }
    Ok(times.map(|mut times| {
        times.remove(0); // warms up
        times.sort_unstable();
        times[times.len() / 2]
    }))
}

/// Peaks of memory: the tables of the 26 layers of `quantized_gemma3.rs` after a prompt of 2048, and the bias of `jina_bert.rs` with a step.
fn memory() -> Result<()> {
    println!("| tables | here | Candle |\n|---|---|---|");
    // Each sixth layer of Gemma 3 sees all keys, with a base of its own.
    let bases = [1e4, 1e4, 1e4, 1e4, 1e4, 1e6];
    let rotary = [1e4, 1e6].map(|base| RotaryEmbeddingConfig::with_base(256, base));
    let rotary = rotary.map(|config| RotaryEmbedding::new(config, DType::F32, CPU));
    let [local, global] = rotary;
    let (local, global) = (local?, global?);
    let ours = peak(|| {
        (0..26)
            .map(|layer| {
                let layer = if bases[layer % 6] == 1e4 {
                    &local
                } else {
                    &global
                };
                layer.cos_sin(0, 2048)?; // what `apply` reads
                Ok(layer.clone())
            })
            .collect::<Result<Vec<_>>>()
    })?;
    let candle = peak(|| {
        let mut tables = Vec::new();
        for layer in 0..26 {
            let base: f32 = bases[layer % 6] as f32;
            let inv_freq: Vec<_> = (0..128)
                .map(|i| 1.0 / base.powf(i as f32 / 128.0))
                .collect();
            let inv_freq = Tensor::from_vec(inv_freq, (1, 128), CPU)?;
            let t = Tensor::arange(0, 131_072u32, CPU)?
                .to_dtype(DType::F32)?
                .reshape((131_072, 1))?;
            let angles = t.matmul(&inv_freq)?;
            tables.extend([angles.cos()?, angles.sin()?]);
        }
        Ok(tables)
    })?;
    println!(
        "| `quantized_gemma3.rs` (1B): 26 layers, after a prompt of 2048 | {ours:.1} MiB | {candle:.0} MiB |"
    );
    let (heads, len) = (12, 8192);
    let ours = peak(|| {
        let alibi = Alibi::new(AlibiConfig::new(heads), DType::F32, CPU)?;
        let scores = Tensor::zeros((1, heads, 1, len), DType::F32, CPU)?;
        let step = alibi.bias(1, len, len - 1)?;
        softmax_with_bias(&scores, Some(&step), 1.0, &ScoreMask::none())
    })?;
    let candle = peak(|| {
        let positions = Tensor::arange(0, len as i64, CPU)?.to_dtype(DType::F32)?;
        let distance = positions
            .reshape((1, len))?
            .broadcast_sub(&positions.reshape((len, 1))?)?
            .abs()?;
        let slopes = Tensor::ones((1, heads, 1, 1), DType::F32, CPU)?;
        distance.broadcast_left(heads)?.broadcast_mul(&slopes)
    })?;
    println!("| `jina_bert.rs`: 8192 positions, one step | {ours:.1} MiB | {candle:.0} MiB |");
    Ok(())
}

/// How far the resident memory rises, in MiB, while `make` works and its result is held.
fn peak<T>(make: impl FnOnce() -> Result<T>) -> Result<f64> {
    std::fs::write("/proc/self/clear_refs", "5")?; // starts the peak anew
    let before = status("VmRSS:")?;
    let kept = make()?;
    let grown = status("VmHWM:")?.saturating_sub(before) as f64 / 1024.0;
    drop(kept);
    Ok(grown)
}

/// A field of this process' status, in KiB.
fn status(name: &str) -> Result<usize> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with(name));
    let found = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    found.ok_or_else(|| candle_core::Error::msg(format!("no {name} in /proc/self/status")))
}
