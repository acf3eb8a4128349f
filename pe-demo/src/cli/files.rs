//! Commands on files of tensors.

pub(super) mod convert;
pub(super) mod diagnose;
pub(super) mod identify;
pub(super) mod inspect;
pub(super) mod resize;
