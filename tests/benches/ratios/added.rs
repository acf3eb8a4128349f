//! Additions other than sinusoids: learned tables, resized grids, timesteps, tables of grids.

use std::hint::black_box;
use std::time::Duration;

use candle_core::{D, DType, Error, IndexOp, ModuleT, Result, Tensor, Var};
use candle_nn::{Embedding, Module};
use pe_candle::{
    LearnedGrid, LearnedGridConfig, LearnedPositional, LearnedPositionalConfig, PatchGrid,
    ResizeConfig, ResizeKernel, ResizePreset, TimestepEmbedding, TimestepEmbeddingConfig,
    TimestepPreset,
};
use pe_core::{Grid, GridPreset, Sinusoidal};

use crate::dropout::Nothing;
use crate::harness::{Bound, Caches, Row, Work};
use crate::report::Report;
use crate::{CPU, LARGE, TYPES, activations, layer, limits};

const LEARNED: &str = "learned";
const RESIZE: &str = "resize";
const TIMESTEP: &str = "timestep";
const GRID: &str = "grid";

/// DINOv2's grid and width, and sizes of images from 224 x 224 to 896 x 896. `torch_resize.py` has the same ones.
const SIDE: usize = 37;
const WIDTH: usize = 1024;
const SIZES: [[usize; 2]; 16] = [
    [16, 16],
    [20, 15],
    [24, 24],
    [28, 21],
    [21, 28],
    [32, 32],
    [37, 28],
    [37, 50],
    [42, 42],
    [30, 45],
    [45, 30],
    [48, 36],
    [50, 50],
    [56, 42],
    [64, 48],
    [64, 64],
];

pub(crate) fn run(report: &mut Report) -> Result<()> {
    for dtype in TYPES {
        learned(report, dtype)?;
        trained(report, dtype)?;
    }
    for antialias in [false, true] {
        resized(report, antialias)?;
    }
    packed(report)?;
    for rows in [1, 64, 4096] {
        timesteps(report, rows)?;
    }
    grids(report, GridPreset::VitMae, 768, &[14, 14])?;
    grids(report, GridPreset::CogVideoX, 1920, &[13, 30, 45])
}

/// A layer without dropout, with a variable as its table.
fn learned_layer(dtype: DType) -> Result<(LearnedPositional, Var)> {
    let table = Tensor::randn(0f32, 0.02, (LARGE.1, LARGE.2), CPU)?.to_dtype(dtype)?;
    let table = Var::from_tensor(&table)?;
    let config = LearnedPositionalConfig {
        dropout: 0.0,
        ..LearnedPositionalConfig::new(LARGE.2, LARGE.1)
    };
    let layer = LearnedPositional::from_table(config, table.as_tensor().clone())?;
    Ok((layer, table))
}

fn learned(report: &mut Report, dtype: DType) -> Result<()> {
    let name = format!("{LARGE:?}, {}, forward", dtype.as_str());
    if !report.wants(LEARNED, &name) {
        return Ok(());
    }
    let (ours, table) = learned_layer(dtype)?;
    let fixed = layer(LARGE.2, LARGE.1, 0.0, dtype)?;
    let xs = activations(LARGE, dtype)?;
    let pe = table.as_detached_tensor();
    Row::new(LEARNED, name, Caches::Cold)
        .budget(Duration::from_secs(4))
        .with("ours", || ours.forward_t(&xs, false).map(drop))
        .bound("ours", Bound::AtMost(1.1, "copy"))
        .bound("ours", Bound::AtMost(1.0, "candle"))
        .with("copy", limits::fresh_copy(dtype, xs.elem_count()))
        .with("fixed table", || fixed.forward_t(&xs, false).map(drop))
        .with("candle", || xs.broadcast_add(&pe).map(drop))
        .run(report)
}

/// Gradients of the input and of the table.
fn trained(report: &mut Report, dtype: DType) -> Result<()> {
    let name = format!("{LARGE:?}, {}, forward and backward", dtype.as_str());
    if !report.wants(LEARNED, &name) {
        return Ok(());
    }
    let (ours, table) = learned_layer(dtype)?;
    let xs = Var::from_tensor(&activations(LARGE, dtype)?)?;
    let embedding = Embedding::new(table.as_tensor().clone(), LARGE.2);
    let ids = Tensor::arange(0u32, LARGE.1 as u32, CPU)?;
    let grad = xs.ones_like()?;
    Row::new(LEARNED, name, Caches::Cold)
        .budget(Duration::from_secs(6))
        .with("ours", || ours.forward_t(&xs, true)?.backward().map(drop))
        .bound("ours", Bound::Faster(3.0, "candle"))
        .with("candle", || {
            let ys = xs.broadcast_add(&embedding.forward(&ids)?)?;
            ys.backward().map(drop)
        })
        .with("candle's backward of nothing", || {
            xs.apply_op1(Nothing(grad.clone()))?.backward().map(drop)
        })
        .run(report)
}

/// Candle's DINOv2: the nearest row of the table, with two permutations and the class row.
fn candle_resized(table: &Tensor, side: usize, [rows, columns]: [usize; 2]) -> Result<Tensor> {
    let width = table.dim(D::Minus1)?;
    let grid = table.i((.., 1..))?.reshape((1, side, side, width))?;
    let grid = grid.permute((0, 3, 1, 2))?;
    let grid = grid.upsample_nearest2d(rows, columns)?;
    let grid = grid.permute((0, 2, 3, 1))?.flatten(1, 2)?;
    Tensor::cat(&[&table.i((.., ..1))?, &grid], 1)
}

/// All sizes, with the weights of each known from the last time, and with nothing known.
fn resized(report: &mut Report, antialias: bool) -> Result<()> {
    let kind = if antialias {
        "bicubic with antialias"
    } else {
        "bicubic"
    };
    let name = format!("[1 + {SIDE} x {SIDE}, {WIDTH}] to 16 sizes, {kind}");
    if !report.wants(RESIZE, &name) {
        return Ok(());
    }
    let config = LearnedGridConfig {
        resize: ResizeConfig {
            antialias,
            ..ResizeConfig::new(ResizeKernel::Bicubic)
        },
        rows_before: 1,
        ..LearnedGridConfig::new([SIDE, SIDE], WIDTH)
    };
    let table = Tensor::randn(0f32, 0.02, (1, config.rows(), WIDTH), CPU)?;
    // The rows of a variable are computed in each call.
    let table = Var::from_tensor(&table)?;
    let layer = LearnedGrid::from_table(config.clone(), table.as_tensor().clone())?;
    let fixed = table.as_detached_tensor();
    let mut copies: Vec<Work<'_>> = Vec::new();
    for [rows, columns] in SIZES {
        let count = (1 + rows * columns) * WIDTH;
        copies.push(Box::new(limits::fresh_copy(DType::F32, count)));
    }
    Row::new(RESIZE, name, Caches::Cold)
        .budget(Duration::from_secs(5))
        .with("ours", || {
            let mut sizes = SIZES.iter();
            sizes.try_for_each(|size| layer.resized(size).map(drop))
        })
        .with("ours, weights too", || {
            let layer = LearnedGrid::from_table(config.clone(), fixed.clone())?;
            let mut sizes = SIZES.iter();
            sizes.try_for_each(|size| layer.resized(size).map(drop))
        })
        .with("copy", || copies.iter_mut().try_for_each(|copy| copy()))
        .with("candle, nearest", || {
            let mut sizes = SIZES.iter();
            sizes.try_for_each(|size| candle_resized(&fixed, SIDE, *size).map(drop))
        })
        .run(report)
}

/// SigLIP 2: the grids of 64 images, no two of the same size.
fn packed(report: &mut Report) -> Result<()> {
    let name = "[16 x 16, 768] to 64 images, packed";
    if !report.wants(RESIZE, name) {
        return Ok(());
    }
    let config = LearnedGridConfig::from_preset(ResizePreset::Siglip2, [16, 16], 768);
    let table = Tensor::randn(0f32, 0.02, (config.rows(), 768), CPU)?;
    let table = Var::from_tensor(&table)?;
    let layer = LearnedGrid::from_table(config.clone(), table.as_tensor().clone())?;
    let fixed = table.as_detached_tensor();
    let images: Vec<PatchGrid> = (0..64)
        .map(|image| PatchGrid {
            frames: 1,
            rows: 6 + 2 * (image % 8),
            columns: 6 + 3 * (image / 8),
        })
        .collect();
    let patches: usize = images.iter().map(|i| (i.rows * i.columns) as usize).sum();
    let grid = fixed.reshape((1, 16, 16, 768))?.permute((0, 3, 1, 2))?;
    Row::new(RESIZE, name, Caches::Cold)
        .budget(Duration::from_secs(3))
        .with("ours", || layer.resized_packed(&images).map(drop))
        .with("ours, weights too", || {
            let layer = LearnedGrid::from_table(config.clone(), fixed.clone())?;
            layer.resized_packed(&images).map(drop)
        })
        .with("copy", limits::fresh_copy(DType::F32, patches * 768))
        .with("candle, nearest", || {
            let one = |image: &PatchGrid| {
                let (rows, columns) = (image.rows as usize, image.columns as usize);
                let grid = grid.upsample_nearest2d(rows, columns)?;
                grid.permute((0, 2, 3, 1))?.reshape((rows * columns, 768))
            };
            let all = images.iter().map(one).collect::<Result<Vec<_>>>()?;
            Tensor::cat(&all, 0).map(drop)
        })
        .run(report)
}

/// Candle's Stable Diffusion, in f32.
#[allow(clippy::disallowed_methods)] // the code that is measured
fn candle_timesteps(timesteps: &Tensor, width: usize) -> Result<Tensor> {
    let half = width / 2;
    let exponent = Tensor::arange(0, half as u32, CPU)?.to_dtype(DType::F32)?;
    let exponent = ((exponent * -10000f64.ln())? / half as f64)?;
    let frequencies = exponent.exp()?.unsqueeze(0)?;
    let angles = timesteps
        .unsqueeze(D::Minus1)?
        .broadcast_mul(&frequencies)?;
    Tensor::cat(&[angles.cos()?, angles.sin()?], D::Minus1)
}

fn timesteps(report: &mut Report, rows: usize) -> Result<()> {
    let width = 320;
    let name = format!("{rows} x {width}");
    if !report.wants(TIMESTEP, &name) {
        return Ok(());
    }
    let config = TimestepEmbeddingConfig::from_preset(TimestepPreset::StableDiffusion, width);
    let layer = TimestepEmbedding::new(config, DType::F32, CPU)?;
    let integers = (0..rows).map(|row| ((row * 389 + 500) % 1000) as f32);
    let integers = Tensor::from_iter(integers, CPU)?;
    let fractions = (&integers + 0.37)?;
    let caches = if rows > 1000 {
        Caches::Cold
    } else {
        Caches::Warm
    };
    Row::new(TIMESTEP, name, caches)
        .with("integers", || layer.forward(black_box(&integers)).map(drop))
        .bound("integers", Bound::AtMost(2.0, "written"))
        .with("fractions", || {
            layer.forward(black_box(&fractions)).map(drop)
        })
        .bound("fractions", Bound::AtMost(2.0, "written"))
        .with("written", || {
            let entries = vec![black_box(1.5f32); rows * width];
            Tensor::from_vec(entries, (rows, width), CPU).map(drop)
        })
        .with("candle", || {
            candle_timesteps(black_box(&fractions), width).map(drop)
        })
        .run(report)
}

fn grids(report: &mut Report, preset: GridPreset, width: usize, sides: &[usize]) -> Result<()> {
    let name = format!("{preset} {sides:?} x {width}");
    if !report.wants(GRID, &name) {
        return Ok(());
    }
    let grid = Grid::new(preset.config(width)).map_err(Error::wrap)?;
    let rows = grid.table::<f32>(sides).map_err(Error::wrap)?.rows();
    let sinusoidal = Sinusoidal::paper(width).map_err(Error::wrap)?;
    Row::new(GRID, name, Caches::Cold)
        .with("f32", || {
            black_box(grid.table::<f32>(sides).map_err(Error::wrap)?);
            Ok(())
        })
        .bound("f32", Bound::AtMost(1.0, "rows of one axis"))
        .with("rows of one axis", || {
            let table = sinusoidal.table::<f32>(0..rows as u64);
            black_box(table.map_err(Error::wrap)?);
            Ok(())
        })
        .with("fresh fill", || limits::fresh_fill(rows * width))
        .run(report)
}
