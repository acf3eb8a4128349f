//! Growth, and frequencies that depend on the length.

use super::*;
use pe_candle::Growth;
use pe_core::RopeScaling;

/// The same positions, built as needed and at once.
fn pair(limit: usize) -> [RotaryEmbedding; 2] {
    [Growth::AsNeeded, Growth::AtOnce].map(|growth| {
        let config = RotaryEmbeddingConfig {
            max_seq_len: Some(limit),
            growth,
            ..config(16, 16)
        };
        layer(config, DType::F32)
    })
}

#[test]
fn tables_grow_and_give_the_same_bits() -> Result<()> {
    let [growing, whole] = pair(3000);
    assert_eq!((growing.max_seq_len(), whole.max_seq_len()), (3000, 3000));
    assert_eq!((growing.rows_built(), whole.rows_built()), (0, 3000));
    let xs = numbers(&[1, 2, 5, 16], DType::F32, 1);
    for (offset, rows) in [
        (0, 512),
        (507, 512),
        (508, 1024),
        (1020, 2048),
        (2995, 3000),
        (4, 3000),
    ] {
        let (found, wanted) = (growing.apply(&xs, offset)?, whole.apply(&xs, offset)?);
        assert_eq!(bits(&found), bits(&wanted), "{offset}");
        let (found, wanted) = (growing.cos_sin(offset, 5)?, whole.cos_sin(offset, 5)?);
        assert_eq!(bits(&found.0), bits(&wanted.0), "{offset}");
        assert_eq!(bits(&found.1), bits(&wanted.1), "{offset}");
        assert_eq!(growing.rows_built(), rows, "{offset}"); // doubled, not row by row
    }
    for layer in [growing, whole] {
        assert_eq!(
            error_of(layer.apply(&xs, 2996)),
            "positions 2996..3001 were asked for, but the tables hold 3000 rows (max_seq_len 3000)"
        );
    }
    // A prompt far in builds all rows up to it.
    let [growing, _] = pair(3000);
    growing.apply(&xs, 1500)?;
    assert_eq!(growing.rows_built(), 2048);
    Ok(())
}

#[test]
fn threads_that_grow_one_table_agree() -> Result<()> {
    let [growing, whole] = pair(4000);
    let xs = numbers(&[1, 1, 1, 16], DType::F32, 1);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (growing, whole, xs) = (growing.clone(), whole.clone(), xs.clone());
            scope.spawn(move || {
                for step in 0..50 {
                    let offset = (step * 77 + thread * 13) % 4000;
                    let found = growing.apply(&xs, offset).unwrap();
                    assert_eq!(bits(&found), bits(&whole.apply(&xs, offset).unwrap()));
                }
            });
        }
    });
    Ok(())
}

/// Trained for 16 positions, then stretched.
fn dynamic() -> RotaryConfig {
    RotaryConfig {
        scaling: RopeScaling::Dynamic { factor: 2.0 },
        max_position_embeddings: Some(16),
        ..RotaryConfig::new(16)
    }
}

fn longrope() -> RotaryConfig {
    RotaryConfig {
        scaling: RopeScaling::LongRope(pe_core::LongRopeScaling {
            factor: Some(4.0),
            ..pe_core::LongRopeScaling::new(
                (0..8).map(|pair| 1.0 + 0.1 * f64::from(pair)).collect(),
                (0..8).map(|pair| 2.0 + 0.7 * f64::from(pair)).collect(),
                16,
            )
        }),
        ..RotaryConfig::new(16)
    }
}

#[test]
fn set_is_that_of_the_length_seen() -> Result<()> {
    for rotary in [dynamic(), longrope()] {
        let core = Rotary::new(rotary.clone()).unwrap();
        for growth in [Growth::AsNeeded, Growth::AtOnce] {
            let config = RotaryEmbeddingConfig {
                max_seq_len: Some(64),
                growth,
                ..RotaryEmbeddingConfig::of(rotary.clone(), 16)
            };
            let layer = layer(config, DType::F32);
            let xs = numbers(&[2, 2, 5, 16], DType::F32, 1);
            // To and fro, a prompt and steps, across the trained length.
            for (offset, len) in [
                (0, 5),
                (5, 1),
                (6, 1),
                (12, 4),
                (12, 5),
                (40, 5),
                (45, 1),
                (40, 5),
                (3, 2),
                (15, 1),
                (16, 1),
                (59, 5),
            ] {
                let (start, end) = (offset as u64, (offset + len) as u64);
                let frequencies = core.frequencies(offset + len).unwrap();
                let tables = frequencies.tables::<f32>(start..end).unwrap();
                let (cos, sin) = layer.cos_sin(offset, len)?;
                let what = format!("{} {offset} {len}", rotary.scaling.name());
                assert_eq!(
                    cos.flatten_all()?.to_vec1::<f32>()?,
                    tables.cos.as_slice(),
                    "{what}"
                );
                assert_eq!(
                    sin.flatten_all()?.to_vec1::<f32>()?,
                    tables.sin.as_slice(),
                    "{what}"
                );
                let xs = xs.narrow(2, 0, len)?;
                let wanted = bits(&layer.apply_with_cos_sin(&xs, &cos, &sin)?);
                assert_eq!(bits(&layer.apply(&xs, offset)?), wanted, "{what}");
                let ids = Tensor::arange(offset as u32, (offset + len) as u32, CPU)?;
                assert_eq!(
                    bits(&layer.apply_with_positions(&xs, &ids)?),
                    wanted,
                    "{what}"
                );
                let ys = layer.apply_at_offsets(&xs, &[offset, offset])?;
                assert_eq!(bits(&ys), wanted, "{what}");
            }
            // One set for the whole batch: that of its longest sequence.
            let ys = layer.apply_at_offsets(&xs, &[0, 40])?;
            let tables = core.frequencies(45).unwrap().tables::<f32>(0..5).unwrap();
            let cos = Tensor::from_vec(tables.cos.into_vec(), (5, 8), CPU)?;
            let sin = Tensor::from_vec(tables.sin.into_vec(), (5, 8), CPU)?;
            let wanted = layer.apply_with_cos_sin(&xs.narrow(0, 0, 1)?, &cos, &sin)?;
            assert_eq!(bits(&ys.narrow(0, 0, 1)?), bits(&wanted));
        }
    }
    // The sets differ, or the above would show nothing.
    let core = Rotary::new(longrope()).unwrap();
    let (short, long) = (core.frequencies(16).unwrap(), core.frequencies(17).unwrap());
    assert_ne!(short.inv_freq(), long.inv_freq());
    Ok(())
}

/// Each step of decoding with dynamic scaling has frequencies of its own. Their rows are computed for several steps at once.
#[test]
fn steps_of_decoding_have_the_frequencies_of_their_length() -> Result<()> {
    let core = Rotary::new(dynamic()).unwrap();
    let check = |layer: &RotaryEmbedding, offset: usize, len: usize| -> Result<()> {
        let (start, end) = (offset as u64, (offset + len) as u64);
        let tables = core.frequencies(offset + len).unwrap();
        let tables = tables.tables::<f32>(start..end).unwrap();
        let (cos, sin) = layer.cos_sin(offset, len)?;
        let about = format!("{offset} {len}");
        let entries = |table: Tensor| table.flatten_all()?.to_vec1::<f32>();
        assert_eq!(entries(cos)?, tables.cos.as_slice(), "{about}");
        assert_eq!(entries(sin)?, tables.sin.as_slice(), "{about}");
        Ok(())
    };
    let new = || {
        let config = RotaryEmbeddingConfig {
            max_seq_len: Some(200),
            ..RotaryEmbeddingConfig::of(dynamic(), 16)
        };
        layer(config, DType::F32)
    };
    // Two sequences in turns, up to the last position of one of them, with steps back and longer calls between.
    let both = new();
    for step in 0..40 {
        check(&both, 10 + step, 1)?;
        check(&both, 160 + step, 1)?;
        if step % 7 == 3 {
            check(&both, 160 + step, 1)?;
            check(&both, 157 + step, 4)?;
            check(&both, 30, 1)?;
        }
    }
    // One step is one row, the next ones are several.
    let one = new();
    let rows = [50, 51, 82, 83, 114, 115, 199].map(|offset| {
        check(&one, offset, 1).unwrap();
        one.rows_built()
    });
    assert_eq!(rows, [51, 83, 83, 115, 115, 147, 200]);
    let xs = numbers(&[1, 1, 1, 16], DType::F32, 1);
    assert!(one.apply(&xs, 200).is_err());
    Ok(())
}
