//! The sum of input and encoding, in every type and order.

use super::*;

#[test]
fn b4_output_is_embedding_plus_encoding() {
    // Every value below is exact in f32: x + pe is computed by the compiler's own addition.
    let layer = layer(config(8));
    let xs = numbers(&[2, 5, 8], DType::F32, 1);
    let ys = f64s(&layer.forward_t(&xs, false).unwrap());
    let pe = f64s(&layer.encoding(0, 5).unwrap());
    for (index, (x, y)) in f64s(&xs).iter().zip(&ys).enumerate() {
        assert_eq!(*y as f32, *x as f32 + pe[index % 40] as f32, "{index}");
    }
}

#[test]
fn b4_every_type_order_layout_offset_and_view_equals_the_oracle() {
    let (batch, time, width) = (3, 5, 6);
    let mut cases = 0;
    for (dtype, table) in TYPES {
        for axis_order in ORDERS {
            let batch = if axis_order == AxisOrder::Unbatched {
                1
            } else {
                batch
            };
            for sinusoid in [
                SinusoidLayout::Interleaved,
                SinusoidLayout::Concatenated,
                SinusoidLayout::ConcatenatedCosFirst,
            ] {
                for scale in [
                    EmbeddingScale::None,
                    EmbeddingScale::SqrtDModel,
                    EmbeddingScale::Factor(-0.3),
                ] {
                    let config = PositionalEncodingConfig {
                        sinusoidal: SinusoidalConfig {
                            layout: sinusoid,
                            ..SinusoidalConfig::new(width)
                        },
                        axis_order,
                        scale,
                        table_dtype: Some(table),
                        dropout: 0.4,
                        seed: 11,
                        ..config(width)
                    };
                    let layer = PositionalEncoding::new(config.clone(), dtype, CPU).unwrap();
                    assert_eq!(layer.table().unwrap().dtype(), table);
                    let shape = shape_of(axis_order, batch, time, width);
                    for (view, xs) in views(&shape, dtype) {
                        for offset in [0, 7, 59] {
                            let positions = vec![(offset..offset + 5).collect(); batch];
                            let offset = offset as usize;
                            for step in [None, Some(3)] {
                                let train = step.is_some();
                                layer.dropout().set_step(3);
                                let ys = layer.forward_at(&xs, offset, train).unwrap();
                                assert_eq!((ys.dims(), ys.dtype()), (&shape[..], dtype));
                                let dropout = step.map(|step| (0.4, 11, step));
                                let wanted = oracle(&config, table, &xs, &positions, dropout);
                                assert_eq!(
                                    f64s(&ys),
                                    wanted,
                                    "{config:?} {dtype:?} {view} offset {offset} train {train}"
                                );
                                cases += 1;
                            }
                        }
                    }
                }
            }
        }
    }
    assert_eq!(cases, 7 * 3 * 3 * 3 * 5 * 3 * 2);
}

#[test]
fn e2_axis_order_is_explicit() -> Result<()> {
    let of = |axis_order| {
        layer(PositionalEncodingConfig {
            axis_order,
            ..config(6)
        })
    };
    let (batch_first, sequence_first) = (of(AxisOrder::BatchFirst), of(AxisOrder::SequenceFirst));
    let xs = numbers(&[4, 7, 6], DType::F32, 4);
    let wanted = batch_first.forward_t(&xs, false)?;
    let ys = sequence_first.forward_t(&xs.transpose(0, 1)?, false)?;
    assert_eq!(f64s(&ys.transpose(0, 1)?), f64s(&wanted));
    // The same numbers read in the other order are another encoding, not an error:
    // that is why the order has to be said.
    assert_ne!(f64s(&sequence_first.forward_t(&xs, false)?), f64s(&wanted));
    // Ids are [B, T] whatever the order.
    let ids = Tensor::new(vec![(10..17u32).collect::<Vec<_>>(); 4], CPU)?;
    let wanted = batch_first.forward_at(&xs, 10, false)?;
    let ys = sequence_first.forward_with_positions(&xs.transpose(0, 1)?, &ids, false)?;
    assert_eq!(f64s(&ys.transpose(0, 1)?), f64s(&wanted));

    let matrix = Tensor::zeros((7, 6), DType::F32, CPU)?;
    assert_eq!(
        error_of(batch_first.forward_t(&matrix, false)),
        "batch-first input must have shape [B, T, d_model] with d_model 6, got [7, 6]"
    );
    assert_eq!(
        error_of(sequence_first.forward_t(&matrix, false)),
        "sequence-first input must have shape [T, B, d_model] with d_model 6, got [7, 6]"
    );
    assert_eq!(
        error_of(of(AxisOrder::Unbatched).forward_t(&xs, false)),
        "unbatched input must have shape [T, d_model] with d_model 6, got [4, 7, 6]"
    );
    Ok(())
}

#[test]
fn prefill_and_decode_are_the_whole_pass_bit_for_bit() -> Result<()> {
    for (dtype, table) in TYPES {
        for growth in [Growth::AsNeeded, Growth::AtOnce] {
            let config = PositionalEncodingConfig {
                growth,
                table_dtype: Some(table),
                scale: EmbeddingScale::SqrtDModel,
                ..config(16)
            };
            let layer = PositionalEncoding::new(config, dtype, CPU)?;
            let xs = numbers(&[2, 40, 16], dtype, 6);
            let mut parts = vec![layer.forward_t(&xs.narrow(1, 0, 23)?, false)?];
            for position in 23..40 {
                let token = xs.narrow(1, position, 1)?;
                parts.push(layer.forward_at(&token, position, false)?);
            }
            let whole = layer.forward_t(&xs, false)?;
            assert_eq!(f64s(&Tensor::cat(&parts, 1)?), f64s(&whole), "{dtype:?}");
        }
    }
    Ok(())
}

#[test]
fn empty_batches_and_empty_sequences_come_back() -> Result<()> {
    for (dtype, _) in TYPES {
        for axis_order in ORDERS {
            let config = PositionalEncodingConfig {
                axis_order,
                dropout: 0.5,
                scale: EmbeddingScale::SqrtDModel,
                ..config(4)
            };
            let layer = PositionalEncoding::new(config, dtype, CPU)?;
            let unbatched = axis_order == AxisOrder::Unbatched;
            for (batch, time) in [(0, 3), (2, 0), (0, 0)] {
                if unbatched && batch == 0 {
                    continue;
                }
                let shape = shape_of(axis_order, batch, time, 4);
                let xs = Tensor::zeros(shape.as_slice(), dtype, CPU)?;
                let ids = Tensor::zeros(time, DType::U32, CPU)?;
                for train in [false, true] {
                    for ys in [
                        layer.forward_t(&xs, train)?,
                        layer.forward_at(&xs, 60, train)?,
                        layer.forward_with_positions(&xs, &ids, train)?,
                    ] {
                        assert_eq!((ys.dims(), ys.dtype()), (&shape[..], dtype));
                    }
                    if !unbatched {
                        let ids = Tensor::zeros((batch, time), DType::I64, CPU)?;
                        let ys = layer.forward_with_positions(&xs, &ids, train)?;
                        assert_eq!(ys.dims(), &shape[..]);
                    }
                }
            }
            assert_eq!(layer.encoding(1000, 0)?.dims(), [0, 4]);
        }
    }
    Ok(())
}

/// The view for `candle_nn::seq()`: no dropout, the same numbers, the same table.
#[test]
fn inference_view_is_a_module_without_dropout() -> Result<()> {
    let layer = layer(PositionalEncodingConfig {
        dropout: 0.9,
        ..config(8)
    });
    let xs = numbers(&[2, 5, 8], DType::F32, 3);
    let wanted = f64s(&layer.forward_t(&xs, false)?);
    let model = candle_nn::seq().add(layer.inference());
    assert_eq!(f64s(&model.forward(&xs)?), wanted);
    // A module takes part in `apply` and, like all modules, in training calls: without dropout.
    assert_eq!(f64s(&xs.apply(&layer.inference())?), wanted);
    assert_eq!(f64s(&xs.apply_t(&layer.inference(), true)?), wanted);
    assert_eq!(layer.dropout().step(), 0);
    Ok(())
}
