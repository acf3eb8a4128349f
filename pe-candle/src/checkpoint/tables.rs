//! The tables of a scheme in a file.

use candle_core::{DType, Error};
use safetensors::Dtype;

use super::file::blocks::RowBlocks;
use super::file::element;
use super::file::header::TensorInfo;
use super::file::message::quoted;
use super::file::read::{TableFile, TableInfo};
use super::scheme::Scheme;
use super::spec::Spec;

/// Tables of one shape and type, and the constants next to them.
#[derive(Debug)]
pub(crate) struct Tables {
    pub(crate) tables: Vec<TensorInfo>,
    pub(crate) constants: Vec<TensorInfo>,
    /// The type that the entries are read as.
    pub(crate) dtype: DType,
    pub(crate) rows: usize,
    pub(crate) width: usize,
}

impl Tables {
    /// Finds the tensors of a scheme by the given names, or by the usual ones if `names` is empty. A
    /// scheme of a single tensor may then have another name, if no other tensor can be a table. They
    /// must match the specification, if the file has one. The error is the reason.
    pub(crate) fn find<S: Scheme>(
        file: &TableFile,
        names: &[String],
        spec: Option<&Spec<S>>,
    ) -> Result<Self, String> {
        let any_name = names.is_empty();
        let names = names_of::<S>(names)?;
        let any_name = any_name && names.len() == 1;
        let (tables, constants) = names.split_at(S::TABLES.len().min(names.len()));
        let mut found: Vec<TableInfo> = Vec::new();
        for name in tables {
            let other = any_name && file.header.tensor(name).is_none();
            let table = file.table(Some(*name).filter(|_| !other))?;
            if let Some(spec) = spec {
                agree(spec, &table)?;
            }
            found.push(table);
        }
        let constants = constants.iter().map(|name| match file.header.tensor(name) {
            Some(tensor) => Ok(tensor.clone()),
            None => Err(format!("no tensor {}", quoted(name))),
        });
        let constants = constants.collect::<Result<_, String>>()?;
        let Some(first) = found.first() else {
            return Err("no tables".to_owned());
        };
        let shape = |table: &TableInfo| (table.rows, table.width, table.tensor.dtype);
        if let Some(other) = found.iter().find(|other| shape(other) != shape(first)) {
            return Err(format!(
                "tensor {} is {} {:?}, but {} is {} {:?}",
                quoted(&other.tensor.name),
                other.tensor.dtype,
                other.tensor.shape,
                quoted(&first.tensor.name),
                first.tensor.dtype,
                first.tensor.shape
            ));
        }
        let (dtype, rows, width) = (first.dtype, first.rows, first.width);
        let tables = Self {
            tables: found.into_iter().map(|table| table.tensor).collect(),
            constants,
            dtype,
            rows,
            width,
        };
        spec.map_or(Ok(()), |spec| tables.check_constants(spec))?;
        Ok(tables)
    }

    /// Checks types and shapes of the constants. The error is the reason.
    pub(crate) fn check_constants<S: Scheme>(&self, spec: &Spec<S>) -> Result<(), String> {
        let wanted = spec.scheme().constants(spec.dtype());
        for (found, wanted) in self.constants.iter().zip(wanted) {
            let dtype = Dtype::from(wanted.dtype);
            if (found.dtype, &found.shape) != (dtype, &wanted.shape) {
                return Err(format!(
                    "tensor {}: the specification says {dtype} {:?}, the tensor is {} {:?}",
                    quoted(&found.name),
                    wanted.shape,
                    found.dtype,
                    found.shape
                ));
            }
        }
        Ok(())
    }

    /// Returns the names of the tensors: tables, then constants.
    pub(crate) fn names(&self) -> Vec<String> {
        let tensors = self.tables.iter().chain(&self.constants);
        tensors.map(|tensor| tensor.name.clone()).collect()
    }

    /// Returns the size of all tensors in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let tensors = self.tables.iter().chain(&self.constants);
        tensors.fold(0, |sum, tensor| sum.saturating_add(tensor.bytes))
    }

    /// Returns an error about the tables, with the name of a single one.
    pub(crate) fn error(&self, file: &TableFile, reason: impl std::fmt::Display) -> Error {
        match &self.tables[..] {
            [table] => file.error_of(&table.name, reason),
            _ => file.error(reason),
        }
    }

    /// Divides the tables into blocks. The error is the reason.
    pub(crate) fn blocks(&self) -> Result<RowBlocks, String> {
        // The types that a table can have are of whole bytes.
        let bits = self.tables.first().map_or(0, |table| table.dtype.bitsize());
        RowBlocks::new(self.rows, self.width, bits / 8)
    }

    /// Returns how an element of one byte is widened.
    pub(crate) fn widening(&self) -> Option<fn(u8) -> f64> {
        match self.tables.first()?.dtype {
            Dtype::F8_E4M3 => Some(element::f8_e4m3),
            Dtype::F8_E5M2 => Some(element::f8_e5m2),
            _ => None,
        }
    }
}

/// Returns the names of the tensors of a scheme: the given ones, or the usual ones. The error is the
/// reason.
pub(crate) fn names_of<S: Scheme>(given: &[String]) -> Result<Vec<&str>, String> {
    let usual: Vec<&str> = S::TABLES.iter().chain(S::CONSTANTS).copied().collect();
    match given.len() {
        0 => Ok(usual),
        count if count == usual.len() => Ok(given.iter().map(String::as_str).collect()),
        count => Err(format!(
            "{count} tensor names are given for the {} of a {} table: {}",
            usual.len(),
            S::NAME,
            usual.join(", ")
        )),
    }
}

/// Checks that a table has the shape and type of a specification. The error is the reason.
fn agree<S: Scheme>(spec: &Spec<S>, table: &TableInfo) -> Result<(), String> {
    let found = table.tensor.dtype.to_string().to_lowercase();
    let named = [
        ("rows", spec.rows().to_string(), table.rows.to_string()),
        (S::WIDTH, spec.width().to_string(), table.width.to_string()),
        ("dtype", spec.dtype().as_str().to_owned(), found),
    ];
    for (what, said, found) in named {
        if said != found {
            let name = quoted(&table.tensor.name);
            return Err(format!(
                "tensor {name}: the specification says {what} {said}, the tensor has {found}"
            ));
        }
    }
    Ok(())
}
