//! Learned positional encodings as a layer.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

pub(crate) mod config;
pub(crate) mod normal;

use candle_core::{ModuleT, Result, Tensor, bail};
use candle_nn::VarBuilder;

use crate::layers::additive::PositionalEncoding;
use crate::layers::dropout::Dropout;
use crate::layers::inference::Inference;
use crate::layers::rows::check_size;
use crate::tensors::positions::position_ids_from_token_ids;
use config::{LearnedPositionalConfig, LearnedRows, LearnedShape};

/// Adds the rows of a trained table to embeddings:
///
/// ```text
/// y = dropout(x * scale + table[row(position)])
/// ```
///
/// [`LearnedPreset`](crate::LearnedPreset) lists the tables of released models: BERT, RoBERTa, OPT,
/// GPT-2, Whisper's decoder, CLIP, ViT. The forms of the call, types, order of axes, scale, and dropout
/// are those of [`PositionalEncoding`], as is the fused pass.
///
/// # Positions
/// - [`ModuleT::forward_t`] and [`forward_at`](Self::forward_at) number the tokens along `T`.
/// - [`forward_with_positions`](Self::forward_with_positions) accepts an id for each token.
/// - [`forward_with_tokens`](Self::forward_with_tokens) numbers tokens as RoBERTa does, with a row for
///   padding.
///
/// A position that was not trained has no row, so a table never grows. A call that needs more rows
/// returns an error.
///
/// # Types
/// The table has the type of the `VarBuilder`: the input's type, or `f32` with inputs of any float type.
/// The result has the type of the input.
///
/// # Gradients
/// Gradients flow to the input and to the table, computed in one pass over the gradient of the result. A
/// row that several tokens use gets the sum of their gradients, added up in `f32` (`f64` for `f64`) in
/// row-major order, and rounded once. The bits do not depend on the number of threads. The row of
/// padding tokens has no gradient.
///
/// # Examples
/// ```
/// use candle_core::{DType, Device, ModuleT, Tensor};
/// use candle_nn::{VarBuilder, VarMap};
/// use pe_candle::{LearnedPositional, LearnedPositionalConfig, LearnedPreset};
///
/// let variables = VarMap::new();
/// let vb = VarBuilder::from_varmap(&variables, DType::F32, &Device::Cpu);
/// let config = LearnedPositionalConfig::from_preset(LearnedPreset::Bert, 64, 512);
/// let positions = LearnedPositional::new(config, vb.pp("embeddings"))?;
/// let words = Tensor::zeros((2, 10, 64), DType::F32, &Device::Cpu)?;
/// let hidden = positions.forward_t(&words, true)?;
/// let gradients = hidden.sqr()?.sum_all()?.backward()?;
/// let names = variables.data().lock().unwrap();
/// let table = &names["embeddings.position_embeddings.weight"];
/// assert_eq!(gradients.get(table).unwrap().dims(), [512, 64]);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct LearnedPositional {
    config: LearnedPositionalConfig,
    table: Tensor,
    /// The layer that adds rows of the table, whatever it holds.
    pub(crate) adding: PositionalEncoding,
}

impl LearnedPositional {
    /// Loads the table `config.tensor` from a checkpoint, or creates it as a variable of a `VarMap`.
    ///
    /// A new variable has normally distributed values that depend on `init_seed` alone: they are the same
    /// on every machine. A row for padding is zero.
    ///
    /// # Errors
    /// Returns an error if
    /// - the `VarBuilder` has no tensor of this name and shape,
    /// - `d_model` or `max_seq_len` is 0, or the table exceeds
    ///   [`MAX_TABLE_BYTES`](pe_core::MAX_TABLE_BYTES),
    /// - its type is not `f32`, `f64`, `f16`, or `bf16`,
    /// - `init_std` is negative or not finite, the dropout is outside `[0, 1)`, or the scale is not
    ///   finite.
    pub fn new(config: LearnedPositionalConfig, vb: VarBuilder<'_>) -> Result<Self> {
        config.additive()?;
        let (rows, width) = (config.table_rows(), config.d_model);
        check_size(rows, width, vb.dtype())?;
        let shape = match config.shape {
            LearnedShape::Rows => vec![rows, width],
            LearnedShape::BatchOfRows => vec![1, rows, width],
        };
        let table = config.start().get(&shape, &config.tensor, &vb)?;
        Self::from_table(config, table)
    }

    /// Creates a layer with a caller-supplied table of shape `[rows, d_model]` or `[1, rows, d_model]`.
    ///
    /// The layer shares the table's memory, and gradients flow to it if it is a variable or was computed
    /// from one. `max_seq_len` becomes the number of rows starting at that of position 0, whatever the
    /// config contains.
    ///
    /// # Examples
    /// ```
    /// use candle_core::{DType, Device, Tensor};
    /// use pe_candle::{LearnedPositional, LearnedPositionalConfig, LearnedRows};
    ///
    /// let config = LearnedPositionalConfig {
    ///     rows: LearnedRows::Offset(2), // as in OPT
    ///     ..LearnedPositionalConfig::new(8, 0)
    /// };
    /// let table = Tensor::arange(0f32, 80., &Device::Cpu)?.reshape((10, 8))?;
    /// let layer = LearnedPositional::from_table(config, table)?;
    /// assert_eq!(layer.max_seq_len(), 8);
    /// let xs = Tensor::zeros((1, 3, 8), DType::F32, &Device::Cpu)?;
    /// let ys = layer.forward_at(&xs, 5, false)?.to_vec3::<f32>()?;
    /// assert_eq!(ys[0][0][0], 56.0); // row 7
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the table has another shape, has no row for position 0, or is not `f32`, `f64`,
    /// `f16`, or `bf16`. Also returns the errors of [`new`](Self::new) about the config.
    pub fn from_table(mut config: LearnedPositionalConfig, table: Tensor) -> Result<Self> {
        let (width, first) = (config.d_model, config.rows.first());
        let (rows, table) = match *table.dims() {
            [rows, columns] if columns == width => (rows, table),
            [1, rows, columns] if columns == width => (rows, table.squeeze(0)?),
            ref dims => bail!(
                "the table must have shape [rows, {width}] or [1, rows, {width}], got {dims:?}"
            ),
        };
        config.max_seq_len = match rows.checked_sub(first) {
            Some(positions @ 1..) => positions,
            _ => bail!("the table has {rows} rows, but position 0 has row {first}"),
        };
        let additive = config.additive()?;
        let table = table.contiguous()?;
        let adding = PositionalEncoding::trained(additive, table.clone(), config.rows.padding())?;
        Ok(Self {
            config,
            table,
            adding,
        })
    }

    /// Adds the rows of the positions starting at `offset`, one for each index along `T`.
    ///
    /// # Examples
    /// ```
    /// use candle_core::{DType, Device, ModuleT, Tensor};
    /// use pe_candle::{LearnedPositional, LearnedPositionalConfig};
    ///
    /// let table = Tensor::randn(0f32, 0.02, (32, 8), &Device::Cpu)?;
    /// let layer = LearnedPositional::from_table(LearnedPositionalConfig::new(8, 32), table)?;
    /// let prompt = Tensor::randn(0f32, 1., (1, 10, 8), &Device::Cpu)?;
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
    /// - a position has no row.
    pub fn forward_at(&self, xs: &Tensor, offset: usize, train: bool) -> Result<Tensor> {
        let row = self.row_of(xs, offset)?;
        self.adding.forward_at(xs, row, train)
    }

    /// Adds the rows of the positions starting at `offset` to `xs` in place, without dropout, for
    /// inference. See [`PositionalEncoding::forward_inplace`].
    ///
    /// # Errors
    /// Returns an error if the table is a variable or was computed from one, because its gradient would be
    /// lost. Also returns the errors of [`PositionalEncoding::forward_inplace`].
    pub fn forward_inplace(&self, xs: &Tensor, offset: usize) -> Result<()> {
        let row = self.row_of(xs, offset)?;
        self.adding.forward_inplace(xs, row)
    }

    /// Adds the row of each token's own position.
    ///
    /// `position_ids` has shape `[T]`, `[1, T]`, or `[B, T]` and is `u32` or `i64`, as in
    /// [`PositionalEncoding::forward_with_positions`]. The ids are positions with
    /// [`LearnedRows::Offset`], and rows of the table with [`LearnedRows::Padding`].
    ///
    /// # Errors
    /// Returns an error if the ids have another shape or type, or an id has no row. The message names the
    /// id and its index. Also returns the errors of [`forward_at`](Self::forward_at).
    pub fn forward_with_positions(
        &self,
        xs: &Tensor,
        position_ids: &Tensor,
        train: bool,
    ) -> Result<Tensor> {
        let end = self.config.table_rows();
        let first = match self.config.rows {
            LearnedRows::Offset(rows) => rows,
            LearnedRows::Padding(_) => 0,
        };
        self.adding.with_ids(xs, position_ids, first..end, train)
    }

    /// Adds the rows of tokens that are numbered as in fairseq and RoBERTa: tokens other than `padding_idx`
    /// use the rows starting at `padding_idx + 1`, and padding uses row `padding_idx`.
    ///
    /// # Examples
    /// ```
    /// use candle_core::{DType, Device, Tensor};
    /// use pe_candle::{LearnedPositional, LearnedPositionalConfig, LearnedPreset};
    ///
    /// let config = LearnedPositionalConfig::from_preset(LearnedPreset::Roberta, 4, 512);
    /// let table = Tensor::arange(0f32, 514. * 4., &Device::Cpu)?.reshape((514, 4))?;
    /// let layer = LearnedPositional::from_table(config, table)?;
    /// let tokens = Tensor::new(&[[0u32, 713, 2, 1]], &Device::Cpu)?; // the last one is padding
    /// let words = Tensor::zeros((1, 4, 4), DType::F32, &Device::Cpu)?;
    /// let ys = layer.forward_with_tokens(&words, &tokens, false)?.to_vec3::<f32>()?;
    /// assert_eq!([ys[0][0][0], ys[0][2][0], ys[0][3][0]], [8.0, 16.0, 4.0]); // rows 2, 4, 1
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the config's rows are not [`LearnedRows::Padding`]. Also returns the errors of
    /// [`position_ids_from_token_ids`] and [`forward_with_positions`](Self::forward_with_positions).
    pub fn forward_with_tokens(&self, xs: &Tensor, tokens: &Tensor, train: bool) -> Result<Tensor> {
        let Some(padding_idx) = self.config.rows.padding() else {
            let rows = self.config.rows;
            bail!("tokens number the rows of a table with padding only, not of {rows:?}");
        };
        let ids = position_ids_from_token_ids(tokens, padding_idx)?;
        self.forward_with_positions(xs, &ids, train)
    }

    /// Returns the rows of the positions `offset .. offset + len`, of shape `[len, d_model]`, with
    /// gradients to the table.
    ///
    /// # Errors
    /// Returns an error if a position has no row.
    pub fn encoding(&self, offset: usize, len: usize) -> Result<Tensor> {
        self.adding.encoding(self.row(offset, len)?, len)
    }

    /// Returns the complete table, of shape `[rows, d_model]`, with the rows before position 0.
    pub fn table(&self) -> &Tensor {
        &self.table
    }

    /// Returns the configuration. After [`from_table`](Self::from_table) its `max_seq_len` is that of the
    /// table.
    pub fn config(&self) -> &LearnedPositionalConfig {
        &self.config
    }

    /// Returns the width of the table.
    pub fn d_model(&self) -> usize {
        self.config.d_model
    }

    /// Returns the maximum sequence length.
    pub fn max_seq_len(&self) -> usize {
        self.config.max_seq_len
    }

    /// Returns the dropout, with its step counter to be read and set.
    pub fn dropout(&self) -> &Dropout {
        self.adding.dropout()
    }

    /// Returns a view of this layer without dropout that is a [`Module`](candle_core::Module).
    pub fn inference(&self) -> Inference<Self> {
        Inference(self.clone())
    }

    /// Returns the row of the first token of an input.
    fn row_of(&self, xs: &Tensor, offset: usize) -> Result<usize> {
        let (_, time) = self.adding.check_input(xs)?;
        self.row(offset, time)
    }

    /// Returns the row of position `offset`, if `len` positions starting there have rows.
    fn row(&self, offset: usize, len: usize) -> Result<usize> {
        let positions = self.max_seq_len();
        match offset.checked_add(len) {
            Some(end) if end <= positions || len == 0 => Ok(offset
                .min(positions)
                .saturating_add(self.config.rows.first())),
            _ => bail!(
                "positions {offset}..{} were asked for, but the table was trained for {positions} and \
                 cannot grow",
                offset.saturating_add(len)
            ),
        }
    }
}

impl ModuleT for LearnedPositional {
    /// Adds the rows of the positions starting at 0, with dropout if `train`.
    fn forward_t(&self, xs: &Tensor, train: bool) -> Result<Tensor> {
        self.forward_at(xs, 0, train)
    }
}
