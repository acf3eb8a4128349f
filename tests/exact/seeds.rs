//! The rows of `tests/ROWS.md` about the mathematics. Names of tests carry the row.

use pe_core::{
    Base, Element, Preset, Similarity, SinusoidLayout, Sinusoidal, SinusoidalConfig, Spacing,
    VectorConvention, bf16, binary_encoding, f16,
};
use pe_tests::golden::{self, assert_near};
use pe_tests::tolerance;
use serde_json::Value;

fn seeds(row: &str) -> Value {
    golden::json::<Value>("seeds.json")[row].clone()
}

fn notebook() -> Sinusoidal {
    Sinusoidal::new(Preset::TfNotebook.config(512)).unwrap()
}

#[test]
fn a1_notebook_table_is_50_x_512() {
    let table = notebook().table::<f32>(0..50).unwrap();
    assert_eq!((table.rows(), table.width()), (50, 512));
    // The same specification spelled with a minimum rate.
    let spelled = SinusoidalConfig {
        base: Base::MinRate(1e-4),
        ..Preset::TfNotebook.config(512)
    };
    let spelled = Sinusoidal::new(spelled).unwrap();
    for (a, b) in spelled.inv_freq().iter().zip(notebook().inv_freq()) {
        // The f64 nearest to 1e-4 differs from it by a relative 5e-17.
        assert_near(a / b, 1.0, tolerance::RATE_OF_A_DECIMAL);
    }
}

#[test]
fn a2_rates_include_the_end_point() {
    let rates = notebook().inv_freq();
    let golden = seeds("A2");
    assert_near(rates[1], 0.9645255256, tolerance::TEN_DECIMALS);
    assert_near(
        rates[1],
        golden["rate_1"].as_f64().unwrap(),
        tolerance::RATE_NUMPY,
    );
    assert_eq!(rates[255], 1e-4);
    let paper = Sinusoidal::paper(512).unwrap().inv_freq();
    assert_near(paper[255], 1.036633e-4, tolerance::TEN_DECIMALS);
    assert_near(
        paper[255],
        golden["paper_rate_last"].as_f64().unwrap(),
        tolerance::SMALL_RATE_NUMPY,
    );
}

#[test]
fn a3_columns_are_all_sines_then_all_cosines() {
    let table = notebook().table::<f64>(0..50).unwrap();
    let interleaved = Sinusoidal::new(SinusoidalConfig {
        layout: SinusoidLayout::Interleaved,
        ..Preset::TfNotebook.config(512)
    })
    .unwrap()
    .table::<f64>(0..50)
    .unwrap();
    for (halves, pairs) in table.iter_rows().zip(interleaved.iter_rows()) {
        for pair in 0..256 {
            assert_eq!(halves[pair], pairs[2 * pair]);
            assert_eq!(halves[256 + pair], pairs[2 * pair + 1]);
        }
    }
}

#[test]
fn a4_angles_in_degrees_are_not_halved() {
    // 49 radians are 287.49 degrees modulo a turn, which the table must reflect.
    let degrees = seeds("A4")["degrees_49_0"].as_f64().unwrap();
    assert_near(degrees, 287.49, tolerance::TWO_DECIMALS);
    let table = notebook().table::<f64>(49..50).unwrap();
    let turned = Sinusoidal::paper(2)
        .unwrap()
        .table_at_reals::<f64>(&[degrees * (std::f64::consts::PI / 180.0)])
        .unwrap();
    assert_near(
        table.as_slice()[0],
        turned.as_slice()[0],
        tolerance::SINE_OF_DEGREES,
    );
    assert_near(
        table.as_slice()[256],
        turned.as_slice()[1],
        tolerance::SINE_OF_DEGREES,
    );
}

#[test]
fn a5_dot_products_against_position_20() {
    let dots = notebook()
        .similarity_to(Similarity::Dot, 20, 0..50)
        .unwrap();
    let golden = &seeds("A5")["dot_with_20"];
    for (at, (position, expected)) in [
        (20, 256.0),
        (19, 249.128125),
        (0, 157.956867),
        (49, 145.368452),
    ]
    .into_iter()
    .enumerate()
    {
        assert_near(dots[position], expected, tolerance::SIX_DECIMALS);
        assert_near(
            dots[position],
            golden[at].as_f64().unwrap(),
            tolerance::NUMPY_F64_SUM,
        );
    }
}

#[test]
fn a6_sse_against_position_20_and_its_relation_to_the_dot_product() {
    let encoding = notebook();
    let sses = encoding.similarity_to(Similarity::Sse, 20, 0..50).unwrap();
    let dots = encoding.similarity_to(Similarity::Dot, 20, 0..50).unwrap();
    let golden = &seeds("A6")["sse_with_20"];
    for (at, (position, expected)) in [
        (20, 0.0),
        (19, 13.743750),
        (0, 196.086265),
        (49, 221.263096),
    ]
    .into_iter()
    .enumerate()
    {
        assert_near(sses[position], expected, tolerance::SIX_DECIMALS);
        assert_near(
            sses[position],
            golden[at].as_f64().unwrap(),
            tolerance::NUMPY_F64_SUM,
        );
    }
    for (sse, dot) in sses.iter().zip(&dots) {
        assert_near(*sse, 512.0 - 2.0 * dot, tolerance::NUMPY_F64_SUM);
    }
}

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
fn b1_four_columns_with_n_100() {
    let encoding = Sinusoidal::new(SinusoidalConfig {
        base: Base::Value(100.0),
        ..SinusoidalConfig::new(4)
    })
    .unwrap();
    let table = encoding.table::<f64>(0..4).unwrap();
    let printed = [0.84147098, 0.54030231, 0.09983342, 0.99500417];
    for (found, expected) in table.row(1).unwrap().iter().zip(printed) {
        assert_near(*found, expected, tolerance::EIGHT_DECIMALS);
    }
    let golden = &seeds("B1")["rows"];
    for (position, row) in table.iter_rows().enumerate() {
        for (column, found) in row.iter().enumerate() {
            assert_near(
                *found,
                golden[position][column].as_f64().unwrap(),
                tolerance::ENTRY_NUMPY,
            );
        }
    }
}

#[test]
fn b2_wavelengths_are_geometric_and_end_below_two_pi_n() {
    let waves = Sinusoidal::paper(512).unwrap().wavelengths();
    assert_eq!(waves[0], std::f64::consts::TAU);
    assert_near(waves[255], 60611.477, tolerance::THREE_DECIMALS);
    assert_near(
        waves[255],
        seeds("B2")["longest_wavelength"].as_f64().unwrap(),
        tolerance::WAVELENGTH_NUMPY,
    );
    for three in waves.windows(3) {
        assert_near(
            three[1] / three[0],
            three[2] / three[1],
            tolerance::WAVELENGTH_RATIO,
        );
    }
    // Within 0.51 units in the last place of 2 pi 10000^(2i/512); from mpmath.
    for (pair, expected) in [
        (1, 6.513356784898292),
        (103, 255.5964798865364),
        (254, 58469.565748416055),
    ] {
        assert_eq!(waves[pair], expected, "pair {pair}");
    }
    // With the end point included it is 2 pi n.
    let inclusive = notebook().wavelengths();
    assert_near(
        inclusive[255],
        1e4 * std::f64::consts::TAU,
        tolerance::WAVELENGTH_END,
    );
}

#[test]
fn b5_every_choice_for_odd_widths_is_explicit() {
    use pe_core::OddWidth::{RoundUp, Truncate, ZeroPad};
    let row = |odd_width| {
        let config = SinusoidalConfig {
            odd_width,
            ..SinusoidalConfig::new(5)
        };
        Sinusoidal::new(config)
            .unwrap()
            .table::<f64>(1..2)
            .unwrap()
            .into_vec()
    };
    let even = |d| {
        Sinusoidal::paper(d)
            .unwrap()
            .table::<f64>(1..2)
            .unwrap()
            .into_vec()
    };
    // The tutorial's silent zero, on request.
    assert_eq!(row(ZeroPad)[4], 0.0);
    assert_eq!(row(ZeroPad)[..4], row(Truncate)[..4]);
    assert_ne!(row(Truncate)[4], 0.0);
    assert_eq!(row(RoundUp)[..], even(6)[..5]);
    assert_ne!(row(RoundUp)[2], row(Truncate)[2]);
}

#[test]
fn c1_interleaved_columns_of_the_paper() {
    let encoding = Sinusoidal::paper(6).unwrap();
    let table = encoding.table::<f64>(0..4).unwrap();
    for (pair, inv_freq) in encoding.inv_freq().into_iter().enumerate() {
        let angle = Sinusoidal::paper(2).unwrap();
        for position in 0..4 {
            let expected = angle
                .table_at_reals::<f64>(&[inv_freq * position as f64])
                .unwrap();
            assert_near(
                table.get(position, 2 * pair).unwrap(),
                expected.as_slice()[0],
                1e-15,
            );
            assert_near(
                table.get(position, 2 * pair + 1).unwrap(),
                expected.as_slice()[1],
                1e-15,
            );
        }
    }
}

#[test]
fn c2_binary_encoding_has_64_bits_least_significant_first() {
    for position in [0, 1, 2, 5, 1000, u64::from(u32::MAX), u64::MAX] {
        let bits = binary_encoding(position);
        let back = bits
            .iter()
            .rev()
            .fold(0, |sum, bit| 2 * sum + u64::from(*bit));
        assert_eq!(back, position);
    }
    // Bit b of consecutive positions is a square wave of length 2^(b + 1).
    for bit in 0..4 {
        for position in 0..64 {
            let wave = u8::from((position >> bit) % 2 == 1);
            assert_eq!(binary_encoding(position)[bit as usize], wave);
        }
    }
}

fn document_c() -> Sinusoidal {
    Sinusoidal::paper(500).unwrap()
}

#[test]
fn c3_neighbors_are_equally_far_apart() {
    let encoding = document_c();
    let distance = encoding.neighbor_distance().unwrap();
    assert_near(distance, 3.671985659248809, tolerance::DOCUMENT_DISTANCE);
    assert_near(
        distance,
        seeds("C3")["closed_form"].as_f64().unwrap(),
        tolerance::CLOSED_FORM,
    );
    // And so are the rows of the table, by plain subtraction.
    let table = encoding.table::<f64>(0..1001).unwrap();
    let rows: Vec<&[f64]> = table.iter_rows().collect();
    for pair in rows.windows(2) {
        let squares = pair[0].iter().zip(pair[1]).map(|(a, b)| (a - b) * (a - b));
        assert_near(
            squares.sum::<f64>().sqrt(),
            distance,
            tolerance::DISTANCE_BY_ROWS,
        );
    }
}

#[test]
fn c4_distance_matrix() {
    let encoding = document_c();
    let matrix = encoding
        .similarity_matrix(Similarity::Distance, 0..1000, 0..1000)
        .unwrap();
    let golden = seeds("C4");
    for (q, expected, key) in [
        (1, 3.671986, "distance_0_1"),
        (10, 12.673141, "distance_0_10"),
        (63, 16.006388, "distance_0_63"),
    ] {
        assert_near(matrix.get(0, q).unwrap(), expected, tolerance::SIX_DECIMALS);
        assert_near(
            matrix.get(0, q).unwrap(),
            golden[key].as_f64().unwrap(),
            1e-13,
        );
    }
    let largest = matrix.as_slice().iter().copied().fold(0.0, f64::max);
    assert_near(largest, 20.570988, tolerance::SIX_DECIMALS);
    assert_eq!(encoding.first_non_monotone_lag(1000).unwrap(), Some(43));
    assert_eq!(golden["first_peak_at_lag"], 43);
    assert_eq!(encoding.first_non_monotone_lag(42).unwrap(), None);
    // Symmetric, zero on the diagonal, constant along diagonals.
    for p in 0..1000 {
        assert_eq!(matrix.get(p, p), Some(0.0));
        for q in 0..p {
            assert_eq!(matrix.get(p, q), matrix.get(q, p));
            assert_eq!(matrix.get(p, q), matrix.get(p - q, 0));
        }
    }
}

/// The closed forms against plain sums over the table, odd widths and padding included.
#[test]
fn c4_closed_forms_agree_with_plain_sums() {
    use pe_core::OddWidth;
    for (d, odd_width, padding_idx, layout) in [
        (64, OddWidth::Reject, None, SinusoidLayout::Interleaved),
        (63, OddWidth::Truncate, None, SinusoidLayout::Concatenated),
        (
            63,
            OddWidth::Truncate,
            Some(7),
            SinusoidLayout::ConcatenatedCosFirst,
        ),
        (9, OddWidth::ZeroPad, Some(0), SinusoidLayout::Interleaved),
        (1, OddWidth::RoundUp, None, SinusoidLayout::Interleaved),
        (1, OddWidth::ZeroPad, None, SinusoidLayout::Interleaved),
    ] {
        let encoding = Sinusoidal::new(SinusoidalConfig {
            odd_width,
            padding_idx,
            layout,
            ..SinusoidalConfig::new(d)
        })
        .unwrap();
        let table = encoding.table::<f64>(0..30).unwrap();
        let matrix = |of| encoding.similarity_matrix(of, 0..30, 3..30).unwrap();
        let (dots, sses) = (matrix(Similarity::Dot), matrix(Similarity::Sse));
        let distances = matrix(Similarity::Distance);
        for p in 0..30 {
            for q in 3..30 {
                let pairs = || table.row(p).unwrap().iter().zip(table.row(q).unwrap());
                let dot: f64 = pairs().map(|(a, b)| a * b).sum();
                let sse: f64 = pairs().map(|(a, b)| (a - b) * (a - b)).sum();
                let bound = d as f64 * tolerance::F64_SUM_PER_TERM * 4.0;
                assert_near(dots.get(p, q - 3).unwrap(), dot, bound);
                assert_near(sses.get(p, q - 3).unwrap(), sse, bound);
                assert_eq!(
                    distances.get(p, q - 3).unwrap(),
                    sses.get(p, q - 3).unwrap().sqrt()
                );
            }
        }
    }
}

/// The bounds that the documentation states, at lags where the error is large; expected
/// values from mpmath at 400 bits.
#[test]
fn c4_similarities_are_as_accurate_as_documented() {
    for (d, base, lag, dot, sse) in [
        (4, 2.0, 15_101, -1.7724793750835346, 7.544958750167069),
        (6, 2.0, 17_268, -1.0277318928318901, 8.05546378566378),
        (2, 10000.0, 14_599, -0.9998206668892667, 3.9996413337785333),
        (512, 10000.0, 20, 157.57398443375004, 196.8520311324999),
    ] {
        let encoding = Sinusoidal::new(SinusoidalConfig {
            base: Base::Value(base),
            ..SinusoidalConfig::new(d)
        })
        .unwrap();
        let of = |similarity| encoding.similarity(similarity, 0, lag).unwrap();
        assert_near(
            of(Similarity::Dot),
            dot,
            5.0 * d as f64 * f64::EPSILON / 2.0,
        );
        assert_near(of(Similarity::Sse), sse, sse * tolerance::SSE_F64);
    }
}

#[test]
fn c6_every_position_has_its_own_encoding() {
    for (d, rows) in [(8, 2_000), (64, 10_000)] {
        let table = Sinusoidal::paper(d).unwrap().table::<f32>(0..rows).unwrap();
        let mut seen = std::collections::HashSet::new();
        for row in table.iter_rows() {
            let bits: Vec<u32> = row.iter().map(|entry| entry.to_bits()).collect();
            assert!(seen.insert(bits), "two positions share an encoding");
        }
    }
}

#[test]
fn c6_any_length_and_the_same_rows_whatever_the_length() {
    let encoding = Sinusoidal::paper(32).unwrap();
    let long = encoding.table::<f32>(0..100_000).unwrap();
    for length in [1, 2, 33, 4_097] {
        let short = encoding.table::<f32>(0..length).unwrap();
        assert_eq!(short.as_slice(), &long.as_slice()[..32 * length as usize]);
    }
    let last = encoding.table::<f32>((1 << 32) - 1..1 << 32).unwrap();
    assert!(last.as_slice().iter().all(|entry| entry.abs() <= 1.0));
}

#[test]
fn d1_row_49_at_d_model_256() {
    let table = Sinusoidal::paper(256).unwrap().table::<f32>(0..50).unwrap();
    let row = table.row(49).unwrap();
    for (found, printed) in row.iter().zip([-0.953753, 0.300593, 0.998991, -0.044921]) {
        assert_near(f64::from(*found), printed, tolerance::SIX_DECIMALS);
    }
    let golden = &seeds("D1")["row_49_starts_f32"];
    for (column, found) in row[..8].iter().enumerate() {
        assert_eq!(
            f64::from(*found),
            golden[column].as_f64().unwrap(),
            "column {column}"
        );
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

#[test]
fn d6_deterministic_bounded_and_relative() {
    fn bounded<T: Element>() {
        let encoding = Sinusoidal::paper(128).unwrap();
        let first = encoding.table::<T>(0..3_000).unwrap();
        // Deterministic: made twice, and made by another instance.
        let second = Sinusoidal::paper(128)
            .unwrap()
            .table::<T>(0..3_000)
            .unwrap();
        assert_eq!(first, second);
        // Bounded: no entry above one, no row longer than sqrt(d/2) by more than
        // the rounding of its entries.
        for row in first.iter_rows() {
            assert!(row.iter().all(|entry| entry.to_f64().abs() <= 1.0));
            let squares: f64 = row
                .iter()
                .map(|entry| entry.to_f64() * entry.to_f64())
                .sum();
            let unit = 1.0 / (1u64 << T::PRECISION) as f64;
            assert_near(squares, 64.0, 128.0 * 2.0 * unit);
        }
    }
    bounded::<f32>();
    bounded::<f64>();
    bounded::<f16>();
    bounded::<bf16>();
    // Relative: the dot product depends on the lag alone.
    let encoding = Sinusoidal::paper(128).unwrap();
    let table = encoding.table::<f64>(0..500).unwrap();
    for lag in [1, 7, 100] {
        let expected = encoding.similarity(Similarity::Dot, 0, lag).unwrap();
        for p in 0..500 - lag as usize {
            let (a, b) = (table.row(p).unwrap(), table.row(p + lag as usize).unwrap());
            let dot: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
            // 128 additions of up to 64, each rounded.
            assert_near(dot, expected, 128.0 * 64.0 * tolerance::F64_SUM_PER_TERM);
        }
    }
}

/// Spacing names and layouts as the field-notes' table lists them.
#[test]
fn a2_spacings_differ_only_in_their_exponents() {
    let rates = |spacing| {
        let config = SinusoidalConfig {
            spacing,
            ..SinusoidalConfig::new(16)
        };
        Sinusoidal::new(config).unwrap().inv_freq()
    };
    assert_eq!(rates(Spacing::Shifted(0.0)), rates(Spacing::Paper));
    assert_eq!(rates(Spacing::Shifted(1.0)), rates(Spacing::Inclusive));
    let half = rates(Spacing::Shifted(0.5));
    for ((paper, half), inclusive) in rates(Spacing::Paper)
        .iter()
        .zip(&half)
        .zip(rates(Spacing::Inclusive))
        .skip(1)
    {
        assert!(*paper > *half && *half > inclusive);
    }
}
