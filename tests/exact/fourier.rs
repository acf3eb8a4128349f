//! Fourier features against Arb and against their references.

use pe_core::{
    AngleUnit, Element, FourierBands, FourierConfig, FourierFeatures, FourierPreset, bf16, f16,
};
use pe_tests::golden::{self, numbers};
use pe_tests::tolerance;
use serde_json::Value;

fn features(case: &Value) -> FourierFeatures {
    let size = |name: &str| case[name].as_u64().unwrap() as usize;
    let preset: FourierPreset = case["preset"].as_str().unwrap().parse().unwrap();
    let config = preset.config(size("axes"), size("bands"));
    match config.has_matrix() {
        true => FourierFeatures::with_matrix(config, &numbers(&case["matrix"])).unwrap(),
        false => FourierFeatures::new(config).unwrap(),
    }
}

/// Compares features in one type with the bits that a file states in this type, `index` among four.
fn same_bits<T: Element>(case: &Value, index: usize) {
    let (features, points) = (features(case), numbers(&case["points"]));
    let rows = features.table_at_reals::<T>(&points).unwrap();
    for (row, wanted) in case["exact"].as_array().unwrap().iter().enumerate() {
        let wanted = wanted.as_array().unwrap();
        assert_eq!(wanted.len(), features.width());
        for (column, wanted) in wanted.iter().enumerate() {
            let wanted = wanted.as_str().unwrap().split('/').nth(index).unwrap();
            let wanted = golden::hex(wanted);
            let found = rows.get(row, column).unwrap();
            // Zeros have either sign.
            let zero = wanted == 0 && found == T::default();
            let what = (case["preset"].as_str(), row, column, found);
            assert!(zero || found.pattern() == wanted, "{what:?} {wanted:x}");
        }
    }
}

#[test]
fn every_feature_of_every_preset_is_the_nearest_float() {
    let file: Value = golden::json("fourier.json");
    let mut seen = std::collections::BTreeSet::new();
    for case in file["cases"].as_array().unwrap() {
        seen.insert(case["preset"].as_str().unwrap());
        same_bits::<f64>(case, 0);
        same_bits::<f32>(case, 1);
        same_bits::<f16>(case, 2);
        same_bits::<bf16>(case, 3);
        let rows = features(case)
            .table_at_reals::<f64>(&numbers(&case["points"]))
            .unwrap();
        let limit = case["distance"].as_f64().unwrap() + tolerance::F64_HALF_ULP_OF_ONE;
        for (found, wanted) in rows.as_slice().iter().zip(numbers(&case["reference"])) {
            assert!((found - wanted).abs() <= limit);
        }
    }
    assert!(
        FourierPreset::ALL
            .iter()
            .all(|preset| seen.contains(preset.name()))
    );
}

#[test]
fn multiples_of_half_a_turn_have_no_rounding() {
    let linear = FourierConfig {
        with_input: false,
        bands: FourierBands::Linear {
            bands: 4, // 1, 1 + 35/3, ...: no float but the ends is exact
            resolutions: vec![72],
        },
        ..FourierPreset::Perceiver.config(1, 4)
    };
    let features = FourierFeatures::new(linear).unwrap();
    // 3 (1 + 35/3) = 38 half turns.
    let row = features.table_at_reals::<f64>(&[3.0]).unwrap();
    assert_eq!(row.as_slice(), [0.0, 0.0, 0.0, 0.0, -1.0, 1.0, -1.0, 1.0]);
    let octaves = FourierFeatures::new(FourierPreset::Nerf.config(1, 20)).unwrap();
    let row = octaves.table_at_reals::<bf16>(&[1.0]).unwrap();
    assert!(
        row.as_slice()[3..]
            .iter()
            .step_by(2)
            .all(|sine| sine.to_f64() == 0.0)
    );
}

#[test]
fn many_points_have_the_features_of_single_ones() {
    let features = FourierFeatures::new(FourierPreset::Nerf.config(2, 8)).unwrap();
    let points: Vec<f64> = (0..60_000).map(|i| f64::from(i) * 1.7e-5 - 0.5).collect();
    let all = features.table_at_reals::<f32>(&points).unwrap();
    for row in [0, 1, 14_999, 15_000, 29_999] {
        let alone = features
            .table_at_reals::<f32>(&points[2 * row..2 * row + 2])
            .unwrap();
        assert_eq!(all.row(row), alone.row(0), "{row}");
    }
}

#[test]
fn invalid_specifications_and_points_are_errors_with_their_values() {
    let nerf = FourierPreset::Nerf.config(3, 4);
    let of = |config: FourierConfig| FourierFeatures::new(config).unwrap_err().to_string();
    let bands = |bands| FourierConfig {
        bands,
        ..nerf.clone()
    };
    for (error, wanted) in [
        (
            of(FourierPreset::Nerf.config(0, 4)),
            "axes 0 is outside 1..=1048576",
        ),
        (
            of(FourierPreset::Nerf.config(3, 0)),
            "bands 0 is outside 1..=1048576",
        ),
        (
            of(bands(FourierBands::Geometric {
                bands: 4,
                base: -1.0,
            })),
            "base -1.0 is not a positive finite number",
        ),
        (
            of(bands(FourierBands::Linear {
                bands: 4,
                resolutions: vec![9],
            })),
            "resolutions holds 1 elements, 3 are needed",
        ),
        (
            of(FourierPreset::Sam.config(2, 3)),
            "the matrix of the Fourier features holds 0 elements, 6 are needed",
        ),
    ] {
        assert_eq!(error, wanted);
    }
    assert!(of(FourierPreset::Nerf.config(3, usize::MAX)).starts_with("bands"));
    assert!(of(FourierPreset::Nerf.config(3, 33)).contains("33"));
    let sam = FourierPreset::Sam.config(2, 1);
    let error = FourierFeatures::with_matrix(sam.clone(), &[1.0, f64::NAN]).unwrap_err();
    assert!(
        error.to_string().starts_with("inv_freq NaN of pair 1"),
        "{error}"
    );
    let features = FourierFeatures::with_matrix(sam, &[1.0, 2.0]).unwrap();
    assert!(features.table_at_reals::<f32>(&[1.0]).is_err());
    let error = features
        .table_at_reals::<f32>(&[1.0, 1e17])
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("coordinate 1e17 (at index 1)"), "{error}");
    let log = FourierPreset::GaussianProjection.config(1, 1);
    let log = FourierFeatures::with_matrix(log, &[1.0]).unwrap();
    assert!(
        log.table_at_reals::<f32>(&[0.0]).is_err() && log.table_at_reals::<f32>(&[1e-300]).is_ok()
    );
    assert_eq!(log.config().unit, AngleUnit::Turns);
}

/// Octaves are 1, 2, 4: exact multiples of a turn, half a turn, and a radian.
#[test]
fn rates_are_in_radians_for_every_unit() {
    use std::f64::consts::{PI, TAU};
    for (unit, rate) in [
        (AngleUnit::Turns, TAU),
        (AngleUnit::HalfTurns, PI),
        (AngleUnit::Radians, 1.0),
    ] {
        let config = FourierConfig {
            unit,
            ..FourierPreset::Nerf.config(1, 3)
        };
        let features = FourierFeatures::new(config).unwrap();
        assert_eq!(features.rates(), [rate, 2.0 * rate, 4.0 * rate], "{unit:?}");
    }
}
