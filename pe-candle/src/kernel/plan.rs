//! The path that computes the calls of a layer.

use candle_core::{Device, Tensor};

use super::isa::Level;

/// The way of a layer's calls. Tests and benchmarks choose another one.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    pub(crate) level: Level,
    /// The reference path that is used instead of the kernels.
    pub(crate) reference: Option<Route>,
}

/// The composition of a reference path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// The operations of `candle_nn::rotary_emb`, which have no backward pass. Only rotations have this route.
    Rope,
    /// Products and sums, which gradients flow through.
    Operations,
}

impl Plan {
    /// Returns the plan of this machine: the kernels on its best instruction set.
    pub(crate) fn best() -> Self {
        let (level, reference) = (Level::best(), None);
        Self { level, reference }
    }

    /// Returns whether a kernel computes the result for this input.
    pub(crate) fn has_kernel(&self, xs: &Tensor) -> bool {
        self.has_kernel_on(xs.device())
    }

    /// Returns whether a kernel computes the results for inputs on a device.
    pub(crate) fn has_kernel_on(&self, device: &Device) -> bool {
        self.reference.is_none() && device.is_cpu()
    }
}
