//! What is added to a row of scores, read from small tensors.

use std::ops::Range;
use std::sync::Arc;

use candle_core::{Result, bail};

use super::exp::Real;
use crate::kernel::element::Compute;
use crate::kernel::isa::{CHUNK, each};

/// How the value for query `i` and key `j` is found among the values of a sequence and head.
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
}

/// Values that are added to scores: `[batch or 1, heads or 1, len]`, and how each row reads them.
#[derive(Debug, Clone)]
pub(crate) struct Term {
    /// Sequences and heads with values of their own.
    pub(crate) own: [bool; 2],
    /// Values of a sequence and head.
    pub(crate) len: usize,
    pub(crate) read: Read,
}

impl Term {
    /// Checks that every value that the scores `[batch, heads, q_len, kv_len]` read is one of `count`.
    pub(super) fn check(
        &self,
        count: usize,
        [batch, heads, q_len, kv_len]: [usize; 4],
    ) -> Result<()> {
        let chunks = [batch, heads].into_iter().zip(self.own);
        let chunks = chunks.fold(1, |all, (dim, own)| if own { all * dim } else { all });
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
        };
        if !within || chunks * self.len != count {
            let dims = [batch, heads, q_len, kv_len];
            bail!("a bias of {count} values does not go with scores of shape {dims:?}");
        }
        Ok(())
    }

    /// Checks that every value that a sequence and head of these lengths reads is one of its own.
    pub(crate) fn check_alone(&self, q_len: usize, kv_len: usize) -> Result<()> {
        let alone = Self {
            own: [false, false],
            ..self.clone()
        };
        alone.check(self.len, [1, 1, q_len, kv_len])
    }

    /// Returns the index of the value for a query and a key among those of their sequence and head.
    pub(crate) fn place(&self, query: usize, key: usize) -> usize {
        match &self.read {
            Read::Strided { start, row } => {
                (*start as isize + query as isize * row + key as isize) as usize
            }
            Read::KeyRows { keys, width } => query * keys + key / width,
            Read::KeyColumns { width } => query * width + key % width,
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
        }
    }

    /// Returns the values of a sequence and head.
    #[inline(always)]
    pub(super) fn part<'a, C>(
        &self,
        data: &'a [C],
        batch: usize,
        head: usize,
        heads: usize,
    ) -> &'a [C] {
        let chunk = match self.own {
            [false, false] => 0,
            [false, true] => head,
            [true, false] => batch,
            [true, true] => batch * heads + head,
        };
        &data[chunk * self.len..][..self.len]
    }

    /// Adds the values of a query to the scores of the keys `keys`.
    #[inline(always)]
    pub(super) fn add<C: Real>(&self, part: &[C], query: usize, keys: Range<usize>, z: &mut [C]) {
        match &self.read {
            Read::Strided { start, row } => {
                let first = (*start as isize + query as isize * row) as usize + keys.start;
                for (z, value) in z.iter_mut().zip(&part[first..][..keys.len()]) {
                    *z += *value;
                }
            }
            Read::KeyRows { keys: rows, width } => {
                let values = &part[query * rows..][..*rows];
                for (row, _, run) in runs(*width, keys) {
                    add_run(run, z, |_| values[row]);
                }
            }
            Read::KeyColumns { width } => {
                let values = &part[query * width..][..*width];
                // In a row of the image that begins at a later column, the first lane has that column's value.
                let from = |first: usize| {
                    each(|lane| values.get(first + lane).copied().unwrap_or_default())
                };
                let whole = from(0);
                for (_, first, run) in runs(*width, keys) {
                    if run.len() > CHUNK {
                        for (z, value) in z[run].iter_mut().zip(&values[first..]) {
                            *z += *value;
                        }
                    } else {
                        let values = if first == 0 { whole } else { from(first) };
                        add_run(run, z, |lane| values[lane]);
                    }
                }
            }
            Read::GatherRow {
                width,
                index,
                start,
            } => {
                let values = &part[query * width..][..*width];
                let index = &index[start - query + keys.start..][..keys.len()];
                for (z, index) in z.iter_mut().zip(index) {
                    *z += values[*index as usize];
                }
            }
            Read::GatherColumn {
                width,
                index,
                start,
            } => {
                let index = &index[start - query + keys.start..][..keys.len()];
                let rows = part[keys.start * width..].chunks_exact(*width);
                for ((z, index), row) in z.iter_mut().zip(index).zip(rows) {
                    *z += row[*index as usize];
                }
            }
        }
    }

    /// Adds the gradients of the scores of a query to those of the values: the transpose of [`add`](Self::add).
    #[inline(always)]
    pub(super) fn collect<C: Real>(
        &self,
        part: &mut [C],
        query: usize,
        keys: Range<usize>,
        dz: &[C],
    ) {
        match &self.read {
            Read::Strided { start, row } => {
                let first = (*start as isize + query as isize * row) as usize + keys.start;
                for (value, dz) in part[first..][..keys.len()].iter_mut().zip(dz) {
                    *value += *dz;
                }
            }
            Read::KeyRows { keys: rows, width } => {
                let values = &mut part[query * rows..][..*rows];
                for (row, _, run) in runs(*width, keys) {
                    let sum = dz[run].iter().fold(values[row], |sum, dz| sum + *dz);
                    values[row] = sum;
                }
            }
            Read::KeyColumns { width } => {
                let values = &mut part[query * width..][..*width];
                for (_, first, run) in runs(*width, keys) {
                    for (value, dz) in values[first..].iter_mut().zip(&dz[run]) {
                        *value += *dz;
                    }
                }
            }
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
            Read::GatherColumn {
                width,
                index,
                start,
            } => {
                let index = &index[start - query + keys.start..][..keys.len()];
                let rows = part[keys.start * width..].chunks_exact_mut(*width);
                for ((dz, index), row) in dz.iter().zip(index).zip(rows) {
                    row[*index as usize] += *dz;
                }
            }
        }
    }
}

/// Lists the runs of keys in one row of an image `width` wide: the row, the first column, and the place among the keys.
#[inline(always)]
fn runs(width: usize, keys: Range<usize>) -> impl Iterator<Item = (usize, usize, Range<usize>)> {
    let (mut row, mut column, mut at, len) =
        (keys.start / width, keys.start % width, 0, keys.len());
    std::iter::from_fn(
        #[inline(always)]
        move || {
            let end = (at + width - column).min(len);
            let run = (at < len).then_some((row, column, at..end));
            (row, column, at) = (row + 1, 0, end);
            run
        },
    )
}

/// Adds a value to each number of a run. A short run is part of a chunk, whose other lanes have minus zero added: all numbers
/// stay as they are.
#[inline(always)]
fn add_run<C: Real>(run: Range<usize>, z: &mut [C], value: impl Fn(usize) -> C) {
    let len = run.len();
    if len <= CHUNK
        && let Some(chunk) = z[run.start..].first_chunk_mut::<CHUNK>()
    {
        let before = *chunk;
        let nothing = <C as Compute>::from_f64(-0.0);
        *chunk = each(|lane| before[lane] + if lane < len { value(lane) } else { nothing });
        return;
    }
    for (lane, z) in z[run].iter_mut().enumerate() {
        *z += value(lane);
    }
}
