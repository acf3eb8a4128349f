//! Temperatures of the attention scores against rigorously rounded ones.

use pe_core::{Element, ScoreTemperature, bf16, f16};
use pe_tests::golden;

const LLAMA4: ScoreTemperature = ScoreTemperature::Llama4 {
    attn_scale: 0.1,
    floor_scale: 8192,
};

fn temperature(formula: &str, scale: &str, step: &str) -> ScoreTemperature {
    let scale = scale.parse().unwrap();
    match formula {
        "llama4" => ScoreTemperature::Llama4 {
            attn_scale: scale,
            floor_scale: step.parse().unwrap(),
        },
        "ministral3" => ScoreTemperature::Ministral3 {
            llama_4_scaling_beta: scale,
            original_max_position_embeddings: step.parse().unwrap(),
        },
        "mscale" => ScoreTemperature::Mscale {
            factor: step.parse().unwrap(),
            mscale_all_dim: scale,
        },
        other => panic!("{other}"),
    }
}

#[test]
fn factors_are_the_nearest_floats() {
    fn check<T: Element>(temperature: ScoreTemperature, position: u32, bits: &str) {
        let found: T = temperature.factor(position).unwrap();
        let bits = golden::hex(bits);
        let name = T::NAME;
        assert_eq!(found.pattern(), bits, "{temperature:?} {position} {name}");
        let listed: Vec<T> = temperature.factors_at(&[7, position, position]).unwrap();
        assert_eq!(listed[1..], [found; 2]);
        let (first, end) = (position.saturating_sub(5), u64::from(position) + 1);
        let range: Vec<T> = temperature.factors(u64::from(first)..end).unwrap();
        assert_eq!(range.last(), Some(&found));
    }
    let rows = golden::rows("temperature.csv");
    assert!(rows.len() >= 90, "{}", rows.len());
    for row in rows {
        let temperature = temperature(&row[0], &row[1], &row[2]);
        let position = row[3].parse().unwrap();
        check::<f64>(temperature, position, &row[4]);
        check::<f32>(temperature, position, &row[5]);
        check::<f16>(temperature, position, &row[6]);
        check::<bf16>(temperature, position, &row[7]);
    }
}

#[test]
fn ranges_hold_the_factor_of_each_position() {
    let range: Vec<f32> = LLAMA4.factors(8000..40_000).unwrap();
    for (position, found) in (8000..).zip(&range).step_by(97) {
        assert_eq!(
            *found,
            LLAMA4.factor::<f32>(position).unwrap(),
            "{position}"
        );
    }
    assert!(LLAMA4.factors::<f32>(5..5).unwrap().is_empty());
    assert!(LLAMA4.factors_at::<f32>(&[]).unwrap().is_empty());
}

#[test]
fn parameters_out_of_range_are_named() {
    let of = |temperature: ScoreTemperature| {
        let error = temperature.factor::<f32>(3).unwrap_err().to_string();
        assert_eq!(
            temperature.factors::<f32>(0..1).unwrap_err().to_string(),
            error
        );
        assert_eq!(
            temperature.factors_at::<f32>(&[]).unwrap_err().to_string(),
            error
        );
        error
    };
    let llama4 = |attn_scale, floor_scale| ScoreTemperature::Llama4 {
        attn_scale,
        floor_scale,
    };
    let mscale = |factor, mscale_all_dim| ScoreTemperature::Mscale {
        factor,
        mscale_all_dim,
    };
    for (temperature, wanted) in [
        (
            llama4(0.1, 0),
            "floor_scale 0.0 is not a positive finite number",
        ),
        (
            llama4(-0.1, 1),
            "attn_scale -0.1 is not a finite number of at least 0",
        ),
        (
            llama4(f64::NAN, 1),
            "attn_scale NaN is not a finite number of at least 0",
        ),
        (
            mscale(0.0, 1.0),
            "factor 0.0 is not a positive finite number",
        ),
        (
            mscale(f64::INFINITY, 1.0),
            "factor inf is not a positive finite number",
        ),
        (
            mscale(2.0, -1.0),
            "mscale_all_dim -1.0 is not a finite number of at least 0",
        ),
    ] {
        assert_eq!(of(temperature), wanted);
    }
    // Before anything is allocated.
    let range = LLAMA4.factors::<f64>(0..1 << 32).unwrap_err();
    assert!(range.to_string().contains("exceeds the limit"), "{range}");
    assert!(LLAMA4.factors::<f64>(0..(1 << 32) + 1).is_err());
}
