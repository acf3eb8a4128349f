//! Layers without dropout, as modules.

use candle_core::{Module, ModuleT, Result, Tensor};

/// View of a [`ModuleT`] without dropout that is a [`Module`].
///
/// [`PositionalEncoding::inference`](crate::PositionalEncoding::inference) returns one. It shares the
/// layer's tables.
#[derive(Debug, Clone)]
pub struct Inference<L>(pub(crate) L);

impl<L: ModuleT> Module for Inference<L> {
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        self.0.forward_t(xs, false)
    }
}
