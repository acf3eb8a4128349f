//! Layers between threads: they may be sent and shared, and a table that grows under sixteen threads
//! loses nothing.

mod locks;

use std::sync::Barrier;

use candle_core::{DType, Device, Tensor};
use pe_candle::testing::Grown;
use pe_candle::{
    Dropout, PositionalEncoding, PositionalEncodingConfig, RotaryEmbedding, RotaryEmbeddingConfig,
};
use pe_core::{RopeScaling, Rotary, RotaryConfig, Sinusoidal};

const CPU: &Device = &Device::Cpu;
const THREADS: usize = 16;
const LIMIT: usize = 4_000;
const WIDTH: usize = 8;

const fn shareable<T: Send + Sync + Clone + std::fmt::Debug + 'static>() {}

// Checked when this file is compiled.
const _: () = {
    shareable::<PositionalEncoding>();
    shareable::<PositionalEncodingConfig>();
    shareable::<RotaryEmbedding>();
    shareable::<RotaryEmbeddingConfig>();
    shareable::<Dropout>();
    shareable::<Sinusoidal>();
    shareable::<Rotary>();
};

/// Calls `work` with the number of its thread and of its step, on all threads at once.
fn hammer(steps: usize, work: impl Fn(usize, usize) + Sync) {
    let start = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (start, work) = (&start, &work);
            scope.spawn(move || {
                start.wait();
                for step in 0..steps {
                    work(thread, step);
                }
            });
        }
    });
}

/// Where a thread asks: each its own way upwards and down again.
fn place(thread: usize, step: usize) -> usize {
    (step * 61 + thread * 797) % (LIMIT - 3)
}

#[test]
fn growing_additive_layer_loses_nothing() {
    let config = PositionalEncodingConfig {
        max_seq_len: LIMIT,
        dropout: 0.0,
        ..PositionalEncodingConfig::new(WIDTH)
    };
    let exact = Sinusoidal::paper(WIDTH)
        .unwrap()
        .table::<f32>(0..LIMIT as u64)
        .unwrap();
    for _ in 0..8 {
        let layer = PositionalEncoding::new(config.clone(), DType::F32, CPU).unwrap();
        hammer(40, |thread, step| {
            let offset = place(thread, step);
            let rows = layer.rows_built();
            let xs = Tensor::zeros((1, 3, WIDTH), DType::F32, CPU).unwrap();
            let ys = match thread % 2 {
                0 => layer.forward_at(&xs, offset, false),
                _ => {
                    let ids: Vec<u32> = (0..3).map(|step| (offset + step) as u32).collect();
                    let ids = Tensor::new(ids, CPU).unwrap();
                    layer.forward_with_positions(&xs, &ids, false)
                }
            };
            let ys = ys.unwrap().flatten_all().unwrap().to_vec1::<f32>().unwrap();
            assert_eq!(ys, exact.as_slice()[offset * WIDTH..][..3 * WIDTH]);
            // It never shrinks, and holds what was served.
            assert!(layer.rows_built() >= rows.max(offset + 3));
        });
        let whole = layer
            .table()
            .unwrap()
            .flatten_all()
            .unwrap()
            .to_vec1::<f32>()
            .unwrap();
        assert_eq!(whole, exact.as_slice());
    }
}

#[test]
fn growing_rotary_layer_loses_nothing() {
    let pairs = WIDTH / 2;
    // Dynamic scaling has a set of frequencies for each length.
    for scaling in [RopeScaling::Default, RopeScaling::Dynamic { factor: 2.0 }] {
        let rotary = RotaryConfig {
            scaling: scaling.clone(),
            max_position_embeddings: Some(1_000),
            ..RotaryConfig::new(WIDTH)
        };
        let config = RotaryEmbeddingConfig {
            max_seq_len: Some(LIMIT),
            ..RotaryEmbeddingConfig::of(rotary.clone(), WIDTH)
        };
        let rotary = Rotary::new(rotary).unwrap();
        for _ in 0..4 {
            let layer = RotaryEmbedding::new(config.clone(), DType::F32, CPU).unwrap();
            hammer(30, |thread, step| {
                let offset = place(thread, step);
                let xs = Tensor::zeros((1, 1, 3, WIDTH), DType::F32, CPU).unwrap();
                let ones = xs.narrow(3, 0, pairs).unwrap().ones_like().unwrap();
                // (1, 0) turns to (cos, sin).
                let xs = Tensor::cat(&[ones, xs.narrow(3, pairs, pairs).unwrap()], 3).unwrap();
                let ys = layer.apply(&xs, offset).unwrap();
                let ys = ys.reshape((3, WIDTH)).unwrap().to_vec2::<f32>().unwrap();
                let range = offset as u64..offset as u64 + 3;
                let frequencies = rotary.frequencies(offset + 3).unwrap();
                let exact = frequencies.tables::<f32>(range).unwrap();
                for (row, y) in ys.iter().enumerate() {
                    assert_eq!(&y[..pairs], exact.cos.row(row).unwrap());
                    assert_eq!(&y[pairs..], exact.sin.row(row).unwrap());
                }
            });
        }
    }
}

/// Every training call takes a step of its own.
#[test]
fn dropout_counts_the_calls_of_all_threads() {
    let dropout = Dropout::new(0.5, 1).unwrap();
    let xs = Tensor::ones((3, 5), DType::F32, CPU).unwrap();
    hammer(50, |_, _| {
        dropout.clone().forward(&xs, true).unwrap();
    });
    assert_eq!(dropout.step(), 50 * THREADS as u64);
}
