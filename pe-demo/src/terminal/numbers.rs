//! Numbers as people write them.

use std::time::Duration;

/// Writes an integer with its thousands apart.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Writes a difference with three digits, or in powers of ten if it is small.
pub(crate) fn difference(value: f64) -> String {
    if value == 0.0 {
        "0".to_owned()
    } else if value >= 0.001 {
        format!("{value:.3}")
    } else {
        format!("{value:.1e}")
    }
}

/// Writes a number without superfluous digits: `1` and not `1.0`, `1e-300` and not 300 zeros.
pub(crate) fn short(number: f64) -> String {
    let text = format!("{number:?}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// Writes a magnitude with three digits or more: `1.23e-2`, `1.41`, `19.6`, `1234`.
pub(crate) fn three_digits(value: f64) -> String {
    match value {
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        1.0.. => format!("{value:.2}"),
        0.1.. => format!("{value:.3}"),
        _ if value == 0.0 => "0".to_owned(),
        _ => format!("{value:.2e}"),
    }
}

/// Writes a number of positions with four digits: `6.283`, `41,245`, `1.234e9`.
pub(crate) fn wavelength(positions: f64) -> String {
    if positions.is_infinite() {
        "infinite".to_owned()
    } else if positions < 1000.0 {
        let digits = if positions < 10.0 {
            3
        } else if positions < 100.0 {
            2
        } else {
            1
        };
        format!("{positions:.digits$}")
    } else if positions < 1e12 {
        thousands(positions.round() as u64)
    } else {
        format!("{positions:.3e}")
    }
}

/// Writes a share in percent.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// Writes a time in seconds with one decimal.
pub(crate) fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// Writes an integer power of ten.
pub(crate) fn power_of_ten(exponent: i64) -> String {
    match exponent {
        0 => "1".to_owned(),
        1 => "10".to_owned(),
        2 => "100".to_owned(),
        3 => "1000".to_owned(),
        _ => {
            let mut text = "10".to_owned();
            for c in exponent.to_string().chars() {
                text.push(match c {
                    '-' => '\u{207b}',
                    '1' => '\u{b9}',
                    '2' => '\u{b2}',
                    '3' => '\u{b3}',
                    digit => {
                        char::from_u32(0x2070 + digit.to_digit(10).unwrap_or(0)).unwrap_or(digit)
                    }
                });
            }
            text
        }
    }
}

/// Writes a number for people: six digits after the point, or powers of ten where that would show little.
///
/// The page's script writes the same digits (`commands/report/script/number.js`).
pub(crate) fn six_digits(value: f64) -> String {
    let size = value.abs();
    let text = if size == size.trunc() && size < 1e15 {
        format!("{size}")
    } else if (1e-3..1e9).contains(&size) {
        half_up(size, |size, digits| format!("{size:.digits$}"))
    } else {
        let text = half_up(size, |size, digits| format!("{size:.digits$e}"));
        match text
            .split_once('e')
            .map(|(digits, power)| (digits, power.parse()))
        {
            Some((digits, Ok(power))) => format!("{digits} \u{d7} {}", power_of_ten(power)),
            _ => text,
        }
    };
    if value < 0.0 {
        format!("\u{2212}{text}")
    } else {
        text
    }
}

/// Writes a number with six digits after the point. The standard library rounds ties to even, scripts
/// round them up.
fn half_up(size: f64, write: impl Fn(f64, usize) -> String) -> String {
    // No f64 has more digits.
    let exact = write(size, 1100);
    let digits = exact.split(['.', 'e']).nth(1).unwrap_or_default();
    let tie = digits
        .get(6..)
        .and_then(|rest| rest.strip_prefix('5'))
        .is_some_and(|rest| rest.bytes().all(|digit| digit == b'0'));
    write(if tie { size.next_up() } else { size }, 6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_ten_are_raised() {
        assert_eq!(power_of_ten(-3), "10⁻³");
        assert_eq!(power_of_ten(5), "10⁵");
        assert_eq!(power_of_ten(12), "10¹²");
    }

    #[test]
    fn numbers_are_those_of_the_list_that_the_script_is_held_against() {
        let list = include_str!("../../tests/report/numbers.csv");
        for line in list.lines().skip(1) {
            let (value, text) = line.split_once(',').unwrap();
            assert_eq!(six_digits(value.parse().unwrap()), text, "{value}");
        }
        assert!(list.lines().count() > 40);
    }
}
