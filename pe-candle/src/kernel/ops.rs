//! One pass over activations each: the sum with its dropout, and the rotation.

mod add;
mod rotation;

pub(crate) use add::{AddEncoding, AddTrained, ScaledDropout};
pub(crate) use rotation::{Direction, Rotation};
