//! Checks of a call's inputs, and the angles of their positions.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::ops::Range;

use candle_core::{D, Result, Tensor, bail};

use super::RotaryEmbedding;
use super::given::{Given, check_same};
use super::ids::{per_token, picked};
use super::tables::Angles;
use crate::kernel::{Rotation, TokenRows};
use crate::layers::reference;
use crate::layers::rows::end_of;
use crate::tensors::axes::HeadOrder;
use crate::tensors::dtypes::{TableKind, check_dtypes};
use crate::tensors::memory;
use crate::tensors::positions::{CheckedIds, bounds};

impl RotaryEmbedding {
    /// Checks shape, type, and device, and returns batch and time.
    pub(super) fn check(&self, what: &str, xs: &Tensor) -> Result<(usize, usize)> {
        self.check_in(self.shared.config.axis_order, what, xs)
    }

    /// Does the same for inputs with the axes of `order`.
    pub(super) fn check_in(
        &self,
        order: HeadOrder,
        what: &str,
        xs: &Tensor,
    ) -> Result<(usize, usize)> {
        let (config, tables) = (&self.shared.config, &self.shared.tables);
        let head_dim = config.head_dim();
        let (dims, found) = (xs.dims(), order.read(xs.dims()));
        let width = dims.last().copied().unwrap_or(0);
        let Some(found) = found.filter(|_| width == head_dim) else {
            let unsaid = found.is_some() && config.head_dim.is_none() && width > head_dim;
            let hint = match unsaid {
                true => {
                    format!(
                        " (to rotate {head_dim} of {width} columns, say so: head_dim Some({width}))"
                    )
                }
                false => String::new(),
            };
            let wanted = order.describe();
            bail!("{what}: {wanted} with head_dim {head_dim}, got {dims:?}{hint}");
        };
        check_dtypes(what, xs.dtype(), TableKind::CosSin, tables.dtype())?;
        if !xs.device().same_device(tables.device()) {
            let (input, tables) = (xs.device().location(), tables.device().location());
            bail!("{what} is on {input:?}, but the tables are on {tables:?}");
        }
        memory::declared(what, xs)?;
        Ok(found)
    }

    /// Checks queries and keys, and returns their batch and time.
    pub(super) fn check_pair(&self, q: &Tensor, k: &Tensor) -> Result<(usize, usize)> {
        let (of_q, of_k) = (self.check("the query", q)?, self.check("the key", k)?);
        check_same(q, of_q, k, of_k)
    }

    /// Returns the end of `len` positions starting at `offset`, which must be in the tables.
    pub(super) fn end_of(&self, offset: usize, len: usize) -> Result<usize> {
        end_of("the tables hold", offset, len, self.max_seq_len())
    }

    fn rotation(&self, angles: Angles, tokens: TokenRows) -> Rotation {
        let config = &self.shared.config;
        let axes = (config.layout, config.axis_order);
        Rotation::new(angles, tokens, axes, self.plan)
    }

    /// Returns the rotation by the positions starting at `offset`, or `None` for an empty range.
    pub(super) fn at_offset(&self, offset: usize, time: usize) -> Result<Option<Rotation>> {
        let end = self.end_of(offset, time)?;
        if time == 0 {
            return Ok(None);
        }
        let angles = self.shared.tables.get(offset..end, end)?;
        let tokens = TokenRows::From(offset.saturating_sub(angles.start));
        Ok(Some(self.rotation(angles, tokens)))
    }

    /// Returns the rotation by the positions starting at `offsets[b]` of each sequence.
    pub(super) fn at_offsets(
        &self,
        offsets: &[usize],
        batch: usize,
        time: usize,
    ) -> Result<Option<Rotation>> {
        if offsets.len() != batch {
            let count = offsets.len();
            bail!("there are {count} offsets, but the batch has {batch} sequences");
        }
        let (mut first, mut end) = (usize::MAX, 0);
        for offset in offsets {
            end = end.max(self.end_of(*offset, time)?);
            first = first.min(*offset);
        }
        if batch == 0 || time == 0 {
            return Ok(None);
        }
        let angles = self.shared.tables.get(first..end, end)?;
        // The limit is at most 2^32, so positions fit.
        let starts = offsets
            .iter()
            .map(|offset| offset.saturating_sub(angles.start) as u32);
        let tokens = TokenRows::PerSequence(starts.collect());
        Ok(Some(self.rotation(angles, tokens)))
    }

    /// Returns the rotation by one position per index along `T`, or per token.
    pub(super) fn at_ids(
        &self,
        position_ids: &Tensor,
        batch: usize,
        time: usize,
    ) -> Result<Option<Rotation>> {
        let per_token = per_token(position_ids, batch, time)?;
        let (plan, tables) = (&self.plan, &self.shared.tables);
        if !plan.has_kernel_on(tables.device()) {
            let Some(Range { start: first, end }) = bounds(position_ids, self.max_seq_len())?
            else {
                return Ok(None);
            };
            // Queries and keys share the rows.
            let angles = tables.get(first..end, end)?;
            let rows = |table: &Tensor| picked(plan, table, position_ids, angles.start, per_token);
            let (cos, sin) = (rows(&angles.cos)?, rows(&angles.sin)?);
            let tokens = if per_token {
                TokenRows::Each
            } else {
                TokenRows::From(0)
            };
            let start = 0;
            return Ok(Some(self.rotation(Angles { start, cos, sin }, tokens)));
        }
        let checked = CheckedIds::read(position_ids, self.max_seq_len())?;
        let Some(first) = checked.ids.iter().min() else {
            return Ok(None);
        };
        let end = checked.rows;
        let angles = self.shared.tables.get(*first as usize..end, end)?;
        let start = angles.start as u32;
        let rows = checked
            .ids
            .iter()
            .map(|id| id.saturating_sub(start))
            .collect();
        let tokens = match per_token {
            true => TokenRows::PerToken(rows),
            false => TokenRows::PerStep(rows),
        };
        Ok(Some(self.rotation(angles, tokens)))
    }

    /// Returns the rotation by caller-supplied angles, for inputs with one batch and time.
    pub(super) fn by_cos_sin(
        &self,
        (batch, time): (usize, usize),
        inputs: &[(&str, &Tensor)],
        cos: &Tensor,
        sin: &Tensor,
    ) -> Result<Option<Rotation>> {
        let pairs = self.shared.tables.rotary().pairs();
        let given = Given { cos, sin };
        let tokens = match given.tokens(batch, time) {
            Some(tokens) if given.pairs() == pairs => tokens,
            _ => bail!(
                "cos must have shape [{time}, {pairs}] or [{batch}, {time}, {pairs}], got {:?}",
                cos.dims()
            ),
        };
        let angles = given.angles(inputs)?;
        Ok(angles.map(|angles| self.rotation(angles, tokens)))
    }
}

impl TokenRows {
    /// Returns the tokens' rows of a table, of shape `[T, pairs]` or `[B, T, pairs]`. The ids must be
    /// checked, because Candle reads some that are out of range as zeros.
    pub(super) fn rows_of(&self, table: &Tensor, batch: usize, time: usize) -> Result<Tensor> {
        let pairs = table.dim(D::Minus1)?;
        let per_token = |ids| reference::gather(table, ids)?.reshape((batch, time, pairs));
        match self {
            Self::From(first) => table.narrow(0, *first, time),
            Self::PerStep(ids) => reference::gather(table, ids.to_vec()),
            Self::PerToken(ids) => per_token(ids.to_vec()),
            Self::PerSequence(starts) => {
                let ids = starts
                    .iter()
                    .flat_map(|start| *start..start.saturating_add(time as u32));
                per_token(ids.collect())
            }
            Self::Each => Ok(table.clone()),
            Self::PerHead => table.unsqueeze(0),
        }
    }
}
