//! Specifications as text: writing and reading give the same specification and the same table.

use pe_core::{
    Direction, Llama3Scaling, LongRopeScaling, Preset, Recipe, RopeScaling, Rotary, RotaryConfig,
    RotaryRecipe, YarnScaling,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::*;

/// Returns the specification after writing and reading.
fn through_text<T: Serialize + DeserializeOwned>(value: &T) -> T {
    let text = serde_json::to_string(value).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Any finite positive number, not only round ones.
fn positive() -> impl Strategy<Value = f64> {
    proptest::num::f64::POSITIVE | proptest::num::f64::NORMAL
}

fn factors(count: usize) -> impl Strategy<Value = Vec<f64>> {
    proptest::collection::vec(0.5..64f64, count)
}

fn scalings(pairs: usize) -> impl Strategy<Value = RopeScaling> {
    let yarn = (
        1.0..64f64,
        1usize..100_000,
        1.5..40f64,
        any::<Option<bool>>(),
    )
        .prop_map(|(factor, length, beta_fast, more)| {
            RopeScaling::Yarn(YarnScaling {
                beta_fast,
                truncate: more != Some(false),
                mscale: more.map(|_| 0.707),
                mscale_all_dim: more.map(|_| 1.1),
                ..YarnScaling::new(factor, length)
            })
        });
    let longrope = (
        factors(pairs),
        factors(pairs),
        1usize..100_000,
        proptest::option::of(1.0..3f64),
    )
        .prop_map(|(short, long, length, attention_factor)| {
            RopeScaling::LongRope(LongRopeScaling {
                attention_factor,
                factor: Some(32.0),
                ..LongRopeScaling::new(short, long, length)
            })
        });
    let llama3 = (1.0..64f64, 0.5..2f64, 2.5..8f64, 1usize..100_000).prop_map(
        |(factor, low_freq_factor, high_freq_factor, original_max_position_embeddings)| {
            RopeScaling::Llama3(Llama3Scaling {
                factor,
                low_freq_factor,
                high_freq_factor,
                original_max_position_embeddings,
            })
        },
    );
    prop_oneof![
        Just(RopeScaling::Default),
        (0.1..64f64).prop_map(|factor| RopeScaling::Linear { factor }),
        (1.0..64f64).prop_map(|factor| RopeScaling::Dynamic { factor }),
        yarn,
        longrope,
        llama3,
        (0.1..1f64, 1.0..8f64).prop_map(|(partial_rotary_factor, factor)| {
            RopeScaling::Proportional {
                partial_rotary_factor,
                factor,
            }
        }),
        (factors(pairs), 0.1..4f64).prop_map(|(inv_freq, attention_factor)| {
            RopeScaling::Custom {
                inv_freq,
                attention_factor,
            }
        }),
    ]
}

/// Valid specifications with every scaling and recipe.
pub(super) fn rotary_configs() -> impl Strategy<Value = RotaryConfig> {
    (1usize..40).prop_flat_map(|pairs| {
        (
            scalings(pairs),
            2.0..1e7f64,
            1usize..100_000,
            any::<bool>(),
            any::<bool>(),
        )
            .prop_map(
                move |(scaling, base, length, rounded, clockwise)| RotaryConfig {
                    base,
                    // The dynamic exponent d / (d - 2) needs more than one pair.
                    rotary_dim: match scaling {
                        RopeScaling::Dynamic { .. } => 2 * pairs.max(2),
                        _ => 2 * pairs,
                    },
                    scaling,
                    max_position_embeddings: Some(length),
                    recipe: if rounded {
                        RotaryRecipe::HfF32
                    } else {
                        RotaryRecipe::Exact
                    },
                    exponent_dim: clockwise.then_some(2 * pairs + 1),
                    direction: if clockwise {
                        Direction::Clockwise
                    } else {
                        Direction::Counterclockwise
                    },
                },
            )
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Every preset, at any width and with any base: text and back gives the same
    /// specification and the same bits.
    #[test]
    fn presets_round_trip(
        preset in proptest::sample::select(Preset::ALL.to_vec()),
        d_model in 1usize..80,
        base in 1.0..1e7f64,
        padding_idx in any::<Option<u32>>(),
        recipe in proptest::sample::select(vec![Recipe::Exact, Recipe::ExpF32, Recipe::PowF32]),
    ) {
        prop_assert_eq!(preset.name().parse::<Preset>().unwrap(), preset);
        prop_assert_eq!(preset.to_string(), preset.name());
        let config = SinusoidalConfig {
            base: Base::Value(base),
            padding_idx,
            recipe,
            ..preset.config(d_model)
        };
        let read = through_text(&config);
        prop_assert_eq!(read, config);
        match (Sinusoidal::new(config), Sinusoidal::new(read)) {
            (Ok(a), Ok(b)) => {
                let (a, b) = (a.table::<f32>(77..90).unwrap(), b.table::<f32>(77..90).unwrap());
                prop_assert_eq!(a, b);
            }
            (a, b) => prop_assert_eq!(a.map(drop), b.map(drop)),
        }
    }

    /// Any specification that can be held can be written, valid or not.
    #[test]
    fn numbers_keep_their_bits(
        config in configs(),
        base in positive(),
        shift in proptest::num::f64::NORMAL,
        rate in any::<bool>(),
    ) {
        let config = SinusoidalConfig {
            base: if rate { Base::MinRate(base) } else { Base::Value(base) },
            spacing: Spacing::Shifted(shift),
            ..config
        };
        let read = through_text(&config);
        prop_assert_eq!(read, config);
        let bits = |config: &SinusoidalConfig| match (config.base, config.spacing) {
            (Base::Value(base) | Base::MinRate(base), Spacing::Shifted(shift)) => {
                (base.to_bits(), shift.to_bits())
            }
            _ => unreachable!(),
        };
        prop_assert_eq!(bits(&read), bits(&config));
    }

    #[test]
    fn rotary_specifications_round_trip(config in rotary_configs(), seq_len in 0usize..200_000) {
        let read = through_text(&config);
        prop_assert_eq!(&read, &config);
        let set = |config| Rotary::new(config).unwrap().frequencies(seq_len).unwrap();
        let (a, b) = (set(config), set(read));
        prop_assert_eq!(a.inv_freq(), b.inv_freq());
        prop_assert_eq!(a.attention_factor().to_bits(), b.attention_factor().to_bits());
    }

    /// A key too many, or one misspelled, is an error.
    #[test]
    fn unknown_keys_are_refused(config in configs(), key in "[a-z_]{1,12}") {
        let mut value = serde_json::to_value(config).unwrap();
        let known = value.get(&key).is_some();
        value.as_object_mut().unwrap().insert(key, serde_json::json!(null));
        prop_assert_eq!(serde_json::from_value::<SinusoidalConfig>(value).is_err(), !known);
    }
}
