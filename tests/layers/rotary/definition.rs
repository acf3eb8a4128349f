//! The layer against its definition, element by element, and against Candle's own kernels.

use super::*;
use candle_nn::rotary_emb::{rope, rope_i, rope_thd};
use pe_tests::tolerance;

/// The rotation in f64 from the exact cosines and sines, `positions[b][t]`, in row-major order.
fn defined(config: &RotaryEmbeddingConfig, xs: &Tensor, positions: &[Vec<u32>]) -> Vec<f64> {
    let rotary = Rotary::new(config.rotary.clone()).unwrap();
    let frequencies = rotary.frequencies(0).unwrap();
    let pairs = rotary.pairs();
    let width = config.head_dim();
    let dims = xs.dims4().unwrap();
    let values = f64s(xs);
    let mut ys = values.clone();
    for (row, (x, y)) in values.chunks(width).zip(ys.chunks_mut(width)).enumerate() {
        let (batch, time) = match config.axis_order {
            HeadOrder::HeadFirst => (row / (dims.1 * dims.2), row % dims.2),
            HeadOrder::TimeFirst => (row / (dims.1 * dims.2), row / dims.2 % dims.1),
            HeadOrder::SequenceFirst => (row / dims.2 % dims.1, row / (dims.1 * dims.2)),
        };
        let tables = frequencies
            .tables_at::<f64>(&[positions[batch][time]])
            .unwrap();
        for pair in 0..pairs {
            let (cos, sin) = (
                tables.cos.get(0, pair).unwrap(),
                tables.sin.get(0, pair).unwrap(),
            );
            let (a, b) = match config.layout {
                PairLayout::HalfSplit => (pair, pairs + pair),
                PairLayout::Interleaved => (2 * pair, 2 * pair + 1),
            };
            y[a] = x[a] * cos - x[b] * sin;
            y[b] = x[a] * sin + x[b] * cos;
        }
    }
    ys
}

/// The distance from one number of a type to the next, at most, for sizes up to that of `x`.
fn unit(dtype: DType, x: f64) -> f64 {
    let digits = match dtype {
        DType::F64 => 52,
        DType::F32 => 23,
        DType::F16 => 10,
        DType::BF16 => 7,
        other => panic!("{other:?}"),
    };
    let mut power = 1.0;
    while power <= x.abs() {
        power *= 2.0;
    }
    while power > x.abs() && power > 1e-4 {
        power /= 2.0;
    }
    power / f64::from(1u32 << (digits / 2)) / f64::from(1u32 << (digits - digits / 2))
}

#[test]
fn elements_are_those_of_the_definition() -> Result<()> {
    let positions = [vec![0, 1, 2, 63], vec![7, 7, 50, 3]];
    let ids = Tensor::new(positions.iter().map(Vec::as_slice).collect::<Vec<_>>(), CPU)?;
    for dtype in [DType::F64, DType::F32, DType::F16, DType::BF16] {
        for layout in LAYOUTS {
            for axis_order in ORDERS {
                let config = RotaryEmbeddingConfig {
                    layout,
                    axis_order,
                    ..config(20, 26)
                };
                let layer = layer(config.clone(), dtype);
                let xs = numbers(&shape_of(axis_order, 2, 3, 4, 26), dtype, 3);
                let found = f64s(&layer.apply_with_positions(&xs, &ids)?);
                let wanted = defined(&config, &xs, &positions);
                for (index, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
                    // Rounded once to a half type; f32 rounds each table entry, product and
                    // sum: numbers up to 8 in size, 3 units of them.
                    let bound = match dtype {
                        DType::F16 | DType::BF16 => {
                            0.5 * unit(dtype, *wanted) + tolerance::F32_BEFORE_HALF
                        }
                        _ => 3.0 * unit(dtype, 4.0),
                    };
                    assert!(
                        (found - wanted).abs() <= bound,
                        "{dtype:?} {layout:?} {axis_order:?} {index}: {found} {wanted}"
                    );
                }
            }
        }
    }
    Ok(())
}

#[test]
fn bits_in_f32_and_f64_are_those_of_candles_kernels() -> Result<()> {
    for dtype in [DType::F32, DType::F64] {
        for time in [1, 2, 17] {
            let of = |layout, axis_order| {
                let config = RotaryEmbeddingConfig {
                    layout,
                    axis_order,
                    ..config(48, 48)
                };
                layer(config, dtype)
            };
            let xs = numbers(&[2, 3, time, 48], dtype, 4);
            let turned = xs.transpose(1, 2)?.contiguous()?;
            let (half, inter) = (
                of(PairLayout::HalfSplit, HeadOrder::HeadFirst),
                of(PairLayout::Interleaved, HeadOrder::HeadFirst),
            );
            let time_first = of(PairLayout::HalfSplit, HeadOrder::TimeFirst);
            let (cos, sin) = half.cos_sin(5, time)?;
            assert_eq!(cos.dims(), [time, 24]);
            assert_eq!(bits(&half.apply(&xs, 5)?), bits(&rope(&xs, &cos, &sin)?));
            assert_eq!(bits(&inter.apply(&xs, 5)?), bits(&rope_i(&xs, &cos, &sin)?));
            let theirs = rope_thd(&turned, &cos, &sin)?;
            assert_eq!(bits(&time_first.apply(&turned, 5)?), bits(&theirs));
        }
    }
    Ok(())
}

/// `cos_sin` gives what `rope` takes in every type, and the tables of a type are exact.
#[test]
fn cos_sin_go_straight_into_rope() -> Result<()> {
    for (dtype, table) in TYPES {
        let config = RotaryEmbeddingConfig {
            table_dtype: Some(table),
            ..config(32, 32)
        };
        let layer = layer(config.clone(), dtype);
        let xs = numbers(&[1, 2, 6, 32], dtype, 5);
        let (cos, sin) = layer.cos_sin(58, 6)?;
        assert_eq!((cos.dtype(), sin.dtype()), (dtype, dtype));
        assert_eq!(rope(&xs, &cos, &sin)?.dims(), xs.dims());
        let frequencies = Rotary::new(config.rotary).unwrap().frequencies(0).unwrap();
        let exact: Vec<f64> = match dtype {
            DType::F32 => frequencies
                .tables::<f32>(58..64)
                .unwrap()
                .sin
                .as_slice()
                .iter()
                .map(|x| f64::from(*x))
                .collect(),
            DType::F64 => frequencies.tables::<f64>(58..64).unwrap().sin.into_vec(),
            DType::F16 => f64s_of::<f16>(frequencies.tables::<f16>(58..64).unwrap().sin.as_slice()),
            _ => f64s_of::<bf16>(frequencies.tables::<bf16>(58..64).unwrap().sin.as_slice()),
        };
        assert_eq!(f64s(&sin), exact, "{dtype:?} {table:?}");
        let (cos, sin) = layer.cos_sin(64, 0)?;
        assert_eq!((cos.dims(), sin.dims()), (&[0, 16][..], &[0, 16][..]));
    }
    Ok(())
}

fn f64s_of<T: Copy + Into<f64>>(entries: &[T]) -> Vec<f64> {
    entries.iter().map(|entry| (*entry).into()).collect()
}

/// The two layouts differ by a permutation of the columns.
#[test]
fn layouts_differ_by_the_order_of_columns() -> Result<()> {
    let of = |layout| {
        layer(
            RotaryEmbeddingConfig {
                layout,
                ..config(16, 16)
            },
            DType::F32,
        )
    };
    let xs = numbers(&[1, 2, 5, 16], DType::F32, 6);
    let order: Vec<u32> = (0..8).flat_map(|pair| [pair, pair + 8]).collect();
    let order = Tensor::new(order, CPU)?;
    let half = of(PairLayout::HalfSplit).apply(&xs, 3)?;
    let interleaved = of(PairLayout::Interleaved).apply(&xs.index_select(&order, 3)?, 3)?;
    assert_eq!(bits(&half.index_select(&order, 3)?), bits(&interleaved));
    Ok(())
}

/// The purpose of the encoding: products depend on distances alone.
#[test]
fn products_depend_on_distances() -> Result<()> {
    let config = RotaryEmbeddingConfig {
        max_seq_len: Some(100_000),
        ..config(64, 64)
    };
    let layer = layer(config, DType::F64);
    let (q, k) = (
        numbers(&[1, 1, 1, 64], DType::F64, 7),
        numbers(&[1, 1, 1, 64], DType::F64, 8),
    );
    let product = |at_q, at_k| -> Result<f64> {
        let (q, k) = (layer.apply(&q, at_q)?, layer.apply(&k, at_k)?);
        (q * k)?.sum_all()?.to_scalar()
    };
    let near = product(17, 0)?;
    let far = product(99_999, 99_982)?;
    assert!((near - far).abs() < tolerance::SCORE_F64, "{near} {far}");
    assert!((near - product(18, 0)?).abs() > 1e-3);
    Ok(())
}
