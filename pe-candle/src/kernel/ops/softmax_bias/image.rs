//! A value for each row of keys and one for each column, added to a row of scores at once.
//!
//! The rows of an image are shorter than a vector, or end within one. A sum that is written and then read again as part of
//! another vector waits for the write. So both values are added at once: each score is read from the input, and no sum is
//! read again. The lanes behind the end of a row are written as well, and the next row replaces them.

use std::ops::Range;

use super::exp::Real;
use super::terms::{Read, Terms, runs};
use crate::kernel::element::{Activation, Compute};
use crate::kernel::isa::{CHUNK, Isa, Ops};

/// The values of a query.
pub(super) struct Image<'a, C> {
    width: usize,
    rows: &'a [C],
    /// The values of its columns, and those of later queries after them.
    columns: &'a [C],
}

impl<'a, C: Real> Image<'a, C> {
    /// Returns the values for a query, if the terms are those of rows and those of columns of an image.
    #[inline(always)]
    pub(super) fn of(terms: &Terms<'a, C>, [batch, head, query]: [usize; 3]) -> Option<Self> {
        let [Some((first, rows)), Some((second, columns))] = terms else {
            return None;
        };
        match (&first.read, &second.read) {
            (Read::KeyRows { keys, width }, Read::KeyColumns { width: same }) if width == same => {
                Some(Self {
                    width: *width,
                    rows: &first.part(rows, [batch, head])[query * keys..],
                    columns: &second.part(columns, [batch, head])[query * width..],
                })
            }
            _ => None,
        }
    }

    /// Writes the scores `xs` of `keys`, times a factor, plus both values of each. The bits are those of adding one term
    /// after the other.
    #[inline(always)]
    pub(super) fn add_scaled<I: Isa, T: Activation<Compute = C>>(
        &self,
        isa: I,
        xs: &[T],
        factor: C,
        keys: &Range<usize>,
        z: &mut [C],
    ) {
        let ops = <C as Compute>::ops(isa);
        let factors = ops.splat(factor);
        for (row, column, run) in runs(self.width, keys.clone()) {
            let value = self.rows[row];
            let (values, columns) = (ops.splat(value), &self.columns[column..]);
            let mut at = 0;
            while at < run.len() {
                let place = run.start + at;
                if let Some(x) = xs[place..].first_chunk()
                    && let Some(column) = columns[at..].first_chunk()
                    && let Some(z) = z[place..].first_chunk_mut::<CHUNK>()
                {
                    let scaled = ops.mul(T::load(isa, *x), factors);
                    let sum = ops.add(ops.add(scaled, values), ops.load(*column));
                    *z = ops.array(sum);
                    at += CHUNK;
                } else {
                    z[place] = xs[place].widen() * factor + value + columns[at];
                    at += 1;
                }
            }
        }
    }
}
