//! The calls: at an offset, with position ids, in place.

use std::ops::Range;

use candle_core::{DType, ModuleT, Result, Tensor, bail};

use super::{PositionalEncoding, Trained};
use crate::kernel::{AddEncoding, AddTrained, Fused, TokenRows};
use crate::layers::reference::Paths;
use crate::tensors::axes::AxisOrder;
use crate::tensors::dtypes::{TableKind, check_dtypes};
use crate::tensors::memory;
use crate::tensors::positions::CheckedIds;

impl PositionalEncoding {
    /// Adds the encodings of the positions starting at `offset`, one for each index along `T`.
    ///
    /// # Examples
    /// ```
    /// use candle_core::{DType, Device, ModuleT, Tensor};
    /// use pe_candle::{PositionalEncoding, PositionalEncodingConfig};
    ///
    /// let config = PositionalEncodingConfig::new(64);
    /// let layer = PositionalEncoding::new(config, DType::F32, &Device::Cpu)?;
    /// let prompt = Tensor::randn(0f32, 1., (1, 10, 64), &Device::Cpu)?;
    /// let whole = layer.forward_t(&prompt, false)?;
    /// let tenth = layer.forward_at(&prompt.narrow(1, 9, 1)?, 9, false)?;
    /// assert_eq!(tenth.to_vec3::<f32>()?, whole.narrow(1, 9, 1)?.to_vec3::<f32>()?);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if
    /// - the shape of the input does not match the config's axis order and width,
    /// - its type cannot be combined with the table's, or it is on another device,
    /// - a position is beyond the table.
    pub fn forward_at(&self, xs: &Tensor, offset: usize, train: bool) -> Result<Tensor> {
        let (_, time) = self.check_input(xs)?;
        memory::for_result("the result", xs)?;
        let end = self.end_of(offset, time)?;
        if xs.elem_count() == 0 {
            return self.dropout.forward(xs, train);
        }
        if self.plan.has_kernel(xs) {
            let table = self.shared.rows.at_least(end)?;
            return self.sum(TokenRows::From(offset), xs, &table, train);
        }
        self.by_reference(xs, &self.broadcast_rows(offset, time)?, train)
    }

    /// Adds the encodings of the positions starting at `offset` to `xs` in place, without dropout, for
    /// inference.
    ///
    /// The results are those of [`forward_at`](Self::forward_at). Nothing is allocated, which makes
    /// this three to five times as fast for results of 32 MiB or more. Candle's clones, views, and
    /// detached tensors share their memory. All tensors that share it with `xs` change as well, and
    /// gradients that need the old values are wrong.
    ///
    /// # Examples
    /// ```
    /// use candle_core::{DType, Device, ModuleT, Tensor};
    /// use pe_candle::{PositionalEncoding, PositionalEncodingConfig};
    ///
    /// let config = PositionalEncodingConfig::new(64);
    /// let layer = PositionalEncoding::new(config, DType::F32, &Device::Cpu)?;
    /// let xs = Tensor::randn(0f32, 1., (1, 10, 64), &Device::Cpu)?;
    /// let wanted = layer.forward_t(&xs, false)?;
    /// layer.forward_inplace(&xs, 0)?;
    /// assert_eq!(xs.to_vec3::<f32>()?, wanted.to_vec3::<f32>()?);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the input
    /// - is a variable or was computed from one, because its gradient would be wrong,
    /// - is a view with overlapping elements, such as a broadcast one,
    /// - shares its memory with the table,
    /// - is not on the CPU.
    ///
    /// Also returns the errors of [`forward_at`](Self::forward_at). The input is unchanged after an
    /// error.
    pub fn forward_inplace(&self, xs: &Tensor, offset: usize) -> Result<()> {
        let (_, time) = self.check_input(xs)?;
        memory::own("add", xs)?;
        let end = self.end_of(offset, time)?;
        if xs.elem_count() == 0 {
            return Ok(());
        }
        let table = self.shared.rows.at_least(end)?;
        if table.track_op() {
            bail!("the table is trained: adding in place computes no gradient of it");
        }
        let op = self.fused(TokenRows::From(offset), false);
        op.apply_in_place(xs, &[&table])
    }

    /// Adds the encoding of each token's own position.
    ///
    /// `position_ids` has shape `[T]` or `[1, T]` if all sequences have the same positions (`[T]` for
    /// unbatched input), or `[B, T]`. Time is the last axis, also for sequence-first input. The ids are
    /// `u32` or `i64`, on any device. Ids on a GPU are copied to the host and checked, because Candle
    /// reads some invalid ids as a row of zeros.
    ///
    /// # Examples
    /// ```
    /// use candle_core::{DType, Device, Tensor};
    /// use pe_candle::{PositionalEncoding, PositionalEncodingConfig, position_ids_for_packed};
    ///
    /// let config = PositionalEncodingConfig::new(64);
    /// let layer = PositionalEncoding::new(config, DType::F32, &Device::Cpu)?;
    /// // Two sequences of 3 and 2 tokens, in one row.
    /// let xs = Tensor::zeros((1, 5, 64), DType::F32, &Device::Cpu)?;
    /// let ids = position_ids_for_packed(&[3, 2], &Device::Cpu)?;
    /// let ys = layer.forward_with_positions(&xs, &ids, false)?.to_vec3::<f32>()?;
    /// assert_eq!(ys[0][0], ys[0][3]); // both are position 0
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the ids have another shape or type, or the table has no row for an id. The
    /// message names the id and its index. Also returns the errors of [`forward_at`](Self::forward_at).
    pub fn forward_with_positions(
        &self,
        xs: &Tensor,
        position_ids: &Tensor,
        train: bool,
    ) -> Result<Tensor> {
        self.with_ids(xs, position_ids, 0..self.shared.rows.limit(), train)
    }

    /// Does the same for ids that count from the first of some rows.
    pub(crate) fn with_ids(
        &self,
        xs: &Tensor,
        position_ids: &Tensor,
        rows: Range<usize>,
        train: bool,
    ) -> Result<Tensor> {
        let (batch, time) = self.check_input(xs)?;
        memory::for_result("the result", xs)?;
        let unbatched = self.shared.config.axis_order == AxisOrder::Unbatched;
        let per_sequence = match position_ids.dims() {
            [t] if *t == time => false,
            [1, t] if !unbatched && *t == time => false,
            [b, t] if !unbatched && (*b, *t) == (batch, time) => true,
            dims if unbatched => {
                bail!("position ids must have shape [{time}], got {dims:?}")
            }
            dims => {
                bail!(
                    "position ids must have shape [{time}], [1, {time}] or [{batch}, {time}], \
                     got {dims:?}"
                )
            }
        };
        let checked = CheckedIds::read(position_ids, rows.len())?.moved_to_row(rows.start);
        if checked.ids.is_empty() || xs.elem_count() == 0 {
            return self.dropout.forward(xs, train);
        }
        let table = self.shared.rows.at_least(checked.rows)?;
        if self.plan.has_kernel(xs) {
            let ids = checked.ids.into();
            let rows = if per_sequence {
                TokenRows::PerToken(ids)
            } else {
                TokenRows::PerStep(ids)
            };
            return self.sum(rows, xs, &table, train);
        }
        self.by_reference(xs, &self.gathered(&table, checked, xs.dtype())?, train)
    }

    /// Computes the sum in one pass, with gradients to the input and to a trained table.
    fn sum(&self, rows: TokenRows, xs: &Tensor, table: &Tensor, train: bool) -> Result<Tensor> {
        let add = self.fused(rows, train);
        match self.shared.trained {
            Some(Trained { padding, sum }) if table.track_op() => {
                sum(AddTrained { add, padding }, xs, table)
            }
            _ => add.apply(xs, &[table]),
        }
    }

    /// Returns the operation that computes everything in one pass. A training call uses the next step.
    fn fused(&self, rows: TokenRows, train: bool) -> AddEncoding {
        AddEncoding {
            rows,
            order: self.shared.config.axis_order,
            scale: self.shared.factor,
            masking: self.dropout.next_masking(train),
            level: self.plan.level,
        }
    }

    /// Adds these rows by Candle's own operations.
    fn by_reference(&self, xs: &Tensor, pe: &Tensor, train: bool) -> Result<Tensor> {
        (Paths::get(&self.plan)?.add)(xs, pe, self.shared.factor, &self.dropout, train)
    }

    /// Returns the rows starting at `offset`, in a shape that broadcasts to the input's.
    fn broadcast_rows(&self, offset: usize, time: usize) -> Result<Tensor> {
        let pe = self.encoding(offset, time)?;
        match self.shared.config.axis_order {
            AxisOrder::SequenceFirst => pe.unsqueeze(1),
            AxisOrder::BatchFirst | AxisOrder::Unbatched => Ok(pe),
        }
    }

    /// Returns the rows of position ids, in a shape that broadcasts to the input's.
    fn gathered(&self, table: &Tensor, checked: CheckedIds, input: DType) -> Result<Tensor> {
        let per_sequence = checked.dims.len() == 2;
        let gather = Paths::get(&self.plan)?.gather;
        let padding = self.shared.trained.and_then(|trained| trained.padding);
        let pe = gather(table, checked.ids, input, padding)?;
        let pe = pe.reshape([checked.dims, vec![self.d_model()]].concat())?;
        match (self.shared.config.axis_order, per_sequence) {
            (AxisOrder::SequenceFirst, true) => pe.transpose(0, 1),
            (AxisOrder::SequenceFirst, false) => pe.unsqueeze(1),
            _ => Ok(pe),
        }
    }

    /// Checks shape, type, and device, and returns batch and time.
    pub(crate) fn check_input(&self, xs: &Tensor) -> Result<(usize, usize)> {
        let (order, d_model) = (self.shared.config.axis_order, self.d_model());
        let dims = xs.dims();
        let (batch, time) = match order.read(dims) {
            Some(found) if dims.last() == Some(&d_model) => found,
            _ => bail!("{} with d_model {d_model}, got {dims:?}", order.describe()),
        };
        let rows = &self.shared.rows;
        check_dtypes("the input", xs.dtype(), TableKind::Encoding, rows.dtype())?;
        if !xs.device().same_device(rows.device()) {
            let (input, table) = (xs.device().location(), rows.device().location());
            bail!("the input is on {input:?}, but the table is on {table:?}");
        }
        memory::declared("the input", xs)?;
        Ok((batch, time))
    }
}

impl ModuleT for PositionalEncoding {
    /// Adds the encodings of the positions starting at 0, with dropout if `train`.
    fn forward_t(&self, xs: &Tensor, train: bool) -> Result<Tensor> {
        self.forward_at(xs, 0, train)
    }
}
