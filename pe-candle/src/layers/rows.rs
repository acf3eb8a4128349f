//! Rows of an additive layer's table, built at once or as calls need them.

use candle_core::{DType, Device, Result, Tensor, bail};
use pe_core::{Error, MAX_TABLE_BYTES, Sinusoidal};

use crate::layers::config::Growth;
use crate::layers::published::Published;
use crate::tensors::convert::sinusoidal_tensor;

/// Fewest rows that a growing table is built with, within its limit. 512 rows of cosines and sines of
/// 128 columns take 0.1 ms, and a decoding loop builds them once.
const FEWEST: usize = 512;

/// A constant table `[rows, d_model]`.
#[derive(Debug)]
pub(crate) struct Rows {
    /// Maximum number of rows.
    limit: usize,
    dtype: DType,
    device: Device,
    state: State,
}

#[derive(Debug)]
enum State {
    Whole(Tensor),
    /// Starts empty. A longer table replaces it when a call needs rows beyond its end.
    Growing {
        sinusoidal: Sinusoidal,
        table: Published<Option<Tensor>>,
    },
}

impl Rows {
    /// Returns the rows `0 .. limit` of a specification.
    pub(crate) fn new(
        sinusoidal: Sinusoidal,
        limit: usize,
        growth: Growth,
        dtype: DType,
        device: &Device,
    ) -> Result<Self> {
        check_size(limit, sinusoidal.d_model(), dtype)?;
        Ok(match growth {
            Growth::AtOnce => {
                let rows = 0..limit as u64;
                Self::whole(sinusoidal_tensor(&sinusoidal, rows, dtype, device)?)
            }
            Growth::AsNeeded => Self {
                limit,
                dtype,
                device: device.clone(),
                state: State::Growing {
                    sinusoidal,
                    table: Published::new(None),
                },
            },
        })
    }

    /// Returns the rows of a caller-supplied table.
    pub(crate) fn whole(table: Tensor) -> Self {
        Self {
            limit: row_count(&table),
            dtype: table.dtype(),
            device: table.device().clone(),
            state: State::Whole(table),
        }
    }

    /// Returns the maximum number of rows.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    pub(crate) fn dtype(&self) -> DType {
        self.dtype
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// Returns the number of rows built so far.
    pub(crate) fn built(&self) -> usize {
        match &self.state {
            State::Whole(_) => self.limit,
            State::Growing { table, .. } => table.get().as_ref().map_or(0, row_count),
        }
    }

    /// Returns a table of at least `rows` rows, which must be within the limit.
    pub(crate) fn at_least(&self, rows: usize) -> Result<Tensor> {
        let (sinusoidal, table) = match &self.state {
            State::Whole(table) => return Ok(table.clone()),
            State::Growing { sinusoidal, table } => (sinusoidal, table),
        };
        let find = |table: &Option<Tensor>| table.clone().filter(|table| rows <= row_count(table));
        table.find_or_build(find, |_| {
            let rows = 0..grown(rows, self.limit) as u64;
            let longer = sinusoidal_tensor(sinusoidal, rows, self.dtype, &self.device)?;
            Ok((Some(longer.clone()), longer))
        })
    }
}

/// Returns the number of rows of a new table that must hold `rows` rows: a power of two of at least
/// [`FEWEST`], within the limit. Each row is built twice on average, however a table grows.
pub(crate) fn grown(rows: usize, limit: usize) -> usize {
    let power = rows.max(FEWEST).checked_next_power_of_two();
    power.map_or(limit, |power| power.min(limit))
}

/// Checks that a complete table is within the memory limit, even if only a part of it is built.
pub(crate) fn check_size(rows: usize, width: usize, dtype: DType) -> Result<()> {
    let row_bytes = (width as u64).checked_mul(dtype.size_in_bytes() as u64);
    let bytes = row_bytes.and_then(|bytes| bytes.checked_mul(rows as u64));
    if bytes.is_none_or(|bytes| bytes > MAX_TABLE_BYTES) {
        let (rows, name) = (rows as u64, dtype.as_str());
        return Err(Error::TooLarge { rows, width, name }.into());
    }
    Ok(())
}

/// Returns the end of `len` positions starting at `offset`. The end must be within the limit. `holds`
/// begins the message otherwise, such as "the table holds".
pub(crate) fn end_of(holds: &str, offset: usize, len: usize, limit: usize) -> Result<usize> {
    let Some(end) = offset.checked_add(len) else {
        bail!("offset {offset} plus length {len} overflows");
    };
    if end > limit && len != 0 {
        bail!(
            "positions {offset}..{end} were asked for, but {holds} {limit} rows (max_seq_len {limit})"
        );
    }
    Ok(end)
}

fn row_count(table: &Tensor) -> usize {
    table.dims().first().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_grow_by_powers_of_two_up_to_the_limit() {
        let sizes = [0, 1, 512, 513, 1024, 1025, 5000].map(|rows| grown(rows, 5000));
        assert_eq!(sizes, [512, 512, 512, 1024, 1024, 2048, 5000]);
        assert_eq!(grown(1, 3), 3);
        assert_eq!(grown(usize::MAX - 1, usize::MAX), usize::MAX);
    }

    #[test]
    fn budget_equals_that_of_pe_core() {
        assert!(check_size(1 << 22, 1024, DType::F32).is_ok());
        for (rows, width, dtype) in [
            ((1 << 22) + 1, 1024, DType::F32),
            ((1 << 22) + 1, 512, DType::F64),
            (1 << 32, usize::MAX, DType::F32),
        ] {
            let error = check_size(rows, width, dtype).map_err(|error| error.to_string());
            let name = dtype.as_str();
            let start = format!(
                "a table of {rows} rows x {width} columns of {name} exceeds the limit of 17179869184 bytes"
            );
            assert!(error.is_err_and(|text| text.starts_with(&start)));
        }
    }
}
