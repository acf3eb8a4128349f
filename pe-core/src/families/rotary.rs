//! Rotary position embeddings: from a specification to cosines and sines.
//!
//! ```text
//! RotaryConfig ─► Rotary ─► RotaryFrequencies ─► CosSin<T>
//!   (checked)   (a family)  (inv_freq, attention   (tables, [positions, pairs])
//!                            factor)
//! ```
//!
//! Every scaling of released models reduces to one set of frequencies and one factor. Pair `i`
//! rotates by `position x inv_freq[i]`, and the attention factor multiplies cosine and sine. Most
//! scalings have one set. For dynamic NTK and LongRoPE the set depends on the sequence length
//! ([`Rotary::frequencies`]).

pub(crate) mod axes;
pub(crate) mod axial;
mod blocks;
pub(crate) mod frequencies;
pub(crate) mod mrope;
pub(crate) mod patches;
mod steps;
pub(crate) mod tables;
mod temperature;
mod xpos;

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::limits::MAX_D_MODEL;
use crate::num::real::Real;
use crate::sincos::factor::Factor;
use crate::spec::direction::Direction;
use crate::spec::recipe::RotaryRecipe;
use crate::turns::scaling::{self, Context, Quick, RopeScaling};

pub use axes::{Mrope, MropeArrangement};
pub use axial::{
    AxialRotary, AxialRotaryConfig, AxialRotaryPreset, AxialTables, AxisFrequencies, AxisPairing,
    FrequencyUnit, GridCoordinates, GridIndexing, RotaryAxis, ntk_base,
};
pub use blocks::CosSinBlocks;
pub use frequencies::RotaryFrequencies;
pub use mrope::{MropePositions, MropeSegment, mrope_position_ids};
pub use patches::{
    PatchGrid, PatchOrder, PatchPositions, VisionWindows, vision_position_ids, vision_windows,
};

pub use tables::CosSin;
pub use temperature::ScoreTemperature;
pub use xpos::{Xpos, XposConfig};

/// Specification of a rotary embedding: plain data, checked by [`Rotary::new`].
///
/// Without scaling, pair `i` rotates by `base^(-2i / rotary_dim)` radians per position.
///
/// ```
/// use pe_core::{RopeScaling, Rotary, RotaryConfig};
///
/// let linear = RotaryConfig {
///     base: 500_000.0,
///     scaling: RopeScaling::Linear { factor: 4.0 },
///     ..RotaryConfig::new(128)
/// };
/// assert_eq!(Rotary::new(linear)?.pairs(), 64);
/// # Ok::<(), pe_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct RotaryConfig {
    /// Number of rotated columns of a head, even and at most [`MAX_D_MODEL`].
    pub rotary_dim: usize,
    /// Base of the frequencies: `rope_theta`.
    pub base: f64,
    /// Change of the frequencies for longer sequences.
    #[cfg_attr(feature = "serde", serde(default))]
    pub scaling: RopeScaling,
    /// Sequence length that the model was built for. Dynamic NTK needs it, and so does LongRoPE
    /// without a factor.
    #[cfg_attr(feature = "serde", serde(default))]
    pub max_position_embeddings: Option<usize>,
    /// Exact values, or the roundings of transformers.
    #[cfg_attr(feature = "serde", serde(default))]
    pub recipe: RotaryRecipe,
    /// Width in the exponents of the frequencies, `base^(-2i / exponent_dim)`. `None`, the default,
    /// means `rotary_dim`. Where transformers rotates an odd number of columns, such as 21, there
    /// are 11 pairs with this width in 22 columns.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub exponent_dim: Option<usize>,
    /// Direction of the rotation. Clockwise, all sines have the opposite sign.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Direction::is_default")
    )]
    pub direction: Direction,
}

impl RotaryConfig {
    /// Creates a specification with base 10000, without scaling, exact.
    pub const fn new(rotary_dim: usize) -> Self {
        Self {
            rotary_dim,
            base: 10000.0,
            scaling: RopeScaling::Default,
            max_position_embeddings: None,
            recipe: RotaryRecipe::Exact,
            exponent_dim: None,
            direction: Direction::Counterclockwise,
        }
    }

    fn context(&self, seq_len: usize, ln_base: Option<Real>) -> Context {
        Context {
            ln_base,
            rotary_dim: self.exponent_dim.unwrap_or(self.rotary_dim),
            pairs: self.rotary_dim / 2,
            base: self.base,
            max_position_embeddings: self.max_position_embeddings,
            seq_len,
        }
    }

    /// Computes the frequencies at a sequence length.
    fn frequencies(&self, seq_len: usize, ln_base: Option<Real>) -> Result<RotaryFrequencies> {
        let context = self.context(seq_len, ln_base);
        let (set, factor) = scaling::frequencies(&self.scaling, self.recipe, &context)?;
        Ok(RotaryFrequencies::new(set, Factor::from(factor))?.rotating(self.direction))
    }
}

/// A checked rotary embedding, the builder of [`RotaryFrequencies`].
///
/// Cloning is cheap.
///
/// ```
/// use pe_core::{Rotary, RotaryConfig};
///
/// let rotary = Rotary::new(RotaryConfig::new(64))?;
/// let frequencies = rotary.frequencies(0)?;
/// let tables = frequencies.tables::<f32>(0..2048)?;
/// assert_eq!((tables.cos.rows(), tables.cos.width()), (2048, 32));
/// assert_eq!(tables.sin.get(1, 0), Some(0.84147098)); // sin 1
/// # Ok::<(), pe_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Rotary {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    config: RotaryConfig,
    /// The set of short sequences. Most scalings have no other.
    first: RotaryFrequencies,
    /// ln(base), if there are others.
    ln_base: Option<Real>,
    /// What computes them at once.
    quick: Option<Arc<Quick>>,
}

impl PartialEq for Rotary {
    fn eq(&self, other: &Self) -> bool {
        self.inner.config == other.inner.config
    }
}

impl Rotary {
    /// Checks the specification and computes its frequencies.
    ///
    /// # Errors
    /// Returns an error if
    /// - `rotary_dim` is zero, odd, or above [`MAX_D_MODEL`],
    /// - `exponent_dim` is zero or above [`MAX_D_MODEL`],
    /// - the base is not positive and finite,
    /// - a parameter of the scaling is out of range, or a list has the wrong length,
    /// - a frequency exceeds 2^32 radians per position.
    pub fn new(config: RotaryConfig) -> Result<Self> {
        let rotary_dim = config.rotary_dim;
        if rotary_dim == 0 || rotary_dim > MAX_D_MODEL || !rotary_dim.is_multiple_of(2) {
            return Err(Error::RotaryDim { rotary_dim });
        }
        if let Some(exponent_dim) = config.exponent_dim
            && !(1..=MAX_D_MODEL).contains(&exponent_dim)
        {
            return Err(Error::ExponentDim { exponent_dim });
        }
        let mut first = config.frequencies(0, None)?;
        let depends = config.scaling.depends_on_seq_len();
        let ln_base = depends.then(|| Real::from(config.base).ln());
        let context = config.context(0, ln_base);
        let quick = config.scaling.quick(config.recipe, &context).map(Arc::new);
        if let (Some(quick), Some(trained)) = (&quick, config.max_position_embeddings) {
            first = first.of_length(quick, trained);
        }
        Ok(Self {
            inner: Arc::new(Inner {
                config,
                first,
                ln_base,
                quick,
            }),
        })
    }

    /// Returns the specification.
    pub fn config(&self) -> &RotaryConfig {
        &self.inner.config
    }

    /// Returns the number of rotated columns of a head.
    pub fn rotary_dim(&self) -> usize {
        self.inner.config.rotary_dim
    }

    /// Returns the number of pairs, `rotary_dim / 2`.
    pub fn pairs(&self) -> usize {
        self.inner.config.rotary_dim / 2
    }

    /// Returns whether [`Rotary::frequencies`] depend on the sequence length.
    pub fn depends_on_seq_len(&self) -> bool {
        self.inner.config.scaling.depends_on_seq_len()
    }

    /// Returns whether sequences of two lengths have the same frequencies and attention factor.
    ///
    /// If they do not, keys that were rotated at one length do not fit queries rotated at the
    /// other, and a cache of keys must be dropped and computed again. With LongRoPE that is so
    /// where `original_max_position_embeddings` lies between the two, with dynamic NTK between any two
    /// lengths if one exceeds `max_position_embeddings`, and with other scalings never.
    ///
    /// ```
    /// use pe_core::{LongRopeScaling, RopeScaling, Rotary, RotaryConfig};
    ///
    /// let longrope = LongRopeScaling {
    ///     factor: Some(32.0),
    ///     ..LongRopeScaling::new(vec![1.0; 2], vec![40.0; 2], 4096)
    /// };
    /// let rotary = Rotary::new(RotaryConfig {
    ///     scaling: RopeScaling::LongRope(longrope),
    ///     ..RotaryConfig::new(4)
    /// })?;
    /// assert!(rotary.shares_frequencies(17, 4096)?);
    /// assert!(!rotary.shares_frequencies(4096, 4097)?);
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if a frequency of a length-dependent scaling leaves the supported range.
    pub fn shares_frequencies(&self, seq_len: usize, other: usize) -> Result<bool> {
        if seq_len == other || !self.depends_on_seq_len() {
            return Ok(true);
        }
        Ok(self.frequencies(seq_len)? == self.frequencies(other)?)
    }

    /// Returns the frequencies for a sequence of `seq_len` positions, counted from position 0 and
    /// including cached ones.
    ///
    /// ```
    /// use pe_core::{Rotary, RotaryConfig};
    ///
    /// let frequencies = Rotary::new(RotaryConfig::new(128))?.frequencies(4096)?;
    /// assert_eq!((frequencies.pairs(), frequencies.inv_freq()[0]), (64, 1.0));
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if a frequency of a length-dependent scaling leaves the supported range.
    pub fn frequencies(&self, seq_len: usize) -> Result<RotaryFrequencies> {
        let Inner {
            config,
            first,
            ln_base,
            quick,
        } = self.inner.as_ref();
        match config
            .scaling
            .first_set_until(config.max_position_embeddings)
        {
            Some(longest) if seq_len > longest => {
                let at_once = quick.as_ref().and_then(|quick| {
                    let (scaling, context) =
                        (config.scaling.clone(), config.context(seq_len, *ln_base));
                    let radians = move || scaling::radians(&scaling, &context);
                    RotaryFrequencies::at_once(quick, seq_len, radians)
                });
                match at_once {
                    Some(frequencies) => Ok(frequencies.rotating(config.direction)),
                    None => config.frequencies(seq_len, *ln_base),
                }
            }
            _ => Ok(first.clone()),
        }
    }
}
