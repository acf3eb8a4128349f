//! Attention biases of models, from their `config.json`.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use serde_json::Value;

use super::file::File;
use crate::convert::hf_config::HfConfig;
use crate::convert::hf_config::reader::parsed;
use crate::error::{Error, Result};
use crate::families::bias::alibi::AlibiConfig;
use crate::families::bias::buckets::{
    BucketDirection, DebertaBuckets, DebertaBucketsConfig, T5Buckets, T5BucketsConfig,
};

/// Bias of a model's attention scores.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum HfBias {
    /// BLOOM, MPT, Falcon, Baichuan-13B, and Jina-BERT: slopes.
    Alibi(AlibiConfig),
    /// T5 and its relatives, MPNet, WavLM: a trained value per bucket and head.
    Buckets {
        /// Number of heads: columns of the table.
        num_heads: usize,
        /// The buckets, bidirectional. Decoders use the other [`BucketDirection`].
        buckets: T5BucketsConfig,
    },
    /// LayoutLMv2 and LayoutLMv3: buckets of tokens, and of the coordinates of their boxes.
    Boxes {
        /// Number of heads.
        num_heads: usize,
        /// Buckets of token positions.
        tokens: T5BucketsConfig,
        /// Buckets of coordinates, for x and y.
        coordinates: T5BucketsConfig,
    },
    /// DeBERTa: scores of content against position.
    Disentangled {
        /// Number of heads.
        num_heads: usize,
        /// The buckets of distances.
        buckets: DebertaBucketsConfig,
        /// Whether queries are scored against positions (`c2p`).
        content_to_position: bool,
        /// Whether keys are scored against positions (`p2c`).
        position_to_content: bool,
    },
}

/// Reads the attention bias of a model from its `config.json`. Returns `None` if the file states none.
///
/// | model | keys |
/// |---|---|
/// | BLOOM | `n_head` or `num_attention_heads` |
/// | MPT | `n_heads`, `attn_config.alibi`, `attn_config.alibi_bias_max` |
/// | Baichuan with more than 7 billion parameters | `hidden_size`, `num_attention_heads` |
/// | Falcon, Jina-BERT, others | `alibi`; `position_embedding_type: alibi` |
/// | T5, mT5, UMT5, LongT5, Switch, Pix2Struct, MPNet | `relative_attention_num_buckets`, `relative_attention_max_distance` |
/// | WavLM | `num_buckets`, `max_bucket_distance` |
/// | LayoutLMv2, LayoutLMv3 | `has_relative_attention_bias`, `rel_pos_bins`, `max_rel_pos`, `has_spatial_attention_bias`, `rel_2d_pos_bins`, `max_rel_2d_pos` |
/// | DeBERTa, v2, v3 | `relative_attention`, `position_buckets`, `max_relative_positions`, `pos_att_type` |
///
/// Keys that are missing have the defaults of transformers. In a file of several models the settings of the text model are read
/// (`text_config` and its other names).
///
/// # Errors
/// Returns an error if the text is not a JSON object, a key has another type than expected, or the values are out of range.
///
/// # Examples
/// ```
/// use pe_core::AlibiConfig;
/// use pe_core::hf_config::{self, HfBias};
///
/// let mpt = r#"{"model_type": "mpt", "n_heads": 32, "attn_config": {"alibi": true, "alibi_bias_max": 8}}"#;
/// assert_eq!(hf_config::read_bias(mpt)?, Some(HfBias::Alibi(AlibiConfig::new(32))));
/// let llama = r#"{"model_type": "llama", "num_attention_heads": 32}"#;
/// assert_eq!(hf_config::read_bias(llama)?, None);
/// # Ok::<(), pe_core::Error>(())
/// ```
pub fn read_bias<'a>(config: impl Into<HfConfig<'a>>) -> Result<Option<HfBias>> {
    let object = parsed(config.into())?;
    let file = File::innermost(&object);
    let bias = read(&file)?;
    match &bias {
        Some(HfBias::Buckets { buckets, .. }) => drop(T5Buckets::new(*buckets)?),
        Some(HfBias::Boxes {
            tokens,
            coordinates,
            ..
        }) => {
            T5Buckets::new(*tokens)?;
            T5Buckets::new(*coordinates)?;
        }
        Some(HfBias::Disentangled { buckets, .. }) => drop(DebertaBuckets::new(*buckets)?),
        Some(HfBias::Alibi(config)) => {
            drop(crate::families::bias::alibi::alibi_slopes::<f32>(config)?);
        }
        None => {}
    }
    Ok(bias)
}

fn read(file: &File<'_>) -> Result<Option<HfBias>> {
    let model_type = file.text("model_type")?.unwrap_or_default();
    let bias = match model_type {
        "bloom" => HfBias::Alibi(AlibiConfig::new(file.heads()?)),
        "mpt" => {
            let (mut alibi, mut bias_max) = (None, None);
            if let Some(attention) = file.object("attn_config")? {
                (alibi, bias_max) = (
                    attention.flag("alibi")?,
                    attention.number("alibi_bias_max")?,
                );
            }
            if alibi == Some(false) {
                return Ok(None);
            }
            let bias_max = bias_max.unwrap_or(8.0);
            HfBias::Alibi(AlibiConfig {
                bias_max,
                ..AlibiConfig::new(file.heads()?)
            })
        }
        // Only the models of 7 billion parameters rotate, and only the width shows it.
        "baichuan"
            if file
                .count("hidden_size")?
                .is_some_and(|width| width != 4096) =>
        {
            HfBias::Alibi(AlibiConfig::new(file.heads()?))
        }
        "t5"
        | "mt5"
        | "umt5"
        | "longt5"
        | "switch_transformers"
        | "pix2struct_text_model"
        | "pop2piano"
        | "udop"
        | "mpnet" => buckets_of(
            file,
            [
                "relative_attention_num_buckets",
                "relative_attention_max_distance",
            ],
            [32, 128],
        )?,
        "wavlm" => buckets_of(file, ["num_buckets", "max_bucket_distance"], [320, 800])?,
        "layoutlmv2" | "layoutlmv3" => return boxes_of(file),
        "deberta" | "deberta-v2" => return disentangled(file),
        _ => {
            let by_key = file.flag("alibi")? == Some(true);
            let by_type = file.text("position_embedding_type")? == Some("alibi");
            if by_key || by_type {
                HfBias::Alibi(AlibiConfig::new(file.heads()?))
            } else if file.object.contains_key("relative_attention_num_buckets") {
                let keys = [
                    "relative_attention_num_buckets",
                    "relative_attention_max_distance",
                ];
                buckets_of(file, keys, [32, 128])?
            } else {
                return Ok(None);
            }
        }
    };
    Ok(Some(bias))
}

fn buckets(file: &File<'_>, keys: [&str; 2], defaults: [usize; 2]) -> Result<T5BucketsConfig> {
    let ([num, most], [num_default, most_default]) = (keys, defaults);
    let num_buckets = file.count(num)?.unwrap_or(num_default);
    let max_distance = file.count(most)?.unwrap_or(most_default);
    Ok(T5BucketsConfig {
        num_buckets,
        max_distance: u32::try_from(max_distance).unwrap_or(u32::MAX),
        direction: BucketDirection::Bidirectional,
    })
}

fn buckets_of(file: &File<'_>, keys: [&str; 2], defaults: [usize; 2]) -> Result<HfBias> {
    Ok(HfBias::Buckets {
        num_heads: file.heads()?,
        buckets: buckets(file, keys, defaults)?,
    })
}

fn boxes_of(file: &File<'_>) -> Result<Option<HfBias>> {
    if file.flag("has_relative_attention_bias")? == Some(false) {
        return Ok(None);
    }
    let num_heads = file.heads()?;
    let tokens = buckets(file, ["rel_pos_bins", "max_rel_pos"], [32, 128])?;
    if file.flag("has_spatial_attention_bias")? == Some(false) {
        return Ok(Some(HfBias::Buckets {
            num_heads,
            buckets: tokens,
        }));
    }
    Ok(Some(HfBias::Boxes {
        num_heads,
        tokens,
        coordinates: buckets(file, ["rel_2d_pos_bins", "max_rel_2d_pos"], [64, 256])?,
    }))
}

fn disentangled(file: &File<'_>) -> Result<Option<HfBias>> {
    if file.flag("relative_attention")? != Some(true) {
        return Ok(None);
    }
    // -1 in either key means: none, and the length of the model.
    let positive = |key| Ok::<_, Error>(file.integer(key)?.filter(|value| *value > 0));
    let most = match positive("max_relative_positions")? {
        Some(most) => most,
        None => positive("max_position_embeddings")?.unwrap_or(512),
    };
    let position_buckets = match file.text("model_type")? {
        Some("deberta") => None,
        _ => positive("position_buckets")?,
    };
    let kinds = match file.object.get("pos_att_type") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(kinds)) => kinds.split('|').collect(),
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        Some(_) => return Err(file.error("pos_att_type", "is not a list of names")),
    };
    Ok(Some(HfBias::Disentangled {
        num_heads: file.heads()?,
        buckets: DebertaBucketsConfig {
            position_buckets: position_buckets
                .map(|buckets| usize::try_from(buckets).unwrap_or(usize::MAX)),
            max_relative_positions: u32::try_from(most).unwrap_or(u32::MAX),
        },
        content_to_position: kinds.contains(&"c2p"),
        position_to_content: kinds.contains(&"p2c"),
    }))
}
