//! The rotation of one call, on the device of its input.

use candle_core::{Result, Tensor};
use pe_core::{Backend, PairLayout};

use super::reference::Route;
use super::tables::Angles;
use crate::kernel::{Direction, Rotation, TokenRows};
use crate::tensors::axes::HeadOrder;
use crate::tensors::memory;

/// The rotation that a call applies, as the operation that computes it in one pass on the CPU. A call
/// with nothing to rotate has `None` instead.
pub(super) struct Call(pub(super) Rotation);

impl Call {
    pub(super) fn new(
        angles: Angles,
        tokens: TokenRows,
        (layout, order): (PairLayout, HeadOrder),
        backend: Backend,
    ) -> Self {
        Self(Rotation {
            cos: angles.cos,
            sin: angles.sin,
            rows: tokens,
            layout,
            order,
            direction: Direction::Forward,
            backend,
        })
    }

    pub(super) fn one(call: Option<Self>, xs: &Tensor) -> Result<Tensor> {
        match call {
            Some(call) => call.apply(xs),
            None => Ok(xs.clone()),
        }
    }

    pub(super) fn both(call: Option<Self>, q: &Tensor, k: &Tensor) -> Result<(Tensor, Tensor)> {
        match call {
            Some(call) => Ok((call.apply(q)?, call.apply(k)?)),
            None => Ok((q.clone(), k.clone())),
        }
    }

    pub(super) fn in_place(call: Option<Self>, xs: &Tensor) -> Result<()> {
        match call {
            Some(call) if xs.elem_count() != 0 => call.0.apply_in_place(xs),
            _ => Ok(()),
        }
    }

    fn apply(&self, xs: &Tensor) -> Result<Tensor> {
        memory::for_result("the result", xs)?;
        if xs.elem_count() == 0 {
            return Ok(xs.clone());
        }
        if xs.device().is_cpu() {
            return self.0.apply(xs);
        }
        let route = match xs.track_op() {
            true => Route::Operations,
            false => Route::Rope,
        };
        self.reference(xs, route)
    }
}
