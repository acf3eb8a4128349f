//! Bases and scalings of rotary frequencies from their values.

use super::estimate::{exp, ln, pow, simplest, snapped};
use super::view::{compare_with, precision};
use super::{Agreement, Identified};
use crate::families::rotary::{Rotary, RotaryConfig, RotaryFrequencies};
use crate::rows::element::Element;
use crate::spec::recipe::RotaryRecipe;
use crate::turns::scaling::{Llama3Scaling, RopeScaling, YarnScaling};

const TAU: f64 = std::f64::consts::TAU;

/// Frequencies in radians per position, each with its relative uncertainty. One that is not known at all has an
/// infinite one.
pub(super) type Estimates<'a> = &'a [(f64, f64)];

/// Returns the base and the scaling of a vector of frequencies, or `None` if it is none of these.
pub(super) fn identify<T: Element>(values: &[T]) -> Option<(Identified, Agreement)> {
    let uncertainty = 4.0 * precision::<T>().max(f64::from(f32::EPSILON) / 2.0);
    let estimates: Vec<(f64, f64)> = values
        .iter()
        .map(|value| (value.to_f64(), uncertainty))
        .collect();
    let config = classify(&estimates)?;
    let mut agreement = compare_with(values, at_one(&config)?.inv_freq());
    let recipe = RotaryConfig {
        recipe: RotaryRecipe::HfF32,
        ..config.clone()
    };
    let mut best = config;
    if let Some(frequencies) = at_one(&recipe) {
        let other = compare_with(values, frequencies.inv_freq());
        if other.equal_share > agreement.equal_share {
            (best, agreement) = (recipe, other);
        }
    }
    Some((Identified::InvFreq { config: best }, agreement))
}

fn at_one(config: &RotaryConfig) -> Option<RotaryFrequencies> {
    Rotary::new(config.clone()).ok()?.frequencies(1).ok()
}

/// Returns the base and the scaling that give these frequencies.
pub(super) fn classify(estimates: Estimates<'_>) -> Option<RotaryConfig> {
    let rotating = estimates.iter().take_while(|(f, _)| *f > 0.0).count();
    let rest_is_zero = estimates[rotating..].iter().all(|(f, _)| *f == 0.0);
    if rotating < 2 || !rest_is_zero {
        return None;
    }
    let all = estimates.len();
    let estimates = &estimates[..rotating];
    let candidates = [
        geometric(estimates, all),
        (rotating == all).then(|| bent(estimates)).flatten(),
    ];
    candidates
        .into_iter()
        .flatten()
        .find(|config| agrees(config, estimates))
}

fn agrees(config: &RotaryConfig, estimates: Estimates<'_>) -> bool {
    let Some(frequencies) = at_one(config) else {
        return false;
    };
    let exact = frequencies.inv_freq();
    let near = |((found, uncertainty), exact): (&(f64, f64), &f64)| {
        (found - exact).abs() <= 2.0 * uncertainty * exact
    };
    estimates.iter().zip(&exact).all(near)
}

/// Returns the mean of the logarithms of ratios to the first frequency for each pair, with its
/// uncertainty.
fn slope(estimates: Estimates<'_>) -> Option<(f64, f64)> {
    let (first, of_first) = *estimates.first()?;
    let (mut sum, mut total) = (0.0, 0.0);
    for (pair, (frequency, uncertainty)) in estimates.iter().enumerate().skip(1) {
        if uncertainty.is_infinite() {
            continue;
        }
        let pair = pair as f64;
        let weight = pair * pair / (uncertainty * uncertainty + of_first * of_first);
        sum += weight * ln(frequency / first) / pair;
        total += weight;
    }
    (total > 0.0).then(|| (sum / total, 2.0 / total.sqrt()))
}

/// Returns no scaling, a linear one, or a proportional one.
fn geometric(estimates: Estimates<'_>, all: usize) -> Option<RotaryConfig> {
    let (first, of_first) = *estimates.first()?;
    let (slope, uncertainty) = slope(estimates)?;
    if slope >= 0.0 {
        return None;
    }
    let pairs = all as f64;
    let base = snapped(exp(-slope * pairs)?, uncertainty * pairs);
    let factor = snapped(1.0 / first, of_first);
    let scaling = match (estimates.len() == all, factor == 1.0) {
        (false, _) => RopeScaling::Proportional {
            partial_rotary_factor: estimates.len() as f64 / pairs,
            factor,
        },
        (true, true) => RopeScaling::Default,
        // No released model has frequencies above one.
        (true, false) if factor > 1.0 => RopeScaling::Linear { factor },
        _ => return None,
    };
    Some(RotaryConfig {
        base,
        scaling,
        ..RotaryConfig::new(2 * all)
    })
}

/// Returns the scaling of Llama 3 or YaRN: the first frequencies are unscaled, the last ones divided by a
/// factor.
fn bent(estimates: Estimates<'_>) -> Option<RotaryConfig> {
    let pairs = estimates.len();
    let unscaled = unscaled(estimates)?;
    let (slope, uncertainty) = slope(&estimates[..unscaled])?;
    let base = snapped(exp(-slope * pairs as f64)?, uncertainty * pairs as f64);
    // The share of the unscaled frequency in each.
    let (last, of_last) = *estimates.last()?;
    let plain = |pair: usize| pow(base, -(pair as f64) / pairs as f64);
    let factor = snapped(plain(pairs - 1)? / last, 2.0 * of_last);
    if factor <= 1.0 {
        return None;
    }
    let mut shares = Vec::new();
    for (pair, (frequency, _)) in estimates.iter().enumerate() {
        let plain = plain(pair)?;
        let share = (frequency / plain - 1.0 / factor) / (1.0 - 1.0 / factor);
        shares.push((pair as f64, plain, share));
    }
    let between: Vec<(f64, f64, f64)> = shares
        .into_iter()
        .filter(|(_, _, share)| (0.01..0.99).contains(share))
        .collect();
    let config = RotaryConfig {
        base,
        ..RotaryConfig::new(2 * pairs)
    };
    let by_frequency: Vec<(f64, f64)> = between.iter().map(|(_, plain, s)| (*plain, *s)).collect();
    let by_pair: Vec<(f64, f64)> = between.iter().map(|(pair, _, s)| (*pair, *s)).collect();
    let scalings = [
        llama3(&by_frequency, factor),
        yarn(&by_pair, factor, base, pairs),
    ];
    scalings
        .into_iter()
        .flatten()
        .map(|scaling| RotaryConfig {
            scaling,
            ..config.clone()
        })
        .find(|config| agrees(config, estimates))
}

/// Returns the number of frequencies at the beginning that are powers of one base.
fn unscaled(estimates: Estimates<'_>) -> Option<usize> {
    let mut count = 2;
    for end in 3..=estimates.len() {
        let (slope, _) = slope(&estimates[..end])?;
        let (first, _) = estimates[0];
        let on_line = estimates[..end]
            .iter()
            .enumerate()
            .all(|(pair, (f, of))| (ln(f / first) - slope * pair as f64).abs() <= 2.0 * of);
        if !on_line {
            break;
        }
        count = end;
    }
    let (first, uncertainty) = *estimates.first()?;
    ((first - 1.0).abs() <= 2.0 * uncertainty).then_some(count)
}

/// Returns the slope and the value at zero of the line through points, if they are on one.
fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let n = points.len() as f64;
    if points.len() < 2 {
        return None;
    }
    let (x, y) = points
        .iter()
        .fold((0.0, 0.0), |(a, b), (x, y)| (a + x / n, b + y / n));
    let (mut xx, mut xy) = (0.0, 0.0);
    for (a, b) in points {
        xx += (a - x) * (a - x);
        xy += (a - x) * (b - y);
    }
    let slope = xy / xx;
    (xx > 0.0).then_some((slope, y - slope * x))
}

/// Returns the scaling of Llama 3. Only the ratios of its lengths and factors show in the frequencies:
/// `low_freq_factor` counts as 1.
fn llama3(shares: &[(f64, f64)], factor: f64) -> Option<RopeScaling> {
    // share = (original x f / 2 pi - low) / (high - low). One point is not enough for both: `high_freq_factor`
    // is 4 then, as in all released models.
    let (slope, high) = match *shares {
        [(plain, share)] => ((share + 1.0 / 3.0) / plain, 4.0),
        _ => {
            let (slope, zero) = line(shares)?;
            (slope, simplest(1.0 - 1.0 / zero, 2e-3).0)
        }
    };
    let original = slope * TAU * (high - 1.0);
    let (original, _) = simplest(original, 2e-3);
    (original >= 1.0 && high > 1.0).then(|| {
        RopeScaling::Llama3(Llama3Scaling {
            factor,
            low_freq_factor: 1.0,
            high_freq_factor: high,
            original_max_position_embeddings: near_power_of_two(original),
        })
    })
}

/// Returns the power of two within half a percent, or the number.
fn near_power_of_two(length: f64) -> usize {
    let length = length.round() as usize;
    let power = length.next_power_of_two();
    let powers = [power / 2, power];
    let near = powers.into_iter().find(|p| p.abs_diff(length) * 200 <= *p);
    near.unwrap_or(length)
}

/// Returns the scaling of YaRN with its usual numbers of turns, 32 and 1.
fn yarn(shares: &[(f64, f64)], factor: f64, base: f64, pairs: usize) -> Option<RopeScaling> {
    let (slope, zero) = line(shares)?;
    // share = 1 - (pair - low) / (high - low)
    let (low, high) = ((1.0 - zero) / slope, -zero / slope);
    let dim = 2.0 * pairs as f64;
    let edge = |original: f64, turns: f64| dim * ln(original / (turns * TAU)) / (2.0 * ln(base));
    let powers = (8..=24).map(|bits| 1usize << bits);
    let lengths = powers.clone().chain(powers.map(|power| power / 2 * 3));
    let mut found = None;
    for truncate in [true, false] {
        for original in lengths.clone() {
            let length = original as f64;
            let (a, b) = (edge(length, 32.0), edge(length, 1.0));
            let (a, b) = if truncate {
                (a.floor(), b.ceil())
            } else {
                (a, b)
            };
            let (a, b) = (a.max(0.0), b.min(dim - 1.0));
            if (a - low).abs() < 0.02 && (b - high).abs() < 0.02 {
                found = found.or(Some(YarnScaling {
                    truncate,
                    ..YarnScaling::new(factor, original)
                }));
            }
        }
    }
    found.map(RopeScaling::Yarn)
}
