//! The rotation by angles that gradients flow to.

use candle_core::{
    CpuStorage, CustomOp2, DType, Device, Layout, Result, Shape, Storage, Tensor, WithDType, bail,
};
use pe_core::{PairLayout, cos_sin_of_angles, cos_sin_of_angles_f64};

use crate::kernel::dispatch::{Fused, Input};
use crate::kernel::element::{Activation, Compute};
use crate::kernel::isa::{Isa, Level, Work};
use crate::kernel::ops::rotation::{Direction, Rotation};
use crate::kernel::raw::share_out;
use crate::kernel::token_rows::TokenRows;
use crate::tensors::axes::HeadOrder;

/// Rotates heads by angles. The rotation has their cosines and sines. Its operands are the heads and the
/// angles: gradients of both are computed, those of the heads to any order.
///
/// ```text
/// y0 = a cos - b sin      dy0/dangle = -y1
/// y1 = a sin + b cos      dy1/dangle =  y0
/// ```
#[derive(Debug, Clone)]
pub(crate) struct AngleRotation(pub(crate) Rotation);

impl AngleRotation {
    /// Computes the cosines and sines of angles on the CPU, of a shape.
    pub(crate) fn cos_sin(angles: &Tensor, shape: &[usize]) -> Result<[Tensor; 2]> {
        match angles.dtype() {
            DType::F64 => cos_sin(angles, shape, cos_sin_of_angles_f64),
            _ => cos_sin(angles, shape, cos_sin_of_angles),
        }
    }

    pub(crate) fn apply(self, xs: &Tensor, angles: &Tensor) -> Result<Tensor> {
        match xs.track_op() || angles.track_op() {
            true => xs.apply_op2(angles, self),
            false => xs.apply_op2_no_bwd(angles, &self),
        }
    }
}

/// Computes cosines and sines, by several threads if there are many.
fn cos_sin<T: WithDType + Default>(
    angles: &Tensor,
    shape: &[usize],
    compute: impl Fn(&[T], &mut [T], &mut [T]) -> pe_core::Result<()> + Sync,
) -> Result<[Tensor; 2]> {
    /// Angles of a thread at a time. Smaller tensors are computed by one thread.
    const SHARE: usize = 1 << 14;
    let angles = angles.flatten_all()?.to_vec1::<T>()?;
    let (mut cos, mut sin) = (
        vec![T::default(); angles.len()],
        vec![T::default(); angles.len()],
    );
    let parts: Vec<_> = angles
        .chunks(SHARE)
        .zip(cos.chunks_mut(SHARE).zip(sin.chunks_mut(SHARE)))
        .collect();
    share_out(parts.into_iter(), |(angles, (cos, sin))| {
        // The lengths agree.
        let _ = compute(angles, cos, sin);
    });
    let tensor = |values| Tensor::from_vec(values, shape, &Device::Cpu);
    Ok([tensor(cos)?, tensor(sin)?])
}

impl CustomOp2 for AngleRotation {
    fn name(&self) -> &'static str {
        "rotation by angles"
    }

    fn cpu_fwd(
        &self,
        xs: &CpuStorage,
        layout: &Layout,
        _: &CpuStorage,
        _: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let Self(rotation) = self;
        // No one else has these tensors, so no one writes them.
        let (cos, cos_layout) = rotation.cos.storage_and_layout();
        let (sin, sin_layout) = rotation.sin.storage_and_layout();
        let (Storage::Cpu(cos), Storage::Cpu(sin)) = (&*cos, &*sin) else {
            bail!("cosines and sines are not on the cpu");
        };
        let tables = [(cos, cos_layout), (sin, sin_layout)];
        match rotation.run(Input::Read(xs), layout, &tables)? {
            Some(ys) => Ok((ys, layout.shape().clone())),
            None => bail!("the rotation by angles has no results"),
        }
    }

    fn bwd(
        &self,
        xs: &Tensor,
        angles: &Tensor,
        ys: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let Self(rotation) = self;
        let back = Self(Rotation {
            direction: rotation.direction.reversed(),
            ..rotation.clone()
        });
        let of_xs = xs.track_op().then(|| back.apply(grad, angles));
        let of_angles = angles.track_op().then(|| {
            let gradient = AngleGradient {
                shape: angles.shape().clone(),
                pairs: rotation.cos.dims().last().copied().unwrap_or(0),
                rows: rotation.rows.clone(),
                layout: rotation.layout,
                order: rotation.order,
                sign: match rotation.direction {
                    Direction::Forward => 1.0,
                    Direction::Back => -1.0,
                },
                level: rotation.plan.level,
            };
            ys.contiguous()?.apply_op2(&grad.contiguous()?, gradient)
        });
        Ok((of_xs.transpose()?, of_angles.transpose()?))
    }
}

/// The gradient of the angles from results and their gradient, both contiguous: `g1 y0 - g0 y1`, summed
/// in f64 over the heads and sequences that share an angle. It has no gradient itself.
struct AngleGradient {
    shape: Shape,
    pairs: usize,
    rows: TokenRows,
    layout: PairLayout,
    order: HeadOrder,
    sign: f64,
    level: Level,
}

impl CustomOp2 for AngleGradient {
    fn name(&self) -> &'static str {
        "gradient of angles"
    }

    fn cpu_fwd(
        &self,
        ys: &CpuStorage,
        ys_layout: &Layout,
        grad: &CpuStorage,
        grad_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let sums = Sums::new(self, ys_layout)?;
        macro_rules! sum {
            ($($variant:ident)*) => {
                match (ys, grad) {
                    $((CpuStorage::$variant(ys), CpuStorage::$variant(grad)) => {
                        let part = |all, layout: &Layout| slice(all, layout);
                        sums.all(self, part(ys, ys_layout)?, slice(grad, grad_layout)?)
                    })*
                    _ => bail!("the gradient of angles is not defined for these types"),
                }
            };
        }
        Ok((sum!(F32 F64 F16 BF16), self.shape.clone()))
    }
}

fn slice<'a, T>(all: &'a [T], layout: &Layout) -> Result<&'a [T]> {
    match layout.contiguous_offsets() {
        Some((start, end)) => Ok(&all[start..end]),
        None => bail!("operands of the gradient of angles are not contiguous"),
    }
}

/// Rows of a tile: their sums stay in the L1 cache.
const TILE: usize = 32;

/// Number of elements at which a second thread pays, as for rotations.
const PARALLEL: usize = 1 << 18;

/// Sizes and strides of contiguous heads. Groups have angles of their own.
#[derive(Clone, Copy)]
struct Sums {
    groups: (usize, usize),
    summed: [(usize, usize); 2],
    time: (usize, usize),
}

impl Sums {
    fn new(gradient: &AngleGradient, layout: &Layout) -> Result<Self> {
        let &[i, j, k, width] = layout.dims() else {
            bail!("{}, got {:?}", gradient.order.describe(), layout.dims());
        };
        let axes = [(i, j * k * width), (j, k * width), (k, width)];
        let [batch, heads, time] = match gradient.order {
            HeadOrder::HeadFirst => axes,
            HeadOrder::TimeFirst => [axes[0], axes[2], axes[1]],
            HeadOrder::SequenceFirst => [axes[1], axes[2], axes[0]],
        };
        let one = (1, 0);
        let (groups, summed) = match gradient.rows {
            TokenRows::Each => (batch, [one, heads]),
            TokenRows::PerHead => (heads, [batch, one]),
            _ => (one, [batch, heads]),
        };
        Ok(Self {
            groups,
            summed,
            time,
        })
    }

    /// Returns the sums of all groups, in the order of the angles.
    fn all<T>(self, gradient: &AngleGradient, ys: &[T], grad: &[T]) -> CpuStorage
    where
        T: Activation,
        T::Compute: Into<f64> + WithDType,
    {
        let (pairs, rows) = (gradient.pairs, self.time.0);
        let mut out = vec![T::Compute::default(); self.groups.0 * rows * pairs];
        let mut tiles = Vec::new();
        for (group, out) in out.chunks_mut((rows * pairs).max(1)).enumerate() {
            for (tile, out) in out.chunks_mut(TILE * pairs).enumerate() {
                let start = group * self.groups.1 + tile * TILE * self.time.1;
                tiles.push((start, out));
            }
        }
        let work = |(start, out): (usize, &mut [T::Compute])| {
            gradient.level.run(Tile {
                sums: self,
                ys,
                grad,
                start,
                pairs,
                layout: gradient.layout,
                sign: gradient.sign,
                out,
            });
        };
        match ys.len() >= PARALLEL {
            true => share_out(tiles.into_iter(), work),
            false => tiles.into_iter().for_each(work),
        }
        T::Compute::to_cpu_storage_owned(out)
    }
}

/// Some rows of one group.
struct Tile<'a, T: Activation> {
    sums: Sums,
    ys: &'a [T],
    grad: &'a [T],
    start: usize,
    pairs: usize,
    layout: PairLayout,
    sign: f64,
    out: &'a mut [T::Compute],
}

impl<T: Activation> Work for Tile<'_, T>
where
    T::Compute: Into<f64>,
{
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, _: I) {
        let [(outer, outer_stride), (inner, inner_stride)] = self.sums.summed;
        let mut sums = vec![0f64; self.out.len()];
        for index in 0..outer * inner {
            let at = index / inner * outer_stride + index % inner * inner_stride;
            for (row, sums) in sums.chunks_exact_mut(self.pairs).enumerate() {
                let start = self.start + at + row * self.sums.time.1;
                let end = start + 2 * self.pairs;
                let (ys, grad) = (&self.ys[start..end], &self.grad[start..end]);
                match self.layout {
                    PairLayout::HalfSplit => {
                        let (y0, y1) = ys.split_at(self.pairs);
                        let (g0, g1) = grad.split_at(self.pairs);
                        let pairs = y0.iter().zip(y1).zip(g0.iter().zip(g1));
                        for (sum, ((y0, y1), (g0, g1))) in sums.iter_mut().zip(pairs) {
                            *sum += term(*y0, *y1, *g0, *g1);
                        }
                    }
                    PairLayout::Interleaved => {
                        let pairs = ys.as_chunks::<2>().0.iter().zip(grad.as_chunks::<2>().0);
                        for (sum, ([y0, y1], [g0, g1])) in sums.iter_mut().zip(pairs) {
                            *sum += term(*y0, *y1, *g0, *g1);
                        }
                    }
                }
            }
        }
        for (out, sum) in self.out.iter_mut().zip(sums) {
            *out = T::Compute::from_f64(sum * self.sign);
        }
    }
}

#[inline(always)]
fn term<T: Activation>(y0: T, y1: T, g0: T, g1: T) -> f64
where
    T::Compute: Into<f64>,
{
    let minus_one = T::Compute::from_f64(-1.0);
    (g1.widen() * y0.widen() + g0.widen() * y1.widen() * minus_one).into()
}
