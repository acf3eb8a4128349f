//! Similarity of the encodings of two positions.
//!
//! For complete pairs, everything depends on the lag `k = p - q` alone. With `S(k)` the sum over
//! the pairs of `sin^2(k w / 2)`:
//!
//! ```text
//! dot      = n - 2 S(k)            (n = d/2 pairs)
//! SSE      = 4 S(k)                sum of squared differences
//! distance = sqrt(4 S(k))
//! ```
//!
//! These closed forms need neither the table nor a difference per pair of positions, and they lose
//! no digits to cancellation at small lags.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::families::sinusoidal::Sinusoidal;
use crate::limits::POSITIONS;
use crate::rows::columns::{Columns, Out};
use crate::rows::element::Compiled;
use crate::rows::recurrence::BLOCK;
use crate::rows::writer::{Rows, Source};
use crate::sincos::Rungs;
use crate::spec::layout::{OddWidth, SinusoidLayout};
use crate::table::Table;
use crate::turns::frequency::Frequency;
use crate::turns::position::{Position, check_range};

/// Measure of the similarity of two encodings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Similarity {
    /// The dot product.
    Dot,
    /// The sum of squared differences.
    Sse,
    /// The Euclidean distance, the square root of the SSE.
    Distance,
}

impl Sinusoidal {
    /// Computes the similarity of the encodings of two positions. For a specification with d/2
    /// complete pairs, the SSE has a relative error of at most 1e-15 and the dot product an
    /// absolute error of at most 5 d x 2^-53.
    ///
    /// ```
    /// use pe_core::{Preset, Similarity, Sinusoidal};
    ///
    /// let encoding = Sinusoidal::new(Preset::TfNotebook.config(512))?;
    /// assert_eq!(encoding.similarity(Similarity::Dot, 20, 20)?, 256.0);
    /// let sse = encoding.similarity(Similarity::Sse, 20, 19)?;
    /// assert!((sse - 13.743750).abs() < 1e-6);
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the specification follows an f32 recipe, because its rows are not points
    /// on circles.
    pub fn similarity(&self, of: Similarity, p: u32, q: u32) -> Result<f64> {
        let row = self.similarity_to(of, p, u64::from(q)..u64::from(q) + 1)?;
        row.first().copied().ok_or(Error::Range {
            start: u64::from(q),
            end: u64::from(q),
        })
    }

    /// Computes the similarity of every position of a range to one position.
    ///
    /// ```
    /// use pe_core::{Similarity, Sinusoidal};
    ///
    /// let distances = Sinusoidal::paper(64)?.similarity_to(Similarity::Distance, 20, 0..50)?;
    /// assert_eq!((distances.len(), distances[20]), (50, 0.0));
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the range descends or ends above 2^32, or if the specification follows
    /// an f32 recipe.
    pub fn similarity_to(
        &self,
        of: Similarity,
        position: u32,
        others: Range<u64>,
    ) -> Result<Vec<f64>> {
        let at = u64::from(position);
        let matrix = self.similarity_matrix(of, at..at + 1, others)?;
        Ok(matrix.into_vec())
    }

    /// Computes the similarities of two ranges of positions as a matrix, one row per position of
    /// `rows`. It needs O(rows + columns + d) memory in addition to the result.
    ///
    /// ```
    /// use pe_core::{Similarity, Sinusoidal};
    ///
    /// let dots = Sinusoidal::paper(64)?.similarity_matrix(Similarity::Dot, 0..3, 0..5)?;
    /// assert_eq!((dots.rows(), dots.width(), dots.get(1, 1)), (3, 5, Some(32.0)));
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if
    /// - a range descends or ends above 2^32,
    /// - the matrix exceeds [`MAX_TABLE_BYTES`](crate::MAX_TABLE_BYTES),
    /// - the specification follows an f32 recipe.
    pub fn similarity_matrix(
        &self,
        of: Similarity,
        rows: Range<u64>,
        columns: Range<u64>,
    ) -> Result<Table<f64>> {
        check_range(&rows)?;
        check_range(&columns)?;
        let (height, width) = (rows.end - rows.start, columns.end - columns.start);
        let width = usize::try_from(width).unwrap_or(usize::MAX);
        if width == 0 || height == 0 {
            return Table::zeros(height, width);
        }
        let mut matrix = Table::<f64>::zeros(height, width)?;
        // All occurring lags, from the most negative to the most positive.
        let least = (rows.start as i64) - (columns.end as i64 - 1);
        let most = (rows.end as i64 - 1) - (columns.start as i64);
        let smallest_size = if least > 0 {
            least
        } else if most < 0 {
            -most
        } else {
            0
        } as u64;
        let largest_size = least.unsigned_abs().max(most.unsigned_abs());
        let chords = self.half_chords(smallest_size..largest_size + 1)?;
        let lone = |range: &Range<u64>| -> Result<Vec<f64>> {
            let mut values = reserved(range.end - range.start)?;
            values.extend(range.clone().map(|p| self.lone_half_pair(p as u32)));
            Ok(values)
        };
        let (lone_rows, lone_columns) = (lone(&rows)?, lone(&columns)?);
        let padding = self.config().padding_idx.map(u64::from);
        let pairs = self.inner.rows.columns.complete_pairs() as f64;
        for ((p, lone_p), row) in rows
            .zip(lone_rows)
            .zip(matrix.as_mut_slice().chunks_exact_mut(width))
        {
            for ((q, lone_q), value) in columns.clone().zip(&lone_columns).zip(row) {
                let chord = chords[(p.abs_diff(q) - smallest_size) as usize];
                let (dot, sse) = match (padding == Some(p), padding == Some(q)) {
                    (false, false) => {
                        let difference = lone_p - lone_q;
                        (
                            pairs - 2.0 * chord + lone_p * lone_q,
                            4.0 * chord + difference * difference,
                        )
                    }
                    // A padding row is zero, so only the other one counts.
                    (true, false) => (0.0, pairs + lone_q * lone_q),
                    (false, true) => (0.0, pairs + lone_p * lone_p),
                    (true, true) => (0.0, 0.0),
                };
                *value = match of {
                    Similarity::Dot => dot,
                    Similarity::Sse => sse,
                    Similarity::Distance => sse.sqrt(),
                };
            }
        }
        Ok(matrix)
    }

    /// Computes the distance between the encodings of neighboring positions, the same at every
    /// position: `sqrt(d - 2 sum cos w)`, evaluated as `sqrt(4 sum sin^2(w / 2))`.
    ///
    /// ```
    /// let distance = pe_core::Sinusoidal::paper(500)?.neighbor_distance()?;
    /// assert!((distance - 3.671985659248802).abs() < 1e-14);
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the specification follows an f32 recipe, or if the distance is not
    /// constant (a truncated pair, a padding row).
    pub fn neighbor_distance(&self) -> Result<f64> {
        self.lags_decide("the neighbor distance")?;
        Ok((4.0 * self.half_chords(1..2)?[0]).sqrt())
    }

    /// Finds the smallest lag `k` below `max_lag` at which the distance stops growing, that is, the
    /// distance at `k + 1` is smaller than at `k`. Returns `None` if it grows throughout.
    ///
    /// ```
    /// let encoding = pe_core::Sinusoidal::paper(500)?;
    /// assert_eq!(encoding.first_non_monotone_lag(1000)?, Some(43));
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if `max_lag` is above 2^32. Also returns the errors of
    /// [`Sinusoidal::neighbor_distance`].
    pub fn first_non_monotone_lag(&self, max_lag: u64) -> Result<Option<u64>> {
        self.lags_decide("the first non-monotone lag")?;
        check_range(&(0..max_lag))?;
        const BLOCK: u64 = 4096;
        let mut last = 0.0;
        let mut lag = 0;
        while lag <= max_lag {
            let end = (lag + BLOCK).min(max_lag + 1);
            for (chord, at) in self.half_chords(lag..end)?.into_iter().zip(lag..) {
                if chord < last {
                    return Ok(Some(at - 1));
                }
                last = chord;
            }
            lag = end;
        }
        Ok(None)
    }

    fn lags_decide(&self, operation: &'static str) -> Result<()> {
        let columns = &self.inner.rows.columns;
        if columns.pairs > columns.complete_pairs() {
            return Err(Error::CutPair { operation });
        }
        if self.config().padding_idx.is_some() {
            return Err(Error::PaddingRow { operation });
        }
        Ok(())
    }

    /// Computes S(k) for a range of lags.
    fn half_chords(&self, lags: Range<u64>) -> Result<Vec<f64>> {
        let frequencies = match &self.inner.rows.source {
            Source::Exact { frequencies, .. } => frequencies,
            Source::Recipe { .. } => {
                let operation = "the closed form of similarities";
                return Err(Error::ExactOnly { operation });
            }
        };
        let pairs = self.inner.rows.columns.complete_pairs();
        let halves: Vec<Frequency> = frequencies[..pairs].iter().map(|f| f.halved()).collect();
        let mut out = reserved(lags.end - lags.start)?;
        if pairs == 0 {
            out.resize((lags.end - lags.start) as usize, 0.0);
            return Ok(out);
        }
        let columns = Columns::new(2 * pairs, SinusoidLayout::Concatenated, OddWidth::Reject)?;
        let rows = Rows::exact(halves, columns);
        let mut writer = f64::writer(&rows, lags.start..lags.end.min(POSITIONS));
        // About 1 MiB of rows at a time.
        const BLOCK_ENTRIES: u64 = 1 << 17;
        let block = BLOCK_ENTRIES
            .div_ceil(2 * pairs as u64)
            .next_multiple_of(BLOCK as u64);
        let block = block.min(lags.end - lags.start);
        let mut entries = Table::<f64>::zeros(block, 2 * pairs)?.into_vec();
        let mut lag = lags.start;
        while lag < lags.end {
            let entries = if lag < POSITIONS {
                let count = (lags.end.min(POSITIONS) - lag).min(block);
                lag += count;
                let entries = &mut entries[..2 * pairs * count as usize];
                f64::write_next(&mut writer, Out::one(entries))?;
                entries
            } else {
                // Lags end one beyond the last position.
                let entries = &mut entries[..2 * pairs];
                f64::fill_at_reals(&rows, &[lag as f64], Out::one(entries))?;
                lag += 1;
                entries
            };
            for row in entries.chunks_exact(2 * pairs) {
                out.push(sum(row[..pairs].iter().map(|sine| sine * sine)));
            }
        }
        Ok(out)
    }

    /// Returns the entry outside the complete pairs, or 0.
    fn lone_half_pair(&self, position: u32) -> f64 {
        match self.inner.rows.columns.odd_one_out() {
            Some(column) => {
                let rows = &self.inner.rows;
                rows.entry(Position::Integer(position), Rungs::Ladder, column)
            }
            None => 0.0,
        }
    }
}

/// Returns an empty vector with capacity for `count` values, or an error.
fn reserved(count: u64) -> Result<Vec<f64>> {
    let out_of_memory = || Error::OutOfMemory {
        bytes: count.saturating_mul(8),
    };
    let mut out = Vec::new();
    out.try_reserve_exact(usize::try_from(count).map_err(|_| out_of_memory())?)
        .map_err(|_| out_of_memory())?;
    Ok(out)
}

/// Sums with compensated rounding errors (Neumaier).
fn sum(terms: impl Iterator<Item = f64>) -> f64 {
    let (mut total, mut lost) = (0.0_f64, 0.0);
    for term in terms {
        let next = total + term;
        lost += if total.abs() >= term.abs() {
            (total - next) + term
        } else {
            (term - next) + total
        };
        total = next;
    }
    total + lost
}
