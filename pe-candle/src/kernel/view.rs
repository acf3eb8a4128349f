//! The way of a pass through the elements of a tensor: of any strides, in blocks that stay in the L1 cache, on as
//! many threads as pay.

use std::mem::take;

use candle_core::Layout;

use super::dispatch::Input;
use super::element::Activation;
use super::raw::{Run, Stream, fresh, share_out, threads};

/// Elements that are gathered at a time: 4 KiB of `f32`.
const BLOCK: usize = 1024;

/// The fewest elements of rows that are not gathered.
const SHORT: usize = 64;

/// Number of elements at which a second thread starts to pay, if each is only loaded, added to, and stored.
/// Waking it takes 12 to 40 us: 256 Ki elements of `f32` in the L2 cache take 33 us on
/// one thread and 43 or more on two, 1024 Ki some 140 on either.
pub(crate) const PARALLEL: usize = 1 << 20;

/// The same with random words, which cost four times as much: 256 Ki take 105 us on one thread
/// and 80 on two.
pub(crate) const PARALLEL_MASK: usize = 1 << 18;

/// An operation on each element by itself.
pub(crate) trait Pass<T>: Sync {
    /// Returns the number of elements at which threads start to pay.
    fn parallel_from(&self) -> usize;

    /// Returns the number of elements after which the same entries of a table are read again, if those are too many to
    /// stay in the L2 cache until then.
    fn period(&self) -> Option<usize>;

    /// Replaces the run of the stream. Its first element has the index `first` in row-major order.
    fn apply(&self, first: usize, stream: &mut Stream<'_, T>);
}

/// The elements of a tensor in memory: rows of `width`, numbered in two levels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View {
    start: usize,
    count: usize,
    contiguous: bool,
    /// Rows per step of the outer stride.
    inner: usize,
    width: usize,
    /// Outer, inner, and from element to element.
    strides: [usize; 3],
}

impl View {
    /// Returns `None` for more than three axes in another order than theirs.
    pub(crate) fn new(layout: &Layout) -> Option<Self> {
        let count = layout.shape().elem_count();
        let contiguous = layout.is_contiguous();
        let (inner, width, strides) = match (layout.dims(), layout.stride()) {
            _ if contiguous => (1, count.max(1), [0, 0, 1]),
            ([_, inner, width], [a, b, c]) => (*inner, *width, [*a, *b, *c]),
            ([inner, width], [b, c]) => (*inner, *width, [0, *b, *c]),
            ([width], [c]) => (1, *width, [0, 0, *c]),
            _ => return None,
        };
        Some(Self {
            start: layout.start_offset(),
            count,
            contiguous,
            inner,
            width,
            strides,
        })
    }

    /// Returns the run that begins with element `first`, of at most `len` elements.
    fn run(&self, first: usize, len: usize) -> Run {
        let (row, column) = (first / self.width, first % self.width);
        let [outer, inner, step] = self.strides;
        let start =
            self.start + row / self.inner * outer + row % self.inner * inner + column * step;
        (start, step, len.min(self.width - column))
    }

    /// Returns the runs of the elements `first .. end`.
    fn runs(&self, mut first: usize, end: usize) -> impl Iterator<Item = Run> {
        std::iter::from_fn(move || {
            let run = (first < end).then(|| self.run(first, end - first))?;
            first += run.2;
            Some(run)
        })
    }

    /// Passes through the elements `first .. end`. Short runs are gathered first.
    fn pass<T: Activation>(
        &self,
        mut first: usize,
        end: usize,
        stream: &mut Stream<'_, T>,
        pass: &dyn Pass<T>,
    ) {
        while first < end {
            let (start, step, len) = self.run(first, end - first);
            if step == 1 && (self.width >= SHORT || len == end - first) {
                stream.select(start, len);
                pass.apply(first, stream);
                first += len;
            } else {
                let last = end.min(first + BLOCK);
                stream.gather(&mut self.runs(first, last));
                pass.apply(first, stream);
                stream.scatter(&mut self.runs(first, last));
                first = last;
            }
        }
    }

    /// Passes through all elements. Returns the results in row-major order, or `None` if they replaced the elements: then
    /// no two elements may share their memory.
    pub(crate) fn map<T: Activation>(
        &self,
        xs: Input<'_, [T]>,
        pass: &dyn Pass<T>,
    ) -> Option<Vec<T>> {
        let (count, threads_pay) = (self.count, threads_pay(self.count, pass));
        let share = |count| if threads_pay { piece(count) } else { count };
        let xs = match xs {
            Input::Read(xs) => {
                return Some(fresh(xs, count, share(count), &|first, stream| {
                    self.pass(first, first + stream.room(), stream, pass);
                }));
            }
            Input::InPlace(xs) => xs,
        };
        if !self.contiguous {
            self.pass(0, count, &mut Stream::in_place(xs), pass);
            return None;
        }
        let xs = &mut xs[self.start..self.start + count];
        if let Some(period) = pass.period() {
            side_by_side(xs, period, share(period), pass);
        } else if threads_pay {
            let piece = share(count);
            share_out(xs.chunks_mut(piece).enumerate(), |(index, xs)| {
                pass.apply(index * piece, &mut Stream::in_place(xs));
            });
        } else {
            pass.apply(0, &mut Stream::in_place(xs));
        }
        None
    }
}

/// Bytes of a walk that are replaced before those of the next one: less than a page, since the CPU reads ahead within
/// pages, and is to read ahead in all walks at once.
const TILE: usize = 2048;

/// Walks that are interleaved. One alone keeps too few cache lines in flight, and with more than four the L1 cache, of
/// eight ways, has none left for the table.
const ABREAST: usize = 4;

/// Elements that are replaced part by part: the index of the first, and those that are left.
struct Walk<'a, T> {
    first: usize,
    left: &'a mut [T],
}

impl<T: Activation> Walk<'_, T> {
    /// Replaces the next `len` elements, or those that are left.
    fn step(&mut self, len: usize, pass: &dyn Pass<T>) {
        let len = len.min(self.left.len());
        let (now, left) = take(&mut self.left).split_at_mut(len);
        pass.apply(self.first, &mut Stream::in_place(now));
        (self.first, self.left) = (self.first + now.len(), left);
    }
}

/// Passes over memory in which the same entries are read again after each period: several periods are interleaved, so that
/// these entries are in the L1 cache for all but the first of them. Threads share out the elements of a period.
fn side_by_side<T: Activation>(xs: &mut [T], period: usize, piece: usize, pass: &dyn Pass<T>) {
    let mut shares: Vec<Vec<_>> = (0..period.div_ceil(piece)).map(|_| Vec::new()).collect();
    for (index, xs) in xs.chunks_mut(period).enumerate() {
        let starts = (index * period..).step_by(piece);
        for ((share, left), first) in shares.iter_mut().zip(xs.chunks_mut(piece)).zip(starts) {
            share.push(Walk { first, left });
        }
    }
    let walk = |mut share: Vec<Walk<'_, T>>| {
        let groups = share.len().div_ceil(ABREAST);
        let abreast = share.len().div_ceil(groups);
        for group in share.chunks_mut(abreast) {
            for walk in &mut *group {
                let to_line = Stream::in_place(walk.left).to_line();
                walk.step(to_line % BLOCK, pass);
            }
            while group.iter().any(|walk| !walk.left.is_empty()) {
                for walk in &mut *group {
                    walk.step(TILE / size_of::<T>(), pass);
                }
            }
        }
    };
    share_out(shares.into_iter(), walk);
}

/// Returns the number of elements that a thread processes at a time.
fn piece(count: usize) -> usize {
    let pieces = 4 * threads();
    count.div_ceil(pieces).next_multiple_of(BLOCK)
}

/// Returns whether several threads pay. Their number is requested last, because the first request starts
/// rayon's pool.
fn threads_pay<T>(count: usize, pass: &dyn Pass<T>) -> bool {
    count >= pass.parallel_from() && threads() > 1
}
