//! Timesteps, grids, Fourier features, and ALiBi in files.

use pe_candle::checkpoint::{
    AlibiSpec, CellPoints, FourierSpec, FourierTable, FourierTableConfig, GridSpec, GridTable,
    GridTableConfig, Scheme, Spec, TimestepSpec,
};
use pe_core::{
    AlibiConfig, AlibiSlopes, FourierConfig, FourierFeatures, FourierPreset, Grid, GridPreset,
    Table, Timestep, TimestepPreset, alibi_distances, alibi_slopes,
};

use super::*;

fn wide<T: Element>(table: &Table<T>) -> Vec<f64> {
    table.as_slice().iter().map(|e| e.to_f64()).collect()
}

/// Calls a function of the entry type that a dtype names.
macro_rules! typed {
    ($dtype:expr, $t:ident => $body:expr) => {
        match $dtype {
            DType::F32 => {
                type $t = f32;
                $body
            }
            DType::F64 => {
                type $t = f64;
                $body
            }
            DType::F16 => {
                type $t = f16;
                $body
            }
            _ => {
                type $t = bf16;
                $body
            }
        }
    };
}

/// Exports a table, loads it, compares it with the expected entries, and finds a flipped bit in it.
fn round_trip<S: Scheme>(
    spec: &Spec<S>,
    any: fn(Spec<S>) -> AnySpec,
    tables: fn(&S::Tensors) -> Vec<&Tensor>,
    expected: &[Vec<f64>],
) {
    let (dir, path) = temp();
    checkpoint::export(&path, spec).unwrap();
    let bytes = fs::read(&path).unwrap();
    let any = any(spec.clone());
    any.export(&path).unwrap();
    assert!(fs::read(&path).unwrap() == bytes, "{spec:?}");
    assert_holds(dir.path(), &["table.safetensors"]);

    let loaded = checkpoint::load_as::<S>(&path, &Device::Cpu).unwrap();
    assert_eq!(loaded.spec.as_ref(), Some(spec));
    let found: Vec<_> = tables(&loaded.table).into_iter().map(bits).collect();
    assert!(found == expected, "{spec:?}");
    assert_eq!(tables(&loaded.table)[0].dims()[0], spec.rows());
    assert_eq!(loaded.names, any.tensors());
    assert_eq!(
        (spec.rows(), spec.dtype(), spec.bytes()),
        (any.shape()[0], any.dtype(), any.bytes())
    );
    let comparison = any.compare(&path).unwrap();
    assert!(comparison.is_right());
    assert_eq!(
        comparison.entries as usize,
        expected.iter().map(Vec::len).sum::<usize>()
    );
    let report = checkpoint::inspect(&path).unwrap();
    assert_eq!(report.spec, SpecStatus::Valid(any.clone()));
    assert_eq!(report.table.as_deref(), Ok(loaded.names[0].as_str()));
    let text = any.to_json().unwrap();
    assert!(text.contains(&format!("\"scheme\":{:?},", any.name())));
    assert_eq!(
        Spec::<S>::from_json(&text).unwrap().to_json().unwrap(),
        text
    );

    // The first tensor begins with its first row, after the constants of a wider type.
    let (length, header) = safetensors::SafeTensors::read_metadata(&bytes).unwrap();
    let begin = 8 + length + header.info(&loaded.names[0]).unwrap().data_offsets.0;
    let mut wrong = bytes;
    wrong[begin] ^= 1;
    fs::write(&path, wrong).unwrap();
    let error = checkpoint::load_as::<S>(&path, &Device::Cpu).unwrap_err();
    let place = format!("at position {}, column 0: ", spec.start());
    assert!(error.to_string().contains(&place), "{error}");
    assert_eq!(checkpoint::compare(&path, spec).unwrap().wrong, 1);
}

#[test]
fn timesteps_come_back_in_every_type() {
    for preset in TimestepPreset::ALL {
        for dtype in FLOATS {
            let config = preset.config(321);
            let spec = TimestepSpec::new(config, 7, 1000, dtype).unwrap();
            let timestep = Timestep::new(config).unwrap();
            let expected = typed!(dtype, T => wide(&timestep.table::<T>(7..1007).unwrap()));
            round_trip(&spec, AnySpec::Timestep, |table| vec![table], &[expected]);
        }
    }
}

/// Sizes of several blocks, and of a part of a block that wraps around a side.
#[test]
fn grids_come_back_in_every_type_and_by_blocks() {
    for preset in GridPreset::ALL {
        let grid = Grid::new(preset.config(48)).unwrap();
        for (dtype, side) in FLOATS.into_iter().zip([3usize, 5, 17, 20]) {
            let size = vec![side; grid.config().num_sides];
            let config = GridTableConfig {
                grid: grid.config().clone(),
                size: size.clone(),
            };
            let table = GridTable::new(config).unwrap();
            let rows = table.rows() as usize;
            let all = typed!(dtype, T => wide(&grid.table::<T>(&size).unwrap()));
            let first = 2.min(rows - 1);
            let part = GridSpec::of(table.clone(), first as u64, rows - first, dtype).unwrap();
            let expected = all[first * 48..].to_vec();
            round_trip(&part, AnySpec::Grid, |table| vec![table], &[expected]);
            let whole = GridSpec::of(table, 0, rows, dtype).unwrap();
            round_trip(&whole, AnySpec::Grid, |table| vec![table], &[all]);
        }
    }
    let config = GridTableConfig {
        grid: GridPreset::Detr.config(256),
        size: vec![70, 130],
    };
    let table = GridTable::new(config.clone()).unwrap();
    let spec = GridSpec::of(table, 0, 9100, DType::F32).unwrap();
    let all = Grid::new(config.grid)
        .unwrap()
        .table::<f32>(&[70, 130])
        .unwrap();
    round_trip(&spec, AnySpec::Grid, |table| vec![table], &[wide(&all)]);
}

fn fourier(preset: FourierPreset, size: &[usize], points: CellPoints) -> FourierTableConfig {
    FourierTableConfig {
        features: preset.config(size.len(), 5),
        size: size.to_vec(),
        points,
    }
}

#[test]
fn fourier_features_come_back_in_every_type() {
    use FourierPreset::{Gligen, Nerf, NerfPytorch, Perceiver};
    for preset in [Gligen, Nerf, NerfPytorch, Perceiver] {
        for (points, first, last) in [
            (CellPoints::Ends, [-1.0, -1.0], [1.0, 0.6]),
            (CellPoints::Centers, [0.125, 0.1], [0.875, 0.7]),
        ] {
            for dtype in FLOATS {
                let config = fourier(preset, &[4, 6], points);
                // The second side has one more cell than the row that the last point is in.
                let config = FourierTableConfig {
                    size: vec![4, 5],
                    ..config
                };
                let spec = FourierSpec::new(config.clone(), 0, 20, dtype).unwrap();
                let features = FourierFeatures::new(config.features).unwrap();
                let side = |n: usize| match points {
                    CellPoints::Ends => (0..n)
                        .map(|i| (2.0 * i as f64 - (n - 1) as f64) / (n - 1) as f64)
                        .collect::<Vec<_>>(),
                    _ => (0..n)
                        .map(|i| (2 * i + 1) as f64 / (2 * n) as f64)
                        .collect(),
                };
                let (y, x) = (side(4), side(5));
                assert_eq!([y[0], x[0]], first);
                assert_eq!(y[3], last[0]);
                let cells: Vec<f64> = y
                    .iter()
                    .flat_map(|y| x.iter().flat_map(|x| [*y, *x]))
                    .collect();
                let expected =
                    typed!(dtype, T => wide(&features.table_at_reals::<T>(&cells).unwrap()));
                round_trip(&spec, AnySpec::Fourier, |table| vec![table], &[expected]);
            }
        }
    }
    let single = fourier(FourierPreset::Nerf, &[1], CellPoints::Ends);
    let spec = FourierSpec::new(single, 0, 1, DType::F32).unwrap();
    let row = [vec![0.0], [0.0, 1.0].repeat(5)].concat();
    round_trip(&spec, AnySpec::Fourier, |table| vec![table], &[row]);
}

#[test]
fn biases_and_slopes_come_back_in_every_type() {
    for heads in [1, 8, 12, 71] {
        for dtype in FLOATS {
            let config = AlibiConfig::new(heads);
            let spec = AlibiSpec::new(config, 3, 5000, dtype).unwrap();
            // One query, and keys from the farthest to the nearest.
            let by_head = typed!(dtype, T => {
                wide(&alibi_distances::<T>(&config, 1, 5003, 5002).unwrap())
            });
            let bias = (3..5003).flat_map(|d| (0..heads).map(move |h| (d, h)));
            let bias = bias.map(|(d, h)| by_head[h * 5003 + 5002 - d]).collect();
            let slopes = match dtype {
                DType::F64 => alibi_slopes::<f64>(&config).unwrap(),
                _ => {
                    let single = alibi_slopes::<f32>(&config).unwrap();
                    single.into_iter().map(f64::from).collect()
                }
            };
            round_trip(
                &spec,
                AnySpec::Alibi,
                |tensors| vec![&tensors.bias, &tensors.slopes],
                &[bias, slopes],
            );
        }
    }
    assert_eq!(
        AlibiSlopes::new(AlibiConfig::new(8))
            .unwrap()
            .values::<f32>()[0],
        0.5
    );
}

#[test]
fn requests_that_make_no_sense_are_errors_that_name_the_values() {
    let grid = |size: &[usize]| GridTableConfig {
        grid: GridPreset::Detr.config(64),
        size: size.to_vec(),
    };
    let spec = |config, rows| GridSpec::new(config, 0, rows, DType::F32).map(drop);
    let nerf = fourier(FourierPreset::Nerf, &[4, 4], CellPoints::Centers);
    let with = |features: FourierConfig, size: &[usize]| {
        let config = FourierTableConfig {
            features,
            size: size.to_vec(),
            ..nerf.clone()
        };
        FourierTable::new(config).map(drop)
    };
    let mut many = grid(&[4, 4]);
    many.grid.axes = vec![many.grid.axes[0]; 65];
    let mut wide = grid(&[4, 4]);
    wide.grid.axes[0].sinusoidal.d_model = 1 << 20;
    let alibi = |bias_max, dtype| {
        let config = AlibiConfig {
            bias_max,
            ..AlibiConfig::new(2)
        };
        AlibiSpec::new(config, 0, 70_000, dtype).map(drop)
    };
    let timestep = |amplitude, dtype| {
        let config = pe_core::TimestepConfig {
            amplitude,
            ..TimestepPreset::Mlx.config(8)
        };
        TimestepSpec::new(config, 0, 1, dtype).map(drop)
    };
    alibi(0.01, DType::BF16).unwrap();
    timestep(1e38, DType::BF16).unwrap();
    for (result, words) in [
        (
            spec(grid(&[3, 4]), 13),
            "rows 0..13 run past the 12 of the grid",
        ),
        (spec(grid(&[3]), 3), "the size has 1 sides"),
        (spec(grid(&[0, 3]), 0), "a side of the size"),
        (spec(grid(&[65537, 3]), 0), "65537"),
        (spec(many, 1), "65 axes are more than 64"),
        (
            spec(wide, 1),
            "the axes have 1048608 columns, more than twice d_model 64",
        ),
        (
            FourierSpec::new(nerf.clone(), 10, 7, DType::F32).map(drop),
            "rows 10..17 run past the 16 of the grid",
        ),
        (
            with(FourierPreset::Sam.config(2, 8), &[4, 4]),
            "the matrix of the Fourier features",
        ),
        (
            with(nerf.features.clone(), &[4]),
            "the size has 1 sides, a point has 2 coordinates",
        ),
        (
            with(nerf.features.clone(), &[0, 4]),
            "a side of the size is 0, outside 1..=65536",
        ),
        (
            with(FourierPreset::Nerf.config(3, 4), &[65536; 3]),
            "281474976710656 cells exceed the limit of 4294967296",
        ),
        (
            with(FourierPreset::Gligen.config(2, 4097), &[4, 4]),
            "2 sides and 4097 bands exceed the limits of 4 and 4096",
        ),
        (
            alibi(0.01, DType::F16),
            "the bias of head 0 at distance 69999 is beyond the range of f16",
        ),
        (
            alibi(0.0, DType::F32),
            "0.0 is not a positive finite number",
        ),
        (
            timestep(1e6, DType::F16),
            "the amplitude 1000000.0 is beyond the range of f16",
        ),
        (
            timestep(1e39, DType::BF16),
            "the amplitude 1e39 is beyond the range of bf16",
        ),
    ] {
        let error = result.unwrap_err().to_string();
        assert!(error.contains(words), "{error}: {words}");
    }
}
