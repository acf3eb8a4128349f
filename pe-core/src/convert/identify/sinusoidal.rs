//! Sinusoidal tables from their entries.
//!
//! ```text
//! columns that are on a circle ─► radians per row ─► ratio of neighboring pairs ─► base and spacing
//!                                                    phases of the first row    ─► start
//! ```
//!
//! Each candidate is then compared with the exact table.

use super::estimate::{angle, cos_sin, exp, ln, rate_of_points, simplest, snapped, wrapped};
use super::view::{View, compare, spread};
use super::{Agreement, Identified};
use crate::convert::preset::Preset;
use crate::error::Result;
use crate::families::sinusoidal::{Sinusoidal, SinusoidalConfig};
use crate::limits::POSITIONS;
use crate::rows::columns::Columns;
use crate::rows::element::Element;
use crate::spec::layout::{OddWidth, SinusoidLayout};
use crate::spec::recipe::Recipe;
use crate::spec::spacing::{Base, Spacing};

const TAU: f64 = std::f64::consts::TAU;
const PAIRS: usize = 48;
const ROWS: usize = 2048;

/// A convention with its positions `start + step x row`, and entries multiplied by `scale`.
#[derive(Clone, Copy)]
struct Candidate {
    config: SinusoidalConfig,
    start: f64,
    step: f64,
    scale: f64,
    /// Decimal digits of the base.
    digits: usize,
    error: f64,
}

/// Returns the convention of a table, or `None` if it has none of these.
pub(super) fn identify<T: Element>(
    values: &[T],
    view: &View<'_>,
) -> Option<(Identified, Agreement)> {
    if view.rows < 2 || view.width < 2 {
        return None;
    }
    let odd = match view.width % 2 {
        0 => &[OddWidth::Reject][..],
        _ => &[OddWidth::ZeroPad, OddWidth::Truncate][..],
    };
    let mut candidates = Vec::new();
    for layout in SinusoidLayout::ALL {
        for odd in odd {
            candidates.extend(candidates_of(view, layout, *odd).unwrap_or_default());
        }
    }
    // The usual base first, then the one with the fewest digits.
    candidates
        .sort_by_key(|candidate| (candidate.config.base != Base::default(), candidate.digits));
    let least = candidates
        .iter()
        .map(|candidate| candidate.error)
        .fold(f64::INFINITY, f64::min);
    // Errors of f32 frequencies grow with the position.
    let near = |candidate: &&Candidate| {
        let last = candidate.start.abs() + view.rows as f64;
        candidate.error <= 4.0 * least + 2.0 * view.precision + 2e-7 * last
    };
    // A candidate with more digits must be clearly better.
    let (candidate, _) = candidates
        .iter()
        .filter(near)
        .filter_map(|candidate| with_recipe(values, view, candidate))
        .reduce(|best, other| {
            let digits = |candidate: &Candidate| {
                (candidate.config.base == Base::default(), candidate.digits)
            };
            let margin = if digits(&best.0) == digits(&other.0) {
                0.0
            } else {
                0.05
            };
            match other.1 > best.1 + margin {
                true => other,
                false => best,
            }
        })?;
    let encoding = Sinusoidal::new(candidate.config).ok()?;
    let agreement = compare(values, view.width, |rows| {
        expected(&encoding, &candidate, view, &rows.collect::<Vec<_>>())
    });
    let found = Identified::Sinusoidal {
        config: candidate.config,
        start: candidate.start,
        step: candidate.step,
        scale: candidate.scale,
        presets: presets(&candidate.config),
    };
    Some((found, agreement.ok()?))
}

/// Returns the conventions with an order of columns that the table may have.
fn candidates_of(view: &View<'_>, layout: SinusoidLayout, odd: OddWidth) -> Option<Vec<Candidate>> {
    let columns = Columns::new(view.width, layout, odd).ok()?;
    if let Some(last) = columns.odd_one_out()
        && view.column_is_zero(last) != (odd == OddWidth::ZeroPad)
    {
        return None;
    }
    let pairs = spread(columns.complete_pairs(), PAIRS);
    let scale = radius(view, &columns, &pairs)?;
    let rows = view.rows.min(ROWS);
    let rates = pairs.iter().map(|pair| {
        let (sine, cosine) = columns.of_pair(*pair);
        rate_of_points(rows, &|row| {
            (Some(row) != view.zero_row).then(|| (view.at(row, cosine), view.at(row, sine)))
        })
    });
    let rates = rates.collect::<Option<Vec<f64>>>()?;
    let noise = view.precision.max(1e-12);
    let step = snapped(*rates.first()?, 2.0 * noise / rows as f64 + 1e-6);
    let (ratio, uncertainty) = log_ratio(&pairs, &rates, step, rows, noise)?;

    let width = view.width as f64;
    let all = columns.pairs as f64;
    // Denominators of the exponents.
    let mut spacings = vec![
        (Spacing::Paper, odd, width / 2.0),
        (Spacing::Inclusive, odd, all - 1.0),
    ];
    match odd {
        OddWidth::ZeroPad => spacings.push((Spacing::Shifted(0.0), odd, all)),
        OddWidth::Truncate => {
            spacings.insert(1, (Spacing::Paper, OddWidth::RoundUp, (width / 2.0).ceil()))
        }
        _ => {}
    }
    let mut candidates = Vec::new();
    for (spacing, odd_width, n) in spacings {
        let bases = match columns.pairs {
            1 => vec![(10000.0, 1)],
            _ if n > 0.0 => {
                let base = exp(-ratio * n)?;
                // Roundings of an f32 exponent shift the base too.
                let of = |least: f64| simplest(base, (uncertainty * n).max(least));
                let mut bases = vec![of(2e-6), of(1e-9)];
                bases.dedup();
                bases
            }
            _ => Vec::new(),
        };
        for (base, digits) in bases {
            let config = SinusoidalConfig {
                d_model: view.width,
                base: Base::Value(base),
                layout,
                spacing,
                odd_width,
                padding_idx: None,
                recipe: Recipe::Exact,
            };
            candidates.extend(located(view, config, [step, scale], digits));
        }
    }
    Some(candidates)
}

/// Returns the common radius of all pairs, if they have one.
fn radius(view: &View<'_>, columns: &Columns, pairs: &[usize]) -> Option<f64> {
    let square = |row: usize, pair: usize| {
        let (sine, cosine) = columns.of_pair(pair);
        let (s, c) = (view.at(row, sine), view.at(row, cosine));
        s * s + c * c
    };
    let rows = view.sample(128);
    let first = square(*rows.first()?, 0);
    let tolerance = 6.0 * view.precision + 1e-5;
    let near = |value: f64| (value - first).abs() <= tolerance * first;
    let same = first > 0.0
        && rows
            .iter()
            .all(|row| pairs.iter().all(|p| near(square(*row, *p))));
    if !same {
        return None;
    }
    let sum: f64 = rows
        .iter()
        .flat_map(|row| pairs.iter().map(|pair| square(*row, *pair)))
        .sum();
    let mean = (sum / (rows.len() * pairs.len()) as f64).sqrt();
    Some(snapped(mean, view.precision / 2.0 + 1e-6))
}

/// Returns the logarithm of the ratio of neighboring frequencies, and its uncertainty.
fn log_ratio(
    pairs: &[usize],
    rates: &[f64],
    step: f64,
    rows: usize,
    noise: f64,
) -> Option<(f64, f64)> {
    let mut estimates = Vec::new();
    for (pair, rate) in pairs.iter().zip(rates).skip(1) {
        let relative = rate / step;
        if relative <= 0.0 || !relative.is_finite() {
            return None;
        }
        let turns = rate.abs() * rows as f64;
        let index = *pair as f64;
        let sigma = noise * (1.0 + 1.0 / turns) / index;
        estimates.push((ln(relative) / index, 1.0 / (sigma * sigma)));
    }
    let total: f64 = estimates.iter().map(|(_, weight)| weight).sum();
    if total == 0.0 {
        return Some((0.0, 0.0));
    }
    let mean = estimates.iter().map(|(x, weight)| x * weight).sum::<f64>() / total;
    let scatter = estimates
        .iter()
        .map(|(x, weight)| weight * (x - mean) * (x - mean))
        .sum::<f64>()
        / total;
    Some((mean, 3.0 * scatter.sqrt() + 2.0 / total.sqrt()))
}

/// Finds the first position of a convention, and returns the candidate if it agrees with some rows.
fn located(
    view: &View<'_>,
    config: SinusoidalConfig,
    [step, scale]: [f64; 2],
    digits: usize,
) -> Option<Candidate> {
    let encoding = Sinusoidal::new(config).ok()?;
    let start = first_position(view, &encoding, step)?;
    let start = match (start - start.round()).abs() < 0.02 && step.abs() == 1.0 {
        true => start.round() + 0.0,
        false => snapped(start, 4.0 * view.precision + 1e-6),
    };
    let error = error(view, &encoding, [start, step, scale])?;
    Some(Candidate {
        config,
        start,
        step,
        scale,
        digits,
        error,
    })
}

/// Returns the position of the first row: the phases of all pairs have to agree on it.
fn first_position(view: &View<'_>, encoding: &Sinusoidal, step: f64) -> Option<f64> {
    const TURNS: u32 = 1 << 14;
    let phases = phases(view, encoding, step)?;
    let (slowest, phase) = *phases.first()?;
    // Neighboring pairs may differ by a factor of 10 in frequency, and then in error.
    let enough = 0.02 + 50.0 * view.precision;
    let (mut best, mut least) = (None, f64::INFINITY);
    for turns in 0..TURNS {
        // By one pair after the other, starting with the slowest.
        let mut start = (phase + TAU * f64::from(turns)) / slowest;
        let mut disagreement = 0f64;
        for (rate, phase) in &phases[1..] {
            let off = wrapped(start * rate - phase);
            disagreement = disagreement.max(off.abs());
            start -= off / rate;
        }
        if disagreement < least {
            (best, least) = (Some(start), disagreement);
        }
        if disagreement < enough {
            break;
        }
    }
    best
}

/// Returns the frequency of each pair, the slowest first, and its phase in the first row.
fn phases(view: &View<'_>, encoding: &Sinusoidal, step: f64) -> Option<Vec<(f64, f64)>> {
    let config = encoding.config();
    let columns = Columns::new(view.width, config.layout, config.odd_width).ok()?;
    let rows = view.rows.min(32);
    let frequencies = encoding.inv_freq();
    let phase = |pair: usize| {
        let (sine, cosine) = columns.of_pair(pair);
        let rate = *frequencies.get(pair)?;
        let back: Vec<f64> = (0..rows).map(|row| -rate * step * row as f64).collect();
        let (mut re, mut im) = (0.0, 0.0);
        for (row, (cos, sin)) in cos_sin(&back).into_iter().enumerate() {
            if Some(row) != view.zero_row {
                let (x, y) = (view.at(row, cosine), view.at(row, sine));
                re += x * cos - y * sin;
                im += x * sin + y * cos;
            }
        }
        Some((rate, angle(im, re)))
    };
    let pairs = spread(columns.complete_pairs(), PAIRS);
    pairs.into_iter().rev().map(phase).collect()
}

/// Returns the largest error of some rows, if the arithmetic of other libraries can explain it.
fn error(view: &View<'_>, encoding: &Sinusoidal, [start, step, scale]: [f64; 3]) -> Option<f64> {
    let rows = view.sample(48);
    let positions: Vec<f64> = rows.iter().map(|row| start + step * *row as f64).collect();
    let table = encoding.table_at_reals::<f64>(&positions).ok()?;
    let mut largest = 0f64;
    for ((row, position), expected) in rows.iter().zip(&positions).zip(table.iter_rows()) {
        // Frequencies of f32 recipes are a few ulp off, and those of 16-bit tables
        // are of f32.
        let tolerance = scale * (3.0 * view.precision + (2e-6 + 1e-6 * position.abs()).min(0.02));
        for (column, expected) in expected.iter().enumerate() {
            let error = (view.at(*row, column) - scale * expected).abs();
            if error > tolerance {
                return None;
            }
            largest = largest.max(error / scale);
        }
    }
    Some(largest)
}

impl Candidate {
    /// Returns whether the positions are those of [`Sinusoidal::table`].
    fn counts(&self, rows: usize) -> bool {
        let Self { start, step, .. } = *self;
        let end = start + rows as f64;
        step == 1.0 && start >= 0.0 && start.fract() == 0.0 && end <= POSITIONS as f64
    }
}

/// Returns the candidate with the recipe that most entries agree with, and the share of them.
fn with_recipe<T: Element>(
    values: &[T],
    view: &View<'_>,
    candidate: &Candidate,
) -> Option<(Candidate, f64)> {
    let counts = candidate.counts(view.rows);
    let mut candidate = *candidate;
    if let Some(row) = view.zero_row.filter(|_| counts) {
        candidate.config.padding_idx = u32::try_from(candidate.start as u64 + row as u64).ok();
    }
    let sample = spread(view.rows, 128);
    let share = |candidate: &Candidate| {
        let encoding = Sinusoidal::new(candidate.config).ok()?;
        let table = expected::<T>(&encoding, candidate, view, &sample).ok()?;
        let found = sample
            .iter()
            .flat_map(|row| &values[row * view.width..][..view.width]);
        let equal = found
            .zip(&table)
            .filter(|(found, expected)| found == expected);
        Some(equal.count() as f64 / table.len() as f64)
    };
    let mut best = (candidate, share(&candidate)?);
    let recipes = if counts { &Recipe::ALL[..] } else { &[] };
    for recipe in recipes {
        let mut other = candidate;
        other.config.recipe = *recipe;
        other.config.spacing = match (recipe, candidate.config.spacing) {
            (Recipe::DiffusersF32, Spacing::Paper) => Spacing::Shifted(0.0),
            (Recipe::DiffusersF32, Spacing::Inclusive) => Spacing::Shifted(1.0),
            (_, spacing) => spacing,
        };
        if let Some(share) = share(&other).filter(|share| *share > best.1) {
            best = (other, share);
        }
    }
    Some(best)
}

/// Returns the given rows of a candidate.
fn expected<T: Element>(
    encoding: &Sinusoidal,
    candidate: &Candidate,
    view: &View<'_>,
    rows: &[usize],
) -> Result<Vec<T>> {
    let Candidate {
        start, step, scale, ..
    } = *candidate;
    if scale == 1.0 && candidate.counts(view.rows) {
        let positions: Vec<u32> = rows
            .iter()
            .map(|row| (start as u64 + *row as u64) as u32)
            .collect();
        return Ok(encoding.table_at::<T>(&positions)?.into_vec());
    }
    let positions: Vec<f64> = rows.iter().map(|row| start + step * *row as f64).collect();
    let table = encoding.table_at_reals::<f64>(&positions)?;
    let mut out = Vec::with_capacity(table.as_slice().len());
    for (row, entries) in rows.iter().zip(table.iter_rows()) {
        let scale = if Some(*row) == view.zero_row {
            0.0
        } else {
            scale
        };
        out.extend(entries.iter().map(|entry| T::from_f64(scale * entry)));
    }
    Ok(out)
}

/// Returns the presets with this convention.
fn presets(config: &SinusoidalConfig) -> Vec<Preset> {
    let plain = |config: &SinusoidalConfig| {
        let even = config.d_model.is_multiple_of(2);
        let spacing = match config.spacing {
            Spacing::Shifted(0.0) if even => Spacing::Paper,
            Spacing::Shifted(1.0) => Spacing::Inclusive,
            spacing => spacing,
        };
        let odd_width = if even {
            OddWidth::Reject
        } else {
            config.odd_width
        };
        SinusoidalConfig {
            spacing,
            odd_width,
            recipe: Recipe::Exact,
            ..*config
        }
    };
    let found = plain(config);
    Preset::ALL
        .into_iter()
        .filter(|preset| plain(&preset.config(config.d_model)) == found)
        .collect()
}
