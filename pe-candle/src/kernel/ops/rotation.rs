//! The rotation as one operation, its gradient, and its variant in place.

mod heads;
mod pairs;
mod rows;

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, Layout, Result, Tensor, bail};

use crate::kernel::dispatch::{Fused, Input, Operand, by_type, part};
use crate::kernel::plan::Plan;
use crate::kernel::token_rows::TokenRows;
use crate::tensors::axes::HeadOrder;
use heads::Heads;
pub(crate) use pairs::Direction;
use pe_core::PairLayout;
use rows::{Rows, run};

/// Rotates the pairs of every head by the angles of its token, in one pass, rounded as
/// [`reference::rotate`](crate::layers::rotary::reference) does.
///
/// The rotation is linear, and its gradient is the rotation back.
#[derive(Debug, Clone)]
pub(crate) struct Rotation {
    /// `[.., pairs]`, contiguous, and of one type.
    pub(crate) cos: Tensor,
    pub(crate) sin: Tensor,
    pub(crate) rows: TokenRows,
    pub(crate) layout: PairLayout,
    pub(crate) order: HeadOrder,
    pub(crate) direction: Direction,
    pub(crate) plan: Plan,
}

impl Rotation {
    /// Returns the rotated heads, as a tensor that gradients flow through.
    pub(crate) fn fused(&self, xs: &Tensor) -> Result<Tensor> {
        self.apply(xs, &[&self.cos, &self.sin])
    }

    /// Rotates the heads in the memory of `xs`.
    pub(crate) fn fused_in_place(&self, xs: &Tensor) -> Result<()> {
        self.apply_in_place(xs, &[&self.cos, &self.sin])
    }
}

impl Fused for Rotation {
    fn name(&self) -> &'static str {
        "rotary-embedding"
    }

    fn run(
        &self,
        xs: Input<'_, CpuStorage>,
        layout: &Layout,
        tables: &[Operand<'_>],
    ) -> Result<Option<CpuStorage>> {
        let (Some(heads), [cos, sin]) = (Heads::new(layout, self.order), tables) else {
            bail!("{}, got {:?}", self.order.describe(), layout.dims());
        };
        Ok(by_type!("the rotation", xs, cos.0.dtype(), |xs, Entry| {
            let rows = Rows::<_, Entry> {
                level: self.plan.level,
                heads,
                cos: part(*cos)?,
                sin: part(*sin)?,
                pairs: self.cos.dims().last().copied().unwrap_or(0),
                tokens: &self.rows,
                layout: self.layout,
                sign: self.direction.sign(),
            };
            run(&heads, xs, &rows)
        }))
    }

    fn gradient(&self, grad: &Tensor) -> Result<Tensor> {
        let back = Self {
            direction: self.direction.reversed(),
            ..self.clone()
        };
        back.fused(grad)
    }
}
