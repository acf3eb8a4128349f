//! Element types of tables.

use half::{bf16, f16};

use crate::round::Float;
use crate::rows::lane::Lane;

/// Element type of a table: `f32`, `f64`, `f16`, or `bf16`.
///
/// The trait is sealed. It lets one implementation build tables of every type.
#[allow(private_bounds)] // seals the trait
pub trait Element:
    Float + Lane + Copy + Default + PartialEq + std::fmt::Debug + Send + Sync + 'static
{
    /// Name of the type in safetensors metadata and on the command line: `f32`, `f64`, `f16`,
    /// `bf16`.
    const NAME: &'static str = Self::TYPE;

    /// Returns the value as `f64`, exactly.
    #[inline]
    fn to_f64(self) -> f64 {
        self.widen()
    }

    /// Returns the nearest value of this type, ties to even, in one rounding. Values beyond the
    /// range become infinite.
    #[inline]
    fn from_f64(value: f64) -> Self {
        Self::rounded(value)
    }
}

impl Element for f32 {}
impl Element for f64 {}
impl Element for f16 {}
impl Element for bf16 {}
