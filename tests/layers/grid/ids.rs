//! Position ids: through the layers that take them, and the functions that make them.

use candle_core::{DType, Result, Tensor};
use pe_candle::{
    PositionalEncoding, PositionalEncodingConfig, RotaryEmbedding, RotaryEmbeddingConfig,
    position_ids_for_packed, position_ids_from_attention_mask, position_ids_from_token_ids,
};
use pe_core::RotaryConfig;

use super::{CPU, Tally, VALUES, Wanted, declared, filled};

const ROWS: usize = 300;
const WIDTH: usize = 4;

/// Ids on the host, as a list of numbers and their shape.
struct Ids {
    tensor: Tensor,
    /// The shape fits `batch` and `time`, and the type is one of those taken.
    fits: bool,
}

fn ids(values: &[i64], shape: &[usize], dtype: DType, batch: usize, time: usize) -> Ids {
    let tensor = Tensor::from_vec(values.to_vec(), shape, CPU).unwrap();
    let tensor = tensor.to_dtype(dtype).unwrap();
    let shape_fits = match *shape {
        [t] | [1, t] => t == time,
        [b, t] => (b, t) == (batch, time),
        _ => false,
    };
    let in_range = values.iter().all(|id| (0..ROWS as i64).contains(id));
    let fits = shape_fits && in_range && matches!(dtype, DType::U32 | DType::I64);
    Ids { tensor, fits }
}

/// Every id that could be taken for another: the largest of each type, negative ones, those
/// that are in range once they are cut to fewer bits.
const VALUES_OF_IDS: [i64; 20] = [
    0,
    1,
    127,
    128,
    255,
    256,
    ROWS as i64 - 1,
    ROWS as i64,
    65_535,
    65_536,
    i32::MAX as i64,
    u32::MAX as i64,
    1 << 32,
    (1 << 32) + 7,
    i64::MAX,
    -1,
    -7,
    i32::MIN as i64,
    -(1 << 32),
    i64::MIN,
];

pub(super) fn run() -> Tally {
    let mut tally = Tally::default();
    let config = PositionalEncodingConfig {
        max_seq_len: ROWS,
        dropout: 0.0,
        ..PositionalEncodingConfig::new(WIDTH)
    };
    let additive = PositionalEncoding::new(config, DType::F32, CPU).unwrap();
    let config = RotaryEmbeddingConfig {
        max_seq_len: Some(ROWS),
        ..RotaryEmbeddingConfig::of(RotaryConfig::new(WIDTH), WIDTH)
    };
    let rotary = RotaryEmbedding::new(config, DType::F32, CPU).unwrap();
    let (batch, time) = (2, 3);
    let shapes: [&[usize]; 9] = [
        &[3],
        &[1, 3],
        &[2, 3],
        &[3, 1],
        &[3, 2],
        &[6],
        &[1, 1, 3],
        &[2, 3, 1],
        &[2],
    ];
    for dtype in [
        DType::U32,
        DType::I64,
        DType::U8,
        DType::F32,
        DType::I32,
        DType::I16,
    ] {
        for value in VALUES_OF_IDS {
            for shape in shapes {
                let mut values = vec![2; shape.iter().product()];
                if let Some(last) = values.last_mut() {
                    *last = value;
                }
                // What the type makes of the value is the id that is given.
                let exact = Tensor::new(&values[..], CPU)
                    .unwrap()
                    .to_dtype(dtype)
                    .unwrap();
                let exact = exact
                    .to_dtype(DType::I64)
                    .unwrap()
                    .to_vec1::<i64>()
                    .unwrap();
                let ids = ids(&exact, shape, dtype, batch, time);
                both(&mut tally, &additive, &rotary, &ids, batch, time);
            }
        }
    }
    strided(&mut tally, &additive, &rotary, batch, time);
    huge(&mut tally, &additive, &rotary);
    makers(&mut tally);
    tally
}

/// Both layers with one list of ids.
fn both(
    tally: &mut Tally,
    additive: &PositionalEncoding,
    rotary: &RotaryEmbedding,
    ids: &Ids,
    batch: usize,
    time: usize,
) {
    let what = || format!("ids {:?} {:?}", ids.tensor.dtype(), ids.tensor.to_string());
    // Each token alone, at its own offset: no id is read for it.
    let rows: Vec<u32> = match ids.fits {
        false => Vec::new(),
        true => {
            let wide = ids.tensor.to_dtype(DType::U32).unwrap();
            let wide = match wide.dims() {
                [t] => wide.reshape((1, *t)).unwrap(),
                _ => wide,
            };
            let all = wide.broadcast_as((batch, time)).unwrap();
            all.flatten_all().unwrap().to_vec1().unwrap()
        }
    };
    let token = |row: usize| (row / time, row % time);
    for values in VALUES {
        let xs = filled(&[batch, time, WIDTH], DType::F32, values);
        let wanted = match ids.fits {
            false => Wanted::Refused,
            true => Wanted::Right((|| {
                let alone = |(row, id): (usize, &u32)| {
                    let (b, t) = token(row);
                    let x = xs.narrow(0, b, 1)?.narrow(1, t, 1)?;
                    additive.forward_at(&x, *id as usize, false)
                };
                let parts: Result<Vec<_>> = rows.iter().enumerate().map(alone).collect();
                Tensor::cat(&parts?, 0)?.reshape((batch, time, WIDTH))
            })()),
        };
        tally.case(what, wanted, || {
            additive.forward_with_positions(&xs, &ids.tensor, false)
        });
        let heads = filled(&[batch, 1, time, WIDTH], DType::F32, values);
        let wanted = || match ids.fits {
            false => Wanted::Refused,
            true => Wanted::Right((|| {
                let alone = |(row, id): (usize, &u32)| {
                    let (b, t) = token(row);
                    let x = heads.narrow(0, b, 1)?.narrow(2, t, 1)?;
                    rotary.apply(&x, *id as usize)
                };
                let parts: Result<Vec<_>> = rows.iter().enumerate().map(alone).collect();
                Tensor::cat(&parts?, 0)?.reshape((batch, 1, time, WIDTH))
            })()),
        };
        tally.case(what, wanted(), || {
            rotary.apply_with_positions(&heads, &ids.tensor)
        });
        let own = heads.copy().unwrap();
        tally.case(what, wanted(), || {
            rotary.apply_with_positions_inplace(&own, &ids.tensor)?;
            Ok(own)
        });
    }
}

/// Ids that are views.
fn strided(
    tally: &mut Tally,
    additive: &PositionalEncoding,
    rotary: &RotaryEmbedding,
    batch: usize,
    time: usize,
) {
    for dtype in [DType::U32, DType::I64] {
        let of = |values: &[i64], shape: &[usize]| {
            let tensor = Tensor::from_vec(values.to_vec(), shape, CPU).unwrap();
            tensor.to_dtype(dtype).unwrap()
        };
        let (turned, wider) = (
            of(&[0, 3, 1, 4, 2, 299], &[time, batch]),
            of(&[9; 10], &[2, 5]),
        );
        let views = [
            turned.t().unwrap(),
            wider.narrow(1, 1, time).unwrap(),
            of(&[5], &[1, 1]).broadcast_as((batch, time)).unwrap(),
            of(&[5], &[1]).broadcast_as(time).unwrap(),
        ];
        for tensor in views {
            let ids = Ids { tensor, fits: true };
            both(tally, additive, rotary, &ids, batch, time);
        }
    }
}

/// Ids that are declared and not there, for tokens that are declared and not there.
fn huge(tally: &mut Tally, additive: &PositionalEncoding, rotary: &RotaryEmbedding) {
    for time in [1 << 40, 1 << 61, usize::MAX] {
        for dtype in [DType::U32, DType::I64] {
            let ids = declared(&[time], dtype);
            for batch in [0, 1] {
                let xs = declared(&[batch, time, WIDTH], DType::F32);
                let what = || format!("huge ids {time} {batch}");
                tally.case(what, Wanted::Refused, || {
                    additive.forward_with_positions(&xs, &ids, false)
                });
                let heads = declared(&[batch, 1, time, WIDTH], DType::F32);
                tally.case(what, Wanted::Refused, || {
                    rotary.apply_with_positions(&heads, &ids)
                });
            }
            tally.refused(format!("huge mask {time}"), || {
                position_ids_from_attention_mask(&ids, 0)
            });
            tally.refused(format!("huge tokens {time}"), || {
                position_ids_from_token_ids(&ids, 1)
            });
        }
        let axes = declared(&[time, 0, 1], DType::U32);
        tally.refused(format!("{time} axes"), || {
            rotary.cos_sin_by_axis(&[0, 0], &axes).map(|(cos, _)| cos)
        });
        tally.refused(format!("{time} packed"), || {
            position_ids_for_packed(&[time, 1], CPU)
        });
    }
}

/// The functions that make ids, against counting.
fn makers(tally: &mut Tally) {
    let integers = [DType::U8, DType::U32, DType::I16, DType::I32, DType::I64];
    for dtype in integers.into_iter().chain([DType::F32, DType::BF16]) {
        for shape in [&[6][..], &[2, 3], &[3, 2], &[0], &[2, 0], &[1, 2, 3], &[]] {
            for pattern in 0..16i64 {
                let count = shape.iter().product();
                let bits: Vec<i64> = (0..count).map(|index| pattern >> (index % 4) & 1).collect();
                let mask = Tensor::from_vec(bits.clone(), shape, CPU).unwrap();
                let mask = mask.to_dtype(dtype).unwrap();
                let good = integers.contains(&dtype) && matches!(shape.len(), 1 | 2);
                let time = shape.last().copied().unwrap_or(1).max(1);
                let counted = |first: u32, otherwise: u32| {
                    let mut ids = Vec::new();
                    for row in bits.chunks(time) {
                        let mut next = first;
                        for bit in row {
                            ids.push(if *bit == 1 { next } else { otherwise });
                            next += *bit as u32;
                        }
                    }
                    Tensor::from_vec(ids, shape, CPU)
                };
                let wanted = |ids: Result<Tensor>| match good {
                    true => Wanted::Right(ids),
                    false => Wanted::Refused,
                };
                let what = || format!("{dtype:?} {shape:?} {pattern}");
                tally.case(what, wanted(counted(0, 9)), || {
                    position_ids_from_attention_mask(&mask, 9)
                });
                // Zeros are the padding here, and tokens are numbered from 1.
                tally.case(what, wanted(counted(1, 0)), || {
                    position_ids_from_token_ids(&mask, 0)
                });
            }
        }
    }
    for wrong in [2i64, -1, 255, i64::MAX, i64::MIN] {
        let mask = Tensor::new(&[1i64, wrong], CPU).unwrap();
        tally.refused(format!("mask {wrong}"), || {
            position_ids_from_attention_mask(&mask, 0)
        });
    }
    let tokens = Tensor::new(&[1u32, 2], CPU).unwrap();
    tally.refused("ids above u32", || {
        position_ids_from_token_ids(&tokens, u32::MAX)
    });
}
