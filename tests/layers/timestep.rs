//! The layer of timesteps: every type in, every type out, gradients, its table of integers.

use candle_core::{DType, Device, Module, Result, Tensor, Var};
use half::{bf16, f16};
use pe_candle::{
    Recipe, SinusoidLayout, Timestep, TimestepConfig, TimestepEmbedding, TimestepEmbeddingConfig,
    TimestepPreset,
};

use pe_tests::tolerance;

use crate::util::{error_of, f64s};

const CPU: &Device = &Device::Cpu;
const RESULTS: [DType; 4] = [DType::F32, DType::F64, DType::F16, DType::BF16];

fn layer(config: TimestepConfig, dtype: DType, max_table_rows: usize) -> TimestepEmbedding {
    let config = TimestepEmbeddingConfig {
        timestep: config,
        max_table_rows,
    };
    TimestepEmbedding::new(config, dtype, CPU).unwrap()
}

/// Rows of pe-core, widened.
fn rows(config: TimestepConfig, dtype: DType, timesteps: &[f64]) -> Vec<f64> {
    fn of<T: pe_core::Element>(timestep: &Timestep, timesteps: &[f64]) -> Vec<f64> {
        let table = timestep.table_at_reals::<T>(timesteps).unwrap();
        table
            .as_slice()
            .iter()
            .map(|entry| entry.to_f64())
            .collect()
    }
    let timestep = Timestep::new(config).unwrap();
    match dtype {
        DType::F32 => of::<f32>(&timestep, timesteps),
        DType::F64 => of::<f64>(&timestep, timesteps),
        DType::F16 => of::<f16>(&timestep, timesteps),
        _ => of::<bf16>(&timestep, timesteps),
    }
}

#[test]
fn timesteps_of_every_type_and_shape_give_the_exact_rows() -> Result<()> {
    let given = [0.0, 999.0, 3.0, 250.0, 7.0, 500.0];
    let timesteps = Tensor::new(&given, CPU)?;
    let types = [
        DType::U8,
        DType::U32,
        DType::I64,
        DType::F16,
        DType::BF16,
        DType::F32,
        DType::F64,
    ];
    for preset in TimestepPreset::ALL {
        for dim in [6, 9] {
            let config = preset.config(dim);
            for dtype in RESULTS {
                // With a table, and without.
                for max_table_rows in [0, 400, 1024] {
                    let layer = layer(config, dtype, max_table_rows);
                    for input in types {
                        let typed = timesteps.to_dtype(input)?;
                        let wanted = rows(config, dtype, &f64s(&typed));
                        for dims in [vec![6], vec![2, 3], vec![1, 3, 2]] {
                            let typed = typed.reshape(dims.as_slice())?;
                            let found = layer.forward(&typed)?;
                            assert_eq!(found.dims(), [dims, vec![dim]].concat());
                            assert_eq!(found.dtype(), dtype);
                            assert_eq!(f64s(&found), wanted, "{preset} {input:?} {dtype:?}");
                        }
                    }
                }
            }
        }
    }
    Ok(())
}

#[test]
fn strided_fractional_scalar_and_empty_timesteps() -> Result<()> {
    let config = TimestepPreset::Flux.config(8);
    let layer = layer(config, DType::F32, 1024);
    let t = Tensor::new(&[[0.25f32, 0.5], [-0.75, 1.0]], CPU)?;
    let found = layer.forward(&t.t()?)?;
    assert_eq!(
        f64s(&found),
        rows(config, DType::F32, &[0.25, -0.75, 0.5, 1.0])
    );
    let scalar = layer.forward(&Tensor::new(0.3f64, CPU)?)?;
    assert_eq!(scalar.dims(), [8]);
    assert_eq!(f64s(&scalar), rows(config, DType::F32, &[0.3]));
    let none = layer.forward(&Tensor::zeros((2, 0), DType::F32, CPU)?)?;
    assert_eq!(none.dims(), [2, 0, 8]);
    // As a module, in a sequence.
    let model = candle_nn::seq().add(layer.clone());
    assert_eq!(f64s(&model.forward(&t)?), f64s(&layer.forward(&t)?));
    Ok(())
}

#[test]
fn recipe_of_diffusers_is_available() -> Result<()> {
    let config = TimestepConfig {
        recipe: Recipe::DiffusersF32,
        ..TimestepPreset::Flux.config(256)
    };
    let t = Tensor::new(&[1.0f32, 0.3], CPU)?;
    let found = f64s(&layer(config, DType::F32, 1024).forward(&t)?);
    assert_eq!(found, rows(config, DType::F32, &f64s(&t)));
    assert_ne!(
        found,
        rows(TimestepPreset::Flux.config(256), DType::F32, &f64s(&t))
    );
    Ok(())
}

/// The sum of weighted entries, so that the incoming gradient is not all ones.
fn loss(layer: &TimestepEmbedding, t: &Tensor, weights: &Tensor) -> Result<Tensor> {
    let ys = layer.forward(t)?.to_dtype(DType::F64)?;
    (ys.sqr()?.broadcast_mul(weights)? + ys)?.sum_all()
}

#[test]
fn gradient_equals_finite_differences() -> Result<()> {
    let interleaved = TimestepConfig {
        layout: SinusoidLayout::Interleaved,
        ..TimestepPreset::Flux.config(9)
    };
    let presets = TimestepPreset::ALL.map(|preset| preset.config(9));
    for config in presets.into_iter().chain([interleaved]) {
        let config = TimestepConfig {
            scale: 3.0,
            ..config
        };
        let layer = layer(config, DType::F64, 1024);
        let values = [0.0, 1.0, 7.25, -3.5];
        let weights = Tensor::new(&[1., -2., 0.5, 3., 1., 4., -1., 2., 5.], CPU)?;
        let t = Var::from_tensor(&Tensor::new(&values, CPU)?.reshape((2, 2))?)?;
        let gradients = loss(&layer, &t, &weights)?.backward()?;
        let found = gradients.get(&t).unwrap();
        assert_eq!(found.dims(), [2, 2]);
        let h = 1e-5;
        for (index, found) in f64s(found).iter().enumerate() {
            let at = |delta: f64| {
                let mut moved = values;
                moved[index] += delta;
                let moved = Tensor::new(&moved, CPU).unwrap();
                let loss = loss(&layer, &moved, &weights).unwrap();
                loss.to_scalar::<f64>().unwrap()
            };
            let slope = (at(h) - at(-h)) / (2.0 * h);
            let limit = tolerance::FINITE_DIFFERENCE * found.abs().max(1.0);
            assert!((slope - found).abs() <= limit, "{config:?} {slope} {found}");
        }
    }
    Ok(())
}

#[test]
fn gradients_have_the_type_of_the_timesteps() -> Result<()> {
    let layer = layer(TimestepPreset::StableDiffusion.config(8), DType::BF16, 1024);
    for dtype in RESULTS {
        let t = Var::from_tensor(&Tensor::new(&[2f32, 3.0], CPU)?.to_dtype(dtype)?)?;
        let ys = layer.forward(t.as_tensor())?;
        assert_eq!(ys.dtype(), DType::BF16);
        let gradients = ys.sum_all()?.backward()?;
        let found = gradients.get(&t).unwrap();
        assert_eq!(found.dtype(), dtype);
        // d/dt (cos t + sin t + ...) at 2, from entries of bf16.
        let exact = rows(layer.config().timestep, DType::F64, &[2.0]);
        let rates = layer.timestep().inv_freq();
        let terms = rates.iter().zip(exact[..4].iter().zip(&exact[4..]));
        let wanted: f64 = terms.map(|(w, (cos, sin))| w * (cos - sin)).sum();
        assert!((f64s(found)[0] - wanted).abs() < tolerance::BF16_SUM_OF_EIGHT);
    }
    Ok(())
}

#[test]
fn threads_and_clones_share_the_table() {
    let layer = layer(TimestepPreset::StableDiffusion.config(64), DType::F32, 1024);
    let wanted = rows(layer.config().timestep, DType::F32, &[5.0, 1000.0, 700.0]);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let layer = layer.clone();
            let wanted = &wanted;
            scope.spawn(move || {
                for _ in 0..20 {
                    let t = Tensor::new(&[5u32, 1000, 700], CPU).unwrap();
                    assert_eq!(&f64s(&layer.forward(&t).unwrap()), wanted);
                }
            });
        }
    });
}

#[test]
fn bad_input_is_an_error_with_its_values() -> Result<()> {
    let good = TimestepConfig::new(8);
    let layer = layer(good, DType::F32, 1024);
    let of = |values: &[f64]| error_of(layer.forward(&Tensor::new(values, CPU).unwrap()));
    assert_eq!(
        of(&[1.0, f64::NAN]),
        "position NaN (at index 1) is not a finite number within -2^53..=2^53"
    );
    assert!(of(&[1e300]).starts_with("position 1e300 (at index 0)"));
    let large = Tensor::new(&[1i64, i64::MIN], CPU)?;
    assert_eq!(
        error_of(layer.forward(&large)),
        "timesteps: -9223372036854775808 (at index 1) is outside -2^53..=2^53"
    );
    // A view that declares more rows than a table may have.
    let one = Tensor::new(&[0.5f32], CPU)?;
    let error = error_of(layer.forward(&one.broadcast_as((1 << 29) + 1)?));
    assert!(
        error.contains("exceeds the limit of 17179869184 bytes"),
        "{error}"
    );
    let error = error_of(layer.forward(&one.broadcast_as((1 << 40, 1 << 40))?));
    assert!(
        error.contains("more elements than can be addressed"),
        "{error}"
    );

    let config = TimestepEmbeddingConfig::new(8);
    let error = error_of(TimestepEmbedding::new(config, DType::U32, CPU));
    assert_eq!(error, "the result must be f32, f64, f16 or bf16, not u32");
    let error = error_of(TimestepEmbedding::new(
        TimestepEmbeddingConfig::new(0),
        DType::F32,
        CPU,
    ));
    assert_eq!(error, "width 0 is outside 1..=1048576");
    let huge = TimestepEmbeddingConfig {
        max_table_rows: usize::MAX,
        ..config
    };
    let error = error_of(TimestepEmbedding::new(huge, DType::F32, CPU));
    assert!(
        error.starts_with("a table of 18446744073709551615 rows"),
        "{error}"
    );
    Ok(())
}
