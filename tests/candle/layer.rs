//! The additive layer, against a scalar oracle and the promises of its documentation.

use std::collections::HashSet;
use std::sync::Barrier;

use candle_core::{D, DType, Device, ModuleT, Result, Tensor, Var};
use candle_nn::{Module, Optimizer, VarBuilder, VarMap};
use half::{bf16, f16};
use pe_candle::{
    AxisOrder, EmbeddingScale, Growth, PositionalEncoding, PositionalEncodingConfig,
    position_ids_for_packed, position_ids_from_attention_mask, position_ids_from_token_ids,
    sinusoidal_tensor, table_to_tensor,
};
use pe_core::{Preset, SinusoidLayout, Sinusoidal, SinusoidalConfig};

use crate::util::{error_of, f64s, keeps, numbers, round_to, views};

const CPU: &Device = &Device::Cpu;

/// Input and table types that go together.
const TYPES: [(DType, DType); 7] = [
    (DType::F32, DType::F32),
    (DType::F64, DType::F64),
    (DType::F64, DType::F32),
    (DType::F16, DType::F16),
    (DType::F16, DType::F32),
    (DType::BF16, DType::BF16),
    (DType::BF16, DType::F32),
];

const ORDERS: [AxisOrder; 3] = [
    AxisOrder::BatchFirst,
    AxisOrder::SequenceFirst,
    AxisOrder::Unbatched,
];

fn config(d_model: usize) -> PositionalEncodingConfig {
    PositionalEncodingConfig {
        max_seq_len: 64,
        dropout: 0.0,
        ..PositionalEncodingConfig::new(d_model)
    }
}

fn layer(config: PositionalEncodingConfig) -> PositionalEncoding {
    PositionalEncoding::new(config, DType::F32, CPU).unwrap()
}

/// The shape of an input, and the batch and time of each of its rows in row-major order.
fn shape_of(order: AxisOrder, batch: usize, time: usize, width: usize) -> Vec<usize> {
    match order {
        AxisOrder::BatchFirst => vec![batch, time, width],
        AxisOrder::SequenceFirst => vec![time, batch, width],
        AxisOrder::Unbatched => vec![time, width],
    }
}

fn batch_and_time(order: AxisOrder, batch: usize, time: usize, row: usize) -> (usize, usize) {
    match order {
        AxisOrder::BatchFirst => (row / time, row % time),
        AxisOrder::SequenceFirst => (row % batch, row / batch),
        AxisOrder::Unbatched => (0, row),
    }
}

/// One element, as the documentation defines it: in f32 (f64 for f64 inputs), rounded once.
fn element(dtype: DType, x: f64, scale: Option<f64>, pe: f64, dropout: Option<(bool, f64)>) -> f64 {
    if dtype == DType::F64 {
        let sum = scale.map_or(x, |s| x * s) + pe;
        return match dropout {
            None => sum,
            Some((keep, factor)) => {
                if keep {
                    sum * factor
                } else {
                    0.0
                }
            }
        };
    }
    let sum = scale.map_or(x as f32, |s| x as f32 * s as f32) + pe as f32;
    let y = match dropout {
        None => sum,
        Some((keep, factor)) => {
            if keep {
                sum * factor as f32
            } else {
                0.0
            }
        }
    };
    round_to(dtype, y)
}

/// Table entries of a type, widened.
fn encodings(config: SinusoidalConfig, dtype: DType, positions: &[u32]) -> Vec<f64> {
    fn wide<T: pe_core::Element>(encoding: &Sinusoidal, positions: &[u32]) -> Vec<f64> {
        let table = encoding.table_at::<T>(positions).unwrap();
        table
            .as_slice()
            .iter()
            .map(|entry| entry.to_f64())
            .collect()
    }
    let encoding = Sinusoidal::new(config).unwrap();
    match dtype {
        DType::F32 => wide::<f32>(&encoding, positions),
        DType::F64 => wide::<f64>(&encoding, positions),
        DType::F16 => wide::<f16>(&encoding, positions),
        DType::BF16 => wide::<bf16>(&encoding, positions),
        other => panic!("{other:?}"),
    }
}

/// The whole layer, element by element. `positions[b][t]`; `dropout` is probability, seed and step.
fn oracle(
    config: &PositionalEncodingConfig,
    table: DType,
    xs: &Tensor,
    positions: &[Vec<u32>],
    dropout: Option<(f32, u64, u64)>,
) -> Vec<f64> {
    let (order, width) = (config.axis_order, config.sinusoidal.d_model);
    let (batch, time) = (positions.len(), positions[0].len());
    let scale = match config.scale {
        EmbeddingScale::None => None,
        EmbeddingScale::SqrtDModel => Some((width as f64).sqrt()),
        EmbeddingScale::Factor(factor) => Some(factor),
    };
    let xs_dtype = xs.dtype();
    let rows: Vec<u32> = (0..batch * time)
        .map(|row| batch_and_time(order, batch, time, row))
        .map(|(b, t)| positions[b][t])
        .collect();
    let pe = encodings(config.sinusoidal, table, &rows);
    f64s(xs)
        .iter()
        .zip(pe)
        .enumerate()
        .map(|(index, (x, pe))| {
            let dropout = dropout.map(|(p, seed, step)| {
                (
                    keeps(p, seed, step, index as u64),
                    1.0 / (1.0 - f64::from(p)),
                )
            });
            element(xs_dtype, *x, scale, pe, dropout)
        })
        .collect()
}

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
fn position_ids_of_both_ranks_equal_the_oracle() {
    let (batch, time, width) = (3, 4, 6);
    let per_sequence = vec![vec![0, 1, 2, 3], vec![63, 0, 63, 5], vec![9, 9, 9, 9]];
    for (dtype, table) in TYPES {
        for axis_order in ORDERS {
            let config = PositionalEncodingConfig {
                axis_order,
                table_dtype: Some(table),
                scale: EmbeddingScale::SqrtDModel,
                ..config(width)
            };
            let layer = PositionalEncoding::new(config.clone(), dtype, CPU).unwrap();
            let unbatched = axis_order == AxisOrder::Unbatched;
            let batch = if unbatched { 1 } else { batch };
            let xs = numbers(&shape_of(axis_order, batch, time, width), dtype, 5);
            let check = |ids: &Tensor, positions: &[Vec<u32>]| {
                for ids in [ids.clone(), ids.to_dtype(DType::I64).unwrap()] {
                    let ys = layer.forward_with_positions(&xs, &ids, false).unwrap();
                    assert_eq!(ys.dims(), xs.dims());
                    assert_eq!(f64s(&ys), oracle(&config, table, &xs, positions, None));
                }
            };
            for one in &per_sequence {
                let ids = Tensor::new(one.as_slice(), CPU).unwrap();
                check(&ids, &vec![one.clone(); batch]);
                // As Hugging Face's models keep them.
                if !unbatched {
                    check(&ids.unsqueeze(0).unwrap(), &vec![one.clone(); batch]);
                }
            }
            if !unbatched {
                let ids = Tensor::new(per_sequence.clone(), CPU).unwrap();
                check(&ids, &per_sequence);
                // Ids in another order of memory.
                let ids = ids.t().unwrap().contiguous().unwrap().t().unwrap();
                assert!(!ids.is_contiguous());
                check(&ids, &per_sequence);
            }
        }
    }
}

#[test]
fn e1_table_is_not_trained_and_not_in_the_checkpoint() -> Result<()> {
    let varmap = VarMap::new();
    let vb = VarBuilder::from_varmap(&varmap, DType::F32, CPU);
    let embedding = candle_nn::embedding(10, 8, vb.pp("embedding"))?;
    let layer = PositionalEncoding::new(
        PositionalEncodingConfig {
            max_seq_len: 6,
            dropout: 0.1,
            ..config(8)
        },
        DType::F32,
        CPU,
    )?;
    let head = candle_nn::linear(8, 2, vb.pp("head"))?;
    let before = f64s(&layer.table()?);

    let mut sgd = candle_nn::SGD::new(varmap.all_vars(), 0.5)?;
    let embedded = |weights: &[u32]| Tensor::new(weights, CPU)?.unsqueeze(0)?.apply(&embedding);
    for _ in 0..3 {
        let hidden = layer.forward_t(&embedded(&[1, 2, 3, 4, 5, 6])?, true)?;
        let loss = head.forward(&hidden)?.sqr()?.mean_all()?;
        let gradients = loss.backward()?;
        assert!(gradients.get(&layer.table()?).is_none());
        assert!(gradients.get(embedding.embeddings()).is_some());
        sgd.step(&gradients)?;
    }
    assert_eq!(f64s(&layer.table()?), before);
    assert!(!layer.table()?.is_variable());

    let names = ["embedding.weight", "head.bias", "head.weight"];
    let known: HashSet<_> = varmap.data().lock().unwrap().keys().cloned().collect();
    assert_eq!(known, names.map(String::from).into());
    assert_eq!(varmap.all_vars().len(), 3);
    let file = tempfile::tempdir().unwrap();
    let file = file.path().join("checkpoint.safetensors");
    varmap.save(&file)?;
    let saved: HashSet<_> = candle_core::safetensors::load(&file, CPU)?
        .into_keys()
        .collect();
    assert_eq!(saved, names.map(String::from).into());
    Ok(())
}

#[test]
fn e1_no_gradient_is_filed_under_the_table_even_where_it_is_used_whole() -> Result<()> {
    let config = PositionalEncodingConfig {
        axis_order: AxisOrder::Unbatched,
        max_seq_len: 5,
        ..config(4)
    };
    let layer = layer(config);
    let xs = Var::from_tensor(&numbers(&[5, 4], DType::F32, 2))?;
    let gradients = layer.forward_t(&xs, false)?.sum_all()?.backward()?;
    assert!(gradients.get(&xs).is_some());
    assert!(gradients.get(&layer.table()?).is_none());
    Ok(())
}

#[test]
fn e1_a_variable_given_as_table_is_taken_by_value() -> Result<()> {
    let var = Var::from_tensor(&numbers(&[5, 4], DType::F32, 3))?;
    let layer = PositionalEncoding::from_table(config(4), var.as_tensor().clone())?;
    let before = f64s(&layer.table()?);
    let xs = Tensor::zeros((1, 5, 4), DType::F32, CPU)?;
    let gradients = layer.forward_t(&xs, false)?.sum_all()?.backward()?;
    assert!(gradients.get(&var).is_none());
    var.set(&Tensor::zeros((5, 4), DType::F32, CPU)?)?;
    assert_eq!(f64s(&layer.table()?), before);

    // Views share the variable's memory, but are no variables themselves.
    let var = Var::from_tensor(&numbers(&[1, 7, 4], DType::F32, 3))?;
    let whole = || var.squeeze(0);
    let views = [
        ("squeezed", whole()?),
        ("first rows", whole()?.narrow(0, 0, 5)?),
        ("last rows", whole()?.narrow(0, 2, 5)?),
        ("reshaped", var.reshape((7, 4))?),
        ("transposed", whole()?.t()?.contiguous()?.t()?),
        ("broadcast", whole()?.narrow(0, 3, 1)?.broadcast_as((5, 4))?),
        ("detached", var.detach().squeeze(0)?),
    ];
    let mut layers = Vec::new();
    for (name, view) in views {
        assert!(!view.is_variable());
        let before = f64s(&view);
        let layer = PositionalEncoding::from_table(config(4), view)?;
        assert_eq!(f64s(&layer.table()?), before, "{name}");
        let xs = Tensor::zeros((1, 5, 4), DType::F32, CPU)?;
        let gradients = layer.forward_t(&xs, false)?.sum_all()?.backward()?;
        assert!(gradients.get(&var).is_none(), "{name}");
        layers.push((name, layer, before));
    }
    var.set(&Tensor::zeros((1, 7, 4), DType::F32, CPU)?)?;
    for (name, layer, before) in layers {
        assert_eq!(f64s(&layer.table()?), before, "{name}");
    }

    // Nor does a gradient reach what the table was computed from.
    let var = Var::from_tensor(&numbers(&[5, 4], DType::F32, 3))?;
    let computed = (var.as_tensor() * 2.0)?;
    let layer = PositionalEncoding::from_table(config(4), computed)?;
    let gradients = layer.forward_t(&xs, false)?.sum_all()?.backward()?;
    assert!(gradients.get(&var).is_none());
    Ok(())
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
fn e4_longer_input_is_a_named_error() -> Result<()> {
    let layer = layer(PositionalEncodingConfig {
        max_seq_len: 10,
        ..config(4)
    });
    let xs = |time| Tensor::zeros((2, time, 4), DType::F32, CPU);
    assert!(layer.forward_t(&xs(10)?, false).is_ok());
    assert_eq!(
        error_of(layer.forward_t(&xs(11)?, false)),
        "positions 0..11 were asked for, but the table holds 10 rows (max_seq_len 10)"
    );
    assert!(layer.forward_at(&xs(3)?, 7, false).is_ok());
    assert_eq!(
        error_of(layer.forward_at(&xs(3)?, 8, false)),
        "positions 8..11 were asked for, but the table holds 10 rows (max_seq_len 10)"
    );
    assert_eq!(
        error_of(layer.forward_at(&xs(3)?, usize::MAX - 1, false)),
        format!("offset {} plus length 3 overflows", usize::MAX - 1)
    );
    assert_eq!(
        error_of(layer.encoding(9, 2)),
        "positions 9..11 were asked for, but the table holds 10 rows (max_seq_len 10)"
    );
    // A refused call takes no dropout step.
    let layer = PositionalEncodingConfig {
        dropout: 0.5,
        ..layer.config().clone()
    };
    let layer = PositionalEncoding::new(layer, DType::F32, CPU)?;
    assert!(layer.forward_t(&xs(11)?, true).is_err());
    assert_eq!(layer.dropout().step(), 0);
    Ok(())
}

#[test]
fn d6_deterministic_the_same_position_has_the_same_bits_however_it_is_reached() -> Result<()> {
    let config = PositionalEncodingConfig {
        max_seq_len: 300,
        ..config(32)
    };
    let (one, other) = (layer(config.clone()), layer(config.clone()));
    let table = f64s(&one.table()?);
    assert_eq!(f64s(&other.table()?), table);
    let grown = layer(PositionalEncodingConfig {
        max_seq_len: 1,
        growth: Growth::Grow { limit: 300 },
        ..config
    });
    for position in 0..300 {
        let wanted = &table[position * 32..][..32];
        assert_eq!(f64s(&grown.encoding(position, 1)?), wanted, "{position}");
    }
    Ok(())
}

#[test]
fn d6_bounded_no_row_outgrows_the_embedding() -> Result<()> {
    let layer = PositionalEncoding::new(
        PositionalEncodingConfig {
            max_seq_len: 5000,
            ..config(64)
        },
        DType::F64,
        CPU,
    )?;
    let table = layer.table()?;
    assert!(f64s(&table).iter().all(|entry| entry.abs() <= 1.0));
    for length in f64s(&table.sqr()?.sum(D::Minus1)?) {
        assert!((length - 32.0).abs() < 1e-12, "{length}");
    }
    Ok(())
}

#[test]
fn d6_relative_a_shift_is_one_rotation_at_every_position() -> Result<()> {
    let layer = PositionalEncoding::new(
        PositionalEncodingConfig {
            max_seq_len: 500,
            ..config(32)
        },
        DType::F64,
        CPU,
    )?;
    let row = |position| layer.encoding(position, 1).map(|row| f64s(&row)).unwrap();
    for shift in [1, 3, 100] {
        // Row `shift` holds the sines and cosines of the rotation itself.
        let rotation = row(shift);
        let product: f64 = row(0).iter().zip(row(shift)).map(|(a, b)| a * b).sum();
        for position in [0, 1, 17, 399] {
            let (from, to) = (row(position), row(position + shift));
            for pair in 0..16 {
                let (s, c) = (from[2 * pair], from[2 * pair + 1]);
                let (sk, ck) = (rotation[2 * pair], rotation[2 * pair + 1]);
                assert!((s * ck + c * sk - to[2 * pair]).abs() < 1e-15);
                assert!((c * ck - s * sk - to[2 * pair + 1]).abs() < 1e-15);
            }
            let here: f64 = from.iter().zip(&to).map(|(a, b)| a * b).sum();
            assert!((here - product).abs() < 1e-13, "{shift} {position}");
        }
    }
    Ok(())
}

#[test]
fn prefill_and_decode_are_the_whole_pass_bit_for_bit() -> Result<()> {
    for (dtype, table) in TYPES {
        for growth in [Growth::Fixed, Growth::Grow { limit: 64 }] {
            let config = PositionalEncodingConfig {
                max_seq_len: if growth == Growth::Fixed { 64 } else { 3 },
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

#[test]
fn wrong_inputs_are_errors_that_name_both_values() -> Result<()> {
    let layer = layer(config(4));
    let bad = |shape: &[usize], dtype| {
        error_of(layer.forward_t(&Tensor::zeros(shape, dtype, CPU).unwrap(), false))
    };
    assert_eq!(
        bad(&[1, 2, 3], DType::F32),
        "batch-first input must have shape [B, T, d_model] with d_model 4, got [1, 2, 3]"
    );
    assert!(bad(&[4], DType::F32).ends_with("got [4]"));
    assert!(bad(&[1, 1, 2, 4], DType::F32).ends_with("got [1, 1, 2, 4]"));
    for dtype in [DType::U8, DType::U32, DType::I64] {
        assert_eq!(
            bad(&[1, 2, 4], dtype),
            format!(
                "the input must be f32, f64, f16 or bf16, not {}",
                dtype.as_str()
            )
        );
    }
    for (made_for, given) in [
        (DType::BF16, DType::F32),
        (DType::F16, DType::BF16),
        (DType::BF16, DType::F16),
        (DType::F64, DType::F32),
        (DType::F16, DType::F64),
    ] {
        let layer = PositionalEncoding::new(config(4), made_for, CPU)?;
        let xs = Tensor::zeros((1, 2, 4), given, CPU)?;
        assert_eq!(
            error_of(layer.forward_t(&xs, false)),
            format!(
                "the input is {}, but the table is {}: it must be of that type or f32",
                given.as_str(),
                made_for.as_str()
            )
        );
    }
    Ok(())
}

#[test]
fn wrong_position_ids_are_errors_and_never_zero_rows() -> Result<()> {
    let layer = layer(PositionalEncodingConfig {
        max_seq_len: 300,
        ..config(4)
    });
    let xs = Tensor::zeros((2, 3, 4), DType::F32, CPU)?;
    let refused = |ids: Tensor| error_of(layer.forward_with_positions(&xs, &ids, false));
    let beyond = |id: &str, place: &str| {
        format!("position id {id} at {place} is not below the limit of 300 rows")
    };
    // 255, u32::MAX and i64::MAX are what Candle's index_select takes for "a row of zeros".
    assert_eq!(
        refused(Tensor::new(&[0u8, 255, 2], CPU)?),
        "position ids must be u32 or i64, not u8"
    );
    assert_eq!(
        refused(Tensor::new(&[0u32, u32::MAX, 2], CPU)?),
        beyond("4294967295", "[1]")
    );
    assert_eq!(
        refused(Tensor::new(&[[0i64, 1, 2], [3, 4, i64::MAX]], CPU)?),
        beyond("9223372036854775807", "[1, 2]")
    );
    assert_eq!(
        refused(Tensor::new(&[[0i64, 1, 2], [-1, 4, 5]], CPU)?),
        beyond("-1", "[1, 0]")
    );
    assert_eq!(
        refused(Tensor::new(&[0u32, 1, 300], CPU)?),
        beyond("300", "[2]")
    );
    // 2^32 must not wrap around to 0.
    assert_eq!(
        refused(Tensor::new(&[1i64 << 32, 1, 2], CPU)?),
        beyond("4294967296", "[0]")
    );
    assert_eq!(
        refused(Tensor::new(&[0f32, 1., 2.], CPU)?),
        "position ids must be u32 or i64, not f32"
    );
    let shapes =
        |got: &str| format!("position ids must have shape [3], [1, 3] or [2, 3], got {got}");
    assert_eq!(refused(Tensor::zeros(2, DType::U32, CPU)?), shapes("[2]"));
    assert_eq!(
        refused(Tensor::zeros((3, 2), DType::U32, CPU)?),
        shapes("[3, 2]")
    );
    assert_eq!(
        refused(Tensor::zeros((1, 2), DType::U32, CPU)?),
        shapes("[1, 2]")
    );
    assert_eq!(
        refused(Tensor::new(&[[0u32, 1, 300]], CPU)?),
        beyond("300", "[0, 2]")
    );
    assert_eq!(
        refused(Tensor::zeros((2, 3, 1), DType::U32, CPU)?),
        shapes("[2, 3, 1]")
    );
    assert_eq!(refused(Tensor::zeros((), DType::U32, CPU)?), shapes("[]"));
    let unbatched = PositionalEncodingConfig {
        axis_order: AxisOrder::Unbatched,
        ..config(4)
    };
    let ids = Tensor::zeros((1, 3), DType::U32, CPU)?;
    let one = PositionalEncoding::new(unbatched, DType::F32, CPU)?;
    assert_eq!(
        error_of(one.forward_with_positions(&xs.get(0)?, &ids, false)),
        "position ids must have shape [3], got [1, 3]"
    );
    let ids = Tensor::new(&[0u32, 299, 255], CPU)?;
    assert!(layer.forward_with_positions(&xs, &ids, false).is_ok());
    Ok(())
}

#[test]
fn wrong_configs_are_errors_that_name_the_value() {
    let refused = |config| error_of(PositionalEncoding::new(config, DType::F32, CPU));
    assert!(refused(config(0)).contains("d_model 0 is outside"));
    assert!(refused(config(5)).contains("d_model 5 is odd"));
    let of = |max_seq_len| PositionalEncodingConfig {
        max_seq_len,
        ..config(4)
    };
    assert_eq!(refused(of(0)), "max_seq_len 0 is outside 1..=4294967296");
    assert_eq!(
        refused(of(1 << 33)),
        "max_seq_len 8589934592 is outside 1..=4294967296"
    );
    assert!(
        refused(PositionalEncodingConfig {
            max_seq_len: 1 << 32,
            ..config(1 << 20)
        })
        .contains("exceeds the limit")
    );
    for p in [-0.1, 1.0, 1.5, f32::NAN, f32::INFINITY] {
        let message = refused(PositionalEncodingConfig {
            dropout: p,
            ..config(4)
        });
        assert_eq!(
            message,
            format!("dropout probability p must lie in [0, 1), got {p}")
        );
    }
    let scale = EmbeddingScale::Factor(f64::INFINITY);
    assert_eq!(
        refused(PositionalEncodingConfig { scale, ..config(4) }),
        "the embedding scale inf is not a finite number"
    );
    for limit in [63, (1 << 32) + 1] {
        let growth = Growth::Grow { limit };
        assert_eq!(
            refused(PositionalEncodingConfig {
                growth,
                ..config(4)
            }),
            format!("the growth limit {limit} is outside max_seq_len 64..=4294967296")
        );
    }
    for (dtype, table) in [(DType::F32, DType::BF16), (DType::F16, DType::F64)] {
        let config = PositionalEncodingConfig {
            table_dtype: Some(table),
            ..config(4)
        };
        assert_eq!(
            error_of(PositionalEncoding::new(config, dtype, CPU)),
            format!(
                "the layer is {}, but the table is {}: it must be of that type or f32",
                dtype.as_str(),
                table.as_str()
            )
        );
    }
    assert_eq!(
        error_of(PositionalEncoding::new(config(4), DType::U32, CPU)),
        "the layer must be f32, f64, f16 or bf16, not u32"
    );
    // The defaults that the documentation states.
    let config = PositionalEncodingConfig::new(512);
    assert_eq!(
        (config.max_seq_len, config.dropout, config.seed),
        (5000, 0.1, 0)
    );
    assert_eq!(
        (config.axis_order, config.growth),
        (AxisOrder::BatchFirst, Growth::Fixed)
    );
    assert_eq!(
        (config.scale, config.table_dtype),
        (EmbeddingScale::None, None)
    );
}

#[test]
fn growing_keeps_every_bit_and_stops_at_its_limit() -> Result<()> {
    for (dtype, table) in TYPES {
        let config = PositionalEncodingConfig {
            max_seq_len: 10,
            growth: Growth::Grow { limit: 70 },
            table_dtype: Some(table),
            ..config(6)
        };
        let layer = PositionalEncoding::new(config.clone(), dtype, CPU)?;
        assert_eq!(layer.max_seq_len(), 10);
        let old = layer.table()?;
        let xs = |time| numbers(&[1, time, 6], dtype, 8);
        let mut sizes = Vec::new();
        for time in [10, 11, 12, 21, 45, 70] {
            let ys = layer.forward_t(&xs(time), false)?;
            let positions = [(0..time as u32).collect()];
            assert_eq!(
                f64s(&ys),
                oracle(&config, table, &xs(time), &positions, None)
            );
            sizes.push(layer.max_seq_len());
        }
        assert_eq!(sizes, [10, 20, 20, 40, 70, 70]); // doubled, not row by row
        assert_eq!(f64s(&layer.encoding(0, 10)?), f64s(&old));
        assert_eq!(
            error_of(layer.forward_t(&xs(71), false)),
            "positions 0..71 were asked for, but the table may grow to 70 rows at most"
        );
        let ids = Tensor::new(&[70u32], CPU)?;
        assert_eq!(
            error_of(layer.forward_with_positions(&xs(1), &ids, false)),
            "position id 70 at [0] is not below the limit of 70 rows"
        );
        assert_eq!(layer.config().max_seq_len, 10);

        // A far position needs more than twice the rows; ids grow the table too.
        let layer = PositionalEncoding::new(config.clone(), dtype, CPU)?;
        let ids = Tensor::new(&[3i64, 55], CPU)?;
        let ys = layer.forward_with_positions(&xs(2), &ids, false)?;
        assert_eq!(
            f64s(&ys),
            oracle(&config, table, &xs(2), &[vec![3, 55]], None)
        );
        assert_eq!(layer.max_seq_len(), 56);
    }
    Ok(())
}

#[test]
fn a_growing_layer_serves_many_threads() {
    let config = PositionalEncodingConfig {
        max_seq_len: 1,
        growth: Growth::Grow { limit: 3000 },
        ..config(8)
    };
    let shared = layer(config);
    let exact = Sinusoidal::paper(8).unwrap().table::<f32>(0..3000).unwrap();
    let threads = 8;
    let start = Barrier::new(threads);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (layer, start, exact) = (shared.clone(), &start, &exact);
            scope.spawn(move || {
                start.wait();
                let mut seen = 0;
                for step in 0..60 {
                    let offset = (step * 50 + thread * 7) % 2990;
                    let xs = Tensor::zeros((1, 3, 8), DType::F32, CPU).unwrap();
                    let ys = layer.forward_at(&xs, offset, false).unwrap();
                    let ys = ys.flatten_all().unwrap().to_vec1::<f32>().unwrap();
                    assert_eq!(ys, exact.as_slice()[offset * 8..][..24]);
                    // The table never shrinks, and always holds what was served.
                    let rows = layer.max_seq_len();
                    assert!(rows >= seen && rows >= offset + 3);
                    seen = rows;
                }
            });
        }
    });
    assert!(shared.max_seq_len() <= 3000);
}

#[test]
fn layers_can_be_shared_between_threads() {
    fn shareable<T: Send + Sync + Clone + std::fmt::Debug + 'static>() {}
    shareable::<PositionalEncoding>();
    shareable::<pe_candle::Dropout>();
    shareable::<PositionalEncodingConfig>();
}

#[test]
fn clones_share_table_and_dropout_counter() -> Result<()> {
    let layer = layer(PositionalEncodingConfig {
        max_seq_len: 2,
        growth: Growth::Grow { limit: 50 },
        dropout: 0.5,
        ..config(4)
    });
    let clone = layer.clone();
    let xs = Tensor::ones((1, 20, 4), DType::F32, CPU)?;
    let first = f64s(&layer.forward_t(&xs, true)?);
    assert_eq!(clone.max_seq_len(), 20);
    assert_eq!(clone.dropout().step(), 1);
    assert_ne!(f64s(&clone.forward_t(&xs, true)?), first);
    layer.dropout().set_step(0);
    assert_eq!(f64s(&clone.forward_t(&xs, true)?), first);
    Ok(())
}

#[test]
fn gradient_of_x_is_scale_times_mask() -> Result<()> {
    let p = 0.3f32;
    for (dtype, table) in TYPES {
        for axis_order in ORDERS {
            let unbatched = axis_order == AxisOrder::Unbatched;
            let batch = if unbatched { 1 } else { 3 };
            let config = PositionalEncodingConfig {
                axis_order,
                dropout: p,
                seed: 5,
                scale: EmbeddingScale::Factor(1.5),
                table_dtype: Some(table),
                ..config(6)
            };
            let layer = PositionalEncoding::new(config, dtype, CPU)?;
            let shape = shape_of(axis_order, batch, 4, 6);
            let xs = Var::from_tensor(&numbers(&shape, dtype, 9))?;
            // A weight for each output, so that the incoming gradient is not all ones;
            // powers of two keep the expected value exact in every type.
            let weights: Vec<f64> = (0..shape.iter().product::<usize>())
                .map(|index| [1.0, 2.0, -4.0, 0.5][index % 4])
                .collect();
            let ids = Tensor::new(&[4u32, 0, 2, 2], CPU)?;
            for by_ids in [false, true] {
                for train in [false, true] {
                    layer.dropout().set_step(2);
                    let ys = if by_ids {
                        layer.forward_with_positions(&xs, &ids, train)?
                    } else {
                        layer.forward_t(&xs, train)?
                    };
                    let weight = Tensor::new(weights.as_slice(), CPU)?;
                    let weight = weight.to_dtype(dtype)?.reshape(shape.as_slice())?;
                    let gradients = (ys * weight)?.sum_all()?.backward()?;
                    let found = gradients.get(&xs).unwrap();
                    assert_eq!(found.dtype(), dtype);
                    let wanted: Vec<f64> = (0..)
                        .zip(&weights)
                        .map(|(index, weight)| {
                            let (keep, factor) = match train {
                                false => (true, 1.0),
                                true => (keeps(p, 5, 2, index), 1.0 / (1.0 - f64::from(p))),
                            };
                            match (keep, dtype) {
                                (false, _) => 0.0,
                                (true, DType::F64) => weight * factor * 1.5,
                                (true, _) => round_to(dtype, *weight as f32 * factor as f32 * 1.5),
                            }
                        })
                        .collect();
                    assert_eq!(
                        f64s(found),
                        wanted,
                        "{dtype:?} {axis_order:?} train {train}"
                    );
                }
            }
        }
    }
    Ok(())
}

#[test]
fn gradient_of_x_agrees_with_finite_differences() -> Result<()> {
    let layer = PositionalEncoding::new(
        PositionalEncodingConfig {
            dropout: 0.4,
            seed: 1,
            scale: EmbeddingScale::SqrtDModel,
            ..config(6)
        },
        DType::F64,
        CPU,
    )?;
    let start = numbers(&[2, 3, 6], DType::F64, 10);
    let loss = |xs: &Tensor| -> Result<Tensor> {
        layer.dropout().set_step(7);
        // Not linear, seen through a view of x.
        let ys = layer.forward_at(&xs.transpose(0, 1)?.transpose(0, 1)?, 5, true)?;
        (ys.sqr()? * &ys)?.sum_all()
    };
    let xs = Var::from_tensor(&start)?;
    let gradients = loss(&xs)?.backward()?;
    let gradient = f64s(gradients.get(&xs).unwrap());
    let values = f64s(&start);
    let h = 1e-5;
    for index in 0..values.len() {
        let at = |delta: f64| {
            let mut moved = values.clone();
            moved[index] += delta;
            let moved = Tensor::from_vec(moved, (2, 3, 6), CPU).unwrap();
            loss(&moved).unwrap().to_scalar::<f64>().unwrap()
        };
        let slope = (at(h) - at(-h)) / (2.0 * h);
        let wanted = gradient[index];
        assert!(
            (slope - wanted).abs() <= 1e-6 * wanted.abs().max(1.0),
            "{slope} {wanted}"
        );
    }
    assert!(gradient.contains(&0.0) && gradient.iter().any(|g| *g != 0.0));
    Ok(())
}

#[test]
fn a_given_table_is_used_as_it_is() -> Result<()> {
    let table = numbers(&[7, 4], DType::F32, 12);
    let layer = PositionalEncoding::from_table(config(4), table.clone())?;
    assert_eq!((layer.max_seq_len(), layer.config().max_seq_len), (7, 7));
    let xs = Tensor::zeros((1, 7, 4), DType::F32, CPU)?;
    assert_eq!(f64s(&layer.forward_t(&xs, false)?), f64s(&table));
    // As a view too.
    let transposed = table.t()?.contiguous()?.t()?;
    let layer = PositionalEncoding::from_table(config(4), transposed)?;
    assert_eq!(
        f64s(&layer.forward_at(&xs.narrow(1, 0, 2)?, 5, false)?),
        f64s(&table)[20..]
    );
    // For every input type that goes with f32.
    for dtype in [DType::F64, DType::F16, DType::BF16] {
        let xs = Tensor::zeros((1, 7, 4), dtype, CPU)?;
        assert_eq!(layer.forward_t(&xs, false)?.dtype(), dtype);
    }

    let refused = |config, table| error_of(PositionalEncoding::from_table(config, table));
    assert_eq!(
        refused(config(6), table.clone()),
        "the table must have shape [rows, 6], got [7, 4]"
    );
    assert_eq!(
        refused(config(4), table.unsqueeze(0)?),
        "the table must have shape [rows, 4], got [1, 7, 4]"
    );
    assert_eq!(
        refused(config(4), Tensor::zeros((0, 4), DType::F32, CPU)?),
        "max_seq_len 0 is outside 1..=4294967296"
    );
    assert_eq!(
        refused(config(4), Tensor::zeros((2, 4), DType::I64, CPU)?),
        "the table must be f32, f64, f16 or bf16, not i64"
    );
    let wants = PositionalEncodingConfig {
        table_dtype: Some(DType::F16),
        ..config(4)
    };
    assert_eq!(
        refused(wants, table),
        "the table is f32, but table_dtype is f16"
    );
    Ok(())
}

#[test]
fn a_given_table_grows_only_if_it_is_the_one_of_its_specification() -> Result<()> {
    let growing = PositionalEncodingConfig {
        growth: Growth::Grow { limit: 100 },
        ..config(4)
    };
    let encoding = Sinusoidal::paper(4).unwrap();
    for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
        let table = sinusoidal_tensor(&encoding, 0..7, dtype, CPU)?;
        let layer = PositionalEncoding::from_table(growing.clone(), table)?;
        let wanted = sinusoidal_tensor(&encoding, 0..30, dtype, CPU)?;
        assert_eq!(f64s(&layer.encoding(0, 30)?), f64s(&wanted));
    }
    let mut off = encoding.table::<f32>(0..7).unwrap().into_vec();
    off[4 * 5 + 2] = off[4 * 5 + 2].next_up();
    let off = Tensor::from_vec(off, (7, 4), CPU)?;
    let message = error_of(PositionalEncoding::from_table(growing, off));
    assert!(
        message
            .starts_with("a table can grow only if it is the one of its specification: at [5, 2]"),
        "{message}"
    );
    assert!(!message.contains("converted"), "{message}");
    Ok(())
}

#[test]
fn padded_and_packed_batches_see_each_sequence_as_if_alone() -> Result<()> {
    let layer = layer(config(8));
    let alone = |xs: &Tensor| layer.forward_t(xs, false);
    let sequence = numbers(&[1, 3, 8], DType::F32, 13);
    let padding = Tensor::zeros((1, 2, 8), DType::F32, CPU)?;
    let wanted = f64s(&alone(&sequence)?);
    let left = Tensor::cat(&[&padding, &sequence], 1)?;
    let right = Tensor::cat(&[&sequence, &padding], 1)?;
    let batch = Tensor::cat(&[&left, &right], 0)?;
    let mask = Tensor::new(&[[0u8, 0, 1, 1, 1], [1, 1, 1, 0, 0]], CPU)?;
    let ids = position_ids_from_attention_mask(&mask, 0)?;
    let ys = layer.forward_with_positions(&batch, &ids, false)?;
    assert_eq!(f64s(&ys.get(0)?.narrow(0, 2, 3)?), wanted);
    assert_eq!(f64s(&ys.get(1)?.narrow(0, 0, 3)?), wanted);

    let other = numbers(&[1, 4, 8], DType::F32, 14);
    let packed = Tensor::cat(&[&sequence, &other], 1)?;
    let ids = position_ids_for_packed(&[3, 4], CPU)?;
    let ys = layer.forward_with_positions(&packed, &ids, false)?;
    assert_eq!(f64s(&ys.narrow(1, 0, 3)?), wanted);
    assert_eq!(f64s(&ys.narrow(1, 3, 4)?), f64s(&alone(&other)?));
    Ok(())
}

#[test]
fn fairseq_padding_has_a_row_of_zeros() -> Result<()> {
    let config = PositionalEncodingConfig {
        max_seq_len: 20,
        dropout: 0.0,
        ..PositionalEncodingConfig::from_preset(Preset::Fairseq, 6)
    };
    assert_eq!(config.sinusoidal, Preset::Fairseq.config(6));
    let layer = layer(config);
    let tokens = Tensor::new(&[[0i64, 713, 2, 1, 1], [1, 1, 0, 9, 2]], CPU)?;
    let ids = position_ids_from_token_ids(&tokens, 1)?;
    assert_eq!(ids.to_vec2::<u32>()?, [[2, 3, 4, 1, 1], [1, 1, 2, 3, 4]]);
    let xs = numbers(&[2, 5, 6], DType::F32, 15);
    let ys = layer.forward_with_positions(&xs, &ids, false)?;
    let pe = f64s(&(&ys - &xs)?);
    for (row, id) in pe.chunks(6).zip(ids.flatten_all()?.to_vec1::<u32>()?) {
        assert_eq!(row.iter().all(|entry| *entry == 0.0), id == 1, "{id}");
    }
    Ok(())
}

#[test]
fn position_ids_follow_their_references() -> Result<()> {
    // Hugging Face: cumsum(mask) - 1, padding filled with 1.
    let mask = [[0u32, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1], [0, 0, 0, 0]];
    let wanted = [[1u32, 1, 0, 1], [0, 1, 1, 1], [1, 0, 1, 1], [1, 1, 1, 1]];
    for dtype in [DType::U8, DType::U32, DType::I64] {
        let mask = Tensor::new(&mask, CPU)?.to_dtype(dtype)?;
        let ids = position_ids_from_attention_mask(&mask, 1)?;
        assert_eq!(ids.to_vec2::<u32>()?, wanted);
    }
    let mask = Tensor::new(&[1u32, 1, 0], CPU)?;
    assert_eq!(
        position_ids_from_attention_mask(&mask, 9)?.to_vec1::<u32>()?,
        [0, 1, 9]
    );
    let transposed = Tensor::new(&[[0u32, 1], [1, 1]], CPU)?.t()?;
    let ids = position_ids_from_attention_mask(&transposed, 7)?;
    assert_eq!(ids.to_vec2::<u32>()?, [[7, 0], [0, 1]]);

    let refused = |mask: Tensor| error_of(position_ids_from_attention_mask(&mask, 0));
    assert_eq!(
        refused(Tensor::new(&[[1u32, 1], [2, 1]], CPU)?),
        "attention mask entry 2 at [1, 0] is neither 0 nor 1"
    );
    assert_eq!(
        refused(Tensor::new(&[1f32, 0.], CPU)?),
        "the attention mask must be integers, not f32"
    );
    assert_eq!(
        refused(Tensor::zeros((1, 1, 2, 2), DType::U32, CPU)?),
        "the attention mask must have shape [T] or [B, T], got [1, 1, 2, 2]"
    );
    for shape in [[0, 3], [3, 0]] {
        let mask = Tensor::zeros(&shape, DType::U32, CPU)?;
        assert_eq!(position_ids_from_attention_mask(&mask, 0)?.dims(), shape);
    }

    let tokens = Tensor::new(&[0u32, 3, 0], CPU)?;
    assert_eq!(
        position_ids_from_token_ids(&tokens, 0)?.to_vec1::<u32>()?,
        [0, 1, 0]
    );
    assert_eq!(
        error_of(position_ids_from_token_ids(&tokens, u32::MAX)),
        "position 4294967296 at [0] is not below 4294967296"
    );

    assert_eq!(position_ids_for_packed(&[], CPU)?.dims(), [0]);
    assert_eq!(
        error_of(position_ids_for_packed(&[3, usize::MAX], CPU)),
        "sequence 1 has length 18446744073709551615, positions end at 4294967296"
    );
    // More bytes than a process can address.
    assert_eq!(
        error_of(position_ids_for_packed(&[1 << 32; 1 << 14], CPU)),
        "no memory for 70368744177664 position ids"
    );
    Ok(())
}

#[test]
fn tables_become_tensors_without_a_change() -> Result<()> {
    let encoding = Sinusoidal::paper(6).unwrap();
    for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
        let tensor = sinusoidal_tensor(&encoding, 3..8, dtype, CPU)?;
        assert_eq!((tensor.dims(), tensor.dtype()), (&[5, 6][..], dtype));
        assert_eq!(
            f64s(&tensor),
            encodings(SinusoidalConfig::new(6), dtype, &[3, 4, 5, 6, 7])
        );
        assert_eq!(
            sinusoidal_tensor(&encoding, 3..3, dtype, CPU)?.dims(),
            [0, 6]
        );
    }
    let table = encoding.table::<f32>(0..4).unwrap();
    let address = table.as_slice().as_ptr();
    let tensor = table_to_tensor(table, CPU)?;
    let (storage, _) = tensor.storage_and_layout();
    match &*storage {
        candle_core::Storage::Cpu(candle_core::CpuStorage::F32(entries)) => {
            assert_eq!(entries.as_ptr(), address); // moved, not copied
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(
        error_of(sinusoidal_tensor(&encoding, 0..2, DType::U32, CPU)),
        "tables are f32, f64, f16 or bf16, not u32"
    );
    #[allow(clippy::reversed_empty_ranges)]
    let backwards = 5..2;
    assert!(error_of(sinusoidal_tensor(&encoding, backwards, DType::F32, CPU)).contains("5..2"));
    Ok(())
}
