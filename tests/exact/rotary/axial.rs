//! Rotary embeddings over several axes, against the code of the models and against exact values.

use half::{bf16, f16};
use pe_core::{
    AxialRotary, AxialRotaryConfig, AxialRotaryPreset, AxisFrequencies, AxisPairing, CosSin,
    Direction, Element, Error, FrequencyUnit, GridCoordinates, GridIndexing, PairLayout, PatchGrid,
    PatchOrder, PatchPositions, RopeScaling, Rotary, RotaryAxis, RotaryConfig, RotaryRecipe,
    ntk_base, vision_windows,
};
use pe_tests::{golden, rejected, tolerance};
use serde_json::Value;

/// The cases of the golden file, with the layer of each.
fn cases() -> Vec<(String, AxialRotary, Value)> {
    let all: Value = golden::json("rotary_axial.json");
    let case = |case: &Value| {
        let name = case["preset"].as_str().unwrap();
        let preset: AxialRotaryPreset = name.parse().unwrap();
        let config = preset.config(case["head_dim"].as_u64().unwrap() as usize);
        let rotary = AxialRotary::new(config).unwrap();
        (name.to_owned(), rotary, case.clone())
    };
    let cases: Vec<_> = all["cases"].as_array().unwrap().iter().map(case).collect();
    for preset in AxialRotaryPreset::ALL {
        assert!(
            cases.iter().any(|(name, ..)| name == preset.name()),
            "{preset}"
        );
    }
    cases
}

fn list<T: serde::de::DeserializeOwned>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap()
}

/// Positions of the tokens of a case, one list for each axis.
fn by_axis(case: &Value) -> Vec<Vec<f64>> {
    let tokens: Vec<Vec<f64>> = list(&case["positions"]);
    (0..tokens[0].len())
        .map(|axis| tokens.iter().map(|token| token[axis]).collect())
        .collect()
}

/// Tables of a case: both of each type, the first columns' and the second columns'.
fn tables<T: Element>(rotary: &AxialRotary, case: &Value) -> [CosSin<T>; 2] {
    let lists = by_axis(case);
    let lists: Vec<&[f64]> = lists.iter().map(Vec::as_slice).collect();
    let found = rotary.tables_at_reals::<T>(&lists).unwrap();
    let second = found.second.unwrap_or_else(|| found.first.clone());
    [found.first, second]
}

#[test]
fn positions_of_grids_are_those_of_the_models() {
    for (name, rotary, case) in cases() {
        if case.get("sizes").is_some() {
            let sizes: Vec<usize> = list(&case["sizes"]);
            assert_eq!(
                rotary.grid_positions(&sizes).unwrap(),
                by_axis(&case),
                "{name}"
            );
            let by_grid = rotary.grid_tables::<f64>(&sizes).unwrap();
            let [first, second] = tables::<f64>(&rotary, &case);
            assert_eq!(by_grid.first, first, "{name}");
            assert_eq!(by_grid.second.unwrap_or(first), second, "{name}");
        }
    }
}

/// The golden script's queries.
fn query(token: usize, column: usize) -> f64 {
    ((7 * token + 3 * column + 5) % 11) as f64 / 4.0 - 1.25
}

/// Every pair of every token rotated in f64, by the definition.
#[test]
fn rotated_queries_are_those_of_the_models() {
    for (name, rotary, case) in cases() {
        let [first, second] = tables::<f64>(&rotary, &case);
        let expected: Vec<Vec<f64>> = list(&case["rotated"]);
        assert_eq!(first.cos.rows(), expected.len(), "{name}");
        assert_eq!(rotary.is_rotation(), first == second, "{name}");
        for (token, expected) in expected.iter().enumerate() {
            let width = rotary.config().head_dim;
            let mut found: Vec<f64> = (0..width).map(|column| query(token, column)).collect();
            for pair in 0..rotary.pairs() {
                let (a, b) = rotary.columns(pair);
                let (x, y) = (query(token, a), query(token, b));
                let at = |table: &CosSin<f64>| {
                    let entry = |t: &pe_core::Table<f64>| t.get(token, pair).unwrap();
                    (entry(&table.cos), entry(&table.sin))
                };
                let ((cos, sin), (cos_b, sin_b)) = (at(&first), at(&second));
                found[a] = x * cos - y * sin;
                found[b] = y * cos_b + x * sin_b;
            }
            for (column, (found, expected)) in found.iter().zip(expected).enumerate() {
                let error = (found - expected).abs();
                let most = if name == "ltx-video" {
                    tolerance::AXIAL_LTX
                } else {
                    tolerance::AXIAL_ROTATED
                };
                assert!(error <= most, "{name} {token} {column}: {found} {expected}");
            }
        }
    }
}

#[test]
fn entries_are_the_nearest_of_four_types() {
    fn check<T: Element>(form: usize, count: &mut usize) {
        for (name, rotary, case) in cases() {
            let tables = tables::<T>(&rotary, &case);
            for entry in case["entries"].as_array().unwrap() {
                let at = |index: usize| entry[index].as_u64().unwrap() as usize;
                let (token, pair, column) = (at(0), at(1), at(2));
                let row = token + rotary.config().prefix_tokens;
                let CosSin { cos, sin } = &tables[column];
                for (table, function) in [(cos, 3), (sin, 4)] {
                    let text = entry[function][form].as_str().unwrap();
                    let bits = golden::hex(text);
                    let found = table.get(row, pair).unwrap();
                    let zero = bits == 0 && found == T::default();
                    assert!(
                        found.pattern() == bits || zero,
                        "{name} {} token {token}, pair {pair}, column {column}: {found:?} {text}",
                        T::NAME
                    );
                    *count += 1;
                }
            }
        }
    }
    let mut count = 0;
    check::<f64>(0, &mut count);
    check::<f32>(1, &mut count);
    check::<f16>(2, &mut count);
    check::<bf16>(3, &mut count);
    assert!(count > 6_000, "{count}");
}

/// Angles that are complete quarter, third, sixth and half turns: their sines and cosines are rational.
#[test]
fn rational_sines_are_exact() {
    fn check<T: Element>() {
        let axis = |frequencies| RotaryAxis::with(6, frequencies);
        let config = AxialRotaryConfig {
            unit: FrequencyUnit::Turn,
            ..AxialRotaryConfig::new([
                axis(AxisFrequencies::Custom(vec![1.0, 3.0, 0.0])),
                // 1/3 is no f64, but 3 steps of it are 1.
                axis(AxisFrequencies::Linear {
                    first: 1.0,
                    last: 2.0,
                }),
                axis(AxisFrequencies::Own { base: 4096.0 }),
            ])
        };
        let rotary = AxialRotary::new(config).unwrap();
        let positions = [-0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0, 1e15 + 0.5];
        let found = rotary
            .tables_at_reals::<T>(&[&positions[..]; 3])
            .unwrap()
            .first;
        for (row, position) in positions.iter().enumerate() {
            let quarter = |turns: f64| (turns * 4.0).rem_euclid(4.0);
            // Pairs 0, 1: 1 and 3 turns per position; 3, 5: 1 and 2; 6: 1; 8: 1/256.
            for (pair, turns) in [(0, 1.0), (1, 3.0), (2, 0.0), (3, 1.0), (5, 2.0), (6, 1.0)] {
                let (cos, sin) = match quarter(position * turns) {
                    0.0 => (1.0, 0.0),
                    1.0 => (0.0, 1.0),
                    2.0 => (-1.0, 0.0),
                    3.0 => (0.0, -1.0),
                    other => panic!("{other}"),
                };
                let entry = |table: &pe_core::Table<T>| table.get(row, pair).unwrap().to_f64();
                let found = (entry(&found.cos), entry(&found.sin));
                assert_eq!(found, (cos, sin), "{} {position} pair {pair}", T::NAME);
            }
        }
        // A sixth of a turn has the cosine one half.
        let config = AxialRotaryConfig {
            unit: FrequencyUnit::HalfTurn,
            ..AxialRotaryConfig::new([RotaryAxis::with(
                8,
                AxisFrequencies::Linear {
                    first: 0.0,
                    last: 1.0,
                },
            )])
        };
        let thirds = AxialRotary::new(config)
            .unwrap()
            .tables_at_reals::<T>(&[&[1.0, 2.0]]);
        let cos = thirds.unwrap().first.cos;
        let row = |row| {
            cos.row(row)
                .unwrap()
                .iter()
                .map(|x| x.to_f64())
                .collect::<Vec<_>>()
        };
        assert_eq!(row(0), [1.0, 0.5, -0.5, -1.0], "{}", T::NAME);
        assert_eq!(row(1), [1.0, -0.5, -0.5, 1.0], "{}", T::NAME);
    }
    check::<f64>();
    check::<f32>();
    check::<f16>();
    check::<bf16>();
}

/// Grids, ranges, single integers and real numbers take different ways to the same rows.
#[test]
fn tables_are_the_rows_of_their_axes() {
    let axes = [6, 4].map(|width| RotaryAxis::new(width, 100.0));
    let rotary = AxialRotary::new(AxialRotaryConfig {
        leading_pairs: 2,
        head_dim: 16,
        prefix_tokens: 2,
        suffix_tokens: 1,
        ..AxialRotaryConfig::new(axes)
    })
    .unwrap();
    assert_eq!(rotary.pairs(), 7);
    let of = |width| {
        Rotary::new(RotaryConfig {
            base: 100.0,
            ..RotaryConfig::new(width)
        })
    };
    let [first, second] = [6, 4].map(|width| of(width).unwrap().frequencies(0).unwrap());
    for lists in [
        [vec![0.0, 1.0, 2.0], vec![7.0, 7.0, 6.0]],
        [vec![-5.0, 70_000.0, 0.0], vec![4_294_967_295.0, 1.0, -1.0]],
        [vec![0.5, -0.5, 3.0], vec![4_294_967_296.0, 9e15, 1e-300]],
    ] {
        let found = rotary
            .tables_at_reals::<f64>(&[&lists[0], &lists[1]])
            .unwrap()
            .first;
        let rows = [
            first.tables_at_reals::<f64>(&lists[0]).unwrap(),
            second.tables_at_reals::<f64>(&lists[1]).unwrap(),
        ];
        assert_eq!(found.cos.rows(), 6);
        for row in 0..6 {
            let joined = |table: fn(&CosSin<f64>) -> &pe_core::Table<f64>, unrotated: f64| {
                let mut all = vec![unrotated; 2];
                match (2..5).contains(&row) {
                    true => rows
                        .iter()
                        .for_each(|rows| all.extend(table(rows).row(row - 2).unwrap())),
                    false => all.resize(7, unrotated),
                }
                all
            };
            assert_eq!(found.cos.row(row).unwrap(), joined(|rows| &rows.cos, 1.0));
            assert_eq!(found.sin.row(row).unwrap(), joined(|rows| &rows.sin, 0.0));
        }
    }
    // Several sequences, each with its own unrotated tokens.
    let (a, b) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
    let both = rotary
        .batch_tables_at_reals::<f32>(&[&a, &b], 2)
        .unwrap()
        .first;
    for (sequence, from) in [(0, 0), (1, 2)] {
        let alone = rotary
            .tables_at_reals::<f32>(&[&a[from..from + 2], &b[from..from + 2]])
            .unwrap()
            .first;
        for row in 0..5 {
            assert_eq!(both.sin.row(5 * sequence + row), alone.sin.row(row));
        }
    }
}

/// Below and above the size from which threads write the rows, with and without tokens that are not rotated.
#[test]
fn grids_in_supplied_memory_are_those_of_tables() {
    use AxialRotaryPreset::{DinoV3, Gemma4Vision, Llama4Vision, Wan};
    for (preset, width, sizes) in [
        (Wan, 128, vec![3, 5, 4]),
        (Wan, 128, vec![9, 33, 31]),
        (Wan, 128, vec![0, 4, 4]),
        (DinoV3, 64, vec![7, 9]),
        (DinoV3, 64, vec![150, 140]),
        (Llama4Vision, 88, vec![5, 5]),
        (Gemma4Vision, 32, vec![2, 3, 4]),
    ] {
        let rotary = AxialRotary::new(preset.config(width)).unwrap();
        let wanted = rotary.grid_tables::<f32>(&sizes).unwrap().first;
        let rows = rotary.grid_rows(&sizes).unwrap() as usize;
        assert_eq!(rows, wanted.cos.rows(), "{preset}");
        let (mut cos, mut sin) = (vec![7f32; rows * width / 2], vec![7f32; rows * width / 2]);
        rotary.fill_grid(&sizes, &mut cos, &mut sin).unwrap();
        assert!(
            cos == wanted.cos.as_slice() && sin == wanted.sin.as_slice(),
            "{preset} {sizes:?}"
        );
        cos.push(0.0);
        let message = rotary
            .fill_grid(&sizes, &mut cos, &mut sin)
            .unwrap_err()
            .to_string();
        assert!(message.starts_with("cos holds"), "{message}");
    }
    let wan = AxialRotary::new(Wan.config(128)).unwrap();
    for sizes in [&[2][..], &[1, 2, 3, 4, 5], &[1 << 20, 1 << 20, 2]] {
        let wanted = wan.grid_tables::<f32>(sizes).map(drop).unwrap_err();
        assert_eq!(wan.grid_rows(sizes).unwrap_err(), wanted);
        assert_eq!(
            wan.fill_grid::<f32>(sizes, &mut [], &mut []).unwrap_err(),
            wanted
        );
    }
}

/// Directions, scalings and recipes act on the frequencies of each axis.
#[test]
fn specifications_apply_to_each_axis() {
    let config = AxialRotaryPreset::Wan.config(24);
    let of = |config: AxialRotaryConfig| {
        let rotary = AxialRotary::new(config).unwrap();
        rotary
            .tables_at_reals::<f32>(&[&[3.0], &[-4.0], &[5.0]])
            .unwrap()
            .first
    };
    let plain = of(config.clone());
    let clockwise = of(AxialRotaryConfig {
        direction: Direction::Clockwise,
        ..config.clone()
    });
    assert_eq!(clockwise.cos, plain.cos);
    for (a, b) in clockwise.sin.as_slice().iter().zip(plain.sin.as_slice()) {
        assert_eq!(*a, -b);
    }
    let interpolated = AxialRotary::new(AxialRotaryConfig {
        scaling: RopeScaling::Linear { factor: 4.0 },
        ..config.clone()
    });
    let found = interpolated
        .unwrap()
        .tables_at_reals::<f32>(&[&[12.0], &[-16.0], &[20.0]]);
    assert_eq!(found.unwrap().first, plain);
    let recipe = of(AxialRotaryConfig {
        recipe: RotaryRecipe::HfF32,
        ..config
    });
    for (a, b) in recipe.cos.as_slice().iter().zip(plain.cos.as_slice()) {
        assert!(f64::from((a - b).abs()) < tolerance::AXIAL_TABLE);
    }
}

/// The places of the columns of a head of two axes, as the first columns of their pairs.
#[test]
fn pairs_are_where_the_pairing_places_them() {
    let pairs = |pairing, layout, leading_pairs| {
        let config = AxialRotaryConfig {
            pairing,
            layout,
            leading_pairs,
            head_dim: 12,
            ..AxialRotaryConfig::new([RotaryAxis::new(4, 16.0), RotaryAxis::new(6, 64.0)])
        };
        let rotary = AxialRotary::new(config).unwrap();
        let columns: Vec<_> = (0..rotary.pairs())
            .map(|pair| rotary.columns(pair))
            .collect();
        (rotary.inv_freq(), columns)
    };
    use AxisPairing::{Alternating, Listed, PerAxis, WholeHead};
    use PairLayout::{HalfSplit, Interleaved};
    let series = [(0, 1.0), (0, 0.25), (1, 1.0), (1, 0.25), (1, 0.0625)];
    let (found, columns) = pairs(WholeHead, HalfSplit, 0);
    assert_eq!(found, series);
    assert_eq!(columns, [(0, 5), (1, 6), (2, 7), (3, 8), (4, 9)]);
    let (found, columns) = pairs(PerAxis, HalfSplit, 0);
    assert_eq!(found, series);
    assert_eq!(columns, [(0, 2), (1, 3), (4, 7), (5, 8), (6, 9)]);
    let (found, columns) = pairs(PerAxis, HalfSplit, 1);
    assert_eq!(found[1..], series);
    assert_eq!(columns, [(0, 1), (2, 4), (3, 5), (6, 9), (7, 10), (8, 11)]);
    let (found, columns) = pairs(Alternating, Interleaved, 1);
    let in_turn = [
        (0, 0.0),
        (0, 1.0),
        (1, 1.0),
        (0, 0.25),
        (1, 0.25),
        (1, 0.0625),
    ];
    assert_eq!(found, in_turn);
    assert_eq!(columns, [(0, 1), (2, 3), (4, 5), (6, 7), (8, 9), (10, 11)]);
    let (found, _) = pairs(Listed(vec![1, 0, 1, 1, 0]), Interleaved, 0);
    assert_eq!(
        found,
        [(1, 1.0), (0, 1.0), (1, 0.25), (1, 0.0625), (0, 0.25)]
    );
}

#[test]
fn windows_are_those_of_the_model() {
    let all: Value = golden::json("rotary_axial.json");
    for case in all["windows"].as_array().unwrap() {
        let grids: Vec<[u32; 3]> = list(&case["grids"]);
        let grid = |[frames, rows, columns]: [u32; 3]| PatchGrid {
            frames,
            rows,
            columns,
        };
        let grids: Vec<PatchGrid> = grids.into_iter().map(grid).collect();
        let found = vision_windows(&grids, 2, 4).unwrap();
        assert_eq!(found.index, list::<Vec<u32>>(&case["index"]));
        assert_eq!(found.cu_seqlens, list::<Vec<u32>>(&case["cu_seqlens"]));
        // The windows' patches are those of the squares, in the order of the index.
        let squares = PatchPositions::new(&grids, PatchOrder::MergeBlocks(2)).unwrap();
        let order = PatchOrder::Windows {
            merge: 2,
            window: 4,
        };
        let windows = PatchPositions::new(&grids, order).unwrap();
        let of_index = |list: &[u32]| -> Vec<u32> {
            let squares = found.index.iter().map(|square| 4 * *square as usize);
            squares
                .flat_map(|first| list[first..first + 4].to_vec())
                .collect()
        };
        assert_eq!(windows.rows, of_index(&squares.rows));
        assert_eq!(windows.columns, of_index(&squares.columns));
    }
}

#[test]
fn specifications_that_contradict_themselves_are_errors() {
    let axes = |frequencies: AxisFrequencies| {
        AxialRotaryConfig::new([4, 4].map(|width| RotaryAxis::with(width, frequencies.clone())))
    };
    let own = || axes(AxisFrequencies::Own { base: 1e4 });
    let error = |config| AxialRotary::new(config).map(drop).unwrap_err().to_string();
    rejected! { error;
        AxialRotaryConfig { pairing: AxisPairing::Listed(vec![0, 1]), ..own() } =>
            "the list of axes holds 2 elements, 4 are needed",
        AxialRotaryConfig { pairing: AxisPairing::Listed(vec![0, 1, 1, 2]), ..own() } =>
            "axis 2 has no positions: 2 lists were given",
        AxialRotaryConfig { pairing: AxisPairing::Listed(vec![0, 1, 1, 1]), ..own() } =>
            "axis 0 is listed for 1 pairs, but its width gives 2",
        AxialRotaryConfig { pairing: AxisPairing::Tiled, ..own() } => "tiled pairing is not defined for half-split pairs",
        AxialRotaryConfig { pairing: AxisPairing::ByColumn, ..own() } =>
            "pairing by column is not defined for frequencies of an axis",
        AxialRotaryConfig { scaling: RopeScaling::Dynamic { factor: 2.0 }, ..own() } =>
            "dynamic scaling is not defined for a model without max_position_embeddings",
        AxialRotaryConfig { scaling: RopeScaling::Linear { factor: 2.0 }, ..axes(AxisFrequencies::Linear { first: 0.0, last: 1.0 }) } =>
            "scaling is not defined for frequencies other than powers of a base",
        AxialRotaryConfig { recipe: RotaryRecipe::HfF32, ..axes(AxisFrequencies::Custom(vec![1.0, 2.0])) } =>
            "the recipe hf-f32 is not defined for frequencies other than powers of a base",
        AxialRotaryConfig { recipe: RotaryRecipe::HfF32, unit: FrequencyUnit::Turn, ..own() } =>
            "the recipe hf-f32 is not defined for frequencies in turns",
        axes(AxisFrequencies::Custom(vec![1.0])) => "the list of frequencies holds 1 elements, 2 are needed",
        axes(AxisFrequencies::Custom(vec![1.0, f64::NAN])) => "a frequency NaN is not a finite number of at least 0",
        axes(AxisFrequencies::Custom(vec![1.0, 1e10])) => "inv_freq 10000000000.0 of pair 1 is not a number within 0..=4294967296",
        axes(AxisFrequencies::Geometric { first: 0.0, last: 1.0 }) => "the first frequency 0.0 is not a positive finite number",
        axes(AxisFrequencies::Linear { first: 0.0, last: -1.0 }) => "the last frequency -1.0 is not a finite number of at least 0",
        axes(AxisFrequencies::Own { base: 0.0 }) => "base 0.0 is not a positive finite number",
        AxialRotaryConfig::new([RotaryAxis::with(4, AxisFrequencies::Alternating { base: 10.0 }), RotaryAxis::with(6, AxisFrequencies::Alternating { base: 10.0 })]) =>
            "an alternating series is not defined for axes of different widths",
    }
    let error = "flux3"
        .parse::<AxialRotaryPreset>()
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("\"flux3\"; known: flux, qwen-image, wan"),
        "{error}"
    );
    for (base, factor, width) in [
        (0.0, 2.0, 8),
        (1.0, f64::NAN, 8),
        (1.0, 2.0, 2),
        (1.0, 2.0, 7),
        (1.0, 1e308, 4),
    ] {
        assert!(
            ntk_base(base, factor, width).is_err(),
            "{base} {factor} {width}"
        );
    }
    assert_eq!(ntk_base(10_000.0, 1.0, 64).unwrap(), 10_000.0);
}

#[test]
fn positions_that_cannot_be_used_are_errors() {
    let rotary = AxialRotary::new(AxialRotaryPreset::Pixtral.config(8)).unwrap();
    let error = |lists: &[&[f64]]| rotary.tables_at_reals::<f32>(lists).map(drop).unwrap_err();
    for value in [f64::NAN, f64::INFINITY, 9_007_199_254_740_994.0] {
        let found = error(&[&[0.0, 0.0], &[1.0, value]]);
        assert!(matches!(found, Error::Timestep { index: 1, .. }), "{found}");
    }
    assert!(matches!(error(&[&[0.0]]), Error::Length { .. }));
    assert!(matches!(error(&[&[0.0][..]; 3]), Error::Length { .. }));
    assert!(matches!(error(&[&[0.0], &[]]), Error::Length { .. }));
    let batch = |sequences| rotary.batch_tables_at_reals::<f32>(&[&[0.0; 3], &[0.0; 3]], sequences);
    assert_eq!(
        [0, 1, 2, 3, 4].map(|count| batch(count).is_ok()),
        [false, true, false, true, false]
    );
    assert_eq!(
        rotary
            .tables_at_reals::<f32>(&[&[], &[]])
            .unwrap()
            .first
            .cos
            .rows(),
        0
    );
    // A grid whose positions leave the range.
    let far = RotaryAxis::new(4, 10.0).at(GridCoordinates::Affine {
        start: 9e15,
        step: 1e15,
    });
    let rotary = AxialRotary::new(AxialRotaryConfig {
        indexing: GridIndexing::Xy,
        ..AxialRotaryConfig::new([RotaryAxis::new(4, 10.0), far])
    });
    let rotary = rotary.unwrap();
    assert!(rotary.grid_tables::<f32>(&[1, 2]).is_ok());
    assert!(matches!(
        rotary.grid_tables::<f32>(&[2, 1]),
        Err(Error::Timestep { .. })
    ));
}

/// The table in the documentation is that of the golden script.
#[test]
fn distances_of_the_models_are_those_documented() {
    let all: Value = golden::json("rotary_axial.json");
    let source = golden::path("../../pe-core/src/families/rotary/axial/preset.rs");
    let source = std::fs::read_to_string(source).unwrap();
    let rows = all["errors"].as_array().unwrap();
    assert!(rows.len() > 20);
    for row in rows {
        let (preset, size) = (
            row["preset"].as_str().unwrap(),
            row["size"].as_str().unwrap(),
        );
        let error = format!("{:.1e}", row["largest_error"].as_f64().unwrap());
        let line = format!("/// | `{preset}` | {size} | {error} |");
        assert!(source.contains(&line), "{line}");
    }
}
