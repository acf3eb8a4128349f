//! Weighted sums of rows of a table, as one operation with its gradient.

use std::sync::{Arc, OnceLock};

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, Tensor, WithDType, bail};
use half::{bf16, f16};
use pe_core::RowTaps;
use pulp::cast;

use crate::kernel::element::{Compute, Entry};
use crate::kernel::isa::{CHUNK, Isa, Level, Ops, Work};
use crate::kernel::raw::{Stream, fresh, threads};

/// Number of products at which a second thread pays: 64 Ki take 20 to 40 us on one.
const PARALLEL: usize = 1 << 17;

/// The rows that contribute to each row of a result, and the transposed sums of the gradient, which are computed when
/// they are needed.
#[derive(Debug)]
pub(crate) struct Gathering {
    forward: RowTaps,
    backward: OnceLock<RowTaps>,
}

impl Gathering {
    pub(crate) fn new(taps: RowTaps) -> Arc<Self> {
        Arc::new(Self {
            forward: taps,
            backward: OnceLock::new(),
        })
    }

    /// Returns the sums of a side.
    pub(crate) fn taps(&self, side: Side) -> &RowTaps {
        match side {
            Side::Forward => &self.forward,
            Side::Backward => self.backward.get_or_init(|| self.forward.transposed()),
        }
    }
}

/// The sums, or their transposes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Forward,
    Backward,
}

impl Side {
    /// Returns the gradient's side.
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Forward => Self::Backward,
            Self::Backward => Self::Forward,
        }
    }
}

/// `y[r] = sum_k weight[r, k] * x[row[r, k]]` in one pass, in the order of the weights.
///
/// Entries of `f32` and `f64` are summed in `f64`, those of 16 bits in `f32` with weights of `f32`, and a sum is rounded
/// once, as [`reference::gather_sum`](crate::layers::grid::reference) does. Weights with the sum one within 2^-48 (2^-19)
/// leave equal entries unchanged in `f32` (and the types of 16 bits).
///
/// The sums are linear. Their gradient is that of the transposed weights: each row of the table adds up what the rows of
/// the result pass on, in their order, by whichever thread.
#[derive(Debug, Clone)]
pub(crate) struct GatherSum {
    pub(crate) gathering: Arc<Gathering>,
    pub(crate) side: Side,
    pub(crate) level: Level,
}

impl GatherSum {
    /// Returns the sums of the rows of `xs`, of shape `[rows, width]`, as a tensor that gradients flow through.
    pub(crate) fn apply(self, xs: &Tensor) -> Result<Tensor> {
        let xs = xs.contiguous()?;
        if xs.track_op() {
            xs.apply_op1(self)
        } else {
            xs.apply_op1_no_bwd(&self)
        }
    }

    fn sums<T: Summed + WithDType>(&self, xs: &[T], layout: &Layout) -> Result<CpuStorage> {
        let taps = self.gathering.taps(self.side);
        let (Some((start, end)), [rows, width]) = (layout.contiguous_offsets(), layout.dims())
        else {
            bail!("rows must be contiguous, of shape [rows, width]");
        };
        if *rows != taps.source_rows() {
            bail!("{rows} rows do not go with sums of {}", taps.source_rows());
        }
        let (xs, width) = (&xs[start..end], *width);
        let count = taps.rows() * width;
        let pay = taps.taps().saturating_mul(width) >= PARALLEL && threads() > 1;
        let pieces = if pay { 8 * threads() } else { 1 };
        let piece = taps.rows().div_ceil(pieces).max(1) * width;
        let sums = fresh(xs, count, piece.max(1), &|first, stream| {
            self.level.run(Sums {
                stream,
                first: first / width,
                xs,
                width,
                taps,
            });
        });
        Ok(T::to_cpu_storage_owned(sums))
    }
}

impl CustomOp1 for GatherSum {
    fn name(&self) -> &'static str {
        "gather-sum"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let sums = match storage {
            CpuStorage::F32(xs) => self.sums(xs, layout)?,
            CpuStorage::F64(xs) => self.sums(xs, layout)?,
            CpuStorage::F16(xs) => self.sums(xs, layout)?,
            CpuStorage::BF16(xs) => self.sums(xs, layout)?,
            _ => bail!("no kernel for sums of {}", storage.dtype().as_str()),
        };
        let width = layout.dims().last().copied().unwrap_or(0);
        Ok((sums, (self.gathering.taps(self.side).rows(), width).into()))
    }

    fn bwd(&self, _: &Tensor, _: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        let back = Self {
            side: self.side.other(),
            ..self.clone()
        };
        back.apply(grad).map(Some)
    }
}

/// An element that is summed in a wider type, and rounded once.
trait Summed: Entry<Self::Sum> {
    type Sum: Compute;

    fn finish<I: Isa>(isa: I, sum: SumChunk<I, Self>) -> [Self; CHUNK];
    fn round(sum: Self::Sum) -> Self;
}

impl Summed for f64 {
    type Sum = f64;

    #[inline(always)]
    fn finish<I: Isa>(isa: I, sum: <I as Ops<f64>>::Chunk) -> [f64; CHUNK] {
        Ops::<f64>::array(isa, sum)
    }

    #[inline(always)]
    fn round(sum: f64) -> f64 {
        sum
    }
}

impl Summed for f32 {
    type Sum = f64;

    #[inline(always)]
    fn finish<I: Isa>(isa: I, sum: <I as Ops<f64>>::Chunk) -> [f32; CHUNK] {
        isa.narrow_f64(sum)
    }

    #[inline(always)]
    fn round(sum: f64) -> f32 {
        sum as f32
    }
}

macro_rules! summed_in_f32 {
    ($($type:ty),*) => {
        $(impl Summed for $type {
            type Sum = f32;

            #[inline(always)]
            fn finish<I: Isa>(isa: I, sum: <I as Ops<f32>>::Chunk) -> [$type; CHUNK] {
                <$type as crate::kernel::element::Activation>::store(isa, sum)
            }

            #[inline(always)]
            fn round(sum: f32) -> $type {
                <$type as crate::kernel::element::Activation>::round(sum)
            }
        })*
    };
}

summed_in_f32!(f16, bf16);

/// The rows of a stream into new memory, from row `first` on.
struct Sums<'a, 's, T> {
    stream: &'a mut Stream<'s, T>,
    first: usize,
    xs: &'a [T],
    width: usize,
    taps: &'a RowTaps,
}

impl<T: Summed> Work for Sums<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let Self {
            stream,
            first,
            xs,
            width,
            taps,
        } = self;
        let ops = T::Sum::ops(isa);
        let mut row = first;
        while stream.room() > 0 {
            let (sources, weights) = taps.of(row);
            let (near, far) = (width - width % (2 * CHUNK), width - width % CHUNK);
            row += 1;
            // Where nothing contributes, what is selected is not read.
            stream.select(0, width);
            stream.replace(
                (0..near).step_by(2 * CHUNK),
                #[inline(always)]
                |_: [T; 2 * CHUNK], column| {
                    let ([source, sources @ ..], [weight, weights @ ..]) = (sources, weights)
                    else {
                        return [T::default(); 2 * CHUNK];
                    };
                    let [mut a, mut b] =
                        pair::<T, I>(isa, xs, *source as usize * width + column, *weight);
                    for (source, weight) in sources.iter().zip(weights) {
                        let [c, d] =
                            pair::<T, I>(isa, xs, *source as usize * width + column, *weight);
                        (a, b) = (ops.add(a, c), ops.add(b, d));
                    }
                    cast([T::finish(isa, a), T::finish(isa, b)])
                },
            );
            stream.replace(
                (near..far).step_by(CHUNK),
                #[inline(always)]
                |_: [T; CHUNK], column| {
                    let ([source, sources @ ..], [weight, weights @ ..]) = (sources, weights)
                    else {
                        return [T::default(); CHUNK];
                    };
                    let mut sum =
                        term::<T, I>(isa, &xs[*source as usize * width + column..], *weight);
                    for (source, weight) in sources.iter().zip(weights) {
                        let x = &xs[*source as usize * width + column..];
                        sum = ops.add(sum, term::<T, I>(isa, x, *weight));
                    }
                    T::finish(isa, sum)
                },
            );
            stream.replace(
                far..width,
                #[inline(always)]
                |_: [T; 1], column| {
                    let mut sum = None;
                    for (source, weight) in sources.iter().zip(weights) {
                        let x = xs[*source as usize * width + column].widen();
                        let term = x * T::Sum::from_f64(*weight);
                        sum = Some(sum.map_or(term, |sum| sum + term));
                    }
                    [sum.map_or(T::default(), T::round)]
                },
            );
        }
    }
}

/// [`CHUNK`] sums on an instruction set.
type SumChunk<I, T> = <<<T as Summed>::Sum as Compute>::Ops<I> as Ops<<T as Summed>::Sum>>::Chunk;

/// Returns the products of the first elements with a weight.
#[inline(always)]
fn term<T: Summed, I: Isa>(isa: I, xs: &[T], weight: f64) -> SumChunk<I, T> {
    let ops = T::Sum::ops(isa);
    let weight = ops.splat(T::Sum::from_f64(weight));
    match xs.first_chunk() {
        Some(x) => ops.mul(T::load(isa, *x), weight),
        // Rows have complete chunks here.
        None => weight,
    }
}

/// Returns the products of two chunks from `at` on with a weight.
#[inline(always)]
fn pair<T: Summed, I: Isa>(isa: I, xs: &[T], at: usize, weight: f64) -> [SumChunk<I, T>; 2] {
    let x = &xs[at..at + 2 * CHUNK];
    [
        term::<T, I>(isa, x, weight),
        term::<T, I>(isa, &x[CHUNK..], weight),
    ]
}
