//! One pass over activations each: the sum with its dropout, and the rotation.

mod add;
mod rotation;

pub(crate) use add::{AddEncoding, Gradient, Positions};
pub(crate) use rotation::{Direction, Rotation, Tokens};
