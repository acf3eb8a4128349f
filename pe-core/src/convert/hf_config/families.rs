//! Defaults of the model types: those of transformers' classes, and others by hand.

use super::classes::CLASSES;
use super::family::{Family, PLAIN, Sets, Temper};

/// Returns the defaults of a model type, if it is known here.
pub(super) fn family(model_type: &str) -> Option<Family> {
    Some(match model_type {
        // Files that state two bases instead of two dictionaries.
        "gemma3_text" | "gemma3n_text" | "t5gemma2_text" | "t5gemma2_decoder" => {
            class(model_type)?.two_sets(Sets::ScaledFull(10_000.0))
        }
        "olmo3" => class(model_type)?.two_sets(Sets::ScaledFull(500_000.0)),
        "modernbert" | "modernbert-decoder" => {
            class(model_type)?.two_sets(Sets::ScaledBoth(10_000.0))
        }
        "hunyuan_v1_dense" | "hunyuan_v1_moe" => class(model_type)?.ntk_alpha(),
        // Dictionaries of several types of layers.
        "neomme" => class(model_type)?.sets(Sets::Completed),
        "dots3_note_text" => class(model_type)?.sets(Sets::Each),
        "deepseek_v4" => class(model_type)?
            .sets(Sets::Compressed(160_000.0))
            .ignores(&[]),
        // No part of transformers, or with a rotation that its rotary classes do not do.
        "baichuan" | "internlm2" | "minicpm" => PLAIN,
        "internlm3" | "iquestcoder" => PLAIN.head(128),
        "gptj" | "codegen" => PLAIN
            .rotary_dim(64)
            .interleaved()
            .sizes([4096, 16, 28, 2048]),
        "roformer" => PLAIN.interleaved().sizes([768, 12, 12, 1536]),
        "chatglm" => PLAIN.partial(0.5).interleaved(),
        "kimi_k2" => PLAIN.part(64).interleaved().tempers(&[Temper::Mscale]),
        // Older names of the same settings.
        "qwen2_vl" | "qwen2_5_vl" | "qwen2_5_omni_text" => return class("qwen2_vl_text"),
        _ => return class(model_type),
    })
}

/// Returns the defaults of a model type that rotates only if its file states so.
pub(super) fn on_request(model_type: &str) -> Option<Family> {
    Some(match model_type {
        "esm" => PLAIN
            .sizes([768, 12, 12, 1026])
            .reads(&["head_dim", "rope_theta"])
            .ignores(&["rope_parameters", "rope_scaling"]),
        "zamba2" => PLAIN.twice().sizes([2560, 32, 54, 4096]).reads(&[
            "attention_head_dim",
            "head_dim",
            "rope_theta",
        ]),
        "wav2vec2-conformer" | "wav2vec2-bert" | "seamless_m4t" => {
            PLAIN.differs("it rotates the inputs of the projections, not queries and keys")
        }
        _ => return None,
    })
}

fn class(model_type: &str) -> Option<Family> {
    let index = CLASSES.binary_search_by_key(&model_type, |(name, _)| name);
    index
        .ok()
        .and_then(|index| CLASSES.get(index))
        .map(|(_, family)| *family)
}
