//! Properties of an encoder that was not trained.
//!
//! Each study measures one claim about positional encodings and is a section of a report.

mod masks;
mod order;
mod shift;
mod trace;

pub use masks::Masks;
pub use order::Order;
pub use shift::{Check, Rotation, SameShift};
pub use trace::{Stage, Trace};

use candle_core::{Result, Tensor};

use crate::terminal::page::Page;
use crate::text::tokenizer::Sentence;

/// A part of a report about sentences: data that serializes, and prints itself.
pub(crate) trait Section {
    /// Prints it under a heading of its own.
    fn print(&self, page: &mut Page, sentences: &[Sentence]);
}

/// Returns the largest absolute difference between rows of two matrices: row `pair.0` of the one
/// against row `pair.1` of the other.
fn max_difference(
    left: &[Vec<f32>],
    right: &[Vec<f32>],
    pairs: impl IntoIterator<Item = (usize, usize)>,
) -> f64 {
    let mut largest = 0.0_f64;
    for (l, r) in pairs {
        if let (Some(l), Some(r)) = (left.get(l), right.get(r)) {
            for (a, b) in l.iter().zip(r) {
                let difference = (f64::from(*a) - f64::from(*b)).abs();
                // Not `f64::max`, which would pass over a NaN.
                if difference.total_cmp(&largest).is_gt() {
                    largest = difference;
                }
            }
        }
    }
    largest
}

/// Returns the vectors of one sentence of a batch, one row per token.
fn rows(hidden: &Tensor, sentence: usize) -> Result<Vec<Vec<f32>>> {
    hidden.get(sentence)?.to_vec2()
}
