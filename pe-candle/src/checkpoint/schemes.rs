//! The schemes, a module for each, and a specification of any of them.

pub(crate) mod alibi;
mod fields;
pub(crate) mod fourier;
mod gguf;
pub(crate) mod grid;
pub(crate) mod rotary;
pub(crate) mod sinusoidal;
#[cfg(test)]
mod tests;
pub(crate) mod timestep;

use std::path::Path;

use candle_core::{DType, Result};
use pe_core::{AlibiSlopes, Sinusoidal, Timestep};

use super::compare::compare;
use super::comparison::Comparison;
use super::file::message::quoted;
use super::file::read::TableFile;
use super::save::export;
use super::scheme::Scheme;
use super::spec::{Spec, scheme_name};
use super::tables::Tables;

use alibi::AlibiSpec;
use fourier::{FourierSpec, FourierTable};
use grid::{GridSpec, GridTable};
use rotary::{RotarySpec, RotaryTables};
use sinusoidal::SinusoidalSpec;
use timestep::TimestepSpec;

/// A specification of any scheme, as a file has it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum AnySpec {
    /// Specification of a sinusoidal table.
    Sinusoidal(SinusoidalSpec),
    /// Specification of a rotary table.
    Rotary(RotarySpec),
    /// Specification of a table of timestep embeddings.
    Timestep(TimestepSpec),
    /// Specification of the encoding of a grid.
    Grid(GridSpec),
    /// Specification of the Fourier features of a grid.
    Fourier(FourierSpec),
    /// Specification of ALiBi's biases.
    Alibi(AlibiSpec),
}

/// Evaluates an expression with the specification, whatever its scheme.
macro_rules! each {
    ($any:expr, $spec:ident => $body:expr) => {
        match $any {
            Self::Sinusoidal($spec) => $body,
            Self::Rotary($spec) => $body,
            Self::Timestep($spec) => $body,
            Self::Grid($spec) => $body,
            Self::Fourier($spec) => $body,
            Self::Alibi($spec) => $body,
        }
    };
}

impl AnySpec {
    /// Reads the JSON object. The error is the reason.
    pub(crate) fn read_json(text: &str) -> std::result::Result<Self, String> {
        match scheme_name(text)?.as_str() {
            Sinusoidal::NAME => SinusoidalSpec::read_json(text).map(Self::Sinusoidal),
            RotaryTables::NAME => RotarySpec::read_json(text).map(Self::Rotary),
            Timestep::NAME => TimestepSpec::read_json(text).map(Self::Timestep),
            GridTable::NAME => GridSpec::read_json(text).map(Self::Grid),
            FourierTable::NAME => FourierSpec::read_json(text).map(Self::Fourier),
            AlibiSlopes::NAME => AlibiSpec::read_json(text).map(Self::Alibi),
            other => Err(format!("scheme {} is not known", quoted(other))),
        }
    }

    /// Returns the name of the scheme, as in files.
    pub fn name(&self) -> &'static str {
        fn name<S: Scheme>(_: &Spec<S>) -> &'static str {
            S::NAME
        }
        each!(self, spec => name(spec))
    }

    /// Returns the usual names of the tensors: tables, then constants.
    pub fn tensors(&self) -> Vec<&'static str> {
        fn tensors<S: Scheme>(_: &Spec<S>) -> Vec<&'static str> {
            S::TABLES.iter().chain(S::CONSTANTS).copied().collect()
        }
        each!(self, spec => tensors(spec))
    }

    /// Returns the number of rows and the width of each table.
    pub fn shape(&self) -> [usize; 2] {
        each!(self, spec => [spec.rows(), spec.width()])
    }

    /// Returns the element type of the tables.
    pub fn dtype(&self) -> DType {
        each!(self, spec => spec.dtype())
    }

    /// Returns the size of all tensors in bytes, if a `u64` can hold it.
    pub fn bytes(&self) -> Option<u64> {
        each!(self, spec => spec.bytes())
    }

    /// Returns the JSON object, as [`Spec::to_json`](crate::checkpoint::Spec::to_json) does.
    ///
    /// # Errors
    /// Returns an error if a value cannot be written as JSON.
    pub fn to_json(&self) -> Result<String> {
        each!(self, spec => spec.to_json())
    }

    /// Computes the tables and writes them to a file, as [`export`](crate::checkpoint::export) does.
    ///
    /// # Errors
    /// Returns the errors of [`export`](crate::checkpoint::export).
    pub fn export<P: AsRef<Path>>(&self, path: P) -> Result<()> {
        each!(self, spec => export(path, spec))
    }

    /// Compares the tables in a file with this specification, as
    /// [`compare`](crate::checkpoint::compare) does.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("table.safetensors");
    /// use candle_core::DType;
    /// use pe_candle::TimestepPreset;
    /// use pe_candle::checkpoint::{self, SpecStatus, TimestepSpec};
    ///
    /// let spec = TimestepSpec::new(TimestepPreset::Flux.config(256), 0, 100, DType::F32)?;
    /// checkpoint::export(&path, &spec)?;
    /// if let SpecStatus::Valid(spec) = checkpoint::inspect(&path)?.spec {
    ///     assert!(spec.compare(&path)?.is_right()); // whatever the scheme is
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`compare`](crate::checkpoint::compare).
    pub fn compare<P: AsRef<Path>>(&self, path: P) -> Result<Comparison> {
        each!(self, spec => compare(path, spec))
    }

    /// Checks that a file has the tensors that the specification describes. The error is the reason.
    pub(crate) fn check_tensors(&self, file: &TableFile) -> std::result::Result<(), String> {
        each!(self, spec => Tables::find(file, &[], Some(spec)).map(drop))
    }
}
