//! The shift operator of sinusoidal encodings.

use pe_core::{
    Base, OddWidth, SinusoidLayout, Sinusoidal, SinusoidalConfig, Spacing, VectorConvention,
};
use pe_tests::tolerance;

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

/// A shift by no steps rotates nothing: its sines are +0 and its cosines 1, bit for bit, backward
/// too, and its matrices are the identity without a -0.
#[test]
fn shifts_by_no_steps_are_one_and_plus_zero() {
    let shift = odd(7, LAYOUTS[0]).shift(0).unwrap();
    let twice = shift.inverse().inverse();
    for shift in [&shift, &shift.inverse(), &twice] {
        assert_eq!(shift.rotations().len(), 3);
        for (sine, cosine) in shift.rotations() {
            assert_eq!((sine.to_bits(), *cosine), (0, 1.0));
        }
        for convention in [VectorConvention::Row, VectorConvention::Column] {
            let matrix = shift.matrix(convention).unwrap();
            for (index, entry) in matrix.as_slice().iter().enumerate() {
                let expected = if index % 8 == 0 { 1f64 } else { 0.0 };
                assert_eq!(
                    entry.to_bits(),
                    expected.to_bits(),
                    "{convention:?} {index}"
                );
            }
        }
    }
}

/// A sine too small for f64 is +0 in either direction.
#[test]
fn still_pairs_are_plus_zero_in_both_directions() {
    let encoding = Sinusoidal::new(SinusoidalConfig {
        base: Base::Value(1e300),
        spacing: Spacing::Shifted(1.5),
        ..SinusoidalConfig::new(4)
    })
    .unwrap();
    let ahead = encoding.shift(3).unwrap();
    for shift in [&ahead, &encoding.shift(-3).unwrap(), &ahead.inverse()] {
        let (sine, cosine) = shift.rotations()[1];
        assert_eq!((sine.to_bits(), cosine), (0, 1.0), "{}", shift.steps());
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
            assert!(
                (product - identity).abs() < tolerance::ANGLE_ADDITION,
                "{width} {r} {c}"
            );
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
                assert!(
                    (found - expected).abs() < tolerance::ANGLE_ADDITION,
                    "{found} {expected}"
                );
            }
        }
    }
}
