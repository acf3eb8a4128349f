//! Rotary tables and rotations over drawn specifications.

use pe_core::{PairLayout, Rotary, RotaryConfig};

use super::metadata::rotary_configs;
use super::*;
use pe_tests::tolerance;

fn bits<T: Element>(entries: &[T]) -> Vec<u64> {
    entries
        .iter()
        .map(|entry| entry.to_f64().to_bits())
        .collect()
}

fn split_gives_the_same<T: Element>(config: &RotaryConfig, start: u64, cuts: &[u64]) {
    let rotary = Rotary::new(config.clone()).unwrap();
    let frequencies = rotary.frequencies(200_000).unwrap();
    let whole = frequencies.tables::<T>(start..start + 100).unwrap();
    let (mut cos, mut sin) = (Vec::new(), Vec::new());
    for pair in cuts.windows(2) {
        let piece = frequencies
            .tables::<T>(start + pair[0]..start + pair[1])
            .unwrap();
        cos.extend_from_slice(piece.cos.as_slice());
        sin.extend_from_slice(piece.sin.as_slice());
    }
    assert_eq!(bits(whole.cos.as_slice()), bits(&cos), "{}", T::NAME);
    assert_eq!(bits(whole.sin.as_slice()), bits(&sin), "{}", T::NAME);
    let ids: Vec<u32> = (start..start + 100)
        .map(|position| position as u32)
        .collect();
    let listed = frequencies.tables_at::<T>(&ids).unwrap();
    assert_eq!(bits(listed.cos.as_slice()), bits(&cos), "{}", T::NAME);
    assert_eq!(bits(listed.sin.as_slice()), bits(&sin), "{}", T::NAME);
}

/// A head with entries within -1 .. 1.
fn heads(width: usize) -> impl Strategy<Value = Vec<f64>> {
    proptest::collection::vec(-1.0..1f64, width)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Every scaling and recipe.
    #[test]
    fn splits_of_a_range_give_the_same_bits(
        config in rotary_configs(),
        start in 0u64..(1 << 32) - 100,
        cuts in proptest::collection::vec(0u64..100, 0..4),
    ) {
        let mut cuts = cuts;
        cuts.extend([0, 100]);
        cuts.sort_unstable();
        split_gives_the_same::<f32>(&config, start, &cuts);
        split_gives_the_same::<f64>(&config, start, &cuts);
        split_gives_the_same::<f16>(&config, start, &cuts);
        split_gives_the_same::<bf16>(&config, start, &cuts);
    }

    /// Rotations keep the norm; products depend on the distance alone; shifts add up and have an
    /// inverse.
    #[test]
    fn rotations_compose_and_keep_norms_and_products(
        (q, k) in (1usize..40).prop_flat_map(|pairs| (heads(2 * pairs), heads(2 * pairs))),
        interleaved in any::<bool>(),
        a in 0i64..1_000_000,
        b in -1_000_000i64..1_000_000,
        base in 2.0..1e7f64,
    ) {
        let layout = if interleaved { PairLayout::Interleaved } else { PairLayout::HalfSplit };
        let width = q.len();
        let config = RotaryConfig { base, ..RotaryConfig::new(width) };
        let frequencies = Rotary::new(config).unwrap().frequencies(0).unwrap();
        // Each product of a rotation errs by some 2^-52, and there are `width` of them.
        let within = width as f64 * tolerance::SHIFTED_TWICE;
        let turned = |steps: i64, head: &[f64]| {
            let mut head = head.to_vec();
            frequencies.shift(steps).unwrap().apply(layout, &mut head).unwrap();
            head
        };
        let (qa, ka, kb) = (turned(a, &q), turned(a, &k), turned(a + b, &k));
        prop_assert!((dot(&qa, &qa) - dot(&q, &q)).abs() <= within);
        prop_assert!((dot(&qa, &ka) - dot(&q, &k)).abs() <= within);
        prop_assert!((dot(&qa, &kb) - dot(&q, &turned(b, &k))).abs() <= within);
        let (first, second) = (frequencies.shift(a).unwrap(), frequencies.shift(b).unwrap());
        let both = first.compose(&second).unwrap();
        prop_assert_eq!(both.steps(), Some(a + b));
        let mut head = k.clone();
        both.apply(layout, &mut head).unwrap();
        for (found, wanted) in head.iter().zip(&kb) {
            prop_assert!((found - wanted).abs() <= tolerance::SHIFTED_TWICE, "{} {}", found, wanted);
        }
        both.inverse().apply(layout, &mut head).unwrap();
        for (found, wanted) in head.iter().zip(&k) {
            prop_assert!((found - wanted).abs() <= tolerance::SHIFTED_FOUR_TIMES, "{} {}", found, wanted);
        }
    }
}
