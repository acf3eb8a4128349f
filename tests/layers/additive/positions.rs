//! Position ids.

use super::*;

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
