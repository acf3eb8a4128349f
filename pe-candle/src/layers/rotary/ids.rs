//! Position ids of a call: their shape, and rows picked by ids on any device.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use candle_core::{Result, Tensor, bail};

use crate::kernel::Plan;
use crate::layers::reference::Paths;

/// Checks the shape of position ids. Returns whether each sequence has its own.
pub(super) fn per_token(position_ids: &Tensor, batch: usize, time: usize) -> Result<bool> {
    match position_ids.dims() {
        [t] | [1, t] if *t == time => Ok(false),
        [b, t] if (*b, *t) == (batch, time) => Ok(true),
        dims => bail!(
            "position ids must have shape [{time}], [1, {time}] or [{batch}, {time}], got {dims:?}"
        ),
    }
}

/// Returns the rows of a table that begins at position `start`, one for each of the checked ids, by an
/// operation of the device: `[T, pairs]` or `[B, T, pairs]`.
pub(super) fn picked(
    plan: &Plan,
    table: &Tensor,
    position_ids: &Tensor,
    start: usize,
    per_token: bool,
) -> Result<Tensor> {
    let (ids, dims) = (position_ids.flatten_all()?, position_ids.dims());
    let ids = match start {
        0 => ids,
        _ => ids.broadcast_sub(&Tensor::new(start as u32, ids.device())?.to_dtype(ids.dtype())?)?,
    };
    let ids = ids.to_device(table.device())?;
    let rows = (Paths::get(plan)?.pick)(table, &ids)?;
    match (dims, per_token) {
        ([batch, time], true) => rows.reshape((*batch, *time, ())),
        _ => Ok(rows),
    }
}
