//! Frequencies of released models, read from their `config.json`, against transformers and
//! against the same formulas in interval arithmetic.

use pe_core::hf_config::{self, UnknownKeys};
use pe_core::{
    LongRopeScaling, RopeScaling, Rotary, RotaryConfig, RotaryFrequencies, RotaryRecipe, bf16,
};
use pe_tests::rotary::{Case, cases, edges, tables};
use pe_tests::tolerance;

fn frequencies(case: &Case, recipe: RotaryRecipe) -> RotaryFrequencies {
    let model = hf_config::read(&case.config, UnknownKeys::Reject)
        .unwrap_or_else(|error| panic!("{}: {error}", case.name));
    let layer = model.layer(case.layer_type.as_deref()).unwrap();
    assert_eq!(layer.rotary.rotary_dim, case.rotary_dim, "{}", case.name);
    let rotary = Rotary::new(RotaryConfig {
        recipe,
        ..layer.rotary.clone()
    })
    .unwrap_or_else(|error| panic!("{}: {error}", case.name));
    rotary.frequencies(case.seq_len.unwrap_or(0)).unwrap()
}

fn is_relatively_near(found: f64, expected: f64, tolerance: f64) -> bool {
    (found - expected).abs() <= tolerance * expected.abs()
}

#[test]
fn models_of_every_kind_are_numerous() {
    let cases = cases();
    assert!(cases.len() >= 80, "{}", cases.len());
    for kind in [
        "default",
        "linear",
        "dynamic",
        "yarn",
        "longrope",
        "llama3",
        "proportional",
    ] {
        assert!(cases.iter().any(|case| case.rope_type == kind), "{kind}");
    }
}

#[test]
fn exact_frequencies_are_the_nearest_f64() {
    for case in cases().into_iter().chain(edges()) {
        let found = frequencies(&case, RotaryRecipe::Exact);
        assert_eq!(found.inv_freq(), case.inv_freq_exact, "{}", case.name);
        assert_eq!(
            found.attention_factor(),
            case.attention_factor_exact,
            "{}",
            case.name
        );
    }
}

#[test]
fn exact_frequencies_lie_within_the_error_of_the_reference() {
    let mut largest = 0f64;
    for case in cases() {
        let found = frequencies(&case, RotaryRecipe::Exact);
        for (found, expected) in found.inv_freq().iter().zip(&case.inv_freq_f32) {
            let expected = f64::from(*expected);
            if *found == 0.0 {
                assert_eq!(expected, 0.0, "{}", case.name);
                continue;
            }
            let error = (found - expected).abs() / found;
            assert!(
                error < tolerance::ROTARY_REFERENCE_F32,
                "{}: {error:e}",
                case.name
            );
            largest = largest.max(error);
        }
    }
    // The tolerance is not wider than it needs to be.
    assert!(
        largest > tolerance::ROTARY_REFERENCE_F32 / 2.0,
        "{largest:e}"
    );
}

#[test]
fn f32_recipe_is_within_one_unit_of_the_reference() {
    let (mut equal, mut all) = (0, 0);
    for case in cases().into_iter().chain(edges()) {
        let found = frequencies(&case, RotaryRecipe::HfF32);
        // The first frequency is a power of no error.
        assert_eq!(
            found.inv_freq_f32()[0],
            case.inv_freq_f32[0],
            "{}",
            case.name
        );
        for (pair, (found, expected)) in found
            .inv_freq_f32()
            .iter()
            .zip(&case.inv_freq_f32)
            .enumerate()
        {
            let units = found.to_bits().abs_diff(expected.to_bits());
            assert!(
                units <= tolerance::ROTARY_INV_FREQ_ULP,
                "{} pair {pair}: {found:e} {expected:e}, {units} units",
                case.name
            );
            equal += usize::from(units == 0);
            all += 1;
        }
        assert!(
            is_relatively_near(
                found.attention_factor(),
                case.attention_factor,
                tolerance::ROTARY_ATTENTION_FACTOR
            ),
            "{}: {} {}",
            case.name,
            found.attention_factor(),
            case.attention_factor
        );
    }
    assert!(equal * 100 > all * 99, "{equal} of {all}");
}

/// Tables of the f32 recipe against the reference's forward pass, from the reference's own
/// frequencies, so that only angle, functions and factor are compared.
#[test]
fn tables_of_the_f32_recipe_are_those_of_the_reference() {
    let (mut equal, mut all) = (0, 0);
    for tables in tables() {
        let set = Rotary::new(RotaryConfig {
            scaling: RopeScaling::Custom {
                inv_freq: tables.inv_freq.iter().map(|f| f64::from(*f)).collect(),
                attention_factor: tables.attention_factor,
            },
            recipe: RotaryRecipe::HfF32,
            ..RotaryConfig::new(2 * tables.inv_freq.len())
        })
        .unwrap()
        .frequencies(0)
        .unwrap();
        let found = set.tables_at::<f32>(&tables.positions).unwrap();
        for (row, position) in tables.positions.iter().enumerate() {
            for (found, expected) in [(&found.cos, &tables.cos), (&found.sin, &tables.sin)] {
                for (pair, (found, expected)) in found
                    .row(row)
                    .unwrap()
                    .iter()
                    .zip(&expected[row])
                    .enumerate()
                {
                    let units = (found - expected).abs() / ulp(*expected);
                    assert!(
                        units <= tolerance::ROTARY_TABLE_ULP as f32,
                        "{} position {position} pair {pair}: {found} {expected}",
                        tables.name
                    );
                    equal += usize::from(units == 0.0);
                    all += 1;
                }
            }
        }
    }
    assert!(all > 2_000 && equal * 10 > all * 9, "{equal} of {all}");
}

/// The distance from an f32 to the next.
fn ulp(value: f32) -> f32 {
    let next = f32::from_bits(value.abs().to_bits() + 1);
    next - value.abs()
}

/// The f32 recipe, made in bulk and by itself, in every type.
#[test]
fn f32_recipe_rounds_to_half_types_from_f32() {
    let model = "Qwen2.5-7B-Instruct with yarn||";
    let case = cases().into_iter().find(|case| case.name == model).unwrap();
    let set = frequencies(&case, RotaryRecipe::HfF32);
    for start in [0, 100_000, (1 << 32) - 200] {
        let singles = set.tables::<f32>(start..start + 200).unwrap();
        let halves = set.tables::<bf16>(start..start + 200).unwrap();
        let doubles = set.tables::<f64>(start..start + 200).unwrap();
        let positions: Vec<u32> = (start..start + 200).map(|p| p as u32).collect();
        assert_eq!(set.tables_at::<f32>(&positions).unwrap(), singles);
        let factor = set.attention_factor() as f32;
        for (row, position) in positions.iter().enumerate() {
            for (pair, inv_freq) in set.inv_freq_f32().iter().enumerate() {
                let angle = *position as f32 * inv_freq;
                let (sine, cosine) = reference_sin_cos(angle);
                let single = singles.cos.get(row, pair).unwrap();
                assert_eq!(single, cosine * factor, "{start} {row} {pair}");
                assert_eq!(singles.sin.get(row, pair), Some(sine * factor));
                assert_eq!(halves.cos.get(row, pair), Some(bf16::from_f32(single)));
                assert_eq!(doubles.cos.get(row, pair), Some(f64::from(single)));
            }
        }
    }
}

/// Correctly rounded sine and cosine of an f32 angle, by way of the sinusoidal tables.
fn reference_sin_cos(angle: f32) -> (f32, f32) {
    use pe_core::Sinusoidal;
    use pe_core::testing::{Rungs, entry_pair};
    let one = Sinusoidal::paper(2).unwrap();
    entry_pair(&one, 0, f64::from(angle), Rungs::Only320)
}

/// Sets by sequence length change where they should, and only there.
#[test]
fn sets_by_sequence_length_change_at_the_trained_length() {
    let find = |name: &str| {
        let cases = cases();
        let case = cases.into_iter().find(|case| case.name.starts_with(name));
        let model = hf_config::read(&case.unwrap().config, UnknownKeys::Reject).unwrap();
        Rotary::new(model.layers[0].rotary.clone()).unwrap()
    };
    let at = |rotary: &Rotary, length| rotary.frequencies(length).unwrap().inv_freq();
    for (name, trained) in [
        ("Phi-3.5-mini-instruct", 4096),
        ("Llama-2-7b dynamic", 4096),
    ] {
        let rotary = find(name);
        assert!(rotary.depends_on_seq_len());
        assert_eq!(at(&rotary, 0), at(&rotary, trained), "{name}");
        assert_ne!(at(&rotary, 0), at(&rotary, trained + 1), "{name}");
    }
    let dynamic = find("Llama-2-7b dynamic");
    assert_ne!(at(&dynamic, 5000), at(&dynamic, 5001));
    let longrope = find("Phi-3.5-mini-instruct");
    assert_eq!(at(&longrope, 5000), at(&longrope, 131_072));
    let llama3 = find("Llama-3.1-8B");
    assert!(!llama3.depends_on_seq_len());
    assert_eq!(at(&llama3, 0), at(&llama3, 10_000_000));
}

/// LongRoPE's attention factor may be stated for each set of divisors, as Phi-3.5-MoE does.
#[test]
fn attention_factors_of_short_and_long_sequences() {
    let stated = |short_mscale, long_mscale, attention_factor| {
        let rotary = Rotary::new(RotaryConfig {
            scaling: RopeScaling::LongRope(LongRopeScaling {
                factor: Some(1.0),
                short_mscale,
                long_mscale,
                attention_factor,
                ..LongRopeScaling::new(vec![1.0; 4], vec![2.0; 4], 4096)
            }),
            ..RotaryConfig::new(8)
        })
        .unwrap();
        [0, 4096, 4097].map(|length| rotary.frequencies(length).unwrap().attention_factor())
    };
    let (short, long, both) = (Some(1.25), Some(1.5), Some(1.75));
    assert_eq!(stated(short, long, both), [1.25, 1.25, 1.5]);
    assert_eq!(stated(short, None, both), [1.25, 1.25, 1.75]);
    assert_eq!(stated(None, long, both), [1.75, 1.75, 1.5]);
    assert_eq!(stated(None, long, None), [1.0, 1.0, 1.5]);
    assert_eq!(stated(None, None, None), [1.0; 3]);
}

/// An inv_freq given by the caller comes back bit for bit.
#[test]
fn given_frequencies_are_taken_bit_for_bit() {
    let inv_freq = vec![
        1.0,
        0.1,
        f64::from(0.8659643f32),
        1e-300,
        5e-324,
        0.0,
        4294967296.0,
        // A tie between two f32, to even downwards, and one upwards.
        1.0 + f64::from(f32::EPSILON) / 2.0,
        1.0 + 1.5 * f64::from(f32::EPSILON),
    ];
    let nearest: Vec<f32> = inv_freq.iter().map(|f| *f as f32).collect();
    for recipe in [RotaryRecipe::Exact, RotaryRecipe::HfF32] {
        let found = Rotary::new(RotaryConfig {
            scaling: RopeScaling::Custom {
                inv_freq: inv_freq.clone(),
                attention_factor: 1.25,
            },
            recipe,
            ..RotaryConfig::new(2 * inv_freq.len())
        })
        .unwrap()
        .frequencies(7)
        .unwrap();
        if recipe == RotaryRecipe::Exact {
            assert_eq!(found.inv_freq(), inv_freq);
        }
        assert_eq!(found.inv_freq_f32(), nearest);
        assert_eq!(found.attention_factor(), 1.25);
        let waves = found.wavelengths();
        assert_eq!((waves[0], waves[5]), (std::f64::consts::TAU, f64::INFINITY));
    }
}
