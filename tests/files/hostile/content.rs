//! Well-formed headers over content that does not fit.

use super::bad::{entry, pe, zeros};
use super::*;

pub(super) fn all() -> Vec<Bad> {
    [sizes(), ends(), types(), entries()].concat()
}

/// Types, their bits, and whether a table can be of them.
const TYPES: [(&str, usize, bool); 14] = [
    ("BOOL", 8, false),
    ("U8", 8, false),
    ("I8", 8, false),
    ("I16", 16, false),
    ("U16", 16, false),
    ("I32", 32, false),
    ("U32", 32, false),
    ("I64", 64, false),
    ("U64", 64, false),
    ("F16", 16, true),
    ("BF16", 16, true),
    ("F32", 32, true),
    ("F64", 64, true),
    ("F8_E4M3", 8, true),
];

fn sizes() -> Vec<Bad> {
    let class = "sizes";
    let mut list = Vec::new();
    for (dtype, bits, _) in TYPES {
        let needed = bits;
        let given = needed + 1;
        let entry = entry(&format!("\"{dtype}\""), "[2,4]", &format!("[0,{given}]"));
        let reason = format!("[2, 4] of {dtype} needs {needed} bytes, the offsets give {given}");
        list.push(pe(class, &entry, given, &reason));
    }
    // Types of less than a byte, and a number of elements that fills none.
    for dtype in ["F4", "F6_E2M3", "F6_E3M2"] {
        let entry = entry(&format!("\"{dtype}\""), "[3]", "[0,2]");
        list.push(pe(class, &entry, 2, "[3] of "));
    }
    list
}

fn ends() -> Vec<Bad> {
    let one = format!(r#"{{"pe":{}}}"#, entry("\"F32\"", "[2,4]", "[0,32]"));
    let describes = |data| format!("describes 32 bytes of data, the file holds {data}");
    let mut list: Vec<Bad> = [0, 1, 8, 16, 31]
        .map(|data| zeros("data missing", &one, data, &describes(data)))
        .into();
    list.extend(
        [33, 36, 40, 64, 1 << 20].map(|data| zeros("trailing data", &one, data, &describes(data))),
    );
    // A second file behind the first, as some archives have it.
    let twice = [raw(&one, &[0; 32]), raw(&one, &[0; 32])].concat();
    let reason = format!("the file holds {}", twice.len() - 8 - one.len());
    list.push(Bad::new("trailing data", twice, &reason));
    list
}

fn types() -> Vec<Bad> {
    let class = "types of no table";
    let mut list = Vec::new();
    for (dtype, bits, table) in TYPES {
        if !table {
            let bytes = bits;
            let entry = entry(&format!("\"{dtype}\""), "[2,4]", &format!("[0,{bytes}]"));
            let reason = format!("elements of type {dtype} are not those of a table");
            list.push(pe(class, &entry, bytes, &reason));
        }
    }
    list
}

/// NaN, infinities, and entries a bit away from what the file says they are.
fn entries() -> Vec<Bad> {
    let mut list = Vec::new();
    let (_dir, path) = temp();
    for dtype in FLOATS {
        let spec = spec_of(4, 0, 3, dtype);
        checkpoint::export(&path, &spec).unwrap();
        let good = fs::read(&path).unwrap();
        let size = dtype.size_in_bytes();
        let data = good.len() - 12 * size;
        let place = |row: usize, column: usize| data + (4 * row + column) * size;
        for (row, column, bit) in [(0, 0, 0), (1, 2, 0), (2, 3, 8 * size - 1), (2, 1, 5)] {
            let mut bytes = good.clone();
            bytes[place(row, column) + bit / 8] ^= 1 << (bit % 8);
            let reason =
                format!("1 of 12 entries are wrong, the first at position {row}, column {column}");
            list.push(Bad::new("wrong entries", bytes, &reason).of("pe"));
        }
        // Without the specification, nothing but the values tells.
        let header = format!(
            r#"{{"x":{{"dtype":"{}","shape":[3,4],"data_offsets":[0,{}]}}}}"#,
            dtype.as_str().to_uppercase(),
            12 * size
        );
        let plain = raw(&header, &good[data..]);
        let data = plain.len() - 12 * size;
        let fraction = match dtype {
            DType::F64 => 52,
            DType::F32 => 23,
            DType::F16 => 10,
            _ => 7,
        };
        let exponent = ((1u64 << (8 * size - 1)) - 1) >> fraction << fraction;
        let sign = 1u64 << (8 * size - 1);
        for (at, (pattern, shown)) in [
            (exponent, "inf"),
            (exponent | sign, "-inf"),
            (exponent | 1, "NaN"),
            (exponent | sign | 1 << (fraction - 1), "NaN"),
        ]
        .into_iter()
        .enumerate()
        {
            let mut bytes = plain.clone();
            let place = data + (4 * 2 + at) * size;
            bytes[place..place + size].copy_from_slice(&pattern.to_le_bytes()[..size]);
            let reason = format!("the entry at row 2, column {at} is {shown}");
            list.push(Bad::new("not finite", bytes, &reason).of("x"));
        }
    }
    // The one NaN of F8_E4M3, and those of F8_E5M2.
    for (dtype, byte, shown) in [
        ("F8_E4M3", 0x7F, "NaN"),
        ("F8_E4M3", 0xFF, "NaN"),
        ("F8_E5M2", 0x7C, "inf"),
        ("F8_E5M2", 0xFD, "NaN"),
    ] {
        let header = format!(r#"{{"x":{{"dtype":"{dtype}","shape":[1,2],"data_offsets":[0,2]}}}}"#);
        let reason = format!("the entry at row 0, column 1 is {shown}");
        list.push(Bad::new("not finite", raw(&header, &[0, byte]), &reason).of("x"));
    }
    list
}
