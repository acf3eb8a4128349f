//! Frequencies that learn, forward and backward.

use std::time::Duration;

use candle_core::{DType, Result, Tensor, Var};
use candle_nn::{VarBuilder, VarMap};
use pe_candle::testing::{Planned, Route};
use pe_candle::{LearnedRotary, LearnedRotaryConfig};
use pe_core::RotaryConfig;

use super::{CPU, Filter, Row};

/// A step of training, from the weights to their gradients: RoPE-Mixed over the patches of images and
/// LeRoPE over a text, against the same angles rotated by Candle's cosines, products, and sums, and
/// Candle's backward pass around an operation that only copies.
pub(super) fn rows(filter: &Filter) -> Result<()> {
    let patches: Vec<f32> = (0..196)
        .flat_map(|at| [(at % 14) as f32, (at / 14) as f32])
        .collect();
    let patches = Tensor::from_vec(patches, (196, 2), CPU)?;
    let steps = Tensor::arange(0u32, 2048, CPU)?;
    let mixed = LearnedRotaryConfig::mixed(12, 12, 64);
    let scaled = LearnedRotaryConfig::scaled(RotaryConfig::new(128));
    let all = [
        ("mixed", mixed, &patches, (32, 12, 196, 64)),
        ("scaled", scaled, &steps, (1, 32, 2048, 128)),
    ];
    for (name, config, positions, shape) in all {
        let weights = VarMap::new();
        let vb = VarBuilder::from_varmap(&weights, DType::F32, CPU);
        let rope = LearnedRotary::new(config, vb)?;
        let reference = rope.by_reference(Route::Operations);
        for dtype in [DType::F32, DType::BF16] {
            let xs = Var::from_tensor(&Tensor::randn(0f32, 1., shape, CPU)?.to_dtype(dtype)?)?;
            // Keys of no sequences: a sum of two results would be another operation of Candle's.
            let none = xs.narrow(0, 0, 0)?.detach();
            let step = |rope: &LearnedRotary| {
                let (ys, _) = rope.apply_qkv(&xs, &none, &rope.angles(0, positions)?)?;
                ys.backward().map(drop)
            };
            Row::new(format!(
                "learned, {name}, fwd+bwd {shape:?} {}",
                dtype.as_str()
            ))
            .with("ours", || step(&rope))
            .with("composition", || step(&reference))
            .with("backward of a copy", || {
                (xs.as_tensor() + 0.0)?.backward().map(drop)
            })
            .run(filter, Duration::from_secs(4))?;
        }
    }
    Ok(())
}
