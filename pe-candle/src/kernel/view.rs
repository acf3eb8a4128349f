//! How a pass gets its elements: from any strides, in blocks that stay in the nearest
//! cache, on as many threads as pay.

use std::mem::take;

use candle_core::Layout;

use super::number::Number;
use super::place::{Change, Place, Write};
use super::raw::{LINE, fresh, share_out, threads};

/// Elements that are gathered at a time: 4 KiB of `f32`. A multiple of four, so that a
/// block of elements begins with a block of random words.
const BLOCK: usize = 1024;

/// Elements from which on a second thread pays, where each is only loaded, added to and stored.
/// Waking it takes 12 to 40 us: 256 Ki elements of `f32` in the second-level cache take 33 us on
/// one thread and 43 or more on two, 1024 Ki some 140 on either.
pub(crate) const PARALLEL: usize = 1 << 20;

/// The same with random words, which cost four times as much: 256 Ki take 105 us on one thread
/// and 80 on two.
pub(crate) const PARALLEL_MASK: usize = 1 << 18;

/// Something done to each element by itself.
pub(crate) trait Pass<T>: Sync {
    /// How many elements there must be for threads to pay.
    fn parallel_from(&self) -> usize;

    /// After how many elements the same entries of a table are taken again, where those are too
    /// many to stay in a near cache until then.
    fn period(&self) -> Option<usize>;

    /// Does it to the elements `first ..` of the tensor, in row-major order.
    fn apply(&self, first: usize, place: impl Place<T>);
}

/// Where the elements of a tensor stand in memory: rows of `width`, numbered in two levels.
#[derive(Debug, Clone, Copy)]
struct View {
    start: usize,
    /// Rows per step of the outer stride.
    inner: usize,
    width: usize,
    /// Outer, inner, and from element to element.
    strides: [usize; 3],
}

/// A run of elements: where it starts, how far they are apart, how many they are.
type Run = (usize, usize, usize);

impl View {
    /// At most three axes: `None` for more.
    fn new(layout: &Layout) -> Option<Self> {
        let start = layout.start_offset();
        let count = layout.shape().elem_count();
        if layout.is_contiguous() {
            return Some(Self {
                start,
                inner: 1,
                width: count.max(1),
                strides: [0, 0, 1],
            });
        }
        let (inner, width, strides) = match (layout.dims(), layout.stride()) {
            ([_, inner, width], [a, b, c]) => (*inner, *width, [*a, *b, *c]),
            ([inner, width], [b, c]) => (*inner, *width, [0, *b, *c]),
            ([width], [c]) => (1, *width, [0, 0, *c]),
            _ => return None,
        };
        Some(Self {
            start,
            inner,
            width,
            strides,
        })
    }

    /// The run that begins with element `first`, of at most `len` elements.
    fn run(&self, first: usize, len: usize) -> Run {
        let (row, column) = (first / self.width, first % self.width);
        let [outer, inner, step] = self.strides;
        let start =
            self.start + row / self.inner * outer + row % self.inner * inner + column * step;
        (start, step, len.min(self.width - column))
    }

    /// Copies the elements from `first` on.
    fn copy<T: Copy>(&self, xs: &[T], mut first: usize, out: &mut [T]) {
        let mut out = out;
        while !out.is_empty() {
            let (start, step, len) = self.run(first, out.len());
            let (to, rest) = out.split_at_mut(len);
            match step {
                1 => to.copy_from_slice(&xs[start..start + len]),
                0 => to.fill(xs[start]),
                _ => {
                    for (y, x) in to.iter_mut().zip(xs[start..].iter().step_by(step)) {
                        *y = *x;
                    }
                }
            }
            (out, first) = (rest, first + len);
        }
    }
}

/// The elements of a tensor after a pass, in row-major order; `None` if the tensor has more
/// than three axes and is not contiguous.
pub(crate) fn map<T: Number>(xs: &[T], layout: &Layout, pass: &impl Pass<T>) -> Option<Vec<T>> {
    let view = View::new(layout)?;
    let count = layout.shape().elem_count();
    // Short runs are gathered first.
    let direct = layout.is_contiguous() || view.strides[2] == 1 && view.width >= 64;
    let piece = if threads_pay(count, pass) {
        piece(count)
    } else {
        count
    };
    Some(fresh(count, piece, |mut first, room| {
        while direct && room.left() > 0 {
            let (start, _, len) = view.run(first, room.left());
            pass.apply(first, Write(&xs[start..start + len], room));
            first += len;
        }
        let mut gathered = [T::default(); BLOCK];
        while room.left() > 0 {
            let gathered = &mut gathered[..BLOCK.min(room.left())];
            view.copy(xs, first, gathered);
            pass.apply(first, Write(gathered, room));
            first += gathered.len();
        }
    }))
}

/// Bytes that are taken of each run in turn, where several are walked side by side: less than a
/// page, since the processor reads ahead within pages, and all runs are to be read ahead at once.
const TILE: usize = 2048;

/// Runs that are walked side by side. One run keeps too few lines on their way from memory, and
/// with more than four the nearest cache, of eight ways, has none left for the table.
const ABREAST: usize = 4;

/// A run of elements that is walked by and by: the index of the first, and what is left.
struct Walk<'a, T> {
    first: usize,
    left: &'a mut [T],
}

impl<T: Number> Walk<'_, T> {
    /// Takes the next elements, as many as there are of `len`.
    fn step(&mut self, len: usize, pass: &impl Pass<T>) {
        let len = len.min(self.left.len());
        let (now, left) = take(&mut self.left).split_at_mut(len);
        pass.apply(self.first, Change(now));
        (self.first, self.left) = (self.first + now.len(), left);
    }
}

/// A pass over memory in which the same entries are taken again after each period: some periods
/// side by side, so that these entries are in the nearest cache for all but the first of them.
/// Threads share out what there is in a period.
fn side_by_side<T: Number>(xs: &mut [T], period: usize, piece: usize, pass: &impl Pass<T>) {
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
                let to_line = walk.left.as_ptr().align_offset(LINE);
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

/// A pass over a tensor's own memory. No two of its elements may share a place.
pub(crate) fn map_in_place<T: Number>(xs: &mut [T], layout: &Layout, pass: &impl Pass<T>) -> bool {
    let Some(view) = View::new(layout) else {
        return false;
    };
    let count = layout.shape().elem_count();
    if let Some((start, end)) = layout.contiguous_offsets() {
        let xs = &mut xs[start..end];
        let threads_pay = threads_pay(count, pass);
        if let Some(period) = pass.period() {
            let piece = if threads_pay { piece(period) } else { period };
            side_by_side(xs, period, piece, pass);
        } else if threads_pay {
            let piece = piece(count);
            let pieces = xs.chunks_mut(piece).enumerate();
            share_out(pieces, |(index, xs)| pass.apply(index * piece, Change(xs)));
        } else {
            pass.apply(0, Change(xs));
        }
        return true;
    }
    let mut gathered = [T::default(); BLOCK];
    let mut first = 0;
    while first < count {
        let (start, step, len) = view.run(first, count - first);
        if step == 1 {
            pass.apply(first, Change(&mut xs[start..start + len]));
            first += len;
            continue;
        }
        let gathered = &mut gathered[..len.min(BLOCK)];
        for (to, x) in gathered.iter_mut().zip(xs[start..].iter().step_by(step)) {
            *to = *x;
        }
        pass.apply(first, Change(gathered));
        for (x, from) in xs[start..].iter_mut().step_by(step).zip(&*gathered) {
            *x = *from;
        }
        first += gathered.len();
    }
    true
}

/// How many elements a thread takes at a time.
fn piece(count: usize) -> usize {
    let pieces = 4 * threads();
    count.div_ceil(pieces).next_multiple_of(BLOCK)
}

/// Whether there is work for several threads. Their number is asked for last, since the first question
/// starts rayon's pool.
fn threads_pay<T>(count: usize, pass: &impl Pass<T>) -> bool {
    count >= pass.parallel_from() && threads() > 1
}
