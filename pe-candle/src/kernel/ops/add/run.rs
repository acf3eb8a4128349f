//! The inner loops, on the instruction set chosen.

use super::replace::{NOTHING, replace_aligned, replace_masked};
use crate::kernel::element::{Activation, Chunk, Compute, Entry};
use crate::kernel::isa::{Isa, Ops, Work};
use crate::kernel::mask::Mask;
use crate::kernel::raw::Stream;
use crate::kernel::token_rows::TokenRows;
use crate::kernel::words::Words;

/// The row of the table that each row of an input uses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowMap<'a> {
    pub(crate) width: usize,
    pub(crate) batch: usize,
    pub(crate) time: usize,
    /// Whether rows follow each other as `[T, B]`, not as `[B, T]`.
    pub(crate) sequence_first: bool,
    pub(crate) rows: &'a TokenRows,
}

impl RowMap<'_> {
    /// Returns the number of elements after which the same rows follow again, in the same order.
    pub(crate) fn period(&self) -> Option<usize> {
        let again = match self.rows {
            TokenRows::From(_) | TokenRows::PerStep(_) => !self.sequence_first && self.batch > 1,
            _ => false,
        };
        again.then_some(self.time * self.width)
    }

    /// Returns the row of the table that a row of the input uses.
    #[inline(always)]
    pub(super) fn id(&self, row: usize) -> u32 {
        let (batch, time) = self.token(row);
        self.rows.of(batch, time, self.time) as u32
    }

    /// Returns the batch and the time of a row of the input.
    #[inline(always)]
    fn token(&self, row: usize) -> (usize, usize) {
        if self.sequence_first {
            (row % self.batch, row / self.batch)
        } else {
            (row / self.time, row % self.time)
        }
    }

    /// Returns the index of the entry for element `first`, and the number of elements, at most `len`, whose entries
    /// follow it.
    #[inline(always)]
    fn run(&self, first: usize, len: usize) -> (usize, usize) {
        let (row, column) = (first / self.width, first % self.width);
        let (batch, time) = self.token(row);
        let id = self.rows.of(batch, time, self.time);
        let rows = match self.rows {
            TokenRows::From(_) if !self.sequence_first => self.time - time,
            _ => 1,
        };
        (
            id * self.width + column,
            len.min(rows * self.width - column),
        )
    }
}

/// A mask, and the factor of the elements that it keeps.
pub(crate) type Dropping<C> = (Mask, C);

/// `mask(x * scale + table[row])` for the run of a stream.
pub(crate) struct AddRows<'a, 's, T: Activation, P> {
    pub(crate) stream: &'a mut Stream<'s, T>,
    /// The index of the first element in the whole tensor.
    pub(crate) first: usize,
    pub(crate) table: &'a [P],
    pub(crate) map: RowMap<'a>,
    pub(crate) scale: Option<T::Compute>,
}

impl<'s, T: Activation, P: Entry<T::Compute>> AddRows<'_, 's, T, P> {
    /// Calls `f` for each run of elements with its entries.
    #[inline(always)]
    fn runs(self, mut f: impl FnMut(&mut Stream<'s, T>, usize, &[P])) {
        let mut first = self.first;
        while self.stream.left() > 0 {
            let (start, len) = self.map.run(first, self.stream.left());
            f(self.stream, first, &self.table[start..start + len]);
            first += len;
        }
    }

    #[inline(always)]
    fn add<I: Isa>(self, isa: I, scale: impl Fn(Chunk<I, T>) -> Chunk<I, T>) {
        let ops = T::Compute::ops(isa);
        self.runs(
            #[inline(always)]
            |stream, _, entries| {
                replace_aligned(
                    stream,
                    entries,
                    #[inline(always)]
                    |x, e| T::store(isa, ops.add(scale(T::load(isa, x)), P::load(isa, e))),
                );
            },
        );
    }

    #[inline(always)]
    fn add_and_drop<I: Isa>(
        self,
        isa: I,
        (mask, factor): Dropping<T::Compute>,
        scale: impl Fn(Chunk<I, T>) -> Chunk<I, T>,
    ) {
        let ops = T::Compute::ops(isa);
        let (mut words, factor) = (Words::new(isa, mask), ops.splat(factor));
        self.runs(
            #[inline(always)]
            |stream, first, entries| {
                replace_masked(
                    stream,
                    &mut words,
                    first,
                    entries,
                    #[inline(always)]
                    |x, e, words| {
                        let sum = ops.add(scale(T::load(isa, x)), P::load(isa, e));
                        let product = ops.mul(sum, factor);
                        T::store(isa, ops.select(words, mask.threshold, product))
                    },
                );
            },
        );
    }
}

/// The addition without dropout.
impl<T: Activation, P: Entry<T::Compute>> Work for AddRows<'_, '_, T, P> {
    type Output = ();

    const AVX512: bool = T::AVX512_PAYS;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let scale = Scale::<I, T>::new(isa, self.scale);
        match self.scale {
            None => self.add(
                isa,
                #[inline(always)]
                |x| x,
            ),
            Some(_) => self.add(
                isa,
                #[inline(always)]
                |x| scale.of(isa, x),
            ),
        }
    }
}

/// The addition with dropout.
pub(crate) struct AddAndDrop<'a, 's, T: Activation, P>(
    pub(crate) AddRows<'a, 's, T, P>,
    pub(crate) Dropping<T::Compute>,
);

impl<T: Activation, P: Entry<T::Compute>> Work for AddAndDrop<'_, '_, T, P> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let Self(rows, dropping) = self;
        let scale = Scale::<I, T>::new(isa, rows.scale);
        match rows.scale {
            None if I::UNSCALED => rows.add_and_drop(
                isa,
                dropping,
                #[inline(always)]
                |x| x,
            ),
            _ => rows.add_and_drop(
                isa,
                dropping,
                #[inline(always)]
                |x| scale.of(isa, x),
            ),
        }
    }
}

/// `mask(x) * scale` for the run of a stream: dropout alone, and the gradient of [`AddRows`].
pub(crate) struct MaskRows<'a, 's, T: Activation> {
    pub(crate) stream: &'a mut Stream<'s, T>,
    /// As in [`AddRows`].
    pub(crate) first: usize,
    pub(crate) scale: Option<T::Compute>,
    pub(crate) dropping: Option<Dropping<T::Compute>>,
}

impl<T: Activation> Work for MaskRows<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let scale = Scale::<I, T>::new(isa, self.scale);
        match (self.dropping, self.scale) {
            (Some(dropping), None) if I::UNSCALED => self.drop(
                isa,
                dropping,
                #[inline(always)]
                |x| x,
            ),
            (Some(dropping), _) => self.drop(
                isa,
                dropping,
                #[inline(always)]
                |x| scale.of(isa, x),
            ),
            (None, Some(_)) => replace_aligned(
                self.stream,
                &NOTHING[..self.stream.left()],
                #[inline(always)]
                |x, _| T::store(isa, scale.of(isa, T::load(isa, x))),
            ),
            (None, None) => self.stream.keep(),
        }
    }
}

impl<T: Activation> MaskRows<'_, '_, T> {
    #[inline(always)]
    fn drop<I: Isa>(
        self,
        isa: I,
        (mask, factor): Dropping<T::Compute>,
        scale: impl Fn(Chunk<I, T>) -> Chunk<I, T>,
    ) {
        let ops = T::Compute::ops(isa);
        let (entries, factor) = (&NOTHING[..self.stream.left()], ops.splat(factor));
        replace_masked(
            self.stream,
            &mut Words::new(isa, mask),
            self.first,
            entries,
            #[inline(always)]
            |x, _, words| {
                let product = ops.mul(T::load(isa, x), factor);
                T::store(isa, scale(ops.select(words, mask.threshold, product)))
            },
        );
    }
}

/// A factor in all lanes, and the zero that is added after it.
pub(super) struct Scale<I: Isa, T: Activation> {
    factor: Chunk<I, T>,
    zero: Chunk<I, T>,
}

impl<I: Isa, T: Activation> Scale<I, T> {
    /// Creates the factor. Without one it is 1, and the zero is negative: both leave every number unchanged, for less code
    /// than a second loop ([`Isa::UNSCALED`]).
    #[inline(always)]
    pub(super) fn new(isa: I, scale: Option<T::Compute>) -> Self {
        let ops = T::Compute::ops(isa);
        let (factor, zero) = match scale {
            Some(factor) => (factor, T::Compute::default()),
            None => (T::Compute::from_f64(1.0), T::Compute::from_f64(-0.0)),
        };
        let (factor, zero) = (ops.splat(factor), ops.splat(zero));
        Self { factor, zero }
    }

    /// Scales as Candle's `affine(scale, 0)` does, which changes -0 to +0.
    #[inline(always)]
    pub(super) fn of(&self, isa: I, x: Chunk<I, T>) -> Chunk<I, T> {
        let ops = T::Compute::ops(isa);
        ops.add(ops.mul(x, self.factor), self.zero)
    }
}
