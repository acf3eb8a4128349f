//! The rotary layer against memory's limit and Candle's own kernels, as a table of ratios:
//! `cargo bench -p pe-tests --bench rotary`, with `RAYON_NUM_THREADS=1` for one thread.
//!
//! The contestants of a row take turns, so that a machine that slows down slows all of them
//! down; the medians of all turns are compared. Words pick the rows that contain one of them,
//! `--isa avx2` (or `portable`, `avx512`, `neon`) forces an instruction set, and `--json FILE` keeps the medians for the
//! scripts in `benches/scripts`.

mod axes;
mod learned;
mod lengths;
mod packed;

use std::cell::RefCell;
use std::hint::black_box;
use std::time::{Duration, Instant};

use candle_core::{DType, Device, Error, Result, Tensor, Var};
use candle_nn::rotary_emb::{rope, rope_i, rope_thd};
use pe_candle::testing::{Planned, Route};
use pe_candle::{HeadOrder, PairLayout, RotaryEmbedding, RotaryEmbeddingConfig};
use pe_tests::isa;
use serde_json::{Value, json};

const CPU: &Device = &Device::Cpu;
const TYPES: [DType; 3] = [DType::F32, DType::BF16, DType::F16];
const LAYOUTS: [PairLayout; 2] = [PairLayout::HalfSplit, PairLayout::Interleaved];
const ORDERS: [HeadOrder; 2] = [HeadOrder::HeadFirst, HeadOrder::TimeFirst];
const LARGE: [(usize, usize, usize, usize); 2] = [(8, 32, 512, 128), (1, 32, 2048, 128)];

type Work<'a> = Box<dyn FnMut() -> Result<()> + 'a>;

/// Parts of the names of the rows to measure, and what was measured.
#[derive(Default)]
struct Filter {
    words: Vec<String>,
    rows: RefCell<Vec<Value>>,
}

impl Filter {
    fn wants(&self, name: &str) -> bool {
        self.words.is_empty() || self.words.iter().any(|word| name.contains(word))
    }
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
        if !filter.wants(&self.name) {
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
        let works = self.works.iter().zip(medians);
        let works: Vec<Value> = works
            .map(|((name, _), median)| json!({"name": name, "median": median}))
            .collect();
        let row = json!({"subject": "rotary", "name": self.name, "works": works});
        filter.rows.borrow_mut().push(row);
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
                    if !filter.wants(&name) {
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

fn main() -> Result<()> {
    let mut filter = Filter::default();
    let mut file = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--isa" => isa::force(&arguments.next().unwrap_or_default())?,
            "--json" => file = arguments.next(),
            // Cargo's own.
            "--bench" => {}
            _ => filter.words.push(argument),
        }
    }
    println!(
        "threads: {}; times are medians, in brackets the ratio to ours",
        rayon::current_num_threads()
    );
    steps(&filter)?;
    lengths::rows(&filter)?;
    sizes(&filter)?;
    prompts(&filter)?;
    gradients(&filter)?;
    axes::rows(&filter)?;
    packed::rows(&filter)?;
    learned::rows(&filter)?;
    let rows = filter.rows.into_inner();
    if rows.is_empty() {
        let words = filter.words.join(" or ");
        return Err(Error::Msg(format!("no row contains {words}")));
    }
    if let Some(file) = file {
        let threads = rayon::current_num_threads();
        std::fs::write(file, json!({"threads": threads, "rows": rows}).to_string())?;
    }
    Ok(())
}
