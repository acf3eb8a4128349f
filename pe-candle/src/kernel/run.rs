//! The inner loops, on the instruction set chosen.
//!
//! Structures rather than closures are dispatched, and everything in them is
//! inlined: code that is not would be compiled for the plain instruction set.

use pulp::{Simd, WithSimd};

use super::mask::{GROUP, Mask};
use super::number::{Entry, Number, Wide};

/// Elements whose random words are made at once: 4 KiB on the stack.
const STRETCH: usize = 16 * GROUP;

/// What goes with each element of a run: entries of the table, random words, both, nothing.
pub(crate) trait Others: Copy {
    type Item;

    /// Those of the first `len` elements, and the rest.
    fn split(self, len: usize) -> (Self, Self);

    fn items(self) -> impl Iterator<Item = Self::Item>;
}

impl<P: Copy> Others for &[P] {
    type Item = P;

    #[inline(always)]
    fn split(self, len: usize) -> (Self, Self) {
        self.split_at(len)
    }

    #[inline(always)]
    fn items(self) -> impl Iterator<Item = P> {
        self.iter().copied()
    }
}

impl<A: Others, B: Others> Others for (A, B) {
    type Item = (A::Item, B::Item);

    #[inline(always)]
    fn split(self, len: usize) -> (Self, Self) {
        let ((a, more_a), (b, more_b)) = (self.0.split(len), self.1.split(len));
        ((a, b), (more_a, more_b))
    }

    #[inline(always)]
    fn items(self) -> impl Iterator<Item = Self::Item> {
        self.0.items().zip(self.1.items())
    }
}

impl Others for () {
    type Item = ();

    #[inline(always)]
    fn split(self, _: usize) -> (Self, Self) {
        ((), ())
    }

    #[inline(always)]
    fn items(self) -> impl Iterator<Item = ()> {
        std::iter::repeat(())
    }
}

/// Where elements come from and results go to.
pub(crate) trait Place<T> {
    /// How many elements are left.
    fn left(&self) -> usize;

    /// Takes the next `len` elements, each with one of `others`.
    fn put<O: Others>(&mut self, len: usize, others: O, f: impl Fn(T, O::Item) -> T);
}

/// In place.
pub(crate) struct Change<'a, T>(pub(crate) &'a mut [T]);

impl<T: Copy> Place<T> for Change<'_, T> {
    #[inline(always)]
    fn left(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn put<O: Others>(&mut self, len: usize, others: O, f: impl Fn(T, O::Item) -> T) {
        let (run, rest) = std::mem::take(&mut self.0).split_at_mut(len);
        for (y, other) in run.iter_mut().zip(others.items()) {
            *y = f(*y, other);
        }
        self.0 = rest;
    }
}

/// From one slice to another of the same length.
pub(crate) struct Write<'a, T>(pub(crate) &'a [T], pub(crate) &'a mut [T]);

impl<T: Copy> Place<T> for Write<'_, T> {
    #[inline(always)]
    fn left(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn put<O: Others>(&mut self, len: usize, others: O, f: impl Fn(T, O::Item) -> T) {
        let (xs, more) = self.0.split_at(len);
        let (ys, rest) = std::mem::take(&mut self.1).split_at_mut(len);
        for ((y, x), other) in ys.iter_mut().zip(xs).zip(others.items()) {
            *y = f(*x, other);
        }
        (self.0, self.1) = (more, rest);
    }
}

/// To the end of a vector, whose memory need not be zeroed first.
pub(crate) struct Append<'a, T>(pub(crate) &'a [T], pub(crate) &'a mut Vec<T>);

impl<T: Copy> Place<T> for Append<'_, T> {
    #[inline(always)]
    fn left(&self) -> usize {
        self.0.len()
    }

    /// Elements are copied and then changed while they are in the nearest cache:
    /// `Vec::extend` with the computation itself does not always become vector code.
    #[inline(always)]
    fn put<O: Others>(&mut self, len: usize, others: O, f: impl Fn(T, O::Item) -> T) {
        let (xs, more) = self.0.split_at(len);
        let mut others = others;
        for xs in xs.chunks(2048) {
            let (of_chunk, rest) = others.split(xs.len());
            let from = self.1.len();
            self.1.extend_from_slice(xs);
            for (y, other) in self.1[from..].iter_mut().zip(of_chunk.items()) {
                *y = f(*y, other);
            }
            others = rest;
        }
        self.0 = more;
    }
}

/// Which row of the table each row of an input takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowMap<'a> {
    pub(crate) width: usize,
    pub(crate) batch: usize,
    pub(crate) time: usize,
    /// Whether rows follow each other as `[T, B]`, not as `[B, T]`.
    pub(crate) sequence_first: bool,
    pub(crate) rows: RowIds<'a>,
}

/// Rows by number.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RowIds<'a> {
    /// The first, and the others in order.
    From(usize),
    /// One for each step, `[T]`.
    PerStep(&'a [u32]),
    /// One for each token, `[B, T]`.
    PerToken(&'a [u32]),
}

impl RowMap<'_> {
    /// Where the entries for the elements `first ..` begin in the table, and for how many of
    /// `len` elements they follow each other there.
    #[inline(always)]
    fn run(&self, first: usize, len: usize) -> (usize, usize) {
        let (row, column) = (first / self.width, first % self.width);
        let (batch, time) = if self.sequence_first {
            (row % self.batch, row / self.batch)
        } else {
            (row / self.time, row % self.time)
        };
        let id = match self.rows {
            RowIds::From(offset) => offset + time,
            RowIds::PerStep(ids) => ids[time] as usize,
            RowIds::PerToken(ids) => ids[batch * self.time + time] as usize,
        };
        let rows = match self.rows {
            RowIds::From(_) if !self.sequence_first => self.time - time,
            _ => 1,
        };
        (
            id * self.width + column,
            len.min(rows * self.width - column),
        )
    }
}

/// `mask(x * scale + table[row])`.
pub(crate) struct AddRows<'a, T: Number, P, L> {
    pub(crate) place: L,
    /// The index of the first element in the whole tensor; with a mask a multiple of four.
    pub(crate) first: usize,
    pub(crate) table: &'a [P],
    pub(crate) map: RowMap<'a>,
    pub(crate) scale: Option<T::Wide>,
    pub(crate) masking: Option<(Mask, T::Wide)>,
}

impl<T: Number, P: Entry<T::Wide>, L: Place<T>> WithSimd for AddRows<'_, T, P, L> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let (mut place, mut first) = (self.place, self.first);
        let Some((mask, factor)) = self.masking else {
            while place.left() > 0 {
                let (start, len) = self.map.run(first, place.left());
                let entries = &self.table[start..start + len];
                match self.scale {
                    None => place.put(
                        len,
                        entries,
                        #[inline(always)]
                        |x, entry| T::narrow(x.widen() + entry.widen()),
                    ),
                    Some(scale) => place.put(
                        len,
                        entries,
                        #[inline(always)]
                        |x, entry| T::narrow(scaled(x.widen(), scale) + entry.widen()),
                    ),
                }
                first += len;
            }
            return;
        };
        let mut words = [0; STRETCH];
        while place.left() > 0 {
            let mut words = mask.stretch(first, place.left(), &mut words);
            while !words.is_empty() {
                let (start, len) = self.map.run(first, words.len());
                let (of_run, rest) = words.split_at(len);
                let others = (&self.table[start..start + len], of_run);
                match self.scale {
                    None => place.put(
                        len,
                        others,
                        #[inline(always)]
                        |x, (entry, word)| {
                            let sum = x.widen() + entry.widen();
                            T::narrow(kept(sum, mask, word, factor))
                        },
                    ),
                    Some(scale) => place.put(
                        len,
                        others,
                        #[inline(always)]
                        |x, (entry, word)| {
                            let sum = scaled(x.widen(), scale) + entry.widen();
                            T::narrow(kept(sum, mask, word, factor))
                        },
                    ),
                }
                (words, first) = (rest, first + len);
            }
        }
    }
}

/// `mask(x) * scale`: dropout alone, and the gradient of [`AddRows`]. With neither there is
/// nothing to do.
pub(crate) struct MaskRows<T: Number, L> {
    pub(crate) place: L,
    /// As in [`AddRows`].
    pub(crate) first: usize,
    pub(crate) scale: Option<T::Wide>,
    pub(crate) masking: Option<(Mask, T::Wide)>,
}

impl<T: Number, L: Place<T>> WithSimd for MaskRows<T, L> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let (mut place, mut first) = (self.place, self.first);
        let Some((mask, factor)) = self.masking else {
            let Some(scale) = self.scale else { return };
            place.put(
                place.left(),
                (),
                #[inline(always)]
                |x, ()| T::narrow(scaled(x.widen(), scale)),
            );
            return;
        };
        let mut words = [0; STRETCH];
        while place.left() > 0 {
            let words = mask.stretch(first, place.left(), &mut words);
            let len = words.len();
            match self.scale {
                None => place.put(
                    len,
                    words,
                    #[inline(always)]
                    |x, word| T::narrow(kept(x.widen(), mask, word, factor)),
                ),
                Some(scale) => place.put(
                    len,
                    words,
                    #[inline(always)]
                    |x, word| {
                        let kept = kept(x.widen(), mask, word, factor);
                        T::narrow(scaled(kept, scale))
                    },
                ),
            }
            first += len;
        }
    }
}

/// As Candle's `affine(scale, 0)`, which makes -0 to +0.
#[inline(always)]
fn scaled<W: Wide>(value: W, scale: W) -> W {
    value * scale + W::ZERO
}

#[inline(always)]
fn kept<W: Wide>(value: W, mask: Mask, word: u32, factor: W) -> W {
    let product = value * factor;
    if mask.keeps(word) { product } else { W::ZERO }
}
