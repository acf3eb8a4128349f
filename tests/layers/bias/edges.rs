//! Rows without keys, infinities and NaN, masks of others, lengths, and what is rejected.

use super::*;
use candle_core::Var;
use pe_tests::tolerance::BIAS_F32;

const INF: f32 = f32::INFINITY;

fn weights(row: &[f32], mask: &ScoreMask) -> Result<Vec<f32>> {
    let scores = Tensor::from_slice(row, (1, 1, 1, row.len()), CPU)?;
    softmax_with_bias(&scores, None, 1.0, mask)?
        .flatten_all()?
        .to_vec1()
}

#[test]
fn infinities_nan_and_large_scores_are_those_of_torch() -> Result<()> {
    let none = ScoreMask::none();
    let nan = |row: &[f32]| weights(row, &none).map(|row| row.iter().all(|y| y.is_nan()));
    assert_eq!(weights(&[3e38, -3e38, 3e38], &none)?, [0.5, 0.0, 0.5]);
    assert_eq!(
        weights(&[-INF, 2.0, -INF, 2.0], &none)?,
        [0.0, 0.5, 0.0, 0.5]
    );
    assert!(nan(&[1.0, f32::NAN, 2.0])? && nan(&[INF, 1.0])? && nan(&[-INF, f32::NAN])?);
    // torch gives NaN here: documented.
    assert_eq!(weights(&[-INF; 19], &none)?, [0.0; 19]);
    // The same, in the rest of a chunk and in a whole one.
    for len in [1, 15, 16, 17, 64] {
        let mut row = vec![0.5; len];
        row[len - 1] = f32::NAN;
        assert!(nan(&row)?, "{len}");
        row[len - 1] = 200.0;
        assert_eq!(weights(&row, &none)?[len - 1], 1.0);
    }
    // A key that is excluded does not count, whatever its score.
    let mask = ScoreMask::causal(1);
    assert_eq!(
        weights(&[1.0, 1.0, f32::NAN, INF], &mask)?,
        [0.5, 0.5, 0.0, 0.0]
    );
    let padding = Tensor::new(&[[1u32, 0, 1]], CPU)?;
    let mask = ScoreMask::none().with_padding(&padding)?;
    assert_eq!(weights(&[1.0, f32::NAN, 1.0], &mask)?, [0.5, 0.0, 0.5]);
    Ok(())
}

#[test]
fn rows_without_keys_are_zero_and_have_no_gradient() -> Result<()> {
    let padding = Tensor::zeros((2, 4), DType::U32, CPU)?;
    let scores = Var::from_tensor(&numbers(&[2, 1, 3, 4], DType::F32, 81))?;
    let mask = ScoreMask::none().with_padding(&padding)?;
    let y = softmax_with_bias(&scores, None, 1.0, &mask)?;
    assert!(f64s(&y).iter().all(|y| *y == 0.0));
    let grads = y.sum_all()?.backward()?;
    assert!(
        f64s(grads.get(&scores).unwrap())
            .iter()
            .all(|dx| *dx == 0.0)
    );
    // Windows beyond the keys.
    let far = softmax_with_bias(&scores, None, 1.0, &ScoreMask::sliding_window(100, 8))?;
    assert!(f64s(&far).iter().all(|y| *y == 0.0));
    let sums = add_to_scores(
        &scores,
        None,
        1.0,
        &ScoreMask::sliding_window(usize::MAX, 8),
    )?;
    assert!(f64s(&sums).iter().all(|y| *y == f64::NEG_INFINITY));
    Ok(())
}

#[test]
fn scores_of_any_strides_and_without_heads() -> Result<()> {
    let alibi = Alibi::new(AlibiConfig::new(4), DType::F32, CPU)?;
    let (bias, mask) = (alibi.bias(6, 6, 0)?, ScoreMask::causal(0));
    let scores = numbers(&[2, 6, 4, 6], DType::F32, 82).transpose(1, 2)?;
    let found = softmax_with_bias(&scores, Some(&bias), 1.0, &mask)?;
    let wanted = softmax_with_bias(&scores.contiguous()?, Some(&bias), 1.0, &mask)?;
    assert_eq!(bits(&found), bits(&wanted));
    let one = Alibi::new(AlibiConfig::new(1), DType::F32, CPU)?.bias(6, 6, 0)?;
    let flat = scores.contiguous()?.reshape((8, 6, 6))?;
    let found = softmax_with_bias(&flat, Some(&one), 1.0, &mask)?;
    let wanted = softmax_with_bias(&flat.unsqueeze(1)?, Some(&one), 1.0, &mask)?;
    assert_eq!(
        (found.dims(), bits(&found)),
        (&[8, 6, 6][..], bits(&wanted))
    );
    let empty = Tensor::zeros((0, 4, 6, 6), DType::F32, CPU)?;
    assert_eq!(
        softmax_with_bias(&empty, Some(&bias), 1.0, &mask)?.dims(),
        [0, 4, 6, 6]
    );
    let empty = Tensor::zeros((2, 4, 6, 0), DType::F32, CPU)?;
    assert_eq!(
        softmax_with_bias(&empty, None, 1.0, &mask)?.dims(),
        [2, 4, 6, 0]
    );
    Ok(())
}

#[test]
fn masks_for_other_kernels() -> Result<()> {
    let alibi = Alibi::new(AlibiConfig::new(2), DType::F32, CPU)?;
    let padding = Tensor::new(&[[1u32, 1, 1], [0, 1, 1]], CPU)?;
    let mask = ScoreMask::causal(0).with_padding(&padding)?;
    let (bias, scores) = (alibi.bias(3, 3, 0)?, numbers(&[2, 2, 3, 3], DType::F32, 83));
    let additive = bias.to_mask(&mask, DType::F32)?;
    assert_eq!(additive.dims(), [2, 2, 3, 3]);
    let whole = AttentionBias::from_tensor(&additive)?;
    let found = softmax_with_bias(&scores, Some(&whole), 1.0, &ScoreMask::none())?;
    let wanted = softmax_with_bias(&scores, Some(&bias), 1.0, &mask)?;
    assert_close(&found, &wanted, BIAS_F32, "additive");
    assert_eq!(
        alibi
            .bias(3, 3, 0)?
            .to_mask(&ScoreMask::none(), DType::BF16)?
            .dims(),
        [1, 2, 3, 3]
    );
    Ok(())
}

/// Lengths beyond what is kept, and lengths that shrink and grow.
#[test]
fn values_are_kept_or_computed_with_the_same_bits() -> Result<()> {
    let alibi = Alibi::new(AlibiConfig::new(3), DType::F32, CPU)?;
    for (q_len, kv_len, offset) in [(1, 600, 599), (7, 7, 0), (2, 70_000, 69_998), (3, 2, 100)] {
        let found = alibi.bias(q_len, kv_len, offset)?.to_tensor()?;
        let distances =
            pe_core::alibi_distances::<f32>(&AlibiConfig::new(3), q_len, kv_len, offset as u64)?;
        let distances = pe_candle::table_to_tensor(distances, CPU)?;
        let wanted = AttentionBias::from_distances(&distances, q_len, kv_len)?.to_tensor()?;
        assert_eq!(bits(&found), bits(&wanted), "{q_len} {kv_len} {offset}");
    }
    Ok(())
}

/// Positions of one packed sequence have the shape that `position_ids_for_packed` returns, or one more axis.
#[test]
fn t5_accepts_positions_without_a_batch_axis() -> Result<()> {
    let config = T5BiasConfig::new(2, BucketDirection::Bidirectional);
    let t5 = T5Bias::from_table(config, numbers(&[32, 2], DType::F32, 92))?;
    let ids = pe_candle::position_ids_for_packed(&[3, 2], CPU)?;
    let found = t5.bias_with_positions(&ids)?.to_tensor()?;
    assert_eq!(found.dims(), [1, 2, 5, 5]);
    let wanted = t5.bias_with_positions(&ids.unsqueeze(0)?)?.to_tensor()?;
    assert_eq!(bits(&found), bits(&wanted));
    Ok(())
}

#[test]
fn invalid_calls_are_errors_that_name_the_values() -> Result<()> {
    let alibi = Alibi::new(AlibiConfig::new(2), DType::F32, CPU)?;
    let bias = alibi.bias(3, 4, 0)?;
    let scores = |dims: &[usize], dtype| numbers(dims, DType::F32, 1).to_dtype(dtype).unwrap();
    let run = |dims: &[usize], mask: &ScoreMask| {
        error_of(softmax_with_bias(
            &scores(dims, DType::F32),
            Some(&bias),
            1.0,
            mask,
        ))
    };
    let none = ScoreMask::none();
    let good = scores(&[1, 2, 3, 4], DType::F32);
    let bad_scale = |factor, soft_cap: Option<f64>| {
        error_of(softmax_with_bias(
            &good,
            None,
            ScoreScale {
                factor,
                soft_cap: soft_cap.map(SoftCap::Sums),
            },
            &none,
        ))
    };
    let padding = ScoreMask::none().with_padding(&Tensor::zeros((1, 5), DType::U32, CPU)?)?;
    let packed = ScoreMask::none().with_packed(&[2, 1])?;
    let late = ScoreMask::causal(2).with_packed(&[2, 2])?;
    let huge =
        Tensor::zeros((1, 1, 1, 1), DType::F32, CPU)?.broadcast_as((1, 1 << 40, 1 << 40, 4))?;
    let tracked = Var::from_tensor(&good)?;
    for (found, wanted) in [
        (
            run(&[1, 2, 3, 5], &none),
            "a bias of 3 queries, 4 keys, and [[1, 2]] sequences and heads does not go with scores of shape [1, 2, 3, 5]",
        ),
        (
            run(&[1, 3, 3, 4], &none),
            "a bias of 3 queries, 4 keys, and [[1, 2]] sequences and heads does not go with scores of shape [1, 3, 3, 4]",
        ),
        (
            run(&[3, 4], &none),
            "scores are [batch, heads, q_len, kv_len] or [batch, q_len, kv_len], got [3, 4]",
        ),
        (
            error_of(softmax_with_bias(
                &scores(&[1, 2, 3, 4], DType::U32),
                None,
                1.0,
                &none,
            )),
            "scores are f32, f64, f16 or bf16, not u32",
        ),
        (
            run(&[1, 2, 3, 4], &padding),
            "a padding mask of shape [1, 5] does not go with scores of shape [1, 2, 3, 4]",
        ),
        (
            run(&[1, 2, 3, 4], &packed),
            "3 packed tokens do not go with 3 queries from position 0 on and 4 keys",
        ),
        (
            run(&[1, 2, 3, 4], &late),
            "4 packed tokens do not go with 3 queries from position 2 on and 4 keys",
        ),
        (
            bad_scale(f64::NAN, None),
            "scale NaN is not a finite number",
        ),
        (
            bad_scale(1.0, Some(0.0)),
            "soft_cap 0.0 is not a positive finite number",
        ),
        (
            error_of(softmax_with_bias(&huge, None, 1.0, &none)),
            "the result declares more elements than can be addressed: shape [1, 1099511627776, 1099511627776, 4]",
        ),
        (
            error_of(softmax_with_bias_inplace(&tracked, None, 1.0, &none)),
            "scores that are tracked for gradients cannot be replaced in place",
        ),
        (
            error_of(softmax_with_bias_inplace(
                &good.transpose(2, 3)?,
                None,
                1.0,
                &none,
            )),
            "scores are replaced in place only if they are contiguous and on the CPU",
        ),
        (
            error_of(alibi.bias(0, 4, 0)),
            "a bias needs queries and keys, got q_len 0 and kv_len 4",
        ),
        (
            error_of(alibi.bias(1, usize::MAX, 0)),
            "18446744073709551615 tokens exceed the limit of 268435456 in one call",
        ),
        (
            error_of(alibi.bias(1, 1, usize::MAX)),
            "positions 18446744073709551615..18446744073709551615 are not an ascending range within 0..4294967296",
        ),
        (
            error_of(Alibi::new(AlibiConfig::new(0), DType::F32, CPU)),
            "num_heads 0 is not 1..=65536",
        ),
        (
            error_of(Alibi::new(AlibiConfig::new(2), DType::U32, CPU)),
            "slopes are f32, f64, f16 or bf16, not u32",
        ),
        (
            error_of(bias.clone().gated(&scores(&[1, 2, 4], DType::F32))),
            "a gate of shape [1, 2, 4] does not go with a bias of 3 queries and 1 parts",
        ),
        (
            error_of(
                bias.clone()
                    .and(&bias)
                    .and_then(|two| two.gated(&scores(&[1, 2, 3], DType::F32))),
            ),
            "a gate of shape [1, 2, 3] does not go with a bias of 3 queries and 2 parts",
        ),
        (
            error_of(
                bias.clone()
                    .gated(&scores(&[5, 2, 3], DType::F32))
                    .and_then(|bias| softmax_with_bias(&good, Some(&bias), 1.0, &none)),
            ),
            "a bias of 3 queries, 4 keys, and [[1, 2], [5, 2]] sequences and heads does not go with scores of shape [1, 2, 3, 4]",
        ),
        (
            error_of(AttentionBias::from_distances(
                &scores(&[2, 5], DType::F32),
                3,
                4,
            )),
            "5 distances are not those of 3 queries and 4 keys",
        ),
        (
            error_of(AttentionBias::from_shifted(
                &scores(&[1, 1, 3, 5], DType::F32),
                4,
            )),
            "scores of 5 distances are not those of 3 queries and 4 keys",
        ),
        (
            error_of(bias.clone().and(&bias).and_then(|two| two.and(&bias))),
            "a bias of 3 parts: two at most are read in one pass",
        ),
        (
            error_of(bias.clone().and(&alibi.bias(2, 4, 0)?)),
            "biases of queries and keys [3, 4] and [2, 4] have no sum",
        ),
        (
            error_of(alibi.bias(100_000, 100_000, 0)?.to_tensor()),
            "a bias of 100000 queries and 100000 keys is too large for one tensor",
        ),
    ] {
        assert_eq!(found, wanted);
    }
    Ok(())
}

/// Packed queries see the keys of their own sequence, which may be more or fewer.
#[test]
fn packed_queries_see_the_keys_of_their_sequence() -> Result<()> {
    let (lengths, kv_lengths) = ([2, 0, 1, 3], [1, 2, 0, 3]);
    let mask = ScoreMask::none().with_packed_cross(&lengths, &kv_lengths)?;
    let scores = numbers(&[1, 2, 6, 6], DType::F32, 17);
    let mut wanted = vec![-INF; 36];
    let (mut row, mut first) = (0, 0);
    for (len, kv_len) in lengths.into_iter().zip(kv_lengths) {
        for row in row..row + len {
            wanted[6 * row + first..6 * row + first + kv_len].fill(0.0);
        }
        (row, first) = (row + len, first + kv_len);
    }
    let wanted = Tensor::from_vec(wanted, (1, 1, 6, 6), CPU)?;
    let explicit = AttentionBias::from_tensor(&wanted)?;
    let none = ScoreMask::none();
    assert_eq!(
        f64s(&softmax_with_bias(&scores, None, 0.5, &mask)?),
        f64s(&softmax_with_bias(&scores, Some(&explicit), 0.5, &none)?)
    );
    // A query without keys has no weights.
    let weights = softmax_with_bias(&scores, None, 0.5, &mask)?;
    assert!(
        f64s(&weights.narrow(2, 2, 1)?)
            .iter()
            .all(|weight| *weight == 0.0)
    );
    let same = ScoreMask::causal(0).with_packed(&lengths)?;
    let cross = ScoreMask::causal(0).with_packed_cross(&lengths, &lengths)?;
    assert_eq!(
        f64s(&softmax_with_bias(&scores, None, 0.5, &same)?),
        f64s(&softmax_with_bias(&scores, None, 0.5, &cross)?)
    );
    let error = error_of(softmax_with_bias(
        &numbers(&[1, 1, 6, 5], DType::F32, 17),
        None,
        0.5,
        &mask,
    ));
    assert_eq!(
        error,
        "6 packed tokens do not go with 6 queries from position 0 on and 5 keys"
    );
    let short = ScoreMask::none().with_packed_cross(&[2], &[6])?;
    assert_eq!(
        error_of(softmax_with_bias(&scores, None, 0.5, &short)),
        "2 packed queries and 6 packed keys do not go with 6 queries from position 0 on and 6 keys"
    );
    assert_eq!(
        error_of(ScoreMask::none().with_packed_cross(&[2, 3], &[4])),
        "2 sequences of queries do not go with 1 sequences of keys"
    );
    for lengths in [[usize::MAX, 1], [1 << 32, 0]] {
        let error = error_of(ScoreMask::none().with_packed_cross(&[1, 1], &lengths));
        assert!(error.ends_with("together exceed 4294967295"), "{error}");
    }
    Ok(())
}

/// Configurations from `config.json`, and tables of another shape than the configuration.
#[test]
fn configurations_name_what_they_lack() -> Result<()> {
    let json = r#"{"model_type": "t5", "num_heads": 6, "relative_attention_max_distance": 64}"#;
    let t5 = T5BiasConfig::from_hf_config(json, BucketDirection::Unidirectional)?;
    let direction = t5.buckets.direction;
    assert_eq!((t5.num_heads, t5.buckets.max_distance), (6, 64));
    assert_eq!(direction, BucketDirection::Unidirectional);
    let error = error_of(DebertaBiasConfig::from_hf_config(json));
    assert!(error.starts_with("the model has no disentangled bias, but Buckets"));
    let json = r#"{"model_type": "deberta-v2", "num_attention_heads": 12, "relative_attention": true,
        "position_buckets": 256, "max_position_embeddings": 512, "pos_att_type": ["c2p"]}"#;
    let deberta = DebertaBiasConfig::from_hf_config(json)?;
    assert_eq!((deberta.num_heads, deberta.scale(8)), (12, 0.25));
    assert!(deberta.content_to_position && !deberta.position_to_content);
    let error = error_of(Alibi::from_hf_config(json, DType::F32, CPU));
    assert!(
        error.starts_with("the model has no ALiBi, but Disentangled"),
        "{error}"
    );
    let llama = r#"{"model_type": "llama"}"#;
    assert_eq!(
        error_of(Alibi::from_hf_config(llama, DType::F32, CPU)),
        "the model has no ALiBi, nor another bias that its config.json states"
    );
    let error = error_of(T5BiasConfig::from_hf_config(json, direction));
    assert!(error.starts_with("the model has no bias by buckets of distances, but Dis"));
    let rows = RelativeRows::Clipped {
        before: 4,
        after: 2,
    };
    let relative = RelativeTableConfig::new(rows, 3);
    let decomposed = DecomposedBiasConfig::new([4, 2], 8);
    let table = |dims: &[usize]| numbers(dims, DType::F32, 91);
    for (found, wanted) in [
        (
            error_of(T5Bias::from_table(t5, table(&[32, 5]))),
            "the table must have shape [32, 6], got [32, 5]",
        ),
        (
            error_of(RelativeTable::from_table(relative, table(&[7]))),
            "the table must have shape [7, 3], got [7]",
        ),
        (
            error_of(DecomposedBias::from_tables(
                decomposed,
                table(&[7, 8]),
                table(&[3, 4]),
            )),
            "the table must have shape [.., 8], got [3, 4]",
        ),
        (
            error_of(DecomposedBias::new(
                DecomposedBiasConfig::new([0, 2], 8),
                candle_nn::VarBuilder::zeros(DType::F32, CPU),
            )),
            "an input of 0 x 2 patches has no relative positions",
        ),
        (
            error_of(Alibi::from_slopes(AlibiConfig::new(4), table(&[3]))),
            "the slopes must have shape [4], got [3]",
        ),
    ] {
        assert_eq!(found, wanted);
    }
    Ok(())
}

/// The `alibi_slopes` of flash attention are `f32`, whatever the layer's type.
#[test]
fn slopes_for_flash_attention_are_those_of_f32() -> Result<()> {
    let wanted = pe_core::alibi_slopes::<f32>(&AlibiConfig::new(12))?;
    for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
        let slopes = Alibi::new(AlibiConfig::new(12), dtype, CPU)?.flash_attn_slopes()?;
        assert_eq!(slopes.to_vec1::<f32>()?, wanted, "{dtype:?}");
    }
    let own = Tensor::new(&[0.5f64, 0.25], CPU)?;
    let slopes = Alibi::from_slopes(AlibiConfig::new(2), own)?.flash_attn_slopes()?;
    assert_eq!(slopes.to_vec1::<f32>()?, [0.5, 0.25]);
    Ok(())
}
