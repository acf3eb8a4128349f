//! Decomposed biases of images: SAM, ViTDet, MViTv2.

use candle_core::{Result, Tensor, bail};
use candle_nn::VarBuilder;
use pe_core::{ResizeConfig, ResizeKernel, decomposed_index};

use super::{AttentionBias, Part};
use crate::kernel::{Read, Term};
use crate::layers::grid::config::{LearnedGridConfig, LearnedGridShape};
use crate::layers::grid::learned::LearnedGrid;

/// Configuration of a [`DecomposedBias`]: plain data, checked by the layer's constructors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecomposedBiasConfig {
    /// Height and width of the input in patches: the tables have `2 side - 1` rows.
    pub sides: [usize; 2],
    /// Width of a head, the columns of the tables.
    pub head_dim: usize,
    /// Names of the tables of rows and columns in a `VarBuilder`. Defaults to `rel_pos_h` and `rel_pos_w`.
    pub tensors: [String; 2],
}

impl DecomposedBiasConfig {
    /// Creates the configuration with the tensor names of SAM, ViTDet, and MViTv2.
    pub fn new(sides: [usize; 2], head_dim: usize) -> Self {
        Self {
            sides,
            head_dim,
            tensors: ["rel_pos_h", "rel_pos_w"].map(str::to_owned),
        }
    }

    /// Returns the shapes of the tables.
    fn shapes(&self) -> Result<[[usize; 2]; 2]> {
        let [height, width] = self.sides;
        let shape = |side: usize| Some([side.checked_mul(2)?.checked_sub(1)?, self.head_dim]);
        match (shape(height), shape(width)) {
            (Some(of_rows), Some(of_columns)) => Ok([of_rows, of_columns]),
            _ => bail!("an input of {height} x {width} patches has no relative positions"),
        }
    }
}

/// The bias `q . R_h + q . R_w` of SAM and ViTDet, with one trained row per distance along each axis.
///
/// The reference builds `[batch, q_height q_width, kv_height kv_width]`. Here the bias has `kv_height + kv_width` numbers per query.
///
/// # Examples
/// ```
/// use candle_core::{DType, Device, Tensor};
/// use candle_nn::{VarBuilder, VarMap};
/// use pe_candle::{DecomposedBias, DecomposedBiasConfig, ScoreMask, softmax_with_bias};
///
/// let varmap = VarMap::new();
/// let vb = VarBuilder::from_varmap(&varmap, DType::F32, &Device::Cpu);
/// let config = DecomposedBiasConfig::new([14, 14], 64);
/// let tables = DecomposedBias::new(config, vb)?; // rel_pos_h and rel_pos_w, [27, 64]
/// let q = Tensor::ones((25, 12, 196, 64), DType::F32, &Device::Cpu)?; // [windows, heads, patches, head_dim]
/// let scores = Tensor::zeros((25, 12, 196, 196), DType::F32, &Device::Cpu)?;
/// let bias = tables.bias(&q, (14, 14), (14, 14))?;
/// let weights = softmax_with_bias(&scores, Some(&bias), 0.125, &ScoreMask::none())?;
/// # assert_eq!(weights.dims(), [25, 12, 196, 196]);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct DecomposedBias {
    config: DecomposedBiasConfig,
    rel_pos_h: Tensor,
    rel_pos_w: Tensor,
}

impl DecomposedBias {
    /// Loads the tables `config.tensors`, `[2 height - 1, head_dim]` and `[2 width - 1, head_dim]`.
    ///
    /// # Errors
    /// Returns an error if a size is zero, or the builder has no such tensors.
    pub fn new(config: DecomposedBiasConfig, vb: VarBuilder<'_>) -> Result<Self> {
        let [of_rows, of_columns] = config.shapes()?.map(|[rows, width]| (rows, width));
        let [height, width] = &config.tensors;
        let (rel_pos_h, rel_pos_w) = (vb.get(of_rows, height)?, vb.get(of_columns, width)?);
        Self::from_tables(config, rel_pos_h, rel_pos_w)
    }

    /// Uses tables `[.., head_dim]` for rows and columns of patches. Their numbers of rows may be those of other sides.
    ///
    /// # Errors
    /// Returns an error if a table has other than two axes or another width.
    pub fn from_tables(
        config: DecomposedBiasConfig,
        rel_pos_h: Tensor,
        rel_pos_w: Tensor,
    ) -> Result<Self> {
        for table in [&rel_pos_h, &rel_pos_w] {
            if table.dims2()?.1 != config.head_dim {
                let (head_dim, dims) = (config.head_dim, table.dims());
                bail!("the table must have shape [.., {head_dim}], got {dims:?}");
            }
        }
        Ok(Self {
            config,
            rel_pos_h,
            rel_pos_w,
        })
    }

    /// Returns the configuration.
    pub fn config(&self) -> &DecomposedBiasConfig {
        &self.config
    }

    /// Returns the bias of queries on a grid of `q_size` (height and width) and keys on one of `kv_size`. The unscaled queries are
    /// `[batch, heads, q_height q_width, head_dim]`, or `[batch, q_height q_width, head_dim]`. Tables for another size are resized
    /// linearly.
    ///
    /// Gradients flow to the queries and the tables.
    ///
    /// # Errors
    /// Returns an error if a size is zero, or the queries have another shape.
    pub fn bias(
        &self,
        queries: &Tensor,
        q_size: (usize, usize),
        kv_size: (usize, usize),
    ) -> Result<AttentionBias> {
        let queries = match queries.rank() {
            3 => queries.unsqueeze(1)?,
            _ => queries.clone(),
        };
        let (batch, heads, q_len, width) = queries.dims4()?;
        let (tall, wide) = q_size;
        if tall.checked_mul(wide) != Some(q_len) || width != self.rel_pos_h.dims2()?.1 {
            let dims = queries.dims();
            bail!(
                "queries of shape {dims:?} do not go with a grid of {q_size:?} and {:?}",
                self.rel_pos_h.dims()
            );
        }
        let both = batch * heads;
        let grid = queries.reshape((both, tall, wide, width))?;
        // [rows or columns of queries, others, head_dim] x [rows or columns, head_dim, keys].
        let of_rows = relative(&self.rel_pos_h, tall, kv_size.0)?.transpose(1, 2)?;
        let of_columns = relative(&self.rel_pos_w, wide, kv_size.1)?.transpose(1, 2)?;
        let rows = grid
            .transpose(0, 1)?
            .contiguous()?
            .reshape((tall, both * wide, width))?;
        let rows = rows.matmul(&of_rows.contiguous()?)?;
        let rows = rows
            .reshape((tall, both, wide, kv_size.0))?
            .transpose(0, 1)?
            .contiguous()?;
        let columns =
            grid.permute((2, 0, 1, 3))?
                .contiguous()?
                .reshape((wide, both * tall, width))?;
        let columns = columns.matmul(&of_columns.contiguous()?)?;
        let columns = columns
            .reshape((wide, both, tall, kv_size.1))?
            .permute((1, 2, 0, 3))?
            .contiguous()?;
        Self::of_scores(&rows, &columns, [batch, heads, q_len], kv_size)
    }

    /// Creates the bias of scores of the queries against rows and columns of keys.
    fn of_scores(
        rows: &Tensor,
        columns: &Tensor,
        [batch, heads, q_len]: [usize; 3],
        (tall, wide): (usize, usize),
    ) -> Result<AttentionBias> {
        let read = Read::KeyRows {
            keys: tall,
            width: wide,
        };
        let (owners, kv_len) = ([batch, heads], tall * wide);
        let term = Term::new(owners, q_len * tall, read);
        let mut bias = AttentionBias::of(rows, term, q_len, kv_len)?;
        let term = Term::new(owners, q_len * wide, Read::KeyColumns { width: wide });
        let values = columns.clone();
        bias.parts.push(Part { values, term });
        Ok(bias)
    }
}

/// Returns the row of a table for each query and key of an axis, `[q_size, kv_size, head_dim]`.
fn relative(table: &Tensor, q_size: usize, kv_size: usize) -> Result<Tensor> {
    let (table, (rows, width)) = (table.contiguous()?, table.dims2()?);
    let index = decomposed_index(q_size, kv_size)?;
    let wanted = 2 * q_size.max(kv_size) - 1;
    let index = Tensor::from_slice(index.as_slice(), q_size * kv_size, table.device())?;
    let resized = if rows == wanted {
        table.clone()
    } else {
        let config = LearnedGridConfig {
            resize: ResizeConfig::new(ResizeKernel::Bilinear),
            shape: LearnedGridShape::Rows,
            ..LearnedGridConfig::new([rows], width)
        };
        LearnedGrid::from_table(config, table.clone())?.resized(&[wanted])?
    };
    resized
        .index_select(&index, 0)?
        .reshape((q_size, kv_size, width))
}
