//! The relative position bias of T5: a trained value per head and bucket of distances.

use candle_core::{DType, Result, Tensor, bail};
use candle_nn::VarBuilder;
use pe_core::hf_config::{self, HfBias, HfConfig};
use pe_core::{BucketDirection, T5Buckets, T5BucketsConfig};

use super::by_distance::ByDistance;
use super::{AttentionBias, other_bias};

/// Configuration of a [`T5Bias`]: plain data, checked by the layer's constructors.
///
/// # Examples
/// ```
/// use pe_candle::{BucketDirection, T5BiasConfig};
///
/// let json = r#"{"model_type": "t5", "num_heads": 8, "relative_attention_num_buckets": 32}"#;
/// let decoder = T5BiasConfig::from_hf_config(json, BucketDirection::Unidirectional)?;
/// assert_eq!(decoder, T5BiasConfig::new(8, BucketDirection::Unidirectional));
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct T5BiasConfig {
    /// Number of heads, the columns of the table.
    pub num_heads: usize,
    /// Buckets, the rows of the table.
    pub buckets: T5BucketsConfig,
    /// Name of the table in a `VarBuilder`. Defaults to `relative_attention_bias.weight`; it is `rel_attn_embed.weight` in WavLM.
    pub tensor: String,
}

impl T5BiasConfig {
    /// Creates the configuration of T5: 32 buckets up to a distance of 128.
    pub fn new(num_heads: usize, direction: BucketDirection) -> Self {
        Self {
            num_heads,
            buckets: T5BucketsConfig::new(direction),
            tensor: "relative_attention_bias.weight".to_owned(),
        }
    }

    /// Reads heads and buckets from a model's `config.json` ([`hf_config::read_bias`]). The stacks of a model differ in the direction,
    /// which the file does not state: encoders are bidirectional, decoders unidirectional.
    ///
    /// # Errors
    /// Returns an error if the file states another bias or none. Also returns the errors of [`hf_config::read_bias`].
    pub fn from_hf_config<'a>(
        config: impl Into<HfConfig<'a>>,
        direction: BucketDirection,
    ) -> Result<Self> {
        match hf_config::read_bias(config)? {
            Some(HfBias::Buckets { num_heads, buckets }) => Ok(Self {
                buckets: T5BucketsConfig {
                    direction,
                    ..buckets
                },
                ..Self::new(num_heads, direction)
            }),
            other => Err(other_bias("bias by buckets of distances", other)),
        }
    }
}

/// The bias of T5, mT5, UMT5, MPNet, WavLM, and LayoutLM: `table[bucket(key - query), head]`.
///
/// T5 computes it in the first layer and shares it (clone it), UMT5 has one in each layer. The scores of T5 are not scaled.
/// Decoders use unidirectional buckets; `candle_transformers` uses those of encoders there.
///
/// # Examples
/// ```
/// use candle_core::{DType, Device};
/// use candle_nn::{VarBuilder, VarMap};
/// use pe_candle::{BucketDirection, T5Bias, T5BiasConfig};
///
/// let varmap = VarMap::new();
/// let vb = VarBuilder::from_varmap(&varmap, DType::F32, &Device::Cpu);
/// let config = T5BiasConfig::new(8, BucketDirection::Unidirectional);
/// let bias = T5Bias::new(config, vb)?; // the tensor relative_attention_bias.weight, [32, 8]
/// let step = bias.bias(1, 100, 99)?; // the token at position 99
/// assert_eq!(step.to_tensor()?.dims(), [1, 8, 1, 100]);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct T5Bias {
    config: T5BiasConfig,
    buckets: T5Buckets,
    table: Tensor,
    kept: ByDistance,
}

impl T5Bias {
    /// Loads the table `config.tensor`, `[num_buckets, num_heads]`.
    ///
    /// # Errors
    /// Returns an error if the specification is invalid, or the builder has no such tensor.
    pub fn new(config: T5BiasConfig, vb: VarBuilder<'_>) -> Result<Self> {
        T5Buckets::new(config.buckets)?;
        let shape = (config.buckets.num_buckets, config.num_heads);
        let table = vb.get(shape, &config.tensor)?;
        Self::from_table(config, table)
    }

    /// Uses a table `[num_buckets, num_heads]`, under whatever name it was loaded. (LayoutLM stores the transposed matrix, `rel_pos_bias.weight`.)
    ///
    /// # Errors
    /// Returns an error if the specification is invalid, or the table has another shape.
    pub fn from_table(config: T5BiasConfig, table: Tensor) -> Result<Self> {
        let buckets = T5Buckets::new(config.buckets)?;
        let wanted = [config.buckets.num_buckets, config.num_heads];
        if table.dims() != wanted {
            bail!(
                "the table must have shape {wanted:?}, got {:?}",
                table.dims()
            );
        }
        Ok(Self {
            config,
            buckets,
            table,
            kept: ByDistance::new(),
        })
    }

    /// Returns the configuration.
    pub fn config(&self) -> &T5BiasConfig {
        &self.config
    }

    /// Returns the buckets.
    pub fn buckets(&self) -> &T5Buckets {
        &self.buckets
    }

    /// Returns the table, `[num_buckets, num_heads]`.
    pub fn table(&self) -> &Tensor {
        &self.table
    }

    /// Returns the bias of queries at the positions starting at `offset` and keys at those starting at 0.
    ///
    /// A trained table is read in each call, and gradients flow to it. The values of a fixed one are kept, and a step of decoding is a
    /// slice of them.
    ///
    /// # Errors
    /// Returns an error if `q_len` or `kv_len` is zero, or they are too many.
    pub fn bias(&self, q_len: usize, kv_len: usize, offset: usize) -> Result<AttentionBias> {
        let values = |q_len, kv_len, offset| {
            self.rows(self.buckets.distances(q_len, kv_len, offset as u64)?)
        };
        if self.table.track_op() {
            return AttentionBias::from_distances(&values(q_len, kv_len, offset)?, q_len, kv_len);
        }
        self.kept.bias(q_len, kv_len, offset, values)
    }

    /// Returns the values of buckets, `[heads, buckets]`.
    fn rows(&self, buckets: Vec<u32>) -> Result<Tensor> {
        let count = buckets.len();
        let buckets = Tensor::from_vec(buckets, count, self.table.device())?;
        self.table
            .contiguous()?
            .index_select(&buckets, 0)?
            .t()?
            .contiguous()
    }

    /// Returns the bias of tokens at given positions, queries and keys alike: `positions` is `[len]` or `[batch, len]`, `u32` or `i64`. LayoutLM
    /// does this for tokens and for the coordinates of their boxes. The result has all of `[batch, heads, len, len]`.
    ///
    /// # Errors
    /// Returns an error if the positions have another shape or type, or are too many.
    pub fn bias_with_positions(&self, positions: &Tensor) -> Result<AttentionBias> {
        let positions = match positions.rank() {
            1 => positions.unsqueeze(0)?,
            _ => positions.clone(),
        };
        let (batch, len) = positions.dims2()?;
        if !matches!(positions.dtype(), DType::U32 | DType::I64) {
            bail!(
                "positions are u32 or i64, not {}",
                positions.dtype().as_str()
            );
        }
        let entries = batch
            .checked_mul(len)
            .and_then(|tokens| tokens.checked_mul(len));
        if entries.is_none_or(|entries| entries > 1 << 28) {
            bail!("{batch} x {len} x {len} distances exceed the limit of 268435456");
        }
        let rows = positions.to_dtype(DType::I64)?.to_vec2::<i64>()?;
        let of = |row: &Vec<i64>| -> Vec<u32> {
            let pairs = row
                .iter()
                .flat_map(|query| row.iter().map(move |key| key.wrapping_sub(*query)));
            pairs
                .map(|distance| self.buckets.bucket(distance))
                .collect()
        };
        let values = self.rows(rows.iter().flat_map(of).collect())?;
        let heads = values.dim(0)?;
        let values = values.reshape((heads, batch, len, len))?.transpose(0, 1)?;
        AttentionBias::from_tensor(&values.contiguous()?)
    }
}
