//! Sinusoidal encodings of grids: the rows of the axes at each cell, and presets against the libraries.

use pe_core::{
    AxisCoordinates, Element, Error, Grid, GridAxis, GridConfig, GridLayout, GridPreset,
    SinusoidLayout, Sinusoidal, SinusoidalConfig, bf16, masked_coordinates,
};
use pe_tests::{golden, tolerance};
use serde_json::Value;

fn grid(preset: GridPreset, d_model: usize) -> Grid {
    Grid::new(preset.config(d_model)).unwrap()
}

fn sizes(value: &Value) -> Vec<usize> {
    let all = value.as_array().unwrap().iter();
    all.map(|n| n.as_u64().unwrap() as usize).collect()
}

/// Every library on small grids. In f64 the definitions are equal; in f32 the libraries err.
#[test]
fn presets_give_the_numbers_of_their_libraries() {
    let golden: Value = golden::json("grids.json");
    let mut seen = std::collections::BTreeMap::new();
    for case in golden["cases"].as_array().unwrap() {
        let preset: GridPreset = case["preset"].as_str().unwrap().parse().unwrap();
        let mut config = preset.config(case["d"].as_u64().unwrap() as usize);
        if case["base"].is_number() {
            for axis in &mut config.axes {
                axis.coordinates = AxisCoordinates::Scaled {
                    base_size: case["base"].as_f64(),
                    interpolation_scale: case["scale"].as_f64().unwrap(),
                };
            }
        }
        let sides = sizes(&case["sides"]);
        let grid = Grid::new(config).unwrap();
        let table = if case["mask"].is_array() {
            let mask: Vec<bool> = sizes(&case["mask"]).iter().map(|m| *m == 1).collect();
            let coordinates = grid.config().axes[0].coordinates;
            let [y, x] = masked_coordinates(&mask, [sides[0], sides[1]], coordinates).unwrap();
            grid.table_at_reals::<f64>(&[&y, &x]).unwrap()
        } else {
            grid.table::<f64>(&sides).unwrap()
        };
        let rows = match &case["rows"] {
            Value::Null => (0..table.rows()).collect(),
            rows => sizes(rows),
        };
        let values = case["values"].as_array().unwrap();
        assert_eq!(values.len(), rows.len() * table.width(), "{preset}");
        let single = case["dtype"] == "float32";
        let bound = match preset {
            _ if !single => tolerance::GRID_F64,
            GridPreset::VitMae | GridPreset::RtDetr => tolerance::GRID_ROUNDED,
            _ => tolerance::GRID_F32,
        };
        let key = (preset.name(), single);
        let largest = seen.entry(key).or_insert(0f64);
        for (row, values) in rows.iter().zip(values.chunks(table.width())) {
            for (found, wanted) in table.row(*row).unwrap().iter().zip(values) {
                *largest = largest.max((found - wanted.as_f64().unwrap()).abs());
            }
        }
        assert!(*largest <= bound, "{key:?} {sides:?}: {largest:e}");
    }
    for (key, distance) in &seen {
        println!("{key:?} {distance:.2e}");
    }
    assert_eq!(seen.len(), GridPreset::ALL.len() + 2);
}

/// Each entry has the bits of the sinusoidal encoding at its coordinate.
#[test]
fn rows_consist_of_the_rows_of_the_axes() {
    fn check<T: Element>() {
        for (preset, sides) in [
            (GridPreset::VitMae, vec![3, 5]),
            (GridPreset::Detr, vec![4, 2]),
            (GridPreset::CogVideoX, vec![2, 3, 4]),
            (GridPreset::PositionalEncodings2d, vec![70, 2]),
        ] {
            let grid = grid(preset, 48);
            let table = grid.table::<T>(&sides).unwrap();
            let config = grid.config();
            let cells: usize = sides.iter().product();
            assert_eq!(table.rows(), cells + config.prefix_rows);
            for cell in 0..cells {
                let row = table.row(config.prefix_rows + cell).unwrap();
                let mut columns = row.iter();
                for axis in &config.axes {
                    let inner: usize = sides[axis.side + 1..].iter().product();
                    let at = cell / inner % sides[axis.side];
                    let coordinate = axis.coordinates.of(sides[axis.side])[at];
                    let own = Sinusoidal::new(axis.sinusoidal).unwrap();
                    let own = own.table_at_reals::<T>(&[coordinate]).unwrap();
                    for wanted in own.as_slice() {
                        assert_eq!(columns.next(), Some(wanted), "{preset} {cell}");
                    }
                }
                assert_eq!(columns.next(), None);
            }
            let zeros = table.as_slice()[..48 * config.prefix_rows].iter();
            assert!(zeros.into_iter().all(|entry| entry.to_f64() == 0.0));
        }
    }
    check::<f32>();
    check::<f64>();
    check::<bf16>();
}

#[test]
fn sines_come_first_in_timms_layout() {
    let table = grid(GridPreset::Timm, 8).table::<f64>(&[2, 3]).unwrap();
    let axis = SinusoidalConfig {
        layout: SinusoidLayout::Concatenated,
        ..SinusoidalConfig::new(4)
    };
    let axis = Sinusoidal::new(axis).unwrap().table::<f64>(0..3).unwrap();
    let row = |i: usize| axis.row(i).unwrap();
    let wanted = [&row(1)[..2], &row(2)[..2], &row(1)[2..], &row(2)[2..]].concat();
    assert_eq!(table.row(5).unwrap(), wanted);
}

/// The package's documentation does not tell: with 7 or 8 channels z is never encoded.
#[test]
fn three_sides_in_eight_columns_leave_out_the_third() {
    for width in [7, 8] {
        let table = grid(GridPreset::PositionalEncodings3d, width)
            .table::<f32>(&[2, 2, 9])
            .unwrap();
        for rows in table.as_slice().chunks(9 * width) {
            assert!(rows.chunks(width).all(|row| row == &rows[..width]));
        }
    }
}

#[test]
fn coordinates_of_cells_and_padding() {
    let grid = grid(GridPreset::Detr, 16);
    let (y, x): (Vec<f64>, Vec<f64>) = (0..100)
        .map(|i| (f64::from(i % 7) / 3.0, -0.5 * f64::from(i % 3)))
        .unzip();
    let table = grid.table_at_reals::<f32>(&[&y, &x]).unwrap();
    let half = Sinusoidal::new(grid.config().axes[0].sinusoidal).unwrap();
    for (row, (y, x)) in table.iter_rows().zip(y.iter().zip(&x)) {
        let wanted = half.table_at_reals::<f32>(&[*y, *x]).unwrap();
        assert_eq!(row, wanted.as_slice());
    }
    // Without padding the coordinates are those of the whole grid.
    let coordinates = grid.config().axes[0].coordinates;
    let [y, x] = masked_coordinates(&[true; 15], [3, 5], coordinates).unwrap();
    let masked = grid.table_at_reals::<f32>(&[&y, &x]).unwrap();
    assert_eq!(masked, grid.table::<f32>(&[3, 5]).unwrap());
    // Only padding: every count is 0.
    let [y, _] = masked_coordinates(&[false; 15], [3, 5], coordinates).unwrap();
    assert_eq!(y, [0.0; 15]);
    assert!(masked_coordinates(&[], [0, 5], coordinates).unwrap()[0].is_empty());
    assert_eq!(grid.table_at_reals::<f32>(&[&[], &[]]).unwrap().rows(), 0);
}

#[test]
fn invalid_grids_are_named_before_anything_is_allocated() {
    let new = |config: GridConfig| Grid::new(config).unwrap_err().to_string();
    let plain = || GridConfig::new(8, 2);
    let with = |change: &dyn Fn(&mut GridConfig)| {
        let mut config = plain();
        change(&mut config);
        new(config)
    };
    let axis = |side, width| GridAxis {
        side,
        sinusoidal: SinusoidalConfig::new(width),
        coordinates: AxisCoordinates::Index,
    };
    for (found, wanted) in [
        (with(&|c| c.d_model = 0), "d_model 0 is outside 1..=1048576"),
        (
            with(&|c| c.d_model = 9),
            "the axes have 8 columns, fewer than d_model 9",
        ),
        (
            with(&|c| c.num_sides = 0),
            "the grid has 0 sides, 1 are needed",
        ),
        (
            with(&|c| c.num_sides = 5),
            "the grid has 5 sides, 4 are needed",
        ),
        (
            with(&|c| c.axes[1].side = 2),
            "axis 2 has no positions: 2 lists were given",
        ),
        (with(&|c| c.axes.push(axis(0, 3))), "d_model 3 is odd"),
        (
            with(&|c| {
                c.layout = GridLayout::SinesFirst;
                c.axes[0] = axis(0, 4);
            }),
            "an axis of width 4 has no halves of sines and cosines",
        ),
        (
            with(&|c| c.axes[0].coordinates = AxisCoordinates::Normalized { scale: f64::NAN }),
            "scale NaN is not a positive finite number",
        ),
        (new(GridConfig::new(8, 0)), "the grid has 0 sides"),
        (
            new(GridConfig::new(8, usize::MAX)),
            "the grid has 18446744073709551615 sides",
        ),
    ] {
        assert!(found.starts_with(wanted), "{found}");
    }
    for preset in GridPreset::ALL {
        for d_model in [0, usize::MAX] {
            let error = Grid::new(preset.config(d_model)).unwrap_err();
            assert_eq!(error, Error::DModel { d_model });
        }
    }
    let grid = Grid::new(plain()).unwrap();
    let table = |sides: &[usize]| grid.table::<f32>(sides).unwrap_err().to_string();
    assert_eq!(table(&[3]), "the size has 1 sides, 2 are needed");
    assert_eq!(table(&[3, 0]), "a side of the size 0 is outside 1..=65536");
    assert_eq!(
        table(&[65536, 65536]),
        "4294967296 tokens exceed the limit of 268435456 in one call"
    );
    let error = grid.fill(&[2, 2], &mut [0f32; 31]).unwrap_err();
    assert_eq!(error.to_string(), "out holds 31 elements, 32 are needed");
    let at = |lists: &[&[f64]]| grid.table_at_reals::<f32>(lists).unwrap_err().to_string();
    assert_eq!(
        at(&[&[0.0]]),
        "the list of coordinates has 1 sides, 2 are needed"
    );
    assert_eq!(
        at(&[&[0.0], &[]]),
        "a list of coordinates holds 0 elements, 1 are needed"
    );
    assert!(at(&[&[0.0, 5.0, f64::NAN], &[0.0; 3]]).starts_with("position NaN (at index 2)"));
    let error = masked_coordinates(&[true; 3], [2, 2], AxisCoordinates::Count).unwrap_err();
    assert_eq!(error.to_string(), "the mask holds 3 elements, 4 are needed");
    let error = masked_coordinates(&[true; 4], [2, 2], AxisCoordinates::Index).unwrap_err();
    assert_eq!(error, Error::MaskedCoordinates);
    assert_eq!(
        "x".parse::<GridPreset>()
            .unwrap_err()
            .to_string()
            .split(';')
            .next(),
        Some("unknown preset \"x\"")
    );
    assert!(
        GridPreset::ALL
            .iter()
            .all(|preset| preset.name().parse() == Ok(*preset))
    );
}
