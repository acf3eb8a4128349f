//! Fourier features as a layer.

#![deny(clippy::indexing_slicing)]

use std::sync::Arc;

use candle_core::{
    CpuStorage, CustomOp1, CustomOp2, DType, Device, Layout, Module, Result, Shape, Tensor, bail,
};
use candle_nn::VarBuilder;
use pe_core::{
    AngleUnit, Element, FourierConfig, FourierCoordinates, FourierFeatures as Features,
    FourierPreset,
};

use crate::layers::learned::normal::Start;
use crate::layers::reference::compute_dtype;
use crate::layers::rows::check_size;
use crate::tensors::memory;
use crate::tensors::reals::{self, Fill};

/// Configuration of a [`FourierFeatures`] layer: plain data, checked by the layer's constructors.
///
/// ```
/// use pe_candle::{FourierFeaturesConfig, FourierPreset};
///
/// let sam = FourierFeaturesConfig::from_preset(FourierPreset::Sam, 2, 128);
/// assert_eq!((sam.tensor.as_str(), sam.fourier.width()), ("positional_embedding", 256));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct FourierFeaturesConfig {
    /// Specification of the features.
    pub fourier: FourierConfig,
    /// Name of a trained matrix in the `VarBuilder`. Defaults to `weight`, as in score-based models, and to
    /// `positional_embedding` for SAM (`positional_encoding_gaussian_matrix` in its original form).
    pub tensor: String,
    /// Standard deviation of the initial values of a trained matrix, with mean 0. Defaults to 1.
    pub init_std: f64,
    /// Seed of the initial values. Defaults to 0.
    pub init_seed: u64,
}

impl FourierFeaturesConfig {
    /// Creates the configuration of given features, with all defaults.
    pub fn new(fourier: FourierConfig) -> Self {
        Self {
            fourier,
            tensor: "weight".to_owned(),
            init_std: 1.0,
            init_seed: 0,
        }
    }

    /// Creates the configuration of another library's features for a number of coordinates and of
    /// frequencies (see [`FourierPreset::config`]).
    pub fn from_preset(preset: FourierPreset, axes: usize, bands: usize) -> Self {
        let config = Self::new(preset.config(axes, bands));
        match preset {
            FourierPreset::Sam => Self {
                tensor: "positional_embedding".to_owned(),
                ..config
            },
            _ => config,
        }
    }
}

/// Features of coordinates: the sines and cosines of their products with frequencies.
///
/// [`FourierPreset`](crate::FourierPreset) lists the forms of other libraries: Segment Anything, the
/// noise levels of score-based models, Perceiver, GLIGEN, and NeRF. Coordinates and matrices are the
/// exact values of their numbers, and every entry is the value of the result's type nearest to the true
/// value (see [`pe_core::FourierFeatures`]). Computed in f32, the angle `2^9 pi x` has an error of about
/// 1e-4, and computed in bf16, of more than a radian.
///
/// # Gradients
/// Gradients flow to the coordinates, and to the matrix if it is trained, computed from the entries of
/// the result in `f32` (`f64` for `f64`).
///
/// # Examples
/// ```
/// use candle_core::{DType, Device, Tensor};
/// use pe_candle::{FourierFeatures, FourierFeaturesConfig, FourierPreset};
///
/// let config = FourierFeaturesConfig::from_preset(FourierPreset::Nerf, 3, 10);
/// let nerf = FourierFeatures::new(config, DType::F32, &Device::Cpu)?;
/// let points = Tensor::rand(-1f32, 1., (1024, 64, 3), &Device::Cpu)?;
/// assert_eq!(nerf.forward(&points)?.dims(), [1024, 64, 63]);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct FourierFeatures {
    shared: Arc<Shared>,
    /// `[axes, columns]`, or the stored shape.
    matrix: Option<Tensor>,
}

#[derive(Debug)]
struct Shared {
    config: FourierFeaturesConfig,
    /// `None` for features with a matrix, which use its values at the time of a call.
    fixed: Option<Features>,
    dtype: DType,
    device: Device,
}

impl FourierFeatures {
    /// Creates a layer with the frequencies of a formula, and results of type `dtype` on `device`.
    ///
    /// # Errors
    /// Returns an error if the specification is invalid or needs a matrix (see
    /// [`pe_core::FourierFeatures::new`]), or if `dtype` is not `f32`, `f64`, `f16`, or `bf16`.
    pub fn new(config: FourierFeaturesConfig, dtype: DType, device: &Device) -> Result<Self> {
        reals::check_dtype("the result", dtype)?;
        let fixed = Features::new(config.fourier.clone())?;
        Ok(Self::build(config, Some(fixed), dtype, device, None))
    }

    /// Creates a layer with a caller-supplied matrix of shape `[axes, columns]` (or `[columns]` for one
    /// coordinate), and results of type `dtype` on the matrix' device.
    ///
    /// The layer shares the matrix' memory, and gradients flow to it if it is a variable or was computed
    /// from one.
    ///
    /// # Examples
    /// ```
    /// use candle_core::{DType, Device, Tensor};
    /// use pe_candle::{FourierFeatures, FourierFeaturesConfig, FourierPreset};
    ///
    /// let gaussian = Tensor::randn(0f32, 1., (2, 128), &Device::Cpu)?; // of a checkpoint of SAM
    /// let config = FourierFeaturesConfig::from_preset(FourierPreset::Sam, 2, 128);
    /// let sam = FourierFeatures::from_matrix(config, gaussian, DType::F32)?;
    /// let clicks = Tensor::new(&[[[0.25f32, 0.75]]], &Device::Cpu)?;
    /// assert_eq!(sam.forward(&clicks)?.dims(), [1, 1, 256]);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the matrix has another shape, or an element is not finite or exceeds 2^32. Also
    /// returns the errors of [`new`](Self::new).
    pub fn from_matrix(
        config: FourierFeaturesConfig,
        matrix: Tensor,
        dtype: DType,
    ) -> Result<Self> {
        reals::check_dtype("the result", dtype)?;
        reals::check_dtype("the matrix", matrix.dtype())?;
        let (axes, columns) = (config.fourier.axes, config.fourier.bands());
        match *matrix.dims() {
            [rows, width] if (rows, width) == (axes, columns) => {}
            [width] if (1, width) == (axes, columns) => {}
            ref dims => bail!("the matrix must have shape [{axes}, {columns}], got {dims:?}"),
        }
        // Checks the specification and the values.
        Features::with_matrix(config.fourier.clone(), &reals::read("the matrix", &matrix)?)?;
        let device = matrix.device().clone();
        let matrix = matrix.contiguous()?;
        Ok(Self::build(config, None, dtype, &device, Some(matrix)))
    }

    /// Loads the matrix `config.tensor` of shape `[axes, columns]` from a checkpoint, or creates it as a
    /// variable of a `VarMap`. New values are normally distributed with standard deviation `config.init_std`
    /// and depend on `config.init_seed` alone. Results have the type of the `VarBuilder`. The weight of a
    /// `GaussianFourierProjection` has shape `[columns]`.
    ///
    /// # Errors
    /// Returns an error if the `VarBuilder` has no tensor of this name and shape, or if `init_std` is negative or
    /// not finite. Also returns the errors of [`from_matrix`](Self::from_matrix).
    pub fn new_trainable(config: FourierFeaturesConfig, vb: VarBuilder<'_>) -> Result<Self> {
        let (axes, columns) = (config.fourier.axes, config.fourier.bands());
        check_size(axes, columns, vb.dtype())?;
        let shape = match (axes, config.fourier.coordinates) {
            (1, FourierCoordinates::Log) => vec![columns],
            _ => vec![axes, columns],
        };
        let start = Start {
            std: config.init_std,
            seed: config.init_seed,
            padding: None,
        };
        start.check()?;
        let matrix = start.get(&shape, &config.tensor, &vb)?;
        Self::from_matrix(config, matrix, vb.dtype())
    }

    fn build(
        config: FourierFeaturesConfig,
        fixed: Option<Features>,
        dtype: DType,
        device: &Device,
        matrix: Option<Tensor>,
    ) -> Self {
        let shared = Shared {
            config,
            fixed,
            dtype,
            device: device.clone(),
        };
        Self {
            shared: Arc::new(shared),
            matrix,
        }
    }

    /// Computes the features of points of shape `[.., axes]` and any float or integer type, on any device.
    /// The result has shape `[.., width]`, the layer's type, and is on the layer's device.
    ///
    /// # Errors
    /// Returns an error if
    /// - the last axis of the points has another size than the axes,
    /// - a coordinate is not finite, exceeds 2^53 in magnitude, or is not positive although its logarithm
    ///   is needed,
    /// - an element of a trained matrix is not finite or exceeds 2^32,
    /// - the result exceeds [`MAX_TABLE_BYTES`](pe_core::MAX_TABLE_BYTES).
    pub fn forward(&self, points: &Tensor) -> Result<Tensor> {
        memory::declared("points", points)?;
        let shared = &self.shared;
        let (axes, width) = (shared.config.fourier.axes, shared.config.fourier.width());
        let Some((&last, leading)) = points.dims().split_last() else {
            bail!("points must have shape [.., {axes}], got []");
        };
        if last != axes {
            let dims = points.dims();
            bail!("points must have shape [.., {axes}], got {dims:?}");
        }
        let count = leading.iter().product();
        check_size(count, width, shared.dtype)?;
        // Candle's gradients are of float tensors. Others are read unchanged.
        let host = match points.track_op() {
            true => points.to_device(&Device::Cpu)?.contiguous()?,
            false => Tensor::from_vec(reals::read("points", points)?, points.dims(), &Device::Cpu)?,
        };
        let embed = Embed(Arc::clone(shared));
        let result = match &self.matrix {
            None => host.apply_op1(embed)?,
            Some(matrix) => host.apply_op2(&matrix.to_device(&Device::Cpu)?, embed)?,
        };
        result.to_device(&shared.device)
    }

    /// Returns the configuration.
    pub fn config(&self) -> &FourierFeaturesConfig {
        &self.shared.config
    }

    /// Returns the matrix, if the features have one.
    pub fn matrix(&self) -> Option<&Tensor> {
        self.matrix.as_ref()
    }

    /// Returns the number of features of a point.
    pub fn width(&self) -> usize {
        self.shared.config.fourier.width()
    }
}

impl Module for FourierFeatures {
    fn forward(&self, points: &Tensor) -> Result<Tensor> {
        self.forward(points)
    }
}

/// The features as an operation with a gradient.
struct Embed(Arc<Shared>);

/// The features of given points.
struct RowsAt<'a>(&'a Features, Vec<f64>);

impl Fill for RowsAt<'_> {
    fn fill<T: Element>(&self) -> Result<Vec<T>> {
        Ok(self.0.table_at_reals(&self.1)?.into_vec())
    }
}

impl Embed {
    fn run(
        &self,
        features: &Features,
        points: &CpuStorage,
        layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let rows = RowsAt(features, reals::read_storage("points", points, layout)?);
        let storage = reals::storage_of(self.0.dtype, &rows)?;
        let mut dims = layout.dims().to_vec();
        if let Some(last) = dims.last_mut() {
            *last = features.width();
        }
        Ok((storage, dims.into()))
    }

    /// Returns the gradients of the phases times the angle of a phase of 1, `[count, phases]`, in the type
    /// that they are computed in.
    fn of_phases(&self, res: &Tensor, grad: &Tensor) -> Result<Tensor> {
        let config = &self.0.config.fourier;
        let (phases, width) = (config.phases(), config.width());
        let dtype = compute_dtype(res.dtype());
        let columns: (Vec<u32>, Vec<u32>) = (0..phases)
            .map(|phase| config.columns(phase))
            .map(|(sine, cosine)| (sine as u32, cosine as u32))
            .unzip();
        let part = |all: &Tensor, columns: &[u32]| {
            let ids = Tensor::from_slice(columns, phases, all.device())?;
            let all = all.contiguous()?.reshape(((), width))?;
            all.index_select(&ids, 1)?.to_dtype(dtype)
        };
        let (sines, cosines) = columns;
        let of_sines = (part(grad, &sines)? * part(res, &cosines)?)?;
        let of_cosines = (part(grad, &cosines)? * part(res, &sines)?)?;
        of_sines - of_cosines
    }

    /// Returns the gradient of the points, for rates `[axes, phases]` in radians.
    fn of_points(
        &self,
        points: &Tensor,
        of_phases: &Tensor,
        rates: &Tensor,
        grad: &Tensor,
    ) -> Result<Tensor> {
        let config = &self.0.config.fourier;
        let dtype = of_phases.dtype();
        let mut sum = of_phases.matmul(&rates.to_dtype(dtype)?.t()?)?;
        let flat = points.to_dtype(dtype)?.reshape(((), config.axes))?;
        sum = match config.coordinates {
            FourierCoordinates::Centered => (sum * 2.0)?,
            FourierCoordinates::Log => (sum / &flat)?,
            _ => sum,
        };
        if config.with_input {
            let grad = grad.contiguous()?.reshape(((), config.width()))?;
            sum = (sum + grad.narrow(1, 0, config.axes)?.to_dtype(dtype)?)?;
        }
        sum.reshape(points.shape())?.to_dtype(points.dtype())
    }

    /// Returns the features for the values of a matrix.
    fn with_matrix(&self, matrix: &[f64]) -> Result<Features> {
        Ok(Features::with_matrix(
            self.0.config.fourier.clone(),
            matrix,
        )?)
    }

    /// Returns the angle of a phase of 1.
    fn unit(&self) -> f64 {
        match self.0.config.fourier.unit {
            AngleUnit::Turns => std::f64::consts::TAU,
            AngleUnit::HalfTurns => std::f64::consts::PI,
            AngleUnit::Radians => 1.0,
        }
    }
}

impl CustomOp1 for Embed {
    fn name(&self) -> &'static str {
        "fourier-features"
    }

    fn cpu_fwd(&self, points: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        match &self.0.fixed {
            Some(features) => self.run(features, points, layout),
            None => bail!("these features need a matrix"),
        }
    }

    fn bwd(&self, points: &Tensor, res: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        let Some(features) = &self.0.fixed else {
            bail!("these features need a matrix");
        };
        let config = &self.0.config.fourier;
        // Each phase belongs to one coordinate.
        let (axes, bands) = (config.axes, config.bands());
        let rate = |(axis, (phase, rate)): (usize, (usize, &f64))| {
            if phase.checked_div(bands) == Some(axis) {
                *rate
            } else {
                0.0
            }
        };
        let of_axis = |axis| {
            features
                .rates()
                .iter()
                .enumerate()
                .map(move |at| (axis, at))
        };
        let rates: Vec<f64> = (0..axes).flat_map(of_axis).map(rate).collect();
        let rates = Tensor::from_vec(rates, (axes, config.phases()), res.device())?;
        let of_phases = self.of_phases(res, grad)?;
        self.of_points(points, &of_phases, &rates, grad).map(Some)
    }
}

impl CustomOp2 for Embed {
    fn name(&self) -> &'static str {
        "fourier-features"
    }

    fn cpu_fwd(
        &self,
        points: &CpuStorage,
        layout: &Layout,
        matrix: &CpuStorage,
        matrix_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let matrix = reals::read_storage("the matrix", matrix, matrix_layout)?;
        self.run(&self.with_matrix(&matrix)?, points, layout)
    }

    fn bwd(
        &self,
        points: &Tensor,
        matrix: &Tensor,
        res: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let config = &self.0.config.fourier;
        let of_phases = (self.of_phases(res, grad)? * self.unit())?;
        let flat = matrix.reshape((config.axes, config.bands()))?;
        let of_points = match points.track_op() {
            true => Some(self.of_points(points, &of_phases, &flat, grad)?),
            false => None,
        };
        let of_matrix = match matrix.track_op() {
            true => {
                let xs = points
                    .to_dtype(of_phases.dtype())?
                    .reshape(((), config.axes))?;
                let xs = match config.coordinates {
                    FourierCoordinates::Centered => xs.affine(2.0, -1.0)?,
                    FourierCoordinates::Log => xs.log()?,
                    _ => xs,
                };
                let sum = xs.t()?.contiguous()?.matmul(&of_phases)?;
                Some(sum.reshape(matrix.shape())?.to_dtype(matrix.dtype())?)
            }
            false => None,
        };
        Ok((of_points, of_matrix))
    }
}
