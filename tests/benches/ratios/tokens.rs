//! One token at a time, as in decoding.

use std::hint::black_box;
use std::time::Duration;

use candle_core::{DType, Result};
use pe_candle::testing::{Planned, Route};

use crate::harness::{Bound, Caches, Row};
use crate::report::Report;
use crate::{TYPES, activations, layer, limits};

const SUBJECT: &str = "one token";

pub(crate) fn run(report: &mut Report) -> Result<()> {
    for dtype in TYPES {
        for width in [512, 1_024, 2_048, 4_096, 8_192] {
            let name = format!("[1, 1, {width}], {}", dtype.as_str());
            if !report.wants(SUBJECT, &name) {
                continue;
            }
            let layer = layer(width, 64, 0.0, dtype)?;
            let xs = activations((1, 1, width), dtype)?;
            let pe = layer.encoding(40, 1)?;
            let reference = layer.by_reference(Route::Operations);
            let (wide_layer, wide) = (
                crate::layer(width, 64, 0.0, DType::F32)?,
                activations((1, 1, width), DType::F32)?,
            );
            let mut row = Row::new(SUBJECT, name, Caches::Warm)
                .budget(Duration::from_millis(400))
                .with("ours", || {
                    layer.forward_at(black_box(&xs), 40, false).map(drop)
                })
                .bound("ours", Bound::AtMost(1.2, "ours in f32"))
                .bound("ours", Bound::AtMost(1.0, "candle"))
                .with("empty operation", || {
                    black_box(&xs).apply_op1_no_bwd(&limits::EmptyOp).map(drop)
                })
                .with("ours in f32", || {
                    wide_layer.forward_at(black_box(&wide), 40, false).map(drop)
                })
                .with("copy", limits::fresh_copy(dtype, width))
                .with("plain", || {
                    let sum = reference.forward_at(black_box(&xs), 40, false);
                    sum.map(drop)
                })
                .with("candle", || black_box(&xs).broadcast_add(&pe).map(drop));
            // Wider tokens take longer to add than to copy.
            if width == 512 {
                row = row.bound("ours", Bound::AtMost(1.2, "empty operation"));
            }
            row.run(report)?;
        }
    }
    Ok(())
}
