//! The cases of `refused.txt` as files.

use pe_candle::checkpoint::RotarySpec;
use pe_core::{RopeScaling, RotaryConfig, YarnScaling};
use pe_tests::table::{Row, rows};

use super::bad::{By, entry, zeros};
use super::*;

pub(super) fn all() -> Vec<Bad> {
    let goods = [additive(), rotary(), yarn()];
    let rows = rows(include_str!("refused.txt"));
    rows.iter().map(|row| bad(row, &goods)).collect()
}

fn bad(row: &Row<'static>, goods: &[Good; 3]) -> Bad {
    let mut heading = row.heading.split(" | ");
    let (class, kind) = (heading.next().unwrap(), heading.next().unwrap());
    let case = heading
        .next()
        .unwrap_or("%")
        .replace('%', &expanded(row.left));
    let says: Vec<String> = row.right.split(" | ").map(str::to_owned).collect();
    let (kind, argument) = kind.split_once(' ').unwrap_or((kind, ""));
    if kind == "header" {
        let data = argument.parse().unwrap();
        let file = zeros(class, &described(&case), data, "");
        return Bad { says, ..file };
    }
    let name = if kind == "text" { "additive" } else { argument };
    let good = goods.iter().find(|good| good.name == name).unwrap();
    let text = if kind == "text" {
        case
    } else {
        let (from, to) = row.left.split_once(" -> ").unwrap();
        assert!(good.text.contains(from), "{} {from}", good.text);
        good.text.replacen(from, to, 1)
    };
    if kind == "json" || row.heading.ends_with("| text") {
        let error = (good.parse)(&text).unwrap_err().to_string();
        assert_eq!(error.matches("specification: ").count(), 1, "{error}");
        assert!(error.starts_with("specification: "), "{error}");
        assert!(says.iter().all(|words| error.contains(words)), "{error}");
    }
    let bytes = with(&good.bytes, &text);
    let by = good.by;
    Bad {
        says,
        by,
        ..Bad::new(class, bytes, "")
    }
}

/// Writes out `⟨...⟩`.
fn expanded(text: &str) -> String {
    let mut parts = text.split('⟨');
    let mut all = parts.next().unwrap().to_owned();
    for part in parts {
        let (sign, rest) = part.split_once('⟩').unwrap();
        if let Some(code) = sign.strip_prefix('u') {
            all.extend(char::from_u32(u32::from_str_radix(code, 16).unwrap()));
        } else if let Some((count, text)) = sign.split_once('×') {
            all += &text.repeat(count.parse().unwrap());
        } else {
            let (count, text) = sign.split_once(',').unwrap();
            let copies = (0..count.parse().unwrap()).map(|n: usize| match text.contains('#') {
                true => text.replace('#', &n.to_string()),
                false => text.to_owned(),
            });
            all += &copies.collect::<Vec<_>>().join(",");
        }
        all += rest;
    }
    all
}

/// Writes out `@one` and `@DTYPE SHAPE OFFSETS@`.
fn described(header: &str) -> String {
    let one = entry("\"F32\"", "[2,4]", "[0,32]");
    let header = header.replace("@one", &one);
    let mut parts = header.split('@');
    let mut all = parts.next().unwrap().to_owned();
    while let Some(part) = parts.next() {
        let [dtype, shape, offsets] = part.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{part}");
        };
        all += &entry(&format!("{dtype:?}"), shape, offsets);
        all += parts.next().unwrap();
    }
    all
}

/// A file, its specification, and their readers.
struct Good {
    name: &'static str,
    bytes: Vec<u8>,
    text: String,
    parse: fn(&str) -> candle_core::Result<()>,
    by: By,
}

fn additive() -> Good {
    let spec = spec(4, 2);
    Good {
        name: "additive",
        bytes: exported(&spec),
        text: spec.to_json().unwrap(),
        parse: |text| SinusoidalSpec::from_json(text).map(|_| ()),
        by: By::Load,
    }
}

fn of_rotary(name: &'static str, spec: &RotarySpec) -> Good {
    Good {
        name,
        bytes: exported(spec),
        text: spec.to_json().unwrap(),
        parse: |text| RotarySpec::from_json(text).map(|_| ()),
        by: By::LoadRotary,
    }
}

fn rotary() -> Good {
    let scaling = RopeScaling::Linear { factor: 2.0 };
    let config = RotaryConfig {
        scaling,
        ..RotaryConfig::new(8)
    };
    of_rotary(
        "rotary",
        &RotarySpec::new(config, 0, 3, DType::F32).unwrap(),
    )
}

fn yarn() -> Good {
    let config = RotaryConfig {
        base: 12345.678,
        scaling: RopeScaling::Yarn(YarnScaling::new(8.0, 32)),
        ..RotaryConfig::new(16)
    };
    of_rotary("yarn", &RotarySpec::new(config, 0, 4, DType::F32).unwrap())
}

/// Returns the file with another specification.
fn with(good: &[u8], text: &str) -> Vec<u8> {
    let length = u64::from_le_bytes(good[..8].try_into().unwrap()) as usize;
    let mut header: serde_json::Value = serde_json::from_slice(&good[8..8 + length]).unwrap();
    header["__metadata__"][checkpoint::METADATA_KEY] = text.into();
    raw(&header.to_string(), &good[8 + length..])
}

fn exported<S: checkpoint::Scheme>(spec: &checkpoint::Spec<S>) -> Vec<u8> {
    let (_dir, path) = temp();
    checkpoint::export(&path, spec).unwrap();
    fs::read(path).unwrap()
}

/// Rotary files that are more than a change of the specification.
pub(super) fn rotary_tensors() -> Vec<Bad> {
    let class = "rotary tables";
    let good = rotary().bytes;
    let length = u64::from_le_bytes(good[..8].try_into().unwrap()) as usize;
    let header = std::str::from_utf8(&good[8..8 + length]).unwrap();
    // A tensor by another name.
    let mut list: Vec<Bad> = ["cos", "sin", "inv_freq"]
        .map(|name| {
            let header = header.replacen(&format!("\"{name}\":"), "\"other\":", 1);
            Bad::new(class, raw(&header, &good[8 + length..]), "no tensor ").of(name)
        })
        .into();
    let mut bytes = good.clone();
    let end = bytes.len();
    bytes[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    let reason = "tensor \"sin\": the entry at row 2, column 3 is NaN";
    list.push(Bad::new(class, bytes, reason));
    // An additive table, a table without a specification, and a rotary one read as additive.
    list.push(Bad::new(class, exported(&spec(8, 3)), "was asked for"));
    let plain = foreign(&[("cos", &exact(4, 3, DType::F32))]);
    let reason = "no specification of a rotary table";
    list.push(Bad::new(class, plain, reason));
    for file in &mut list {
        file.by = By::LoadRotary;
    }
    list.push(Bad::new(class, good, "was asked for"));
    list
}
