//! pe-core against numbers of a rigorous library, bit for bit.

use std::collections::HashMap;

use pe_core::testing::{self, Backend, Method, Plan, Rungs};
use pe_core::{Element, SinusoidLayout, Sinusoidal, SinusoidalConfig, bf16, f16};
use pe_tests::golden::{self, Entry};
use sha2::{Digest, Sha256};

/// One encoding per specification: making frequencies once is enough.
fn encodings(entries: &[Entry]) -> HashMap<String, Sinusoidal> {
    let mut out = HashMap::new();
    for entry in entries {
        out.entry(key(entry)).or_insert_with(|| {
            Sinusoidal::new(SinusoidalConfig {
                base: golden::base(entry.base),
                spacing: entry.spacing,
                layout: SinusoidLayout::Concatenated,
                ..SinusoidalConfig::new(entry.d)
            })
            .unwrap()
        });
    }
    out
}

fn key(entry: &Entry) -> String {
    format!("{} {} {:?}", entry.d, entry.base, entry.spacing)
}

/// The sine and cosine bits of one entry.
fn bits<T: Element>(encoding: &Sinusoidal, entry: &Entry, rungs: Rungs) -> (u64, u64) {
    let (sine, cosine): (T, T) = testing::entry_pair(encoding, entry.pair, entry.position, rungs);
    (sine.pattern(), cosine.pattern())
}

fn check(name: &str, rungs: Rungs, at_least: usize) {
    let entries = golden::entries(name);
    assert!(entries.len() >= at_least, "{name}: {}", entries.len());
    let encodings = encodings(&entries);
    for entry in &entries {
        let encoding = &encodings[&key(entry)];
        let found = [
            bits::<f64>(encoding, entry, rungs),
            bits::<f32>(encoding, entry, rungs),
            bits::<f16>(encoding, entry, rungs),
            bits::<bf16>(encoding, entry, rungs),
        ];
        assert_eq!(
            found, entry.bits,
            "{name}, {rungs:?}: d {} base {} {:?} pair {} position {} (f64, f32, f16, bf16)",
            entry.d, entry.base, entry.spacing, entry.pair, entry.position,
        );
    }
}

#[test]
fn entries_through_the_ladder() {
    check("entries.csv", Rungs::Ladder, 24_000);
}

#[test]
fn entries_without_the_f64_rung() {
    check("entries.csv", Rungs::From128, 24_000);
}

#[test]
fn entries_with_the_full_fallback_forced() {
    check("entries.csv", Rungs::Only320, 24_000);
}

#[test]
fn hard_entries_through_every_rung() {
    for rungs in [Rungs::Ladder, Rungs::From128, Rungs::Only320] {
        check("hard_entries.csv", rungs, 2_000);
    }
}

#[test]
fn timesteps_through_every_rung() {
    for rungs in [Rungs::Ladder, Rungs::From128, Rungs::Only320] {
        check("timesteps.csv", rungs, 1_500);
    }
}

/// The entries once more through whole rows made by rotation: a block of rows
/// around each position, of which one entry is known.
#[test]
fn entries_out_of_rotated_blocks_slow() {
    let entries = golden::entries("entries.csv");
    let encodings = encodings(&entries);
    // Every block costs `rows x d` entries; wide ones are sampled more thinly.
    let mut checked = 0;
    for (index, entry) in entries.iter().enumerate() {
        if entry.d > 1024 || index % (1 + entry.d / 64) != 0 {
            continue;
        }
        let encoding = &encodings[&key(entry)];
        let start = (entry.position as u64)
            .saturating_sub(17)
            .min(pe_core::POSITIONS - 40);
        let at = entry.position as u64 - start;
        block_entry::<f32>(encoding, entry, start, at, entry.bits[1]);
        block_entry::<f64>(encoding, entry, start, at, entry.bits[0]);
        block_entry::<f16>(encoding, entry, start, at, entry.bits[2]);
        block_entry::<bf16>(encoding, entry, start, at, entry.bits[3]);
        checked += 1;
    }
    assert!(checked > 5_000, "{checked}");
}

fn block_entry<T: Element>(
    encoding: &Sinusoidal,
    entry: &Entry,
    start: u64,
    at: u64,
    expected: (u64, u64),
) {
    let mut table = vec![T::default(); 40 * entry.d];
    let plan = Plan::on(Backend::best(), Method::Recurrence);
    testing::fill(encoding, plan, start, &mut table).unwrap();
    let row = &table[at as usize * entry.d..][..entry.d];
    let found = (
        row[entry.pair].pattern(),
        row[entry.d / 2 + entry.pair].pattern(),
    );
    assert_eq!(
        found,
        expected,
        "{}: d {} base {} {:?} pair {} position {}",
        T::NAME,
        entry.d,
        entry.base,
        entry.spacing,
        entry.pair,
        entry.position,
    );
}

/// Whole tables by digest, on every instruction set that this machine has, whole
/// and in uneven pieces.
#[test]
fn digests_on_every_instruction_set() {
    let rows = golden::rows("digests.csv");
    assert!(rows.len() >= 20, "{}", rows.len());
    for row in &rows {
        let layout = match row[3].as_str() {
            "interleaved" => SinusoidLayout::Interleaved,
            "concatenated" => SinusoidLayout::Concatenated,
            "concatenated-cos-first" => SinusoidLayout::ConcatenatedCosFirst,
            other => panic!("unknown layout {other}"),
        };
        let encoding = Sinusoidal::new(SinusoidalConfig {
            base: golden::base(row[1].parse().unwrap()),
            spacing: golden::spacing(&row[2]),
            layout,
            ..SinusoidalConfig::new(row[0].parse().unwrap())
        })
        .unwrap();
        let start = row[4].parse().unwrap();
        let count = row[5].parse().unwrap();
        let digests = match row[6].as_str() {
            "f32" => digests::<f32>(&encoding, start, count),
            "f64" => digests::<f64>(&encoding, start, count),
            "f16" => digests::<f16>(&encoding, start, count),
            "bf16" => digests::<bf16>(&encoding, start, count),
            other => panic!("unknown type {other}"),
        };
        for (name, digest) in digests {
            assert_eq!(digest, row[7], "{name}: {}", row.join(","));
        }
    }
}

fn digests<T: Element>(encoding: &Sinusoidal, start: u64, rows: usize) -> Vec<(String, String)> {
    let width = encoding.d_model();
    let mut out = vec![T::default(); rows * width];
    let mut digests = Vec::new();
    for (name, backend) in Backend::available() {
        out.fill(T::default());
        let plan = Plan::on(backend, Method::Auto);
        testing::fill(encoding, plan, start, &mut out).unwrap();
        digests.push((format!("{name}, whole"), sha256(&out)));
        out.fill(T::default());
        let mut first = 0;
        for piece in (1..).map(|n| n * 37 % 211 + 1) {
            let last = (first + piece).min(rows);
            let slice = &mut out[first * width..last * width];
            testing::fill(encoding, plan, start + first as u64, slice).unwrap();
            first = last;
            if first == rows {
                break;
            }
        }
        digests.push((format!("{name}, in pieces"), sha256(&out)));
    }
    digests
}

fn sha256<T: Element>(entries: &[T]) -> String {
    let size = std::mem::size_of::<T>();
    let mut bytes = Vec::with_capacity(std::mem::size_of_val(entries));
    for entry in entries {
        bytes.extend_from_slice(&entry.pattern().to_le_bytes()[..size]);
    }
    let digest = Sha256::digest(&bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
