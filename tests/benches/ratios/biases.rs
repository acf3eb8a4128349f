//! Biases of attention: scores to weights, forward and backward, and a step of decoding.

use std::hint::black_box;
use std::time::Duration;

use candle_core::{CpuStorage, CustomOp3, D, DType, Layout, Result, Shape, Tensor, Var};
use candle_nn::ops::{softmax, softmax_last_dim};
use pe_candle::{
    Alibi, AlibiConfig, AttentionBias, BucketDirection, DebertaBias, DebertaBiasConfig,
    DebertaBucketsConfig, DecomposedBias, DecomposedBiasConfig, ScoreMask, T5Bias, T5BiasConfig,
    add_to_scores, add_to_scores_inplace, softmax_with_bias, softmax_with_bias_inplace,
};
use rayon::prelude::*;

use crate::harness::{Bound, Caches, Row};
use crate::report::Report;
use crate::{CPU, limits};

const SUBJECT: &str = "bias";

pub(crate) fn run(report: &mut Report) -> Result<()> {
    for dtype in [DType::F32, DType::BF16] {
        alibi(report, dtype)?;
    }
    t5(report)?;
    sam(report)?;
    deberta(report)
}

fn row<'a>(name: String) -> Row<'a> {
    Row::new(SUBJECT, name, Caches::Warm).budget(Duration::from_secs(2))
}

fn scores(shape: &[usize], dtype: DType) -> Result<Tensor> {
    Tensor::randn(0f32, 1., shape, CPU)?.to_dtype(dtype)
}

/// Goes back from the weights, with a gradient of ones: any loss would cost both sides several passes of Candle's.
fn back(weights: &Tensor) -> Result<()> {
    black_box(weights.backward()?);
    Ok(())
}

fn alibi(report: &mut Report, dtype: DType) -> Result<()> {
    let name = format!("ALiBi softmax [1, 12, 2048, 2048], {}", dtype.as_str());
    let (heads, len) = (12, 2048);
    let layer = Alibi::new(AlibiConfig::new(heads), DType::F32, CPU)?;
    let mask = ScoreMask::none();
    if report.wants(SUBJECT, &name) {
        let xs = scores(&[1, heads, len, len], dtype)?;
        let whole = layer.bias(len, len, 0)?.to_tensor()?.to_dtype(dtype)?;
        row(name)
            .with("ours", || {
                let bias = layer.bias(len, len, 0)?;
                softmax_with_bias(black_box(&xs), Some(&bias), 0.125, &mask).map(drop)
            })
            .bound("ours", Bound::AtMost(1.0, "candle, softmax alone"))
            .with("candle, softmax alone", || {
                softmax_last_dim(black_box(&xs)).map(drop)
            })
            .with("candle", || {
                let z = (black_box(&xs) * 0.125)?.broadcast_add(&whole)?;
                softmax_last_dim(&z).map(drop)
            })
            .with("copy", limits::fresh_copy(dtype, heads * len * len))
            .run(report)?;
    }
    let name = format!(
        "ALiBi softmax and gradient [1, 12, 1024, 1024], {}",
        dtype.as_str()
    );
    if report.wants(SUBJECT, &name) {
        let len = 1024;
        let xs = Var::from_tensor(&scores(&[1, heads, len, len], dtype)?)?;
        let whole = layer.bias(len, len, 0)?.to_tensor()?.to_dtype(dtype)?;
        row(name)
            .with("ours", || {
                let bias = layer.bias(len, len, 0)?;
                back(&softmax_with_bias(&xs, Some(&bias), 0.125, &mask)?)
            })
            .bound("ours", Bound::Faster(3.0, "candle"))
            .with("candle", || {
                let z = (xs.as_tensor() * 0.125)?.broadcast_add(&whole)?;
                back(&softmax(&z, D::Minus1)?)
            })
            .run(report)?;
    }
    Ok(())
}

/// Candle's T5: buckets with a logarithm per pair in a nested vector.
#[allow(clippy::disallowed_methods)] // the code that is measured
fn candle_t5(table: &Tensor, queries: std::ops::Range<u32>, kv_len: u32) -> Result<Tensor> {
    let (num_buckets, max_exact) = (16, 8);
    let far = |distance: u32| {
        let b = f32::log(distance as f32 / 8f32, 128f32 / 8f32) * 8f32;
        (max_exact + b as u32).min(num_buckets - 1)
    };
    let bucket = |i: u32, j: u32| match (i < j, i.abs_diff(j)) {
        (true, distance) if distance < max_exact => distance + num_buckets,
        (true, distance) => far(distance) + num_buckets,
        (false, distance) if distance < max_exact => distance,
        (false, distance) => far(distance),
    };
    let rows: Vec<Vec<u32>> = queries
        .map(|i| (0..kv_len).map(|j| bucket(i, j)).collect())
        .collect();
    let rows = Tensor::new(rows, CPU)?;
    let (q_len, kv_len) = rows.dims2()?;
    let values = table.index_select(&rows.flatten_all()?, 0)?;
    values
        .reshape((q_len, kv_len, ()))?
        .permute((2, 0, 1))?
        .unsqueeze(0)
}

fn t5(report: &mut Report) -> Result<()> {
    let table = Tensor::randn(0f32, 1., (32, 12), CPU)?;
    let layer = T5Bias::from_table(
        T5BiasConfig::new(12, BucketDirection::Unidirectional),
        table.clone(),
    )?;
    let xs = scores(&[1, 12, 1, 4096], DType::F32)?;
    let name = "T5 decode step, bias of 4096 keys";
    if report.wants(SUBJECT, name) {
        row(name.to_owned())
            .with("ours", || layer.bias(1, 4096, 4095).map(drop))
            .bound("ours", Bound::Faster(50.0, "candle"))
            .with("candle", || candle_t5(&table, 4095..4096, 4096).map(drop))
            .run(report)?;
    }
    let name = "T5 decode step, bias and sum of 4096 keys";
    if report.wants(SUBJECT, name) {
        row(name.to_owned())
            .with("ours", || {
                let bias = layer.bias(1, 4096, 4095)?;
                add_to_scores(black_box(&xs), Some(&bias), 1.0, &ScoreMask::none()).map(drop)
            })
            .with("candle", || {
                xs.broadcast_add(&candle_t5(&table, 4095..4096, 4096)?)
                    .map(drop)
            })
            .with("copy", limits::fresh_copy(DType::F32, 12 * 4096))
            .run(report)?;
    }
    Ok(())
}

/// The composition of SAM: both parts broadcast, added, and added to the scores.
fn composed_sam(
    bias: &AttentionBias,
    xs: &Tensor,
    rows: &Tensor,
    columns: &Tensor,
) -> Result<Tensor> {
    let (batch, heads, q_len, kv_len) = xs.dims4()?;
    debug_assert_eq!(bias.kv_len(), kv_len);
    let sum = rows.unsqueeze(4)?.broadcast_add(&columns.unsqueeze(3)?)?;
    let sum = sum.reshape((batch, heads, q_len, kv_len))?;
    (xs * 0.125)? + sum
}

/// The pass of candle-transformers' SAM on the CPU (`Add3`, which is private there): it adds both parts to scaled scores, without a
/// gradient.
struct Add3([usize; 2]);

impl CustomOp3 for Add3 {
    fn name(&self) -> &'static str {
        "add3"
    }

    fn cpu_fwd(
        &self,
        xs: &CpuStorage,
        layout: &Layout,
        rows: &CpuStorage,
        _: &Layout,
        columns: &CpuStorage,
        _: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let [tall, wide] = self.0;
        let (xs, rows) = (xs.as_slice::<f32>()?, rows.as_slice::<f32>()?);
        let columns = columns.as_slice::<f32>()?;
        let mut sums = vec![0f32; xs.len()];
        let queries = sums.par_chunks_exact_mut(tall * wide).enumerate();
        queries.for_each(|(query, sums)| {
            for row in 0..tall {
                for column in 0..wide {
                    let key = row * wide + column;
                    let (of_row, of_column) = (query * tall + row, query * wide + column);
                    sums[key] = xs[query * tall * wide + key] + rows[of_row] + columns[of_column];
                }
            }
        });
        Ok((CpuStorage::F32(sums), layout.shape().clone()))
    }
}

fn sam(report: &mut Report) -> Result<()> {
    let (batch, heads, size, width) = (25, 12, 14, 64);
    let len = size * size;
    let table = Tensor::randn(0f32, 0.1, (2 * size - 1, width), CPU)?;
    let config = DecomposedBiasConfig::new([size, size], width);
    let layer = DecomposedBias::from_tables(config, table.clone(), table)?;
    let queries = Tensor::randn(0f32, 1., (batch, heads, len, width), CPU)?;
    let xs = scores(&[batch, heads, len, len], DType::F32)?;
    let bias = layer.bias(&queries, (size, size), (size, size))?;
    let own = xs.copy()?;
    let rows = Tensor::randn(0f32, 1., (batch, heads, len, size), CPU)?;
    let columns = Tensor::randn(0f32, 1., (batch, heads, len, size), CPU)?;
    let mask = ScoreMask::none();
    let name = "SAM, 25 windows of 14 x 14, decomposed bias";
    if report.wants(SUBJECT, name) {
        row(name.to_owned())
            .with("ours", || {
                add_to_scores(black_box(&xs), Some(&bias), 0.125, &mask).map(drop)
            })
            .bound("ours", Bound::Faster(4.0, "candle"))
            .with("candle", || {
                composed_sam(&bias, black_box(&xs), &rows, &columns).map(drop)
            })
            .with("ours, in place", || {
                add_to_scores_inplace(black_box(&own), Some(&bias), 0.125, &mask)
            })
            .with("candle-transformers' pass of scaled scores", || {
                let pass = Add3([size, size]);
                black_box(&xs)
                    .apply_op3_no_bwd(&rows, &columns, &pass)
                    .map(drop)
            })
            .with(
                "copy",
                limits::fresh_copy(DType::F32, batch * heads * len * len),
            )
            .run(report)?;
    }
    let name = "SAM, 25 windows of 14 x 14, bias and softmax";
    if report.wants(SUBJECT, name) {
        row(name.to_owned())
            .with("ours", || {
                softmax_with_bias(black_box(&xs), Some(&bias), 0.125, &mask).map(drop)
            })
            .bound("ours", Bound::Faster(4.0, "candle"))
            .with("candle", || {
                let z = composed_sam(&bias, black_box(&xs), &rows, &columns)?;
                softmax_last_dim(&z).map(drop)
            })
            .run(report)?;
    }
    let name = "SAM, 25 windows of 14 x 14, bias, softmax, and gradient";
    if report.wants(SUBJECT, name) {
        let xs = Var::from_tensor(&xs)?;
        let (rows, columns) = (Var::from_tensor(&rows)?, Var::from_tensor(&columns)?);
        let queries = Var::from_tensor(&queries)?;
        row(name.to_owned())
            .with("ours", || {
                let bias = layer.bias(&queries, (size, size), (size, size))?;
                back(&softmax_with_bias(&xs, Some(&bias), 0.125, &mask)?)
            })
            .bound("ours", Bound::Faster(3.0, "candle"))
            .with("candle", || {
                let z = composed_sam(&bias, &xs, &rows, &columns)?;
                back(&softmax(&z, D::Minus1)?)
            })
            .run(report)?;
    }
    Ok(())
}

/// Candle's DeBERTa: two gathers by indices that are repeated over the batch.
fn composed_deberta(
    layer: &DebertaBias,
    q: &Tensor,
    k: &Tensor,
    rows: &Tensor,
    scale: f64,
) -> Result<Tensor> {
    let (batch, heads, len, width) = q.dims4()?;
    let index: Vec<u32> = (0..len * len)
        .map(|pair| {
            layer
                .buckets()
                .row((pair / len) as i64 - (pair % len) as i64)
        })
        .collect();
    let index = Tensor::from_vec(index, (1, len, len), CPU)?;
    let both = batch * heads;
    let index = index.broadcast_as((both, len, len))?.contiguous()?;
    let rows = rows.repeat((batch, 1, 1))?;
    let flat = |xs: &Tensor| xs.reshape((both, len, width));
    let (q, k) = (flat(q)?, flat(k)?);
    let scores = (q.matmul(&k.t()?)? * scale)?;
    let c2p = (q.matmul(&rows.t()?)?.gather(&index, D::Minus1)? * scale)?;
    // The other direction: -bucket(k - q) is bucket(q - k).
    let back = index.transpose(1, 2)?.contiguous()?;
    let p2c = k.matmul(&rows.t()?)?.gather(&back, D::Minus1)?.t()?;
    ((scores + c2p)? + (p2c * scale)?)?.reshape((batch, heads, len, len))
}

fn deberta(report: &mut Report) -> Result<()> {
    let (batch, heads, len, width) = (4, 12, 512, 64);
    let buckets = DebertaBucketsConfig {
        position_buckets: Some(256),
        max_relative_positions: 512,
    };
    let layer = DebertaBias::new(DebertaBiasConfig::new(heads, buckets))?;
    let scale = layer.config().scale(width);
    let q = Tensor::randn(0f32, 1., (batch, heads, len, width), CPU)?;
    let k = Tensor::randn(0f32, 1., (batch, heads, len, width), CPU)?;
    let rows = Tensor::randn(0f32, 1., (heads, 512, width), CPU)?;
    let mask = ScoreMask::none();
    let name = "DeBERTa, scores to weights [4, 12, 512, 512]";
    if report.wants(SUBJECT, name) {
        let bias = layer.bias(&q, &k, Some(&rows), Some(&rows), scale)?;
        let scores = q.matmul(&k.t()?)?;
        row(name.to_owned())
            .with("ours", || {
                let weights = layer.weights(&q, &k, Some(&rows), Some(&rows), scale, &mask);
                weights.map(drop)
            })
            .bound("ours", Bound::Faster(3.0, "candle"))
            .with("candle", || {
                softmax_last_dim(&composed_deberta(&layer, &q, &k, &rows, scale)?).map(drop)
            })
            .with("ours, by parts", || {
                let bias = layer.bias(&q, &k, Some(&rows), Some(&rows), scale)?;
                let scores = q.matmul(&k.t()?)?;
                softmax_with_bias(&scores, Some(&bias), scale, &mask).map(drop)
            })
            .with("ours, by parts, in place", || {
                let bias = layer.bias(&q, &k, Some(&rows), Some(&rows), scale)?;
                let scores = q.matmul(&k.t()?)?;
                softmax_with_bias_inplace(&scores, Some(&bias), scale, &mask)
            })
            .with("ours, after the products", || {
                softmax_with_bias(&scores, Some(&bias), scale, &mask).map(drop)
            })
            .with("the three products alone", || {
                let scores = q.matmul(&k.t()?)?;
                let bias = layer.bias(&q, &k, Some(&rows), Some(&rows), scale)?;
                black_box((scores, bias));
                Ok(())
            })
            .run(report)?;
    }
    let name = "DeBERTa, scores to weights and gradient [4, 12, 512, 512]";
    if report.wants(SUBJECT, name) {
        let (q, k, rows) = (
            Var::from_tensor(&q)?,
            Var::from_tensor(&k)?,
            Var::from_tensor(&rows)?,
        );
        row(name.to_owned())
            .with("ours", || {
                back(&layer.weights(&q, &k, Some(&rows), Some(&rows), scale, &mask)?)
            })
            .with("ours, by parts", || {
                let bias = layer.bias(&q, &k, Some(&rows), Some(&rows), scale)?;
                let scores = q.matmul(&k.t()?)?;
                back(&softmax_with_bias(&scores, Some(&bias), scale, &mask)?)
            })
            .bound("ours", Bound::Faster(3.0, "candle"))
            .with("candle", || {
                let z = composed_deberta(&layer, &q, &k, &rows, scale)?;
                back(&softmax(&z, D::Minus1)?)
            })
            .run(report)?;
    }
    Ok(())
}
