//! Rotary position embeddings: from a specification to cosines and sines.
//!
//! ```text
//! RotaryConfig ─► Rotary ─► RotaryFrequencies ─► CosSin<T>
//!   (checked)   (a family)  (inv_freq, attention   (tables, [positions, pairs])
//!                            factor)
//! ```
//!
//! Every scaling that released models use reduces to one set of frequencies and one
//! factor: pair `i` turns by `position x inv_freq[i]`, and cosine and sine are multiplied
//! by the attention factor. For most scalings there is one set; for dynamic NTK and
//! LongRoPE the set depends on the sequence length ([`Rotary::frequencies`]).

pub(crate) mod axes;
pub(crate) mod frequencies;
pub(crate) mod mrope;
pub(crate) mod tables;

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::limits::MAX_D_MODEL;
use crate::spec::recipe::RotaryRecipe;
use crate::turns::scaling::{self, Context, RopeScaling};

pub use axes::{
    AxialFrequencies, AxialRotary, Mrope, MropeArrangement, PatchGrid, PatchPositions,
    vision_position_ids,
};
pub use frequencies::RotaryFrequencies;
pub use mrope::{MropePositions, MropeSegment, mrope_position_ids};

pub use tables::CosSin;

/// The specification of a rotary embedding: plain data, checked by [`Rotary::new`].
///
/// Without scaling, pair `i` turns by `base^(-2i / rotary_dim)` radians per position.
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
    /// The number of columns of a head that are rotated; even, at most [`MAX_D_MODEL`].
    pub rotary_dim: usize,
    /// The number whose powers the frequencies are: `rope_theta`.
    pub base: f64,
    /// How the frequencies are changed for longer sequences.
    #[cfg_attr(feature = "serde", serde(default))]
    pub scaling: RopeScaling,
    /// The sequence length that the model was made for. Needed by dynamic NTK, and by
    /// LongRoPE without a factor.
    #[cfg_attr(feature = "serde", serde(default))]
    pub max_position_embeddings: Option<usize>,
    /// Exact, or with the roundings of the reference.
    #[cfg_attr(feature = "serde", serde(default))]
    pub recipe: RotaryRecipe,
}

impl RotaryConfig {
    /// Base 10000, no scaling, exact.
    pub const fn new(rotary_dim: usize) -> Self {
        Self {
            rotary_dim,
            base: 10000.0,
            scaling: RopeScaling::Default,
            max_position_embeddings: None,
            recipe: RotaryRecipe::Exact,
        }
    }

    /// The frequencies at a sequence length.
    fn frequencies(&self, seq_len: usize) -> Result<RotaryFrequencies> {
        let context = Context {
            rotary_dim: self.rotary_dim,
            base: self.base,
            max_position_embeddings: self.max_position_embeddings,
            seq_len,
        };
        let (set, factor) = scaling::frequencies(&self.scaling, self.recipe, &context)?;
        RotaryFrequencies::new(set, factor)
    }
}

/// A checked rotary embedding: the maker of [`RotaryFrequencies`].
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
    /// The set that holds at short sequences; for most scalings the only one.
    first: RotaryFrequencies,
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
    /// A `rotary_dim` that is zero, odd or above [`MAX_D_MODEL`]; a base that is not
    /// positive and finite; parameters of the scaling out of their range, or lists of the
    /// wrong length; a frequency above 2^32 radians per position.
    pub fn new(config: RotaryConfig) -> Result<Self> {
        let rotary_dim = config.rotary_dim;
        if rotary_dim == 0 || rotary_dim > MAX_D_MODEL || !rotary_dim.is_multiple_of(2) {
            return Err(Error::RotaryDim { rotary_dim });
        }
        let first = config.frequencies(0)?;
        Ok(Self {
            inner: Arc::new(Inner { config, first }),
        })
    }

    /// The specification.
    pub fn config(&self) -> &RotaryConfig {
        &self.inner.config
    }

    /// The number of columns of a head that are rotated.
    pub fn rotary_dim(&self) -> usize {
        self.inner.config.rotary_dim
    }

    /// The number of pairs, `rotary_dim / 2`.
    pub fn pairs(&self) -> usize {
        self.inner.config.rotary_dim / 2
    }

    /// Whether [`Rotary::frequencies`] differ between sequence lengths.
    pub fn depends_on_seq_len(&self) -> bool {
        self.inner.config.scaling.depends_on_seq_len()
    }

    /// Returns whether sequences of two lengths have the same frequencies and attention factor.
    ///
    /// If they do not, keys that were rotated at one length do not fit queries rotated at the
    /// other, and a cache of keys must be dropped and computed again. With LongRoPE that is so
    /// where `original_max_position_embeddings` lies between the two, with dynamic NTK between any two
    /// lengths of which one exceeds `max_position_embeddings`, and with other scalings never.
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

    /// The frequencies that hold for a sequence of `seq_len` positions (counted from
    /// position 0, what is cached included).
    ///
    /// # Errors
    /// If a frequency of a length-dependent scaling leaves the supported range.
    pub fn frequencies(&self, seq_len: usize) -> Result<RotaryFrequencies> {
        let Inner { config, first } = self.inner.as_ref();
        match config
            .scaling
            .first_set_until(config.max_position_embeddings)
        {
            Some(longest) if seq_len > longest => config.frequencies(seq_len),
            _ => Ok(first.clone()),
        }
    }
}
