//! The table of a layer: its properties, given tables, tables as tensors.

use super::*;
use pe_candle::testing::Grown;
use pe_tests::tolerance;

#[test]
fn d6_deterministic_the_same_position_has_the_same_bits_however_it_is_reached() -> Result<()> {
    let config = PositionalEncodingConfig {
        max_seq_len: 1100,
        growth: Growth::AtOnce,
        ..config(32)
    };
    let (one, other) = (layer(config.clone()), layer(config.clone()));
    let table = f64s(&one.table()?);
    assert_eq!(f64s(&other.table()?), table);
    let grown = layer(PositionalEncodingConfig {
        growth: Growth::AsNeeded,
        ..config
    });
    for position in 0..1100 {
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
        assert!((length - 32.0).abs() < tolerance::TABLE_NORM, "{length}");
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
                assert!((s * ck + c * sk - to[2 * pair]).abs() < tolerance::ANGLE_ADDITION);
                assert!((c * ck - s * sk - to[2 * pair + 1]).abs() < tolerance::ANGLE_ADDITION);
            }
            let here: f64 = from.iter().zip(&to).map(|(a, b)| a * b).sum();
            assert!(
                (here - product).abs() < tolerance::TABLE_DOT,
                "{shift} {position}"
            );
        }
    }
    Ok(())
}

#[test]
fn given_table_is_used_as_it_is() -> Result<()> {
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

/// Any setting of growth.
#[test]
fn given_table_has_exactly_its_rows() -> Result<()> {
    let table = sinusoidal_tensor(&Sinusoidal::paper(4).unwrap(), 0..7, DType::F32, CPU)?;
    for growth in [Growth::AsNeeded, Growth::AtOnce] {
        let config = PositionalEncodingConfig {
            growth,
            ..config(4)
        };
        let layer = PositionalEncoding::from_table(config, table.clone())?;
        assert_eq!((layer.max_seq_len(), layer.rows_built()), (7, 7));
        assert_eq!(
            error_of(layer.encoding(0, 8)),
            "positions 0..8 were asked for, but the table holds 7 rows (max_seq_len 7)"
        );
    }
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
