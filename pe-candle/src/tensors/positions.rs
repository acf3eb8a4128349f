//! Position ids: computed from masks, tokens, and lengths, and checked before use.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use candle_core::{CpuStorage, DType, Device, Result, Storage, Tensor, TensorId, bail};
use pe_core::MropePositions;

use crate::tensors::memory;

/// Computes the position ids of a padded batch from its attention mask.
///
/// `mask` has shape `[T]` or `[B, T]` and any integer type. It is 1 for tokens and 0 for padding, which
/// may be left, right, or anywhere. Tokens get 0, 1, 2 ... along `T`, that is, `cumsum(mask) - 1`.
/// Padding gets `padding_id`, which is 1 in Hugging Face's transformers. The result is `u32`, has the
/// shape of the mask, and is on its device.
///
/// # Errors
/// Returns an error if the mask has another rank or a floating-point type, or an entry is neither 0
/// nor 1.
///
/// # Examples
/// ```
/// use candle_core::{Device, Tensor};
///
/// let mask = Tensor::new(&[[0u32, 0, 1, 1], [1, 1, 1, 0]], &Device::Cpu)?;
/// let ids = pe_candle::position_ids_from_attention_mask(&mask, 0)?;
/// assert_eq!(ids.to_vec2::<u32>()?, [[0, 0, 0, 1], [0, 1, 2, 0]]);
/// # Ok::<(), candle_core::Error>(())
/// ```
pub fn position_ids_from_attention_mask(mask: &Tensor, padding_id: u32) -> Result<Tensor> {
    let integers = Integers::read("the attention mask", mask)?;
    for (index, value) in integers.values.iter().enumerate() {
        if !matches!(value, 0 | 1) {
            let index = integers.index_of(index);
            bail!("attention mask entry {value} at {index} is neither 0 nor 1");
        }
    }
    integers.count(|value| value == 1, 0, padding_id)
}

/// Computes the position ids of a padded batch from its token ids, by the convention of fairseq,
/// RoBERTa, and M2M100.
///
/// `tokens` has shape `[T]` or `[B, T]` and any integer type. Tokens other than `padding_idx` get
/// `padding_idx + 1`, `padding_idx + 2` ... along `T`. Padding gets `padding_idx`, a row of zeros in
/// tables of [`Preset::Fairseq`](pe_core::Preset::Fairseq). The table needs `T + padding_idx + 1`
/// rows. The result is `u32`, has the shape of `tokens`, and is on their device.
///
/// # Errors
/// Returns an error if `tokens` has another rank or a floating-point type, or a position exceeds
/// `u32::MAX`.
///
/// # Examples
/// ```
/// use candle_core::{Device, Tensor};
///
/// let tokens = Tensor::new(&[[0u32, 713, 2, 1, 1]], &Device::Cpu)?;
/// let ids = pe_candle::position_ids_from_token_ids(&tokens, 1)?;
/// assert_eq!(ids.to_vec2::<u32>()?, [[2, 3, 4, 1, 1]]);
/// # Ok::<(), candle_core::Error>(())
/// ```
pub fn position_ids_from_token_ids(tokens: &Tensor, padding_idx: u32) -> Result<Tensor> {
    let integers = Integers::read("token ids", tokens)?;
    let first = u64::from(padding_idx) + 1;
    integers.count(|value| value != i64::from(padding_idx), first, padding_idx)
}

/// Computes the position ids of sequences packed one after another into one row. The result has shape
/// `[sum of lengths]` and counts from 0 in each sequence.
///
/// # Errors
/// Returns an error if a length exceeds 2^32 or memory cannot hold the sum of the lengths.
///
/// # Examples
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

/// Returns the positions of sequences of text, images, and videos as the tensor that transformers has, of shape `[3, B, T]` and type
/// `u32`: time, height, and width. [`RotaryEmbedding::cos_sin_by_axis`](crate::RotaryEmbedding::cos_sin_by_axis) and
/// [`AxialRotaryEmbedding`](crate::AxialRotaryEmbedding) accept it. Shorter sequences are padded on the right with position 1, as
/// transformers pads.
///
/// # Errors
/// Returns an error if there is no sequence, the lists of one differ in length, or memory cannot hold the tensor.
///
/// # Examples
/// ```
/// use candle_core::Device;
/// use pe_candle::{MropeSegment, PatchGrid, mrope_position_ids};
///
/// let grid = PatchGrid { frames: 1, rows: 2, columns: 4 };
/// let image = MropeSegment::Vision { grid, merge: 2, time_interval: 1.0 };
/// let positions = mrope_position_ids(&[image, MropeSegment::Text { tokens: 1 }])?;
/// let ids = pe_candle::position_ids_for_mrope(&[positions], &Device::Cpu)?;
/// assert_eq!(ids.to_vec3::<u32>()?, [[[0, 0, 2]], [[0, 0, 2]], [[0, 1, 2]]]);
/// # Ok::<(), candle_core::Error>(())
/// ```
pub fn position_ids_for_mrope(sequences: &[MropePositions], device: &Device) -> Result<Tensor> {
    let longest = sequences.iter().map(|sequence| sequence.time.len()).max();
    let Some(longest) = longest else {
        bail!("no sequence is given");
    };
    for (index, sequence) in sequences.iter().enumerate() {
        let lens = sequence.lists().map(<[u32]>::len);
        if lens != [sequence.time.len(); 3] {
            bail!("sequence {index} has {lens:?} positions in time, height, and width");
        }
    }
    let mut ids = Vec::new();
    let total = longest
        .checked_mul(sequences.len())
        .and_then(|ids| ids.checked_mul(3));
    if total.is_none_or(|total| ids.try_reserve_exact(total).is_err()) {
        bail!(
            "no memory for the position ids of {} sequences of {longest} tokens",
            sequences.len()
        );
    }
    for axis in 0..3 {
        for sequence in sequences {
            let list = sequence.lists().into_iter().nth(axis).unwrap_or_default();
            ids.extend_from_slice(list);
            ids.extend(std::iter::repeat_n(1, longest.saturating_sub(list.len())));
        }
    }
    Tensor::from_vec(ids, (3, sequences.len(), longest), device)
}

/// Position ids on the host, each below a limit.
pub(crate) struct CheckedIds {
    /// The ids in row-major order.
    pub(crate) ids: Vec<u32>,
    /// `[T]`, or `[B, T]` with `B` other than 1.
    pub(crate) dims: Vec<usize>,
    /// Rows that a table needs for them: the largest id plus one.
    pub(crate) rows: usize,
}

impl CheckedIds {
    /// Reads `u32` ids of the host where they are, all below the limit. Returns `None` for others, so that
    /// those are read again and named.
    fn on_host(position_ids: &Tensor, limit: usize) -> Result<Option<Self>> {
        let dims = match *position_ids.dims() {
            [1, time] | [time] => vec![time],
            [batch, time] => vec![batch, time],
            _ => return Ok(None),
        };
        let (storage, layout) = position_ids.storage_and_layout();
        let Storage::Cpu(CpuStorage::U32(all)) = &*storage else {
            return Ok(None);
        };
        let part = layout.contiguous_offsets();
        let Some(ids) = part.and_then(|(start, end)| all.get(start..end)) else {
            return Ok(None);
        };
        let rows = ids
            .iter()
            .max()
            .map_or(0, |id| (*id as usize).saturating_add(1));
        Ok((rows <= limit).then(|| Self {
            ids: ids.to_vec(),
            dims,
            rows,
        }))
    }

    /// Reads the ids from any device and checks that each is below `limit`.
    pub(crate) fn read(position_ids: &Tensor, limit: usize) -> Result<Self> {
        // Candle's index_select reads the largest value of a type as "a row of zeros". In u8 that
        // value is the position 255.
        if !matches!(position_ids.dtype(), DType::U32 | DType::I64) {
            let dtype = position_ids.dtype().as_str();
            bail!("position ids must be u32 or i64, not {dtype}");
        }
        if let Some(checked) = Self::on_host(position_ids, limit)? {
            return Ok(checked);
        }
        let integers = Integers::read("position ids", position_ids)?;
        let mut ids = Vec::with_capacity(integers.values.len());
        let mut rows = 0;
        for (index, value) in integers.values.iter().enumerate() {
            match u32::try_from(*value) {
                Ok(id) if (id as usize) < limit => {
                    ids.push(id);
                    rows = rows.max((id as usize).saturating_add(1));
                }
                _ => {
                    let index = integers.index_of(index);
                    bail!("position id {value} at {index} is not below the limit of {limit} rows");
                }
            }
        }
        let dims = match *integers.dims {
            [1, time] => vec![time],
            _ => integers.dims,
        };
        Ok(Self { ids, dims, rows })
    }

    /// Returns the ids counted from a row of a table, which must hold them.
    pub(crate) fn moved_to_row(mut self, first: usize) -> Self {
        if first != 0 {
            for id in &mut self.ids {
                *id = id.saturating_add(u32::try_from(first).unwrap_or(u32::MAX));
            }
            self.rows = self.rows.saturating_add(first);
        }
        self
    }
}

/// Returns the smallest id and the largest plus one, or `None` without ids, and checks that each is below
/// `limit`. The ids are copied to the host unless the tensor is the one that was checked last.
pub(crate) fn bounds(position_ids: &Tensor, limit: usize) -> Result<Option<Range<usize>>> {
    static LAST: Mutex<Option<(TensorId, Range<usize>)>> = Mutex::new(None);
    let last = || LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let known = last().clone().filter(|(id, range)| {
        // The values of a variable may change.
        *id == position_ids.id() && range.end <= limit && !position_ids.is_variable()
    });
    if let Some((_, range)) = known {
        return Ok(Some(range));
    }
    let checked = CheckedIds::read(position_ids, limit)?;
    let Some(first) = checked.ids.iter().min() else {
        return Ok(None);
    };
    let range = *first as usize..checked.rows;
    *last() = Some((position_ids.id(), range.clone()));
    Ok(Some(range))
}

/// A tensor of integers on the host.
struct Integers<'a> {
    values: Vec<i64>,
    dims: Vec<usize>,
    device: &'a Device,
}

impl<'a> Integers<'a> {
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

    /// Returns the index of an element, as `[t]` or `[b, t]`.
    fn index_of(&self, index: usize) -> String {
        match self.dims.as_slice() {
            [_, time] => {
                let (row, column) = (index.checked_div(*time), index.checked_rem(*time));
                format!("[{}, {}]", row.unwrap_or(0), column.unwrap_or(0))
            }
            _ => format!("[{index}]"),
        }
    }

    /// Counts the elements that `counts` selects, starting at `first` in each row. The others get
    /// `otherwise`.
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
                    let index = self.index_of(ids.len());
                    bail!("position {next} at {index} is not below 4294967296");
                };
                ids.push(id);
                next = next.saturating_add(1);
            }
        }
        Tensor::from_vec(ids, self.dims.as_slice(), self.device)
    }
}
