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
mod lengths;
mod model;
mod packed;
mod parity;
mod positions;
mod training;

use candle_core::{DType, Device, Result, Tensor};
use half::{bf16, f16};
use pe_candle::testing::{Grown, InstructionSet, Planned, Route};
use pe_candle::{HeadOrder, PairLayout, RotaryEmbedding, RotaryEmbeddingConfig};
use pe_core::{Rotary, RotaryConfig};

use crate::util::{TYPES, error_of, f64s, numbers};

const CPU: &Device = &Device::Cpu;
const LAYOUTS: [PairLayout; 2] = [PairLayout::HalfSplit, PairLayout::Interleaved];
const ORDERS: [HeadOrder; 3] = [
    HeadOrder::HeadFirst,
    HeadOrder::TimeFirst,
    HeadOrder::SequenceFirst,
];

/// Heads of a width of which `rotary_dim` columns are rotated, in tables of 64 rows.
fn config(rotary_dim: usize, head_dim: usize) -> RotaryEmbeddingConfig {
    RotaryEmbeddingConfig {
        max_seq_len: Some(64),
        ..RotaryEmbeddingConfig::of(RotaryConfig::new(rotary_dim), head_dim)
    }
}

fn layer(config: RotaryEmbeddingConfig, dtype: DType) -> RotaryEmbedding {
    RotaryEmbedding::new(config, dtype, CPU).unwrap()
}

/// The shape of heads in an order of axes.
fn shape_of(order: HeadOrder, batch: usize, heads: usize, time: usize, width: usize) -> [usize; 4] {
    match order {
        HeadOrder::HeadFirst => [batch, heads, time, width],
        HeadOrder::TimeFirst => [batch, time, heads, width],
        HeadOrder::SequenceFirst => [time, batch, heads, width],
    }
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

/// Bits of all elements; every NaN alike.
fn bits(tensor: &Tensor) -> Vec<u64> {
    let bits = |x: f64| if x.is_nan() { u64::MAX } else { x.to_bits() };
    f64s(tensor).into_iter().map(bits).collect()
}

/// The layer on every instruction set of this machine.
fn on_each_set(layer: &RotaryEmbedding) -> Vec<(&'static str, RotaryEmbedding)> {
    let on = |(name, set)| (name, layer.on(set));
    InstructionSet::available().into_iter().map(on).collect()
}

/// Heads of one shape in several layouts of memory.
fn views(shape: [usize; 4], dtype: DType) -> Vec<(&'static str, Tensor)> {
    let [i, j, k, d] = shape;
    let of = |shape: [usize; 4], seed| numbers(&shape, dtype, seed);
    let views = vec![
        ("contiguous", of(shape, 1)),
        ("offset", of([i + 2, j, k, d], 2).narrow(0, 2, i).unwrap()),
        ("transposed", of([i, k, j, d], 3).transpose(1, 2).unwrap()),
        (
            "part of qkv",
            of([i, j, k, 3 * d], 4).narrow(3, d, d).unwrap(),
        ),
        (
            "columns apart",
            of([i, j, d, k], 5).transpose(2, 3).unwrap(),
        ),
        (
            "all turned",
            of([d, k, j, i], 6).permute((3, 2, 1, 0)).unwrap(),
        ),
        (
            "broadcast",
            of([1, j, 1, d], 7).broadcast_as(shape.as_slice()).unwrap(),
        ),
        (
            "one column",
            of([i, j, k, 1], 8).broadcast_as(shape.as_slice()).unwrap(),
        ),
    ];
    for (name, view) in &views {
        assert_eq!(view.dims(), shape, "{name}");
    }
    views
}
