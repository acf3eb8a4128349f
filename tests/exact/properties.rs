//! Properties over drawn specifications and positions.

use pe_core::{
    Base, Element, OddWidth, Similarity, SinusoidLayout, Sinusoidal, SinusoidalConfig, Spacing,
    bf16, f16,
    testing::{Rungs, entry_pair},
};
use pe_tests::tolerance;
use proptest::prelude::*;

mod metadata;
mod rotary;

fn layouts() -> impl Strategy<Value = SinusoidLayout> {
    prop_oneof![
        Just(SinusoidLayout::Interleaved),
        Just(SinusoidLayout::Concatenated),
        Just(SinusoidLayout::ConcatenatedCosFirst),
    ]
}

fn spacings() -> impl Strategy<Value = Spacing> {
    prop_oneof![
        Just(Spacing::Paper),
        Just(Spacing::Inclusive),
        (-3.0..0.9f64).prop_map(Spacing::Shifted),
    ]
}

fn configs() -> impl Strategy<Value = SinusoidalConfig> {
    let odd_widths = prop_oneof![
        Just(OddWidth::Truncate),
        Just(OddWidth::RoundUp),
        Just(OddWidth::ZeroPad),
    ];
    let bases = prop_oneof![Just(10000.0), 1.0..1e7f64, 1e-3..1.0f64];
    (1usize..150, bases, layouts(), spacings(), odd_widths).prop_map(
        |(d_model, base, layout, spacing, odd_width)| SinusoidalConfig {
            base: Base::Value(base),
            layout,
            spacing,
            odd_width,
            ..SinusoidalConfig::new(d_model)
        },
    )
}

fn same_through_every_rung<T: Element>(encoding: &Sinusoidal, pair: usize, position: f64) {
    let of = |rungs| {
        let (sine, cosine): (T, T) = entry_pair(encoding, pair, position, rungs);
        (sine.pattern(), cosine.pattern())
    };
    assert_eq!(of(Rungs::Ladder), of(Rungs::Only320), "{}", T::NAME);
    assert_eq!(of(Rungs::From128), of(Rungs::Only320), "{}", T::NAME);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn splits_of_a_range_give_the_same_bits(
        config in configs(),
        start in 0u64..(1 << 32) - 200,
        cuts in proptest::collection::vec(0u64..200, 0..4),
    ) {
        let encoding = Sinusoidal::new(config).unwrap();
        let whole = encoding.table::<f32>(start..start + 200).unwrap();
        let mut cuts = cuts;
        cuts.extend([0, 200]);
        cuts.sort_unstable();
        let mut joined = Vec::new();
        for pair in cuts.windows(2) {
            let piece = encoding.table::<f32>(start + pair[0]..start + pair[1]).unwrap();
            joined.extend_from_slice(piece.as_slice());
        }
        prop_assert_eq!(whole.as_slice(), joined);
    }

    #[test]
    fn rungs_give_the_same_bits(
        config in configs(),
        position in prop_oneof![
            (0u32..).prop_map(f64::from),
            -1e9..1e9f64,
            -1.0..1.0f64,
        ],
    ) {
        let encoding = Sinusoidal::new(config).unwrap();
        for pair in 0..encoding.pairs() {
            same_through_every_rung::<f32>(&encoding, pair, position);
            same_through_every_rung::<f64>(&encoding, pair, position);
            same_through_every_rung::<f16>(&encoding, pair, position);
            same_through_every_rung::<bf16>(&encoding, pair, position);
        }
    }

    #[test]
    fn negative_positions_mirror(config in configs(), position in 1e-6..1e9f64) {
        let encoding = Sinusoidal::new(config).unwrap();
        for pair in 0..encoding.pairs() {
            let (s, c): (f64, f64) = entry_pair(&encoding, pair, position, Rungs::Ladder);
            let (t, d): (f64, f64) = entry_pair(&encoding, pair, -position, Rungs::Ladder);
            prop_assert_eq!((s, c), (-t, d));
        }
    }

    /// Narrow types are the rounding of wide ones wherever that is decided.
    #[test]
    fn types_agree_with_each_other(config in configs(), position in 0u32..) {
        let encoding = Sinusoidal::new(config).unwrap();
        let wide = encoding.table_at::<f64>(&[position]).unwrap();
        let single = encoding.table_at::<f32>(&[position]).unwrap();
        for (wide, single) in wide.as_slice().iter().zip(single.as_slice()) {
            // Rounding twice errs only at exact midpoints, which f64 entries
            // hit with a probability of 2^-29.
            prop_assert_eq!(*wide as f32, *single);
        }
    }

    #[test]
    fn shifts_compose_invert_and_keep_the_norm(
        d in (1usize..60).prop_map(|half| 2 * half),
        layout in layouts(),
        a in -100_000i64..100_000,
        b in -100_000i64..100_000,
        position in 200_000u32..1 << 30,
    ) {
        let encoding = Sinusoidal::new(SinusoidalConfig {
            layout,
            ..SinusoidalConfig::new(d)
        })
        .unwrap();
        let at = |position| encoding.table_at::<f64>(&[position]).unwrap().into_vec();
        let shift = encoding.shift(a).unwrap();
        let other = encoding.shift(b).unwrap();
        let mut row = at(position);
        shift.apply(&mut row).unwrap();
        for (found, expected) in row.iter().zip(at((i64::from(position) + a) as u32)) {
            prop_assert!((found - expected).abs() <= tolerance::SHIFTED, "{} {}", found, expected);
        }
        other.apply(&mut row).unwrap();
        let both = shift.compose(&other).unwrap();
        prop_assert_eq!(both.steps(), a + b);
        let mut at_once = at(position);
        both.apply(&mut at_once).unwrap();
        for (found, expected) in row.iter().zip(&at_once) {
            prop_assert!((found - expected).abs() <= tolerance::SHIFTED_TWICE);
        }
        let norm: f64 = row.iter().map(|x| x * x).sum();
        prop_assert!((norm - d as f64 / 2.0).abs() <= d as f64 * tolerance::SHIFTED_TWICE);
        prop_assert_eq!(both.inverse(), encoding.shift(-a - b).unwrap());
        both.inverse().apply(&mut at_once).unwrap();
        for (found, expected) in at_once.iter().zip(at(position)) {
            prop_assert!((found - expected).abs() <= tolerance::SHIFTED_TWICE);
        }
    }

    /// Sines are odd and cosines even, in whole tables of all types; +0 stays +0.
    #[test]
    fn tables_mirror(config in configs(), position in 1e-3..1e12f64) {
        fn mirrors<T: Element>(encoding: &Sinusoidal, position: f64) {
            let table = encoding.table_at_reals::<T>(&[position, -position, 0.0]).unwrap();
            let [there, back, zero] = [0, 1, 2].map(|row| table.row(row).unwrap());
            for ((there, back), zero) in there.iter().zip(back).zip(zero) {
                let (there, back) = (there.to_f64(), back.to_f64());
                // A column is a cosine if it is 1 at position 0.
                let mirrored = if zero.to_f64() == 1.0 { back } else { -back };
                assert_eq!(there, mirrored, "{}", T::NAME);
            }
        }
        let encoding = Sinusoidal::new(SinusoidalConfig { padding_idx: None, ..config }).unwrap();
        mirrors::<f32>(&encoding, position);
        mirrors::<f64>(&encoding, position);
        mirrors::<f16>(&encoding, position);
        mirrors::<bf16>(&encoding, position);
    }

    #[test]
    fn similarities_are_symmetric_and_bounded(
        config in configs(),
        p in 0u32..1 << 20,
        q in 0u32..1 << 20,
    ) {
        let encoding = Sinusoidal::new(config).unwrap();
        for of in [Similarity::Dot, Similarity::Sse, Similarity::Distance] {
            let there = encoding.similarity(of, p, q).unwrap();
            prop_assert_eq!(there, encoding.similarity(of, q, p).unwrap());
        }
        let limit = encoding.pairs() as f64 * (1.0 + tolerance::DOT_BOUND);
        prop_assert!(encoding.similarity(Similarity::Dot, p, q).unwrap().abs() <= limit);
        prop_assert_eq!(encoding.similarity(Similarity::Sse, p, p).unwrap(), 0.0);
    }
}
