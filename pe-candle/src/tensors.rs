//! Properties of tensors that layers and files share: tables as tensors, position ids, axes, types,
//! and sizes.

pub(crate) mod axes;
pub(crate) mod convert;
pub(crate) mod dtypes;
pub(crate) mod memory;
pub(crate) mod positions;
pub(crate) mod reals;
pub(crate) mod temperature;
