//! Packed queries and keys with a position for each token, as servers rotate them.

use std::hint::black_box;
use std::time::Duration;

use candle_core::{DType, Result, Tensor};
use candle_nn::rotary_emb::{rope, rope_thd};
use pe_candle::{HeadOrder, PairLayout, position_ids_for_packed, rotary};

use super::{CPU, Filter, Row, copies, layer};

/// Lengths of the sequences of a batch: 4,096 tokens together.
const LENGTHS: [usize; 5] = [2048, 1000, 47, 1, 1000];
const TOKENS: usize = 4096;
const HEADS: usize = 32;
const HEAD_DIM: usize = 128;

/// Queries and keys by layer and by a fused table, fresh and in place, against Candle's calls after a
/// lookup of their rows: `rope` of transposed heads, `rope_thd` of heads as they lie, and the copy of as
/// many bytes.
pub(super) fn rows(filter: &Filter) -> Result<()> {
    let dtype = DType::BF16;
    let shape = (TOKENS, HEADS, HEAD_DIM);
    let heads = || Tensor::randn(0f32, 1., shape, CPU)?.to_dtype(dtype);
    let (q, k, own_q, own_k) = (heads()?, heads()?, heads()?, heads()?);
    let ids = position_ids_for_packed(&LENGTHS, CPU)?;
    let rotary = layer(HEAD_DIM, PairLayout::HalfSplit, HeadOrder::TimeFirst, dtype)?;
    let (cos, sin) = rotary.cos_sin(0, TOKENS)?;
    let fused = Tensor::cat(&[&cos, &sin], 1)?;
    // Candle's rotation wants tables of the type of its input.
    let (cos, sin) = (cos.to_dtype(dtype)?, sin.to_dtype(dtype)?);
    let looked_up =
        || Ok::<_, candle_core::Error>((cos.index_select(&ids, 0)?, sin.index_select(&ids, 0)?));
    let row = Row::new(format!(
        "packed q and k {:?} bf16",
        [TOKENS, HEADS, HEAD_DIM]
    ))
    .with("ours", || {
        rotary.apply_qkv_packed(black_box(&q), &k, &ids).map(drop)
    });
    let row = copies(row, 1u16, 2 * q.elem_count())
        .with("fused table", || {
            let layout = PairLayout::HalfSplit;
            rotary::rotate_packed(black_box(&q), &k, &fused, &ids, layout).map(drop)
        })
        .with("candle, transposed", || {
            let (cos, sin) = looked_up()?;
            let rotated = |xs: &Tensor| {
                let heads = black_box(xs).unsqueeze(0)?.transpose(1, 2)?.contiguous()?;
                rope(&heads, &cos, &sin)?.transpose(1, 2)
            };
            black_box((rotated(&q)?, rotated(&k)?));
            Ok(())
        })
        .with("candle, thd", || {
            let (cos, sin) = looked_up()?;
            let rotated = |xs: &Tensor| rope_thd(&black_box(xs).unsqueeze(0)?, &cos, &sin);
            black_box((rotated(&q)?, rotated(&k)?));
            Ok(())
        });
    row.run(filter, Duration::from_secs(6))?;

    let mut words = vec![1u32; q.elem_count()];
    Row::new(format!(
        "packed q and k in place {:?} bf16",
        [TOKENS, HEADS, HEAD_DIM]
    ))
    .with("ours", || {
        rotary.apply_qkv_packed_inplace(black_box(&own_q), &own_k, &ids)
    })
    .with("fused table", || {
        let layout = PairLayout::HalfSplit;
        rotary::rotate_packed_inplace(black_box(&own_q), &own_k, &fused, &ids, layout)
    })
    .with("change", || {
        change(&mut words);
        Ok(())
    })
    .run(filter, Duration::from_secs(2))
}

/// Reads, changes, and writes memory that is there, by as many threads as there are.
fn change(words: &mut [u32]) {
    let piece = words.len().div_ceil(rayon::current_num_threads());
    rayon::scope(|scope| {
        for words in words.chunks_mut(piece) {
            scope.spawn(move |_| {
                for word in words {
                    *word = word.wrapping_add(1);
                }
            });
        }
    });
    black_box(words);
}
