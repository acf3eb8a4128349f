//! Malformed lengths, and headers that are not UTF-8. The other headers are in `refused.txt`.

use super::bad::entry;
use super::*;

pub(super) fn all() -> Vec<Bad> {
    [lengths(), other_formats(), encodings()].concat()
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
    let short = [&3u64.to_le_bytes()[..], b"{}"].concat();
    list.push(Bad::new(
        class,
        short,
        "the header's length is given as 3 bytes",
    ));
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
        b"<!DOCTYPE html><html>",
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
    let bytes = [&2u64.to_le_bytes()[..], b"{\xff"].concat();
    list.push(Bad::new(class, bytes, "the header is not UTF-8"));
    list
}
