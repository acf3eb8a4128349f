//! Gradients through attention: which of Candle's operations drop them, and which to call instead.

use super::*;
use candle_core::{D, Module, Var};
use candle_nn::{LayerNorm, RmsNorm, ops};

/// Whether a gradient reaches a variable through an operation.
fn reaches(f: impl Fn(&Tensor) -> Result<Tensor>) -> Result<bool> {
    let var = Var::from_tensor(&numbers(&[1, 2, 3, 8], DType::F32, 1))?;
    // One more way from the variable to the sum, which keeps the backward pass going.
    let sum = (f(&var)?.sqr()?.sum_all()? + (var.as_tensor() * 0.0)?.sum_all()?)?;
    let gradients = sum.backward()?;
    let gradient = gradients.get(&var).map(f64s).unwrap_or_default();
    Ok(gradient.iter().any(|g| *g != 0.0))
}

/// The README's table of calls.
#[test]
fn fused_operations_drop_gradients_and_these_calls_keep_them() -> Result<()> {
    let weight = numbers(&[8], DType::F32, 2);
    let bias = numbers(&[8], DType::F32, 3);
    let rms = RmsNorm::new(weight.clone(), 1e-5);
    let norm = LayerNorm::new(weight.clone(), bias.clone(), 1e-5);
    let unbiased = LayerNorm::new_no_bias(weight.clone(), 1e-5);
    let rotary = layer(config(8, 8), DType::F32);
    let (cos, sin) = rotary.cos_sin(5, 3)?;
    let dropped = [
        reaches(ops::softmax_last_dim)?,
        reaches(|xs| rms.forward(xs))?,
        reaches(|xs| ops::rms_norm(xs, &weight, 1e-5))?,
        reaches(|xs| norm.forward(xs))?,
        reaches(|xs| ops::layer_norm(xs, &weight, &bias, 1e-5))?,
        reaches(|xs| candle_nn::rotary_emb::rope(xs, &cos, &sin))?,
        reaches(|xs| candle_nn::rotary_emb::rope_i(xs, &cos, &sin))?,
    ];
    assert_eq!(dropped, [false; 7]);
    let kept = [
        reaches(|xs| ops::softmax(xs, D::Minus1))?,
        reaches(|xs| rms.forward_diff(xs))?,
        reaches(|xs| ops::rms_norm_slow(xs, &weight, 1e-5))?,
        reaches(|xs| unbiased.forward(xs))?,
        reaches(|xs| ops::layer_norm_slow(xs, &weight, &bias, 1e-5))?,
        reaches(|xs| rotary.apply(xs, 5))?,
    ];
    assert_eq!(kept, [true; 6]);
    Ok(())
}

/// Queries and keys learn only if the softmax after the rotation hands gradients on too.
#[test]
fn queries_and_keys_learn_through_rotation_and_softmax() -> Result<()> {
    let rotary = layer(config(8, 8), DType::F32);
    let v = numbers(&[1, 2, 3, 8], DType::F32, 4);
    let attention = |q: &Tensor, softmax: fn(&Tensor) -> Result<Tensor>| {
        let k = numbers(&[1, 2, 3, 8], DType::F32, 5);
        let (q, k) = rotary.apply_qkv(q, &k, 0)?;
        softmax(&q.matmul(&k.t()?)?)?.matmul(&v)
    };
    assert!(!reaches(|q| attention(q, ops::softmax_last_dim))?);
    assert!(reaches(|q| attention(q, |s| ops::softmax(s, D::Minus1)))?);
    Ok(())
}
