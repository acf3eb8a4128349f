//! A table out of a `VarBuilder`, without a variable being made.

use candle_core::{DType, Device, Error, Result, Tensor, WithDType, bail};
use candle_nn::VarBuilder;
use pe_core::{Element, SinusoidalConfig, Table};

use crate::convert::{core_error, table_to_tensor};

use super::element::{is_finite, with_element};
use super::reason;
use super::spec::TableSpec;

/// A name that no checkpoint has. A backend that claims to hold it, as
/// `VarBuilder::zeros` does, claims to hold everything, and its word proves nothing.
const NOBODY: &str = "__pe_candle_no_tensor_has_this_name__";

/// Where a table came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableOrigin {
    /// The checkpoint behind the builder holds it.
    Stored,
    /// It was computed, every entry exact.
    Computed,
}

/// Takes the table `name` out of a `VarBuilder`, or computes it if there is none.
///
/// The result has shape `[rows, d_model]`, the builder's dtype and device, and is a
/// constant: no variable is made, and none is returned. `vb.get` is not a way to ask
/// for a table, because over a `VarMap` it makes a trainable variable of zeros. The rule here:
///
/// 1. If `vb.contains_tensor(name)` is false, the table is computed.
/// 2. If the builder claims to hold a name that nobody uses as well (`VarBuilder::zeros`
///    holds everything), its claim proves nothing: the table is computed.
/// 3. Otherwise the stored table is read, as `[rows, d_model]`, `[1, rows, d_model]` or
///    `[rows, 1, d_model]`, and must be the encoding asked for within
///    `1/64 + position / 2^23`. That admits tables that others computed in f32 or
///    stored in half precision; zeros, another layout or another base are an error. So
///    is any other shape.
///
/// Models whose checkpoints hold a table that must not be replaced by a computed one
/// should ask `vb.contains_tensor` themselves.
///
/// ```
/// use candle_core::{DType, Device};
/// use candle_nn::{VarBuilder, VarMap};
/// use pe_candle::checkpoint::{self, TableOrigin};
/// use pe_core::SinusoidalConfig;
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
/// A configuration, size or dtype that is not valid; a stored table of another shape, with
/// entries of another encoding, or with infinite or NaN entries.
pub fn from_var_builder(
    vb: &VarBuilder<'_>,
    name: &str,
    config: &SinusoidalConfig,
    rows: usize,
) -> Result<(Tensor, TableOrigin)> {
    let spec = TableSpec::new(*config, 0, rows, vb.dtype());
    spec.check()?;
    let stored = vb.contains_tensor(name) && !vb.contains_tensor(NOBODY);
    with_element!(vb.dtype(), T => {
        let (table, origin) = if stored {
            (read::<T>(vb, name, &spec)?, TableOrigin::Stored)
        } else {
            (compute::<T>(&spec)?, TableOrigin::Computed)
        };
        Ok((table_to_tensor(table, vb.device())?, origin))
    })
}

fn compute<T: Element>(spec: &TableSpec) -> Result<Table<T>> {
    spec.check()?.table(spec.positions()).map_err(core_error)
}

/// The entries as stored, rounded once to `T`, after a look at what they are.
fn read<T: Element + WithDType>(
    vb: &VarBuilder<'_>,
    name: &str,
    spec: &TableSpec,
) -> Result<Table<T>> {
    let full_name = match vb.prefix() {
        prefix if prefix.is_empty() => name.to_owned(),
        prefix => format!("{prefix}.{name}"),
    };
    let (rows, width) = (spec.rows, spec.config.d_model);
    let tensor = fetch(vb, name, rows, width)
        .map_err(|error| Error::Msg(format!("tensor {full_name:?}: {}", reason(&error))).bt())?;
    match tensor.dims() {
        [r, w] | [1, r, w] | [r, 1, w] if (*r, *w) == (rows, width) => {}
        dims => bail!(
            "tensor {full_name:?}: shape {dims:?} is not [{rows}, {width}], [1, {rows}, {width}] \
             or [{rows}, 1, {width}]"
        ),
    }
    // Every float type fits into f64, so this rounds nothing.
    let stored = tensor
        .detach()
        .to_device(&Device::Cpu)?
        .to_dtype(DType::F64)?
        .flatten_all()?
        .to_vec1::<f64>()?;
    for (row, (stored, exact)) in stored
        .chunks_exact(width)
        .zip(compute::<f64>(spec)?.iter_rows())
        .enumerate()
    {
        let tolerance = 1.0 / 64.0 + row as f64 / (1u64 << 23) as f64;
        for (column, (found, exact)) in stored.iter().zip(exact).enumerate() {
            if !is_finite(*found) {
                bail!("tensor {full_name:?}: the entry at row {row}, column {column} is {found}");
            }
            if (found - exact).abs() > tolerance {
                bail!(
                    "tensor {full_name:?} is not the encoding asked for: at position {row}, \
                     column {column} it has {found}, where about {exact} is right"
                );
            }
        }
    }
    let entries = stored.into_iter().map(<T as Element>::from_f64).collect();
    Table::from_vec(entries, width).map_err(core_error)
}

/// The stored tensor. The backend has said that it holds the name, so `get` finds
/// it and makes nothing.
fn fetch(vb: &VarBuilder<'_>, name: &str, rows: usize, width: usize) -> Result<Tensor> {
    let vb = vb.clone().set_device(Device::Cpu);
    // Checkpoints give a tensor of any shape, converted without loss.
    if let Ok(tensor) = vb.get_unchecked_dtype(name, DType::F64) {
        return Ok(tensor);
    }
    // A `VarMap` gives tensors only to those who know the shape.
    let vb = vb.to_dtype(DType::F64);
    vb.get((rows, width), name).or_else(|error| {
        vb.get((1, rows, width), name)
            .or_else(|_| vb.get((rows, 1, width), name))
            .map_err(|_| error)
    })
}
