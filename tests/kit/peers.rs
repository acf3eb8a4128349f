//! What users of Candle write today, for the benchmarks to be held against.

use candle_core::{D, DType, Device, Error, Result, Tensor};
use pe_core::Sinusoidal;

/// The table as candle-transformers' models build theirs: f32 throughout. The frequencies are
/// few and come from here; all that counts is the table.
pub fn candle_table(rows: usize, width: usize) -> Result<Tensor> {
    let device = &Device::Cpu;
    let inv_freq: Vec<f32> = Sinusoidal::paper(width)
        .map_err(Error::wrap)?
        .inv_freq()
        .into_iter()
        .map(|f| f as f32)
        .collect();
    let inv_freq = Tensor::new(inv_freq, device)?.unsqueeze(0)?;
    let positions = Tensor::arange(0u32, rows as u32, device)?
        .to_dtype(DType::F32)?
        .unsqueeze(1)?;
    let angles = positions.matmul(&inv_freq)?;
    let pairs = Tensor::stack(&[angles.sin()?, angles.cos()?], D::Minus1)?;
    pairs.reshape((rows, width))
}
