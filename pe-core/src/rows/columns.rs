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
    pub(crate) layout: SinusoidLayout,
    /// Whether the last column is zero.
    pub(crate) padded: bool,
}

/// One column of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    Sine(usize),
    Cosine(usize),
    Zero,
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

impl<'a, T> PairSlices<'a, T> {
    /// Splits off the first `pairs` pairs.
    #[inline(always)]
    pub(crate) fn split_at(self, pairs: usize) -> (Self, Self) {
        match self {
            Self::Interleaved(out) => {
                let (first, rest) = out.split_at_mut(2 * pairs);
                (Self::Interleaved(first), Self::Interleaved(rest))
            }
            Self::Halves { sines, cosines } => {
                let (sines, more_sines) = sines.split_at_mut(pairs);
                let (cosines, more_cosines) = cosines.split_at_mut(pairs);
                (
                    Self::Halves { sines, cosines },
                    Self::Halves {
                        sines: more_sines,
                        cosines: more_cosines,
                    },
                )
            }
        }
    }
}

/// The parts that complete pairs fill in two mirrored rows.
pub(crate) enum MirroredSlices<'a, T> {
    /// sin, cos, sin, cos ... of each row.
    Interleaved([&'a mut [T]; 2]),
    /// Sines and cosines of each row, in equal number.
    Halves {
        /// The sines.
        sines: [&'a mut [T]; 2],
        /// The cosines.
        cosines: [&'a mut [T]; 2],
    },
}

impl<'a, T> MirroredSlices<'a, T> {
    /// Splits off the first `pairs` pairs.
    #[inline(always)]
    pub(crate) fn split_at(self, pairs: usize) -> (Self, Self) {
        match self {
            Self::Interleaved([a, b]) => {
                let (a, more_a) = a.split_at_mut(2 * pairs);
                let (b, more_b) = b.split_at_mut(2 * pairs);
                (
                    Self::Interleaved([a, b]),
                    Self::Interleaved([more_a, more_b]),
                )
            }
            Self::Halves {
                sines: [sa, sb],
                cosines: [ca, cb],
            } => {
                let (sa, more_sa) = sa.split_at_mut(pairs);
                let (sb, more_sb) = sb.split_at_mut(pairs);
                let (ca, more_ca) = ca.split_at_mut(pairs);
                let (cb, more_cb) = cb.split_at_mut(pairs);
                (
                    Self::Halves {
                        sines: [sa, sb],
                        cosines: [ca, cb],
                    },
                    Self::Halves {
                        sines: [more_sa, more_sb],
                        cosines: [more_ca, more_cb],
                    },
                )
            }
        }
    }

    /// Reborrows the slices.
    #[inline(always)]
    pub(crate) fn reborrow(&mut self) -> MirroredSlices<'_, T> {
        match self {
            Self::Interleaved([a, b]) => MirroredSlices::Interleaved([a, b]),
            Self::Halves {
                sines: [sa, sb],
                cosines: [ca, cb],
            } => MirroredSlices::Halves {
                sines: [sa, sb],
                cosines: [ca, cb],
            },
        }
    }

    /// Returns the sine and cosine of one pair in one of the rows, if they exist.
    pub(crate) fn pair(&mut self, side: usize, pair: usize) -> Option<(&mut T, &mut T)> {
        match self {
            Self::Interleaved(rows) => match rows.get_mut(side)?.chunks_exact_mut(2).nth(pair)? {
                [sine, cosine] => Some((sine, cosine)),
                _ => None,
            },
            Self::Halves { sines, cosines } => Some((
                sines.get_mut(side)?.get_mut(pair)?,
                cosines.get_mut(side)?.get_mut(pair)?,
            )),
        }
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
            layout,
            padded,
        })
    }

    /// Returns the number of complete pairs.
    #[inline(always)]
    pub(crate) fn complete_pairs(&self) -> usize {
        self.width / 2
    }

    /// Returns the content of a column, which must be below the width.
    pub(crate) fn at(&self, column: usize) -> Column {
        if self.padded && column + 1 == self.width {
            return Column::Zero;
        }
        match self.layout {
            SinusoidLayout::Interleaved if column.is_multiple_of(2) => Column::Sine(column / 2),
            SinusoidLayout::Interleaved => Column::Cosine(column / 2),
            SinusoidLayout::Concatenated if column < self.pairs => Column::Sine(column),
            SinusoidLayout::Concatenated => Column::Cosine(column - self.pairs),
            SinusoidLayout::ConcatenatedCosFirst if column < self.pairs => Column::Cosine(column),
            SinusoidLayout::ConcatenatedCosFirst => Column::Sine(column - self.pairs),
        }
    }

    /// Returns the columns (sine, cosine) of a complete pair.
    pub(crate) fn of_pair(&self, pair: usize) -> (usize, usize) {
        match self.layout {
            SinusoidLayout::Interleaved => (2 * pair, 2 * pair + 1),
            SinusoidLayout::Concatenated => (pair, self.pairs + pair),
            SinusoidLayout::ConcatenatedCosFirst => (self.pairs + pair, pair),
        }
    }

    /// Returns the column outside the complete pairs at odd widths: the kept half of the last pair,
    /// or the zeros.
    pub(crate) fn odd_one_out(&self) -> Option<usize> {
        if self.width.is_multiple_of(2) {
            None
        } else if self.padded || self.layout == SinusoidLayout::Interleaved {
            Some(self.width - 1)
        } else {
            Some(self.pairs - 1)
        }
    }

    /// Returns the slices of a row that its complete pairs fill.
    #[inline(always)]
    pub(crate) fn split<'a, T>(&self, row: &'a mut [T]) -> PairSlices<'a, T> {
        let whole = self.complete_pairs();
        if self.layout == SinusoidLayout::Interleaved {
            return PairSlices::Interleaved(&mut row[..2 * whole]);
        }
        let (first, second) = row.split_at_mut(self.pairs);
        let (first, second) = (&mut first[..whole], &mut second[..whole]);
        if self.layout == SinusoidLayout::Concatenated {
            PairSlices::Halves {
                sines: first,
                cosines: second,
            }
        } else {
            PairSlices::Halves {
                sines: second,
                cosines: first,
            }
        }
    }

    /// Returns the slices of two rows that their complete pairs fill.
    #[inline(always)]
    pub(crate) fn split_mirrored<'a, T>(
        &self,
        a: &'a mut [T],
        b: &'a mut [T],
    ) -> MirroredSlices<'a, T> {
        let whole = self.complete_pairs();
        if self.layout == SinusoidLayout::Interleaved {
            return MirroredSlices::Interleaved([&mut a[..2 * whole], &mut b[..2 * whole]]);
        }
        let (first_a, second_a) = a.split_at_mut(self.pairs);
        let (first_b, second_b) = b.split_at_mut(self.pairs);
        let first = [&mut first_a[..whole], &mut first_b[..whole]];
        let second = [&mut second_a[..whole], &mut second_b[..whole]];
        let (sines, cosines) = match self.layout {
            SinusoidLayout::ConcatenatedCosFirst => (second, first),
            _ => (first, second),
        };
        MirroredSlices::Halves { sines, cosines }
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
                    let mut rows: [Vec<usize>; 2] =
                        [(0..width).collect(), (100..100 + width).collect()];
                    let [a, b] = &mut rows;
                    let mut mirrored = columns.split_mirrored(a, b);
                    let mut left: Vec<usize> = (0..width).collect();
                    for pair in 0..columns.complete_pairs() {
                        let (sine, cosine) = columns.of_pair(pair);
                        assert_eq!(columns.at(sine), Column::Sine(pair), "{columns:?}");
                        assert_eq!(columns.at(cosine), Column::Cosine(pair), "{columns:?}");
                        for side in 0..2 {
                            let found = mirrored.pair(side, pair).map(|(s, c)| (*s, *c));
                            let expected = (100 * side + sine, 100 * side + cosine);
                            assert_eq!(found, Some(expected), "{columns:?}");
                        }
                        left.retain(|column| *column != sine && *column != cosine);
                    }
                    // Neither a third row nor half a pair exists.
                    assert_eq!(mirrored.pair(2, 0), None);
                    assert_eq!(mirrored.pair(0, columns.complete_pairs()), None);
                    let lone: Vec<usize> = columns.odd_one_out().into_iter().collect();
                    assert_eq!(left, lone, "{columns:?}");
                }
            }
        }
    }
}
