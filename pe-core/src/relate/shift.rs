//! The shift of an encoding by k positions: a rotation of each pair.
//!
//! The encoding of `p + k` is a linear function of the encoding of `p` that does not depend on `p`
//! (Vaswani et al., 2017, section 3.5): each pair (sin, cos) rotates by the angle `k x inv_freq`.
//! [`Shift`] stores the `d/2` rotations and applies them in O(d). [`Shift::matrix`] expands them to
//! the dense matrix of the textbooks.

use crate::error::{Error, Result};
use crate::families::sinusoidal::Sinusoidal;
use crate::rows::element::{Compiled, Element};
use crate::sincos::Rungs;
use crate::spec::recipe::Recipe;
use crate::table::Table;
use crate::turns::position::Position;

/// Orientation of the encodings in products with the matrix: row or column vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VectorConvention {
    /// `PE(p + k) = PE(p) M`: per pair `[[cos, -sin], [sin, cos]]` for (sin, cos) rows.
    Row,
    /// `PE(p + k) = M PE(p)`: the transpose, per pair `[[cos, sin], [-sin, cos]]`.
    Column,
}

/// Operator that maps the encoding of every position `p` to the encoding of `p + steps`.
///
/// ```
/// use pe_core::Sinusoidal;
///
/// let encoding = Sinusoidal::paper(64)?;
/// let table = encoding.table::<f64>(0..8)?;
/// let shift = encoding.shift(3)?;
/// let mut row = table.row(4).unwrap().to_vec();
/// shift.apply(&mut row)?;
/// let expected = table.row(7).unwrap();
/// assert!(row.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15));
///
/// // The inverse goes back, and shifts add up.
/// shift.inverse().apply(&mut row)?;
/// assert_eq!(shift.compose(&encoding.shift(4)?)?.steps(), 7);
/// # Ok::<(), pe_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Shift {
    encoding: Sinusoidal,
    steps: i64,
    /// (sin, cos) of steps x inv_freq, correctly rounded. A sine of zero is +0,
    /// so sines are negated by `0.0 - sine`.
    rotations: Vec<(f64, f64)>,
}

impl Sinusoidal {
    /// Returns the shift by `steps` positions, forward or backward.
    ///
    /// The sines and cosines follow from the exact frequencies and are correctly rounded to f64.
    ///
    /// # Errors
    /// Returns an error if
    /// - `steps` exceeds 2^32 - 1 in magnitude,
    /// - the specification truncates a pair ([`OddWidth::Truncate`](crate::OddWidth) or `RoundUp`
    ///   at an odd width), has a `padding_idx`, or follows an f32 recipe. Their rows are not
    ///   rotations of each other.
    pub fn shift(&self, steps: i64) -> Result<Shift> {
        let operation = "the shift operator";
        let columns = &self.inner.rows.columns;
        if columns.pairs > columns.complete_pairs() {
            return Err(Error::CutPair { operation });
        }
        if self.config().padding_idx.is_some() {
            return Err(Error::PaddingRow { operation });
        }
        if self.config().recipe != Recipe::Exact {
            return Err(Error::ExactOnly { operation });
        }
        let size = u32::try_from(steps.unsigned_abs()).map_err(|_| Error::Steps { steps })?;
        let rotations = (0..columns.pairs)
            .map(|pair| {
                let position = Position::Integer(size);
                let [sine, cosine] = f64::pair(&self.inner.rows, pair, position, Rungs::Ladder);
                (if steps < 0 { 0.0 - sine } else { sine }, cosine)
            })
            .collect();
        Ok(Shift {
            encoding: self.clone(),
            steps,
            rotations,
        })
    }
}

impl Shift {
    /// Returns the number of positions.
    pub fn steps(&self) -> i64 {
        self.steps
    }

    /// Returns (sin, cos) of the angle by which each pair rotates. A sine of zero is +0.
    pub fn rotations(&self) -> &[(f64, f64)] {
        &self.rotations
    }

    /// Moves one encoding in place, in O(d). The arithmetic is f64 with one rounding to `T` at the
    /// end. In f64 the error is below 3 x 2^-53 for entries of magnitude up to one.
    ///
    /// ```
    /// use pe_core::Sinusoidal;
    ///
    /// let encoding = Sinusoidal::paper(64)?;
    /// let mut row = encoding.table::<f32>(0..1)?.into_vec();
    /// encoding.shift(3)?.apply(&mut row)?;
    /// assert_eq!(row, encoding.table::<f32>(3..4)?.into_vec());
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the row does not have the width of the encoding.
    pub fn apply<T: Element>(&self, row: &mut [T]) -> Result<()> {
        let columns = &self.encoding.inner.rows.columns;
        if row.len() != columns.width {
            return Err(Error::Length {
                name: "row",
                len: row.len(),
                expected: columns.width as u64,
            });
        }
        for (pair, (sine, cosine)) in self.rotations.iter().enumerate() {
            let (s, c) = columns.of_pair(pair);
            let (sin_p, cos_p) = (row[s].to_f64(), row[c].to_f64());
            row[s] = T::from_f64(sin_p * cosine + cos_p * sine);
            row[c] = T::from_f64(cos_p * cosine - sin_p * sine);
        }
        Ok(())
    }

    /// Returns the inverse shift.
    pub fn inverse(&self) -> Self {
        Self {
            encoding: self.encoding.clone(),
            steps: -self.steps,
            rotations: self
                .rotations
                .iter()
                .map(|(sine, cosine)| (0.0 - sine, *cosine))
                .collect(),
        }
    }

    /// Returns both shifts in one. It is exact because the angles are recomputed for the sum.
    ///
    /// # Errors
    /// Returns an error if the specifications differ, or if the sum exceeds 2^32 - 1 in magnitude.
    pub fn compose(&self, other: &Self) -> Result<Self> {
        if self.encoding != other.encoding {
            return Err(Error::Mismatch {
                left: format!("{:?}", self.encoding.config()),
                right: format!("{:?}", other.encoding.config()),
            });
        }
        self.encoding.shift(self.steps + other.steps)
    }

    /// Returns the dense d x d matrix, which is orthogonal up to rounding. A padding column maps to
    /// itself.
    ///
    /// # Errors
    /// Returns an error if the matrix exceeds [`MAX_TABLE_BYTES`](crate::MAX_TABLE_BYTES), or if
    /// memory is exhausted.
    pub fn matrix(&self, convention: VectorConvention) -> Result<Table<f64>> {
        let columns = &self.encoding.inner.rows.columns;
        let width = columns.width;
        let mut matrix = Table::zeros(width as u64, width)?;
        let entries: &mut [f64] = matrix.as_mut_slice();
        for (pair, (sine, cosine)) in self.rotations.iter().enumerate() {
            let (s, c) = columns.of_pair(pair);
            let off_diagonal = match convention {
                VectorConvention::Row => *sine,
                VectorConvention::Column => 0.0 - sine,
            };
            entries[s * width + s] = *cosine;
            entries[s * width + c] = 0.0 - off_diagonal;
            entries[c * width + s] = off_diagonal;
            entries[c * width + c] = *cosine;
        }
        if let Some(column) = columns.odd_one_out() {
            entries[column * width + column] = 1.0;
        }
        Ok(matrix)
    }
}
