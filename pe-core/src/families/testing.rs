//! Hooks for tests and benchmarks: plans of any kind, entries on given rungs.

pub use crate::rows::plan::{Method, Plan};
pub use crate::rows::threads::Threads;
pub use crate::sincos::Rungs;
pub use crate::sincos::backend::Backend;
pub use crate::turns::count::frequencies_computed;

use crate::error::Result;
use crate::families::rotary::frequencies::RotaryFrequencies;
use crate::families::sinusoidal::Sinusoidal;
use crate::limits::POSITIONS;
use crate::rows::columns::Out;
use crate::rows::element::Element;
use crate::turns::position::Position;

/// Does the same as [`Sinusoidal::fill`] by the given plan.
///
/// # Errors
/// Returns the errors of [`Sinusoidal::fill`].
pub fn fill<T: Element>(
    encoding: &Sinusoidal,
    plan: Plan,
    start: u64,
    out: &mut [T],
) -> Result<()> {
    T::fill(&encoding.inner.rows, plan, start, Out::one(out))
}

/// Does the same as [`RotaryFrequencies::fill`] by the given plan.
///
/// # Errors
/// Returns the errors of [`RotaryFrequencies::fill`].
pub fn fill_cos_sin<T: Element>(
    frequencies: &RotaryFrequencies,
    plan: Plan,
    start: u64,
    cos: &mut [T],
    sin: &mut [T],
) -> Result<()> {
    T::fill(&frequencies.inner.rows, plan, start, Out([cos, sin]))
}

/// Computes the sine and cosine of one pair at a real position on the given rungs.
pub fn entry_pair<T: Element>(
    encoding: &Sinusoidal,
    pair: usize,
    position: f64,
    rungs: Rungs,
) -> (T, T) {
    let whole = (0.0..POSITIONS as f64).contains(&position) && position.fract() == 0.0;
    let position = if whole {
        Position::Integer(position as u32)
    } else {
        Position::Real(position)
    };
    let [sine, cosine] = T::pair(&encoding.inner.rows, pair, position, rungs);
    (sine, cosine)
}
