//! The layer of BERT and its relatives: norms after the residuals.

use candle_core::{Module, Result, Tensor};
use candle_nn::VarBuilder;
use pe_candle::{AttentionBias, ScoreMask};

use crate::Config;
use crate::blocks::{Attention, LayerNorm, Mlp, linear};

/// Attention, then the feed-forward part, each with a norm after it.
#[derive(Debug, Clone)]
pub struct PostNorm<M> {
    pub attention: Attention,
    pub attention_norm: LayerNorm,
    pub mlp: M,
    pub mlp_norm: LayerNorm,
}

impl PostNorm<Mlp> {
    /// Loads a layer with the names of BERT, except for those of the projections.
    pub fn new(cfg: &Config, projections: [&str; 3], vb: VarBuilder<'_>) -> Result<Self> {
        let names = ["intermediate.dense", "output.dense"];
        let mlp = Mlp::new(cfg, names, vb.clone())?;
        Self::with_mlp(cfg, projections, mlp, "output.LayerNorm", vb)
    }
}

impl<M: Module> PostNorm<M> {
    /// Loads a layer with its own feed-forward part, and the name of the norm after that.
    pub fn with_mlp(
        cfg: &Config,
        projections: [&str; 3],
        mlp: M,
        mlp_norm: &str,
        vb: VarBuilder<'_>,
    ) -> Result<Self> {
        let (hidden, norms) = (cfg.hidden_size, cfg.norm_eps);
        let attention = vb.pp("attention");
        let o_proj = linear(hidden, hidden, attention.pp("output.dense"))?;
        Ok(Self {
            attention: Attention::named(cfg, projections, o_proj, attention.pp("self"))?,
            attention_norm: LayerNorm::new(hidden, norms, attention.pp("output.LayerNorm"))?,
            mlp,
            mlp_norm: LayerNorm::new(hidden, norms, vb.pp(mlp_norm))?,
        })
    }

    /// Returns the activations `[B, T, hidden_size]` after the layer. `bias` makes the bias of queries and keys.
    pub fn forward(
        &self,
        xs: &Tensor,
        mask: &ScoreMask,
        bias: impl Fn(&Tensor, &Tensor) -> Result<Option<AttentionBias>>,
    ) -> Result<Tensor> {
        let (q, k, v) = self.attention.project(xs)?;
        let bias = bias(&q, &k)?;
        let ys = self.attention.attend((&q, &k, &v), bias.as_ref(), mask)?;
        let xs = (xs + ys)?.apply(&self.attention_norm)?;
        (&xs + xs.apply(&self.mlp)?)?.apply(&self.mlp_norm)
    }
}
