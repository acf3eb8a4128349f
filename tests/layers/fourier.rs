//! The layer of Fourier features: values of pe-core, gradients of torch, trained matrices.

use candle_core::{DType, Device, Result, Tensor, Var};
use candle_nn::{VarBuilder, VarMap};
use pe_candle::{FourierFeatures, FourierFeaturesConfig, FourierPreset};
use pe_tests::golden::{self, numbers};
use pe_tests::tolerance;
use serde_json::Value;

use crate::util::{error_of, f64s};

const CPU: &Device = &Device::Cpu;

#[test]
fn values_are_those_of_pe_core_and_gradients_those_of_torch() -> Result<()> {
    let file: Value = golden::json("fourier.json");
    for case in file["cases"].as_array().unwrap() {
        let size = |name: &str| case[name].as_u64().unwrap() as usize;
        let name = case["preset"].as_str().unwrap();
        let (axes, bands) = (size("axes"), size("bands"));
        let config = name.parse::<FourierPreset>()?.config(axes, bands);
        let points = numbers(&case["points"]);
        let x = Tensor::from_vec(points.clone(), ((), axes), CPU)?;
        let x = Var::from_tensor(&x)?;
        let matrix = match config.has_matrix() {
            true => {
                let matrix = Tensor::from_vec(numbers(&case["matrix"]), (axes, bands), CPU)?;
                Some(Var::from_tensor(&matrix)?)
            }
            false => None,
        };
        let core = match &matrix {
            Some(matrix) => pe_core::FourierFeatures::with_matrix(config.clone(), &f64s(matrix))?,
            None => pe_core::FourierFeatures::new(config.clone())?,
        };
        let config = FourierFeaturesConfig::new(config);
        let layer = match &matrix {
            Some(matrix) => {
                FourierFeatures::from_matrix(config, matrix.as_tensor().clone(), DType::F64)?
            }
            None => FourierFeatures::new(config, DType::F64, CPU)?,
        };
        let y = layer.forward(&x)?;
        assert_eq!(
            f64s(&y),
            core.table_at_reals::<f64>(&points)?.into_vec(),
            "{name}"
        );
        let weight = Tensor::from_vec(numbers(&case["weight"]), y.shape(), CPU)?;
        let gradients = (y * weight)?.sum_all()?.backward()?;
        let check = |var: &Var, wanted: &Value| {
            let found = f64s(gradients.get(var).unwrap());
            let wanted = numbers(wanted);
            assert_eq!(found.len(), wanted.len());
            for (found, wanted) in found.iter().zip(wanted) {
                let limit = tolerance::FOURIER_GRADIENT_F64 * wanted.abs().max(1.0);
                assert!((found - wanted).abs() <= limit, "{name} {found} {wanted}");
            }
        };
        check(&x, &case["grad"]);
        if let Some(matrix) = &matrix {
            check(matrix, &case["grad_matrix"]);
        }
    }
    Ok(())
}

/// Central differences of all coordinates, and of the matrix of those presets that have one.
#[test]
fn gradients_agree_with_finite_differences() -> Result<()> {
    for preset in FourierPreset::ALL {
        let axes = match preset {
            FourierPreset::GaussianProjection => 1,
            _ => 2,
        };
        let config = FourierFeaturesConfig::from_preset(preset, axes, 3);
        let points: Vec<f64> = (0..3 * axes).map(|i| 0.11 + 0.13 * i as f64).collect();
        let matrix: Vec<f64> = (0..3 * axes).map(|i| 0.4 * i as f64 - 0.7).collect();
        let weight: Vec<f64> = (0..3 * config.fourier.width())
            .map(|i| (i * 37 % 19) as f64 / 9.0 - 1.0)
            .collect();
        let has_matrix = config.fourier.has_matrix();
        let loss = |points: &Tensor, matrix: &Tensor| -> Result<Tensor> {
            let config = config.clone();
            let layer = match has_matrix {
                true => FourierFeatures::from_matrix(config, matrix.clone(), DType::F64)?,
                false => FourierFeatures::new(config, DType::F64, CPU)?,
            };
            let ys = layer.forward(points)?;
            let weight = Tensor::from_slice(&weight, ys.dims(), CPU)?;
            (ys.powf(3.0)? * weight)?.sum_all()
        };
        let tensors = |lists: [&[f64]; 2]| -> Result<[Tensor; 2]> {
            let [points, matrix] = lists;
            Ok([
                Tensor::from_slice(points, ((), axes), CPU)?,
                Tensor::from_slice(matrix, (axes, ()), CPU)?,
            ])
        };
        let [p, m] = tensors([&points, &matrix])?;
        let vars = [Var::from_tensor(&p)?, Var::from_tensor(&m)?];
        let gradients = loss(vars[0].as_tensor(), vars[1].as_tensor())?.backward()?;
        for (operand, var) in vars.iter().enumerate().take(1 + usize::from(has_matrix)) {
            let found = f64s(gradients.get(var).unwrap());
            for (index, found) in found.into_iter().enumerate() {
                let moved = |by: f64| -> Result<f64> {
                    let mut lists = [points.clone(), matrix.clone()];
                    lists[operand][index] += by;
                    let [points, matrix] = tensors([&lists[0], &lists[1]])?;
                    loss(&points, &matrix)?.to_scalar()
                };
                let wanted = (moved(1e-7)? - moved(-1e-7)?) / 2e-7;
                let distance = (found - wanted).abs() / wanted.abs().max(1.0);
                let what = format!("{preset} {operand}: {distance:e}");
                assert!(distance <= tolerance::FOURIER_DIFFERENCES, "{what}");
            }
        }
    }
    Ok(())
}

#[test]
fn points_of_every_type_and_shape() -> Result<()> {
    let layer = FourierFeatures::new(
        FourierFeaturesConfig::from_preset(FourierPreset::Nerf, 2, 3),
        DType::BF16,
        CPU,
    )?;
    let points = Tensor::new(&[[0f32, 1.0], [2.0, 1.0], [3.0, 0.0]], CPU)?;
    let wanted = f64s(&layer.forward(&points)?);
    for dtype in [DType::U8, DType::I64, DType::F16, DType::BF16, DType::F64] {
        let found = layer.forward(&points.to_dtype(dtype)?)?;
        assert_eq!((found.dims(), found.dtype()), (&[3, 14][..], DType::BF16));
        assert_eq!(f64s(&found), wanted, "{dtype:?}");
    }
    let strided = points.t()?.contiguous()?.t()?;
    assert_eq!(f64s(&layer.forward(&strided)?), wanted);
    assert_eq!(
        layer.forward(&points.reshape((3, 1, 2))?)?.dims(),
        [3, 1, 14]
    );
    assert_eq!(layer.forward(&points.narrow(0, 0, 0)?)?.dims(), [0, 14]);
    Ok(())
}

#[test]
fn matrix_is_trained_and_loaded_by_its_name() -> Result<()> {
    let map = VarMap::new();
    let vb = VarBuilder::from_varmap(&map, DType::F32, CPU);
    let config = FourierFeaturesConfig::from_preset(FourierPreset::Sam, 2, 4);
    let layer = FourierFeatures::new_trainable(config, vb.pp("sam"))?;
    let points = Tensor::new(&[[0.25f32, 0.5], [0.75, 0.125]], CPU)?;
    let before = f64s(&layer.forward(&points)?);
    let loss = layer.forward(&points)?.sum_all()?;
    let gradients = loss.backward()?;
    let data = map.data().lock().unwrap();
    let matrix = &data["sam.positional_embedding"];
    assert_eq!(matrix.dims(), [2, 4]);
    let gradient = gradients.get(matrix).unwrap();
    // The start depends on the seed alone.
    let start = |init_seed| {
        let config = FourierFeaturesConfig {
            init_seed,
            ..FourierFeaturesConfig::from_preset(FourierPreset::Sam, 2, 4)
        };
        let vb = VarBuilder::from_varmap(&VarMap::new(), DType::F32, CPU);
        FourierFeatures::new_trainable(config, vb).map(|layer| f64s(layer.matrix().unwrap()))
    };
    assert_eq!(start(0)?, f64s(matrix));
    assert_ne!(start(1)?, f64s(matrix));
    matrix.set(&(matrix.as_tensor() - (gradient * 0.01)?)?)?;
    assert_ne!(f64s(&layer.forward(&points)?), before);
    assert!(layer.forward(&points)?.sum_all()?.to_scalar::<f32>()? < loss.to_scalar::<f32>()?);
    Ok(())
}

#[test]
fn bad_input_is_an_error_with_its_values() -> Result<()> {
    let layer = FourierFeatures::new(
        FourierFeaturesConfig::from_preset(FourierPreset::Nerf, 3, 4),
        DType::F32,
        CPU,
    )?;
    let error = error_of(layer.forward(&Tensor::zeros((5, 2), DType::F32, CPU)?));
    assert_eq!(error, "points must have shape [.., 3], got [5, 2]");
    let error = error_of(layer.forward(&Tensor::new(&[0f32, f32::NAN, 0.0], CPU)?));
    assert!(error.starts_with("coordinate NaN (at index 1)"), "{error}");
    let one = Tensor::zeros((1, 3), DType::F32, CPU)?;
    let error = error_of(layer.forward(&one.broadcast_as((1 << 30, 3))?));
    assert!(error.contains("exceeds the limit"), "{error}");
    let matrix = Tensor::zeros((2, 5), DType::F32, CPU)?;
    let config = FourierFeaturesConfig::from_preset(FourierPreset::Sam, 2, 4);
    let error = error_of(FourierFeatures::from_matrix(
        config.clone(),
        matrix,
        DType::F32,
    ));
    assert_eq!(error, "the matrix must have shape [2, 4], got [2, 5]");
    assert!(error_of(FourierFeatures::new(config, DType::F32, CPU)).contains("matrix"));
    let config = FourierFeaturesConfig::from_preset(FourierPreset::Nerf, 3, 4);
    assert!(error_of(FourierFeatures::new(config, DType::U8, CPU)).contains("not u8"));
    Ok(())
}
