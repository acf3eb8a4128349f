//! Estimates from rounded entries: logarithms, angles, frequencies. They are approximate, and the same on
//! every machine.

use crate::num::elementary::FixedPoint;
use crate::num::real::Real;
use crate::round::to_f64;
use crate::rows::angles::cos_sin_of_angles_f64;

const TAU: f64 = std::f64::consts::TAU;

fn signed(real: Real) -> f64 {
    let size = to_f64(real.size);
    if real.negative { -size } else { size }
}

/// Returns the natural logarithm of a positive finite number.
pub(super) fn ln(value: f64) -> f64 {
    signed(Real::from(FixedPoint::ln(value)))
}

/// Returns e to this power, if it is finite and positive.
pub(super) fn exp(value: f64) -> Option<f64> {
    let power = signed(Real::from(value).exp()?);
    (power.is_finite() && power > 0.0).then_some(power)
}

/// Returns `base` to this power, for a positive base.
pub(super) fn pow(base: f64, exponent: f64) -> Option<f64> {
    exp(ln(base) * exponent)
}

/// Returns the cosines and sines of angles.
pub(super) fn cos_sin(angles: &[f64]) -> Vec<(f64, f64)> {
    let mut cos = vec![0.0; angles.len()];
    let mut sin = vec![0.0; angles.len()];
    // The lengths are equal.
    let _ = cos_sin_of_angles_f64(angles, &mut cos, &mut sin);
    cos.into_iter().zip(sin).collect()
}

/// Returns the angle of the point (x, y), within 1e-12.
pub(super) fn angle(y: f64, x: f64) -> f64 {
    let (small, large) = (x.abs().min(y.abs()), x.abs().max(y.abs()));
    if large == 0.0 || !large.is_finite() {
        return 0.0;
    }
    let t = small / large;
    let octant = t * (TAU / 8.0 + 0.273 * (1.0 - t)); // within 0.004
    let quadrant = if y.abs() > x.abs() {
        TAU / 4.0 - octant
    } else {
        octant
    };
    let half = if x < 0.0 {
        TAU / 2.0 - quadrant
    } else {
        quadrant
    };
    let mut angle = if y < 0.0 { -half } else { half };
    for _ in 0..2 {
        for (cos, sin) in cos_sin(&[angle]) {
            let error = (y * cos - x * sin) / (x * cos + y * sin);
            angle += error - error * error * error / 3.0;
        }
    }
    angle
}

/// Returns the difference of two angles, from minus half a turn to half a turn.
pub(super) fn wrapped(angle: f64) -> f64 {
    angle - TAU * (angle / TAU).round()
}

/// Returns the radians per row of a sequence of points on a circle. Points that are `None` are unknown.
pub(super) fn rate_of_points(
    rows: usize,
    point: &dyn Fn(usize) -> Option<(f64, f64)>,
) -> Option<f64> {
    let mut rate = 0.0;
    let mut lag = 1;
    while lag < rows {
        let (mut re, mut im) = (0.0, 0.0);
        for row in 0..rows - lag {
            if let (Some((x, y)), Some((u, v))) = (point(row), point(row + lag)) {
                re += x * u + y * v;
                im += x * v - y * u;
            }
        }
        if re != 0.0 || im != 0.0 {
            let expected = rate * lag as f64;
            rate = (expected + wrapped(angle(im, re) - expected)) / lag as f64;
        }
        lag *= 2;
    }
    (rate != 0.0).then_some(rate)
}

/// Returns the radians per row of a sequence `a cos(rate x row + phase)`, at least 0.
pub(super) fn rate_of_wave(rows: usize, value: &dyn Fn(usize) -> f64) -> Option<f64> {
    let mut rate: Option<f64> = None;
    let mut lag = 1;
    while 2 * lag < rows {
        let (mut square, mut product) = (0.0, 0.0);
        for row in lag..rows - lag {
            let x = value(row);
            square += 2.0 * x * x;
            product += x * (value(row - lag) + value(row + lag));
        }
        if square == 0.0 {
            return None;
        }
        let cos = (product / square).clamp(-1.0, 1.0);
        let seen = angle((1.0 - cos * cos).sqrt(), cos);
        let lag_f64 = lag as f64;
        rate = Some(match rate {
            None => seen,
            Some(rate) => {
                let expected = rate * lag_f64;
                let error = [seen, -seen]
                    .map(|seen| wrapped(seen - expected))
                    .into_iter()
                    .min_by(|a, b| a.abs().total_cmp(&b.abs()))
                    .unwrap_or(0.0);
                ((expected + error) / lag_f64).max(0.0)
            }
        });
        lag *= 2;
    }
    rate
}

/// Returns the number with the fewest decimal digits within a relative distance, and their count.
pub(super) fn simplest(value: f64, uncertainty: f64) -> (f64, usize) {
    for digits in 1..=16 {
        let rounded: f64 = format!("{value:.*e}", digits - 1).parse().unwrap_or(value);
        if (rounded - value).abs() <= uncertainty * value.abs() {
            return (rounded, digits);
        }
    }
    (value, 17)
}

/// Returns the simplest number within a distance that the estimate justifies, 1e-9 at least.
pub(super) fn snapped(value: f64, uncertainty: f64) -> f64 {
    simplest(value, uncertainty.max(1e-9)).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angles_of_all_octants_are_right() {
        for k in -31..=31 {
            let expected = f64::from(k) / 10.0;
            let (cos, sin) = cos_sin(&[expected])[0];
            assert!(
                (angle(2.5 * sin, 2.5 * cos) - expected).abs() < 1e-12,
                "{expected}"
            );
        }
    }

    #[test]
    fn rates_are_found_from_rounded_values() {
        for expected in [3.0, 1.0, 0.3, 0.01, 1e-4] {
            let angles: Vec<f64> = (0..300).map(|row| expected * f64::from(row)).collect();
            let points: Vec<(f64, f64)> = cos_sin(&angles)
                .into_iter()
                .map(|(cos, sin)| (f64::from(cos as f32), f64::from(sin as f32)))
                .collect();
            let found = rate_of_points(300, &|row| Some(points[row])).unwrap();
            assert!((found / expected - 1.0).abs() < 1e-5, "{found} {expected}");
            let found = rate_of_wave(300, &|row| points[row].0).unwrap();
            assert!((found - expected).abs() < 1e-5, "{found} {expected}");
        }
    }

    #[test]
    fn simple_numbers_have_few_digits() {
        assert_eq!(simplest(9999.98, 1e-5), (10000.0, 1));
        assert_eq!(simplest(499_999.9, 1e-6), (500_000.0, 1));
        assert_eq!(simplest(8192.001, 1e-6), (8192.0, 4));
        assert_eq!(simplest(0.1, 0.0), (0.1, 1));
    }
}
