//! Which pairs of a rotary embedding complete a turn within the lengths that a model states.

use pe_core::{RopeScaling, Rotary, RotaryConfig, RotaryFrequencies};

use crate::terminal::numbers::thousands;

/// The frequencies of a rotary embedding, and which of its pairs complete a turn.
pub(crate) struct Rates {
    /// The frequencies without the scaling in the length trained with before it, where the
    /// scaling states that length.
    pub(crate) before: Option<Before>,
    pub(crate) sets: Vec<Set>,
}

/// The frequencies without the scaling.
pub(crate) struct Before {
    pub(crate) wavelengths: Vec<f64>,
    pub(crate) within: Within,
}

/// Frequencies and the sequences that have them.
pub(crate) struct Set {
    /// Which sequences, in words.
    pub(crate) sequences: String,
    /// The same for a legend, where there are several sets.
    pub(crate) short: Option<String>,
    /// A length of such sequences; `None` for all.
    pub(crate) seq_len: Option<usize>,
    pub(crate) frequencies: RotaryFrequencies,
    pub(crate) wavelengths: Vec<f64>,
    pub(crate) within: Vec<Within>,
}

impl Set {
    /// The number of pairs that turn.
    pub(crate) fn turning(&self) -> usize {
        self.wavelengths.iter().filter(|w| w.is_finite()).count()
    }
}

/// The pairs that never complete a turn within a length.
pub(crate) struct Within {
    pub(crate) positions: usize,
    /// The key that states the length.
    pub(crate) key: &'static str,
    pub(crate) words: String,
    pub(crate) incomplete: Vec<usize>,
}

/// A length, the key that states it, and whether it is known to be the trained one.
type Length = (Option<usize>, &'static str, &'static str);

const TRAINED: &str = "the trained ";
const LONGEST: &str = "max_position_embeddings";
pub(crate) const ORIGINAL: &str = "original_max_position_embeddings";

impl Rates {
    pub(crate) fn new(config: &RotaryConfig) -> pe_core::Result<Self> {
        let rotary = Rotary::new(config.clone())?;
        let longest = config.max_position_embeddings;
        let set = |sequences: String, short, seq_len: Option<usize>, lengths: &[Length]| {
            let frequencies = rotary.frequencies(seq_len.unwrap_or(0))?;
            let wavelengths = frequencies.wavelengths();
            let within = |(positions, key, trained): &Length| {
                let positions = (*positions)?;
                Some(Within {
                    positions,
                    key,
                    words: format!("within {trained}{} positions ({key})", number(positions)),
                    incomplete: incomplete(&wavelengths, positions),
                })
            };
            let within = lengths.iter().filter_map(within).collect();
            Ok::<_, pe_core::Error>(Set {
                sequences,
                short,
                seq_len,
                frequencies,
                wavelengths,
                within,
            })
        };
        let up_to = |length: usize| format!("sequences of up to {} positions", number(length));
        let short = |length: usize| Some(format!("up to {}", number(length)));
        let sets = match (&config.scaling, longest) {
            (RopeScaling::Dynamic { .. }, Some(trained)) => {
                let twice = trained.saturating_mul(2);
                vec![
                    set(
                        up_to(trained),
                        short(trained),
                        Some(trained),
                        &[(longest, LONGEST, TRAINED)],
                    )?,
                    set(
                        format!(
                            "longer sequences, whose base grows with their length; at {} positions",
                            number(twice)
                        ),
                        Some(format!("at {}", number(twice))),
                        Some(twice),
                        &[],
                    )?,
                ]
            }
            (RopeScaling::LongRope(longrope), _) => {
                let trained = longrope.original_max_position_embeddings;
                let beyond = longest.filter(|longest| *longest > trained);
                vec![
                    set(
                        up_to(trained),
                        short(trained),
                        Some(trained),
                        &[(Some(trained), ORIGINAL, TRAINED)],
                    )?,
                    set(
                        "longer sequences".to_owned(),
                        Some("longer".to_owned()),
                        Some(beyond.unwrap_or(trained.saturating_add(1))),
                        &[(beyond, LONGEST, "")],
                    )?,
                ]
            }
            (scaling, _) => {
                let trained = original(scaling);
                let longest = longest.filter(|longest| Some(*longest) != trained);
                let unscaled = if *scaling == RopeScaling::Default {
                    TRAINED
                } else {
                    ""
                };
                let lengths = [(trained, ORIGINAL, TRAINED), (longest, LONGEST, unscaled)];
                vec![set(
                    "sequences of every length".to_owned(),
                    None,
                    None,
                    &lengths,
                )?]
            }
        };
        let before = original(&config.scaling).map(|positions| {
            let unscaled = Rotary::new(RotaryConfig {
                scaling: RopeScaling::Default,
                ..config.clone()
            })?;
            let wavelengths = unscaled.frequencies(0)?.wavelengths();
            let within = Within {
                positions,
                key: ORIGINAL,
                words: format!(
                    "before the scaling, within the trained {} positions ({ORIGINAL})",
                    number(positions)
                ),
                incomplete: incomplete(&wavelengths, positions),
            };
            Ok::<_, pe_core::Error>(Before {
                wavelengths,
                within,
            })
        });
        Ok(Self {
            before: before.transpose()?,
            sets,
        })
    }
}

/// The length trained with, where the scaling states it.
fn original(scaling: &RopeScaling) -> Option<usize> {
    match scaling {
        RopeScaling::Yarn(yarn) => Some(yarn.original_max_position_embeddings),
        RopeScaling::LongRope(longrope) => Some(longrope.original_max_position_embeddings),
        RopeScaling::Llama3(llama3) => Some(llama3.original_max_position_embeddings),
        _ => None,
    }
}

/// The pairs whose turn takes longer.
fn incomplete(wavelengths: &[f64], positions: usize) -> Vec<usize> {
    let pairs = wavelengths.iter().enumerate();
    pairs
        .filter_map(|(pair, wavelength)| (*wavelength > positions as f64).then_some(pair))
        .collect()
}

pub(crate) fn number(count: usize) -> String {
    thousands(count as u64)
}
