//! Positions of a call: sizes of a grid, or coordinates read from a tensor.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use candle_core::{DType, Device, Result, Tensor, bail};
use pe_core::PatchGrid;

use super::config::CoordinateAxis;
use crate::tensors::memory;

/// Positions of a call of [`AxialRotaryEmbedding`](crate::AxialRotaryEmbedding): `&[3, 4, 6]`, `&images`, or `&tensor`.
#[derive(Debug, Clone, Copy)]
pub enum AxialPositions<'a> {
    /// Sizes of a grid, one for each axis, or one more in front for frames that repeat.
    Grid(&'a [usize]),
    /// Sizes of images or videos, one after the other in each sequence.
    Images(&'a [PatchGrid]),
    /// Coordinates of each token, of type `u32`, `i64`, `f32`, or `f64`.
    Coordinates(&'a Tensor),
}

impl<'a> From<&'a [usize]> for AxialPositions<'a> {
    fn from(sizes: &'a [usize]) -> Self {
        Self::Grid(sizes)
    }
}

impl<'a, const N: usize> From<&'a [usize; N]> for AxialPositions<'a> {
    fn from(sizes: &'a [usize; N]) -> Self {
        Self::Grid(sizes)
    }
}

impl<'a> From<&'a Vec<usize>> for AxialPositions<'a> {
    fn from(sizes: &'a Vec<usize>) -> Self {
        Self::Grid(sizes)
    }
}

impl<'a> From<&'a [PatchGrid]> for AxialPositions<'a> {
    fn from(images: &'a [PatchGrid]) -> Self {
        Self::Images(images)
    }
}

impl<'a, const N: usize> From<&'a [PatchGrid; N]> for AxialPositions<'a> {
    fn from(images: &'a [PatchGrid; N]) -> Self {
        Self::Images(images)
    }
}

impl<'a> From<&'a Vec<PatchGrid>> for AxialPositions<'a> {
    fn from(images: &'a Vec<PatchGrid>) -> Self {
        Self::Images(images)
    }
}

impl<'a> From<&'a Tensor> for AxialPositions<'a> {
    fn from(coordinates: &'a Tensor) -> Self {
        Self::Coordinates(coordinates)
    }
}

/// Coordinates on the host.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Coordinates {
    /// One list for each axis, of all sequences one after the other.
    pub(super) lists: Vec<Vec<f64>>,
    /// Number of sequences, or `None` if the coordinates are those of every sequence.
    pub(super) sequences: Option<usize>,
}

impl Coordinates {
    /// Reads coordinates of a number of axes from any device.
    pub(super) fn read(tensor: &Tensor, axes: usize, axis: CoordinateAxis) -> Result<Self> {
        let dims = tensor.dims();
        let found = match (axis, dims) {
            (CoordinateAxis::First, [count, time]) => Some((*count, 1, *time)),
            (CoordinateAxis::First, [count, batch, time]) => Some((*count, *batch, *time)),
            (CoordinateAxis::Last, [time, count]) => Some((*count, 1, *time)),
            (CoordinateAxis::Last, [batch, time, count]) => Some((*count, *batch, *time)),
            _ => None,
        };
        let Some((_, batch, _)) = found.filter(|(count, _, _)| *count == axes) else {
            let wanted = match axis {
                CoordinateAxis::First => format!("[{axes}, T] or [{axes}, B, T]"),
                CoordinateAxis::Last => format!("[T, {axes}] or [B, T, {axes}]"),
            };
            bail!("coordinates must have shape {wanted}, got {dims:?}");
        };
        memory::for_copy("the coordinates", tensor, DType::F64)?;
        let values = values(tensor)?;
        let lists = match axis {
            CoordinateAxis::First => {
                let tokens = values.len().checked_div(axes).unwrap_or(0);
                let lists = values.chunks(tokens.max(1)).map(<[f64]>::to_vec);
                lists
                    .chain(std::iter::repeat(Vec::new()))
                    .take(axes)
                    .collect()
            }
            CoordinateAxis::Last => {
                let list = |axis| values.iter().skip(axis).step_by(axes).copied().collect();
                (0..axes).map(list).collect()
            }
        };
        Ok(Self {
            lists,
            sequences: (dims.len() == 3 && batch != 1).then_some(batch),
        })
    }
}

/// Returns the elements in row-major order.
fn values(tensor: &Tensor) -> Result<Vec<f64>> {
    const LIMIT: u64 = 1 << 53;
    if !matches!(
        tensor.dtype(),
        DType::U32 | DType::I64 | DType::F32 | DType::F64
    ) {
        let dtype = tensor.dtype().as_str();
        bail!("coordinates must be u32, i64, f32, or f64, not {dtype}");
    }
    if tensor.elem_count() == 0 {
        return Ok(Vec::new());
    }
    // To the host first: not every device can convert every type.
    let host = tensor.to_device(&Device::Cpu)?.flatten_all()?;
    if host.dtype() == DType::I64 {
        for (index, value) in host.to_vec1::<i64>()?.into_iter().enumerate() {
            if value.unsigned_abs() > LIMIT {
                bail!("coordinate {value} at element {index} exceeds 2^53 in magnitude");
            }
        }
    }
    host.to_dtype(DType::F64)?.to_vec1()
}
