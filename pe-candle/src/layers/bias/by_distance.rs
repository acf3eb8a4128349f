//! Values by distance that are computed once, and shared.

use std::sync::Arc;

use candle_core::{Result, Tensor, bail};

use super::AttentionBias;
use crate::kernel::{Read, Term};
use crate::layers::published::Published;

/// The largest distances that are kept: 2^16.
const MOST: usize = 1 << 16;

/// The fewest that are computed at a time.
const FEWEST: usize = 512;

/// Values `[heads, 2 reach - 1]` of the distances `-(reach - 1) ..= reach - 1`, which grow as calls need them. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct ByDistance(Arc<Published<Option<(usize, Tensor)>>>);

impl ByDistance {
    pub(super) fn new() -> Self {
        Self(Arc::new(Published::new(None)))
    }

    /// Returns the bias of a call. `build` computes the values `[heads, q_len + kv_len - 1]` of given lengths and offset.
    pub(super) fn bias(
        &self,
        q_len: usize,
        kv_len: usize,
        offset: usize,
        build: impl Fn(usize, usize, usize) -> Result<Tensor>,
    ) -> Result<AttentionBias> {
        if q_len == 0 || kv_len == 0 {
            bail!("a bias needs queries and keys, got q_len {q_len} and kv_len {kv_len}");
        }
        let reach = offset.saturating_add(q_len).max(kv_len);
        if reach > MOST {
            return AttentionBias::from_distances(&build(q_len, kv_len, offset)?, q_len, kv_len);
        }
        let (reach, values) = self.0.find_or_build(
            |kept| kept.clone().filter(|(kept, _)| *kept >= reach),
            |_| -> Result<_> {
                let reach = reach.max(FEWEST).next_power_of_two();
                let kept = (reach, build(reach, reach, 0)?);
                Ok((Some(kept.clone()), kept))
            },
        )?;
        let read = Read::Strided {
            start: reach - 1 - offset,
            row: -1,
        };
        let (heads, count) = values.dims2()?;
        AttentionBias::of(&values, Term::new([1, heads], count, read), q_len, kv_len)
    }
}
