//! Defaults that a model type implies for missing keys of its `config.json`.

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
}

/// The defaults of transformers' configuration class (version 5.23).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Family {
    pub(super) theta: f64,
    pub(super) partial: f64,
    pub(super) head_dim: Option<usize>,
    pub(super) layout: PairLayout,
    pub(super) sets: Sets,
}

const PLAIN: Family = Family {
    theta: 10_000.0,
    partial: 1.0,
    head_dim: None,
    layout: HalfSplit,
    sets: Sets::One,
};

const fn theta(theta: f64) -> Family {
    Family { theta, ..PLAIN }
}

const fn partial(partial: f64) -> Family {
    Family { partial, ..PLAIN }
}

const fn head(head_dim: usize) -> Family {
    Family {
        head_dim: Some(head_dim),
        ..PLAIN
    }
}

impl Family {
    const fn head(self, head_dim: usize) -> Self {
        Self {
            head_dim: Some(head_dim),
            ..self
        }
    }

    const fn interleaved(self) -> Self {
        Self {
            layout: Interleaved,
            ..self
        }
    }

    const fn sets(self, sets: Sets) -> Self {
        Self { sets, ..self }
    }
}

/// Returns the defaults of a model type, if it is known here.
pub(super) fn family(model_type: &str) -> Option<Family> {
    Some(match model_type {
        "llama" | "mistral" | "qwen2" | "qwen2_moe" | "falcon" | "falcon_h1" | "phi3"
        | "phi4_multimodal" | "olmo" | "olmo2" | "olmoe" | "olmo_hybrid" | "granite"
        | "granitemoe" | "granitemoeshared" | "granitemoehybrid" | "starcoder2" | "dbrx"
        | "exaone4" | "nanochat" | "ministral" | "minicpm" | "dots1" | "diffllama" | "arcee"
        | "eurobert" | "hunyuan_v1_dense" | "hunyuan_v1_moe" | "jais2" | "moshi" | "mimi"
        | "idefics" | "chameleon" | "baichuan" | "internlm2" | "qwen3_moe"
        | "gpt_neox_japanese" | "esmc" | "doge" => PLAIN,
        "afmoe" | "jetmoe" | "qwen3" | "seed_oss" | "internlm3" | "molmo2_text" | "iquestcoder" => {
            head(128)
        }
        "bamba" | "phi" | "persimmon" | "nemotron" | "glm4_moe" | "recurrent_gemma" => partial(0.5),
        "gpt_neox" | "stablelm" => partial(0.25),
        "qwen3_next" | "qwen3_5_text" | "qwen3_5_moe_text" => partial(0.25).head(256),
        "gptj" | "codegen" => PLAIN.interleaved(),
        "glm" | "glm4" => partial(0.5).head(128).interleaved(),
        "chatglm" => partial(0.5).interleaved(),
        "cohere" => theta(500_000.0).interleaved(),
        "cohere2" => PLAIN.interleaved(),
        "helium" => theta(100_000.0).head(128).interleaved(),
        "ernie4_5" => theta(500_000.0).head(128).interleaved(),
        "ernie4_5_moe" => theta(500_000.0).interleaved(),
        "llama4_text" => theta(500_000.0).head(128).interleaved(),
        // The part of a head that has positions (qk_rope_head_dim).
        "minicpm3" => head(32),
        "deepseek_v2" | "deepseek_v3" | "deepseek_v32" | "kimi_k2" | "youtu" | "glm4_moe_lite"
        | "axk1" => head(64).interleaved(),
        "longcat_flash" => theta(10_000_000.0).head(64).interleaved(),
        "gpt_oss" => theta(150_000.0).head(64),
        "smollm3" => theta(2_000_000.0),
        "phimoe" | "mixtral" | "minimax" | "lfm2" | "lfm2_moe" => theta(1_000_000.0),
        "solar_open" => theta(1_000_000.0).head(128),
        "ministral3" => theta(1_000_000.0).head(128),
        "minimax_m2" => theta(5_000_000.0).head(128),
        "apertus" => theta(12_000_000.0),
        "bitnet" | "csm" | "flex_olmo" | "mllama_text_model" => theta(500_000.0),
        "qwen2_vl"
        | "qwen2_vl_text"
        | "qwen2_5_vl"
        | "qwen2_5_vl_text"
        | "qwen2_5_omni_text"
        | "qwen3_omni_moe_text" => theta(1_000_000.0),
        "qwen3_vl_text" | "paddleocr_vl_text" => theta(500_000.0).head(128),
        "qwen3_vl_moe_text" => theta(500_000.0),
        "gemma" | "gemma2" | "vaultgemma" => head(256),
        "gemma3_text" | "gemma3n_text" | "gemma4_text" | "gemma4_unified_text" => {
            theta(1_000_000.0)
                .head(256)
                .sets(Sets::ScaledFull(10_000.0))
        }
        "olmo3" => theta(500_000.0).sets(Sets::ScaledFull(500_000.0)),
        "modernbert" | "modernbert-decoder" => theta(160_000.0).sets(Sets::ScaledBoth(10_000.0)),
        "nomic_bert" => theta(1_000.0),
        _ => return None,
    })
}

/// Defaults for an unknown model type.
pub(super) const UNKNOWN: Family = PLAIN;
