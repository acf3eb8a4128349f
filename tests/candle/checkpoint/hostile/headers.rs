//! Lengths, texts and descriptions that are none.

use super::bad::{entry, pe, zeros};
use super::*;

pub(super) fn all() -> Vec<Bad> {
    [
        lengths(),
        other_formats(),
        encodings(),
        syntax(),
        nesting(),
        repeated(),
        names(),
        dtypes(),
        shapes(),
        overflows(),
        offsets(),
        metadata(),
        numerous(),
    ]
    .concat()
}

fn good() -> String {
    format!(r#"{{"pe":{}}}"#, entry("\"F32\"", "[2,4]", "[0,32]"))
}

fn lengths() -> Vec<Bad> {
    let class = "length";
    let mut list: Vec<Bad> = (0..8)
        .map(|bytes| {
            let reason = format!("the file has {bytes} bytes, too few");
            Bad::new(class, vec![0; bytes], &reason)
        })
        .collect();
    let whole = raw(&good(), &[0; 32]);
    let header = good().len() as u64;
    for length in [
        header + 33,
        1 << 16,
        1 << 24,
        99_999_999,
        100_000_001,
        1 << 31,
        1 << 32,
        1 << 62,
        i64::MAX as u64,
        1 << 63,
        u64::MAX - 8,
        u64::MAX - 7,
        u64::MAX,
    ] {
        let mut bytes = whole.clone();
        bytes[..8].copy_from_slice(&length.to_le_bytes());
        let reason = format!("the header's length is given as {length} bytes");
        list.push(Bad::new(class, bytes, &reason));
    }
    // Within the file, but not the header's.
    for (length, reason) in [
        (0, "does not begin with '{'"),
        (1, "the header is not valid: EOF"),
        (header - 1, "the header is not valid: EOF"),
        (header + 1, "the header is not valid: trailing characters"),
        (header + 32, "the header is not valid: trailing characters"),
    ] {
        let mut bytes = whole.clone();
        bytes[..8].copy_from_slice(&u64::to_le_bytes(length));
        list.push(Bad::new(class, bytes, reason));
    }
    // The other order of bytes.
    let mut bytes = whole;
    bytes[..8].reverse();
    list.push(Bad::new(class, bytes, "(is this a safetensors file?)"));
    list
}

fn other_formats() -> Vec<Bad> {
    let class = "another format";
    let what = "is this a safetensors file?";
    let mut list: Vec<Bad> = [
        &b"<!DOCTYPE html><html><body>404</body></html>"[..],
        b"<?xml version=\"1.0\"?><Error/>",
        b"{\"error\":\"Repository not found\"}",
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
        b"GGUF\x03\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00",
        b"PK\x03\x04\x14\x00\x08\x08\x08\x00\x00\x00\x00\x00",
        b"\x1f\x8b\x08\x00\x12\x34\x56\x78\x02\xff",
        b"\x80\x02}q\x00(X\x02\x00\x00\x00peq\x01",
        b"\x93NUMPY\x01\x00v\x00{'descr': '<f4'}",
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
        b"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00",
        b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n",
        b"SQLite format 3\x00\x10\x00",
        b"\xff\xfe{\x00\"\x00p\x00e\x00\"\x00",
        b"\x89HDF\r\n\x1a\n\x00\x00\x00\x00",
        &[0xFF; 64],
    ]
    .map(|bytes| Bad::new(class, bytes.to_vec(), what))
    .into();
    list.push(Bad::new(class, vec![0; 64], "does not begin with '{'"));
    list
}

fn encodings() -> Vec<Bad> {
    let class = "encoding";
    let mut list = Vec::new();
    for bad in [
        &[0xFFu8][..],
        &[0xC0, 0x80],
        &[0xC3],
        &[0xE2, 0x82],
        &[0xED, 0xA0, 0x80],
        &[0xF0, 0x82, 0x82, 0xAC],
        &[0xF5, 0x80, 0x80, 0x80],
        &[0x80],
    ] {
        let good = good();
        let (before, after) = good.split_at(2);
        let text = [before.as_bytes(), bad, after.as_bytes()].concat();
        let length = (text.len() as u64).to_le_bytes();
        let bytes = [&length[..], &text, &[0; 32]].concat();
        list.push(Bad::new(class, bytes, "the header is not UTF-8"));
    }
    for before in ["\u{FEFF}", " ", "\n", "\t", "\0", "\u{A0}", "//\n", "x"] {
        let reason = "does not begin with '{'";
        list.push(zeros(class, &format!("{before}{}", good()), 32, reason));
    }
    list
}

fn syntax() -> Vec<Bad> {
    let class = "syntax";
    let good = good();
    let (open, close) = good.split_at(good.len() - 1);
    let mut list = vec![
        zeros(class, "", 0, "does not begin with '{'"),
        zeros(class, "[]", 0, "does not begin with '{'"),
        zeros(class, "null", 0, "does not begin with '{'"),
        zeros(class, "\"pe\"", 0, "does not begin with '{'"),
    ];
    for header in [
        "{".to_owned(),
        "{\"".to_owned(),
        "{\"pe".to_owned(),
        "{\"pe\"".to_owned(),
        "{\"pe\":".to_owned(),
        open.to_owned(),
        format!("{open},{close}"),
        format!("{{,{}", &good[1..]),
        format!("{good}{good}"),
        format!("{good}x"),
        format!("{good}\0"),
        format!("{good},"),
        good.replace('"', "'"),
        good.replace("\"pe\"", "pe"),
        good.replace("\"pe\"", "7"),
        good.replace("\"pe\"", "null"),
        good.replace(':', "="),
        good.replace("\"pe\":", "/* a comment */\"pe\":"),
        good.replace("\"pe\"", "\"p\\xe\""),
        good.replace("\"pe\"", "\"p\\u12\""),
        good.replace("\"pe\"", "\"p\\ud800\""),
        good.replace("\"pe\"", "\"p\\udc00e\""),
        good.replace("\"pe\"", "\"p\u{1}\""),
        good.replace("\"pe\"", "\"p\n\""),
    ] {
        list.push(zeros(class, &header, 32, "the header is not valid: "));
    }
    list
}

/// Nested values that the reader has to go through; those that are closed again, in a key that
/// means nothing, are let through, as the safetensors crate does.
fn nesting() -> Vec<Bad> {
    let class = "nesting";
    let good = good();
    let deep = |open: &str, close: &str, count| open.repeat(count) + &close.repeat(count);
    let unknown = |value: &str| good.replace("{\"dtype\"", &format!("{{\"x\":{value},\"dtype\""));
    let reason = "the header is not valid: ";
    vec![
        zeros(
            class,
            &format!("{{\"a\":{}", "[".repeat(100_000)),
            0,
            reason,
        ),
        zeros(class, &"{\"a\":".repeat(100_000), 0, reason),
        zeros(class, &unknown(&deep("[", "]}", 1_000)), 32, reason).of("pe"),
        zeros(class, &unknown(&"{\"a\":".repeat(1_000)), 32, reason).of("pe"),
        zeros(
            class,
            &good.replace("[2,4]", &deep("[", "]", 1_000)),
            32,
            reason,
        )
        .of("pe"),
        zeros(
            class,
            &good.replace(
                "{\"pe\"",
                &format!("{{\"__metadata__\":{},\"pe\"", "[".repeat(1_000)),
            ),
            32,
            reason,
        ),
    ]
}

fn repeated() -> Vec<Bad> {
    let class = "repeated keys";
    let one = entry("\"F32\"", "[2,4]", "[0,32]");
    let empty = entry("\"F32\"", "[0]", "[0,0]");
    let twice = "the key \"pe\" stands twice";
    let field = |name: &str| format!("duplicate field `{name}`");
    vec![
        zeros(class, &format!(r#"{{"pe":{one},"pe":{one}}}"#), 32, twice),
        zeros(class, &format!(r#"{{"pe":{one},"pe":{empty}}}"#), 32, twice),
        zeros(
            class,
            &format!(r#"{{"pe":{empty},"a":{one},"pe":{empty}}}"#),
            32,
            twice,
        ),
        zeros(
            class,
            &format!(r#"{{"pe":{one},"p\u0065":{empty}}}"#),
            32,
            twice,
        ),
        zeros(
            class,
            &format!(r#"{{"\u0070\u0065":{one},"pe":{empty}}}"#),
            32,
            twice,
        ),
        zeros(
            class,
            &format!(r#"{{"":{empty},"":{empty},"pe":{one}}}"#),
            32,
            "the key \"\" stands twice",
        ),
        zeros(
            class,
            &format!(r#"{{"__metadata__":{{}},"__metadata__":{{}},"pe":{one}}}"#),
            32,
            "the key \"__metadata__\" stands twice",
        ),
        zeros(
            class,
            &format!(r#"{{"__metadata__":null,"pe":{one},"__metadata__":{{}}}}"#),
            32,
            "the key \"__metadata__\" stands twice",
        ),
        zeros(
            class,
            &format!(r#"{{"__metadata__":{{"a":"1","a":"1"}},"pe":{one}}}"#),
            32,
            "the metadata key \"a\" stands twice",
        ),
        zeros(
            class,
            &format!(r#"{{"__metadata__":{{"a":"1","\u0061":"2"}},"pe":{one}}}"#),
            32,
            "the metadata key \"a\" stands twice",
        ),
        pe(
            class,
            &one.replace("\"dtype\"", "\"dtype\":\"F16\",\"dtype\""),
            32,
            &field("dtype"),
        ),
        pe(
            class,
            &one.replace("\"shape\"", "\"shape\":[2,4],\"shape\""),
            32,
            &field("shape"),
        ),
        pe(
            class,
            &one.replace(
                "\"data_offsets\"",
                "\"data_offsets\":[0,32],\"data_offsets\"",
            ),
            32,
            &field("data_offsets"),
        ),
    ]
}

fn names() -> Vec<Bad> {
    let class = "names";
    let one = entry("\"F32\"", "[2,4]", "[0,32]");
    let bad = entry("\"F31\"", "[2,4]", "[0,32]");
    let named = |name: &str, reason| {
        let key = serde_json::to_string(name).unwrap();
        zeros(class, &format!("{{{key}:{bad}}}"), 32, reason)
    };
    vec![
        zeros(
            class,
            &format!(r#"{{"__metadata__":{one}}}"#),
            32,
            "expected a string",
        ),
        zeros(
            class,
            &format!(r#"{{"\u005f_metadata__":{one}}}"#),
            32,
            "expected a string",
        ),
        // What the message quotes neither fills the screen nor moves its cursor.
        named(&"n".repeat(100_000), "tensor \"nnn"),
        named("a\u{1b}[2J\u{1b}]0;title\u{7}b", r#"tensor "a\u{1b}[2J"#),
        named("a\nb\rc", r#"tensor "a\nb\rc""#),
        named("a\u{202E}b", r#"tensor "a\u{202e}b""#),
        named("a\u{85}\u{2028}b", r#"tensor "a\u{85}\u{2028}b""#),
    ]
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

fn metadata() -> Vec<Bad> {
    let class = "metadata";
    let one = entry("\"F32\"", "[2,4]", "[0,32]");
    [
        ("\"a\"", "expected an object of strings"),
        ("[]", "expected an object of strings"),
        ("7", "expected an object of strings"),
        ("true", "expected an object of strings"),
        (r#"{"a":1}"#, "integer `1`, expected a string"),
        (r#"{"a":null}"#, "null, expected a string"),
        (r#"{"a":["1"]}"#, "sequence, expected a string"),
        (r#"{"a":{"b":"1"}}"#, "map, expected a string"),
        (r#"{"a":true}"#, "boolean `true`, expected a string"),
        (r#"{"a"}"#, "the header is not valid: "),
        (r#"{1:"a"}"#, "the header is not valid: "),
        (r#"{"a":"\ud800"}"#, "the header is not valid: "),
    ]
    .map(|(metadata, reason)| {
        zeros(
            class,
            &format!(r#"{{"__metadata__":{metadata},"pe":{one}}}"#),
            32,
            reason,
        )
    })
    .into()
}

fn numerous() -> Vec<Bad> {
    let class = "numerous";
    let ones = |count| format!("[{}]", vec!["1"; count].join(","));
    let keys: Vec<String> = (0..65_537).map(|n| format!("\"{n}\":\"\"")).collect();
    let keys = format!(r#"{{"__metadata__":{{{}}}}}"#, keys.join(","));
    let empty = entry("\"U8\"", "[0]", "[0,0]");
    let tensors: Vec<String> = (0..1000).map(|n| format!("\"{n}\":{empty}")).collect();
    let tensors = format!("{{{}}}", tensors.join(","));
    vec![
        pe(
            class,
            &entry("\"F32\"", &ones(65), "[0,4]"),
            4,
            "a shape of more than 64 dimensions",
        ),
        pe(
            class,
            &entry("\"F32\"", &ones(100_000), "[0,4]"),
            4,
            "a shape of more than 64 dimensions",
        ),
        pe(
            class,
            &entry("\"F32\"", &ones(64), "[0,4]"),
            4,
            "is not [T, d], [1, T, d] or [T, 1, d]",
        ),
        zeros(class, &keys, 0, "more than 65536 metadata keys"),
        zeros(class, &tensors, 0, "and 984 more"),
        zeros(
            class,
            &tensors,
            1,
            "describes 0 bytes of data, the file holds 1",
        ),
    ]
}
