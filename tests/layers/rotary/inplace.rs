//! The variant in place.

use super::*;
use candle_core::Var;

#[test]
fn apply_inplace_gives_the_bits_of_apply() -> Result<()> {
    let ids = Tensor::new(&[[3u32, 9, 63, 0], [1, 1, 2, 2]], CPU)?;
    let of = |order, dtype| views(shape_of(order, 2, 3, 4, 44), dtype);
    for case in cases(ORDERS, of) {
        if case.view == "broadcast" || case.view == "one column" {
            continue;
        }
        for layout in LAYOUTS {
            let config = RotaryEmbeddingConfig {
                layout,
                axis_order: case.order,
                table_dtype: Some(case.table),
                ..config(38, 44)
            };
            for (set, layer) in on_each_set(&layer(config, case.dtype)) {
                let about = format!("{case} {layout:?} {set}");
                // Of the same strides, with memory of its own.
                let fresh = || {
                    let mut views = of(case.order, case.dtype).into_iter();
                    views.find(|(view, _)| *view == case.view).unwrap().1
                };
                let (own, wanted) = (fresh(), layer.apply(&case.xs, 60)?);
                layer.apply_inplace(&own, 60)?;
                assert_eq!(bits(&own), bits(&wanted), "{about}");
                let (own, wanted) = (fresh(), layer.apply_with_positions(&case.xs, &ids)?);
                layer.apply_with_positions_inplace(&own, &ids)?;
                assert_eq!(bits(&own), bits(&wanted), "{about} ids");
            }
        }
    }
    Ok(())
}

#[test]
fn memory_around_a_view_stays() -> Result<()> {
    let layer = layer(config(8, 8), DType::F32);
    let qkv = numbers(&[1, 2, 3, 24], DType::F32, 1);
    let before = bits(&qkv);
    let q = qkv.narrow(3, 8, 8)?;
    layer.apply_inplace(&q, 1)?;
    for (index, (before, after)) in before.iter().zip(bits(&qkv)).enumerate() {
        let inside = (8..16).contains(&(index % 24));
        assert!(inside || *before == after, "{index}");
    }
    assert_ne!(bits(&qkv), before);
    Ok(())
}

#[test]
fn variables_overlaps_and_tables_are_rejected_in_place_and_unchanged() -> Result<()> {
    let layer = layer(config(8, 8), DType::F32);
    let start = numbers(&[1, 2, 3, 8], DType::F32, 1);
    let var = Var::from_tensor(&start)?;
    let computed = (var.as_tensor() * 1.0)?;
    let row = start.narrow(2, 0, 1)?;
    let shared = row.broadcast_as((1, 2, 3, 8))?;
    let ids = Tensor::new(&[0u32, 1, 2], CPU)?;
    for (xs, message) in [
        (
            var.as_tensor(),
            "the input is a variable: take a copy (detach, then copy) to rotate in place",
        ),
        (
            &computed,
            "the input was computed from a variable: take a copy (detach, then copy) to rotate in place",
        ),
        (
            &shared,
            "elements of the input share their places: shape [1, 2, 3, 8] with strides [48, 24, 0, 1] cannot be changed in place",
        ),
    ] {
        let before = bits(xs);
        assert_eq!(error_of(layer.apply_inplace(xs, 0)), message);
        assert_eq!(
            error_of(layer.apply_with_positions_inplace(xs, &ids)),
            message
        );
        assert_eq!(bits(xs), before);
    }
    // The tables themselves.
    let (cos, _) = layer.cos_sin(0, 64)?;
    let before = bits(&cos);
    let inside = cos.reshape((1, 1, 32, 8))?;
    assert!(layer.apply_inplace(&inside, 0).is_err());
    assert_eq!(bits(&cos), before);
    Ok(())
}
