//! The layer, one measurement at a time: `cargo bench -p pe-tests --bench layers`. For ratios
//! within one run see `ratios`.

use candle_core::{DType, Device, ModuleT, Tensor, Var};
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use pe_candle::{PositionalEncoding, PositionalEncodingConfig};

fn main() {
    divan::main();
}

const CPU: &Device = &Device::Cpu;
const LARGE: (usize, usize, usize) = (8, 2048, 1024);
const TYPES: [&str; 3] = ["f32", "bf16", "f16"];
const WIDTHS: [usize; 3] = [512, 4096, 8192];

fn setting(dtype: &str, shape: (usize, usize, usize)) -> (PositionalEncoding, Tensor) {
    let dtype: DType = dtype.parse().unwrap();
    let config = PositionalEncodingConfig {
        max_seq_len: shape.1.max(64),
        ..PositionalEncodingConfig::new(shape.2)
    };
    let layer = PositionalEncoding::new(config, dtype, CPU).unwrap();
    let xs = Tensor::randn(0f32, 1., shape, CPU).unwrap();
    (layer, xs.to_dtype(dtype).unwrap())
}

fn items(xs: &Tensor) -> ItemsCount {
    ItemsCount::new(xs.elem_count())
}

#[divan::bench(args = TYPES)]
fn add_fresh(bencher: Bencher<'_, '_>, dtype: &str) {
    let (layer, xs) = setting(dtype, LARGE);
    bencher
        .counter(items(&xs))
        .bench_local(|| layer.forward_t(&xs, false).unwrap());
}

#[divan::bench(args = TYPES)]
fn add_in_place(bencher: Bencher<'_, '_>, dtype: &str) {
    let (layer, xs) = setting(dtype, LARGE);
    bencher
        .counter(items(&xs))
        .bench_local(|| layer.forward_inplace(&xs, 0).unwrap());
}

/// The limit for a fresh output.
#[divan::bench(args = TYPES)]
fn copy_fresh(bencher: Bencher<'_, '_>, dtype: &str) {
    let (_, xs) = setting(dtype, LARGE);
    bencher
        .counter(items(&xs))
        .bench_local(|| xs.force_contiguous().unwrap());
}

#[divan::bench(args = TYPES)]
fn add_candle(bencher: Bencher<'_, '_>, dtype: &str) {
    let (layer, xs) = setting(dtype, LARGE);
    let pe = layer.encoding(0, LARGE.1).unwrap();
    bencher
        .counter(items(&xs))
        .bench_local(|| xs.broadcast_add(&pe).unwrap());
}

#[divan::bench(args = TYPES)]
fn add_drop(bencher: Bencher<'_, '_>, dtype: &str) {
    let (layer, xs) = setting(dtype, LARGE);
    bencher
        .counter(items(&xs))
        .bench_local(|| layer.forward_t(&xs, true).unwrap());
}

#[divan::bench(args = TYPES, sample_count = 5)]
fn add_drop_candle(bencher: Bencher<'_, '_>, dtype: &str) {
    let (layer, xs) = setting(dtype, LARGE);
    let pe = layer.encoding(0, LARGE.1).unwrap();
    bencher
        .counter(items(&xs))
        .bench_local(|| candle_nn::ops::dropout(&xs.broadcast_add(&pe).unwrap(), 0.1).unwrap());
}

#[divan::bench(args = TYPES, sample_count = 20)]
fn add_drop_backward(bencher: Bencher<'_, '_>, dtype: &str) {
    let (layer, xs) = setting(dtype, LARGE);
    let xs = Var::from_tensor(&xs).unwrap();
    bencher
        .counter(items(&xs))
        .bench_local(|| layer.forward_t(&xs, true).unwrap().backward().unwrap());
}

#[divan::bench(args = TYPES, sample_count = 5)]
fn add_drop_backward_candle(bencher: Bencher<'_, '_>, dtype: &str) {
    let (layer, xs) = setting(dtype, LARGE);
    let pe = layer.encoding(0, LARGE.1).unwrap();
    let xs = Var::from_tensor(&xs).unwrap();
    bencher.counter(items(&xs)).bench_local(|| {
        let sum = xs.broadcast_add(&pe).unwrap();
        let ys = candle_nn::ops::dropout(&sum, 0.1).unwrap();
        ys.backward().unwrap()
    });
}

#[divan::bench(args = WIDTHS, consts = [0, 1, 2])]
fn one_token<const TYPE: usize>(bencher: Bencher<'_, '_>, width: usize) {
    let (layer, xs) = setting(TYPES[TYPE], (1, 1, width));
    bencher
        .counter(items(&xs))
        .bench_local(|| layer.forward_at(black_box(&xs), 40, false).unwrap());
}

#[divan::bench(args = WIDTHS, consts = [0, 1, 2])]
fn one_token_candle<const TYPE: usize>(bencher: Bencher<'_, '_>, width: usize) {
    let (layer, xs) = setting(TYPES[TYPE], (1, 1, width));
    let pe = layer.encoding(40, 1).unwrap();
    bencher
        .counter(items(&xs))
        .bench_local(|| black_box(&xs).broadcast_add(&pe).unwrap());
}
