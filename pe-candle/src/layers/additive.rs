//! The additive positional encoding as a layer.

mod forward;

use std::sync::Arc;

use candle_core::{DType, Device, Result, Tensor, bail};
use pe_core::{Backend, Sinusoidal};

use crate::layers::config::PositionalEncodingConfig;
use crate::layers::dropout::Dropout;
use crate::layers::inference::Inference;
use crate::layers::rows::{Rows, end_of};
use crate::tensors::dtypes::{TableKind, check_dtypes};
use crate::tensors::memory;

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
/// A token's position is its index along `T` ([`ModuleT::forward_t`](candle_core::ModuleT::forward_t)), that index plus an
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
    /// for `candle_nn::seq()` and wherever one is wanted. The layer itself is a [`ModuleT`](candle_core::ModuleT), and
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

    /// One past the last of the positions `offset .. offset + len`.
    fn end_of(&self, offset: usize, len: usize) -> Result<usize> {
        end_of("the table holds", offset, len, self.max_seq_len())
    }
}
