//! Dropout.

use candle_core::{DType, Result, Tensor};
use pe_candle::Dropout;

use super::{CPU, STRIDES, Strides, Tally, VALUES, Wanted, declared, input, wide};
use crate::util::keeps;

const SEED: u64 = 5;

/// `where(mask, xs / (1 - p), 0)` by Candle's operations; the mask from its documentation.
fn plain(xs: &Tensor, p: f32, step: u64) -> Result<Tensor> {
    let mask: Vec<u8> = (0..xs.elem_count())
        .map(|index| keeps(p, SEED, step, index as u64).into())
        .collect();
    let mask = Tensor::from_vec(mask, xs.dims(), CPU)?;
    let dtype = wide(xs.dtype());
    let factor = 1.0 / (1.0 - f64::from(p));
    let factor = Tensor::new(factor, CPU)?.to_dtype(dtype)?;
    let scaled = xs.to_dtype(dtype)?.broadcast_mul(&factor)?;
    mask.where_cond(&scaled, &scaled.zeros_like()?)?
        .to_dtype(xs.dtype())
}

pub(super) fn run() -> Tally {
    let mut tally = Tally::default();
    let shapes: [&[usize]; 8] = [
        &[1],
        &[7],
        &[0],
        &[3, 5],
        &[2, 0, 3],
        &[2, 3, 5],
        &[1, 1, 1],
        &[2, 3, 4, 5],
    ];
    for p in [0.0, 0.25, 0.999] {
        let dropout = Dropout::new(p, SEED).unwrap();
        for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
            for shape in shapes {
                for strides in STRIDES {
                    for values in VALUES {
                        if strides == Strides::Broadcast && shape[0] == 0 {
                            continue;
                        }
                        let xs = input(shape, dtype, strides, values);
                        let what = || format!("p {p}, {dtype:?} {shape:?} {strides:?}");
                        let step = u64::MAX - 3;
                        let wanted = if p == 0.0 || xs.elem_count() == 0 {
                            Ok(xs.clone())
                        } else {
                            plain(&xs, p, step)
                        };
                        tally.case(what, Wanted::Right(wanted), || {
                            dropout.forward_at_step(&xs, step, true)
                        });
                        let same = Wanted::Right(Ok(xs.clone()));
                        tally.case(what, same, || dropout.forward(&xs, false));
                    }
                }
            }
            refused(&mut tally, &dropout, dtype);
        }
        for dtype in [DType::U8, DType::U32, DType::I16, DType::I32, DType::I64] {
            let xs = Tensor::ones((2, 3), dtype, CPU).unwrap();
            let wanted = match p == 0.0 {
                true => Wanted::Right(Ok(xs.clone())),
                false => Wanted::Refused,
            };
            tally.case(
                || format!("{dtype:?}"),
                wanted,
                || dropout.forward(&xs, true),
            );
        }
    }
    // A rejected call takes no step, an empty one does.
    let dropout = Dropout::new(0.5, SEED).unwrap();
    refused(&mut tally, &dropout, DType::F32);
    assert_eq!(dropout.step(), 0);
    tally
}

/// Shapes that no memory holds.
fn refused(tally: &mut Tally, dropout: &Dropout, dtype: DType) {
    for shape in [
        [1 << 45, 1, 1],
        [1 << 40, 1 << 40, 1],
        [1, usize::MAX, 2],
        [1, 1, 1 << 62],
    ] {
        let xs = declared(&shape, dtype);
        let wanted = match dropout.p() == 0.0 {
            true => continue,
            false => Wanted::Refused,
        };
        tally.case(
            || format!("huge {shape:?}"),
            wanted,
            || dropout.forward(&xs, true),
        );
    }
}
