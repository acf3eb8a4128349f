//! The addition with dropout: forward, with its gradient, and through Candle's backward pass.

use std::time::Duration;

use candle_core::{CpuStorage, CustomOp1, DType, Layout, ModuleT, Result, Shape, Tensor, Var};
use pe_candle::testing::{Planned, Route};

use crate::harness::{Bound, Caches, Row};
use crate::report::Report;
use crate::{LARGE, TYPES, activations, layer};

const SUBJECT: &str = "add and drop";
const P: f32 = 0.1;

pub(crate) fn run(report: &mut Report) -> Result<()> {
    for dtype in TYPES {
        forward(report, dtype)?;
        gradient(report, dtype)?;
        backward(report, dtype)?;
    }
    Ok(())
}

fn forward(report: &mut Report, dtype: DType) -> Result<()> {
    let name = format!("{LARGE:?}, {}, forward", dtype.as_str());
    if !report.wants(SUBJECT, &name) {
        return Ok(());
    }
    let layer = layer(LARGE.2, LARGE.1, P, dtype)?;
    let xs = activations(LARGE, dtype)?;
    let pe = layer.encoding(0, LARGE.1)?;
    let reference = layer.by_reference(Route::Operations);
    Row::new(SUBJECT, name, Caches::Cold)
        .budget(Duration::from_secs(4))
        .with("ours", || layer.forward_t(&xs, true).map(drop))
        .bound("ours", Bound::AtMost(1.25, "ours, no dropout"))
        .with("ours, no dropout", || layer.forward_t(&xs, false).map(drop))
        .with("plain", || reference.forward_at(&xs, 0, true).map(drop))
        .with("candle", || {
            candle_nn::ops::dropout(&xs.broadcast_add(&pe)?, P).map(drop)
        })
        .run(report)
}

/// The two passes that are this crate's own in a training step. The gradient of the layer is
/// its dropout, at the same step, applied to the gradient that comes in.
fn gradient(report: &mut Report, dtype: DType) -> Result<()> {
    let name = format!("{LARGE:?}, {}, forward and gradient alone", dtype.as_str());
    if !report.wants(SUBJECT, &name) {
        return Ok(());
    }
    let layer = layer(LARGE.2, LARGE.1, P, dtype)?;
    let xs = activations(LARGE, dtype)?;
    let grad = xs.ones_like()?;
    Row::new(SUBJECT, name, Caches::Cold)
        .with("ours", || {
            let step = layer.dropout().step();
            let ys = layer.forward_t(&xs, true)?;
            let dxs = layer.dropout().forward_at_step(&grad, step, true)?;
            drop((ys, dxs));
            Ok(())
        })
        .with("two additions, no dropout", || {
            let ys = layer.forward_t(&xs, false)?;
            let zs = layer.forward_t(&grad, false)?;
            drop((ys, zs));
            Ok(())
        })
        .run(report)
}

fn backward(report: &mut Report, dtype: DType) -> Result<()> {
    let name = format!("{LARGE:?}, {}, forward and backward", dtype.as_str());
    if !report.wants(SUBJECT, &name) {
        return Ok(());
    }
    let layer = layer(LARGE.2, LARGE.1, P, dtype)?;
    let xs = Var::from_tensor(&activations(LARGE, dtype)?)?;
    let pe = layer.encoding(0, LARGE.1)?;
    let grad = xs.ones_like()?;
    let nothing = || xs.apply_op1(Nothing(grad.clone()))?.backward().map(drop);
    Row::new(SUBJECT, name, Caches::Cold)
        .budget(Duration::from_secs(5))
        .with("ours", || layer.forward_t(&xs, true)?.backward().map(drop))
        .bound("ours", Bound::AtMost(1.25, "nothing and two additions"))
        .with("candle", || {
            let ys = candle_nn::ops::dropout(&xs.broadcast_add(&pe)?, P)?;
            ys.backward().map(drop)
        })
        .with("candle's backward of nothing", nothing)
        .with("nothing and two additions", || {
            drop(layer.forward_t(&xs.as_detached_tensor(), false)?);
            nothing()?;
            layer.forward_t(&grad, false).map(drop)
        })
        .run(report)
}

/// An operation that does nothing, for what Candle's backward pass costs around any: ones for
/// the result, zeros for the input, and their sum with the gradient.
pub(crate) struct Nothing(pub(crate) Tensor);

impl CustomOp1 for Nothing {
    fn name(&self) -> &'static str {
        "nothing"
    }

    fn cpu_fwd(&self, _: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        Ok((CpuStorage::F32(Vec::new()), layout.shape().clone()))
    }

    fn bwd(&self, _: &Tensor, _: &Tensor, _: &Tensor) -> Result<Option<Tensor>> {
        Ok(Some(self.0.clone()))
    }
}
