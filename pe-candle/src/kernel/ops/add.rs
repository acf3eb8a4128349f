//! The additive encoding as one operation, its gradient, and its variant in place.

mod replace;
mod run;
mod trained;

use crate::kernel::dispatch::{Fused, Input, Op, Operand, by_type, part};
use crate::kernel::element::{Activation, Compute, Entry};
use crate::kernel::isa::Level;
use crate::kernel::mask::Masking;
use crate::kernel::raw::Stream;
use crate::kernel::token_rows::TokenRows;
use crate::kernel::view::{PARALLEL, PARALLEL_MASK, Pass, View};
use crate::tensors::axes::AxisOrder;
use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, Tensor, bail};
use run::{AddAndDrop, AddRows, Dropping, MaskRows, RowMap};
pub(crate) use trained::AddTrained;

/// `y = dropout(x * scale + table[row])` in one pass, rounded as
/// [`reference::add_encoding`](crate::layers::reference::add_encoding) does.
#[derive(Debug, Clone)]
pub(crate) struct AddEncoding {
    pub(crate) rows: TokenRows,
    pub(crate) order: AxisOrder,
    pub(crate) scale: Option<f64>,
    pub(crate) masking: Option<Masking>,
    pub(crate) level: Level,
}

impl AddEncoding {
    /// Returns the row of the table that each row of an input of this shape uses.
    fn map(&self, dims: &[usize]) -> Result<RowMap<'_>> {
        let (Some((batch, time)), Some(width)) = (self.order.read(dims), dims.last()) else {
            bail!("{}, got {dims:?}", self.order.describe());
        };
        Ok(RowMap {
            width: *width,
            batch,
            time,
            sequence_first: self.order == AxisOrder::SequenceFirst,
            rows: &self.rows,
        })
    }
}

impl Fused for AddEncoding {
    fn name(&self) -> &'static str {
        "positional-encoding"
    }

    fn run(
        &self,
        xs: Input<'_, CpuStorage>,
        layout: &Layout,
        tables: &[Operand<'_>],
    ) -> Result<Option<CpuStorage>> {
        let dims = layout.dims();
        let map = self.map(dims)?;
        let (Some(view), [table]) = (View::new(layout), tables) else {
            bail!("{}, got {dims:?}", self.order.describe());
        };
        Ok(by_type!("the sum", xs, table.0.dtype(), |xs, Entry| {
            let table: &[Entry] = part(*table)?;
            let scaling = Scaling::new(self.level, self.scale, self.masking);
            view.map(
                xs,
                &AddPass {
                    table,
                    map,
                    scaling,
                },
            )
        }))
    }

    fn gradient(&self, grad: &Tensor) -> Result<Tensor> {
        let gradient = ScaledDropout {
            scale: self.scale,
            masking: self.masking,
            level: self.level,
        };
        gradient.of(grad)
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
/// `x`. Also dropout alone. It is linear, and its own gradient.
///
/// The mask's factor is multiplied first and the scale second, each product rounded to `f32`
/// (`f64` for `f64`), and the result once to a 16-bit float type, as the backward pass of the
/// reference does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScaledDropout {
    pub(crate) scale: Option<f64>,
    pub(crate) masking: Option<Masking>,
    pub(crate) level: Level,
}

impl ScaledDropout {
    /// Returns the product, as a tensor that gradients flow through.
    fn of(&self, xs: &Tensor) -> Result<Tensor> {
        match (self.scale, self.masking) {
            (None, None) => Ok(xs.clone()),
            _ => self.apply(xs, &[]),
        }
    }

    /// Returns whether the kernel supports tensors of this layout.
    pub(crate) fn supports(layout: &Layout) -> bool {
        View::new(layout).is_some()
    }

    pub(crate) fn on_cpu(
        &self,
        storage: &CpuStorage,
        layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        Op(self as &dyn Fused).cpu_fwd(storage, layout)
    }
}

impl Fused for ScaledDropout {
    fn name(&self) -> &'static str {
        "positional-encoding-gradient"
    }

    fn run(
        &self,
        xs: Input<'_, CpuStorage>,
        layout: &Layout,
        _: &[Operand<'_>],
    ) -> Result<Option<CpuStorage>> {
        let Some(view) = View::new(layout) else {
            bail!("no kernel for a gradient of shape {:?}", layout.dims());
        };
        let dtype = xs.dtype();
        Ok(by_type!("a gradient", xs, dtype, |xs, Entry| {
            view.map(xs, &Scaling::new(self.level, self.scale, self.masking))
        }))
    }

    fn gradient(&self, grad: &Tensor) -> Result<Tensor> {
        self.of(grad)
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
