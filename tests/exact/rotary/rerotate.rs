//! Moving rotated vectors to other positions and other frequencies.

use pe_core::PairLayout::{HalfSplit, Interleaved};
use pe_core::{
    PairLayout, RopeScaling, Rotary, RotaryConfig, RotaryFrequencies, RotaryRecipe, YarnScaling,
};
use pe_tests::tolerance;
use proptest::prelude::*;

fn plain(rotary_dim: usize) -> RotaryFrequencies {
    let rotary = Rotary::new(RotaryConfig::new(rotary_dim)).unwrap();
    rotary.frequencies(0).unwrap()
}

fn yarn(rotary_dim: usize, recipe: RotaryRecipe) -> RotaryFrequencies {
    let rotary = Rotary::new(RotaryConfig {
        base: 1e6,
        scaling: RopeScaling::Yarn(YarnScaling::new(4.0, 32_768)),
        recipe,
        ..RotaryConfig::new(rotary_dim)
    });
    rotary.unwrap().frequencies(0).unwrap()
}

/// A head rotated from scratch.
fn rotated(set: &RotaryFrequencies, position: u32, layout: PairLayout, head: &[f64]) -> Vec<f64> {
    let tables = set.tables_at::<f64>(&[position]).unwrap();
    let (cos, sin) = (tables.cos.as_slice(), tables.sin.as_slice());
    let mut out = head.to_vec();
    for pair in 0..cos.len() {
        let (a, b) = layout.columns(pair, cos.len());
        out[a] = head[a] * cos[pair] - head[b] * sin[pair];
        out[b] = head[a] * sin[pair] + head[b] * cos[pair];
    }
    out
}

fn assert_close(found: &[f64], expected: &[f64]) {
    for (found, expected) in found.iter().zip(expected) {
        // Three rotations of numbers below 2, each with a few half units of error.
        assert!(
            (found - expected).abs() < tolerance::ROTATED_THRICE,
            "{found} {expected}"
        );
    }
}

const HEAD: [f64; 10] = [0.3, -1.0, 0.25, 0.7, -0.9, 0.1, 1.0, -0.2, 5.0, 6.0];

proptest! {
    #[test]
    fn shift_equals_rotating_again(p in any::<u32>(), q in any::<u32>()) {
        let set = plain(8);
        for layout in [HalfSplit, Interleaved] {
            let mut head = rotated(&set, p, layout, &HEAD);
            let shift = set.shift(i64::from(q) - i64::from(p)).unwrap();
            shift.apply(layout, &mut head).unwrap();
            assert_close(&head, &rotated(&set, q, layout, &HEAD));
            // Columns beyond the rotary width stay.
            prop_assert_eq!(&head[8..], &HEAD[8..]);
        }
    }

    #[test]
    fn rerotation_to_other_frequencies_at_another_position(p in any::<u32>(), q in any::<u32>()) {
        let a = plain(8);
        for recipe in [RotaryRecipe::Exact, RotaryRecipe::HfF32] {
            let b = yarn(8, recipe);
            let mut head = rotated(&a, p, HalfSplit, &HEAD);
            let there = a.rerotate(p, &b, q).unwrap();
            there.apply(HalfSplit, &mut head).unwrap();
            let expected = rotated(&b, q, HalfSplit, &HEAD);
            if recipe == RotaryRecipe::Exact {
                assert_close(&head, &expected);
            } else {
                // The recipe's own entries are rounded to f32: 2^-24 of at most 1.14, twice.
                for (found, expected) in head.iter().zip(&expected) {
                    prop_assert!((found - expected).abs() < tolerance::ROTATED_BY_F32_ENTRIES);
                }
            }
            there.inverse().apply(HalfSplit, &mut head).unwrap();
            assert_close(&head, &rotated(&a, p, HalfSplit, &HEAD));
        }
    }

    /// Shifts add up to the operator of their sum.
    #[test]
    fn shifts_compose(first in -1_000_000_000i64..1_000_000_000, second in -1_000_000_000i64..1_000_000_000) {
        let set = plain(16);
        let (a, b) = (set.shift(first).unwrap(), set.shift(second).unwrap());
        let both = a.compose(&b).unwrap();
        prop_assert_eq!(both.steps(), Some(first + second));
        prop_assert_eq!(&both, &set.shift(first + second).unwrap());
        prop_assert_eq!(&both, &b.compose(&a).unwrap());
        prop_assert_eq!(a.compose(&a.inverse()).unwrap().steps(), Some(0));
    }
}

#[test]
fn operators_between_sets_compose() {
    let (a, b) = (plain(8), yarn(8, RotaryRecipe::Exact));
    let there = a.rerotate(70, &b, 90).unwrap();
    let back = b.rerotate(90, &a, 60).unwrap();
    let both = there.compose(&back).unwrap();
    assert_eq!(both.steps(), Some(-10));
    assert_eq!(both, a.shift(-10).unwrap());
    // A shift before or after an operator between sets.
    let later = there.compose(&b.shift(5).unwrap()).unwrap();
    assert_eq!(later, a.rerotate(70, &b, 95).unwrap());
    let earlier = a.shift(3).unwrap().compose(&there).unwrap();
    assert_eq!(earlier, a.rerotate(67, &b, 90).unwrap());
    // Positions in between must meet.
    assert!(there.compose(&b.rerotate(91, &a, 60).unwrap()).is_err());
    assert!(there.compose(&there).is_err());
    assert!(a.shift(1).unwrap().compose(&b.shift(1).unwrap()).is_err());
}

/// The angles come from all digits: a shift by q - p at the far end is as good as near 0.
#[test]
fn rotations_are_correctly_rounded() {
    let set = plain(64);
    let shift = set.shift(12_345).unwrap();
    let far = set.rerotate(4_000_000_000, &set, 4_000_012_345).unwrap();
    assert_eq!(shift, far);
    assert_eq!(far.steps(), Some(12_345));
    let tables = set.tables_at::<f64>(&[12_345]).unwrap();
    assert_eq!(shift.rotations().len(), 32);
    for (pair, (sine, cosine)) in shift.rotations().iter().enumerate() {
        assert_eq!(tables.sin.get(0, pair), Some(*sine));
        assert_eq!(tables.cos.get(0, pair), Some(*cosine));
    }
}

/// A shift by no steps rotates nothing, and a pair of frequency 0 rotates by no shift: sine +0 and
/// cosine 1, bit for bit.
#[test]
fn still_pairs_are_one_and_plus_zero() {
    let still = Rotary::new(RotaryConfig {
        scaling: RopeScaling::Custom {
            inv_freq: vec![0.0, 0.0],
            attention_factor: 1.0,
        },
        ..RotaryConfig::new(4)
    });
    let still = still.unwrap().frequencies(0).unwrap();
    let set = plain(8);
    let there = |steps| still.shift(steps).unwrap();
    for shift in [
        set.shift(0).unwrap(),
        set.shift(0).unwrap().inverse(),
        set.rerotate(9, &set, 9).unwrap(),
        there(0),
        there(7),
        there(-7),
        there(7).inverse(),
        there(-7).inverse(),
        there(-7).compose(&there(3)).unwrap(),
    ] {
        assert!(!shift.rotations().is_empty());
        for (sine, cosine) in shift.rotations() {
            assert_eq!((sine.to_bits(), *cosine), (0, 1.0), "{:?}", shift.steps());
        }
    }
}

#[test]
fn operators_that_turn_differently_differ() {
    let (a, b) = (plain(8), yarn(8, RotaryRecipe::Exact));
    assert_eq!(a.shift(3).unwrap(), a.shift(3).unwrap());
    assert_ne!(a.shift(3).unwrap(), a.shift(-3).unwrap());
    assert_ne!(a.shift(3).unwrap(), a.shift(4).unwrap());
    assert_ne!(a.shift(3).unwrap(), b.shift(3).unwrap());
    assert_ne!(a.shift(3).unwrap(), plain(16).shift(3).unwrap());
}

/// Operators go together if the one ends with the set with which the other starts: the same
/// frequencies and the same attention factor, of the same recipe.
#[test]
fn sets_are_the_same_by_frequencies_and_factor() {
    let custom = |inv_freq: [f64; 2], attention_factor, recipe| {
        let rotary = Rotary::new(RotaryConfig {
            scaling: RopeScaling::Custom {
                inv_freq: inv_freq.to_vec(),
                attention_factor,
            },
            recipe,
            ..RotaryConfig::new(4)
        });
        rotary.unwrap().frequencies(0).unwrap()
    };
    for recipe in [RotaryRecipe::Exact, RotaryRecipe::HfF32] {
        let other_recipe = match recipe {
            RotaryRecipe::Exact => RotaryRecipe::HfF32,
            _ => RotaryRecipe::Exact,
        };
        let set = custom([1.0, 0.25], 1.5, recipe);
        let there = set.rerotate(10, &set, 20).unwrap();
        let again = custom([1.0, 0.25], 1.5, recipe);
        let further = there.compose(&again.rerotate(20, &again, 25).unwrap());
        assert_eq!(further.unwrap(), set.rerotate(10, &set, 25).unwrap());
        for other in [
            custom([1.0, 0.5], 1.5, recipe),
            custom([1.0, 0.25], 1.25, recipe),
            custom([1.0, 0.25], 1.5, other_recipe),
        ] {
            let error = there.compose(&other.rerotate(20, &other, 25).unwrap());
            assert_eq!(
                error.unwrap_err().to_string(),
                "the operators do not compose: one ends with another set of 2 pairs than the next \
                 starts with"
            );
        }
    }
    // Rows of the recipe do not turn alike everywhere: its operators have no number of steps.
    let set = custom([1.0, 0.25], 1.5, RotaryRecipe::HfF32);
    let there = set.rerotate(10, &set, 20).unwrap();
    assert_eq!(there.steps(), None);
    assert!(there.compose(&set.rerotate(21, &set, 25).unwrap()).is_err());
}

#[test]
fn invalid_masks_and_tokens_are_errors() {
    let set = plain(8);
    assert!(set.shift(1 << 32).is_err());
    assert!(set.shift(i64::MIN).is_err());
    assert!(yarn(8, RotaryRecipe::HfF32).shift(1).is_err());
    assert!(set.rerotate(0, &plain(16), 0).is_err());
    let shift = set.shift((1 << 32) - 1).unwrap();
    assert!(shift.compose(&shift).is_err());
    let error = shift.apply(HalfSplit, &mut [0f32; 7]).unwrap_err();
    assert_eq!(error.to_string(), "head holds 7 elements, 8 are needed");
}
