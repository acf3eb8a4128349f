//! A file for each pass: the sum with its dropout, the rotation, the rotation by angles, weighted sums of rows, and the
//! softmax with a bias.

mod add;
mod angles;
mod gather_sum;
mod rotation;
mod softmax_bias;

pub(crate) use add::{AddEncoding, AddTrained, ScaledDropout};
pub(crate) use angles::AngleRotation;
pub(crate) use gather_sum::{GatherSum, Gathering, Side};
pub(crate) use rotation::{Direction, Rotation};
pub(crate) use softmax_bias::{Outcome, Packed, Read, Rules, SoftmaxBias, Term, bias_dtype};
