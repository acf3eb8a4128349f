//! The specification that travels with a table.

use std::ops::Range;

use candle_core::{DType, Result, bail};
use pe_core::{MAX_TABLE_BYTES, POSITIONS};
use serde::Deserialize;

use super::file::element::dtype_name;
use super::file::json::parse;
use super::file::message::{error, quoted, reason};
use super::file::read::TableFile;
use super::scheme::{FORMAT, Fields, METADATA_KEY, Rows, Scheme};

/// The most bytes of text. The longest specifications are lists of factors, one for each pair.
const LONGEST: usize = 16 << 20;

/// A checked specification of a table: the encoding, which positions, which element type.
///
/// Building it computes the frequencies. Saving, exporting, comparing, and writing it as JSON use
/// them and check nothing again. In a file it is one JSON object with its fields in this order:
///
/// ```
/// use candle_core::DType;
/// use pe_candle::Preset;
/// use pe_candle::checkpoint::SinusoidalSpec;
///
/// let spec = SinusoidalSpec::new(Preset::Whisper.config(384), 0, 1500, DType::F32)?;
/// assert_eq!(
///     spec.to_json()?,
///     concat!(
///         r#"{"format":1,"scheme":"sinusoidal","#,
///         r#""config":{"d_model":384,"base":{"value":10000.0},"layout":"concatenated","#,
///         r#""spacing":"inclusive","odd_width":"reject","padding_idx":null,"recipe":"exact"},"#,
///         r#""start":0,"rows":1500,"dtype":"f32"}"#,
///     )
/// );
/// assert_eq!(SinusoidalSpec::from_json(&spec.to_json()?)?, spec);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Spec<S> {
    scheme: S,
    rows: Rows,
}

/// The fields that every version of the object has.
#[derive(Deserialize)]
struct Head {
    format: u64,
    scheme: String,
}

impl<S: Scheme> Spec<S> {
    /// Builds the specification of the positions `start .. start + rows`.
    ///
    /// # Errors
    /// Returns an error if
    /// - the configuration is invalid,
    /// - the positions end above 2^32,
    /// - the scheme has fewer rows, such as those of a grid,
    /// - the element type is not `f32`, `f64`, `f16`, or `bf16`, or its range is too small,
    /// - the tensors exceed [`MAX_TABLE_BYTES`](pe_core::MAX_TABLE_BYTES).
    pub fn new(config: S::Config, start: u64, rows: usize, dtype: DType) -> Result<Self> {
        dtype_name(dtype)?;
        let rows = Rows { start, rows, dtype };
        Self::checked(S::build(config, rows.positions().end)?, rows)
    }

    /// Builds the specification of rows of an encoding that has its frequencies already.
    ///
    /// # Errors
    /// Returns the errors of [`Spec::new`] for the rows and their type.
    pub fn of(scheme: S, start: u64, rows: usize, dtype: DType) -> Result<Self> {
        Self::checked(scheme, Rows { start, rows, dtype })
    }

    fn checked(scheme: S, rows: Rows) -> Result<Self> {
        let name = dtype_name(rows.dtype)?;
        let spec = Self { scheme, rows };
        let Range { start, end } = spec.positions();
        if end > POSITIONS {
            bail!("positions {start}..{end} run past {POSITIONS}");
        }
        if spec.bytes().is_none_or(|bytes| bytes > MAX_TABLE_BYTES) {
            let (rows, width) = (spec.rows(), spec.width());
            let (tables, exceed) = match S::TABLES {
                [_] => ("a table", "exceeds"),
                _ => ("tables", "exceed"),
            };
            bail!(
                "{tables} of {rows} rows x {width} columns of {name} {exceed} the limit of \
                 {MAX_TABLE_BYTES} bytes"
            );
        }
        spec.scheme.check(&rows)?;
        Ok(spec)
    }

    /// Returns the encoding with its frequencies.
    pub fn scheme(&self) -> &S {
        &self.scheme
    }

    /// Returns the configuration.
    pub fn config(&self) -> &S::Config {
        self.scheme.config()
    }

    /// Returns the position of the first row.
    pub fn start(&self) -> u64 {
        self.rows.start
    }

    /// Returns the number of rows, one per position.
    pub fn rows(&self) -> usize {
        self.rows.rows
    }

    /// Returns the element type of the tables: `F32`, `F64`, `F16`, or `BF16`.
    pub fn dtype(&self) -> DType {
        self.rows.dtype
    }

    /// Returns the positions of the rows.
    pub fn positions(&self) -> Range<u64> {
        self.rows.positions()
    }

    /// Returns the position of a row.
    pub(crate) fn position(&self, row: usize) -> u64 {
        self.rows.start.saturating_add(row as u64)
    }

    /// Returns the width of a row of each table.
    pub(crate) fn width(&self) -> usize {
        S::width(self.config())
    }

    /// Returns the size of all tensors in bytes, if a `u64` can hold it.
    pub fn bytes(&self) -> Option<u64> {
        let size = |dtype: DType| dtype.size_in_bytes() as u64;
        let entries = (self.rows() as u64).checked_mul(self.width() as u64)?;
        let tables = entries
            .checked_mul(size(self.dtype()))?
            .checked_mul(S::TABLES.len() as u64)?;
        let constants = self.scheme.constants(self.dtype());
        constants.iter().try_fold(tables, |bytes, constant| {
            let values = constant.values.len() as u64;
            bytes.checked_add(values.checked_mul(size(constant.dtype))?)
        })
    }

    /// Returns the JSON object, on one line.
    ///
    /// # Errors
    /// Returns an error if a value cannot be written as JSON.
    pub fn to_json(&self) -> Result<String> {
        let fields = S::Fields::of(&self.scheme, &self.rows)?;
        serde_json::to_string(&fields).map_err(candle_core::Error::wrap)
    }

    /// Reads the JSON object.
    ///
    /// # Errors
    /// Returns an error if
    /// - the text is not such an object, or a field is unknown, missing, or repeated,
    /// - this version does not know the format, or the scheme is another one,
    /// - [`Spec::new`] rejects the values.
    pub fn from_json(text: &str) -> Result<Self> {
        Self::read_json(text).map_err(|reason| error(format_args!("specification: {reason}")))
    }

    /// Does the same as [`Spec::from_json`]. The error is the reason alone.
    pub(crate) fn read_json(text: &str) -> std::result::Result<Self, String> {
        let found = scheme_name(text)?;
        if found != S::NAME {
            let found = quoted(&found);
            return Err(format!(
                "the scheme is {found}, {:?} was asked for",
                S::NAME
            ));
        }
        let fields: S::Fields = parse(text)?;
        let (scheme, rows) = fields.build()?;
        Self::checked(scheme, rows).map_err(|error| reason(&error))
    }

    /// Returns the specification in a file, if the file has one.
    pub(crate) fn of_file(file: &TableFile) -> Result<Option<Self>> {
        let text = file.header.metadata(METADATA_KEY);
        text.map(Self::read_json)
            .transpose()
            .map_err(|reason| file.error(format!("specification: {reason}")))
    }
}

impl Rows {
    pub(crate) fn positions(&self) -> Range<u64> {
        self.start..self.start.saturating_add(self.rows as u64)
    }

    /// Checks that the rows are some of `all`.
    pub(crate) fn check_end(&self, all: u64) -> Result<()> {
        let Range { start, end } = self.positions();
        if end > all {
            bail!("rows {start}..{end} run past the {all} of the grid");
        }
        Ok(())
    }
}

/// Returns the scheme of a specification, if this version reads its format.
pub(crate) fn scheme_name(text: &str) -> std::result::Result<String, String> {
    // A number has at least two bytes here and eight in memory.
    if text.len() > LONGEST {
        return Err(format!(
            "{} bytes of text, above the limit of {LONGEST}",
            text.len()
        ));
    }
    let head: Head = parse(text)?;
    if head.format != u64::from(FORMAT) {
        return Err(format!(
            "format {} is not known (this version reads format {FORMAT})",
            head.format
        ));
    }
    Ok(head.scheme)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specifications_up_to_the_longest_are_parsed() {
        let text = r#"{"format": 1, "scheme": "sinusoidal"}"#;
        let padded = |length: usize| " ".repeat(length - text.len()) + text;
        assert_eq!(scheme_name(&padded(LONGEST)).as_deref(), Ok("sinusoidal"));
        let error = scheme_name(&padded(LONGEST + 1)).unwrap_err();
        assert_eq!(error, "16777217 bytes of text, above the limit of 16777216");
    }
}
