//! Properties of a checked specification.

use pe_core::{PairLayout, RopeScaling, Rotary, RotaryConfig, RotaryRecipe};

#[test]
fn names_are_those_of_the_command_line() {
    assert_eq!(RotaryRecipe::Exact.name(), "exact");
    assert_eq!(RotaryRecipe::HfF32.name(), "hf-f32");
    assert_eq!(PairLayout::HalfSplit.name(), "half-split");
    assert_eq!(PairLayout::Interleaved.name(), "interleaved");
}

/// One spelling everywhere. Files of older versions contain `half_split`.
#[test]
fn names_are_those_of_json() {
    for layout in [PairLayout::HalfSplit, PairLayout::Interleaved] {
        let json = serde_json::to_value(layout).unwrap();
        assert_eq!(json, layout.name());
        assert_eq!(serde_json::from_value::<PairLayout>(json).unwrap(), layout);
    }
    let old = serde_json::from_str::<PairLayout>("\"half_split\"").unwrap();
    assert_eq!(old, PairLayout::HalfSplit);
}

#[test]
fn widths_and_numbers_of_pairs() {
    for (rotary_dim, pairs) in [(2, 1), (6, 3), (64, 32), (128, 64)] {
        let rotary = Rotary::new(RotaryConfig::new(rotary_dim)).unwrap();
        assert_eq!((rotary.rotary_dim(), rotary.pairs()), (rotary_dim, pairs));
        let frequencies = rotary.frequencies(0).unwrap();
        assert_eq!(frequencies.pairs(), pairs);
        assert_eq!(frequencies.inv_freq().len(), pairs);
    }
}

/// Embeddings are equal exactly if their specifications are.
#[test]
fn equality_is_that_of_the_specifications() {
    let config = RotaryConfig::new(8);
    let all = [
        config.clone(),
        RotaryConfig {
            rotary_dim: 10,
            ..config.clone()
        },
        RotaryConfig {
            base: 5e5,
            ..config.clone()
        },
        RotaryConfig {
            scaling: RopeScaling::Linear { factor: 2.0 },
            ..config.clone()
        },
        RotaryConfig {
            max_position_embeddings: Some(4096),
            ..config.clone()
        },
        RotaryConfig {
            recipe: RotaryRecipe::HfF32,
            ..config
        },
    ];
    let made = || {
        all.iter()
            .map(|config| Rotary::new(config.clone()).unwrap())
    };
    for (i, a) in made().enumerate() {
        for (j, b) in made().enumerate() {
            assert_eq!(a == b, i == j, "{:?} {:?}", a.config(), b.config());
        }
    }
}
