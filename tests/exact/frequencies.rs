//! Frequencies and wavelengths: how bases and spacings make them, and where they end.

use pe_core::{Base, Error, Sinusoidal, SinusoidalConfig, Spacing};
use pe_tests::tolerance;

fn encoding(d_model: usize, base: Base, spacing: Spacing) -> Result<Sinusoidal, Error> {
    Sinusoidal::new(SinusoidalConfig {
        base,
        spacing,
        ..SinusoidalConfig::new(d_model)
    })
}

/// 2 to a power of -1022 or more.
fn power_of_two(power: i32) -> f64 {
    f64::from_bits(((power + 1023) as u64) << 52)
}

#[test]
fn rate_is_one_over_its_base() {
    assert_eq!(Base::Value(10000.0).value(), 10000.0);
    assert_eq!(Base::MinRate(power_of_two(-13)).value(), 8192.0);
    assert_eq!(Base::MinRate(1e-4).value(), 10000.0);
    assert_eq!(Base::MinRate(4.0).value(), 0.25);
    // Not only the number: powers of two have one and the same frequencies.
    for power in [-5, 3, 13] {
        let of = |base| encoding(12, base, Spacing::Paper).unwrap().inv_freq();
        assert_eq!(
            of(Base::MinRate(power_of_two(-power))),
            of(Base::Value(power_of_two(power)))
        );
    }
}

/// The end point of base 2^k is 2^-k, and 2 pi 2^k positions make its turn: to the bit, for multiplying
/// by a power of two rounds nothing.
#[test]
fn wavelengths_of_powers_of_two_are_two_pi_times_them() {
    for power in -32..=1021 {
        let base = Base::Value(power_of_two(power));
        let encoding = encoding(4, base, Spacing::Inclusive).unwrap();
        assert_eq!(encoding.inv_freq(), [1.0, 1.0 / power_of_two(power)]);
        assert_eq!(
            encoding.wavelengths()[1],
            std::f64::consts::TAU * power_of_two(power),
            "base 2^{power}"
        );
    }
    // Beyond the largest f64.
    for power in [1022, 1023] {
        let base = Base::Value(power_of_two(power));
        let waves = encoding(4, base, Spacing::Inclusive).unwrap().wavelengths();
        assert_eq!(waves, [std::f64::consts::TAU, f64::INFINITY]);
    }
}

/// The exponents are i/(n - s): n pairs shifted by s are the first n of n - s pairs that are not.
#[test]
fn shifted_spacings_are_other_numbers_of_pairs() {
    let of = |pairs: usize, shift: f64| {
        let made = encoding(2 * pairs, Base::default(), Spacing::Shifted(shift));
        made.unwrap().inv_freq()
    };
    for pairs in [2usize, 3, 5, 8] {
        for more in [1, 2, 3, 4, 12, 1000] {
            let (found, expected) = (of(pairs, -(more as f64)), of(pairs + more, 0.0));
            assert_eq!(found, expected[..pairs], "{pairs} pairs, shift -{more}");
        }
        for fewer in 1..pairs {
            let (found, expected) = (of(pairs, fewer as f64), of(pairs - fewer, 0.0));
            assert_eq!(
                found[..pairs - fewer],
                expected,
                "{pairs} pairs, shift {fewer}"
            );
        }
        // ... and shifted by 1 they include the end point.
        let inclusive = encoding(2 * pairs, Base::default(), Spacing::Inclusive).unwrap();
        assert_eq!(of(pairs, 1.0), inclusive.inv_freq());
    }
}

/// The limits of the error message: above -2^20, multiples of 2^-104, below the number of pairs.
#[test]
fn shifts_end_where_the_error_says() {
    let made = |shift| encoding(8, Base::default(), Spacing::Shifted(shift));
    let edge = power_of_two(20);
    for shift in [
        -edge.next_down(),
        power_of_two(-104),
        -power_of_two(-104),
        3.0 * power_of_two(-104),
        -0.0,
    ] {
        assert!(made(shift).is_ok(), "{shift:?}");
    }
    for shift in [
        -edge,
        -edge.next_up(),
        power_of_two(-105),
        -power_of_two(-105),
        1.5 * power_of_two(-104),
    ] {
        assert_eq!(
            made(shift).unwrap_err(),
            Error::FreqShift { shift, pairs: 4 }
        );
    }
    // Among two pairs 2^-104 is nothing in f64, and 1 - 2^-53 is a step of one unit.
    assert_eq!(
        made(power_of_two(-104)).unwrap().inv_freq(),
        made(0.0).unwrap().inv_freq()
    );
}

/// The limits of the error message: at most 2^32, at least 2^-1500000.
#[test]
fn frequencies_end_where_the_error_says() {
    // Two pairs of base 2 shifted to 2 - 1/k: the second frequency is 2^-k. With k = 1,500,000 -+ 1/2 the
    // rounding of the shift, 2^-53, moves k by no more than 0.001.
    let made = |k: f64| encoding(4, Base::Value(2.0), Spacing::Shifted(2.0 - 1.0 / k));
    let small = made(1000.0).unwrap().inv_freq()[1] / power_of_two(-1000);
    assert!((small - 1.0).abs() < tolerance::SHIFTED_SPACING, "{small}");
    assert_eq!(made(1_499_999.5).unwrap().inv_freq(), [1.0, 0.0]);
    for k in [1_500_000.5, 1_500_001.5, 1_510_000.5] {
        let error = Error::Frequency { base: 2.0, pair: 1 };
        assert_eq!(made(k).unwrap_err(), error, "{k}");
    }
    // Later pairs count as well.
    let three = encoding(
        6,
        Base::Value(2.0),
        Spacing::Shifted(3.0 - 1.0 / 1_000_000.0),
    );
    let error = Error::Frequency { base: 2.0, pair: 2 };
    assert_eq!(three.unwrap_err(), error);
    // The other end.
    let fast = |base| encoding(4, Base::Value(base), Spacing::Inclusive);
    let last = power_of_two(-32);
    assert_eq!(fast(last).unwrap().inv_freq(), [1.0, 4294967296.0]);
    let (base, pair) = (last.next_down(), 1);
    assert_eq!(fast(base).unwrap_err(), Error::Frequency { base, pair });
}
