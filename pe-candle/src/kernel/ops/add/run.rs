//! The inner loops, on the instruction set chosen.

use crate::kernel::isa::{Isa, STEP, Work};
use crate::kernel::mask::{GROUP, Mask};
use crate::kernel::number::{Entry, Number, Wide};
use crate::kernel::place::Place;
use crate::kernel::token_rows::TokenRows;
use crate::kernel::words::Words;

/// Which row of the table each row of an input takes.
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
    /// After how many elements the same rows are taken again, in the same order.
    pub(crate) fn period(&self) -> Option<usize> {
        let again = match self.rows {
            TokenRows::From(_) | TokenRows::PerStep(_) => !self.sequence_first && self.batch > 1,
            _ => false,
        };
        again.then_some(self.time * self.width)
    }

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

/// Dropout of a run: the mask, and what the elements that stay are multiplied by.
pub(crate) type Drop<W> = (Mask, W);

/// `mask(x * scale + table[row])`.
pub(crate) struct AddRows<'a, T: Number, P, L> {
    pub(crate) place: L,
    /// The index of the first element in the whole tensor.
    pub(crate) first: usize,
    pub(crate) table: &'a [P],
    pub(crate) map: RowMap<'a>,
    pub(crate) scale: Option<T::Wide>,
    pub(crate) masking: Option<Drop<T::Wide>>,
}

impl<T: Number, P: Entry<T::Wide>, L: Place<T>> AddRows<'_, T, P, L> {
    /// Calls `f` for each run of elements with its entries.
    #[inline(always)]
    fn runs(mut self, mut f: impl FnMut(&mut L, usize, &[P])) {
        while self.place.left() > 0 {
            let (start, len) = self.map.run(self.first, self.place.left());
            f(&mut self.place, self.first, &self.table[start..start + len]);
            self.first += len;
        }
    }
}

impl<T: Number, P: Entry<T::Wide>, L: Place<T>> Work for AddRows<'_, T, P, L> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        match self.scale.map(|scale| T::Wide::splat(isa, scale)) {
            None => self.add(
                isa,
                #[inline(always)]
                |x| x,
            ),
            Some(scale) => self.add(
                isa,
                #[inline(always)]
                |x| scaled::<I, T::Wide>(isa, x, scale),
            ),
        }
    }
}

type Step<I, T> = <<T as Number>::Wide as Wide>::Step<I>;

impl<T: Number, P: Entry<T::Wide>, L: Place<T>> AddRows<'_, T, P, L> {
    #[inline(always)]
    fn add<I: Isa>(self, isa: I, scale: impl Fn(Step<I, T>) -> Step<I, T> + Copy) {
        let sum = inlined(
            #[inline(always)]
            |x: [T; STEP], entries: [P; STEP]| {
                let x = scale(T::load(isa, x));
                T::Wide::sum(isa, x, P::load(isa, entries))
            },
        );
        match self.masking {
            None => self.runs(
                #[inline(always)]
                |place, _, entries| {
                    place.steps(
                        entries,
                        #[inline(always)]
                        |x, entries| T::store(isa, sum(x, entries)),
                    );
                },
            ),
            Some(masking) => {
                let mut dropping = Dropping::new(isa, &masking);
                self.runs(
                    #[inline(always)]
                    |place, first, entries| {
                        dropping.run::<T, _>(
                            place,
                            first,
                            entries,
                            sum,
                            #[inline(always)]
                            |x| x,
                        );
                    },
                );
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
    pub(crate) masking: Option<Drop<T::Wide>>,
}

impl<T: Number, L: Place<T>> Work for MaskRows<T, L> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let Self { mut place, .. } = self;
        let entries = &NOTHING[..place.left()];
        let load = inlined(
            #[inline(always)]
            |x, _| T::load(isa, x),
        );
        match (self.masking, self.scale) {
            (None, None) => {}
            (None, Some(scale)) => {
                let scale = T::Wide::splat(isa, scale);
                place.steps(
                    entries,
                    #[inline(always)]
                    |x, _| T::store(isa, scaled::<I, T::Wide>(isa, T::load(isa, x), scale)),
                );
            }
            (Some(masking), None) => Dropping::new(isa, &masking).run::<T, _>(
                &mut place,
                self.first,
                entries,
                load,
                #[inline(always)]
                |x| x,
            ),
            (Some(masking), Some(scale)) => {
                let scale = T::Wide::splat(isa, scale);
                Dropping::new(isa, &masking).run::<T, _>(
                    &mut place,
                    self.first,
                    entries,
                    load,
                    #[inline(always)]
                    |x| scaled::<I, T::Wide>(isa, x, scale),
                );
            }
        }
    }
}

/// The closure itself: only one that is an argument may be marked to be inlined.
#[inline(always)]
fn inlined<A, B, C>(f: impl Fn(A, B) -> C + Copy) -> impl Fn(A, B) -> C + Copy {
    f
}

/// For runs without entries of a table.
const NOTHING: &[(); usize::MAX] = &[(); usize::MAX];

/// Dropout on an instruction set.
struct Dropping<I: Isa, W: Wide> {
    isa: I,
    words: Words<I>,
    threshold: u32,
    factor: W::Step<I>,
}

impl<I: Isa, W: Wide> Dropping<I, W> {
    #[inline(always)]
    fn new(isa: I, (mask, factor): &Drop<W>) -> Self {
        Self {
            isa,
            words: Words::new(isa, *mask),
            threshold: mask.threshold,
            factor: W::splat(isa, *factor),
        }
    }

    /// Takes a run of elements from `first` on, each with its entry: what `before` makes of
    /// them is dropped or kept, and goes through `after`.
    #[inline(always)]
    fn run<T: Number<Wide = W>, P: Copy + Default>(
        &mut self,
        place: &mut impl Place<T>,
        mut first: usize,
        mut entries: &[P],
        before: impl Fn([T; STEP], [P; STEP]) -> W::Step<I> + Copy,
        after: impl Fn(W::Step<I>) -> W::Step<I> + Copy,
    ) {
        let (isa, threshold, factor) = (self.isa, self.threshold, self.factor);
        let drop = inlined(
            #[inline(always)]
            |x, (entries, words)| {
                let product = W::product(isa, before(x, entries), factor);
                T::store(isa, after(W::keep(isa, words, threshold, product)))
            },
        );
        while !entries.is_empty() {
            let within = first % 4;
            // So that groups begin where lines of the cache do, if blocks can.
            let lead = place.lead(entries.len());
            let lead = if (first + lead).is_multiple_of(4) {
                lead
            } else {
                0
            };
            let len = if lead == 0 && within == 0 && entries.len() >= GROUP {
                let len = entries.len() / GROUP * GROUP;
                let mut block = first as u64 / 4;
                place.groups(
                    &entries[..len],
                    #[inline(always)]
                    || {
                        let words = self.words.make(block);
                        block += GROUP as u64 / 4;
                        words
                    },
                    #[inline(always)]
                    |words, x, entries| drop(x, (entries, words)),
                );
                len
            } else {
                let few = if entries.len() < GROUP {
                    entries.len()
                } else if lead != 0 {
                    lead
                } else {
                    4 - within
                };
                let mut words = self.words.from(first, few);
                place.steps(
                    &entries[..few],
                    #[inline(always)]
                    |x, entries| {
                        let Some((now, rest)) = words.split_first_chunk() else {
                            return x;
                        };
                        words = rest;
                        drop(x, (entries, isa.words(*now)))
                    },
                );
                few
            };
            (first, entries) = (first + len, &entries[len..]);
        }
    }
}

/// As Candle's `affine(scale, 0)`, which makes -0 to +0.
#[inline(always)]
fn scaled<I: Isa, W: Wide>(isa: I, value: W::Step<I>, scale: W::Step<I>) -> W::Step<I> {
    W::sum(isa, W::product(isa, value, scale), W::splat(isa, W::ZERO))
}
