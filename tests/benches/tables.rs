//! Building tables, against writing that much memory and against what a user of
//! Candle writes today: `cargo bench -p pe-tests`.

use std::hint::black_box;

use divan::Bencher;
use divan::counter::ItemsCount;
use pe_core::{Element, Sinusoidal, bf16, f16};
use pe_tests::peers;

fn main() {
    divan::main();
}

/// (rows, d_model), as in the README's table.
const SIZES: [(usize, usize); 3] = [(5_000, 512), (131_072, 128), (8_192, 1_024)];

/// Writing fresh memory: the limit of every table that is returned.
#[divan::bench(args = SIZES)]
fn limit_fresh_memory(bencher: Bencher<'_, '_>, (rows, width): (usize, usize)) {
    bencher
        .counter(ItemsCount::new(rows * width))
        .bench_local(|| {
            let mut fresh = Vec::<f32>::with_capacity(rows * width);
            fresh.resize(rows * width, black_box(1.5));
            fresh
        });
}

/// Writing memory that is there already.
#[divan::bench(args = SIZES)]
fn limit_reused_memory(bencher: Bencher<'_, '_>, (rows, width): (usize, usize)) {
    let mut reused = vec![0f32; rows * width];
    bencher
        .counter(ItemsCount::new(rows * width))
        .bench_local(|| {
            reused.fill(black_box(1.5));
            black_box(&mut reused);
        });
}

/// An exact table, set-up included.
#[divan::bench(args = SIZES, types = [f32, bf16, f16, f64])]
fn exact_table<T: Element>(bencher: Bencher<'_, '_>, (rows, width): (usize, usize)) {
    bencher
        .counter(ItemsCount::new(rows * width))
        .bench_local(|| {
            let encoding = Sinusoidal::paper(black_box(width)).unwrap();
            encoding.table::<T>(0..rows as u64).unwrap()
        });
}

/// An exact table into memory that is there already.
#[divan::bench(args = SIZES)]
fn exact_table_into_reused_memory(bencher: Bencher<'_, '_>, (rows, width): (usize, usize)) {
    let encoding = Sinusoidal::paper(width).unwrap();
    let mut reused = vec![0f32; rows * width];
    bencher
        .counter(ItemsCount::new(rows * width))
        .bench_local(|| {
            encoding.fill(0, &mut reused).unwrap();
            black_box(&mut reused);
        });
}

/// The table as candle-transformers' models build theirs: f32 throughout.
#[divan::bench(args = SIZES)]
fn candle_today(bencher: Bencher<'_, '_>, (rows, width): (usize, usize)) {
    bencher
        .counter(ItemsCount::new(rows * width))
        .bench_local(|| peers::candle_table(black_box(rows), black_box(width)).unwrap());
}

/// Frequencies alone.
#[divan::bench(args = [64, 512, 4096])]
fn set_up(bencher: Bencher<'_, '_>, width: usize) {
    bencher.bench_local(|| Sinusoidal::paper(black_box(width)).unwrap());
}

/// One row at a time, as a decoder without a table would make them.
#[divan::bench(args = [512, 4096])]
fn single_row(bencher: Bencher<'_, '_>, width: usize) {
    let encoding = Sinusoidal::paper(width).unwrap();
    let mut row = vec![0f32; width];
    let mut position = 0u32;
    bencher.bench_local(|| {
        position = position.wrapping_add(7919);
        encoding.fill_at(&[position], &mut row).unwrap();
        black_box(&mut row);
    });
}
