//! The schemes, a module for each, and a specification of any of them.

pub(crate) mod rotary;
pub(crate) mod sinusoidal;
#[cfg(test)]
mod tests;

use pe_core::Sinusoidal;

use super::file::message::quoted;
use super::file::read::TableFile;

use super::scheme::Scheme;

use super::spec::scheme_name;
use super::tables::Tables;

use rotary::{RotarySpec, RotaryTables};
use sinusoidal::SinusoidalSpec;

/// A specification of any scheme, as a file has it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum AnySpec {
    /// Specification of a sinusoidal table.
    Sinusoidal(SinusoidalSpec),
    /// Specification of a rotary table.
    Rotary(RotarySpec),
}

impl AnySpec {
    /// Reads the JSON object. The error is the reason.
    pub(crate) fn read_json(text: &str) -> Result<Self, String> {
        match scheme_name(text)?.as_str() {
            Sinusoidal::NAME => SinusoidalSpec::read_json(text).map(Self::Sinusoidal),
            RotaryTables::NAME => RotarySpec::read_json(text).map(Self::Rotary),
            other => Err(format!("scheme {} is not known", quoted(other))),
        }
    }

    /// Checks that a file has the tensors that the specification describes. The error is the reason.
    pub(crate) fn check_tensors(&self, file: &TableFile) -> Result<(), String> {
        match self {
            Self::Sinusoidal(spec) => Tables::find(file, &[], Some(spec)).map(drop),
            Self::Rotary(spec) => Tables::find(file, &[], Some(spec)).map(drop),
        }
    }
}
