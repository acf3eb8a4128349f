//! Ticks and their labels.

use crate::terminal::numbers::thousands;

/// Returns the decimal logarithm of a positive number, with an error of at most 1e-12.
///
/// The result is the same on every machine, which the standard library does not promise.
pub(crate) fn log10(value: f64) -> f64 {
    // value = m x 2^e with m in [1, 2); ln m = 2 atanh((m - 1) / (m + 1)).
    let normal = if value < f64::MIN_POSITIVE {
        value * (1u64 << 60) as f64 // subnormal
    } else {
        value
    };
    let bits = normal.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i64 - 1023 - if normal == value { 0 } else { 60 };
    let mantissa = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    let z = (mantissa - 1.0) / (mantissa + 1.0);
    let square = z * z;
    // (1/3)^27 / 27 is below 1e-14.
    let mut sum = 0.0;
    for odd in (1..=27).rev().step_by(2) {
        sum = sum * square + 1.0 / f64::from(odd);
    }
    let ln = 2.0 * z * sum + exponent as f64 * std::f64::consts::LN_2;
    ln * std::f64::consts::LOG10_E
}

/// Returns about `wanted` ticks at round numbers inside a range, in steps of 1, 2 or 5 times a
/// power of ten.
pub(crate) fn ticks((low, high): (f64, f64), wanted: usize) -> Vec<f64> {
    let span = high - low;
    if !(span.is_finite() && span > 0.0) {
        return vec![low];
    }
    let rough = span / wanted.max(1) as f64;
    let mut decade = 1.0;
    while decade * 10.0 <= rough {
        decade *= 10.0;
    }
    while decade > rough {
        decade /= 10.0;
    }
    let step = [1.0, 2.0, 5.0, 10.0]
        .map(|factor| factor * decade)
        .into_iter()
        .find(|step| span / step <= wanted as f64 + 0.5)
        .unwrap_or(decade * 10.0);
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    (first..=last)
        .map(|k| {
            // Multiplied for whole steps and divided for fractions, ticks are the nearest numbers.
            if step >= 1.0 {
                k as f64 * step
            } else {
                k as f64 / (1.0 / step).round()
            }
        })
        .collect()
}

/// Writes the label of a tick.
pub(crate) fn label(value: f64) -> String {
    let size = value.abs();
    let text = if size != 0.0 && !(1e-4..1e7).contains(&size) {
        format!("{value:e}")
    } else {
        let text = format!("{value:.6}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    // Thousands apart, from ten thousand on.
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let digits = whole.trim_start_matches('-');
    let whole = if digits.len() > 4 && digits.bytes().all(|b| b.is_ascii_digit()) {
        let apart = thousands(digits.parse().unwrap_or(0));
        if whole.starts_with('-') {
            format!("-{apart}")
        } else {
            apart
        }
    } else {
        whole.to_owned()
    };
    format!("{whole}{rest}").replace('-', "\u{2212}")
}

/// Returns the smallest step that leaves at most `most` of `count` items.
pub(crate) fn step(count: u64, most: u64) -> u64 {
    count.div_ceil(most.max(1)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_right_to_twelve_digits() {
        // From mpmath.
        for (value, expected) in [
            (1.0, 0.0),
            (10.0, 1.0),
            (1e-4, -4.0),
            (3.0, 0.477_121_254_719_662_4),
            (60611.477, 4.782_554_867_166_818),
            (1e300, 300.0),
            (5e-324, -323.306_215_343_115_8),
            (1.999_999_999, 0.301_029_995_446_833_9),
        ] {
            let found = log10(value);
            assert!((found - expected).abs() < 1e-11, "{value}: {found}");
        }
    }

    #[test]
    fn ticks_are_round_numbers_inside_the_range() {
        assert_eq!(ticks((0.0, 50.0), 5), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]);
        assert_eq!(ticks((-1.0, 1.0), 4), [-1.0, -0.5, 0.0, 0.5, 1.0]);
        assert_eq!(
            ticks((-0.5, 511.5), 5),
            [0.0, 100.0, 200.0, 300.0, 400.0, 500.0]
        );
        assert_eq!(ticks((0.0, 0.3), 3), [0.0, 0.1, 0.2, 0.3]);
        assert_eq!(ticks((4.0, 4.0), 3), [4.0]);
    }

    #[test]
    fn ticks_are_those_of_the_list_that_the_pages_script_is_held_against() {
        let list = include_str!("../../tests/report/ticks.csv");
        for line in list.lines().skip(1) {
            let numbers: Vec<&str> = line.split(',').collect();
            let number = |index: usize| numbers[index].parse::<f64>().unwrap();
            let wanted = number(2) as usize;
            let expected: Vec<f64> = numbers[3].split(' ').map(|n| n.parse().unwrap()).collect();
            assert_eq!(ticks((number(0), number(1)), wanted), expected, "{line}");
        }
    }

    #[test]
    fn labels_are_short() {
        assert_eq!(label(0.0), "0");
        assert_eq!(label(-0.5), "−0.5");
        assert_eq!(label(131_072.0), "131,072");
        assert_eq!(label(1000.0), "1000");
        assert_eq!(label(1e-9), "1e−9");
    }

    #[test]
    fn steps_leave_no_more_than_asked_for() {
        for (count, most, expected) in [(0, 10, 1), (10, 10, 1), (11, 10, 2), (131_072, 1024, 128)]
        {
            assert_eq!(step(count, most), expected);
            assert!(count.div_ceil(step(count, most)) <= most);
        }
    }
}
