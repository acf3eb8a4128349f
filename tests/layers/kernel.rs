//! Fused kernels against the composition of Candle's operations, bit for bit.

use candle_core::{DType, Device, ModuleT, Result, Tensor, Var};
use half::{bf16, f16};
use pe_candle::testing::{Planned, Route};
use pe_candle::{AxisOrder, Dropout, EmbeddingScale, PositionalEncoding, PositionalEncodingConfig};
use pe_core::{OddWidth, SinusoidalConfig};

use pe_tests::layers::{activations, assert_fused, bits, cases, on_each_set};

use crate::util::{
    ORDERS, TYPES, assert_passes_with_gradients_kept, error_of, f64s, numbers, views,
};

const CPU: &Device = &Device::Cpu;

const REFERENCE: [Route; 1] = [Route::Operations];

const SCALES: [EmbeddingScale; 2] = [EmbeddingScale::None, EmbeddingScale::Factor(-0.3)];

fn config(width: usize) -> PositionalEncodingConfig {
    PositionalEncodingConfig {
        sinusoidal: SinusoidalConfig {
            odd_width: OddWidth::Truncate,
            ..SinusoidalConfig::new(width)
        },
        max_seq_len: 64,
        dropout: 0.3,
        seed: 7,
        ..PositionalEncodingConfig::new(width)
    }
}

/// Evaluates and trains.
fn both_modes(layer: &PositionalEncoding, xs: &Tensor, offset: usize) -> Result<Vec<Tensor>> {
    let run = |train| {
        layer.dropout().set_step(1);
        layer.forward_at(xs, offset, train)
    };
    [false, true].into_iter().map(run).collect()
}

#[test]
fn fused_equals_the_reference_for_types_orders_views_offsets_and_ids() -> Result<()> {
    let per_step = Tensor::new(&[63u32, 0, 63, 5], CPU)?;
    let per_token = Tensor::new(&[[3u32, 9, 63, 0], [1, 1, 2, 2], [0, 7, 8, 9]], CPU)?;
    let views = |order, dtype| views(&activations(order, 3, 4, 68), dtype);
    for case in cases(ORDERS, views) {
        for scale in SCALES {
            let config = PositionalEncodingConfig {
                axis_order: case.order,
                scale,
                table_dtype: Some(case.table),
                ..config(68)
            };
            let layer = PositionalEncoding::new(config, case.dtype, CPU)?;
            for train in [false, true] {
                let about = format!("{case} {scale:?} {train}");
                assert_fused(&layer, &REFERENCE, about, |layer| {
                    let fresh = || layer.dropout().set_step(5);
                    let at = |offset| {
                        fresh();
                        layer.forward_at(&case.xs, offset, train)
                    };
                    let with = |ids| {
                        fresh();
                        layer.forward_with_positions(&case.xs, ids, train)
                    };
                    let mut all = vec![at(0)?, at(60)?, with(&per_step)?];
                    if case.order != AxisOrder::Unbatched {
                        all.push(with(&per_token)?);
                    }
                    assert!(all.iter().all(|ys| ys.dims() == case.xs.dims()));
                    Ok(all)
                });
            }
        }
    }
    Ok(())
}

#[test]
fn remainders_of_the_vector_width_equal_the_reference() -> Result<()> {
    for (dtype, table) in TYPES {
        for width in 1..=70 {
            let config = PositionalEncodingConfig {
                scale: EmbeddingScale::Factor(1.7),
                table_dtype: Some(table),
                max_seq_len: 4,
                ..config(width)
            };
            let layer = PositionalEncoding::new(config, dtype, CPU)?;
            let xs = numbers(&[1, 1, width], dtype, 31);
            let about = format!("{dtype:?} {table:?} {width}");
            assert_fused(&layer, &REFERENCE, about, |layer| both_modes(layer, &xs, 3));
        }
    }
    Ok(())
}

#[test]
fn mask_is_the_same_on_every_instruction_set() -> Result<()> {
    let dropout = Dropout::new(0.4, 12)?;
    for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
        for length in (1..70).chain([1023, 1024, 1025, 5000]) {
            let xs = numbers(&[length], dtype, 6);
            assert_fused(&dropout, &REFERENCE, format!("{dtype:?} {length}"), |on| {
                Ok(vec![on.forward_at_step(&xs, 9, true)?])
            });
        }
    }
    Ok(())
}

#[test]
fn half_type_inputs_are_added_as_by_the_reference() -> Result<()> {
    let shape = (256, 256);
    let f16s: Vec<_> = (0..=u16::MAX).map(f16::from_bits).collect();
    let bf16s: Vec<_> = (0..=u16::MAX).map(bf16::from_bits).collect();
    let singles = (0..=u16::MAX).map(|top| f32::from_bits(u32::from(top) << 16 | 0x5a5a));
    let inputs = [
        Tensor::from_vec(f16s, shape, CPU)?,
        Tensor::from_vec(bf16s, shape, CPU)?,
        Tensor::from_vec(singles.collect::<Vec<_>>(), shape, CPU)?,
    ];
    for xs in inputs {
        for scale in [
            EmbeddingScale::None,
            EmbeddingScale::Factor(0.001),
            EmbeddingScale::Factor(1e30),
            EmbeddingScale::Factor(-0.0),
        ] {
            for zeros in [1.0, -0.0] {
                let config = PositionalEncodingConfig {
                    axis_order: AxisOrder::Unbatched,
                    scale,
                    ..config(256)
                };
                // Multiples of 0 and -0 alone show what becomes of the input.
                let table = (numbers(&[256, 256], DType::F64, 3) * zeros)?;
                let table = if zeros == 1.0 { table } else { (table * 0.0)? };
                let layer = PositionalEncoding::from_table(config, table.to_dtype(xs.dtype())?)?;
                let about = format!("{:?} {scale:?} {zeros}", xs.dtype());
                assert_fused(&layer, &REFERENCE, about, |layer| both_modes(layer, &xs, 0));
            }
        }
    }
    Ok(())
}

#[test]
fn gradients_are_those_of_the_composition() -> Result<()> {
    for (dtype, table) in TYPES {
        for scale in [
            EmbeddingScale::None,
            EmbeddingScale::Factor(-0.3),
            EmbeddingScale::Factor(22.6),
        ] {
            let config = PositionalEncodingConfig {
                scale,
                table_dtype: Some(table),
                ..config(10)
            };
            let layer = PositionalEncoding::new(config, dtype, CPU)?;
            let weights = numbers(&[2, 5, 10], dtype, 8);
            for xs in [
                numbers(&[2, 5, 10], dtype, 9),
                numbers(&[5, 2, 10], dtype, 9).transpose(0, 1)?,
            ] {
                let xs = Var::from_tensor(&xs)?;
                for train in [false, true] {
                    let gradient = |by_reference: bool| -> Result<Tensor> {
                        layer.dropout().set_step(2);
                        let ys = if by_reference {
                            layer
                                .by_reference(Route::Operations)
                                .forward_at(&xs, 1, train)?
                        } else {
                            layer.forward_at(&xs, 1, train)?
                        };
                        let gradients = (ys * &weights)?.sum_all()?.backward()?;
                        assert!(gradients.get(&layer.table()?).is_none());
                        Ok(gradients.get(&xs).unwrap().clone())
                    };
                    let (found, wanted) = (gradient(false)?, gradient(true)?);
                    assert_eq!(bits(&found), bits(&wanted), "{dtype:?} {scale:?} {train}");
                }
            }
        }
    }
    Ok(())
}

/// As `dropout::second_derivative_exists`.
#[test]
fn second_derivative_exists() {
    assert_passes_with_gradients_kept("kernel::second_derivative");
}

#[test]
#[ignore = "started by second_derivative_exists"]
fn second_derivative() -> Result<()> {
    let config = PositionalEncodingConfig {
        scale: EmbeddingScale::Factor(3.0),
        dropout: 0.5,
        ..config(10)
    };
    let layer = PositionalEncoding::new(config, DType::F64, CPU)?;
    let xs = Var::from_tensor(&numbers(&[1, 4, 10], DType::F64, 6))?;
    // d2/dx2 of (6 m x + c)^2 is 2 x 36 m.
    let first = layer.forward_t(&xs, true)?.sqr()?.sum_all()?.backward()?;
    let second = first.get(&xs).unwrap().sum_all()?.backward()?;
    let keeps = |index| layer.dropout().keeps(0, index);
    let wanted: Vec<f64> = (0..40).map(|i| if keeps(i) { 72.0 } else { 0.0 }).collect();
    assert_eq!(f64s(second.get(&xs).unwrap()), wanted);
    Ok(())
}

#[test]
fn threads_change_nothing() -> Result<()> {
    // Enough for threads, and for memory straight from the system; neither a multiple of
    // anything.
    for (dtype, time) in [
        (DType::F32, 2077),
        (DType::F16, 2077),
        (DType::BF16, 2077),
        (DType::F64, 8209),
    ] {
        let config = PositionalEncodingConfig {
            max_seq_len: time,
            scale: EmbeddingScale::SqrtDModel,
            ..config(258)
        };
        let layer = PositionalEncoding::new(config, dtype, CPU)?;
        let xs = numbers(&[2, time, 258], DType::F32, 4).to_dtype(dtype)?;
        let turned = xs.transpose(0, 1)?.contiguous()?.transpose(0, 1)?;
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            pool.build().unwrap().install(|| {
                layer.dropout().set_step(3);
                let own = xs.force_contiguous().unwrap();
                layer.forward_inplace(&own, 0).unwrap();
                [
                    layer.forward_t(&xs, false).unwrap(),
                    layer.forward_t(&turned, false).unwrap(),
                    own,
                    layer.forward_t(&xs, true).unwrap(),
                    layer.dropout().forward_at_step(&turned, 4, true).unwrap(),
                ]
            })
        };
        let same = |a: &Tensor, b: &Tensor| -> Result<bool> {
            let differ = a.ne(b)?.to_dtype(DType::U32)?.sum_all()?;
            Ok(a.dims() == b.dims() && differ.to_scalar::<u32>()? == 0)
        };
        let wanted = run(1);
        assert!(same(
            &wanted[0],
            &layer
                .by_reference(Route::Operations)
                .forward_at(&xs, 0, false)?
        )?);
        assert!(same(&wanted[0], &wanted[1])? && same(&wanted[0], &wanted[2])?);
        for threads in [2, 3] {
            for (found, wanted) in run(threads).iter().zip(&wanted) {
                assert!(same(found, wanted)?, "{dtype:?} {threads}");
            }
        }
    }
    Ok(())
}

#[test]
fn forward_inplace_gives_the_bits_of_forward_and_touches_nothing_else() -> Result<()> {
    let views = |order, dtype| views(&activations(order, 2, 6, 10), dtype);
    for case in cases(ORDERS, views) {
        if case.view == "broadcast" && case.xs.layout().has_internal_overlap() {
            continue;
        }
        let config = PositionalEncodingConfig {
            axis_order: case.order,
            table_dtype: Some(case.table),
            scale: EmbeddingScale::SqrtDModel,
            ..config(10)
        };
        let layer = PositionalEncoding::new(config, case.dtype, CPU)?;
        for (set, layer) in on_each_set(&layer) {
            let wanted = bits(&layer.forward_at(&case.xs, 7, false)?);
            // The same view of memory of its own.
            let own = case.xs.copy()?;
            assert_eq!(own.stride(), case.xs.stride());
            let clone = own.clone();
            layer.forward_inplace(&own, 7)?;
            assert_eq!(bits(&own), wanted, "{case} {set}");
            assert_eq!(bits(&clone), wanted);
        }
    }
    // A window into a larger tensor.
    let layer = PositionalEncoding::new(config(4), DType::F32, CPU)?;
    let whole = Tensor::zeros((1, 5, 8), DType::F32, CPU)?;
    layer.forward_inplace(&whole.narrow(2, 3, 4)?.narrow(1, 1, 2)?, 2)?;
    let rows = whole.to_vec3::<f32>()?.remove(0);
    let pe = layer.encoding(2, 2)?.to_vec2::<f32>()?;
    for (t, row) in rows.iter().enumerate() {
        let inside = (1..3).contains(&t);
        assert_eq!(
            row[3..7],
            if inside {
                pe[t - 1].clone()
            } else {
                vec![0.0; 4]
            }
        );
        assert_eq!((&row[..3], row[7]), (&[0.0; 3][..], 0.0));
    }
    layer.forward_inplace(&Tensor::zeros((0, 5, 4), DType::F32, CPU)?, 0)?;
    Ok(())
}

/// Large tables are read once for several batches, which are walked side by side.
#[test]
fn forward_inplace_is_right_for_any_number_of_batches_of_a_large_table() -> Result<()> {
    let (time, width) = (701, 258);
    for (dtype, table) in TYPES {
        for scale in SCALES {
            let config = PositionalEncodingConfig {
                max_seq_len: time + 3,
                table_dtype: Some(table),
                scale,
                ..config(width)
            };
            let layer = PositionalEncoding::new(config, dtype, CPU)?;
            // The last is large enough for threads.
            for batch in [1, 3, 9] {
                // From anywhere, so that lines of the cache begin elsewhere in each batch.
                let long = numbers(&[batch * time * width + 1], dtype, 9);
                let view = |long: &Tensor| {
                    let all = long.narrow(0, 1, batch * time * width)?;
                    all.reshape((batch, time, width))
                };
                let wanted = layer.forward_at(&view(&long)?, 3, false)?;
                for (set, layer) in on_each_set(&layer) {
                    let own = long.copy()?;
                    layer.forward_inplace(&view(&own)?, 3)?;
                    let differ = wanted.ne(&view(&own)?)?.to_dtype(DType::U32)?.sum_all()?;
                    let what = format!("{dtype:?} {table:?} {scale:?} {batch} {set}");
                    assert_eq!(differ.to_scalar::<u32>()?, 0, "{what}");
                    let before = [&own, &long].map(|xs| bits(&xs.narrow(0, 0, 1).unwrap()));
                    assert_eq!(before[0], before[1], "{what}");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn forward_inplace_rejects_variables_overlaps_and_the_table() -> Result<()> {
    let layer = PositionalEncoding::new(config(4), DType::F32, CPU)?;
    let var = Var::zeros((1, 5, 4), DType::F32, CPU)?;
    assert_eq!(
        error_of(layer.forward_inplace(&var, 0)),
        "the input is a variable: take a copy (detach, then copy) to add in place"
    );
    let tracked = var.affine(2.0, 0.0)?;
    assert_eq!(
        error_of(layer.forward_inplace(&tracked, 0)),
        "the input was computed from a variable: take a copy (detach, then copy) to add in place"
    );
    layer.forward_inplace(&tracked.detach().copy()?, 0)?;
    let row = Tensor::zeros((1, 1, 4), DType::F32, CPU)?;
    assert_eq!(
        error_of(layer.forward_inplace(&row.broadcast_as((1, 5, 4))?, 0)),
        "elements of the input share their places: shape [1, 5, 4] with strides [4, 0, 1] \
         cannot be changed in place"
    );
    let table = layer.table()?;
    let before = bits(&table);
    let message = error_of(layer.forward_inplace(&table.narrow(0, 3, 5)?.unsqueeze(0)?, 0));
    assert!(message.contains("shares storage"), "{message}");
    assert_eq!(bits(&table), before);
    let message = error_of(layer.forward_inplace(&row, 64));
    assert!(message.contains("the table holds 64 rows"), "{message}");
    assert_eq!(bits(&row), [0; 4]);
    // Reading the table's own rows is fine.
    let rows = table.narrow(0, 3, 5)?.unsqueeze(0)?;
    assert_eq!(
        bits(&layer.forward_t(&rows, false)?),
        bits(
            &layer
                .by_reference(Route::Operations)
                .forward_at(&rows, 0, false)?
        )
    );
    Ok(())
}

/// Long runs begin with the elements before the first line of the cache: for inputs and
/// results that lie anywhere, and lengths with every remainder.
#[test]
fn long_runs_may_begin_and_end_anywhere() -> Result<()> {
    for (dtype, table) in TYPES {
        for (width, shift) in [(1024, 1), (1027, 2), (1100, 4), (2051, 7), (1039, 31)] {
            let config = PositionalEncodingConfig {
                scale: EmbeddingScale::Factor(1.7),
                table_dtype: Some(table),
                max_seq_len: 4,
                ..config(width)
            };
            let layer = PositionalEncoding::new(config, dtype, CPU)?;
            let flat = numbers(&[2 * 3 * width + shift], dtype, 32);
            let view = |flat: &Tensor| flat.narrow(0, shift, 6 * width)?.reshape((2, 3, width));
            let xs = view(&flat)?;
            let about = format!("{dtype:?} {table:?} {width} {shift}");
            assert_fused(&layer, &REFERENCE, &about, |layer| {
                both_modes(layer, &xs, 1)
            });
            let wanted = bits(&layer.forward_at(&xs, 1, false)?);
            for (set, layer) in on_each_set(&layer) {
                let own = flat.copy()?;
                layer.forward_inplace(&view(&own)?, 1)?;
                assert!(bits(&view(&own)?) == wanted, "{about} {set} in place");
                let [before, same] =
                    [&own, &flat].map(|all| bits(&all.narrow(0, 0, shift).unwrap()));
                assert_eq!(before, same, "{about} {set}");
            }
        }
    }
    Ok(())
}

/// Views of one tensor changed from all threads of the pool: each call holds the lock of
/// their memory, so none may wait for pieces that the pool hands to another.
#[test]
fn forward_inplace_on_views_from_the_pool_ends() -> Result<()> {
    let layer = PositionalEncoding::new(config(64), DType::F32, CPU)?;
    let views = 8;
    // Large enough for several threads: 1 Mi elements each.
    let xs = Tensor::zeros((views, 16384, 64), DType::F32, CPU)?;
    let layer = PositionalEncoding::new(
        PositionalEncodingConfig {
            max_seq_len: 16384,
            ..layer.config().clone()
        },
        DType::F32,
        CPU,
    )?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build();
    let pool = pool.map_err(candle_core::Error::wrap)?;
    let (done, wait) = std::sync::mpsc::channel();
    let (shared, of_layer) = (xs.clone(), layer.clone());
    std::thread::spawn(move || {
        for _ in 0..100 {
            pool.scope(|scope| {
                for view in 0..views {
                    let (layer, xs) = (&of_layer, &shared);
                    scope.spawn(move |_| {
                        let view = xs.narrow(0, view, 1).unwrap();
                        layer.forward_inplace(&view, 0).unwrap();
                    });
                }
            });
        }
        done.send(()).unwrap();
    });
    assert!(
        wait.recv_timeout(pe_tests::watchdog::PATIENCE).is_ok(),
        "the pool waits for itself"
    );
    let first = xs.narrow(0, 0, 1)?;
    assert_eq!(bits(&first), bits(&xs.narrow(0, 7, 1)?));
    Ok(())
}
