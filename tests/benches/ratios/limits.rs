//! What the memory allows: the same bytes filled, copied or changed, and nothing else done; and
//! what Candle allows: an operation that does nothing else either.

use std::hint::black_box;

use candle_core::{CpuStorage, CustomOp1, DType, Layout, Result, Shape};

/// Fills newly allocated memory on one thread.
pub(crate) fn fresh_fill(count: usize) -> Result<()> {
    let mut fresh = Vec::<f32>::with_capacity(count);
    fresh.resize(count, black_box(1.5));
    black_box(fresh);
    Ok(())
}

/// Fills memory that is there, on one thread.
pub(crate) fn reused_fill(memory: &mut [f32]) -> Result<()> {
    memory.fill(black_box(1.5));
    black_box(memory);
    Ok(())
}

/// A copy of as many elements as given into newly allocated memory, whatever their type.
pub(crate) fn fresh_copy(dtype: DType, count: usize) -> impl FnMut() -> Result<()> {
    let words = vec![1u16; count * dtype.size_in_bytes() / 2];
    move || {
        copy(&words);
        Ok(())
    }
}

/// Uses all threads where the layer would use several too.
fn copy(xs: &[u16]) {
    const PARALLEL_BYTES: usize = 1 << 20;
    let threads = rayon::current_num_threads();
    if threads == 1 || size_of_val(xs) < PARALLEL_BYTES {
        black_box(xs.to_vec());
        return;
    }
    let mut ys: Vec<u16> = Vec::with_capacity(xs.len());
    let piece = xs.len().div_ceil(threads);
    rayon::scope(|scope| {
        let pieces = ys.spare_capacity_mut().chunks_mut(piece);
        for (ys, xs) in pieces.zip(xs.chunks(piece)) {
            scope.spawn(move |_| {
                for (y, x) in ys.iter_mut().zip(xs) {
                    y.write(*x);
                }
            });
        }
    });
    black_box(ys);
}

/// Each word of memory that is there read, changed and written, by as many threads as there
/// are. Half types go two to a word.
pub(crate) fn change(words: &mut [u32]) -> Result<()> {
    const PARALLEL_WORDS: usize = 1 << 18;
    let threads = rayon::current_num_threads();
    if threads == 1 || words.len() < PARALLEL_WORDS {
        change_here(words);
    } else {
        let piece = words.len().div_ceil(threads);
        rayon::scope(|scope| {
            for words in words.chunks_mut(piece) {
                scope.spawn(|_| change_here(words));
            }
        });
    }
    black_box(words);
    Ok(())
}

fn change_here(words: &mut [u32]) {
    for word in words {
        *word = word.wrapping_add(1);
    }
}

/// What Candle takes for an operation that only copies a contiguous tensor.
pub(crate) struct EmptyOp;

impl CustomOp1 for EmptyOp {
    fn name(&self) -> &'static str {
        "empty"
    }

    fn cpu_fwd(&self, xs: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let count = layout.shape().elem_count();
        let copied = match xs {
            CpuStorage::F32(xs) => CpuStorage::F32(xs[..count].to_vec()),
            CpuStorage::BF16(xs) => CpuStorage::BF16(xs[..count].to_vec()),
            CpuStorage::F16(xs) => CpuStorage::F16(xs[..count].to_vec()),
            _ => candle_core::bail!("the benchmarks have other types"),
        };
        Ok((copied, layout.shape().clone()))
    }
}
