//! The mask of dropout: random words from the index of an element, many at a time.

use std::ops::Range;

use super::isa::Isa;
use super::philox::{MULTIPLIERS, ROUNDS, WEYL, philox4x32_10};

/// Blocks of four words that are computed in parallel.
pub(crate) const LANES: usize = 16;
/// Words that are computed at once.
pub(crate) const GROUP: usize = 4 * LANES;
const LOW: u64 = 0xffff_ffff;

/// The elements that stay, at one step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mask {
    pub(crate) seed: u64,
    pub(crate) step: u64,
    pub(crate) threshold: u32,
}

impl Mask {
    /// Returns the words of the elements `4 * block ..`: the definition.
    pub(crate) fn block(&self, block: u64) -> [u32; 4] {
        let counter = [
            block as u32,
            (block >> 32) as u32,
            self.step as u32,
            (self.step >> 32) as u32,
        ];
        philox4x32_10(counter, [self.seed as u32, (self.seed >> 32) as u32])
    }

    /// Returns whether an element with this word stays.
    pub(crate) fn keeps(&self, word: u32) -> bool {
        word >= self.threshold
    }

    /// Computes the words of a group, with a word of 32 bits in each lane of 64: the widening product is then one
    /// instruction, and moves nothing. The high halves of lanes may hold anything.
    #[inline(never)]
    pub(super) fn group(&self, block: u64) -> [u32; GROUP] {
        let mut c0 = [0u64; LANES];
        let mut c1 = [0u64; LANES];
        let mut c2 = [self.step & LOW; LANES];
        let mut c3 = [self.step >> 32; LANES];
        for lane in 0..LANES {
            let block = block.wrapping_add(lane as u64);
            c0[lane] = block;
            c1[lane] = block >> 32;
        }
        let [mut k0, mut k1] = [self.seed as u32, (self.seed >> 32) as u32];
        for _ in 0..ROUNDS {
            let (key0, key1) = (u64::from(k0), u64::from(k1));
            for lane in 0..LANES {
                let product0 = (c0[lane] & LOW) * MULTIPLIERS[0] as u64;
                let product1 = (c2[lane] & LOW) * MULTIPLIERS[1] as u64;
                c0[lane] = (product1 >> 32) ^ c1[lane] ^ key0;
                c1[lane] = product1;
                c2[lane] = (product0 >> 32) ^ c3[lane] ^ key1;
                c3[lane] = product0;
            }
            k0 = k0.wrapping_add(WEYL[0]);
            k1 = k1.wrapping_add(WEYL[1]);
        }
        let mut out = [0; GROUP];
        for lane in 0..LANES {
            out[4 * lane] = c0[lane] as u32;
            out[4 * lane + 1] = c1[lane] as u32;
            out[4 * lane + 2] = c2[lane] as u32;
            out[4 * lane + 3] = c3[lane] as u32;
        }
        out
    }
}

/// A mask, and the factor of the elements that it keeps: one application of dropout.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Masking {
    pub(crate) mask: Mask,
    pub(crate) factor: f64,
}

/// The random words of a mask on an instruction set, for any run of elements.
pub(crate) struct Words<I: Isa> {
    isa: I,
    mask: Mask,
    keys: I::Keys,
    /// The elements whose words are kept, from a multiple of four on.
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

    /// Returns the words of the elements from `first` on, at least `len` of them or 61, and [`GROUP`] where `first` is a
    /// multiple of four and the words from there on are not kept yet.
    #[inline(always)]
    pub(crate) fn from(&mut self, first: usize, len: usize) -> &[u32] {
        let enough = len.min(GROUP - 3);
        if !(self.kept.contains(&first) && self.kept.end - first >= enough) {
            let start = first / 4 * 4;
            self.words = self.isa.words(&self.mask, &self.keys, start as u64 / 4);
            self.kept = start..start + GROUP;
        }
        &self.words[first - self.kept.start..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::isa::{Level, Work};

    /// The words of some runs that begin behind an element.
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
            read
        }
    }

    #[test]
    fn every_set_gives_the_words_of_the_definition() {
        let far = (1usize << 34) - 4 * 5; // Blocks whose high word changes within a group.
        for (seed, step) in [(0, 0), (1, 2), (u64::MAX, u64::MAX), (1 << 32, 1 << 32)] {
            let mask = Mask {
                seed,
                step,
                threshold: 0,
            };
            for first in [0, 4, 64, 6, 1 << 34, far] {
                for (name, backend) in pe_core::Backend::available() {
                    let level = Level::from(backend);
                    for (from, words) in level.run(Read(mask, first)) {
                        for (index, word) in (from as u64..).zip(words) {
                            let wanted = mask.block(index / 4)[index as usize % 4];
                            assert_eq!(word, wanted, "{name} {seed} {index}");
                        }
                    }
                }
            }
        }
    }
}
