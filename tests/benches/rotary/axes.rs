//! Several axes: tables, and a call.

use std::hint::black_box;
use std::time::Duration;

use candle_core::{DType, Result, Tensor};
use candle_nn::rotary_emb::rope_i;
use pe_candle::{AxialRotaryEmbedding, AxialRotaryEmbeddingConfig, table_to_tensor};
use pe_core::{AxialRotary, AxialRotaryPreset, CosSin, Rotary, RotaryConfig};

use super::{CPU, Filter, Row, copies, with_copies};

/// Tables of tokens with several coordinates, against the models' own way in Candle's operations: each
/// token's angles for FLUX and LTX, and each axis' tables broadcast over the grid for Wan. Then a call that finds
/// its tables.
pub(super) fn rows(filter: &Filter) -> Result<()> {
    let of = |preset: AxialRotaryPreset| AxialRotary::new(preset.config(128));
    let flux = of(AxialRotaryPreset::Flux)?;
    let mut ids = vec![vec![0.0; 512]; 3];
    for (list, positions) in ids.iter_mut().zip(flux.grid_positions(&[1, 64, 64])?) {
        list.extend(positions);
    }
    let lists: Vec<&[f64]> = ids.iter().map(Vec::as_slice).collect();
    let columns = |axis: usize| Tensor::from_vec(ids[axis].clone(), (ids[axis].len(), 1), CPU);
    let tokens = [columns(0)?, columns(1)?, columns(2)?];
    let rates = |width: usize| -> Result<Tensor> {
        let frequencies = Rotary::new(RotaryConfig::new(width))?.frequencies(0)?;
        Tensor::from_vec(frequencies.inv_freq(), (1, width / 2), CPU)
    };
    let rates = [rates(16)?, rates(56)?, rates(56)?];
    let row = Row::new("axes table flux 4608 x 64 f32").with("ours", || {
        black_box(flux.tables_at_reals::<f32>(&lists)?);
        Ok(())
    });
    with_copies(row, DType::F32, 2 * 4608 * 64)
        .with("candle", || {
            let angles = |(tokens, rates): (&Tensor, &Tensor)| tokens.broadcast_mul(rates);
            let angles: Vec<Tensor> = tokens
                .iter()
                .zip(&rates)
                .map(angles)
                .collect::<Result<_>>()?;
            let angles = Tensor::cat(&angles, 1)?;
            let cos = angles.cos()?.to_dtype(DType::F32)?;
            black_box((cos, angles.sin()?.to_dtype(DType::F32)?));
            Ok(())
        })
        .run(filter, Duration::from_secs(1))?;

    wan(filter)?;
    ltx(filter)?;
    for dtype in [DType::F32, DType::BF16] {
        let config = AxialRotaryEmbeddingConfig::from_preset(AxialRotaryPreset::Flux, 128);
        let rotary = AxialRotaryEmbedding::new(config, dtype, CPU)?;
        let ids = Tensor::cat(&tokens, 1)?.to_dtype(DType::F32)?;
        let xs = Tensor::randn(0f32, 1., (1, 24, 4608, 128), CPU)?.to_dtype(dtype)?;
        let (cos, sin) = rotary.cos_sin(&ids)?;
        let (cos, sin) = (cos.to_dtype(dtype)?, sin.to_dtype(dtype)?);
        let row = Row::new(format!(
            "axes call flux (1, 24, 4608, 128) {}",
            dtype.as_str()
        ))
        .with("ours", || rotary.apply(&xs, &ids).map(drop));
        with_copies(row, dtype, xs.elem_count())
            .with("candle", || rope_i(&xs, &cos, &sin).map(drop))
            .run(filter, Duration::from_secs(1))?;
    }
    Ok(())
}

/// Returns the orders of three sides.
fn orders([a, b, c]: [usize; 3]) -> [[usize; 3]; 6] {
    [
        [a, b, c],
        [a, c, b],
        [b, a, c],
        [b, c, a],
        [c, a, b],
        [c, b, a],
    ]
}

/// The layer's tables of a video. It keeps those of the last four grids, so six grids take turns.
fn wan(filter: &Filter) -> Result<()> {
    let config = AxialRotaryEmbeddingConfig::from_preset(AxialRotaryPreset::Wan, 128);
    let rotary = AxialRotaryEmbedding::new(config, DType::F32, CPU)?;
    let grids = orders([21, 45, 80]);
    let mut turns = grids.iter().cycle();
    let row = Row::new("axes table wan 75600 x 64 f32").with("ours", || {
        let grid = turns.next().map_or(&[0; 3], |grid| grid);
        rotary.cos_sin(grid).map(drop)
    });
    let sizes = [21, 45, 80];
    let tables = |size: usize, width: usize| -> Result<[Tensor; 2]> {
        let frequencies = Rotary::new(RotaryConfig::new(width))?.frequencies(0)?;
        let CosSin { cos, sin } = frequencies.tables::<f32>(0..size as u64)?;
        Ok([table_to_tensor(cos, CPU)?, table_to_tensor(sin, CPU)?])
    };
    let by_axis = [tables(21, 44)?, tables(45, 42)?, tables(80, 42)?];
    let composed = |function: usize| {
        let mut parts = Vec::new();
        for (axis, tables) in by_axis.iter().enumerate() {
            let table = &tables[function];
            let width = table.dim(1)?;
            let mut shape = [1, 1, 1, width];
            shape[axis] = sizes[axis];
            parts.push(table.reshape(&shape)?.broadcast_as((21, 45, 80, width))?);
        }
        Tensor::cat(&parts, 3)
    };
    copies(row, 1f32, 2 * 75_600 * 64)
        .with("candle", || {
            black_box((composed(0)?, composed(1)?));
            Ok(())
        })
        .with("candle, one at a time", || {
            black_box(composed(0)?);
            black_box(composed(1)?);
            Ok(())
        })
        .run(filter, Duration::from_secs(2))
}

/// Tables at real positions, with the pairs of three axes in turn.
fn ltx(filter: &Filter) -> Result<()> {
    let config = AxialRotaryEmbeddingConfig::from_preset(AxialRotaryPreset::LtxVideo, 2048);
    let rotary = AxialRotaryEmbedding::new(config, DType::F32, CPU)?;
    let grids = orders([7, 16, 24]);
    let mut turns = grids.iter().cycle();
    let tokens = 7 * 16 * 24;
    let row = Row::new("axes table ltx 2688 x 1024 f32").with("ours", || {
        let grid = turns.next().map_or(&[0; 3], |grid| grid);
        rotary.cos_sin(grid).map(drop)
    });
    let coordinates = rotary.rotary().grid_positions(&grids[0])?;
    // The axis of the first pair, which does not rotate, is as good as another.
    let rates = rotary.rotary().inv_freq();
    let token = |token: usize| coordinates.iter().map(move |list| list[token] as f32);
    let positions: Vec<f32> = (0..tokens).flat_map(token).collect();
    let positions = Tensor::from_vec(positions, (tokens, 3), CPU)?;
    let (axes, rates): (Vec<u32>, Vec<f32>) = rates
        .iter()
        .map(|(axis, rate)| (*axis as u32, *rate as f32))
        .unzip();
    let pairs = rates.len();
    let (axes, rates) = (
        Tensor::from_vec(axes, pairs, CPU)?,
        Tensor::from_vec(rates, (1, pairs), CPU)?,
    );
    copies(row, 1f32, 2 * tokens * pairs)
        .with("candle", || {
            let angles = positions.index_select(&axes, 1)?.broadcast_mul(&rates)?;
            black_box((angles.cos()?, angles.sin()?));
            Ok(())
        })
        .run(filter, Duration::from_secs(1))
}
