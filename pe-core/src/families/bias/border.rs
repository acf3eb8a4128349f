//! Borders of logarithmic buckets, exact.

use crate::num::real::Real;

/// Integers around `low (high / low)^(numerator / denominator)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Border {
    /// The largest integer that is not above it.
    pub(crate) floor: u64,
    /// Whether it is this integer.
    pub(crate) exact: bool,
}

impl Border {
    /// Returns the smallest integer that is not below it.
    pub(crate) fn ceil(self) -> u64 {
        self.floor + u64::from(!self.exact)
    }
}

/// Computes a border for `0 < low < high` and `0 < numerator < denominator`, all below 2^32.
///
/// The power can be an integer only where it is rational, which is decided in integers. Otherwise 300 bits show on which
/// side of an integer it is.
pub(crate) fn border(low: u64, high: u64, numerator: u64, denominator: u64) -> Border {
    let share = Real::from(numerator) / Real::from(denominator);
    let ratio = Real::from(high) / Real::from(low);
    // The exponent is below ln 2^32, where `exp` is defined.
    let power = (ratio.ln() * share).exp().unwrap_or(Real::one());
    let value = Real::from(low) * power;
    let near = (value + Real::from(0.5)).floor();
    let integer = near.to_f64() as u64;
    if rational(low, high, numerator, denominator) == Some(integer) {
        return Border {
            floor: integer,
            exact: true,
        };
    }
    Border {
        floor: integer - u64::from(value < near),
        exact: false,
    }
}

/// Returns the value if it is an integer.
fn rational(low: u64, high: u64, numerator: u64, denominator: u64) -> Option<u64> {
    let common = gcd(numerator, denominator);
    let (power, root) = (numerator / common, denominator / common);
    // In lowest terms a fraction has a rational root only if both of its parts have one.
    let common = gcd(low, high);
    let over = root_of(high / common, root)?.checked_pow(u32::try_from(power).ok()?)?;
    let under = root_of(low / common, root)?.checked_pow(u32::try_from(power).ok()?)?;
    let product = low.checked_mul(over)?;
    product.is_multiple_of(under).then(|| product / under)
}

/// Returns the root of a number below 2^32, if it is an integer.
fn root_of(number: u64, root: u64) -> Option<u64> {
    if number == 1 {
        return Some(1);
    }
    let root = u32::try_from(root).ok().filter(|root| *root < 32)?;
    let (mut low, mut high) = (1, number);
    while low < high {
        let middle = low.midpoint(high);
        let below = middle.checked_pow(root).is_some_and(|power| power < number);
        if below {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    (low.checked_pow(root) == Some(number)).then_some(low)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rational_powers_are_exact() {
        // 8 x 16^(k / 8) = 8 x 2^(k / 2).
        let t5 = |k| border(8, 128, k, 8);
        for (k, floor, exact) in [
            (1, 11, false),
            (2, 16, true),
            (3, 22, false),
            (4, 32, true),
            (5, 45, false),
            (6, 64, true),
            (7, 90, false),
        ] {
            assert_eq!(t5(k), Border { floor, exact }, "{k}");
        }
        // 4 x (9 / 4)^(1 / 2) = 6, and a power that is rational but no integer: 3 x (16 / 9)^(1 / 2) = 4 is one.
        assert!(border(4, 9, 1, 2).exact && border(4, 9, 1, 2).floor == 6);
        assert_eq!(rational(3, 12, 1, 2), Some(6));
        // 8 x (27 / 8)^(1 / 3) = 12; 4 x (25 / 4)^(1/2) = 10; 2 x (9 / 4)... has the fraction 9 / 2 in lowest terms.
        assert_eq!(rational(8, 27, 1, 3), Some(12));
        assert_eq!(rational(2, 9, 1, 2), None);
    }

    /// Integers decide: `floor^d <= low^(d - n) high^n < (floor + 1)^d`.
    #[test]
    fn borders_equal_those_of_integer_powers() {
        for (low, high) in [(1, 2), (3, 17), (4, 64), (5, 100), (8, 20), (16, 61)] {
            for denominator in 2..8 {
                for numerator in 1..denominator {
                    let pow = |base: u64, power: u64| u128::from(base).pow(power as u32);
                    let middle = pow(low, denominator - numerator) * pow(high, numerator);
                    let found = border(low, high, numerator, denominator);
                    assert!(
                        pow(found.floor, denominator) <= middle,
                        "{low} {high} {found:?}"
                    );
                    assert!(
                        pow(found.floor + 1, denominator) > middle,
                        "{low} {high} {found:?}"
                    );
                    assert_eq!(found.exact, pow(found.floor, denominator) == middle);
                }
            }
        }
    }
}
