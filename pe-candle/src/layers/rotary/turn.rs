//! One rotation of a call, on whatever device its input is.

use candle_core::{Result, Tensor};
use pe_core::{Backend, PairLayout};

use super::reference::Route;
use super::tables::Angles;
use crate::kernel::{Direction, Rotation, TokenRows};
use crate::tensors::axes::HeadOrder;
use crate::tensors::memory;

/// What a call turns by, as the operation that does it in one pass on the CPU. Where there is
/// nothing to turn, calls have `None`.
pub(super) struct Turn(pub(super) Rotation);

impl Turn {
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

    pub(super) fn one(turn: Option<Self>, xs: &Tensor) -> Result<Tensor> {
        match turn {
            Some(turn) => turn.apply(xs),
            None => Ok(xs.clone()),
        }
    }

    pub(super) fn both(turn: Option<Self>, q: &Tensor, k: &Tensor) -> Result<(Tensor, Tensor)> {
        match turn {
            Some(turn) => Ok((turn.apply(q)?, turn.apply(k)?)),
            None => Ok((q.clone(), k.clone())),
        }
    }

    pub(super) fn in_place(turn: Option<Self>, xs: &Tensor) -> Result<()> {
        match turn {
            Some(turn) if xs.elem_count() != 0 => turn.0.apply_in_place(xs),
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
        self.compose(xs, route)
    }
}
