//! The layer over several axes: against the code of the models, against a definition element by element, and against the
//! composition of Candle's operations.

use super::*;
use candle_core::{D, Var};
use pe_candle::{
    AxialPositions, AxialRotaryConfig, AxialRotaryEmbedding, AxialRotaryEmbeddingConfig,
    AxialRotaryPreset, AxisPairing, CoordinateAxis, Element, PatchGrid, RotaryAxis, rotary,
};
use pe_tests::{golden, tolerance};
use serde_json::Value;

fn axial(config: AxialRotaryConfig, axis_order: HeadOrder, dtype: DType) -> AxialRotaryEmbedding {
    let config = AxialRotaryEmbeddingConfig {
        axis_order,
        ..AxialRotaryEmbeddingConfig::new(config)
    };
    AxialRotaryEmbedding::new(config, dtype, CPU).unwrap()
}

/// The layer of a preset, for coordinates as the model has them.
fn of_preset(preset: AxialRotaryPreset, head_dim: usize, dtype: DType) -> AxialRotaryEmbedding {
    let config = AxialRotaryEmbeddingConfig::from_preset(preset, head_dim);
    AxialRotaryEmbedding::new(config, dtype, CPU).unwrap()
}

fn list<T: serde::de::DeserializeOwned>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap()
}

/// Specifications of each kind, for heads of 20 columns on two axes of a grid of 2 x 3.
fn kinds() -> Vec<AxialRotaryConfig> {
    let axes = [8, 8].map(|width| RotaryAxis::new(width, 100.0));
    let shared = AxialRotaryPreset::Qwen2Vl.config(32).axes[0]
        .frequencies
        .clone();
    let shared = [8, 8].map(|width| RotaryAxis::with(width, shared.clone()));
    let mut all = Vec::new();
    for layout in LAYOUTS {
        for (pairing, axes) in [
            (AxisPairing::WholeHead, &axes),
            (AxisPairing::PerAxis, &axes),
            (AxisPairing::Alternating, &axes),
            (AxisPairing::Tiled, &axes),
            (AxisPairing::ByColumn, &shared),
        ] {
            if (&pairing, layout) == (&AxisPairing::Tiled, PairLayout::HalfSplit) {
                continue;
            }
            all.push(AxialRotaryConfig {
                pairing,
                layout,
                leading_pairs: 1,
                head_dim: 20,
                prefix_tokens: 2,
                suffix_tokens: 1,
                ..AxialRotaryConfig::new(axes.clone())
            });
        }
    }
    all
}

const SIZES: &[usize; 2] = &[2, 3];
const TOKENS: usize = 2 + 6 + 1;

#[test]
fn presets_rotate_as_the_models_do() -> Result<()> {
    let all: Value = golden::json("rotary_axial.json");
    for case in all["cases"].as_array().unwrap() {
        let name = case["preset"].as_str().unwrap();
        let preset: AxialRotaryPreset = name.parse().unwrap();
        let head_dim = case["head_dim"].as_u64().unwrap() as usize;
        let layer = of_preset(preset, head_dim, DType::F32);
        let expected: Vec<Vec<f32>> = list(&case["rotated"]);
        let query =
            |token: usize, column: usize| ((7 * token + 3 * column + 5) % 11) as f32 / 4.0 - 1.25;
        let row = |token| (0..head_dim).map(move |column| query(token, column));
        let q: Vec<f32> = (0..expected.len()).flat_map(row).collect();
        let q = Tensor::from_vec(q, (1, 1, expected.len(), head_dim), CPU)?;
        let positions: Vec<Vec<f64>> = list(&case["positions"]);
        let mut ids = Tensor::new(positions, CPU)?;
        if layer.config().coordinate_axis == CoordinateAxis::First {
            ids = ids.t()?;
        }
        let mut found = vec![layer.apply(&q, &ids)?];
        if let Some(sizes) = case.get("sizes") {
            let sizes: Vec<usize> = list(sizes);
            found.push(layer.apply(&q, &sizes)?);
        }
        let most = match preset {
            AxialRotaryPreset::LtxVideo => tolerance::AXIAL_LTX,
            _ => tolerance::AXIAL_ROTATED,
        };
        for found in found {
            for (found, expected) in f64s(&found).iter().zip(expected.iter().flatten()) {
                let error = (found - f64::from(*expected)).abs();
                assert!(error <= most, "{name}: {found} {expected}");
            }
        }
    }
    Ok(())
}

/// Rotates pair after pair by the tables of pe-core, in the type of the elements.
fn by_definition<T: Element>(
    layer: &AxialRotaryEmbedding,
    xs: &Tensor,
    times: impl Fn(f64, f64) -> f64,
    plus: impl Fn(f64, f64) -> f64,
) -> Vec<f64> {
    let rotary = layer.rotary();
    let tables = rotary.grid_tables::<T>(SIZES).unwrap();
    let second = tables.second.as_ref().unwrap_or(&tables.first);
    let dims = xs.dims4().unwrap();
    let (order, width) = (layer.config().axis_order, dims.3);
    let mut out = f64s(xs);
    for (row, values) in out.chunks_mut(width).enumerate() {
        let index = [row / (dims.1 * dims.2), row / dims.2 % dims.1, row % dims.2];
        let time = index[time_axis(order)];
        let old = values.to_vec();
        for pair in 0..rotary.pairs() {
            let (a, b) = rotary.columns(pair);
            let entry = |table: &pe_core::Table<T>| table.get(time, pair).unwrap().to_f64();
            let (cos, sin) = (entry(&tables.first.cos), entry(&tables.first.sin));
            values[a] = plus(times(old[a], cos), times(old[b], -sin));
            let (cos, sin) = (entry(&second.cos), entry(&second.sin));
            values[b] = plus(times(old[a], sin), times(old[b], cos));
        }
    }
    out
}

#[test]
fn every_kind_rotates_by_its_definition() {
    for config in kinds() {
        for order in ORDERS {
            let shape = shape_of(order, 2, 3, TOKENS, 20);
            let layer = axial(config.clone(), order, DType::F64);
            for (view, xs) in views(shape, DType::F64) {
                let found = layer.apply(&xs, SIZES).unwrap();
                let wanted = by_definition::<f64>(&layer, &xs, |x, y| x * y, |x, y| x + y);
                assert_eq!(f64s(&found), wanted, "{config:?} {order:?} {view}");
            }
            let layer = axial(config.clone(), order, DType::F32);
            let xs = numbers(&shape, DType::F32, 3);
            let single = |x: f64| f64::from(x as f32);
            let found = layer.apply(&xs, SIZES).unwrap();
            let (times, plus) = (|x, y| single(x * y), |x, y| single(x + y));
            let wanted = by_definition::<f32>(&layer, &xs, times, plus);
            assert_eq!(f64s(&found), wanted, "{config:?} {order:?}");
        }
    }
}

/// The fused passes on every instruction set, in place and fresh, and both compositions.
#[test]
fn every_path_has_the_same_bits() -> Result<()> {
    for config in kinds() {
        for (dtype, table) in TYPES {
            for order in ORDERS {
                let config = AxialRotaryEmbeddingConfig {
                    axis_order: order,
                    table_dtype: Some(table),
                    ..AxialRotaryEmbeddingConfig::new(config.clone())
                };
                let layer = AxialRotaryEmbedding::new(config, dtype, CPU)?;
                let xs = numbers(&shape_of(order, 2, 3, TOKENS, 20), dtype, 5);
                let keys = xs.narrow(
                    match order {
                        HeadOrder::HeadFirst => 1,
                        _ => 2,
                    },
                    1,
                    2,
                )?;
                let wanted = bits(&layer.apply(&xs, SIZES)?);
                for route in [Route::Operations, Route::Rope] {
                    let composed = layer.by_reference(route).apply(&xs, SIZES)?;
                    assert_eq!(bits(&composed), wanted, "{route:?}");
                }
                let (q, k) = layer.apply_qkv(&xs, &keys, SIZES)?;
                assert_eq!(bits(&q), wanted);
                assert_eq!(bits(&k), bits(&layer.apply(&keys, SIZES)?));
                for (name, layer) in on_each_set(&layer) {
                    assert_eq!(bits(&layer.apply(&xs, SIZES)?), wanted, "{name}");
                }
                let own = xs.copy()?;
                match layer.rotary().is_rotation() {
                    true => {
                        layer.apply_inplace(&own, SIZES)?;
                        assert_eq!(bits(&own), wanted);
                    }
                    false => {
                        let message = error_of(layer.apply_inplace(&own, SIZES));
                        let text =
                            "the pairing of this layer is not a rotation, which works in place";
                        assert_eq!(message, text);
                        assert_eq!(bits(&own), bits(&xs));
                    }
                }
            }
        }
    }
    Ok(())
}

/// Removes the axis of the batch.
#[test]
fn three_axes_are_a_batch_of_one() -> Result<()> {
    for config in kinds() {
        for order in ORDERS {
            let layer = axial(config.clone(), order, DType::F32);
            let xs = numbers(&shape_of(order, 1, 3, TOKENS, 20), DType::F32, 5);
            let alone = xs.squeeze(batch_axis(order))?;
            let found = layer.apply(&alone, SIZES)?;
            assert_eq!(found.dims(), alone.dims());
            assert_eq!(bits(&found), bits(&layer.apply(&xs, SIZES)?));
            if layer.rotary().is_rotation() {
                layer.apply_inplace(&alone, SIZES)?;
                assert_eq!(bits(&alone), bits(&found));
            }
        }
    }
    Ok(())
}

#[test]
fn coordinates_of_each_sequence_and_of_all() -> Result<()> {
    for (preset, ids) in [
        (
            AxialRotaryPreset::Flux,
            Tensor::new(&[[[0u32, 1, 2], [0, 5, 7]], [[1, 0, 0], [9, 8, 700]]], CPU)?,
        ),
        (
            AxialRotaryPreset::Qwen3Vl,
            Tensor::new(
                &[[[0u32, 1], [0, 5]], [[1, 0], [9, 8]], [[4, 4], [7, 70]]],
                CPU,
            )?,
        ),
    ] {
        let layer = of_preset(preset, 32, DType::F32);
        let batch = match layer.config().coordinate_axis {
            CoordinateAxis::First => 1,
            CoordinateAxis::Last => 0,
        };
        let xs = numbers(&[2, 3, 2, 32], DType::F32, 1);
        let found = layer.apply(&xs, &ids)?;
        for sequence in 0..2 {
            let alone = ids.narrow(batch, sequence, 1)?;
            let of_all = layer.apply(&xs, &alone)?;
            let same = layer.apply(&xs, &alone.squeeze(batch)?)?;
            assert_eq!(bits(&of_all), bits(&same));
            let part = |ys: &Tensor| bits(&ys.narrow(0, sequence, 1).unwrap());
            assert_eq!(part(&found), part(&of_all));
        }
        let (cos, sin) = layer.cos_sin(&ids)?;
        assert_eq!((cos.dims(), sin.dims()), (&[2, 2, 16][..], &[2, 2, 16][..]));
        let (layout, order) = (layer.rotary().config().layout, HeadOrder::HeadFirst);
        let by_tables = rotary::rotate(&xs, &cos, &sin, layout, order)?;
        assert_eq!(bits(&by_tables), bits(&found));
        for dtype in [DType::I64, DType::F32, DType::F64] {
            let same = layer.apply(&xs, &ids.to_dtype(dtype)?)?;
            assert_eq!(bits(&same), bits(&found));
        }
        assert_eq!(
            bits(&layer.apply(&xs, AxialPositions::Coordinates(&ids))?),
            bits(&found)
        );
    }
    Ok(())
}

#[test]
fn prefix_tokens_pass_unchanged() -> Result<()> {
    for preset in [
        AxialRotaryPreset::DinoV3,
        AxialRotaryPreset::Eva02,
        AxialRotaryPreset::Llama4Vision,
    ] {
        let layer = of_preset(preset, 32, DType::F32);
        let AxialRotaryConfig {
            prefix_tokens: before,
            suffix_tokens: after,
            ..
        } = *layer.rotary().config();
        assert!(before + after > 0);
        let xs = numbers(&[1, 2, before + 6 + after, 32], DType::F32, 4);
        let found = layer.apply(&xs, SIZES)?;
        for (start, len) in [(0, before), (before + 6, after)] {
            assert_eq!(
                bits(&found.narrow(2, start, len)?),
                bits(&xs.narrow(2, start, len)?)
            );
        }
        // Not the patch at position 0.
        let other = |ys: &Tensor| bits(&ys.narrow(2, before + 4, 1).unwrap());
        assert_ne!(other(&found), other(&xs));
    }
    Ok(())
}

#[test]
fn gradients_are_those_of_the_composition() -> Result<()> {
    for config in kinds() {
        for order in ORDERS {
            let layer = axial(config.clone(), order, DType::F64);
            let shape = shape_of(order, 2, 3, TOKENS, 20);
            let weights = numbers(&shape, DType::F64, 8);
            let xs = Var::from_tensor(&numbers(&shape, DType::F64, 9))?;
            let gradient = |layer: &AxialRotaryEmbedding| -> Result<Vec<f64>> {
                let loss = (layer.apply(&xs, SIZES)? * &weights)?.sum_all()?;
                Ok(f64s(loss.backward()?.get(&xs).unwrap()))
            };
            let found = gradient(&layer)?;
            assert_eq!(found, gradient(&layer.by_reference(Route::Operations))?);
            // The layer is linear: its gradient is the difference of the loss, in any one element.
            let loss = |xs: &Tensor| -> Result<f64> {
                (layer.apply(xs, SIZES)? * &weights)?
                    .sum_all()?
                    .to_scalar::<f64>()
            };
            for element in [0, 41, 107] {
                let mut step = vec![0.0; found.len()];
                step[element] = 1.0;
                let moved = (xs.as_tensor() + Tensor::from_vec(step, &shape, CPU)?)?;
                let difference = loss(&moved)? - loss(xs.as_tensor())?;
                assert!(
                    (difference - found[element]).abs() < tolerance::AXIAL_SCORE,
                    "{config:?} {order:?}"
                );
            }
        }
    }
    Ok(())
}

/// Scores of rotations depend on differences of positions alone; those of the other two pairings do not.
#[test]
fn rotations_depend_on_differences() -> Result<()> {
    for preset in AxialRotaryPreset::ALL {
        let layer = of_preset(preset, 192, DType::F64);
        let axes = layer.rotary().axes();
        let unrotated = {
            let config = layer.rotary().config();
            config.prefix_tokens + config.suffix_tokens
        };
        let token = layer.rotary().config().prefix_tokens;
        let one = |seed| numbers(&[1, 1, 1 + unrotated, 192], DType::F64, seed);
        let score = |q: [f64; 2], k: [f64; 2]| -> Result<f64> {
            let at = |xs: Tensor, [first, others]: [f64; 2]| {
                let mut position = vec![others; axes];
                position[0] = first;
                let shape = match layer.config().coordinate_axis {
                    CoordinateAxis::First => (axes, 1),
                    CoordinateAxis::Last => (1, axes),
                };
                let rotated = layer.apply(&xs, &Tensor::from_vec(position, shape, CPU)?)?;
                rotated.narrow(2, token, 1)
            };
            (at(one(1), q)? * at(one(2), k)?)?.sum_all()?.to_scalar()
        };
        let (here, there) = (
            score([3.0, 1.0], [1.0, 5.0])?,
            score([13.0, -6.0], [11.0, -2.0])?,
        );
        let same = (here - there).abs() < tolerance::AXIAL_SCORE;
        assert_eq!(
            same,
            layer.rotary().is_rotation(),
            "{preset} {here} {there}"
        );
    }
    Ok(())
}

/// Tables are built once for each grid, and those of the last four are kept, by all clones.
#[test]
fn tables_of_four_grids_are_kept() -> Result<()> {
    let layer = of_preset(AxialRotaryPreset::Pixtral, 16, DType::F32);
    let clone = layer.clone();
    let id = |layer: &AxialRotaryEmbedding, rows: usize| layer.cos_sin(&[rows, 2]).unwrap().0.id();
    let first = id(&layer, 1);
    for rows in 2..=4 {
        id(&clone, rows);
    }
    assert_eq!(id(&clone, 1), first);
    id(&layer, 5);
    assert_ne!(id(&layer, 1), first);
    // Other coordinates in the memory of a tensor are noticed.
    let ids = Var::from_tensor(&Tensor::new(&[[1f32, 2.], [3., 4.]], CPU)?)?;
    let xs = numbers(&[1, 1, 2, 16], DType::F32, 3);
    let before = bits(&layer.apply(&xs, ids.as_tensor())?);
    ids.set(&Tensor::new(&[[1f32, 2.], [3., 5.]], CPU)?)?;
    assert_ne!(bits(&layer.apply(&xs, ids.as_tensor())?), before);
    std::thread::scope(|scope| {
        for rows in 0..16 {
            let (layer, xs) = (&layer, &xs);
            scope.spawn(move || {
                let ids = [[rows as f32 % 7.0, 1.0], [0.0, rows as f32]];
                let ids = Tensor::new(&ids, CPU).unwrap();
                let alone = of_preset(AxialRotaryPreset::Pixtral, 16, DType::F32);
                let wanted = bits(&alone.apply(xs, &ids).unwrap());
                assert_eq!(bits(&layer.apply(xs, &ids).unwrap()), wanted);
            });
        }
    });
    Ok(())
}

/// Images of several sizes in a sequence have the rows of each, one after the other.
#[test]
fn images_have_the_rows_of_their_grids() -> Result<()> {
    let image = |frames, rows, columns| PatchGrid {
        frames,
        rows,
        columns,
    };
    let images = [
        image(1, 2, 4),
        image(2, 2, 2),
        image(2, 2, 2),
        image(1, 0, 2),
        image(3, 4, 2),
    ];
    let sizes = [[1, 2, 4], [2, 2, 2], [2, 2, 2], [1, 0, 2], [3, 4, 2]];
    for config in kinds().into_iter().chain([
        AxialRotaryPreset::Qwen2Vl.config(32),
        AxialRotaryPreset::Flux.config(128),
    ]) {
        let rotary = pe_candle::AxialRotary::new(config.clone())?;
        let packed = rotary.images_tables::<f32>(&images)?;
        let each = sizes.map(|sizes| rotary.grid_tables::<f32>(&sizes).unwrap());
        let of = |table: &dyn Fn(&pe_candle::AxialTables<f32>) -> Vec<f32>| {
            let wanted: Vec<f32> = each.iter().flat_map(table).collect();
            assert_eq!(table(&packed), wanted, "{config:?}");
        };
        of(&|tables| tables.first.cos.as_slice().to_vec());
        of(&|tables| tables.first.sin.as_slice().to_vec());
        of(&|tables| {
            tables
                .second
                .as_ref()
                .map_or(Vec::new(), |second| second.sin.as_slice().to_vec())
        });
        let layer = axial(config.clone(), HeadOrder::HeadFirst, DType::F32);
        let xs = numbers(
            &[2, 3, packed.first.cos.rows(), config.head_dim],
            DType::F32,
            8,
        );
        let ys = layer.apply(&xs, &images)?;
        let mut start = 0;
        for (sizes, tables) in sizes.iter().zip(&each) {
            let tokens = tables.first.cos.rows();
            let part = layer.apply(&xs.narrow(2, start, tokens)?, sizes)?;
            assert_eq!(bits(&ys.narrow(2, start, tokens)?), bits(&part));
            start += tokens;
        }
    }
    let flat = AxialRotaryConfig::new(vec![RotaryAxis::new(8, 100.0)]);
    let layer = axial(flat, HeadOrder::HeadFirst, DType::F32);
    let error = error_of(layer.apply(&numbers(&[1, 1, 8, 8], DType::F32, 8), &images));
    assert!(error.contains("[1, 2, 4]"), "{error}");
    let layer = of_preset(AxialRotaryPreset::Pixtral, 16, DType::F32);
    let huge = [image(1, u32::MAX, 2), image(1, 2, 2)];
    let error = error_of(layer.cos_sin(&huge));
    assert!(error.contains("8589934594"), "{error}");
    Ok(())
}

#[test]
fn inputs_that_do_not_fit_are_errors() -> Result<()> {
    let layer = of_preset(AxialRotaryPreset::DinoV3, 16, DType::F32);
    let xs = |dims: &[usize]| Tensor::zeros(dims, DType::F32, CPU);
    let good = xs(&[2, 3, 11, 16])?;
    layer.apply(&good, SIZES)?;
    let ids = |dims: &[usize], dtype| Tensor::zeros(dims, dtype, CPU).unwrap();
    for (input, positions, expected) in [
        (
            &xs(&[2, 3, 6, 16])?,
            AxialPositions::from(SIZES),
            "the input has batch 2 and 6 tokens, but the positions are of 11 tokens, 5 of which are not rotated",
        ),
        (
            &xs(&[2, 3, 11, 8])?,
            AxialPositions::from(SIZES),
            "the input: head-first input must have shape [B, H, T, head_dim] with head_dim 16, or without B, got \
             [2, 3, 11, 8]",
        ),
        (
            &xs(&[11, 16])?,
            AxialPositions::from(SIZES),
            "the input: head-first input must have shape [B, H, T, head_dim] with head_dim 16, or without B, got [11, 16]",
        ),
        (
            &good.to_dtype(DType::F64)?,
            AxialPositions::from(&ids(&[3, 6, 2], DType::U32)),
            "the input has batch 2 and 11 tokens, but the positions are of 3 sequences of 11 tokens, 5 of which are not \
             rotated",
        ),
        (
            &good,
            AxialPositions::from(&ids(&[6, 3], DType::U32)),
            "coordinates must have shape [T, 2] or [B, T, 2], got [6, 3]",
        ),
        (
            &good,
            AxialPositions::from(&ids(&[2], DType::U32)),
            "coordinates must have shape [T, 2] or [B, T, 2], got [2]",
        ),
        (
            &good,
            AxialPositions::from(&ids(&[6, 2], DType::U8)),
            "coordinates must be u32, i64, f32, or f64, not u8",
        ),
        (
            &good,
            AxialPositions::from(&ids(&[6, 2], DType::BF16)),
            "coordinates must be u32, i64, f32, or f64, not bf16",
        ),
        (
            &good,
            AxialPositions::from(&Tensor::new(&[[1i64, 1 << 54]], CPU)?),
            "coordinate 18014398509481984 at element 1 exceeds 2^53 in magnitude",
        ),
        (
            &good,
            AxialPositions::from(&Tensor::new(&[[1f32, f32::NAN]], CPU)?),
            "position NaN (at index 0) is not a finite number within -2^53..=2^53",
        ),
        (
            &good,
            AxialPositions::from(&ids(&[1, 1], DType::F32).broadcast_as((1 << 40, 2))?),
            "268435456",
        ),
        (
            &good,
            AxialPositions::from(&[1usize << 40, 2]),
            "2199023255552 tokens exceed the limit of 268435456 in one call",
        ),
        (
            &good,
            AxialPositions::from(&[6usize]),
            "a grid of sizes [6] does not go with 2 axes: one size per axis is needed, after a number of frames if they \
             repeat",
        ),
    ] {
        let found = error_of(layer.apply(input, positions));
        let memory = expected == "268435456" && found.starts_with("the coordinates: no memory for");
        assert!(found == expected || memory, "{found}\n{expected}");
        assert_eq!(error_of(layer.apply_inplace(input, positions)), found);
    }
    let half = good.to_dtype(DType::F16)?;
    layer.apply(&half, SIZES)?; // f32 tables
    let message = error_of(layer.apply(&good.to_dtype(DType::U32)?, SIZES));
    assert!(
        message.contains("must be f32, f64, f16 or bf16"),
        "{message}"
    );
    let message = error_of(layer.apply_qkv(&good, &xs(&[1, 3, 11, 16])?, SIZES));
    assert!(message.starts_with("query and key must agree"), "{message}");
    let tiled = of_preset(AxialRotaryPreset::VJepa2, 16, DType::F32);
    let message = error_of(tiled.cos_sin(&[1, 2, 3]));
    assert_eq!(
        message,
        "the pairs of this layer have two angles each: it is not a rotation"
    );
    // Nothing to rotate.
    let layer = of_preset(AxialRotaryPreset::Pixtral, 16, DType::F32);
    assert_eq!(
        layer.apply(&xs(&[2, 3, 0, 16])?, &[0, 5])?.dims(),
        [2, 3, 0, 16]
    );
    assert_eq!(
        layer.apply(&xs(&[0, 3, 4, 16])?, &[2, 2])?.dims(),
        [0, 3, 4, 16]
    );
    let none = Tensor::zeros((0, 2), DType::I64, CPU)?;
    assert_eq!(
        layer.apply(&xs(&[2, 3, 0, 16])?, &none)?.dims(),
        [2, 3, 0, 16]
    );
    let (cos, _) = layer.cos_sin(&[3, 0, 5])?;
    assert_eq!(cos.dim(D::Minus1)?, 8);
    Ok(())
}

/// Large tables lie in memory of the layer's own, and are the same.
#[test]
fn large_grids_are_those_of_the_core() -> Result<()> {
    use AxialRotaryPreset::{DinoV3, Gemma4Vision, Wan};
    fn check<T: Element + candle_core::WithDType>(
        preset: AxialRotaryPreset,
        head_dim: usize,
        sizes: &[usize],
    ) -> Result<()> {
        let config = AxialRotaryEmbeddingConfig {
            table_dtype: Some(T::DTYPE),
            ..AxialRotaryEmbeddingConfig::from_preset(preset, head_dim)
        };
        let layer = AxialRotaryEmbedding::new(config, T::DTYPE, CPU)?;
        let tables = layer.rotary().grid_tables::<T>(sizes)?.first;
        let (cos, sin) = layer.cos_sin(sizes)?;
        for (tensor, table) in [(cos, tables.cos), (sin, tables.sin)] {
            assert_eq!(tensor.dims(), [table.rows(), table.width()]);
            let found = tensor.flatten_all()?.to_vec1::<T>()?;
            assert!(found == table.as_slice(), "{preset} {}", T::NAME);
        }
        Ok(())
    }
    check::<f32>(Wan, 128, &[4, 64, 65])?;
    check::<f64>(Wan, 128, &[4, 64, 65])?;
    check::<bf16>(Wan, 128, &[8, 64, 65])?;
    check::<f32>(DinoV3, 64, &[190, 180])?;
    check::<f32>(Gemma4Vision, 64, &[190, 180])
}
