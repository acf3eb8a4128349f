//! Defaults of a model type, for keys that its `config.json` leaves out.

use serde_json::{Map, Value};

use crate::families::rotary::{Mrope, MropeArrangement};
use crate::spec::direction::Direction;
use crate::spec::pair_layout::PairLayout::{self, HalfSplit, Interleaved};

/// Sets of frequencies of a model that does not name them itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Sets {
    /// One set for all layers.
    One,
    /// `full_attention`, and `sliding_attention` with its own base. A `rope_scaling` changes the
    /// first only.
    ScaledFull(f64),
    /// The same sets. A `rope_scaling` changes both.
    ScaledBoth(f64),
    /// Those of the model type. A dictionary without types of layers applies to each.
    Each,
    /// Those of the model type, which state what the dictionaries of a file leave out.
    Completed,
    /// `main`, and `compress` with its own base. A dictionary without types of layers changes the
    /// second only.
    Compressed(f64),
}

/// Layers of a model that have no rotary embedding.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Unrotated {
    Nothing,
    /// Those of full attention: one of `period`, by default, which `key` may change. A period of 0
    /// means that the file must state them.
    Full {
        key: &'static str,
        period: usize,
    },
    /// The same, in models with a `sliding_window`.
    FullBesideSliding {
        key: &'static str,
        period: usize,
    },
    /// Those that `no_rope_layers` lists, or one of `period`.
    Listed {
        period: usize,
    },
    /// Those with a base of 0 in `layer_rope_theta`. By default they are the last layer and each
    /// `period`-th before it, or none if the period is 0.
    ByBase {
        period: usize,
    },
}

/// Scale of a model's attention scores that depends on the position or on the length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Temper {
    /// `mscale_all_dim`, with any scaling: the softmax.
    Mscale,
    /// `llama_4_scaling_beta`: queries, by the position.
    Beta,
    /// `attn_temperature_tuning`: queries of layers without a rotary embedding, by the position.
    Unrotated,
}

/// The defaults of transformers' configuration class (version 5.23).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Family {
    pub(super) theta: f64,
    pub(super) partial: f64,
    pub(super) head_dim: Option<usize>,
    /// Whether `head_dim` is the part of a head that has positions, all of which rotates
    /// (`qk_rope_head_dim`).
    pub(super) separate: bool,
    /// The number of rotated columns, where the class states it.
    pub(super) rotary_dim: Option<usize>,
    /// The width of a head in layers of full attention, where it differs.
    pub(super) global_head_dim: Option<usize>,
    pub(super) layout: PairLayout,
    pub(super) direction: Direction,
    pub(super) sets: Sets,
    /// The rope parameters of a file that has none, as JSON.
    pub(super) parameters: Option<&'static str>,
    /// Arrangement of the pairs of time, height, and width, with the default sections.
    pub(super) mrope: Option<Mrope>,
    /// The keys among those of `unread.rs` that transformers uses for this model type, if that is
    /// known. The others have no effect.
    pub(super) reads: Option<&'static [&'static str]>,
    /// The dictionaries among `rope_parameters` and `rope_scaling` that have no effect without types
    /// of layers.
    pub(super) ignores: &'static [&'static str],
    pub(super) unrotated: Unrotated,
    pub(super) tempers: &'static [Temper],
    /// The width of the model and its number of heads, layers, and positions.
    pub(super) hidden: Option<usize>,
    pub(super) heads: Option<usize>,
    pub(super) layers: Option<usize>,
    pub(super) positions: Option<usize>,
    /// Whether an odd number of rotated columns has one more column. The exponents have the odd number.
    pub(super) odd: bool,
    /// Whether a head is twice as wide as the model's width divided by the number of heads.
    pub(super) twice: bool,
    /// Whether `alpha` in a `dynamic` dictionary changes the base once, for all lengths.
    pub(super) ntk_alpha: bool,
    /// Difference between this version and the model.
    pub(super) differs: Option<&'static str>,
}

pub(super) const PLAIN: Family = Family {
    theta: 10_000.0,
    partial: 1.0,
    head_dim: None,
    separate: false,
    rotary_dim: None,
    global_head_dim: None,
    layout: HalfSplit,
    direction: Direction::Counterclockwise,
    sets: Sets::One,
    parameters: None,
    mrope: None,
    reads: None,
    ignores: &[],
    unrotated: Unrotated::Nothing,
    tempers: &[],
    hidden: None,
    heads: None,
    layers: None,
    positions: None,
    odd: false,
    twice: false,
    ntk_alpha: false,
    differs: None,
};

impl Family {
    pub(super) const fn theta(self, theta: f64) -> Self {
        Self { theta, ..self }
    }

    pub(super) const fn partial(self, partial: f64) -> Self {
        Self { partial, ..self }
    }

    pub(super) const fn head(self, head_dim: usize) -> Self {
        Self {
            head_dim: Some(head_dim),
            ..self
        }
    }

    /// States that a part of the head is for positions alone.
    pub(super) const fn part(self, head_dim: usize) -> Self {
        Self {
            separate: true,
            ..self.head(head_dim)
        }
    }

    pub(super) const fn rotary_dim(self, rotary_dim: usize) -> Self {
        Self {
            rotary_dim: Some(rotary_dim),
            ..self
        }
    }

    pub(super) const fn global_head(self, head_dim: usize) -> Self {
        Self {
            global_head_dim: Some(head_dim),
            ..self
        }
    }

    pub(super) const fn interleaved(self) -> Self {
        Self {
            layout: Interleaved,
            ..self
        }
    }

    pub(super) const fn clockwise(self) -> Self {
        Self {
            direction: Direction::Clockwise,
            ..self
        }
    }

    pub(super) const fn sets(self, sets: Sets) -> Self {
        Self { sets, ..self }
    }

    /// States two bases instead of the dictionaries of the class.
    pub(super) const fn two_sets(self, sets: Sets) -> Self {
        Self {
            sets,
            parameters: None,
            ..self
        }
    }

    pub(super) const fn parameters(self, json: &'static str) -> Self {
        Self {
            parameters: Some(json),
            ..self
        }
    }

    pub(super) const fn mrope(self, sections: [usize; 3], arrangement: MropeArrangement) -> Self {
        Self {
            mrope: Some(Mrope {
                sections,
                arrangement,
            }),
            ..self
        }
    }

    pub(super) const fn reads(self, keys: &'static [&'static str]) -> Self {
        Self {
            reads: Some(keys),
            ..self
        }
    }

    pub(super) const fn ignores(self, keys: &'static [&'static str]) -> Self {
        Self {
            ignores: keys,
            ..self
        }
    }

    /// Returns the rope parameters of a file that has none.
    pub(super) fn own(&self) -> Map<String, Value> {
        let parsed = self.parameters.map(serde_json::from_str);
        parsed.and_then(|parsed| parsed.ok()).unwrap_or_default()
    }

    /// Returns whether a key has an effect.
    pub(super) fn uses(&self, key: &str) -> bool {
        self.reads.is_none_or(|keys| keys.contains(&key))
    }

    pub(super) const fn unrotated(self, unrotated: Unrotated) -> Self {
        Self { unrotated, ..self }
    }

    pub(super) const fn tempers(self, tempers: &'static [Temper]) -> Self {
        Self { tempers, ..self }
    }

    /// Sets the defaults of width, heads, layers, and positions. The class has none where it is 0.
    pub(super) const fn sizes(self, sizes: [usize; 4]) -> Self {
        const fn some(size: usize) -> Option<usize> {
            match size {
                0 => None,
                size => Some(size),
            }
        }
        let [hidden, heads, layers, positions] = sizes;
        Self {
            hidden: some(hidden),
            heads: some(heads),
            layers: some(layers),
            positions: some(positions),
            ..self
        }
    }

    pub(super) const fn twice(self) -> Self {
        Self {
            twice: true,
            ..self
        }
    }

    pub(super) const fn ntk_alpha(self) -> Self {
        Self {
            ntk_alpha: true,
            ..self
        }
    }

    pub(super) const fn odd(self) -> Self {
        Self { odd: true, ..self }
    }

    pub(super) const fn differs(self, how: &'static str) -> Self {
        Self {
            differs: Some(how),
            ..self
        }
    }
}
