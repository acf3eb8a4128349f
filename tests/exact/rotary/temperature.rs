//! Temperatures of the attention scores against rigorously rounded ones.

use pe_core::hf_config::{self, UnknownKeys};
use pe_core::{Element, ScoreTemperature, bf16, f16};
use pe_tests::{golden, tolerance};
use serde_json::{Map, Value};

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

/// What `config.json` states about the temperature, against what transformers' attention layers do.
#[test]
fn config_files_state_the_temperatures_of_the_attention_layers() {
    #[derive(serde::Deserialize)]
    struct Golden {
        positions: Vec<u32>,
        layers: Vec<Layer>,
    }
    #[derive(serde::Deserialize)]
    struct Layer {
        model_type: String,
        keys: Map<String, Value>,
        layer: usize,
        softmax: f64,
        queries: Vec<f64>,
    }
    let golden: Golden = serde_json::from_str(&golden::text("score_temperatures.json")).unwrap();
    let (mut by_position, mut by_softmax) = (0, 0);
    for layer in &golden.layers {
        let mut config = layer.keys.clone();
        config.insert("model_type".to_owned(), layer.model_type.clone().into());
        let name = format!("{config:?} {}", layer.layer);
        let model = hf_config::read(&Value::Object(config), UnknownKeys::Warn).unwrap();
        let found = model.temperatures_at(layer.layer).unwrap();
        let (constant, stepped): (Vec<_>, Vec<_>) = found
            .iter()
            .partition(|t| matches!(t, ScoreTemperature::Mscale { .. }));
        let product = |of: &[&ScoreTemperature], position| -> f64 {
            of.iter()
                .map(|t| t.factor::<f64>(position).unwrap())
                .product()
        };
        let near = |found: f64, wanted: f64| {
            let error = (found - wanted).abs();
            assert!(
                error <= tolerance::SCORE_TEMPERATURE * wanted,
                "{name}: {found} {wanted}"
            );
        };
        for (position, wanted) in golden.positions.iter().zip(&layer.queries) {
            near(product(&stepped, *position), *wanted);
        }
        near(product(&constant, 0), layer.softmax);
        by_position += stepped.len();
        by_softmax += constant.len();
    }
    assert_eq!(golden.layers.len(), 44);
    assert_eq!((by_position, by_softmax), (10, 24));
}

#[test]
fn temperatures_that_do_not_fit_are_errors() {
    let read = |rest: &str| {
        let json = format!(r#"{{"model_type": "llama4_text", {rest}}}"#);
        hf_config::read(&json, UnknownKeys::Reject)
    };
    let of = |rest: &str| read(rest).unwrap_err().to_string();
    assert_eq!(
        of(r#""attn_temperature_tuning": "yes""#),
        "config.json: attn_temperature_tuning is neither true nor false"
    );
    assert_eq!(
        of(r#""floor_scale": 0"#),
        "floor_scale 0.0 is not a positive finite number"
    );
    assert_eq!(
        of(r#""attn_scale": -1"#),
        "attn_scale -1.0 is not a finite number of at least 0"
    );
    let four = read(r#""attn_temperature_tuning": 4"#).unwrap();
    assert_eq!(four.unrotated_temperature, Some(LLAMA4));
    let none = read(r#""attn_temperature_tuning": 0"#).unwrap();
    assert_eq!(none.unrotated_temperature, None);
    // Where a layer is not known, neither is its temperature.
    let gemma = r#"{"model_type": "gemma3_text"}"#;
    let gemma = hf_config::read(gemma, UnknownKeys::Reject).unwrap();
    assert!(gemma.temperatures_at(0).is_err());
}
