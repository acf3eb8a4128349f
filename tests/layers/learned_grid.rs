//! Learned grids: presets against the libraries, kernels against the reference, gradients, caches.

use candle_core::{DType, Device, Result, Tensor, Var};
use candle_nn::{VarBuilder, VarMap};
use pe_candle::testing::{InstructionSet, Planned, Route};
use pe_candle::{
    LearnedGrid, LearnedGridConfig, LearnedGridShape, PatchGrid, PatchOrder, ResizeConfig,
    ResizeKernel, ResizePreset,
};
use pe_tests::layers::bits;
use pe_tests::resize;
use pe_tests::tolerance;

const DTYPES: [DType; 4] = [DType::F32, DType::F64, DType::F16, DType::BF16];

/// A table with entries that a short formula gives.
fn table(dims: &[usize], dtype: DType) -> Result<Tensor> {
    let count = dims.iter().product::<usize>() as u32;
    let entries =
        (0..count).map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as f32 / 8_388_608.0 - 1.0);
    Tensor::from_iter(entries, &Device::Cpu)?
        .reshape(dims)?
        .to_dtype(dtype)
}

fn image(rows: u32, columns: u32) -> PatchGrid {
    PatchGrid {
        frames: 1,
        rows,
        columns,
    }
}

/// Each preset on the table of the golden file: within its distance of what the library computes, and
/// equal to the exact sum rounded to f32.
#[test]
fn presets_give_the_numbers_of_their_libraries() -> Result<()> {
    let mut seen = 0;
    for case in resize::presets() {
        let sides = case.sides;
        let config = LearnedGridConfig::from_preset(case.preset, sides, resize::WIDTH);
        let rows = config.rows();
        let entries =
            (0..rows).flat_map(|r| (0..resize::WIDTH).map(move |c| resize::entry(r, c) as f32));
        let table = Tensor::from_iter(entries, &Device::Cpu)?.reshape((rows, resize::WIDTH))?;
        let table = match config.shape {
            LearnedGridShape::Rows => table,
            LearnedGridShape::BatchOfRows => table.unsqueeze(0)?,
            LearnedGridShape::ChannelsFirst => {
                table.t()?.reshape((1, resize::WIDTH, sides[0], sides[1]))?
            }
            _ => table.reshape((1, sides[0], sides[1], resize::WIDTH))?,
        };
        let layer = LearnedGrid::from_table(config, table)?;
        let found = layer.resized(&case.to)?.flatten_all()?.to_vec1::<f32>()?;
        assert_eq!(found.len(), case.values.len(), "{}", case.preset);
        let bound = if case.preset == ResizePreset::Jax {
            tolerance::RESIZED_BY_JAX
        } else {
            tolerance::RESIZED_BY_TORCH
        };
        for (found, wanted) in found.iter().zip(&case.values) {
            let distance = f64::from((found - wanted).abs());
            assert!(distance <= bound, "{}: {distance:e}", case.preset);
        }
        seen += 1;
    }
    assert!(seen > 50, "{seen}");
    Ok(())
}

fn kernels() -> Vec<ResizeConfig> {
    let mut all: Vec<_> = ResizeKernel::ALL.map(ResizeConfig::new).into();
    for kernel in [ResizeKernel::Bicubic, ResizeKernel::Bilinear] {
        for (antialias, align_corners) in [(true, false), (false, true)] {
            all.push(ResizeConfig {
                antialias,
                align_corners,
                ..ResizeConfig::new(kernel)
            });
        }
    }
    all
}

/// Over kernels, types, widths around the size of a chunk, strides of the gradient, instruction sets.
#[test]
fn fused_sums_equal_the_operations_bit_for_bit() -> Result<()> {
    let reference = |layer: &LearnedGrid| layer.by_reference(Route::Operations);
    let mut compared = 0;
    for resize in kernels() {
        for (width, sides, size) in [
            (1, [3, 4], [5, 2]),
            (16, [4, 4], [4, 4]),
            (37, [5, 3], [2, 7]),
            (71, [6, 5], [3, 3]),
            (200, [2, 9], [11, 4]),
        ] {
            for dtype in DTYPES {
                let config = LearnedGridConfig {
                    resize,
                    rows_before: 2,
                    rows_after: 1,
                    ..LearnedGridConfig::new(sides, width)
                };
                let table = Var::from_tensor(&table(&[1, config.rows(), width], dtype)?)?;
                let layer = LearnedGrid::from_table(config, table.as_tensor().clone())?;
                let wanted = reference(&layer).resized(&size)?;
                let weight = self::table(&[width, wanted.dim(0)?], dtype)?.t()?;
                let gradient = |rows: &Tensor| -> Result<Tensor> {
                    let grads = (rows * &weight)?.sum_all()?.backward()?;
                    grads.get(&table).unwrap().contiguous()
                };
                let by_operations = gradient(&wanted)?;
                let mut first = None;
                for (name, set) in InstructionSet::available() {
                    let rows = layer.on(set).resized(&size)?;
                    assert_eq!(rows.dtype(), dtype);
                    assert_eq!(
                        bits(&rows),
                        bits(&wanted),
                        "{resize:?} {width} {dtype:?} {name}"
                    );
                    let found = gradient(&rows)?;
                    assert_eq!(found.dims(), table.dims());
                    let bits = bits(&found);
                    assert_eq!(first.get_or_insert_with(|| bits.clone()), &bits, "{name}");
                    // Candle's own gradient adds in another order and rounds each term to the type.
                    let difference =
                        (found.to_dtype(DType::F64)? - by_operations.to_dtype(DType::F64)?)?;
                    let difference = difference.abs()?.max_all()?.to_scalar::<f64>()?;
                    let bound = match dtype {
                        DType::BF16 => tolerance::GRID_GRADIENT_BF16,
                        DType::F16 => tolerance::GRID_GRADIENT_F16,
                        _ => tolerance::GRID_GRADIENT,
                    };
                    assert!(
                        difference <= bound,
                        "{resize:?} {width} {dtype:?}: {difference:e}"
                    );
                    compared += 1;
                }
            }
        }
    }
    assert!(compared >= 180, "{compared}");
    Ok(())
}

/// The gradient is the transposed sum, which the reference computes from transposed weights.
#[test]
fn gradients_equal_finite_differences() -> Result<()> {
    for resize in kernels() {
        let config = LearnedGridConfig {
            resize,
            rows_before: 1,
            ..LearnedGridConfig::new([3, 4], 2)
        };
        let start = table(&[1, 13, 2], DType::F64)?;
        let weight = table(&[1 + 35, 2], DType::F64)?;
        let loss = |table: &Tensor| -> Result<Tensor> {
            let layer = LearnedGrid::from_table(config.clone(), table.clone())?;
            let rows = layer.resized(&[5, 7])?;
            (rows.powf(3.0)? * &weight)?.sum_all()
        };
        let table = Var::from_tensor(&start)?;
        let grads = loss(table.as_tensor())?.backward()?;
        let found = grads.get(&table).unwrap().flatten_all()?.to_vec1::<f64>()?;
        let entries = start.flatten_all()?.to_vec1::<f64>()?;
        for (index, found) in found.iter().enumerate() {
            let moved = |by: f64| -> Result<f64> {
                let mut entries = entries.clone();
                entries[index] += by;
                loss(&Tensor::from_vec(entries, (1, 13, 2), &Device::Cpu)?)?.to_scalar()
            };
            let wanted = (moved(1e-5)? - moved(-1e-5)?) / 2e-5;
            let distance = (found - wanted).abs();
            assert!(
                distance <= tolerance::GRID_DIFFERENCES,
                "{resize:?}: {distance:e}"
            );
        }
    }
    Ok(())
}

#[test]
fn equal_rows_stay_equal_and_the_same_size_is_the_table() -> Result<()> {
    for resize in kernels() {
        for dtype in DTYPES {
            let config = LearnedGridConfig {
                resize,
                rows_before: 1,
                ..LearnedGridConfig::new([7, 5], 40)
            };
            let row = table(&[1, 1, 40], dtype)?;
            let equal = row.broadcast_as((1, 36, 40))?.contiguous()?;
            let layer = LearnedGrid::from_table(config.clone(), equal)?;
            for size in [[1, 1], [3, 9], [16, 23], [5, 7]] {
                let rows = layer.resized(&size)?;
                let wanted = row.broadcast_as((1, 1 + size[0] * size[1], 40))?;
                if dtype != DType::F64 {
                    assert_eq!(bits(&rows), bits(&wanted), "{resize:?} {dtype:?} {size:?}");
                } else {
                    let difference = (rows.unsqueeze(0)? - wanted)?.abs()?.max_all()?;
                    assert!(difference.to_scalar::<f64>()? <= tolerance::EQUAL_ROWS_F64);
                }
            }
            let table = table(&[1, 36, 40], dtype)?;
            let layer = LearnedGrid::from_table(config, table.clone())?;
            assert_eq!(bits(&layer.resized(&[7, 5])?), bits(&table));
            // The class row is kept at any size.
            let first = layer.resized(&[9, 2])?.narrow(0, 0, 1)?;
            assert_eq!(bits(&first), bits(&table.narrow(1, 0, 1)?));
        }
    }
    Ok(())
}

#[test]
fn packed_and_padded_images_have_the_rows_of_each() -> Result<()> {
    let preset = ResizePreset::Qwen3Vl;
    let config = LearnedGridConfig::from_preset(preset, [6, 6], 24);
    let layer = LearnedGrid::from_table(config, table(&[36, 24], DType::BF16)?)?;
    let video = PatchGrid {
        frames: 2,
        ..image(2, 6)
    };
    let grids = [image(4, 8), video, image(6, 6)];
    let packed = layer.resized_packed(&grids)?;
    let alone = |rows: usize, columns: usize| layer.resized(&[rows, columns]);
    let frame = alone(2, 6)?;
    let wanted = Tensor::cat(&[alone(4, 8)?, frame.clone(), frame, alone(6, 6)?], 0)?;
    assert_eq!(bits(&packed), bits(&wanted));

    let xs = table(&[92, 24], DType::BF16)?;
    let ys = layer.forward_packed(&xs, &grids)?;
    let sum = (xs.to_dtype(DType::F32)? + packed.to_dtype(DType::F32)?)?.to_dtype(DType::BF16)?;
    assert_eq!((ys.dims(), bits(&ys)), (xs.dims(), bits(&sum)));
    assert_eq!(
        layer.forward_packed(&xs.unsqueeze(0)?, &grids)?.dims(),
        [1, 92, 24]
    );

    let config = LearnedGridConfig::from_preset(ResizePreset::Siglip2, [4, 4], 8);
    let layer = LearnedGrid::from_table(config, table(&[16, 8], DType::F32)?)?;
    let padded = layer.resized_padded(&[image(2, 3), image(3, 3)], 9)?;
    assert_eq!(padded.dims(), [2, 9, 8]);
    let small = layer.resized(&[2, 3])?;
    let first = small.narrow(0, 0, 1)?;
    let wanted = Tensor::cat(
        &[
            small,
            first.clone(),
            first.clone(),
            first,
            layer.resized(&[3, 3])?,
        ],
        0,
    )?;
    assert_eq!(bits(&padded), bits(&wanted));
    let error = |grids: &[PatchGrid]| layer.resized_padded(grids, 9).unwrap_err().to_string();
    assert!(error(&[image(3, 3), image(2, 5)]).starts_with("image 1 has 1 x 2 x 5 patches"));
    assert!(error(&[image(0, 5)]).starts_with("image 0 has 1 x 0 x 5 patches"));
    assert_eq!(layer.resized_padded(&[], 9)?.dims(), [0, 9, 8]);
    Ok(())
}

#[test]
fn forward_adds_in_the_axes_of_the_model() -> Result<()> {
    let (h, w, d) = (5, 3, 20);
    let config = LearnedGridConfig {
        shape: LearnedGridShape::ChannelsFirst,
        ..LearnedGridConfig::new([4, 4], d)
    };
    for dtype in [DType::F32, DType::F64] {
        let first = table(&[1, d, 4, 4], DType::F32)?;
        let layer = LearnedGrid::from_table(config.clone(), first.clone())?;
        let rows = layer.resized(&[h, w])?;
        let xs = table(&[2, d, h, w], dtype)?;
        let ys = layer.forward(&xs, &[h, w])?;
        let pe = rows.t()?.reshape((d, h, w))?.to_dtype(dtype)?;
        assert_eq!(bits(&ys), bits(&xs.broadcast_add(&pe)?));

        let last = LearnedGridConfig {
            shape: LearnedGridShape::ChannelsLast,
            ..config.clone()
        };
        let layer = LearnedGrid::from_table(last, first.permute((0, 2, 3, 1))?)?;
        assert_eq!(bits(&layer.resized(&[h, w])?), bits(&rows));
        let xs = xs.permute((0, 2, 3, 1))?;
        assert_eq!(
            bits(&layer.forward(&xs, &[h, w])?),
            bits(&ys.permute((0, 2, 3, 1))?.contiguous()?)
        );
        let flat = xs.reshape((2, h * w, d))?;
        let sum = layer.forward(&flat, &[h, w])?;
        assert_eq!(bits(&sum), bits(&ys.permute((0, 2, 3, 1))?.contiguous()?));
        assert_eq!(sum.dims(), flat.dims());
    }
    // The sum of a variable is the same.
    let var = Var::from_tensor(&table(&[1, d, 4, 4], DType::F32)?)?;
    let trained = LearnedGrid::from_table(config.clone(), var.as_tensor().clone())?;
    let fixed = LearnedGrid::from_table(config, var.as_tensor().detach())?;
    for dtype in DTYPES {
        let xs = table(&[2, h * w, d], dtype)?;
        let (a, b) = (trained.forward(&xs, &[h, w])?, fixed.forward(&xs, &[h, w])?);
        assert_eq!((a.dtype(), bits(&a)), (dtype, bits(&b)));
    }
    Ok(())
}

/// A variable that an optimizer changes: no old rows are returned.
#[test]
fn training_reaches_the_table_under_its_name() -> Result<()> {
    let varmap = VarMap::new();
    let vb = VarBuilder::from_varmap(&varmap, DType::F32, &Device::Cpu);
    let config = LearnedGridConfig::from_preset(ResizePreset::Timm, [4, 4], 8);
    let layer = LearnedGrid::new(config.clone(), vb.pp("model"))?;
    let data = varmap.data().lock().unwrap().clone();
    let var = &data["model.pos_embed"];
    assert_eq!(var.dims(), [1, 17, 8]);
    // The start depends on the seed alone.
    let start = |init_seed| {
        let config = LearnedGridConfig {
            init_seed,
            ..config.clone()
        };
        let vb = VarBuilder::from_varmap(&VarMap::new(), DType::F32, &Device::Cpu);
        LearnedGrid::new(config, vb).map(|layer| bits(layer.table()))
    };
    assert_eq!(start(0)?, bits(var));
    assert_ne!(start(1)?, bits(var));
    let before = layer.resized(&[2, 6])?;
    let loss = layer
        .forward(&table(&[1, 13, 8], DType::F32)?, &[2, 6])?
        .sqr()?
        .sum_all()?;
    let grads = loss.backward()?;
    let step = (var.as_tensor() - (grads.get(var).unwrap() * 0.1)?)?;
    var.set(&step)?;
    let after = layer.resized(&[2, 6])?;
    assert_ne!(bits(&before), bits(&after));
    let again = LearnedGrid::from_table(config, var.as_tensor().detach())?;
    assert_eq!(bits(&after), bits(&again.resized(&[2, 6])?));
    Ok(())
}

/// More sizes than the layer remembers, from several threads.
#[test]
fn sizes_are_forgotten_and_computed_again() -> Result<()> {
    let config = LearnedGridConfig::new([5, 5], 3);
    let layer = LearnedGrid::from_table(config, table(&[1, 25, 3], DType::F32)?)?;
    let wanted: Vec<_> = (1..50)
        .map(|side| bits(&layer.resized(&[side, 3]).unwrap()))
        .collect();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (layer, wanted) = (layer.clone(), &wanted);
            scope.spawn(move || {
                for side in (1..50).rev().chain(1..50) {
                    let side = 1 + (side + 7 * thread) % 49;
                    assert_eq!(bits(&layer.resized(&[side, 3]).unwrap()), wanted[side - 1]);
                }
            });
        }
    });
    Ok(())
}

#[test]
fn invalid_requests_name_the_values() -> Result<()> {
    let config = || LearnedGridConfig::from_preset(ResizePreset::Vit, [4, 4], 8);
    let new = |config: LearnedGridConfig, dims: &[usize], dtype| {
        let table = Tensor::zeros(dims, dtype, &Device::Cpu).unwrap();
        LearnedGrid::from_table(config, table)
            .unwrap_err()
            .to_string()
    };
    let message = new(config(), &[1, 16, 8], DType::F32);
    assert!(
        message.starts_with("the table must have shape [1, 17, 8], got [1, 16, 8]"),
        "{message}"
    );
    let message = new(config(), &[1, 17, 8], DType::U32);
    assert!(
        message.starts_with("the table must be f32, f64, f16 or bf16, not u32"),
        "{message}"
    );
    let with = |change: &dyn Fn(&mut LearnedGridConfig)| {
        let mut config = config();
        change(&mut config);
        new(config, &[1], DType::F32)
    };
    for (found, wanted) in [
        (with(&|c| c.d_model = 0), "d_model 0 is outside 1..=1048576"),
        (
            with(&|c| c.sides = vec![]),
            "sides []: a grid has 1 to 4 sides",
        ),
        (
            with(&|c| c.sides = vec![3, 0]),
            "sides [3, 0]: 0 is outside 1..=65536",
        ),
        (
            with(&|c| c.sides = vec![65536; 4]),
            "a grid of sides [65536, 65536, 65536, 65536] with 1 rows",
        ),
        (
            with(&|c| c.rows_before = usize::MAX),
            "a grid of sides [4, 4] with 18446744073709551615 rows",
        ),
        (
            with(&|c| c.shape = LearnedGridShape::ChannelsLast),
            "a table of shape ChannelsLast has no rows before",
        ),
        (
            with(&|c| {
                c.sides = vec![4];
                c.order = PatchOrder::MergeBlocks(2);
            }),
            "sides [4]: an order of squares needs two",
        ),
        (
            with(&|c| {
                c.resize = ResizeConfig {
                    antialias: true,
                    ..ResizeConfig::new(ResizeKernel::Nearest)
                };
            }),
            "nearest resizing is not defined with antialiasing",
        ),
    ] {
        assert!(found.starts_with(wanted), "{found}");
    }
    let layer = LearnedGrid::from_table(config(), table(&[1, 17, 8], DType::F32)?)?;
    let resized = |size: &[usize]| layer.resized(size).unwrap_err().to_string();
    for (found, wanted) in [
        (resized(&[3]), "the size has 1 sides, 2 are needed"),
        (
            resized(&[3, 0]),
            "a side of the size 0 is outside 1..=65536",
        ),
        (
            resized(&[65536, 65536]),
            "4294967297 rows exceed the limit of 268435456 in one call",
        ),
        (
            resized(&[usize::MAX, 1]),
            "a side of the size 18446744073709551615 is outside",
        ),
    ] {
        assert!(found.starts_with(wanted), "{found}");
    }
    let forward = |dims: &[usize], dtype| {
        let xs = Tensor::zeros(dims, dtype, &Device::Cpu).unwrap();
        layer.forward(&xs, &[2, 3]).unwrap_err().to_string()
    };
    for (found, wanted) in [
        (
            forward(&[1, 6, 8], DType::F32),
            "the input must be [B, 7, 8] for 7 rows of a grid",
        ),
        (
            forward(&[1, 2, 3, 8], DType::F32),
            "the input must be [B, 7, 8]",
        ),
        (forward(&[8], DType::F32), "the input must be [B, 7, 8]"),
        (
            forward(&[1, 7, 8], DType::U32),
            "the input must be f32, f64, f16 or bf16, not u32",
        ),
    ] {
        assert!(found.starts_with(wanted), "{found}");
    }
    let line = LearnedGrid::from_table(
        LearnedGridConfig::new([9], 2),
        table(&[1, 9, 2], DType::F32)?,
    )?;
    let message = line.resized_packed(&[image(3, 3)]).unwrap_err().to_string();
    assert!(
        message.starts_with("sides [9]: images need a grid of two sides"),
        "{message}"
    );
    let many = PatchGrid {
        frames: u32::MAX,
        ..image(1000, 1000)
    };
    let message = layer.resized_packed(&[many]).unwrap_err().to_string();
    assert!(
        message.contains("exceed the limit of 268435456 in one call"),
        "{message}"
    );
    Ok(())
}
