//! Clockwise rotations: the cosines of counterclockwise ones, and their sines negated, on every path.

use pe_core::{Direction, Element, PairLayout, Rotary, RotaryConfig, RotaryFrequencies, bf16, f16};
use pe_tests::tolerance;

fn set(direction: Direction) -> RotaryFrequencies {
    let rotary = Rotary::new(RotaryConfig {
        direction,
        ..RotaryConfig::new(10)
    });
    rotary.unwrap().frequencies(0).unwrap()
}

fn sines_are_negated<T: Element>() {
    let [plain, clockwise] = [Direction::Counterclockwise, Direction::Clockwise].map(set);
    let bits = |entries: &[T]| -> Vec<u64> {
        entries
            .iter()
            .map(|entry| entry.to_f64().to_bits())
            .collect()
    };
    let negated = |entries: &[T]| -> Vec<u64> {
        entries
            .iter()
            .map(|entry| (-entry.to_f64()).to_bits())
            .collect()
    };
    let wanted = plain.tables::<T>(0..300).unwrap();
    let check = |cos: &[T], sin: &[T]| {
        assert_eq!(bits(cos), bits(wanted.cos.as_slice()), "{}", T::NAME);
        assert_eq!(bits(sin), negated(wanted.sin.as_slice()), "{}", T::NAME);
    };
    let table = clockwise.tables::<T>(0..300).unwrap();
    check(table.cos.as_slice(), table.sin.as_slice());
    let ids: Vec<u32> = (0..300).collect();
    let table = clockwise.tables_at::<T>(&ids).unwrap();
    check(table.cos.as_slice(), table.sin.as_slice());
    let table = clockwise.tables_by_axis::<T>(&[0, 1, 0, 1, 1], &[&ids, &ids]);
    let table = table.unwrap();
    check(table.cos.as_slice(), table.sin.as_slice());
    let (mut cos, mut sin) = (vec![T::default(); 1500], vec![T::default(); 1500]);
    clockwise.fill(0, &mut cos, &mut sin).unwrap();
    check(&cos, &sin);
    let mut blocks = clockwise.blocks(0..300).unwrap();
    for (cos, sin) in cos.chunks_mut(64 * 5).zip(sin.chunks_mut(64 * 5)) {
        cos.fill(T::default());
        blocks.write(cos, sin).unwrap();
    }
    check(&cos, &sin);
}

#[test]
fn sines_are_negated_in_every_type() {
    sines_are_negated::<f32>();
    sines_are_negated::<f64>();
    sines_are_negated::<f16>();
    sines_are_negated::<bf16>();
}

#[test]
fn directions_are_different_sets_that_rerotate_into_each_other() {
    let [plain, clockwise] = [Direction::Counterclockwise, Direction::Clockwise].map(set);
    assert_ne!(plain, clockwise);
    assert_eq!(clockwise.direction().name(), "clockwise");
    let head: Vec<f64> = (0..10).map(|i| f64::from(i) / 10.0 - 0.4).collect();
    let rotated = |set: &RotaryFrequencies, position: u32| -> Vec<f64> {
        let table = set.tables_at::<f64>(&[position]).unwrap();
        let (cos, sin) = (table.cos.as_slice(), table.sin.as_slice());
        let first = (0..5).map(|i| head[i] * cos[i] - head[i + 5] * sin[i]);
        let second = (0..5).map(|i| head[i] * sin[i] + head[i + 5] * cos[i]);
        first.chain(second).collect()
    };
    let moves = [
        (&clockwise, 7, clockwise.shift(30).unwrap(), &clockwise, 37),
        (
            &plain,
            7,
            plain.rerotate(7, &clockwise, 90).unwrap(),
            &clockwise,
            90,
        ),
    ];
    for (from, start, operator, to, end) in moves {
        let mut found = rotated(from, start);
        operator.apply(PairLayout::HalfSplit, &mut found).unwrap();
        for (found, wanted) in found.iter().zip(rotated(to, end)) {
            assert!(
                (found - wanted).abs() < tolerance::ROTATED_THRICE,
                "{found} {wanted}"
            );
        }
    }
    assert_eq!(clockwise.shift(3).unwrap().steps(), Some(3));
    assert!(
        plain
            .shift(3)
            .unwrap()
            .compose(&clockwise.shift(3).unwrap())
            .is_err()
    );
}

/// Files name the direction only if it is not the usual one.
#[test]
fn directions_are_kept_in_json() {
    let clockwise = RotaryConfig {
        direction: Direction::Clockwise,
        ..RotaryConfig::new(10)
    };
    let json = serde_json::to_string(&clockwise).unwrap();
    assert!(json.ends_with(r#","direction":"clockwise"}"#), "{json}");
    assert_eq!(
        serde_json::from_str::<RotaryConfig>(&json).unwrap(),
        clockwise
    );
    assert!(
        !serde_json::to_string(&RotaryConfig::new(10))
            .unwrap()
            .contains("direction")
    );
}
