//! Packed calls, `[tokens, heads, head_dim]` with a position for each token: equal to the calls with a
//! batch, in place or not, by a layer's tables or the caller's, whatever the layout of memory.

use candle_core::{Var, backprop::GradStore};
use pe_candle::{position_ids_for_packed, rotary};

use super::*;

const HEADS: [usize; 2] = [6, 2];

/// Positions of `tokens` tokens, in no order.
fn positions(tokens: usize, limit: u32) -> Tensor {
    let ids: Vec<u32> = (0..tokens as u32).map(|t| (t * 37 + 5) % limit).collect();
    Tensor::from_vec(ids, tokens, CPU).unwrap()
}

/// Queries and keys of a width, as parts of one projection or each by itself.
fn parts(tokens: usize, width: usize, dtype: DType) -> Vec<(&'static str, [Tensor; 2])> {
    let [h, g] = HEADS;
    let of = |heads, seed| numbers(&[tokens, heads, width], dtype, seed);
    let qkv = of(h + 2 * g, 3);
    let columns = numbers(&[tokens, h + g, 2 * width], dtype, 4);
    let part = |xs: &Tensor, first, len| xs.narrow(1, first, len).unwrap();
    let turned = |heads: usize, seed| {
        let xs = numbers(&[heads, tokens, width], dtype, seed);
        xs.transpose(0, 1).unwrap()
    };
    let half = columns.narrow(2, width, width).unwrap();
    vec![
        ("apart", [of(h, 1), of(g, 2)]),
        ("parts of qkv", [part(&qkv, 0, h), part(&qkv, h, g)]),
        ("parts of columns", [part(&half, 0, h), part(&half, h, g)]),
        ("head first in memory", [turned(h, 5), turned(g, 6)]),
    ]
}

fn own(xs: &Tensor) -> Tensor {
    xs.contiguous().unwrap().copy().unwrap()
}

/// Copies the memory of parts of one tensor, so that they can be changed in place.
fn own_parts(tokens: usize, width: usize, dtype: DType, index: usize) -> [Tensor; 2] {
    parts(tokens, width, dtype).swap_remove(index).1
}

#[test]
fn packed_calls_equal_those_with_a_batch() {
    for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
        for layout in LAYOUTS {
            // Another order of axes does not change packed calls.
            let config = RotaryEmbeddingConfig {
                layout,
                axis_order: HeadOrder::SequenceFirst,
                ..config(12, 20)
            };
            let with_batch = layer(
                RotaryEmbeddingConfig {
                    axis_order: HeadOrder::TimeFirst,
                    ..config.clone()
                },
                dtype,
            );
            let packed = layer(config, dtype);
            let ids = positions(9, 64);
            let wide = ids.to_dtype(DType::I64).unwrap();
            for (name, [q, k]) in parts(9, 20, dtype) {
                let wanted = [&q, &k].map(|xs| {
                    let xs = xs.unsqueeze(0).unwrap();
                    bits(&with_batch.apply_with_positions(&xs, &ids).unwrap())
                });
                let check = |way: &str, (ys, zs): (Tensor, Tensor)| {
                    assert_eq!((ys.dims(), zs.dims()), (q.dims(), k.dims()), "{way}");
                    assert!(
                        [bits(&ys), bits(&zs)] == wanted,
                        "{way} {name} {dtype:?} {layout:?}"
                    );
                };
                for (set, packed) in on_each_set(&packed) {
                    check(set, packed.apply_qkv_packed(&q, &k, &ids).unwrap());
                    check(set, packed.apply_qkv_packed(&q, &k, &wide).unwrap());
                }
                let reference = packed.by_reference(Route::Operations);
                check(
                    "reference",
                    reference.apply_qkv_packed(&q, &k, &ids).unwrap(),
                );
                // With a batch of their own, and ids for each token.
                let four = |xs: &Tensor| xs.contiguous().unwrap().reshape((3, 3, (), 20)).unwrap();
                let ids = ids.reshape((3, 3)).unwrap();
                let (ys, zs) = packed.apply_qkv_packed(&four(&q), &four(&k), &ids).unwrap();
                assert_eq!(ys.dims(), [3, 3, HEADS[0], 20]);
                assert!([bits(&ys), bits(&zs)] == wanted, "{name}");
            }
        }
    }
}

/// Calls in place, with one thread and with several, next to memory that must not change.
#[test]
fn inplace_calls_change_their_parts_alone() {
    for (tokens, width, rotary_dim) in [(7, 16, 10), (700, 128, 128)] {
        for dtype in [DType::F32, DType::BF16] {
            let rotary = layer(config(rotary_dim, width), dtype);
            let ids = positions(tokens, 64);
            for index in 0..parts(1, width, dtype).len() {
                let [q, k] = own_parts(tokens, width, dtype, index);
                let (ys, zs) = rotary.apply_qkv_packed(&q, &k, &ids).unwrap();
                rotary.apply_qkv_packed_inplace(&q, &k, &ids).unwrap();
                assert!(
                    bits(&q) == bits(&ys) && bits(&k) == bits(&zs),
                    "{index} {dtype:?}"
                );
            }
            let [h, g] = HEADS;
            let qkv = numbers(&[tokens, h + 2 * g, width], dtype, 3);
            let part = |first, len| qkv.narrow(1, first, len).unwrap();
            let (q, k, v) = (part(0, h), part(h, g), part(h + g, g));
            let before = bits(&v);
            let wanted = rotary.apply_qkv_packed(&q, &k, &ids).unwrap();
            rotary.apply_qkv_packed_inplace(&q, &k, &ids).unwrap();
            assert!(bits(&q) == bits(&wanted.0) && bits(&k) == bits(&wanted.1));
            assert!(bits(&v) == before, "values changed");
        }
    }
}

#[test]
fn given_tables_equal_those_of_a_layer() {
    for layout in LAYOUTS {
        for (dtype, table) in [
            (DType::F32, DType::F32),
            (DType::BF16, DType::F32),
            (DType::BF16, DType::BF16),
            (DType::F64, DType::F64),
        ] {
            let config = RotaryEmbeddingConfig {
                layout,
                table_dtype: Some(table),
                ..config(12, 20)
            };
            let rotary = layer(config, dtype);
            let of_tables = RotaryEmbedding::new(self::config(12, 20), table, CPU).unwrap();
            let (cos, sin) = of_tables.cos_sin(0, 64).unwrap();
            let fused = Tensor::cat(&[&cos, &sin], 1).unwrap();
            // Views with rows further apart than they are wide.
            let spaced = Tensor::cat(&[&fused, &fused], 1).unwrap();
            let spaced = spaced.narrow(1, 12, 12).unwrap();
            let turned = fused.t().unwrap().contiguous().unwrap().t().unwrap();
            let ids = positions(9, 64);
            for (name, [q, k]) in parts(9, 20, dtype) {
                let (ys, zs) = rotary.apply_qkv_packed(&q, &k, &ids).unwrap();
                let wanted = [bits(&ys), bits(&zs)];
                for (form, table) in [("fused", &fused), ("spaced", &spaced), ("turned", &turned)] {
                    let (ys, zs) = rotary::rotate_packed(&q, &k, table, &ids, layout).unwrap();
                    assert!([bits(&ys), bits(&zs)] == wanted, "{form} {name} {dtype:?}");
                }
                let (ys, zs) = rotary::rotate_packed(&q, &k, (&cos, &sin), &ids, layout).unwrap();
                assert!([bits(&ys), bits(&zs)] == wanted, "apart {name} {dtype:?}");
                let (q, k) = (own(&q), own(&k));
                rotary::rotate_packed_inplace(&q, &k, &fused, &ids, layout).unwrap();
                assert!([bits(&q), bits(&k)] == wanted, "in place {name} {dtype:?}");
            }
        }
    }
}

#[test]
fn gradients_flow_through_packed_calls() {
    let rotary = layer(config(16, 16), DType::F32);
    let ids = positions(5, 64);
    let (cos, sin) = rotary.cos_sin(0, 64).unwrap();
    let of = |heads, seed| Var::from_tensor(&numbers(&[5, heads, 16], DType::F32, seed)).unwrap();
    let (q, k) = (of(3, 1), of(2, 2));
    let loss = |(ys, zs): (Tensor, Tensor)| -> GradStore {
        let weights = |xs: &Tensor, seed| numbers(xs.dims(), DType::F32, seed);
        let sum = |xs: &Tensor, seed| (xs * weights(xs, seed)).unwrap().sum_all().unwrap();
        (sum(&ys, 3) + sum(&zs, 4)).unwrap().backward().unwrap()
    };
    let wanted = loss(
        rotary
            .by_reference(Route::Operations)
            .apply_qkv_packed(&q, &k, &ids)
            .unwrap(),
    );
    for found in [
        loss(rotary.apply_qkv_packed(&q, &k, &ids).unwrap()),
        loss(rotary::rotate_packed(&q, &k, (&cos, &sin), &ids, PairLayout::HalfSplit).unwrap()),
    ] {
        for xs in [&q, &k] {
            assert_eq!(bits(found.get(xs).unwrap()), bits(wanted.get(xs).unwrap()));
        }
    }
}

/// On devices ids are checked once per tensor. The reference path does so on the CPU too.
#[test]
fn ids_that_were_checked_once_are_checked_against_every_table() {
    let of = |rows| {
        let config = RotaryEmbeddingConfig {
            max_seq_len: Some(rows),
            ..config(8, 8)
        };
        layer(config, DType::F32).by_reference(Route::Operations)
    };
    let (long, short) = (of(64), of(40));
    let q = numbers(&[3, 2, 8], DType::F32, 1);
    let ids = Tensor::new(&[1u32, 50, 2], CPU).unwrap();
    let first = long.apply_qkv_packed(&q, &q, &ids).unwrap();
    let again = long.apply_qkv_packed(&q, &q, &ids).unwrap();
    assert_eq!(bits(&first.0), bits(&again.0));
    let error = error_of(short.apply_qkv_packed(&q, &q, &ids));
    assert!(
        error.contains("position id 50 at [1] is not below the limit of 40 rows"),
        "{error}"
    );
    // Another tensor with other ids.
    let other = Tensor::new(&[1u32, 51, 2], CPU).unwrap();
    let found = long.apply_qkv_packed(&q, &q, &other).unwrap();
    assert_ne!(bits(&found.0), bits(&first.0));
    // The values of a variable may have changed since.
    let ids = Var::new(&[1u32, 2, 3], CPU).unwrap();
    long.apply_qkv_packed(&q, &q, &ids).unwrap();
    ids.set(&Tensor::new(&[1u32, 2, 64], CPU).unwrap()).unwrap();
    let error = error_of(long.apply_qkv_packed(&q, &q, &ids));
    assert!(error.contains("position id 64 at [2]"), "{error}");
}

#[test]
fn calls_without_tokens_do_nothing() {
    let rotary = layer(config(8, 8), DType::F32);
    let (q, k) = (
        Tensor::zeros((0, 3, 8), DType::F32, CPU).unwrap(),
        Tensor::zeros((0, 1, 8), DType::F32, CPU).unwrap(),
    );
    let ids = position_ids_for_packed(&[], CPU).unwrap();
    let (ys, zs) = rotary.apply_qkv_packed(&q, &k, &ids).unwrap();
    assert_eq!((ys.dims(), zs.dims()), (q.dims(), k.dims()));
    rotary.apply_qkv_packed_inplace(&q, &k, &ids).unwrap();
    let table = Tensor::zeros((5, 8), DType::F32, CPU).unwrap();
    let (ys, _) = rotary::rotate_packed(&q, &k, &table, &ids, PairLayout::HalfSplit).unwrap();
    assert_eq!(ys.dims(), q.dims());
}

#[test]
fn wrong_packed_calls_are_named() {
    let rotary = layer(config(8, 8), DType::F32);
    let of = |shape: &[usize]| Tensor::zeros(shape, DType::F32, CPU).unwrap();
    let (q, k) = (of(&[3, 4, 8]), of(&[3, 2, 8]));
    let ids = Tensor::new(&[0u32, 1, 2], CPU).unwrap();
    let table = of(&[5, 8]);
    let layout = PairLayout::HalfSplit;
    let layers = |q: &Tensor, k: &Tensor, ids: &Tensor| {
        let error = error_of(rotary.apply_qkv_packed(q, k, ids));
        let in_place = error_of(rotary.apply_qkv_packed_inplace(q, k, ids));
        assert_eq!(error, in_place);
        error
    };
    pe_tests::rejected! {
        layers(&of(&[3, 8]), &k, &ids) =>
            "…the query: packed input must have shape [tokens, H, head_dim] or [B, T, H, head_dim], got [3, 8]…",
        layers(&q, &of(&[2, 2, 8]), &ids) => "…query and key must agree in batch and time…",
        layers(&q, &of(&[3, 2, 6]), &ids) => "…the key: …",
        layers(&q, &k, &Tensor::new(&[0u32, 1], CPU).unwrap()) => "…position ids must have shape [3], [1, 3] or [1, 3], got [2]…",
        layers(&q, &k, &Tensor::new(&[0u32, 64, 1], CPU).unwrap()) => "…position id 64 at [1] is not below the limit of 64 rows…",
        layers(&q, &k, &Tensor::new(&[0i64, -1, 1], CPU).unwrap()) => "…position id -1 at [1] is not below…",
        error_of(rotary.apply_qkv_packed_inplace(&q, &q, &ids)) => "…query and key are one tensor…",
        error_of(rotary::rotate_packed(&q, &k, &of(&[5, 7]), &ids, layout)) =>
            "…the table of cosines and sines has 7 columns, an odd number…",
        error_of(rotary::rotate_packed(&q, &k, &of(&[5, 10]), &ids, layout)) =>
            "…cos has 5 columns: the query of shape [1, 3, 4, 8] takes 1..=4…",
        error_of(rotary::rotate_packed(&q, &k, &of(&[5]), &ids, layout)) =>
            "…the table of cosines and sines must have two axes, got [5]…",
        error_of(rotary::rotate_packed(&q, &k, &of(&[2, 8]), &ids, layout)) =>
            "…position id 2 at [2] is not below the limit of 2 rows…",
        error_of(rotary::rotate_packed(&q, &k, (&of(&[5, 4]), &of(&[5, 3])), &ids, layout)) => "…cos and sin must agree…",
        error_of(rotary::rotate_packed(&q, &k, &table.to_dtype(DType::F16).unwrap(), &ids, layout)) =>
            "…the query is f32, but the tables are f16…",
        error_of(rotary::rotate_packed(&q, &k, Var::from_tensor(&table).unwrap().as_tensor(), &ids, layout)) =>
            "…the table is tracked for gradients…",
        error_of(rotary::rotate_packed(&q, &k, &table, &ids.to_dtype(DType::U8).unwrap(), layout)) =>
            "…position ids must be u32 or i64, not u8…",
    }
    // Nothing was rotated.
    assert!(f64s(&q).iter().all(|x| *x == 0.0));
}
