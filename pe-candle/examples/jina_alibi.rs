//! Attention of Jina-BERT v2 over its 8,192 positions, without the bias of 3 GiB that Candle's `jina_bert` builds when it loads.
//!
//! ```sh
//! cargo run --release -p pe-candle --example jina_alibi
//! ```
//!
//! The queries are processed in blocks of 256, so that the scores stay small as well. Each block has an offset of its own. The bias of all blocks is
//! one list of values by distance, which the layer keeps. The program prints its size, and the most memory that the process had.

use std::fs;

use candle_core::{DType, Device, Result, Tensor};
use pe_candle::{Alibi, AlibiConfig, ScoreMask, softmax_with_bias};

const HEADS: usize = 12;
const LEN: usize = 8192;
const HEAD_DIM: usize = 64;
const BLOCK: usize = 256;

fn main() -> Result<()> {
    let device = Device::Cpu;
    let alibi = Alibi::new(AlibiConfig::new(HEADS), DType::F32, &device)?; // once per model; clones share it
    let shape = (1, HEADS, LEN, HEAD_DIM);
    let [q, k, v] = [(); 3].map(|()| Tensor::randn(0f32, 1., shape, &device));
    let (q, k, v) = (q?, k?.t()?.contiguous()?, v?);
    let (scale, mask) = (1.0 / (HEAD_DIM as f64).sqrt(), ScoreMask::none());
    let mut blocks = Vec::new();
    for offset in (0..LEN).step_by(BLOCK) {
        let scores = q.narrow(2, offset, BLOCK)?.contiguous()?.matmul(&k)?;
        let bias = alibi.bias(BLOCK, LEN, offset)?;
        let weights = softmax_with_bias(&scores, Some(&bias), scale, &mask)?;
        blocks.push(weights.matmul(&v)?);
    }
    let out = Tensor::cat(&blocks, 2)?;
    let dense = HEADS * LEN * LEN * size_of::<f32>();
    let kept = HEADS * (2 * LEN - 1) * size_of::<f32>();
    println!("output {:?}", out.dims());
    println!(
        "bias as a tensor [1, {HEADS}, {LEN}, {LEN}]: {} MiB",
        dense >> 20
    );
    println!("bias by distance: {} KiB", kept >> 10);
    match peak() {
        Some(peak) => println!("most memory of this process: {} MiB", peak >> 10),
        None => println!("most memory of this process: not known on this system"),
    }
    Ok(())
}

/// The most memory that this process had, in KiB, where Linux reports it.
fn peak() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}
