//! Learned tables of models, from their `config.json`.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use super::file::File;
use crate::convert::hf_config::HfConfig;
use crate::convert::hf_config::reader::{error, parsed};
use crate::error::{Error, Result};
use crate::limits::POSITIONS;

/// Learned table of a model: its tensor, and the row of position 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct HfLearned {
    /// Width of the table.
    pub d_model: usize,
    /// Number of rows, including those before the row of position 0.
    pub table_rows: usize,
    /// Row of position 0.
    pub first_row: usize,
    /// Row of padding tokens, if position ids are counted without them, as in RoBERTa. Then position ids are rows.
    pub padding_row: Option<u32>,
    /// Name of the tensor within the module that holds it, such as `embeddings` in BERT.
    pub tensor: &'static str,
}

const BERT: &str = "position_embeddings.weight";
const CLIP: &str = "position_embedding.weight";
const BART: &str = "embed_positions.weight";
const GPT: &str = "wpe.weight";

/// First rows of a table.
#[derive(Debug, Clone, Copy)]
enum First {
    /// Position 0 has this row, and the rows before it are not counted by the file.
    Row(usize),
    /// Position 0 has the row after that of the padding token. The number is the class' own padding token.
    AfterPadding(u32),
    /// The same, with a padding row that does not depend on the padding token.
    AfterRow(u32),
}

/// Returns tensor, first row, and keys of the width and of the number of rows of a model type.
#[allow(clippy::type_complexity)]
fn table(name: &str) -> Option<(&'static str, First, &'static [&'static str], &'static str)> {
    use First::{AfterPadding, AfterRow, Row};
    const LONGEST: &str = "max_position_embeddings";
    const WIDTH: &[&str] = &["hidden_size", "d_model"];
    Some(match name {
        "align_text_model"
        | "bert"
        | "bert-generation"
        | "big_bird"
        | "blip_text_model"
        | "bros"
        | "chinese_clip_text_model"
        | "deberta"
        | "deberta-v2"
        | "dpr"
        | "ernie"
        | "flava_text_model"
        | "fnet"
        | "git"
        | "layoutlm"
        | "megatron-bert"
        | "mobilebert"
        | "roc_bert"
        | "splinter"
        | "tapas"
        | "visual_bert" => (BERT, Row(0), WIDTH, LONGEST),
        "albert" | "convbert" | "electra" | "squeezebert" => {
            (BERT, Row(0), &["embedding_size"], LONGEST)
        }
        "rembert" => (BERT, Row(0), &["input_embedding_size"], LONGEST),
        "distilbert" => (BERT, Row(0), &["dim", "hidden_size"], LONGEST),
        "flaubert" | "xlm" => (BERT, Row(0), &["emb_dim", "hidden_size"], LONGEST),
        "mra" | "nystromformer" | "yoso" => (BERT, Row(2), WIDTH, LONGEST),
        "mpnet" => (BERT, AfterRow(1), WIDTH, LONGEST),
        "lilt" | "markuplm" => (BERT, AfterPadding(0), WIDTH, LONGEST),
        "altclip_text_model"
        | "bridgetower_text_model"
        | "camembert"
        | "clap_text_model"
        | "data2vec-text"
        | "ibert"
        | "layoutlmv3"
        | "longformer"
        | "luke"
        | "roberta"
        | "roberta-prelayernorm"
        | "xlm-roberta"
        | "xlm-roberta-xl"
        | "xmod" => (BERT, AfterPadding(1), WIDTH, LONGEST),
        "clip_text_model"
        | "clipseg_text_model"
        | "groupvit_text_model"
        | "metaclip_2_text_model"
        | "owlv2_text_model"
        | "owlvit_text_model"
        | "siglip2_text_model"
        | "siglip_text_model"
        | "xclip_text_model" => (CLIP, Row(0), WIDTH, LONGEST),
        "bigbird_pegasus" | "blenderbot" | "blenderbot-small" => (BART, Row(0), WIDTH, LONGEST),
        "bart" | "biogpt" | "mbart" | "mvp" | "opt" | "plbart" | "trocr" => {
            (BART, Row(2), &["d_model", "hidden_size"], LONGEST)
        }
        "whisper" => (
            BART,
            Row(0),
            &["d_model", "hidden_size"],
            "max_target_positions",
        ),
        "decision_transformer" => (GPT, Row(0), &["hidden_size"], "n_positions"),
        "gpt2" | "gpt_bigcode" | "imagegpt" => {
            (GPT, Row(0), &["n_embd", "hidden_size"], "n_positions")
        }
        "gpt_neo" => (GPT, Row(0), WIDTH, LONGEST),
        "openai-gpt" => (
            "positions_embed.weight",
            Row(0),
            &["n_embd", "hidden_size"],
            "n_positions",
        ),
        _ => return None,
    })
}

/// Reads the learned table of a text model from its `config.json`. Of models with an encoder and a decoder, such as Whisper and
/// BART, it is the decoder's.
///
/// | models | tensor | row of position p |
/// |---|---|---|
/// | BERT, ALBERT, DeBERTa, DistilBERT, ELECTRA, XLM, and their relatives | `position_embeddings.weight` | p |
/// | RoBERTa, XLM-RoBERTa, Longformer, and their relatives | `position_embeddings.weight` | p + `pad_token_id` + 1 |
/// | MPNet | `position_embeddings.weight` | p + 2 |
/// | Nystromformer, YOSO, MRA | `position_embeddings.weight` | p + 2 |
/// | OPT, BART, mBART, BioGPT, TrOCR | `embed_positions.weight` | p + 2 |
/// | Whisper, Blenderbot, BigBird-Pegasus | `embed_positions.weight` | p |
/// | GPT-2, GPT-Neo, GPT-BigCode, ImageGPT | `wpe.weight` | p |
/// | GPT | `positions_embed.weight` | p |
/// | CLIP, SigLIP, OWL-ViT, GroupViT | `position_embedding.weight` | p |
///
/// In a file of several models the settings of the text model are read (`text_config` and its other names).
///
/// # Examples
/// ```
/// use pe_core::hf_config;
///
/// let json = r#"{"model_type": "opt", "hidden_size": 768, "max_position_embeddings": 2048}"#;
/// let opt = hf_config::read_learned(json)?;
/// assert_eq!((opt.table_rows, opt.first_row, opt.tensor), (2050, 2, "embed_positions.weight"));
/// # Ok::<(), pe_core::Error>(())
/// ```
///
/// # Errors
/// Returns an error if
/// - the text is not a JSON object, or a key is missing or has another type than expected,
/// - the model type is none of those above, or its file states fixed sines and cosines, or no table,
/// - the table would have no row of a position, or more than 2^32 rows.
pub fn read_learned<'a>(config: impl Into<HfConfig<'a>>) -> Result<HfLearned> {
    let object = parsed(config.into())?;
    let file = File::innermost(&object);
    let Some(name) = file.text("model_type")? else {
        return Err(file.error("model_type", "is missing, and decides rows and names"));
    };
    let Some((tensor, first, widths, rows)) = table(name) else {
        let shown: String = name.chars().take(80).collect();
        let why = format!(
            "\"{}\" has no learned table that is known",
            shown.escape_debug()
        );
        return Err(file.error("model_type", why));
    };
    let fixed = |key| Ok::<_, Error>(file.flag(key)? == Some(true));
    if ["distilbert", "flaubert", "xlm"].contains(&name)
        && (fixed("sinusoidal_pos_embds")? || fixed("sinusoidal_embeddings")?)
    {
        return Err(file.error("model_type", "has a table of fixed sines and cosines here"));
    }
    let learned = match name {
        "trocr" => file.flag("use_learned_position_embeddings")? != Some(false),
        "deberta" | "deberta-v2" => file.flag("position_biased_input")? != Some(false),
        _ => true,
    };
    if !learned {
        return Err(file.error("model_type", "has no learned table with these settings"));
    }
    if let Some(other) = file.text("position_embedding_type")?
        && !["absolute", "learned", "learned_absolute"].contains(&other)
    {
        let why = "states another scheme than a learned table";
        return Err(file.error("position_embedding_type", why));
    }
    let mut d_model = None;
    for key in widths {
        d_model = d_model.or(file.count(key)?);
    }
    let missing = |key: &str| file.error(key, "is missing");
    let d_model = d_model.ok_or_else(|| missing(widths.first().unwrap_or(&"hidden_size")))?;
    // The older name of the two, in both directions.
    let same = match rows {
        "n_positions" => "max_position_embeddings",
        "max_position_embeddings" => "n_positions",
        other => other,
    };
    let counted = match file.count(rows)? {
        Some(counted) => counted,
        None => file.count(same)?.ok_or_else(|| missing(rows))?,
    };
    let (first_row, padding_row) = match first {
        First::Row(row) => (row, None),
        First::AfterRow(row) => ((row as usize).saturating_add(1), Some(row)),
        First::AfterPadding(own) => {
            let stated = file.count("pad_token_id")?.map_or(Ok(own), u32::try_from);
            let above = |_| file.error("pad_token_id", "is not below 4294967296");
            let row = stated.map_err(above)?;
            ((row as usize).saturating_add(1), Some(row))
        }
    };
    // Rows before the first position count only where they are a padding token's.
    let table_rows = match padding_row {
        Some(_) => counted,
        None => counted.saturating_add(first_row),
    };
    if table_rows <= first_row || table_rows as u64 > POSITIONS {
        let why = format!(
            "{counted}: the table would have {table_rows} rows, and position 0 row {first_row}"
        );
        return Err(error(rows, why));
    }
    Ok(HfLearned {
        d_model,
        table_rows,
        first_row,
        padding_row,
        tensor,
    })
}
