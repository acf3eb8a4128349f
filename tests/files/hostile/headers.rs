//! Lengths and texts that are none.

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
