//! Rates, wavelengths, and columns of the tables.

use pe_core::{
    Base, Preset, SinusoidLayout, Sinusoidal, SinusoidalConfig, Spacing, binary_encoding,
};
use pe_tests::golden::assert_near;
use pe_tests::tolerance;

use super::{notebook, seeds};

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
                tolerance::ROUNDED_ANGLE,
            );
            assert_near(
                table.get(position, 2 * pair + 1).unwrap(),
                expected.as_slice()[1],
                tolerance::ROUNDED_ANGLE,
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
