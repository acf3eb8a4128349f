//! One pass over activations each: the sum with its dropout, and the rotation.

mod add;
mod gather_sum;
mod rotation;
mod softmax_bias;

pub(crate) use add::{AddEncoding, ScaledDropout};
pub(crate) use gather_sum::{GatherSum, Gathering, Side};
pub(crate) use rotation::{Direction, Rotation};
pub(crate) use softmax_bias::{Outcome, Read, Rules, SoftmaxBias, Term, bias_dtype};
