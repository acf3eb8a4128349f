//! Model types without a rotary embedding.

use serde_json::Value;

use super::{Found, HfScheme};
use crate::convert::hf_config::reader::Reader;

const AFTER_TWO: &str = "row 2 of the table is position 0 (an offset of 2)";
const AFTER_PADDING: &str = "the first position is pad_token_id + 1, and padding does not count";

/// Reads a switch of the model, with transformers' default.
fn flag(reader: &mut Reader, key: &str, default: bool, meaning: &str) -> bool {
    let value = reader.take(key, meaning);
    value.as_ref().and_then(Value::as_bool).unwrap_or(default)
}

/// Returns the schemes of a model type of transformers 5.23 that has no rotary embedding.
pub(super) fn by_type(reader: &mut Reader, model_type: Option<&str>) -> Option<Found> {
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
