//! Distances and dot products between positions.

use pe_core::{Base, Element, Similarity, SinusoidLayout, Sinusoidal, SinusoidalConfig, bf16, f16};
use pe_tests::golden::assert_near;
use pe_tests::tolerance;

use super::{notebook, seeds};

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
            tolerance::DISTANCE_NUMPY,
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
