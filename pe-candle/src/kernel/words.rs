//! The random words of a mask, for any run of elements.

use std::ops::Range;

use super::isa::{Isa, groups_before_carry};
use super::mask::{GROUP, LANES, Mask};

/// The random words of a mask on an instruction set, for any run of elements.
pub(crate) struct Words<I: Isa> {
    isa: I,
    mask: Mask,
    keys: I::Keys,
    /// The elements with words in memory. The first is a multiple of four.
    kept: Range<usize>,
    words: [u32; GROUP],
}

impl<I: Isa> Words<I> {
    #[inline(always)]
    pub(crate) fn new(isa: I, mask: Mask) -> Self {
        let (keys, words) = (isa.keys(&mask), [0; GROUP]);
        Self {
            isa,
            mask,
            keys,
            kept: 0..0,
            words,
        }
    }

    /// Returns the words of the elements starting at `first`, at least `len` of them or 61, and [`GROUP`] if `first` is a
    /// multiple of four and its words are not in memory yet.
    #[inline(always)]
    pub(crate) fn from(&mut self, first: usize, len: usize) -> &[u32] {
        let enough = len.min(GROUP - 3);
        if !(self.kept.contains(&first) && self.kept.end - first >= enough) {
            let start = first / 4 * 4;
            self.isa
                .words(&self.mask, &self.keys, start as u64 / 4, &mut self.words);
            self.kept = start..start + GROUP;
        }
        &self.words[first - self.kept.start..]
    }

    /// Returns the groups of words starting at element `first`, a multiple of four, and how many there are at least.
    #[inline(always)]
    pub(crate) fn groups(&self, first: usize) -> (Groups<I>, usize) {
        let block = first as u64 / 4;
        let (low, high) = (block as u32, (block >> 32) as u32);
        let groups = Groups {
            isa: self.isa,
            keys: self.keys,
            low,
            high,
        };
        (groups, groups_before_carry(low))
    }
}

/// Groups of words that follow one another, and are computed in registers.
pub(crate) struct Groups<I: Isa> {
    isa: I,
    keys: I::Keys,
    low: u32,
    high: u32,
}

impl<I: Isa> Groups<I> {
    /// Computes the words of the group with this number.
    #[inline(always)]
    pub(crate) fn words(&self, group: usize) -> [u32; GROUP] {
        let low = self.low + (group * LANES) as u32;
        self.isa.group(&self.keys, low, self.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::isa::{Level, Work};

    /// The words of some runs that begin behind an element, and of the first whole groups.
    struct Read(Mask, usize);

    impl Work for Read {
        type Output = Vec<(usize, Vec<u32>)>;

        #[inline(always)]
        fn run<I: Isa>(self, isa: I) -> Self::Output {
            let mut words = Words::new(isa, self.0);
            let mut read = Vec::new();
            for (skipped, len) in [
                (0, 1),
                (1, 40),
                (3, 61),
                (66, 9),
                (0, 60),
                (64, 64),
                (509, 2000),
            ] {
                let found = words.from(self.1 + skipped, len);
                assert!(found.len() >= len.min(61), "{len}");
                read.push((self.1 + skipped, found.to_vec()));
            }
            let start = self.1.next_multiple_of(4);
            let (groups, count) = words.groups(start);
            for group in 0..count.min(5) {
                read.push((start + group * GROUP, groups.words(group).to_vec()));
            }
            read
        }
    }

    #[test]
    fn every_set_gives_the_words_of_the_definition() {
        let end = 1usize << 34;
        let far = end - 4 * 5; // The high word of a block changes within a group.
        for (seed, step) in [(0, 0), (1, 2), (u64::MAX, u64::MAX), (1 << 32, 1 << 32)] {
            let mask = Mask {
                seed,
                step,
                threshold: 0,
            };
            for first in [0, 4, 64, 6, end, far, end - 2 * GROUP, end - 3 * GROUP + 4] {
                for level in Level::available() {
                    for (from, words) in level.run(Read(mask, first)) {
                        for (index, word) in (from as u64..).zip(words) {
                            let wanted = mask.block(index / 4)[index as usize % 4];
                            assert_eq!(word, wanted, "{} {seed} {index}", level.name());
                        }
                    }
                }
            }
        }
    }
}
