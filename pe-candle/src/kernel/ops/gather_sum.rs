//! Weighted sums of rows of a table, as one operation with its gradient.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, Layout, Result, Shape, Tensor, WithDType, bail};
use half::{bf16, f16};
use pe_core::{RowSums, RowTaps};
use pulp::cast;

use crate::kernel::dispatch::{Fused, Input, Operand};
use crate::kernel::element::{Compute, Entry};
use crate::kernel::isa::{CHUNK, Isa, Level, Ops, Work};
use crate::kernel::raw::{Stream, fresh, threads};

/// Number of products at which a second thread pays: 64 Ki take 10 to 40 us on one.
const PARALLEL: usize = 1 << 17;

/// Planes that are kept while the rows of a piece are written. Merged squares of patches use one for each of their rows.
const PLANES: usize = 8;

/// The rows that contribute to each row of a result, and the transposed sums of the gradient, which are computed when
/// they are needed.
#[derive(Debug)]
pub(crate) struct Gathering {
    pub(crate) taps: RowTaps,
    transposed: OnceLock<RowSums>,
}

impl Gathering {
    pub(crate) fn new(taps: RowTaps) -> Arc<Self> {
        Arc::new(Self {
            taps,
            transposed: OnceLock::new(),
        })
    }

    /// Returns the transposed sums.
    fn transposed(&self) -> &RowSums {
        self.transposed.get_or_init(|| self.taps.transposed())
    }
}

/// The sums, or their transposes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Forward,
    Backward,
}

/// `y[r] = sum_k weight[r, k] * x[row[r, k]]` in one pass, in the order of the weights.
///
/// Entries of `f32` and `f64` are summed in `f64`, those of 16 bits in `f32` with weights of `f32`, and a sum is rounded
/// once, as [`reference::gather_sum`](crate::layers::grid::reference) does: first the rows of a plane, which are not
/// rounded, then the sum of these. Weights with the sum one within 2^-48 (2^-19) leave equal entries unchanged in `f32`
/// (and the types of 16 bits).
///
/// The sums are linear. Their gradient is that of the transposed weights, which are products of both stages: each row
/// of the table adds up what the rows of the result pass on, in their order, whichever thread does it.
#[derive(Debug, Clone)]
pub(crate) struct GatherSum {
    pub(crate) gathering: Arc<Gathering>,
    pub(crate) side: Side,
    pub(crate) level: Level,
}

impl GatherSum {
    /// Returns the numbers of rows of the operand, of rows of the result, and of weights.
    fn sizes(&self) -> [usize; 3] {
        let taps = &self.gathering.taps;
        match self.side {
            Side::Forward => [taps.source_rows(), taps.rows(), taps.taps()],
            Side::Backward => [taps.rows(), taps.source_rows(), taps.taps()],
        }
    }

    fn sums<T: Summed + WithDType>(&self, xs: &[T], layout: &Layout) -> Result<CpuStorage> {
        let [sources, sums, taps] = self.sizes();
        let (Some((start, end)), [rows, width]) = (layout.contiguous_offsets(), layout.dims())
        else {
            bail!("rows must be contiguous, of shape [rows, width]");
        };
        if *rows != sources {
            bail!("{rows} rows do not go with sums of {sources}");
        }
        let (xs, width) = (&xs[start..end], *width);
        let pay = taps.saturating_mul(width) >= PARALLEL && threads() > 1;
        let pieces = if pay { 4 * threads() } else { 1 };
        let piece = sums.div_ceil(pieces).max(1) * width;
        let kept = Mutex::new(Vec::new());
        let lock = || kept.lock().unwrap_or_else(PoisonError::into_inner);
        let sums = fresh(xs, sums * width, piece.max(1), &|first, stream| {
            let rows = Rows {
                stream,
                first: first / width,
                xs,
                width,
            };
            match self.side {
                Side::Backward => self.level.run(Listed(rows, self.gathering.transposed())),
                Side::Forward => {
                    let mut planes = lock().pop().unwrap_or_default();
                    self.level
                        .run(Staged(rows, &self.gathering.taps, &mut planes));
                    lock().push(planes);
                }
            }
        });
        Ok(T::to_cpu_storage_owned(sums))
    }
}

impl Fused for GatherSum {
    fn name(&self) -> &'static str {
        "gather-sum"
    }

    fn shape(&self, layout: &Layout) -> Shape {
        let [_, sums, _] = self.sizes();
        (sums, layout.dims().last().copied().unwrap_or(0)).into()
    }

    fn run(
        &self,
        xs: Input<'_, CpuStorage>,
        layout: &Layout,
        _: &[Operand<'_>],
    ) -> Result<Option<CpuStorage>> {
        let Input::Read(xs) = xs else {
            bail!("sums of rows do not replace the rows");
        };
        Ok(Some(match xs {
            CpuStorage::F32(xs) => self.sums(xs, layout)?,
            CpuStorage::F64(xs) => self.sums(xs, layout)?,
            CpuStorage::F16(xs) => self.sums(xs, layout)?,
            CpuStorage::BF16(xs) => self.sums(xs, layout)?,
            _ => bail!("no kernel for sums of {}", xs.dtype().as_str()),
        }))
    }

    fn gradient(&self, grad: &Tensor) -> Result<Tensor> {
        let back = Self {
            side: match self.side {
                Side::Forward => Side::Backward,
                Side::Backward => Side::Forward,
            },
            ..self.clone()
        };
        back.apply(&grad.contiguous()?, &[])
    }
}

/// An element that is summed in a wider type, and rounded once.
trait Summed: Entry<Self::Sum> {
    type Sum: Compute + Entry<Self::Sum>;

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

/// Rows of a result that a stream writes, starting at row `first`.
struct Rows<'a, 's, T> {
    stream: &'a mut Stream<'s, T>,
    first: usize,
    xs: &'a [T],
    width: usize,
}

/// Rows, and their weights.
type Taps<'a> = (&'a [u32], &'a [f64]);

/// Sums of rows of the operand.
struct Listed<'a, 's, T>(Rows<'a, 's, T>, &'a RowSums);

impl<T: Summed> Work for Listed<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let Self(mut rows, sums) = self;
        let mut row = rows.first;
        while rows.stream.room() > 0 {
            rows.write(isa, rows.xs, sums.of(row));
            row += 1;
        }
    }
}

/// Sums of rows of planes, which are sums of blocks of the operand.
struct Staged<'a, 's, T: Summed>(Rows<'a, 's, T>, &'a RowTaps, &'a mut Vec<Plane<T>>);

/// A plane with its number, in the type that is summed in.
type Plane<T> = (usize, Vec<<T as Summed>::Sum>);

impl<T: Summed> Work for Staged<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let Self(mut rows, all, planes) = self;
        let (mut row, mut oldest) = (rows.first, 0);
        while rows.stream.room() > 0 {
            let (plane, taps) = all.row(row);
            let (len, blocks) = all.plane(plane);
            row += 1;
            if let ([block], [weight]) = blocks
                && *weight == 1.0
            {
                // The product would be the block.
                rows.write(isa, &rows.xs[*block as usize * rows.width..], taps);
                continue;
            }
            let known = planes.iter().position(|(known, _)| *known == plane);
            let at = known.unwrap_or_else(
                #[inline(always)]
                || {
                    if planes.len() < PLANES {
                        planes.push((plane, Vec::new()));
                        oldest = planes.len() - 1;
                    }
                    let at = oldest;
                    oldest = (oldest + 1) % PLANES;
                    let (number, sums) = &mut planes[at];
                    *number = plane;
                    sums.resize(len * rows.width, T::Sum::default());
                    add_blocks(isa, rows.xs, rows.width, blocks, sums);
                    at
                },
            );
            rows.write(isa, &planes[at].1, taps);
        }
    }
}

impl<T: Summed> Rows<'_, '_, T> {
    /// Writes the weighted sum of rows of `from`.
    #[inline(always)]
    fn write<X: Entry<T::Sum>, I: Isa>(
        &mut self,
        isa: I,
        from: &[X],
        (sources, weights): Taps<'_>,
    ) {
        let (ops, width) = (T::Sum::ops(isa), self.width);
        let (near, far) = (width - width % (2 * CHUNK), width - width % CHUNK);
        // Where nothing contributes, what is selected is not read.
        self.stream.select(0, width);
        self.stream.replace(
            (0..near).step_by(2 * CHUNK),
            #[inline(always)]
            |_: [T; 2 * CHUNK], column| {
                let ([source, sources @ ..], [weight, weights @ ..]) = (sources, weights) else {
                    return [T::default(); 2 * CHUNK];
                };
                let at = |source: u32| source as usize * width + column;
                let [mut a, mut b] = pair::<T, X, I>(isa, from, at(*source), *weight);
                for (source, weight) in sources.iter().zip(weights) {
                    let [c, d] = pair::<T, X, I>(isa, from, at(*source), *weight);
                    (a, b) = (ops.add(a, c), ops.add(b, d));
                }
                cast([T::finish(isa, a), T::finish(isa, b)])
            },
        );
        self.stream.replace(
            (near..far).step_by(CHUNK),
            #[inline(always)]
            |_: [T; CHUNK], column| match chunk::<T, X, I>(
                isa,
                from,
                width,
                column,
                (sources, weights),
            ) {
                Some(sum) => T::finish(isa, sum),
                None => [T::default(); CHUNK],
            },
        );
        self.stream.replace(
            far..width,
            #[inline(always)]
            |_: [T; 1], column| {
                let sum = single::<T, X>(from, width, column, (sources, weights));
                [sum.map_or(T::default(), T::round)]
            },
        );
    }
}

/// Writes the weighted sum of blocks of neighboring rows.
#[inline(always)]
fn add_blocks<T: Summed, I: Isa>(
    isa: I,
    xs: &[T],
    width: usize,
    blocks: Taps<'_>,
    sums: &mut [T::Sum],
) {
    let ops = T::Sum::ops(isa);
    let (chunks, last) = sums.as_chunks_mut::<CHUNK>();
    let far = chunks.len() * CHUNK;
    for (at, sums) in (0..).step_by(CHUNK).zip(chunks) {
        if let Some(sum) = chunk::<T, T, I>(isa, xs, width, at, blocks) {
            *sums = ops.array(sum);
        } else {
            sums.fill(T::Sum::default());
        }
    }
    for (at, sum) in (far..).zip(last) {
        *sum = single::<T, T>(xs, width, at, blocks).unwrap_or_default();
    }
}

/// [`CHUNK`] sums on an instruction set.
type SumChunk<I, T> = <<<T as Summed>::Sum as Compute>::Ops<I> as Ops<<T as Summed>::Sum>>::Chunk;

/// Returns the sums of a chunk that begins `at` elements after the beginnings of the rows, if any contribute.
#[inline(always)]
fn chunk<T: Summed, X: Entry<T::Sum>, I: Isa>(
    isa: I,
    from: &[X],
    width: usize,
    at: usize,
    (sources, weights): Taps<'_>,
) -> Option<SumChunk<I, T>> {
    let ops = T::Sum::ops(isa);
    let ([source, sources @ ..], [weight, weights @ ..]) = (sources, weights) else {
        return None;
    };
    let mut sum = term::<T, X, I>(isa, &from[*source as usize * width + at..], *weight);
    for (source, weight) in sources.iter().zip(weights) {
        let x = &from[*source as usize * width + at..];
        sum = ops.add(sum, term::<T, X, I>(isa, x, *weight));
    }
    Some(sum)
}

/// Returns the sum of the elements `at` elements after the beginnings of the rows, if any contribute.
#[inline(always)]
fn single<T: Summed, X: Entry<T::Sum>>(
    from: &[X],
    width: usize,
    at: usize,
    (sources, weights): Taps<'_>,
) -> Option<T::Sum> {
    let mut sum = None;
    for (source, weight) in sources.iter().zip(weights) {
        let x = from[*source as usize * width + at].widen();
        let term = x * T::Sum::from_f64(*weight);
        sum = Some(sum.map_or(term, |sum| sum + term));
    }
    sum
}

/// Returns the products of the first elements with a weight.
#[inline(always)]
fn term<T: Summed, X: Entry<T::Sum>, I: Isa>(isa: I, xs: &[X], weight: f64) -> SumChunk<I, T> {
    let ops = T::Sum::ops(isa);
    let weight = ops.splat(T::Sum::from_f64(weight));
    match xs.first_chunk() {
        Some(x) => ops.mul(X::load(isa, *x), weight),
        // Rows have complete chunks here.
        None => weight,
    }
}

/// Returns the products of two chunks starting at `at` with a weight.
#[inline(always)]
fn pair<T: Summed, X: Entry<T::Sum>, I: Isa>(
    isa: I,
    xs: &[X],
    at: usize,
    weight: f64,
) -> [SumChunk<I, T>; 2] {
    let x = &xs[at..at + 2 * CHUNK];
    [
        term::<T, X, I>(isa, x, weight),
        term::<T, X, I>(isa, &x[CHUNK..], weight),
    ]
}
