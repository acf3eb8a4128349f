//! Matrices that move a row to another position.

use pe_core::{Sinusoidal, VectorConvention};
use pe_tests::golden::assert_near;
use pe_tests::tolerance;

use super::notebook;

/// rows x matrix for a matrix of the row-vector convention.
fn multiply(row: &[f64], matrix: &pe_core::Table<f64>) -> Vec<f64> {
    let mut out = vec![0.0; row.len()];
    for (entry, matrix_row) in row.iter().zip(matrix.iter_rows()) {
        for (sum, factor) in out.iter_mut().zip(matrix_row) {
            *sum += entry * factor;
        }
    }
    out
}

#[test]
fn a7_transition_matrix_moves_all_rows_by_minus_ten() {
    let encoding = notebook();
    let table = encoding.table::<f64>(0..50).unwrap();
    let single = encoding.table::<f32>(0..50).unwrap();
    let matrix = encoding
        .shift(-10)
        .unwrap()
        .matrix(VectorConvention::Row)
        .unwrap();
    let (mut worst, mut worst_single) = (0f64, 0f64);
    for from in 10..50 {
        let moved = multiply(table.row(from).unwrap(), &matrix);
        for (a, b) in moved.iter().zip(table.row(from - 10).unwrap()) {
            worst = worst.max((a - b).abs());
        }
        let row: Vec<f64> = single
            .row(from)
            .unwrap()
            .iter()
            .map(|x| f64::from(*x))
            .collect();
        for (a, b) in multiply(&row, &matrix)
            .iter()
            .zip(single.row(from - 10).unwrap())
        {
            worst_single = worst_single.max(f64::from((*a as f32 - b).abs()));
        }
    }
    // The document reaches 5.4e-15 and 1.2e-7.
    assert!(worst <= tolerance::SHIFTED_BY_MATRIX, "{worst}");
    assert!(
        worst_single <= tolerance::SHIFTED_BY_MATRIX_F32,
        "{worst_single}"
    );

    // [[C, -S], [S, C]] in the document's column order.
    let rotations = encoding.shift(-10).unwrap().rotations().to_vec();
    for (pair, (sine, cosine)) in rotations.iter().enumerate() {
        assert_eq!(matrix.get(pair, pair), Some(*cosine));
        assert_eq!(matrix.get(pair, 256 + pair), Some(-sine));
        assert_eq!(matrix.get(256 + pair, pair), Some(*sine));
        assert_eq!(matrix.get(256 + pair, 256 + pair), Some(*cosine));
    }

    // Orthogonal, and M(3) M(4) = M(7).
    let m = |steps| {
        encoding
            .shift(steps)
            .unwrap()
            .matrix(VectorConvention::Row)
            .unwrap()
    };
    let rows = (0..512).step_by(17);
    let product = |a: &pe_core::Table<f64>, b: &pe_core::Table<f64>| -> Vec<(usize, Vec<f64>)> {
        let rows = rows.clone();
        rows.map(|row| (row, multiply(a.row(row).unwrap(), b)))
            .collect()
    };
    let transposed = encoding
        .shift(3)
        .unwrap()
        .matrix(VectorConvention::Column)
        .unwrap();
    for (row, entries) in product(&m(3), &transposed) {
        for (column, entry) in entries.iter().enumerate() {
            let identity = f64::from(u8::from(row == column));
            assert_near(*entry, identity, tolerance::ORTHOGONAL);
        }
    }
    let sum = m(7);
    for (row, entries) in product(&m(3), &m(4)) {
        for (entry, expected) in entries.iter().zip(sum.row(row).unwrap()) {
            assert_near(*entry, *expected, tolerance::COMPOSED);
        }
    }
}

#[test]
fn d2_the_same_rotation_moves_every_position_by_three() {
    let encoding = Sinusoidal::paper(256).unwrap();
    let table = encoding.table::<f64>(0..11).unwrap();
    let matrix = encoding
        .shift(3)
        .unwrap()
        .matrix(VectorConvention::Column)
        .unwrap();
    // "Hopkins" (1) -> "Bay" (4) and "Bay" (4) -> "great" (7), M times a column.
    for from in [1, 4] {
        let column = table.row(from).unwrap();
        for (row, expected) in matrix.iter_rows().zip(table.row(from + 3).unwrap()) {
            let sum: f64 = row.iter().zip(column).map(|(m, x)| m * x).sum();
            assert_near(sum, *expected, tolerance::SHIFTED_BY_MATRIX);
        }
    }
    // [[c, s], [-s, c]] per pair, the transpose of A7.
    let (sine, cosine) = encoding.shift(3).unwrap().rotations()[1];
    assert_eq!(
        [
            matrix.get(2, 2),
            matrix.get(2, 3),
            matrix.get(3, 2),
            matrix.get(3, 3)
        ],
        [cosine, sine, -sine, cosine].map(Some)
    );
}
