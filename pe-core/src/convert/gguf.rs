//! Rotary specifications from the metadata of a GGUF file.
//!
//! [`GgufHeader::read`] reads the header of a file strictly, and [`read`] translates its metadata and the
//! factors of `rope_freqs.weight` to the types of [`hf_config`](super::hf_config). The columns of a pair follow
//! from the architecture, as in llama.cpp.
//!
//! ```
//! use pe_core::gguf::{self, GgufFactors, GgufValue};
//! use pe_core::hf_config::{HfModel, UnknownKeys};
//!
//! let metadata = [
//!     ("general.architecture", GgufValue::Text("qwen2".to_owned())),
//!     ("qwen2.context_length", GgufValue::Unsigned(32_768)),
//!     ("qwen2.embedding_length", GgufValue::Unsigned(896)),
//!     ("qwen2.attention.head_count", GgufValue::Unsigned(14)),
//!     ("qwen2.rope.freq_base", GgufValue::Float(1e6)),
//! ]
//! .map(|(key, value)| (key.to_owned(), value));
//! let model = gguf::read(&metadata, &GgufFactors::default(), UnknownKeys::Reject)?;
//! let HfModel::Rotary(model) = model else {
//!     panic!("Qwen 2 rotates");
//! };
//! assert_eq!((model.layers[0].head_dim, model.layers[0].rotary.base), (64, 1e6));
//! # Ok::<(), pe_core::Error>(())
//! ```
//!
//! # Differences from transformers
//! - YaRN's ramp always has integer ends (`truncate`), also for gpt-oss.
//! - Factors of Llama 3.1 are stored for each pair, rounded to f32.
//! - Weights of some architectures, such as `llama`, are permuted, so their pairs are consecutive columns.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod architectures;
mod header;
mod keys;

use std::io::{Read, Seek, SeekFrom};

use half::{bf16, f16};

use self::architectures::Pairs;
use self::keys::Keys;
use super::hf_config::{HfLayer, HfModel, HfPositions, HfRotary, UnknownKeys};
use crate::error::{Error, Result};
use crate::families::rotary::{Mrope, MropeArrangement, RotaryConfig};
use crate::spec::pair_layout::PairLayout;
use crate::turns::scaling::{LongRopeScaling, RopeScaling, YarnScaling};

use header::is_factors;
pub use header::{GgufHeader, GgufTensor, GgufValue};

/// Largest number of factors that is read from a file.
const MAX_FACTORS: u64 = 1 << 16;

const FULL: &str = "full_attention";
const SLIDING: &str = "sliding_attention";

pub(super) fn problem(problem: impl Into<String>) -> Error {
    Error::Gguf {
        problem: problem.into(),
    }
}

/// Factors that divide the frequencies, one per pair.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GgufFactors {
    /// `rope_freqs.weight`: factors for all lengths.
    pub freqs: Option<Vec<f32>>,
    /// `rope_factors_short.weight` and `rope_factors_long.weight`: factors up to the original training
    /// length, and beyond it.
    pub short_long: Option<(Vec<f32>, Vec<f32>)>,
}

impl GgufFactors {
    /// Reads the factors of a file from its f32, f16, or bf16 tensors.
    ///
    /// # Errors
    /// Returns an error if
    /// - a tensor has another type or more than 65,536 elements,
    /// - copies of a tensor in several layers differ,
    /// - one of the two factors by length is missing,
    /// - reading fails.
    pub fn read(header: &GgufHeader, reader: &mut (impl Read + Seek)) -> Result<Self> {
        let mut of = |name: &str| -> Result<Option<Vec<f32>>> {
            let mut found: Option<Vec<f32>> = None;
            for tensor in &header.tensors {
                if !(is_factors(&tensor.name) && tensor.name.ends_with(name)) {
                    continue;
                }
                let values = factors(tensor, reader)?;
                if found.as_ref().is_some_and(|first| *first != values) {
                    return Err(problem(format!("layers have different {name}")));
                }
                found = Some(values);
            }
            Ok(found)
        };
        let freqs = of("rope_freqs.weight")?;
        let (short, long) = (
            of("rope_factors_short.weight")?,
            of("rope_factors_long.weight")?,
        );
        let short_long = match (short, long) {
            (Some(short), Some(long)) => Some((short, long)),
            (None, None) => None,
            (short, _) => {
                let missing = match short {
                    None => "rope_factors_short.weight",
                    Some(_) => "rope_factors_long.weight",
                };
                return Err(problem(format!(
                    "{missing} is missing, and the other is not"
                )));
            }
        };
        Ok(Self { freqs, short_long })
    }
}

fn factors(tensor: &GgufTensor, reader: &mut (impl Read + Seek)) -> Result<Vec<f32>> {
    let GgufTensor {
        name,
        elements,
        kind,
        begin,
        ..
    } = tensor;
    if *elements > MAX_FACTORS {
        return Err(problem(format!(
            "{name} has {elements} elements, above {MAX_FACTORS}"
        )));
    }
    let count = usize::try_from(*elements).unwrap_or_default();
    let io = |error: std::io::Error| problem(format!("{name}: {error}"));
    reader.seek(SeekFrom::Start(*begin)).map_err(io)?;
    let mut out = Vec::with_capacity(count);
    for _ in 0..count {
        let mut two = [0; 2];
        out.push(match kind {
            0 => {
                let mut four = [0; 4];
                reader.read_exact(&mut four).map_err(io)?;
                f32::from_le_bytes(four)
            }
            1 | 30 => {
                reader.read_exact(&mut two).map_err(io)?;
                match kind {
                    1 => f16::from_le_bytes(two).to_f32(),
                    _ => bf16::from_le_bytes(two).to_f32(),
                }
            }
            kind => {
                let why = format!("{name} has the type {kind} of ggml, not f32, f16, or bf16");
                return Err(problem(why));
            }
        });
    }
    Ok(out)
}

/// Reads the header and the factors of a GGUF file, and returns the model's positional encoding.
///
/// # Errors
/// Returns the errors of [`GgufHeader::read`], [`GgufFactors::read`], and [`read`].
pub fn read_file(reader: &mut (impl Read + Seek), unknown: UnknownKeys) -> Result<HfModel> {
    let io = |error: std::io::Error| problem(error.to_string());
    let bytes = reader.seek(SeekFrom::End(0)).map_err(io)?;
    reader.seek(SeekFrom::Start(0)).map_err(io)?;
    let header = GgufHeader::read(std::io::BufReader::new(&mut *reader), bytes)?;
    let factors = GgufFactors::read(&header, reader)?;
    read(&header.metadata, &factors, unknown)
}

/// Translates the metadata of a GGUF file, and the factors of its frequencies.
///
/// Models with a base or a width of their own in layers with a sliding window have the types of layers
/// `full_attention` and `sliding_attention`. The keys are those that llama.cpp reads, with its defaults.
///
/// # Errors
/// Returns an error if
/// - the architecture is missing, or a value has the wrong type,
/// - widths are missing or do not fit, or the type of the scaling is unknown,
/// - the number of factors is not the number of pairs,
/// - the architecture is unknown, or a key about rotary embeddings has no effect, and `unknown` is
///   [`UnknownKeys::Reject`].
pub fn read(
    metadata: &[(String, GgufValue)],
    factors: &GgufFactors,
    unknown: UnknownKeys,
) -> Result<HfModel> {
    let mut keys = Keys::new(metadata)?;
    let architecture = keys.architecture().to_owned();
    let pairs = match architectures::pairs(&architecture) {
        Some(Pairs::Other(scheme)) => {
            let (keys, warnings) = keys.finish();
            return Ok(HfModel::Other(HfPositions {
                model_type: Some(architecture),
                schemes: vec![scheme],
                note: None,
                keys,
                warnings,
            }));
        }
        Some(pairs) => pairs,
        None => {
            keys.warn(format!(
                "general.architecture (\"{architecture}\" is not known: pairs half of the width apart \
                 are assumed)"
            ));
            Pairs::Neox
        }
    };
    let layers = layers(&mut keys, &architecture, pairs, factors)?;
    let (unrotated, unrotated_types) = unrotated(&mut keys, &architecture)?;
    let (keys, warnings) = keys.finish();
    if unknown == UnknownKeys::Reject && !warnings.is_empty() {
        return Err(problem(format!(
            "has keys that would be ignored: {}",
            warnings.join("; ")
        )));
    }
    Ok(HfModel::Rotary(HfRotary {
        model_type: Some(architecture),
        layers,
        layer_types: Vec::new(),
        unrotated,
        unrotated_types,
        unrotated_temperature: None,
        keys,
        warnings,
    }))
}

fn unrotated(keys: &mut Keys<'_>, architecture: &str) -> Result<(Vec<usize>, Vec<String>)> {
    let mut indices = Vec::new();
    if let Some(period) = architectures::unrotated_period(architecture)
        && let Some(count) = keys.count("block_count", "the number of layers")?
    {
        let left = |index: &usize| (*index as u64).saturating_add(1).is_multiple_of(period);
        indices = (0..count.min(1 << 16)).filter(left).collect();
    }
    let window = keys.count("attention.sliding_window", "the window of some layers")?;
    let sliding =
        architectures::only_sliding_rotates(architecture) && window.is_some_and(|w| w > 0);
    let types = if sliding {
        vec![FULL.to_owned()]
    } else {
        Vec::new()
    };
    Ok((indices, types))
}

fn layers(
    keys: &mut Keys<'_>,
    architecture: &str,
    pairs: Pairs,
    factors: &GgufFactors,
) -> Result<Vec<HfLayer>> {
    let head_dim = head_dim(keys)?;
    let rotated = keys.count("rope.dimension_count", "the number of rotated columns")?;
    let rotary_dim = rotated.unwrap_or(head_dim);
    let whole = ["deci", "falcon", "llama", "llama-embed"].contains(&architecture);
    if rotary_dim > head_dim || rotary_dim == 0 || whole && rotary_dim != head_dim {
        let why =
            format!("rope.dimension_count {rotary_dim} does not fit heads of {head_dim} columns");
        return Err(problem(why));
    }
    // Latent attention has a part of the head for positions alone.
    let rank = keys.count(
        "attention.kv_lora_rank",
        "heads have a part for positions alone",
    )?;
    let head_dim = if rank.is_some() { rotary_dim } else { head_dim };
    let base = keys.float("rope.freq_base", "the base of the frequencies")?;
    let base = base.unwrap_or(10_000.0);
    let longest = keys.count("context_length", "the longest sequence")?;
    let scaling = scaling(keys, architecture, rotary_dim / 2, factors, longest)?;
    let mrope = mrope(keys, pairs, rotary_dim)?;
    let layer = |layer_type: Option<&str>, head_dim, rotary_dim, base, scaling| HfLayer {
        layer_type: layer_type.map(str::to_owned),
        head_dim,
        layout: match pairs {
            Pairs::Norm => PairLayout::Interleaved,
            _ => PairLayout::HalfSplit,
        },
        rotary: RotaryConfig {
            base,
            scaling,
            max_position_embeddings: longest,
            ..RotaryConfig::new(rotary_dim)
        },
        mrope,
        temperatures: Vec::new(),
    };
    const WINDOW: &str = "in layers with a sliding window";
    let slow = keys.float("rope.freq_base_swa", &format!("the base {WINDOW}"))?;
    // llama.cpp knows it where the file does not state it.
    let slow = slow.or(matches!(architecture, "gemma3" | "gemma3n").then_some(10_000.0));
    let key = "attention.key_length_swa";
    let narrow = keys.count(key, &format!("the width of a head {WINDOW}"))?;
    let key = "rope.dimension_count_swa";
    let few = keys.count(key, &format!("the number of rotated columns {WINDOW}"))?;
    if slow.is_none() && narrow.is_none() && few.is_none() {
        return Ok(vec![layer(None, head_dim, rotary_dim, base, scaling)]);
    }
    let narrow = narrow.unwrap_or(head_dim);
    let few = few.unwrap_or(rotary_dim);
    if few > narrow || few == 0 {
        let why = format!("rope.dimension_count_swa {few} does not fit heads of {narrow} columns");
        return Err(problem(why));
    }
    // Gemma 3 scales the frequencies of full attention alone.
    let sliding = match scaling {
        _ if matches!(architecture, "gemma3" | "gemma3n") => RopeScaling::Default,
        RopeScaling::Divided { .. } => RopeScaling::Default,
        ref scaling => scaling.clone(),
    };
    Ok(vec![
        layer(Some(FULL), head_dim, rotary_dim, base, scaling),
        layer(Some(SLIDING), narrow, few, slow.unwrap_or(base), sliding),
    ])
}

/// Returns the width of a head.
fn head_dim(keys: &mut Keys<'_>) -> Result<usize> {
    if let Some(stated) = keys.count("attention.key_length", "the width of a head")? {
        return Ok(stated);
    }
    let width = keys.count(
        "embedding_length",
        "divided by the number of heads: the width of a head",
    )?;
    let heads = keys.heads()?;
    width
        .zip(heads)
        .and_then(|(width, heads)| width.checked_div(heads))
        .ok_or_else(|| {
            problem("attention.key_length is missing, and so is embedding_length or attention.head_count")
        })
}

/// Returns the split of the pairs between time, height, and width.
fn mrope(keys: &mut Keys<'_>, pairs: Pairs, rotary_dim: usize) -> Result<Option<Mrope>> {
    let Some(sections) = keys.counts(
        "rope.dimension_sections",
        "pairs that follow each coordinate",
    )?
    else {
        return match pairs {
            Pairs::Mrope | Pairs::Imrope => Err(problem("rope.dimension_sections is missing")),
            _ => Ok(None),
        };
    };
    let [time, height, width, 0] = sections[..] else {
        let why =
            format!("rope.dimension_sections is {sections:?}, not time, height, width, and 0");
        return Err(problem(why));
    };
    if sections.iter().all(|section| *section == 0) {
        return Ok(None);
    }
    let mrope = Mrope {
        sections: [time, height, width],
        arrangement: match pairs {
            Pairs::Imrope => MropeArrangement::Interleaved,
            _ => MropeArrangement::Chunked,
        },
    };
    mrope.check(rotary_dim / 2)?;
    Ok(Some(mrope))
}

fn scaling(
    keys: &mut Keys<'_>,
    architecture: &str,
    pairs: usize,
    factors: &GgufFactors,
    longest: Option<usize>,
) -> Result<RopeScaling> {
    let kind = keys.text("rope.scaling.type", "chooses the scaling")?;
    let kind = kind.unwrap_or("linear");
    if !["none", "linear", "longrope", "yarn"].contains(&kind) {
        let why = format!("rope.scaling.type is \"{kind}\"; known: none, linear, longrope, yarn");
        return Err(problem(why));
    }
    let factor = match keys.float("rope.scaling.factor", "divides frequencies")? {
        Some(factor) => Some(factor),
        None => keys.float("rope.scale_linear", "divides frequencies; the older name")?,
    };
    // 0 means none. Files without a type have a factor of their own.
    let factor = factor.filter(|factor| *factor != 0.0 && kind != "none");
    let factor = factor.unwrap_or(1.0);
    let key = "rope.scaling.original_context_length";
    let original = keys.count(key, "the original training length")?;
    let original = original.filter(|original| *original > 0).or(longest);
    let attention_factor =
        keys.float("rope.scaling.attn_factor", "multiplies cosines and sines")?;
    let attention_factor = attention_factor.unwrap_or(1.0);
    let key = "rope.scaling.finetuned";
    keys.ignore(key, "describes how the model was trained; no effect");
    let yarn = match kind {
        "yarn" => yarn(keys, architecture, factor, original)?,
        _ => None,
    };
    // YaRN divides by the factor itself.
    let factor = if yarn.is_some() { 1.0 } else { factor };
    match (&factors.freqs, &factors.short_long) {
        (Some(_), Some(_)) => Err(problem(
            "has both rope_freqs.weight and rope_factors_long.weight",
        )),
        (None, Some(_)) if yarn.is_some() => Err(problem(
            "rope.scaling.type is \"yarn\" and rope_factors_long.weight is there: llama.cpp would apply \
             YaRN's ramp to frequencies that depend on the length, which no released model has; factors \
             by length need the type \"longrope\"",
        )),
        (None, Some((short, long))) => {
            let original = original.ok_or_else(|| problem("context_length is missing"))?;
            let (short, long) = (
                divisors(short, factor, pairs)?,
                divisors(long, factor, pairs)?,
            );
            Ok(RopeScaling::LongRope(LongRopeScaling {
                attention_factor: Some(attention_factor),
                ..LongRopeScaling::new(short, long, original)
            }))
        }
        (Some(freqs), None) => Ok(RopeScaling::Divided {
            divisors: divisors(freqs, factor, pairs)?,
            attention_factor,
            yarn,
        }),
        (None, None) if attention_factor != 1.0 => Ok(RopeScaling::Divided {
            divisors: vec![factor; pairs],
            attention_factor,
            yarn,
        }),
        (None, None) => Ok(match yarn {
            Some(yarn) => RopeScaling::Yarn(yarn),
            None if factor != 1.0 => RopeScaling::Linear { factor },
            None => RopeScaling::Default,
        }),
    }
}

/// Returns the products of a factor and those of the pairs. The product of two f32 values is exact.
fn divisors(list: &[f32], factor: f64, pairs: usize) -> Result<Vec<f64>> {
    if list.len() != pairs {
        let why = format!("{} factors are given for {pairs} pairs", list.len());
        return Err(problem(why));
    }
    Ok(list
        .iter()
        .map(|value| f64::from(*value) * factor)
        .collect())
}

/// Returns the ramp of YaRN, or `None` for a file without one, which divides all frequencies alike.
fn yarn(
    keys: &mut Keys<'_>,
    architecture: &str,
    factor: f64,
    original: Option<usize>,
) -> Result<Option<YarnScaling>> {
    let original =
        original.ok_or_else(|| problem("rope.scaling.original_context_length is missing"))?;
    let key = "rope.scaling.yarn_ext_factor";
    let ramp = keys.float(key, "1 for the ramp of YaRN, 0 for none")?;
    let defaults = YarnScaling::new(factor, original);
    let beta_fast = keys.float(
        "rope.scaling.yarn_beta_fast",
        "pairs with more turns within the trained length are unchanged",
    )?;
    let beta_slow = keys.float(
        "rope.scaling.yarn_beta_slow",
        "pairs with fewer turns within the trained length are divided by the whole factor",
    )?;
    match ramp.filter(|ramp| *ramp >= 0.0) {
        None | Some(1.0) => {}
        Some(0.0) => return Ok(None),
        Some(other) => return Err(problem(format!("{key} is {other}, not 0 or 1"))),
    }
    keys.ignore(
        "rope.scaling.yarn_attn_factor",
        "is computed from the factor; no effect",
    );
    let part = "part of the attention factor";
    let multiplier = match architectures::log_multiplier_factor(architecture) {
        None => None,
        Some(times) => keys
            .float("rope.scaling.yarn_log_multiplier", part)?
            .map(|stated| stated * times)
            .filter(|multiplier| *multiplier != 0.0),
    };
    // llama.cpp uses the numerator of DeepSeek 2 as the denominator.
    let numerator = match architecture {
        "deepseek2" => multiplier,
        _ => multiplier.map(|_| 1.0),
    };
    Ok(Some(YarnScaling {
        beta_fast: beta_fast.unwrap_or(defaults.beta_fast),
        beta_slow: beta_slow.unwrap_or(defaults.beta_slow),
        mscale: numerator,
        mscale_all_dim: multiplier,
        ..defaults
    }))
}
