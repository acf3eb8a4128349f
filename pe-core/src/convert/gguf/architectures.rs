//! Rotary embeddings of llama.cpp's architectures.
//!
//! The sources are `llama_model_rope_type` in llama.cpp's `src/llama-model.cpp`, the names of `src/llama-arch.cpp`, and the
//! graphs of the models that do not rotate although the function names a type.

use crate::convert::hf_config::HfScheme;

/// Pairs of an architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pairs {
    /// Consecutive columns: `LLAMA_ROPE_TYPE_NORM`.
    Norm,
    /// Columns half of the rotated width apart: `LLAMA_ROPE_TYPE_NEOX`.
    Neox,
    /// The same, by several coordinates: `LLAMA_ROPE_TYPE_MROPE`.
    Mrope,
    /// The same with alternating coordinates: `LLAMA_ROPE_TYPE_IMROPE`.
    Imrope,
    /// No rotation.
    Other(HfScheme),
}

const NORM: [&str; 37] = [
    "arcee",
    "arctic",
    "bailingmoe",
    "baichuan",
    "chameleon",
    "chatglm",
    "cohere2",
    "cohere2moe",
    "command-r",
    "deci",
    "deepseek",
    "deepseek2",
    "deepseek2-ocr",
    "deepseek32",
    "deepseek4",
    "eagle3",
    "ernie4_5",
    "ernie4_5-moe",
    "glm-dsa",
    "glm4",
    "granite",
    "granitehybrid",
    "granitemoe",
    "internlm2",
    "llada",
    "llama",
    "llama-embed",
    "llama4",
    "maincoder",
    "minicpm",
    "mistral3",
    "mistral4",
    "neo-bert",
    "olmo",
    "plm",
    "smollm3",
    "xverse",
];

const NEOX: [&str; 66] = [
    "afmoe",
    "apertus",
    "bailingmoe2",
    "bitnet",
    "codeshell",
    "cogvlm",
    "dbrx",
    "dots1",
    "dream",
    "eurobert",
    "exaone",
    "exaone-moe",
    "exaone4",
    "falcon",
    "falcon-h1",
    "gemma",
    "gemma-embedding",
    "gemma2",
    "gemma3",
    "gemma3n",
    "gemma4",
    "glm4moe",
    "gpt-oss",
    "gptneox",
    "grok",
    "grovemoe",
    "hunyuan-dense",
    "hunyuan-moe",
    "hunyuan_vl",
    "hy_v3",
    "jais2",
    "jina-bert-v3",
    "laguna",
    "lfm2",
    "lfm2moe",
    "llada-moe",
    "mellum",
    "mimo2",
    "minicpm3",
    "minimax-m2",
    "modern-bert",
    "nemotron",
    "nomic-bert",
    "nomic-bert-moe",
    "olmo2",
    "olmoe",
    "openelm",
    "orion",
    "pangu-embedded",
    "phi2",
    "phi3",
    "phimoe",
    "plamo",
    "plamo2",
    "plamo3",
    "qwen",
    "qwen2",
    "qwen2moe",
    "qwen3",
    "qwen3moe",
    "qwen3next",
    "rnd1",
    "seed_oss",
    "smallthinker",
    "stablelm",
    "starcoder2",
];

/// Returns how an architecture rotates, or `None` if it is not known here.
pub(super) fn pairs(architecture: &str) -> Option<Pairs> {
    Some(match architecture {
        "gpt2" | "starcoder" | "bert" => Pairs::Other(HfScheme::Learned),
        "bloom" | "jais" | "jina-bert-v2" | "mpt" | "refact" => Pairs::Other(HfScheme::Alibi),
        "t5" | "t5encoder" => Pairs::Other(HfScheme::RelativeBuckets),
        "arwkv7" | "jamba" | "kimi-linear" | "mamba" | "mamba2" | "nemotron_h"
        | "nemotron_h_moe" | "rwkv6" | "rwkv6qwen2" | "rwkv7" | "wavtokenizer-dec" => {
            Pairs::Other(HfScheme::None)
        }
        "paddleocr" | "qwen2vl" => Pairs::Mrope,
        "qwen3tts" | "qwen3vl" | "qwen3vlmoe" | "qwen35" | "qwen35moe" => Pairs::Imrope,
        "step35" | "talkie" => Pairs::Neox,
        name if NORM.contains(&name) => Pairs::Norm,
        name if NEOX.contains(&name) => Pairs::Neox,
        _ => return None,
    })
}

/// Returns the factor of `rope.scaling.yarn_log_multiplier` in files of an architecture that uses this key.
pub(super) fn log_multiplier_factor(architecture: &str) -> Option<f64> {
    match architecture {
        // Their files have a tenth of it.
        "deepseek2" | "deepseek2-ocr" | "deepseek32" | "glm-dsa" => Some(10.0),
        "mistral3" | "mistral4" => Some(1.0),
        _ => None,
    }
}

/// Returns the period of the layers without a rotary embedding.
pub(super) fn unrotated_period(architecture: &str) -> Option<u64> {
    matches!(architecture, "llama4" | "smollm3").then_some(4)
}

/// Returns whether layers of full attention have no rotary embedding, if the model has a sliding window.
pub(super) fn only_sliding_rotates(architecture: &str) -> bool {
    matches!(
        architecture,
        "afmoe" | "cohere2" | "cohere2moe" | "exaone-moe" | "exaone4"
    )
}
