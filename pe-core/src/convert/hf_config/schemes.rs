//! Positional encodings of models without a rotary embedding, by model type and by key.

use serde_json::Value;

use super::HfKey;
use super::families;
use super::reader::{Reader, error};
use crate::error::{Error, Result};

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
        Error::NotRotary {
            model: match &self.model_type {
                Some(name) => format!("model_type {}", quoted(name)),
                None => "this model".to_owned(),
            },
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

const AFTER_TWO: &str = "row 2 of the table is position 0 (an offset of 2)";
const AFTER_PADDING: &str = "the first position is pad_token_id + 1, and padding does not count";

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

/// A switch of the model, with transformers' default.
fn flag(reader: &mut Reader, key: &str, default: bool, meaning: &str) -> bool {
    let value = reader.take(key, meaning);
    value.as_ref().and_then(Value::as_bool).unwrap_or(default)
}

/// The model types of transformers 5.23 that have no rotary embedding.
fn by_type(reader: &mut Reader, model_type: Option<&str>) -> Option<Found> {
    use HfScheme::{
        Alibi, Convolution, Disentangled, Learned, LearnedGrid, None as Nothing, RelativeBuckets,
        RelativeGrid, RelativeSinusoidal, RelativeVectors, Sinusoidal,
    };
    const SINUSOIDAL: &str = "whether the table holds fixed sines and cosines";
    let one = |scheme| (vec![scheme], None);
    Some(match model_type? {
        "albert"
        | "align_text_model"
        | "bert"
        | "bert-generation"
        | "big_bird"
        | "bigbird_pegasus"
        | "blenderbot"
        | "blenderbot-small"
        | "blip_text_model"
        | "bros"
        | "chinese_clip_text_model"
        | "clip_text_model"
        | "clipseg_text_model"
        | "coarse_acoustics"
        | "convbert"
        | "decision_transformer"
        | "dpr"
        | "electra"
        | "ernie"
        | "fine_acoustics"
        | "flava_text_model"
        | "fnet"
        | "git"
        | "gpt2"
        | "gpt_bigcode"
        | "gpt_neo"
        | "groupvit_text_model"
        | "imagegpt"
        | "led"
        | "megatron-bert"
        | "metaclip_2_text_model"
        | "mobilebert"
        | "openai-gpt"
        | "owlv2_text_model"
        | "owlvit_text_model"
        | "rembert"
        | "roc_bert"
        | "semantic"
        | "siglip2_text_model"
        | "siglip_text_model"
        | "splinter"
        | "squeezebert"
        | "tapas"
        | "visual_bert"
        | "xclip_text_model" => one(Learned),
        "bart" | "biogpt" | "mbart" | "mra" | "mvp" | "nystromformer" | "opt" | "plbart"
        | "yoso" => (vec![Learned], Some(AFTER_TWO)),
        "altclip_text_model"
        | "bridgetower_text_model"
        | "camembert"
        | "clap_text_model"
        | "data2vec-text"
        | "esm"
        | "ibert"
        | "lilt"
        | "longformer"
        | "luke"
        | "markuplm"
        | "roberta"
        | "roberta-prelayernorm"
        | "xlm-roberta"
        | "xlm-roberta-xl"
        | "xmod" => (vec![Learned], Some(AFTER_PADDING)),
        "layoutlm" => (
            vec![Learned],
            Some("tables for the place of each word on the page are added, too"),
        ),
        "reformer" => (
            vec![Learned],
            Some("with axial_pos_embds two small tables share the positions between them"),
        ),
        "canine" => (
            vec![Learned],
            Some("one table for characters; downsampled positions have none of their own"),
        ),
        "distilbert" if flag(reader, "sinusoidal_pos_embds", false, SINUSOIDAL) => one(Sinusoidal),
        "xlm" | "flaubert" if flag(reader, "sinusoidal_embeddings", false, SINUSOIDAL) => {
            one(Sinusoidal)
        }
        "distilbert" | "xlm" | "flaubert" => one(Learned),
        "trocr" => match flag(
            reader,
            "use_learned_position_embeddings",
            true,
            "whether the table is trained",
        ) {
            true => (vec![Learned], Some(AFTER_TWO)),
            false => one(Sinusoidal),
        },
        "clip_vision_model"
        | "deit"
        | "dinov2"
        | "dinov2_with_registers"
        | "ijepa"
        | "siglip_vision_model"
        | "siglip2_vision_model"
        | "vit"
        | "vit_msn"
        | "yolos" => one(LearnedGrid),
        "autoformer"
        | "ctrl"
        | "informer"
        | "kosmos_2_text_model"
        | "marian"
        | "musicgen_decoder"
        | "musicgen_melody_decoder"
        | "pegasus"
        | "pegasus_x"
        | "time_series_transformer" => one(Sinusoidal),
        "fsmt" | "m2m_100" | "nllb-moe" | "speech_to_text" | "xglm" => (
            vec![Sinusoidal],
            Some("the first position is pad_token_id + 1, and padding has a row of zeros"),
        ),
        "whisper" => (
            vec![Sinusoidal, Learned],
            Some("the encoder's positions are sinusoidal, the decoder's learned"),
        ),
        "mpt" => {
            // transformers adds them without a look at the switch.
            if reader
                .peek("attn_config")
                .and_then(|value| value.get("alibi"))
                == Some(&Value::Bool(false))
            {
                let path = reader.path("attn_config.alibi");
                reader.warn(&path, "false has no effect");
            }
            one(Alibi)
        }
        "bloom" => one(Alibi),
        "longt5" | "mt5" | "pix2struct_text_model" | "pop2piano" | "switch_transformers" | "t5" => {
            (
                vec![RelativeBuckets],
                Some("the first layer of each stack computes the biases for all its layers"),
            )
        }
        "umt5" => (
            vec![RelativeBuckets],
            Some("each layer has biases of its own"),
        ),
        "udop" => (
            vec![RelativeBuckets],
            Some("one set for the order, one each for the place across and down the page"),
        ),
        "mpnet" | "prophetnet" => (vec![Learned, RelativeBuckets], None),
        "layoutlmv2" | "layoutlmv3" => (
            vec![Learned, RelativeBuckets],
            Some("for the order and for the place on the page"),
        ),
        "deberta" | "deberta-v2" => {
            let relative = flag(
                reader,
                "relative_attention",
                false,
                "whether scores depend on the distance",
            );
            let absolute = flag(
                reader,
                "position_biased_input",
                true,
                "whether a trained vector for each position is added to the token embeddings",
            );
            match (relative, absolute) {
                (true, true) => (vec![Disentangled, Learned], None),
                (true, false) => one(Disentangled),
                (false, true) => one(Learned),
                (false, false) => one(Nothing),
            }
        }
        "funnel" | "seamless_m4t" | "wav2vec2-conformer" | "xlnet" => one(RelativeSinusoidal),
        "seamless_m4t_v2" | "wav2vec2-bert" => one(RelativeVectors),
        "donut-swin" | "maskformer-swin" | "swin" | "swin2sr" | "swinv2" => one(RelativeGrid),
        "data2vec-audio" | "hubert" | "sew" | "unispeech" | "unispeech-sat" | "wav2vec2" => {
            one(Convolution)
        }
        "wavlm" => (
            vec![Convolution, RelativeBuckets],
            Some("the biases are gated by each query"),
        ),
        "sew-d" => (vec![Convolution, Disentangled], None),
        "zamba2" if flag(reader, "use_mem_rope", false, "whether attention rotates") => {
            return None;
        }
        "falcon_mamba" | "jamba" | "kimi_linear" | "mamba" | "mamba2" | "nemotron_h" | "rwkv"
        | "xlstm" | "zamba" | "zamba2" => one(Nothing),
        _ => return None,
    })
}

/// Keys about a scheme, and their meaning.
const KEYS: [(HfScheme, &str, &str); 38] = [
    (HfScheme::Learned, "max_position_embeddings", ROWS),
    (HfScheme::Learned, "n_positions", ROWS),
    (HfScheme::Learned, "block_size", ROWS),
    (HfScheme::Learned, "max_target_positions", DECODER_ROWS),
    (
        HfScheme::Learned,
        "max_encoder_position_embeddings",
        ENCODER_ROWS,
    ),
    (
        HfScheme::Learned,
        "max_decoder_position_embeddings",
        DECODER_ROWS,
    ),
    (
        HfScheme::Learned,
        "max_2d_position_embeddings",
        "rows of the tables for places on the page",
    ),
    (
        HfScheme::Learned,
        "axial_pos_shape",
        "rows of the two tables that share the positions",
    ),
    (
        HfScheme::Learned,
        "n_ctx",
        "the longest sequence; no effect beside n_positions",
    ),
    (
        HfScheme::LearnedGrid,
        "image_size",
        "divided by patch_size: patches across and down",
    ),
    (
        HfScheme::LearnedGrid,
        "patch_size",
        "pixels across and down a patch",
    ),
    (
        HfScheme::Sinusoidal,
        "max_position_embeddings",
        "the longest sequence",
    ),
    (HfScheme::Sinusoidal, "n_positions", "the longest sequence"),
    (HfScheme::Sinusoidal, "max_source_positions", ENCODER_ROWS),
    (HfScheme::Sinusoidal, "max_target_positions", DECODER_ROWS),
    (HfScheme::Alibi, "n_head", HEADS),
    (HfScheme::Alibi, "n_heads", HEADS),
    (HfScheme::Alibi, "num_attention_heads", HEADS),
    (
        HfScheme::RelativeBuckets,
        "relative_attention_num_buckets",
        BUCKETS,
    ),
    (
        HfScheme::RelativeBuckets,
        "relative_attention_max_distance",
        FARTHEST,
    ),
    (HfScheme::RelativeBuckets, "num_buckets", BUCKETS),
    (HfScheme::RelativeBuckets, "max_bucket_distance", FARTHEST),
    (HfScheme::RelativeBuckets, "relative_max_distance", FARTHEST),
    (HfScheme::RelativeBuckets, "rel_pos_bins", BUCKETS),
    (HfScheme::RelativeBuckets, "max_rel_pos", FARTHEST),
    (
        HfScheme::RelativeVectors,
        "max_position_embeddings",
        "the largest distance with a vector",
    ),
    (
        HfScheme::RelativeVectors,
        "left_max_position_embeddings",
        "the largest distance to the left",
    ),
    (
        HfScheme::RelativeVectors,
        "right_max_position_embeddings",
        "the largest distance to the right",
    ),
    (
        HfScheme::Disentangled,
        "position_buckets",
        "distances beyond half of it share buckets",
    ),
    (
        HfScheme::Disentangled,
        "max_relative_positions",
        "the largest distance with a vector",
    ),
    (
        HfScheme::Disentangled,
        "pos_att_type",
        "the terms that the scores have",
    ),
    (
        HfScheme::RelativeSinusoidal,
        "clamp_len",
        "larger distances count as this one",
    ),
    (
        HfScheme::RelativeSinusoidal,
        "max_source_positions",
        "the longest sequence",
    ),
    (
        HfScheme::RelativeGrid,
        "window_size",
        "patches across and down a window",
    ),
    (
        HfScheme::Convolution,
        "num_conv_pos_embeddings",
        "positions that the convolution sees",
    ),
    (
        HfScheme::Convolution,
        "num_conv_pos_embedding_groups",
        "groups of its channels",
    ),
    (
        HfScheme::None,
        "max_position_embeddings",
        "the longest sequence; there is no table",
    ),
    (
        HfScheme::None,
        "context_length",
        "the longest sequence; there is no table",
    ),
];

const ROWS: &str = "rows of the trained table";
const ENCODER_ROWS: &str = "positions of the encoder";
const DECODER_ROWS: &str = "positions of the decoder";
const HEADS: &str = "the number of heads, each with a slope of its own";
const BUCKETS: &str = "the number of buckets";
const FARTHEST: &str = "larger distances share the last bucket";

/// Notes the keys of the schemes found.
pub(super) fn keys(reader: &mut Reader, schemes: &[HfScheme]) {
    for (scheme, key, meaning) in KEYS {
        if schemes.contains(&scheme) && !reader.was_taken(key) {
            reader.take(key, meaning);
        }
    }
    let cap = "alibi_bias_max";
    let inner = reader
        .peek("attn_config")
        .and_then(|value| value.get(cap))
        .cloned();
    if let Some(value) = inner.filter(|_| schemes.contains(&HfScheme::Alibi)) {
        let meaning = "the slopes are 2^(-h alibi_bias_max / heads) for heads h from 1 on";
        reader.note(&format!("attn_config.{cap}"), &value, meaning);
    }
}
