//! Logarithmic buckets of distances: T5 and its relatives, and DeBERTa.

use crate::error::{Error, Result};
use crate::families::bias::border::border;
use crate::families::bias::toeplitz::relative_distances;

/// Most buckets: 2^12.
const MAX_BUCKETS: usize = 1 << 12;

/// Whether keys after the query have buckets of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum BucketDirection {
    /// Half of the buckets for either side: encoders.
    #[default]
    Bidirectional,
    /// All buckets for the query and the keys before it. Later keys share bucket 0: decoders.
    Unidirectional,
}

/// Specification of the buckets of T5 (Raffel et al.: "Exploring the Limits of Transfer Learning", 2020).
///
/// With `n` buckets on a side and `e = n / 2`, a distance of `a` tokens has the bucket
///
/// ```text
/// a                                                          a < e
/// min(e + floor(ln(a / e) / ln(max_distance / e) (n - e)), n - 1)     otherwise
/// ```
///
/// The bucket of a later key is `n` higher ([`BucketDirection::Bidirectional`]).
///
/// | model | `num_buckets`, `max_distance` | direction |
/// |---|---|---|
/// | T5, mT5, UMT5, LongT5, Pix2Struct, MPNet | 32, 128 | encoder bidirectional, decoder unidirectional |
/// | WavLM | 320, 800 | bidirectional |
/// | LayoutLMv2, LayoutLMv3 | 32, 128 of tokens; 64, 256 of coordinates | bidirectional |
///
/// MPNet's source negates the distance twice: its buckets are those of T5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct T5BucketsConfig {
    /// `relative_attention_num_buckets`, 2 to 4096 on each side. Defaults to 32.
    pub num_buckets: usize,
    /// `relative_attention_max_distance`: farther keys share the last bucket. Defaults to 128.
    pub max_distance: u32,
    /// Whether keys after the query have buckets of their own.
    pub direction: BucketDirection,
}

impl T5BucketsConfig {
    /// Creates T5's specification: 32 buckets up to a distance of 128.
    pub const fn new(direction: BucketDirection) -> Self {
        Self {
            num_buckets: 32,
            max_distance: 128,
            direction,
        }
    }
}

/// The buckets of T5, decided exactly.
///
/// A distance at which the formula's logarithms have an integer quotient begins its bucket. The `f32` logarithms of
/// transformers agree at every distance to 4,096, for the specifications of released models
/// (32 buckets to 128, 64 to 256, 320 to 800) and for others.
///
/// # Examples
/// ```
/// use pe_core::{BucketDirection, T5Buckets, T5BucketsConfig};
///
/// let encoder = T5Buckets::new(T5BucketsConfig::new(BucketDirection::Bidirectional))?;
/// assert_eq!([-200, -8, -1, 0, 1, 8, 200].map(|d| encoder.bucket(d)), [15, 8, 1, 0, 17, 24, 31]);
/// let decoder = T5Buckets::new(T5BucketsConfig::new(BucketDirection::Unidirectional))?;
/// assert_eq!([-200, -16, -1, 0, 1].map(|d| decoder.bucket(d)), [31, 16, 1, 0, 0]);
/// # Ok::<(), pe_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct T5Buckets {
    config: T5BucketsConfig,
    /// First distance of each bucket of a side, starting with the second.
    begins: Vec<u64>,
}

impl T5Buckets {
    /// Checks the specification and computes the borders.
    ///
    /// # Errors
    /// Returns an error if a side has fewer than 2 or more than 4096 buckets, the buckets are odd and bidirectional, or
    /// `max_distance` is not above the buckets of single distances.
    pub fn new(config: T5BucketsConfig) -> Result<Self> {
        let T5BucketsConfig {
            num_buckets,
            max_distance,
            direction,
        } = config;
        let side = match direction {
            BucketDirection::Bidirectional => num_buckets / 2,
            BucketDirection::Unidirectional => num_buckets,
        };
        let odd = direction == BucketDirection::Bidirectional && num_buckets % 2 != 0;
        if odd || !(2..=MAX_BUCKETS).contains(&side) {
            return Err(Error::Bias {
                name: "relative_attention_num_buckets",
                value: num_buckets as u64,
                allowed: "2..=4096 on each side",
            });
        }
        let (side, exact, most) = (side as u64, side as u64 / 2, u64::from(max_distance));
        if most <= exact {
            return Err(Error::Bias {
                name: "relative_attention_max_distance",
                value: most,
                allowed: "above the number of buckets of single distances",
            });
        }
        let logarithmic = side - exact;
        let begins = (1..=exact)
            .chain((1..logarithmic).map(|k| border(exact, most, k, logarithmic).ceil()))
            .collect();
        Ok(Self { config, begins })
    }

    /// Returns the specification.
    pub fn config(&self) -> &T5BucketsConfig {
        &self.config
    }

    /// Returns the bucket of a distance `key - query`.
    pub fn bucket(&self, distance: i64) -> u32 {
        let later = distance > 0;
        let size = match self.config.direction {
            BucketDirection::Unidirectional if later => 0,
            _ => distance.unsigned_abs(),
        };
        // At most 4096 borders.
        let bucket = self.begins.partition_point(|begin| *begin <= size) as u32;
        match self.config.direction {
            BucketDirection::Bidirectional if later => bucket + self.begins.len() as u32 + 1,
            _ => bucket,
        }
    }

    /// Returns the buckets of all distances of `q_len` queries and `kv_len` keys, in the order of
    /// [`relative_distances`].
    ///
    /// # Errors
    /// Returns the errors of [`relative_distances`].
    pub fn distances(&self, q_len: usize, kv_len: usize, offset: u64) -> Result<Vec<u32>> {
        let distances = relative_distances(q_len, kv_len, offset)?;
        Ok(distances.map(|distance| self.bucket(distance)).collect())
    }
}

/// Specification of the buckets of DeBERTa v2 and v3 (He et al.: "DeBERTa", 2021).
///
/// With `mid = position_buckets / 2` and `a` the size of the distance `query - key`, the bucket is
///
/// ```text
/// a                                                              a <= mid
/// ceil(ln(a / mid) / ln((max_relative_positions - 1) / mid) (mid - 1)) + mid     otherwise
/// ```
///
/// with the sign of the distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct DebertaBucketsConfig {
    /// `position_buckets`, even, 4 to 8192; `None` where `config.json` has -1: distances themselves.
    pub position_buckets: Option<usize>,
    /// `max_relative_positions`, or `max_position_embeddings` where that is below 1.
    pub max_relative_positions: u32,
}

/// The buckets of DeBERTa, decided exactly.
///
/// A distance at which the formula's logarithms have an integer quotient ends its bucket. The `f32` logarithms of
/// transformers agree at every distance to 4,096, for the released models (256 buckets to 512) and for others.
///
/// # Examples
/// ```
/// use pe_core::{DebertaBuckets, DebertaBucketsConfig};
///
/// let buckets = DebertaBuckets::new(DebertaBucketsConfig {
///     position_buckets: Some(256),
///     max_relative_positions: 512,
/// })?;
/// assert_eq!([0, 5, -128, 129, 511].map(|d| buckets.bucket(d)), [0, 5, -128, 129, 255]);
/// // The column of the relative embeddings for content to position, and for position to content.
/// assert_eq!(buckets.span(), 256);
/// # Ok::<(), pe_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DebertaBuckets {
    config: DebertaBucketsConfig,
    /// The last distance of the buckets `mid ..`.
    ends: Vec<u64>,
}

impl DebertaBuckets {
    /// Checks the specification and computes the borders.
    ///
    /// # Errors
    /// Returns an error if `position_buckets` is odd or not within 4 to 8192, or `max_relative_positions` is zero, above 2^24, or
    /// too small for the buckets.
    pub fn new(config: DebertaBucketsConfig) -> Result<Self> {
        let most = u64::from(config.max_relative_positions);
        if most == 0 || most > 1 << 24 {
            return Err(Error::Bias {
                name: "max_relative_positions",
                value: most,
                allowed: "1..=16777216",
            });
        }
        let Some(buckets) = config.position_buckets else {
            let ends = Vec::new();
            return Ok(Self { config, ends });
        };
        if !(4..=2 * MAX_BUCKETS).contains(&buckets) || buckets % 2 != 0 {
            return Err(Error::Bias {
                name: "position_buckets",
                value: buckets as u64,
                allowed: "an even number within 4..=8192",
            });
        }
        let middle = buckets as u64 / 2;
        if most - 1 <= middle {
            return Err(Error::Bias {
                name: "max_relative_positions",
                value: most,
                allowed: "more than half of position_buckets, plus 1",
            });
        }
        let logarithmic = middle - 1;
        let mut ends = vec![middle];
        ends.extend((1..logarithmic).map(|k| border(middle, most - 1, k, logarithmic).floor));
        ends.push(most - 1);
        Ok(Self { config, ends })
    }

    /// Returns the specification.
    pub fn config(&self) -> &DebertaBucketsConfig {
        &self.config
    }

    /// Returns half the number of rows of the relative embeddings: `position_buckets`, or `max_relative_positions` without
    /// buckets.
    pub fn span(&self) -> usize {
        let most = self.config.max_relative_positions as usize;
        self.config.position_buckets.unwrap_or(most)
    }

    /// Returns the bucket of a distance `query - key`, negative for later keys.
    ///
    /// Distances of `max_relative_positions` and more have the bucket `position_buckets`, where the formula continues: the model
    /// limits it to that one ([`DebertaBuckets::row`]).
    pub fn bucket(&self, distance: i64) -> i64 {
        let Some(middle) = self.ends.first().copied() else {
            return distance;
        };
        let size = distance.unsigned_abs();
        if size <= middle {
            return distance;
        }
        // Every bucket beyond the last border has the same row.
        let bucket = self.ends.partition_point(|end| *end < size) as u64 + middle;
        distance.signum() * bucket as i64
    }

    /// Returns the row of the relative embeddings, `0 .. 2 span`, for a distance `query - key`: the bucket plus the span, within
    /// the rows. Content to position reads this row for the query, and position to content the same for the key.
    pub fn row(&self, distance: i64) -> u32 {
        let span = self.span() as i64;
        self.bucket(distance)
            .saturating_add(span)
            .clamp(0, 2 * span - 1) as u32
    }
}
