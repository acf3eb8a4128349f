//! The additive encoding with a trained table: the gradients of the input and of the table in one pass.

use std::mem::take;

use candle_core::{CpuStorage, CustomOp2, Layout, Result, Shape, Storage, Tensor, WithDType, bail};

use super::replace::padded;
use super::run::{Dropping, Scale};
use super::{AddEncoding, ScaledDropout, Scaling};
use crate::kernel::dispatch::{Fused, Input};
use crate::kernel::element::{Activation, Chunk, Compute};
use crate::kernel::isa::{CHUNK, Isa, Ops, Work};
use crate::kernel::raw::{Zeros, share_out, threads, zeros};
use crate::kernel::view::{PARALLEL, PARALLEL_MASK};
use crate::kernel::words::Words;

/// [`AddEncoding`] with a table that has a gradient.
///
/// A row of the table's gradient is the sum of the gradients of all tokens that use the row, in row-major order, in `f32`
/// (`f64` for `f64`), rounded once: what the backward pass of
/// [`reference::add_encoding`](crate::layers::reference::add_encoding) computes, except where sequences share ids that
/// repeat: that adds up the batch first. One thread sums up a row, so the bits do
/// not depend on the number of threads.
#[derive(Debug, Clone)]
pub(crate) struct AddTrained {
    pub(crate) add: AddEncoding,
    /// The row without a gradient.
    pub(crate) padding: Option<u32>,
}

/// The gradients of the input, if it has one of its own, and of the table.
type Gradients = (Option<Tensor>, Tensor);

impl AddTrained {
    /// Returns the results, as a tensor that gradients flow through.
    pub(crate) fn apply(self, xs: &Tensor, table: &Tensor) -> Result<Tensor> {
        xs.apply_op2(table, self)
    }

    fn gradients(&self, xs: &Tensor, table: &Tensor, grad: &Tensor) -> Result<Gradients> {
        let grad = grad.contiguous()?;
        let (rows, width) = table.dims2()?;
        let (storage, layout) = grad.storage_and_layout();
        let (Storage::Cpu(storage), Some((start, end))) = (&*storage, layout.contiguous_offsets())
        else {
            bail!("the gradient of a table is computed on the cpu");
        };
        let (dims, wants_xs) = (grad.dims(), xs.track_op());
        let (of_xs, of_table) = match storage {
            CpuStorage::F32(all) => self.run(&all[start..end], dims, rows, wants_xs)?,
            CpuStorage::F64(all) => self.run(&all[start..end], dims, rows, wants_xs)?,
            CpuStorage::F16(all) => self.run(&all[start..end], dims, rows, wants_xs)?,
            CpuStorage::BF16(all) => self.run(&all[start..end], dims, rows, wants_xs)?,
            _ => bail!("no kernel for a gradient of type {}", grad.dtype().as_str()),
        };
        let of_xs = match of_xs {
            None if wants_xs => Some(grad.clone()),
            other => other,
        };
        let of_table = of_table.reshape((rows, width))?;
        Ok((of_xs, of_table.to_dtype(table.dtype())?))
    }

    /// Returns the gradients in the types that they are computed in. That of the input is `None` if it is `grad` itself, or
    /// not wanted.
    fn run<T>(
        &self,
        grad: &[T],
        dims: &[usize],
        table_rows: usize,
        wants_xs: bool,
    ) -> Result<Gradients>
    where
        T: Activation + WithDType + Zeros,
        T::Compute: WithDType + Zeros,
    {
        let map = self.add.map(dims)?;
        let width = map.width;
        let scaling = Scaling::<T>::new(self.add.level, self.add.scale, self.add.masking);
        let changed = scaling.scale.is_some() || scaling.dropping.is_some();
        let no_memory =
            || candle_core::Error::msg("no memory for the gradients of a trained table");
        let xs_count = if wants_xs && changed { grad.len() } else { 0 };
        let mut xs = zeros::<T>(xs_count).ok_or_else(no_memory)?;
        let mut sums = zeros::<T::Compute>(table_rows * width).ok_or_else(no_memory)?;

        let mut xs_rows = xs.chunks_mut(width);
        let uses = (0..grad.len() / width).map(|row| Use {
            row,
            id: map.id(row),
            xs: xs_rows.next().unwrap_or_default(),
        });
        let mut uses: Vec<_> = uses.collect();
        // Stable, and fast for the runs that tokens of a sequence are.
        uses.sort_by_key(|used| used.id);
        let parallel_from = match scaling.dropping {
            Some(_) => PARALLEL_MASK,
            None => PARALLEL,
        };
        let pieces = match grad.len() >= parallel_from {
            true => 4 * threads(),
            false => 1,
        };
        let pieces = pieces_of(&mut uses, &mut sums, width, pieces);
        share_out(pieces.into_iter(), |piece| {
            scaling.level.run(SumRows {
                piece,
                grad,
                width,
                scale: scaling.scale,
                dropping: scaling.dropping,
            });
        });
        if let Some(row) = self.padding.map(|row| row as usize) {
            let row = sums.chunks_mut(width).nth(row).unwrap_or_default();
            row.fill(T::Compute::default());
        }
        let cpu = &candle_core::Device::Cpu;
        let of_xs = match xs.len() {
            0 => None,
            _ => Some(Tensor::from_vec(xs, dims, cpu)?),
        };
        let count = sums.len();
        Ok((of_xs, Tensor::from_vec(sums, count, cpu)?))
    }
}

impl CustomOp2 for AddTrained {
    fn name(&self) -> &'static str {
        "learned-positional"
    }

    fn cpu_fwd(
        &self,
        xs: &CpuStorage,
        layout: &Layout,
        table: &CpuStorage,
        table_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let tables = [(table, table_layout)];
        match self.add.run(Input::Read(xs), layout, &tables)? {
            Some(ys) => Ok((ys, layout.shape().clone())),
            None => bail!("no results"),
        }
    }

    fn bwd(
        &self,
        xs: &Tensor,
        table: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        if !grad.track_op() {
            let (of_xs, of_table) = self.gradients(xs, table, grad)?;
            return Ok((of_xs, Some(of_table)));
        }
        // Gradients of gradients flow through Candle's own operations.
        let masked = ScaledDropout {
            scale: None,
            masking: self.add.masking,
            level: self.add.level,
        };
        let (rows, width) = table.dims2()?;
        let map = self.add.map(grad.dims())?;
        let count = grad.elem_count() / width;
        let kept = |row: &u32| self.padding != Some(*row);
        let ids: Vec<u32> = (0..count).map(|row| map.id(row)).collect();
        let weights: Vec<f64> = ids.iter().map(|id| f64::from(u8::from(kept(id)))).collect();
        let weights =
            Tensor::from_vec(weights, (count, 1), grad.device())?.to_dtype(table.dtype())?;
        let ids = Tensor::from_vec(ids, count, grad.device())?;
        let terms = masked.of(grad)?.contiguous()?.reshape((count, width))?;
        let terms = terms.to_dtype(table.dtype())?.broadcast_mul(&weights)?;
        let none = Tensor::zeros((rows, width), table.dtype(), grad.device())?;
        let of_xs = self.add.gradient(grad)?;
        Ok((Some(of_xs), Some(none.index_add(&ids, &terms, 0)?)))
    }
}

/// A row of the input, the row of the table that it uses, and where its gradient goes: nowhere, if it is not wanted.
struct Use<'a, T> {
    row: usize,
    id: u32,
    xs: &'a mut [T],
}

/// Some rows of the table's gradient, and the rows of the input that use them, ordered by row of the table.
struct Piece<'a, 'x, T: Activation> {
    first: u32,
    sums: &'a mut [T::Compute],
    uses: &'a mut [Use<'x, T>],
}

/// Divides the used rows of a table among pieces.
fn pieces_of<'a, 'x, T: Activation>(
    mut uses: &'a mut [Use<'x, T>],
    sums: &'a mut [T::Compute],
    width: usize,
    pieces: usize,
) -> Vec<Piece<'a, 'x, T>> {
    let (Some(first), Some(last)) = (uses.first(), uses.last()) else {
        return Vec::new();
    };
    let (first, end) = (first.id as usize, last.id as usize + 1);
    let rows = (end - first).div_ceil(pieces);
    let sums = sums[first * width..end * width].chunks_mut(rows * width);
    let piece = |(index, sums): (usize, &'a mut [T::Compute])| {
        let first = first + index * rows;
        let until = uses.partition_point(|used| (used.id as usize) < first + rows);
        let (now, later) = take(&mut uses).split_at_mut(until);
        uses = later;
        Piece {
            first: first as u32,
            sums,
            uses: now,
        }
    };
    sums.enumerate().map(piece).collect()
}

/// The sums of a piece, and the gradients of its rows of the input.
struct SumRows<'a, 'x, T: Activation> {
    piece: Piece<'a, 'x, T>,
    grad: &'a [T],
    width: usize,
    scale: Option<T::Compute>,
    dropping: Option<Dropping<T::Compute>>,
}

impl<T: Activation> SumRows<'_, '_, T> {
    #[inline(always)]
    fn each<I: Isa>(self, isa: I, mut mask: impl FnMut(Chunk<I, T>, usize) -> Chunk<I, T>) {
        let (ops, width) = (T::Compute::ops(isa), self.width);
        let scale = Scale::<I, T>::new(isa, self.scale);
        let Piece { first, sums, uses } = self.piece;
        for used in uses {
            let row = (used.id - first) as usize * width;
            let start = used.row * width;
            let grad = &self.grad[start..start + width];
            let (grads, last_grads) = grad.as_chunks::<CHUNK>();
            let (sums, last_sums) = sums[row..row + width].as_chunks_mut::<CHUNK>();
            let mut xs = used.xs.chunks_mut(CHUNK);
            for (index, (grad, sum)) in grads.iter().zip(sums).enumerate() {
                let kept = mask(T::load(isa, *grad), start + index * CHUNK);
                *sum = ops.array(ops.add(ops.load(*sum), kept));
                if let Some(xs) = xs.next() {
                    xs.copy_from_slice(&T::store(isa, scale.of(isa, kept)));
                }
            }
            if !last_grads.is_empty() {
                let at = start + width - last_grads.len();
                let kept = mask(T::load(isa, padded(last_grads)), at);
                let sum = ops.array(ops.add(ops.load(padded(last_sums)), kept));
                last_sums.copy_from_slice(&sum[..last_sums.len()]);
                if let Some(xs) = xs.next() {
                    xs.copy_from_slice(&T::store(isa, scale.of(isa, kept))[..xs.len()]);
                }
            }
        }
    }
}

impl<T: Activation> Work for SumRows<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let Some((mask, factor)) = self.dropping else {
            return self.each(
                isa,
                #[inline(always)]
                |grad, _| grad,
            );
        };
        let ops = T::Compute::ops(isa);
        let (mut words, factor) = (Words::new(isa, mask), ops.splat(factor));
        self.each(
            isa,
            #[inline(always)]
            |grad, first| {
                let mut chunk = [0; CHUNK];
                chunk.copy_from_slice(&words.from(first, CHUNK)[..CHUNK]);
                ops.select(chunk, mask.threshold, ops.mul(grad, factor))
            },
        );
    }
}
