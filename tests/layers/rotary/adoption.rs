//! Calls of a model that replaces its own layer with this one.

use super::*;
use candle_core::Var;
use pe_candle::rotary::{rotate, rotate_qkv};
use pe_candle::{Growth, LongRopeScaling, RopeScaling, RotaryRecipe};
use pe_tests::tolerance;
use serde_json::json;

/// Heads of one shape seen in another order of axes.
fn seen(xs: &Tensor, order: HeadOrder) -> Tensor {
    match order {
        HeadOrder::HeadFirst => xs.clone(),
        HeadOrder::TimeFirst => xs.transpose(1, 2).unwrap(),
        HeadOrder::SequenceFirst => xs.permute((2, 0, 1, 3)).unwrap(),
    }
}

/// `?` takes an error of pe-core where Candle's result is returned.
#[test]
fn errors_of_the_core_pass_through_candles_result() {
    fn frequencies(base: f64) -> Result<usize> {
        let rotary = Rotary::new(RotaryConfig {
            base,
            ..RotaryConfig::new(8)
        })?;
        Ok(rotary.frequencies(0)?.pairs())
    }
    assert_eq!(frequencies(1e4).unwrap(), 4);
    assert_eq!(
        error_of(frequencies(-1.0)),
        "base -1.0 is not a positive finite number"
    );
}

/// Without the width of the head, a smaller `rotary_dim` is a smaller head, never half of one.
#[test]
fn heads_are_rotated_in_half_only_if_asked_for() -> Result<()> {
    let unsaid = RotaryEmbeddingConfig {
        rotary: RotaryConfig::new(64),
        ..RotaryEmbeddingConfig::new(128)
    };
    assert_eq!(unsaid.head_dim(), 64);
    let asked = RotaryEmbeddingConfig {
        head_dim: Some(128),
        ..unsaid.clone()
    };
    let wide = numbers(&[1, 2, 3, 128], DType::F32, 1);
    let unsaid = layer(unsaid, DType::F32);
    let message = "the input: head-first input must have shape [B, H, T, head_dim] with head_dim 64, got \
                   [1, 2, 3, 128] (to rotate 64 of 128 columns, say so: head_dim Some(128))";
    assert_eq!(error_of(unsaid.apply(&wide, 0)), message);
    assert_eq!(
        error_of(unsaid.apply_qkv(&wide, &wide, 0)),
        message.replace("the input", "the query")
    );
    let ys = layer(asked.clone(), DType::F32).apply(&wide, 1)?;
    assert_eq!(bits(&ys.narrow(3, 64, 64)?), bits(&wide.narrow(3, 64, 64)?));
    let of = RotaryEmbeddingConfig::of(RotaryConfig::new(64), 128);
    assert_eq!(of, asked);
    Ok(())
}

/// `max_position_embeddings` counts wherever it is said, and `max_seq_len` overrules it.
#[test]
fn length_is_the_models_unless_given() -> Result<()> {
    let rotary = RotaryConfig {
        max_position_embeddings: Some(32_768),
        ..RotaryConfig::new(8)
    };
    let beside = RotaryEmbeddingConfig {
        rotary: rotary.clone(),
        ..RotaryEmbeddingConfig::new(8)
    };
    let less = RotaryEmbeddingConfig {
        max_seq_len: Some(100),
        ..RotaryEmbeddingConfig::of(rotary, 8)
    };
    let unsaid = RotaryEmbeddingConfig::with_base(8, 5e5);
    assert_eq!(unsaid.rotary.base, 5e5);
    let xs = numbers(&[1, 1, 1, 8], DType::F32, 1);
    for (config, rows) in [(beside, 32_768), (less, 100), (unsaid, 4096)] {
        assert_eq!(config.max_seq_len(), rows);
        let layer = layer(config, DType::F32);
        assert_eq!(layer.max_seq_len(), rows);
        layer.apply(&xs, rows - 1)?;
        let (end, message) = (rows + 1, error_of(layer.apply(&xs, rows)));
        assert_eq!(
            message,
            format!(
                "positions {rows}..{end} were asked for, but the tables hold {rows} rows (max_seq_len {rows})"
            )
        );
    }
    Ok(())
}

/// Nothing is built before it is needed, but what can be said at once is.
#[test]
fn layer_builds_nothing_until_it_is_used() {
    let config = |rows, growth| RotaryEmbeddingConfig {
        max_seq_len: Some(rows),
        growth,
        ..RotaryEmbeddingConfig::new(128)
    };
    // 16 GiB of cosines: the budget of a table to the byte.
    let layer = layer(config(1 << 26, Growth::AsNeeded), DType::F32);
    assert_eq!((layer.rows_built(), layer.max_seq_len()), (0, 1 << 26));
    let of = |growth| RotaryEmbedding::new(config((1 << 26) + 1, growth), DType::F32, CPU);
    for growth in [Growth::AsNeeded, Growth::AtOnce] {
        assert_eq!(
            error_of(of(growth)),
            "a table of 67108865 rows x 64 columns of f32 exceeds the limit of 17179869184 bytes"
        );
    }
}

/// A model's config.json as text or as a value, with and without a type of layers.
#[test]
fn config_json_becomes_a_layer_in_one_call() -> Result<()> {
    let value = json!({
        "model_type": "gemma3_text", "head_dim": 256, "max_position_embeddings": 131072,
        "rope_theta": 1e6, "rope_local_base_freq": 1e4,
        "rope_scaling": {"rope_type": "linear", "factor": 8.0}
    });
    let text = value.to_string();
    let sliding = Some("sliding_attention");
    let full = RotaryEmbedding::from_hf_config(&value, Some("full_attention"), DType::BF16, CPU)?;
    assert_eq!(
        full.config().rotary.scaling,
        RopeScaling::Linear { factor: 8.0 }
    );
    for config in [
        RotaryEmbeddingConfig::from_hf_config(&value, sliding)?,
        RotaryEmbeddingConfig::from_hf_config(&text, sliding)?,
        RotaryEmbeddingConfig::from_hf_config(text.as_str(), sliding)?,
    ] {
        assert_eq!((config.head_dim(), config.max_seq_len()), (256, 131_072));
        assert_eq!(
            (config.rotary.base, config.rotary.scaling),
            (1e4, RopeScaling::Default)
        );
    }
    let one = json!({"model_type": "llama", "head_dim": 64});
    let config = RotaryEmbeddingConfig::from_hf_config(&one, None)?;
    assert_eq!(config.rotary.recipe, RotaryRecipe::Exact);
    let config = config.with_recipe(RotaryRecipe::HfF32);
    assert_eq!(config.rotary.recipe, RotaryRecipe::HfF32);
    for (config, layer_type, wanted) in [
        (
            json!([]),
            None,
            "config.json: the value is not a JSON object",
        ),
        (
            json!({"model_type": "llama", "head_dim": 64, "rope_magic": 2}),
            None,
            "config.json: has keys that would be ignored: rope_magic (has no effect)",
        ),
        (
            value,
            None,
            "the layers of this model differ, so a layer type is needed; known: full_attention, sliding_attention",
        ),
    ] {
        let made = RotaryEmbedding::from_hf_config(&config, layer_type, DType::F32, CPU);
        assert_eq!(error_of(made), wanted);
    }
    let broken = error_of(RotaryEmbeddingConfig::from_hf_config("{", None));
    assert!(
        broken.starts_with("config.json: the text is not JSON: "),
        "{broken}"
    );
    Ok(())
}

/// `[T, B, H, d]` gives what the same heads give in the other orders, in every call.
#[test]
fn orders_of_axes_are_the_same_rotation() -> Result<()> {
    let (batch, heads, time, width) = (3, 2, 4, 12);
    let xs = numbers(&[batch, heads, time, width], DType::F32, 5);
    let steps = Tensor::new(&[5u32, 0, 63, 5], CPU)?;
    let tokens = numbers(&[batch, time], DType::F32, 6)
        .abs()?
        .to_dtype(DType::U32)?;
    let (cos, sin) = (
        numbers(&[batch, time, 4], DType::F32, 7),
        numbers(&[batch, time, 4], DType::F32, 8),
    );
    for layout in LAYOUTS {
        let run = |axis_order| -> Result<Vec<Vec<u64>>> {
            let layer = layer(
                RotaryEmbeddingConfig {
                    layout,
                    axis_order,
                    ..config(8, width)
                },
                DType::F32,
            );
            let own = seen(&xs, axis_order).force_contiguous()?;
            layer.apply_inplace(&own, 9)?;
            let var = Var::from_tensor(&seen(&xs, axis_order))?;
            let sum = layer
                .apply_at_offsets(&var, &[3, 50, 0])?
                .sqr()?
                .sum_all()?;
            // d/dx of the squares' sum is 2 x, rotated forth and back.
            let gradients = sum.backward()?;
            let gradient = gradients.get(&var).unwrap().clone();
            let seen = seen(&xs, axis_order);
            [
                layer.apply(&seen, 9)?,
                layer.apply_at_offsets(&seen, &[3, 50, 0])?,
                layer.apply_with_positions(&seen, &steps)?,
                layer.apply_with_positions(&seen, &tokens)?,
                layer.apply_with_cos_sin(&seen, &cos, &sin)?,
                layer.apply_with_cos_sin(&seen, &cos.get(0)?, &sin.get(0)?)?,
                own,
                gradient,
            ]
            .iter()
            .map(|ys| {
                // Back to head first.
                let ys = match axis_order {
                    HeadOrder::HeadFirst => ys.clone(),
                    HeadOrder::TimeFirst => ys.transpose(1, 2)?,
                    HeadOrder::SequenceFirst => ys.permute((1, 2, 0, 3))?,
                };
                Ok(bits(&ys))
            })
            .collect()
        };
        let wanted = run(HeadOrder::HeadFirst)?;
        assert_eq!(run(HeadOrder::TimeFirst)?, wanted);
        assert_eq!(run(HeadOrder::SequenceFirst)?, wanted);
    }
    // The wrong order is not the same, nor is it rejected: hence no guessing.
    let wrong = |axis_order| -> Result<Vec<u64>> {
        let config = RotaryEmbeddingConfig {
            axis_order,
            ..config(8, width)
        };
        Ok(bits(&layer(config, DType::F32).apply(&xs, 9)?))
    };
    assert_ne!(
        wrong(HeadOrder::TimeFirst)?,
        wrong(HeadOrder::SequenceFirst)?
    );
    Ok(())
}

/// Every call for a pair is its call for one tensor, twice.
#[test]
fn pairs_are_rotated_as_each_by_itself() -> Result<()> {
    let layer = layer(config(8, 12), DType::F32);
    let q = numbers(&[2, 4, 3, 12], DType::F32, 1);
    let k = numbers(&[2, 1, 3, 12], DType::F32, 2);
    let ids = Tensor::new(&[[1u32, 2, 3], [9, 8, 7]], CPU)?;
    let (cos, sin) = layer.cos_sin(20, 3)?;
    let (layout, order) = (PairLayout::HalfSplit, HeadOrder::HeadFirst);
    let calls = [
        (
            layer.apply_qkv(&q, &k, 5)?,
            [layer.apply(&q, 5)?, layer.apply(&k, 5)?],
        ),
        (
            layer.apply_rotary_emb_qkv(&q, &k, 5)?,
            [layer.apply(&q, 5)?, layer.apply(&k, 5)?],
        ),
        (
            layer.apply_qkv_at_offsets(&q, &k, &[1, 7])?,
            [
                layer.apply_at_offsets(&q, &[1, 7])?,
                layer.apply_at_offsets(&k, &[1, 7])?,
            ],
        ),
        (
            layer.apply_qkv_with_positions(&q, &k, &ids)?,
            [
                layer.apply_with_positions(&q, &ids)?,
                layer.apply_with_positions(&k, &ids)?,
            ],
        ),
        (
            layer.apply_qkv_with_cos_sin(&q, &k, &cos, &sin)?,
            [layer.apply(&q, 20)?, layer.apply(&k, 20)?],
        ),
        (
            rotate_qkv(&q, &k, &cos, &sin, layout, order)?,
            [layer.apply(&q, 20)?, layer.apply(&k, 20)?],
        ),
    ];
    for (call, ((q, k), wanted)) in calls.iter().enumerate() {
        assert_eq!(bits(q), bits(&wanted[0]), "{call}");
        assert_eq!(bits(k), bits(&wanted[1]), "{call}");
    }
    let short = k.narrow(2, 0, 2)?;
    let message = "query and key must agree in batch and time: query [2, 4, 3, 12] has (2, 3), key \
                   [2, 1, 2, 12] has (2, 2)";
    for error in [
        error_of(layer.apply_qkv_with_cos_sin(&q, &short, &cos, &sin)),
        error_of(rotate_qkv(&q, &short, &cos, &sin, layout, order)),
    ] {
        assert_eq!(error, message);
    }
    Ok(())
}

/// Functions without a layer: the layer's values for all types, layouts, orders and shapes of angles, and gradients.
#[test]
fn angles_given_need_no_layer() -> Result<()> {
    let (batch, time) = (2, 3);
    for (dtype, table) in TYPES {
        for layout in LAYOUTS {
            for order in ORDERS {
                let config = RotaryEmbeddingConfig {
                    layout,
                    axis_order: order,
                    table_dtype: Some(table),
                    ..config(6, 10)
                };
                let layer = layer(config, dtype);
                let xs = numbers(&shape_of(order, batch, 4, time, 10), dtype, 1);
                for shape in [&[time, 3][..], &[batch, time, 3]] {
                    let (cos, sin) = (numbers(shape, table, 2), numbers(shape, table, 3));
                    let found = rotate(&xs, &cos, &sin, layout, order)?;
                    let wanted = layer.apply_with_cos_sin(&xs, &cos, &sin)?;
                    assert_eq!(
                        bits(&found),
                        bits(&wanted),
                        "{dtype:?} {layout:?} {order:?}"
                    );
                }
            }
        }
    }
    let var = Var::from_tensor(&numbers(&[1, 2, 3, 8], DType::F64, 4))?;
    let angles = numbers(&[3, 4], DType::F64, 5);
    let (cos, sin) = (angles.cos()?, angles.sin()?);
    let ys = rotate(
        &var,
        &cos,
        &sin,
        PairLayout::HalfSplit,
        HeadOrder::HeadFirst,
    )?;
    let gradients = ys.sqr()?.sum_all()?.backward()?;
    let gradient = f64s(gradients.get(&var).unwrap());
    // A rotation keeps the sum of the squares: its gradient is 2 x.
    for (found, x) in gradient.iter().zip(f64s(&var)) {
        assert!(
            (found - 2.0 * x).abs() < tolerance::GRADIENT_OF_SQUARES,
            "{found} {x}"
        );
    }
    Ok(())
}

#[test]
fn angles_that_do_not_fit_are_refused() -> Result<()> {
    let zeros = |shape: &[usize]| Tensor::zeros(shape, DType::F32, CPU).unwrap();
    let xs = zeros(&[2, 4, 3, 8]);
    for (shape, wanted) in [
        (
            &[3, 5][..],
            "cos has 5 columns: the input of head_dim 8 takes 1..=4",
        ),
        (
            &[3, 0],
            "cos has 0 columns: the input of head_dim 8 takes 1..=4",
        ),
        (
            &[4, 4],
            "cos must have shape [3, pairs] or [2, 3, pairs], got [4, 4]",
        ),
        (
            &[4],
            "cos must have shape [3, pairs] or [2, 3, pairs], got [4]",
        ),
        (
            &[3, 3, 4],
            "cos must have shape [3, pairs] or [2, 3, pairs], got [3, 3, 4]",
        ),
    ] {
        let cos = zeros(shape);
        let found = rotate(&xs, &cos, &cos, PairLayout::HalfSplit, HeadOrder::HeadFirst);
        assert_eq!(error_of(found), wanted);
    }
    let cos = zeros(&[3, 4]);
    let of = |xs: &Tensor, cos: &Tensor, sin: &Tensor| {
        error_of(rotate(
            xs,
            cos,
            sin,
            PairLayout::Interleaved,
            HeadOrder::SequenceFirst,
        ))
    };
    assert_eq!(
        of(&zeros(&[3, 8]), &cos, &cos),
        "the input: sequence-first input must have shape [T, B, H, head_dim], got [3, 8]"
    );
    let xs = zeros(&[3, 2, 4, 8]);
    assert_eq!(
        of(&xs, &cos, &zeros(&[3, 3])),
        "cos and sin must agree: cos is f32 [3, 4], sin is f32 [3, 3]"
    );
    let half = cos.to_dtype(DType::BF16)?;
    assert_eq!(
        of(&xs, &half, &half),
        "the input is f32, but the tables are bf16: they must be of that type or f32"
    );
    let var = Var::from_tensor(&cos)?;
    assert_eq!(
        of(&xs, &var, &cos),
        "cos is tracked for gradients, which would not reach it: detach it"
    );
    let huge = zeros(&[1, 1, 1, 8]).broadcast_as((1 << 45, 1 << 10, 1 << 10, 8))?;
    let error = of(&huge, &zeros(&[1, 4]).broadcast_as((1 << 45, 4))?, &cos);
    assert!(error.contains("can be addressed"), "{error}");
    // Nothing to rotate.
    for shape in [[0, 2, 4, 8], [3, 0, 4, 8], [3, 2, 0, 8]] {
        let xs = zeros(&shape);
        let cos = zeros(&[shape[0], 4]);
        let ys = rotate(
            &xs,
            &cos,
            &cos,
            PairLayout::HalfSplit,
            HeadOrder::SequenceFirst,
        )?;
        assert_eq!(ys.dims(), shape);
    }
    Ok(())
}

/// When a cache of keys must be dropped.
#[test]
fn lengths_that_share_frequencies_are_told() -> Result<()> {
    let longrope = RopeScaling::LongRope(LongRopeScaling {
        factor: Some(4.0),
        ..LongRopeScaling::new(vec![1.0; 4], vec![3.0; 4], 16)
    });
    let alike = RopeScaling::LongRope(LongRopeScaling {
        factor: Some(4.0),
        ..LongRopeScaling::new(vec![2.0; 4], vec![2.0; 4], 16)
    });
    for (scaling, pairs) in [
        (
            longrope,
            &[
                (1, 16, true),
                (16, 17, false),
                (17, 60, true),
                (60, 3, false),
            ][..],
        ),
        (alike, &[(16, 17, true)]),
        (
            RopeScaling::Dynamic { factor: 2.0 },
            &[
                (1, 16, true),
                (16, 17, false),
                (17, 18, false),
                (40, 40, true),
            ],
        ),
        (RopeScaling::Linear { factor: 2.0 }, &[(1, 60, true)]),
        (RopeScaling::Default, &[(16, 17, true)]),
    ] {
        for recipe in [RotaryRecipe::Exact, RotaryRecipe::HfF32] {
            let rotary = RotaryConfig {
                scaling: scaling.clone(),
                max_position_embeddings: Some(16),
                recipe,
                ..RotaryConfig::new(8)
            };
            let config = RotaryEmbeddingConfig {
                max_seq_len: Some(64),
                ..RotaryEmbeddingConfig::of(rotary, 8)
            };
            let layer = layer(config, DType::F32);
            let ones = Tensor::ones((1, 1, 1, 8), DType::F32, CPU)?;
            for (a, b, shared) in pairs {
                let what = format!("{} {a} {b}", scaling.name());
                assert_eq!(layer.shares_frequencies(*a, *b)?, *shared, "{what}");
                assert_eq!(
                    layer.rotary().shares_frequencies(*b, *a)?,
                    *shared,
                    "{what}"
                );
                // What it means: the key of a position, rotated at one length and at the other.
                let key = |len: usize| -> Result<Vec<u64>> {
                    let all = ones.broadcast_as((1, 1, len, 8))?;
                    let ys = layer.apply(&all, 0)?;
                    Ok(bits(&ys.narrow(2, *a.min(b) - 1, 1)?))
                };
                if a.min(b) > &1 {
                    assert_eq!(key(*a)? == key(*b)?, *shared, "{what}");
                }
            }
        }
    }
    Ok(())
}
