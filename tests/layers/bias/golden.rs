//! Biases, shifted scores, and attention weights of transformers' classes.

use std::sync::OnceLock;

use super::*;
use pe_candle::position_ids_from_attention_mask;
use pe_tests::golden::json;
use pe_tests::tolerance::{BIAS_F32, BIAS_GRADIENT_F64, BIAS_RESIZED_F32, BIAS_SINUSOID_F32};
use serde_json::Value;

pub(super) fn golden(key: &str) -> &'static Value {
    static GOLDEN: OnceLock<Value> = OnceLock::new();
    &GOLDEN.get_or_init(|| json("biases.json"))[key]
}

fn layer(key: &str) -> &'static Value {
    &golden("layers")[key]
}

pub(super) fn size(value: &Value) -> usize {
    value.as_u64().unwrap() as usize
}

fn wide(value: &Value) -> Tensor {
    let shape: Vec<_> = value["shape"]
        .as_array()
        .unwrap()
        .iter()
        .map(size)
        .collect();
    let values = value["values"].as_array().unwrap().iter();
    let values: Vec<_> = values.map(|value| value.as_f64().unwrap()).collect();
    Tensor::from_vec(values, shape, CPU).unwrap()
}

pub(super) fn tensor(value: &Value) -> Tensor {
    wide(value).to_dtype(DType::F32).unwrap()
}

/// Integers in rows.
pub(super) fn rows(value: &Value) -> Tensor {
    let row = |row: &Value| -> Vec<i64> {
        row.as_array()
            .unwrap()
            .iter()
            .map(|value| value.as_i64().unwrap())
            .collect()
    };
    let rows: Vec<_> = value.as_array().unwrap().iter().map(row).collect();
    Tensor::new(rows, CPU).unwrap()
}

fn alibi(heads: usize, dtype: DType) -> Alibi {
    Alibi::new(AlibiConfig::new(heads), dtype, CPU).unwrap()
}

#[test]
fn weights_of_bloom_with_padding_and_a_masked_row() -> Result<()> {
    let of = layer("bloom");
    let attention_mask = rows(&of["mask"]);
    let ids = position_ids_from_attention_mask(&attention_mask.to_dtype(DType::U32)?, 0)?;
    let bias = alibi(3, DType::F32).bias_with_positions(&ids, 5)?;
    let wanted = tensor(&of["alibi"]).broadcast_as((2, 3, 5, 5))?;
    assert_close(&bias.to_tensor()?, &wanted, BIAS_F32, "alibi");
    let mask = ScoreMask::causal(0).with_padding(&attention_mask)?;
    let scores = tensor(&of["scores"]);
    let scale = of["scale"].as_f64().unwrap();
    // The padded queries of the second sequence have no key: BLOOM's NaN is 0 here.
    let found = softmax_with_bias(&scores, Some(&bias), scale, &mask)?;
    assert_close(&found, &tensor(&of["probs"]), BIAS_F32, "weights");
    // The symmetric bias gives the same weights: rows differ by a constant.
    let distances = alibi(3, DType::F32).bias(5, 5, 0)?;
    let found = softmax_with_bias(&scores, Some(&distances), scale, &mask)?;
    assert_close(&found, &tensor(&of["probs"]), BIAS_F32, "symmetric");
    Ok(())
}

#[test]
fn biases_of_mpt_falcon_and_jina() -> Result<()> {
    let of = layer("mpt");
    let positions = Tensor::arange(-6i64, 1, CPU)?;
    let bias = alibi(5, DType::F32)
        .bias_with_positions(&positions, 1)?
        .to_tensor()?;
    assert_close(&bias.squeeze(0)?, &tensor(&of["alibi"]), BIAS_F32, "mpt");
    // Falcon multiplies in bf16: the same values, each rounded once.
    let of = layer("falcon");
    let attention_mask = rows(&layer("bloom")["mask"]).to_dtype(DType::U32)?;
    let ids = position_ids_from_attention_mask(&attention_mask, 0)?;
    let bias = alibi(3, DType::BF16)
        .bias_with_positions(&ids, 1)?
        .to_tensor()?;
    assert_eq!(f64s(&bias), f64s(&tensor(&of["alibi"])));
    let of = layer("jina");
    let bias = alibi(4, DType::F32).bias(6, 6, 0)?.to_tensor()?;
    assert_eq!(f64s(&bias), f64s(&tensor(&of["bias"])));
    Ok(())
}

fn t5(buckets: T5BucketsConfig, table: Tensor) -> Result<T5Bias> {
    let config = T5BiasConfig {
        buckets,
        ..T5BiasConfig::new(table.dim(1)?, buckets.direction)
    };
    T5Bias::from_table(config, table)
}

#[test]
fn biases_of_t5_wavlm_and_layoutlm() -> Result<()> {
    for (name, direction) in [
        ("t5_encoder", BucketDirection::Bidirectional),
        ("t5_decoder", BucketDirection::Unidirectional),
    ] {
        let of = layer(name);
        let t5 = t5(T5BucketsConfig::new(direction), tensor(&of["table"]))?;
        for case in of["cases"].as_array().unwrap() {
            let [q, kv, offset] = ["q", "kv", "offset"].map(|key| size(&case[key]));
            let bias = t5.bias(q, kv, offset)?.to_tensor()?;
            assert_eq!(
                f64s(&bias),
                f64s(&tensor(&case["bias"])),
                "{name} {q} {kv} {offset}"
            );
        }
    }
    let of = layer("wavlm");
    let config = T5BucketsConfig {
        num_buckets: 320,
        max_distance: 800,
        direction: BucketDirection::Bidirectional,
    };
    let bias = t5(config, tensor(&of["table"]))?.bias(4, 4, 0)?;
    assert_eq!(f64s(&bias.to_tensor()?), f64s(&tensor(&of["bias"])));
    let of = layer("layoutlmv3");
    let by_buckets = |table: usize, num_buckets, max_distance| -> Result<T5Bias> {
        let config = T5BucketsConfig {
            num_buckets,
            max_distance,
            direction: BucketDirection::Bidirectional,
        };
        t5(config, tensor(&of["tables"][table]).t()?)
    };
    let one = by_buckets(0, 32, 128)?
        .bias_with_positions(&rows(&of["ids"]))?
        .to_tensor()?;
    assert_eq!(f64s(&one), f64s(&tensor(&of["one"])));
    let x = by_buckets(1, 64, 256)?.bias_with_positions(&rows(&of["x"]))?;
    let y = by_buckets(2, 64, 256)?.bias_with_positions(&rows(&of["y"]))?;
    assert_eq!(f64s(&x.and(&y)?.to_tensor()?), f64s(&tensor(&of["two"])));
    Ok(())
}

#[test]
fn scores_of_deberta() -> Result<()> {
    let of = layer("deberta");
    let config = DebertaBucketsConfig {
        position_buckets: Some(4),
        max_relative_positions: 9,
    };
    let [q, k, pos_query, pos_key] = ["q", "k", "pos_query", "pos_key"].map(|key| tensor(&of[key]));
    let config = DebertaBiasConfig::new(2, config);
    let scale = config.scale(4);
    let deberta = DebertaBias::new(config)?;
    let bias = deberta.bias(&q, &k, Some(&pos_key), Some(&pos_query), scale)?;
    assert_close(
        &bias.to_tensor()?,
        &tensor(&of["bias"]),
        BIAS_F32,
        "deberta",
    );
    let zeros = Tensor::zeros((2, 2, 7, 7), DType::F32, CPU)?;
    let found = add_to_scores(&zeros, Some(&bias), 1.0, &ScoreMask::none())?;
    assert_close(&found, &tensor(&of["bias"]), BIAS_F32, "deberta, fused");
    Ok(())
}

#[test]
fn biases_of_sam_beit_and_levit() -> Result<()> {
    for case in layer("sam").as_array().unwrap() {
        let pair = |key: &str| (size(&case[key][0]), size(&case[key][1]));
        let (of_rows, of_columns) = (tensor(&case["rel_h"]), tensor(&case["rel_w"]));
        let config = DecomposedBiasConfig::new(pair("q").into(), of_rows.dim(1)?);
        let tables = DecomposedBias::from_tables(config, of_rows, of_columns)?;
        let bias = tables.bias(&tensor(&case["query"]), pair("q"), pair("kv"))?;
        let wanted = tensor(&case["bias"]);
        assert_close(
            &bias.to_tensor()?.squeeze(1)?,
            &wanted,
            BIAS_RESIZED_F32,
            "sam",
        );
        let zeros = wanted.zeros_like()?;
        let found = add_to_scores(&zeros, Some(&bias), 1.0, &ScoreMask::none())?;
        assert_close(&found, &wanted, BIAS_RESIZED_F32, "sam, fused");
    }
    let of = layer("beit");
    let rows = RelativeRows::Beit {
        height: 3,
        width: 3,
    };
    let table = tensor(&of["table"]);
    let config = RelativeTableConfig::new(rows, table.dim(1)?);
    let bias = RelativeTable::from_table(config, table)?.bias(10, 10, 0)?;
    assert_eq!(f64s(&bias.to_tensor()?), f64s(&tensor(&of["bias"])));
    let of = layer("levit");
    let rows = RelativeRows::Levit {
        q_size: 3,
        kv_size: 5,
        stride: 2,
    };
    let table = tensor(&of["table"]).t()?;
    let config = RelativeTableConfig::new(rows, table.dim(1)?);
    let bias = RelativeTable::from_table(config, table)?.bias(9, 25, 0)?;
    assert_eq!(f64s(&bias.to_tensor()?), f64s(&tensor(&of["bias"])));
    Ok(())
}

#[test]
fn shifts_and_encodings_of_xlnet_and_conformer() -> Result<()> {
    let of = layer("xlnet");
    let bias = AttentionBias::from_shifted(&tensor(&of["scores"]), size(&of["kv_len"]))?;
    assert_eq!(f64s(&bias.to_tensor()?), f64s(&tensor(&of["shifted"])));
    let config = RelativeSinusoidConfig {
        sinusoidal: SinusoidalConfig {
            layout: pe_candle::SinusoidLayout::Concatenated,
            ..SinusoidalConfig::new(8)
        },
        distances: RelativeDistances::FromKvLen,
    };
    let encoding = RelativeSinusoid::new(config, DType::F32, CPU)?;
    let found = encoding.encodings(3, 5)?;
    assert_close(&found, &tensor(&of["encoding"]), BIAS_SINUSOID_F32, "xlnet");
    let of = layer("conformer");
    let encoding = RelativeSinusoid::new(RelativeSinusoidConfig::new(8), DType::F32, CPU)?;
    let r = encoding.encodings(4, 4)?;
    assert_close(&r, &tensor(&of["encoding"]), BIAS_SINUSOID_F32, "conformer");
    let q = tensor(&of["query"]);
    let q = q.broadcast_add(&tensor(&of["bias_v"]).reshape((1, 2, 1, 4))?)?;
    let r = r.reshape((7, 2, 4))?.transpose(0, 1)?;
    let bias = encoding.bias(&q, &r, 4)?.to_tensor()?;
    assert_close(&bias, &tensor(&of["shifted"]), BIAS_F32, "shifted");
    Ok(())
}

#[test]
fn gradients_of_torch_in_f64() -> Result<()> {
    let of = golden("gradients");
    let mask = ScoreMask::causal(size(&of["offset"]));
    for case in of["cases"].as_array().unwrap() {
        let scores = candle_core::Var::from_tensor(&wide(&of["scores"]))?;
        let bias = candle_core::Var::from_tensor(&wide(&of["bias"]))?;
        let scale = ScoreScale {
            factor: case["scale"].as_f64().unwrap(),
            soft_cap: case["cap"].as_f64().map(match case["of"].as_str() {
                Some("sums") => SoftCap::Sums,
                _ => SoftCap::Scores,
            }),
        };
        let dense = AttentionBias::from_tensor(&bias)?;
        let y = softmax_with_bias(&scores, Some(&dense), scale, &mask)?;
        assert_close(&y, &wide(&case["y"]), BIAS_GRADIENT_F64, "y");
        let grads = (&y * &wide(&of["up"]))?.sum_all()?.backward()?;
        let found = grads.get(&scores).unwrap();
        assert_close(found, &wide(&case["scores"]), BIAS_GRADIENT_F64, "scores");
        let found = grads.get(&bias).unwrap();
        assert_close(found, &wide(&case["bias"]), BIAS_GRADIENT_F64, "bias");
    }
    Ok(())
}
