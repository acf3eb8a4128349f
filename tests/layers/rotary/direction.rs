//! Layers that rotate clockwise: the rotation by the negative angles, on every path.

use super::*;
use pe_core::{Direction, Table};

#[test]
fn clockwise_layers_rotate_by_the_negative_angles() -> Result<()> {
    for (dtype, layout) in [DType::F32, DType::F64, DType::F16, DType::BF16]
        .into_iter()
        .flat_map(|t| LAYOUTS.map(|l| (t, l)))
    {
        let plain = RotaryEmbeddingConfig {
            layout,
            // The tables as cos_sin returns them.
            table_dtype: Some(dtype),
            ..config(8, 12)
        };
        let mut reversed = plain.clone();
        reversed.rotary.direction = Direction::Clockwise;
        let (plain, reversed) = (layer(plain, dtype), layer(reversed, dtype));
        let xs = numbers(&[2, 3, 5, 12], dtype, 4);
        let (cos, sin) = plain.cos_sin(7, 5)?;
        let wanted = bits(&plain.apply_with_cos_sin(&xs, &cos, &sin.neg()?)?);
        assert_ne!(wanted, bits(&plain.apply(&xs, 7)?));
        let ids = Tensor::arange(7u32, 12, CPU)?;
        let (cos, sin) = reversed.cos_sin(7, 5)?;
        for (found, path) in [
            (reversed.apply(&xs, 7)?, "offset"),
            (reversed.apply_with_positions(&xs, &ids)?, "ids"),
            (reversed.apply_with_cos_sin(&xs, &cos, &sin)?, "tables"),
            (
                reversed.by_reference(Route::Operations).apply(&xs, 7)?,
                "operations",
            ),
            (reversed.by_reference(Route::Rope).apply(&xs, 7)?, "rope"),
        ] {
            assert_eq!(bits(&found), wanted, "{dtype:?} {layout:?} {path}");
        }
    }
    Ok(())
}

/// nanochat rotates from the second column of a pair to the first.
#[test]
fn nanochat_rotates_clockwise() -> Result<()> {
    let json = r#"{"model_type": "nanochat", "hidden_size": 32, "num_attention_heads": 4,
                   "max_position_embeddings": 64}"#;
    let rotary = RotaryEmbedding::from_hf_config(json, None, DType::F64, CPU)?;
    let xs = numbers(&[1, 4, 3, 8], DType::F64, 1);
    let found = f64s(&rotary.apply(&xs, 5)?);
    let plain = Rotary::new(RotaryConfig::new(8)).unwrap().frequencies(0);
    let tables = plain.unwrap().tables::<f64>(5..8).unwrap();
    for (head, (x, y)) in f64s(&xs).chunks(8).zip(found.chunks(8)).enumerate() {
        for pair in 0..4 {
            // transformers: x * cos + cat(x2, -x1) * sin.
            let entry = |table: &Table<f64>| table.get(head % 3, pair).unwrap();
            let (cos, sin) = (entry(&tables.cos), entry(&tables.sin));
            let (a, b) = (pair, pair + 4);
            assert_eq!(y[a], x[a] * cos + x[b] * sin);
            assert_eq!(y[b], x[b] * cos - x[a] * sin);
        }
    }
    Ok(())
}
