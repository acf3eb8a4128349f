//! The specification as JSON. Malformed texts are in `hostile/refused.txt`.

use super::*;

#[test]
fn presets_round_trip_through_json() {
    for preset in Preset::ALL {
        for dtype in FLOATS {
            let spec = SinusoidalSpec::new(preset.config(64), 7, 20, dtype).unwrap();
            assert_eq!(
                SinusoidalSpec::from_json(&spec.to_json().unwrap()).unwrap(),
                spec
            );
        }
    }
}

proptest! {
    #[test]
    fn bases_round_trip_through_json(bits in any::<u64>(), rate in any::<bool>()) {
        let value = f64::from_bits(bits);
        let base = if rate { Base::MinRate(value) } else { Base::Value(value) };
        let config = SinusoidalConfig { base, ..SinusoidalConfig::new(8) };
        match SinusoidalSpec::new(config, 0, 4, DType::F32) {
            Ok(spec) => {
                let json = spec.to_json().unwrap();
                prop_assert_eq!(SinusoidalSpec::from_json(&json).unwrap(), spec);
            }
            Err(_) => prop_assert!(Sinusoidal::new(config).is_err()),
        }
    }
}

#[test]
fn json_without_the_optional_fields_is_the_paper() {
    let json = r#"{"format":1,"scheme":"sinusoidal","config":{"d_model":16},"start":0,"rows":4,"dtype":"f32"}"#;
    assert_eq!(SinusoidalSpec::from_json(json).unwrap(), spec(16, 4));
    let other = spec(16, 4).to_json().unwrap();
    let other = other.replacen("\"exact\"", "\"exp-f32\"", 1);
    let other = SinusoidalSpec::from_json(&other).unwrap();
    assert_eq!(other.config().recipe, Recipe::ExpF32);
}

#[test]
fn specification_that_is_not_valid_cannot_be_built() {
    let nan = SinusoidalConfig {
        base: Base::Value(f64::NAN),
        ..SinusoidalConfig::new(8)
    };
    let of = SinusoidalConfig::new;
    for (config, start, rows, dtype, message) in [
        (nan, 0, 4, DType::F32, "base NaN"),
        (of(3), 0, 4, DType::F32, "d_model 3 is odd"),
        (of(8), 0, 4, DType::U32, "elements of type u32"),
        (of(8), 1 << 32, 4, DType::F32, "run past 4294967296"),
        (of(8), 0, usize::MAX, DType::F32, "run past 4294967296"),
        (of(64), 0, 1 << 30, DType::F32, "exceeds the limit"),
    ] {
        let error = SinusoidalSpec::new(config, start, rows, dtype);
        let error = error.unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn last_position_is_the_last() {
    let (_dir, path) = temp();
    let last = spec_of(8, (1 << 32) - 4, 4, DType::F32);
    checkpoint::export(&path, &last).unwrap();
    checkpoint::load(&path, &Device::Cpu).unwrap();
    let beyond = SinusoidalSpec::new(*last.config(), last.start(), 5, last.dtype());
    let error = beyond.unwrap_err().to_string();
    assert!(
        error.contains("positions 4294967292..4294967297 run past 4294967296"),
        "{error}"
    );
    assert_eq!(
        checkpoint::load(&path, &Device::Cpu).unwrap().spec,
        Some(last)
    );
}

/// 16 GiB to the byte, and one row more.
#[test]
fn specifications_up_to_the_largest_table_are_valid() {
    let of = |rows| SinusoidalSpec::new(SinusoidalConfig::new(4096), 0, rows, DType::F32);
    of(1 << 20).unwrap();
    let error = of((1 << 20) + 1).unwrap_err().to_string();
    assert!(error.contains("exceeds the limit"), "{error}");
}
