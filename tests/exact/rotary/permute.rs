//! The reordering of weights between layouts.

use pe_core::PairLayout::{HalfSplit, Interleaved};
use pe_core::{PairLayout, Rotary, RotaryConfig, permutation, permute_rows};
use proptest::prelude::*;

/// One head turned by a row of cosines and sines.
fn rotate(layout: PairLayout, head: &mut [f64], cos: &[f64], sin: &[f64]) {
    for pair in 0..cos.len() {
        let (a, b) = layout.columns(pair, cos.len());
        let (x, y) = (head[a], head[b]);
        head[a] = x * cos[pair] - y * sin[pair];
        head[b] = x * sin[pair] + y * cos[pair];
    }
}

proptest! {
    #[test]
    fn shift_and_its_inverse_restore_the_head(
        pairs in 0usize..20, rest in 0usize..20, heads in 1usize..4, width in 1usize..4,
    ) {
        prop_assume!(pairs + rest > 0);
        let (rotary_dim, head_dim) = (2 * pairs, 2 * pairs + rest);
        let weights: Vec<usize> = (0..heads * head_dim * width).collect();
        let there = permute_rows(&weights, Interleaved, HalfSplit, rotary_dim, head_dim, width).unwrap();
        let back = permute_rows(&there, HalfSplit, Interleaved, rotary_dim, head_dim, width).unwrap();
        prop_assert_eq!(&back, &weights);
        // Rows move as a whole and within their head.
        for (row, chunk) in there.chunks(width).enumerate() {
            let from = chunk[0] / width;
            prop_assert_eq!(from / head_dim, row / head_dim);
            prop_assert!(chunk.iter().enumerate().all(|(i, w)| *w == from * width + i));
            if row % head_dim >= rotary_dim {
                prop_assert_eq!(from, row);
            }
        }
        let same = permutation(HalfSplit, HalfSplit, rotary_dim, head_dim).unwrap();
        prop_assert!(same.iter().enumerate().all(|(i, from)| i == *from));
    }

    /// Queries and keys of permuted projections, rotated in the other layout, have the same
    /// scores, bit for bit.
    #[test]
    fn scores_are_the_same_in_both_layouts(
        pairs in 1usize..9, rest in 0usize..5, p in 0u32..100_000, q in 0u32..100_000,
        seed in any::<u64>(),
    ) {
        let (rotary_dim, head_dim) = (2 * pairs, 2 * pairs + rest);
        let mut state = seed;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) as f64 / (1 << 24) as f64 - 0.5
        };
        let query: Vec<f64> = (0..head_dim).map(|_| draw()).collect();
        let key: Vec<f64> = (0..head_dim).map(|_| draw()).collect();
        let set = Rotary::new(RotaryConfig::new(rotary_dim)).unwrap().frequencies(0).unwrap();
        let tables = set.tables_at::<f64>(&[p, q]).unwrap();
        let products = |layout: PairLayout, query: &[f64], key: &[f64]| {
            let (mut query, mut key) = (query.to_vec(), key.to_vec());
            rotate(layout, &mut query, tables.cos.row(0).unwrap(), tables.sin.row(0).unwrap());
            rotate(layout, &mut key, tables.cos.row(1).unwrap(), tables.sin.row(1).unwrap());
            query.iter().zip(&key).map(|(a, b)| a * b).collect::<Vec<_>>()
        };
        let interleaved = products(Interleaved, &query, &key);
        let permute = |v: &[f64]| permute_rows(v, Interleaved, HalfSplit, rotary_dim, head_dim, 1).unwrap();
        let half_split = products(HalfSplit, &permute(&query), &permute(&key));
        prop_assert_eq!(permute(&interleaved), half_split);
    }
}

/// The reordering that Hugging Face's conversion of Meta's Llama files makes:
/// `w.view(heads, dim / 2, 2, width).transpose(1, 2)`.
#[test]
fn heads_are_reordered_as_by_the_conversion_of_llama() {
    let (heads, dim, width) = (3, 8, 2);
    let weights: Vec<usize> = (0..heads * dim * width).collect();
    let found = permute_rows(&weights, Interleaved, HalfSplit, dim, dim, width).unwrap();
    let mut expected = Vec::new();
    for head in 0..heads {
        for half in 0..2 {
            for pair in 0..dim / 2 {
                for column in 0..width {
                    expected.push(((head * dim / 2 + pair) * 2 + half) * width + column);
                }
            }
        }
    }
    assert_eq!(found, expected);
}

#[test]
fn wrong_sizes_are_errors() {
    let message = |rotary_dim, head_dim| {
        let error = permutation(HalfSplit, Interleaved, rotary_dim, head_dim);
        error.unwrap_err().to_string()
    };
    assert_eq!(message(96, 64), "rotary_dim 96 exceeds head_dim 64");
    assert!(message(7, 8).starts_with("rotary_dim 7 is not an even number"));
    assert!(permute_rows(&[0; 10], HalfSplit, Interleaved, 4, 4, 1).is_err());
    assert!(permute_rows(&[0; 8], HalfSplit, Interleaved, 4, 4, 0).is_err());
    assert!(permute_rows(&[0; 8], HalfSplit, Interleaved, 4, 4, usize::MAX).is_err());
    // Nothing to permute, and heads of nothing.
    assert!(permute_rows::<u8>(&[], HalfSplit, Interleaved, 4, 4, 0).is_err());
    assert!(permute_rows::<u8>(&[], HalfSplit, Interleaved, 0, 0, 4).is_err());
    assert!(
        permute_rows::<u8>(&[], HalfSplit, Interleaved, 4, 4, 1)
            .unwrap()
            .is_empty()
    );
}
