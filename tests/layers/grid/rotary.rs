//! The rotary layer.

use candle_core::{D, DType, Result, Tensor, WithDType};
use half::{bf16, f16};
use pe_candle::{HeadOrder, PairLayout, RotaryEmbedding, RotaryEmbeddingConfig, table_to_tensor};
use pe_core::{Element, Rotary, RotaryConfig};

use pe_tests::layers::heads as heads_of;

use super::*;
use crate::util::TYPES;

const ROWS: usize = 12;
const TURNING: usize = 6;
const HEAD: usize = 9;

const LAYOUTS: [PairLayout; 2] = [PairLayout::HalfSplit, PairLayout::Interleaved];
const ORDERS: [HeadOrder; 3] = [
    HeadOrder::HeadFirst,
    HeadOrder::TimeFirst,
    HeadOrder::SequenceFirst,
];

fn config(order: HeadOrder, layout: PairLayout, table: DType) -> RotaryEmbeddingConfig {
    RotaryEmbeddingConfig {
        layout,
        axis_order: order,
        max_seq_len: Some(ROWS),
        table_dtype: Some(table),
        ..RotaryEmbeddingConfig::of(RotaryConfig::new(TURNING), HEAD)
    }
}

/// Cosines and sines of all rows, `[rows, pairs]`.
fn tables(dtype: DType) -> [Tensor; 2] {
    fn of<T: Element + WithDType>() -> [Tensor; 2] {
        let rotary = Rotary::new(RotaryConfig::new(TURNING)).unwrap();
        let tables = rotary
            .frequencies(0)
            .unwrap()
            .tables::<T>(0..ROWS as u64)
            .unwrap();
        [tables.cos, tables.sin].map(|table| table_to_tensor(table, CPU).unwrap())
    }
    match dtype {
        DType::F32 => of::<f32>(),
        DType::F64 => of::<f64>(),
        DType::F16 => of::<f16>(),
        _ => of::<bf16>(),
    }
}

/// `(a cos - b sin, a sin + b cos)` by Candle's operations; `ids` is `[T]` or `[B, T]`.
fn plain(
    xs: &Tensor,
    order: HeadOrder,
    layout: PairLayout,
    [cos, sin]: &[Tensor; 2],
    ids: &Tensor,
) -> Result<Tensor> {
    let dtype = wide(xs.dtype());
    let heads = match order {
        HeadOrder::HeadFirst => xs.clone(),
        HeadOrder::TimeFirst => xs.transpose(1, 2)?,
        HeadOrder::SequenceFirst => xs.permute((1, 2, 0, 3))?,
    };
    let turning = heads
        .narrow(D::Minus1, 0, TURNING)?
        .to_dtype(dtype)?
        .contiguous()?;
    let (b, h, t, _) = turning.dims4()?;
    let pairs = TURNING / 2;
    let column = |index: usize| match layout {
        PairLayout::HalfSplit => turning.narrow(D::Minus1, index * pairs, pairs),
        PairLayout::Interleaved => turning
            .reshape((b, h, t, pairs, 2))?
            .narrow(D::Minus1, index, 1)?
            .squeeze(D::Minus1),
    };
    let rows = |table: &Tensor| -> Result<Tensor> {
        let rows = table
            .index_select(&ids.flatten_all()?, 0)?
            .to_dtype(dtype)?;
        match ids.rank() {
            1 => rows.broadcast_as((b, h, t, pairs)),
            _ => rows
                .reshape((b, 1, t, pairs))?
                .broadcast_as((b, h, t, pairs)),
        }
    };
    let (x, y, cos, sin) = (column(0)?, column(1)?, rows(cos)?, rows(sin)?);
    let turned = [
        ((&x * &cos)? - (&y * &sin)?)?,
        ((&x * &sin)? + (&y * &cos)?)?,
    ];
    let turned = match layout {
        PairLayout::HalfSplit => Tensor::cat(&turned, D::Minus1)?,
        PairLayout::Interleaved => Tensor::stack(&turned, D::Minus1)?.flatten_from(3)?,
    };
    let rest = heads.narrow(D::Minus1, TURNING, HEAD - TURNING)?;
    let whole = Tensor::cat(
        &[turned.to_dtype(xs.dtype())?, rest.contiguous()?],
        D::Minus1,
    )?;
    match order {
        HeadOrder::HeadFirst => Ok(whole),
        HeadOrder::TimeFirst => whole.transpose(1, 2),
        HeadOrder::SequenceFirst => whole.permute((2, 0, 1, 3)),
    }
}

pub(super) fn run() -> Tally {
    let mut tally = Tally::default();
    for order in ORDERS {
        for layout in LAYOUTS {
            for (dtype, table) in TYPES {
                let config = config(order, layout, table);
                let layer = RotaryEmbedding::new(config, dtype, CPU).unwrap();
                let grid = [
                    (0, 2, 3),
                    (2, 0, 3),
                    (2, 2, 0),
                    (1, 1, 1),
                    (2, 3, 5),
                    (1, 2, ROWS),
                    (1, 1, ROWS + 1),
                ];
                for (batch, heads, time) in grid {
                    for strides in STRIDES {
                        let shape = heads_of(order, batch, heads, time, HEAD);
                        if strides == Strides::Broadcast && batch == 0 {
                            continue;
                        }
                        let values = VALUES[(heads + time) % 2];
                        let xs = input(&shape, dtype, strides, values);
                        calls(&mut tally, &layer, &xs, table, (batch, time));
                    }
                }
                shapes(&mut tally, &layer, dtype);
                by_cos_sin(&mut tally, &layer, dtype, table);
            }
        }
        growing(&mut tally, order);
    }
    tally
}

/// One input through every call.
fn calls(
    tally: &mut Tally,
    layer: &RotaryEmbedding,
    xs: &Tensor,
    table: DType,
    (batch, time): (usize, usize),
) {
    let (order, layout) = (layer.config().axis_order, layer.config().layout);
    let both = tables(table);
    let what = |door: &str| {
        format!(
            "{door}, {order:?} {layout:?} {:?} {:?} {:?}",
            xs.dtype(),
            xs.dims(),
            xs.stride()
        )
    };
    let empty = xs.elem_count() == 0;
    let wanted = |fits: bool, ids: &dyn Fn() -> Tensor| match fits {
        false => Wanted::Refused,
        true if empty => Wanted::Right(Ok(xs.clone())),
        true => Wanted::Right(plain(xs, order, layout, &both, &ids())),
    };
    for offset in [0, 2, ROWS - 5, ROWS, usize::MAX] {
        let end = offset.checked_add(time);
        let fits = end.is_some_and(|end| time == 0 || end <= ROWS);
        let ids = || steps(offset, time);
        tally.case(
            || what(&format!("offset {offset}")),
            wanted(fits, &ids),
            || layer.apply(xs, offset),
        );
        let offsets = vec![offset; batch];
        let fits_each = batch == 0 || fits;
        tally.case(
            || what(&format!("offsets {offset}")),
            wanted(fits_each, &ids),
            || layer.apply_at_offsets(xs, &offsets),
        );
        tally.refused(what("an offset too many"), || {
            layer.apply_at_offsets(xs, &vec![offset; batch + 1])
        });
        if offset == 2 {
            let overlaps = !empty && xs.layout().has_internal_overlap();
            let right = if overlaps {
                Wanted::Refused
            } else {
                wanted(fits, &ids)
            };
            // The memory that is changed is this view's own.
            let own = if overlaps || empty {
                xs.clone()
            } else {
                copy_with_strides(xs)
            };
            tally.case(
                || what("in place"),
                right,
                || changed(own, |xs| layer.apply_inplace(xs, offset)),
            );
            tally.case(
                || what("pair"),
                wanted(fits, &ids),
                || {
                    let (q, k) = layer.apply_rotary_emb_qkv(xs, xs, offset)?;
                    assert_eq!(bits(&q), bits(&k));
                    Ok(q)
                },
            );
        }
    }
    // Backwards along time, each sequence from a row of its own.
    let list: Vec<u32> = (0..batch * time)
        .map(|token| {
            (2 * ROWS + token / time.max(1) - 1 - token % time.max(1)) as u32 % ROWS as u32
        })
        .collect();
    let ids = Tensor::from_vec(list, (batch, time), CPU).unwrap();
    tally.case(
        || what("ids"),
        wanted(true, &|| ids.clone()),
        || layer.apply_with_positions(xs, &ids),
    );
}

/// Shapes that are none of this layer's, and those that no memory holds.
fn shapes(tally: &mut Tally, layer: &RotaryEmbedding, dtype: DType) {
    let wrong: [&[usize]; 8] = [
        &[],
        &[HEAD],
        &[3, HEAD],
        &[2, 3, HEAD],
        &[1, 2, 3, HEAD + 1],
        &[1, 2, 3, TURNING],
        &[1, 1, 2, 3, HEAD],
        &[1, 2, 3, 0],
    ];
    for shape in wrong {
        let xs = Tensor::zeros(shape, dtype, CPU).unwrap();
        tally.refused(format!("{shape:?}"), || layer.apply(&xs, 0));
        tally.refused(format!("in place {shape:?}"), || {
            changed(xs.clone(), |xs| layer.apply_inplace(xs, 0))
        });
    }
    for dim in [1 << 45, 1 << 61, usize::MAX] {
        for shape in [
            [dim, 1, 1, HEAD],
            [1, dim, 1, HEAD],
            [1, 1, dim, HEAD],
            [dim, dim, 1, HEAD],
        ] {
            let xs = declared(&shape, dtype);
            tally.refused(format!("huge {shape:?}"), || layer.apply(&xs, 0));
            tally.refused(format!("huge in place {shape:?}"), || {
                changed(xs.clone(), |xs| layer.apply_inplace(xs, 0))
            });
            let one = Tensor::zeros((1, 1, 1, HEAD), dtype, CPU).unwrap();
            tally.refused(format!("huge key {shape:?}"), || {
                layer.apply_rotary_emb_qkv(&one, &xs, 0).map(|(q, _)| q)
            });
        }
    }
}

/// Angles from elsewhere.
fn by_cos_sin(tally: &mut Tally, layer: &RotaryEmbedding, dtype: DType, table: DType) {
    let (order, layout) = (layer.config().axis_order, layer.config().layout);
    let (batch, time, pairs) = (2, 5, TURNING / 2);
    let xs = input(
        &heads_of(order, batch, 3, time, HEAD),
        dtype,
        Strides::Transposed,
        VALUES[1],
    );
    let [cos, sin] = tables(table).map(|table| table.narrow(0, 3, time).unwrap());
    let wanted = plain(&xs, order, layout, &tables(table), &steps(3, time));
    tally.right("cos and sin", wanted, || {
        layer.apply_with_cos_sin(&xs, &cos, &sin)
    });
    let wanted = plain(&xs, order, layout, &tables(table), &steps(3, time));
    let each = |table: &Tensor| table.broadcast_as((batch, time, pairs)).unwrap();
    tally.right("cos and sin of each", wanted, || {
        layer.apply_with_cos_sin(&xs, &each(&cos), &each(&sin))
    });
    let of = |shape: &[usize]| Tensor::zeros(shape, table, CPU).unwrap();
    for shape in [
        &[][..],
        &[time],
        &[time, pairs + 1],
        &[time + 1, pairs],
        &[1, time, pairs],
    ] {
        tally.refused(format!("cos {shape:?}"), || {
            layer.apply_with_cos_sin(&xs, &of(shape), &of(shape))
        });
    }
    tally.refused("cos and another sin", || {
        layer.apply_with_cos_sin(&xs, &cos, &each(&sin))
    });
    for (batch, heads, time) in [
        (1 << 61, 0, 1),
        (1, 0, 1 << 61),
        (0, 1, 1 << 61),
        (1 << 45, 0, 1),
    ] {
        let xs = declared(&heads_of(order, batch, heads, time, HEAD), dtype);
        let cos = declared(&[batch, time, pairs], table);
        tally.refused(format!("huge cos {batch} {time}"), || {
            layer.apply_with_cos_sin(&xs, &cos, &cos)
        });
    }
}

/// Tables that grow on the way.
fn growing(tally: &mut Tally, order: HeadOrder) {
    for (dtype, table) in TYPES {
        for limit in [ROWS - 1, ROWS] {
            let config = RotaryEmbeddingConfig {
                max_seq_len: Some(limit),
                ..config(order, PairLayout::HalfSplit, table)
            };
            let layer = RotaryEmbedding::new(config, dtype, CPU).unwrap();
            for (offset, time) in [(0, 1), (1, 3), (0, 9), (7, 5), (11, 1), (12, 1), (0, 13)] {
                let shape = heads_of(order, 1, 2, time, HEAD);
                let xs = input(&shape, dtype, Strides::Contiguous, VALUES[0]);
                let wanted = if offset + time <= limit {
                    let ids = steps(offset, time);
                    Wanted::Right(plain(
                        &xs,
                        order,
                        PairLayout::HalfSplit,
                        &tables(table),
                        &ids,
                    ))
                } else {
                    Wanted::Refused
                };
                tally.case(
                    || format!("growing to {limit}, {offset} + {time}"),
                    wanted,
                    || layer.apply(&xs, offset),
                );
            }
        }
    }
}
