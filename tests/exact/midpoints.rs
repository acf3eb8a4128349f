//! Angles that are midpoints of two floats: their sines lie below, by next to nothing.
//!
//! For a small angle m > 0 the sine is m - m^3 / 6 + ..., so that of a midpoint rounds to the float
//! below it, and its negative to the float above. The smaller m, the closer the sine comes to the tie, until no
//! working precision of the faster rungs can tell them apart.

use half::bf16;
use pe_core::{Element, RopeScaling, Rotary, RotaryConfig, RotaryFrequencies};

fn set(inv_freq: Vec<f64>) -> RotaryFrequencies {
    let rotary_dim = 2 * inv_freq.len();
    Rotary::new(RotaryConfig {
        scaling: RopeScaling::Custom {
            inv_freq,
            attention_factor: 1.0,
        },
        ..RotaryConfig::new(rotary_dim)
    })
    .unwrap()
    .frequencies(0)
    .unwrap()
}

/// `whole` x 2^`power`, exactly.
fn binary(whole: u64, power: i32) -> f64 {
    let two_to = f64::from_bits(((1023 + power) as u64) << 52);
    let exact = whole as f64;
    assert_eq!(exact as u64, whole);
    exact * two_to
}

/// The sine of `position` x `inv_freq`, made row by row and as one of many rows.
fn sines<T: Element>(inv_freq: &[f64], position: u32) -> [Vec<T>; 2] {
    let set = set(inv_freq.to_vec());
    let one = set.tables_at::<T>(&[position]).unwrap();
    let first = u64::from(position).saturating_sub(5);
    let many = set.tables::<T>(first..first + 200).unwrap();
    let row = (u64::from(position) - first) as usize;
    [
        one.sin.row(0).unwrap().to_vec(),
        many.sin.row(row).unwrap().to_vec(),
    ]
}

/// `bits` bits of a float and half a unit, at many sizes and positions: `below` makes the float below.
fn check<T: Element + std::fmt::Debug>(bits: u32, deepest: i32, below: impl Fn(u64, i32) -> T) {
    let mut drawn = 88172645463325252u64;
    // Of which an f64 frequency makes midpoints.
    let possible = |position: &u32| {
        u64::from(*position) < 1 << (bits - 2) && (2 << bits) / u64::from(*position) < 1 << 53
    };
    for position in [1u32, 3, 5, 17, 255, 65_537].into_iter().filter(possible) {
        let first = (bits * 3 / 2 + 3) as i32;
        for power in (first..first + 57).chain((first + 57..deepest).step_by(37)) {
            // The midpoint is (2 m + 1) / 2 units, and a multiple of the position.
            let mut wholes = Vec::new();
            while wholes.len() < 6 {
                drawn ^= drawn << 13;
                drawn ^= drawn >> 7;
                drawn ^= drawn << 17;
                let odd = (1 << bits) | (drawn & ((1 << bits) - 1)) | 1;
                let odd = odd - odd % (2 * u64::from(position)) + u64::from(position);
                if odd >> bits == 1 && odd % 2 == 1 && (odd / u64::from(position)) >> 53 == 0 {
                    wholes.push(odd);
                }
            }
            let inv_freq: Vec<f64> = wholes
                .iter()
                .map(|odd| binary(odd / u64::from(position), -power))
                .collect();
            for found in sines::<T>(&inv_freq, position) {
                for (found, odd) in found.iter().zip(&wholes) {
                    let wanted = below(odd - 1, -power);
                    assert_eq!(
                        found.pattern(),
                        wanted.pattern(),
                        "{odd} / 2^{power} at {position}: {found:?} {wanted:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn sines_of_midpoints_round_down() {
    check::<f32>(24, 120, |whole, power| binary(whole, power) as f32);
    check::<bf16>(8, 120, |whole, power| bf16::from_f64(binary(whole, power)));
    check::<f64>(53, 900, binary);
}
