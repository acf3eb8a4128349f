//! The rows of a layer's table: fixed, or more of them on demand.

use candle_core::{DType, Device, Result, Tensor};
use pe_core::{MAX_TABLE_BYTES, Sinusoidal, Threads};

use crate::convert::sinusoidal_tensor_on;
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
            let target = self.next_size(row_count(&table), dtype).max(rows);
            let longer = self.make(target, dtype, device)?;
            Ok((longer.clone(), longer))
        })
    }

    /// Twice the size, as far as limit and memory budget allow: so each row is made twice on
    /// average, however the table grows.
    fn next_size(&self, rows: usize, dtype: DType) -> usize {
        let row_bytes = self.sinusoidal.d_model() as u64 * dtype.size_in_bytes() as u64;
        let budget = usize::try_from(MAX_TABLE_BYTES / row_bytes).unwrap_or(usize::MAX);
        rows.saturating_mul(2).min(self.limit).min(budget)
    }

    fn make(&self, rows: usize, dtype: DType, device: &Device) -> Result<Tensor> {
        // By this thread alone: the pool's threads may all be waiting for the maker's lock.
        let threads = Threads::One;
        sinusoidal_tensor_on(threads, &self.sinusoidal, 0..rows as u64, dtype, device)
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

pub(crate) fn row_count(table: &Tensor) -> usize {
    table.dims().first().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubling_stops_at_the_limit_and_at_the_memory_budget() -> Result<()> {
        let of = |d_model: usize, limit| -> Result<Growing> {
            let sinusoidal = Sinusoidal::paper(d_model).map_err(candle_core::Error::wrap)?;
            let table = Tensor::zeros((1, d_model), DType::F32, &Device::Cpu)?;
            Ok(Growing::new(sinusoidal, limit, table))
        };
        let small = of(4, 100)?;
        let sizes = [1, 49, 50, 51, 100].map(|rows| small.next_size(rows, DType::F32));
        assert_eq!(sizes, [2, 98, 100, 100, 100]);
        // Rows of 4 MiB: 16 GiB hold 4096 of them, or twice as many in half precision.
        let wide = of(1 << 20, 1 << 30)?;
        assert_eq!(wide.next_size(2000, DType::F32), 4000);
        assert_eq!(wide.next_size(3000, DType::F32), 4096);
        assert_eq!(wide.next_size(3000, DType::BF16), 6000);
        assert_eq!(wide.next_size(usize::MAX, DType::F64), 2048);
        Ok(())
    }
}
