//! The kernel against both compositions of Candle's operations, bit for bit.

use super::*;

#[test]
fn fused_equals_the_reference_for_types_layouts_orders_views_and_positions() -> Result<()> {
    let (batch, heads, time) = (2, 3, 4);
    let steps = Tensor::new(&[63u32, 0, 63, 5], CPU)?;
    let tokens = Tensor::new(&[[3i64, 9, 63, 0], [1, 1, 2, 2]], CPU)?;
    for (rotary_dim, head_dim) in [(36, 36), (38, 44)] {
        let pairs = rotary_dim / 2;
        let views = |order, dtype| views(shape_of(order, batch, heads, time, head_dim), dtype);
        for case in cases(ORDERS, views) {
            let per_step = [11, 12].map(|seed| numbers(&[time, pairs], case.table, seed));
            let per_token = [13, 14].map(|seed| {
                let angles = numbers(&[batch, pairs, time], case.table, seed);
                angles.transpose(1, 2).unwrap()
            });
            for layout in LAYOUTS {
                let config = RotaryEmbeddingConfig {
                    layout,
                    axis_order: case.order,
                    table_dtype: Some(case.table),
                    ..config(rotary_dim, head_dim)
                };
                let (layer, xs) = (layer(config, case.dtype), &case.xs);
                let about = format!("{case} {layout:?} {rotary_dim}");
                let routes = [Route::Operations, Route::Rope];
                assert_fused(&layer, &routes, about, |layer| {
                    Ok(vec![
                        layer.apply(xs, 0)?,
                        layer.apply(xs, 60)?,
                        layer.apply_with_positions(xs, &steps)?,
                        layer.apply_with_positions(xs, &tokens)?,
                        layer.apply_at_offsets(xs, &[60, 7])?,
                        layer.apply_with_cos_sin(xs, &per_step[0], &per_step[1])?,
                        layer.apply_with_cos_sin(xs, &per_token[0], &per_token[1])?,
                    ])
                });
                assert!(layer.apply(xs, 0)?.is_contiguous());
            }
        }
    }
    Ok(())
}

#[test]
fn widths_and_numbers_of_heads_equal_the_reference() -> Result<()> {
    let once = |layer: &RotaryEmbedding, xs: &Tensor, about: String| {
        let calls = |layer: &RotaryEmbedding| Ok(vec![layer.apply(xs, 2)?]);
        assert_fused(layer, &[Route::Operations], about, calls);
    };
    for (dtype, table) in TYPES {
        for layout in LAYOUTS {
            for rotary_dim in (2..=140).step_by(2) {
                let head_dim = rotary_dim + rotary_dim % 5;
                let config = RotaryEmbeddingConfig {
                    layout,
                    table_dtype: Some(table),
                    max_seq_len: Some(4),
                    ..config(rotary_dim, head_dim)
                };
                let heads = 1 + rotary_dim % 7;
                let xs = numbers(&[1, heads, 2, head_dim], dtype, 31);
                let about = format!("{dtype:?} {table:?} {layout:?} {rotary_dim}");
                once(&layer(config, dtype), &xs, about);
            }
        }
    }
    // Wider than the kernel's buffer.
    let layer = layer(config(600, 1030), DType::BF16);
    let permuted = numbers(&[1, 1030, 2, 3], DType::BF16, 32).permute((0, 3, 2, 1))?;
    for xs in [numbers(&[1, 3, 2, 1030], DType::BF16, 33), permuted] {
        once(&layer, &xs, "wide".to_owned());
    }
    Ok(())
}

#[test]
fn half_type_inputs_are_rotated_as_by_the_reference() -> Result<()> {
    let shape = (1, 1, 256, 256);
    let f16s: Vec<_> = (0..=u16::MAX).map(f16::from_bits).collect();
    let bf16s: Vec<_> = (0..=u16::MAX).map(bf16::from_bits).collect();
    for xs in [
        Tensor::from_vec(f16s, shape, CPU)?,
        Tensor::from_vec(bf16s, shape, CPU)?,
    ] {
        for layout in LAYOUTS {
            let config = RotaryEmbeddingConfig {
                layout,
                max_seq_len: Some(300),
                ..config(256, 256)
            };
            let layer = layer(config, xs.dtype());
            for xs in [&xs, &xs.transpose(2, 3)?] {
                let about = format!("{:?} {layout:?}", xs.dtype());
                assert_fused(&layer, &[Route::Operations], about, |layer| {
                    Ok(vec![layer.apply(xs, 40)?])
                });
            }
        }
    }
    Ok(())
}

#[test]
fn threads_do_not_change_the_bits() -> Result<()> {
    let pools: Vec<_> = [1, 2, 3, 5]
        .map(|threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build())
        .into_iter()
        .collect::<std::result::Result<_, _>>()
        .unwrap();
    for dtype in [DType::F32, DType::BF16] {
        for layout in LAYOUTS {
            for axis_order in ORDERS {
                let config = RotaryEmbeddingConfig {
                    layout,
                    axis_order,
                    max_seq_len: Some(512),
                    ..config(60, 70)
                };
                let layer = layer(config, dtype);
                // Above the size from which on threads are used; shares do not come out even.
                let shape = shape_of(axis_order, 3, 5, 307, 70);
                let xs = numbers(&shape, dtype, 41);
                let turned = numbers(&[shape[0], shape[2], shape[1], 70], dtype, 42);
                for xs in [xs, turned.transpose(1, 2)?] {
                    let wanted = bits(&layer.by_reference(Route::Operations).apply(&xs, 9)?);
                    for pool in &pools {
                        let ys = pool.install(|| layer.apply(&xs, 9))?;
                        assert!(bits(&ys) == wanted, "{dtype:?} {layout:?} {axis_order:?}");
                    }
                    let own = xs.force_contiguous()?;
                    layer.apply_inplace(&own, 9)?;
                    assert!(bits(&own) == wanted, "{dtype:?} {layout:?} {axis_order:?}");
                }
            }
        }
    }
    Ok(())
}
