//! The rows of a layer's table: fixed, or more of them on demand.

use candle_core::{DType, Device, Result, Tensor};
use pe_core::{MAX_TABLE_BYTES, Sinusoidal};

use crate::convert::sinusoidal_tensor;
use crate::published::Published;

/// A constant table `[rows, d_model]`.
#[derive(Debug)]
pub(crate) enum Rows {
    Fixed(Tensor),
    Growing(Growing),
}

/// A table that is replaced by a longer one when rows beyond its end are asked for.
#[derive(Debug)]
pub(crate) struct Growing {
    sinusoidal: Sinusoidal,
    /// The most rows there may be.
    limit: usize,
    table: Published<Tensor>,
}

impl Growing {
    pub(crate) fn new(sinusoidal: Sinusoidal, limit: usize, table: Tensor) -> Self {
        Self {
            sinusoidal,
            limit,
            table: Published::new(table),
        }
    }

    /// A table of `rows` rows or more, `rows` being within the limit.
    fn at_least(&self, rows: usize) -> Result<Tensor> {
        let find = |table: &Tensor| (rows <= row_count(table)).then(|| table.clone());
        self.table.find_or_make(find, |table| {
            let (dtype, device) = (table.dtype(), table.device());
            let row_bytes = self.sinusoidal.d_model() as u64 * dtype.size_in_bytes() as u64;
            let target = next_size(row_count(&table), row_bytes, self.limit).max(rows);
            let longer = self.make(target, dtype, device)?;
            Ok((longer.clone(), longer))
        })
    }

    fn make(&self, rows: usize, dtype: DType, device: &Device) -> Result<Tensor> {
        sinusoidal_tensor(&self.sinusoidal, 0..rows as u64, dtype, device)
    }
}

impl Rows {
    /// The table as it is now.
    pub(crate) fn table(&self) -> Tensor {
        match self {
            Self::Fixed(table) => table.clone(),
            Self::Growing(growing) => growing.table.get(),
        }
    }

    /// The most rows there can be.
    pub(crate) fn limit(&self) -> usize {
        match self {
            Self::Fixed(table) => row_count(table),
            Self::Growing(growing) => growing.limit,
        }
    }

    /// A table of `rows` rows or more, or `None` if there cannot be one.
    pub(crate) fn at_least(&self, rows: usize) -> Result<Option<Tensor>> {
        match self {
            _ if rows > self.limit() => Ok(None),
            Self::Fixed(table) => Ok(Some(table.clone())),
            Self::Growing(growing) => growing.at_least(rows).map(Some),
        }
    }
}

/// Twice as many rows, as far as limit and memory budget allow: so each row is made twice on
/// average, however a table grows.
pub(crate) fn next_size(rows: usize, row_bytes: u64, limit: usize) -> usize {
    let budget = usize::try_from(MAX_TABLE_BYTES / row_bytes.max(1)).unwrap_or(usize::MAX);
    rows.saturating_mul(2).min(limit).min(budget)
}

pub(crate) fn row_count(table: &Tensor) -> usize {
    table.dims().first().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubling_stops_at_the_limit_and_at_the_memory_budget() {
        let sizes = [1, 49, 50, 51, 100].map(|rows| next_size(rows, 16, 100));
        assert_eq!(sizes, [2, 98, 100, 100, 100]);
        // Rows of 4 MiB: 16 GiB hold 4096 of them, or twice as many in half precision.
        let wide = |rows, row_bytes| next_size(rows, row_bytes, 1 << 30);
        assert_eq!(wide(2000, 4 << 20), 4000);
        assert_eq!(wide(3000, 4 << 20), 4096);
        assert_eq!(wide(3000, 2 << 20), 6000);
        assert_eq!(wide(usize::MAX, 8 << 20), 2048);
    }
}
