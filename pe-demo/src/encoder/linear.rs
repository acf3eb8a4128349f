//! Linear maps with rows that do not depend on their number.

use candle_core::{Result, Tensor};
use candle_nn::{Init, Linear, Module, VarBuilder};

/// Returns the fewest rows for which Candle's matrix product on the CPU (the gemm crate) adds in the
/// same order as for more rows. A single row is a product of matrix and vector. Results of up to 256
/// elements come from a kernel that adds in another order. Up to 64 rows and columns, long sums are
/// cut at other points. Beyond that a row's sums have the same bits whatever the other rows are.
const fn least_rows(outputs: usize) -> usize {
    let small = 256 / if outputs == 0 { 1 } else { outputs } + 1;
    if small > 65 { small } else { 65 }
}

/// Returns `xs` wᵀ + b, for `xs` [B, T, in]. A token's result has the same bits in every batch,
/// because few rows are padded with zeros, which are cut off again.
///
/// BLAS libraries (features `mkl`, `accelerate`) and other devices do not promise that.
pub(crate) fn forward(linear: &Linear, xs: &Tensor) -> Result<Tensor> {
    let (batch, len, inputs) = xs.dims3()?;
    let (outputs, _) = linear.weight().dims2()?;
    let (rows, least) = (batch * len, least_rows(outputs));
    if rows >= least {
        return linear.forward(&xs.contiguous()?);
    }
    let filled = xs
        .reshape((rows, inputs))?
        .pad_with_zeros(0, 0, least - rows)?;
    linear
        .forward(&filled)?
        .narrow(0, 0, rows)?
        .reshape((batch, len, outputs))
}

/// Builds a linear map with the initial weights of X. Glorot and Y. Bengio, "Understanding the
/// difficulty of training deep feedforward neural networks", 2010: uniform, variance
/// 2 / (inputs + outputs), no bias.
pub(crate) fn linear(inputs: usize, outputs: usize, vb: VarBuilder<'_>) -> Result<Linear> {
    let bound = (6.0 / (inputs + outputs) as f64).sqrt();
    let init = Init::Uniform {
        lo: -bound,
        up: bound,
    };
    let weight = vb.get_with_hints((outputs, inputs), "weight", init)?;
    let bias = vb.get_with_hints(outputs, "bias", Init::Const(0.0))?;
    Ok(Linear::new(weight, Some(bias)))
}

#[cfg(test)]
mod tests {
    use candle_core::{DType, Device};

    use super::*;
    use crate::encoder::weights::Seeded;

    fn bits(xs: &Tensor) -> Vec<u32> {
        let values = xs.flatten_all().and_then(|xs| xs.to_vec1::<f32>());
        values
            .unwrap_or_default()
            .iter()
            .map(|x| x.to_bits())
            .collect()
    }

    #[test]
    fn rows_are_the_same_alone_and_among_others() -> Result<()> {
        let vb = Seeded::new(5).var_builder(DType::F32, &Device::Cpu);
        for (inputs, outputs) in [
            (1, 1),
            (2, 3),
            (8, 2),
            (30, 20),
            (64, 64),
            (600, 8),
            (1100, 64),
        ] {
            let vb = vb.pp(format!("{inputs}.{outputs}"));
            let layer = candle_nn::linear(inputs, outputs, vb.clone())?;
            let xs = vb.get_with_hints(
                (40, 7, inputs),
                "xs",
                candle_nn::init::DEFAULT_KAIMING_NORMAL,
            )?;
            let together = forward(&layer, &xs)?;
            for at in [0, 1, 17, 39] {
                for len in [1, 2, 7] {
                    let alone = forward(&layer, &xs.narrow(0, at, 1)?.narrow(1, 0, len)?)?;
                    let there = together.narrow(0, at, 1)?.narrow(1, 0, len)?;
                    assert!(!bits(&alone).is_empty());
                    assert_eq!(bits(&alone), bits(&there), "{inputs} {outputs} {at} {len}");
                }
            }
        }
        Ok(())
    }

    #[test]
    fn few_rows_are_those_of_the_plain_product() -> Result<()> {
        let vb = Seeded::new(6).var_builder(DType::F32, &Device::Cpu);
        let layer = candle_nn::linear(30, 20, vb.clone())?;
        let xs = vb.get_with_hints((2, 3, 30), "xs", candle_nn::init::DEFAULT_KAIMING_NORMAL)?;
        let difference = (forward(&layer, &xs)? - layer.forward(&xs)?)?.abs()?;
        // Two sums of 30 products in other orders.
        assert!(difference.max_all()?.to_scalar::<f32>()? < 1e-5);
        Ok(())
    }
}
