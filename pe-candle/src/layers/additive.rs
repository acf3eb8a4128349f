//! The additive positional encoding as a layer.

use std::sync::Arc;

use candle_core::{DType, Device, ModuleT, Result, Tensor, bail};
use pe_core::{Backend, Sinusoidal};

use crate::kernel::{AddEncoding, TokenRows};
use crate::layers::config::PositionalEncodingConfig;
use crate::layers::dropout::Dropout;
use crate::layers::inference::Inference;
use crate::layers::reference;
use crate::layers::rows::{Rows, end_of};
use crate::tensors::axes::AxisOrder;
use crate::tensors::dtypes::{TableKind, check_dtypes};
use crate::tensors::memory;
use crate::tensors::positions::CheckedIds;

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
    /// Makes the layer, for inputs of type `dtype` on `device`. Its table is built as the calls
    /// need it, or at once with [`Growth::AtOnce`](crate::Growth::AtOnce).
    ///
    /// # Errors
    /// Returns an error if the specification is invalid (see [`Sinusoidal::new`]), `max_seq_len`
    /// is 0 or its table above [`MAX_TABLE_BYTES`](pe_core::MAX_TABLE_BYTES), the dropout is outside
    /// `[0, 1)`, the scale is not finite, `dtype` is not `f32`, `f64`, `f16`, or `bf16`, or
    /// `table_dtype` is neither `dtype` nor `f32`.
    pub fn new(config: PositionalEncodingConfig, dtype: DType, device: &Device) -> Result<Self> {
        config.check()?;
        let dropout = Dropout::new(config.dropout, config.seed)?;
        let table_dtype = config.table_dtype.unwrap_or(dtype);
        check_dtypes("the layer", dtype, TableKind::Encoding, table_dtype)?;
        let sinusoidal = Sinusoidal::new(config.sinusoidal)?;
        let (limit, growth) = (config.max_seq_len, config.growth);
        let rows = Rows::new(sinusoidal, limit, growth, table_dtype, device)?;
        Ok(Self::build(config, dropout, rows))
    }

    /// A layer with a table from elsewhere: `[rows, d_model]`, on the device where the layer is
    /// to run.
    ///
    /// The numbers are taken as they are, learned or inexact ones too. `max_seq_len` becomes
    /// the number of rows, whatever the config says: the layer has exactly these. The table is taken as a constant: the
    /// layer makes a copy of its own, so that neither gradients nor the training of a variable
    /// that the table is, or is a view of, reach it.
    ///
    /// # Errors
    /// Returns an error if the table has another rank or width, no rows, or another type than
    /// `f32`, `f64`, `f16`, and `bf16`, or than `table_dtype` where that is given. Also returns the
    /// errors of [`PositionalEncoding::new`].
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
        check_dtypes("the table", dtype, TableKind::Encoding, dtype)?;
        if let Some(wanted) = config.table_dtype
            && wanted != dtype
        {
            let (dtype, wanted) = (dtype.as_str(), wanted.as_str());
            bail!("the table is {dtype}, but table_dtype is {wanted}");
        }
        memory::for_result("the table", &table)?;
        // Views of a variable share its memory and are no variables: only a copy is safe.
        let table = table.detach().force_contiguous()?;
        Sinusoidal::new(config.sinusoidal)?;
        Ok(Self::build(config, dropout, Rows::whole(table)))
    }

    fn build(config: PositionalEncodingConfig, dropout: Dropout, rows: Rows) -> Self {
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
        let end = self.end_of(offset, time)?;
        if xs.elem_count() == 0 {
            return self.dropout.forward(xs, train);
        }
        if xs.device().is_cpu() {
            let table = self.shared.rows.at_least(end)?;
            return self.fused(TokenRows::From(offset), train).apply(xs, &table);
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
        let end = self.end_of(offset, time)?;
        if xs.elem_count() == 0 {
            return Ok(());
        }
        let table = self.shared.rows.at_least(end)?;
        let op = self.fused(TokenRows::From(offset), false);
        op.apply_in_place(xs, &table)
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
        let table = self.shared.rows.at_least(checked.rows)?;
        if xs.elem_count() != 0 && xs.device().is_cpu() {
            let ids = checked.ids.into();
            let rows = if per_sequence {
                TokenRows::PerToken(ids)
            } else {
                TokenRows::PerStep(ids)
            };
            return self.fused(rows, train).apply(xs, &table);
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
        let table = self.shared.rows.at_least(checked.rows)?;
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
        let end = self.end_of(offset, len)?;
        if len == 0 {
            return self.shared.rows.at_least(1)?.narrow(0, 0, 0);
        }
        self.shared.rows.at_least(end)?.narrow(0, offset, len)
    }

    /// Returns the whole table, `[max_seq_len, d_model]`, and builds the rows that no call has
    /// needed yet. It is the layer's own memory, as are the rows that
    /// [`encoding`](Self::encoding) returns: copy them before changing them in place.
    ///
    /// # Errors
    /// Returns an error if there is no memory for all rows.
    pub fn table(&self) -> Result<Tensor> {
        self.encoding(0, self.max_seq_len())
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

    /// Returns the most positions there may be.
    pub fn max_seq_len(&self) -> usize {
        self.shared.rows.limit()
    }

    /// The rows built until now: for the tests.
    #[doc(hidden)]
    pub fn rows_built(&self) -> usize {
        self.shared.rows.built()
    }

    /// Returns a view of this layer without dropout that is a [`Module`](candle_core::Module),
    /// for `candle_nn::seq()` and wherever one is wanted. The layer itself is a [`ModuleT`], and
    /// Candle lets no type be both.
    ///
    /// ```
    /// use candle_core::{DType, Device, Module, Tensor};
    /// use candle_nn::{VarBuilder, VarMap};
    /// use pe_candle::{PositionalEncoding, PositionalEncodingConfig};
    ///
    /// let vb = VarBuilder::from_varmap(&VarMap::new(), DType::F32, &Device::Cpu);
    /// let layer = PositionalEncoding::new(PositionalEncodingConfig::new(8), vb.dtype(), vb.device())?;
    /// let model = candle_nn::seq()
    ///     .add(candle_nn::embedding(100, 8, vb.pp("words"))?)
    ///     .add(layer.inference())
    ///     .add(candle_nn::linear(8, 2, vb.pp("head"))?);
    /// let tokens = Tensor::new(&[[3u32, 14, 15]], &Device::Cpu)?;
    /// assert_eq!(model.forward(&tokens)?.dims(), [1, 3, 2]);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    pub fn inference(&self) -> Inference<Self> {
        Inference(self.clone())
    }

    /// The dropout, whose step counter can be read and set.
    pub fn dropout(&self) -> &Dropout {
        &self.dropout
    }

    /// The operation that does it all in one pass. A training call takes the next step.
    fn fused(&self, rows: TokenRows, train: bool) -> AddEncoding {
        AddEncoding {
            rows,
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
        let pe = reference::gather(table, checked.ids)?;
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
        reference::add_encoding(xs, pe, self.shared.factor, &self.dropout, train)
    }

    /// One past the last of the positions `offset .. offset + len`.
    fn end_of(&self, offset: usize, len: usize) -> Result<usize> {
        end_of("the table holds", offset, len, self.max_seq_len())
    }

    /// Checks shape, type and device, and returns batch and time.
    fn check_input(&self, xs: &Tensor) -> Result<(usize, usize)> {
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
    /// Adds the encodings of the positions `0 ..`; with dropout if `train`.
    fn forward_t(&self, xs: &Tensor, train: bool) -> Result<Tensor> {
        self.forward_at(xs, 0, train)
    }
}
