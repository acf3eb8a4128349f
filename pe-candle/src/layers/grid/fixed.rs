//! Sinusoidal encodings of grids as a layer.

use std::sync::Arc;

use candle_core::{DType, Device, Result, Tensor, WithDType, bail};
use half::{bf16, f16};
use pe_core::{Element, Grid, GridConfig, GridPreset, masked_coordinates};

use crate::kernel::Plan;
use crate::layers::grid::add::{PatchAxes, add, check_input};
use crate::layers::published::Published;
use crate::tensors::convert::table_to_tensor;
use crate::tensors::dtypes::{TableKind, check_dtypes};
use crate::tensors::memory;

/// Sizes with known tables.
const KNOWN: usize = 16;

/// Configuration of a [`GridEncoding`](crate::GridEncoding): plain data, checked by the layer's
/// constructor.
#[derive(Debug, Clone, PartialEq)]
pub struct GridEncodingConfig {
    /// Specification of the rows.
    pub grid: GridConfig,
    /// Axes of inputs that have the sides of the grid.
    pub axis_order: PatchAxes,
    /// Type of the table, if it differs from the layer's type. The only other type is `f32`.
    pub table_dtype: Option<DType>,
}

impl GridEncodingConfig {
    /// Creates the configuration of a grid with equal shares of the columns for each side, the first
    /// side first.
    pub fn new(d_model: usize, num_sides: usize) -> Self {
        Self::of(GridConfig::new(d_model, num_sides))
    }

    /// Creates the configuration of a known library.
    pub fn from_preset(preset: GridPreset, d_model: usize) -> Self {
        Self::of(preset.config(d_model))
    }

    fn of(grid: GridConfig) -> Self {
        Self {
            grid,
            axis_order: PatchAxes::ChannelsLast,
            table_dtype: None,
        }
    }
}

/// Adds the sinusoidal encoding of a grid to the patches of images and videos of any size.
///
/// Every entry is the representable number nearest to the sine or cosine of `coordinate x frequency`
/// ([`Grid`]). The tables of the last 16 sizes are kept. They are constants: gradients flow to the
/// input alone.
///
/// # Examples
/// ```
/// use candle_core::{DType, Device, Tensor};
/// use pe_candle::{GridEncoding, GridEncodingConfig, GridPreset};
///
/// let config = GridEncodingConfig::from_preset(GridPreset::VitMae, 64);
/// let encoding = GridEncoding::new(config, DType::F32, &Device::Cpu)?;
/// let patches = Tensor::zeros((2, 1 + 14 * 14, 64), DType::F32, &Device::Cpu)?; // with a class token
/// let hidden = encoding.forward(&patches, &[14, 14])?;
/// assert_eq!(hidden.dims(), [2, 197, 64]);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct GridEncoding {
    shared: Arc<Shared>,
    pub(crate) plan: Plan,
}

#[derive(Debug)]
struct Shared {
    config: GridEncodingConfig,
    grid: Grid,
    dtype: DType,
    device: Device,
    known: Published<Vec<(Vec<usize>, Tensor)>>,
}

/// The rows that are built.
#[derive(Clone, Copy)]
enum Rows<'a> {
    Of(&'a [usize]),
    At([&'a [f64]; 2]),
}

impl Shared {
    fn build(&self, rows: Rows<'_>) -> Result<Tensor> {
        match self.dtype {
            DType::F32 => self.build_as::<f32>(rows),
            DType::F64 => self.build_as::<f64>(rows),
            DType::F16 => self.build_as::<f16>(rows),
            _ => self.build_as::<bf16>(rows),
        }
    }

    fn build_as<T: Element + WithDType>(&self, rows: Rows<'_>) -> Result<Tensor> {
        let table = match rows {
            Rows::Of(sides) => self.grid.table::<T>(sides)?,
            Rows::At(coordinates) => self.grid.table_at_reals::<T>(&coordinates)?,
        };
        table_to_tensor(table, &self.device)
    }
}

impl GridEncoding {
    /// Creates the layer for inputs of type `dtype` on `device`.
    ///
    /// # Errors
    /// Returns an error if
    /// - the specification is invalid (see [`Grid::new`]),
    /// - `dtype` is not `f32`, `f64`, `f16`, or `bf16`,
    /// - `table_dtype` is neither `dtype` nor `f32`.
    pub fn new(config: GridEncodingConfig, dtype: DType, device: &Device) -> Result<Self> {
        let table_dtype = config.table_dtype.unwrap_or(dtype);
        check_dtypes("the layer", dtype, TableKind::Encoding, table_dtype)?;
        let shared = Shared {
            grid: Grid::new(config.grid.clone())?,
            config,
            dtype: table_dtype,
            device: device.clone(),
            known: Published::new(Vec::new()),
        };
        Ok(Self {
            shared: Arc::new(shared),
            plan: Plan::best(),
        })
    }

    /// Returns the width of the encoding.
    pub fn d_model(&self) -> usize {
        self.shared.grid.d_model()
    }

    /// Returns the checked specification.
    pub fn grid(&self) -> &Grid {
        &self.shared.grid
    }

    /// Returns the configuration.
    pub fn config(&self) -> &GridEncodingConfig {
        &self.shared.config
    }

    /// Returns the rows of a grid with these sides, `[rows, d_model]`, after the rows of zeros. They
    /// share the layer's memory.
    ///
    /// # Errors
    /// Returns the errors of [`Grid::table`].
    pub fn encoding(&self, sides: &[usize]) -> Result<Tensor> {
        let shared = &self.shared;
        shared.known.find_or_build(
            |known| {
                known
                    .iter()
                    .find(|(own, _)| own == sides)
                    .map(|(_, table)| table.clone())
            },
            |mut known| {
                let table = shared.build(Rows::Of(sides))?;
                if known.len() >= KNOWN {
                    known.remove(0);
                }
                known.push((sides.to_vec(), table.clone()));
                Ok((known, table))
            },
        )
    }

    /// Returns the rows of images with padding, as DETR numbers them: `[B, H * W, d_model]`. `mask` has
    /// shape `[B, H, W]` and any integer type. It is 0 for padding.
    ///
    /// # Errors
    /// Returns an error if the mask has another rank or a floating-point type, or if the encoding does
    /// not have two sides and coordinates that are counts.
    ///
    /// # Examples
    /// ```
    /// use candle_core::{DType, Device, Tensor};
    /// use pe_candle::{GridEncoding, GridEncodingConfig, GridPreset};
    ///
    /// let config = GridEncodingConfig::from_preset(GridPreset::Detr, 256);
    /// let encoding = GridEncoding::new(config, DType::F32, &Device::Cpu)?;
    /// let mask = Tensor::ones((1, 20, 30), DType::U8, &Device::Cpu)?;
    /// assert_eq!(encoding.masked(&mask)?.dims(), [1, 600, 256]);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    pub fn masked(&self, mask: &Tensor) -> Result<Tensor> {
        let shared = &self.shared;
        let config = shared.grid.config();
        let &[batch, rows, columns] = mask.dims() else {
            bail!("the mask must have shape [B, H, W], got {:?}", mask.dims());
        };
        if !mask.dtype().is_int() {
            bail!("the mask must be integers, not {}", mask.dtype().as_str());
        }
        let coordinates = match &config.axes[..] {
            [first, others @ ..]
                if config.num_sides == 2
                    && others
                        .iter()
                        .all(|axis| axis.coordinates == first.coordinates) =>
            {
                first.coordinates
            }
            _ => bail!("a mask needs a grid of two sides with equal coordinates"),
        };
        memory::for_copy("the mask", mask, DType::I64)?;
        let mask = mask.to_device(&Device::Cpu)?.flatten_all()?;
        let mask = mask.to_dtype(DType::I64)?.to_vec1::<i64>()?;
        let (mut y, mut x) = (Vec::new(), Vec::new());
        for image in mask.chunks((rows * columns).max(1)) {
            let image: Vec<bool> = image.iter().map(|cell| *cell != 0).collect();
            let [ys, xs] = masked_coordinates(&image, [rows, columns], coordinates)?;
            y.extend(ys);
            x.extend(xs);
        }
        let table = shared.build(Rows::At([&y, &x]))?;
        table.reshape((batch, rows * columns, config.d_model))
    }

    /// Adds the rows of a grid to patches.
    ///
    /// The shape of `xs` is `[B, T, D]`, where `T` counts the rows of zeros too, or has the sides of the
    /// grid in the axes of the configuration. The result has the type of `xs`.
    ///
    /// # Errors
    /// Returns an error if the shape of `xs` does not match the grid, or its type or device does not
    /// match the layer. Also returns the errors of [`encoding`](Self::encoding).
    pub fn forward(&self, xs: &Tensor, sides: &[usize]) -> Result<Tensor> {
        let rows = self.encoding(sides)?;
        check_input(xs, &rows)?;
        add(&self.plan, xs, rows, sides, self.shared.config.axis_order)
    }
}
