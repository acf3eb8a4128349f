//! Tables out of a `VarBuilder`.

use super::*;

const CPU: Device = Device::Cpu;

#[test]
fn varmap_without_the_table_stays_empty_and_it_is_computed() {
    for dtype in FLOATS {
        let variables = VarMap::new();
        let vb = VarBuilder::from_varmap(&variables, dtype, &CPU);
        let config = SinusoidalConfig::new(16);
        let (table, origin) = checkpoint::from_var_builder(&vb.pp("a"), "pe", &config, 10).unwrap();
        assert_eq!(origin, TableOrigin::Computed);
        assert_eq!(table.dtype(), dtype);
        assert_eq!(bits(&table), bits(&exact(16, 10, dtype)));
        assert!(variables.all_vars().is_empty());
        assert!(!table.is_variable());
    }
}

#[test]
fn var_builder_that_claims_every_tensor_is_checked() {
    let vb = VarBuilder::zeros(DType::F32, &CPU);
    let (table, origin) =
        checkpoint::from_var_builder(&vb, "pe", &SinusoidalConfig::new(16), 10).unwrap();
    assert_eq!(origin, TableOrigin::Computed);
    assert_eq!(bits(&table), bits(&exact(16, 10, DType::F32)));
}

#[test]
fn checkpoint_with_the_table_gives_it_in_every_shape() {
    let config = SinusoidalConfig {
        recipe: Recipe::ExpF32,
        ..SinusoidalConfig::new(16)
    };
    let encoding = Sinusoidal::new(config).unwrap();
    let stored = sinusoidal_tensor(&encoding, 0..5000, DType::F32, &CPU).unwrap();
    for dims in [vec![5000, 16], vec![1, 5000, 16], vec![5000, 1, 16]] {
        let stored = stored.reshape(dims).unwrap();
        let tensors = [("pos_encoder.pe".to_owned(), stored.clone())].into();
        let from_tensors = VarBuilder::from_tensors(tensors, DType::F32, &CPU);
        let bytes = foreign(&[("pos_encoder.pe", &stored)]);
        let buffered = VarBuilder::from_buffered_safetensors(bytes, DType::F32, &CPU).unwrap();
        let variables = VarMap::new();
        let variable = candle_core::Var::from_tensor(&stored).unwrap();
        variables
            .data()
            .lock()
            .unwrap()
            .insert("pos_encoder.pe".to_owned(), variable.clone());
        let from_varmap = VarBuilder::from_varmap(&variables, DType::F32, &CPU);
        for vb in [from_tensors, buffered, from_varmap] {
            let exact = SinusoidalConfig::new(16);
            let (table, origin) =
                checkpoint::from_var_builder(&vb.pp("pos_encoder"), "pe", &exact, 5000).unwrap();
            assert_eq!(origin, TableOrigin::Stored);
            assert_eq!(table.dims(), [5000, 16]);
            assert_eq!(bits(&table), bits(&stored));
            assert!(!table.is_variable());
            let error = checkpoint::from_var_builder(&vb.pp("pos_encoder"), "pe", &exact, 4999);
            let error = error.unwrap_err().to_string();
            assert!(error.contains("tensor \"pos_encoder.pe\": "), "{error}");
            let concatenated = SinusoidalConfig {
                layout: SinusoidLayout::Concatenated,
                ..exact
            };
            let error =
                checkpoint::from_var_builder(&vb.pp("pos_encoder"), "pe", &concatenated, 5000);
            let error = error.unwrap_err().to_string();
            assert!(
                error.contains("is not the encoding asked for: at position 0, column 1"),
                "{error}"
            );
        }
        assert_eq!(variables.all_vars().len(), 1);
        // A constant: what training does to the variable does not show.
        let vb = VarBuilder::from_varmap(&variables, DType::F32, &CPU).pp("pos_encoder");
        let (table, _) =
            checkpoint::from_var_builder(&vb, "pe", &SinusoidalConfig::new(16), 5000).unwrap();
        variable.set(&variable.zeros_like().unwrap()).unwrap();
        assert_eq!(bits(&table), bits(&stored));
        // Zeros, as `vb.get` leaves them behind, are not taken for a table.
        let error = checkpoint::from_var_builder(&vb, "pe", &SinusoidalConfig::new(16), 5000);
        assert!(
            error
                .unwrap_err()
                .to_string()
                .contains("has 0.0, where about 1.0 is right")
        );
    }
}

#[test]
fn stored_table_is_rounded_once() {
    // Entries next to the midpoint of two bf16 values are put a shade beyond it: rounded to
    // f32 first they would be the midpoint itself.
    let mut values = bits(&exact(2, 5000, DType::F64));
    let mut changed = Vec::new();
    for (at, value) in values.iter_mut().enumerate() {
        let below = f64::from_bits(value.to_bits() >> 45 << 45);
        let above = f64::from_bits(below.to_bits() + (1 << 45));
        let middle = f64::midpoint(below, above);
        if value.abs() > 0.5 && (*value - middle).abs() < pow2(-20) {
            let shade = pow2(-40).copysign(if changed.len() % 2 == 0 { 1.0 } else { -1.0 });
            *value = middle + shade;
            let nearest = if (above > below) == (shade > 0.0) {
                above
            } else {
                below
            };
            changed.push((at, nearest));
        }
    }
    let twice = |(at, _): &&(usize, f64)| f64::from(bf16::from_f32(values[*at] as f32));
    assert!(changed.iter().any(|entry| twice(&entry) != entry.1));
    let stored = Tensor::from_vec(values.clone(), (5000, 2), &CPU).unwrap();
    let vb = VarBuilder::from_tensors([("pe".to_owned(), stored)].into(), DType::BF16, &CPU);
    let (table, origin) =
        checkpoint::from_var_builder(&vb, "pe", &SinusoidalConfig::new(2), 5000).unwrap();
    assert_eq!(origin, TableOrigin::Stored);
    let table = bits(&table);
    for (at, nearest) in changed {
        assert_eq!(table[at], nearest);
    }
    let once: Vec<f64> = values
        .iter()
        .map(|value| <bf16 as Element>::from_f64(*value).to_f64())
        .collect();
    assert_eq!(table, once);
}

/// What comes out of a builder that holds a table, of the type asked for.
fn from_stored(
    stored: Tensor,
    config: &SinusoidalConfig,
) -> candle_core::Result<(Tensor, TableOrigin)> {
    let rows = stored.dims()[0];
    let vb = VarBuilder::from_tensors([("pe".to_owned(), stored)].into(), DType::F32, &CPU);
    checkpoint::from_var_builder(&vb, "pe", config, rows)
}

#[test]
fn exact_tables_and_f32_recipes_are_taken_in_every_type() {
    let rows = 140_000;
    for (d_model, spacing, recipe) in [
        (16, Spacing::Paper, Recipe::Exact),
        (16, Spacing::Paper, Recipe::ExpF32),
        (16, Spacing::Paper, Recipe::PowF32),
        (12, Spacing::Inclusive, Recipe::ExpF32),
    ] {
        let asked = SinusoidalConfig {
            spacing,
            ..SinusoidalConfig::new(d_model)
        };
        let encoding = Sinusoidal::new(SinusoidalConfig { recipe, ..asked }).unwrap();
        let table = sinusoidal_tensor(&encoding, 0..rows, DType::F32, &CPU).unwrap();
        for dtype in [FLOATS.as_slice(), &[DType::F8E4M3]].concat() {
            let stored = table.to_dtype(dtype).unwrap();
            let (found, origin) = from_stored(stored.clone(), &asked).unwrap();
            assert_eq!(origin, TableOrigin::Stored);
            assert!(bits(&found) == bits(&stored), "{recipe:?} {dtype:?}");
        }
    }
}

#[test]
fn another_base_is_told_apart_as_far_as_documented() {
    let refused = |rows, d_model, base, dtype| {
        let other = SinusoidalConfig {
            base: Base::Value(base),
            ..SinusoidalConfig::new(d_model)
        };
        let encoding = Sinusoidal::new(other).unwrap();
        let table = sinusoidal_tensor(&encoding, 0..rows, DType::F32, &CPU).unwrap();
        let stored = table.to_dtype(dtype).unwrap();
        match from_stored(stored, &SinusoidalConfig::new(d_model)) {
            Ok(_) => false,
            Err(error) => {
                let error = error.to_string();
                assert!(error.contains("is not the encoding asked for"), "{error}");
                true
            }
        }
    };
    for dtype in FLOATS {
        assert!(refused(100, 8, 10_050.0, dtype), "{dtype:?}");
        let off = match dtype {
            DType::F32 | DType::F64 => 1.0001,
            _ => 1.001,
        };
        for d_model in [8, 64, 512] {
            for base in [10_000.0 * off, 10_000.0 / off] {
                assert!(refused(1000, d_model, base, dtype), "{dtype:?} {base}");
            }
        }
        // Row 0 is the same for all; and a difference of the size of f32's own errors passes.
        assert!(!refused(1, 8, 500.0, dtype));
        assert!(!refused(1000, 8, 10_000.01, dtype));
    }
}

#[test]
fn var_builder_rejects_what_it_cannot_give() {
    let vb = VarBuilder::zeros(DType::F32, &CPU);
    let config = SinusoidalConfig::new(15);
    checkpoint::from_var_builder(&vb, "pe", &config, 10).unwrap_err();
    checkpoint::from_var_builder(&vb, "pe", &SinusoidalConfig::new(16), usize::MAX).unwrap_err();
    let integers = VarBuilder::zeros(DType::U32, &CPU);
    checkpoint::from_var_builder(&integers, "pe", &SinusoidalConfig::new(16), 10).unwrap_err();
    let nan = Tensor::new(&[[0f32, f32::NAN]], &CPU).unwrap();
    let vb = VarBuilder::from_tensors([("pe".to_owned(), nan)].into(), DType::F32, &CPU);
    let error = checkpoint::from_var_builder(&vb, "pe", &SinusoidalConfig::new(2), 1).unwrap_err();
    assert!(
        error.to_string().contains("row 0, column 1 is NaN"),
        "{error}"
    );
}

/// Messages name the tensor as the checkpoint does, with a prefix or without.
#[test]
fn tensors_are_named_in_full() {
    let table = Tensor::zeros((4, 8), DType::F32, &CPU).unwrap();
    for (full, prefix) in [("pe", ""), ("encoder.pe", "encoder")] {
        let tensors = [(full.to_owned(), table.clone())].into();
        let vb = VarBuilder::from_tensors(tensors, DType::F32, &CPU);
        let vb = if prefix.is_empty() { vb } else { vb.pp(prefix) };
        let error = checkpoint::from_var_builder(&vb, "pe", &SinusoidalConfig::new(8), 4);
        let error = error.unwrap_err().to_string();
        assert!(error.contains(&format!("tensor {full:?} ")), "{error}");
    }
}
