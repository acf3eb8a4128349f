//! A table in a file against a specification.

use std::path::Path;

use candle_core::Result;

use super::examine;
use super::file::element::with_element;
use super::file::header::Limits;
use super::file::message::reason;
use super::file::read::TableFile;
use super::spec::{TableSpec, agree};
use super::verify::{Checks, Comparison, Verify};

/// Compares the table in a file with the numbers that a specification gives, block by
/// block: no second table is held in memory. `name` is the tensor's, chosen as in
/// [`load`](crate::checkpoint::load) if it is `None`.
///
/// The specification may be the file's own, as [`inspect`](crate::checkpoint::inspect)
/// reports it, or any other.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("table.safetensors");
/// use candle_core::DType;
/// use pe_candle::checkpoint::{self, TableSpec};
/// use pe_candle::{Recipe, SinusoidalConfig};
///
/// let f32_recipe = SinusoidalConfig { recipe: Recipe::ExpF32, ..SinusoidalConfig::new(128) };
/// checkpoint::export(&path, &TableSpec::new(f32_recipe, 0, 512, DType::F32))?;
///
/// let exact = TableSpec::new(SinusoidalConfig::new(128), 0, 512, DType::F32);
/// let comparison = checkpoint::compare(&path, None, &exact)?;
/// assert!(comparison.wrong > comparison.entries / 2);
/// assert!(comparison.max_difference < 1e-4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A file that cannot be read; no such tensor; a tensor whose shape or type
/// differs from the specification's; a specification that is not valid.
pub fn compare<P: AsRef<Path>>(
    path: P,
    name: Option<&str>,
    spec: &TableSpec,
) -> Result<Comparison> {
    let mut file = TableFile::open(path.as_ref(), Limits::default())?;
    let table = file.table(name)?;
    if let Err(reason) = agree(spec, &table) {
        return Err(file.error_of(&table.tensor.name, reason));
    }
    let encoding = spec.check().map_err(|error| file.error(reason(&error)))?;
    with_element!(table.dtype, T => {
        let checks = Checks {
            encoding,
            start: spec.start,
            rows: table.rows,
            verify: Verify::All,
            tolerance: 0.0,
        };
        examine::compare::<T>(&mut file, &table, &checks)
    })
}
