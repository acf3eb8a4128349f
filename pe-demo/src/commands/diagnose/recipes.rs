//! The usual ways to compute cosines and sines, against exact values.

use pe_core::{Rotary, RotaryConfig, RotaryFrequencies, RotaryRecipe, cos_sin_of_angles};
use rayon::prelude::*;
use serde::Serialize;

use super::distinct::Float;

/// An error above this one is seen in every picture of the table.
pub(super) const LARGE: f64 = 0.1;

/// Maximum number of pairs that are compared: a second or two.
const MOST: u64 = 1 << 24;

/// Maximum number of pairs that are compared at once.
const BLOCK: u64 = 1 << 15;

/// The errors of each way.
#[derive(Debug, Serialize)]
pub(super) struct Recipes {
    /// Compared positions: all, or blocks that are equally far apart, the first and the last among them.
    pub(super) compared: u64,
    pub(super) recipes: Vec<Recipe>,
}

/// A way to compute cosines and sines.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Recipe {
    pub(super) way: Way,
    pub(super) largest_error: Option<Worst>,
    /// The first compared position with an error above 0.1.
    pub(super) first_large: Option<u64>,
    /// Entries that are not numbers, since an angle is infinite.
    pub(super) not_finite: u64,
}

/// A way to compute cosines and sines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Way {
    /// Exactly, rounded once to the type.
    Exact,
    /// Frequencies, angles, cosines, and sines in f32.
    F32,
    /// All of it in the type.
    InType,
}

/// The entry with the largest error, the first of several.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Worst {
    pub(super) error: f64,
    pub(super) position: u64,
    pub(super) pair: usize,
    pub(super) function: &'static str,
}

/// Compares each way with the exact values at the positions `0..length`.
pub(super) fn compare<T: Float>(config: &RotaryConfig, length: u64) -> pe_core::Result<Recipes> {
    let frequencies = |recipe| {
        let config = RotaryConfig {
            recipe,
            ..config.clone()
        };
        Rotary::new(config)?.frequencies(usize::try_from(length).unwrap_or(usize::MAX))
    };
    let exact = frequencies(RotaryRecipe::Exact)?;
    let f32 = frequencies(RotaryRecipe::HfF32)?;
    let mut ways = vec![Way::F32];
    if T::SIGNIFICAND < f64::SIGNIFICAND {
        ways.insert(0, Way::Exact);
    }
    if T::SIGNIFICAND < f32::SIGNIFICAND {
        ways.push(Way::InType);
    }
    let pairs = exact.pairs() as u64;
    let rows = (BLOCK / pairs).clamp(1, length);
    let blocks = length.div_ceil(rows);
    let taken = blocks.min((MOST / (rows * pairs)).max(2));
    let block = |index: u64| match taken {
        1 => 0,
        _ => index * (blocks - 1) / (taken - 1),
    };
    let found: Vec<Vec<Recipe>> = (0..taken)
        .into_par_iter()
        .map(|index| {
            let start = block(index) * rows;
            let count = rows.min(length - start);
            let values = Values::<f64>::of(&exact, start, count)?;
            ways.iter()
                .map(|way| {
                    let computed = match way {
                        Way::Exact => Values::<T>::of(&exact, start, count)?.wide(),
                        Way::F32 => Values::<f32>::of(&f32, start, count)?.wide(),
                        Way::InType => in_type::<T>(&f32, start, count)?,
                    };
                    Ok(Recipe::new(*way, &values, &computed, start))
                })
                .collect()
        })
        .collect::<pe_core::Result<_>>()?;
    let compared = (0..taken)
        .map(|index| rows.min(length - block(index) * rows))
        .sum();
    let recipes = found.into_iter().reduce(|mut all, next| {
        all.iter_mut()
            .zip(next)
            .for_each(|(all, next)| all.join(next));
        all
    });
    Ok(Recipes {
        compared,
        recipes: recipes.unwrap_or_default(),
    })
}

/// Cosines and sines of consecutive positions.
struct Values<T> {
    pairs: usize,
    cos: Vec<T>,
    sin: Vec<T>,
}

impl<T: Float> Values<T> {
    fn zeros(pairs: usize, rows: u64) -> Self {
        let entries = pairs * rows as usize;
        Self {
            pairs,
            cos: vec![T::default(); entries],
            sin: vec![T::default(); entries],
        }
    }

    fn of(frequencies: &RotaryFrequencies, start: u64, rows: u64) -> pe_core::Result<Self> {
        let mut values = Self::zeros(frequencies.pairs(), rows);
        frequencies.fill(start, &mut values.cos, &mut values.sin)?;
        Ok(values)
    }

    fn wide(self) -> Values<f64> {
        let wide = |values: Vec<T>| values.into_iter().map(T::to_f64).collect();
        Values {
            pairs: self.pairs,
            cos: wide(self.cos),
            sin: wide(self.sin),
        }
    }
}

/// Computes as models of candle-transformers such as qwen2 do: positions, frequencies, angles, cosines,
/// and sines are all rounded to the type. Cosines and sines of the rounded angles are correctly rounded
/// to f32 in between.
fn in_type<T: Float>(
    frequencies: &RotaryFrequencies,
    start: u64,
    rows: u64,
) -> pe_core::Result<Values<f64>> {
    let narrow = |value: f64| T::from_f64(value).to_f64();
    let inv_freq = frequencies.inv_freq_f32();
    let inv_freq: Vec<f64> = inv_freq.into_iter().map(|f| narrow(f.into())).collect();
    let factor = narrow(frequencies.attention_factor());
    // The product of two 16-bit floats is an f64.
    let angles: Vec<f32> = (start..start + rows)
        .flat_map(|position| {
            let position = narrow(position as f64);
            inv_freq.iter().map(move |f| narrow(position * f) as f32)
        })
        .collect();
    let mut values = Values::<f32>::zeros(inv_freq.len(), rows);
    cos_sin_of_angles(&angles, &mut values.cos, &mut values.sin)?;
    let mut values = values.wide();
    for value in values.cos.iter_mut().chain(&mut values.sin) {
        *value = narrow(narrow(*value) * factor);
    }
    Ok(values)
}

impl Recipe {
    fn new(way: Way, exact: &Values<f64>, computed: &Values<f64>, start: u64) -> Self {
        let mut recipe = Self {
            way,
            largest_error: None,
            first_large: None,
            not_finite: 0,
        };
        let entries =
            (exact.cos.iter().zip(&computed.cos)).zip(exact.sin.iter().zip(&computed.sin));
        for (index, (cos, sin)) in entries.enumerate() {
            let (row, pair) = (index / exact.pairs, index % exact.pairs);
            let position = start + row as u64;
            for (function, (exact, computed)) in [("cos", cos), ("sin", sin)] {
                let error = (exact - computed).abs();
                if error.is_nan() {
                    recipe.not_finite += 1;
                    continue;
                }
                if recipe
                    .largest_error
                    .as_ref()
                    .is_none_or(|worst| error > worst.error)
                {
                    recipe.largest_error = Some(Worst {
                        error,
                        position,
                        pair,
                        function,
                    });
                }
                if error > LARGE && recipe.first_large.is_none() {
                    recipe.first_large = Some(position);
                }
            }
        }
        recipe
    }

    /// Adds the findings at later positions.
    fn join(&mut self, next: Self) {
        let error = |worst: &Option<Worst>| worst.as_ref().map_or(-1.0, |worst| worst.error);
        if error(&next.largest_error) > error(&self.largest_error) {
            self.largest_error = next.largest_error;
        }
        self.first_large = self.first_large.or(next.first_large);
        self.not_finite += next.not_finite;
    }
}
