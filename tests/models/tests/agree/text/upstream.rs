//! The same models of candle-transformers.

use candle_core::{DType, Result};
use candle_transformers::models as upstream;

use crate::kit::{CPU, Golden, Upstream};

pub(super) fn llama(golden: &Golden) -> Result<Upstream> {
    use upstream::llama::{Cache, Llama, LlamaConfig};
    let config = golden.config::<LlamaConfig>()?.into_config(false);
    let mut cache = Cache::new(true, DType::F32, &config, CPU)?;
    let model = Llama::load(golden.vb(DType::F32)?, &config)?;
    Ok(Box::new(move |tokens, offset| {
        model.forward(tokens, offset, &mut cache)
    }))
}

/// A model with a constructor `new(&config, vb)` and a call `forward(tokens, offset)`.
macro_rules! usual {
    ($($name:ident: $module:path, $model:ident;)*) => {
        $(pub(super) fn $name(golden: &Golden) -> Result<Upstream> {
            use $module as module;
            let mut model = module::$model::new(&golden.config()?, golden.vb(DType::F32)?)?;
            Ok(Box::new(move |tokens, offset| model.forward(tokens, offset)))
        })*
    };
}

usual! {
    qwen2: upstream::qwen2, ModelForCausalLM;
    qwen3: upstream::qwen3, ModelForCausalLM;
    phi3: upstream::phi3, Model;
    deepseek2: upstream::deepseek2, DeepSeekV2;
    glm4: upstream::glm4_new, ModelForCausalLM;
    smollm3: upstream::smol::smollm3, ModelForCausalLM;
    mistral: upstream::mistral, Model;
}

pub(super) fn gemma3(golden: &Golden) -> Result<Upstream> {
    let model = upstream::gemma3::Model::new(false, &golden.config()?, golden.vb(DType::F32)?);
    let mut model = model?;
    Ok(Box::new(move |tokens, offset| {
        model.forward(tokens, offset)
    }))
}

/// Its cache knows the offset.
pub(super) fn phi(golden: &Golden) -> Result<Upstream> {
    let mut model = upstream::phi::Model::new(&golden.config()?, golden.vb(DType::F32)?)?;
    Ok(Box::new(move |tokens, _| model.forward(tokens)))
}

pub(super) fn granite(golden: &Golden) -> Result<Upstream> {
    use upstream::granite::{Cache, Granite, GraniteConfig};
    let config = golden.config::<GraniteConfig>()?.into_config(false);
    let mut cache = Cache::new(true, DType::F32, &config, CPU)?;
    let model = Granite::load(golden.vb(DType::F32)?, &config)?;
    Ok(Box::new(move |tokens, offset| {
        model.forward(tokens, offset, &mut cache)
    }))
}
