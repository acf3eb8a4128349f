//! Tables out of a `VarBuilder`.

use super::*;

const CPU: Device = Device::Cpu;

#[test]
fn a_varmap_without_the_table_stays_empty_and_it_is_computed() {
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
fn a_builder_that_claims_everything_is_not_believed() {
    let vb = VarBuilder::zeros(DType::F32, &CPU);
    let (table, origin) =
        checkpoint::from_var_builder(&vb, "pe", &SinusoidalConfig::new(16), 10).unwrap();
    assert_eq!(origin, TableOrigin::Computed);
    assert_eq!(bits(&table), bits(&exact(16, 10, DType::F32)));
}

#[test]
fn a_checkpoint_with_the_table_gives_it_in_every_shape() {
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
                .contains("has 0, where about 1 is right")
        );
    }
}

#[test]
fn a_stored_table_is_rounded_once() {
    // Between two bf16 values, a shade above the midpoint: twice rounded it would go down.
    let value = 1.0 - pow2(-9) - pow2(-40);
    let tensors = [(
        "pe".to_owned(),
        Tensor::new(&[[0f64, value]], &CPU).unwrap(),
    )]
    .into();
    let vb = VarBuilder::from_tensors(tensors, DType::BF16, &CPU);
    let (table, _) = checkpoint::from_var_builder(&vb, "pe", &SinusoidalConfig::new(2), 1).unwrap();
    assert_eq!(
        bits(&table),
        [0.0, <bf16 as Element>::from_f64(value).to_f64()]
    );
    assert_eq!(bits(&table)[1], 1.0 - pow2(-8));
}

#[test]
fn what_a_var_builder_cannot_be_asked_for_is_an_error() {
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
