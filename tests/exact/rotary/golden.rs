//! Cosines and sines against rigorously rounded ones, bit for bit.

use std::collections::HashMap;

use pe_core::hf_config::{self, UnknownKeys};
use pe_core::{
    Element, RopeScaling, Rotary, RotaryConfig, RotaryFrequencies, bf16, f16,
    testing::{Backend, Method, Plan, Rungs, fill_cos_sin},
};
use pe_tests::golden;
use pe_tests::rotary::cases;
use sha2::{Digest, Sha256};

/// The frequencies that the entry files name.
fn sources() -> HashMap<String, RotaryFrequencies> {
    let mut out = HashMap::new();
    for case in cases() {
        let model = hf_config::read(&case.config, UnknownKeys::Reject).unwrap();
        let layer = model.layer(case.layer_type.as_deref()).unwrap();
        let rotary = Rotary::new(layer.rotary.clone()).unwrap();
        let frequencies = rotary.frequencies(case.seq_len.unwrap_or(0)).unwrap();
        out.insert(case.name, frequencies);
    }
    let f32s = |list: &[f32]| list.iter().map(|f| f64::from(*f)).collect::<Vec<_>>();
    for (name, inv_freq, attention_factor) in [
        (
            "custom-bf16-tie",
            vec![1.0, 0.1, 2.5e-3, 1e-9, 0.0],
            1.00390625,
        ),
        (
            "custom-f16-tie",
            vec![std::f64::consts::FRAC_PI_4, 0.5, 1.1e-5, 3.0e-40],
            1.00048828125,
        ),
        (
            "custom-f32",
            f32s(&[1.0, 0.8659643, 0.1778279, 1.3335214e-4]),
            1.0,
        ),
    ] {
        let rotary = Rotary::new(RotaryConfig {
            rotary_dim: 2 * inv_freq.len(),
            scaling: RopeScaling::Custom {
                inv_freq,
                attention_factor,
            },
            ..RotaryConfig::new(2)
        })
        .unwrap();
        out.insert(name.to_owned(), rotary.frequencies(0).unwrap());
    }
    out
}

struct Entry {
    source: String,
    factor: f64,
    pair: usize,
    position: u32,
    bits: Vec<u64>,
}

fn entries() -> Vec<Entry> {
    golden::rows("rotary_entries.csv")
        .iter()
        .map(|row| Entry {
            source: row[0].clone(),
            factor: row[1].parse().unwrap(),
            pair: row[2].parse().unwrap(),
            position: row[3].parse().unwrap(),
            bits: row[4..].iter().map(|hex| golden::hex(hex)).collect(),
        })
        .collect()
}

fn check_method(method: Method) {
    fn row<T: Element>(set: &RotaryFrequencies, method: Method, position: u32) -> (Vec<T>, Vec<T>) {
        let (mut cos, mut sin) = (
            vec![T::default(); set.pairs()],
            vec![T::default(); set.pairs()],
        );
        let plan = Plan::on(Backend::best(), method);
        fill_cos_sin(set, plan, u64::from(position), &mut cos, &mut sin).unwrap();
        (sin, cos)
    }
    fn bits<T: Element>((sin, cos): &(Vec<T>, Vec<T>), pair: usize) -> [u64; 2] {
        [sin[pair].pattern(), cos[pair].pattern()]
    }
    let (sources, entries) = (sources(), entries());
    assert!(entries.len() >= 4_000, "{}", entries.len());
    let mut rows = HashMap::new();
    for entry in &entries {
        let set = &sources[&entry.source];
        assert_eq!(set.attention_factor(), entry.factor, "{}", entry.source);
        let position = entry.position;
        let found = rows.entry((&entry.source, position)).or_insert_with(|| {
            (
                row::<f64>(set, method, position),
                row::<f32>(set, method, position),
                row::<f16>(set, method, position),
                row::<bf16>(set, method, position),
            )
        });
        let pair = entry.pair;
        let found = [
            bits(&found.0, pair),
            bits(&found.1, pair),
            bits(&found.2, pair),
            bits(&found.3, pair),
        ]
        .concat();
        assert_eq!(
            found, entry.bits,
            "{method:?} {} pair {pair} position {position} (sin, cos in f64, f32, f16, bf16)",
            entry.source
        );
    }
}

#[test]
fn entries_through_the_ladder() {
    check_method(Method::Auto);
}

#[test]
fn entries_by_rotation() {
    check_method(Method::Recurrence);
}

#[test]
fn entries_without_the_f64_rung() {
    check_method(Method::Entries(Rungs::From128));
}

#[test]
fn entries_with_the_full_fallback_forced() {
    check_method(Method::Entries(Rungs::Only320));
}

/// Factors that put an entry next to a midpoint, nearer than f64 arithmetic can tell, in a row of
/// its own and amid others: everything then depends on the check of the product. In f64, factors
/// that make subnormal entries.
#[test]
fn entries_next_to_midpoints_by_every_way() {
    fn check<T: Element>(row: &[String]) {
        let real = |at: usize| row[at].parse::<f64>().unwrap();
        let inv_freq = vec![real(1)];
        let rotary = Rotary::new(RotaryConfig {
            scaling: RopeScaling::Custom {
                inv_freq,
                attention_factor: real(3),
            },
            ..RotaryConfig::new(2)
        });
        let set = rotary.unwrap().frequencies(0).unwrap();
        let position: u64 = row[2].parse().unwrap();
        let bits = |at: usize| golden::hex(&row[at]);
        let expected = (bits(4), bits(5));
        for (name, backend) in Backend::available() {
            for (method, before, rows) in [
                (Method::Auto, 0, 1),
                (Method::Auto, 1, 12),
                (Method::Auto, 39, 60),
                (Method::Recurrence, 0, 1),
                (Method::Entries(Rungs::From128), 0, 1),
                (Method::Entries(Rungs::Only320), 0, 1),
            ] {
                let before = before.min(position);
                // Not past the last position.
                let rows = rows.min((1 << 32) - (position - before)) as usize;
                let (mut cos, mut sin) = (vec![T::default(); rows], vec![T::default(); rows]);
                let plan = Plan::on(backend, method);
                fill_cos_sin(&set, plan, position - before, &mut cos, &mut sin).unwrap();
                let at = before as usize;
                assert_eq!(
                    (sin[at].pattern(), cos[at].pattern()),
                    expected,
                    "{name} {method:?} {rows} rows: {}",
                    row.join(",")
                );
            }
        }
    }
    let rows = golden::rows("rotary_factors.csv");
    assert!(rows.len() >= 96, "{}", rows.len());
    for row in &rows {
        match row[0].as_str() {
            "f64" => check::<f64>(row),
            "f32" => check::<f32>(row),
            "f16" => check::<f16>(row),
            "bf16" => check::<bf16>(row),
            other => panic!("unknown type {other}"),
        }
    }
}

/// Whole tables by digest, on every instruction set, whole and in uneven pieces.
#[test]
fn digests_on_every_instruction_set() {
    let (sources, rows) = (sources(), golden::rows("rotary_digests.csv"));
    assert!(rows.len() >= 32, "{}", rows.len());
    for row in &rows {
        let set = &sources[&row[0]];
        let (start, count) = (row[2].parse().unwrap(), row[3].parse().unwrap());
        let digests = match row[4].as_str() {
            "f32" => digests::<f32>(set, start, count),
            "f64" => digests::<f64>(set, start, count),
            "f16" => digests::<f16>(set, start, count),
            "bf16" => digests::<bf16>(set, start, count),
            other => panic!("unknown type {other}"),
        };
        for (name, digest) in digests {
            assert_eq!(digest, row[5], "{name}: {}", row.join(","));
        }
    }
}

fn digests<T: Element>(set: &RotaryFrequencies, start: u64, rows: usize) -> Vec<(String, String)> {
    let pairs = set.pairs();
    let mut out = Vec::new();
    for (name, backend) in Backend::available() {
        for uneven in [false, true] {
            let mut cos = vec![T::default(); rows * pairs];
            let mut sin = cos.clone();
            let mut first = 0;
            for piece in (1..).map(|n| n * 37 % 211 + 1) {
                let last = if uneven {
                    (first + piece).min(rows)
                } else {
                    rows
                };
                let part = first * pairs..last * pairs;
                let (cos, sin) = (&mut cos[part.clone()], &mut sin[part]);
                let plan = Plan::on(backend, Method::Auto);
                fill_cos_sin(set, plan, start + first as u64, cos, sin).unwrap();
                first = last;
                if first == rows {
                    break;
                }
            }
            let mut hash = Sha256::new();
            for entry in cos.iter().chain(&sin) {
                hash.update(&entry.pattern().to_le_bytes()[..std::mem::size_of::<T>()]);
            }
            let digest = hash.finalize().iter().map(|b| format!("{b:02x}")).collect();
            out.push((format!("{name}, in pieces: {uneven}"), digest));
        }
    }
    out
}
