//! Keys that are about a scheme.

use super::HfScheme;
use crate::convert::hf_config::reader::Reader;

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
        "the longest sequence; the model has no table",
    ),
    (
        HfScheme::None,
        "context_length",
        "the longest sequence; the model has no table",
    ),
];

const ROWS: &str = "rows of the trained table";
const ENCODER_ROWS: &str = "positions of the encoder";
const DECODER_ROWS: &str = "positions of the decoder";
const HEADS: &str = "the number of heads, each with a slope of its own";
const BUCKETS: &str = "the number of buckets";
const FARTHEST: &str = "larger distances share the last bucket";

/// Notes the keys of the schemes found.
pub(in crate::convert::hf_config) fn keys(reader: &mut Reader, schemes: &[HfScheme]) {
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
        let meaning = "the slopes are 2^(-h alibi_bias_max / heads) for heads h = 1, 2, ..";
        reader.note(&format!("attn_config.{cap}"), &value, meaning);
    }
}
