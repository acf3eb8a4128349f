//! The mask of dropout: random words from where an element stands, many at a time.

use pulp::cast;

use super::isa::{Isa, STEP};
use crate::kernel::philox::{MULTIPLIERS, ROUNDS, WEYL, philox4x32_10};

/// Blocks of four words that are made side by side.
const LANES: usize = 16;
/// Words that are made at once, four steps.
pub(crate) const GROUP: usize = 4 * LANES;
const LOW: u64 = 0xffff_ffff;

/// Which elements stay, at one step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mask {
    pub(crate) seed: u64,
    pub(crate) step: u64,
    pub(crate) threshold: u32,
}

impl Mask {
    /// The words of the elements `4 * block ..`: the definition.
    pub(crate) fn block(&self, block: u64) -> [u32; 4] {
        let counter = [
            block as u32,
            (block >> 32) as u32,
            self.step as u32,
            (self.step >> 32) as u32,
        ];
        philox4x32_10(counter, [self.seed as u32, (self.seed >> 32) as u32])
    }

    /// Whether an element with this word stays.
    pub(crate) fn keeps(&self, word: u32) -> bool {
        word >= self.threshold
    }

    /// Blocks side by side, a word of 32 bits in each lane of 64: the widening product is
    /// then one instruction, and needs nothing moved. The high halves of lanes may hold
    /// anything.
    #[inline(always)]
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

/// A mask and what is kept multiplied by: one application of dropout.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Masking {
    pub(crate) mask: Mask,
    pub(crate) factor: f64,
}

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
