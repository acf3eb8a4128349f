//! Text models.

mod upstream;

use candle_core::Result;
use pe_models::rotary;

use crate::kit::{Row, decoder};

/// Makes a test of each model, and a list of all of them for the table of MIGRATING.md.
macro_rules! models {
    ($($name:ident: $run:expr;)*) => {
        pub(crate) const ALL: &[fn() -> Result<Row>] = &[$(|| $run),*];
        $(#[test]
        fn $name() -> Result<()> {
            $run.map(drop)
        })*
    };
}

models! {
    llama: decoder("llama", "rotary, `llama3`", rotary::llama::load, Some(upstream::llama));
    qwen2: decoder("qwen2", "rotary, YaRN", rotary::qwen2::load, Some(upstream::qwen2));
    qwen3: decoder("qwen3", "rotary", rotary::qwen3::load, Some(upstream::qwen3));
    mistral: decoder("mistral", "rotary, sliding window", rotary::mistral::load, Some(upstream::mistral));
    gemma3: decoder("gemma3_text", "rotary, two bases, linear", rotary::gemma3::load, Some(upstream::gemma3));
    phi: decoder("phi", "rotary, half of each head", rotary::phi::load, Some(upstream::phi));
    phi3: decoder("phi3", "rotary, LongRoPE", rotary::phi3::load, Some(upstream::phi3));
    deepseek2: decoder("deepseek_v2", "rotary, interleaved, YaRN", rotary::deepseek2::load, Some(upstream::deepseek2));
    glm4: decoder("glm4", "rotary, interleaved, half of each head", rotary::glm4::load, Some(upstream::glm4));
    cohere: decoder("cohere", "rotary, interleaved", rotary::cohere::load, None);
    granite: decoder("granite", "rotary", rotary::granite::load, Some(upstream::granite));
    smollm3: decoder("smollm3", "rotary, not in all layers", rotary::smollm3::load, Some(upstream::smollm3));
}
