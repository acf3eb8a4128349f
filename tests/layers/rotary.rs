//! The rotary layer: against Candle's kernels, against a definition element by element, and
//! against the composition of Candle's operations.

mod adoption;
mod axial;
mod chatglm;
mod definition;
mod direction;
mod errors;
mod gradients;
mod inplace;
mod learned;
mod lengths;
mod model;
mod packed;
mod parity;
mod positions;
mod training;

use candle_core::{DType, Device, Result, Tensor};
use half::{bf16, f16};
use pe_candle::testing::{Grown, Planned, Route};
use pe_candle::{HeadOrder, PairLayout, RotaryEmbedding, RotaryEmbeddingConfig};
use pe_core::{Rotary, RotaryConfig};

use pe_tests::layers::{
    assert_fused, bits, cases, head_views as views, heads as shape_of, on_each_set,
};

use crate::util::{TYPES, error_of, f64s, numbers};

const CPU: &Device = &Device::Cpu;
const LAYOUTS: [PairLayout; 2] = [PairLayout::HalfSplit, PairLayout::Interleaved];
const ORDERS: [HeadOrder; 3] = [
    HeadOrder::HeadFirst,
    HeadOrder::TimeFirst,
    HeadOrder::SequenceFirst,
];

/// Heads with `rotary_dim` rotated columns, in tables of 64 rows.
fn config(rotary_dim: usize, head_dim: usize) -> RotaryEmbeddingConfig {
    RotaryEmbeddingConfig {
        max_seq_len: Some(64),
        ..RotaryEmbeddingConfig::of(RotaryConfig::new(rotary_dim), head_dim)
    }
}

fn layer(config: RotaryEmbeddingConfig, dtype: DType) -> RotaryEmbedding {
    RotaryEmbedding::new(config, dtype, CPU).unwrap()
}

/// The axis of time.
fn time_axis(order: HeadOrder) -> usize {
    match order {
        HeadOrder::HeadFirst => 2,
        HeadOrder::TimeFirst => 1,
        HeadOrder::SequenceFirst => 0,
    }
}

/// The axis of the batch.
fn batch_axis(order: HeadOrder) -> usize {
    match order {
        HeadOrder::HeadFirst | HeadOrder::TimeFirst => 0,
        HeadOrder::SequenceFirst => 1,
    }
}
