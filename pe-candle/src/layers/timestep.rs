//! The embedding of timesteps as a layer.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::sync::Arc;

use candle_core::{
    CpuStorage, CustomOp1, D, DType, Device, Layout, Module, Result, Shape, Storage, Tensor,
    WithDType, bail,
};
use half::{bf16, f16};
use pe_core::{Element, SinusoidLayout, Timestep, TimestepConfig, TimestepPreset};

use crate::layers::published::Published;
use crate::layers::reference::compute_dtype;
use crate::layers::rows::{check_size, grown};
use crate::tensors::memory;
use crate::tensors::reals::{self, Fill};

/// Configuration of a [`TimestepEmbedding`]: plain data, checked by the layer's constructor.
///
/// ```
/// use pe_candle::{TimestepEmbeddingConfig, TimestepPreset};
///
/// let config = TimestepEmbeddingConfig::from_preset(TimestepPreset::StableDiffusion, 320);
/// assert_eq!(config.timestep.max_period, 10000.0);
/// assert_eq!(config.max_table_rows, 1024);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimestepEmbeddingConfig {
    /// Specification of the embedding, including its width.
    pub timestep: TimestepConfig,
    /// Integer timesteps below this number are copied from a table, which grows as calls need it. All
    /// others are computed in the call. The values are the same. Defaults to 1024, which holds the
    /// timesteps of diffusion models. With 0 the layer has no table.
    pub max_table_rows: usize,
}

impl TimestepEmbeddingConfig {
    /// Returns the configuration of a width with the defaults of diffusers.
    pub const fn new(width: usize) -> Self {
        Self::of(TimestepConfig::new(width))
    }

    /// Returns the configuration of a model's convention for a width.
    pub fn from_preset(preset: TimestepPreset, width: usize) -> Self {
        Self::of(preset.config(width))
    }

    const fn of(timestep: TimestepConfig) -> Self {
        Self {
            timestep,
            max_table_rows: 1024,
        }
    }
}

/// Embeds timesteps, noise levels, and other real numbers in sines and cosines:
///
/// ```text
/// y[.., i]         = amplitude * sin(scale * t * w_i)      w_i = max_period^(-i / (n - shift))
/// y[.., n + i]     = amplitude * cos(scale * t * w_i)      n = width / 2, in the order of the layout
/// ```
///
/// Every entry is the value of the result's type nearest to the true value, for the exact value of `t`
/// ([`Timestep`]). Code that computes in the model's type has errors of up to 2.0 in `bf16` and 0.4 in
/// `f16` at timesteps below 1000, because `w_i` and the product are rounded.
///
/// | model | preset |
/// |---|---|
/// | Stable Diffusion 1 to XL, DiT, PixArt, Wan | [`TimestepPreset::StableDiffusion`] |
/// | Stable Diffusion 3 | [`TimestepPreset::Sd3`] |
/// | FLUX.1, Qwen-Image | [`TimestepPreset::Flux`] |
/// | Wuerstchen, Stable Cascade | [`TimestepPreset::Wuerstchen`] |
/// | DDPM | [`TimestepPreset::Diffusers`] |
///
/// # Gradients
/// Gradients flow to `t` if it is a float tensor: `dy/dt = scale * w_i * cos(..)` and its counterpart,
/// computed from the entries of the result. The frequencies are constants.
///
/// # Examples
/// ```
/// use candle_core::{DType, Device, Module, Tensor};
/// use pe_candle::{TimestepEmbedding, TimestepEmbeddingConfig, TimestepPreset};
///
/// let config = TimestepEmbeddingConfig::from_preset(TimestepPreset::StableDiffusion, 320);
/// let embedding = TimestepEmbedding::new(config, DType::F16, &Device::Cpu)?;
/// let timesteps = Tensor::new(&[999u32, 500], &Device::Cpu)?;
/// assert_eq!(embedding.forward(&timesteps)?.dims(), [2, 320]);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct TimestepEmbedding {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    config: TimestepEmbeddingConfig,
    timestep: Timestep,
    dtype: DType,
    device: Device,
    /// Rows of the first integer timesteps.
    table: Published<Option<Tensor>>,
}

impl TimestepEmbedding {
    /// Creates the layer with results of type `dtype` on `device`.
    ///
    /// # Errors
    /// Returns an error if
    /// - the specification is invalid (see [`Timestep::new`]),
    /// - `dtype` is not `f32`, `f64`, `f16`, or `bf16`,
    /// - a table of `max_table_rows` rows exceeds [`MAX_TABLE_BYTES`](pe_core::MAX_TABLE_BYTES).
    pub fn new(config: TimestepEmbeddingConfig, dtype: DType, device: &Device) -> Result<Self> {
        reals::check_dtype("the result", dtype)?;
        let timestep = Timestep::new(config.timestep)?;
        check_size(config.max_table_rows, timestep.width(), dtype)?;
        let shared = Shared {
            config,
            timestep,
            dtype,
            device: device.clone(),
            table: Published::new(None),
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Embeds a tensor of any shape `[..]` and any float or integer type, on any device. The result has
    /// shape `[.., width]`, the layer's type, and is on the layer's device.
    ///
    /// # Examples
    /// ```
    /// use candle_core::{DType, Device, Tensor};
    /// use pe_candle::{TimestepEmbedding, TimestepEmbeddingConfig, TimestepPreset};
    ///
    /// let config = TimestepEmbeddingConfig::from_preset(TimestepPreset::Flux, 256);
    /// let embedding = TimestepEmbedding::new(config, DType::F32, &Device::Cpu)?;
    /// let t = Tensor::new(&[1.0f32, 0.75], &Device::Cpu)?;
    /// let ys = embedding.forward(&t)?.to_vec2::<f32>()?;
    /// assert_eq!(ys[0][0], 0.56237906); // cos 1000
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if a timestep is not finite or exceeds 2^53 in magnitude, or if the result exceeds
    /// [`MAX_TABLE_BYTES`](pe_core::MAX_TABLE_BYTES).
    pub fn forward(&self, timesteps: &Tensor) -> Result<Tensor> {
        memory::declared("timesteps", timesteps)?;
        let shared = &self.shared;
        check_size(timesteps.elem_count(), self.width(), shared.dtype)?;
        let op = Embed(Arc::clone(shared));
        if timesteps.track_op() {
            let host = timesteps.to_device(&Device::Cpu)?.contiguous()?;
            return host.apply_op1(op)?.to_device(&shared.device);
        }
        let values = reals::read("timesteps", timesteps)?;
        let dims = [timesteps.dims(), &[self.width()]].concat();
        if let Some(ids) = integers(&values, shared.config.max_table_rows) {
            return rows_of(&shared.rows_for(&ids)?, ids, &dims);
        }
        let rows = RowsAt {
            timestep: &shared.timestep,
            values,
        };
        reals::tensor_of(shared.dtype, &rows, &dims, &shared.device)
    }

    /// Returns the configuration.
    pub fn config(&self) -> &TimestepEmbeddingConfig {
        &self.shared.config
    }

    /// Returns the checked specification with its frequencies.
    pub fn timestep(&self) -> &Timestep {
        &self.shared.timestep
    }

    /// Returns the width of the embedding.
    pub fn width(&self) -> usize {
        self.shared.config.timestep.width
    }
}

impl Module for TimestepEmbedding {
    fn forward(&self, timesteps: &Tensor) -> Result<Tensor> {
        self.forward(timesteps)
    }
}

impl Shared {
    /// Returns a table with a row for each id.
    fn rows_for(&self, ids: &[u32]) -> Result<Tensor> {
        let last = ids.iter().max().copied().unwrap_or(0) as usize;
        let rows = last.saturating_add(1);
        let find = |table: &Option<Tensor>| {
            let found = |table: &Tensor| table.dims().first().is_some_and(|have| rows <= *have);
            table.clone().filter(found)
        };
        self.table.find_or_build(find, |_| {
            let rows = grown(rows, self.config.max_table_rows);
            let dims = [rows, self.timestep.width()];
            let first = FirstRows(&self.timestep, rows as u64);
            let longer = reals::tensor_of(self.dtype, &first, &dims, &self.device)?;
            Ok((Some(longer.clone()), longer))
        })
    }
}

/// Returns the values as row ids if all are integers below a limit and there are any.
fn integers(values: &[f64], limit: usize) -> Option<Vec<u32>> {
    let id = |value: &f64| {
        let id = *value as u32;
        (f64::from(id) == *value && (id as usize) < limit).then_some(id)
    };
    let ids: Option<Vec<u32>> = values.iter().map(id).collect();
    ids.filter(|ids| !ids.is_empty())
}

/// Returns the rows of a table with these ids, which the table must have, in the given shape.
fn rows_of(table: &Tensor, ids: Vec<u32>, dims: &[usize]) -> Result<Tensor> {
    if table.device().is_cpu() {
        // Candle's selection writes its result twice, zeros first.
        return match table.dtype() {
            DType::F32 => copied::<f32>(table, &ids, dims),
            DType::F64 => copied::<f64>(table, &ids, dims),
            DType::F16 => copied::<f16>(table, &ids, dims),
            _ => copied::<bf16>(table, &ids, dims),
        };
    }
    let count = ids.len();
    let ids = Tensor::from_vec(ids, count, table.device())?;
    table.index_select(&ids, 0)?.reshape(dims)
}

fn copied<T: WithDType>(table: &Tensor, ids: &[u32], dims: &[usize]) -> Result<Tensor> {
    let (storage, _) = table.storage_and_layout();
    let (Storage::Cpu(storage), (_, width)) = (&*storage, table.dims2()?) else {
        bail!("the table must be on the cpu");
    };
    let entries = T::cpu_storage_as_slice(storage)?;
    let mut rows = Vec::with_capacity(ids.len().saturating_mul(width));
    for id in ids {
        let start = (*id as usize).saturating_mul(width);
        let row = entries.get(start..start.saturating_add(width));
        rows.extend_from_slice(row.unwrap_or_default());
    }
    Tensor::from_vec(rows, dims, &Device::Cpu)
}

/// The rows of given timesteps.
struct RowsAt<'a> {
    timestep: &'a Timestep,
    values: Vec<f64>,
}

impl Fill for RowsAt<'_> {
    fn fill<T: Element>(&self) -> Result<Vec<T>> {
        Ok(self.timestep.table_at_reals(&self.values)?.into_vec())
    }
}

/// The rows of the first integer timesteps.
struct FirstRows<'a>(&'a Timestep, u64);

impl Fill for FirstRows<'_> {
    fn fill<T: Element>(&self) -> Result<Vec<T>> {
        Ok(self.0.table(0..self.1)?.into_vec())
    }
}

/// The embedding as an operation with a gradient.
struct Embed(Arc<Shared>);

impl CustomOp1 for Embed {
    fn name(&self) -> &'static str {
        "timestep-embedding"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let timestep = &self.0.timestep;
        let values = reals::read_storage("timesteps", storage, layout)?;
        let dims = [layout.dims(), &[timestep.width()]].concat();
        let storage = reals::storage_of(self.0.dtype, &RowsAt { timestep, values })?;
        Ok((storage, dims.into()))
    }

    /// Computes `sum over i of w_i (cos_i * grad of sin_i - sin_i * grad of cos_i)`.
    fn bwd(&self, timesteps: &Tensor, res: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        let Shared {
            config, timestep, ..
        } = &*self.0;
        let pairs = timestep.width() / 2;
        let dtype = compute_dtype(res.dtype());
        let parts = |all: &Tensor| -> Result<[Tensor; 2]> {
            let all = all.to_dtype(dtype)?;
            if config.timestep.layout == SinusoidLayout::Interleaved {
                let whole = all.narrow(D::Minus1, 0, pairs.saturating_mul(2))?;
                let dims = [timesteps.dims(), &[pairs, 2]].concat();
                let whole = whole.contiguous()?.reshape(dims)?;
                let of = |column| whole.narrow(D::Minus1, column, 1)?.squeeze(D::Minus1);
                return Ok([of(0)?, of(1)?]);
            }
            let [first, second] = [0, pairs].map(|start| all.narrow(D::Minus1, start, pairs));
            Ok(match config.timestep.layout {
                SinusoidLayout::ConcatenatedCosFirst => [second?, first?],
                _ => [first?, second?],
            })
        };
        let ([sin, cos], [of_sin, of_cos]) = (parts(res)?, parts(grad)?);
        let rates: Vec<f64> = timestep.inv_freq().into_iter().take(pairs).collect();
        let rates = Tensor::from_vec(rates, pairs, res.device())?.to_dtype(dtype)?;
        let terms = of_sin.mul(&cos)?.sub(&of_cos.mul(&sin)?)?;
        let terms = terms.broadcast_mul(&rates)?;
        terms.sum(D::Minus1)?.to_dtype(timesteps.dtype()).map(Some)
    }
}
