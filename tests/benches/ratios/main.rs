//! Tables, layers and files against memory's limit, the plain composition and Candle's own way:
//! `cargo bench -p pe-tests`, with `RAYON_NUM_THREADS=1` for one thread and with `--features
//! mimalloc` for another allocator. Words after `--` pick the rows that contain one of them;
//! `--isa avx2` (or `portable`, `avx512`, `neon`) forces an instruction set; `--json FILE` keeps
//! the figures for the scripts in `benches/scripts`.

mod added;
mod additions;
mod biases;
mod dropout;
mod files;
mod harness;
mod limits;
mod report;
mod sizes;
mod tables;
mod tokens;

use candle_core::{DType, Device, Result, Tensor};
use pe_candle::{PositionalEncoding, PositionalEncodingConfig};

use report::Report;

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const CPU: &Device = &Device::Cpu;
const TYPES: [DType; 3] = [DType::F32, DType::BF16, DType::F16];

/// A batch as in training: 64 MiB of f32.
const LARGE: (usize, usize, usize) = (8, 2048, 1024);

fn main() -> Result<()> {
    let mut report = Report::from_arguments(std::env::args().skip(1))?;
    tables::run(&mut report)?;
    tokens::run(&mut report)?;
    additions::run(&mut report)?;
    added::run(&mut report)?;
    dropout::run(&mut report)?;
    biases::run(&mut report)?;
    files::run(&mut report)?;
    sizes::run(&mut report)?;
    report.finish()
}

/// A layer with a table of `rows` positions.
fn layer(width: usize, rows: usize, dropout: f32, dtype: DType) -> Result<PositionalEncoding> {
    let config = PositionalEncodingConfig {
        max_seq_len: rows,
        dropout,
        ..PositionalEncodingConfig::new(width)
    };
    PositionalEncoding::new(config, dtype, CPU)
}

/// An input of the layer.
fn activations(shape: (usize, usize, usize), dtype: DType) -> Result<Tensor> {
    Tensor::randn(0f32, 1., shape, CPU)?.to_dtype(dtype)
}
