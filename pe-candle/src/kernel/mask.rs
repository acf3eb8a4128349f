//! The mask of dropout: random words from the index of an element, many at a time.

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
