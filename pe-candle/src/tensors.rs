//! What layers and files know of tensors: tables as tensors, position ids, axes, types and sizes.

pub(crate) mod axes;
pub(crate) mod convert;
pub(crate) mod dtypes;
pub(crate) mod memory;
pub(crate) mod positions;
