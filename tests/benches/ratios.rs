//! Tables and the layer against memory's limit and Candle's own way, as a table of ratios:
//! `cargo bench -p pe-tests --bench ratios`, with `RAYON_NUM_THREADS=1` for one thread.
//!
//! The contestants of a row take turns, so that a machine that slows down slows all of them
//! down; the medians of all turns are compared. A first argument picks the rows that contain it.

use std::hint::black_box;
use std::time::{Duration, Instant};

use candle_core::{DType, Device, ModuleT, Result, Tensor, Var};
use pe_candle::{PositionalEncoding, PositionalEncodingConfig};
use pe_core::{Element, Sinusoidal, bf16, f16};
use pe_tests::peers;

const CPU: &Device = &Device::Cpu;
const LARGE: (usize, usize, usize) = (8, 2048, 1024);
const TYPES: [DType; 3] = [DType::F32, DType::BF16, DType::F16];

type Work<'a> = Box<dyn FnMut() -> Result<()> + 'a>;

/// A row of the table: ours, and what it is held against.
struct Row<'a> {
    name: String,
    works: Vec<(&'static str, Work<'a>)>,
}

impl<'a> Row<'a> {
    fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            works: Vec::new(),
        }
    }

    fn with(mut self, name: &'static str, work: impl FnMut() -> Result<()> + 'a) -> Self {
        self.works.push((name, Box::new(work)));
        self
    }

    /// Runs the works in turns for about `budget` and prints their medians.
    fn run(mut self, filter: &str, budget: Duration) -> Result<()> {
        if !self.name.contains(filter) {
            return Ok(());
        }
        // Short works are repeated until they last for a tenth of a millisecond.
        let mut repeats = Vec::new();
        for (_, work) in &mut self.works {
            work()?;
            let start = Instant::now();
            work()?;
            let once = start.elapsed().as_nanos().max(1);
            repeats.push((100_000 / once).clamp(1, 10_000) as u32);
        }
        let mut times = vec![Vec::new(); self.works.len()];
        let start = Instant::now();
        while times[0].len() < 7 || start.elapsed() < budget {
            for (((_, work), times), repeats) in self.works.iter_mut().zip(&mut times).zip(&repeats)
            {
                let start = Instant::now();
                for _ in 0..*repeats {
                    work()?;
                }
                times.push(start.elapsed() / *repeats);
            }
        }
        let medians: Vec<f64> = times
            .iter_mut()
            .map(|times| {
                times.sort_unstable();
                times[times.len() / 2].as_secs_f64()
            })
            .collect();
        print!("| {:34} | {:>9} |", self.name, time(medians[0]));
        for ((name, _), median) in self.works.iter().zip(&medians).skip(1) {
            print!(" {name} {} ({:.2}) |", time(*median), median / medians[0]);
        }
        println!();
        Ok(())
    }
}

fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-4 => format!("{:.2} us", s * 1e6),
        s => format!("{:.2} ms", s * 1e3),
    }
}

fn layer(width: usize, rows: usize, dropout: f32, dtype: DType) -> Result<PositionalEncoding> {
    let config = PositionalEncodingConfig {
        max_seq_len: rows,
        dropout,
        ..PositionalEncodingConfig::new(width)
    };
    PositionalEncoding::new(config, dtype, CPU)
}

/// Memory's limit for a fresh output: a copy, by as many threads as there are.
fn fresh_copy<T: Copy + Default + Send + Sync>(xs: &[T]) {
    let threads = rayon::current_num_threads();
    if threads == 1 {
        black_box(xs.to_vec());
        return;
    }
    let mut ys: Vec<T> = Vec::with_capacity(xs.len());
    let piece = xs.len().div_ceil(threads);
    rayon::scope(|scope| {
        for (ys, xs) in ys
            .spare_capacity_mut()
            .chunks_mut(piece)
            .zip(xs.chunks(piece))
        {
            scope.spawn(move |_| {
                for (y, x) in ys.iter_mut().zip(xs) {
                    y.write(*x);
                }
            });
        }
    });
    black_box(ys);
}

/// Memory's limit in place: each word read, changed and written. Half types go two to a word.
fn change(words: &mut [u32]) {
    let piece = words.len().div_ceil(rayon::current_num_threads());
    rayon::scope(|scope| {
        for words in words.chunks_mut(piece) {
            scope.spawn(|_| {
                for word in words {
                    *word = word.wrapping_add(1);
                }
            });
        }
    });
    black_box(words);
}

/// A copy of the contestants' size, whatever the type.
fn limit(dtype: DType, count: usize) -> Work<'static> {
    match dtype.size_in_bytes() {
        2 => {
            let xs = vec![1u16; count];
            Box::new(move || {
                fresh_copy(&xs);
                Ok(())
            })
        }
        _ => {
            let xs = vec![1f32; count];
            Box::new(move || {
                fresh_copy(&xs);
                Ok(())
            })
        }
    }
}

/// Tables of every type, set-up included, against writing fresh and reused memory.
fn tables(filter: &str) -> Result<()> {
    for (rows, width) in [
        (5_000, 512),
        (8_192, 1_024),
        (131_072, 128),
        (32_768, 4_096),
    ] {
        let count = rows * width;
        let make = move || Sinusoidal::paper(black_box(width)).map_err(candle_core::Error::wrap);
        let encoding = make()?;
        let mut reused = vec![0f32; count];
        let mut filled = vec![0f32; count];
        let name = |what: &str| format!("table {rows} x {width} {what}");
        let budget = Duration::from_secs(3);
        Row::new(name("f32"))
            .with("ours", || table::<f32>(&make()?, rows))
            .with("fresh fill", || {
                let mut fresh = Vec::<f32>::with_capacity(count);
                fresh.resize(count, black_box(1.5));
                black_box(fresh);
                Ok(())
            })
            .with("bf16", || table::<bf16>(&make()?, rows))
            .with("f16", || table::<f16>(&make()?, rows))
            .with("f64", || table::<f64>(&make()?, rows))
            .with("candle", || peers::candle_table(rows, width).map(drop))
            .run(filter, budget)?;
        Row::new(name("f32 reused"))
            .with("ours", || {
                let done = encoding.fill(0, &mut reused);
                done.map_err(candle_core::Error::wrap)
            })
            .with("reused fill", || {
                filled.fill(black_box(1.5));
                black_box(&mut filled);
                Ok(())
            })
            .run(filter, budget / 3)?;
    }
    let encoding = Sinusoidal::paper(512).map_err(candle_core::Error::wrap)?;
    let mut row = vec![0f32; 512];
    let mut position = 0u32;
    Row::new("one row of 512, no table")
        .with("ours", || {
            position = position.wrapping_add(7919);
            let done = encoding.fill_at(&[position], &mut row);
            done.map_err(candle_core::Error::wrap)
        })
        .with("set-up", || {
            let made = Sinusoidal::paper(black_box(512));
            made.map(drop).map_err(candle_core::Error::wrap)
        })
        .run(filter, Duration::from_millis(200))
}

fn table<T: Element>(encoding: &Sinusoidal, rows: usize) -> Result<()> {
    let made = encoding.table::<T>(0..rows as u64);
    black_box(made.map_err(candle_core::Error::wrap)?);
    Ok(())
}

fn additions(filter: &str) -> Result<()> {
    for dtype in TYPES {
        let layer = layer(LARGE.2, LARGE.1, 0.0, dtype)?;
        let xs = Tensor::randn(0f32, 1., LARGE, CPU)?.to_dtype(dtype)?;
        let turned = xs.transpose(0, 1)?.contiguous()?.transpose(0, 1)?;
        let pe = layer.encoding(0, LARGE.1)?;
        let count = xs.elem_count();
        let mut copy = limit(dtype, count);
        let name = format!("add {LARGE:?} {} fresh", dtype.as_str());
        Row::new(name)
            .with("ours", || layer.forward_t(&xs, false).map(drop))
            .with("copy", &mut copy)
            .with("ours, transposed", || {
                layer.forward_t(&turned, false).map(drop)
            })
            .with("candle", || xs.broadcast_add(&pe).map(drop))
            .run(filter, Duration::from_secs(3))?;
        let mut words = vec![1u32; count * dtype.size_in_bytes() / 4];
        let own = xs.copy()?;
        let name = format!("add {LARGE:?} {} in place", dtype.as_str());
        Row::new(name)
            .with("ours", || layer.forward_inplace(&own, 0))
            .with("change", || {
                change(&mut words);
                Ok(())
            })
            .run(filter, Duration::from_secs(1))?;
    }
    Ok(())
}

fn dropouts(filter: &str) -> Result<()> {
    for dtype in TYPES {
        let train = layer(LARGE.2, LARGE.1, 0.1, dtype)?;
        let xs = Tensor::randn(0f32, 1., LARGE, CPU)?.to_dtype(dtype)?;
        let pe = train.encoding(0, LARGE.1)?;
        let name = format!("add, drop {LARGE:?} {} forward", dtype.as_str());
        Row::new(name)
            .with("ours", || train.forward_t(&xs, true).map(drop))
            .with("ours, without dropout", || {
                train.forward_t(&xs, false).map(drop)
            })
            .with("candle", || {
                candle_nn::ops::dropout(&xs.broadcast_add(&pe)?, 0.1).map(drop)
            })
            .run(filter, Duration::from_secs(3))?;
        let xs = Var::from_tensor(&xs)?;
        let grad = xs.ones_like()?;
        // The last column is what Candle's backward pass costs around an operation that does
        // nothing: ones for the result, zeros for the input, and their sum with the gradient.
        let name = format!("add, drop {LARGE:?} {} fwd+bwd", dtype.as_str());
        Row::new(name)
            .with("ours", || {
                let ys = train.forward_t(&xs, true)?;
                ys.backward().map(drop)
            })
            .with("candle", || {
                let ys = candle_nn::ops::dropout(&xs.broadcast_add(&pe)?, 0.1)?;
                ys.backward().map(drop)
            })
            .with("backward of nothing", || {
                xs.apply_op1(Nothing(grad.clone()))?.backward().map(drop)
            })
            .run(filter, Duration::from_secs(3))?;
    }
    Ok(())
}

/// What Candle's backward pass costs by itself.
struct Nothing(Tensor);

impl candle_core::CustomOp1 for Nothing {
    fn name(&self) -> &'static str {
        "nothing"
    }

    fn cpu_fwd(
        &self,
        _: &candle_core::CpuStorage,
        layout: &candle_core::Layout,
    ) -> Result<(candle_core::CpuStorage, candle_core::Shape)> {
        let nothing = candle_core::CpuStorage::F32(Vec::new());
        Ok((nothing, layout.shape().clone()))
    }

    fn bwd(&self, _: &Tensor, _: &Tensor, _: &Tensor) -> Result<Option<Tensor>> {
        Ok(Some(self.0.clone()))
    }
}

fn tokens(filter: &str) -> Result<()> {
    for dtype in TYPES {
        for width in [512, 4096, 8192] {
            let layer = layer(width, 64, 0.0, dtype)?;
            let xs = Tensor::randn(0f32, 1., (1, 1, width), CPU)?.to_dtype(dtype)?;
            let pe = layer.encoding(40, 1)?;
            let mut copy = limit(dtype, width);
            let name = format!("add {:?} {}", (1, 1, width), dtype.as_str());
            Row::new(name)
                .with("ours", || {
                    layer.forward_at(black_box(&xs), 40, false).map(drop)
                })
                .with("copy", &mut copy)
                .with("candle", || black_box(&xs).broadcast_add(&pe).map(drop))
                .run(filter, Duration::from_millis(200))?;
        }
    }
    Ok(())
}

/// From 64 KiB to 64 MiB, to see where threads begin to pay.
fn sizes(filter: &str) -> Result<()> {
    for rows in (4..=14).map(|log| 1 << log) {
        let layer = layer(1024, rows, 0.1, DType::F32)?;
        let xs = Tensor::randn(0f32, 1., (1, rows, 1024), CPU)?;
        let pe = layer.encoding(0, rows)?;
        let mut copy = limit(DType::F32, xs.elem_count());
        Row::new(format!("size {} KiB", rows * 4))
            .with("ours", || layer.forward_t(&xs, false).map(drop))
            .with("copy", &mut copy)
            .with("candle", || xs.broadcast_add(&pe).map(drop))
            .with("dropped", || layer.forward_t(&xs, true).map(drop))
            .with("in place", || layer.forward_inplace(&xs, 0))
            .run(filter, Duration::from_millis(400))?;
    }
    Ok(())
}

fn main() -> Result<()> {
    let filter = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-'))
        .unwrap_or_default();
    println!(
        "threads: {}; times are medians, in brackets the ratio to ours",
        rayon::current_num_threads()
    );
    tables(&filter)?;
    tokens(&filter)?;
    sizes(&filter)?;
    additions(&filter)?;
    dropouts(&filter)
}
