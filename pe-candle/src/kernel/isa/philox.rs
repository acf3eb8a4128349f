//! Philox4x32-10 in vector registers.

use crate::kernel::mask::Mask;
use crate::kernel::philox::{MULTIPLIERS, ROUNDS, WEYL};

/// Operations on lanes of 64 bits.
pub(super) trait Lanes: Copy {
    type V: Copy;

    fn splat(self, value: u64) -> Self::V;
    /// Multiplies the low halves of lanes.
    fn product(self, a: Self::V, b: Self::V) -> Self::V;
    /// Moves the high halves to the low ones. The high ones may then hold anything.
    fn high(self, a: Self::V) -> Self::V;
    fn xor(self, a: Self::V, b: Self::V) -> Self::V;
    fn xor3(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// Returns the high halves of a product, xor `a` and `b`, as low halves, and its low halves as high ones.
    fn last(self, product: Self::V, a: Self::V, b: Self::V) -> Self::V;
}

/// The values that all blocks of a mask share, in every lane.
#[derive(Clone, Copy)]
pub(crate) struct Keys<V> {
    multipliers: [V; 2],
    rounds: [[V; 2]; ROUNDS],
    /// The second round's key and first word, which are only ever used together.
    second: V,
    /// A word of the first round, except for the high word of the block.
    start: u32,
    next: [u32; 2],
}

impl<V: Copy> Keys<V> {
    #[inline(always)]
    pub(super) fn new<L: Lanes<V = V>>(lanes: L, mask: &Mask) -> Self {
        let mut key = [mask.seed as u32, (mask.seed >> 32) as u32];
        let first = key;
        let mut rounds = [[lanes.splat(0); 2]; ROUNDS];
        for round in &mut rounds {
            *round = key.map(|word| lanes.splat(word.into()));
            key = [0, 1].map(|i| key[i].wrapping_add(WEYL[i]));
        }
        let next = [0, 1].map(|i| first[i].wrapping_add(WEYL[i]));
        let product = u64::from(MULTIPLIERS[1]) * (mask.step & 0xffff_ffff);
        let step_high = (mask.step >> 32) as u32;
        rounds[0][1] = lanes.splat((step_high ^ first[1]).into());
        Self {
            multipliers: MULTIPLIERS.map(|m| lanes.splat(m.into())),
            rounds,
            second: lanes.splat((product as u32 ^ next[0]).into()),
            start: (product >> 32) as u32 ^ first[0],
            next,
        }
    }

    /// Computes the words 0 and 1, and the words 2 and 3, of the blocks with the low words `low`, in the low halves of
    /// lanes, and the high word `high`.
    ///
    /// Words live in the low halves of lanes: the widening product is one instruction then, and
    /// the high halves may hold anything. The third and the fourth word of the counter are the
    /// same for all blocks, and so are two words after the first round and one after the second.
    ///
    /// The rounds of both vectors are interleaved: each operation waits for the one before, and the CPU executes one of
    /// the other vector meanwhile.
    #[inline(always)]
    pub(super) fn words<L: Lanes<V = V>>(&self, lanes: L, low: [V; 2], high: u32) -> [[V; 2]; 2] {
        let [m0, m1] = self.multipliers;
        let keys = &self.rounds;
        let product = (
            u64::from(self.start ^ high) * u64::from(MULTIPLIERS[0]),
            self.next[1],
        );
        let of_c2 = lanes.splat(((product.0 >> 32) as u32 ^ product.1).into());
        let of_c3 = lanes.splat(product.0 & 0xffff_ffff);
        let first = pair(
            #[inline(always)]
            |i| {
                let p0 = lanes.product(low[i], m0);
                let c2 = lanes.xor(lanes.high(p0), keys[0][1]);
                (p0, c2)
            },
        );
        let mut state = pair(
            #[inline(always)]
            |i| {
                let (p0, c2) = first[i];
                let p1 = lanes.product(c2, m1);
                let c0 = lanes.xor(lanes.high(p1), self.second);
                [c0, p1, lanes.xor(p0, of_c2), of_c3]
            },
        );
        for [k0, k1] in &keys[2..ROUNDS - 1] {
            state = pair(
                #[inline(always)]
                |i| {
                    let [c0, c1, c2, c3] = state[i];
                    let p0 = lanes.product(c0, m0);
                    let p1 = lanes.product(c2, m1);
                    let c0 = lanes.xor3(lanes.high(p1), c1, *k0);
                    let c2 = lanes.xor3(lanes.high(p0), c3, *k1);
                    [c0, p1, c2, p0]
                },
            );
        }
        let [k0, k1] = keys[ROUNDS - 1];
        pair(
            #[inline(always)]
            |i| {
                let [c0, c1, c2, c3] = state[i];
                let p0 = lanes.product(c0, m0);
                let p1 = lanes.product(c2, m1);
                [lanes.last(p1, c1, k0), lanes.last(p0, c3, k1)]
            },
        )
    }
}

/// Returns `f(0)` and `f(1)`. The array's own `map` would not be inlined, but compiled for the baseline.
#[inline(always)]
pub(super) fn pair<A>(f: impl Fn(usize) -> A) -> [A; 2] {
    [f(0), f(1)]
}
