//! Models learn: gradients are those of PyTorch, and a small language model learns with positions of pe-candle.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use candle_core::{D, DType, Device, Error, Result, Tensor, Var, safetensors};
use candle_nn::{AdamW, Optimizer, ParamsAdamW, VarBuilder, VarMap, loss};
use pe_models::tiny::{self, Lm, Rope, Sizes};
use pe_models::{Batch, learned, rotary, vision};
use serde_json::Value;

const CPU: &Device = &Device::Cpu;

fn golden(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("golden")
        .join(path)
}

fn json(path: &str) -> Result<Value> {
    serde_json::from_slice(&fs::read(golden(path))?).map_err(Error::wrap)
}

/// Candle's derivative of `gelu_erf` has 0.398942 in place of 1 / sqrt(2 pi): 7e-7 more in f64.
const GELU: f64 = 1e-6;

/// Variables with the values of a checkpoint.
fn variables(name: &str, dtype: DType) -> Result<VarMap> {
    let varmap = VarMap::new();
    let tensors = safetensors::load(golden(&format!("{name}/model.safetensors")), CPU)?;
    for (name, value) in tensors {
        let value = Var::from_tensor(&value.to_dtype(dtype)?)?;
        varmap.data().lock().unwrap().insert(name, value);
    }
    Ok(varmap)
}

/// The numbers of `make_gradients.py`.
fn pattern(like: &Tensor) -> Result<Tensor> {
    let value = |index: i64| (index * 7919 % 101 - 50) as f64 / 50.0;
    let values = (0..like.elem_count() as i64).map(value).collect::<Vec<_>>();
    Tensor::from_vec(values, like.dims(), CPU)?.to_dtype(like.dtype())
}

fn number(xs: &Tensor) -> Result<f64> {
    xs.to_dtype(DType::F64)?.to_scalar()
}

/// Compares losses and gradients before and after a step in f64 and f32. The tolerances are relative to the loss and to the norm of each
/// gradient. PyTorch's own f32 differs from its f64 by up to 1e-6.
fn step(
    name: &str,
    f64: f64,
    loss: impl Fn(&Value, VarBuilder<'_>) -> Result<Tensor>,
) -> Result<()> {
    let (config, wanted) = (
        json(&format!("{name}/config.json"))?,
        &json("gradients.json")?[name],
    );
    for (dtype, tolerance) in [(DType::F64, f64), (DType::F32, 1e-5)] {
        let varmap = variables(name, dtype)?;
        let run = || loss(&config, VarBuilder::from_varmap(&varmap, dtype, CPU));
        let near = |found: f64, wanted: &Value, scale: f64, what: &str| {
            let wanted = wanted.as_f64().unwrap();
            assert!(
                (found - wanted).abs() <= tolerance * scale,
                "{name} {dtype:?} {what}: {found} instead of {wanted}"
            );
        };
        let before = run()?;
        near(number(&before)?, &wanted["before"], 1.0, "loss");
        let found = before.backward()?;
        let variables: HashMap<_, _> = varmap.data().lock().unwrap().clone();
        let gradients = wanted["gradients"].as_object().unwrap();
        for (key, numbers) in gradients {
            let Some(variable) = variables.get(key) else {
                panic!("{name}: no variable {key}")
            };
            let Some(gradient) = found.get(variable) else {
                // The mask token of ViT is not used.
                assert!(key.contains("mask_token"), "{name}: no gradient of {key}");
                continue;
            };
            let norm = number(&gradient.sqr()?.sum_all()?)?.sqrt();
            // Gradients of keys' biases are zero: sums of terms as large as the gradients of the keys' weights, which are 0.3 to 0.5.
            let size = numbers[0].as_f64().unwrap();
            let scale = if size < 1e-12 { 1e-2 } else { size };
            near(norm, &numbers[0], scale, key);
            let product = number(&(gradient * pattern(gradient)?)?.sum_all()?)?;
            near(product, &numbers[1], 10.0 * scale, key);
            variable.set(&(variable.as_tensor() - (gradient * 0.1)?)?)?;
        }
        near(number(&run()?)?, &wanted["after"], 1.0, "loss after a step");
    }
    Ok(())
}

fn tokens() -> Result<Tensor> {
    let expected = safetensors::load(golden("llama/expected.safetensors"), CPU)?;
    expected["tokens"].to_dtype(DType::U32)?.unsqueeze(0)
}

/// The mean square distance from the pattern.
fn distance(hidden: &Tensor) -> Result<Tensor> {
    (hidden - pattern(hidden)?)?.sqr()?.mean_all()
}

#[test]
fn llama_has_the_gradients_of_pytorch() -> Result<()> {
    step("llama", 1e-13, |config, vb| {
        let logits = rotary::llama::load(config, vb)?
            .forward(&tokens()?, &Batch::default())?
            .squeeze(0)?;
        let (time, tokens) = (logits.dim(0)?, tokens()?.squeeze(0)?);
        loss::cross_entropy(
            &logits.narrow(0, 0, time - 1)?,
            &tokens.narrow(0, 1, time - 1)?,
        )
    })
}

#[test]
fn bert_has_the_gradients_of_pytorch() -> Result<()> {
    step("bert", GELU, |config, vb| {
        distance(&learned::bert::Bert::new(config, vb)?.forward(&tokens()?, &Batch::default())?)
    })
}

#[test]
fn vit_has_the_gradients_of_pytorch() -> Result<()> {
    let expected = safetensors::load(golden("vit/expected.safetensors"), CPU)?;
    step("vit", GELU, |config, vb| {
        let pixels = expected["larger.pixel_values"].to_dtype(vb.dtype())?;
        distance(&vision::load_vit(config, vb)?.forward(&pixels)?)
    })
}

/// Trains for 200 steps on a task that needs positions: each token is the one three before it. Returns the first and the last loss, and
/// whether queries and keys had gradients.
fn train(rope: Rope) -> Result<(f64, f64, usize)> {
    let sizes = Sizes {
        vocab: 16,
        width: 32,
        num_heads: 2,
        layers: 2,
    };
    let (mut seed, mut variables) = (1, Vec::new());
    let mut weights = |shape: &[usize], std| {
        let variable = Var::from_tensor(&tiny::draw(shape, std, &mut seed)?.to_dtype(DType::F32)?)?;
        variables.push(variable.clone());
        Ok(variable.as_tensor().clone())
    };
    let model = Lm::new(sizes, rope, &mut weights)?;
    let parameters = ParamsAdamW {
        lr: 0.01,
        ..ParamsAdamW::default()
    };
    let mut optimizer = AdamW::new(variables.clone(), parameters)?;
    let (mut first, mut last, mut with_gradient) = (0.0, 0.0, 0);
    for step in 0..200u32 {
        // Sixteen rows of a random triple each, repeated.
        let token = |row: u32, at: u32| {
            let [bits, ..] = pe_candle::philox4x32_10([step, row, at % 3, 0], [3, 5]);
            bits % 16
        };
        let tokens: Vec<_> = (0..16)
            .flat_map(|row| (0..13).map(move |at| token(row, at)))
            .collect();
        let tokens = Tensor::from_vec(tokens, (16, 13), CPU)?;
        let logits = model.forward(&tokens.narrow(1, 0, 12)?, 0)?;
        // From the fourth token on the next one is known.
        let logits = logits.narrow(1, 2, 10)?.flatten_to(1)?;
        let loss = loss::cross_entropy(&logits, &tokens.narrow(1, 3, 10)?.flatten_all()?)?;
        let gradients = loss.backward()?;
        if step == 0 {
            first = number(&loss)?;
            with_gradient = variables
                .iter()
                .filter(|variable| gradients.get(variable).is_some())
                .count();
        }
        last = number(&loss)?;
        optimizer.step(&gradients)?;
    }
    Ok((first, last, with_gradient))
}

#[test]
fn language_model_learns_with_positions() -> Result<()> {
    let (first, last, variables) = train(Rope::ours(16, DType::F32)?)?;
    println!("pe-candle: {first:.3} to {last:.3}, {variables} variables with a gradient");
    assert!(last < 0.1 * first, "{first} to {last}");
    assert_eq!(variables, 14);
    // The same model with candle-nn's operation: queries and keys of both layers have no gradient.
    let (first, stuck, variables) = train(Rope::candle(16, 16, DType::F32)?)?;
    println!("candle-nn: {first:.3} to {stuck:.3}, {variables} variables with a gradient");
    assert_eq!(variables, 14 - 4);
    assert!(stuck > 2.0 * last, "{stuck} against {last}");
    Ok(())
}

/// The operations that drop gradients, and those to use.
#[test]
fn operations_of_candle_nn_drop_gradients() -> Result<()> {
    use candle_nn::ops;
    let xs = Var::from_tensor(&tiny::draw(&[2, 8], 1.0, &mut 1)?.to_dtype(DType::F32)?)?;
    let (ones, zeros) = (
        Tensor::ones(8, DType::F32, CPU)?,
        Tensor::zeros(8, DType::F32, CPU)?,
    );
    let has_gradient =
        |ys: Tensor| Ok::<_, Error>(ys.sqr()?.sum_all()?.backward()?.get(&xs).is_some());
    let (x, alpha, beta) = (xs.as_tensor(), &ones, &zeros);
    assert!(!has_gradient(ops::softmax_last_dim(x)?)?);
    assert!(has_gradient(ops::softmax(x, D::Minus1)?)?);
    assert!(!has_gradient(ops::rms_norm(x, alpha, 1e-6)?)?);
    assert!(has_gradient(ops::rms_norm_slow(x, alpha, 1e-6)?)?);
    assert!(!has_gradient(ops::layer_norm(x, alpha, beta, 1e-6)?)?);
    assert!(has_gradient(ops::layer_norm_slow(x, alpha, beta, 1e-6)?)?);
    // A cache that is written in place cuts the graph; one that is concatenated does not.
    let mut cache = candle_nn::kv_cache::Cache::new(0, 4);
    cache.append(x)?;
    assert!(!has_gradient(cache.current_data()?.expect("an entry"))?);
    assert!(has_gradient(Tensor::cat(&[x, x], 0)?)?);
    Ok(())
}

#[test]
fn logits_in_bf16_do_not_depend_on_the_position() -> Result<()> {
    for offset in [0, 3_000, 100_000] {
        let (ours, candle) = (
            tiny::bf16_error(offset, false)?,
            tiny::bf16_error(offset, true)?,
        );
        println!("{offset}: {ours:.4} here, {candle:.4} with positions in bf16");
        assert!(ours < 0.03, "{offset}: {ours}");
        if offset > 0 {
            assert!(candle > 10.0 * ours, "{offset}: {candle} against {ours}");
        }
    }
    Ok(())
}
