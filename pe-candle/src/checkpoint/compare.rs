//! Comparison of the tables in a file with a specification.

use std::path::Path;

use candle_core::Result;

use super::comparison::Comparison;
use super::file::element::with_element;
use super::file::read::TableFile;
use super::load::LoadOptions;
use super::pass;
use super::scheme::Scheme;
use super::spec::Spec;
use super::tables::Tables;
use super::verify::Checks;

/// Compares the tables in a file with the values that a specification gives, in blocks: memory never
/// holds a second table. [`LoadOptions::compare`] has options.
///
/// The specification may be the one in the file, as [`inspect`](crate::checkpoint::inspect) reports
/// it, or any other.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("table.safetensors");
/// use candle_core::DType;
/// use pe_candle::checkpoint::{self, SinusoidalSpec};
/// use pe_candle::{Recipe, SinusoidalConfig};
///
/// let f32_recipe = SinusoidalConfig { recipe: Recipe::ExpF32, ..SinusoidalConfig::new(128) };
/// checkpoint::export(&path, &SinusoidalSpec::new(f32_recipe, 0, 512, DType::F32)?)?;
///
/// let exact = SinusoidalSpec::new(SinusoidalConfig::new(128), 0, 512, DType::F32)?;
/// let comparison = checkpoint::compare(&path, &exact)?;
/// assert!(comparison.wrong > comparison.entries / 2);
/// assert!(comparison.max_difference < 1e-4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns an error if
/// - the file cannot be read, or is not a well-formed safetensors file,
/// - a tensor is missing, or its shape or type differs from the specification's,
/// - the scheme has trained values, which no specification gives.
pub fn compare<S: Scheme, P: AsRef<Path>>(path: P, spec: &Spec<S>) -> Result<Comparison> {
    LoadOptions::default().compare(path, spec)
}

impl<S: Scheme> LoadOptions<S> {
    /// Does the same as [`compare`] with the names, rows (`verify`), tolerance, and limits of these
    /// options.
    ///
    /// # Errors
    /// Returns the errors of [`compare`].
    pub fn compare<P: AsRef<Path>>(&self, path: P, spec: &Spec<S>) -> Result<Comparison> {
        let mut file = TableFile::open(path.as_ref(), self.limits)?;
        let tables = Tables::find(&file, &self.tensor_names, Some(spec))
            .map_err(|reason| file.error(reason))?;
        if !S::COMPUTED {
            return Err(tables.error(&file, format!("{} tables cannot be computed", S::NAME)));
        }
        let checks = Checks {
            spec,
            tables: &tables,
            verify: self.verify,
            tolerance: self.tolerance,
        };
        let mut comparison = Comparison::default();
        for (index, tensor) in tables.constants.iter().enumerate() {
            let bytes = file.read_all(tensor)?;
            comparison = comparison.and(checks.constant(index, &bytes)?);
        }
        let rest = with_element!(tables.dtype, T => pass::compare::<S, T>(&mut file, &checks))?;
        Ok(comparison.and(rest))
    }
}
