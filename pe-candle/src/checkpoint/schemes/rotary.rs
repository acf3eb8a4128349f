//! Rotary tables in files.
//!
//! A file has three tensors:
//!
//! ```text
//! cos, sin   [rows, rotary_dim/2]   attention_factor x cos(position x inv_freq), and of sin
//! inv_freq   [rotary_dim/2]         radians per position
//! ```
//!
//! `inv_freq` is f32, as in other programs, or f64 in a file of f64. 16 bits would be too few, because
//! the position multiplies its error. Exact cosines and sines are computed from the real frequencies,
//! not from these rounded ones.

use std::ops::Range;

use candle_core::{DType, Result, Tensor, bail};
use half::{bf16, f16};
use pe_core::{Element, Rotary, RotaryConfig, RotaryFrequencies};
use serde::{Deserialize, Serialize};

use crate::checkpoint::file::element::{dtype_from_name, dtype_name};
use crate::checkpoint::file::json::object;
use crate::checkpoint::file::message::reason;
use crate::checkpoint::scheme::{Constant, FORMAT, Fields, Rows, Scheme, Sealed, Tensors};
use crate::checkpoint::spec::Spec;

/// The tensor of cosines.
pub const COS_TENSOR: &str = "cos";

/// The tensor of sines.
pub const SIN_TENSOR: &str = "sin";

/// The tensor of frequencies.
pub const INV_FREQ_TENSOR: &str = "inv_freq";

/// Specification of a table of cosines and sines.
///
/// Its JSON object ends with the attention factor, which multiplies every cosine and sine:
///
/// ```
/// use candle_core::DType;
/// use pe_candle::checkpoint::RotarySpec;
/// use pe_candle::{RopeScaling, RotaryConfig};
///
/// let config = RotaryConfig {
///     scaling: RopeScaling::Linear { factor: 4.0 },
///     ..RotaryConfig::new(128)
/// };
/// let spec = RotarySpec::new(config, 0, 4096, DType::BF16)?;
/// assert_eq!(
///     spec.to_json()?,
///     concat!(
///         r#"{"format":1,"scheme":"rotary","#,
///         r#""config":{"rotary_dim":128,"base":10000.0,"scaling":{"linear":{"factor":4.0}},"#,
///         r#""max_position_embeddings":null,"recipe":"exact"},"#,
///         r#""seq_len":null,"start":0,"rows":4096,"dtype":"bf16","attention_factor":1.0}"#,
///     )
/// );
/// assert_eq!(RotarySpec::from_json(&spec.to_json()?)?, spec);
/// # Ok::<(), candle_core::Error>(())
/// ```
pub type RotarySpec = Spec<RotaryTables>;

/// A rotary embedding with the frequencies of sequences of one length, the builder of its cosines and
/// sines.
///
/// [`Spec::new`] uses the length of a sequence that ends with the last row, where the frequencies
/// depend on it.
#[derive(Debug, Clone)]
pub struct RotaryTables {
    rotary: Rotary,
    seq_len: Option<usize>,
    frequencies: RotaryFrequencies,
}

/// Tensors of a rotary table.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RotaryTensors {
    /// Cosines, `[rows, rotary_dim/2]`, multiplied by the attention factor.
    pub cos: Tensor,
    /// Sines, likewise.
    pub sin: Tensor,
    /// Radians per position, `[rotary_dim/2]`: f32, or f64 in a file of f64.
    pub inv_freq: Tensor,
}

impl RotaryTables {
    /// Computes the frequencies of sequences of `seq_len` positions.
    ///
    /// # Errors
    /// Returns an error if the frequencies depend on the length and `seq_len` is `None`, or if they do
    /// not depend on it and `seq_len` is given. Also returns the errors of [`Rotary::frequencies`].
    pub fn new(rotary: Rotary, seq_len: Option<usize>) -> Result<Self> {
        let scaling = rotary.config().scaling.name();
        match (seq_len, rotary.depends_on_seq_len()) {
            (None, true) => bail!(
                "the frequencies of {scaling} scaling depend on the sequence length, and no \
                 seq_len is given"
            ),
            (Some(length), false) => bail!(
                "seq_len {length} is given, but the frequencies of {scaling} scaling do not \
                 depend on it"
            ),
            _ => {}
        }
        let frequencies = rotary.frequencies(seq_len.unwrap_or(0))?;
        Ok(Self {
            rotary,
            seq_len,
            frequencies,
        })
    }

    /// Returns the length of the sequences, where the frequencies depend on it (dynamic NTK, LongRoPE).
    pub fn seq_len(&self) -> Option<usize> {
        self.seq_len
    }

    /// Returns the frequencies, with the attention factor.
    pub fn frequencies(&self) -> &RotaryFrequencies {
        &self.frequencies
    }
}

impl PartialEq for RotaryTables {
    fn eq(&self, other: &Self) -> bool {
        (&self.rotary, self.seq_len) == (&other.rotary, other.seq_len)
    }
}

#[doc(hidden)]
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RotaryFields {
    format: u32,
    scheme: String,
    #[serde(deserialize_with = "object")]
    config: RotaryConfig,
    seq_len: Option<usize>,
    start: u64,
    rows: usize,
    dtype: String,
    attention_factor: f64,
}

impl Fields<RotaryTables> for RotaryFields {
    fn of(tables: &RotaryTables, rows: &Rows) -> Result<Self> {
        Ok(Self {
            format: FORMAT,
            scheme: RotaryTables::NAME.to_owned(),
            config: tables.config().clone(),
            seq_len: tables.seq_len,
            start: rows.start,
            rows: rows.rows,
            dtype: dtype_name(rows.dtype)?.to_owned(),
            attention_factor: tables.frequencies.attention_factor(),
        })
    }

    fn build(self) -> std::result::Result<(RotaryTables, Rows), String> {
        let rows = Rows {
            start: self.start,
            rows: self.rows,
            dtype: dtype_from_name(&self.dtype)?,
        };
        let rotary = Rotary::new(self.config).map_err(|error| error.to_string())?;
        let tables = RotaryTables::new(rotary, self.seq_len).map_err(|error| reason(&error))?;
        let factor = tables.frequencies.attention_factor();
        if factor != self.attention_factor {
            return Err(format!(
                "attention_factor {:?} is given, that of the configuration is {factor:?}",
                self.attention_factor
            ));
        }
        Ok((tables, rows))
    }
}

impl Tensors for RotaryTensors {
    fn from_loaded(mut loaded: impl Iterator<Item = Tensor>) -> Option<Self> {
        Some(Self {
            cos: loaded.next()?,
            sin: loaded.next()?,
            inv_freq: loaded.next()?,
        })
    }
}

impl Sealed for RotaryTables {}

impl Scheme for RotaryTables {
    const NAME: &'static str = "rotary";
    const TABLES: &'static [&'static str] = &[COS_TENSOR, SIN_TENSOR];
    const CONSTANTS: &'static [&'static str] = &[INV_FREQ_TENSOR];
    const WIDTH: &'static str = "rotary_dim/2";
    type Config = RotaryConfig;
    type Fields = RotaryFields;
    type Tensors = RotaryTensors;

    fn build(config: RotaryConfig, end: u64) -> Result<Self> {
        let rotary = Rotary::new(config)?;
        let grows = rotary.depends_on_seq_len();
        let seq_len = usize::try_from(end).ok().filter(|_| grows);
        Self::new(rotary, seq_len)
    }

    fn config(&self) -> &RotaryConfig {
        self.rotary.config()
    }

    fn width(config: &RotaryConfig) -> usize {
        config.rotary_dim / 2
    }

    fn constants(&self, dtype: DType) -> Vec<Constant> {
        let (dtype, values) = match dtype {
            DType::F64 => (dtype, self.frequencies.inv_freq()),
            _ => {
                let single = self.frequencies.inv_freq_f32();
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
        let dtype = rows.dtype;
        let factor = self.frequencies.attention_factor();
        let largest = match dtype {
            DType::F16 => f16::from_f64(factor).to_f64(),
            DType::BF16 => bf16::from_f64(factor).to_f64(),
            DType::F32 => <f32 as Element>::from_f64(factor).into(),
            _ => factor,
        };
        if !largest.is_finite() {
            let name = dtype.as_str();
            bail!("the attention factor {factor:?} is beyond the range of {name}");
        }
        Ok(())
    }

    fn writer<T: Element>(
        &self,
        positions: Range<u64>,
    ) -> pe_core::Result<impl FnMut(&mut [Vec<T>]) -> pe_core::Result<()>> {
        let mut blocks = self.frequencies.blocks(positions)?;
        Ok(move |tables: &mut [Vec<T>]| match tables {
            [cos, sin] => blocks.write(cos, sin),
            _ => Ok(()),
        })
    }
}
