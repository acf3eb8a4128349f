//! Floats nearest to wide numbers.

use crate::num::float::{BigFloat, WORDS};
use crate::num::real::Real;
use crate::round::nearest::{Magnitude, nearest};

/// Returns the `f64` nearest to a wide number.
pub(crate) fn to_f64(wide: BigFloat) -> f64 {
    nearest(false, magnitude(wide))
}

/// Returns the `f32` nearest to a wide number.
pub(crate) fn to_f32(wide: BigFloat) -> f32 {
    nearest(false, magnitude(wide))
}

/// Returns the magnitude of a wide number, for [`nearest`].
pub(crate) fn magnitude(wide: BigFloat) -> Magnitude {
    Magnitude {
        bits: wide.mantissa.top128(),
        exponent: wide.exponent,
        sticky: wide.mantissa.0[..WORDS - 2].iter().any(|word| *word != 0),
    }
}

impl Real {
    /// Returns the nearest f64.
    pub(crate) fn to_f64(self) -> f64 {
        nearest(self.negative, magnitude(self.size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::fixed::Fixed;

    /// Words of a mantissa, lowest first. Any bit below the tie decides, however low.
    #[test]
    fn ties_are_decided_by_every_word() {
        let rounded = |low: [u64; 3]| {
            let [a, b, c] = low;
            // 1/2 + 2^-54 is midway between 1/2 and the next f64.
            to_f64(BigFloat {
                mantissa: Fixed([a, b, c, 0, (1 << 63) | (1 << 10)]),
                exponent: 0,
            })
        };
        assert_eq!(rounded([0; 3]), 0.5);
        for low in [[1, 0, 0], [0, 1, 0], [0, 0, 1]] {
            assert_eq!(rounded(low), 0.5 + f64::EPSILON / 2.0, "{low:?}");
        }
    }
}
