//! Positional encodings of models without a rotary embedding, by model type and by key.

pub(super) mod bias;
mod by_type;
mod file;
mod keys;
pub(super) mod learned;

use serde_json::Value;

use super::HfKey;
use super::classes::AXIAL;
use super::families;
use super::reader::{Reader, error};
use crate::error::{Error, Result};
use by_type::by_type;

pub(super) use keys::keys;

/// A way to encode positions other than by a rotary embedding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HfScheme {
    /// BERT, GPT-2, OPT: one trained vector per position.
    Learned,
    /// ViT, CLIP: one trained vector per patch of an image.
    LearnedGrid,
    /// Marian, M2M100, Whisper's encoder: fixed sines and cosines.
    Sinusoidal,
    /// BLOOM, MPT: a penalty on attention scores that grows with the distance.
    Alibi,
    /// T5: one trained bias per bucket of distances.
    RelativeBuckets,
    /// Shaw et al.: one trained vector per distance.
    RelativeVectors,
    /// DeBERTa: terms of content and distance.
    Disentangled,
    /// Transformer-XL, XLNet, Conformer: sinusoids of the distance.
    RelativeSinusoidal,
    /// Swin: one trained bias per offset in two dimensions.
    RelativeGrid,
    /// Pixtral, DINOv3, Qwen2-VL's vision model: a rotary embedding by the coordinates of patches.
    RotaryAxes,
    /// wav2vec 2.0: a convolution over the sequence.
    Convolution,
    /// Mamba, Jamba: no encoding.
    None,
}

impl HfScheme {
    /// Returns the name of the scheme in words, `learned absolute positions`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Learned => "learned absolute positions",
            Self::LearnedGrid => "learned positions of image patches",
            Self::Sinusoidal => "sinusoidal absolute positions",
            Self::Alibi => "ALiBi",
            Self::RelativeBuckets => "relative position buckets",
            Self::RelativeVectors => "relative position vectors",
            Self::Disentangled => "disentangled relative positions",
            Self::RelativeSinusoidal => "relative sinusoidal positions",
            Self::RelativeGrid => "relative position biases in two dimensions",
            Self::RotaryAxes => "rotary embedding by several coordinates",
            Self::Convolution => "convolutional positions",
            Self::None => "no positional encoding",
        }
    }

    /// Returns one sentence that explains the scheme, without a full stop.
    pub const fn explanation(self) -> &'static str {
        match self {
            Self::Learned => {
                "a trained vector for each position is added to the token embeddings; longer \
                 sequences have no vectors"
            }
            Self::LearnedGrid => {
                "a trained vector for each patch of the image is added to the patch embeddings"
            }
            Self::Sinusoidal => {
                "fixed sines and cosines of each position are added to the embeddings"
            }
            Self::Alibi => {
                "each head subtracts its own slope times the distance of query and key from the \
                 attention scores"
            }
            Self::RelativeBuckets => {
                "each head adds a trained bias to the attention scores, one for each bucket of \
                 distances; buckets grow wider with the distance"
            }
            Self::RelativeVectors => {
                "a trained vector for each distance takes part in the attention scores; larger \
                 distances share the last one"
            }
            Self::Disentangled => {
                "attention scores have terms of content with distance and of distance with \
                 content, from trained vectors for each distance"
            }
            Self::RelativeSinusoidal => {
                "attention scores have a term of content with the sines and cosines of the \
                 distance, as in Transformer-XL"
            }
            Self::RelativeGrid => {
                "each head adds a trained bias to the attention scores, one for each vertical and \
                 horizontal offset in a window"
            }
            Self::RotaryAxes => {
                "pairs rotate by the coordinates of a patch: some by its row, some by its column; \
                 AxialRotary builds such tables"
            }
            Self::Convolution => {
                "a convolution over the sequence is added to the embeddings; its window sees the \
                 order"
            }
            Self::None => {
                "nothing is added or rotated; the order comes from recurrent layers or from the \
                 causal mask"
            }
        }
    }
}

/// Positional encoding of a model without a rotary embedding.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HfPositions {
    /// Model type in the file. If the file has several, the text model's type.
    pub model_type: Option<String>,
    /// Schemes of the model, at least one. The model has several if encoder and decoder differ, or if it
    /// adds several encodings.
    pub schemes: Vec<HfScheme>,
    /// Details of transformers beyond the scheme, such as the number of the first position.
    pub note: Option<&'static str>,
    /// Every key that was read, with its meaning, in the order of reading.
    pub keys: Vec<HfKey>,
    /// Keys about rotary embeddings that have no effect in this model.
    pub warnings: Vec<String>,
}

impl HfPositions {
    /// Returns the names of the schemes, joined by "and".
    pub fn name(&self) -> String {
        self.schemes
            .iter()
            .map(|scheme| scheme.name())
            .collect::<Vec<_>>()
            .join(" and ")
    }

    /// Returns the error of callers that need a rotary embedding.
    pub(super) fn not_rotary(&self) -> Error {
        if self.schemes.contains(&HfScheme::RotaryAxes) {
            let name = self.model_type.as_deref().unwrap_or_default();
            let problem = format!(
                "{} rotates by several coordinates: AxialRotary builds such tables",
                quoted(name)
            );
            return error("model_type", problem);
        }
        Error::NotRotary {
            model_type: self.model_type.clone(),
            scheme: self.name(),
        }
    }
}

/// Returns a name from the file on one line.
fn quoted(name: &str) -> String {
    let shown: String = name.chars().take(80).collect();
    format!("\"{}\"", shown.escape_debug())
}

/// Schemes of a model, and a note on details.
type Found = (Vec<HfScheme>, Option<&'static str>);

/// Key of rotary models with their own code (Jina's), which keep the model type that they are derived
/// from. `rope_theta` and similar keys may be leftovers.
const ROTARY: &str = "rotary_emb_base";

/// Returns the schemes of a model without a rotary embedding, or `None` for a rotary embedding.
///
/// Keys that name a scheme win over the model type, except in families that are known to rotate:
/// some of their files repeat BERT's `position_embedding_type`.
pub(super) fn find(reader: &mut Reader, model_type: Option<&str>) -> Result<Option<Found>> {
    if alibi(reader) {
        return Ok(Some((vec![HfScheme::Alibi], None)));
    }
    if model_type == Some("baichuan") && wider_than_7b(reader) {
        return Ok(Some((
            vec![HfScheme::Alibi],
            Some("only the models of 7 billion parameters rotate: hidden_size tells them apart"),
        )));
    }
    if model_type.is_some_and(|name| AXIAL.binary_search(&name).is_ok()) {
        return Ok(Some((vec![HfScheme::RotaryAxes], None)));
    }
    let rotates = model_type.is_some_and(|name| families::family(name).is_some());
    match stated(reader) {
        Some(Stated::Rotary) => return Ok(None),
        Some(Stated::Other(scheme)) if !rotates || scheme == HfScheme::None => {
            let note = match by_type(reader, model_type) {
                Some((schemes, note)) if schemes.contains(&scheme) => note,
                _ => None,
            };
            return Ok(Some((vec![scheme], note)));
        }
        // Attention rotates only if the file states so.
        None if model_type == Some("granitemoehybrid") => {
            return Ok(Some((vec![HfScheme::None], None)));
        }
        _ if rotates => return Ok(None),
        _ => {}
    }
    if let Some(found) = by_type(reader, model_type) {
        let derived = reader.peek(ROTARY).is_some() && !found.0.contains(&HfScheme::None);
        return Ok((!derived).then_some(found));
    }
    if reader.has_rotary_key() || model_type == Some("zamba2") {
        return Ok(None);
    }
    if reader.peek("relative_attention_num_buckets").is_some() {
        return Ok(Some((vec![HfScheme::RelativeBuckets], None)));
    }
    Err(match model_type {
        Some(name) => error(
            "model_type",
            format!(
                "{} is unknown, and no rotary key (such as rope_theta) was found",
                quoted(name)
            ),
        ),
        None => error(
            "the text",
            "has no model_type and no rotary key (such as rope_theta)",
        ),
    })
}

/// Returns whether a Baichuan model is not the one of 7 billion parameters. Only the width shows it.
fn wider_than_7b(reader: &Reader) -> bool {
    let width = reader.peek("hidden_size").and_then(Value::as_u64);
    width.is_some_and(|width| width != 4096)
}

/// Returns whether the file enables ALiBi.
fn alibi(reader: &mut Reader) -> bool {
    const MEANING: &str = "adds ALiBi's biases to the scores in place of a rotary embedding";
    let inside = |value: &Value| value.get("alibi").cloned();
    if let Some(value @ Value::Bool(true)) = reader.peek("attn_config").and_then(inside) {
        reader.note("attn_config.alibi", &value, MEANING);
        return true;
    }
    if reader.peek("alibi") == Some(&Value::Bool(true)) {
        reader.take("alibi", MEANING);
        return true;
    }
    reader.take("alibi", "false: no ALiBi");
    false
}

/// Value of `position_embedding_type`.
enum Stated {
    Rotary,
    Other(HfScheme),
}

fn stated(reader: &mut Reader) -> Option<Stated> {
    const MEANING: &str = "names the scheme";
    for key in ["position_embedding_type", "position_embeddings_type"] {
        let Some(name) = reader.peek(key).and_then(Value::as_str) else {
            continue;
        };
        let found = match name {
            "rope" | "rotary" => Stated::Rotary,
            "absolute" | "learned" | "learned_absolute" => Stated::Other(HfScheme::Learned),
            "sinusoidal" => Stated::Other(HfScheme::Sinusoidal),
            "alibi" => Stated::Other(HfScheme::Alibi),
            "relative_key" | "relative_key_query" => Stated::Other(HfScheme::RelativeVectors),
            "relative" => Stated::Other(HfScheme::RelativeSinusoidal),
            "nope" | "none" => Stated::Other(HfScheme::None),
            _ => continue,
        };
        reader.take(key, MEANING);
        return Some(found);
    }
    None
}
