//! One rotation of a call, on whatever device its input is.

use candle_core::{Result, Tensor};
use pe_core::PairLayout;

use super::tables::Angles;
use crate::kernel::{Direction, Plan, Rotation, Route, TokenRows};
use crate::layers::reference::Paths;
use crate::tensors::axes::HeadOrder;
use crate::tensors::memory;

/// The rotation of a call, `None` for empty inputs.
impl Rotation {
    pub(super) fn new(
        angles: Angles,
        rows: TokenRows,
        (layout, order): (PairLayout, HeadOrder),
        plan: Plan,
    ) -> Self {
        Self {
            cos: angles.cos,
            sin: angles.sin,
            rows,
            layout,
            order,
            direction: Direction::Forward,
            plan,
        }
    }

    pub(super) fn rotate_one(rotation: Option<Self>, xs: &Tensor) -> Result<Tensor> {
        match rotation {
            Some(rotation) => rotation.rotate(xs),
            None => Ok(xs.clone()),
        }
    }

    pub(super) fn rotate_both(
        rotation: Option<Self>,
        q: &Tensor,
        k: &Tensor,
    ) -> Result<(Tensor, Tensor)> {
        match rotation {
            Some(rotation) => Ok((rotation.rotate(q)?, rotation.rotate(k)?)),
            None => Ok((q.clone(), k.clone())),
        }
    }

    pub(super) fn rotate_in_place(rotation: Option<Self>, xs: &Tensor) -> Result<()> {
        match rotation {
            Some(rotation) if xs.elem_count() != 0 => rotation.fused_in_place(xs),
            _ => Ok(()),
        }
    }

    fn rotate(&self, xs: &Tensor) -> Result<Tensor> {
        memory::for_result("the result", xs)?;
        if xs.elem_count() == 0 {
            return Ok(xs.clone());
        }
        if self.plan.has_kernel(xs) {
            return self.fused(xs);
        }
        let route = match xs.track_op() {
            true => Route::Operations,
            false => Route::Rope,
        };
        (Paths::get(&self.plan)?.rotate)(self, xs, self.plan.reference.unwrap_or(route))
    }
}
