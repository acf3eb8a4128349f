//! A whole model, that of the example `qwen2`: a prompt and steps of decoding give what the
//! whole sequence gives in one pass.

// `super::model` in the file of the weights.
use self::qwen2 as model;
#[path = "../../../pe-candle/examples/qwen2/model.rs"]
mod qwen2;
#[path = "../../../pe-candle/examples/qwen2/weights.rs"]
mod weights;

use super::*;
use model::{Config, Model};
use pe_tests::tolerance;

const TOKENS: usize = 24;

fn model(config: &Config, dtype: DType) -> Result<Model<RotaryEmbedding>> {
    let head_dim = config.hidden_size / config.num_attention_heads;
    let rotary = RotaryConfig {
        base: config.rope_theta,
        ..RotaryConfig::new(head_dim)
    };
    let rotary = RotaryEmbeddingConfig {
        max_seq_len: Some(config.max_position_embeddings),
        ..RotaryEmbeddingConfig::of(rotary, head_dim)
    };
    Model::new(
        config,
        &layer(rotary, dtype),
        weights::weights(config, dtype)?,
    )
}

#[test]
fn prefill_and_steps_of_decoding_equal_the_whole_pass() -> Result<()> {
    let config = Config {
        vocab_size: 32,
        hidden_size: 48,
        intermediate_size: 64,
        num_hidden_layers: 2,
        num_attention_heads: 6,
        num_key_value_heads: 2,
        max_position_embeddings: TOKENS,
        rope_theta: 10_000.0,
        rms_norm_eps: 1e-6,
    };
    let tokens = weights::tokens(&config, TOKENS)?;
    // Products of other shapes are summed in another order.
    for (dtype, bound) in [
        (DType::F64, tolerance::CACHED_LOGITS_F64),
        (DType::F32, tolerance::CACHED_LOGITS_F32),
    ] {
        let mut model = model(&config, dtype)?;
        let whole = model.forward(&tokens, 0)?;
        assert!(f64s(&whole).iter().any(|logit| logit.abs() > 1.0));
        for cuts in [
            vec![16, 1, 1, 1, 1, 1, 1, 1, 1],
            vec![1; TOKENS],
            vec![7, 9, 8],
        ] {
            model.clear_kv_cache();
            let mut offset = 0;
            for len in cuts {
                let logits = model.forward(&tokens.narrow(1, offset, len)?, offset)?;
                let wanted = whole.narrow(1, offset, len)?;
                for (found, wanted) in f64s(&logits).iter().zip(f64s(&wanted)) {
                    assert!((found - wanted).abs() < bound, "{dtype:?} {found} {wanted}");
                }
                offset += len;
            }
            assert_eq!(offset, TOKENS);
        }
        // Positions matter: the same tokens one step later give other logits.
        model.clear_kv_cache();
        let first = model.forward(&tokens.narrow(1, 0, 2)?, 0)?;
        model.clear_kv_cache();
        model.forward(&tokens.narrow(1, 0, 1)?, 0)?;
        let later = model.forward(&tokens.narrow(1, 1, 1)?, 9)?;
        let (first, later) = (f64s(&first.narrow(1, 1, 1)?), f64s(&later));
        assert!(
            first
                .iter()
                .zip(later)
                .any(|(a, b)| (a - b).abs() > tolerance::VISIBLE)
        );
    }
    Ok(())
}
