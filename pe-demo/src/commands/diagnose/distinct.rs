//! Positions that a type can tell apart.

use pe_core::{Element, bf16, f16};
use serde::Serialize;

/// The values that the positions `0..positions` have in a type.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Distinct {
    pub(super) positions: u64,
    /// The number of different values.
    pub(super) distinct: u64,
    /// The first position with the value of another one, and that value.
    pub(super) first_lost: Option<Lost>,
    /// The first position that is infinite.
    pub(super) infinite_from: Option<u64>,
}

/// A position that is rounded.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Lost {
    pub(super) position: u64,
    /// The value of the position in the type.
    pub(super) becomes: f64,
}

/// A floating-point type.
pub(super) trait Float: Element {
    /// Bits of the significand, the hidden one included.
    const SIGNIFICAND: u32;
}

impl Float for f32 {
    const SIGNIFICAND: u32 = 24;
}
impl Float for f64 {
    const SIGNIFICAND: u32 = 53;
}
impl Float for f16 {
    const SIGNIFICAND: u32 = 11;
}
impl Float for bf16 {
    const SIGNIFICAND: u32 = 8;
}

impl Distinct {
    /// Counts the values of at least one position.
    pub(super) fn of<T: Float>(positions: u64) -> Self {
        let last = positions - 1;
        let value = |position: u64| T::from_f64(position as f64).to_f64();
        // Rounding is monotone: every value up to that of the last position is the value of a position.
        let infinite_from = value(last)
            .is_infinite()
            .then(|| first(last, |position| value(position).is_infinite()));
        let largest = match infinite_from {
            Some(from) => value(from - 1),
            None => value(last),
        };
        let lost = (1 << T::SIGNIFICAND) + 1;
        Self {
            positions,
            distinct: values_up_to(largest as u64, T::SIGNIFICAND)
                + u64::from(infinite_from.is_some()),
            first_lost: (lost <= last).then(|| Lost {
                position: lost,
                becomes: value(lost),
            }),
            infinite_from,
        }
    }
}

/// Returns the number of integers from 0 to `largest` with at most `digits` significant bits.
fn values_up_to(largest: u64, digits: u32) -> u64 {
    let mut count = largest.min(1 << digits) + 1;
    let mut from = 1_u64 << digits;
    while from < largest {
        let step = from >> (digits - 1);
        count += (largest.min(2 * from) - from) / step;
        from *= 2;
    }
    count
}

/// Returns the first number up to `last` with a property that `last` has, and every one after the first.
pub(super) fn first(last: u64, has: impl Fn(u64) -> bool) -> u64 {
    let (mut without, mut with) = (0, last);
    if has(0) {
        return 0;
    }
    while with - without > 1 {
        let middle = without + (with - without) / 2;
        match has(middle) {
            true => with = middle,
            false => without = middle,
        }
    }
    with
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The values of all positions, counted one by one.
    fn counted<T: Float>(positions: u64) -> Distinct {
        let values: Vec<f64> = (0..positions)
            .map(|position| T::from_f64(position as f64).to_f64())
            .collect();
        let set: BTreeSet<u64> = values.iter().map(|value| value.to_bits()).collect();
        let lost = (0..values.len()).find(|at| values[*at] != *at as f64);
        let infinite = values.iter().position(|value| value.is_infinite());
        Distinct {
            positions,
            distinct: set.len() as u64,
            first_lost: lost.map(|at| Lost {
                position: at as u64,
                becomes: values[at],
            }),
            infinite_from: infinite.map(|at| at as u64),
        }
    }

    #[test]
    fn distinct_values_are_those_counted_one_by_one() {
        for positions in (1..1200).chain([2047, 2048, 2049, 2050, 4099, 65_519, 65_520, 65_521]) {
            assert_eq!(Distinct::of::<bf16>(positions), counted::<bf16>(positions));
            assert_eq!(Distinct::of::<f16>(positions), counted::<f16>(positions));
        }
        for positions in [70_000, 131_072, (1 << 24) + 5] {
            assert_eq!(Distinct::of::<bf16>(positions), counted::<bf16>(positions));
            assert_eq!(Distinct::of::<f16>(positions), counted::<f16>(positions));
            assert_eq!(Distinct::of::<f32>(positions), counted::<f32>(positions));
        }
        let all = Distinct::of::<f64>(1 << 32);
        assert_eq!((all.distinct, all.first_lost), (1 << 32, None));
        // 2^24, and 2^23 in each of the binades up to 2^32, which the last positions become.
        assert_eq!(
            Distinct::of::<f32>(1 << 32).distinct,
            (1 << 24) + 8 * (1 << 23) + 1
        );
    }
}
