//! The transformer layer of most image models: norms first, attention, and a feed-forward part.

use candle_core::{Module, Result, Tensor};
use candle_nn::{Activation, Linear, VarBuilder, linear};

use crate::blocks::split_heads;

/// A layer norm with a gradient: candle-nn's drops it if it has a bias.
#[derive(Debug, Clone)]
pub struct LayerNorm {
    norm: candle_nn::LayerNorm,
    bias: Tensor,
}

impl LayerNorm {
    pub fn new(size: usize, eps: f64, vb: VarBuilder<'_>) -> Result<Self> {
        let weight = vb.get(size, "weight")?;
        let norm = candle_nn::LayerNorm::new_no_bias(weight, eps);
        Ok(Self {
            norm,
            bias: vb.get(size, "bias")?,
        })
    }
}

impl Module for LayerNorm {
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        self.norm.forward(xs)?.broadcast_add(&self.bias)
    }
}

/// An activation, with the one that candle-nn lacks.
#[derive(Debug, Clone, Copy)]
pub enum Act {
    Nn(Activation),
    /// `x sigmoid(1.702 x)`.
    QuickGelu,
}

impl Module for Act {
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        match self {
            Self::Nn(act) => act.forward(xs),
            Self::QuickGelu => xs * candle_nn::ops::sigmoid(&(xs * 1.702)?)?,
        }
    }
}

impl From<Activation> for Act {
    fn from(act: Activation) -> Self {
        Self::Nn(act)
    }
}

/// Names of the projections to queries, keys, and values.
#[derive(Debug, Clone, Copy)]
pub enum Qkv {
    /// A tensor each.
    Apart([&'static str; 3]),
    /// One tensor, in this order.
    Fused(&'static str),
}

/// Names of the tensors of a layer.
#[derive(Debug, Clone, Copy)]
pub struct Names {
    pub norm1: &'static str,
    pub qkv: Qkv,
    pub out: &'static str,
    pub norm2: &'static str,
    pub fc1: &'static str,
    pub fc2: &'static str,
    /// Factors of the two branches.
    pub scales: Option<[&'static str; 2]>,
}

impl Names {
    /// ViT, Swin, and BEiT, up to the names of the projections.
    pub(super) const fn vit(qkv: [&'static str; 3]) -> Self {
        Self {
            norm1: "layernorm_before",
            qkv: Qkv::Apart(qkv),
            out: "attention.output.dense",
            norm2: "layernorm_after",
            fc1: "intermediate.dense",
            fc2: "output.dense",
            scales: None,
        }
    }
}

/// A layer, without its positions.
#[derive(Debug, Clone)]
pub struct Layer {
    norm1: LayerNorm,
    qkv: [Linear; 3],
    out: Linear,
    norm2: LayerNorm,
    fc1: Linear,
    fc2: Linear,
    scales: Option<[Tensor; 2]>,
    num_heads: usize,
    act: Act,
}

impl Layer {
    /// Loads a layer of activations of `width` columns.
    pub fn new(
        names: Names,
        (width, inner, num_heads): (usize, usize, usize),
        (act, eps): (impl Into<Act>, f64),
        vb: &VarBuilder<'_>,
    ) -> Result<Self> {
        let qkv = match names.qkv {
            // BEiT's and Whisper's keys have no bias.
            Qkv::Apart(names) => names.map(|name| {
                let vb = vb.pp(name);
                candle_nn::linear_b(width, width, vb.contains_tensor("bias"), vb)
            }),
            Qkv::Fused(name) => {
                let weight = vb.get((3 * width, width), &format!("{name}.weight"))?;
                let bias = vb.get(3 * width, &format!("{name}.bias"))?;
                [0, 1, 2].map(|part| {
                    let of = |xs: &Tensor| xs.narrow(0, part * width, width);
                    Ok(Linear::new(of(&weight)?, Some(of(&bias)?)))
                })
            }
        };
        let [q, k, v] = qkv;
        let scales = names.scales.map(|[first, second]| {
            Ok::<_, candle_core::Error>([vb.get(width, first)?, vb.get(width, second)?])
        });
        Ok(Self {
            norm1: LayerNorm::new(width, eps, vb.pp(names.norm1))?,
            qkv: [q?, k?, v?],
            out: linear(width, width, vb.pp(names.out))?,
            norm2: LayerNorm::new(width, eps, vb.pp(names.norm2))?,
            fc1: linear(width, inner, vb.pp(names.fc1))?,
            fc2: linear(inner, width, vb.pp(names.fc2))?,
            scales: scales.transpose()?,
            num_heads,
            act: act.into(),
        })
    }

    /// Returns the activations after the layer. `attend` gets queries, keys, and values, `[B, H, T, D]`, and returns `[B, T, H * D]`.
    pub fn forward(
        &self,
        xs: &Tensor,
        attend: impl FnOnce(&Tensor, &Tensor, &Tensor) -> Result<Tensor>,
    ) -> Result<Tensor> {
        self.forward_in(xs, |xs| self.attention(xs, attend))
    }

    /// Projects, attends, and projects back.
    pub fn attention(
        &self,
        xs: &Tensor,
        attend: impl FnOnce(&Tensor, &Tensor, &Tensor) -> Result<Tensor>,
    ) -> Result<Tensor> {
        let head = |part: usize| split_heads(&self.qkv[part].forward(xs)?, self.num_heads);
        attend(&head(0)?, &head(1)?, &head(2)?)?.apply(&self.out)
    }

    /// Returns the activations after the layer. `attention` replaces the normalized activations, in windows for example.
    pub fn forward_in(
        &self,
        xs: &Tensor,
        attention: impl FnOnce(&Tensor) -> Result<Tensor>,
    ) -> Result<Tensor> {
        self.forward_between(xs, attention, |xs| Ok(xs.clone()))
    }

    /// Like [`forward_in`](Self::forward_in), with something between attention and the feed-forward part, such as cross-attention.
    pub fn forward_between(
        &self,
        xs: &Tensor,
        attention: impl FnOnce(&Tensor) -> Result<Tensor>,
        between: impl FnOnce(&Tensor) -> Result<Tensor>,
    ) -> Result<Tensor> {
        let scaled = |ys: Tensor, branch: usize| match &self.scales {
            None => Ok(ys),
            Some(scales) => ys.broadcast_mul(&scales[branch]),
        };
        let xs = between(&(xs + scaled(attention(&self.norm1.forward(xs)?)?, 0)?)?)?;
        let ys = self.norm2.forward(&xs)?.apply(&self.fc1)?;
        let ys = ys.apply(&self.act)?.apply(&self.fc2)?;
        xs + scaled(ys, 1)?
    }
}
