//! Specifications that are none, or of another table than the one they stand with.

use super::bad::By;
use super::*;
use pe_candle::checkpoint::RotarySpec;
use pe_core::{RopeScaling, RotaryConfig};

pub(super) fn all() -> Vec<Bad> {
    [texts(), additive(), rotary()].concat()
}

/// A file whose specification is replaced, whatever its length.
fn with(good: &[u8], edit: impl FnOnce(String) -> String) -> Vec<u8> {
    let length = u64::from_le_bytes(good[..8].try_into().unwrap()) as usize;
    let mut header: serde_json::Value = serde_json::from_slice(&good[8..8 + length]).unwrap();
    let place = &mut header["__metadata__"][checkpoint::METADATA_KEY];
    let edited = edit(place.as_str().unwrap().to_owned());
    *place = edited.into();
    raw(&header.to_string(), &good[8 + length..])
}

fn exported(spec: &SinusoidalSpec) -> Vec<u8> {
    let (_dir, path) = temp();
    checkpoint::export(&path, spec).unwrap();
    fs::read(path).unwrap()
}

fn exported_rotary(spec: &RotarySpec) -> Vec<u8> {
    let (_dir, path) = temp();
    checkpoint::export(&path, spec).unwrap();
    fs::read(path).unwrap()
}

fn texts() -> Vec<Bad> {
    let good = exported(&spec(4, 2));
    let mut list: Vec<Bad> = [
        ("", "EOF"),
        ("null", "invalid type: null"),
        ("true", "invalid type: boolean"),
        ("7", "invalid type: integer"),
        ("[]", "invalid type: sequence"),
        ("[1,\"sinusoidal\"]", "invalid type: sequence"),
        ("{}", "missing field `format`"),
        ("{\"format\":1}", "missing field `scheme`"),
        ("{\"format\":1,\"scheme\":\"\"}", "the scheme is \"\", "),
        (
            "{\"format\":1,\"scheme\":\"sinusoidal\"}",
            "missing field `config`",
        ),
        ("{\"format\":\u{1}", "expected value"),
        ("not json", "expected ident"),
        (
            "{\"format\":1,\"scheme\":\"sinusoidal\"} x",
            "trailing characters",
        ),
    ]
    .map(|(text, reason)| {
        let bytes = with(&good, |_| text.to_owned());
        Bad::new(
            "specification text",
            bytes,
            &format!("specification: {reason}"),
        )
    })
    .into();
    let deep = format!("{{\"format\":1,\"x\":{}", "[".repeat(10_000));
    list.push(Bad::new(
        "specification text",
        with(&good, |_| deep),
        "EOF while parsing a list",
    ));
    let long = " ".repeat((16 << 20) + 1);
    list.push(Bad::new(
        "specification text",
        with(&good, |_| long),
        "16777217 bytes of text, above the limit of 16777216",
    ));
    for (from, to, reason) in [
        ("\"format\":1", "\"format\":0", "format 0 is not known"),
        ("\"format\":1", "\"format\":2", "format 2 is not known"),
        ("\"format\":1", "\"format\":-1", "integer `-1`"),
        ("\"format\":1", "\"format\":1.0", "floating point `1.0`"),
        (
            "\"format\":1",
            "\"format\":1,\"format\":1",
            "duplicate field `format`",
        ),
        (
            "\"sinusoidal\"",
            "\"Sinusoidal\"",
            "the scheme is \"Sinusoidal\", \"sinusoidal\" was asked for",
        ),
        (
            "\"sinusoidal\"",
            "\"\\u001b[2J\"",
            r#"the scheme is "\u{1b}[2J", "sinusoidal" was asked for"#,
        ),
        ("\"sinusoidal\"", "\"rotary\"", "was asked for"),
        ("\"sinusoidal\"", "null", "invalid type: null"),
        (
            "\"start\":0",
            "\"start\":0,\"stop\":2",
            "unknown field `stop`",
        ),
        (
            "\"start\":0",
            "\"start\":0,\"\\u001b[2J\":2",
            "unknown field `",
        ),
        ("\"start\":0,", "", "missing field `start`"),
        ("\"start\":0", "\"start\":-1", "integer `-1`"),
        ("\"start\":0", "\"start\":1e3", "floating point `1000.0`"),
        ("\"start\":0", "\"start\":4294967295", "run past 4294967296"),
        (
            "\"start\":0",
            "\"start\":18446744073709551615",
            "run past 4294967296",
        ),
        ("\"rows\":2", "\"rows\":4294967297", "run past 4294967296"),
        (
            "\"rows\":2",
            "\"rows\":18446744073709551616",
            "floating point",
        ),
        ("\"d_model\":4", "\"d_model\":0", "d_model 0 is outside"),
        ("\"d_model\":4", "\"d_model\":3", "d_model 3 is odd"),
        (
            "\"d_model\":4",
            "\"d_model\":1048578",
            "d_model 1048578 is outside",
        ),
        ("\"d_model\":4,", "", "missing field `d_model`"),
        (
            "\"d_model\":4",
            "\"d_model\":4,\"theta\":1",
            "unknown field `theta`",
        ),
        ("{\"value\":10000.0}", "{\"value\":0}", "base 0"),
        ("{\"value\":10000.0}", "{\"value\":-1}", "base -1"),
        (
            "{\"value\":10000.0}",
            "{\"value\":1e999}",
            "number out of range",
        ),
        (
            "{\"value\":10000.0}",
            "{\"value\":\"10000\"}",
            "invalid type: string",
        ),
        ("{\"value\":10000.0}", "{\"min_rate\":0}", "0"),
        ("{\"value\":10000.0}", "{}", "expected value"),
        (
            "{\"value\":10000.0}",
            "{\"value\":1,\"min_rate\":1}",
            "expected value",
        ),
        ("{\"value\":10000.0}", "{\"value\":5e-324}", "frequency"),
        (
            "\"interleaved\"",
            "\"sideways\"",
            "unknown variant `sideways`",
        ),
        ("\"paper\"", "{\"shifted\":2}", "shift"),
        ("\"paper\"", "{\"shifted\":null}", "invalid type: null"),
        ("\"exact\"", "\"about\"", "unknown variant `about`"),
        ("\"f32\"", "\"f8\"", "dtype \"f8\" is not one of"),
        ("\"f32\"", "\"F32\"", "dtype \"F32\" is not one of"),
    ] {
        let edited = with(&good, |text| {
            assert!(text.contains(from), "{text} {from}");
            text.replacen(from, to, 1)
        });
        let bad = Bad::new("specification values", edited, "specification: ");
        list.push(Bad {
            reason: reason.to_owned(),
            ..bad
        });
    }
    list
}

fn additive() -> Vec<Bad> {
    let class = "another table";
    let good = exported(&spec(4, 2));
    [
        (
            "\"rows\":2",
            "\"rows\":3",
            "the specification says rows 3, the tensor has 2",
        ),
        (
            "\"rows\":2",
            "\"rows\":0",
            "the specification says rows 0, the tensor has 2",
        ),
        (
            "\"d_model\":4",
            "\"d_model\":6",
            "the specification says d_model 6, the tensor has 4",
        ),
        (
            "\"d_model\":4",
            "\"d_model\":1048576",
            "the specification says d_model 1048576, the tensor has 4",
        ),
        (
            "\"f32\"",
            "\"bf16\"",
            "the specification says dtype bf16, the tensor has f32",
        ),
        (
            "\"f32\"",
            "\"f64\"",
            "the specification says dtype f64, the tensor has f32",
        ),
        (
            "\"start\":0",
            "\"start\":1",
            "entries are wrong, the first at position 1, column 0",
        ),
        (
            "10000.0",
            "9999.0",
            "entries are wrong, the first at position 1, column 2",
        ),
        (
            "10000.0",
            "10000.1",
            "entries are wrong, the first at position 1, column 2",
        ),
        (
            "\"interleaved\"",
            "\"concatenated\"",
            "entries are wrong, the first at position 0, column 1",
        ),
        (
            "\"paper\"",
            "\"inclusive\"",
            "entries are wrong, the first at position 1, column 2",
        ),
        (
            "\"padding_idx\":null",
            "\"padding_idx\":0",
            "entries are wrong, the first at position 0, column 1",
        ),
    ]
    .map(|(from, to, reason)| {
        let edited = with(&good, |text| {
            assert!(text.contains(from), "{text} {from}");
            text.replacen(from, to, 1)
        });
        Bad::new(class, edited, reason).of("pe")
    })
    .into()
}

fn rotary() -> Vec<Bad> {
    let class = "rotary tables";
    let config = RotaryConfig {
        scaling: RopeScaling::Linear { factor: 2.0 },
        ..RotaryConfig::new(8)
    };
    let spec = RotarySpec::new(config, 0, 3, DType::F32).unwrap();
    let good = exported_rotary(&spec);
    let mut list: Vec<Bad> = [
        ("\"rotary\"", "\"sinusoidal\"", "was asked for"),
        ("\"rotary_dim\":8", "\"rotary_dim\":7", "rotary_dim 7"),
        ("\"rotary_dim\":8", "\"rotary_dim\":0", "rotary_dim 0"),
        (
            "\"rotary_dim\":8",
            "\"rotary_dim\":6",
            "tensor \"cos\": the specification says rotary_dim/2 3, the tensor has 4",
        ),
        (
            "\"rows\":3",
            "\"rows\":4",
            "tensor \"cos\": the specification says rows 4, the tensor has 3",
        ),
        ("\"f32\"", "\"f16\"", "tensor \"cos\": the specification says dtype f16, the tensor has f32"),
        ("\"factor\":2.0", "\"factor\":0", "factor"),
        (
            "\"factor\":2.0",
            "\"factor\":2.5",
            "tensor \"inv_freq\": by the file's own specification, 20 of 28 entries are wrong, the first at column 0",
        ),
        ("\"factor\":2.0", "\"factor\":null", "invalid type: null"),
        ("\"linear\"", "\"cubic\"", "unknown variant `cubic`"),
        (
            "10000.0",
            "20000.0",
            "entries are wrong, the first at column 1",
        ),
        (
            "\"start\":0",
            "\"start\":2",
            "entries are wrong, the first at position 2, column 0",
        ),
        ("\"start\":0", "\"start\":4294967296", "run past 4294967296"),
        ("\"seq_len\":null", "\"seq_len\":4", "do not depend on it"),
        (
            "\"attention_factor\":1.0",
            "\"attention_factor\":2.0",
            "attention_factor 2.0 is given, that of the configuration is 1.0",
        ),
        (
            "\"attention_factor\":1.0",
            "\"attention_factor\":null",
            "invalid type: null",
        ),
        (
            ",\"attention_factor\":1.0",
            "",
            "missing field `attention_factor`",
        ),
    ]
    .map(|(from, to, reason)| {
        let edited = with(&good, |text| {
            assert!(text.contains(from), "{text} {from}");
            text.replacen(from, to, 1)
        });
        Bad::new(class, edited, reason).rotary()
    })
    .into();
    // A tensor that is not there, or by another name.
    for name in ["cos", "sin", "inv_freq"] {
        let length = u64::from_le_bytes(good[..8].try_into().unwrap()) as usize;
        let header = std::str::from_utf8(&good[8..8 + length]).unwrap();
        let header = header.replacen(&format!("\"{name}\":"), "\"other\":", 1);
        let bytes = raw(&header, &good[8 + length..]);
        list.push(Bad::new(class, bytes, "no tensor ").of(name).rotary());
    }
    // NaN where a cosine is due.
    let mut bytes = good.clone();
    let end = bytes.len();
    bytes[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    list.push(
        Bad::new(
            class,
            bytes,
            "tensor \"sin\": the entry at row 2, column 3 is NaN",
        )
        .rotary(),
    );
    // An additive table, a table without a word, and a rotary one asked for as an additive.
    list.push(Bad::new(class, exported(&super::spec(8, 3)), "was asked for").rotary());
    let plain = foreign(&[("cos", &exact(4, 3, DType::F32))]);
    list.push(Bad::new(class, plain, "no specification of a rotary table").rotary());
    list.push(Bad {
        by: By::Load,
        ..Bad::new(class, good, "was asked for")
    });
    list
}
