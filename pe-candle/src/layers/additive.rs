//! The additive positional encoding as a layer.

mod forward;

use std::sync::Arc;

use candle_core::{DType, Device, Result, Tensor, bail};
use pe_core::Sinusoidal;

use crate::kernel::{AddTrained, Plan};
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
/// `pe` is the sinusoidal table of A. Vaswani et al., "Attention Is All You Need", 2017, section 3.5,
/// or one of its variants. Every entry is the representable number nearest to the true value.
///
/// # Positions
/// A token's position is one of
/// - its index along `T` ([`ModuleT::forward_t`](candle_core::ModuleT::forward_t)),
/// - that index plus an offset, for incremental decoding ([`forward_at`](Self::forward_at)),
/// - any id, for padded and packed batches
///   ([`forward_with_positions`](Self::forward_with_positions)).
///
/// Without dropout all three give the same bits for a position.
///
/// # Types
/// The result has the type of the input. `new(config, dtype, ..)` builds a table of `dtype`, or of
/// [`table_dtype`](PositionalEncodingConfig::table_dtype) if that is set.
///
/// | input | table | computed in | rounded to the input's type |
/// |---|---|---|---|
/// | `f32` | `f32` | `f32` | |
/// | `f64` | `f64` | `f64` | |
/// | `f64` | `f32` | `f64`, with a table of `f32` accuracy | |
/// | `f16` | `f16` or `f32` | `f32`, scale and dropout included | once |
/// | `bf16` | `bf16` or `f32` | `f32`, scale and dropout included | once |
///
/// Every other pair is an error.
///
/// # Gradients
/// Gradients flow to `x`: `dy/dx = scale * mask / (1 - p)`. The table is a constant. It is not a
/// variable and never appears in a `VarMap` or a checkpoint.
///
/// # Clones and threads
/// Clones are cheap and share the table and the dropout's step counter. Any number of threads may use
/// a layer at once, including those of rayon's pools. While one of them builds a longer table, the
/// others continue with the existing one. Large inputs are divided among as many threads as rayon's
/// current pool has (`RAYON_NUM_THREADS`). These threads are not the pool's own, and no call waits for
/// the pool.
///
/// # Examples
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
    pub(crate) plan: Plan,
}

#[derive(Debug)]
struct Shared {
    config: PositionalEncodingConfig,
    factor: Option<f64>,
    rows: Rows,
    trained: Option<Trained>,
}

/// A table with a gradient.
#[derive(Debug, Clone, Copy)]
struct Trained {
    /// The row without a gradient.
    padding: Option<u32>,
    /// The sum with gradients to the table. Only the constructor of trained layers names it: with the operations of Candle
    /// that its gradient calls it is as large as the rest of the layer, and programs without such a layer do not contain it.
    sum: fn(AddTrained, &Tensor, &Tensor) -> Result<Tensor>,
}

impl PositionalEncoding {
    /// Creates the layer for inputs of type `dtype` on `device`. Calls build the table as they need it.
    /// With [`Growth::AtOnce`](crate::Growth::AtOnce) this constructor builds all of it.
    ///
    /// # Errors
    /// Returns an error if
    /// - the specification is invalid (see [`Sinusoidal::new`]),
    /// - `max_seq_len` is 0 or its table exceeds [`MAX_TABLE_BYTES`](pe_core::MAX_TABLE_BYTES),
    /// - the dropout is outside `[0, 1)`, or the scale is not finite,
    /// - `dtype` is not `f32`, `f64`, `f16`, or `bf16`,
    /// - `table_dtype` is neither `dtype` nor `f32`.
    pub fn new(config: PositionalEncodingConfig, dtype: DType, device: &Device) -> Result<Self> {
        config.check()?;
        let dropout = Dropout::new(config.dropout, config.seed)?;
        let table_dtype = config.table_dtype.unwrap_or(dtype);
        check_dtypes("the layer", dtype, TableKind::Encoding, table_dtype)?;
        let sinusoidal = Sinusoidal::new(config.sinusoidal)?;
        let (limit, growth) = (config.max_seq_len, config.growth);
        let rows = Rows::new(sinusoidal, limit, growth, table_dtype, device)?;
        Ok(Self::build(config, dropout, rows, None))
    }

    /// Creates a layer that adds the rows of a table of shape `[rows, d_model]`, with gradients to the
    /// table if it has any. The row `padding` has none. The sinusoidal specification is not used.
    pub(crate) fn trained(
        config: PositionalEncodingConfig,
        table: Tensor,
        padding: Option<u32>,
    ) -> Result<Self> {
        config.check()?;
        let dropout = Dropout::new(config.dropout, config.seed)?;
        check_dtypes(
            "the table",
            table.dtype(),
            TableKind::Encoding,
            table.dtype(),
        )?;
        let sum = AddTrained::apply;
        let trained = Some(Trained { padding, sum });
        Ok(Self::build(config, dropout, Rows::whole(table), trained))
    }

    /// Creates a layer with a caller-supplied table of shape `[rows, d_model]`, on the device of the
    /// layer's inputs.
    ///
    /// The entries are used unchanged, so learned and inexact tables are possible. `max_seq_len`
    /// becomes the number of rows, whatever the config contains. The layer copies the table as a
    /// constant. If the table is a variable or a view of one, neither gradients nor training affect
    /// the copy.
    ///
    /// # Examples
    /// ```
    /// use candle_core::{DType, Device, ModuleT, Tensor};
    /// use pe_candle::{PositionalEncoding, PositionalEncodingConfig};
    ///
    /// let learned = Tensor::randn(0f32, 0.02, (512, 64), &Device::Cpu)?;
    /// let layer = PositionalEncoding::from_table(PositionalEncodingConfig::new(64), learned)?;
    /// assert_eq!(layer.max_seq_len(), 512);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if
    /// - the table has another rank or width, or no rows,
    /// - its type is not `f32`, `f64`, `f16`, or `bf16`, or differs from a given `table_dtype`.
    ///
    /// Also returns the errors of [`PositionalEncoding::new`].
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
        // A view of a variable shares its memory but is not a variable, so only a copy is safe.
        let table = table.detach().force_contiguous()?;
        Sinusoidal::new(config.sinusoidal)?;
        Ok(Self::build(config, dropout, Rows::whole(table), None))
    }

    fn build(
        config: PositionalEncodingConfig,
        dropout: Dropout,
        rows: Rows,
        trained: Option<Trained>,
    ) -> Self {
        let factor = config.factor();
        let shared = Arc::new(Shared {
            config,
            factor,
            rows,
            trained,
        });
        let plan = Plan::best();
        Self {
            shared,
            dropout,
            plan,
        }
    }

    /// Returns the encodings of the positions `offset .. offset + len`, of shape `[len, d_model]`.
    ///
    /// # Errors
    /// Returns an error if a position is beyond the table.
    pub fn encoding(&self, offset: usize, len: usize) -> Result<Tensor> {
        let end = self.end_of(offset, len)?;
        if len == 0 {
            return self.shared.rows.at_least(1)?.narrow(0, 0, 0);
        }
        self.shared.rows.at_least(end)?.narrow(0, offset, len)
    }

    /// Returns the complete table, of shape `[max_seq_len, d_model]`, and builds the rows that no call
    /// has needed yet. The table shares the layer's memory, as do the rows that
    /// [`encoding`](Self::encoding) returns. Copy them before changing them in place.
    ///
    /// # Errors
    /// Returns an error if memory cannot hold all rows.
    pub fn table(&self) -> Result<Tensor> {
        self.encoding(0, self.max_seq_len())
    }

    /// Returns the configuration. After [`from_table`](Self::from_table) its `max_seq_len` is the number
    /// of rows of that table.
    pub fn config(&self) -> &PositionalEncodingConfig {
        &self.shared.config
    }

    /// Returns the width of the encoding.
    pub fn d_model(&self) -> usize {
        self.shared.config.sinusoidal.d_model
    }

    /// Returns the maximum sequence length.
    pub fn max_seq_len(&self) -> usize {
        self.shared.rows.limit()
    }

    /// Returns the number of rows built until now.
    pub(crate) fn built(&self) -> usize {
        self.shared.rows.built()
    }

    /// Returns a view of this layer without dropout that is a [`Module`](candle_core::Module),
    /// for `candle_nn::seq()`. The layer itself is a [`ModuleT`](candle_core::ModuleT), and no type can
    /// implement both.
    ///
    /// # Examples
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

    /// Returns the dropout, with its step counter to be read and set.
    pub fn dropout(&self) -> &Dropout {
        &self.dropout
    }

    /// Returns the end of the positions `offset .. offset + len`, which must be in the table.
    fn end_of(&self, offset: usize, len: usize) -> Result<usize> {
        end_of("the table holds", offset, len, self.max_seq_len())
    }
}
