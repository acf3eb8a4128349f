//! Trained values by relative position: windows of images, and limited distances.

use candle_core::{Result, Tensor, bail};
use candle_nn::VarBuilder;
use pe_core::{RelativeIndex, clipped_index, relative_distances};

use super::AttentionBias;
use super::by_distance::ByDistance;
use crate::kernel::{Read, Term};

/// Row of a relative table that each query and key uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RelativeRows {
    /// Swin and Swin v2: windows of `height x width` patches.
    Swin {
        /// Rows of patches.
        height: usize,
        /// Columns of patches.
        width: usize,
    },
    /// BEiT and data2vec-vision: an image of `height x width` patches after a class token. (The class of transformers swaps the
    /// sides of images that are not square.)
    Beit {
        /// Rows of patches.
        height: usize,
        /// Columns of patches.
        width: usize,
    },
    /// LeViT: queries on a grid of `q_size x q_size`, `stride` apart, and keys on one of `kv_size x kv_size`.
    Levit {
        /// Rows and columns of queries.
        q_size: usize,
        /// Rows and columns of keys.
        kv_size: usize,
        /// Distance of queries in keys.
        stride: usize,
    },
    /// One row per distance `key - query`, limited to `-before ..= after`: Shaw's, with one value per head.
    Clipped {
        /// Keys farther before share the first row.
        before: u32,
        /// Keys farther after share the last row.
        after: u32,
    },
}

/// Configuration of a [`RelativeTable`]: plain data, checked by the layer's constructors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelativeTableConfig {
    /// Row of each query and key.
    pub rows: RelativeRows,
    /// Number of heads, the columns of the table.
    pub num_heads: usize,
    /// Name of the table in a `VarBuilder`. Defaults to `attention_biases` of shape `[num_heads, rows]` for LeViT, and to
    /// `relative_position_bias_table` otherwise.
    pub tensor: String,
}

impl RelativeTableConfig {
    /// Creates the configuration with the reference's name of the tensor.
    pub fn new(rows: RelativeRows, num_heads: usize) -> Self {
        let tensor = match rows {
            RelativeRows::Levit { .. } => "attention_biases",
            _ => "relative_position_bias_table",
        };
        Self {
            rows,
            num_heads,
            tensor: tensor.to_owned(),
        }
    }
}

/// A trained table of biases by relative position.
///
/// # Examples
/// ```
/// use candle_core::{DType, Device, Tensor};
/// use candle_nn::{VarBuilder, VarMap};
/// use pe_candle::{RelativeRows, RelativeTable, RelativeTableConfig, ScoreMask, softmax_with_bias};
///
/// let varmap = VarMap::new();
/// let vb = VarBuilder::from_varmap(&varmap, DType::F32, &Device::Cpu);
/// let config = RelativeTableConfig::new(RelativeRows::Swin { height: 7, width: 7 }, 3);
/// let table = RelativeTable::new(config, vb)?; // relative_position_bias_table, [169, 3]
/// let scores = Tensor::zeros((8, 3, 49, 49), DType::F32, &Device::Cpu)?; // 8 windows
/// let weights = softmax_with_bias(&scores, Some(&table.bias(49, 49, 0)?), 0.2, &ScoreMask::none())?;
/// # assert_eq!(weights.dims(), [8, 3, 49, 49]);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct RelativeTable {
    config: RelativeTableConfig,
    /// `[rows, num_heads]`.
    table: Tensor,
    source: Source,
}

#[derive(Debug, Clone)]
enum Source {
    /// The row of each query and key.
    Window {
        index: Tensor,
        dims: [usize; 2],
    },
    Distance(ByDistance),
}

impl RelativeTable {
    /// Loads the table `config.tensor`, `[rows, num_heads]`, or `[num_heads, rows]` for LeViT.
    ///
    /// # Errors
    /// Returns an error if the sizes are invalid, or the builder has no such tensor.
    pub fn new(config: RelativeTableConfig, vb: VarBuilder<'_>) -> Result<Self> {
        let ((_, rows), heads) = (rows_of(config.rows)?, config.num_heads);
        let table = match config.rows {
            RelativeRows::Levit { .. } => vb.get((heads, rows), &config.tensor)?.t()?,
            _ => vb.get((rows, heads), &config.tensor)?,
        };
        Self::from_table(config, table)
    }

    /// Uses a table `[rows, num_heads]`: one under another name, or the output of Swin v2's network for
    /// [`swin_v2_coordinates`](pe_core::swin_v2_coordinates), gradients included.
    ///
    /// # Errors
    /// Returns an error if the sizes are invalid, or the table has another shape.
    pub fn from_table(config: RelativeTableConfig, table: Tensor) -> Result<Self> {
        let (index, rows) = rows_of(config.rows)?;
        let wanted = [rows, config.num_heads];
        if table.dims() != wanted {
            bail!(
                "the table must have shape {wanted:?}, got {:?}",
                table.dims()
            );
        }
        let source = match index {
            None => Source::Distance(ByDistance::new()),
            Some(index) => {
                let (queries, keys) = (index.index().rows(), index.index().width());
                let index = index.index().as_slice();
                Source::Window {
                    index: Tensor::from_slice(index, index.len(), table.device())?,
                    dims: [queries, keys],
                }
            }
        };
        Ok(Self {
            config,
            table,
            source,
        })
    }

    /// Returns the configuration.
    pub fn config(&self) -> &RelativeTableConfig {
        &self.config
    }

    /// Returns the table, `[rows, num_heads]`.
    pub fn table(&self) -> &Tensor {
        &self.table
    }

    /// Returns the bias of a call. Windows have lengths of their own and no offset: the result holds `[heads, q_len, kv_len]` numbers,
    /// whatever the number of windows. Keep it (clones are cheap) as long as the table is the same.
    ///
    /// # Errors
    /// Returns an error if a window has other lengths, or an offset.
    pub fn bias(&self, q_len: usize, kv_len: usize, offset: usize) -> Result<AttentionBias> {
        match &self.source {
            Source::Window { index, dims } => {
                if [q_len, kv_len] != *dims || offset != 0 {
                    bail!(
                        "a window of {dims:?} queries and keys has no bias for {q_len}, {kv_len} at offset {offset}"
                    );
                }
                let values = self
                    .table
                    .contiguous()?
                    .index_select(index, 0)?
                    .t()?
                    .contiguous()?;
                let read = Read::Strided {
                    start: 0,
                    row: kv_len as isize,
                };
                let (heads, count) = values.dims2()?;
                AttentionBias::of(&values, Term::new([1, heads], count, read), q_len, kv_len)
            }
            Source::Distance(kept) => {
                let values = |q_len, kv_len, offset| self.distances(q_len, kv_len, offset);
                if self.table.track_op() {
                    let values = values(q_len, kv_len, offset)?;
                    return AttentionBias::from_distances(&values, q_len, kv_len);
                }
                kept.bias(q_len, kv_len, offset, values)
            }
        }
    }

    fn distances(&self, q_len: usize, kv_len: usize, offset: usize) -> Result<Tensor> {
        let RelativeRows::Clipped { before, after } = self.config.rows else {
            bail!("{:?} is not a table by distance", self.config.rows);
        };
        let distances = relative_distances(q_len, kv_len, offset as u64)?;
        let row = |distance| clipped_index(distance, -i64::from(before), after.into()) as u32;
        let rows: Vec<_> = distances.map(row).collect();
        let rows = Tensor::new(rows, self.table.device())?;
        self.table
            .contiguous()?
            .index_select(&rows, 0)?
            .t()?
            .contiguous()
    }
}

/// Returns the index of a window, and the number of rows of the table.
fn rows_of(rows: RelativeRows) -> Result<(Option<RelativeIndex>, usize)> {
    let index = match rows {
        RelativeRows::Swin { height, width } => RelativeIndex::swin(height, width)?,
        RelativeRows::Beit { height, width } => RelativeIndex::beit(height, width)?,
        RelativeRows::Levit {
            q_size,
            kv_size,
            stride,
        } => RelativeIndex::levit(q_size, kv_size, stride)?,
        RelativeRows::Clipped { before, after } => {
            return Ok((None, before as usize + after as usize + 1));
        }
    };
    let rows = index.rows();
    Ok((Some(index), rows))
}
