//! The random words of a mask, for any run of elements.

use pulp::cast;

use super::isa::{Isa, STEP};
use super::mask::{GROUP, LANES, Mask};

/// The random words of a mask on an instruction set.
pub(crate) struct Words<I: Isa> {
    isa: I,
    mask: Mask,
    keys: I::Keys,
    /// The first element whose word is kept, a multiple of four, and the first one after the
    /// last.
    kept: std::ops::Range<usize>,
    words: [u32; KEPT + STEP],
}

/// Words that are kept: those of a group, from any element on.
const KEPT: usize = 2 * GROUP;

impl<I: Isa> Words<I> {
    #[inline(always)]
    pub(crate) fn new(isa: I, mask: Mask) -> Self {
        Self {
            isa,
            mask,
            keys: isa.keys(&mask),
            kept: 0..0,
            words: [0; KEPT + STEP],
        }
    }

    /// The words of a group of blocks.
    #[inline(always)]
    pub(crate) fn make(&self, block: u64) -> [I::Words; 4] {
        let (low, high) = (block as u32, (block >> 32) as u32);
        if low > u32::MAX - LANES as u32 {
            // The high word may change on the way.
            let words: [[u32; STEP]; 4] = cast(self.mask.group(block));
            return words.map(
                #[inline(always)]
                |words| self.isa.words(words),
            );
        }
        self.isa.group(&self.mask, &self.keys, low, high)
    }

    /// The words of `len` elements from `first` on, less than [`GROUP`] of them, followed by
    /// others until a step is full.
    #[inline(always)]
    pub(crate) fn from(&mut self, first: usize, len: usize) -> &[u32] {
        if !(self.kept.contains(&first) && first + len <= self.kept.end) {
            let start = first / 4 * 4;
            let (groups, _) = self.words.as_chunks_mut::<GROUP>();
            let needed = (first - start + len).div_ceil(GROUP);
            let mut block = first as u64 / 4;
            for group in groups.iter_mut().take(needed) {
                // This need not be inlined a second time.
                *group = self.mask.group(block);
                block += LANES as u64;
            }
            self.kept = start..start + needed * GROUP;
        }
        &self.words[first - self.kept.start..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::isa::{Level, Work};
    use pe_core::Backend;

    /// The words from an element on.
    struct Read(Mask, usize);

    impl Work for Read {
        type Output = Vec<u32>;

        #[inline(always)]
        fn run<I: Isa>(self, isa: I) -> Vec<u32> {
            let mut words = Words::new(isa, self.0);
            let aligned = self.1.next_multiple_of(4);
            let head = &words.from(self.1, aligned - self.1)[..aligned - self.1];
            let mut all = head.to_vec();
            for group in 0..3 {
                let made = words.make(aligned as u64 / 4 + 16 * group);
                all.extend(made.map(|words| isa.word_array(words)).as_flattened());
            }
            let next = self.1 + all.len();
            all.extend(&words.from(next, 63)[..63]);
            all.extend(&words.from(next + 63, 9)[..9]);
            all
        }
    }

    #[test]
    fn lanes_give_the_words_of_the_definition() {
        let far = (1usize << 34) - 4 * 5; // Blocks whose high word changes within a group.
        for (seed, step) in [(0, 0), (1, 2), (u64::MAX, u64::MAX), (1 << 32, 1 << 32)] {
            let mask = Mask {
                seed,
                step,
                threshold: 0,
            };
            for first in [0, 4, 64, 6, 1 << 34, far] {
                for (name, backend) in Backend::available() {
                    let words = Level::from(backend).run(Read(mask, first));
                    for (index, word) in (first as u64..).zip(words) {
                        let block = mask.block(index / 4);
                        assert_eq!(word, block[index as usize % 4], "{name} {seed} {index}");
                    }
                }
            }
        }
    }
}
