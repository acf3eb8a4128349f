//! The element types of tables.

use half::{bf16, f16};

use crate::round::Float;
use crate::rows::lane::Lane;

/// The element type of a table: `f32`, `f64`, `f16` or `bf16`.
///
/// The trait is sealed; it exists so that tables of every type are made by the
/// same code.
#[allow(private_bounds)] // seals the trait
pub trait Element:
    Float + Lane + Copy + Default + PartialEq + std::fmt::Debug + Send + Sync + 'static
{
    /// The type's name as it is written in safetensors metadata and on the
    /// command line: `f32`, `f64`, `f16`, `bf16`.
    const NAME: &'static str = Self::TYPE;

    /// The value as `f64`, exactly.
    #[inline]
    fn to_f64(self) -> f64 {
        self.widen()
    }

    /// The nearest value of this type, ties to even, in one rounding; too
    /// large values become infinite.
    #[inline]
    fn from_f64(value: f64) -> Self {
        Self::rounded(value)
    }
}

impl Element for f32 {}
impl Element for f64 {}
impl Element for f16 {}
impl Element for bf16 {}
