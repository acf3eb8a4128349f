//! ALiBi: a slope per head times the distance.

use candle_core::{DType, Device, Result, Tensor, WithDType, bail};
use half::{bf16, f16};
use pe_core::hf_config::{self, HfBias, HfConfig};
use pe_core::{
    AlibiConfig, Element, alibi_distances, alibi_positions, alibi_slopes, relative_distances,
};

use super::by_distance::ByDistance;
use super::{AttentionBias, other_bias};
use crate::tensors::convert::table_to_tensor;

/// Attention with linear biases (Press et al., 2021): `-slope x |query - key|`, symmetric.
///
/// In causal attention this equals the `slope x key` of BLOOM, MPT, and Falcon up to a constant per row, which the softmax removes.
/// [`bias_with_positions`](Self::bias_with_positions) returns that form with its own values.
///
/// # Examples
/// ```
/// use candle_core::{DType, Device, Tensor};
/// use pe_candle::{Alibi, AlibiConfig};
///
/// let alibi = Alibi::new(AlibiConfig::new(8), DType::F32, &Device::Cpu)?;
/// assert_eq!(alibi.flash_attn_slopes()?.to_vec1::<f32>()?[..2], [0.5, 0.25]); // for candle-flash-attn
/// let bias = alibi.bias(10, 10, 0)?;
/// assert_eq!(bias.to_tensor()?.dims(), [1, 8, 10, 10]);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Alibi {
    config: AlibiConfig,
    /// Whether the slopes are those of the configuration.
    computed: bool,
    dtype: DType,
    slopes: Tensor,
    kept: ByDistance,
}

impl Alibi {
    /// Computes the slopes of a specification. Every value of a bias is the number of type `dtype` nearest to the true product.
    ///
    /// # Errors
    /// Returns an error if the number of heads or `bias_max` is out of range, or `dtype` is not `f32`, `f64`, `f16`, or `bf16`.
    pub fn new(config: AlibiConfig, dtype: DType, device: &Device) -> Result<Self> {
        fn of<T: Element + WithDType>(config: &AlibiConfig, device: &Device) -> Result<Tensor> {
            Tensor::new(alibi_slopes::<T>(config)?, device)
        }
        let slopes = match dtype {
            DType::F32 => of::<f32>(&config, device)?,
            DType::F64 => of::<f64>(&config, device)?,
            DType::F16 => of::<f16>(&config, device)?,
            DType::BF16 => of::<bf16>(&config, device)?,
            other => bail!("slopes are f32, f64, f16 or bf16, not {}", other.as_str()),
        };
        Ok(Self {
            config,
            computed: true,
            dtype,
            slopes,
            kept: ByDistance::new(),
        })
    }

    /// Creates the layer of a model's `config.json`, given as its text or as a `serde_json::Value` ([`hf_config::read_bias`]).
    ///
    /// # Examples
    /// ```
    /// use candle_core::{DType, Device};
    /// use pe_candle::Alibi;
    ///
    /// let json = r#"{"model_type": "mpt", "n_heads": 32, "attn_config": {"alibi": true, "alibi_bias_max": 16}}"#;
    /// let alibi = Alibi::from_hf_config(json, DType::F32, &Device::Cpu)?;
    /// assert_eq!((alibi.config().num_heads, alibi.config().bias_max), (32, 16.0));
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the file states another bias or none. Also returns the errors of [`hf_config::read_bias`] and
    /// [`new`](Self::new).
    pub fn from_hf_config<'a>(
        config: impl Into<HfConfig<'a>>,
        dtype: DType,
        device: &Device,
    ) -> Result<Self> {
        match hf_config::read_bias(config)? {
            Some(HfBias::Alibi(config)) => Self::new(config, dtype, device),
            other => Err(other_bias("ALiBi", other)),
        }
    }

    /// Uses caller-supplied slopes `[num_heads]`, trained ones with gradients included. Values are products in their type. `bias_max` of
    /// the configuration has no effect.
    ///
    /// # Errors
    /// Returns an error if the slopes have another shape.
    pub fn from_slopes(config: AlibiConfig, slopes: Tensor) -> Result<Self> {
        let wanted = [config.num_heads];
        if slopes.dims() != wanted {
            bail!(
                "the slopes must have shape {wanted:?}, got {:?}",
                slopes.dims()
            );
        }
        Ok(Self {
            config,
            computed: false,
            dtype: slopes.dtype(),
            slopes,
            kept: ByDistance::new(),
        })
    }

    /// Returns the configuration.
    pub fn config(&self) -> &AlibiConfig {
        &self.config
    }

    /// Returns the slopes, `[num_heads]`, in the layer's type.
    pub fn slopes(&self) -> &Tensor {
        &self.slopes
    }

    /// Returns the slopes in `f32`, `[num_heads]`, whatever the layer's type: the `alibi_slopes` of candle-flash-attn's
    /// `flash_attn_alibi` and its variants. Computed slopes are the `f32` nearest to the true ones.
    ///
    /// # Errors
    /// Returns an error if the device reports one.
    pub fn flash_attn_slopes(&self) -> Result<Tensor> {
        if self.computed {
            Tensor::new(alibi_slopes::<f32>(&self.config)?, self.slopes.device())
        } else {
            self.slopes.to_dtype(DType::F32)
        }
    }

    /// Returns the bias of queries at the positions starting at `offset` and keys at those starting at 0. A step of decoding is a
    /// slice of values that are kept.
    ///
    /// # Errors
    /// Returns an error if `q_len` or `kv_len` is zero, or they are too many.
    pub fn bias(&self, q_len: usize, kv_len: usize, offset: usize) -> Result<AttentionBias> {
        if !self.computed && self.slopes.track_op() {
            let values = self.distances(q_len, kv_len, offset)?;
            return AttentionBias::from_distances(&values, q_len, kv_len);
        }
        self.kept
            .bias(q_len, kv_len, offset, |q_len, kv_len, offset| {
                self.distances(q_len, kv_len, offset)
            })
    }

    /// Returns the values of all distances, `[heads, q_len + kv_len - 1]`.
    fn distances(&self, q_len: usize, kv_len: usize, offset: usize) -> Result<Tensor> {
        fn of<T: Element + WithDType>(
            config: &AlibiConfig,
            [q_len, kv_len, offset]: [usize; 3],
            device: &Device,
        ) -> Result<Tensor> {
            table_to_tensor(
                alibi_distances::<T>(config, q_len, kv_len, offset as u64)?,
                device,
            )
        }
        let (lens, device) = ([q_len, kv_len, offset], self.slopes.device());
        match (self.computed.then_some(&self.config), self.dtype) {
            (Some(config), DType::F64) => of::<f64>(config, lens, device),
            (Some(config), DType::F16) => of::<f16>(config, lens, device),
            (Some(config), DType::BF16) => of::<bf16>(config, lens, device),
            (Some(config), _) => of::<f32>(config, lens, device),
            (None, _) => {
                let distances = relative_distances(q_len, kv_len, offset as u64)?;
                self.products(distances.map(|distance| -(distance.abs() as f64)).collect())
            }
        }
    }

    /// Returns `slope x factor`, `[heads, factors]`.
    fn products(&self, factors: Vec<f64>) -> Result<Tensor> {
        let factors = Tensor::new(factors, self.slopes.device())?.to_dtype(self.dtype)?;
        self.slopes
            .unsqueeze(1)?
            .broadcast_mul(&factors.unsqueeze(0)?)
    }

    /// Returns `slope x position` of each key, the same for all queries: BLOOM and Falcon with positions `0, 1, ..` (for padded
    /// batches those of [`position_ids_from_attention_mask`](crate::position_ids_from_attention_mask), where padding has 0), and MPT
    /// with `key - (kv_len - 1)`.
    ///
    /// `positions` is `[kv_len]` or `[batch, kv_len]`, of type `u32` or `i64`.
    ///
    /// # Errors
    /// Returns an error if the positions have another shape or type.
    pub fn bias_with_positions(&self, positions: &Tensor, q_len: usize) -> Result<AttentionBias> {
        let positions = match positions.rank() {
            1 => positions.unsqueeze(0)?,
            _ => positions.clone(),
        };
        if !matches!(positions.dtype(), DType::U32 | DType::I64) {
            bail!(
                "positions are u32 or i64, not {}",
                positions.dtype().as_str()
            );
        }
        let rows = positions.to_dtype(DType::I64)?.to_vec2::<i64>()?;
        let values = rows.iter().map(|row| self.of_keys(row));
        let values = Tensor::stack(&values.collect::<Result<Vec<_>>>()?, 0)?;
        AttentionBias::from_keys(&values, q_len)
    }

    fn of_keys(&self, row: &[i64]) -> Result<Tensor> {
        let device = self.slopes.device();
        match (self.computed.then_some(&self.config), self.dtype) {
            (Some(config), DType::F64) => {
                table_to_tensor(alibi_positions::<f64>(config, row)?, device)
            }
            (Some(config), DType::F16) => {
                table_to_tensor(alibi_positions::<f16>(config, row)?, device)
            }
            (Some(config), DType::BF16) => {
                table_to_tensor(alibi_positions::<bf16>(config, row)?, device)
            }
            (Some(config), _) => table_to_tensor(alibi_positions::<f32>(config, row)?, device),
            (None, _) => self.products(row.iter().map(|position| *position as f64).collect()),
        }
    }
}
