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

/// Writes a number without what it does not need: `1` and not `1.0`, `1e-300` and not 300 zeros.
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
