//! The additive positional encoding as a layer.

use std::sync::Arc;

use candle_core::{DType, Device, ModuleT, Result, Tensor, bail};
use pe_core::{Backend, Sinusoidal};

use crate::config::{AxisOrder, Growth, PositionalEncodingConfig};
use crate::convert::{core_error, sinusoidal_tensor};
use crate::dropout::Dropout;
use crate::dtypes::{Against, check_dtypes};
use crate::kernel::{AddEncoding, Positions};
use crate::memory;
use crate::plain;
use crate::positions::CheckedIds;
use crate::rows::{Growing, Rows, row_count};

/// Adds a positional encoding to embeddings:
///
/// ```text
/// y = dropout(x * scale + pe[position])
/// ```
///
/// with the sinusoidal table `pe` of A. Vaswani et al., "Attention Is All You Need", 2017,
/// section 3.5, or one of its variants, every entry the representable number nearest to the
/// true value.
///
/// # Positions
/// A token's position is its index along `T` ([`ModuleT::forward_t`]), that index plus an
/// offset ([`forward_at`](Self::forward_at), for decoding step by step), or any id
/// ([`forward_with_positions`](Self::forward_with_positions), for padded and packed batches).
/// The result for a position does not depend on which of them was used, bit for bit, as long as
/// dropout is off.
///
/// # Types
/// The result has the type of the input. `new(config, dtype, ..)` makes a table of `dtype`, or
/// of `f32` if [`table_dtype`](PositionalEncodingConfig::table_dtype) says so.
///
/// | input | table | computed in | rounded to the input's type |
/// |---|---|---|---|
/// | `f32` | `f32` | `f32` | |
/// | `f64` | `f64` | `f64` | |
/// | `f64` | `f32` | `f64`, the table as accurate as `f32` is | |
/// | `f16` | `f16` or `f32` | `f32`, scale and dropout included | once |
/// | `bf16` | `bf16` or `f32` | `f32`, scale and dropout included | once |
///
/// Every other pair is an error.
///
/// # Gradients
/// They flow to `x`: `dy/dx = scale * mask / (1 - p)`. The table is a constant; it is no
/// variable, is in no `VarMap` and in no checkpoint.
///
/// # Clones and threads
/// Clones are cheap, and share the table and the dropout's step counter. A layer may be used
/// from any number of threads at once, those of rayon's pools included; while one of them makes a longer table,
/// the others go on with the one there is. Large inputs are shared out among as many threads as rayon's current
/// pool has (`RAYON_NUM_THREADS`). These threads are not the pool's own, and no call waits for the pool.
///
/// ```
/// use candle_core::{DType, Device, ModuleT, Tensor};
/// use pe_candle::{PositionalEncoding, PositionalEncodingConfig};
///
/// let config = PositionalEncodingConfig::new(4);
/// let layer = PositionalEncoding::new(config, DType::F32, &Device::Cpu)?;
/// let xs = Tensor::zeros((1, 2, 4), DType::F32, &Device::Cpu)?;
/// let ys = layer.forward_t(&xs, false)?;
/// assert_eq!(
///     ys.to_vec3::<f32>()?[0],
///     [[0.0, 1.0, 0.0, 1.0], [0.84147098, 0.5403023, 0.009999833, 0.99995]],
/// );
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct PositionalEncoding {
    shared: Arc<Shared>,
    dropout: Dropout,
}

#[derive(Debug)]
struct Shared {
    config: PositionalEncodingConfig,
    factor: Option<f64>,
    rows: Rows,
}

impl PositionalEncoding {
    /// Makes the table and the layer, for inputs of type `dtype` on `device`.
    ///
    /// # Errors
    /// An invalid specification (see [`Sinusoidal::new`]); a `max_seq_len` of 0 or a table that
    /// is too large; a growth limit below `max_seq_len`; a dropout outside `[0, 1)`; a scale
    /// that is not finite; a `dtype` other than `f32`, `f64`, `f16` and `bf16`; a `table_dtype`
    /// other than `dtype` and `f32`.
    pub fn new(config: PositionalEncodingConfig, dtype: DType, device: &Device) -> Result<Self> {
        config.check()?;
        let dropout = Dropout::new(config.dropout, config.seed)?;
        let table_dtype = config.table_dtype.unwrap_or(dtype);
        check_dtypes("the layer", dtype, Against::Table, table_dtype)?;
        let sinusoidal = Sinusoidal::new(config.sinusoidal).map_err(core_error)?;
        let rows = config.max_seq_len as u64;
        let table = sinusoidal_tensor(&sinusoidal, 0..rows, table_dtype, device)?;
        Ok(Self::build(config, dropout, sinusoidal, table))
    }

    /// A layer with a table from elsewhere: `[rows, d_model]`, on the device where the layer is
    /// to run.
    ///
    /// The numbers are taken as they are, learned or inexact ones too. `max_seq_len` becomes
    /// the number of rows, whatever the config says. The table is taken as a constant: the
    /// layer makes a copy of its own, so that neither gradients nor the training of a variable
    /// that the table is, or is a view of, reach it.
    ///
    /// # Errors
    /// A table of another rank or width, without rows, or of another type than `f32`, `f64`,
    /// `f16` and `bf16`, or than `table_dtype` where that is given; with [`Growth::Grow`], a
    /// table that is not the one of the specification bit for bit, since new rows would not fit
    /// the old ones (one converted from another type differs in some entries, even from a wider
    /// type, since it was rounded twice); else as [`PositionalEncoding::new`].
    pub fn from_table(config: PositionalEncodingConfig, table: Tensor) -> Result<Self> {
        let d_model = config.sinusoidal.d_model;
        let rows = match table.dims() {
            [rows, width] if *width == d_model => *rows,
            dims => bail!("the table must have shape [rows, {d_model}], got {dims:?}"),
        };
        let config = PositionalEncodingConfig {
            max_seq_len: rows,
            ..config
        };
        config.check()?;
        let dropout = Dropout::new(config.dropout, config.seed)?;
        let dtype = table.dtype();
        check_dtypes("the table", dtype, Against::Table, dtype)?;
        if let Some(wanted) = config.table_dtype
            && wanted != dtype
        {
            let (dtype, wanted) = (dtype.as_str(), wanted.as_str());
            bail!("the table is {dtype}, but table_dtype is {wanted}");
        }
        memory::for_result("the table", &table)?;
        // Views of a variable share its memory and are no variables: only a copy is safe.
        let table = table.detach().force_contiguous()?;
        let sinusoidal = Sinusoidal::new(config.sinusoidal).map_err(core_error)?;
        if let Growth::Grow { .. } = config.growth {
            check_same(&sinusoidal, &table)?;
        }
        Ok(Self::build(config, dropout, sinusoidal, table))
    }

    fn build(
        config: PositionalEncodingConfig,
        dropout: Dropout,
        sinusoidal: Sinusoidal,
        table: Tensor,
    ) -> Self {
        let rows = match config.growth {
            Growth::Fixed => Rows::Fixed(table),
            Growth::Grow { limit } => Rows::Growing(Growing::new(sinusoidal, limit, table)),
        };
        let factor = config.factor();
        let shared = Arc::new(Shared {
            config,
            factor,
            rows,
        });
        Self { shared, dropout }
    }

    /// Adds the encodings of the positions `offset ..`, one per step along `T`.
    ///
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
    /// An input whose shape is not that of the config's axis order, whose type does not go with
    /// the table's, or that is on another device; positions beyond the table.
    pub fn forward_at(&self, xs: &Tensor, offset: usize, train: bool) -> Result<Tensor> {
        let (_, time) = self.check_input(xs)?;
        memory::for_result("the result", xs)?;
        let table = self.table_for(offset, time)?;
        if xs.elem_count() == 0 {
            return self.dropout.forward(xs, train);
        }
        if xs.device().is_cpu() {
            return self.fused(table, Positions::From(offset), train).apply(xs);
        }
        self.add(xs, &self.broadcast_rows(offset, time)?, train)
    }

    /// Adds the encodings of the positions `offset ..` to `xs` itself, without dropout: for
    /// inference.
    ///
    /// The numbers are those of [`forward_at`](Self::forward_at). No memory is asked for, which
    /// makes this three to five times as fast where results are 32 MiB or more. Candle's clones,
    /// views and detached tensors share their memory: whatever shares it with `xs` changes as
    /// well, and gradients that need the old numbers come out wrong.
    ///
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
    /// An input that is a variable or was computed from one, since its gradient would be that
    /// of other numbers; a view with elements in the same place, such as a broadcast one; an
    /// input that shares its memory with the table; an input that is not on the CPU; else as
    /// [`forward_at`](Self::forward_at). The input is unchanged then.
    pub fn forward_inplace(&self, xs: &Tensor, offset: usize) -> Result<()> {
        let (_, time) = self.check_input(xs)?;
        if !xs.device().is_cpu() {
            let location = xs.device().location();
            bail!("adding in place works on the cpu only, the input is on {location:?}");
        }
        if xs.track_op() {
            let what = if xs.is_variable() {
                "is a variable"
            } else {
                "was computed from a variable"
            };
            bail!("the input {what}: take a copy (detach, then copy) to add in place");
        }
        if xs.elem_count() != 0 && xs.layout().has_internal_overlap() {
            let (dims, strides) = (xs.dims(), xs.stride());
            bail!(
                "elements of the input share their places: shape {dims:?} with strides \
                 {strides:?} cannot be added to in place"
            );
        }
        let table = self.table_for(offset, time)?;
        if xs.elem_count() == 0 {
            return Ok(());
        }
        let op = self.fused(table, Positions::From(offset), false);
        op.apply_in_place(xs)
    }

    /// Adds the encoding of each token's own position.
    ///
    /// `position_ids` is `[T]` or `[1, T]` for all sequences alike (`[T]` for unbatched input), or `[B, T]`; time comes
    /// last, for sequence-first input too. They are `u32` or `i64`, on any device; those of a
    /// GPU are copied to the host to be checked, since Candle reads certain wrong ids as a row
    /// of zeros.
    ///
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
    /// Ids of another shape or type; an id that the table has no row for, with its place; else
    /// as [`forward_at`](Self::forward_at).
    pub fn forward_with_positions(
        &self,
        xs: &Tensor,
        position_ids: &Tensor,
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
        let checked = CheckedIds::read(position_ids, self.shared.rows.limit())?;
        if checked.ids.is_empty() {
            return self.dropout.forward(xs, train);
        }
        let table = self.table_of(0, checked.rows)?;
        if xs.elem_count() != 0 && xs.device().is_cpu() {
            let positions = if per_sequence {
                Positions::PerToken(checked.ids)
            } else {
                Positions::PerStep(checked.ids)
            };
            return self.fused(table, positions, train).apply(xs);
        }
        self.add(xs, &self.gathered(&table, checked)?, train)
    }

    /// [`forward_at`](Self::forward_at) composed of Candle's operations: for the tests, which
    /// compare the two on the CPU.
    #[doc(hidden)]
    pub fn forward_at_composed(&self, xs: &Tensor, offset: usize, train: bool) -> Result<Tensor> {
        let (_, time) = self.check_input(xs)?;
        self.add(xs, &self.broadcast_rows(offset, time)?, train)
    }

    /// [`forward_with_positions`](Self::forward_with_positions) composed of Candle's operations.
    #[doc(hidden)]
    pub fn forward_with_positions_composed(
        &self,
        xs: &Tensor,
        position_ids: &Tensor,
        train: bool,
    ) -> Result<Tensor> {
        self.check_input(xs)?;
        let checked = CheckedIds::read(position_ids, self.shared.rows.limit())?;
        let table = self.table_of(0, checked.rows)?;
        self.add(xs, &self.gathered(&table, checked)?, train)
    }

    /// The same layer on an instruction set: for the tests.
    #[doc(hidden)]
    pub fn with_backend(self, backend: Backend) -> Self {
        let dropout = self.dropout.with_backend(backend);
        Self { dropout, ..self }
    }

    /// The encodings of the positions `offset .. offset + len`: `[len, d_model]`.
    ///
    /// # Errors
    /// Positions beyond the table.
    pub fn encoding(&self, offset: usize, len: usize) -> Result<Tensor> {
        let table = self.table_for(offset, len)?;
        if len == 0 {
            return table.narrow(0, 0, 0);
        }
        table.narrow(0, offset, len)
    }

    /// The table as it is now: `[max_seq_len, d_model]`. It is the layer's own memory, as are the
    /// rows that [`encoding`](Self::encoding) returns: copy them before changing them in place.
    ///
    /// # Errors
    /// None at present.
    pub fn table(&self) -> Result<Tensor> {
        Ok(self.shared.rows.table())
    }

    /// What the layer was made from. After [`from_table`](Self::from_table) its `max_seq_len`
    /// is the number of rows that table had.
    pub fn config(&self) -> &PositionalEncodingConfig {
        &self.shared.config
    }

    /// The width of the encoding.
    pub fn d_model(&self) -> usize {
        self.shared.config.sinusoidal.d_model
    }

    /// The rows that the table has now: those of the config, or more if it has grown.
    pub fn max_seq_len(&self) -> usize {
        row_count(&self.shared.rows.table())
    }

    /// The dropout, whose step counter can be read and set.
    pub fn dropout(&self) -> &Dropout {
        &self.dropout
    }

    /// The operation that does it all in one pass. A training call takes the next step.
    fn fused(&self, table: Tensor, positions: Positions, train: bool) -> AddEncoding {
        AddEncoding {
            table,
            positions,
            order: self.shared.config.axis_order,
            scale: self.shared.factor,
            masking: self.dropout.next_masking(train),
            backend: self.dropout.backend(),
        }
    }

    /// The rows from `offset` on, in a shape that broadcasts to the input's.
    fn broadcast_rows(&self, offset: usize, time: usize) -> Result<Tensor> {
        let pe = self.encoding(offset, time)?;
        match self.shared.config.axis_order {
            AxisOrder::SequenceFirst => pe.unsqueeze(1),
            AxisOrder::BatchFirst | AxisOrder::Unbatched => Ok(pe),
        }
    }

    /// The rows of position ids, in a shape that broadcasts to the input's.
    fn gathered(&self, table: &Tensor, checked: CheckedIds) -> Result<Tensor> {
        let per_sequence = checked.dims.len() == 2;
        let pe = plain::gather(table, checked.ids)?;
        let pe = pe.reshape([checked.dims, vec![self.d_model()]].concat())?;
        match (self.shared.config.axis_order, per_sequence) {
            (AxisOrder::SequenceFirst, true) => pe.transpose(0, 1),
            (AxisOrder::SequenceFirst, false) => pe.unsqueeze(1),
            _ => Ok(pe),
        }
    }

    fn add(&self, xs: &Tensor, pe: &Tensor, train: bool) -> Result<Tensor> {
        if xs.elem_count() == 0 {
            return self.dropout.forward(xs, train);
        }
        plain::add_encoding(xs, pe, self.shared.factor, &self.dropout, train)
    }

    /// A table that holds the positions `offset .. offset + len`.
    fn table_for(&self, offset: usize, len: usize) -> Result<Tensor> {
        let Some(end) = offset.checked_add(len) else {
            bail!("offset {offset} plus length {len} overflows");
        };
        if len == 0 {
            return Ok(self.shared.rows.table());
        }
        self.table_of(offset, end)
    }

    /// A table that holds the positions `start .. end`.
    fn table_of(&self, start: usize, end: usize) -> Result<Tensor> {
        let rows = &self.shared.rows;
        if let Some(table) = rows.at_least(end)? {
            return Ok(table);
        }
        let limit = rows.limit();
        match self.shared.config.growth {
            Growth::Fixed => bail!(
                "positions {start}..{end} were asked for, but the table holds {limit} rows \
                 (max_seq_len {limit})"
            ),
            Growth::Grow { .. } => bail!(
                "positions {start}..{end} were asked for, but the table may grow to \
                 {limit} rows at most"
            ),
        }
    }

    /// Checks shape, type and device, and returns batch and time.
    fn check_input(&self, xs: &Tensor) -> Result<(usize, usize)> {
        let (order, d_model) = (self.shared.config.axis_order, self.d_model());
        let dims = xs.dims();
        let (batch, time) = match order.read(dims) {
            Some(found) if dims.last() == Some(&d_model) => found,
            _ => bail!("{} with d_model {d_model}, got {dims:?}", order.describe()),
        };
        let table = self.shared.rows.table();
        check_dtypes("the input", xs.dtype(), Against::Table, table.dtype())?;
        if !xs.device().same_device(table.device()) {
            let (input, table) = (xs.device().location(), table.device().location());
            bail!("the input is on {input:?}, but the table is on {table:?}");
        }
        memory::declared("the input", xs)?;
        Ok((batch, time))
    }
}

impl ModuleT for PositionalEncoding {
    /// Adds the encodings of the positions `0 ..`; with dropout if `train`.
    fn forward_t(&self, xs: &Tensor, train: bool) -> Result<Tensor> {
        self.forward_at(xs, 0, train)
    }
}

/// Checks that a table is the one of a specification, bit for bit.
fn check_same(sinusoidal: &Sinusoidal, table: &Tensor) -> Result<()> {
    let rows = row_count(table) as u64;
    let exact = sinusoidal_tensor(sinusoidal, 0..rows, table.dtype(), &Device::Cpu)?;
    let wide = |tensor: &Tensor| {
        // Every type converts to f64 without loss.
        let host = tensor.to_device(&Device::Cpu)?.to_dtype(DType::F64)?;
        host.flatten_all()?.to_vec1::<f64>()
    };
    let pairs = wide(table)?.into_iter().zip(wide(&exact)?);
    for (index, (found, wanted)) in pairs.enumerate() {
        if found.to_bits() != wanted.to_bits() {
            let (row, column) = (index / sinusoidal.d_model(), index % sinusoidal.d_model());
            let hint = if is_converted(sinusoidal, row, column, table.dtype(), found)? {
                " (it was converted from another type: load it without dtype, or let the layer \
                 compute it)"
            } else {
                ""
            };
            bail!(
                "a table can grow only if it is the one of its specification: at \
                 [{row}, {column}] it has {found:e}, the specification {wanted:e}{hint}"
            );
        }
    }
    Ok(())
}

/// Whether an entry is what a conversion makes of the exact one in another type.
fn is_converted(
    sinusoidal: &Sinusoidal,
    row: usize,
    column: usize,
    dtype: DType,
    found: f64,
) -> Result<bool> {
    for other in [DType::F32, DType::F64, DType::F16, DType::BF16] {
        let positions = row as u64..row as u64 + 1;
        let exact = sinusoidal_tensor(sinusoidal, positions, other, &Device::Cpu)?;
        let converted = exact.to_dtype(dtype)?.to_dtype(DType::F64)?;
        if converted.get(0)?.get(column)?.to_scalar::<f64>()? == found {
            return Ok(true);
        }
    }
    Ok(false)
}
