//! The rotation as one operation, its gradient, and its variant in place.

mod heads;
mod pairs;
mod rows;

use candle_core::backend::BackendStorage;
use candle_core::{
    CpuStorage, CustomOp3, InplaceOp3, Layout, Result, Shape, Tensor, WithDType, bail,
};

use crate::kernel::dispatch::{by_type, part};
use crate::kernel::element::{Activation, Entry};
use crate::kernel::plan::Plan;
use crate::kernel::token_rows::TokenRows;
use crate::tensors::axes::HeadOrder;
use heads::Heads;
pub(crate) use pairs::Direction;
use pe_core::PairLayout;
use rows::{Rows, map, map_in_place};

/// Rotates the pairs of every head by the angles of its token, in one pass, rounded as
/// [`reference::rotate`](crate::layers::rotary::reference) does.
///
/// Candle reads all operands, which may share their memory, and takes no lock for reading twice that a writer might have
/// asked for in between. The tables are constants: no gradient of them is computed. The rotation is linear, and its gradient
/// is the rotation back.
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
        if xs.track_op() {
            xs.apply_op3(&self.cos, &self.sin, self.clone())
        } else {
            xs.apply_op3_no_bwd(&self.cos, &self.sin, self)
        }
    }

    /// Rotates the heads in the memory of `xs`.
    pub(crate) fn fused_in_place(&self, xs: &Tensor) -> Result<()> {
        xs.inplace_op3(&self.cos, &self.sin, self)
    }

    /// Returns the pass over a tensor of this layout.
    fn rows<'a, T: Activation, P: WithDType>(
        &'a self,
        layout: &Layout,
        [cos, sin]: [(&'a CpuStorage, &Layout); 2],
    ) -> Result<Rows<'a, T, P>> {
        let Some(heads) = Heads::new(layout, self.order) else {
            bail!("{}, got {:?}", self.order.describe(), layout.dims());
        };
        Ok(Rows {
            level: self.plan.level,
            heads,
            cos: part(cos.0, cos.1)?,
            sin: part(sin.0, sin.1)?,
            pairs: self.cos.dims().last().copied().unwrap_or(0),
            tokens: &self.rows,
            layout: self.layout,
            sign: self.direction.sign(),
        })
    }

    fn map<T: Activation + WithDType, P: Entry<T::Compute> + WithDType>(
        &self,
        xs: &[T],
        layout: &Layout,
        tables: [(&CpuStorage, &Layout); 2],
    ) -> Result<CpuStorage> {
        let rows = self.rows::<T, P>(layout, tables)?;
        Ok(T::to_cpu_storage_owned(map(&rows.heads, xs, &rows)))
    }
}

impl CustomOp3 for Rotation {
    fn name(&self) -> &'static str {
        "rotary-embedding"
    }

    fn cpu_fwd(
        &self,
        storage: &CpuStorage,
        layout: &Layout,
        cos: &CpuStorage,
        cos_layout: &Layout,
        sin: &CpuStorage,
        sin_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let tables = [(cos, cos_layout), (sin, sin_layout)];
        let ys = by_type!("the rotation", storage, cos.dtype(), |xs, Entry| {
            self.map::<_, Entry>(xs, layout, tables)?
        });
        Ok((ys, layout.shape().clone()))
    }

    fn bwd(
        &self,
        _: &Tensor,
        _: &Tensor,
        _: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let back = Self {
            direction: self.direction.reversed(),
            ..self.clone()
        };
        Ok((Some(back.fused(grad)?), None, None))
    }
}

impl InplaceOp3 for Rotation {
    fn name(&self) -> &'static str {
        "rotary-embedding in place"
    }

    fn cpu_fwd(
        &self,
        storage: &mut CpuStorage,
        layout: &Layout,
        cos: &CpuStorage,
        cos_layout: &Layout,
        sin: &CpuStorage,
        sin_layout: &Layout,
    ) -> Result<()> {
        let tables = [(cos, cos_layout), (sin, sin_layout)];
        by_type!("the rotation", storage, cos.dtype(), |xs, Entry| {
            let rows = self.rows::<_, Entry>(layout, tables)?;
            map_in_place(&rows.heads, xs, &rows);
        });
        Ok(())
    }
}
