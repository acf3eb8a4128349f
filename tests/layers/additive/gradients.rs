//! The gradient of the input, and none for the table.

use super::*;
use pe_tests::tolerance;

#[test]
fn e1_table_is_not_trained_and_not_in_the_checkpoint() -> Result<()> {
    let varmap = VarMap::new();
    let vb = VarBuilder::from_varmap(&varmap, DType::F32, CPU);
    let embedding = candle_nn::embedding(10, 8, vb.pp("embedding"))?;
    let layer = PositionalEncoding::new(
        PositionalEncodingConfig {
            max_seq_len: 6,
            dropout: 0.1,
            ..config(8)
        },
        DType::F32,
        CPU,
    )?;
    let head = candle_nn::linear(8, 2, vb.pp("head"))?;
    let before = f64s(&layer.table()?);

    let mut sgd = candle_nn::SGD::new(varmap.all_vars(), 0.5)?;
    let embedded = |weights: &[u32]| Tensor::new(weights, CPU)?.unsqueeze(0)?.apply(&embedding);
    for _ in 0..3 {
        let hidden = layer.forward_t(&embedded(&[1, 2, 3, 4, 5, 6])?, true)?;
        let loss = head.forward(&hidden)?.sqr()?.mean_all()?;
        let gradients = loss.backward()?;
        assert!(gradients.get(&layer.table()?).is_none());
        assert!(gradients.get(embedding.embeddings()).is_some());
        sgd.step(&gradients)?;
    }
    assert_eq!(f64s(&layer.table()?), before);
    assert!(!layer.table()?.is_variable());

    let names = ["embedding.weight", "head.bias", "head.weight"];
    let known: HashSet<_> = varmap.data().lock().unwrap().keys().cloned().collect();
    assert_eq!(known, names.map(String::from).into());
    assert_eq!(varmap.all_vars().len(), 3);
    let file = tempfile::tempdir().unwrap();
    let file = file.path().join("checkpoint.safetensors");
    varmap.save(&file)?;
    let saved: HashSet<_> = candle_core::safetensors::load(&file, CPU)?
        .into_keys()
        .collect();
    assert_eq!(saved, names.map(String::from).into());
    Ok(())
}

#[test]
fn e1_no_gradient_is_filed_under_the_table_even_where_it_is_used_whole() -> Result<()> {
    let config = PositionalEncodingConfig {
        axis_order: AxisOrder::Unbatched,
        max_seq_len: 5,
        ..config(4)
    };
    let layer = layer(config);
    let xs = Var::from_tensor(&numbers(&[5, 4], DType::F32, 2))?;
    let gradients = layer.forward_t(&xs, false)?.sum_all()?.backward()?;
    assert!(gradients.get(&xs).is_some());
    assert!(gradients.get(&layer.table()?).is_none());
    Ok(())
}

#[test]
fn e1_a_variable_given_as_table_is_taken_by_value() -> Result<()> {
    let var = Var::from_tensor(&numbers(&[5, 4], DType::F32, 3))?;
    let layer = PositionalEncoding::from_table(config(4), var.as_tensor().clone())?;
    let before = f64s(&layer.table()?);
    let xs = Tensor::zeros((1, 5, 4), DType::F32, CPU)?;
    let gradients = layer.forward_t(&xs, false)?.sum_all()?.backward()?;
    assert!(gradients.get(&var).is_none());
    var.set(&Tensor::zeros((5, 4), DType::F32, CPU)?)?;
    assert_eq!(f64s(&layer.table()?), before);

    // Views share the variable's memory, but are no variables themselves.
    let var = Var::from_tensor(&numbers(&[1, 7, 4], DType::F32, 3))?;
    let whole = || var.squeeze(0);
    let views = [
        ("squeezed", whole()?),
        ("first rows", whole()?.narrow(0, 0, 5)?),
        ("last rows", whole()?.narrow(0, 2, 5)?),
        ("reshaped", var.reshape((7, 4))?),
        ("transposed", whole()?.t()?.contiguous()?.t()?),
        ("broadcast", whole()?.narrow(0, 3, 1)?.broadcast_as((5, 4))?),
        ("detached", var.detach().squeeze(0)?),
    ];
    let mut layers = Vec::new();
    for (name, view) in views {
        assert!(!view.is_variable());
        let before = f64s(&view);
        let layer = PositionalEncoding::from_table(config(4), view)?;
        assert_eq!(f64s(&layer.table()?), before, "{name}");
        let xs = Tensor::zeros((1, 5, 4), DType::F32, CPU)?;
        let gradients = layer.forward_t(&xs, false)?.sum_all()?.backward()?;
        assert!(gradients.get(&var).is_none(), "{name}");
        layers.push((name, layer, before));
    }
    var.set(&Tensor::zeros((1, 7, 4), DType::F32, CPU)?)?;
    for (name, layer, before) in layers {
        assert_eq!(f64s(&layer.table()?), before, "{name}");
    }

    // Nor does a gradient reach what the table was computed from.
    let var = Var::from_tensor(&numbers(&[5, 4], DType::F32, 3))?;
    let computed = (var.as_tensor() * 2.0)?;
    let layer = PositionalEncoding::from_table(config(4), computed)?;
    let gradients = layer.forward_t(&xs, false)?.sum_all()?.backward()?;
    assert!(gradients.get(&var).is_none());
    Ok(())
}

#[test]
fn gradient_of_x_is_scale_times_mask() -> Result<()> {
    let p = 0.3f32;
    for (dtype, table) in TYPES {
        for axis_order in ORDERS {
            let unbatched = axis_order == AxisOrder::Unbatched;
            let batch = if unbatched { 1 } else { 3 };
            let config = PositionalEncodingConfig {
                axis_order,
                dropout: p,
                seed: 5,
                scale: EmbeddingScale::Factor(1.5),
                table_dtype: Some(table),
                ..config(6)
            };
            let layer = PositionalEncoding::new(config, dtype, CPU)?;
            let shape = shape_of(axis_order, batch, 4, 6);
            let xs = Var::from_tensor(&numbers(&shape, dtype, 9))?;
            // A weight for each output, so that the incoming gradient is not all ones;
            // powers of two keep the expected value exact in every type.
            let weights: Vec<f64> = (0..shape.iter().product::<usize>())
                .map(|index| [1.0, 2.0, -4.0, 0.5][index % 4])
                .collect();
            let ids = Tensor::new(&[4u32, 0, 2, 2], CPU)?;
            for by_ids in [false, true] {
                for train in [false, true] {
                    layer.dropout().set_step(2);
                    let ys = if by_ids {
                        layer.forward_with_positions(&xs, &ids, train)?
                    } else {
                        layer.forward_t(&xs, train)?
                    };
                    let weight = Tensor::new(weights.as_slice(), CPU)?;
                    let weight = weight.to_dtype(dtype)?.reshape(shape.as_slice())?;
                    let gradients = (ys * weight)?.sum_all()?.backward()?;
                    let found = gradients.get(&xs).unwrap();
                    assert_eq!(found.dtype(), dtype);
                    let wanted: Vec<f64> = (0..)
                        .zip(&weights)
                        .map(|(index, weight)| {
                            let (keep, factor) = match train {
                                false => (true, 1.0),
                                true => (keeps(p, 5, 2, index), 1.0 / (1.0 - f64::from(p))),
                            };
                            match (keep, dtype) {
                                (false, _) => 0.0,
                                (true, DType::F64) => weight * factor * 1.5,
                                (true, _) => round_to(dtype, *weight as f32 * factor as f32 * 1.5),
                            }
                        })
                        .collect();
                    assert_eq!(
                        f64s(found),
                        wanted,
                        "{dtype:?} {axis_order:?} train {train}"
                    );
                }
            }
        }
    }
    Ok(())
}

#[test]
fn gradient_of_x_agrees_with_finite_differences() -> Result<()> {
    let layer = PositionalEncoding::new(
        PositionalEncodingConfig {
            dropout: 0.4,
            seed: 1,
            scale: EmbeddingScale::SqrtDModel,
            ..config(6)
        },
        DType::F64,
        CPU,
    )?;
    let start = numbers(&[2, 3, 6], DType::F64, 10);
    let loss = |xs: &Tensor| -> Result<Tensor> {
        layer.dropout().set_step(7);
        // Not linear, seen through a view of x.
        let ys = layer.forward_at(&xs.transpose(0, 1)?.transpose(0, 1)?, 5, true)?;
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
            let moved = Tensor::from_vec(moved, (2, 3, 6), CPU).unwrap();
            loss(&moved).unwrap().to_scalar::<f64>().unwrap()
        };
        let slope = (at(h) - at(-h)) / (2.0 * h);
        let wanted = gradient[index];
        assert!(
            (slope - wanted).abs() <= tolerance::FINITE_DIFFERENCE * wanted.abs().max(1.0),
            "{slope} {wanted}"
        );
    }
    assert!(gradient.contains(&0.0) && gradient.iter().any(|g| *g != 0.0));
    Ok(())
}
