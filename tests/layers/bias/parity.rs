//! The fused passes against their reference: over types, shapes, biases, masks, instruction sets, threads.

use super::*;
use candle_core::Var;
use pe_tests::tolerance::{
    BIAS_F32, BIAS_GRADIENT_BF16, BIAS_GRADIENT_F16, BIAS_GRADIENT_F32, BIAS_GRADIENT_F64,
};

const TYPES: [DType; 4] = [DType::F32, DType::F64, DType::F16, DType::BF16];

fn tolerance(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => BIAS_GRADIENT_F64,
        DType::F16 => BIAS_GRADIENT_F16,
        DType::BF16 => BIAS_GRADIENT_BF16,
        _ => BIAS_GRADIENT_F32,
    }
}

/// A bias of every kind for scores `[2, 3, q_len, kv_len]`, with the variable that it is made of. `kv_len` is a multiple of 4.
fn biases(
    q_len: usize,
    kv_len: usize,
    offset: usize,
) -> Result<Vec<(&'static str, Var, AttentionBias)>> {
    let mut all = Vec::new();
    let mut push =
        |name, shape: &[usize], of: &dyn Fn(&Tensor) -> Result<AttentionBias>| -> Result<()> {
            let var = Var::from_tensor(&numbers(shape, DType::F32, 31))?;
            let bias = of(&var)?;
            all.push((name, var, bias));
            Ok(())
        };
    push("alibi", &[3], &|slopes| {
        Alibi::from_slopes(AlibiConfig::new(3), slopes.clone())?.bias(q_len, kv_len, offset)
    })?;
    let keys = Tensor::arange(0u32, kv_len as u32, CPU)?;
    push("keys", &[3], &|slopes| {
        Alibi::from_slopes(AlibiConfig::new(3), slopes.clone())?.bias_with_positions(&keys, q_len)
    })?;
    let config = T5BiasConfig::new(3, BucketDirection::Bidirectional);
    push("t5", &[32, 3], &|table| {
        T5Bias::from_table(config.clone(), table.clone())?.bias(q_len, kv_len, offset)
    })?;
    let rows = RelativeRows::Clipped {
        before: 4,
        after: 2,
    };
    let config = RelativeTableConfig::new(rows, 3);
    push("clipped", &[7, 3], &|table| {
        RelativeTable::from_table(config.clone(), table.clone())?.bias(q_len, kv_len, offset)
    })?;
    push("whole", &[1, 3, q_len, kv_len], &AttentionBias::from_tensor)?;
    push("mask", &[2, 1, q_len, kv_len], &AttentionBias::from_tensor)?;
    push("one", &[1, 1, q_len, kv_len], &AttentionBias::from_tensor)?;
    push("shifted", &[2, 3, q_len, q_len + kv_len], &|scores| {
        AttentionBias::from_shifted(scores, kv_len)
    })?;
    push("decomposed", &[2, 3, q_len, 8], &|queries| {
        let rows = numbers(&[7, 8], DType::F32, 33);
        let tables =
            DecomposedBias::from_tables(DecomposedBiasConfig::new([4, 4], 8), rows.clone(), rows)?;
        tables.bias(queries, (1, q_len), (kv_len / 4, 4))
    })?;
    push("one row of an image", &[2, 3, q_len, 8], &|queries| {
        let rows = numbers(&[2 * kv_len.max(q_len) - 1, 8], DType::F32, 33);
        let config = DecomposedBiasConfig::new([1, kv_len], 8);
        let tables = DecomposedBias::from_tables(config, rows.clone(), rows)?;
        tables.bias(queries, (1, q_len), (1, kv_len))
    })?;
    push("wide image", &[2, 3, q_len, 8], &|queries| {
        let rows = numbers(&[2 * kv_len.max(q_len) - 1, 8], DType::F32, 33);
        let config = DecomposedBiasConfig::new([2, kv_len / 2], 8);
        let tables = DecomposedBias::from_tables(config, rows.clone(), rows)?;
        tables.bias(queries, (1, q_len), (2, kv_len / 2))
    })?;
    let buckets = DebertaBucketsConfig {
        position_buckets: Some(8),
        max_relative_positions: 40,
    };
    let config = DebertaBiasConfig::new(3, buckets);
    push("deberta", &[3, 16, 4], &|rows| {
        let (q, k) = (
            numbers(&[2, 3, q_len, 4], DType::F32, 34),
            numbers(&[2, 3, kv_len, 4], DType::F32, 35),
        );
        DebertaBias::new(config)?.bias(&q, &k, Some(rows), Some(rows), 0.3)
    })?;
    let table = numbers(&[32, 3], DType::F32, 37);
    push("gate", &[2, 3, q_len], &|gate| {
        let config = T5BiasConfig::new(3, BucketDirection::Bidirectional);
        let t5 = T5Bias::from_table(config, table.clone())?;
        t5.bias(q_len, kv_len, offset)?.gated(gate)
    })?;
    push("gated", &[32, 3], &|table| {
        let config = T5BiasConfig::new(3, BucketDirection::Bidirectional);
        let t5 = T5Bias::from_table(config, table.clone())?;
        let gate = numbers(&[2, 1, q_len], DType::F32, 38);
        t5.bias(q_len, kv_len, offset)?.gated(&gate)
    })?;
    push("sum", &[3], &|slopes| {
        let mask = AttentionBias::from_tensor(&numbers(&[2, 1, q_len, kv_len], DType::F32, 36))?;
        Alibi::from_slopes(AlibiConfig::new(3), slopes.clone())?
            .bias(q_len, kv_len, offset)?
            .and(&mask)
    })?;
    Ok(all)
}

fn masks(kv_len: usize, offset: usize) -> Result<Vec<ScoreMask>> {
    let padding: Vec<u32> = (0..2 * kv_len).map(|key| u32::from(key % 5 != 1)).collect();
    let padding = Tensor::from_vec(padding, (2, kv_len), CPU)?;
    Ok(vec![
        ScoreMask::none(),
        ScoreMask::causal(offset).with_padding(&padding)?,
        ScoreMask::sliding_window(offset, 3),
        ScoreMask::window(offset, Some(2), Some(1)).with_packed(&[1, kv_len - 1])?,
        ScoreMask::window(offset, None, None)
            .with_packed_cross(&[kv_len - 1, 0, 1], &[2, 1, kv_len - 3])?,
    ])
}

type Run = fn(&Tensor, Option<&AttentionBias>, ScoreScale, &ScoreMask) -> Result<Tensor>;
const RUNS: [Run; 2] = [softmax_with_bias, add_to_scores];

const SCALES: [ScoreScale; 3] = [
    ScoreScale {
        factor: 0.7,
        soft_cap: None,
    },
    ScoreScale {
        factor: 1.5,
        soft_cap: Some(SoftCap::Scores(2.5)),
    },
    ScoreScale {
        factor: 1.5,
        soft_cap: Some(SoftCap::Sums(2.5)),
    },
];

/// The lengths: whole chunks and rests, one query, queries at the end of the keys.
const LENGTHS: [(usize, usize, usize); 4] = [(5, 20, 15), (1, 36, 35), (17, 32, 0), (3, 4, 1)];

#[test]
fn results_equal_the_reference_and_do_not_depend_on_the_instruction_set() -> Result<()> {
    for (q_len, kv_len, offset) in LENGTHS {
        for dtype in TYPES {
            let scores = numbers(&[2, 3, q_len, kv_len], dtype, 41);
            for (name, _, bias) in biases(q_len, kv_len, offset)? {
                for (index, mask) in masks(kv_len, offset)?.iter().enumerate() {
                    for (which, run) in RUNS.iter().enumerate() {
                        let scale = SCALES[(index * (2 - which) + which) % 3];
                        let what = format!("{name} {dtype:?} {q_len} {kv_len} {index} {which}");
                        let composed = bias.by_reference(Route::Operations);
                        let wanted = run(&scores, Some(&composed), scale, mask)?;
                        let found = run(&scores, Some(&bias), scale, mask)?;
                        assert_eq!(found.dtype(), dtype);
                        assert_close(&found, &wanted, tolerance(dtype), &what);
                        for (set, level) in InstructionSet::available() {
                            let same = run(&scores, Some(&bias.on(level)), scale, mask)?;
                            assert_eq!(bits(&same), bits(&found), "{what} {set}");
                        }
                        let fixed = scores.copy()?;
                        match which {
                            0 => softmax_with_bias_inplace(&fixed, Some(&bias), scale, mask)?,
                            _ => add_to_scores_inplace(&fixed, Some(&bias), scale, mask)?,
                        }
                        assert_eq!(bits(&fixed), bits(&found), "{what} in place");
                    }
                }
            }
        }
    }
    Ok(())
}

#[test]
fn gradients_equal_those_of_the_reference() -> Result<()> {
    for (q_len, kv_len, offset) in LENGTHS {
        for dtype in TYPES {
            let scores = Var::from_tensor(&numbers(&[2, 3, q_len, kv_len], dtype, 51))?;
            let up = numbers(&[2, 3, q_len, kv_len], dtype, 52);
            for (name, var, bias) in biases(q_len, kv_len, offset)? {
                for (index, mask) in masks(kv_len, offset)?.iter().enumerate() {
                    for (which, run) in RUNS.iter().enumerate() {
                        let scale = SCALES[(index * (2 - which) + which) % 3];
                        let what = format!("{name} {dtype:?} {q_len} {kv_len} {index} {which}");
                        let grads = |bias: &AttentionBias| -> Result<[Tensor; 2]> {
                            let y = run(&scores, Some(bias), scale, mask)?;
                            // Infinite scores of excluded keys have no product with a gradient of zero.
                            let finite = y.abs()?.lt(f64::MAX)?;
                            let y = finite.where_cond(&y, &y.zeros_like()?)?;
                            let grads = (y * &up)?.to_dtype(DType::F64)?.sum_all()?.backward()?;
                            Ok([&scores, &var].map(|var| grads.get(var).unwrap().clone()))
                        };
                        let [found, of_bias] = grads(&bias)?;
                        let [wanted, of_composed] = grads(&bias.by_reference(Route::Operations))?;
                        assert_eq!(found.dtype(), dtype);
                        assert_close(&found, &wanted, tolerance(dtype), &what);
                        // Sums of some hundred products. Weights of 16 bits are rounded before they are multiplied by
                        // distances.
                        let terms = match dtype {
                            DType::F16 | DType::BF16 => kv_len.max(4) as f64,
                            _ => 4.0,
                        };
                        let most = f64s(&of_composed)
                            .into_iter()
                            .fold(1.0, |a: f64, b| a.max(b.abs()));
                        let scaled = |of: Tensor| of.to_dtype(DType::F64).and_then(|of| of / most);
                        assert_close(
                            &scaled(of_bias)?,
                            &scaled(of_composed)?,
                            terms * tolerance(dtype).max(BIAS_F32),
                            &what,
                        );
                    }
                }
            }
        }
    }
    Ok(())
}

/// Scores that several threads share out have the bits of each sequence by itself.
#[test]
fn bits_do_not_depend_on_threads() -> Result<()> {
    let alibi = Alibi::new(AlibiConfig::new(12), DType::F32, CPU)?;
    for dtype in TYPES {
        let scores = numbers(&[3, 12, 64, 80], dtype, 61);
        let (bias, mask) = (alibi.bias(64, 80, 16)?, ScoreMask::causal(16));
        let all = softmax_with_bias(&scores, Some(&bias), 0.5, &mask)?;
        let fixed = scores.copy()?;
        softmax_with_bias_inplace(&fixed, Some(&bias), 0.5, &mask)?;
        assert_eq!(bits(&fixed), bits(&all));
        for batch in 0..3 {
            let one = softmax_with_bias(&scores.narrow(0, batch, 1)?, Some(&bias), 0.5, &mask)?;
            assert_eq!(
                bits(&one),
                bits(&all.narrow(0, batch, 1)?),
                "{dtype:?} {batch}"
            );
        }
    }
    Ok(())
}

/// Steps of decoding have the bits of the whole pass.
#[test]
fn decoding_equals_the_whole_pass() -> Result<()> {
    let table = numbers(&[32, 3], DType::F32, 71);
    let t5 = T5Bias::from_table(T5BiasConfig::new(3, BucketDirection::Unidirectional), table)?;
    let alibi = Alibi::new(AlibiConfig::new(3), DType::F32, CPU)?;
    let scores = numbers(&[1, 3, 700, 700], DType::F32, 72);
    let layers: [&dyn Fn(usize, usize, usize) -> Result<AttentionBias>; 2] = [
        &|q, kv, offset| t5.clone().bias(q, kv, offset),
        &|q, kv, offset| alibi.clone().bias(q, kv, offset),
    ];
    for bias in layers {
        let whole = softmax_with_bias(
            &scores,
            Some(&bias(700, 700, 0)?),
            0.4,
            &ScoreMask::causal(0),
        )?;
        for position in [0, 1, 15, 16, 511, 512, 699] {
            let row = scores.narrow(2, position, 1)?.narrow(3, 0, position + 1)?;
            let step = bias(1, position + 1, position)?;
            let found = softmax_with_bias(&row, Some(&step), 0.4, &ScoreMask::causal(position))?;
            let wanted = whole.narrow(2, position, 1)?.narrow(3, 0, position + 1)?;
            assert_close(&found, &wanted, BIAS_F32, &position.to_string());
        }
    }
    Ok(())
}
