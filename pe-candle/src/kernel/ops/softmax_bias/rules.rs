//! Rules for the keys that a query may attend to.

use std::ops::Range;
use std::sync::Arc;

/// Sequences that follow each other.
#[derive(Debug, Clone)]
pub(crate) struct Packed {
    /// The first key and the end of the keys of each query position's own sequence.
    pub(crate) keys: Arc<[(u32, u32)]>,
    /// The number of all keys.
    pub(crate) kv_len: usize,
}

/// Rules that exclude keys. Query `i` is at position `offset + i`, and key `j` at position `j`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rules {
    pub(crate) offset: usize,
    /// The most positions that a key may be before and after the query.
    pub(crate) before: Option<usize>,
    pub(crate) after: Option<usize>,
    /// Packed sequences.
    pub(crate) packed: Option<Packed>,
    /// One number per key of each sequence, and their shape `[batch, kv_len]`: 0 excludes it.
    pub(crate) padding: Option<(Arc<[u8]>, [usize; 2])>,
}

impl Rules {
    /// Returns the keys that the distances and the sequences allow for a query.
    #[inline(always)]
    pub(super) fn keys(&self, query: usize, kv_len: usize) -> Range<usize> {
        let position = self.offset.saturating_add(query);
        let mut first = self.before.map_or(0, |most| position.saturating_sub(most));
        let mut end = self.after.map_or(kv_len, |most| {
            position.saturating_add(most).saturating_add(1).min(kv_len)
        });
        if let Some(packed) = &self.packed {
            let (from, to) = packed.keys[position];
            (first, end) = (first.max(from as usize), end.min(to as usize));
        }
        first.min(end)..end
    }

    /// Returns the numbers of the keys of a sequence.
    #[inline(always)]
    pub(super) fn padding(&self, batch: usize, kv_len: usize) -> Option<&[u8]> {
        let (all, _) = self.padding.as_ref()?;
        Some(&all[batch * kv_len..][..kv_len])
    }

    /// Returns the rules for one of the sequences.
    pub(crate) fn of_sequence(&self, batch: usize, kv_len: usize) -> Self {
        let padding = self.padding(batch, kv_len);
        Self {
            padding: padding.map(|kept| (kept.into(), [1, kv_len])),
            ..self.clone()
        }
    }

    /// Returns 1 for each excluded key of scores `[batch, heads, q_len, kv_len]`, or `None` if nothing is excluded.
    pub(crate) fn excluded(&self, [batch, heads, q_len, kv_len]: [usize; 4]) -> Option<Vec<u8>> {
        let Self { before, after, .. } = self;
        if before.is_none() && after.is_none() && self.packed.is_none() && self.padding.is_none() {
            return None;
        }
        let mut excluded = Vec::with_capacity(batch * heads * q_len * kv_len);
        for row in 0..batch * heads * q_len {
            let (batch, query) = (row / (heads * q_len), row % q_len);
            let (keys, padding) = (self.keys(query, kv_len), self.padding(batch, kv_len));
            excluded.extend((0..kv_len).map(|key| {
                let padded = padding.is_some_and(|kept| kept[key] == 0);
                u8::from(padded || !keys.contains(&key))
            }));
        }
        Some(excluded)
    }
}
