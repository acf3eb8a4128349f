//! Growth, and frequencies that depend on the length.

use super::*;
use pe_candle::Growth;
use pe_core::RopeScaling;

#[test]
fn tables_grow_and_give_the_same_bits() -> Result<()> {
    let growing = RotaryEmbeddingConfig {
        max_seq_len: 3,
        growth: Growth::Grow { limit: 200 },
        ..config(16, 16)
    };
    let fixed = layer(
        RotaryEmbeddingConfig {
            max_seq_len: 200,
            ..config(16, 16)
        },
        DType::F32,
    );
    let growing = layer(growing, DType::F32);
    assert_eq!((growing.limit(), fixed.limit()), (200, 200));
    let xs = numbers(&[1, 2, 5, 16], DType::F32, 1);
    for offset in [0, 1, 20, 195, 4] {
        let (found, wanted) = (growing.apply(&xs, offset)?, fixed.apply(&xs, offset)?);
        assert_eq!(bits(&found), bits(&wanted), "{offset}");
        let (found, wanted) = (growing.cos_sin(offset, 5)?, fixed.cos_sin(offset, 5)?);
        assert_eq!(bits(&found.0), bits(&wanted.0), "{offset}");
        assert_eq!(bits(&found.1), bits(&wanted.1), "{offset}");
    }
    let error = error_of(growing.apply(&xs, 196));
    assert_eq!(
        error,
        "positions 196..201 were asked for, but the tables may grow to 200 rows at most"
    );
    Ok(())
}

#[test]
fn threads_that_grow_one_table_agree() -> Result<()> {
    let growing = layer(
        RotaryEmbeddingConfig {
            max_seq_len: 1,
            growth: Growth::Grow { limit: 4000 },
            ..config(16, 16)
        },
        DType::F32,
    );
    let fixed = layer(
        RotaryEmbeddingConfig {
            max_seq_len: 4000,
            ..config(16, 16)
        },
        DType::F32,
    );
    let xs = numbers(&[1, 1, 1, 16], DType::F32, 1);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (growing, fixed, xs) = (growing.clone(), fixed.clone(), xs.clone());
            scope.spawn(move || {
                for step in 0..50 {
                    let offset = (step * 77 + thread * 13) % 4000;
                    let found = growing.apply(&xs, offset).unwrap();
                    assert_eq!(bits(&found), bits(&fixed.apply(&xs, offset).unwrap()));
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
fn the_set_is_that_of_the_length_seen() -> Result<()> {
    for rotary in [dynamic(), longrope()] {
        let core = Rotary::new(rotary.clone()).unwrap();
        for growth in [Growth::Fixed, Growth::Grow { limit: 64 }] {
            let config = RotaryEmbeddingConfig {
                max_seq_len: 64,
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
