//! Offsets, ids, and nothing at all.

use super::*;

#[test]
fn steps_of_decoding_give_the_rows_of_the_whole() -> Result<()> {
    for dtype in [DType::F32, DType::BF16] {
        for axis_order in ORDERS {
            let config = RotaryEmbeddingConfig {
                axis_order,
                ..config(16, 24)
            };
            let layer = layer(config, dtype);
            let axis = time_axis(axis_order);
            let q = numbers(&shape_of(axis_order, 2, 4, 20, 24), dtype, 1);
            let k = numbers(&shape_of(axis_order, 2, 2, 20, 24), dtype, 2);
            let whole = layer.apply_rotary_emb_qkv(&q, &k, 0)?;
            let mut parts = (Vec::new(), Vec::new());
            let mut offset = 0;
            for len in [12, 1, 1, 3, 1, 2] {
                let (q, k) = (q.narrow(axis, offset, len)?, k.narrow(axis, offset, len)?);
                let (q, k) = layer.apply_rotary_emb_qkv(&q, &k, offset)?;
                parts.0.push(q);
                parts.1.push(k);
                offset += len;
            }
            assert_eq!(bits(&Tensor::cat(&parts.0, axis)?), bits(&whole.0));
            assert_eq!(bits(&Tensor::cat(&parts.1, axis)?), bits(&whole.1));
        }
    }
    Ok(())
}

#[test]
fn ids_offsets_and_order_agree() -> Result<()> {
    for axis_order in ORDERS {
        let config = RotaryEmbeddingConfig {
            axis_order,
            ..config(16, 16)
        };
        let layer = layer(config, DType::F32);
        let xs = numbers(&shape_of(axis_order, 3, 2, 5, 16), DType::F32, 3);
        let wanted = bits(&layer.apply(&xs, 7)?);
        let row = [7u32, 8, 9, 10, 11];
        let ids = Tensor::new(&row, CPU)?;
        for ids in [
            ids.clone(),
            ids.unsqueeze(0)?,
            ids.to_dtype(DType::I64)?,
            Tensor::new(&[row, row, row], CPU)?,
            ids.unsqueeze(0)?.broadcast_as((3, 5))?,
        ] {
            assert_eq!(bits(&layer.apply_with_positions(&xs, &ids)?), wanted);
            let (q, k) = layer.apply_qkv_with_positions(&xs, &xs, &ids)?;
            assert_eq!((bits(&q), bits(&k)), (wanted.clone(), wanted.clone()));
        }
        assert_eq!(bits(&layer.apply_at_offsets(&xs, &[7, 7, 7])?), wanted);
        // Sequences by themselves.
        let own = layer.apply_at_offsets(&xs, &[0, 59, 30])?;
        let (q, k) = layer.apply_qkv_at_offsets(&xs, &xs, &[0, 59, 30])?;
        assert_eq!((bits(&q), bits(&k)), (bits(&own), bits(&own)));
        for (batch, offset) in [0, 59, 30].into_iter().enumerate() {
            let axis = batch_axis(axis_order);
            let alone = layer.apply(&xs.narrow(axis, batch, 1)?, offset)?;
            assert_eq!(bits(&own.narrow(axis, batch, 1)?), bits(&alone));
        }
    }
    Ok(())
}

#[test]
fn empty_input_gives_empty_output() -> Result<()> {
    for axis_order in ORDERS {
        let config = RotaryEmbeddingConfig {
            axis_order,
            ..config(8, 8)
        };
        let layer = layer(config, DType::BF16);
        for (batch, heads, time) in [(2, 3, 0), (0, 3, 2), (2, 0, 2), (0, 0, 0)] {
            let shape = shape_of(axis_order, batch, heads, time, 8);
            let xs = Tensor::zeros(shape.as_slice(), DType::BF16, CPU)?;
            let ids = Tensor::zeros((batch, time), DType::U32, CPU)?;
            let (cos, sin) = (
                Tensor::zeros((time, 4), DType::F32, CPU)?,
                Tensor::zeros((time, 4), DType::F32, CPU)?,
            );
            layer.apply_inplace(&xs, 5)?;
            layer.apply_with_positions_inplace(&xs, &ids)?;
            for ys in [
                layer.apply(&xs, 5)?,
                layer.apply_rotary_emb_qkv(&xs, &xs, 64 - time)?.1,
                layer.apply_with_positions(&xs, &ids)?,
                layer.apply_at_offsets(&xs, &vec![3; batch])?,
                layer.apply_with_cos_sin(&xs, &cos, &sin)?,
                layer.by_reference(Route::Rope).apply(&xs, 5)?,
                layer.by_reference(Route::Operations).apply(&xs, 5)?,
            ] {
                assert_eq!((ys.dims(), ys.dtype()), (&shape[..], DType::BF16));
            }
        }
    }
    Ok(())
}

/// Positions in three dimensions, as M-RoPE has them: each pair takes its angle from one axis.
#[test]
fn angles_of_several_axes_come_in_through_cos_and_sin() -> Result<()> {
    let (batch, time, pairs) = (2, 3, 8);
    let axis_of = |pair: usize| [0, 0, 0, 1, 1, 1, 2, 2][pair];
    let ids: [[[usize; 3]; 2]; 3] = [
        [[0, 1, 2], [5, 5, 5]],
        [[9, 9, 3], [0, 1, 0]],
        [[4, 5, 6], [60, 0, 7]],
    ];
    let layer = layer(config(16, 16), DType::F32);
    let (cos, sin) = layer.cos_sin(0, 64)?;
    let (cos, sin) = (cos.to_vec2::<f32>()?, sin.to_vec2::<f32>()?);
    let chosen = |table: &[Vec<f32>]| {
        let mut out = Vec::new();
        for b in 0..batch {
            for t in 0..time {
                out.extend((0..pairs).map(|pair| table[ids[axis_of(pair)][b][t]][pair]));
            }
        }
        Tensor::from_vec(out, (batch, time, pairs), CPU)
    };
    let xs = numbers(&[batch, 2, time, 16], DType::F32, 4);
    let ys = layer.apply_with_cos_sin(&xs, &chosen(&cos)?, &chosen(&sin)?)?;
    // The same tables by name.
    let axes: Vec<u8> = (0..pairs).map(|pair| axis_of(pair) as u8).collect();
    let flat: Vec<i64> = ids
        .iter()
        .flatten()
        .flatten()
        .map(|id| *id as i64)
        .collect();
    let tensor = Tensor::from_vec(flat, (3, batch, time), CPU)?;
    let (cos_by_axis, sin_by_axis) = layer.cos_sin_by_axis(&axes, &tensor)?;
    assert_eq!(bits(&cos_by_axis), bits(&chosen(&cos)?));
    assert_eq!(bits(&sin_by_axis), bits(&chosen(&sin)?));
    let one = tensor.narrow(1, 1, 1)?;
    let (cos_of_one, _) = layer.cos_sin_by_axis(&axes, &one)?;
    assert_eq!(bits(&cos_of_one), bits(&cos_by_axis.narrow(0, 1, 1)?));
    assert_eq!(
        error_of(layer.cos_sin_by_axis(&axes, &tensor.get(0)?)),
        "position ids must have shape [axes, B, T], got [2, 3]"
    );
    let far = Tensor::new(&[[[5u32, 64]]], CPU)?;
    assert_eq!(
        error_of(layer.cos_sin_by_axis(&[0; 8], &far)),
        "position id 64 at [0, 1] is not below the limit of 64 rows"
    );
    for (axes, ids) in [(&axes[1..], &tensor), (&axes[..], &tensor.narrow(0, 0, 2)?)] {
        assert!(layer.cos_sin_by_axis(axes, ids).is_err());
    }
    // Each axis alone, of which the columns of its pairs are taken.
    for (axis, ids) in ids.iter().enumerate() {
        let ids: Vec<u32> = ids.iter().flatten().map(|id| *id as u32).collect();
        let ids = Tensor::from_vec(ids, (batch, time), CPU)?;
        let alone = layer.apply_with_positions(&xs, &ids)?;
        for pair in (0..pairs).filter(|pair| axis_of(*pair) == axis) {
            for column in [pair, pair + pairs] {
                let of = |tensor: &Tensor| bits(&tensor.narrow(3, column, 1).unwrap());
                assert_eq!(of(&ys), of(&alone), "{axis} {column}");
            }
        }
    }
    Ok(())
}

/// The tensor of transformers: `[3, B, T]`, padded on the right with 1.
#[test]
fn positions_of_several_coordinates_become_a_tensor() -> Result<()> {
    use pe_candle::{MropePositions, MropeSegment, PatchGrid, position_ids_for_mrope};
    let grid = PatchGrid {
        frames: 1,
        rows: 2,
        columns: 4,
    };
    let image = MropeSegment::Vision {
        grid,
        merge: 2,
        time_interval: 1.0,
    };
    let of = |segments: &[MropeSegment]| pe_candle::mrope_position_ids(segments).unwrap();
    let text = MropeSegment::Text { tokens: 1 };
    let sequences = [of(&[text, image, text]), of(&[text, text])];
    let ids = position_ids_for_mrope(&sequences, CPU)?;
    assert_eq!(
        ids.to_vec3::<u32>()?,
        [
            [[0, 1, 1, 3], [0, 1, 1, 1]],
            [[0, 1, 1, 3], [0, 1, 1, 1]],
            [[0, 1, 2, 3], [0, 1, 1, 1]],
        ]
    );
    let (cos, _) =
        layer(config(16, 16), DType::F32).cos_sin_by_axis(&[0, 0, 0, 1, 1, 1, 2, 2], &ids)?;
    assert_eq!(cos.dims(), [2, 4, 8]);
    assert_eq!(
        error_of(position_ids_for_mrope(&[], CPU)),
        "no sequence is given"
    );
    let uneven = MropePositions {
        time: vec![0, 1],
        ..of(&[text])
    };
    assert_eq!(
        error_of(position_ids_for_mrope(&[of(&[text]), uneven], CPU)),
        "sequence 1 has [2, 1, 1] positions in time, height, and width"
    );
    Ok(())
}
