//! Fused passes as operations of Candle, and the element types of their storages.

use std::borrow::Borrow;
use std::sync::Arc;

use candle_core::backend::BackendStorage;
use candle_core::{
    CpuStorage, CustomOp1, CustomOp2, CustomOp3, DType, Error, InplaceOp1, InplaceOp2, InplaceOp3,
    Layout, Result, Shape, Tensor, WithDType, bail,
};

/// The activations of a pass, as a storage or its elements: read, or replaced where they are.
pub(crate) enum Input<'a, S: ?Sized> {
    Read(&'a S),
    InPlace(&'a mut S),
}

impl Input<'_, CpuStorage> {
    pub(super) fn dtype(&self) -> DType {
        match self {
            Self::Read(xs) => xs.dtype(),
            Self::InPlace(xs) => xs.dtype(),
        }
    }
}

/// The storage and the layout of an operand.
pub(crate) type Operand<'a> = (&'a CpuStorage, &'a Layout);

/// A pass over activations with the entries of constant tables. No gradient of the tables is computed.
///
/// Candle reads all operands, which may share their memory, and takes no lock for reading twice that a writer might have
/// asked for in between.
pub(crate) trait Fused: Send + Sync {
    fn name(&self) -> &'static str;

    /// Returns the shape of the results for activations of a layout.
    fn shape(&self, layout: &Layout) -> Shape {
        layout.shape().clone()
    }

    /// Returns the results, or `None` if they replaced the activations.
    fn run(
        &self,
        xs: Input<'_, CpuStorage>,
        layout: &Layout,
        tables: &[Operand<'_>],
    ) -> Result<Option<CpuStorage>>;

    /// Returns the gradient of the activations for one of the results.
    fn gradient(&self, grad: &Tensor) -> Result<Tensor>;

    /// Returns the results, as a tensor that gradients flow through.
    fn apply(&self, xs: &Tensor, tables: &[&Tensor]) -> Result<Tensor>
    where
        Self: Clone + Sized + 'static,
    {
        let once = Op(self as &dyn Fused);
        let kept = || Op(Arc::new(self.clone()) as Arc<dyn Fused>);
        match (tables, xs.track_op()) {
            ([], false) => xs.apply_op1_no_bwd(&once),
            ([], true) => xs.apply_op1(kept()),
            ([a], false) => xs.apply_op2_no_bwd(a, &once),
            ([a], true) => xs.apply_op2(a, kept()),
            ([a, b], false) => xs.apply_op3_no_bwd(a, b, &once),
            ([a, b], true) => xs.apply_op3(a, b, kept()),
            _ => bail!("{}: {} tables", self.name(), tables.len()),
        }
    }

    /// Computes the results in the memory of `xs`.
    fn apply_in_place(&self, xs: &Tensor, tables: &[&Tensor]) -> Result<()>
    where
        Self: Sized + 'static,
    {
        let once = Op(self as &dyn Fused);
        match tables {
            [] => xs.inplace_op1(&once),
            [a] => xs.inplace_op2(a, &once),
            [a, b] => xs.inplace_op3(a, b, &once),
            _ => bail!("{} in place: {} tables", self.name(), tables.len()),
        }
    }
}

/// A pass as Candle calls it.
pub(super) struct Op<F>(pub(super) F);

macro_rules! impl_op {
    ($op:ident $in_place:ident, $gradients:ty, [$($table:ident $layout:ident $none:expr),*]) => {
        impl<F: Borrow<dyn Fused>> $op for Op<F> {
            fn name(&self) -> &'static str {
                self.0.borrow().name()
            }

            fn cpu_fwd(
                &self,
                xs: &CpuStorage,
                layout: &Layout,
                $($table: &CpuStorage, $layout: &Layout,)*
            ) -> Result<(CpuStorage, Shape)> {
                let pass = self.0.borrow();
                match pass.run(Input::Read(xs), layout, &[$(($table, $layout)),*])? {
                    Some(ys) => Ok((ys, pass.shape(layout))),
                    None => bail!("{}: no results", pass.name()),
                }
            }

            fn bwd(
                &self,
                _: &Tensor,
                $($table: &Tensor,)*
                _: &Tensor,
                grad: &Tensor,
            ) -> Result<$gradients> {
                $(let _ = $table;)*
                let grad = self.0.borrow().gradient(grad)?;
                let gradients = (Some(grad) $(, $none)*);
                Ok(gradients)
            }
        }

        impl $in_place for Op<&dyn Fused> {
            fn name(&self) -> &'static str {
                self.0.name()
            }

            fn cpu_fwd(
                &self,
                xs: &mut CpuStorage,
                layout: &Layout,
                $($table: &CpuStorage, $layout: &Layout,)*
            ) -> Result<()> {
                let tables = [$(($table, $layout)),*];
                self.0.run(Input::InPlace(xs), layout, &tables).map(|_| ())
            }
        }
    };
}

impl_op!(CustomOp1 InplaceOp1, Option<Tensor>, []);
impl_op!(CustomOp2 InplaceOp2, (Option<Tensor>, Option<Tensor>), [a a_layout None]);
impl_op!(CustomOp3 InplaceOp3, (Option<Tensor>, Option<Tensor>, Option<Tensor>), [a a_layout None, b b_layout None]);

/// Returns the part of a storage that a contiguous layout names.
pub(super) fn part<'a, T: WithDType>((storage, layout): Operand<'a>) -> Result<&'a [T]> {
    let all = storage.as_slice::<T>()?;
    match layout.contiguous_offsets() {
        Some((start, end)) => Ok(&all[start..end]),
        None => bail!("the table is not contiguous"),
    }
}

/// Returns the error for types of input and table that no kernel accepts together.
pub(super) fn mismatch(op: &str, (xs, table): (DType, DType)) -> Error {
    let (xs, table) = (xs.as_str(), table.as_str());
    Error::msg(format!(
        "no kernel for {op} of {xs} with a table of {table}"
    ))
}

/// Runs a pass for the types of activations and tables that go together: `by_type!(operation, activations, type of the
/// tables, |elements, entry type| results)`.
macro_rules! by_type {
    ($op:expr, $xs:expr, $table:expr, |$x:ident, $entry:ident| $run:expr) => {
        by_type!(
            @ $op, $xs, $table, $x, $entry, $run;
            F32 F32 f32, F64 F64 f64, F64 F32 f32, F16 F16 f16, F16 F32 f32, BF16 BF16 bf16, BF16 F32 f32
        )
    };
    (@ $op:expr, $xs:expr, $table:expr, $x:ident, $entry:ident, $run:expr;
     $($input:ident $table_type:ident $type:ident),*) => {{
        use candle_core::{CpuStorage, DType};
        #[allow(unused_imports)]
        use half::{bf16, f16};
        use crate::kernel::dispatch::{Input, mismatch};
        let xs = $xs;
        let types = (xs.dtype(), $table);
        match types {
            $((DType::$input, DType::$table_type) => {
                #[allow(dead_code)]
                type $entry = $type;
                let $x = match xs {
                    Input::Read(CpuStorage::$input(xs)) => Input::Read(xs.as_slice()),
                    Input::InPlace(CpuStorage::$input(xs)) => Input::InPlace(xs.as_mut_slice()),
                    _ => return Err(mismatch($op, types)),
                };
                $run.map(CpuStorage::$input)
            })*
            _ => return Err(mismatch($op, types)),
        }
    }};
}
pub(super) use by_type;
