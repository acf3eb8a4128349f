//! The specification that travels with a table.

use std::ops::Range;

use candle_core::{DType, Result, bail};
use pe_core::{MAX_TABLE_BYTES, POSITIONS, Sinusoidal, SinusoidalConfig};
use serde::{Deserialize, Serialize};

use super::file::element::{dtype_from_name, dtype_name};
use super::file::message::{error, reason};
use super::file::object::object;
use super::file::read::{TableFile, TableInfo};
use super::scheme::{FORMAT, METADATA_KEY, ROTARY_SCHEME, SCHEME, Scheme, parse, scheme_of};

/// What a table holds: the encoding, which positions, which element type.
///
/// In the file it is one JSON object with its fields in this order:
///
/// ```
/// use candle_core::DType;
/// use pe_candle::checkpoint::TableSpec;
/// use pe_candle::Preset;
///
/// let spec = TableSpec::new(Preset::Whisper.config(384), 0, 1500, DType::F32);
/// assert_eq!(
///     spec.to_json()?,
///     concat!(
///         r#"{"format":1,"scheme":"sinusoidal","#,
///         r#""config":{"d_model":384,"base":{"value":10000.0},"layout":"concatenated","#,
///         r#""spacing":"inclusive","odd_width":"reject","padding_idx":null,"recipe":"exact"},"#,
///         r#""start":0,"rows":1500,"dtype":"f32"}"#,
///     )
/// );
/// assert_eq!(TableSpec::from_json(&spec.to_json()?)?, spec);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TableSpec {
    /// The encoding.
    pub config: SinusoidalConfig,
    /// The position of the first row.
    pub start: u64,
    /// The number of rows, one per position.
    pub rows: usize,
    /// The element type: `F32`, `F64`, `F16` or `BF16`.
    pub dtype: DType,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    format: u32,
    scheme: String,
    #[serde(deserialize_with = "object")]
    config: SinusoidalConfig,
    start: u64,
    rows: usize,
    dtype: String,
}

impl TableSpec {
    /// The specification of the positions `start .. start + rows`. Values are checked
    /// where the specification is used, or by [`TableSpec::check`].
    pub const fn new(config: SinusoidalConfig, start: u64, rows: usize, dtype: DType) -> Self {
        Self {
            config,
            start,
            rows,
            dtype,
        }
    }

    /// The positions of the rows.
    pub fn positions(&self) -> Range<u64> {
        self.start..self.start.saturating_add(self.rows as u64)
    }

    /// The position of a row.
    pub(crate) fn position(&self, row: usize) -> u64 {
        self.start.saturating_add(row as u64)
    }

    /// The size of the table in bytes, if it can be told.
    pub fn bytes(&self) -> Option<u64> {
        (self.rows as u64)
            .checked_mul(self.config.d_model as u64)?
            .checked_mul(self.dtype.size_in_bytes() as u64)
    }

    /// Checks every value and returns the maker of the table's rows.
    ///
    /// # Errors
    /// A configuration that [`Sinusoidal::new`] refuses; positions beyond 2^32; an
    /// element type other than the four; a size above
    /// [`MAX_TABLE_BYTES`](pe_core::MAX_TABLE_BYTES).
    pub fn check(&self) -> Result<Sinusoidal> {
        dtype_name(self.dtype)?;
        let encoding = Sinusoidal::new(self.config)?;
        let Range { start, end } = self.positions();
        if end > POSITIONS {
            bail!("positions {start}..{end} run past {POSITIONS}");
        }
        if self.bytes().is_none_or(|bytes| bytes > MAX_TABLE_BYTES) {
            bail!(
                "a table of {} rows x {} columns of {} exceeds the limit of {MAX_TABLE_BYTES} bytes",
                self.rows,
                self.config.d_model,
                self.dtype.as_str(),
            );
        }
        Ok(encoding)
    }

    /// The JSON object, on one line.
    ///
    /// # Errors
    /// As [`TableSpec::check`].
    pub fn to_json(&self) -> Result<String> {
        self.check()?;
        let body = Body {
            format: FORMAT,
            scheme: SCHEME.to_owned(),
            config: self.config,
            start: self.start,
            rows: self.rows,
            dtype: dtype_name(self.dtype)?.to_owned(),
        };
        serde_json::to_string(&body).map_err(candle_core::Error::wrap)
    }

    /// Reads the JSON object.
    ///
    /// # Errors
    /// Text that is not such an object; a format or scheme that this version does not
    /// know; unknown, missing or repeated fields; values that [`TableSpec::check`]
    /// refuses. A later format is refused, not guessed at.
    pub fn from_json(text: &str) -> Result<Self> {
        Self::read_json(text).map_err(|reason| error(format_args!("specification: {reason}")))
    }

    /// The specification in a file, if there is one.
    pub(crate) fn of_file(file: &TableFile) -> Result<Option<Self>> {
        let metadata = &file.header.metadata;
        let Some((_, text)) = metadata.iter().find(|(key, _)| key == METADATA_KEY) else {
            return Ok(None);
        };
        match Self::read_json(text) {
            Ok(spec) => Ok(Some(spec)),
            Err(reason) => Err(file.error(format!("specification: {reason}"))),
        }
    }

    /// As [`TableSpec::from_json`]; the error is the reason alone.
    pub(crate) fn read_json(text: &str) -> std::result::Result<Self, String> {
        if scheme_of(text)? != Scheme::Sinusoidal {
            return Err(format!(
                "scheme {ROTARY_SCHEME:?} is that of a rotary table (load_rotary reads it)"
            ));
        }
        let body: Body = parse(text)?;
        let spec = Self {
            config: body.config,
            start: body.start,
            rows: body.rows,
            dtype: dtype_from_name(&body.dtype)?,
        };
        match spec.check() {
            Ok(_) => Ok(spec),
            Err(error) => Err(reason(&error)),
        }
    }
}

/// The specification and the tensor must be of one shape and type.
pub(crate) fn agree(spec: &TableSpec, table: &TableInfo) -> std::result::Result<(), String> {
    let named = [
        ("rows", spec.rows.to_string(), table.rows.to_string()),
        (
            "d_model",
            spec.config.d_model.to_string(),
            table.width.to_string(),
        ),
        (
            "dtype",
            spec.dtype.as_str().to_owned(),
            table.tensor.dtype.to_string().to_lowercase(),
        ),
    ];
    for (what, said, found) in named {
        if said != found {
            return Err(format!(
                "the specification says {what} {said}, the tensor has {found}"
            ));
        }
    }
    Ok(())
}
