//! The kernel against both compositions of Candle's operations, bit for bit.

use super::*;

#[test]
fn fused_equals_the_reference_for_types_layouts_orders_views_and_positions() -> Result<()> {
    let (batch, heads, time) = (2, 3, 4);
    let steps = Tensor::new(&[63u32, 0, 63, 5], CPU)?;
    let tokens = Tensor::new(&[[3i64, 9, 63, 0], [1, 1, 2, 2]], CPU)?;
    let offsets = [60, 7];
    for (dtype, table) in TYPES {
        for layout in LAYOUTS {
            for axis_order in ORDERS {
                for (rotary_dim, head_dim) in [(36, 36), (38, 44)] {
                    let layer = layer(
                        RotaryEmbeddingConfig {
                            layout,
                            axis_order,
                            table_dtype: Some(table),
                            ..config(rotary_dim, head_dim)
                        },
                        dtype,
                    );
                    let pairs = rotary_dim / 2;
                    let per_step = (
                        numbers(&[time, pairs], table, 11),
                        numbers(&[time, pairs], table, 12),
                    );
                    let per_token = (
                        numbers(&[batch, pairs, time], table, 13).transpose(1, 2)?,
                        numbers(&[batch, pairs, time], table, 14).transpose(1, 2)?,
                    );
                    for (view, xs) in
                        views(shape_of(axis_order, batch, heads, time, head_dim), dtype)
                    {
                        let what = format!("{dtype:?} {table:?} {layout:?} {axis_order:?} {view}");
                        let by_reference = |route| -> Result<Vec<Vec<u64>>> {
                            [
                                layer.by_reference(route).apply(&xs, 0),
                                layer.by_reference(route).apply(&xs, 60),
                                layer.by_reference(route).apply_with_positions(&xs, &steps),
                                layer.by_reference(route).apply_with_positions(&xs, &tokens),
                                layer.by_reference(route).apply_at_offsets(&xs, &offsets),
                                layer.by_reference(route).apply_with_cos_sin(
                                    &xs,
                                    &per_step.0,
                                    &per_step.1,
                                ),
                                layer.by_reference(route).apply_with_cos_sin(
                                    &xs,
                                    &per_token.0,
                                    &per_token.1,
                                ),
                            ]
                            .into_iter()
                            .map(|ys| Ok(bits(&ys?)))
                            .collect()
                        };
                        let wanted = by_reference(Route::Operations)?;
                        assert_eq!(by_reference(Route::Rope)?, wanted, "{what}");
                        for (set, layer) in on_each_set(&layer) {
                            let found = [
                                layer.apply(&xs, 0)?,
                                layer.apply(&xs, 60)?,
                                layer.apply_with_positions(&xs, &steps)?,
                                layer.apply_with_positions(&xs, &tokens)?,
                                layer.apply_at_offsets(&xs, &offsets)?,
                                layer.apply_with_cos_sin(&xs, &per_step.0, &per_step.1)?,
                                layer.apply_with_cos_sin(&xs, &per_token.0, &per_token.1)?,
                            ];
                            for (call, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
                                assert_eq!(found.dims(), xs.dims());
                                assert!(found.is_contiguous());
                                assert_eq!(&bits(found), wanted, "{what} {set} call {call}");
                            }
                        }
                    }
                }
            }
        }
    }
    Ok(())
}

#[test]
fn widths_and_numbers_of_heads_equal_the_reference() -> Result<()> {
    for (dtype, table) in TYPES {
        for layout in LAYOUTS {
            for rotary_dim in (2..=140).step_by(2) {
                let head_dim = rotary_dim + rotary_dim % 5;
                let layer = layer(
                    RotaryEmbeddingConfig {
                        layout,
                        table_dtype: Some(table),
                        max_seq_len: Some(4),
                        ..config(rotary_dim, head_dim)
                    },
                    dtype,
                );
                let heads = 1 + rotary_dim % 7;
                let xs = numbers(&[1, heads, 2, head_dim], dtype, 31);
                let wanted = bits(&layer.by_reference(Route::Operations).apply(&xs, 2)?);
                for (set, layer) in on_each_set(&layer) {
                    let ys = bits(&layer.apply(&xs, 2)?);
                    assert_eq!(
                        ys, wanted,
                        "{dtype:?} {table:?} {layout:?} {rotary_dim} {set}"
                    );
                }
            }
        }
    }
    // Wider than the kernel's buffer.
    let layer = layer(config(600, 1030), DType::BF16);
    let turned = numbers(&[1, 1030, 2, 3], DType::BF16, 32).permute((0, 3, 2, 1))?;
    for xs in [numbers(&[1, 3, 2, 1030], DType::BF16, 33), turned] {
        let wanted = bits(&layer.by_reference(Route::Operations).apply(&xs, 2)?);
        assert_eq!(bits(&layer.apply(&xs, 2)?), wanted);
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
                let wanted = bits(&layer.by_reference(Route::Operations).apply(xs, 40)?);
                for (set, layer) in on_each_set(&layer) {
                    let ys = bits(&layer.apply(xs, 40)?);
                    assert!(ys == wanted, "{:?} {layout:?} {set}", xs.dtype());
                }
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
