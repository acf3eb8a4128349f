//! Values that are read by key, for several queries at a time.
//!
//! For one query every key has its value in another row of the values, a cache line for each number. The next queries need the
//! numbers next to it, so a tile reads those of a few queries at once.

use std::ops::Range;

use super::exp::Real;

/// The most queries of a tile.
const QUERIES: usize = 16;

/// One number for each key of some queries of a sequence and head: values to add, or gradients to be added up.
pub(super) struct Tile<C> {
    owner: [usize; 2],
    queries: Range<usize>,
    keys: Range<usize>,
    /// Distance of the numbers of the next query. Rows at multiples of a power of two would share few places in the cache.
    stride: usize,
    numbers: Vec<C>,
}

/// Values of each key, `width` of them: that of the query `i` and the key `j` is at `j width + index[start - i + j]`.
#[derive(Clone, Copy)]
pub(super) struct ByKey<'a> {
    pub(super) width: usize,
    pub(super) index: &'a [u32],
    pub(super) start: usize,
}

impl ByKey<'_> {
    /// Returns the indices of the values of a key, one for each query, in their order.
    #[inline(always)]
    fn indices(&self, key: usize, queries: &Range<usize>) -> impl Iterator<Item = &u32> {
        let end = self.start + key - queries.start + 1;
        self.index[end - queries.len()..end].iter().rev()
    }
}

impl<C: Real> Tile<C> {
    /// Creates a tile of no queries, with memory for numbers if values are read `by_key`.
    pub(super) fn new(by_key: bool, kv_len: usize) -> Self {
        let stride = kv_len + 16;
        let count = if by_key { QUERIES * stride } else { 0 };
        Self {
            owner: [usize::MAX; 2],
            queries: 0..0,
            keys: 0..0,
            stride,
            numbers: vec![C::ZERO; count],
        }
    }

    /// Returns the values for a query of `owner` and its keys, from those of the sequence and head. The values of the
    /// queries after it, up to `q_len`, are read as well: their keys should be about the same.
    #[inline(always)]
    pub(super) fn values(
        &mut self,
        of: ByKey<'_>,
        part: &[C],
        (owner, query, q_len): ([usize; 2], usize, usize),
        keys: &Range<usize>,
    ) -> &[C] {
        let held = self.owner == owner
            && self.queries.contains(&query)
            && self.keys.start <= keys.start
            && keys.end <= self.keys.end;
        if !held {
            self.owner = owner;
            self.queries = query..q_len.min(query + QUERIES);
            // Masks move the keys by one for each query.
            self.keys = keys.start..(keys.end + QUERIES).min(self.stride - 16);
            self.gather(of, part);
        }
        &self.numbers[(query - self.queries.start) * self.stride..][keys.clone()]
    }

    #[inline(always)]
    fn gather(&mut self, of: ByKey<'_>, part: &[C]) {
        for key in self.keys.clone() {
            let row = &part[key * of.width..][..of.width];
            let numbers = self.numbers[key..].iter_mut().step_by(self.stride);
            for (number, index) in numbers.zip(of.indices(key, &self.queries)) {
                *number = row[*index as usize];
            }
        }
    }

    /// Stores the gradients of a query. A full tile is first added to the gradients of the values.
    #[inline(always)]
    pub(super) fn take(
        &mut self,
        of: ByKey<'_>,
        part: &mut [C],
        query: usize,
        keys: &Range<usize>,
        dz: &[C],
    ) {
        if self.queries.len() == QUERIES || self.queries.end != query {
            self.empty(of, part);
        }
        if self.queries.is_empty() {
            (self.queries, self.keys) = (query..query, keys.clone());
        }
        let row = &mut self.numbers[self.queries.len() * self.stride..][..self.stride];
        row.fill(C::ZERO);
        row[keys.clone()].copy_from_slice(dz);
        self.queries.end = query + 1;
        self.keys = self.keys.start.min(keys.start)..self.keys.end.max(keys.end);
    }

    /// Adds the gradients that it holds to those of the values, for each value in the order of the queries.
    #[inline(always)]
    pub(super) fn empty(&mut self, of: ByKey<'_>, part: &mut [C]) {
        let some = !self.queries.is_empty();
        for key in self.keys.clone().take_while(|_| some) {
            let row = &mut part[key * of.width..][..of.width];
            let numbers = self.numbers[key..].iter().step_by(self.stride);
            for (number, index) in numbers.zip(of.indices(key, &self.queries)) {
                row[*index as usize] += *number;
            }
        }
        self.queries = self.queries.end..self.queries.end;
    }
}
