//! Rotary embedding over several axes, as a layer.

mod config;
mod positions;
mod tables;

use std::sync::Arc;

use candle_core::{D, DType, Device, Result, Tensor, bail};
use pe_core::{AxialRotary, PairLayout};

use self::tables::{Block, Built, Kept};
use super::given::{Given, check_same};
use crate::kernel::{Plan, Rotation};
use crate::layers::published::Published;
use crate::tensors::axes::HeadOrder;
use crate::tensors::dtypes::{TableKind, check_dtypes};
use crate::tensors::memory;

pub use self::config::{AxialRotaryEmbeddingConfig, CoordinateAxis};
pub use self::positions::AxialPositions;

/// Rotates queries and keys of image, video, and vision-language models, where a token has several
/// coordinates and each pair of columns follows one of them.
///
/// [`AxialRotaryPreset`](pe_core::AxialRotaryPreset) lists the models. The layer computes the tables by itself, from the
/// sizes of a grid or from the coordinates of each token, and keeps those of the last four grids or lists
/// of coordinates. In a model, one layer serves all blocks, and each attention block gets a clone:
///
/// ```
/// use candle_core::{DType, Device, Tensor};
/// use pe_candle::{AxialRotaryEmbedding, AxialRotaryEmbeddingConfig, AxialRotaryPreset};
///
/// let config = AxialRotaryEmbeddingConfig::from_preset(AxialRotaryPreset::Wan, 128);
/// let rotary = AxialRotaryEmbedding::new(config, DType::BF16, &Device::Cpu)?;
/// // A video of 3 frames of 4 x 6 tokens: [B, H, T, head_dim].
/// let q = Tensor::ones((1, 2, 3 * 4 * 6, 128), DType::BF16, &Device::Cpu)?;
/// let k = q.clone();
/// let (q, k) = rotary.apply_qkv(&q, &k, &[3, 4, 6])?;
/// # assert_eq!((q.dims(), k.dims()), (&[1, 2, 72, 128][..], &[1, 2, 72, 128][..]));
/// # Ok::<(), candle_core::Error>(())
/// ```
///
/// # Positions
/// A call accepts one of
/// - the sizes of a grid, one for each axis: `&[3, 4, 6]`. One more in front repeats the grid, as the frames do
///   in a vision model without an axis for time. The preset fixes the positions and their order.
/// - the sizes of images or videos of a packed sequence, `&[PatchGrid]`, one after the other. Each has prefix and suffix tokens of
///   its own.
/// - a tensor of coordinates, of type `u32`, `i64`, `f32`, or `f64`, on any device: `[T, axes]` or
///   `[B, T, axes]` as in diffusers, or `[axes, T]` or `[axes, B, T]` as with M-RoPE in transformers.
///   [`CoordinateAxis`] fixes which. They are used unchanged, negative and fractional ones too.
///
/// Class and register tokens, which are not rotated, have no coordinates. The specification counts them
/// (`prefix_tokens`, `suffix_tokens`). For text in front of an image, coordinates of 0 do the same.
///
/// # Shapes, types, gradients, devices
/// These are the same as for [`RotaryEmbedding`](crate::RotaryEmbedding). The batch axis may be left out.
/// Tables are `f64` for layers of type `f64`, otherwise `f32`. Gradients flow to queries and keys, to any order.
///
/// # Cost
/// Cosines and sines are computed once for each distinct coordinate of an axis, and copied to the tokens. A call that
/// finds its tables does no more than rotate. Coordinates are compared with the coordinates of the tables that the
/// layer keeps. Coordinates on a GPU are copied to the host for this. Where the layout applies inside each
/// axis' columns (Gemma 4's vision model) and with the two pairings that are not rotations, a call writes its
/// result twice.
#[derive(Debug, Clone)]
pub struct AxialRotaryEmbedding {
    shared: Arc<Shared>,
    pub(crate) plan: Plan,
}

#[derive(Debug)]
struct Shared {
    config: AxialRotaryEmbeddingConfig,
    rotary: AxialRotary,
    dtype: DType,
    table_dtype: DType,
    device: Device,
    kept: Published<Vec<Kept>>,
}

impl AxialRotaryEmbedding {
    /// Creates the layer for inputs of type `dtype` on `device`. Calls build the tables as they need them.
    ///
    /// # Errors
    /// Returns an error if
    /// - the specification is invalid (see [`AxialRotary::new`]),
    /// - `dtype` is not `f32`, `f64`, `f16`, or `bf16`,
    /// - `table_dtype` is neither `dtype` nor `f32`.
    pub fn new(config: AxialRotaryEmbeddingConfig, dtype: DType, device: &Device) -> Result<Self> {
        let rotary = AxialRotary::new(config.rotary.clone())?;
        let table_dtype = config.table_dtype(dtype);
        check_dtypes("the layer", dtype, TableKind::CosSin, table_dtype)?;
        Ok(Self {
            shared: Arc::new(Shared {
                config,
                rotary,
                dtype,
                table_dtype,
                device: device.clone(),
                kept: Published::new(Vec::new()),
            }),
            plan: Plan::best(),
        })
    }

    /// Returns the configuration.
    pub fn config(&self) -> &AxialRotaryEmbeddingConfig {
        &self.shared.config
    }

    /// Returns axes and frequencies.
    pub fn rotary(&self) -> &AxialRotary {
        &self.shared.rotary
    }

    /// Returns the type of the layer's inputs.
    pub fn dtype(&self) -> DType {
        self.shared.dtype
    }

    /// Rotates one tensor.
    ///
    /// # Examples
    /// ```
    /// use candle_core::{DType, Device, Tensor};
    /// use pe_candle::{AxialRotaryEmbedding, AxialRotaryEmbeddingConfig, AxialRotaryPreset};
    ///
    /// let device = &Device::Cpu;
    /// let config = AxialRotaryEmbeddingConfig::from_preset(AxialRotaryPreset::Flux, 128);
    /// let rotary = AxialRotaryEmbedding::new(config, DType::F32, device)?;
    /// // Two text tokens, then an image of 2 x 2 tokens: [T, axes], as in diffusers.
    /// let ids = [[0f32, 0., 0.], [0., 0., 0.], [0., 0., 0.], [0., 0., 1.], [0., 1., 0.], [0., 1., 1.]];
    /// let q = Tensor::ones((1, 4, 6, 128), DType::F32, device)?;
    /// let q = rotary.apply(&q, &Tensor::new(&ids, device)?)?;
    /// # assert_eq!(q.dims(), [1, 4, 6, 128]);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// Images of several sizes in one sequence:
    /// ```
    /// use candle_core::{DType, Device, Tensor};
    /// use pe_candle::{AxialRotaryEmbedding, AxialRotaryEmbeddingConfig, AxialRotaryPreset, PatchGrid};
    ///
    /// let config = AxialRotaryEmbeddingConfig::from_preset(AxialRotaryPreset::Pixtral, 64);
    /// let rotary = AxialRotaryEmbedding::new(config, DType::F32, &Device::Cpu)?;
    /// let images = [(2, 3), (4, 1)].map(|(rows, columns)| PatchGrid { frames: 1, rows, columns });
    /// let q = Tensor::ones((1, 4, 2 * 3 + 4 * 1, 64), DType::F32, &Device::Cpu)?;
    /// let q = rotary.apply(&q, &images)?;
    /// # assert_eq!(q.dims(), [1, 4, 10, 64]);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if
    /// - the shape of the input does not match the config's axis order and the head width,
    /// - its type cannot be combined with the tables', or it is on another device,
    /// - the coordinates have another shape or type, or one is not finite or exceeds 2^53 in magnitude,
    /// - grid or coordinates are of another number of tokens or sequences than the input,
    /// - the tables exceed [`MAX_TABLE_BYTES`](pe_core::MAX_TABLE_BYTES).
    pub fn apply<'a>(
        &self,
        xs: &Tensor,
        positions: impl Into<AxialPositions<'a>>,
    ) -> Result<Tensor> {
        self.check("the input", xs)?;
        self.rotated("the input", xs, &self.tables(positions.into())?)
    }

    /// Rotates queries and keys. Their numbers of heads may differ.
    ///
    /// # Errors
    /// Returns an error if queries and keys differ in batch or length. Also returns the errors of
    /// [`apply`](Self::apply), for either.
    pub fn apply_qkv<'a>(
        &self,
        q: &Tensor,
        k: &Tensor,
        positions: impl Into<AxialPositions<'a>>,
    ) -> Result<(Tensor, Tensor)> {
        let (of_q, of_k) = (self.check("the query", q)?, self.check("the key", k)?);
        check_same(q, of_q, k, of_k)?;
        let tables = self.tables(positions.into())?;
        Ok((
            self.rotated("the query", q, &tables)?,
            self.rotated("the key", k, &tables)?,
        ))
    }

    /// Rotates `xs` in place, for inference. The results are those of [`apply`](Self::apply).
    ///
    /// # Examples
    /// ```
    /// use candle_core::{DType, Device, Tensor};
    /// use pe_candle::{AxialRotaryEmbedding, AxialRotaryEmbeddingConfig, AxialRotaryPreset};
    ///
    /// let config = AxialRotaryEmbeddingConfig::from_preset(AxialRotaryPreset::Pixtral, 64);
    /// let rotary = AxialRotaryEmbedding::new(config, DType::F32, &Device::Cpu)?;
    /// let q = Tensor::randn(0f32, 1., (1, 4, 6, 64), &Device::Cpu)?;
    /// let wanted = rotary.apply(&q, &[2, 3])?;
    /// rotary.apply_inplace(&q, &[2, 3])?;
    /// assert_eq!(q.flatten_all()?.to_vec1::<f32>()?, wanted.flatten_all()?.to_vec1::<f32>()?);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the pairing is not a rotation. Also returns the errors of
    /// [`RotaryEmbedding::apply_inplace`](crate::RotaryEmbedding::apply_inplace) about the input, and of
    /// [`apply`](Self::apply).
    pub fn apply_inplace<'a>(
        &self,
        xs: &Tensor,
        positions: impl Into<AxialPositions<'a>>,
    ) -> Result<()> {
        self.check("the input", xs)?;
        memory::own("rotate", xs)?;
        let tables = self.tables(positions.into())?;
        let wide = self.four_axes(xs)?;
        self.check_rows("the input", &wide, &tables)?;
        if tables.second.is_some() {
            bail!("the pairing of this layer is not a rotation, which works in place");
        }
        for block in &tables.blocks {
            let part = wide.narrow(D::Minus1, block.start, block.width)?;
            let rotation = self.rotation("the input", &part, block)?;
            Rotation::rotate_in_place(rotation, &part)?;
        }
        Ok(())
    }

    /// Returns the cosines and sines of tokens, of shape `[T, pairs]`, or `[B, T, pairs]` for coordinates
    /// of several sequences, in the type of the tables. Rows of prefix and suffix tokens are included.
    ///
    /// # Examples
    /// ```
    /// use candle_core::{DType, Device};
    /// use pe_candle::{AxialRotaryEmbedding, AxialRotaryEmbeddingConfig, AxialRotaryPreset};
    ///
    /// let config = AxialRotaryEmbeddingConfig::from_preset(AxialRotaryPreset::DinoV3, 64);
    /// let rotary = AxialRotaryEmbedding::new(config, DType::F32, &Device::Cpu)?;
    /// let (cos, sin) = rotary.cos_sin(&[14, 14])?;
    /// assert_eq!((cos.dims(), sin.dims()), (&[5 + 196, 32][..], &[5 + 196, 32][..]));
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the pairing is not a rotation, because its pairs have two angles each. Also returns the
    /// errors of [`apply`](Self::apply) about positions.
    pub fn cos_sin<'a>(
        &self,
        positions: impl Into<AxialPositions<'a>>,
    ) -> Result<(Tensor, Tensor)> {
        if !self.rotary().is_rotation() {
            bail!("the pairs of this layer have two angles each: it is not a rotation");
        }
        let tables = self.tables(positions.into())?;
        let of = |table: fn(&Block) -> &Tensor| {
            let parts: Vec<&Tensor> = tables.blocks.iter().map(table).collect();
            match parts.as_slice() {
                [one] => Ok((*one).clone()),
                parts => Tensor::cat(parts, D::Minus1),
            }
        };
        Ok((of(|block| &block.cos)?, of(|block| &block.sin)?))
    }

    /// Checks the shape, type, and device of an input, and returns its batch and time.
    fn check(&self, what: &str, xs: &Tensor) -> Result<(usize, usize)> {
        let Shared {
            config,
            table_dtype,
            device,
            ..
        } = self.shared.as_ref();
        let (order, head_dim) = (config.axis_order, config.rotary.head_dim);
        let found = match xs.dims() {
            [_, _, _, _] => order.read(xs.dims()),
            [heads, time, width] if order == HeadOrder::HeadFirst => {
                order.read(&[1, *heads, *time, *width])
            }
            [time, heads, width] => HeadOrder::TimeFirst.read(&[1, *time, *heads, *width]),
            _ => None,
        };
        let Some(found) = found.filter(|_| xs.dims().last() == Some(&head_dim)) else {
            let (wanted, dims) = (order.describe(), xs.dims());
            bail!("{what}: {wanted} with head_dim {head_dim}, or without B, got {dims:?}");
        };
        check_dtypes(what, xs.dtype(), TableKind::CosSin, *table_dtype)?;
        if !xs.device().same_device(device) {
            let (input, tables) = (xs.device().location(), device.location());
            bail!("{what} is on {input:?}, but the tables are on {tables:?}");
        }
        Ok(found)
    }

    /// Adds the axis of the batch if it is left out.
    fn four_axes(&self, xs: &Tensor) -> Result<Tensor> {
        match (xs.rank(), self.config().axis_order) {
            (4, _) => Ok(xs.clone()),
            (_, HeadOrder::SequenceFirst) => xs.unsqueeze(1),
            _ => xs.unsqueeze(0),
        }
    }

    /// Checks that tables have one row for each token of an input.
    fn check_rows(&self, what: &str, wide: &Tensor, tables: &Built) -> Result<()> {
        let Some((batch, time)) = self.config().axis_order.read(wide.dims()) else {
            bail!("{what}: {}", self.config().axis_order.describe());
        };
        let (sequences, rows) = (tables.sequences, tables.rows);
        if rows != time || sequences.is_some_and(|sequences| sequences != batch) {
            let unrotated = match tables.unrotated {
                0 => String::new(),
                tokens => format!(", {tokens} of which are not rotated"),
            };
            let sequences =
                sequences.map_or(String::new(), |count| format!("{count} sequences of "));
            bail!(
                "{what} has batch {batch} and {time} tokens, but the positions are of {sequences}{rows} \
                 tokens{unrotated}"
            );
        }
        Ok(())
    }

    /// Returns the rotation of a block of columns.
    fn rotation(&self, what: &str, part: &Tensor, block: &Block) -> Result<Option<Rotation>> {
        let config = self.config();
        let given = Given {
            cos: &block.cos,
            sin: &block.sin,
        };
        let order = config.axis_order;
        let found = given.check(what, part, order)?;
        let layout = config.rotary.layout;
        let rotation = given.rotation(found, &[(what, part)], layout, order)?;
        Ok(rotation.map(|rotation| Rotation {
            plan: self.plan,
            ..rotation
        }))
    }

    fn rotated(&self, what: &str, xs: &Tensor, tables: &Built) -> Result<Tensor> {
        let wide = self.four_axes(xs)?;
        self.check_rows(what, &wide, tables)?;
        let rotate = |block: &Block| {
            let part = wide.narrow(D::Minus1, block.start, block.width)?;
            Rotation::rotate_one(self.rotation(what, &part, block)?, &part)
        };
        let mut parts = Vec::with_capacity(tables.blocks.len() + 2);
        let mut end = 0;
        for block in &tables.blocks {
            if block.start > end {
                parts.push(wide.narrow(D::Minus1, end, block.start - end)?);
            }
            let first = rotate(block)?;
            parts.push(match &tables.second {
                None => first,
                Some(second) => self.by_column(&first, &rotate(second)?, block)?,
            });
            end = block.start + block.width;
        }
        let width = wide.dim(D::Minus1)?;
        if end < width {
            parts.push(wide.narrow(D::Minus1, end, width - end)?);
        }
        let whole = match parts.as_slice() {
            [one] => one.clone(),
            parts => Tensor::cat(parts, D::Minus1)?,
        };
        match xs.rank() {
            4 => Ok(whole),
            _ => whole.reshape(xs.shape()),
        }
    }

    /// Combines the first column of each pair from one tensor with the second from another. Further
    /// columns, which are the same in both, are from the first.
    fn by_column(&self, first: &Tensor, second: &Tensor, block: &Block) -> Result<Tensor> {
        let pairs = block.cos.dim(D::Minus1)?;
        let combined = match self.config().rotary.layout {
            PairLayout::HalfSplit => {
                let first = first.narrow(D::Minus1, 0, pairs)?;
                let second = second.narrow(D::Minus1, pairs, pairs)?;
                Tensor::cat(&[first, second], D::Minus1)?
            }
            PairLayout::Interleaved => {
                let column = |table: &Tensor, column| -> Result<Tensor> {
                    let mut dims = table.dims().to_vec();
                    dims.pop();
                    dims.extend([pairs, 2]);
                    let pairs = table.narrow(D::Minus1, 0, 2 * pairs)?.reshape(dims)?;
                    pairs.narrow(D::Minus1, column, 1)
                };
                Tensor::cat(&[column(first, 0)?, column(second, 1)?], D::Minus1)?.flatten_from(3)?
            }
        };
        let rest = block.width - 2 * pairs;
        if rest == 0 {
            return Ok(combined);
        }
        Tensor::cat(
            &[combined, first.narrow(D::Minus1, 2 * pairs, rest)?],
            D::Minus1,
        )
    }
}
