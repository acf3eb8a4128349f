//! Configuration of a learned grid.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use crate::layers::learned::normal::Start;
use candle_core::{Result, bail};
use pe_core::{MAX_D_MODEL, MAX_GRID_SIDE, PatchOrder, ResizeConfig, ResizePreset};

/// Shape of the table of a learned grid, of `N` rows and `D` columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum LearnedGridShape {
    /// `[N, D]`: SigLIP, the vision models of Qwen, tables by offset.
    Rows,
    /// `[1, N, D]`: ViT, DINOv2, timm.
    #[default]
    BatchOfRows,
    /// `[1, H, W, D]`: SAM, ViTDet.
    ChannelsLast,
    /// `[1, D, H, W]`: SAM 2.
    ChannelsFirst,
}

/// Configuration of a [`LearnedGrid`](crate::LearnedGrid): plain data, checked by the layer's
/// constructors.
///
/// ```
/// use pe_candle::{LearnedGridConfig, ResizePreset};
///
/// // DINOv2 with four registers, which have no rows in the table.
/// let config = LearnedGridConfig::from_preset(ResizePreset::Dinov2Registers, [37, 37], 1024);
/// assert_eq!((config.rows_before, config.rows()), (1, 1 + 37 * 37));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LearnedGridConfig {
    /// Sides of the grid, in the order of the table's rows: height and width of an image; frames, height,
    /// and width of a video; one side for a sequence.
    pub sides: Vec<usize>,
    /// Width of a row. For tables by offset, the number of heads.
    pub d_model: usize,
    /// Rows before the grid, such as that of a class token. They are kept.
    pub rows_before: usize,
    /// Rows after the grid, such as BEiT's three. They are kept.
    pub rows_after: usize,
    /// Way of resizing.
    pub resize: ResizeConfig,
    /// Order of the resized rows.
    pub order: PatchOrder,
    /// Shape of the table.
    pub shape: LearnedGridShape,
    /// Name of the table in a `VarBuilder`. Defaults to `position_embeddings`.
    pub tensor: String,
    /// Standard deviation of the initial values, with mean 0. Defaults to 0.02.
    pub init_std: f64,
    /// Seed of the initial values. Defaults to 0. The tables of one model need different seeds.
    pub init_seed: u64,
}

impl LearnedGridConfig {
    /// Creates the configuration of a grid without other rows, resized as in ViT: torch's `bicubic`.
    pub fn new(sides: impl Into<Vec<usize>>, d_model: usize) -> Self {
        Self {
            rows_before: 0,
            ..Self::from_preset(ResizePreset::Vit, sides, d_model)
        }
    }

    /// Creates the configuration of a grid as a model or a library has it: way of resizing, rows before
    /// and after the grid, order, and the tensor's name and shape.
    ///
    /// | preset | tensor | shape |
    /// |---|---|---|
    /// | `vit`, `dinov2-registers` | `position_embeddings` | `[1, N, D]` |
    /// | `timm`, `dinov2-offset` | `pos_embed` | `[1, N, D]` |
    /// | `siglip`, `siglip2`, `glm4v`, `paddleocr-vl` | `position_embedding.weight` | `[N, D]` |
    /// | `qwen3-vl` | `pos_embed.weight` | `[N, D]` |
    /// | `sam2` | `pos_embed` | `[1, D, H, W]` |
    /// | `beit`, `swin` | `relative_position_bias_table` | `[N, D]`, `D` heads |
    /// | `levit` | `attention_biases` | `[N, D]`, `D` heads |
    /// | `jax` | `pos_embedding` | `[1, N, D]` |
    ///
    /// The sides of tables by offset are `2 * side - 1` of the window's. BEiT reads its table with
    /// height and width swapped, and so does this configuration.
    pub fn from_preset(preset: ResizePreset, sides: impl Into<Vec<usize>>, d_model: usize) -> Self {
        use ResizePreset as P;
        let [rows_before, rows_after] = preset.kept_rows();
        let mut sides = sides.into();
        if preset.swaps_sides() {
            sides.reverse();
        }
        let (tensor, shape) = match preset {
            P::Timm | P::Dinov2Offset => ("pos_embed", LearnedGridShape::BatchOfRows),
            P::Siglip | P::Siglip2 | P::Glm4v | P::PaddleocrVl => {
                ("position_embedding.weight", LearnedGridShape::Rows)
            }
            P::Qwen3Vl => ("pos_embed.weight", LearnedGridShape::Rows),
            P::Sam2 => ("pos_embed", LearnedGridShape::ChannelsFirst),
            P::Beit | P::Swin => ("relative_position_bias_table", LearnedGridShape::Rows),
            P::Levit => ("attention_biases", LearnedGridShape::Rows),
            P::Jax => ("pos_embedding", LearnedGridShape::BatchOfRows),
            _ => ("position_embeddings", LearnedGridShape::BatchOfRows),
        };
        Self {
            sides,
            d_model,
            rows_before,
            rows_after,
            resize: preset.config(),
            order: preset.order(),
            shape,
            tensor: tensor.to_owned(),
            init_std: 0.02,
            init_seed: 0,
        }
    }

    /// Returns the values of a new table.
    pub(crate) fn start(&self) -> Start {
        Start {
            std: self.init_std,
            seed: self.init_seed,
            padding: None,
        }
    }

    /// Returns the number of rows of the table, saturating.
    pub fn rows(&self) -> usize {
        let kept = self.rows_before.saturating_add(self.rows_after);
        self.cells().saturating_add(kept)
    }

    /// Returns the number of rows of the grid, saturating.
    pub(crate) fn cells(&self) -> usize {
        Self::cells_of(&self.sides)
    }

    /// Returns the number of rows of a grid of these sides, saturating.
    pub(crate) fn cells_of(sides: &[usize]) -> usize {
        sides.iter().fold(1, |n, side| side.saturating_mul(n))
    }

    /// Returns the shape of the table.
    pub(crate) fn dims(&self) -> Vec<usize> {
        let (rows, width) = (self.rows(), self.d_model);
        match self.shape {
            LearnedGridShape::Rows => vec![rows, width],
            LearnedGridShape::BatchOfRows => vec![1, rows, width],
            LearnedGridShape::ChannelsLast => [&[1], &self.sides[..], &[width]].concat(),
            LearnedGridShape::ChannelsFirst => [&[1, width], &self.sides[..]].concat(),
        }
    }

    /// Checks the sizes, and that the grid can be resized to its own size.
    pub(crate) fn check(&self) -> Result<()> {
        let (sides, width) = (&self.sides, self.d_model);
        if width == 0 || width > MAX_D_MODEL {
            bail!("d_model {width} is outside 1..={MAX_D_MODEL}");
        }
        if sides.is_empty() || sides.len() > 4 {
            bail!("sides {sides:?}: a grid has 1 to 4 sides");
        }
        if let Some(side) = sides
            .iter()
            .find(|side| !(1..=MAX_GRID_SIDE).contains(*side))
        {
            bail!("sides {sides:?}: {side} is outside 1..={MAX_GRID_SIDE}");
        }
        if self.rows() as u64 > pe_core::POSITIONS {
            let (before, after) = (self.rows_before, self.rows_after);
            bail!(
                "a grid of sides {sides:?} with {before} rows before and {after} after has more than \
                 4294967296 rows"
            );
        }
        let kept = self.rows_before != 0 || self.rows_after != 0;
        if kept
            && !matches!(
                self.shape,
                LearnedGridShape::Rows | LearnedGridShape::BatchOfRows
            )
        {
            let shape = self.shape;
            bail!("a table of shape {shape:?} has no rows before or after the grid");
        }
        if self.order != PatchOrder::RowMajor && sides.len() < 2 {
            bail!("sides {sides:?}: an order of squares needs two");
        }
        self.start().check()?;
        // The options of the kernel, without the sizes.
        let by = pe_core::ResizeBy::Size;
        ResizeConfig { by, ..self.resize }.taps(1, 1)?;
        Ok(())
    }
}
