//! The rotary layer against memory's limit and Candle's own kernels, as a table of ratios:
//! `cargo bench -p pe-tests --bench rotary`, with `RAYON_NUM_THREADS=1` for one thread.
//!
//! The contestants of a row take turns, so that a machine that slows down slows all of them
//! down; the medians of all turns are compared. A first argument picks the rows that contain it,
//! `--isa avx2` (or `portable`, `avx512`, `neon`) forces an instruction set.

mod learned;
mod packed;

use std::cell::Cell;
use std::hint::black_box;
use std::time::{Duration, Instant};

use candle_core::{DType, Device, Error, Result, Tensor, Var};
use candle_nn::rotary_emb::{rope, rope_i, rope_thd};
use pe_candle::testing::{Planned, Route};
use pe_candle::{
    AxialRotaryEmbedding, AxialRotaryEmbeddingConfig, HeadOrder, PairLayout, RotaryEmbedding,
    RotaryEmbeddingConfig, table_to_tensor,
};
use pe_core::{
    AxialRotary, AxialRotaryPreset, CosSin, LongRopeScaling, RopeScaling, Rotary, RotaryConfig,
};
use pe_tests::isa;

const CPU: &Device = &Device::Cpu;
const TYPES: [DType; 3] = [DType::F32, DType::BF16, DType::F16];
const LAYOUTS: [PairLayout; 2] = [PairLayout::HalfSplit, PairLayout::Interleaved];
const ORDERS: [HeadOrder; 2] = [HeadOrder::HeadFirst, HeadOrder::TimeFirst];
const LARGE: [(usize, usize, usize, usize); 2] = [(8, 32, 512, 128), (1, 32, 2048, 128)];

type Work<'a> = Box<dyn FnMut() -> Result<()> + 'a>;

/// Part of the names of the rows to measure, and whether a row matched.
#[derive(Default)]
struct Filter {
    word: String,
    matched: Cell<bool>,
}

/// A row of the table: ours, and the contestants.
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
    fn run(mut self, filter: &Filter, budget: Duration) -> Result<()> {
        if !self.name.contains(&filter.word) {
            return Ok(());
        }
        filter.matched.set(true);
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
                // Once before: what a work finds must not depend on the one before it, whose
                // memory it gets.
                work()?;
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
        print!("| {:45} | {:>9} |", self.name, time(medians[0]));
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

fn layer(
    head_dim: usize,
    layout: PairLayout,
    order: HeadOrder,
    dtype: DType,
) -> Result<RotaryEmbedding> {
    let config = RotaryEmbeddingConfig {
        layout,
        axis_order: order,
        ..RotaryEmbeddingConfig::new(head_dim)
    };
    RotaryEmbedding::new(config, dtype, CPU)
}

/// Memory's limit: a copy of the same size by as many threads as there are, and by one.
fn copies<'a, T: Copy + Send + Sync + 'a>(row: Row<'a>, value: T, count: usize) -> Row<'a> {
    let (xs, ys) = (vec![value; count], vec![value; count]);
    row.with("copy", move || {
        fresh_copy(black_box(&xs));
        Ok(())
    })
    .with("copy, one thread", move || {
        black_box(black_box(&ys).to_vec());
        Ok(())
    })
}

fn with_copies(row: Row<'_>, dtype: DType, count: usize) -> Row<'_> {
    match dtype.size_in_bytes() {
        2 => copies(row, 1u16, count),
        _ => copies(row, 1f32, count),
    }
}

fn fresh_copy<T: Copy + Send + Sync>(xs: &[T]) {
    let threads = rayon::current_num_threads();
    let mut ys: Vec<T> = Vec::with_capacity(xs.len());
    let piece = xs.len().div_ceil(threads);
    rayon::scope(|scope| {
        let to = ys.spare_capacity_mut().chunks_mut(piece);
        for (ys, xs) in to.zip(xs.chunks(piece)) {
            scope.spawn(move |_| {
                ys.write_copy_of_slice(xs);
            });
        }
    });
    black_box(ys);
}

/// Candle's own call for contiguous input: what there is of it.
fn candle(
    xs: &Tensor,
    cos: &Tensor,
    sin: &Tensor,
    layout: PairLayout,
    order: HeadOrder,
) -> Result<Tensor> {
    match (layout, order) {
        (PairLayout::HalfSplit, HeadOrder::HeadFirst) => rope(xs, cos, sin),
        (PairLayout::HalfSplit, HeadOrder::TimeFirst) => rope_thd(xs, cos, sin),
        (PairLayout::Interleaved, HeadOrder::HeadFirst) => rope_i(xs, cos, sin),
        (PairLayout::Interleaved, HeadOrder::TimeFirst) => {
            let heads = xs.transpose(1, 2)?.contiguous()?;
            rope_i(&heads, cos, sin)?.transpose(1, 2)?.contiguous()
        }
        (_, HeadOrder::SequenceFirst) => {
            let xs = xs.transpose(0, 1)?.contiguous()?;
            candle(&xs, cos, sin, layout, HeadOrder::TimeFirst)?
                .transpose(0, 1)?
                .contiguous()
        }
    }
}

/// Queries of prompts, in every layout and axis order, with an offset and with positions.
fn prompts(filter: &Filter) -> Result<()> {
    for (batch, heads, steps, head_dim) in LARGE {
        for dtype in TYPES {
            for order in ORDERS {
                for layout in LAYOUTS {
                    let name = format!(
                        "prompt {:?} {} {layout:?} {order:?}",
                        (batch, heads, steps, head_dim),
                        dtype.as_str()
                    );
                    if !name.contains(&filter.word) {
                        continue;
                    }
                    let shape = match order {
                        HeadOrder::HeadFirst => (batch, heads, steps, head_dim),
                        HeadOrder::TimeFirst => (batch, steps, heads, head_dim),
                        HeadOrder::SequenceFirst => (steps, batch, heads, head_dim),
                    };
                    let rotary = layer(head_dim, layout, order, dtype)?;
                    let xs = Tensor::randn(0f32, 1., shape, CPU)?.to_dtype(dtype)?;
                    let turned = xs.transpose(1, 2)?.contiguous()?.transpose(1, 2)?;
                    let own = xs.copy()?;
                    let (cos, sin) = rotary.cos_sin(0, steps)?;
                    let ids = Tensor::arange(0u32, steps as u32, CPU)?
                        .repeat((batch, 1))?
                        .contiguous()?;
                    let row = Row::new(name)
                        .with("ours", || rotary.apply(black_box(&xs), 0).map(drop))
                        .with("positions", || {
                            rotary.apply_with_positions(black_box(&xs), &ids).map(drop)
                        })
                        .with("transposed", || {
                            rotary.apply(black_box(&turned), 0).map(drop)
                        })
                        .with("in place", || rotary.apply_inplace(black_box(&own), 0));
                    with_copies(row, dtype, xs.elem_count())
                        .with("candle", || {
                            candle(black_box(&xs), &cos, &sin, layout, order).map(drop)
                        })
                        .with("candle, transposed", || {
                            let xs = black_box(&turned).contiguous()?;
                            candle(&xs, &cos, &sin, layout, order).map(drop)
                        })
                        .run(filter, Duration::from_millis(1500))?;
                }
            }
        }
    }
    Ok(())
}

/// A step of decoding: the call alone, and as a model makes it.
fn steps(filter: &Filter) -> Result<()> {
    for dtype in TYPES {
        for order in ORDERS {
            for layout in LAYOUTS {
                let shape = match order {
                    HeadOrder::HeadFirst => (1, 32, 1, 128),
                    HeadOrder::TimeFirst | HeadOrder::SequenceFirst => (1, 1, 32, 128),
                };
                let rotary = layer(128, layout, order, dtype)?;
                let xs = Tensor::randn(0f32, 1., shape, CPU)?.to_dtype(dtype)?;
                let (cos, sin) = rotary.cos_sin(0, 4096)?;
                let (one_cos, one_sin) = (cos.narrow(0, 1000, 1)?, sin.narrow(0, 1000, 1)?);
                let name = format!("step {shape:?} {} {layout:?} {order:?}", dtype.as_str());
                Row::new(name)
                    .with("ours", || rotary.apply(black_box(&xs), 1000).map(drop))
                    .with("candle", || {
                        candle(black_box(&xs), &one_cos, &one_sin, layout, order).map(drop)
                    })
                    .with("candle with narrow", || {
                        let (cos, sin) = (cos.narrow(0, 1000, 1)?, sin.narrow(0, 1000, 1)?);
                        candle(black_box(&xs), &cos, &sin, layout, order).map(drop)
                    })
                    .with("in place", || rotary.apply_inplace(black_box(&xs), 1000))
                    .run(filter, Duration::from_millis(200))?;
            }
        }
    }
    Ok(())
}

/// A step of decoding where the frequencies depend on the length: one more position each time.
fn lengths(filter: &Filter) -> Result<()> {
    let divisors = |step: f64| (0..64).map(|pair| 1.0 + step * f64::from(pair)).collect();
    let longrope = LongRopeScaling::new(divisors(0.1), divisors(0.7), 1024);
    for scaling in [
        RopeScaling::LongRope(longrope),
        RopeScaling::Dynamic { factor: 4.0 },
    ] {
        let name = format!("step (1, 32, 1, 128) f32 {}, next length", scaling.name());
        let rotary = RotaryConfig {
            scaling,
            max_position_embeddings: Some(1024),
            ..RotaryConfig::new(128)
        };
        let config = RotaryEmbeddingConfig {
            max_seq_len: Some(1 << 20),
            ..RotaryEmbeddingConfig::of(rotary, 128)
        };
        let rotary = RotaryEmbedding::new(config, DType::F32, CPU)?;
        let xs = Tensor::randn(0f32, 1., (1, 32, 1, 128), CPU)?;
        let mut at = 2000;
        Row::new(name)
            .with("ours", || {
                at += 1;
                rotary.apply(&xs, at).map(drop)
            })
            .with("the same length", || rotary.apply(&xs, 2000).map(drop))
            .run(filter, Duration::from_millis(200))?;
    }
    Ok(())
}

/// From 16 KiB to 64 MiB, to see where threads begin to pay.
fn sizes(filter: &Filter) -> Result<()> {
    for log in 0..=12 {
        let steps = 1usize << log;
        let rotary = layer(128, PairLayout::HalfSplit, HeadOrder::HeadFirst, DType::F32)?;
        let xs = Tensor::randn(0f32, 1., (1, 32, steps, 128), CPU)?;
        let (cos, sin) = rotary.cos_sin(0, steps)?;
        let row = Row::new(format!("size {} KiB f32", xs.elem_count() / 256))
            .with("ours", || rotary.apply(&xs, 0).map(drop));
        with_copies(row, DType::F32, xs.elem_count())
            .with("candle", || rope(&xs, &cos, &sin).map(drop))
            .with("in place", || rotary.apply_inplace(&xs, 0))
            .run(filter, Duration::from_millis(300))?;
    }
    Ok(())
}

/// Forward and backward. Candle's kernel has no backward pass: its models would have to be
/// composed of products and sums.
fn gradients(filter: &Filter) -> Result<()> {
    for dtype in [DType::F32, DType::BF16] {
        let rotary = layer(128, PairLayout::HalfSplit, HeadOrder::HeadFirst, dtype)?;
        let xs = Tensor::randn(0f32, 1., (1, 32, 2048, 128), CPU)?.to_dtype(dtype)?;
        let xs = Var::from_tensor(&xs)?;
        let reference = rotary.by_reference(Route::Operations);
        Row::new(format!("fwd+bwd (1, 32, 2048, 128) {}", dtype.as_str()))
            .with("ours", || rotary.apply(&xs, 0)?.backward().map(drop))
            .with("composition", || {
                let ys = reference.apply(&xs, 0)?;
                ys.backward().map(drop)
            })
            .with("backward of a copy", || {
                (xs.as_tensor() + 0.0)?.backward().map(drop)
            })
            .run(filter, Duration::from_secs(2))?;
    }
    Ok(())
}

/// Tables of tokens with several coordinates, against the models' own way in Candle's operations: each
/// token's angles for FLUX, and each axis' tables broadcast over the grid for Wan. Then a call that finds
/// its tables.
fn axes(filter: &Filter) -> Result<()> {
    let of = |preset: AxialRotaryPreset| AxialRotary::new(preset.config(128));
    let flux = of(AxialRotaryPreset::Flux)?;
    let mut ids = vec![vec![0.0; 512]; 3];
    for (list, positions) in ids.iter_mut().zip(flux.grid_positions(&[1, 64, 64])?) {
        list.extend(positions);
    }
    let lists: Vec<&[f64]> = ids.iter().map(Vec::as_slice).collect();
    let columns = |axis: usize| Tensor::from_vec(ids[axis].clone(), (ids[axis].len(), 1), CPU);
    let tokens = [columns(0)?, columns(1)?, columns(2)?];
    let rates = |width: usize| -> Result<Tensor> {
        let frequencies = Rotary::new(RotaryConfig::new(width))?.frequencies(0)?;
        Tensor::from_vec(frequencies.inv_freq(), (1, width / 2), CPU)
    };
    let rates = [rates(16)?, rates(56)?, rates(56)?];
    let row = Row::new("axes table flux 4608 x 64 f32").with("ours", || {
        black_box(flux.tables_at_reals::<f32>(&lists)?);
        Ok(())
    });
    with_copies(row, DType::F32, 2 * 4608 * 64)
        .with("candle", || {
            let angles = |(tokens, rates): (&Tensor, &Tensor)| tokens.broadcast_mul(rates);
            let angles: Vec<Tensor> = tokens
                .iter()
                .zip(&rates)
                .map(angles)
                .collect::<Result<_>>()?;
            let angles = Tensor::cat(&angles, 1)?;
            let cos = angles.cos()?.to_dtype(DType::F32)?;
            black_box((cos, angles.sin()?.to_dtype(DType::F32)?));
            Ok(())
        })
        .run(filter, Duration::from_secs(1))?;

    let wan = of(AxialRotaryPreset::Wan)?;
    let sizes = [21, 45, 80];
    let tables = |size: usize, width: usize| -> Result<[Tensor; 2]> {
        let frequencies = Rotary::new(RotaryConfig::new(width))?.frequencies(0)?;
        let CosSin { cos, sin } = frequencies.tables::<f32>(0..size as u64)?;
        Ok([table_to_tensor(cos, CPU)?, table_to_tensor(sin, CPU)?])
    };
    let by_axis = [tables(21, 44)?, tables(45, 42)?, tables(80, 42)?];
    let row = Row::new("axes table wan 75600 x 64 f32").with("ours", || {
        black_box(wan.grid_tables::<f32>(&sizes)?);
        Ok(())
    });
    with_copies(row, DType::F32, 2 * 75_600 * 64)
        .with("candle", || {
            for function in 0..2 {
                let mut parts = Vec::new();
                for (axis, tables) in by_axis.iter().enumerate() {
                    let table = &tables[function];
                    let width = table.dim(1)?;
                    let mut shape = [1, 1, 1, width];
                    shape[axis] = sizes[axis];
                    parts.push(table.reshape(&shape)?.broadcast_as((21, 45, 80, width))?);
                }
                black_box(Tensor::cat(&parts, 3)?);
            }
            Ok(())
        })
        .run(filter, Duration::from_secs(2))?;

    for dtype in [DType::F32, DType::BF16] {
        let config = AxialRotaryEmbeddingConfig::from_preset(AxialRotaryPreset::Flux, 128);
        let rotary = AxialRotaryEmbedding::new(config, dtype, CPU)?;
        let ids = Tensor::cat(&tokens, 1)?.to_dtype(DType::F32)?;
        let xs = Tensor::randn(0f32, 1., (1, 24, 4608, 128), CPU)?.to_dtype(dtype)?;
        let (cos, sin) = rotary.cos_sin(&ids)?;
        let (cos, sin) = (cos.to_dtype(dtype)?, sin.to_dtype(dtype)?);
        let row = Row::new(format!(
            "axes call flux (1, 24, 4608, 128) {}",
            dtype.as_str()
        ))
        .with("ours", || rotary.apply(&xs, &ids).map(drop));
        with_copies(row, dtype, xs.elem_count())
            .with("candle", || rope_i(&xs, &cos, &sin).map(drop))
            .run(filter, Duration::from_secs(1))?;
    }
    Ok(())
}

fn main() -> Result<()> {
    let mut filter = Filter::default();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--isa" => isa::force(&arguments.next().unwrap_or_default())?,
            // Cargo's own.
            "--bench" => {}
            _ => filter.word = argument,
        }
    }
    println!(
        "threads: {}; times are medians, in brackets the ratio to ours",
        rayon::current_num_threads()
    );
    steps(&filter)?;
    lengths(&filter)?;
    sizes(&filter)?;
    prompts(&filter)?;
    gradients(&filter)?;
    axes(&filter)?;
    packed::rows(&filter)?;
    learned::rows(&filter)?;
    if filter.matched.get() {
        return Ok(());
    }
    Err(Error::Msg(format!("no row contains {}", filter.word)))
}
