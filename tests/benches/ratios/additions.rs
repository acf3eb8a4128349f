//! The addition without dropout: a result of its own, any order of the axes, in place.

use std::time::Duration;

use candle_core::{DType, ModuleT, Result, Tensor};
use pe_candle::testing::{Planned, Route};
use pe_candle::{AxisOrder, EmbeddingScale, PositionalEncoding, PositionalEncodingConfig};

use crate::harness::{Bound, Caches, Row};
use crate::report::Report;
use crate::{CPU, LARGE, TYPES, activations, layer, limits};

const SUBJECT: &str = "add";

pub(crate) fn run(report: &mut Report) -> Result<()> {
    for dtype in TYPES {
        fresh(report, dtype)?;
        in_place(report, dtype)?;
        variants(report, dtype)?;
    }
    Ok(())
}

fn fresh(report: &mut Report, dtype: DType) -> Result<()> {
    let name = format!("{LARGE:?}, {}, fresh result", dtype.as_str());
    if !report.wants(SUBJECT, &name) {
        return Ok(());
    }
    let layer = layer(LARGE.2, LARGE.1, 0.0, dtype)?;
    let xs = activations(LARGE, dtype)?;
    let turned = xs.transpose(0, 1)?.contiguous()?.transpose(0, 1)?;
    let pe = layer.encoding(0, LARGE.1)?;
    let reference = layer.by_reference(Route::Operations);
    Row::new(SUBJECT, name, Caches::Cold)
        .budget(Duration::from_secs(4))
        .with("ours", || layer.forward_t(&xs, false).map(drop))
        .bound("ours", Bound::AtMost(1.1, "copy"))
        .bound("ours", Bound::AtMost(1.0, "candle"))
        .with("copy", limits::fresh_copy(dtype, xs.elem_count()))
        .with("ours, transposed input", || {
            layer.forward_t(&turned, false).map(drop)
        })
        .bound("ours, transposed input", Bound::AtMost(1.1, "copy"))
        .with("plain", || reference.forward_at(&xs, 0, false).map(drop))
        .with("candle", || xs.broadcast_add(&pe).map(drop))
        .run(report)
}

fn in_place(report: &mut Report, dtype: DType) -> Result<()> {
    let name = format!("{LARGE:?}, {}, in place", dtype.as_str());
    if !report.wants(SUBJECT, &name) {
        return Ok(());
    }
    let layer = layer(LARGE.2, LARGE.1, 0.0, dtype)?;
    let xs = activations(LARGE, dtype)?;
    let mut words = vec![1u32; xs.elem_count() * dtype.size_in_bytes() / 4];
    Row::new(SUBJECT, name, Caches::Cold)
        .with("ours", || layer.forward_inplace(&xs, 0))
        .bound("ours", Bound::AtMost(1.15, "change"))
        .with("change", || limits::change(&mut words))
        .run(report)
}

/// The rest of what the layer does in one pass: all are held against the same copy.
fn variants(report: &mut Report, dtype: DType) -> Result<()> {
    let name = format!("{LARGE:?}, {}, variants", dtype.as_str());
    if !report.wants(SUBJECT, &name) {
        return Ok(());
    }
    let (batch, time, width) = LARGE;
    let config = PositionalEncodingConfig {
        max_seq_len: time,
        dropout: 0.0,
        ..PositionalEncodingConfig::new(width)
    };
    let make = |config| PositionalEncoding::new(config, dtype, CPU);
    let scaled = make(PositionalEncodingConfig {
        scale: EmbeddingScale::SqrtDModel,
        table_dtype: Some(DType::F32),
        ..config.clone()
    })?;
    let by_time = make(PositionalEncodingConfig {
        axis_order: AxisOrder::SequenceFirst,
        ..config.clone()
    })?;
    let plain = make(config)?;
    let xs = activations(LARGE, dtype)?;
    let by_time_xs = activations((time, batch, width), dtype)?;
    let pe = plain.encoding(0, time)?.unsqueeze(1)?;
    let ids = Tensor::arange(0u32, time as u32, CPU)?;
    let ids = ids
        .unsqueeze(0)?
        .broadcast_as((batch, time))?
        .contiguous()?;
    Row::new(SUBJECT, name, Caches::Cold)
        .budget(Duration::from_secs(3))
        .with("position ids", || {
            plain.forward_with_positions(&xs, &ids, false).map(drop)
        })
        .bound("position ids", Bound::AtMost(1.1, "copy"))
        .with("copy", limits::fresh_copy(dtype, xs.elem_count()))
        .with("scaled, f32 table", || {
            scaled.forward_t(&xs, false).map(drop)
        })
        .bound("scaled, f32 table", Bound::AtMost(1.1, "copy"))
        .with("sequence first", || {
            by_time.forward_t(&by_time_xs, false).map(drop)
        })
        .bound("sequence first", Bound::AtMost(1.1, "copy"))
        .with("candle, sequence first", || {
            by_time_xs.broadcast_add(&pe).map(drop)
        })
        .run(report)
}
