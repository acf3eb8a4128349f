//! Sinusoidal encodings of grids as a layer: tables of pe-core, sums, masks, sizes.

use candle_core::{DType, Device, Result, Tensor, Var};
use half::{bf16, f16};
use pe_candle::testing::{InstructionSet, Planned, Route};
use pe_candle::{
    AxisCoordinates, Element, Grid, GridEncoding, GridEncodingConfig, GridPreset, PatchAxes,
};
use pe_core::masked_coordinates;

fn layer(preset: GridPreset, d_model: usize, dtype: DType) -> GridEncoding {
    let config = GridEncodingConfig::from_preset(preset, d_model);
    GridEncoding::new(config, dtype, &Device::Cpu).unwrap()
}

fn flat<T: candle_core::WithDType>(xs: &Tensor) -> Vec<T> {
    xs.flatten_all().unwrap().to_vec1().unwrap()
}

fn input(dims: &[usize], dtype: DType) -> Result<Tensor> {
    let count = dims.iter().product::<usize>();
    let entries = (0..count).map(|i| ((i * 37) % 101) as f32 / 64.0 - 0.7);
    Tensor::from_iter(entries, &Device::Cpu)?
        .reshape(dims)?
        .to_dtype(dtype)
}

#[test]
fn tables_are_those_of_pe_core_in_every_type() -> Result<()> {
    fn check<T: Element + candle_core::WithDType>(dtype: DType) -> Result<()> {
        for (preset, sides) in [
            (GridPreset::VitMae, &[4, 7][..]),
            (GridPreset::CogVideoX, &[2, 3, 5]),
            (GridPreset::PositionalEncodings1d, &[100]),
        ] {
            let wanted = Grid::new(preset.config(48))?.table::<T>(sides)?;
            let layer = layer(preset, 48, dtype);
            for _ in 0..2 {
                let found = layer.encoding(sides)?;
                assert_eq!(found.dims(), [wanted.rows(), 48]);
                assert_eq!(flat::<T>(&found), wanted.as_slice());
            }
        }
        Ok(())
    }
    check::<f32>(DType::F32)?;
    check::<f64>(DType::F64)?;
    check::<f16>(DType::F16)?;
    check::<bf16>(DType::BF16)
}

/// Over types, axes, instruction sets, and the reference path.
#[test]
fn forward_adds_the_rows_in_all_axes() -> Result<()> {
    let sides = [5, 3];
    for (dtype, table_dtype) in [
        (DType::F32, None),
        (DType::F64, Some(DType::F32)),
        (DType::F16, Some(DType::F32)),
        (DType::BF16, None),
    ] {
        for axes in [PatchAxes::ChannelsLast, PatchAxes::ChannelsFirst] {
            let config = GridEncodingConfig {
                axis_order: axes,
                table_dtype,
                ..GridEncodingConfig::from_preset(GridPreset::Detr, 40)
            };
            let layer = GridEncoding::new(config, dtype, &Device::Cpu)?;
            let xs = input(&[2, 15, 40], dtype)?;
            let compute = if dtype == DType::F64 {
                DType::F64
            } else {
                DType::F32
            };
            let pe = layer.encoding(&sides)?.to_dtype(compute)?;
            let wanted = xs.to_dtype(compute)?.broadcast_add(&pe)?.to_dtype(dtype)?;
            let wanted = flat::<f64>(&wanted.to_dtype(DType::F64)?);
            let same = |ys: &Tensor| {
                assert_eq!(ys.dtype(), dtype);
                assert_eq!(flat::<f64>(&ys.to_dtype(DType::F64).unwrap()), wanted);
            };
            same(&layer.by_reference(Route::Operations).forward(&xs, &sides)?);
            for (_, set) in InstructionSet::available() {
                same(&layer.on(set).forward(&xs, &sides)?);
            }
            let image = xs.reshape((2, 5, 3, 40))?;
            let image = match axes {
                PatchAxes::ChannelsLast => image,
                PatchAxes::ChannelsFirst => image.permute((0, 3, 1, 2))?,
            };
            let ys = layer.forward(&image, &sides)?;
            assert_eq!(ys.dims(), image.dims());
            same(&match axes {
                PatchAxes::ChannelsLast => ys,
                PatchAxes::ChannelsFirst => ys.permute((0, 2, 3, 1))?.contiguous()?,
            });
        }
    }
    Ok(())
}

#[test]
fn gradients_flow_to_the_input_alone() -> Result<()> {
    let layer = layer(GridPreset::Dit, 16, DType::F32);
    let xs = Var::from_tensor(&input(&[1, 6, 16], DType::F32)?)?;
    let weight = input(&[1, 6, 16], DType::F32)?;
    let loss = (layer.forward(xs.as_tensor(), &[2, 3])? * &weight)?.sum_all()?;
    let grads = loss.backward()?;
    assert_eq!(flat::<f32>(grads.get(&xs).unwrap()), flat::<f32>(&weight));
    Ok(())
}

#[test]
fn masks_count_the_cells_of_each_image() -> Result<()> {
    let layer = layer(GridPreset::Detr, 24, DType::F32);
    let mask: [[[u8; 4]; 3]; 2] = [
        [[1, 1, 1, 0], [1, 1, 1, 0], [0, 0, 0, 0]],
        [[1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1]],
    ];
    for dtype in [DType::U8, DType::I64, DType::U32] {
        let tensor = Tensor::new(&mask, &Device::Cpu)?.to_dtype(dtype)?;
        let found = layer.masked(&tensor)?;
        assert_eq!(found.dims(), [2, 12, 24]);
        let grid = Grid::new(GridPreset::Detr.config(24))?;
        let scale = std::f64::consts::TAU;
        for (image, mask) in mask.iter().enumerate() {
            let mask: Vec<bool> = mask.iter().flatten().map(|m| *m == 1).collect();
            let [y, x] = masked_coordinates(&mask, [3, 4], AxisCoordinates::Normalized { scale })?;
            let wanted = grid.table_at_reals::<f32>(&[&y, &x])?;
            assert_eq!(flat::<f32>(&found.get(image)?), wanted.as_slice());
        }
        // Without padding the rows are those of the whole grid.
        assert_eq!(
            flat::<f32>(&found.get(1)?),
            flat::<f32>(&layer.encoding(&[3, 4])?)
        );
    }
    let none = Tensor::zeros((2, 0, 4), DType::U8, &Device::Cpu)?;
    assert_eq!(layer.masked(&none)?.dims(), [2, 0, 24]);
    Ok(())
}

/// More sizes than the layer remembers, from several threads.
#[test]
fn sizes_are_forgotten_and_built_again() -> Result<()> {
    let layer = layer(GridPreset::Timm, 8, DType::F32);
    let wanted: Vec<Vec<f32>> = (1..40)
        .map(|n| flat(&layer.encoding(&[n, 2]).unwrap()))
        .collect();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (layer, wanted) = (layer.clone(), &wanted);
            scope.spawn(move || {
                for step in 0..100 {
                    let n = 1 + (step + 9 * thread) % 39;
                    assert_eq!(
                        flat::<f32>(&layer.encoding(&[n, 2]).unwrap()),
                        wanted[n - 1]
                    );
                }
            });
        }
    });
    Ok(())
}

#[test]
fn invalid_requests_name_the_values() -> Result<()> {
    let new = |preset: GridPreset, d_model, dtype, table_dtype| {
        let config = GridEncodingConfig {
            table_dtype,
            ..GridEncodingConfig::from_preset(preset, d_model)
        };
        GridEncoding::new(config, dtype, &Device::Cpu)
            .unwrap_err()
            .to_string()
    };
    let layer = layer(GridPreset::VitMae, 8, DType::F32);
    let forward = |dims: &[usize], dtype, sides: &[usize]| {
        let xs = Tensor::zeros(dims, dtype, &Device::Cpu).unwrap();
        layer.forward(&xs, sides).unwrap_err().to_string()
    };
    let masked = |dims: &[usize], dtype| {
        let mask = Tensor::zeros(dims, dtype, &Device::Cpu).unwrap();
        layer.masked(&mask).unwrap_err().to_string()
    };
    pe_tests::rejected! {
        new(GridPreset::Dit, 6, DType::F32, None) => "d_model 3 is odd…",
        new(GridPreset::Dit, 8, DType::U8, None) => "the layer must be f32, f64, f16 or bf16, not u8…",
        new(GridPreset::Dit, 8, DType::F32, Some(DType::BF16)) => "the layer is f32, but the table is bf16…",
        forward(&[1, 6, 8], DType::F32, &[2, 3]) => "the input must be [B, 7, 8] for 7 rows of a grid…",
        forward(&[1, 2, 3, 8], DType::F32, &[2, 3]) => "the input must be [B, 7, 8]…",
        forward(&[1, 7, 8], DType::F64, &[2]) => "the size has 1 sides, 2 are needed…",
        forward(&[1, 7, 8], DType::I64, &[2, 3]) => "the input must be f32, f64, f16 or bf16, not i64…",
        forward(&[1], DType::F32, &[65536, 65536]) => "4294967297 tokens exceed the limit…",
        masked(&[2, 3], DType::U8) => "the mask must have shape [B, H, W], got [2, 3]…",
        masked(&[1, 2, 3], DType::F32) => "the mask must be integers, not f32…",
        masked(&[1, 2, 3], DType::U8) => "coordinates of a mask are counts: the grid's own are not…",
    }
    Ok(())
}
