//! Slopes of ALiBi, and biases linear in the distance, from their values.

use super::estimate::{ln, snapped};
use super::view::{Tally, View, compare_with, precision};
use super::{Agreement, Identified};
use crate::families::bias::alibi::{AlibiConfig, alibi_slopes};
use crate::rows::element::Element;

/// Returns the specification of a vector of slopes, or `None` if it is none.
pub(super) fn of_slopes<T: Element>(values: &[T]) -> Option<(Identified, Agreement)> {
    let sign = if values.first()?.to_f64() < 0.0 {
        -1.0
    } else {
        1.0
    };
    let slopes: Vec<f64> = values.iter().map(|value| sign * value.to_f64()).collect();
    let config = config(&slopes, precision::<T>())?;
    let exact = alibi_slopes::<T>(&config).ok()?;
    let agreement = compare_with(values, exact.iter().map(|slope| sign * slope.to_f64()));
    Some((
        Identified::Alibi {
            config,
            negative: sign < 0.0,
            keys: None,
        },
        agreement,
    ))
}

/// Returns the specification of a table `[heads, keys]` that is linear along each row, or `None`.
pub(super) fn of_biases<T: Element>(
    values: &[T],
    view: &View<'_>,
) -> Option<(Identified, Agreement)> {
    if view.width < 3 {
        return None;
    }
    let last = view.width - 1;
    let slope = |head: usize| (view.at(head, last) - view.at(head, 0)) / last as f64;
    let slopes: Vec<f64> = (0..view.rows).map(slope).collect();
    let negative = slopes.first()?.is_sign_negative();
    let sign = if negative { -1.0 } else { 1.0 };
    let sizes: Vec<f64> = slopes.iter().map(|slope| sign * slope).collect();
    let config = config(&sizes, 2.0 * view.precision)?;
    let exact = alibi_slopes::<f64>(&config).ok()?;
    // The key with the bias zero.
    let zero = -(view.at(0, 0) / slopes[0]).round();
    let mut tally = Tally::default();
    for (head, slope) in exact.iter().enumerate() {
        for key in 0..view.width {
            let expected = sign * slope * (key as f64 - zero);
            let found = values[head * view.width + key];
            if (found.to_f64() - expected).abs() > 8.0 * view.precision * expected.abs() {
                return None;
            }
            tally.add(found, T::from_f64(expected));
        }
    }
    let keys = Some(view.width);
    Some((
        Identified::Alibi {
            config,
            negative,
            keys,
        },
        tally.agreement(),
    ))
}

/// Returns the specification of positive slopes.
fn config(slopes: &[f64], precision: f64) -> Option<AlibiConfig> {
    let heads = slopes.len();
    let first = *slopes.first()?;
    if heads < 2 || !(first > 0.0 && first < 1.0) {
        return None;
    }
    // Powers of a rounded base, as in the references.
    let tolerance = precision.max(f64::from(f32::EPSILON)) * 16.0;
    let lower = f64::from(1u32 << heads.ilog2());
    let bias_max = -ln(first) / std::f64::consts::LN_2 * lower;
    let bias_max = snapped(bias_max, 2.0 * tolerance);
    let config = AlibiConfig {
        bias_max,
        ..AlibiConfig::new(heads)
    };
    let exact = alibi_slopes::<f64>(&config).ok()?;
    let near = |(found, exact): (&f64, &f64)| (found - exact).abs() <= tolerance * exact;
    slopes.iter().zip(&exact).all(near).then_some(config)
}
