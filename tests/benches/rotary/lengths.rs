//! Frequencies that depend on the length: calls, and rows alone.

use std::hint::black_box;
use std::time::Duration;

use candle_core::{DType, Error, Result, Tensor};
use pe_candle::{RotaryEmbedding, RotaryEmbeddingConfig};
use pe_core::{LongRopeScaling, RopeScaling, Rotary, RotaryConfig};

use super::{CPU, Filter, Row};

/// Steps in a timing.
const STEPS: u64 = 64;

pub(super) fn rows(filter: &Filter) -> Result<()> {
    calls(filter)?;
    tables(filter)
}

fn scaled(scaling: RopeScaling) -> RotaryConfig {
    RotaryConfig {
        scaling,
        max_position_embeddings: Some(1024),
        ..RotaryConfig::new(128)
    }
}

/// Steps of decoding where the frequencies depend on the length: one more position each time. A layer computes the rows of
/// some steps at once, so that a single step would not show what they take.
fn calls(filter: &Filter) -> Result<()> {
    let divisors = |step: f64| (0..64).map(|pair| 1.0 + step * f64::from(pair)).collect();
    let longrope = LongRopeScaling::new(divisors(0.1), divisors(0.7), 1024);
    for scaling in [
        RopeScaling::LongRope(longrope),
        RopeScaling::Dynamic { factor: 4.0 },
    ] {
        let name = format!("64 steps (1, 32, 1, 128) f32 {}", scaling.name());
        let config = RotaryEmbeddingConfig {
            max_seq_len: Some(1 << 24),
            ..RotaryEmbeddingConfig::of(scaled(scaling), 128)
        };
        let rotary = RotaryEmbedding::new(config, DType::F32, CPU)?;
        let xs = Tensor::randn(0f32, 1., (1, 32, 1, 128), CPU)?;
        let mut at = 2000;
        Row::new(name)
            .with("ours", || {
                for _ in 0..STEPS {
                    at += 1;
                    rotary.apply(&xs, at)?;
                }
                Ok(())
            })
            .with("the same length", || {
                (0..STEPS).try_for_each(|_| rotary.apply(&xs, 2000).map(drop))
            })
            .run(filter, Duration::from_millis(200))?;
    }
    Ok(())
}

/// The rows of steps, each with 64 frequencies of its own, at once and one by one, and as many rows of one set of
/// frequencies.
fn tables(filter: &Filter) -> Result<()> {
    let dynamic = Rotary::new(scaled(RopeScaling::Dynamic { factor: 4.0 })).map_err(Error::wrap)?;
    let one_set = dynamic.frequencies(2000).map_err(Error::wrap)?;
    let (mut first, mut alone) = (2000, 2000);
    Row::new("64 rows of 64 pairs, dynamic")
        .with("ours", || {
            first += STEPS;
            let tables = dynamic.step_tables::<f32>(first..first + STEPS);
            black_box(tables.map_err(Error::wrap)?);
            Ok(())
        })
        .with("one by one", || {
            for position in alone..alone + STEPS {
                let frequencies = dynamic.frequencies(position as usize + 1);
                let tables = frequencies.and_then(|f| f.tables::<f32>(position..position + 1));
                black_box(tables.map_err(Error::wrap)?);
            }
            alone += STEPS;
            Ok(())
        })
        .with("frequencies alone", || {
            for length in 3000..3000 + STEPS as usize {
                black_box(dynamic.frequencies(length).map_err(Error::wrap)?);
            }
            Ok(())
        })
        .with("one set", || {
            black_box(
                one_set
                    .tables::<f32>(2000..2000 + STEPS)
                    .map_err(Error::wrap)?,
            );
            Ok(())
        })
        .run(filter, Duration::from_millis(200))
}
