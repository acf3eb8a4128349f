//! The errors of candle-transformers' own models.

use candle_core::{DType, Module, Result, Tensor};
use candle_transformers::models as upstream;

use crate::kit::{CPU, Golden, Upstream, upstream_decoder, upstream_encoder};

/// Decoders with a constructor `new(&config, vb)` and a call `forward(tokens, offset)`.
macro_rules! decoders {
    ($($name:ident: $module:path, $model:ident;)*) => {
        $(pub(super) fn $name(golden: &Golden) -> Result<f64> {
            use $module as module;
            upstream_decoder(golden, |golden| {
                let vb = golden.vb(DType::F32)?;
                let mut model = module::$model::new(&golden.config()?, vb)?;
                Ok(Box::new(move |tokens, offset| model.forward(tokens, offset)))
            })
        })*
    };
}

decoders! {
    qwen2: upstream::qwen2, ModelForCausalLM;
    qwen3: upstream::qwen3, ModelForCausalLM;
    mistral: upstream::mistral, Model;
    phi3: upstream::phi3, Model;
    deepseek2: upstream::deepseek2, DeepSeekV2;
    glm4: upstream::glm4_new, ModelForCausalLM;
    smollm3: upstream::smol::smollm3, ModelForCausalLM;
}

pub(super) fn llama(golden: &Golden) -> Result<f64> {
    use upstream::llama::{Cache, Llama, LlamaConfig};
    upstream_decoder(golden, |golden| -> Result<Upstream> {
        let config = golden.config::<LlamaConfig>()?.into_config(false);
        let mut cache = Cache::new(true, DType::F32, &config, CPU)?;
        let model = Llama::load(golden.vb(DType::F32)?, &config)?;
        Ok(Box::new(move |tokens, offset| {
            model.forward(tokens, offset, &mut cache)
        }))
    })
}

pub(super) fn granite(golden: &Golden) -> Result<f64> {
    use upstream::granite::{Cache, Granite, GraniteConfig};
    upstream_decoder(golden, |golden| -> Result<Upstream> {
        let config = golden.config::<GraniteConfig>()?.into_config(false);
        let mut cache = Cache::new(true, DType::F32, &config, CPU)?;
        let model = Granite::load(golden.vb(DType::F32)?, &config)?;
        Ok(Box::new(move |tokens, offset| {
            model.forward(tokens, offset, &mut cache)
        }))
    })
}

pub(super) fn gemma3(golden: &Golden) -> Result<f64> {
    upstream_decoder(golden, |golden| {
        let vb = golden.vb(DType::F32)?;
        let mut model = upstream::gemma3::Model::new(false, &golden.config()?, vb)?;
        Ok(Box::new(move |tokens, offset| {
            model.forward(tokens, offset)
        }))
    })
}

/// Its cache knows the offset.
pub(super) fn phi(golden: &Golden) -> Result<f64> {
    upstream_decoder(golden, |golden| {
        let mut model = upstream::phi::Model::new(&golden.config()?, golden.vb(DType::F32)?)?;
        Ok(Box::new(move |tokens, _| model.forward(tokens)))
    })
}

pub(super) fn bert(golden: &Golden) -> Result<f64> {
    let model = upstream::bert::BertModel::load(golden.vb(DType::F32)?, &golden.config()?)?;
    upstream_encoder(golden, |tokens| {
        model.forward(tokens, &tokens.zeros_like()?, None)
    })
}

pub(super) fn roberta(golden: &Golden) -> Result<f64> {
    let vb = golden.vb(DType::F32)?;
    let model = upstream::xlm_roberta::XLMRobertaModel::new(&golden.config()?, vb)?;
    upstream_encoder(golden, |tokens| {
        let mask = tokens.ones_like()?.to_dtype(DType::F32)?;
        model.forward(tokens, &mask, &tokens.zeros_like()?, None, None, None)
    })
}

pub(super) fn jina_bert(golden: &Golden) -> Result<f64> {
    let model = upstream::jina_bert::BertModel::new(golden.vb(DType::F32)?, &golden.config()?)?;
    upstream_encoder(golden, |tokens| model.forward(tokens))
}

pub(super) fn deberta(golden: &Golden) -> Result<f64> {
    let vb = golden.vb(DType::F32)?;
    let model = upstream::debertav2::DebertaV2Model::load(vb, &golden.config()?)?;
    upstream_encoder(golden, |tokens| model.forward(tokens, None, None))
}

/// The logits of pairs of sequences, those of the decoder all at once or one by one.
pub(super) fn t5(golden: &Golden, pairs: &[(Tensor, Tensor)], steps: bool) -> Result<f64> {
    use upstream::t5::T5ForConditionalGeneration;
    let width = golden.config["d_model"].as_f64().unwrap_or_default();
    let outputs = pairs.iter().map(|(tokens, others)| {
        let mut model =
            T5ForConditionalGeneration::load(golden.vb(DType::F32)?, &golden.config()?)?;
        let memory = model.encode(tokens)?;
        let len = others.dim(1)?;
        // Only the logits of the last token are returned.
        let step = |at: usize| {
            let others = match steps {
                true => others.narrow(1, at, 1)?,
                false => {
                    model.clear_kv_cache();
                    others.narrow(1, 0, at + 1)?
                }
            };
            model.decode(&others, &memory)? / width
        };
        Tensor::cat(&(0..len).map(step).collect::<Result<Vec<_>>>()?, 0)
    });
    let outputs = Tensor::cat(&outputs.collect::<Result<Vec<_>>>()?, 0)?;
    golden.error(&outputs, golden.expected("f64"))
}
