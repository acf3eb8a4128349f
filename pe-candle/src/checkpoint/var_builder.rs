//! Tables from a `VarBuilder`, without creating a variable.

use candle_core::{DType, Device, Result, Tensor, WithDType};
use candle_nn::VarBuilder;
use pe_core::{Element, SinusoidalConfig, Table};

use super::file::message::error;
use crate::tensors::convert::table_to_tensor;

use super::file::element::{is_finite, with_element};
use super::file::message::{quoted, reason};
use super::schemes::sinusoidal::SinusoidalSpec;

/// A name that no checkpoint has. A backend that claims to hold it, as
/// `VarBuilder::zeros` does, claims to hold everything.
const UNUSED_NAME: &str = "__pe_candle_no_tensor_has_this_name__";

/// The significant bits of F8_E4M3.
const F8_PRECISION: u32 = 4;

/// Origin of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableOrigin {
    /// The checkpoint behind the builder holds it.
    Stored,
    /// It was computed, every entry exact.
    Computed,
}

/// Reads the table `name` from a `VarBuilder`, or computes it if the builder has none.
///
/// The result has shape `[rows, d_model]`, the builder's dtype and device, and is a
/// constant: no variable is created or returned. `vb.get` cannot replace this function,
/// because on a `VarMap` it creates a trainable variable of zeros. The rule here:
///
/// 1. If `vb.contains_tensor(name)` is false, the table is computed.
/// 2. If the builder claims to hold a name that nobody uses as well (`VarBuilder::zeros`
///    holds everything), its claim proves nothing: the table is computed.
/// 3. Otherwise the stored table is read, as `[rows, d_model]`, `[1, rows, d_model]` or
///    `[rows, 1, d_model]`, and must be the encoding asked for, as exactly as its type and
///    a computation in f32 allow (below). Any other shape is an error.
///
/// # Tolerance
/// Every entry must be within
///
/// ```text
/// 2^-(p + 1)  +  2^-20  +  3 * position / 2^23
/// ```
///
/// of the exact one. `p` is the number of significant bits of the entry that has most of
/// them, within 4 and 24: 24 in a table stored in f32 or f64, 11 in f16, 8 in bf16, 4 in
/// F8_E4M3. So the first term is half an ulp below 1. The second
/// bounds the few roundings of a sine in f32. The third bounds the error of an angle
/// with a frequency computed in f32: a frequency `e^-x` is off by up to
/// `(x + 1) / 2^23` of itself, position and product add `1 / 2^23`, and
/// `(x + 2) * e^-x` is at most 2.
///
/// Exact tables pass, and tables that others computed in f32, stored in any of these
/// types. Zeros and another layout differ by much more. So does another base, if it is not
/// close: for 10,000 asked for and a table of 1,000 rows or more in f32, some entry differs
/// by too much if the base is off by more than 1 in 10,000 (in bf16, 1 in 1,000). The
/// rows near 0 show little: row 0 is the same for every base.
///
/// If a computed table must not replace a stored one, ask `vb.contains_tensor` first.
///
/// ```
/// use candle_core::{DType, Device};
/// use candle_nn::{VarBuilder, VarMap};
/// use pe_candle::checkpoint::{self, TableOrigin};
/// use pe_candle::SinusoidalConfig;
///
/// let variables = VarMap::new();
/// let vb = VarBuilder::from_varmap(&variables, DType::F32, &Device::Cpu);
/// let (table, origin) =
///     checkpoint::from_var_builder(&vb.pp("pos_encoder"), "pe", &SinusoidalConfig::new(64), 100)?;
/// assert_eq!((table.dims2()?, origin), ((100, 64), TableOrigin::Computed));
/// assert!(variables.all_vars().is_empty());
/// # Ok::<(), candle_core::Error>(())
/// ```
///
/// # Errors
/// Returns an error if the configuration, the size, or the dtype is invalid, or if a stored table has another
/// shape, entries of another encoding, or infinite or NaN entries.
pub fn from_var_builder(
    vb: &VarBuilder<'_>,
    name: &str,
    config: &SinusoidalConfig,
    rows: usize,
) -> Result<(Tensor, TableOrigin)> {
    let spec = SinusoidalSpec::new(*config, 0, rows, vb.dtype())?;
    let stored = vb.contains_tensor(name) && !vb.contains_tensor(UNUSED_NAME);
    with_element!(vb.dtype(), T => {
        let (table, origin) = if stored {
            (read::<T>(vb, name, &spec)?, TableOrigin::Stored)
        } else {
            (compute::<T>(&spec)?, TableOrigin::Computed)
        };
        Ok((table_to_tensor(table, vb.device())?, origin))
    })
}

fn compute<T: Element>(spec: &SinusoidalSpec) -> Result<Table<T>> {
    Ok(spec.scheme().table(spec.positions())?)
}

/// Reads the stored entries, checks them, and rounds them once to `T`.
fn read<T: Element + WithDType>(
    vb: &VarBuilder<'_>,
    name: &str,
    spec: &SinusoidalSpec,
) -> Result<Table<T>> {
    let full_name = match vb.prefix() {
        prefix if prefix.is_empty() => name.to_owned(),
        prefix => format!("{prefix}.{name}"),
    };
    let of = |reason: &str| error(format_args!("tensor {}{reason}", quoted(&full_name)));
    let (rows, width) = (spec.rows(), spec.width());
    let fetch_as = |dtype| {
        fetch(vb, name, rows, width, dtype).map_err(|error| of(&format!(": {}", reason(&error))))
    };
    let tensor = fetch_as(DType::F32)?;
    match tensor.dims() {
        [r, w] | [1, r, w] | [r, 1, w] if (*r, *w) == (rows, width) => {}
        dims => {
            return Err(of(&format!(
                ": shape {dims:?} is not [{rows}, {width}], [1, {rows}, {width}] or \
                 [{rows}, 1, {width}]"
            )));
        }
    }
    let mut stored = values(&tensor)?;
    // Candle 0.11 never returns from a conversion of F8E4M3 to f64. Numbers with more bits
    // than that type has are of another type, which fits into f64 without a rounding.
    if precision(&stored) > F8_PRECISION {
        stored = values(&fetch_as(DType::F64)?)?;
    }
    let precision = precision(&stored).clamp(F8_PRECISION, 24);
    let half_unit = 0.5 / (1u64 << precision) as f64;
    for (row, (stored, exact)) in stored
        .chunks_exact(width)
        .zip(compute::<f64>(spec)?.iter_rows())
        .enumerate()
    {
        let roundings = 1.0 / (1u64 << 20) as f64 + 3.0 * row as f64 / (1u64 << 23) as f64;
        let tolerance = half_unit + roundings;
        for (column, (found, exact)) in stored.iter().zip(exact).enumerate() {
            if !is_finite(*found) {
                let reason = format!(": the entry at row {row}, column {column} is {found:?}");
                return Err(of(&reason));
            }
            if (found - exact).abs() > tolerance {
                return Err(of(&format!(
                    " is not the encoding asked for: at position {row}, column {column} it has \
                     {found:?}, where about {exact:?} is right"
                )));
            }
        }
    }
    let entries = stored.into_iter().map(<T as Element>::from_f64).collect();
    Ok(Table::from_vec(entries, width)?)
}

/// Copies the elements to the host, widened.
fn values(tensor: &Tensor) -> Result<Vec<f64>> {
    let mut host = tensor.detach().to_device(&Device::Cpu)?;
    if host.dtype() == DType::F8E4M3 {
        host = host.to_dtype(DType::F32)?;
    }
    host.to_dtype(DType::F64)?.flatten_all()?.to_vec1()
}

/// Returns the largest number of significant bits of any value.
fn precision(values: &[f64]) -> u32 {
    let bits = values.iter().map(|value| significant_bits(*value));
    bits.max().unwrap_or(0)
}

/// Returns the number of bits that a significand needs for a value, 0 for zero.
fn significant_bits(value: f64) -> u32 {
    if value == 0.0 {
        return 0;
    }
    // Numbers below the normal ones of f64 have fewer. Here they may count as more.
    let fraction = value.to_bits() & ((1 << 52) - 1);
    53u32.saturating_sub((fraction | 1 << 52).trailing_zeros())
}

/// Fetches the stored tensor. The backend has stated that it holds the name, so `get` finds
/// it and creates nothing.
fn fetch(
    vb: &VarBuilder<'_>,
    name: &str,
    rows: usize,
    width: usize,
    dtype: DType,
) -> Result<Tensor> {
    let vb = vb.clone().set_device(Device::Cpu);
    // Checkpoints give a tensor of any shape.
    if let Ok(tensor) = vb.get_unchecked_dtype(name, dtype) {
        return Ok(tensor);
    }
    // A `VarMap` gives tensors only to those who know the shape.
    let vb = vb.to_dtype(dtype);
    vb.get((rows, width), name).or_else(|error| {
        vb.get((1, rows, width), name)
            .or_else(|_| vb.get((rows, 1, width), name))
            .map_err(|_| error)
    })
}
