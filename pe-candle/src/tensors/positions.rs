//! Position ids: made from masks, tokens and lengths, and checked before use.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use candle_core::{DType, Device, Result, Tensor, bail};

use crate::tensors::memory;

/// Position ids of a padded batch, from its attention mask.
///
/// `mask` is 1 for tokens and 0 for padding, `[T]` or `[B, T]`, of any integer type; the
/// padding may stand left, right or anywhere. Tokens are numbered 0, 1, 2 ... along `T`, and
/// padding gets `padding_id`: `cumsum(mask) - 1` where the mask is 1, as in Hugging Face's
/// transformers (which give padding the id 1). The result is `u32`, on the mask's device.
///
/// # Errors
/// Another rank, a floating-point mask, an entry other than 0 and 1.
///
/// ```
/// use candle_core::{Device, Tensor};
///
/// let mask = Tensor::new(&[[0u32, 0, 1, 1], [1, 1, 1, 0]], &Device::Cpu)?;
/// let ids = pe_candle::position_ids_from_attention_mask(&mask, 0)?;
/// assert_eq!(ids.to_vec2::<u32>()?, [[0, 0, 0, 1], [0, 1, 2, 0]]);
/// # Ok::<(), candle_core::Error>(())
/// ```
pub fn position_ids_from_attention_mask(mask: &Tensor, padding_id: u32) -> Result<Tensor> {
    let numbers = Numbers::read("the attention mask", mask)?;
    for (index, value) in numbers.values.iter().enumerate() {
        if !matches!(value, 0 | 1) {
            let place = numbers.place(index);
            bail!("attention mask entry {value} at {place} is neither 0 nor 1");
        }
    }
    numbers.count(|value| value == 1, 0, padding_id)
}

/// Position ids of a padded batch, from its token ids: the convention of fairseq, RoBERTa and
/// M2M100.
///
/// `tokens` is `[T]` or `[B, T]`, of any integer type. Tokens other than `padding_idx` get
/// `padding_idx + 1`, `padding_idx + 2` ... along `T`; padding gets `padding_idx`, whose row is
/// zero in tables of [`Preset::Fairseq`](pe_core::Preset::Fairseq). The table needs `T +
/// padding_idx + 1` rows. The result is `u32`, on the tokens' device.
///
/// # Errors
/// Another rank, a floating-point tensor, an id above `u32::MAX`.
///
/// ```
/// use candle_core::{Device, Tensor};
///
/// let tokens = Tensor::new(&[[0u32, 713, 2, 1, 1]], &Device::Cpu)?;
/// let ids = pe_candle::position_ids_from_token_ids(&tokens, 1)?;
/// assert_eq!(ids.to_vec2::<u32>()?, [[2, 3, 4, 1, 1]]);
/// # Ok::<(), candle_core::Error>(())
/// ```
pub fn position_ids_from_token_ids(tokens: &Tensor, padding_idx: u32) -> Result<Tensor> {
    let numbers = Numbers::read("token ids", tokens)?;
    let first = u64::from(padding_idx) + 1;
    numbers.count(|value| value != i64::from(padding_idx), first, padding_idx)
}

/// Position ids of sequences packed one after another into one row: `[sum of lengths]`, counted
/// from 0 in each sequence.
///
/// # Errors
/// A length above 2^32; a sum of lengths for which there is no memory.
///
/// ```
/// use candle_core::Device;
///
/// let ids = pe_candle::position_ids_for_packed(&[3, 0, 2], &Device::Cpu)?;
/// assert_eq!(ids.to_vec1::<u32>()?, [0, 1, 2, 0, 1]);
/// # Ok::<(), candle_core::Error>(())
/// ```
pub fn position_ids_for_packed(lengths: &[usize], device: &Device) -> Result<Tensor> {
    let mut ids = Vec::new();
    let mut total = 0usize;
    for (sequence, length) in lengths.iter().enumerate() {
        if *length as u64 > pe_core::POSITIONS {
            bail!("sequence {sequence} has length {length}, positions end at 4294967296");
        }
        total = total.saturating_add(*length);
    }
    if ids.try_reserve_exact(total).is_err() {
        bail!("no memory for {total} position ids");
    }
    for length in lengths {
        ids.extend((0..*length).map(|position| position as u32));
    }
    Tensor::from_vec(ids, total, device)
}

/// Position ids on the host, each below a limit.
pub(crate) struct CheckedIds {
    /// In row-major order.
    pub(crate) ids: Vec<u32>,
    /// `[T]`, or `[B, T]` with `B` other than 1.
    pub(crate) dims: Vec<usize>,
    /// The rows that a table needs for them: one more than the largest.
    pub(crate) rows: usize,
}

impl CheckedIds {
    /// Reads the ids, from whatever device, and checks that they name rows `0 .. limit`.
    pub(crate) fn read(position_ids: &Tensor, limit: usize) -> Result<Self> {
        // Candle's index_select takes the largest number of a type for "a row of
        // zeros"; in u8 that is the position 255.
        if !matches!(position_ids.dtype(), DType::U32 | DType::I64) {
            let dtype = position_ids.dtype().as_str();
            bail!("position ids must be u32 or i64, not {dtype}");
        }
        let numbers = Numbers::read("position ids", position_ids)?;
        let mut ids = Vec::with_capacity(numbers.values.len());
        let mut rows = 0;
        for (index, value) in numbers.values.iter().enumerate() {
            match u32::try_from(*value) {
                Ok(id) if (id as usize) < limit => {
                    ids.push(id);
                    rows = rows.max((id as usize).saturating_add(1));
                }
                _ => {
                    let place = numbers.place(index);
                    bail!("position id {value} at {place} is not below the limit of {limit} rows");
                }
            }
        }
        let dims = match *numbers.dims {
            [1, time] => vec![time],
            _ => numbers.dims,
        };
        Ok(Self { ids, dims, rows })
    }
}

/// A tensor of integers on the host.
struct Numbers<'a> {
    values: Vec<i64>,
    dims: Vec<usize>,
    device: &'a Device,
}

impl<'a> Numbers<'a> {
    fn read(what: &str, tensor: &'a Tensor) -> Result<Self> {
        let dims = tensor.dims().to_vec();
        if !matches!(dims.len(), 1 | 2) {
            bail!("{what} must have shape [T] or [B, T], got {dims:?}");
        }
        if !tensor.dtype().is_int() {
            let dtype = tensor.dtype().as_str();
            bail!("{what} must be integers, not {dtype}");
        }
        memory::for_copy(what, tensor, DType::I64)?;
        let values = if tensor.elem_count() == 0 {
            Vec::new()
        } else {
            // To the host first: not every device can convert every integer type.
            let host = tensor.to_device(&Device::Cpu)?;
            host.flatten_all()?.to_dtype(DType::I64)?.to_vec1()?
        };
        Ok(Self {
            values,
            dims,
            device: tensor.device(),
        })
    }

    /// Where an element stands, as `[t]` or `[b, t]`.
    fn place(&self, index: usize) -> String {
        match self.dims.as_slice() {
            [_, time] => {
                let (row, column) = (index.checked_div(*time), index.checked_rem(*time));
                format!("[{}, {}]", row.unwrap_or(0), column.unwrap_or(0))
            }
            _ => format!("[{index}]"),
        }
    }

    /// Numbers the elements that `counts` picks from `first` on, afresh in each row; the others
    /// get `otherwise`.
    fn count(&self, counts: impl Fn(i64) -> bool, first: u64, otherwise: u32) -> Result<Tensor> {
        let time = self.dims.last().copied().unwrap_or(0);
        let mut ids = Vec::with_capacity(self.values.len());
        for row in self.values.chunks(time.max(1)) {
            let mut next = first;
            for value in row {
                if !counts(*value) {
                    ids.push(otherwise);
                    continue;
                }
                let Ok(id) = u32::try_from(next) else {
                    let place = self.place(ids.len());
                    bail!("position {next} at {place} is not below 4294967296");
                };
                ids.push(id);
                next = next.saturating_add(1);
            }
        }
        Tensor::from_vec(ids, self.dims.as_slice(), self.device)
    }
}
