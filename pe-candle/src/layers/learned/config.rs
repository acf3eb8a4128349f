//! Configuration of learned tables, and the conventions of released models.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use candle_core::{Error, Result, bail};
use pe_core::hf_config::{self, HfConfig, HfLearned};

use crate::layers::config::{EmbeddingScale, PositionalEncodingConfig, check_max_seq_len};
use crate::layers::learned::normal::Start;
use crate::tensors::axes::AxisOrder;

/// Configuration of a [`LearnedPositional`](crate::LearnedPositional): plain data, checked by the
/// layer's constructors.
///
/// ```
/// use pe_candle::{LearnedPositionalConfig, LearnedPreset, LearnedRows};
///
/// let opt = LearnedPositionalConfig::from_preset(LearnedPreset::Opt, 768, 2048);
/// assert_eq!((opt.tensor.as_str(), opt.rows), ("embed_positions.weight", LearnedRows::Offset(2)));
/// assert_eq!(opt.table_rows(), 2050);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LearnedPositionalConfig {
    /// Width of the table.
    pub d_model: usize,
    /// Maximum sequence length: positions are `0 .. max_seq_len`. The table has as many rows, and those
    /// before the row of position 0.
    pub max_seq_len: usize,
    /// Row of each position. Defaults to the row with its number.
    pub rows: LearnedRows,
    /// Name of the tensor in the `VarBuilder`. Defaults to `weight`.
    pub tensor: String,
    /// Shape of that tensor. Defaults to `[rows, d_model]`.
    pub shape: LearnedShape,
    /// Standard deviation of the initial values, with mean 0. Defaults to 0.02.
    pub init_std: f64,
    /// Seed of the initial values. Defaults to 0. The tables of one model need different seeds.
    pub init_seed: u64,
    /// Probability of dropout in training, in `[0, 1)`. Defaults to 0.
    pub dropout: f32,
    /// Seed of the dropout. Defaults to 0.
    pub seed: u64,
    /// Order of the input's axes. Defaults to batch first.
    pub axis_order: AxisOrder,
    /// Factor of the input. Defaults to none.
    pub scale: EmbeddingScale,
}

impl LearnedPositionalConfig {
    /// Returns the configuration of a table with a row for each position, with all defaults.
    pub fn new(d_model: usize, max_seq_len: usize) -> Self {
        Self {
            d_model,
            max_seq_len,
            rows: LearnedRows::default(),
            tensor: "weight".to_owned(),
            shape: LearnedShape::default(),
            init_std: 0.02,
            init_seed: 0,
            dropout: 0.0,
            seed: 0,
            axis_order: AxisOrder::BatchFirst,
            scale: EmbeddingScale::None,
        }
    }

    /// Returns the configuration of a model family: name and shape of its tensor, and its rows. All other
    /// fields have their defaults.
    pub fn from_preset(preset: LearnedPreset, d_model: usize, max_seq_len: usize) -> Self {
        preset.config(d_model, max_seq_len)
    }

    /// Reads width, rows, and the tensor's name from a model's `config.json`, given as its text or as a `serde_json::Value`
    /// ([`hf_config::read_learned`] lists the models). Of models with an encoder and a decoder, it is the decoder's table.
    ///
    /// # Examples
    /// ```
    /// use pe_candle::{LearnedPositionalConfig, LearnedPreset};
    ///
    /// let json = r#"{"model_type": "roberta", "hidden_size": 768, "max_position_embeddings": 514, "pad_token_id": 1}"#;
    /// let config = LearnedPositionalConfig::from_hf_config(json)?;
    /// assert_eq!(config, LearnedPositionalConfig::from_preset(LearnedPreset::Roberta, 768, 512));
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`hf_config::read_learned`].
    pub fn from_hf_config<'a>(config: impl Into<HfConfig<'a>>) -> Result<Self> {
        let HfLearned {
            d_model,
            table_rows,
            first_row,
            padding_row,
            tensor,
            ..
        } = hf_config::read_learned(config)?;
        Ok(Self {
            rows: padding_row.map_or(LearnedRows::Offset(first_row), LearnedRows::Padding),
            tensor: tensor.to_owned(),
            ..Self::new(d_model, table_rows.saturating_sub(first_row))
        })
    }

    /// Returns the number of rows of the table.
    pub fn table_rows(&self) -> usize {
        self.max_seq_len.saturating_add(self.rows.first())
    }

    /// Returns the values of a new table.
    pub(crate) fn start(&self) -> Start {
        Start {
            std: self.init_std,
            seed: self.init_seed,
            padding: self.rows.padding(),
        }
    }

    /// Checks the fields, and returns those of an additive layer.
    pub(crate) fn additive(&self) -> Result<PositionalEncodingConfig> {
        check_max_seq_len(self.max_seq_len)?;
        check_max_seq_len(self.table_rows()).map_err(|_| {
            let (rows, first) = (self.table_rows(), self.rows.first());
            Error::msg(format!(
                "a table of {rows} rows (position 0 has row {first}) exceeds {} rows",
                pe_core::POSITIONS
            ))
        })?;
        if self.d_model == 0 {
            bail!("d_model 0 is not at least 1");
        }
        self.start().check()?;
        Ok(PositionalEncodingConfig {
            max_seq_len: self.table_rows(),
            dropout: self.dropout,
            seed: self.seed,
            axis_order: self.axis_order,
            scale: self.scale,
            ..PositionalEncodingConfig::new(self.d_model)
        })
    }
}

/// Row of a learned table that a position uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LearnedRows {
    /// Position `p` uses row `p + n`. Position ids are positions. `n` is 0 in most models, and 2 in OPT and
    /// BART, where it remains from a numbering by padding.
    Offset(usize),
    /// The rows of fairseq and RoBERTa, for a padding token with this id: without ids, position `p` uses
    /// row `p + padding_idx + 1`. Position ids are rows, as
    /// [`position_ids_from_token_ids`](crate::position_ids_from_token_ids) returns them. Padding uses row
    /// `padding_idx`, which starts as zeros and has no gradient.
    Padding(u32),
}

impl LearnedRows {
    /// Returns the row of position 0.
    pub(crate) fn first(self) -> usize {
        match self {
            Self::Offset(rows) => rows,
            Self::Padding(row) => (row as usize).saturating_add(1),
        }
    }

    /// Returns the row without a gradient.
    pub(crate) fn padding(self) -> Option<u32> {
        match self {
            Self::Offset(_) => None,
            Self::Padding(row) => Some(row),
        }
    }
}

impl Default for LearnedRows {
    fn default() -> Self {
        Self::Offset(0)
    }
}

/// Shape of a learned table in a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum LearnedShape {
    /// `[rows, d_model]`, the weight of an embedding.
    #[default]
    Rows,
    /// `[1, rows, d_model]`, a parameter of vision transformers.
    BatchOfRows,
}

/// Learned tables of released models, by the names of transformers and timm.
///
/// | preset | models | tensor | row of position p |
/// |---|---|---|---|
/// | `bert` | BERT, ALBERT, ELECTRA, DistilBERT, DeBERTa | `position_embeddings.weight` | p |
/// | `roberta` | RoBERTa, XLM-RoBERTa, CamemBERT, Longformer, MPNet | `position_embeddings.weight` | p + 2; padding tokens 1 |
/// | `opt` | OPT, BART, mBART, TrOCR | `embed_positions.weight` | p + 2 |
/// | `gpt2` | GPT-2, GPT-Neo, GPT-BigCode | `wpe.weight` | p |
/// | `whisper` | Whisper's decoder | `embed_positions.weight` | p |
/// | `clip` | CLIP and SigLIP, text and vision | `position_embedding.weight` | p |
/// | `vit` | ViT, DeiT, DINOv2 of transformers, `[1, rows, d_model]` | `position_embeddings` | p |
/// | `timm-vit` | vision transformers of timm, `[1, rows, d_model]` | `pos_embed` | p |
///
/// The name is relative to the module that holds the table, such as `embeddings` in BERT or
/// `model.decoder` in OPT. The table of a vision transformer includes the rows of its class and register
/// tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LearnedPreset {
    /// BERT and its relatives.
    Bert,
    /// RoBERTa and its relatives, which number tokens from `padding_idx + 1 = 2`.
    Roberta,
    /// OPT and BART, with rows that begin at 2.
    Opt,
    /// GPT-2.
    Gpt2,
    /// Whisper's decoder.
    Whisper,
    /// CLIP and SigLIP.
    Clip,
    /// Vision transformers of transformers.
    Vit,
    /// Vision transformers of timm.
    TimmVit,
}

impl LearnedPreset {
    /// All presets.
    pub const ALL: [Self; 8] = [
        Self::Bert,
        Self::Roberta,
        Self::Opt,
        Self::Gpt2,
        Self::Whisper,
        Self::Clip,
        Self::Vit,
        Self::TimmVit,
    ];

    /// Returns the name of the preset, which [`str::parse`] accepts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bert => "bert",
            Self::Roberta => "roberta",
            Self::Opt => "opt",
            Self::Gpt2 => "gpt2",
            Self::Whisper => "whisper",
            Self::Clip => "clip",
            Self::Vit => "vit",
            Self::TimmVit => "timm-vit",
        }
    }

    /// Returns the configuration of a table with `max_seq_len` positions.
    pub fn config(self, d_model: usize, max_seq_len: usize) -> LearnedPositionalConfig {
        use LearnedRows::{Offset, Padding};
        let (tensor, rows, shape) = match self {
            Self::Bert => ("position_embeddings.weight", Offset(0), LearnedShape::Rows),
            Self::Roberta => ("position_embeddings.weight", Padding(1), LearnedShape::Rows),
            Self::Opt => ("embed_positions.weight", Offset(2), LearnedShape::Rows),
            Self::Gpt2 => ("wpe.weight", Offset(0), LearnedShape::Rows),
            Self::Whisper => ("embed_positions.weight", Offset(0), LearnedShape::Rows),
            Self::Clip => ("position_embedding.weight", Offset(0), LearnedShape::Rows),
            Self::Vit => ("position_embeddings", Offset(0), LearnedShape::BatchOfRows),
            Self::TimmVit => ("pos_embed", Offset(0), LearnedShape::BatchOfRows),
        };
        LearnedPositionalConfig {
            tensor: tensor.to_owned(),
            rows,
            shape,
            ..LearnedPositionalConfig::new(d_model, max_seq_len)
        }
    }
}

pe_core::impl_names!(LearnedPreset, "learned preset", pe_core::Error);
