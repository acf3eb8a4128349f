//! The shift operator of sinusoidal encodings.

use pe_core::{OddWidth, SinusoidLayout, Sinusoidal, SinusoidalConfig, VectorConvention};

fn odd(d_model: usize, layout: SinusoidLayout) -> Sinusoidal {
    Sinusoidal::new(SinusoidalConfig {
        layout,
        odd_width: OddWidth::ZeroPad,
        ..SinusoidalConfig::new(d_model)
    })
    .unwrap()
}

const LAYOUTS: [SinusoidLayout; 3] = [
    SinusoidLayout::Interleaved,
    SinusoidLayout::Concatenated,
    SinusoidLayout::ConcatenatedCosFirst,
];

/// By no steps nothing turns: sine +0 and cosine 1, bit for bit.
#[test]
fn by_no_steps_all_turns_are_one_and_plus_zero() {
    let rotations = odd(7, LAYOUTS[0]).shift(0).unwrap().rotations().to_vec();
    assert_eq!(rotations.len(), 3);
    for (sine, cosine) in rotations {
        assert_eq!((sine.to_bits(), cosine), (0, 1.0));
    }
}

/// At odd widths too the matrix moves rows, is orthogonal, and keeps the padding column, whatever
/// is in it.
#[test]
fn matrices_of_odd_widths_keep_the_padding_column() {
    for (width, layout) in [3, 5, 9].into_iter().flat_map(|w| LAYOUTS.map(|l| (w, l))) {
        let encoding = odd(width, layout);
        let shift = encoding.shift(6).unwrap();
        let by_row = shift.matrix(VectorConvention::Row).unwrap();
        let by_column = shift.matrix(VectorConvention::Column).unwrap();
        let entry = |r, c| by_row.get(r, c).unwrap();
        for (r, c) in (0..width).flat_map(|r| (0..width).map(move |c| (r, c))) {
            assert_eq!(by_column.get(c, r), Some(entry(r, c)));
            let product: f64 = (0..width).map(|k| entry(r, k) * entry(c, k)).sum();
            let identity = f64::from(u8::from(r == c));
            assert!((product - identity).abs() < 1e-15, "{width} {r} {c}");
            if r == width - 1 || c == width - 1 {
                assert_eq!(entry(r, c), identity, "{width} {layout:?} {r} {c}");
            }
        }
        let mut row = encoding.table_at::<f64>(&[4]).unwrap().into_vec();
        let there = encoding.table_at::<f64>(&[10]).unwrap().into_vec();
        // Something in place of the padding's zero.
        row[width - 1] = 0.625;
        let multiplied: Vec<f64> = (0..width)
            .map(|c| (0..width).map(|r| row[r] * entry(r, c)).sum())
            .collect();
        shift.apply(&mut row).unwrap();
        for found in [&multiplied, &row] {
            assert_eq!(found[width - 1], 0.625);
            for (found, expected) in found[..width - 1].iter().zip(&there) {
                assert!((found - expected).abs() < 1e-15, "{found} {expected}");
            }
        }
    }
}
