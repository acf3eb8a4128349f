//! Frequencies of the axes, and the places of their pairs within a head.

use crate::error::{Error, Result};
use crate::families::rotary::axial::config::{
    AxialRotaryConfig, AxisFrequencies, AxisPairing, FrequencyUnit,
};
use crate::families::rotary::frequencies::{RotaryFrequencies, Source};
use crate::families::rotary::{Rotary, RotaryConfig};
use crate::num::float::BigFloat;
use crate::num::real::Real;
use crate::spec::pair_layout::PairLayout;
use crate::spec::recipe::RotaryRecipe;
use crate::turns::scaling::Set;

/// An axis, and an index in its frequencies.
pub(super) type Place = (usize, usize);

/// Places of the pairs of all axes.
pub(super) struct Places {
    /// Frequency of the first column of each pair.
    pub(super) first: Vec<Place>,
    /// Frequency of the second column, where it may differ.
    pub(super) second: Option<Vec<Place>>,
    /// For each axis, the index of each of its frequencies in a series over the head.
    heads: Vec<Vec<usize>>,
}

/// Returns the places of the pairs. The widths must be checked.
pub(super) fn places(config: &AxialRotaryConfig) -> Result<Places> {
    let counts: Vec<usize> = config.axes.iter().map(|axis| axis.width / 2).collect();
    let pairs: usize = counts.iter().sum();
    let in_turn = || {
        let of = |(axis, count): (usize, &usize)| (0..*count).map(move |i| (axis, i));
        counts.iter().enumerate().flat_map(of)
    };
    let (first, second): (Vec<Place>, _) = match &config.pairing {
        AxisPairing::WholeHead | AxisPairing::PerAxis => (in_turn().collect(), None),
        AxisPairing::Alternating => {
            let mut all: Vec<Place> = in_turn().collect();
            all.sort_by_key(|(axis, i)| (*i, *axis));
            (all, None)
        }
        AxisPairing::Listed(list) => (listed(list, &counts, pairs)?, None),
        AxisPairing::Tiled => {
            if config.layout != PairLayout::Interleaved {
                return Err(undefined("tiled pairing", "half-split pairs"));
            }
            let column = |add: usize| in_turn().map(move |(axis, i)| (axis, 2 * i + add));
            let tiled = |(axis, column)| (axis, column % counts[axis]);
            let second = column(1).map(tiled).collect();
            (column(0).map(tiled).collect(), Some(second))
        }
        AxisPairing::ByColumn => {
            let of = |(axis, count): (usize, &usize)| (0..2 * count).map(move |i| (axis, i));
            let columns: Vec<Place> = counts.iter().enumerate().flat_map(of).collect();
            let both = (0..pairs).map(|pair| config.layout.columns(pair, pairs));
            let (first, second): (Vec<_>, Vec<_>) =
                both.map(|(a, b)| (columns[a], columns[b])).unzip();
            let mut heads: Vec<Vec<usize>> = counts.iter().map(|_| Vec::new()).collect();
            for (column, (axis, _)) in columns.iter().enumerate() {
                heads[*axis].push(column % pairs);
            }
            return Ok(Places {
                first,
                second: Some(second),
                heads,
            });
        }
    };
    let mut heads: Vec<Vec<usize>> = counts.iter().map(|count| vec![0; *count]).collect();
    let series = match second {
        Some(_) => in_turn().collect(),
        None => first.clone(),
    };
    for (head, (axis, i)) in series.into_iter().enumerate() {
        heads[axis][i] = head;
    }
    Ok(Places {
        first,
        second,
        heads,
    })
}

/// Returns the places of pairs with the listed axes.
fn listed(list: &[u8], counts: &[usize], pairs: usize) -> Result<Vec<Place>> {
    if list.len() != pairs {
        return Err(Error::Length {
            name: "the list of axes",
            len: list.len(),
            expected: pairs as u64,
        });
    }
    let mut found = vec![0; counts.len()];
    let mut places = Vec::with_capacity(pairs);
    for axis in list {
        let lists = counts.len();
        let Some(next) = found.get_mut(usize::from(*axis)) else {
            return Err(Error::Axis { axis: *axis, lists });
        };
        places.push((usize::from(*axis), *next));
        *next += 1;
    }
    for (axis, (found, count)) in found.into_iter().zip(counts).enumerate() {
        if found != *count {
            return Err(Error::AxisPairs {
                axis,
                listed: found,
                pairs: *count,
            });
        }
    }
    Ok(places)
}

/// Returns the frequencies of each axis.
pub(super) fn frequencies(
    config: &AxialRotaryConfig,
    places: &Places,
) -> Result<Vec<RotaryFrequencies>> {
    let axes = places.heads.iter().enumerate();
    axes.map(|(axis, heads)| of_axis(config, axis, heads))
        .collect()
}

fn of_axis(config: &AxialRotaryConfig, axis: usize, heads: &[usize]) -> Result<RotaryFrequencies> {
    let rotated: usize = config.axes.iter().map(|axis| axis.width).sum();
    let series = |base, rotary_dim| {
        let rotary = Rotary::new(RotaryConfig {
            base,
            scaling: config.scaling.clone(),
            recipe: config.recipe,
            direction: config.direction,
            ..RotaryConfig::new(rotary_dim)
        })?;
        if rotary.depends_on_seq_len() {
            return Err(undefined("scaling by sequence length", "several axes"));
        }
        rotary.frequencies(0)
    };
    let width = config.axes[axis].width;
    let by_column = config.pairing == AxisPairing::ByColumn;
    let frequencies = match &config.axes[axis].frequencies {
        AxisFrequencies::Shared { base } => series(*base, rotated)?.picked(heads)?,
        _ if by_column => return Err(undefined("pairing by column", "frequencies of an axis")),
        AxisFrequencies::Own { base } => series(*base, width)?,
        AxisFrequencies::Alternating { base } => {
            let axes = config.axes.len();
            let picked: Vec<usize> = (0..heads.len()).map(|i| axes * i + axis).collect();
            if picked.last().is_some_and(|last| *last >= rotated / 2) {
                return Err(undefined(
                    "an alternating series",
                    "axes of different widths",
                ));
            }
            series(*base, rotated)?.picked(&picked)?
        }
        AxisFrequencies::Geometric { first, last } => {
            of_numbers(config, geometric(*first, *last, heads.len())?)?
        }
        AxisFrequencies::Linear { first, last } => {
            of_numbers(config, linear(*first, *last, heads.len())?)?
        }
        AxisFrequencies::Custom(list) => {
            if list.len() != heads.len() {
                return Err(Error::Length {
                    name: "the list of frequencies",
                    len: list.len(),
                    expected: heads.len() as u64,
                });
            }
            for value in list {
                at_least_zero("a frequency", *value)?;
            }
            of_numbers(
                config,
                list.iter().map(|f| BigFloat::from_f64(*f)).collect(),
            )?
        }
    };
    in_unit(frequencies, config.unit)
}

/// Returns the frequencies of caller-supplied numbers.
fn of_numbers(config: &AxialRotaryConfig, numbers: Vec<BigFloat>) -> Result<RotaryFrequencies> {
    if config.scaling != Default::default() {
        return Err(undefined(
            "scaling",
            "frequencies other than powers of a base",
        ));
    }
    if config.recipe != RotaryRecipe::Exact {
        let of = "frequencies other than powers of a base";
        return Err(undefined("the recipe hf-f32", of));
    }
    let one = Rotary::new(RotaryConfig::new(2))?.frequencies(0)?;
    Ok(one.with(Set::Exact(numbers))?.rotating(config.direction))
}

/// Returns the frequencies with the same numbers in another unit.
fn in_unit(frequencies: RotaryFrequencies, unit: FrequencyUnit) -> Result<RotaryFrequencies> {
    let halvings = match unit {
        FrequencyUnit::Radian => return Ok(frequencies),
        FrequencyUnit::Turn => 0,
        FrequencyUnit::HalfTurn => 1,
        FrequencyUnit::QuarterTurn => 2,
    };
    let Source::Exact { radians } = &frequencies.inner.source else {
        return Err(undefined("the recipe hf-f32", "frequencies in turns"));
    };
    if frequencies.attention_factor() != 1.0 {
        // Its product with a sine of one half could be a tie.
        return Err(undefined("an attention factor", "frequencies in turns"));
    }
    let turns = radians.iter().map(|number| match number.is_zero() {
        true => *number,
        false => BigFloat {
            exponent: number.exponent - halvings,
            ..*number
        },
    });
    frequencies.with(Set::Turns(turns.collect()))
}

fn geometric(first: f64, last: f64, count: usize) -> Result<Vec<BigFloat>> {
    for (name, value) in [("the first frequency", first), ("the last frequency", last)] {
        if !(value.is_finite() && value > 0.0) {
            return Err(Error::NotPositive { name, value });
        }
    }
    let (first, last) = (Real::from(first), Real::from(last));
    let step = Real::from((count as u64).saturating_sub(1).max(1));
    // The logarithm of an f64 is below 2^10, so its exponential is in range.
    let ratio = ((last.ln() - first.ln()) / step).exp();
    let ratio = ratio.ok_or_else(|| undefined("a geometric series", "such frequencies"))?;
    let powers = std::iter::successors(Some(first), |power| Some(*power * ratio));
    let mut out: Vec<BigFloat> = powers.take(count).map(Real::at_least_zero).collect();
    if let Some(end) = out.get_mut(1..).and_then(<[_]>::last_mut) {
        *end = last.size;
    }
    Ok(out)
}

fn linear(first: f64, last: f64, count: usize) -> Result<Vec<BigFloat>> {
    at_least_zero("the first frequency", first)?;
    at_least_zero("the last frequency", last)?;
    let (first, last) = (Real::from(first), Real::from(last));
    let steps = Real::from((count as u64).saturating_sub(1).max(1));
    let value = |i: usize| {
        let passed = Real::from(i as u64);
        (first * (steps - passed) + last * passed) / steps
    };
    Ok((0..count).map(|i| value(i).at_least_zero()).collect())
}

fn at_least_zero(name: &'static str, value: f64) -> Result<()> {
    if value.is_finite() && value >= 0.0 {
        return Ok(());
    }
    Err(Error::Negative { name, value })
}

fn undefined(what: &'static str, of: &'static str) -> Error {
    Error::Undefined { what, of }
}
