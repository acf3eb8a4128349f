//! The gradient of the input, and none for the tables.

use super::*;
use crate::util::assert_passes_with_gradients_kept;
use candle_core::Var;
use pe_tests::tolerance;

#[test]
fn gradients_are_those_of_the_composition() -> Result<()> {
    for (dtype, table) in TYPES {
        for layout in LAYOUTS {
            for axis_order in ORDERS {
                let config = RotaryEmbeddingConfig {
                    layout,
                    axis_order,
                    table_dtype: Some(table),
                    ..config(36, 40)
                };
                let layer = layer(config, dtype);
                let shape = shape_of(axis_order, 2, 3, 4, 40);
                let ids = Tensor::new(&[[1u32, 0, 63, 2], [5, 5, 5, 9]], CPU)?;
                let weights = numbers(&shape, dtype, 8);
                for xs in [
                    numbers(&shape, dtype, 9),
                    numbers(&[shape[0], shape[2], shape[1], 40], dtype, 9).transpose(1, 2)?,
                ] {
                    let xs = Var::from_tensor(&xs)?;
                    let gradient = |ys: Tensor| -> Result<Tensor> {
                        let gradients = (ys * &weights)?.sum_all()?.backward()?;
                        let found = gradients.get(&xs).unwrap();
                        assert_eq!(found.dtype(), dtype);
                        Ok(found.clone())
                    };
                    let what = format!("{dtype:?} {table:?} {layout:?} {axis_order:?}");
                    let found = gradient(layer.apply_with_positions(&xs, &ids)?)?;
                    let composed = layer
                        .by_reference(Route::Operations)
                        .apply_with_positions(&xs, &ids);
                    let wanted = gradient(composed?)?;
                    assert_eq!(bits(&found), bits(&wanted), "{what}");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn gradient_is_the_inverse_rotation() -> Result<()> {
    let layer = layer(config(12, 16), DType::F32);
    let xs = Var::from_tensor(&numbers(&[1, 2, 5, 16], DType::F32, 1))?;
    let weights = numbers(&[1, 2, 5, 16], DType::F32, 2);
    let gradients = (layer.apply(&xs, 3)? * &weights)?.sum_all()?.backward()?;
    let back = gradients.get(&xs).unwrap();
    let (cos, sin) = layer.cos_sin(3, 5)?;
    let wanted = layer.apply_with_cos_sin(&weights, &cos, &sin.neg()?)?;
    assert_eq!(bits(back), bits(&wanted));
    let again = layer.apply(back, 3)?;
    for (found, wanted) in f64s(&again).iter().zip(f64s(&weights)) {
        assert!(
            (found - wanted).abs() < tolerance::F32_ROTATED_BACK,
            "{found} {wanted}"
        );
    }
    // One for the input, one for the weights, and none for the tables.
    assert_eq!(gradients.get_ids().count(), 2);
    Ok(())
}

#[test]
fn gradients_agree_with_finite_differences() -> Result<()> {
    for layout in LAYOUTS {
        for axis_order in ORDERS {
            let config = RotaryEmbeddingConfig {
                layout,
                axis_order,
                ..config(6, 8)
            };
            let layer = layer(config, DType::F64);
            let shape = shape_of(axis_order, 1, 2, 3, 8);
            let start = numbers(&shape, DType::F64, 10);
            // Not linear, and seen through a view of x.
            let loss = |xs: &Tensor| -> Result<Tensor> {
                let swapped = xs.transpose(1, 2)?.contiguous()?.transpose(1, 2)?;
                let ys = layer.apply(&swapped, 5)?;
                (ys.sqr()? * &ys)?.sum_all()
            };
            let xs = Var::from_tensor(&start)?;
            let gradients = loss(&xs)?.backward()?;
            let gradient = f64s(gradients.get(&xs).unwrap());
            let values = f64s(&start);
            let h = 1e-5;
            for index in 0..values.len() {
                let at = |delta: f64| {
                    let mut moved = values.clone();
                    moved[index] += delta;
                    let moved = Tensor::from_vec(moved, shape.as_slice(), CPU).unwrap();
                    loss(&moved).unwrap().to_scalar::<f64>().unwrap()
                };
                let slope = (at(h) - at(-h)) / (2.0 * h);
                let wanted = gradient[index];
                assert!(
                    (slope - wanted).abs() <= tolerance::FINITE_DIFFERENCE * wanted.abs().max(1.0),
                    "{layout:?} {axis_order:?} {index}: {slope} {wanted}"
                );
            }
            assert!(gradient.iter().any(|g| g.abs() > 1.0));
        }
    }
    Ok(())
}

/// The attention factor is in the gradient as well: it is the transpose of the operator.
#[test]
fn attention_factor_is_in_the_gradient() -> Result<()> {
    let scaling = pe_core::RopeScaling::Custom {
        inv_freq: vec![1.0, 0.1],
        attention_factor: 1.5,
    };
    let rotary = RotaryConfig {
        scaling,
        ..RotaryConfig::new(4)
    };
    let layer = layer(RotaryEmbeddingConfig::of(rotary, 4), DType::F64);
    let xs = Var::from_tensor(&numbers(&[1, 1, 3, 4], DType::F64, 1))?;
    let gradients = layer.apply(&xs, 0)?.sqr()?.sum_all()?.backward()?;
    // The sum of squares is 1.5^2 times that of the input.
    let wanted = (xs.as_tensor() * (2.0 * 2.25))?;
    for (found, wanted) in f64s(gradients.get(&xs).unwrap()).iter().zip(f64s(&wanted)) {
        assert!(
            (found - wanted).abs() < tolerance::GRADIENT_F64,
            "{found} {wanted}"
        );
    }
    Ok(())
}

/// Candle's own kernel forgets the gradient; through this layer a model learns.
#[test]
fn weights_before_the_rotation_learn() -> Result<()> {
    let layer = layer(config(8, 8), DType::F32);
    let weight = Var::from_tensor(&numbers(&[8, 8], DType::F32, 1))?;
    let xs = numbers(&[6, 8], DType::F32, 2);
    let target = numbers(&[1, 1, 6, 8], DType::F32, 3);
    let loss = || -> Result<Tensor> {
        let q = xs.matmul(&weight)?.reshape((1, 1, 6, 8))?;
        (layer.apply(&q, 4)? - &target)?.sqr()?.mean_all()
    };
    let before = loss()?.to_scalar::<f32>()?;
    let mut sgd = <candle_nn::SGD as candle_nn::Optimizer>::new(vec![weight.clone()], 0.05)?;
    for _ in 0..50 {
        let gradients = loss()?.backward()?;
        assert!(gradients.get(&weight).is_some());
        candle_nn::Optimizer::step(&mut sgd, &gradients)?;
    }
    let after = loss()?.to_scalar::<f32>()?;
    assert!(after < before / 10.0, "{before} {after}");
    Ok(())
}

/// As `dropout::second_derivative_exists`.
#[test]
fn second_derivative_exists() {
    assert_passes_with_gradients_kept("rotary::gradients::second_derivative");
}

#[test]
#[ignore = "started by second_derivative_exists"]
fn second_derivative() -> Result<()> {
    let layer = layer(config(4, 6), DType::F64);
    let xs = Var::from_tensor(&numbers(&[1, 1, 2, 6], DType::F64, 1))?;
    let ys = layer.apply(&xs, 3)?;
    // |y|^4 = |x|^4: second derivatives that are not constant.
    let squares = ys.sqr()?.sum_all()?;
    let loss = squares.sqr()?;
    let first = loss.backward()?;
    let first = first.get(&xs).unwrap();
    let second = first.sum_all()?.backward()?;
    let second = f64s(second.get(&xs).unwrap());
    // d/dx_i sum_j 4 s x_j = 8 x_i sum_j x_j + 4 s, with s = |x|^2.
    let x = f64s(&xs);
    let (sum, s) = (x.iter().sum::<f64>(), x.iter().map(|x| x * x).sum::<f64>());
    for (found, x) in second.iter().zip(&x) {
        let wanted = 8.0 * x * sum + 4.0 * s;
        assert!(
            (found - wanted).abs() < tolerance::SECOND_DERIVATIVE * wanted.abs().max(1.0),
            "{found} {wanted}"
        );
    }
    Ok(())
}
