//! From a file to a tensor.

use std::path::Path;

use candle_core::{DType, Device, Result, Tensor, WithDType};
use pe_core::{Element, SinusoidalConfig, Table};
use serde::Serialize;

use super::file::message::error;
use crate::layers::additive::PositionalEncoding;
use crate::layers::config::PositionalEncodingConfig;
use crate::tensors::convert::table_to_tensor;

use super::examine::{self, NonFinite};
use super::file::element::dtype_name;
use super::file::element::with_element;
use super::file::header::Limits;
use super::file::message::{quoted, reason};
use super::file::read::{TableFile, TableInfo};
use super::spec::{TableSpec, agree};
use super::verify::{Checks, Verify};

/// What a caller asks of a table in a file. The default asks for what the file says.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("table.safetensors");
/// use candle_core::DType;
/// use pe_candle::checkpoint::{self, LoadOptions, TableSpec};
/// use pe_candle::{Preset, SinusoidalConfig};
///
/// checkpoint::export(&path, &TableSpec::new(SinusoidalConfig::new(64), 0, 10, DType::F32))?;
/// let options = LoadOptions {
///     config: Some(Preset::Whisper.config(64)),
///     ..LoadOptions::default()
/// };
/// let error = options.load(&path).unwrap_err().to_string();
/// assert!(error.contains(r#"layout "interleaved", "concatenated" was asked for"#), "{error}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// The tensor's name. Without one it is `pe`, or else the only tensor that can
    /// be a table.
    pub tensor_name: Option<String>,
    /// The encoding that the table must be. A specification in the file must say the
    /// same; the entries are compared in any case, unless [`Verify::None`].
    pub config: Option<SinusoidalConfig>,
    /// The position that the first row must be. A specification in the file must say the
    /// same; without one it is the position from which on the entries are compared with
    /// `config` (0 by default), and an error where there is no `config` either, since nothing
    /// says then what position the first row is.
    pub start: Option<u64>,
    /// The number of rows that the table must have.
    pub rows: Option<usize>,
    /// The type of the tensor returned: `F32`, `F64`, `F16` or `BF16`; by default the
    /// file's own, or `F32` for the eight-bit types. The entries are converted with one
    /// rounding, to nearest: an exact table so converted was rounded twice, and a few of its
    /// entries are not the nearest any more.
    pub dtype: Option<DType>,
    /// The device of the tensor returned; the CPU by default.
    pub device: Device,
    /// How many entries are compared with what they should be, where the file or
    /// the caller says what that is.
    pub verify: Verify,
    /// The absolute difference up to which an entry passes; 0 by default. Tables that
    /// others computed in f32 are off by up to 1e-4 at position 2,048 and 7e-3 at
    /// 131,072; tables stored in F8_E4M3 by up to 1/32, in F8_E5M2 by up to 1/16. With 0
    /// the entries must be the same bit for bit, the sign of a zero included; above 0 only
    /// their values count.
    pub tolerance: f64,
    /// What happens to infinite and NaN entries, and to those that become infinite by the
    /// conversion to `dtype`.
    pub non_finite: NonFinite,
    /// The largest sizes accepted.
    pub limits: Limits,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            tensor_name: None,
            config: None,
            start: None,
            rows: None,
            dtype: None,
            device: Device::Cpu,
            verify: Verify::default(),
            tolerance: 0.0,
            non_finite: NonFinite::default(),
            limits: Limits::default(),
        }
    }
}

/// A table from a file.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LoadedTable {
    /// The table, `[rows, d_model]`.
    pub tensor: Tensor,
    /// What the file says about itself, its element type included (the tensor's may
    /// be another, if one was asked for). `None` if it says nothing.
    pub spec: Option<TableSpec>,
    /// The tensor's name in the file.
    pub name: String,
}

impl LoadedTable {
    /// A layer with this table, of the table's dtype and on its device.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("table.safetensors");
    /// use candle_core::{DType, Device};
    /// use pe_candle::PositionalEncodingConfig;
    /// use pe_candle::checkpoint::{self, TableSpec};
    ///
    /// let config = PositionalEncodingConfig::new(64);
    /// checkpoint::export(&path, &TableSpec::new(config.sinusoidal, 0, 100, DType::F32))?;
    /// let layer = checkpoint::load(&path, &Device::Cpu)?.into_layer(config)?;
    /// assert_eq!(layer.max_seq_len(), 100);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A file that says to hold another encoding than the configuration's, or
    /// positions that do not begin at 0; else as [`PositionalEncoding::from_table`].
    pub fn into_layer(self, config: PositionalEncodingConfig) -> Result<PositionalEncoding> {
        if let Some(spec) = &self.spec {
            if spec.config != config.sinusoidal {
                let reason = differences(&spec.config, &config.sinusoidal);
                return Err(error(format_args!(
                    "table {}: {reason}",
                    quoted(&self.name)
                )));
            }
            if spec.start != 0 {
                return Err(error(format_args!(
                    "table {} begins at position {}, that of a layer at 0",
                    quoted(&self.name),
                    spec.start
                )));
            }
        }
        PositionalEncoding::from_table(config, self.tensor)
    }
}

/// Loads the table in a safetensors file.
///
/// Files written here are compared, entry by entry, with what their specification
/// gives. Files that others wrote are taken as they are: shape `[T, d]`, `[1, T, d]` or
/// `[T, 1, d]`, of type F32, F64, F16 or BF16, or F8_E4M3 or F8_E5M2 (which become `f32`,
/// without loss), under the name `pe`, or any name if no other tensor can be a table.
/// [`LoadOptions`] asks for more.
///
/// # Errors
/// A file that cannot be read or is no well-formed safetensors file; no table in it,
/// or several; another type; infinite or NaN entries; a specification that is not valid,
/// or differs from the tensor's shape, type or entries. Messages name the file, the tensor
/// and the reason.
pub fn load<P: AsRef<Path>>(path: P, device: &Device) -> Result<LoadedTable> {
    LoadOptions {
        device: device.clone(),
        ..LoadOptions::default()
    }
    .load(path)
}

impl LoadOptions {
    /// Loads the table in a safetensors file, if it is what these options ask for.
    ///
    /// # Errors
    /// As [`load`]; and a specification, shape or entry that differs from what was
    /// asked for; an entry beyond the range of the type asked for.
    pub fn load<P: AsRef<Path>>(&self, path: P) -> Result<LoadedTable> {
        let mut file = TableFile::open(path.as_ref(), self.limits)?;
        let spec = TableSpec::of_file(&file)?;
        let table = file.table(self.tensor_name.as_deref())?;
        let name = table.tensor.name.clone();
        if let Some(reason) = self.refuse(spec.as_ref(), &table) {
            return Err(file.error_of(&name, reason));
        }
        let asked = self
            .config
            .map(|config| TableSpec::new(config, self.start.unwrap_or(0), table.rows, table.dtype));
        let expected = spec.or(asked);
        let dtype = self.dtype.unwrap_or(table.dtype);
        dtype_name(dtype)?;
        let tensor = with_element!(table.dtype, F => with_element!(dtype, D => {
            self.read::<F, D>(&mut file, &table, expected.as_ref())
        }))?;
        Ok(LoadedTable { tensor, spec, name })
    }

    /// Why a table is not what was asked for, by its header alone.
    fn refuse(&self, spec: Option<&TableSpec>, table: &TableInfo) -> Option<String> {
        if let Some(rows) = self.rows.filter(|rows| *rows != table.rows) {
            return Some(format!(
                "the table has {} rows, {rows} were asked for",
                table.rows
            ));
        }
        if let Some(config) = self.config.filter(|config| config.d_model != table.width) {
            return Some(format!(
                "the table has {} columns, d_model {} was asked for",
                table.width, config.d_model
            ));
        }
        let Some(spec) = spec else {
            let start = self.start.filter(|_| self.config.is_none())?;
            return Some(format!(
                "start {start} was asked for, but nothing says what position the first row is: \
                 the file has no specification, and no config was given"
            ));
        };
        if let Err(reason) = agree(spec, table) {
            return Some(reason);
        }
        if let Some(start) = self.start.filter(|start| *start != spec.start) {
            return Some(format!(
                "the specification has start {}, {start} was asked for",
                spec.start
            ));
        }
        let config = self.config.filter(|config| *config != spec.config)?;
        Some(differences(&spec.config, &config))
    }

    fn read<F: Element, D: Element + WithDType>(
        &self,
        file: &mut TableFile,
        table: &TableInfo,
        expected: Option<&TableSpec>,
    ) -> Result<Tensor> {
        let name = &table.tensor.name;
        let checks = match expected {
            Some(spec) if self.verify != Verify::None => Some(Checks {
                encoding: spec
                    .check()
                    .map_err(|error| file.error_of(name, reason(&error)))?,
                start: spec.start,
                rows: table.rows,
                verify: self.verify,
                tolerance: self.tolerance,
            }),
            _ => None,
        };
        let (entries, comparison) =
            examine::entries::<F, D>(file, table, self.non_finite, checks.as_ref())?;
        if !comparison.is_right() {
            let whose = if TableSpec::of_file(file)?.is_some() {
                "by the file's own specification"
            } else {
                "by the encoding asked for"
            };
            return Err(file.error_of(name, format!("{whose}, {comparison}")));
        }
        let table = Table::from_vec(entries, table.width)?;
        table_to_tensor(table, &self.device)
    }
}

/// The fields in which two configurations differ, in words.
pub(crate) fn differences<C: Serialize>(found: &C, asked: &C) -> String {
    let fields = |config| match serde_json::to_value(config) {
        Ok(serde_json::Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    };
    let (found, asked) = (fields(found), fields(asked));
    let list: Vec<String> = found
        .iter()
        .filter_map(|(name, value)| {
            let wanted = asked.get(name)?;
            (wanted != value).then(|| format!("{name} {value}, {wanted} was asked for"))
        })
        .collect();
    format!("the specification has {}", list.join("; "))
}
