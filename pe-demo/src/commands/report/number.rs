//! Numbers on the page.

use crate::chart::power_of_ten;

/// Writes a number for people: six digits after the point, or powers of ten where that would show little.
///
/// The page's script writes the same digits (`script/number.js`).
pub(super) fn short(value: f64) -> String {
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
    fn numbers_are_those_of_the_list_that_the_script_is_held_against() {
        let list = include_str!("../../../tests/report/numbers.csv");
        for line in list.lines().skip(1) {
            let (value, text) = line.split_once(',').unwrap();
            assert_eq!(short(value.parse().unwrap()), text, "{value}");
        }
        assert!(list.lines().count() > 40);
    }
}
