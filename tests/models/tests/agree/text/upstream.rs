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
