//! Tables of cosines or sines of rotary embeddings from their entries. They begin at position 0.

use super::estimate::{cos_sin, rate_of_wave, snapped};
use super::inv_freq::classify;
use super::view::{View, compare};
use super::{Agreement, Identified, RotaryColumns, RotaryPart};
use crate::error::Result;
use crate::families::rotary::{CosSin, Rotary, RotaryConfig, RotaryFrequencies};
use crate::rows::element::Element;
use crate::spec::recipe::RotaryRecipe;

const ROWS: usize = 2048;

/// Returns the frequencies of a table of cosines or sines, or `None` if it has none.
pub(super) fn identify<T: Element>(
    values: &[T],
    view: &View<'_>,
) -> Option<(Identified, Agreement)> {
    if view.rows < 4 {
        return None;
    }
    let columns = columns(view);
    let pairs = match columns {
        RotaryColumns::Once => view.width,
        _ => view.width / 2,
    };
    let column_of = |pair: usize| match columns {
        RotaryColumns::Repeated => 2 * pair,
        _ => pair,
    };
    let first = view.at(0, 0);
    let same = (0..view.width).all(|column| view.at(0, column) == first);
    let part = match (same, first > 0.0, first == 0.0) {
        (true, true, _) => RotaryPart::Cos,
        (true, _, true) => RotaryPart::Sin,
        _ => return None,
    };
    let rows = view.rows.min(ROWS);
    let noise = view.precision.max(1e-12);
    let rates = (0..pairs).map(|pair| {
        let value = |row| view.at(row, column_of(pair));
        let rate = rate_of_wave(rows, &value);
        // Sines of small angles are the angles.
        let last = (rows - 1) as f64;
        match rate {
            Some(rate) if part == RotaryPart::Sin && rate * last < 0.5 => {
                let amplitude = amplitude(rows, &|row| view.at(row, column_of(0)), part, first);
                slow_rate(value(rows - 1) / amplitude, last, noise)
            }
            Some(rate) if (rate * last) * (rate * last) > 16.0 * noise => {
                let turned = rate * last;
                (rate, 8.0 * noise * (1.0 + 1.0 / (turned * turned)))
            }
            // Cosines that hardly differ from 1 contain no information.
            _ => (1.0, f64::INFINITY),
        }
    });
    let rates: Vec<(f64, f64)> = rates.collect();
    let amplitude = amplitude(rows, &|row| view.at(row, column_of(0)), part, first);
    let config = classify(&rates)?;
    best_recipe(values, view, config, amplitude, part, columns)
}

/// Returns the rate of a slow sine by its entry in the last row, and the uncertainty of its angle: more than the next
/// term of the series.
fn slow_rate(sine: f64, last: f64, noise: f64) -> (f64, f64) {
    let angle = sine + sine * sine * sine / 6.0;
    (angle / last, 8.0 * noise + angle * angle * angle * angle)
}

/// Returns how often each frequency is in a row.
fn columns(view: &View<'_>) -> RotaryColumns {
    let half = view.width / 2;
    if !view.width.is_multiple_of(2) {
        RotaryColumns::Once
    } else if (0..half).all(|at| view.columns_are_equal(at, at + half)) {
        RotaryColumns::Concatenated
    } else if (0..half).all(|at| view.columns_are_equal(2 * at, 2 * at + 1)) {
        RotaryColumns::Repeated
    } else {
        RotaryColumns::Once
    }
}

/// Returns the factor of all entries.
fn amplitude(rows: usize, value: &dyn Fn(usize) -> f64, part: RotaryPart, first: f64) -> f64 {
    if part == RotaryPart::Cos {
        return first;
    }
    let Some(rate) = rate_of_wave(rows, value).filter(|rate| *rate > 0.05) else {
        return 1.0;
    };
    let angles: Vec<f64> = (0..rows.min(256)).map(|row| rate * row as f64).collect();
    let (mut square, mut product) = (0.0, 0.0);
    for (row, (_, sin)) in cos_sin(&angles).into_iter().enumerate() {
        square += sin * sin;
        product += sin * value(row);
    }
    let amplitude = product / square;
    if (amplitude - 1.0).abs() < 1e-2 && part == RotaryPart::Sin {
        return snapped(amplitude, 4e-3);
    }
    amplitude
}

/// Compares the table with the exact one and with that of transformers.
fn best_recipe<T: Element>(
    values: &[T],
    view: &View<'_>,
    config: RotaryConfig,
    amplitude: f64,
    part: RotaryPart,
    columns: RotaryColumns,
) -> Option<(Identified, Agreement)> {
    let mut best: Option<(Identified, Agreement)> = None;
    for recipe in RotaryRecipe::ALL {
        let config = RotaryConfig {
            recipe,
            ..config.clone()
        };
        let Ok(frequencies) = Rotary::new(config.clone()).and_then(|rotary| rotary.frequencies(1))
        else {
            continue;
        };
        let own = frequencies.attention_factor();
        let tolerance = 4.0 * view.precision * amplitude.abs() + 1e-6;
        let attention_factor = if (own - amplitude).abs() <= tolerance {
            own
        } else {
            snapped(amplitude, view.precision / 2.0)
        };
        let agreement = compare(values, view.width, |rows| {
            let positions = rows.start as u64..rows.end as u64;
            table::<T>(
                &frequencies,
                positions,
                attention_factor / own,
                part,
                columns,
            )
        });
        let Ok(agreement) = agreement else { continue };
        let tolerance = amplitude * (4.0 * view.precision + 2e-6 + 1e-6 * view.rows as f64);
        let better = best
            .as_ref()
            .is_none_or(|(_, best)| agreement.equal_share > best.equal_share);
        if agreement.largest_error <= tolerance && better {
            let found = Identified::Rotary {
                config,
                part,
                columns,
                attention_factor,
            };
            best = Some((found, agreement));
        }
    }
    best
}

/// Returns the rows of a table, times a factor.
fn table<T: Element>(
    frequencies: &RotaryFrequencies,
    positions: std::ops::Range<u64>,
    factor: f64,
    part: RotaryPart,
    columns: RotaryColumns,
) -> Result<Vec<T>> {
    let half: Vec<T> = if factor == 1.0 {
        of_part(frequencies.tables::<T>(positions)?, part)
    } else {
        let exact = of_part(frequencies.tables::<f64>(positions)?, part);
        exact
            .iter()
            .map(|entry| T::from_f64(factor * entry))
            .collect()
    };
    let pairs = frequencies.pairs();
    Ok(match columns {
        RotaryColumns::Once => half,
        RotaryColumns::Concatenated => half
            .chunks(pairs)
            .flat_map(|row| [row, row].concat())
            .collect(),
        RotaryColumns::Repeated => half.into_iter().flat_map(|entry| [entry, entry]).collect(),
    })
}

fn of_part<T: Element>(tables: CosSin<T>, part: RotaryPart) -> Vec<T> {
    match part {
        RotaryPart::Cos => tables.cos.into_vec(),
        RotaryPart::Sin => tables.sin.into_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_sines_have_the_rate_of_their_last_entry() {
        for angle in [0.01f64, 0.1, 0.4] {
            let (_, sine) = cos_sin(&[angle])[0];
            let (rate, uncertainty) = slow_rate(sine, 20.0, 1e-6);
            let fourth = angle * angle * angle * angle;
            assert!((rate * 20.0 - angle).abs() < fourth, "{angle}: {rate}");
            let difference = (uncertainty - 8e-6 - fourth).abs();
            assert!(difference < 0.02 * fourth, "{angle}: {uncertainty}");
        }
    }
}
