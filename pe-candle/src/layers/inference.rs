//! Layers without dropout, as modules.

use candle_core::{Module, ModuleT, Result, Tensor};

/// A layer in inference, where it has no dropout: what makes a [`Module`] of a [`ModuleT`].
///
/// [`PositionalEncoding::inference`] makes one. It shares the layer's tables.
#[derive(Debug, Clone)]
pub struct Inference<L>(pub(crate) L);

impl<L: ModuleT> Module for Inference<L> {
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        self.0.forward_t(xs, false)
    }
}
