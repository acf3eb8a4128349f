//! Cosine and sine tables: parity of the paths that compute them.

use pe_core::{
    Element, RopeScaling, Rotary, RotaryConfig, RotaryFrequencies, SinusoidLayout, Sinusoidal,
    SinusoidalConfig, bf16, f16,
    testing::{Backend, Method, Plan, Rungs, fill_cos_sin},
};

fn with_factor(inv_freq: &[f64], attention_factor: f64) -> RotaryFrequencies {
    Rotary::new(RotaryConfig {
        scaling: RopeScaling::Custom {
            inv_freq: inv_freq.to_vec(),
            attention_factor,
        },
        ..RotaryConfig::new(2 * inv_freq.len())
    })
    .unwrap()
    .frequencies(0)
    .unwrap()
}

fn patterns<T: Element>(values: &[T]) -> Vec<u64> {
    values.iter().map(|value| value.pattern()).collect()
}

/// Without scaling the entries are those of the sinusoidal encoding.
#[test]
fn unscaled_tables_are_the_sinusoidal_ones() {
    fn check<T: Element>(start: u64, rows: u64) {
        let rotary = Rotary::new(RotaryConfig::new(96)).unwrap();
        let found = rotary
            .frequencies(0)
            .unwrap()
            .tables::<T>(start..start + rows)
            .unwrap();
        let expected = Sinusoidal::new(SinusoidalConfig {
            layout: SinusoidLayout::Concatenated,
            ..SinusoidalConfig::new(96)
        })
        .unwrap()
        .table::<T>(start..start + rows)
        .unwrap();
        for (row, expected) in expected.iter_rows().enumerate() {
            let (sin, cos) = expected.split_at(48);
            assert_eq!(
                patterns(found.sin.row(row).unwrap()),
                patterns(sin),
                "{row}"
            );
            assert_eq!(
                patterns(found.cos.row(row).unwrap()),
                patterns(cos),
                "{row}"
            );
        }
    }
    for (start, rows) in [(0, 1000), (5, 3), ((1 << 32) - 300, 300)] {
        check::<f32>(start, rows);
        check::<f64>(start, rows);
        check::<f16>(start, rows);
        check::<bf16>(start, rows);
    }
}

/// A factor's bulk path against the 320-bit rung, entry by entry.
#[test]
fn scaled_tables_through_every_rung() {
    fn check<T: Element>(frequencies: &RotaryFrequencies, start: u64) {
        let entries = 300 * frequencies.pairs();
        let table = |backend, method| {
            let (mut cos, mut sin) = (vec![T::default(); entries], vec![T::default(); entries]);
            let plan = Plan::on(backend, method);
            fill_cos_sin(frequencies, plan, start, &mut cos, &mut sin).unwrap();
            (patterns(&cos), patterns(&sin))
        };
        let expected = table(Backend::best(), Method::Entries(Rungs::Only320));
        for (name, backend) in Backend::available() {
            for method in [
                Method::Auto,
                Method::Recurrence,
                Method::Entries(Rungs::Ladder),
                Method::Entries(Rungs::From128),
            ] {
                assert!(
                    table(backend, method) == expected,
                    "{} {name} {method:?} from {start}",
                    T::NAME
                );
            }
        }
    }
    let inv_freq = [1.0, 0.731, 0.0, 0.0123, 1e-5, 3.3e-9, 1e-30, 0.0, 0.0];
    for factor in [
        1.0,
        1.3465735902799727,
        0.707,
        1.00390625,
        77.7,
        0.0031,
        1e-20,
        4.3e-309,
    ] {
        let frequencies = with_factor(&inv_freq, factor);
        for start in [0, 77_777, (1 << 32) - 300] {
            check::<f32>(&frequencies, start);
            check::<f64>(&frequencies, start);
            check::<f16>(&frequencies, start);
            check::<bf16>(&frequencies, start);
        }
    }
}

/// Blocks of any numbers of rows, with a factor in the range of the recurrence, without, and beyond.
#[test]
fn blocks_agree_with_the_tables() {
    fn check<T: Element>(frequencies: &RotaryFrequencies, start: u64, rows: usize) {
        let pairs = frequencies.pairs();
        let positions = start..start + rows as u64;
        let tables = frequencies.tables::<T>(positions.clone()).unwrap();
        for sizes in [&[rows][..], &[64], &[1, 2, 30, 33, 31, 16, 17, 100]] {
            let zeros = || vec![T::default(); rows * pairs];
            let (mut cos, mut sin) = (zeros(), zeros());
            let mut blocks = frequencies.blocks::<T>(positions.clone()).unwrap();
            let (mut row, mut sizes) = (0, sizes.iter().cycle());
            while row < rows {
                let end = rows.min(row + sizes.next().unwrap());
                let block = row * pairs..end * pairs;
                blocks
                    .write(&mut cos[block.clone()], &mut sin[block])
                    .unwrap();
                row = end;
            }
            assert_eq!(patterns(&cos), patterns(tables.cos.as_slice()));
            assert_eq!(patterns(&sin), patterns(tables.sin.as_slice()));
            let (mut one, mut none) = (vec![T::default(); pairs], vec![]);
            assert!(blocks.write(&mut one, &mut none).is_err());
            assert!(blocks.write(&mut none, &mut one).is_err());
            assert!(blocks.write(&mut one.clone(), &mut one).is_err());
        }
    }
    let inv_freq = [1.0, 0.731, 0.0, 0.0123, 1e-5, 3.3e-9, 0.0, 0.0];
    for factor in [1.0, 1.3465735902799727, 5.5] {
        let frequencies = with_factor(&inv_freq, factor);
        for (start, rows) in [(0, 1), (1_000, 40), (1_000, 501), ((1 << 32) - 700, 700)] {
            check::<f32>(&frequencies, start, rows);
            check::<f64>(&frequencies, start, rows);
            check::<f16>(&frequencies, start, rows);
            check::<bf16>(&frequencies, start, rows);
        }
    }
    assert!(
        with_factor(&inv_freq, 1.0)
            .blocks::<f32>(0..1 << 33)
            .is_err()
    );
}

/// At position 0, and for pairs that do not turn, entries are the factor, rounded once
/// with ties to even.
#[test]
fn entries_at_angle_zero_are_the_factor() {
    // Midpoints of bf16, one to even downwards and one upwards, the neighbors of the
    // first, which two roundings get wrong, and a usual factor.
    for (factor, expected) in [
        (1.00390625, 1.0),
        (1.01171875, 1.015625),
        (f64::from_bits(1.00390625f64.to_bits() + 1), 1.0078125),
        (f64::from_bits(1.00390625f64.to_bits() - 1), 1.0),
        (1.346_573_590_279_972_7, 1.34375),
    ] {
        let frequencies = with_factor(&[1.0, 0.0], factor);
        let tables = frequencies.tables::<bf16>(0..100).unwrap();
        let expected = bf16::from_f32(expected);
        assert_eq!(tables.cos.get(0, 0), Some(expected), "{factor}");
        for row in 0..100 {
            assert_eq!(tables.cos.get(row, 1), Some(expected), "{factor}");
            assert_eq!(tables.sin.get(row, 1), Some(bf16::ZERO));
        }
        let exact = frequencies.tables_at::<f64>(&[0, 9]).unwrap();
        assert_eq!(exact.cos.as_slice()[0], factor);
        assert_eq!(exact.cos.get(1, 1), Some(factor));
    }
}

/// Sets without a rotating pair, in ranges of any length.
#[test]
fn still_pairs_alone_are_the_factor_everywhere() {
    fn check<T: Element>(factor: f64, rows: u64) {
        let tables = with_factor(&[0.0, 0.0], factor).tables::<T>(3..3 + rows);
        let tables = tables.unwrap();
        let entries = 2 * rows as usize;
        assert_eq!(tables.cos.as_slice(), vec![T::from_f64(factor); entries]);
        assert_eq!(tables.sin.as_slice(), vec![T::default(); entries]);
    }
    for (factor, rows) in [1.0, 1.25, 3.0]
        .map(|f| [1, 12, 70].map(|rows| (f, rows)))
        .concat()
    {
        check::<f32>(factor, rows);
        check::<f64>(factor, rows);
        check::<f16>(factor, rows);
        check::<bf16>(factor, rows);
    }
}

/// Any way of cutting a range gives the same bits, and so do lists of positions.
#[test]
fn ranges_cut_anywhere_give_the_same_bits() {
    for factor in [1.0, 1.19] {
        let frequencies = with_factor(&[1.0, 0.3, 0.01, 1e-4, 1e-7, 0.0], factor);
        let whole = frequencies.tables::<f32>(1000..1700).unwrap();
        let mut start = 1000;
        for piece in [1, 2, 5, 31, 32, 33, 64, 250, 282] {
            let part = frequencies.tables::<f32>(start..start + piece).unwrap();
            let at = (start - 1000) as usize * 6;
            let entries = piece as usize * 6;
            assert_eq!(part.cos.as_slice(), &whole.cos.as_slice()[at..at + entries]);
            assert_eq!(part.sin.as_slice(), &whole.sin.as_slice()[at..at + entries]);
            start += piece;
        }
        assert_eq!(start, 1700);
        let positions: Vec<u32> = (1000..1700).rev().collect();
        let list = frequencies.tables_at::<f32>(&positions).unwrap();
        for (row, found) in list.cos.iter_rows().enumerate() {
            assert_eq!(Some(found), whole.cos.row(699 - row));
        }
    }
}
