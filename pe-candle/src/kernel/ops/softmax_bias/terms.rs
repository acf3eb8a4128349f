//! Terms that are added to a row of scores, read from small tensors.

use std::ops::Range;
use std::sync::Arc;

use candle_core::{Result, bail};

use super::exp::Real;
use super::tile::{ByKey, Tile};
use crate::kernel::element::Compute;
use crate::kernel::isa::{CHUNK, each};

/// Place of the value for query `i` and key `j` among the values of a sequence and head.
#[derive(Debug, Clone)]
pub(crate) enum Read {
    /// At `start + i row + j`: a table by distance (`row` -1), by key (0), a relative shift (a row's length less 1), or a whole
    /// matrix (`kv_len`).
    Strided { start: usize, row: isize },
    /// At `i keys + j / width`: one value for each row of keys, of `width` keys.
    KeyRows { keys: usize, width: usize },
    /// At `i width + j % width`: one value for each column of keys.
    KeyColumns { width: usize },
    /// At `i width + index[start - i + j]`: a row by distance.
    GatherRow {
        width: usize,
        index: Arc<[u32]>,
        start: usize,
    },
    /// At `j width + index[start - i + j]`.
    GatherColumn {
        width: usize,
        index: Arc<[u32]>,
        start: usize,
    },
    /// At `i`: a factor of the other term.
    Gate,
}

/// Values that are added to scores, and how each row reads them.
#[derive(Debug, Clone)]
pub(crate) struct Term {
    /// Distance in values to the next sequence and to the next head: a multiple of `len`, or 0 where they share values.
    pub(crate) steps: [usize; 2],
    /// Values of a sequence and head.
    pub(crate) len: usize,
    pub(crate) read: Read,
}

/// The terms of a pass with their values.
pub(super) type Terms<'a, C> = [Option<(&'a Term, &'a [C])>; 2];

impl Term {
    /// Returns the term of contiguous values `[batch, heads, len]`, of which one sequence or head serves all.
    pub(crate) fn new([batch, heads]: [usize; 2], len: usize, read: Read) -> Self {
        let step = |count, step| if count > 1 { step } else { 0 };
        Self {
            steps: [step(batch, heads * len), step(heads, len)],
            len,
            read,
        }
    }

    /// Returns the term of contiguous values `[heads, batch, len]`.
    pub(crate) fn heads_first([batch, heads]: [usize; 2], len: usize, read: Read) -> Self {
        let mut term = Self::new([heads, batch], len, read);
        term.steps.reverse();
        term
    }

    /// Returns whether the values are factors of the other term.
    #[inline(always)]
    pub(crate) fn is_gate(&self) -> bool {
        matches!(self.read, Read::Gate)
    }

    /// Returns the numbers of sequences and heads that `count` values belong to.
    pub(crate) fn owners(&self, count: usize) -> [usize; 2] {
        let (parts, [batch, head]) = (count / self.len.max(1), self.steps);
        match (batch, head) {
            (0, 0) => [1, 1],
            (_, 0) => [parts, 1],
            (0, _) => [1, parts],
            _ if batch > head => [parts * head / batch, batch / head],
            _ => [head / batch, parts * batch / head],
        }
    }

    /// Returns which of the sequences and heads `[batch, heads]` has the values number `at`, if each has its own.
    pub(super) fn owner(&self, at: usize, [batch, heads]: [usize; 2]) -> usize {
        match self.steps {
            [of_batch, of_head] if of_batch < of_head && of_batch > 0 => {
                at % batch * heads + at / batch
            }
            _ => at,
        }
    }

    /// Checks that every value that the scores `[batch, heads, q_len, kv_len]` read is one of `count`.
    pub(super) fn check(
        &self,
        count: usize,
        [batch, heads, q_len, kv_len]: [usize; 4],
    ) -> Result<()> {
        if batch * heads * q_len * kv_len == 0 {
            return Ok(());
        }
        let fits = |index: &[u32], width: usize| index.iter().all(|i| (*i as usize) < width);
        let slides =
            |index: &[u32], start: usize| start + 1 >= q_len && index.len() >= start + kv_len;
        let within = match &self.read {
            Read::Strided { start, row } => {
                let (first, steps) = (*start as isize, q_len as isize - 1);
                let last = first + steps * row;
                first.min(last) >= 0 && first.max(last) + kv_len as isize <= self.len as isize
            }
            Read::KeyRows { keys, width } => {
                keys * width >= kv_len && q_len * keys <= self.len && *width > 0
            }
            Read::KeyColumns { width } => *width > 0 && q_len * width <= self.len,
            Read::GatherRow {
                width,
                index,
                start,
            } => slides(index, *start) && fits(index, *width) && q_len * width <= self.len,
            Read::GatherColumn {
                width,
                index,
                start,
            } => slides(index, *start) && fits(index, *width) && kv_len * width <= self.len,
            Read::Gate => q_len <= self.len,
        };
        let all = [batch, heads].into_iter().zip(self.steps);
        let last = all.map(|(count, step)| count.saturating_sub(1) * step);
        if !within || last.sum::<usize>() + self.len > count {
            let dims = [batch, heads, q_len, kv_len];
            bail!("a bias of {count} values does not go with scores of shape {dims:?}");
        }
        Ok(())
    }

    /// Checks that every value that a sequence and head of these lengths reads is one of its own.
    pub(crate) fn check_alone(&self, q_len: usize, kv_len: usize) -> Result<()> {
        self.check(self.len, [1, 1, q_len, kv_len])
    }

    /// Returns the index of the value for a query and a key among those of their sequence and head.
    pub(crate) fn place(&self, query: usize, key: usize) -> usize {
        match &self.read {
            Read::GatherRow {
                width,
                index,
                start,
            } => query * width + index[start + key - query] as usize,
            Read::GatherColumn {
                width,
                index,
                start,
            } => key * width + index[start + key - query] as usize,
            _ => {
                let (image, base, step) = self.image(query);
                base + if step == 0 { key / image } else { key % image }
            }
        }
    }

    /// Returns the width of the image that the keys of a query are the pixels of, the index of its first value, and how far
    /// that of the next column is: 0, and the next row has the next one, or 1, and all rows have the same.
    #[inline(always)]
    fn image(&self, query: usize) -> (usize, usize, usize) {
        match &self.read {
            Read::Strided { start, row } => {
                let base = (*start as isize + query as isize * row) as usize;
                (usize::MAX, base, 1)
            }
            Read::KeyRows { keys, width } => (*width, query * keys, 0),
            Read::KeyColumns { width } => (*width, query * width, 1),
            _ => (usize::MAX, query, 0),
        }
    }

    /// Returns the values of a sequence and head.
    #[inline(always)]
    pub(super) fn part<'a, C>(&self, data: &'a [C], [batch, head]: [usize; 2]) -> &'a [C] {
        let first = batch * self.steps[0] + head * self.steps[1];
        &data[first..][..self.len]
    }

    /// Returns how values are read by key, if they are.
    #[inline(always)]
    fn by_key(&self) -> Option<ByKey<'_>> {
        match &self.read {
            Read::GatherColumn {
                width,
                index,
                start,
            } => Some(ByKey {
                width: *width,
                index,
                start: *start,
            }),
            _ => None,
        }
    }

    /// Creates a tile for the values.
    pub(super) fn tile<C: Real>(&self, kv_len: usize) -> Tile<C> {
        Tile::new(self.by_key().is_some(), kv_len)
    }

    /// Adds what a tile still holds of [`collect`](Self::collect).
    #[inline(always)]
    pub(super) fn empty<C: Real>(&self, tile: &mut Tile<C>, part: &mut [C]) {
        if let Some(of) = self.by_key() {
            tile.empty(of, part);
        }
    }

    /// Adds the values of a query of `owner`, times a factor, to the scores of the keys `keys`.
    #[inline(always)]
    pub(super) fn add<C: Real>(
        &self,
        tile: &mut Tile<C>,
        part: &[C],
        factor: C,
        (owner, query, q_len): ([usize; 2], usize, usize),
        keys: Range<usize>,
        z: &mut [C],
    ) {
        match &self.read {
            Read::GatherRow {
                width,
                index,
                start,
            } => {
                let values = &part[query * width..][..*width];
                let index = &index[start - query + keys.start..][..keys.len()];
                for (z, index) in z.iter_mut().zip(index) {
                    *z += values[*index as usize] * factor;
                }
            }
            Read::GatherColumn { .. } => {
                let Some(of) = self.by_key() else { return };
                let values = tile.values(of, part, (owner, query, q_len), &keys);
                for (z, value) in z.iter_mut().zip(values) {
                    *z += *value * factor;
                }
            }
            _ => {
                let (image, base, step) = self.image(query);
                // The lanes that a run has of the values starting at `place`.
                let lanes = |place: usize| {
                    let values = match (step, part[place..].first_chunk()) {
                        (0, _) => [part[place]; CHUNK],
                        (_, Some(values)) => *values,
                        (_, None) => {
                            each(|lane| part.get(place + lane).copied().unwrap_or_default())
                        }
                    };
                    each(|lane| values[lane] * factor)
                };
                let whole = lanes(base);
                for (row, column, run) in runs(image, keys) {
                    let place = base + if step == 0 { row } else { column };
                    if run.len() > CHUNK && step == 1 {
                        for (z, value) in z[run].iter_mut().zip(&part[place..]) {
                            *z += *value * factor;
                        }
                    } else {
                        add_run(run, z, if place == base { whole } else { lanes(place) });
                    }
                }
            }
        }
    }

    /// Adds the gradients of the scores of a query to those of the values: the transpose of [`add`](Self::add) with a factor of 1. Some
    /// are in the tile until it is empty.
    #[inline(always)]
    pub(super) fn collect<C: Real>(
        &self,
        tile: &mut Tile<C>,
        part: &mut [C],
        query: usize,
        keys: Range<usize>,
        dz: &[C],
    ) {
        match &self.read {
            Read::GatherRow {
                width,
                index,
                start,
            } => {
                let values = &mut part[query * width..][..*width];
                let index = &index[start - query + keys.start..][..keys.len()];
                for (dz, index) in dz.iter().zip(index) {
                    values[*index as usize] += *dz;
                }
            }
            Read::GatherColumn { .. } => {
                let Some(of) = self.by_key() else { return };
                tile.take(of, part, query, &keys, dz);
            }
            _ => {
                let (image, base, step) = self.image(query);
                for (row, column, run) in runs(image, keys) {
                    if step == 0 {
                        let value = &mut part[base + row];
                        *value = dz[run].iter().fold(*value, |sum, dz| sum + *dz);
                    } else {
                        for (value, dz) in part[base + column..].iter_mut().zip(&dz[run]) {
                            *value += *dz;
                        }
                    }
                }
            }
        }
    }
}

/// Lists the runs of keys in one row of an image `width` wide: the row, the first column, and the place among the keys.
#[inline(always)]
pub(super) fn runs(
    width: usize,
    keys: Range<usize>,
) -> impl Iterator<Item = (usize, usize, Range<usize>)> {
    let (mut row, mut column, mut at, len) =
        (keys.start / width, keys.start % width, 0, keys.len());
    std::iter::from_fn(
        #[inline(always)]
        move || {
            let end = (width - column).min(len - at) + at;
            let run = (at < len).then_some((row, column, at..end));
            (row, column, at) = (row + 1, 0, end);
            run
        },
    )
}

/// Adds values to the numbers of a run: one for each, or the first of them to all numbers of a long run. A short run is part of a
/// chunk, whose other lanes have minus zero added: all numbers stay unchanged.
#[inline(always)]
fn add_run<C: Real>(run: Range<usize>, z: &mut [C], values: [C; CHUNK]) {
    let len = run.len();
    if len <= CHUNK
        && let Some(chunk) = z[run.start..].first_chunk_mut::<CHUNK>()
    {
        let before = *chunk;
        let nothing = <C as Compute>::from_f64(-0.0);
        *chunk = each(|lane| before[lane] + if lane < len { values[lane] } else { nothing });
        return;
    }
    for (lane, z) in z[run].iter_mut().enumerate() {
        *z += values[if len > CHUNK { 0 } else { lane }];
    }
}
