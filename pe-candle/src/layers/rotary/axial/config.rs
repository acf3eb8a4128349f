//! Configuration of the layer over several axes.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use candle_core::DType;
use pe_core::{AxialRotaryConfig, AxialRotaryPreset};

use crate::layers::rotary::config::table_dtype;
use crate::tensors::axes::HeadOrder;

/// Configuration of an [`AxialRotaryEmbedding`](crate::AxialRotaryEmbedding): plain data, checked by the
/// layer's constructor.
///
/// # Examples
/// ```
/// use pe_candle::{AxialRotaryEmbeddingConfig, AxialRotaryPreset, HeadOrder};
///
/// let config = AxialRotaryEmbeddingConfig {
///     axis_order: HeadOrder::TimeFirst,
///     ..AxialRotaryEmbeddingConfig::from_preset(AxialRotaryPreset::Flux, 128)
/// };
/// assert_eq!(config.rotary.axes.len(), 3);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct AxialRotaryEmbeddingConfig {
    /// Axes, frequencies, and the positions of grids.
    pub rotary: AxialRotaryConfig,
    /// Order of the axes of queries and keys. Defaults to head first.
    pub axis_order: HeadOrder,
    /// Axis of coordinate tensors that counts the coordinates. Defaults to the last.
    pub coordinate_axis: CoordinateAxis,
    /// Type of the tables. `None`, the default, means `f64` for a layer of type `f64`, and `f32` for all
    /// others. The only other choice is the layer's type.
    pub table_dtype: Option<DType>,
}

impl AxialRotaryEmbeddingConfig {
    /// Returns the configuration for given axes and frequencies, with all defaults.
    pub const fn new(rotary: AxialRotaryConfig) -> Self {
        Self {
            rotary,
            axis_order: HeadOrder::HeadFirst,
            coordinate_axis: CoordinateAxis::Last,
            table_dtype: None,
        }
    }

    /// Returns the configuration of a released model for heads of a width. Coordinates are in the order of
    /// the model's code: `[axes, B, T]` for the language models with M-RoPE, and `[B, T, axes]` for all
    /// others.
    pub fn from_preset(preset: AxialRotaryPreset, head_dim: usize) -> Self {
        use AxialRotaryPreset::{Ernie45Vl, Glm4v, HunyuanVl, Qwen2Vl, Qwen3Vl};
        let coordinate_axis = match preset {
            Qwen2Vl | Qwen3Vl | Glm4v | Ernie45Vl | HunyuanVl => CoordinateAxis::First,
            _ => CoordinateAxis::Last,
        };
        Self {
            coordinate_axis,
            ..Self::new(preset.config(head_dim))
        }
    }

    /// Returns the type of the tables of a layer with inputs of a type.
    pub(super) fn table_dtype(&self, dtype: DType) -> DType {
        table_dtype(self.table_dtype, dtype)
    }
}

/// Axis of coordinate tensors that counts the coordinates. It is never guessed, because three tokens may have
/// three coordinates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum CoordinateAxis {
    /// `[axes, T]` or `[axes, B, T]`, as M-RoPE in transformers.
    First,
    /// `[T, axes]` or `[B, T, axes]`, as in diffusers and in vision models.
    #[default]
    Last,
}
