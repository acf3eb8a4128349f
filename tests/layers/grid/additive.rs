//! The additive layer.

use candle_core::{DType, ModuleT, Result, Tensor};
use pe_candle::{
    AxisOrder, EmbeddingScale, PositionalEncoding, PositionalEncodingConfig, sinusoidal_tensor,
};
use pe_core::Sinusoidal;

use pe_tests::layers::activations;

use super::*;
use crate::util::{ORDERS, TYPES};

const WIDTH: usize = 6;
const ROWS: usize = 12;

fn config(order: AxisOrder, table: DType) -> PositionalEncodingConfig {
    PositionalEncodingConfig {
        axis_order: order,
        max_seq_len: ROWS,
        scale: EmbeddingScale::Factor(1.7),
        dropout: 0.0,
        table_dtype: Some(table),
        ..PositionalEncodingConfig::new(WIDTH)
    }
}

/// `xs * scale + pe` by Candle's operations, the rows `ids` of the table for `[B, T]` or `[T]`.
fn plain(xs: &Tensor, order: AxisOrder, table: DType, ids: &Tensor) -> Result<Tensor> {
    let encoding = Sinusoidal::paper(WIDTH).unwrap();
    let all = sinusoidal_tensor(&encoding, 0..ROWS as u64, table, CPU)?;
    let dtype = wide(xs.dtype());
    let rows = all.index_select(&ids.flatten_all()?, 0)?.to_dtype(dtype)?;
    let mut dims = ids.dims().to_vec();
    dims.push(WIDTH);
    let mut pe = rows.reshape(dims)?;
    if order == AxisOrder::SequenceFirst {
        pe = if ids.rank() == 2 {
            pe.transpose(0, 1)?
        } else {
            pe.unsqueeze(1)?
        };
    }
    let scaled = xs.to_dtype(dtype)?.affine(1.7, 0.0)?;
    scaled.broadcast_add(&pe)?.to_dtype(xs.dtype())
}

pub(super) fn run() -> Tally {
    let mut tally = Tally::default();
    for order in ORDERS {
        for (dtype, table) in TYPES {
            let layer = PositionalEncoding::new(config(order, table), dtype, CPU).unwrap();
            for (batch, time) in [(0, 3), (1, 0), (1, 1), (3, 5), (2, ROWS), (1, ROWS + 1)] {
                for strides in STRIDES {
                    for values in VALUES {
                        let shape = activations(order, batch, time, WIDTH);
                        if strides == Strides::Broadcast && shape[0] == 0 {
                            continue;
                        }
                        let xs = input(&shape, dtype, strides, values);
                        calls(&mut tally, &layer, &xs, order, table, time);
                    }
                }
            }
            shapes(&mut tally, &layer, order, dtype);
        }
        types(&mut tally, order);
    }
    growing(&mut tally);
    tally
}

/// One input through every call.
fn calls(
    tally: &mut Tally,
    layer: &PositionalEncoding,
    xs: &Tensor,
    order: AxisOrder,
    table: DType,
    time: usize,
) {
    let what = |door: &str| {
        format!(
            "{door}, {order:?}, {:?} {:?} {:?}",
            xs.dtype(),
            xs.dims(),
            xs.stride()
        )
    };
    let empty = xs.elem_count() == 0;
    for offset in [0, 1, ROWS - 5, ROWS, usize::MAX] {
        let fits = time == 0 || offset.checked_add(time).is_some_and(|end| end <= ROWS);
        // An offset whose sum overflows is rejected, tokens or none.
        let fits = fits && offset.checked_add(time).is_some();
        let wanted = || match fits {
            false => Wanted::Refused,
            true if empty => Wanted::Right(Ok(xs.clone())),
            true => Wanted::Right(plain(xs, order, table, &steps(offset, time))),
        };
        tally.case(
            || what(&format!("offset {offset}")),
            wanted(),
            || layer.forward_at(xs, offset, false),
        );
        if offset == 0 {
            tally.case(
                || what("forward_t"),
                wanted(),
                || layer.forward_t(xs, false),
            );
        }
        if offset > 1 {
            continue;
        }
        let overlaps = !empty && xs.layout().has_internal_overlap();
        let wanted = if overlaps { Wanted::Refused } else { wanted() };
        // The memory that is changed is this view's own.
        let own = if overlaps {
            xs.clone()
        } else {
            copy_with_strides(xs)
        };
        tally.case(
            || what("in place"),
            wanted,
            || changed(own, |xs| layer.forward_inplace(xs, offset)),
        );
    }
    let ids = steps(0, time).affine(0.0, 1.0).unwrap();
    let fits = time == 0 || ROWS > 1;
    let wanted = match (fits, empty) {
        (false, _) => Wanted::Refused,
        (true, true) => Wanted::Right(Ok(xs.clone())),
        (true, false) => Wanted::Right(plain(xs, order, table, &ids)),
    };
    tally.case(
        || what("ids"),
        wanted,
        || layer.forward_with_positions(xs, &ids, false),
    );
}

/// Shapes that are none of this layer's, and those that no memory holds.
fn shapes(tally: &mut Tally, layer: &PositionalEncoding, order: AxisOrder, dtype: DType) {
    let wrong: [&[usize]; 9] = [
        &[],
        &[WIDTH],
        &[2, 3, WIDTH + 1],
        &[2, 3, 0],
        &[2, 3, 4, WIDTH],
        &[3, WIDTH - 1],
        &[0, 0, 0],
        &[1, 1, 1, 1, WIDTH],
        &[3, 2 * WIDTH],
    ];
    for shape in wrong {
        let xs = Tensor::zeros(shape, dtype, CPU).unwrap();
        tally.refused(format!("{order:?} {shape:?}"), || {
            layer.forward_at(&xs, 0, false)
        });
        tally.refused(format!("in place {order:?} {shape:?}"), || {
            changed(xs.clone(), |xs| layer.forward_inplace(xs, 0))
        });
    }
    let huge = [1 << 40, 1 << 61, usize::MAX];
    for dim in huge {
        let shapes = match order {
            AxisOrder::Unbatched => vec![vec![dim, WIDTH]],
            AxisOrder::BatchFirst => {
                vec![
                    vec![dim, 1, WIDTH],
                    vec![1, dim, WIDTH],
                    vec![dim, dim, WIDTH],
                ]
            }
            AxisOrder::SequenceFirst => vec![vec![1, dim, WIDTH], vec![dim, 1, WIDTH]],
        };
        for shape in shapes {
            let xs = declared(&shape, dtype);
            let ids = Tensor::new(&[0u32], CPU).unwrap();
            tally.refused(format!("huge {order:?} {shape:?}"), || {
                layer.forward_at(&xs, 0, false)
            });
            tally.refused(format!("huge, ids {order:?} {shape:?}"), || {
                layer.forward_with_positions(&xs, &ids, true)
            });
            tally.refused(format!("huge, in place {order:?} {shape:?}"), || {
                changed(xs.clone(), |xs| layer.forward_inplace(xs, 0))
            });
        }
    }
    // No sequence, but a time that no table has; and the other way round.
    if order == AxisOrder::BatchFirst {
        let none = Tensor::zeros((0, 1 << 20, WIDTH), dtype, CPU).unwrap();
        tally.refused("no batch, long time", || layer.forward_at(&none, 0, false));
        let none = Tensor::zeros((1 << 20, 0, WIDTH), dtype, CPU).unwrap();
        let wanted = Wanted::Right(Ok(none.clone()));
        tally.case(
            || "no time, large batch".to_owned(),
            wanted,
            || layer.forward_at(&none, 0, false),
        );
    }
}

/// Every type that Candle has, against every type of table.
fn types(tally: &mut Tally, order: AxisOrder) {
    use DType::{BF16, F16, F32, F64, I16, I32, I64, U8, U32};
    for (made_for, table) in TYPES {
        let layer = PositionalEncoding::new(config(order, table), made_for, CPU).unwrap();
        for dtype in [U8, U32, I16, I32, I64, BF16, F16, F32, F64] {
            let xs = Tensor::ones(activations(order, 2, 3, WIDTH), dtype, CPU).unwrap();
            let wanted = match (dtype, table) {
                (F32 | F64 | F16 | BF16, F32) | (F64, F64) | (F16, F16) | (BF16, BF16) => {
                    Wanted::Right(plain(&xs, order, table, &steps(2, 3)))
                }
                _ => Wanted::Refused,
            };
            tally.case(
                || format!("{dtype:?} with {table:?}"),
                wanted,
                || layer.forward_at(&xs, 2, false),
            );
        }
    }
}

/// Tables that grow on the way.
fn growing(tally: &mut Tally) {
    for (dtype, table) in TYPES {
        for limit in [ROWS - 1, ROWS] {
            let config = PositionalEncodingConfig {
                max_seq_len: limit,
                ..config(AxisOrder::BatchFirst, table)
            };
            let layer = PositionalEncoding::new(config, dtype, CPU).unwrap();
            for (offset, time) in [(0, 1), (1, 3), (0, 9), (7, 5), (11, 1), (12, 1), (0, 13)] {
                let xs = super::filled(&[2, time, WIDTH], dtype, VALUES[1]);
                let wanted = if offset + time <= limit {
                    let ids = steps(offset, time);
                    Wanted::Right(plain(&xs, AxisOrder::BatchFirst, table, &ids))
                } else {
                    Wanted::Refused
                };
                tally.case(
                    || format!("growing to {limit}, {offset} + {time}"),
                    wanted,
                    || layer.forward_at(&xs, offset, false),
                );
            }
        }
    }
}
