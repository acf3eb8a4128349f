//! Reference of the weighted sums of rows, composed of Candle's own operations.

use std::collections::BTreeMap;

use candle_core::{DType, Result, Tensor};
use pe_core::{RowSums, RowTaps};

/// Computes the weighted sums of the rows of `table`, `[rows, width]`, in the order of the weights: those of the planes,
/// then those of the result.
///
/// Entries of `f32` and `f64` are summed in `f64` (on Metal, which has none, in `f32`), those of 16 bits
/// in `f32`. A sum is rounded once.
pub(crate) fn gather_sum(table: &Tensor, taps: &RowTaps) -> Result<Tensor> {
    let compute = match table.dtype() {
        DType::F32 | DType::F64 if !table.device().is_metal() => DType::F64,
        _ => DType::F32,
    };
    let [planes, rows] = taps.stages();
    let planes = stage(&table.to_dtype(compute)?, &planes)?;
    stage(&planes, &rows)?.to_dtype(table.dtype())
}

/// Computes the sums of one stage.
fn stage(table: &Tensor, taps: &RowSums) -> Result<Tensor> {
    let (compute, device) = (table.dtype(), table.device());
    let width = table.dim(1)?;
    // Rows with equal numbers of weights are summed together.
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for row in 0..taps.rows() {
        groups.entry(taps.of(row).0.len()).or_default().push(row);
    }
    let (mut sums, mut order) = (Vec::new(), vec![0u32; taps.rows()]);
    for (place, row) in groups.values().flatten().enumerate() {
        order[*row] = place as u32;
    }
    for (count, rows) in &groups {
        let mut sum = None;
        for tap in 0..*count {
            let sources = rows.iter().map(|row| taps.of(*row).0[tap]).collect();
            let weights: Vec<f64> = rows.iter().map(|row| taps.of(*row).1[tap]).collect();
            let weights = Tensor::from_vec(weights, (rows.len(), 1), &candle_core::Device::Cpu)?;
            let weights = weights.to_dtype(compute)?.to_device(device)?;
            let sources = Tensor::from_vec::<_, u32>(sources, rows.len(), device)?;
            let term = table.index_select(&sources, 0)?.broadcast_mul(&weights)?;
            sum = Some(match sum {
                None => term,
                Some(sum) => (sum + term)?,
            });
        }
        sums.push(match sum {
            Some(sum) => sum,
            None => Tensor::zeros((rows.len(), width), compute, device)?,
        });
    }
    if sums.is_empty() {
        return Tensor::zeros((0, width), compute, device);
    }
    let order = Tensor::from_vec(order, taps.rows(), device)?;
    Tensor::cat(&sums, 0)?.index_select(&order, 0)
}
