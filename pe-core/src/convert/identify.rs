//! The convention of a table from its entries alone.
//!
//! ```text
//! entries, shape ─► vector ─► ALiBi slopes | inverse frequencies
//!                └► rows   ─► sinusoidal | rotary cos or sin | grid | ALiBi biases | learned
//! ```
//!
//! A convention is named only if the table that it gives agrees with the entries.

mod alibi;
mod estimate;
mod grid;
mod inv_freq;
mod learned;
mod rotary;
mod sinusoidal;
mod view;

use crate::convert::grid_preset::GridPreset;
use crate::convert::preset::Preset;
use crate::error::{Error, Result};
use crate::families::bias::alibi::AlibiConfig;
use crate::families::rotary::RotaryConfig;
use crate::families::sinusoidal::SinusoidalConfig;
use crate::rows::element::Element;

use view::View;

/// Result of [`identify`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Identification {
    /// The convention.
    pub found: Identified,
    /// How well the entries agree with it. `None` for [`Learned`](Identified::Learned) and
    /// [`Unknown`](Identified::Unknown).
    pub agreement: Option<Agreement>,
}

impl Identification {
    /// Creates the result for a tensor that is not a table of positions.
    pub const fn unknown(reason: &'static str) -> Self {
        Self {
            found: Identified::Unknown { reason },
            agreement: None,
        }
    }
}

/// Agreement of entries with those that a convention gives in the same type.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Agreement {
    /// Share of equal entries, 0 to 1.
    pub equal_share: f64,
    /// Largest difference of two entries.
    pub largest_error: f64,
}

/// Conventions that [`identify`] recognizes.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Identified {
    /// Sines and cosines of positions in one table.
    Sinusoidal {
        /// The convention, with the recipe that most entries agree with. Where several give the same
        /// entries, the base is the one with the fewest digits.
        config: SinusoidalConfig,
        /// Position of the first row.
        start: f64,
        /// Distance of the positions of two rows.
        step: f64,
        /// Factor of all entries.
        scale: f64,
        /// The libraries with this convention.
        presets: Vec<Preset>,
    },
    /// Cosines or sines of a rotary embedding from position 0.
    Rotary {
        /// The frequencies.
        config: RotaryConfig,
        /// Cosines or sines.
        part: RotaryPart,
        /// Columns of each frequency.
        columns: RotaryColumns,
        /// Factor of all entries.
        attention_factor: f64,
    },
    /// Frequencies of a rotary embedding.
    InvFreq {
        /// The base and the scaling. Several scalings can have the same frequencies.
        config: RotaryConfig,
    },
    /// Slopes of ALiBi, or biases `[heads, keys]`.
    Alibi {
        /// Number of heads and largest exponent.
        config: AlibiConfig,
        /// Whether the slopes have a minus sign.
        negative: bool,
        /// Keys of a table of biases.
        keys: Option<usize>,
    },
    /// Sinusoidal encoding of a grid.
    Grid {
        /// The convention.
        preset: GridPreset,
        /// Sides of the grid.
        sides: Vec<usize>,
    },
    /// A table with entries that follow none of these.
    Learned(LearnedStatistics),
    /// Not a table of positions.
    Unknown {
        /// The reason.
        reason: &'static str,
    },
}

impl Identified {
    /// Returns the name of the scheme: `sinusoidal`, `rotary`, `inv_freq`, `alibi`, `grid`, `learned`, or
    /// `unknown`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Sinusoidal { .. } => "sinusoidal",
            Self::Rotary { .. } => "rotary",
            Self::InvFreq { .. } => "inv_freq",
            Self::Alibi { .. } => "alibi",
            Self::Grid { .. } => "grid",
            Self::Learned(_) => "learned",
            Self::Unknown { .. } => "unknown",
        }
    }
}

/// Function of the angles in a table of a rotary embedding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RotaryPart {
    /// Cosines.
    Cos,
    /// Sines.
    Sin,
}

/// Columns of the frequencies in a table of a rotary embedding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RotaryColumns {
    /// One column each, as Candle's `rope` accepts them.
    Once,
    /// All columns, and again all columns: `cat((freqs, freqs))`, for half-split pairs.
    Concatenated,
    /// Each column twice: `repeat_interleave(freqs, 2)`, for interleaved pairs.
    Repeated,
}

/// Statistics of a learned table. At most 512 rows are used.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct LearnedStatistics {
    /// Least norm of a row.
    pub least_norm: f64,
    /// Mean norm.
    pub mean_norm: f64,
    /// Largest norm of a row.
    pub largest_norm: f64,
    /// Mean cosine between neighboring rows.
    pub neighbor_similarity: Option<f64>,
    /// Mean cosine between rows that are half the table apart.
    pub distant_similarity: Option<f64>,
}

/// Recognizes the convention of a table from its entries.
///
/// `shape` is the shape of the tensor, the last axis fastest. Axes of length 1 do not count. Tables of `[rows,
/// columns]`, grids of `[height, width, columns]`, and vectors are recognized in all element types, exact or
/// with the errors of `f32` arithmetic.
///
/// ```
/// use pe_core::{Identified, Preset, Sinusoidal, identify};
///
/// let table = Sinusoidal::new(Preset::Whisper.config(64))?.table::<f32>(0..100)?;
/// let found = identify(table.as_slice(), &[100, 64])?;
/// let Identified::Sinusoidal { config, start, presets, .. } = found.found else { panic!() };
/// assert_eq!((config, start), (Preset::Whisper.config(64), 0.0));
/// assert!(presets.contains(&Preset::Whisper));
/// assert_eq!(found.agreement.unwrap().equal_share, 1.0);
/// # Ok::<(), pe_core::Error>(())
/// ```
///
/// # Errors
/// Returns an error if the number of entries does not match the shape.
pub fn identify<T: Element>(values: &[T], shape: &[usize]) -> Result<Identification> {
    let count = shape
        .iter()
        .fold(1u64, |n, side| n.saturating_mul(*side as u64));
    if count != values.len() as u64 {
        return Err(Error::Length {
            name: "values",
            len: values.len(),
            expected: count,
        });
    }
    let unknown = |reason| Ok(Identification::unknown(reason));
    if values.len() < 2 {
        return unknown("there are fewer than two entries");
    }
    if values.iter().any(|value| !value.to_f64().is_finite()) {
        return unknown("some entries are not finite");
    }
    if values.iter().all(|value| *value == values[0]) {
        return unknown("all entries are equal");
    }
    let sides: Vec<usize> = shape.iter().copied().filter(|side| *side > 1).collect();
    let found = match *sides.as_slice() {
        [_] => alibi::of_slopes(values).or_else(|| inv_freq::identify(values)),
        [.., width] => of_rows(values, width, &sides[..sides.len() - 1]),
        [] => None,
    };
    if let Some((found, agreement)) = found {
        return Ok(Identification {
            found,
            agreement: Some(agreement),
        });
    }
    let [.., width] = sides.as_slice() else {
        return unknown("there are fewer than two entries");
    };
    if sides.len() == 1 {
        return unknown("the vector holds no slopes and no frequencies");
    }
    let entry = |at: usize| values[at].to_f64();
    let view = View::new::<T>(values.len() / width, *width, &entry);
    Ok(Identification {
        found: Identified::Learned(learned::statistics(&view)),
        agreement: None,
    })
}

fn of_rows<T: Element>(
    values: &[T],
    width: usize,
    sides: &[usize],
) -> Option<(Identified, Agreement)> {
    let entry = |at: usize| values[at].to_f64();
    let view = View::new::<T>(values.len() / width, width, &entry);
    let plain = sides.len() == 1;
    // In the order of their cost.
    plain
        .then(|| sinusoidal::identify(values, &view))
        .flatten()
        .or_else(|| plain.then(|| rotary::identify(values, &view)).flatten())
        .or_else(|| plain.then(|| alibi::of_biases(values, &view)).flatten())
        .or_else(|| grid::identify(values, &view, sides))
}
