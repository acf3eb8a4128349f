//! Loading of tables from files.

use std::path::Path;

use candle_core::{DType, Device, Error, Result, Tensor, WithDType};
use pe_core::{Element, Sinusoidal, Table};
use serde::Serialize;

use super::comparison::Comparison;
use super::file::element::{dtype_name, elements, first_not_finite, with_element};
use super::file::header::TensorInfo;
use super::file::limits::Limits;
use super::file::message::reason;
use super::file::read::TableFile;
use super::pass::{self, NonFinite};
use super::scheme::{Scheme, Tensors};
use super::spec::Spec;
use super::tables::Tables;
use super::verify::{Checks, Verify};
use crate::tensors::convert::table_to_tensor;

/// Requirements on the tables in a file. The default requires what the file states.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("table.safetensors");
/// use candle_core::DType;
/// use pe_candle::checkpoint::{self, LoadOptions, SinusoidalSpec};
/// use pe_candle::{Preset, SinusoidalConfig};
///
/// let spec = SinusoidalSpec::new(SinusoidalConfig::new(64), 0, 10, DType::F32)?;
/// checkpoint::export(&path, &spec)?;
/// let options = LoadOptions {
///     config: Some(Preset::Whisper.config(64)),
///     ..LoadOptions::default()
/// };
/// let error = options.load(&path).unwrap_err().to_string();
/// assert!(error.contains(r#"layout "interleaved", "concatenated" was asked for"#), "{error}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct LoadOptions<S: Scheme = Sinusoidal> {
    /// Names of the tensors, in the order of the scheme: `pe`, or `cos`, `sin`, `inv_freq`. If there
    /// are none, they are these, but a sinusoidal table may have any name if no other tensor can be a
    /// table.
    pub tensor_names: Vec<String>,
    /// Encoding that the tables must have. A specification in the file must state the same. The
    /// entries are compared in any case, unless with [`Verify::None`].
    pub config: Option<S::Config>,
    /// Position of the first row. A specification in the file must state the same. Without one, the
    /// comparison with `config` starts there, by default at 0. With neither it is an error, because
    /// nothing states the position of the first row.
    pub start: Option<u64>,
    /// Number of rows.
    pub rows: Option<usize>,
    /// Type of the returned tables: `F32`, `F64`, `F16`, or `BF16`. Defaults to the file's own, or
    /// `F32` for 8-bit types. Entries are converted with one rounding, to nearest. A converted exact
    /// table was rounded twice, and a few of its entries are no longer the nearest. Constants such as
    /// `inv_freq` keep their type.
    pub dtype: Option<DType>,
    /// Device of the returned tensors. Defaults to the CPU.
    pub device: Device,
    /// Choice of the rows that are compared with the specification, where the file or `config` gives
    /// one.
    pub verify: Verify,
    /// Largest absolute difference that passes. Defaults to 0, which compares bits, including the
    /// sign of a zero. Above 0 only values count. Tables that others computed in f32 differ by up to
    /// 1e-4 at position 2,048 and 7e-3 at 131,072. Tables stored in F8_E4M3 differ by up to 1/32, in
    /// F8_E5M2 by up to 1/16.
    pub tolerance: f64,
    /// Treatment of infinite and NaN entries, and of entries that become infinite by the conversion to
    /// `dtype`.
    pub non_finite: NonFinite,
    /// Largest accepted sizes.
    pub limits: Limits,
}

impl<S: Scheme> Default for LoadOptions<S> {
    fn default() -> Self {
        Self {
            tensor_names: Vec::new(),
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

/// Tables from a file.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Loaded<S: Scheme = Sinusoidal> {
    /// The tensors: `[rows, d_model]` of a sinusoidal table,
    /// [`RotaryTensors`](crate::checkpoint::RotaryTensors) of a rotary one.
    pub table: S::Tensors,
    /// The specification in the file, with the element type in the file. `None` if the file has none.
    pub spec: Option<Spec<S>>,
    /// Names of the tensors in the file, in the order of the scheme.
    pub names: Vec<String>,
}

/// Loads the sinusoidal table in a safetensors file.
///
/// Every entry of a file written here is compared with its specification. A file of another program
/// is used unchanged: shape `[T, d]`, `[1, T, d]`, or `[T, 1, d]`, of type F32, F64, F16, or BF16, or
/// F8_E4M3 or F8_E5M2 (which become `f32`, without loss), under the name `pe`, or any name if no other
/// tensor can be a table. [`LoadOptions`] requires more, or less.
///
/// # Errors
/// Returns an error if
/// - the file cannot be read, or is not a well-formed safetensors file,
/// - it has no table, or several, or one of another type,
/// - an entry is infinite or NaN,
/// - its specification is invalid, or differs from the tensor's shape, type, or entries.
///
/// Messages name the file, the tensor, and the reason.
pub fn load<P: AsRef<Path>>(path: P, device: &Device) -> Result<Loaded> {
    load_as(path, device)
}

/// Loads the tables of a scheme, as [`load`] loads a sinusoidal one.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("rotary.safetensors");
/// # use candle_core::{DType, Device, Tensor};
/// # use pe_candle::checkpoint::{self, RotarySpec, RotaryTables};
/// # let spec = RotarySpec::new(pe_core::RotaryConfig::new(64), 0, 32, DType::F32)?;
/// # checkpoint::export(&path, &spec)?;
/// let rotary = checkpoint::load_as::<RotaryTables>(&path, &Device::Cpu)?.table;
/// let q = Tensor::zeros((1, 8, 16, 64), DType::F32, &Device::Cpu)?;
/// let (cos, sin) = (rotary.cos.narrow(0, 0, 16)?, rotary.sin.narrow(0, 0, 16)?);
/// let q = candle_nn::rotary_emb::rope(&q, &cos, &sin)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns the errors of [`load`], or an error if a scheme of several tensors has no specification in
/// the file.
pub fn load_as<S: Scheme>(path: impl AsRef<Path>, device: &Device) -> Result<Loaded<S>> {
    let device = device.clone();
    LoadOptions {
        device,
        ..LoadOptions::default()
    }
    .load_as(path)
}

impl LoadOptions {
    /// Loads the sinusoidal table in a safetensors file, if it meets these requirements.
    ///
    /// # Errors
    /// Returns the errors of [`load`], or an error if the specification, the shape, or an entry differs
    /// from the requirements, or an entry exceeds the range of the type asked for.
    pub fn load<P: AsRef<Path>>(&self, path: P) -> Result<Loaded> {
        self.load_as(path)
    }
}

impl<S: Scheme> LoadOptions<S> {
    /// Loads the tables of a scheme, if they meet these requirements.
    ///
    /// # Errors
    /// Returns the errors of [`LoadOptions::load`] and [`load_as`].
    pub fn load_as<P: AsRef<Path>>(&self, path: P) -> Result<Loaded<S>> {
        let mut file = TableFile::open(path.as_ref(), self.limits)?;
        let spec = Spec::<S>::of_file(&file)?;
        if spec.is_none() && S::TABLES.len() > 1 {
            let name = S::NAME;
            return Err(file.error(format!("no specification of a {name} table")));
        }
        let tables = Tables::find(&file, &self.tensor_names, spec.as_ref())
            .map_err(|reason| file.error(reason))?;
        if let Some(reason) = self.mismatch(spec.as_ref(), &tables) {
            return Err(tables.error(&file, reason));
        }
        let asked = match (&spec, &self.config) {
            (None, Some(config)) => Some(self.asked(&file, &tables, config.clone())?),
            _ => None,
        };
        let dtype = self.dtype.unwrap_or(tables.dtype);
        dtype_name(dtype)?;
        let checks = spec.as_ref().or(asked.as_ref()).map(|spec| Checks {
            spec,
            tables: &tables,
            verify: self.verify,
            tolerance: self.tolerance,
        });
        let checks = checks.filter(|_| S::COMPUTED && self.verify != Verify::None);
        let table = with_element!(tables.dtype, F => with_element!(dtype, D => {
            self.read::<F, D>(&mut file, &tables, checks.as_ref(), spec.is_some())
        }))?;
        let names = tables.names();
        Ok(Loaded { table, spec, names })
    }

    /// Builds the specification of a file that has none.
    fn asked(&self, file: &TableFile, tables: &Tables, config: S::Config) -> Result<Spec<S>> {
        let start = self.start.unwrap_or(0);
        Spec::new(config, start, tables.rows, tables.dtype)
            .map_err(|error| tables.error(file, reason(&error)))
    }

    /// Returns how the tables differ from these requirements, by the header alone.
    fn mismatch(&self, spec: Option<&Spec<S>>, tables: &Tables) -> Option<String> {
        let (bytes, limit) = (tables.bytes(), self.limits.table_bytes);
        if bytes > limit {
            return Some(format!("{bytes} bytes, above the limit of {limit}"));
        }
        if let Some(rows) = self.rows.filter(|rows| *rows != tables.rows) {
            let found = tables.rows;
            return Some(format!("the table has {found} rows, {rows} were asked for"));
        }
        let width = self.config.as_ref().map(S::width);
        if let Some(width) = width.filter(|width| *width != tables.width) {
            let (found, name) = (tables.width, S::WIDTH);
            return Some(format!(
                "the table has {found} columns, {name} {width} was asked for"
            ));
        }
        let Some(spec) = spec else {
            let start = self.start.filter(|_| self.config.is_none())?;
            return Some(format!(
                "start {start} was asked for, but nothing says what position the first row is: \
                 the file has no specification, and no config was given"
            ));
        };
        if let Some(start) = self.start.filter(|start| *start != spec.start()) {
            let found = spec.start();
            return Some(format!(
                "the specification has start {found}, {start} was asked for"
            ));
        }
        let config = self.config.as_ref();
        let config = config.filter(|config| *config != spec.config())?;
        Some(differences(spec.config(), config))
    }

    fn read<F: Element, D: Element + WithDType>(
        &self,
        file: &mut TableFile,
        tables: &Tables,
        checks: Option<&Checks<'_, S>>,
        has_spec: bool,
    ) -> Result<S::Tensors> {
        let (mut constants, mut comparison) = (Vec::new(), Comparison::default());
        for (index, tensor) in tables.constants.iter().enumerate() {
            let bytes = file.read_all(tensor)?;
            if let Some(checks) = checks {
                comparison = comparison.and(checks.constant(index, &bytes)?);
            }
            constants.push((tensor, bytes));
        }
        let (entries, of_tables) = pass::entries::<S, F, D>(file, tables, self.non_finite, checks)?;
        comparison = comparison.and(of_tables);
        if let Some(first) = &comparison.first_wrong {
            let by = match has_spec {
                true => "by the file's own specification",
                false => "by the encoding asked for",
            };
            return Err(file.error_of(&first.tensor, format!("{by}, {comparison}")));
        }
        let mut tensors = Vec::new();
        for entries in entries {
            let table = Table::from_vec(entries, tables.width)?;
            tensors.push(table_to_tensor(table, &self.device)?);
        }
        for (tensor, bytes) in constants {
            let dtype = DType::try_from(tensor.dtype)?;
            tensors.push(with_element!(dtype, T => self.constant::<T>(file, tensor, &bytes))?);
        }
        S::Tensors::from_loaded(tensors.into_iter())
            .ok_or_else(|| file.error("a tensor is missing"))
    }

    fn constant<T: Element + WithDType>(
        &self,
        file: &TableFile,
        tensor: &TensorInfo,
        bytes: &[u8],
    ) -> Result<Tensor> {
        let entries: Vec<T> = elements(bytes).collect();
        if self.non_finite == NonFinite::Reject
            && let Some(at) = first_not_finite(&entries)
        {
            let value = entries
                .get(at)
                .map_or(f64::NAN, |entry| Element::to_f64(*entry));
            let reason = format!("the entry at {at} is {value:?}");
            return Err::<_, Error>(file.error_of(&tensor.name, reason));
        }
        Tensor::from_vec(entries, tensor.shape.as_slice(), &self.device)
    }
}

/// Lists the differences between two configurations, by field.
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
