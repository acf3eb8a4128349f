//! The schemes, a module for each, and a specification of any of them.

pub(crate) mod alibi;
mod fields;
pub(crate) mod fourier;
pub(crate) mod grid;
pub(crate) mod rotary;
pub(crate) mod sinusoidal;
#[cfg(test)]
mod tests;
pub(crate) mod timestep;

use pe_core::{AlibiSlopes, Sinusoidal, Timestep};

use super::file::message::quoted;
use super::file::read::TableFile;

use super::scheme::Scheme;

use super::spec::scheme_name;
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

impl AnySpec {
    /// Reads the JSON object. The error is the reason.
    pub(crate) fn read_json(text: &str) -> Result<Self, String> {
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

    /// Checks that a file has the tensors that the specification describes. The error is the reason.
    pub(crate) fn check_tensors(&self, file: &TableFile) -> Result<(), String> {
        match self {
            Self::Sinusoidal(spec) => Tables::find(file, &[], Some(spec)).map(drop),
            Self::Rotary(spec) => Tables::find(file, &[], Some(spec)).map(drop),
            Self::Timestep(spec) => Tables::find(file, &[], Some(spec)).map(drop),
            Self::Grid(spec) => Tables::find(file, &[], Some(spec)).map(drop),
            Self::Fourier(spec) => Tables::find(file, &[], Some(spec)).map(drop),
            Self::Alibi(spec) => Tables::find(file, &[], Some(spec)).map(drop),
        }
    }
}
