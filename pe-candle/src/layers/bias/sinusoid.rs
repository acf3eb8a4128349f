//! Relative sinusoids: Transformer-XL, XLNet, Conformer.

use candle_core::{DType, Device, Result, Tensor, WithDType, bail};
use half::{bf16, f16};
use pe_core::{Element, Sinusoidal, SinusoidalConfig};

use super::AttentionBias;
use crate::tensors::convert::table_to_tensor;

/// Configuration of a [`RelativeSinusoid`]: plain data, checked by the layer's constructor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RelativeSinusoidConfig {
    /// Specification of the encodings.
    pub sinusoidal: SinusoidalConfig,
    /// Distances of the encodings.
    pub distances: RelativeDistances,
}

impl RelativeSinusoidConfig {
    /// Creates the configuration of a width: interleaved columns, and the distances of a Conformer.
    pub const fn new(d_model: usize) -> Self {
        Self {
            sinusoidal: SinusoidalConfig::new(d_model),
            distances: RelativeDistances::BelowKvLen,
        }
    }
}

/// Distances `query - key` of relative encodings, descending, where the queries are the last positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum RelativeDistances {
    /// `kv_len - 1 ..= -(q_len - 1)`, those that occur: Conformer, Parakeet.
    #[default]
    BelowKvLen,
    /// `kv_len ..= -(q_len - 1)`: XLNet.
    FromKvLen,
}

/// Encodings of distances, and scores with them: `(q + v) . r[query - key]`.
///
/// | model | columns ([`SinusoidLayout`](pe_core::SinusoidLayout)) | distances |
/// |---|---|---|
/// | Transformer-XL, XLNet | `Concatenated` | `kv_len ..= -(q_len - 1)`, or without the first |
/// | wav2vec2-conformer, Parakeet, ESPnet | `Interleaved` | `kv_len - 1 ..= -(q_len - 1)` |
///
/// # Examples
/// ```
/// use candle_core::{DType, Device, Tensor};
/// use pe_candle::{RelativeSinusoid, RelativeSinusoidConfig};
///
/// let encoding = RelativeSinusoid::new(RelativeSinusoidConfig::new(8), DType::F32, &Device::Cpu)?;
/// let r = encoding.encodings(3, 5)?; // distances 4 to -2
/// assert_eq!(r.dims(), [7, 8]);
/// // After the model's projection: [heads, distances, head_dim].
/// let r = r.reshape((7, 2, 4))?.transpose(0, 1)?;
/// let q = Tensor::ones((1, 2, 3, 4), DType::F32, &Device::Cpu)?; // with its bias v
/// let bias = encoding.bias(&q, &r, 5)?;
/// assert_eq!(bias.to_tensor()?.dims(), [1, 2, 3, 5]);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct RelativeSinusoid {
    config: RelativeSinusoidConfig,
    encoding: Sinusoidal,
    dtype: DType,
    device: Device,
}

impl RelativeSinusoid {
    /// Checks the specification of the encodings.
    ///
    /// # Errors
    /// Returns an error if the specification is invalid, or `dtype` is not `f32`, `f64`, `f16`, or `bf16`.
    pub fn new(config: RelativeSinusoidConfig, dtype: DType, device: &Device) -> Result<Self> {
        if !matches!(dtype, DType::F32 | DType::F64 | DType::F16 | DType::BF16) {
            bail!(
                "encodings are f32, f64, f16 or bf16, not {}",
                dtype.as_str()
            );
        }
        Ok(Self {
            config,
            encoding: Sinusoidal::new(config.sinusoidal)?,
            dtype,
            device: device.clone(),
        })
    }

    /// Returns the configuration.
    pub fn config(&self) -> &RelativeSinusoidConfig {
        &self.config
    }

    /// Computes the encodings of the distances of the configuration, `[q_len + kv_len - 1, d_model]`, with
    /// [`RelativeDistances::FromKvLen`] `[q_len + kv_len, d_model]`. Every entry is the number of the layer's type nearest to the true
    /// value.
    ///
    /// # Errors
    /// Returns an error if a length is zero, or they are too many.
    pub fn encodings(&self, q_len: usize, kv_len: usize) -> Result<Tensor> {
        fn of<T: Element + WithDType>(
            encoding: &Sinusoidal,
            distances: &[f64],
            device: &Device,
        ) -> Result<Tensor> {
            table_to_tensor(encoding.table_at_reals::<T>(distances)?, device)
        }
        // The queries are the last of the positions.
        pe_core::relative_distances(q_len, kv_len, 0)?;
        if q_len == 0 {
            bail!("encodings of distances need queries, got q_len 0");
        }
        let first = match self.config.distances {
            RelativeDistances::BelowKvLen => kv_len as i64 - 1,
            RelativeDistances::FromKvLen => kv_len as i64,
        };
        let distances: Vec<_> = (-(q_len as i64 - 1)..=first)
            .rev()
            .map(|d| d as f64)
            .collect();
        match self.dtype {
            DType::F64 => of::<f64>(&self.encoding, &distances, &self.device),
            DType::F16 => of::<f16>(&self.encoding, &distances, &self.device),
            DType::BF16 => of::<bf16>(&self.encoding, &distances, &self.device),
            _ => of::<f32>(&self.encoding, &distances, &self.device),
        }
    }

    /// Returns the bias of queries `[batch, heads, q_len, head_dim]` (with the model's bias `v` added) against projected encodings
    /// `[heads, distances, head_dim]`. It is read with the relative shift. Gradients flow to both. Scale it with the scores by scaling the
    /// queries, or use [`AttentionBias::from_shifted`] on scores of your own.
    ///
    /// # Errors
    /// Returns an error if the shapes do not match.
    pub fn bias(
        &self,
        queries: &Tensor,
        encodings: &Tensor,
        kv_len: usize,
    ) -> Result<AttentionBias> {
        queries.dims4()?;
        encodings.dims3()?;
        let encodings = encodings.t()?.contiguous()?.unsqueeze(0)?;
        AttentionBias::from_shifted(&queries.contiguous()?.broadcast_matmul(&encodings)?, kv_len)
    }
}
