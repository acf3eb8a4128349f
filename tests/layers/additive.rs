//! The additive layer, against a scalar oracle and the promises of its documentation.

mod errors;
mod gradients;
mod growth;
mod output;
mod positions;
mod table;

use std::collections::HashSet;
use std::sync::Barrier;

use candle_core::{D, DType, Device, ModuleT, Result, Tensor, Var};
use candle_nn::{Module, Optimizer, VarBuilder, VarMap};
use half::{bf16, f16};
use pe_candle::{
    AxisOrder, EmbeddingScale, Growth, PositionalEncoding, PositionalEncodingConfig,
    position_ids_for_packed, position_ids_from_attention_mask, position_ids_from_token_ids,
    sinusoidal_tensor, table_to_tensor,
};
use pe_core::{Preset, SinusoidLayout, Sinusoidal, SinusoidalConfig};

use pe_tests::layers::activations as shape_of;

use crate::util::{ORDERS, TYPES, error_of, f64s, keeps, numbers, round_to, views};

const CPU: &Device = &Device::Cpu;

fn config(d_model: usize) -> PositionalEncodingConfig {
    PositionalEncodingConfig {
        max_seq_len: 64,
        dropout: 0.0,
        ..PositionalEncodingConfig::new(d_model)
    }
}

fn layer(config: PositionalEncodingConfig) -> PositionalEncoding {
    PositionalEncoding::new(config, DType::F32, CPU).unwrap()
}

/// The batch and time of a row in row-major order.
fn batch_and_time(order: AxisOrder, batch: usize, time: usize, row: usize) -> (usize, usize) {
    match order {
        AxisOrder::BatchFirst => (row / time, row % time),
        AxisOrder::SequenceFirst => (row % batch, row / batch),
        AxisOrder::Unbatched => (0, row),
    }
}

/// One element, as the documentation defines it: in f32 (f64 for f64 inputs), rounded once.
fn element(dtype: DType, x: f64, scale: Option<f64>, pe: f64, dropout: Option<(bool, f64)>) -> f64 {
    if dtype == DType::F64 {
        let sum = scale.map_or(x, |s| x * s) + pe;
        return match dropout {
            None => sum,
            Some((keep, factor)) => {
                if keep {
                    sum * factor
                } else {
                    0.0
                }
            }
        };
    }
    let sum = scale.map_or(x as f32, |s| x as f32 * s as f32) + pe as f32;
    let y = match dropout {
        None => sum,
        Some((keep, factor)) => {
            if keep {
                sum * factor as f32
            } else {
                0.0
            }
        }
    };
    round_to(dtype, y)
}

/// Table entries of a type, widened.
fn encodings(config: SinusoidalConfig, dtype: DType, positions: &[u32]) -> Vec<f64> {
    fn wide<T: pe_core::Element>(encoding: &Sinusoidal, positions: &[u32]) -> Vec<f64> {
        let table = encoding.table_at::<T>(positions).unwrap();
        table
            .as_slice()
            .iter()
            .map(|entry| entry.to_f64())
            .collect()
    }
    let encoding = Sinusoidal::new(config).unwrap();
    match dtype {
        DType::F32 => wide::<f32>(&encoding, positions),
        DType::F64 => wide::<f64>(&encoding, positions),
        DType::F16 => wide::<f16>(&encoding, positions),
        DType::BF16 => wide::<bf16>(&encoding, positions),
        other => panic!("{other:?}"),
    }
}

/// The whole layer, element by element. `positions[b][t]`; `dropout` is probability, seed and step.
fn oracle(
    config: &PositionalEncodingConfig,
    table: DType,
    xs: &Tensor,
    positions: &[Vec<u32>],
    dropout: Option<(f32, u64, u64)>,
) -> Vec<f64> {
    let (order, width) = (config.axis_order, config.sinusoidal.d_model);
    let (batch, time) = (positions.len(), positions[0].len());
    let scale = match config.scale {
        EmbeddingScale::None => None,
        EmbeddingScale::SqrtDModel => Some((width as f64).sqrt()),
        EmbeddingScale::Factor(factor) => Some(factor),
        other => panic!("{other:?}"),
    };
    let xs_dtype = xs.dtype();
    let rows: Vec<u32> = (0..batch * time)
        .map(|row| batch_and_time(order, batch, time, row))
        .map(|(b, t)| positions[b][t])
        .collect();
    let pe = encodings(config.sinusoidal, table, &rows);
    f64s(xs)
        .iter()
        .zip(pe)
        .enumerate()
        .map(|(index, (x, pe))| {
            let dropout = dropout.map(|(p, seed, step)| {
                (
                    keeps(p, seed, step, index as u64),
                    1.0 / (1.0 - f64::from(p)),
                )
            });
            element(xs_dtype, *x, scale, pe, dropout)
        })
        .collect()
}
