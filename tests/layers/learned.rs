//! Learned tables: against torch, against the reference path, gradients in every form, threads, names.

use std::collections::HashMap;

use candle_core::{DType, Device, ModuleT, Result, Tensor, Var};
use candle_nn::{Optimizer, VarBuilder, VarMap};
use pe_candle::testing::{InstructionSet, Planned, Route};
use pe_candle::{
    AxisOrder, EmbeddingScale, LearnedPositional, LearnedPositionalConfig, LearnedPreset,
    LearnedRows, LearnedShape, position_ids_from_token_ids,
};
use pe_tests::{golden, tolerance};
use serde_json::Value;

use crate::util::{
    ORDERS, TYPES, assert_passes_with_gradients_kept, error_of, f64s, numbers, views,
};

const CPU: &Device = &Device::Cpu;

fn config(d_model: usize) -> LearnedPositionalConfig {
    LearnedPositionalConfig::new(d_model, 8)
}

fn layer(config: LearnedPositionalConfig, table: &Var) -> LearnedPositional {
    LearnedPositional::from_table(config, table.as_tensor().clone()).unwrap()
}

fn tensor(value: &Value) -> Tensor {
    fn flatten(value: &Value, dims: &mut Vec<usize>, depth: usize, out: &mut Vec<f64>) {
        match value {
            Value::Array(items) => {
                if dims.len() == depth {
                    dims.push(items.len());
                }
                items
                    .iter()
                    .for_each(|item| flatten(item, dims, depth + 1, out));
            }
            number => out.push(number.as_f64().unwrap()),
        }
    }
    let (mut dims, mut out) = (Vec::new(), Vec::new());
    flatten(value, &mut dims, 0, &mut out);
    Tensor::from_vec(out, dims, CPU).unwrap()
}

fn assert_near(found: &Tensor, wanted: &Value, what: &str) {
    let wanted = tensor(wanted);
    assert_eq!(found.dims(), wanted.dims(), "{what}");
    for (found, wanted) in f64s(found).iter().zip(f64s(&wanted)) {
        assert!(
            (found - wanted).abs() <= tolerance::LEARNED_F64,
            "{what}: {found} {wanted}"
        );
    }
}

#[test]
fn values_and_gradients_are_those_of_torch_and_transformers() -> Result<()> {
    let file: Value = golden::json("learned.json");
    for case in file["cases"].as_array().unwrap() {
        let kind = case["kind"].as_str().unwrap();
        let x = Var::from_tensor(&tensor(&case["x"]))?;
        let table = Var::from_tensor(&tensor(&case["table"]))?;
        let (_, width) = table.dims2()?;
        let mut config = LearnedPositionalConfig::new(width, 1);
        let ids = || tensor(&case["ids"]).to_dtype(DType::U32);
        let y = match kind {
            "embedding" => {
                config.scale = EmbeddingScale::Factor(case["scale"].as_f64().unwrap());
                if let Some(padding) = case["padding"].as_u64() {
                    config.rows = LearnedRows::Padding(padding as u32);
                }
                layer(config, &table).forward_with_positions(&x, &ids()?, true)?
            }
            "opt" => {
                let config = LearnedPositionalConfig {
                    ..LearnedPreset::Opt.config(width, 1)
                };
                layer(config, &table).forward_at(&x, 2, true)?
            }
            _ => {
                let tokens = tensor(&case["tokens"]).to_dtype(DType::U32)?;
                let found = position_ids_from_token_ids(&tokens, 1)?;
                assert_eq!(found.to_vec2::<u32>()?, ids()?.to_vec2::<u32>()?);
                let layer = layer(LearnedPreset::Roberta.config(width, 1), &table);
                layer.forward_with_tokens(&x, &tokens, true)?
            }
        };
        assert_near(&y, &case["y"], kind);
        let gradients = (y * tensor(&case["weight"]))?.sum_all()?.backward()?;
        assert_near(gradients.get(&x).unwrap(), &case["grad_x"], kind);
        assert_near(gradients.get(&table).unwrap(), &case["grad_table"], kind);
    }
    Ok(())
}

/// A call, and the result of it with both gradients.
fn run(
    layer: &LearnedPositional,
    (xs, table): (&Var, &Var),
    ids: Option<&Tensor>,
    train: bool,
) -> Result<[Vec<f64>; 3]> {
    layer.dropout().set_step(3);
    let ys = match ids {
        None => layer.forward_at(xs, 1, train)?,
        Some(ids) => layer.forward_with_positions(xs, ids, train)?,
    };
    let weight = numbers(ys.dims(), ys.dtype(), 77);
    let gradients = (&ys * weight)?.sum_all()?.backward()?;
    let of = |var: &Var| {
        let gradient = gradients.get(var).unwrap();
        assert_eq!(
            (gradient.dtype(), gradient.dims()),
            (var.dtype(), var.dims())
        );
        f64s(gradient)
    };
    Ok([f64s(&ys), of(xs), of(table)])
}

#[test]
fn fused_pass_equals_the_reference_in_every_form() -> Result<()> {
    let mut cases = 0;
    for (dtype, table_dtype) in TYPES {
        for order in ORDERS {
            for (width, scale, dropout) in [
                (5, EmbeddingScale::None, 0.0),
                (16, EmbeddingScale::Factor(1.5), 0.0),
                (33, EmbeddingScale::None, 0.3),
                (70, EmbeddingScale::SqrtDModel, 0.3),
            ] {
                for rows in [LearnedRows::Offset(2), LearnedRows::Padding(1)] {
                    let config = LearnedPositionalConfig {
                        axis_order: order,
                        scale,
                        dropout,
                        seed: 5,
                        rows,
                        ..config(width)
                    };
                    let table = Var::from_tensor(&numbers(&[10, width], table_dtype, 4))?;
                    let fused = layer(config, &table);
                    let reference = fused.by_reference(Route::Operations);
                    let dims = match order {
                        AxisOrder::BatchFirst => vec![3, 4, width],
                        AxisOrder::SequenceFirst => vec![4, 3, width],
                        AxisOrder::Unbatched => vec![4, width],
                    };
                    let xs = Var::from_tensor(&numbers(&dims, dtype, 9))?;
                    // Where sequences share ids that repeat, the reference adds up the batch first.
                    let again = if order == AxisOrder::Unbatched { 1 } else { 0 };
                    let per_step = Tensor::new(&[4u32, 1, 2, again], CPU)?;
                    let per_token =
                        Tensor::new(&[[1u32, 4, 1, 7], [0, 0, 0, 0], [7, 6, 5, 4]], CPU)?;
                    let mut ids = vec![None, Some(&per_step)];
                    if order != AxisOrder::Unbatched {
                        ids.push(Some(&per_token));
                    }
                    for ids in ids {
                        for train in [false, true] {
                            let wanted = run(&reference, (&xs, &table), ids, train)?;
                            for (set, instructions) in InstructionSet::available() {
                                let found =
                                    run(&fused.on(instructions), (&xs, &table), ids, train)?;
                                let what =
                                    format!("{set} {dtype:?} {table_dtype:?} {order:?} {width}");
                                assert_eq!(found[0], wanted[0], "{what}");
                                assert_eq!(found[1], wanted[1], "{what}: x");
                                assert_eq!(found[2], wanted[2], "{what}: table");
                                cases += 1;
                            }
                        }
                    }
                }
            }
        }
    }
    assert!(cases > 500);
    Ok(())
}

#[test]
fn inputs_and_gradients_of_any_strides() -> Result<()> {
    let table = Var::from_tensor(&numbers(&[10, 6], DType::F32, 4))?;
    let fused = layer(LearnedPreset::Opt.config(6, 1), &table);
    let reference = fused.by_reference(Route::Operations);
    for (name, view) in views(&[3, 4, 6], DType::F32) {
        for (weights, weight) in views(&[3, 4, 6], DType::F32) {
            let of = |layer: &LearnedPositional| -> Result<_> {
                // Multiplied by a view, the gradient is one of its strides or of none.
                let ys = layer.forward_at(&view, 2, false)?.mul(&weight)?;
                let gradients = ys.sum_all()?.backward()?;
                Ok((f64s(&ys), f64s(gradients.get(&table).unwrap())))
            };
            assert_eq!(of(&fused)?, of(&reference)?, "{name}, {weights}");
        }
    }
    Ok(())
}

#[test]
fn gradients_agree_with_finite_differences() -> Result<()> {
    let config = LearnedPositionalConfig {
        dropout: 0.4,
        seed: 1,
        scale: EmbeddingScale::SqrtDModel,
        ..config(6)
    };
    let ids = Tensor::new(&[[0u32, 3, 3], [3, 7, 0]], CPU)?;
    let (xs, rows) = (
        numbers(&[2, 3, 6], DType::F64, 10),
        numbers(&[8, 6], DType::F64, 11),
    );
    let loss = |xs: &Tensor, rows: &Tensor| -> Result<Tensor> {
        let layer = LearnedPositional::from_table(config.clone(), rows.clone())?;
        layer.dropout().set_step(7);
        let ys = layer.forward_with_positions(xs, &ids, true)?;
        (ys.sqr()? * &ys)?.sum_all()
    };
    let (x, table) = (Var::from_tensor(&xs)?, Var::from_tensor(&rows)?);
    let gradients = loss(&x, &table)?.backward()?;
    let h = 1e-5;
    let check = |found: &Tensor, values: &Tensor, loss: &dyn Fn(&Tensor) -> Result<Tensor>| {
        let (found, start) = (f64s(found), f64s(values));
        for index in 0..start.len() {
            let at = |delta: f64| {
                let mut moved = start.clone();
                moved[index] += delta;
                let moved = Tensor::from_vec(moved, values.dims(), CPU).unwrap();
                loss(&moved).unwrap().to_scalar::<f64>().unwrap()
            };
            let slope = (at(h) - at(-h)) / (2.0 * h);
            let wanted = found[index];
            assert!(
                (slope - wanted).abs() <= tolerance::FINITE_DIFFERENCE * wanted.abs().max(1.0),
                "{slope} {wanted}"
            );
        }
        assert!(found.iter().any(|g| *g != 0.0));
    };
    check(gradients.get(&x).unwrap(), &xs, &|moved| loss(moved, &rows));
    check(gradients.get(&table).unwrap(), &rows, &|moved| {
        loss(&xs, moved)
    });
    Ok(())
}

/// 2 Mi elements are shared out among threads.
#[test]
fn any_number_of_threads_gives_the_same_gradients() -> Result<()> {
    for dtype in [DType::F32, DType::BF16] {
        let config = LearnedPositionalConfig {
            dropout: 0.1,
            scale: EmbeddingScale::Factor(0.7),
            ..LearnedPositionalConfig::new(128, 1)
        };
        let table = Var::from_tensor(&numbers(&[700, 128], dtype, 4))?;
        let layer = layer(config, &table);
        let xs = Var::from_tensor(&numbers(&[17, 512, 128], dtype, 9))?;
        let ids: Vec<u32> = (0..17 * 512u32).map(|i| i * i % 701 % 700).collect();
        let ids = Tensor::from_vec(ids, (17, 512), CPU)?;
        for ids in [None, Some(&ids)] {
            let of = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
                let pool = pool.build().unwrap();
                pool.install(|| run(&layer, (&xs, &table), ids, true))
                    .unwrap()
            };
            let wanted = of(1);
            for threads in [2, 3, 8] {
                assert!(of(threads) == wanted, "{dtype:?}, {threads} threads");
            }
        }
    }
    Ok(())
}

#[test]
fn trained_parameters_alone_get_a_gradient() -> Result<()> {
    let rows = numbers(&[8, 6], DType::F32, 4);
    let xs = numbers(&[2, 3, 6], DType::F32, 9);
    // A frozen input.
    let table = Var::from_tensor(&rows)?;
    let ys = layer(config(6), &table).forward_t(&xs, true)?;
    let gradients = ys.sum_all()?.backward()?;
    let found = gradients.get(&table).unwrap().to_vec2::<f32>()?;
    assert_eq!((found[0][0], found[2][5], found[3][0]), (2.0, 2.0, 0.0));
    // A table that is a constant.
    let x = Var::from_tensor(&xs)?;
    let constant = LearnedPositional::from_table(config(6), rows.clone())?;
    let gradients = constant.forward_t(&x, true)?.sum_all()?.backward()?;
    assert_eq!(f64s(gradients.get(&x).unwrap()), vec![1.0; 36]);
    // A table that was computed.
    let factor = Var::from_tensor(&Tensor::new(2f32, CPU)?)?;
    let computed = rows.broadcast_mul(&factor)?;
    let computed = LearnedPositional::from_table(config(6), computed)?;
    let gradients = computed.forward_t(&xs, true)?.sum_all()?.backward()?;
    let wanted: f64 = f64s(&rows.narrow(0, 0, 3)?).iter().sum::<f64>() * 2.0;
    let found = gradients.get(&factor).unwrap().to_scalar::<f32>()?;
    assert!((f64::from(found) - wanted).abs() < tolerance::LEARNED_F32_SUM);
    Ok(())
}

#[test]
fn gradients_of_gradients() {
    assert_passes_with_gradients_kept("learned::second_derivatives");
}

/// The gradient of a table is linear in what comes in; its own gradient is a gather.
#[test]
#[ignore = "needs an environment of its own"]
fn second_derivatives() -> Result<()> {
    for route in [None, Some(Route::Operations)] {
        let table = Var::from_tensor(&numbers(&[8, 4], DType::F64, 4))?;
        let xs = Var::from_tensor(&numbers(&[2, 3, 4], DType::F64, 9))?;
        let mut layer = layer(config(4), &table);
        if let Some(route) = route {
            layer = layer.by_reference(route);
        }
        let loss = layer.forward_t(&xs, false)?.powf(3.0)?.sum_all()?;
        let first = loss.backward()?;
        let first = first.get(&table).unwrap();
        let second = first.narrow(0, 1, 1)?.sum_all()?.backward()?;
        let second = second.get(&table).unwrap();
        let y = layer.forward_t(&xs, false)?.narrow(1, 1, 1)?;
        let wanted = (y.sum(0)?.squeeze(0)? * 6.0)?;
        let found = second.narrow(0, 1, 1)?.squeeze(0)?;
        for (found, wanted) in f64s(&found).iter().zip(f64s(&wanted)) {
            let gap = (found - wanted).abs();
            assert!(
                gap <= tolerance::GRADIENT_F64 * wanted.abs().max(1.0),
                "{found} {wanted}"
            );
        }
    }
    Ok(())
}

#[test]
fn presets_name_the_tensors_of_their_models() -> Result<()> {
    for (preset, prefix, name, rows) in [
        (
            LearnedPreset::Bert,
            "embeddings",
            "position_embeddings.weight",
            6,
        ),
        (
            LearnedPreset::Roberta,
            "embeddings",
            "position_embeddings.weight",
            8,
        ),
        (
            LearnedPreset::Opt,
            "model.decoder",
            "embed_positions.weight",
            8,
        ),
        (LearnedPreset::Gpt2, "transformer", "wpe.weight", 6),
        (
            LearnedPreset::Whisper,
            "model.decoder",
            "embed_positions.weight",
            6,
        ),
        (
            LearnedPreset::Clip,
            "text_model.embeddings",
            "position_embedding.weight",
            6,
        ),
        (
            LearnedPreset::Vit,
            "vit.embeddings",
            "position_embeddings",
            6,
        ),
        (LearnedPreset::TimmVit, "", "pos_embed", 6),
    ] {
        let config = LearnedPositionalConfig {
            init_seed: 3,
            ..LearnedPositionalConfig::from_preset(preset, 4, 6)
        };
        assert_eq!(preset, preset.name().parse()?);
        let map = VarMap::new();
        let vb = VarBuilder::from_varmap(&map, DType::F32, CPU);
        let vb = if prefix.is_empty() { vb } else { vb.pp(prefix) };
        let made = LearnedPositional::new(config.clone(), vb)?;
        let full = if prefix.is_empty() {
            name.to_owned()
        } else {
            format!("{prefix}.{name}")
        };
        let data = map.data().lock().unwrap();
        assert_eq!(data.keys().collect::<Vec<_>>(), [&full]);
        let dims = if config.shape == LearnedShape::BatchOfRows {
            vec![1, rows, 4]
        } else {
            vec![rows, 4]
        };
        assert_eq!(data[&full].dims(), dims, "{preset}");
        // A checkpoint gives the same layer.
        let tensors = HashMap::from([(full.clone(), data[&full].as_tensor().detach())]);
        let vb = VarBuilder::from_tensors(tensors, DType::F32, CPU);
        let vb = if prefix.is_empty() { vb } else { vb.pp(prefix) };
        let loaded = LearnedPositional::new(config.clone(), vb)?;
        assert_eq!(f64s(loaded.table()), f64s(made.table()));
        let none = VarBuilder::from_tensors(HashMap::new(), DType::F32, CPU);
        assert!(error_of(LearnedPositional::new(config, none)).contains(name));
    }
    assert!("none".parse::<LearnedPreset>().is_err());
    Ok(())
}

#[test]
fn initial_values_depend_on_the_seed_alone() -> Result<()> {
    let of = |init_seed: u64, rows: LearnedRows| -> Result<Vec<f64>> {
        let config = LearnedPositionalConfig {
            init_seed,
            rows,
            ..LearnedPositionalConfig::new(64, 100)
        };
        let vb = VarBuilder::from_varmap(&VarMap::new(), DType::F32, CPU);
        Ok(f64s(LearnedPositional::new(config, vb)?.table()))
    };
    let values = of(1, LearnedRows::Offset(0))?;
    assert_eq!(values, of(1, LearnedRows::Offset(0))?);
    assert_ne!(values, of(2, LearnedRows::Offset(0))?);
    let square = values.iter().map(|v| v * v).sum::<f64>() / 6400.0;
    assert!((square.sqrt() - 0.02).abs() < 0.001);
    let padded = of(1, LearnedRows::Padding(3))?;
    assert!(padded[3 * 64..4 * 64].iter().all(|v| *v == 0.0) && padded[2 * 64] != 0.0);
    assert_eq!(padded.len(), 104 * 64);
    // A variable that exists is used as it is.
    let map = VarMap::new();
    let vb = VarBuilder::from_varmap(&map, DType::F32, CPU);
    let first = LearnedPositional::new(config(4), vb.clone())?;
    let ones = Tensor::ones((8, 4), DType::F32, CPU)?;
    map.all_vars()[0].set(&ones)?;
    let second = LearnedPositional::new(config(4), vb)?;
    for layer in [first, second] {
        assert_eq!(f64s(layer.table()), vec![1.0; 32]);
    }
    Ok(())
}

#[test]
fn training_moves_the_rows_that_are_used() -> Result<()> {
    let map = VarMap::new();
    let vb = VarBuilder::from_varmap(&map, DType::F32, CPU);
    let config = LearnedPositionalConfig {
        rows: LearnedRows::Padding(1),
        ..config(4)
    };
    let layer = LearnedPositional::new(config, vb)?;
    let mut sgd = candle_nn::SGD::new(map.all_vars(), 0.1)?;
    let tokens = Tensor::new(&[[5u32, 6, 7, 1], [5, 6, 1, 1]], CPU)?;
    let xs = Tensor::zeros((2, 4, 4), DType::F32, CPU)?;
    let target = Tensor::ones((2, 4, 4), DType::F32, CPU)?;
    let before = f64s(layer.table());
    let loss = || {
        let ys = layer.forward_with_tokens(&xs, &tokens, true)?;
        ys.sub(&target)?.sqr()?.sum_all()
    };
    let first = loss()?.to_scalar::<f32>()?;
    for _ in 0..50 {
        sgd.backward_step(&loss()?)?;
    }
    // Three tokens of padding keep their loss of 4 each.
    assert!(first > 25.0 && (loss()?.to_scalar::<f32>()? - 12.0).abs() < 0.1);
    let after = f64s(layer.table());
    for row in 0..10 {
        let moved = (0..4).any(|column| after[4 * row + column] != before[4 * row + column]);
        assert_eq!(moved, (2..5).contains(&row), "{row}");
    }
    Ok(())
}

#[test]
fn inplace_results_equal_fresh_ones() -> Result<()> {
    for (dtype, table_dtype) in TYPES {
        let table = numbers(&[10, 6], table_dtype, 4);
        let layer = LearnedPositional::from_table(LearnedPreset::Opt.config(6, 1), table)?;
        let xs = numbers(&[2, 3, 6], dtype, 9);
        let wanted = f64s(&layer.forward_at(&xs, 4, false)?);
        layer.forward_inplace(&xs, 4)?;
        assert_eq!(f64s(&xs), wanted);
        assert_eq!(
            f64s(&layer.encoding(4, 2)?),
            f64s(&layer.table().narrow(0, 6, 2)?)
        );
    }
    let table = Var::from_tensor(&numbers(&[8, 6], DType::F32, 4))?;
    let layer = layer(config(6), &table);
    let xs = numbers(&[2, 3, 6], DType::F32, 9);
    let error = error_of(layer.forward_inplace(&xs, 0));
    assert_eq!(
        error,
        "the table is trained: adding in place computes no gradient of it"
    );
    Ok(())
}

#[test]
fn bad_input_is_an_error_with_its_values() -> Result<()> {
    let table = numbers(&[10, 6], DType::F32, 4);
    let layer = LearnedPositional::from_table(LearnedPreset::Opt.config(6, 1), table.clone())?;
    assert_eq!(layer.max_seq_len(), 8);
    let xs = numbers(&[2, 3, 6], DType::F32, 9);
    let error = error_of(layer.forward_at(&xs, 6, false));
    assert_eq!(
        error,
        "positions 6..9 were asked for, but the table was trained for 8 and cannot grow"
    );
    assert!(error_of(layer.forward_at(&xs, usize::MAX, false)).contains("cannot grow"));
    assert!(layer.forward_at(&xs, 5, false).is_ok());
    let ids = Tensor::new(&[0u32, 7, 8], CPU)?;
    let error = error_of(layer.forward_with_positions(&xs, &ids, false));
    assert_eq!(
        error,
        "position id 8 at [2] is not below the limit of 8 rows"
    );
    let error = error_of(layer.forward_with_tokens(&xs, &ids, false));
    assert!(
        error.starts_with("tokens number the rows of a table with padding only"),
        "{error}"
    );
    let error = error_of(layer.forward_at(&numbers(&[2, 3, 5], DType::F32, 9), 0, false));
    assert!(error.contains("d_model 6"), "{error}");
    let error = error_of(layer.forward_at(&xs.to_dtype(DType::U32)?, 0, false));
    assert!(
        error.contains("must be f32, f64, f16 or bf16, not u32"),
        "{error}"
    );

    let of = |change: fn(&mut LearnedPositionalConfig), table: &Tensor| {
        let mut config = config(6);
        change(&mut config);
        error_of(LearnedPositional::from_table(config, table.clone()))
    };
    assert_eq!(
        of(|c| c.d_model = 5, &table),
        "the table must have shape [rows, 5] or [1, rows, 5], got [10, 6]"
    );
    assert_eq!(
        of(|c| c.rows = LearnedRows::Offset(10), &table),
        "the table has 10 rows, but position 0 has row 10"
    );
    assert!(of(|c| c.dropout = 1.0, &table).starts_with("dropout probability p"));
    assert_eq!(
        of(|c| c.init_std = f64::NAN, &table),
        "init_std NaN is not a finite number of at least 0"
    );
    assert!(of(|_| (), &table.to_dtype(DType::U32)?).contains("u32"));
    let vb = || VarBuilder::from_varmap(&VarMap::new(), DType::F32, CPU);
    let error = error_of(LearnedPositional::new(
        LearnedPositionalConfig::new(6, 0),
        vb(),
    ));
    assert!(error.starts_with("max_seq_len 0 is outside"), "{error}");
    let huge = LearnedPositionalConfig::new(1 << 20, 1 << 32);
    assert!(error_of(LearnedPositional::new(huge, vb())).contains("exceeds the limit"));
    let huge = LearnedPositionalConfig {
        rows: LearnedRows::Offset(usize::MAX),
        ..config(6)
    };
    assert!(error_of(LearnedPositional::new(huge, vb())).contains("exceeds 4294967296 rows"));
    let config = LearnedPositionalConfig::new(0, 5);
    assert_eq!(
        error_of(LearnedPositional::new(config, vb())),
        "d_model 0 is not at least 1"
    );
    Ok(())
}

/// Presets and files agree, and a layer loads the table of its file.
#[test]
fn configurations_are_those_of_the_files() -> Result<()> {
    for (json, preset) in [
        (
            r#"{"model_type": "bert", "hidden_size": 8, "max_position_embeddings": 12}"#,
            LearnedPreset::Bert,
        ),
        (
            r#"{"model_type": "opt", "hidden_size": 8, "max_position_embeddings": 12}"#,
            LearnedPreset::Opt,
        ),
        (
            r#"{"model_type": "gpt2", "n_embd": 8, "n_positions": 12}"#,
            LearnedPreset::Gpt2,
        ),
        (
            r#"{"model_type": "whisper", "d_model": 8, "max_target_positions": 12}"#,
            LearnedPreset::Whisper,
        ),
        (
            r#"{"model_type": "xlm-roberta", "hidden_size": 8, "max_position_embeddings": 14}"#,
            LearnedPreset::Roberta,
        ),
        (
            r#"{"model_type": "clip", "text_config": {"model_type": "clip_text_model", "hidden_size": 8,
                "max_position_embeddings": 12}}"#,
            LearnedPreset::Clip,
        ),
    ] {
        let config = LearnedPositionalConfig::from_hf_config(json)?;
        assert_eq!(config, LearnedPositionalConfig::from_preset(preset, 8, 12));
        let vb = VarBuilder::from_varmap(&VarMap::new(), DType::F32, CPU);
        assert_eq!(LearnedPositional::new(config, vb)?.max_seq_len(), 12);
    }
    let error = error_of(LearnedPositionalConfig::from_hf_config(
        r#"{"model_type": "t5"}"#,
    ));
    assert_eq!(
        error,
        "config.json: model_type \"t5\" has no learned table that is known"
    );
    Ok(())
}
