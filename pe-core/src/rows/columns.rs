//! Columns of the sines and cosines within a row.

use crate::error::{Error, Result};
use crate::spec::layout::{OddWidth, SinusoidLayout};

/// Columns of a row: `pairs` sines and cosines, and possibly a column of zeros. The last pair may
/// lack one column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Columns {
    pub(crate) width: usize,
    /// Pairs with at least one column in the row.
    pub(crate) pairs: usize,
    /// `None` for cosines and sines in two tables.
    layout: Option<SinusoidLayout>,
    /// Whether the last column is zero.
    padded: bool,
}

/// One column of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    Sine(usize),
    Cosine(usize),
    Zero,
}

/// Consecutive rows in memory: one slice of all columns and an empty one, or a slice of cosines and
/// one of sines.
pub(crate) struct Out<'a, T>(pub(crate) [&'a mut [T]; 2]);

impl<'a, T> Out<'a, T> {
    /// Wraps rows of all columns.
    pub(crate) fn one(rows: &'a mut [T]) -> Self {
        Self([rows, &mut []])
    }

    /// Returns the number of entries of the first slice.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.0[0].len()
    }

    /// Splits off the first `entries` of each slice, or all of a shorter one.
    #[inline(always)]
    pub(crate) fn split_at(self, entries: usize) -> (Self, Self) {
        let [a, b] = self.0;
        let (a, more_a) = a.split_at_mut(entries.min(a.len()));
        let (b, more_b) = b.split_at_mut(entries.min(b.len()));
        (Self([a, b]), Self([more_a, more_b]))
    }

    /// Returns the chunks of `entries` of each slice. The last may be shorter.
    pub(crate) fn chunks(self, entries: usize) -> impl Iterator<Item = Self> {
        let mut rest = Some(self);
        std::iter::from_fn(move || {
            let (first, more) = rest.take().filter(|rest| rest.len() > 0)?.split_at(entries);
            rest = Some(more);
            Some(first)
        })
    }

    /// Reborrows the slices.
    #[inline(always)]
    pub(crate) fn reborrow(&mut self) -> Out<'_, T> {
        let [a, b] = &mut self.0;
        Out([a, b])
    }
}

/// The parts of a row that complete pairs fill.
pub(crate) enum PairSlices<'a, T> {
    /// sin, cos, sin, cos ...
    Interleaved(&'a mut [T]),
    /// Sines and cosines in equal number.
    Halves {
        /// The sines.
        sines: &'a mut [T],
        /// The cosines.
        cosines: &'a mut [T],
    },
}

/// The sine and the cosine of a pair.
pub(crate) type Place<'a, T> = (&'a mut T, &'a mut T);

/// Returns the pairs of interleaved columns.
#[inline(always)]
pub(crate) fn interleaved<T>(columns: &mut [T]) -> impl Iterator<Item = Place<'_, T>> {
    let (pairs, _) = columns.as_chunks_mut::<2>();
    pairs.iter_mut().map(
        #[inline(always)]
        |[sine, cosine]| (sine, cosine),
    )
}

impl<T> PairSlices<'_, T> {
    /// Returns `count` pairs starting at number `first`.
    #[inline(always)]
    pub(crate) fn run(&mut self, first: usize, count: usize) -> PairSlices<'_, T> {
        let end = first + count;
        match self {
            Self::Interleaved(out) => PairSlices::Interleaved(&mut out[2 * first..2 * end]),
            Self::Halves { sines, cosines } => PairSlices::Halves {
                sines: &mut sines[first..end],
                cosines: &mut cosines[first..end],
            },
        }
    }

    /// Writes the sine and cosine of one pair. Returns whether the pair exists.
    pub(crate) fn set(&mut self, pair: usize, [sine, cosine]: [T; 2]) -> bool {
        let place = match self {
            Self::Interleaved(out) => interleaved(out).nth(pair),
            Self::Halves { sines, cosines } => sines.get_mut(pair).zip(cosines.get_mut(pair)),
        };
        place.map(|(s, c)| (*s, *c) = (sine, cosine)).is_some()
    }
}

impl Columns {
    pub(crate) fn new(width: usize, layout: SinusoidLayout, odd: OddWidth) -> Result<Self> {
        let is_odd = width % 2 == 1;
        let padded = is_odd && odd == OddWidth::ZeroPad;
        if is_odd && odd == OddWidth::Reject {
            return Err(Error::OddDModel { d_model: width });
        }
        Ok(Self {
            width,
            pairs: if padded { width / 2 } else { width.div_ceil(2) },
            layout: Some(layout),
            padded,
        })
    }

    /// Returns the columns of cosines and sines in two tables of `width`, with `pairs` pairs that
    /// rotate.
    pub(crate) fn apart(width: usize, pairs: usize) -> Self {
        Self {
            width,
            pairs,
            layout: None,
            padded: false,
        }
    }

    /// Returns the columns of each table. The second may not exist.
    pub(crate) fn widths(&self) -> [usize; 2] {
        let second = if self.layout.is_none() { self.width } else { 0 };
        [self.width, second]
    }

    /// Returns the number of complete pairs.
    #[inline(always)]
    pub(crate) fn complete_pairs(&self) -> usize {
        match self.layout {
            Some(_) => self.width / 2,
            None => self.pairs,
        }
    }

    /// Returns the content of a column of a single table, which must be below the width.
    pub(crate) fn at(&self, column: usize) -> Column {
        if self.padded && column + 1 == self.width {
            return Column::Zero;
        }
        let first_half = column < self.pairs;
        let sine = match self.layout {
            None | Some(SinusoidLayout::Interleaved) => {
                let sine = column.is_multiple_of(2);
                let of = if sine { Column::Sine } else { Column::Cosine };
                return of(column / 2);
            }
            Some(SinusoidLayout::Concatenated) => first_half,
            Some(SinusoidLayout::ConcatenatedCosFirst) => !first_half,
        };
        let pair = if first_half {
            column
        } else {
            column - self.pairs
        };
        if sine {
            Column::Sine(pair)
        } else {
            Column::Cosine(pair)
        }
    }

    /// Returns the columns (sine, cosine) of a complete pair.
    pub(crate) fn of_pair(&self, pair: usize) -> (usize, usize) {
        match self.layout {
            Some(SinusoidLayout::Interleaved) => (2 * pair, 2 * pair + 1),
            Some(SinusoidLayout::Concatenated) => (pair, self.pairs + pair),
            Some(SinusoidLayout::ConcatenatedCosFirst) => (self.pairs + pair, pair),
            None => (pair, pair),
        }
    }

    /// Returns the column outside the complete pairs at odd widths: the kept half of the last pair,
    /// or the zeros.
    pub(crate) fn odd_one_out(&self) -> Option<usize> {
        let layout = self.layout?;
        if self.width.is_multiple_of(2) {
            None
        } else if self.padded || layout == SinusoidLayout::Interleaved {
            Some(self.width - 1)
        } else {
            Some(self.pairs - 1)
        }
    }

    /// Returns the slices of a row that its complete pairs fill.
    #[inline(always)]
    pub(crate) fn split<'a, T>(&self, row: Out<'a, T>) -> PairSlices<'a, T> {
        let whole = self.complete_pairs();
        let [row, sin] = row.0;
        let (first, second, cos_first) = match self.layout {
            Some(SinusoidLayout::Interleaved) => {
                return PairSlices::Interleaved(&mut row[..2 * whole]);
            }
            None => (row, sin, true),
            Some(layout) => {
                let (first, second) = row.split_at_mut(self.pairs);
                let cos_first = layout == SinusoidLayout::ConcatenatedCosFirst;
                (first, second, cos_first)
            }
        };
        let (first, second) = (&mut first[..whole], &mut second[..whole]);
        let (sines, cosines) = if cos_first {
            (second, first)
        } else {
            (first, second)
        };
        PairSlices::Halves { sines, cosines }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use OddWidth::{Reject, RoundUp, Truncate, ZeroPad};
    use SinusoidLayout::{Concatenated, ConcatenatedCosFirst, Interleaved};

    fn described(columns: &Columns) -> String {
        let column = |at| match columns.at(at) {
            Column::Sine(pair) => format!("s{pair}"),
            Column::Cosine(pair) => format!("c{pair}"),
            Column::Zero => "0".to_owned(),
        };
        (0..columns.width).map(column).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn rows_written_out() {
        for (width, layout, odd, expected) in [
            (6, Interleaved, Reject, "s0 c0 s1 c1 s2 c2"),
            (5, Interleaved, Truncate, "s0 c0 s1 c1 s2"),
            (5, Interleaved, RoundUp, "s0 c0 s1 c1 s2"),
            (5, Interleaved, ZeroPad, "s0 c0 s1 c1 0"),
            (6, Concatenated, Reject, "s0 s1 s2 c0 c1 c2"),
            (5, Concatenated, Truncate, "s0 s1 s2 c0 c1"),
            (5, Concatenated, RoundUp, "s0 s1 s2 c0 c1"),
            (5, Concatenated, ZeroPad, "s0 s1 c0 c1 0"),
            (6, ConcatenatedCosFirst, Reject, "c0 c1 c2 s0 s1 s2"),
            (5, ConcatenatedCosFirst, Truncate, "c0 c1 c2 s0 s1"),
            (5, ConcatenatedCosFirst, RoundUp, "c0 c1 c2 s0 s1"),
            (5, ConcatenatedCosFirst, ZeroPad, "c0 c1 s0 s1 0"),
            (1, Interleaved, Truncate, "s0"),
            (1, Concatenated, RoundUp, "s0"),
            (1, ConcatenatedCosFirst, Truncate, "c0"),
            (1, ConcatenatedCosFirst, ZeroPad, "0"),
        ] {
            let columns = Columns::new(width, layout, odd).unwrap();
            assert_eq!(described(&columns), expected, "{columns:?}");
        }
    }

    /// The columns of a pair, alone and by slices, match the content of each column.
    #[test]
    fn pairs_stand_where_their_columns_say() {
        for layout in [Interleaved, Concatenated, ConcatenatedCosFirst] {
            for odd in [Truncate, RoundUp, ZeroPad] {
                for width in 1..=9 {
                    let columns = Columns::new(width, layout, odd).unwrap();
                    let mut row = vec![usize::MAX; width];
                    let mut slices = columns.split(Out::one(&mut row));
                    let mut left: Vec<usize> = (0..width).collect();
                    for pair in 0..columns.complete_pairs() {
                        let (sine, cosine) = columns.of_pair(pair);
                        assert_eq!(columns.at(sine), Column::Sine(pair), "{columns:?}");
                        assert_eq!(columns.at(cosine), Column::Cosine(pair), "{columns:?}");
                        assert!(slices.set(pair, [2 * pair, 2 * pair + 1]));
                        left.retain(|column| *column != sine && *column != cosine);
                    }
                    // Half a pair does not exist.
                    assert!(!slices.set(columns.complete_pairs(), [0, 0]));
                    for pair in 0..columns.complete_pairs() {
                        let (sine, cosine) = columns.of_pair(pair);
                        assert_eq!([row[sine], row[cosine]], [2 * pair, 2 * pair + 1]);
                    }
                    let lone: Vec<usize> = columns.odd_one_out().into_iter().collect();
                    assert_eq!(left, lone, "{columns:?}");
                }
            }
        }
    }
    #[test]
    fn cosines_and_sines_apart_fill_the_first_columns_of_two_tables() {
        let columns = Columns::apart(5, 3);
        assert_eq!((columns.widths(), columns.complete_pairs()), ([5, 5], 3));
        let (mut cos, mut sin) = ([0; 10], [0; 10]);
        let rows = Out([&mut cos, &mut sin]).chunks(5);
        for (row, first) in rows.zip([1, 10]) {
            let mut slices = columns.split(row);
            for pair in 0..3 {
                assert!(slices.set(pair, [first + pair, 100 * (first + pair)]));
            }
            assert!(!slices.set(3, [0, 0]));
        }
        assert_eq!(sin, [1, 2, 3, 0, 0, 10, 11, 12, 0, 0]);
        assert_eq!(cos, sin.map(|sine| 100 * sine));
    }
}
