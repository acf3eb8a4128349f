//! Pairs of a rotary embedding that complete a turn within the lengths that a model states.

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
    /// The sequences, in words.
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
    /// Returns the number of pairs that rotate.
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
pub(crate) const LONGEST: &str = "max_position_embeddings";
pub(crate) const ORIGINAL: &str = "original_max_position_embeddings";

impl Rates {
    pub(crate) fn new(config: &RotaryConfig) -> pe_core::Result<Self> {
        let rotary = Rotary::new(config.clone())?;
        let longest = config.max_position_embeddings;
        let sets = match (&config.scaling, longest) {
            (RopeScaling::Dynamic { .. }, Some(trained)) => dynamic(&rotary, trained)?,
            (RopeScaling::LongRope(longrope), _) => {
                long_rope(&rotary, longrope.original_max_position_embeddings, longest)?
            }
            (scaling, _) => vec![every_length(&rotary, scaling, longest)?],
        };
        let before = original(&config.scaling).map(|positions| Before::new(config, positions));
        Ok(Self {
            before: before.transpose()?,
            sets,
        })
    }
}

impl Set {
    fn new(
        rotary: &Rotary,
        sequences: String,
        short: Option<String>,
        seq_len: Option<usize>,
        lengths: &[Length],
    ) -> pe_core::Result<Self> {
        let frequencies = rotary.frequencies(seq_len.unwrap_or(0))?;
        let wavelengths = frequencies.wavelengths();
        let within = |(positions, key, trained): &Length| {
            let positions = (*positions)?;
            Some(Within {
                positions,
                key,
                words: format!("within {trained}{} positions ({key})", number(positions)),
                incomplete: incomplete(&wavelengths, positions as u64),
            })
        };
        Ok(Self {
            sequences,
            short,
            seq_len,
            within: lengths.iter().filter_map(within).collect(),
            frequencies,
            wavelengths,
        })
    }

    /// Describes sequences of up to a length.
    fn up_to(rotary: &Rotary, length: usize, lengths: &[Length]) -> pe_core::Result<Self> {
        let sequences = format!("sequences of up to {} positions", number(length));
        let short = format!("up to {}", number(length));
        Self::new(rotary, sequences, Some(short), Some(length), lengths)
    }
}

/// Returns the frequencies of dynamic scaling, up to the trained length and at twice that length.
fn dynamic(rotary: &Rotary, trained: usize) -> pe_core::Result<Vec<Set>> {
    let twice = trained.saturating_mul(2);
    let longer = format!(
        "longer sequences, whose base grows with their length; at {} positions",
        number(twice)
    );
    let short = format!("at {}", number(twice));
    Ok(vec![
        Set::up_to(rotary, trained, &[(Some(trained), LONGEST, TRAINED)])?,
        Set::new(rotary, longer, Some(short), Some(twice), &[])?,
    ])
}

/// Returns the frequencies of LongRoPE, up to the trained length and beyond.
fn long_rope(rotary: &Rotary, trained: usize, longest: Option<usize>) -> pe_core::Result<Vec<Set>> {
    let beyond = longest.filter(|longest| *longest > trained);
    let seq_len = beyond.unwrap_or(trained.saturating_add(1));
    let (longer, short) = ("longer sequences".to_owned(), "longer".to_owned());
    Ok(vec![
        Set::up_to(rotary, trained, &[(Some(trained), ORIGINAL, TRAINED)])?,
        Set::new(
            rotary,
            longer,
            Some(short),
            Some(seq_len),
            &[(beyond, LONGEST, "")],
        )?,
    ])
}

/// Returns the frequencies of a scaling that is the same at every length.
fn every_length(
    rotary: &Rotary,
    scaling: &RopeScaling,
    longest: Option<usize>,
) -> pe_core::Result<Set> {
    let trained = original(scaling);
    let longest = longest.filter(|longest| Some(*longest) != trained);
    let unscaled = match scaling {
        RopeScaling::Default => TRAINED,
        _ => "",
    };
    let lengths = [(trained, ORIGINAL, TRAINED), (longest, LONGEST, unscaled)];
    let sequences = "sequences of every length".to_owned();
    Set::new(rotary, sequences, None, None, &lengths)
}

impl Before {
    fn new(config: &RotaryConfig, positions: usize) -> pe_core::Result<Self> {
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
            incomplete: incomplete(&wavelengths, positions as u64),
        };
        Ok(Self {
            wavelengths,
            within,
        })
    }
}

/// Returns the trained length, if the scaling states it.
pub(crate) fn original(scaling: &RopeScaling) -> Option<usize> {
    match scaling {
        RopeScaling::Yarn(yarn) => Some(yarn.original_max_position_embeddings),
        RopeScaling::LongRope(longrope) => Some(longrope.original_max_position_embeddings),
        RopeScaling::Llama3(llama3) => Some(llama3.original_max_position_embeddings),
        _ => None,
    }
}

/// Returns the pairs with longer wavelengths.
pub(crate) fn incomplete(wavelengths: &[f64], positions: u64) -> Vec<usize> {
    let pairs = wavelengths.iter().enumerate();
    pairs
        .filter_map(|(pair, wavelength)| (*wavelength > positions as f64).then_some(pair))
        .collect()
}

/// Writes `3, 5 to 7` for 3, 5, 6, 7.
pub(crate) fn ranges(pairs: &[usize]) -> String {
    pairs
        .chunk_by(|a, b| a + 1 == *b)
        .map(|run| match run {
            [only] => only.to_string(),
            [first, .., last] => format!("{first} to {last}"),
            [] => String::new(),
        })
        .collect::<Vec<_>>()
        .join(", ")
}

pub(crate) fn number(count: usize) -> String {
    thousands(count as u64)
}
