//! Attention weights and biases of further classes: gated, of relative sinusoids, capped with their bias, and by tables.

use super::golden::{golden, rows, size, tensor};
use super::*;
use candle_nn::ops::sigmoid;
use pe_candle::{SinusoidLayout, Spacing};
use pe_tests::tolerance::{BIAS_F32, BIAS_SINUSOID_F32};
use serde_json::Value;

fn of(key: &str) -> &'static Value {
    &golden("attention")[key]
}

fn more(key: &str) -> &'static Value {
    &golden("more")[key]
}

fn t5(
    num_buckets: usize,
    max_distance: u32,
    direction: BucketDirection,
    table: Tensor,
) -> Result<T5Bias> {
    let config = T5BiasConfig {
        buckets: T5BucketsConfig {
            num_buckets,
            max_distance,
            direction,
        },
        ..T5BiasConfig::new(table.dim(1)?, direction)
    };
    T5Bias::from_table(config, table)
}

/// The gate of WavLM, `[batch, heads, q_len]`, of hidden states `[batch, q_len, width]`.
fn gate(of: &Value) -> Result<Tensor> {
    let [hidden, weight, bias, constant] =
        ["hidden", "weight", "bias", "const"].map(|key| tensor(&of[key]));
    let (batch, len, _) = hidden.dims3()?;
    let hidden = hidden.reshape((batch, len, 2, ()))?.transpose(1, 2)?;
    let projected = hidden.contiguous()?.broadcast_matmul(&weight.t()?)?;
    let projected = projected.broadcast_add(&bias)?;
    let sums = projected.reshape((batch, 2, len, 2, 4))?.sum(4)?;
    let gates = sigmoid(&sums)?;
    let [a, b] = [0, 1].map(|index| gates.get_on_dim(3, index));
    let b = (b?.broadcast_mul(&constant.squeeze(3)?)? - 1.0)?;
    (a? * b)? + 2.0
}

#[test]
fn weights_of_wavlm_with_its_gate() -> Result<()> {
    let of = of("wavlm");
    let t5 = t5(32, 40, BucketDirection::Bidirectional, tensor(&of["table"]))?;
    let bias = t5.bias(5, 5, 0)?.gated(&gate(of)?)?;
    assert_close(&bias.to_tensor()?, &tensor(&of["gated"]), BIAS_F32, "gated");
    let scores = tensor(&of["scores"]);
    let found = softmax_with_bias(&scores, Some(&bias), 0.5, &ScoreMask::none())?;
    assert_close(&found, &tensor(&of["probs"]), BIAS_F32, "weights");
    Ok(())
}

/// The projected encodings, `[heads, distances, head_dim]`.
fn projected(encodings: &Tensor, weight: &Value) -> Result<Tensor> {
    let (count, _) = encodings.dims2()?;
    let rows = encodings.matmul(&tensor(weight).t()?)?;
    rows.reshape((count, 2, 4))?.transpose(0, 1)
}

#[test]
fn weights_of_parakeet_with_padding() -> Result<()> {
    let of = of("parakeet");
    let encoding = RelativeSinusoid::new(RelativeSinusoidConfig::new(8), DType::F32, CPU)?;
    let r = encoding.encodings(6, 6)?;
    assert_close(&r, &tensor(&of["encoding"]), BIAS_SINUSOID_F32, "encodings");
    let [q, k, u, v] = ["q", "k", "bias_u", "bias_v"].map(|key| tensor(&of[key]));
    let with = |bias: Tensor| q.broadcast_add(&bias.reshape((1, 2, 1, 4))?);
    // The model scales both parts: queries with a factor take it to the bias.
    let scale = 0.5;
    let bias = encoding.bias(&(with(v)? * scale)?, &projected(&r, &of["weight"])?, 6)?;
    let scores = with(u)?.matmul(&k.t()?)?;
    let mask = ScoreMask::none().with_padding(&rows(&of["mask"]))?;
    let found = softmax_with_bias(&scores, Some(&bias), scale, &mask)?;
    assert_close(&found, &tensor(&of["probs"]), BIAS_F32, "weights");
    Ok(())
}

/// Gemma 4 computes blocks of 4 queries with a context of keys: the same weights as one window over the whole sequence.
#[test]
fn weights_of_gemma_4_audio_capped_with_the_bias() -> Result<()> {
    let of = of("gemma4_audio");
    let config = RelativeSinusoidConfig {
        sinusoidal: SinusoidalConfig {
            layout: SinusoidLayout::Concatenated,
            spacing: Spacing::Inclusive,
            ..SinusoidalConfig::new(8)
        },
        ..RelativeSinusoidConfig::new(8)
    };
    let encoding = RelativeSinusoid::new(config, DType::F32, CPU)?;
    let r = encoding.encodings(10, 10)?; // distances 9 to -9; the model has 4 to 0
    let wanted = tensor(&of["encoding"]).reshape(((), 8))?;
    let near = r.narrow(0, 5, 5)?;
    assert_close(&near, &wanted, BIAS_SINUSOID_F32, "encodings");
    let [q, k] = ["q", "k"].map(|key| tensor(&of[key]));
    let bias = encoding.bias(&q, &projected(&r, &of["weight"])?, 10)?;
    let scale = ScoreScale {
        factor: 1.0,
        soft_cap: of["cap"].as_f64().map(SoftCap::Sums),
    };
    let mask = ScoreMask::window(0, Some(size(&of["before"])), Some(0));
    let found = softmax_with_bias(&q.contiguous()?.matmul(&k.t()?)?, Some(&bias), scale, &mask)?;
    assert_close(&found, &tensor(&of["probs"]), BIAS_F32, "weights");
    Ok(())
}

#[test]
fn biases_of_mt5_umt5_and_mpnet() -> Result<()> {
    use BucketDirection::{Bidirectional, Unidirectional};
    for (name, direction, [q_len, kv_len, offset]) in [
        ("mt5", Unidirectional, [3, 40, 37]),
        ("umt5", Bidirectional, [3, 40, 37]),
        ("mpnet", Bidirectional, [9, 9, 0]),
    ] {
        let of = more(name);
        let bias = t5(32, 128, direction, tensor(&of["table"]))?.bias(q_len, kv_len, offset)?;
        assert_eq!(
            f64s(&bias.to_tensor()?),
            f64s(&tensor(&of["bias"])),
            "{name}"
        );
    }
    Ok(())
}

#[test]
fn biases_of_swin_and_weights_of_swin_v2() -> Result<()> {
    let table = |height, width, of: &Value| {
        let config = RelativeTableConfig::new(RelativeRows::Swin { height, width }, 2);
        RelativeTable::from_table(config, tensor(&of["table"]))
    };
    let of = more("swin");
    let bias = table(2, 3, of)?.bias(6, 6, 0)?;
    assert_eq!(f64s(&bias.to_tensor()?), f64s(&tensor(&of["bias"])));
    let of = more("swinv2");
    let bias = table(3, 2, of)?.bias(6, 6, 0)?;
    let zeros = Tensor::zeros((1, 2, 6, 6), DType::F32, CPU)?;
    let found = softmax_with_bias(&zeros, Some(&bias), 1.0, &ScoreMask::none())?;
    assert_close(&found, &tensor(&of["probs"]), BIAS_F32, "swin v2");
    Ok(())
}

#[test]
fn biases_of_x_transformers() -> Result<()> {
    let of = more("x_transformers_alibi");
    let alibi = Alibi::new(AlibiConfig::new(size(&of["heads"])), DType::F32, CPU)?;
    for case in of["cases"].as_array().unwrap() {
        let (q_len, kv_len) = (size(&case["q"]), size(&case["kv"]));
        let bias = alibi.bias(q_len, kv_len, kv_len - q_len)?.to_tensor()?;
        let wanted = tensor(&case["bias"]).unsqueeze(0)?;
        assert_close(&bias, &wanted, BIAS_F32, "alibi");
    }
    for case in more("x_transformers_t5").as_array().unwrap() {
        let direction = match case["causal"].as_bool() {
            Some(true) => BucketDirection::Unidirectional,
            _ => BucketDirection::Bidirectional,
        };
        let table = (tensor(&case["table"]) * case["scale"].as_f64().unwrap())?;
        let bias = t5(32, 128, direction, table)?
            .bias(3, 150, 147)?
            .to_tensor()?;
        let wanted = tensor(&case["bias"]).unsqueeze(0)?;
        assert_eq!(f64s(&bias), f64s(&wanted));
    }
    Ok(())
}
