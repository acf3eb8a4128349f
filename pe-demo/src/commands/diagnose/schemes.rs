//! Models without a rotary embedding.

use anyhow::{Result, anyhow};
use pe_core::hf_config::{HfBias, HfPositions, HfScheme};
use pe_core::{
    AlibiSlopes, BucketDirection, DebertaBuckets, Preset, RotaryConfig, Spacing, T5Buckets,
    T5BucketsConfig,
};
use serde::Serialize;

use super::distinct::{Float, first};
use super::facts::Facts;
use super::waves::Waves;
use crate::words::lengths::LONGEST;

/// A scheme of a model.
#[derive(Debug, Serialize)]
pub(super) struct Scheme {
    pub(super) name: &'static str,
    pub(super) explanation: &'static str,
    #[serde(flatten)]
    pub(super) finding: Option<Finding>,
}

/// The facts about a scheme.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Finding {
    Learned(Learned),
    Sinusoidal(Box<Sinusoidal>),
    Alibi(Vec<Head>),
    Buckets(Vec<Buckets>),
}

/// A trained table.
#[derive(Debug, Serialize)]
pub(super) struct Learned {
    /// The key that states the size of the table.
    pub(super) key: String,
    /// Its value.
    pub(super) stated: u64,
    /// The longest sequence.
    pub(super) longest: u64,
    /// Positions of the length that have no row.
    pub(super) missing: Option<u64>,
    /// Bytes of the table in the type.
    pub(super) bytes: Option<u64>,
}

/// A table of sines and cosines.
#[derive(Debug, Serialize)]
pub(super) struct Sinusoidal {
    /// The convention, by the model type.
    pub(super) preset: &'static str,
    pub(super) d_model: u64,
    /// Bytes of the table in the type.
    pub(super) bytes: u64,
    #[serde(flatten)]
    pub(super) waves: Waves,
}

/// A head with ALiBi.
#[derive(Debug, Serialize)]
pub(super) struct Head {
    pub(super) head: usize,
    pub(super) slope: f64,
    /// The distance at which the bias is -10.
    pub(super) reach: f64,
    /// The bias of the first key for the last query of the length.
    pub(super) farthest: Option<f64>,
}

/// The bias at which a weight is e^-10 of what it would be without, 0.005%.
pub(super) const REACH: f64 = 10.0;

/// Buckets of keys before the query.
#[derive(Debug, Serialize)]
pub(super) struct Buckets {
    /// Where a model has several: encoder or decoder.
    pub(super) stack: Option<&'static str>,
    /// Number of different buckets.
    pub(super) buckets: u64,
    /// Distances that have a bucket of their own: those below.
    pub(super) exact_below: u64,
    /// The first distance of the last bucket.
    pub(super) last_from: u64,
}

impl Scheme {
    /// Looks at each scheme of a model.
    pub(super) fn all<T: Float>(
        facts: &Facts,
        positions: &HfPositions,
        length: Option<u64>,
    ) -> Result<Vec<Self>> {
        let schemes = positions.schemes.iter();
        schemes
            .map(|scheme| {
                Ok(Self {
                    name: scheme.name(),
                    explanation: scheme.explanation(),
                    finding: match scheme {
                        HfScheme::Learned => learned::<T>(facts, positions, length),
                        HfScheme::Sinusoidal => sinusoidal::<T>(facts, positions, length)?,
                        HfScheme::Alibi | HfScheme::RelativeBuckets | HfScheme::Disentangled => {
                            bias(facts, positions.model_type.as_deref(), length)?
                        }
                        _ => None,
                    },
                })
            })
            .collect()
    }
}

/// Returns the longest sequence that a key states, and the key.
pub(super) fn longest(positions: &HfPositions) -> Option<(u64, &str)> {
    const ROWS: [&str; 6] = [
        "max_position_embeddings",
        "n_positions",
        "block_size",
        "max_target_positions",
        "max_decoder_position_embeddings",
        "context_length",
    ];
    ROWS.iter().find_map(|name| {
        let mut keys = positions.keys.iter();
        let key = keys.find(|key| key.path.rsplit('.').next() == Some(name))?;
        Some((key.value.parse().ok()?, key.path.as_str()))
    })
}

fn learned<T: Float>(
    facts: &Facts,
    positions: &HfPositions,
    length: Option<u64>,
) -> Option<Finding> {
    let (stated, key) = longest(positions)?;
    let note = positions.note.unwrap_or_default();
    // RoBERTa's tokens are numbered from pad_token_id + 1, OPT's table has two rows more.
    let (longest, rows) = match note {
        note if note.contains("pad_token_id + 1") => {
            let first = facts.padding.unwrap_or(1).saturating_add(1);
            (stated.saturating_sub(first), stated)
        }
        note if note.contains("offset of 2") => (stated, stated.saturating_add(2)),
        _ => (stated, stated),
    };
    let width = facts.width;
    Some(Finding::Learned(Learned {
        key: key.to_owned(),
        stated,
        longest,
        missing: length.and_then(|length| length.checked_sub(longest)),
        bytes: width.map(|width| rows.saturating_mul(width).saturating_mul(bytes::<T>())),
    }))
}

/// Returns the bytes of an entry.
pub(super) fn bytes<T>() -> u64 {
    size_of::<T>() as u64
}

/// Returns the sines and cosines, by the convention of the model type. Their frequencies are those of
/// a rotary embedding with as many pairs.
fn sinusoidal<T: Float>(
    facts: &Facts,
    positions: &HfPositions,
    length: Option<u64>,
) -> Result<Option<Finding>> {
    let (Some(length), Some(width)) = (length, facts.width) else {
        return Ok(None);
    };
    let preset = match positions.model_type.as_deref() {
        Some("whisper") => Preset::Whisper,
        Some("marian" | "pegasus" | "autoformer" | "informer" | "time_series_transformer") => {
            Preset::Marian
        }
        Some("pegasus_x") => Preset::Tensor2tensor,
        Some("musicgen_decoder" | "musicgen_melody_decoder") => Preset::Mimi,
        Some("fsmt" | "kosmos_2_text_model" | "m2m_100" | "nllb-moe" | "speech_to_text")
        | Some("trocr" | "xglm") => Preset::Fairseq,
        _ => Preset::Paper,
    };
    let d_model = usize::try_from(width)?;
    let wrong = |error: pe_core::Error| anyhow!("a width of {width}: {error}");
    // Checked before its half is a number of pairs.
    let config = preset.config(d_model);
    pe_core::Sinusoidal::new(config).map_err(wrong)?;
    let even = d_model - d_model % 2;
    let config = RotaryConfig {
        exponent_dim: match config.spacing {
            Spacing::Inclusive => Some(even.saturating_sub(2).max(1)),
            _ => Some(d_model),
        },
        ..RotaryConfig::new(even.max(2))
    };
    let trained = longest(positions).map(|(length, _)| (length, LONGEST));
    Ok(Some(Finding::Sinusoidal(Box::new(Sinusoidal {
        preset: preset.name(),
        d_model: width,
        bytes: length.saturating_mul(width).saturating_mul(bytes::<T>()),
        waves: Waves::of::<T>(&config, trained, length)?,
    }))))
}

/// Model types with a decoder whose buckets are those of one direction.
const WITH_DECODER: [&str; 5] = [
    "t5",
    "switch_transformers",
    "pop2piano",
    "udop",
    "pix2struct",
];

fn bias(facts: &Facts, model_type: Option<&str>, length: Option<u64>) -> Result<Option<Finding>> {
    Ok(match facts.bias {
        Some(HfBias::Alibi(config)) => {
            let slopes = AlibiSlopes::new(config)?.values::<f64>();
            let head = |(head, slope): (usize, f64)| Head {
                head,
                slope,
                reach: REACH / slope,
                farthest: length.map(|length| -slope * (length - 1) as f64),
            };
            let heads = slopes.into_iter().enumerate().map(head);
            Some(Finding::Alibi(heads.collect()))
        }
        Some(HfBias::Buckets { buckets: of, .. } | HfBias::Boxes { tokens: of, .. }) => {
            let t5 = |stack, direction| -> Result<Buckets> {
                let of = T5Buckets::new(T5BucketsConfig { direction, ..of })?;
                Ok(Buckets::of(stack, |distance| {
                    of.bucket(-(distance as i64)).into()
                }))
            };
            let name = model_type.unwrap_or_default();
            let both = WITH_DECODER.iter().any(|family| name.contains(family));
            let mut stacks = vec![t5(
                both.then_some("encoder"),
                BucketDirection::Bidirectional,
            )?];
            if both {
                stacks.push(t5(Some("decoder"), BucketDirection::Unidirectional)?);
            }
            Some(Finding::Buckets(stacks))
        }
        Some(HfBias::Disentangled { buckets: of, .. }) => {
            let of = DebertaBuckets::new(of)?;
            let most = of.span() as i64 - 1;
            let bucket = |distance| of.bucket(distance as i64).min(most);
            Some(Finding::Buckets(vec![Buckets::of(None, bucket)]))
        }
        _ => None,
    })
}

impl Buckets {
    fn of(stack: Option<&'static str>, bucket: impl Fn(u64) -> i64) -> Self {
        // A distance that all larger ones share their bucket with.
        const FAR: u64 = 1 << 40;
        let last_from = first(FAR, |distance| bucket(distance) == bucket(FAR));
        Self {
            stack,
            buckets: bucket(FAR).unsigned_abs() + 1,
            exact_below: first(last_from, |distance| {
                bucket(distance + 1) != distance as i64 + 1
            }),
            last_from,
        }
    }
}
