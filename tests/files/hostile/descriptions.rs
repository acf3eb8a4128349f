//! Tensors described by what describes none: types, shapes, places.

use super::bad::{entry, pe, zeros};
use super::*;

pub(super) fn all() -> Vec<Bad> {
    [dtypes(), shapes(), overflows(), offsets()].concat()
}

fn dtypes() -> Vec<Bad> {
    let class = "dtypes";
    let mut list = Vec::new();
    for dtype in [
        "\"F33\"",
        "\"f32\"",
        "\"F32 \"",
        "\"\"",
        "\"float32\"",
        "\"F32\\u0000\"",
        "\"F128\"",
        "\"\\u001b[31mF32\"",
    ] {
        let entry = entry(dtype, "[2,4]", "[0,32]");
        list.push(pe(class, &entry, 32, "unknown variant `"));
    }
    for dtype in ["7", "null", "true", "[\"F32\"]", "[]", "{}", "1e3"] {
        let entry = entry(dtype, "[2,4]", "[0,32]");
        list.push(pe(
            class,
            &entry,
            32,
            "the header is not valid: tensor \"pe\": ",
        ));
    }
    let long = format!("\"{}\"", "F".repeat(100_000));
    list.push(pe(
        class,
        &entry(&long, "[2,4]", "[0,32]"),
        32,
        "unknown variant `FFF",
    ));
    list.push(pe(
        class,
        r#"{"shape":[2,4],"data_offsets":[0,32]}"#,
        32,
        "missing field `dtype`",
    ));
    list
}

fn shapes() -> Vec<Bad> {
    let class = "shapes";
    let mut list = Vec::new();
    for (shape, reason) in [
        ("[2,-4]", "integer `-4`"),
        ("[-0.0,4]", "floating point `-0.0`"),
        ("[2,4.0]", "floating point `4.0`"),
        ("[2,4e0]", "floating point `4.0`"),
        ("[2,\"4\"]", "string \"4\""),
        ("[2,null]", "invalid type: null"),
        ("[2,[4]]", "invalid type: sequence"),
        ("[2,true]", "boolean `true`"),
        ("[2,18446744073709551616]", "invalid type: floating point"),
        ("[2,1e400]", "number out of range"),
        ("[2,04]", "the header is not valid: "),
        ("[2,+4]", "the header is not valid: "),
        ("[2,0x4]", "the header is not valid: "),
        ("[2,NaN]", "the header is not valid: "),
        ("[2,]", "trailing comma"),
        ("{}", "invalid type: map"),
        ("8", "integer `8`"),
        ("\"[2,4]\"", "expected a list of dimensions"),
        ("null", "invalid type: null"),
        ("[2,5]", "[2, 5] of F32 needs 40 bytes, the offsets give 32"),
        ("[2,3]", "[2, 3] of F32 needs 24 bytes, the offsets give 32"),
        ("[]", "[] of F32 needs 4 bytes, the offsets give 32"),
        ("[0,4]", "[0, 4] of F32 needs 0 bytes, the offsets give 32"),
        ("[2,4,0]", "needs 0 bytes, the offsets give 32"),
        ("[8]", "shape [8] is not [T, d], [1, T, d] or [T, 1, d]"),
        ("[2,2,2]", "shape [2, 2, 2] is not"),
        ("[1,1,2,4]", "shape [1, 1, 2, 4] is not"),
    ] {
        list.push(pe(class, &entry("\"F32\"", shape, "[0,32]"), 32, reason));
    }
    list.push(pe(
        class,
        r#"{"dtype":"F32","data_offsets":[0,32]}"#,
        32,
        "missing field `shape`",
    ));
    list.push(pe(
        class,
        &entry("\"F32\"", "[0,0]", "[0,0]"),
        0,
        "the width 0 is outside",
    ));
    list.push(pe(
        class,
        &entry("\"F32\"", "[4,0]", "[0,0]"),
        0,
        "the width 0 is outside",
    ));
    list.push(pe(
        class,
        &entry("\"F32\"", "[0,1048577]", "[0,0]"),
        0,
        "the width 1048577 is outside",
    ));
    list
}

fn overflows() -> Vec<Bad> {
    let class = "overflows";
    let mut list = Vec::new();
    for shape in [
        "[4294967296,4294967296]",
        "[18446744073709551615,2]",
        "[2305843009213693951,4]",
        "[576460752303423488,1]",
        "[9223372036854775808,2]",
        "[65536,65536,65536,65536]",
        "[4294967296,4294967296,0]",
    ] {
        for dtype in ["\"F32\"", "\"F64\""] {
            list.push(pe(
                class,
                &entry(dtype, shape, "[0,32]"),
                32,
                "the number of elements of shape",
            ));
        }
    }
    for (shape, offsets, reason) in [
        // Sums that come round to what fits.
        (
            "[2,4]",
            "[18446744073709551584,18446744073709551615]",
            "the offsets give 31",
        ),
        (
            "[]",
            "[18446744073709551611,18446744073709551615]",
            "where byte 0 is due",
        ),
        (
            "[0,4]",
            "[18446744073709551615,18446744073709551615]",
            "where byte 0 is due",
        ),
        (
            "[0,9223372036854775808]",
            "[0,0]",
            "the width 9223372036854775808 is outside",
        ),
    ] {
        let data = if offsets == "[0,0]" { 0 } else { 32 };
        list.push(pe(class, &entry("\"F32\"", shape, offsets), data, reason));
    }
    // Two tensors whose bytes add up to 2^64 and more.
    let half = 1u64 << 63;
    let header = format!(
        r#"{{"a":{},"pe":{}}}"#,
        entry("\"U8\"", &format!("[{half}]"), &format!("[0,{half}]")),
        entry(
            "\"U8\"",
            &format!("[{}]", half - 1),
            &format!("[{half},{}]", u64::MAX)
        ),
    );
    list.push(zeros(class, &header, 32, "the number of elements of shape").of("a"));
    let eighth = (1u64 << 60) - 1;
    let header = format!(
        r#"{{"pe":{}}}"#,
        entry("\"U8\"", &format!("[{eighth}]"), &format!("[0,{eighth}]")),
    );
    list.push(zeros(
        class,
        &header,
        32,
        "describes 1152921504606846975 bytes of data",
    ));
    list
}

fn offsets() -> Vec<Bad> {
    let class = "offsets";
    let mut list = Vec::new();
    for (offsets, reason) in [
        ("[0]", "invalid length 1"),
        ("[]", "invalid length 0"),
        ("[0,16,32]", "the header is not valid: "),
        ("32", "integer `32`"),
        ("{}", "invalid type: map"),
        ("null", "invalid type: null"),
        ("[0,\"32\"]", "string \"32\""),
        ("[0,32.0]", "floating point `32.0`"),
        ("[-1,31]", "integer `-1`"),
        ("[0,null]", "invalid type: null"),
        ("[32,0]", "ends at byte 0, before its begin at byte 32"),
        (
            "[18446744073709551615,0]",
            "ends at byte 0, before its begin",
        ),
        ("[0,31]", "the offsets give 31"),
        ("[0,33]", "the offsets give 33"),
        (
            "[1,33]",
            "begins at byte 1 of the data, where byte 0 is due",
        ),
        (
            "[4,36]",
            "begins at byte 4 of the data, where byte 0 is due",
        ),
    ] {
        list.push(pe(class, &entry("\"F32\"", "[2,4]", offsets), 32, reason));
    }
    list.push(pe(
        class,
        r#"{"dtype":"F32","shape":[2,4]}"#,
        32,
        "missing field `data_offsets`",
    ));
    for (class, at, data, reason) in [
        (
            "overlaps",
            [0, 4],
            32,
            "tensor \"b\": begins at byte 0 of the data, where byte 4 is due",
        ),
        (
            "overlaps",
            [1, 5],
            33,
            "begins at byte 1 of the data, where byte 4 is due",
        ),
        (
            "overlaps",
            [3, 7],
            35,
            "begins at byte 3 of the data, where byte 4 is due",
        ),
        (
            "gaps",
            [5, 9],
            41,
            "begins at byte 5 of the data, where byte 4 is due",
        ),
        (
            "gaps",
            [40, 44],
            44,
            "tensor \"pe\": begins at byte 4 of the data, where byte 0 is due",
        ),
    ] {
        let b = entry("\"U8\"", "[4]", &format!("[{},{}]", at[0], at[1]));
        let pe = match at[0] {
            40 => entry("\"F32\"", "[2,4]", "[4,36]"),
            _ => entry("\"F32\"", "[2,4]", &format!("[{},{}]", at[1], at[1] + 32)),
        };
        let a = entry("\"U8\"", "[4]", "[0,4]");
        let header = match at[0] {
            40 => format!(r#"{{"pe":{pe},"b":{b}}}"#),
            _ => format!(r#"{{"a":{a},"b":{b},"pe":{pe}}}"#),
        };
        list.push(zeros(class, &header, data, reason));
    }
    // The same bytes twice, and one tensor inside another.
    let one = entry("\"F32\"", "[2,4]", "[0,32]");
    let inside = entry("\"U8\"", "[8]", "[8,16]");
    for other in [&one, &inside] {
        let header = format!(r#"{{"a":{one},"pe":{other}}}"#);
        list.push(zeros("overlaps", &header, 32, "where byte 32 is due"));
    }
    // An empty tensor in the middle of another.
    let empty = entry("\"U8\"", "[0]", "[16,16]");
    let header = format!(r#"{{"a":{empty},"pe":{one}}}"#);
    list.push(zeros(
        "overlaps",
        &header,
        32,
        "tensor \"a\": begins at byte 16 of the data, where byte 32 is due",
    ));
    let beyond = entry("\"U8\"", "[0]", "[33,33]");
    let header = format!(r#"{{"a":{beyond},"pe":{one}}}"#);
    list.push(zeros(
        "gaps",
        &header,
        32,
        "tensor \"a\": begins at byte 33",
    ));
    list
}
