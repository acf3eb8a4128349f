//! Biases of attention: the fused softmax equals its reference, and biases those of transformers.

mod attention;
mod deberta;
mod edges;
mod golden;
mod parity;

use candle_core::{DType, Device, Result, Tensor};
use pe_candle::testing::{InstructionSet, Planned, Route};
use pe_candle::{
    Alibi, AlibiConfig, AttentionBias, BucketDirection, DebertaBias, DebertaBiasConfig,
    DebertaBucketsConfig, DecomposedBias, DecomposedBiasConfig, RelativeDistances, RelativeRows,
    RelativeSinusoid, RelativeSinusoidConfig, RelativeTable, RelativeTableConfig, ScoreMask,
    ScoreScale, SinusoidalConfig, SoftCap, T5Bias, T5BiasConfig, T5BucketsConfig, add_to_scores,
    add_to_scores_inplace, softmax_with_bias, softmax_with_bias_inplace,
};

use crate::util::{error_of, f64s, numbers};

const CPU: &Device = &Device::Cpu;

/// Fails unless all numbers differ by at most `tolerance`, relative to those above 1. Infinities and NaNs are equal.
fn assert_close(found: &Tensor, wanted: &Tensor, tolerance: f64, what: &str) {
    assert_eq!(found.dims(), wanted.dims(), "{what}");
    for (index, (found, wanted)) in f64s(found).into_iter().zip(f64s(wanted)).enumerate() {
        let close = (found - wanted).abs() <= tolerance * wanted.abs().max(1.0);
        let same = found == wanted || found.is_nan() && wanted.is_nan();
        assert!(close || same, "{what}: {found:e} {wanted:e} at {index}");
    }
}

/// The bits of all elements.
fn bits(tensor: &Tensor) -> Vec<u64> {
    f64s(tensor).into_iter().map(f64::to_bits).collect()
}
