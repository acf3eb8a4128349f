//! The recipe `hf-f32` against transformers' frequencies for drawn settings of every scaling.

use std::collections::BTreeMap;

use pe_core::{
    Llama3Scaling, LongRopeScaling, RopeScaling, Rotary, RotaryConfig, RotaryRecipe, YarnScaling,
};
use pe_tests::{golden, tolerance};
use serde_json::Value;

fn scaling(value: &Value) -> RopeScaling {
    let number = |key: &str| value[key].as_f64().unwrap();
    let list = |key: &str| serde_json::from_value(value[key].clone()).unwrap();
    let trained = || value["original_max_position_embeddings"].as_u64().unwrap() as usize;
    match value["rope_type"].as_str().unwrap() {
        "default" => RopeScaling::Default,
        "linear" => RopeScaling::Linear {
            factor: number("factor"),
        },
        "dynamic" => RopeScaling::Dynamic {
            factor: number("factor"),
        },
        "yarn" => RopeScaling::Yarn(YarnScaling::new(number("factor"), trained())),
        "longrope" => RopeScaling::LongRope(LongRopeScaling {
            factor: Some(number("factor")),
            ..LongRopeScaling::new(list("short_factor"), list("long_factor"), trained())
        }),
        "llama3" => RopeScaling::Llama3(Llama3Scaling {
            factor: number("factor"),
            low_freq_factor: number("low_freq_factor"),
            high_freq_factor: number("high_freq_factor"),
            original_max_position_embeddings: trained(),
        }),
        other => panic!("{other}"),
    }
}

/// The documentation of the recipe states these bounds.
#[test]
fn frequencies_lie_within_the_units_that_the_recipe_states() {
    let all: Value = golden::json("rotary_ulps.json");
    let longest = all["max_position_embeddings"].as_u64().unwrap() as usize;
    let mut found: BTreeMap<String, [usize; 3]> = BTreeMap::new();
    for case in all["cases"].as_array().unwrap() {
        let rotary = Rotary::new(RotaryConfig {
            base: case["theta"].as_f64().unwrap(),
            scaling: scaling(&case["scaling"]),
            max_position_embeddings: Some(longest),
            recipe: RotaryRecipe::HfF32,
            ..RotaryConfig::new(case["dim"].as_u64().unwrap() as usize)
        })
        .unwrap();
        let ours = rotary.frequencies(longest + 1000).unwrap().inv_freq_f32();
        let name = rotary.config().scaling.name();
        let more = match rotary.config().scaling {
            RopeScaling::Llama3(Llama3Scaling { factor, .. }) => factor as u32,
            _ => 0,
        };
        let bound = tolerance::ROTARY_DRAWN_ULP + more * tolerance::ROTARY_LLAMA3_ULP;
        for (pair, (ours, theirs)) in ours
            .iter()
            .zip(case["inv_freq_f32"].as_array().unwrap())
            .enumerate()
        {
            let theirs = u32::from_str_radix(theirs.as_str().unwrap(), 16).unwrap();
            let units = ours.to_bits().abs_diff(theirs);
            assert!(units <= bound, "{case} pair {pair}: {units} units");
            let counts = found.entry(name.to_owned()).or_default();
            counts[0] += 1;
            counts[1] += usize::from(units > 1);
            counts[2] = counts[2].max(units as usize);
        }
    }
    println!("[frequencies, off by more than an ulp, largest in ulps]: {found:?}");
    assert_eq!(found.len(), 6);
    // The bounds are not idle, and nearly all frequencies are within an ulp.
    assert_eq!(found["yarn"][2] as u32, tolerance::ROTARY_DRAWN_ULP);
    assert!(found["llama3"][2] > 16);
    for (name, [all, beyond, _]) in found {
        assert!(beyond * 50 < all, "{name}: {beyond} of {all}");
    }
}
