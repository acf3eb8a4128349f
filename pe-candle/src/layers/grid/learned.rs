//! Learned grids, resized to the size of each image.

use std::sync::{Arc, OnceLock};

use candle_core::{DType, Result, Tensor, bail};
use candle_nn::VarBuilder;
use pe_core::PatchGrid;

use crate::kernel::{Fused, GatherSum, Gathering, Plan, Side};
use crate::layers::grid::add::{PatchAxes, add, check_input};
use crate::layers::grid::config::{LearnedGridConfig, LearnedGridShape};
use crate::layers::grid::requests::Request;
use crate::layers::published::Published;
use crate::layers::reference::Paths;
use crate::tensors::memory;

/// Sizes with known weights.
const KNOWN: usize = 32;

/// Adds a learned grid of encodings to the patches of images, resized to the size of each image.
///
/// Rows before and after the grid, such as that of a class token, are kept. Every row of the resized
/// grid is a weighted sum of rows of the table:
///
/// ```text
/// pe[i] = sum_k weight[i, k] * table[row[i, k]]
/// ```
///
/// It is computed in two stages, along all axes of the grid but the last one and along that, and rounded once.
///
/// [`ResizeConfig`](pe_core::ResizeConfig) defines the weights. They are computed in exact arithmetic and
/// rounded to `f64` once, and the weights of the last 32 requests are kept, so that a model which sees the same
/// sizes again computes them once. If the table is not a variable, its resized rows are kept as well.
///
/// # Types
/// The table and the resized rows have any float type. Sums of `f32` and `f64` are computed in `f64`, and
/// those of `f16` and `bf16` in `f32`. The result is rounded once. A grid of equal rows therefore stays
/// equal bit for bit in `f32`, `f16`, and `bf16`. In `f64` its relative error is at most
/// `3 n` times 2^-53 for `n` contributing rows. The same size gives the same bits as the table.
///
/// # Gradients
/// Gradients flow to the input and to the table. A row of the table adds up what the rows of the result
/// pass on in their order, so the bits do not depend on the number of threads.
///
/// # Examples
/// ```
/// use candle_core::{DType, Device, Tensor};
/// use candle_nn::{VarBuilder, VarMap};
/// use pe_candle::{LearnedGrid, LearnedGridConfig, ResizePreset};
///
/// // ViT-B/16 at 224 x 224 has a class row and 14 x 14 patches.
/// let varmap = VarMap::new();
/// let vb = VarBuilder::from_varmap(&varmap, DType::F32, &Device::Cpu);
/// let config = LearnedGridConfig::from_preset(ResizePreset::Vit, [14, 14], 768);
/// let grid = LearnedGrid::new(config, vb.pp("embeddings"))?; // embeddings.position_embeddings
///
/// let image = Tensor::zeros((2, 1 + 24 * 16, 768), DType::F32, &Device::Cpu)?; // 384 x 256
/// let hidden = grid.forward(&image, &[24, 16])?;
/// assert_eq!(hidden.dims(), image.dims());
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct LearnedGrid {
    shared: Arc<Shared>,
    pub(crate) plan: Plan,
}

#[derive(Debug)]
struct Shared {
    config: LearnedGridConfig,
    table: Tensor,
    known: Published<Vec<Arc<Known>>>,
}

/// A request with its weights, and the rows if the table is not a variable.
#[derive(Debug)]
struct Known {
    request: Request,
    gathering: Arc<Gathering>,
    rows: OnceLock<Tensor>,
}

impl LearnedGrid {
    /// Loads the table `config.tensor` from a checkpoint, or creates it as a variable of a `VarMap`.
    ///
    /// A new variable has normally distributed values that depend on `init_seed` alone: they are the same
    /// on every machine.
    ///
    /// # Errors
    /// Returns an error if
    /// - `d_model` is 0 or above [`MAX_D_MODEL`](pe_core::MAX_D_MODEL), or a side is 0 or above
    ///   [`MAX_GRID_SIDE`](pe_core::MAX_GRID_SIDE),
    /// - the options of the kernel contradict each other,
    /// - the shape of the table has no place for the rows before and after the grid,
    /// - `init_std` is negative or not finite,
    /// - the `VarBuilder` has no such tensor, or one of another shape.
    pub fn new(config: LearnedGridConfig, vb: VarBuilder<'_>) -> Result<Self> {
        config.check()?;
        let table = config.start().get(&config.dims(), &config.tensor, &vb)?;
        Self::from_table(config, table)
    }

    /// Creates the layer with a caller-supplied table in the shape of the configuration. If it is a variable
    /// or computed from one, gradients flow to it.
    ///
    /// # Errors
    /// Returns an error if the shape of the table differs from the configuration, or if its type is
    /// not a float type. Also returns the errors of [`new`](Self::new) about the configuration.
    pub fn from_table(config: LearnedGridConfig, table: Tensor) -> Result<Self> {
        config.check()?;
        let (wanted, dims) = (config.dims(), table.dims());
        if dims != wanted {
            bail!("the table must have shape {wanted:?}, got {dims:?}");
        }
        if !matches!(
            table.dtype(),
            DType::F32 | DType::F64 | DType::F16 | DType::BF16
        ) {
            let dtype = table.dtype().as_str();
            bail!("the table must be f32, f64, f16 or bf16, not {dtype}");
        }
        memory::for_result("the table", &table)?;
        let shared = Shared {
            config,
            table,
            known: Published::new(Vec::new()),
        };
        Ok(Self {
            shared: Arc::new(shared),
            plan: Plan::best(),
        })
    }

    /// Returns the configuration.
    pub fn config(&self) -> &LearnedGridConfig {
        &self.shared.config
    }

    /// Returns the width of a row.
    pub fn d_model(&self) -> usize {
        self.shared.config.d_model
    }

    /// Returns the table as it was given.
    pub fn table(&self) -> &Tensor {
        &self.shared.table
    }

    /// Returns the rows of a grid of these sides, `[rows, d_model]`, with the rows before and after the grid.
    ///
    /// # Errors
    /// Returns an error if the number of sides is another one, a side is 0 or above
    /// [`MAX_GRID_SIDE`](pe_core::MAX_GRID_SIDE), a scale factor leads to another size, the order
    /// cannot divide the size, or the result would be too large.
    ///
    /// # Examples
    /// ```
    /// use candle_core::{DType, Device, Tensor};
    /// use pe_candle::{LearnedGrid, LearnedGridConfig, ResizeConfig, ResizeKernel};
    ///
    /// let config = LearnedGridConfig {
    ///     resize: ResizeConfig::new(ResizeKernel::Bilinear),
    ///     ..LearnedGridConfig::new([2], 1)
    /// };
    /// let table = Tensor::new(&[[[0f32], [1.]]], &Device::Cpu)?;
    /// let rows = LearnedGrid::from_table(config, table)?.resized(&[4])?;
    /// assert_eq!(rows.to_vec2::<f32>()?, [[0.], [0.25], [0.75], [1.]]);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    pub fn resized(&self, sides: &[usize]) -> Result<Tensor> {
        self.rows(Request::Whole(sides.to_vec()))
    }

    /// Returns the rows of the grids of several images, one image after the other, without the rows before
    /// and after the grid: `[sum of patches, d_model]`. Frames of a video have the same rows.
    ///
    /// # Errors
    /// Returns an error if the grid does not have two sides. Also returns the errors of
    /// [`resized`](Self::resized).
    ///
    /// # Examples
    /// ```
    /// use candle_core::{DType, Device};
    /// use candle_nn::VarBuilder;
    /// use pe_candle::{LearnedGrid, LearnedGridConfig, PatchGrid, ResizePreset};
    ///
    /// let vb = VarBuilder::zeros(DType::BF16, &Device::Cpu);
    /// let config = LearnedGridConfig::from_preset(ResizePreset::Qwen3Vl, [48, 48], 64);
    /// let grid = LearnedGrid::new(config, vb)?;
    /// let image = PatchGrid { frames: 1, rows: 20, columns: 30 };
    /// let video = PatchGrid { frames: 4, rows: 8, columns: 8 };
    /// assert_eq!(grid.resized_packed(&[image, video])?.dims(), [600 + 256, 64]);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    pub fn resized_packed(&self, grids: &[PatchGrid]) -> Result<Tensor> {
        self.rows(Request::Packed(grids.to_vec()))
    }

    /// Returns the rows of the grids of several images, each padded with copies of its first row:
    /// `[images, len, d_model]`, as SigLIP 2 (NaFlex) pads them.
    ///
    /// # Errors
    /// Returns an error if an image has no patches or more than `len`. Also returns the errors of
    /// [`resized_packed`](Self::resized_packed).
    pub fn resized_padded(&self, grids: &[PatchGrid], len: usize) -> Result<Tensor> {
        for (image, grid) in grids.iter().enumerate() {
            let patches = [grid.frames, grid.rows, grid.columns].map(u64::from);
            let patches = patches.into_iter().fold(1, u64::saturating_mul);
            if patches == 0 || patches > len as u64 {
                let PatchGrid {
                    frames,
                    rows,
                    columns,
                } = *grid;
                bail!(
                    "image {image} has {frames} x {rows} x {columns} patches, but rows are padded to {len}"
                );
            }
        }
        let rows = self.rows(Request::Padded(grids.to_vec(), len))?;
        rows.reshape((grids.len(), len, self.shared.config.d_model))
    }

    /// Adds the resized grid to patches.
    ///
    /// The shape of `xs` is `[B, T, D]`, where `T` is the number of resized rows, or `[B, D, H, W]` for a
    /// table of this shape, or else `[B, H, W, D]`. The result has the type of `xs`, which is that of the
    /// table, or `f64`, `f16`, or `bf16` with a table of `f32`.
    ///
    /// # Errors
    /// Returns an error if the shape of `xs` does not match the resized grid, or its type or device does
    /// not match the table. Also returns the errors of [`resized`](Self::resized).
    pub fn forward(&self, xs: &Tensor, sides: &[usize]) -> Result<Tensor> {
        check_input(xs, &self.shared.table)?;
        let rows = self.resized(sides)?;
        let axes = self.patch_axes();
        add(&self.plan, xs, rows, sides, axes)
    }

    /// Adds the grids of several images to their patches, which follow each other: `[T, D]` or
    /// `[1, T, D]`.
    ///
    /// # Errors
    /// Returns the errors of [`forward`](Self::forward) and [`resized_packed`](Self::resized_packed).
    pub fn forward_packed(&self, xs: &Tensor, grids: &[PatchGrid]) -> Result<Tensor> {
        check_input(xs, &self.shared.table)?;
        let rows = self.resized_packed(grids)?;
        if xs.rank() == 2 {
            let xs = xs.unsqueeze(0)?;
            return add(&self.plan, &xs, rows, &[], self.patch_axes())?.squeeze(0);
        }
        add(&self.plan, xs, rows, &[], self.patch_axes())
    }

    fn patch_axes(&self) -> PatchAxes {
        match self.shared.config.shape {
            LearnedGridShape::ChannelsFirst => PatchAxes::ChannelsFirst,
            _ => PatchAxes::ChannelsLast,
        }
    }

    /// Returns the rows of a request.
    fn rows(&self, request: Request) -> Result<Tensor> {
        let shared = &self.shared;
        if !matches!(request, Request::Whole(_)) && shared.config.sides.len() != 2 {
            let sides = &shared.config.sides;
            bail!("sides {sides:?}: images need a grid of two sides");
        }
        let find =
            |known: &Vec<Arc<Known>>| known.iter().find(|known| known.request == request).cloned();
        let known = shared.known.find_or_build(find, |mut all| {
            let gathering = Gathering::new(request.taps(&shared.config)?);
            if all.len() >= KNOWN {
                all.remove(0);
            }
            let known = Arc::new(Known {
                request: request.clone(),
                gathering,
                rows: OnceLock::new(),
            });
            all.push(known.clone());
            Ok::<_, candle_core::Error>((all, known))
        })?;
        if let Some(rows) = known.rows.get() {
            return Ok(rows.clone());
        }
        let rows = self.sums(&known.gathering)?;
        if !shared.table.track_op() && self.plan.reference.is_none() {
            return Ok(known.rows.get_or_init(|| rows).clone());
        }
        Ok(rows)
    }

    fn sums(&self, gathering: &Arc<Gathering>) -> Result<Tensor> {
        let config = &self.shared.config;
        let table = match config.shape {
            LearnedGridShape::ChannelsFirst => {
                self.shared.table.flatten_from(2)?.transpose(1, 2)?
            }
            _ => self.shared.table.clone(),
        };
        let table = table.reshape((config.rows(), config.d_model))?;
        let taps = &gathering.taps;
        // A view of the shape that the rows will have, to see whether memory can hold them.
        let declared = table
            .narrow(0, 0, 1)?
            .broadcast_as((taps.rows(), config.d_model))?;
        memory::for_result("the resized grid", &declared)?;
        if !self.plan.has_kernel(&table) {
            return (Paths::get(&self.plan)?.sum)(&table, taps);
        }
        let op = GatherSum {
            gathering: gathering.clone(),
            side: Side::Forward,
            level: self.plan.level,
        };
        op.apply(&table.contiguous()?, &[])
    }
}
