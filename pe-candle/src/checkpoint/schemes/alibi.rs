//! ALiBi in files: `bias` of shape `[rows, num_heads]`, the bias of each distance, and `slopes` of shape
//! `[num_heads]`.
//!
//! `slopes` is f32, as kernels of attention accept it, or f64 in a file of f64.

use std::ops::Range;

use candle_core::{DType, Result, Tensor, bail};
use half::f16;
use pe_core::{AlibiConfig, AlibiSlopes, Element};

use crate::checkpoint::scheme::{Constant, Rows, Scheme, Sealed, Tensors, fill_rows};
use crate::checkpoint::schemes::fields::ConfigFields;
use crate::checkpoint::spec::Spec;

/// The tensor of biases.
pub const BIAS_TENSOR: &str = "bias";

/// The tensor of slopes.
pub const SLOPES_TENSOR: &str = "slopes";

/// Specification of ALiBi's biases. Its positions are the distances of a query and a key.
///
/// ```
/// use candle_core::DType;
/// use pe_candle::AlibiConfig;
/// use pe_candle::checkpoint::AlibiSpec;
///
/// let spec = AlibiSpec::new(AlibiConfig::new(12), 0, 2048, DType::BF16)?;
/// assert_eq!(AlibiSpec::from_json(&spec.to_json()?)?, spec);
/// # Ok::<(), candle_core::Error>(())
/// ```
pub type AlibiSpec = Spec<AlibiSlopes>;

/// Tensors of ALiBi.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AlibiTensors {
    /// `-slope x distance`, `[rows, num_heads]`.
    pub bias: Tensor,
    /// Slopes, `[num_heads]`: f32, or f64 in a file of f64.
    pub slopes: Tensor,
}

impl Tensors for AlibiTensors {
    fn from_loaded(mut loaded: impl Iterator<Item = Tensor>) -> Option<Self> {
        Some(Self {
            bias: loaded.next()?,
            slopes: loaded.next()?,
        })
    }
}

impl Sealed for AlibiSlopes {}

impl Scheme for AlibiSlopes {
    const NAME: &'static str = "alibi";
    const TABLES: &'static [&'static str] = &[BIAS_TENSOR];
    const CONSTANTS: &'static [&'static str] = &[SLOPES_TENSOR];
    const WIDTH: &'static str = "num_heads";
    type Config = AlibiConfig;
    type Fields = ConfigFields<AlibiConfig>;
    type Tensors = AlibiTensors;

    fn build(config: AlibiConfig, _end: u64) -> Result<Self> {
        Ok(Self::new(config)?)
    }

    fn config(&self) -> &AlibiConfig {
        self.config()
    }

    fn width(config: &AlibiConfig) -> usize {
        config.num_heads
    }

    fn constants(&self, dtype: DType) -> Vec<Constant> {
        let (dtype, values) = match dtype {
            DType::F64 => (dtype, self.values::<f64>()),
            _ => {
                let single = self.values::<f32>();
                (DType::F32, single.into_iter().map(f64::from).collect())
            }
        };
        let shape = vec![values.len()];
        vec![Constant {
            dtype,
            shape,
            values,
        }]
    }

    fn check(&self, rows: &Rows) -> Result<()> {
        let Some(last) = rows.positions().last().filter(|_| rows.dtype == DType::F16) else {
            return Ok(());
        };
        let mut biases = vec![f16::ZERO; self.config().num_heads];
        self.fill_distances(last..last.saturating_add(1), &mut biases)?;
        if let Some(head) = biases.iter().position(|bias| bias.is_infinite()) {
            bail!("the bias of head {head} at distance {last} is beyond the range of f16");
        }
        Ok(())
    }

    fn writer<T: Element>(
        &self,
        positions: Range<u64>,
    ) -> pe_core::Result<impl FnMut(&mut [Vec<T>]) -> pe_core::Result<()>> {
        let heads = self.config().num_heads;
        Ok(fill_rows(heads, positions, |distances, biases| {
            self.fill_distances(distances, biases)
        }))
    }
}
