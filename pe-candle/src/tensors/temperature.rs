//! Temperatures of attention scores as tensors.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::ops::Range;

use candle_core::{DType, Device, Result, Tensor, WithDType, bail};
use half::{bf16, f16};
use pe_core::{Element, ScoreTemperature};

use crate::tensors::positions::CheckedIds;

/// Computes the factors of queries at a range of positions as a tensor of shape `[positions]`.
///
/// Every factor is the `dtype` nearest to the formula of [`ScoreTemperature`]. With head-first queries
/// the tensor gets an axis for the columns.
///
/// # Errors
/// Returns an error if
/// - `dtype` is not `f32`, `f64`, `f16`, or `bf16`,
/// - a parameter of the temperature is out of range,
/// - the range descends or ends above 2^32.
///
/// # Examples
/// ```
/// use candle_core::{DType, Device, Tensor};
/// use pe_candle::ScoreTemperature;
///
/// let llama4 = ScoreTemperature::Llama4 { attn_scale: 0.1, floor_scale: 8192 };
/// let (offset, len) = (8190, 3);
/// let factors =
///     pe_candle::score_temperature_tensor(&llama4, offset..offset + len, DType::F32, &Device::Cpu)?;
/// let q = Tensor::ones((1, 4, 3, 64), DType::F32, &Device::Cpu)?; // [B, H, T, head_dim]
/// let q = q.broadcast_mul(&factors.unsqueeze(1)?)?;
/// # assert_eq!(factors.to_vec1::<f32>()?, [1.0, 1.0693147, 1.0693147]);
/// # Ok::<(), candle_core::Error>(())
/// ```
pub fn score_temperature_tensor(
    temperature: &ScoreTemperature,
    positions: Range<u64>,
    dtype: DType,
    device: &Device,
) -> Result<Tensor> {
    tensor(
        dtype,
        ((),),
        device,
        &Positions::Range(temperature, positions),
    )
}

/// Computes the factors of queries at given positions as a tensor of the shape and on the device of
/// `position_ids`, which is `[T]` or `[B, T]` of `u32` or `i64`.
///
/// # Errors
/// Returns an error if
/// - `dtype` is not `f32`, `f64`, `f16`, or `bf16`,
/// - a parameter of the temperature is out of range,
/// - the ids have another rank or type, or one is negative or not below 2^32.
///
/// # Examples
/// ```
/// use candle_core::{DType, Device, Tensor};
/// use pe_candle::ScoreTemperature;
///
/// let ministral3 = ScoreTemperature::Ministral3 {
///     llama_4_scaling_beta: 0.1,
///     original_max_position_embeddings: 16384,
/// };
/// let ids = Tensor::new(&[[0u32, 16384]], &Device::Cpu)?;
/// let factors = pe_candle::score_temperature_at(&ministral3, &ids, DType::F32)?;
/// assert_eq!(factors.to_vec2::<f32>()?, [[1.0, 1.0693147]]);
/// # Ok::<(), candle_core::Error>(())
/// ```
pub fn score_temperature_at(
    temperature: &ScoreTemperature,
    position_ids: &Tensor,
    dtype: DType,
) -> Result<Tensor> {
    let limit = usize::try_from(pe_core::POSITIONS).unwrap_or(usize::MAX);
    let checked = CheckedIds::read(position_ids, limit)?;
    let positions = Positions::List(temperature, checked.ids);
    tensor(
        dtype,
        position_ids.dims(),
        position_ids.device(),
        &positions,
    )
}

enum Positions<'a> {
    Range(&'a ScoreTemperature, Range<u64>),
    List(&'a ScoreTemperature, Vec<u32>),
}

impl Positions<'_> {
    fn factors<T: Element>(&self) -> pe_core::Result<Vec<T>> {
        match self {
            Self::Range(temperature, range) => temperature.factors(range.clone()),
            Self::List(temperature, ids) => temperature.factors_at(ids),
        }
    }
}

fn tensor(
    dtype: DType,
    shape: impl candle_core::shape::ShapeWithOneHole,
    device: &Device,
    positions: &Positions<'_>,
) -> Result<Tensor> {
    fn of<T: Element + WithDType>(
        shape: impl candle_core::shape::ShapeWithOneHole,
        device: &Device,
        positions: &Positions<'_>,
    ) -> Result<Tensor> {
        Tensor::from_vec(positions.factors::<T>()?, shape, device)
    }
    match dtype {
        DType::F32 => of::<f32>(shape, device, positions),
        DType::F64 => of::<f64>(shape, device, positions),
        DType::F16 => of::<f16>(shape, device, positions),
        DType::BF16 => of::<bf16>(shape, device, positions),
        other => bail!("factors are f32, f64, f16 or bf16, not {}", other.as_str()),
    }
}
