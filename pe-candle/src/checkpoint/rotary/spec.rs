//! The specification that travels with a rotary table.

use std::ops::Range;

use candle_core::{DType, Result, bail};
use half::{bf16, f16};
use pe_core::{Element, MAX_TABLE_BYTES, POSITIONS, Rotary, RotaryConfig, RotaryFrequencies};
use serde::{Deserialize, Serialize};

use super::inv_freq_dtype;
use crate::checkpoint::file::element::{dtype_from_name, dtype_name};
use crate::checkpoint::file::message::{error, reason};
use crate::checkpoint::file::object::object;
use crate::checkpoint::scheme::{FORMAT, ROTARY_SCHEME, SCHEME, Scheme, parse, scheme_of};

/// What a rotary table holds: the frequencies, which positions, which element type.
///
/// In the file it is one JSON object with its fields in this order, and the attention factor,
/// by which cosines and sines are multiplied already, at its end:
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
#[derive(Debug, Clone, PartialEq)]
pub struct RotarySpec {
    /// The rotary embedding.
    pub config: RotaryConfig,
    /// The sequence length whose frequencies these are, for scalings whose frequencies depend
    /// on it (dynamic NTK, LongRoPE), and `None` for all others.
    pub seq_len: Option<usize>,
    /// The position of the first row.
    pub start: u64,
    /// The number of rows, one per position.
    pub rows: usize,
    /// The element type of cosines and sines: `F32`, `F64`, `F16` or `BF16`.
    pub dtype: DType,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
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

impl RotarySpec {
    /// The specification of the positions `start .. start + rows`. Where the frequencies depend
    /// on the sequence length, those of a sequence that ends with the last row.
    ///
    /// # Errors
    /// As [`RotarySpec::check`].
    pub fn new(config: RotaryConfig, start: u64, rows: usize, dtype: DType) -> Result<Self> {
        let rotary = Rotary::new(config.clone())?;
        let mut spec = Self {
            config,
            seq_len: None,
            start,
            rows,
            dtype,
        };
        if rotary.depends_on_seq_len() {
            spec.seq_len = usize::try_from(spec.positions().end).ok();
        }
        spec.check()?;
        Ok(spec)
    }

    /// The positions of the rows.
    pub fn positions(&self) -> Range<u64> {
        self.start..self.start.saturating_add(self.rows as u64)
    }

    /// The position of a row.
    pub(super) fn position(&self, row: usize) -> u64 {
        self.start.saturating_add(row as u64)
    }

    /// The size of the three tensors in bytes, if it can be told.
    pub fn bytes(&self) -> Option<u64> {
        let pairs = self.config.rotary_dim as u64 / 2;
        let bytes = |dtype: DType, rows: u64| {
            let entries = rows.checked_mul(pairs)?;
            entries.checked_mul(dtype.size_in_bytes() as u64)
        };
        let table = bytes(self.dtype, self.rows as u64)?;
        let inv_freq = bytes(inv_freq_dtype(self.dtype), 1)?;
        table.checked_mul(2)?.checked_add(inv_freq)
    }

    /// Checks every value and returns the maker of the table's rows.
    ///
    /// # Errors
    /// A configuration that [`Rotary::new`] refuses; a sequence length that is missing, or given
    /// where the frequencies do not depend on it; positions beyond 2^32; an element type other
    /// than the four, or whose range the attention factor leaves; a size above
    /// [`MAX_TABLE_BYTES`](pe_core::MAX_TABLE_BYTES).
    pub fn check(&self) -> Result<RotaryFrequencies> {
        let name = dtype_name(self.dtype)?;
        let rotary = Rotary::new(self.config.clone())?;
        let scaling = self.config.scaling.name();
        match (self.seq_len, rotary.depends_on_seq_len()) {
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
        let Range { start, end } = self.positions();
        if end > POSITIONS {
            bail!("positions {start}..{end} run past {POSITIONS}");
        }
        if self.bytes().is_none_or(|bytes| bytes > MAX_TABLE_BYTES) {
            bail!(
                "cosines and sines of {} rows x {} pairs of {name} exceed the limit of \
                 {MAX_TABLE_BYTES} bytes",
                self.rows,
                rotary.pairs(),
            );
        }
        let frequencies = rotary.frequencies(self.seq_len.unwrap_or(0))?;
        let factor = frequencies.attention_factor();
        let largest = match self.dtype {
            DType::F16 => f16::from_f64(factor).to_f64(),
            DType::BF16 => bf16::from_f64(factor).to_f64(),
            DType::F32 => <f32 as Element>::from_f64(factor).into(),
            _ => factor,
        };
        if !largest.is_finite() {
            bail!("the attention factor {factor:?} is beyond the range of {name}");
        }
        Ok(frequencies)
    }

    /// The JSON object, on one line.
    ///
    /// # Errors
    /// As [`RotarySpec::check`].
    pub fn to_json(&self) -> Result<String> {
        let frequencies = self.check()?;
        let body = Body {
            format: FORMAT,
            scheme: ROTARY_SCHEME.to_owned(),
            config: self.config.clone(),
            seq_len: self.seq_len,
            start: self.start,
            rows: self.rows,
            dtype: dtype_name(self.dtype)?.to_owned(),
            attention_factor: frequencies.attention_factor(),
        };
        serde_json::to_string(&body).map_err(candle_core::Error::wrap)
    }

    /// Reads the JSON object.
    ///
    /// # Errors
    /// Text that is not such an object; a format or scheme that this version does not
    /// know, or that of another table; unknown, missing or repeated fields; values that
    /// [`RotarySpec::check`] refuses; an attention factor that is not the configuration's.
    pub fn from_json(text: &str) -> Result<Self> {
        Self::read_json(text).map_err(|reason| error(format_args!("specification: {reason}")))
    }

    /// As [`RotarySpec::from_json`]; the error is the reason alone.
    pub(crate) fn read_json(text: &str) -> std::result::Result<Self, String> {
        if scheme_of(text)? != Scheme::Rotary {
            return Err(format!(
                "scheme {SCHEME:?} is that of an additive table (load reads it)"
            ));
        }
        let body: Body = parse(text)?;
        let spec = Self {
            config: body.config,
            seq_len: body.seq_len,
            start: body.start,
            rows: body.rows,
            dtype: dtype_from_name(&body.dtype)?,
        };
        let frequencies = spec.check().map_err(|error| reason(&error))?;
        let factor = frequencies.attention_factor();
        if factor != body.attention_factor {
            return Err(format!(
                "attention_factor {:?} is given, that of the configuration is {factor:?}",
                body.attention_factor
            ));
        }
        Ok(spec)
    }
}
