//! Resizing of grids: weights against fractions computed elsewhere, presets against the libraries.

use pe_core::{
    AxisTaps, Error, PatchOrder, ResizeBy, ResizeConfig, ResizeKernel, ResizePreset, RowTaps,
};
use pe_tests::resize::{self, Preset};
use pe_tests::{golden, tolerance};
use proptest::prelude::*;
use serde_json::Value;

fn configs() -> Vec<ResizeConfig> {
    let mut configs: Vec<_> = ResizeKernel::ALL.map(ResizeConfig::new).into();
    for kernel in &ResizeKernel::ALL[..3] {
        for (antialias, align_corners) in [(false, true), (true, false), (true, true)] {
            configs.push(ResizeConfig {
                antialias,
                align_corners,
                ..ResizeConfig::new(*kernel)
            });
        }
    }
    configs
}

/// 226 pairs of sizes and options, every weight by its bits.
#[test]
fn weights_are_the_nearest_floats_to_the_fractions() {
    let golden: Value = golden::json("resize.json");
    let cases = golden["weights"].as_array().unwrap();
    assert_eq!(cases.len(), 226);
    for case in cases {
        let size = |key: &str| case[key].as_u64().unwrap() as usize;
        let by = match case["by"].as_str().unwrap().split_once('/') {
            None => ResizeBy::Size,
            Some((numerator, denominator)) => ResizeBy::Factor {
                numerator: numerator.parse().unwrap(),
                denominator: denominator.parse().unwrap(),
            },
        };
        let config = ResizeConfig {
            kernel: case["kernel"].as_str().unwrap().parse().unwrap(),
            antialias: case["antialias"] == true,
            align_corners: case["align_corners"] == true,
            by,
        };
        let taps = config.taps(size("from"), size("to")).unwrap();
        assert_eq!((taps.from(), taps.to()), (size("from"), size("to")));
        if by != ResizeBy::Size {
            assert_eq!(config.resized_side(taps.from()), Some(taps.to()));
        }
        for (i, row) in case["rows"].as_array().unwrap().iter().enumerate() {
            let wanted: Vec<(u32, u64)> = row.as_array().unwrap().iter().map(tap).collect();
            let found: Vec<_> = taps
                .weights_of::<f64>(i)
                .map(|(j, w)| (j, w.to_bits()))
                .collect();
            assert_eq!(
                found,
                wanted,
                "{config:?} {} -> {}: {i}",
                taps.from(),
                taps.to()
            );
            let singles = taps.weights_of::<f32>(i);
            for ((_, single), (_, double)) in singles.zip(&wanted) {
                // A double is near enough to a fraction with terms below 2^25 that no tie of f32 is between them.
                assert_eq!(single, f64::from_bits(*double) as f32);
            }
        }
    }
}

fn tap(tap: &Value) -> (u32, u64) {
    let weight = golden::hex(tap[1].as_str().unwrap());
    (tap[0].as_u64().unwrap() as u32, weight)
}

#[test]
fn presets_agree_with_the_libraries_to_their_distance() {
    let mut seen = std::collections::BTreeMap::new();
    for case in resize::presets() {
        let Preset { preset, .. } = case;
        let [before, after] = preset.kept_rows();
        let grid = before..before + case.sides[0] * case.sides[1];
        let mut taps = RowTaps::new(grid.end + after);
        taps.push_rows(0..before).unwrap();
        let mut sides = case.sides;
        if preset.swaps_sides() {
            sides.reverse();
        }
        let [h, w] = [0, 1].map(|i| preset.config().taps(sides[i], case.to[i]).unwrap());
        taps.push_grid(&[&h, &w], before, preset.order()).unwrap();
        taps.push_rows(grid.end..grid.end + after).unwrap();
        assert_eq!(taps.rows() * resize::WIDTH, case.values.len(), "{preset}");
        let largest = seen.entry(preset.name()).or_insert(0f64);
        for (at, value) in case.values.iter().enumerate() {
            let (row, column) = (at / resize::WIDTH, at % resize::WIDTH);
            let terms = taps.of(row);
            let sum: f64 = terms
                .map(|(source, weight)| weight * resize::entry(source as usize, column))
                .sum();
            *largest = largest.max((sum - f64::from(*value)).abs());
        }
    }
    assert_eq!(seen.len(), ResizePreset::ALL.len());
    for (name, distance) in seen {
        println!("{name:20} {distance:.2e}");
        let bound = if name == "jax" {
            tolerance::RESIZED_BY_JAX
        } else {
            tolerance::RESIZED_BY_TORCH
        };
        assert!(distance <= bound, "{name}: {distance:e} > {bound:e}");
    }
}

/// The windows of [`PatchPositions`](pe_core::PatchPositions), also at the edges of a resized grid.
#[test]
fn resized_rows_follow_windows() {
    let order = PatchOrder::Windows {
        merge: 2,
        window: 2,
    };
    let [rows, columns] = [4, 6].map(|side| {
        let kernel = ResizeConfig::new(ResizeKernel::Nearest);
        kernel.taps(side, side).unwrap()
    });
    let mut taps = RowTaps::new(24);
    taps.push_grid(&[&rows, &columns], 0, order).unwrap();
    let grid = pe_core::PatchGrid {
        frames: 1,
        rows: 4,
        columns: 6,
    };
    let patches = pe_core::PatchPositions::new(&[grid], order).unwrap();
    let wanted = patches.rows.iter().zip(&patches.columns);
    let wanted: Vec<u32> = wanted.map(|(row, column)| row * 6 + column).collect();
    let found: Vec<u32> = (0..24)
        .flat_map(|row| taps.of(row))
        .map(|tap| tap.0)
        .collect();
    assert_eq!(found, wanted);
    assert_eq!(found[8..12], [12, 13, 18, 19]);
}

#[test]
fn grids_follow_their_order_and_keep_rows() {
    let one = ResizeConfig::new(ResizeKernel::Nearest).taps(4, 4).unwrap();
    let mut taps = RowTaps::new(2 + 2 * 16);
    let plane = [&one, &one];
    taps.push_rows(1..2).unwrap();
    let frames = ResizeConfig::new(ResizeKernel::Nearest).taps(2, 2).unwrap();
    let axes = [&frames, plane[0], plane[1]];
    taps.push_grid(&axes, 2, PatchOrder::MergeBlocks(2))
        .unwrap();
    let square = [0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15];
    let found: Vec<_> = (0..33).flat_map(|row| taps.of(row)).collect();
    let wanted = [1].into_iter();
    let wanted = wanted.chain(
        [2, 18]
            .into_iter()
            .flat_map(|first| square.map(|i| i + first)),
    );
    assert_eq!(found, wanted.map(|row| (row, 1.0)).collect::<Vec<_>>());
    assert_eq!((taps.rows(), taps.taps(), taps.source_rows()), (33, 33, 34));
    // Further frames have the same rows, and are sums of the same planes.
    let planes = taps.stages()[0].rows();
    taps.push_copies(1..17, 3).unwrap();
    assert_eq!((taps.rows(), taps.taps()), (81, 81));
    assert!(taps.of(33 + 16).eq(taps.of(1)) && taps.of(80).eq(taps.of(16)));
    assert_eq!(taps.stages()[0].rows(), planes);
    let many = taps.push_copies(1..17, usize::MAX).unwrap_err();
    assert!(matches!(many, Error::TooManyTaps { name: "rows", .. }));
    let beyond = taps.push_copies(80..82, 1).unwrap_err();
    assert_eq!(beyond, Error::Range { start: 80, end: 82 });
    taps.push_copies(3..3, usize::MAX).unwrap();
    assert_eq!(taps.rows(), 81);
}

#[test]
fn invalid_requests_are_named_before_anything_is_allocated() {
    let taps = |config: ResizeConfig, from, to| config.taps(from, to).unwrap_err().to_string();
    let bicubic = ResizeConfig::new(ResizeKernel::Bicubic);
    assert_eq!(
        taps(bicubic, 0, 3),
        "a side of the grid 0 is outside 1..=65536"
    );
    assert_eq!(
        taps(bicubic, 3, 0),
        "a side of the size 0 is outside 1..=65536"
    );
    assert_eq!(
        taps(bicubic, 3, usize::MAX),
        format!("a side of the size {} is outside 1..=65536", usize::MAX)
    );
    for (antialias, option) in [(true, "antialiasing"), (false, "aligned corners")] {
        let config = ResizeConfig {
            antialias,
            align_corners: !antialias,
            ..ResizeConfig::new(ResizeKernel::NearestExact)
        };
        let wanted = format!("nearest-exact resizing is not defined with {option}");
        assert_eq!(taps(config, 3, 3), wanted);
    }
    let by = |by| ResizeConfig { by, ..bicubic };
    let factor = |numerator, denominator| {
        by(ResizeBy::Factor {
            numerator,
            denominator,
        })
    };
    assert_eq!(
        taps(factor(0, 1), 3, 3),
        "the scale factor 0/1 cannot be used: both terms must be within 1..=16777216"
    );
    assert_eq!(
        taps(factor(2, 1), 3, 5),
        "the scale factor 2/1 resizes 3 to 6, not to 5"
    );
    assert!(taps(factor(u32::MAX, 1), 3, 5).contains("4294967295/1 cannot be used"));
    let offset = by(ResizeBy::Offset {
        numerator: u32::MAX,
        denominator: u32::MAX,
    });
    assert!(taps(offset, 65536, 65536).contains("cannot be used"));
    for (value, wanted) in [
        (f64::NAN, "scale factor NaN is not a positive finite number"),
        (-1.0, "scale factor -1.0 is not a positive finite number"),
        (
            1e300,
            "the scale factor 1e300 is not within two ulp of a fraction",
        ),
        (
            std::f64::consts::PI,
            "the scale factor 3.141592653589793 is not within two ulp",
        ),
    ] {
        let error = ResizeBy::factor(value).unwrap_err().to_string();
        assert!(error.starts_with(wanted), "{error}");
    }
    let side = ResizeConfig::new(ResizeKernel::Bilinear)
        .taps(65536, 65536)
        .unwrap();
    let mut rows = RowTaps::new(usize::MAX);
    let push =
        |rows: &mut RowTaps, axes: &[&AxisTaps], order| rows.push_grid(axes, 0, order).unwrap_err();
    let many = push(&mut rows, &[&side, &side], PatchOrder::RowMajor);
    assert_eq!(
        many.to_string(),
        "4294967296 rows exceed the limit of 268435456 in one call"
    );
    let none = push(&mut rows, &[], PatchOrder::RowMajor);
    assert_eq!(none.to_string(), "the grid has 0 sides, 1 are needed");
    let line = push(&mut rows, &[&side], PatchOrder::MergeBlocks(2));
    assert_eq!(line.to_string(), "the grid has 1 sides, 2 are needed");
    let small = ResizeConfig::new(ResizeKernel::Bilinear)
        .taps(3, 3)
        .unwrap();
    for merge in [0, 2] {
        let error = push(&mut rows, &[&small, &small], PatchOrder::MergeBlocks(merge));
        assert_eq!(
            error,
            Error::Grid {
                rows: 3,
                columns: 3,
                merge
            }
        );
    }
    let mut rows = RowTaps::new(8);
    let beyond = push(&mut rows, &[&small, &small], PatchOrder::RowMajor);
    assert_eq!(beyond, Error::Range { start: 0, end: 9 });
    let error = rows.push_rows(3..9).unwrap_err();
    assert_eq!(error, Error::Range { start: 3, end: 9 });
    assert_eq!((rows.rows(), rows.taps()), (0, 0));
    // Rows of the largest axes that shrink to one: all contribute, and all are counted.
    let aligned = ResizeConfig {
        antialias: true,
        ..bicubic
    };
    assert_eq!(
        aligned.taps(65536, 1).unwrap().weights_of::<f64>(0).count(),
        65536
    );
}

#[test]
fn scale_factors_are_the_simplest_fractions() {
    for (value, numerator, denominator) in [
        (1.1, 11, 10),
        (2.0, 2, 1),
        (0.5, 1, 2),
        (1.0 / 3.0, 1, 3),
        (16.1 / 37.0, 161, 370),
    ] {
        let wanted = ResizeBy::Factor {
            numerator,
            denominator,
        };
        assert_eq!(ResizeBy::factor(value).unwrap(), wanted, "{value}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn weights_have_the_sum_one(from in 1usize..300, to in 1usize..300, which in 0usize..14) {
        let config = configs()[which];
        let taps = config.taps(from, to).unwrap();
        for i in 0..to {
            let (fractions, denominator) = taps.fractions_of(i);
            let fractions: Vec<_> = fractions.collect();
            prop_assert_eq!(fractions.iter().map(|(_, n)| n).sum::<i128>(), denominator);
            prop_assert!(fractions.windows(2).all(|pair| pair[0].0 < pair[1].0));
            prop_assert!(fractions.iter().all(|(j, n)| (*j as usize) < from && *n != 0));
            let weights: Vec<f64> = taps.weights_of::<f64>(i).map(|(_, w)| w).collect();
            let sum: f64 = weights.iter().sum();
            // Half an ulp for each weight, and for each partial sum.
            let bound = weights.len() as f64 * f64::EPSILON * 1.25;
            prop_assert!((sum - 1.0).abs() <= bound, "{sum}");
        }
        prop_assert_eq!(taps.weights_of::<f32>(to).count(), 0);
    }

    #[test]
    fn same_size_is_the_identity(side in 1usize..300, which in 0usize..14) {
        let config = configs()[which];
        // Antialiasing of aligned corners keeps torch's centers.
        prop_assume!(!(config.align_corners && side == 1 && which >= 5));
        let taps = config.taps(side, side).unwrap();
        for i in 0..side {
            let all: Vec<_> = taps.weights_of::<f64>(i).collect();
            prop_assert_eq!(all, [(i as u32, 1.0)]);
        }
    }

    #[test]
    fn transposing_swaps_rows(from in 1usize..12, to in 1usize..12, which in 0usize..14) {
        let axis = configs()[which].taps(from, to).unwrap();
        let mut taps = RowTaps::new(from * from + 1);
        taps.push_rows(0..1).unwrap();
        taps.push_grid(&[&axis, &axis], 1, PatchOrder::RowMajor).unwrap();
        let transposed = taps.transposed();
        prop_assert_eq!((transposed.rows(), transposed.source_rows()), (taps.source_rows(), taps.rows()));
        let mut seen = 0;
        for row in 0..transposed.rows() {
            let (sources, weights) = transposed.of(row);
            prop_assert!(sources.is_sorted());
            for (source, weight) in sources.iter().zip(weights) {
                let mut back = taps.of(*source as usize);
                prop_assert!(back.any(|tap| tap == (row as u32, *weight)));
                seen += 1;
            }
        }
        prop_assert_eq!(seen, taps.taps());
        // The stages have the products too.
        let [planes, rows] = taps.stages();
        prop_assert_eq!((planes.source_rows(), rows.rows()), (taps.source_rows(), taps.rows()));
        prop_assert_eq!(rows.source_rows(), planes.rows());
        for row in 0..rows.rows() {
            let (sources, weights) = rows.of(row);
            let mut found: Vec<(u32, f64)> = Vec::new();
            for (plane, factor) in sources.iter().zip(weights) {
                let (sources, weights) = planes.of(*plane as usize);
                found.extend(sources.iter().zip(weights).map(|(s, w)| (*s, w * factor)));
            }
            found.sort_by_key(|(source, _)| *source);
            prop_assert!(taps.of(row).eq(found));
        }
    }
}
