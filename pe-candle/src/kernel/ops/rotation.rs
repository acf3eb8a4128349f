//! The rotation as one operation, its gradient, and its variant in place.

mod heads;
mod pairs;
mod rows;

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, Layout, Result, Tensor, WithDType, bail};

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
    /// `[.., pairs]` of one type: contiguous, or both `[rows, pairs]` with the same distance of rows.
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

/// Returns the elements of a table with contiguous rows, from the first to the last.
fn table_rows<'a, T: WithDType>(table: Operand<'a>) -> Result<&'a [T]> {
    let (storage, layout) = table;
    match (layout.dims(), layout.stride()) {
        (&[rows, pairs], &[stride, 1]) if rows != 0 && stride >= pairs => {
            let (start, len) = (layout.start_offset(), (rows - 1) * stride + pairs);
            Ok(&storage.as_slice::<T>()?[start..start + len])
        }
        _ => part(table),
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
        let stride = match (cos.1.stride(), sin.1.stride()) {
            ([a, _], [b, _]) if a == b => *a,
            _ => self.cos.dims().last().copied().unwrap_or(0),
        };
        Ok(by_type!("the rotation", xs, cos.0.dtype(), |xs, Entry| {
            let rows = Rows::<_, Entry> {
                level: self.plan.level,
                heads,
                cos: table_rows(*cos)?,
                sin: table_rows(*sin)?,
                stride,
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
