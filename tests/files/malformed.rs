//! Files that are not well-formed.

use super::*;
use crate::again;
use pe_core::MAX_D_MODEL;

#[test]
fn malformed_headers_are_errors_that_name_the_reason() {
    let (_dir, path) = temp();
    let pe = r#""pe":{"dtype":"F32","shape":[2,4],"data_offsets":[0,32]}"#;
    let nothing = [0u8; 32];
    let long = "[".repeat(100_000);
    let cases: Vec<(String, &[u8], &str)> = vec![
        (String::new(), &[], "does not begin with '{'"),
        (format!(" {{{pe}}}"), &nothing, "does not begin with '{'"),
        ("null".to_owned(), &[], "does not begin with '{'"),
        ("{".to_owned(), &[], "the header is not valid"),
        (format!("{{{pe}}} x"), &nothing, "trailing characters"),
        (format!("{{{pe}}}\0"), &nothing, "trailing characters"),
        (format!("{{{pe},{pe}}}"), &nothing, "the key \"pe\" stands twice"),
        (format!(r#"{{{pe},"p\u0065":{{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}}}"#), &nothing, "stands twice"),
        (format!(r#"{{"__metadata__":{{}},"__metadata__":{{}},{pe}}}"#), &nothing, "the key \"__metadata__\" stands twice"),
        (format!(r#"{{"__metadata__":{{"a":"1","a":"2"}},{pe}}}"#), &nothing, "the metadata key \"a\" stands twice"),
        (format!(r#"{{"__metadata__":{{"a":1}},{pe}}}"#), &nothing, "invalid type: integer `1`, expected a string"),
        (format!(r#"{{"__metadata__":"a",{pe}}}"#), &nothing, "expected an object of strings"),
        (pe.replace(":{", ":[{").replace('}', "}]").replace("\"pe\"", "{\"pe\"") + "}", &nothing, "tensor \"pe\": invalid"),
        (format!("{{{}}}", pe.replace("F32", "F33")), &nothing, "unknown variant `F33`"),
        (format!("{{{}}}", pe.replace("\"F32\"", "7")), &nothing, "tensor \"pe\": "),
        (format!("{{{}}}", pe.replace("[2,4]", "[2,-4]")), &nothing, "integer `-4`"),
        (format!("{{{}}}", pe.replace("[2,4]", "[2,4.0]")), &nothing, "floating point `4.0`"),
        (format!("{{{}}}", pe.replace("[2,4]", "[2,1e2]")), &nothing, "floating point"),
        (format!("{{{}}}", pe.replace("[2,4]", "{}")), &nothing, "tensor \"pe\": invalid type: map"),
        (format!("{{{}}}", pe.replace("[2,4]", "[2,36893488147419103232]")), &nothing, "tensor \"pe\": "),
        (format!("{{{}}}", pe.replace("[2,4]", "[2,5]")), &nothing, "tensor \"pe\": [2, 5] of F32 needs 40 bytes, the offsets give 32"),
        (format!("{{{}}}", pe.replace("[2,4]", "[]")), &nothing, "needs 4 bytes"),
        (format!("{{{}}}", pe.replace("[2,4]", "[4294967296,4294967296]")), &nothing, "the number of elements of shape [4294967296, 4294967296] overflows"),
        (format!("{{{}}}", pe.replace("[2,4]", "[2305843009213693951,4]")), &nothing, "overflows"),
        (format!("{{{}}}", pe.replace("[2,4]", "[576460752303423488,1]")), &nothing, "overflows"),
        (format!("{{{}}}", pe.replace("[0,32]", "[32,0]")), &nothing, "ends at byte 0, before its begin at byte 32"),
        (format!("{{{}}}", pe.replace("[0,32]", "[0,31]")), &nothing, "the offsets give 31"),
        (format!("{{{}}}", pe.replace("[0,32]", "[0]")), &nothing, "tensor \"pe\": invalid length 1"),
        (format!("{{{}}}", pe.replace("[0,32]", "[0,32,64]")), &nothing, "the header is not valid"),
        (format!("{{{}}}", pe.replace("[0,32]", "[1,33]")), &nothing, "begins at byte 1 of the data, where byte 0 is due"),
        (format!("{{{}}}", pe.replace("[0,32]", "[18446744073709551584,18446744073709551615]")), &nothing, "the offsets give 31"),
        (format!("{{{}}}", pe.replace("[2,4]", "[]").replace("[0,32]", "[18446744073709551611,18446744073709551615]")), &nothing, "where byte 0 is due"),
        (format!("{{{}}}", pe.replace(",\"shape\":[2,4]", "")), &nothing, "missing field `shape`"),
        (format!("{{{}}}", pe.replace("\"shape\"", "\"shape\":[2,4],\"shape\"")), &nothing, "duplicate field `shape`"),
        (format!("{{{pe}}}"), &nothing[..31], "describes 32 bytes of data, the file holds 31"),
        (format!("{{{pe}}}"), &[0; 33], "describes 32 bytes of data, the file holds 33"),
        (format!(r#"{{{pe},"b":{{"dtype":"U8","shape":[4],"data_offsets":[28,32]}}}}"#), &nothing, "begins at byte 28 of the data, where byte 32 is due"),
        (format!(r#"{{{pe},"b":{{"dtype":"U8","shape":[4],"data_offsets":[40,44]}}}}"#), &[0; 44], "begins at byte 40 of the data, where byte 32 is due"),
        (format!(r#"{{{pe},"b":{{"dtype":"F4","shape":[3],"data_offsets":[32,33]}}}}"#), &[0; 33], "needs 2 bytes"),
        (format!(r#"{{"a":{long}"#), &[], "the header is not valid"),
        (r#"{"pe":{"dtype":"F32","shape":[0,4611686018427387904,4611686018427387904],"data_offsets":[0,0]}}"#.to_owned(), &[], "tensor \"pe\": shape [0, 4611686018427387904, 4611686018427387904] is not"),
        (r#"{"pe":{"dtype":"F32","shape":[4,0],"data_offsets":[0,0]}}"#.to_owned(), &[], "the width 0 is outside"),
        (r#"{"pe":{"dtype":"F32","shape":[0,1048577],"data_offsets":[0,0]}}"#.to_owned(), &[], "the width 1048577 is outside"),
    ];
    assert_eq!(cases.len(), 43);
    for (header, data, message) in cases {
        fs::write(&path, raw(&header, data)).unwrap();
        let error = load_error(&path);
        let shown = &header[..header.len().min(200)];
        assert!(error.contains(message), "{shown}\n{error}\n{message}");
        assert!(error.contains("table.safetensors: "), "{error}");
    }
    // Bytes that are no text, and lengths that are no lengths.
    let mut bytes = raw("{}", &[]);
    bytes[9] = 0xff;
    fs::write(&path, bytes).unwrap();
    assert!(load_error(&path).contains("not UTF-8"));
    for length in [
        3u64,
        99_999_999,
        100_000_001,
        u64::MAX - 8,
        u64::MAX - 7,
        u64::MAX,
    ] {
        let mut bytes = raw("{}", &[]);
        bytes[..8].copy_from_slice(&length.to_le_bytes());
        fs::write(&path, bytes).unwrap();
        let error = load_error(&path);
        assert!(
            error.contains(&format!("the header's length is given as {length} bytes")),
            "{error}"
        );
    }
    fs::write(&path, "<!DOCTYPE html><html>").unwrap();
    assert!(load_error(&path).contains("is this a safetensors file?"));
    assert!(load_error(&path.with_extension("missing")).contains("table.missing: "));
}

#[test]
fn every_header_accepted_here_is_accepted_by_the_crate_below() {
    // Random edits of a good file: whatever passes here passes there, with the same tensors.
    let (_dir, path) = temp();
    let a = exact(8, 2, DType::F32);
    let b = exact(4, 3, DType::F16);
    let good = foreign(&[("a", &a), ("b", &b)]);
    let header = 8 + u64::from_le_bytes(good[..8].try_into().unwrap()) as usize;
    let mut state = 12345u64;
    let mut next = |below: usize| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    let alphabet = b"0123456789{}[],:\"FU-. ab";
    let mut accepted = 0;
    for _ in 0..3000 {
        let mut bytes = good.clone();
        for _ in 0..=next(2) {
            bytes[8 + next(header - 8)] = alphabet[next(alphabet.len())];
        }
        fs::write(&path, &bytes).unwrap();
        if let Ok(report) = checkpoint::inspect(&path) {
            accepted += 1;
            let theirs = safetensors::SafeTensors::deserialize(&bytes).unwrap();
            assert_eq!(theirs.len(), report.tensors.len());
            for tensor in &report.tensors {
                let other = theirs.tensor(&tensor.name).unwrap();
                assert_eq!(other.shape(), tensor.shape);
                assert_eq!(other.data().len() as u64, tensor.bytes);
            }
        }
    }
    assert_eq!(accepted, 70);
}

#[test]
fn limits_are_kept() {
    let (_dir, path) = temp();
    checkpoint::export(&path, &spec(8, 2)).unwrap();
    let size = fs::metadata(&path).unwrap().len();
    let with = |limits| {
        LoadOptions {
            limits,
            ..LoadOptions::default()
        }
        .load(&path)
    };
    let limits = Limits::default();
    with(Limits {
        file_bytes: size,
        table_bytes: 64,
        ..limits
    })
    .unwrap();
    let error = with(Limits {
        file_bytes: size - 1,
        ..limits
    })
    .unwrap_err()
    .to_string();
    assert!(
        error.contains(&format!(
            "has {size} bytes, above the limit of {}",
            size - 1
        )),
        "{error}"
    );
    let error = with(Limits {
        table_bytes: 63,
        ..limits
    })
    .unwrap_err()
    .to_string();
    assert!(
        error.contains("tensor \"pe\": 64 bytes, above the limit of 63"),
        "{error}"
    );
    let error = with(Limits {
        header_bytes: 10,
        ..limits
    })
    .unwrap_err()
    .to_string();
    assert!(error.contains("above the limit of 10"), "{error}");
}

#[test]
fn a_table_in_a_file_larger_than_memory_limits_is_read_alone() {
    // A sparse file of 64 GiB: only the header and the table are read.
    let (_dir, path) = temp();
    let big = 1u64 << 36;
    let header = format!(
        r#"{{"pe":{{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}},"weights":{{"dtype":"U8","shape":[{big}],"data_offsets":[8,{}]}}}}"#,
        big + 8
    );
    fs::write(&path, raw(&header, &[0; 8])).unwrap();
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    if file.set_len(16 + header.len() as u64 + big).is_err() {
        return; // a file system without sparse files
    }
    assert_eq!(
        checkpoint::load(&path, &Device::Cpu).unwrap().table.dims(),
        [1, 2]
    );
    assert_eq!(checkpoint::inspect(&path).unwrap().tensors.len(), 2);
    let options = LoadOptions {
        tensor_names: vec!["weights".to_owned()],
        ..LoadOptions::default()
    };
    options.load(&path).unwrap_err();
}

/// The limit itself is allowed, one byte less is not enough.
#[test]
fn headers_up_to_their_limit_are_read() {
    let (_dir, path) = temp();
    fs::write(&path, foreign(&[("pe", &exact(8, 4, DType::F32))])).unwrap();
    let length = u64::from_le_bytes(fs::read(&path).unwrap()[..8].try_into().unwrap());
    let load = |header_bytes| {
        let limits = Limits {
            header_bytes,
            ..Limits::default()
        };
        let options = LoadOptions {
            limits,
            ..LoadOptions::default()
        };
        options.load(&path).map_err(|error| error.to_string())
    };
    assert_eq!(load(length).unwrap().table.dims(), [4, 8]);
    let error = load(length - 1).unwrap_err();
    let limit = format!("above the limit of {}", length - 1);
    assert!(error.contains(&limit), "{error}");
}

/// The widest table there may be; and one column more.
#[test]
fn widths_up_to_their_limit_are_read() {
    let (_dir, path) = temp();
    for width in [MAX_D_MODEL, MAX_D_MODEL + 1] {
        let table = Tensor::zeros((1, width), DType::BF16, &Device::Cpu).unwrap();
        fs::write(&path, foreign(&[("pe", &table)])).unwrap();
        if width == MAX_D_MODEL {
            let loaded = checkpoint::load(&path, &Device::Cpu).unwrap();
            assert_eq!(loaded.table.dims(), [1, width]);
        } else {
            let error = load_error(&path);
            let outside = format!("the width {width} is outside 1..={MAX_D_MODEL}");
            assert!(error.contains(&outside), "{error}");
        }
    }
}

/// What a file holds is listed, up to sixteen tensors.
#[test]
fn what_is_there_instead_is_listed() {
    let (_dir, path) = temp();
    let vector = Tensor::zeros(3, DType::F32, &Device::Cpu).unwrap();
    for count in [0, 1, 16, 17, 20] {
        let names: Vec<String> = (0..count).map(|n| format!("t{n:02}")).collect();
        let tensors: Vec<_> = names.iter().map(|name| (name.as_str(), &vector)).collect();
        fs::write(&path, foreign(&tensors)).unwrap();
        let error = load_error(&path);
        for name in names.iter().take(16) {
            assert!(error.contains(name.as_str()), "{error}");
        }
        let more = format!("and {} more", count.max(16) - 16);
        assert_eq!(error.contains(" more"), count > 16, "{error}");
        assert_eq!(error.contains(&more), count > 16, "{error}");
        assert_eq!(error.contains("no tensors"), count == 0, "{error}");
    }
}

/// What stands in place of an object or a list is named, and what should stand there.
#[test]
fn headers_of_other_kinds_say_what_they_should_be() {
    let (_dir, path) = temp();
    for (header, expected) in [
        ("[1]", "does not begin with '{'"),
        (r#"{"pe":[1]}"#, "expected an object"),
        (
            r#"{"pe":{"dtype":"F32","shape":7,"data_offsets":[0,4]}}"#,
            "expected a list of dimensions",
        ),
    ] {
        fs::write(&path, raw(header, &[0; 4])).unwrap();
        let error = load_error(&path);
        assert!(error.contains(expected), "{error}");
    }
}

/// A table for which there is no memory is an error and no abort: 3 GiB of zeros that take no
/// place on the disk, read by a process that may have 2 GiB.
#[cfg(target_os = "linux")]
#[test]
fn a_table_larger_than_memory_is_an_error() {
    const NAME: &str = "malformed::a_table_larger_than_memory_is_an_error";
    if let Some(path) = again::given() {
        let error = load_error(Path::new(&path));
        assert!(
            error.contains("no memory for 805306368 elements of 4 bytes"),
            "{error}"
        );
        return;
    }
    let (_dir, path) = temp();
    let bytes = 3u64 << 30;
    let header =
        format!(r#"{{"pe":{{"dtype":"F32","shape":[786432,1024],"data_offsets":[0,{bytes}]}}}}"#);
    let start = raw(&header, &[]);
    fs::write(&path, &start).unwrap();
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(start.len() as u64 + bytes).unwrap();
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", "ulimit -v 2097152 && exec \"$0\" --exact \"$1\""])
        .arg(std::env::current_exe().unwrap())
        .arg(NAME);
    again::passes(&mut command, &path);
}
