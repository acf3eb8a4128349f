//! A set of frequencies: what training showed of it, and how it is computed and held.

use anyhow::Result;
use pe_core::{RopeScaling, Rotary, RotaryConfig};
use serde::Serialize;

use super::distinct::Float;
use super::recipes::{Recipes, compare};
use crate::words::lengths::{LONGEST, ORIGINAL, incomplete, original};

/// A set of frequencies of rotary embeddings or of sinusoidal encodings.
#[derive(Debug, Serialize)]
pub(super) struct Waves {
    pub(super) pairs: usize,
    /// Type of the scaling.
    scaling: &'static str,
    #[serde(skip)]
    pub(super) config: RotaryConfig,
    /// The length trained with before the scaling, if the file states it.
    pub(super) trained: Option<Trained>,
    /// Pairs that never turn once within the length.
    pub(super) never_turn: Vec<usize>,
    /// Pairs that never turned once in training and reach larger angles within the length.
    pub(super) unseen: Vec<usize>,
    /// The effect of the scaling on each pair; empty without a scaling.
    pub(super) changes: Vec<Change>,
    pub(super) attention_factor: f64,
    #[serde(flatten)]
    pub(super) recipes: Recipes,
}

/// The pairs in training.
#[derive(Debug, Serialize)]
pub(super) struct Trained {
    pub(super) positions: u64,
    pub(super) key: &'static str,
    /// Pairs that never turn once.
    pub(super) never_turn: Vec<usize>,
}

/// The effect of the scaling on a pair.
#[derive(Debug, Serialize)]
pub(super) struct Change {
    pub(super) pair: usize,
    /// Positions per turn. Null for a pair that does not rotate.
    pub(super) wavelength_before: f64,
    pub(super) wavelength_after: f64,
    pub(super) effect: Effect,
}

/// An effect on a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Effect {
    /// The frequency is unchanged.
    Kept,
    /// The frequency is divided by the factor of the scaling.
    Interpolated,
    /// The frequency is between these two.
    Blended,
    /// The frequency is divided by a number of this pair's own.
    Divided,
    /// The pair no longer rotates.
    Stopped,
}

impl Waves {
    /// Looks at the positions `0..length`.
    pub(super) fn of<T: Float>(
        config: &RotaryConfig,
        trained: Option<(u64, &'static str)>,
        length: u64,
    ) -> Result<Self> {
        let seq_len = usize::try_from(length)?;
        let scaled = Rotary::new(config.clone())?.frequencies(seq_len)?;
        let after = scaled.wavelengths();
        // Given frequencies were not others before.
        let unscaled = matches!(
            config.scaling,
            RopeScaling::Default | RopeScaling::Custom { .. }
        );
        let before = match unscaled {
            true => after.clone(),
            false => {
                let plain = RotaryConfig {
                    scaling: RopeScaling::Default,
                    ..config.clone()
                };
                Rotary::new(plain)?.frequencies(0)?.wavelengths()
            }
        };
        let trained = trained.map(|(positions, key)| Trained {
            positions,
            key,
            never_turn: incomplete(&before, positions),
        });
        let reaches_further = |trained: &Trained, pair: usize| {
            length as f64 / after[pair] > trained.positions as f64 / before[pair]
        };
        let unseen = trained.iter().flat_map(|trained| {
            let pairs = trained.never_turn.iter().copied();
            pairs.filter(|pair| reaches_further(trained, *pair))
        });
        let change = |(pair, (before, after)): (usize, (&f64, &f64))| Change {
            pair,
            wavelength_before: *before,
            wavelength_after: *after,
            effect: effect(&config.scaling, *before, *after),
        };
        Ok(Self {
            pairs: after.len(),
            scaling: config.scaling.name(),
            config: config.clone(),
            never_turn: incomplete(&after, length),
            unseen: unseen.collect(),
            changes: match unscaled {
                true => Vec::new(),
                false => before.iter().zip(&after).enumerate().map(change).collect(),
            },
            attention_factor: scaled.attention_factor(),
            recipes: compare::<T>(config, length)?,
            trained,
        })
    }
}

/// Returns the length that the model was trained with before its scaling, as far as the file states it.
pub(super) fn trained(config: &RotaryConfig) -> Option<(u64, &'static str)> {
    let longest = config.max_position_embeddings;
    match (original(&config.scaling), &config.scaling) {
        (Some(length), _) => Some((length as u64, ORIGINAL)),
        (
            None,
            RopeScaling::Default | RopeScaling::Dynamic { .. } | RopeScaling::Proportional { .. },
        ) => longest.map(|length| (length as u64, LONGEST)),
        (None, _) => None,
    }
}

fn effect(scaling: &RopeScaling, before: f64, after: f64) -> Effect {
    let divisor = after / before;
    // Wavelengths have an error of about an ulp each.
    let is = |number: f64| (divisor / number - 1.0).abs() < 1e-12;
    if after.is_infinite() {
        return Effect::Stopped;
    }
    if is(1.0) {
        return Effect::Kept;
    }
    let (factor, between) = match scaling {
        RopeScaling::Linear { factor } | RopeScaling::Proportional { factor, .. } => {
            (*factor, Effect::Divided)
        }
        RopeScaling::Yarn(yarn) => (yarn.factor, Effect::Blended),
        RopeScaling::Llama3(llama3) => (llama3.factor, Effect::Blended),
        _ => return Effect::Divided,
    };
    match is(factor) {
        true => Effect::Interpolated,
        false => between,
    }
}
