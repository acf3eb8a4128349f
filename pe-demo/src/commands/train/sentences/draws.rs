//! Numbers that are drawn, the same for the same seed.

use pe_candle::philox4x32_10;

/// The purposes of random numbers.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stream {
    Pairs,
    Train,
    Validation,
    Test,
}

/// Numbers that follow from a seed, a purpose and an index.
pub(super) struct Draws {
    key: [u32; 2],
    index: u64,
    stream: u32,
    block: u32,
    words: Vec<u32>,
}

impl Draws {
    pub(super) fn new(seed: u64, stream: Stream, index: u64) -> Self {
        Self {
            key: [seed as u32, (seed >> 32) as u32],
            index,
            stream: stream as u32,
            block: 0,
            words: Vec::new(),
        }
    }

    /// Draws a number below `bound`, which is small: all equally likely up to `bound / 2^32`.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        if self.words.is_empty() {
            let (low, high) = (self.index as u32, (self.index >> 32) as u32);
            // The streams of weights have another fourth word, and the streams of dropout another key.
            let counter = [low, high, self.block, STREAMS + self.stream];
            self.words = philox4x32_10(counter, self.key).to_vec();
            self.block += 1;
        }
        let word = self.words.pop().unwrap_or(0);
        ((u64::from(word) * bound as u64) >> 32) as usize
    }
}

/// "task" in ASCII: the first of the numbers that keep these streams apart from others.
const STREAMS: u32 = 0x7461_736b;
