//! The additive encoding as one operation, its gradient, and its variant in place.

mod run;

use crate::kernel::dispatch::{by_type, part};
use crate::kernel::element::{Activation, Compute, Entry};
use crate::kernel::isa::Level;
use crate::kernel::mask::Masking;
use crate::kernel::raw::Stream;
use crate::kernel::token_rows::TokenRows;
use crate::kernel::view::{self, PARALLEL, PARALLEL_MASK, Pass};
use crate::tensors::axes::AxisOrder;
use candle_core::backend::BackendStorage;
use candle_core::{
    CpuStorage, CustomOp1, CustomOp2, InplaceOp2, Layout, Result, Shape, Tensor, WithDType, bail,
};
use run::{AddAndDrop, AddRows, Dropping, MaskRows, RowMap};

/// `y = dropout(x * scale + table[row])` in one pass, rounded as
/// [`reference::add_encoding`](crate::layers::reference::add_encoding) does.
///
/// Candle reads both operands, and takes no lock for reading twice that a writer might have asked for
/// in between. The table is a constant: no gradient of it is computed.
#[derive(Debug, Clone)]
pub(crate) struct AddEncoding {
    pub(crate) rows: TokenRows,
    pub(crate) order: AxisOrder,
    pub(crate) scale: Option<f64>,
    pub(crate) masking: Option<Masking>,
    pub(crate) level: Level,
}

impl AddEncoding {
    /// Returns the sum, as a tensor that gradients flow through.
    pub(crate) fn apply(self, xs: &Tensor, table: &Tensor) -> Result<Tensor> {
        if xs.track_op() {
            xs.apply_op2(table, self)
        } else {
            xs.apply_op2_no_bwd(table, &self)
        }
    }

    /// Computes the sum in the memory of `xs`.
    pub(crate) fn apply_in_place(self, xs: &Tensor, table: &Tensor) -> Result<()> {
        xs.inplace_op2(table, &self)
    }

    fn pass<'a, T: Activation, P>(
        &'a self,
        table: &'a [P],
        dims: &[usize],
    ) -> Result<AddPass<'a, T, P>> {
        let (Some((batch, time)), Some(width)) = (self.order.read(dims), dims.last()) else {
            bail!("{}, got {dims:?}", self.order.describe());
        };
        let map = RowMap {
            width: *width,
            batch,
            time,
            sequence_first: self.order == AxisOrder::SequenceFirst,
            rows: &self.rows,
        };
        Ok(AddPass {
            table,
            map,
            scaling: Scaling::new(self.level, self.scale, self.masking),
        })
    }

    fn map<T: Activation + WithDType, P: Entry<T::Compute>>(
        &self,
        xs: &[T],
        layout: &Layout,
        table: &[P],
    ) -> Result<CpuStorage> {
        let pass = self.pass::<T, P>(table, layout.dims())?;
        let Some(ys) = view::map(xs, layout, &pass) else {
            bail!("{}, got {:?}", self.order.describe(), layout.dims());
        };
        Ok(T::to_cpu_storage_owned(ys))
    }

    fn map_in_place<T: Activation, P: Entry<T::Compute>>(
        &self,
        xs: &mut [T],
        layout: &Layout,
        table: &[P],
    ) -> Result<()> {
        let pass = self.pass::<T, P>(table, layout.dims())?;
        if !view::map_in_place(xs, layout, &pass) {
            bail!("{}, got {:?}", self.order.describe(), layout.dims());
        }
        Ok(())
    }
}

impl CustomOp2 for AddEncoding {
    fn name(&self) -> &'static str {
        "positional-encoding"
    }

    fn cpu_fwd(
        &self,
        storage: &CpuStorage,
        layout: &Layout,
        table: &CpuStorage,
        table_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let ys = by_type!("the sum", storage, table.dtype(), |xs, Entry| {
            self.map(xs, layout, part::<Entry>(table, table_layout)?)?
        });
        Ok((ys, layout.shape().clone()))
    }

    fn bwd(
        &self,
        _: &Tensor,
        _: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let gradient = ScaledDropout {
            scale: self.scale,
            masking: self.masking,
            level: self.level,
        };
        Ok((Some(gradient.apply(grad)?), None))
    }
}

impl InplaceOp2 for AddEncoding {
    fn name(&self) -> &'static str {
        "positional-encoding in place"
    }

    fn cpu_fwd(
        &self,
        storage: &mut CpuStorage,
        layout: &Layout,
        table: &CpuStorage,
        table_layout: &Layout,
    ) -> Result<()> {
        by_type!("the sum", storage, table.dtype(), |xs, Entry| {
            self.map_in_place(xs, layout, part::<Entry>(table, table_layout)?)
        })
    }
}

/// Bytes of a table that are still in the L2 cache when the next batch comes, along with the activations of the batch
/// before.
const NEAR: usize = 256 << 10;

struct AddPass<'a, T: Activation, P> {
    table: &'a [P],
    map: RowMap<'a>,
    scaling: Scaling<T>,
}

impl<T: Activation, P: Entry<T::Compute>> Pass<T> for AddPass<'_, T, P> {
    fn parallel_from(&self) -> usize {
        self.scaling.parallel_from()
    }

    fn period(&self) -> Option<usize> {
        let period = self.map.period()?;
        (period * size_of::<P>() > NEAR).then_some(period)
    }

    fn apply(&self, first: usize, stream: &mut Stream<'_, T>) {
        let Scaling {
            level,
            scale,
            dropping,
        } = self.scaling;
        let rows = AddRows {
            stream,
            first,
            table: self.table,
            map: self.map,
            scale,
        };
        match dropping {
            None => level.run(rows),
            Some(dropping) => level.run(AddAndDrop(rows, dropping)),
        }
    }
}

/// `y = mask(x) * scale`: the gradient of [`AddEncoding`], with the gradient of the output as
/// `x`; and dropout alone. It is linear, and its own gradient.
///
/// The mask's factor is multiplied first and the scale second, each product rounded to `f32`
/// (`f64` for `f64`), and the result once to a half type: what the backward pass of the
/// reference does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScaledDropout {
    pub(crate) scale: Option<f64>,
    pub(crate) masking: Option<Masking>,
    pub(crate) level: Level,
}

impl ScaledDropout {
    /// Returns the product, as a tensor that gradients flow through.
    pub(crate) fn apply(self, grad: &Tensor) -> Result<Tensor> {
        if self.scale.is_none() && self.masking.is_none() {
            Ok(grad.clone())
        } else if grad.track_op() {
            grad.apply_op1(self)
        } else {
            grad.apply_op1_no_bwd(&self)
        }
    }

    fn map<T: Activation + WithDType>(&self, xs: &[T], layout: &Layout) -> Option<CpuStorage> {
        let pass = Scaling::<T>::new(self.level, self.scale, self.masking);
        view::map(xs, layout, &pass).map(T::to_cpu_storage_owned)
    }

    /// Returns the result, or `None` if there is no kernel for the type or the layout.
    pub(crate) fn on_cpu(&self, storage: &CpuStorage, layout: &Layout) -> Option<CpuStorage> {
        match storage {
            CpuStorage::F32(xs) => self.map(xs, layout),
            CpuStorage::F64(xs) => self.map(xs, layout),
            CpuStorage::F16(xs) => self.map(xs, layout),
            CpuStorage::BF16(xs) => self.map(xs, layout),
            _ => None,
        }
    }
}

impl CustomOp1 for ScaledDropout {
    fn name(&self) -> &'static str {
        "positional-encoding-gradient"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let Some(ys) = self.on_cpu(storage, layout) else {
            let (dtype, dims) = (storage.dtype().as_str(), layout.dims());
            bail!("no kernel for a gradient of type {dtype} and shape {dims:?}");
        };
        Ok((ys, layout.shape().clone()))
    }

    fn bwd(&self, _: &Tensor, _: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        self.apply(grad).map(Some)
    }
}

/// A scale and a masking in the type that is computed in, on an instruction set: the pass of [`ScaledDropout`].
#[derive(Clone, Copy)]
struct Scaling<T: Activation> {
    level: Level,
    scale: Option<T::Compute>,
    dropping: Option<Dropping<T::Compute>>,
}

impl<T: Activation> Scaling<T> {
    fn new(level: Level, scale: Option<f64>, masking: Option<Masking>) -> Self {
        let computed = |Masking { mask, factor }| (mask, T::Compute::from_f64(factor));
        Self {
            level,
            scale: scale.map(T::Compute::from_f64),
            dropping: masking.map(computed),
        }
    }
}

impl<T: Activation> Pass<T> for Scaling<T> {
    fn parallel_from(&self) -> usize {
        match self.dropping {
            Some(_) => PARALLEL_MASK,
            None => PARALLEL,
        }
    }

    fn period(&self) -> Option<usize> {
        None
    }

    fn apply(&self, first: usize, stream: &mut Stream<'_, T>) {
        self.level.run(MaskRows {
            stream,
            first,
            scale: self.scale,
            dropping: self.dropping,
        });
    }
}
