//! One pass over activations each: the sum with its dropout, and the rotation.

mod add;
mod gather_sum;
mod rotation;

pub(crate) use add::{AddEncoding, ScaledDropout};
pub(crate) use gather_sum::{GatherSum, Gathering, Side};
pub(crate) use rotation::{Direction, Rotation};
