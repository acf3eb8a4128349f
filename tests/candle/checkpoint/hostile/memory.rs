//! What reading takes: no piece of memory larger than the file and a constant.

use super::*;
use crate::allocations::watch;

/// Files, small and hostile: the constant is for buffers and for the frequencies of the widest
/// table there can be, which a specification of a few bytes may ask for.
const SMALL: usize = 32 << 20;

/// Files whose headers fill them: what is read of a text may take twice its length, and a header
/// has a greatest length.
const HEADERS: usize = 100_000_000;

#[test]
fn no_hostile_file_takes_more_memory_than_it_has_bytes_and_a_constant() {
    let (_dir, path) = temp();
    let mut most = 0;
    for file in all() {
        fs::write(&path, &file.bytes).unwrap();
        let (result, taken) = watch(|| file.read(&path));
        result.unwrap_err();
        let about = || format!("{}: {}\n{taken:?}", file.class, file.shown());
        assert!(taken.largest <= file.bytes.len() + SMALL, "{}", about());
        most = most.max(taken.largest.saturating_sub(file.bytes.len()));
        let (_, taken) = watch(|| checkpoint::inspect(&path));
        assert!(taken.largest <= file.bytes.len() + SMALL, "{}", about());
    }
    println!("at most {most} bytes more than the file");
}

#[test]
fn headers_that_grow_in_memory_are_bounded_by_their_length() {
    let (_dir, path) = temp();
    let bytes = 8_000_000;
    let fill = |begin: &str, item: &dyn Fn(usize) -> String, end: &str| {
        let mut text = begin.to_owned();
        let mut at = 0;
        while text.len() < bytes {
            if at > 0 {
                text.push(',');
            }
            text += &item(at);
            at += 1;
        }
        text + end
    };
    let empty = r#"{"dtype":"U8","shape":[0],"data_offsets":[0,0]}"#;
    let cases = [
        ("tensors", fill("{", &|n| format!("\"{n}\":{empty}"), "}")),
        (
            "metadata",
            fill(r#"{"__metadata__":{"#, &|n| format!("\"{n:x}\":\"\""), "}}"),
        ),
        (
            "dimensions",
            fill(
                r#"{"pe":{"dtype":"F32","shape":["#,
                &|_| "1".to_owned(),
                r#"],"data_offsets":[0,4]}}"#,
            ),
        ),
        (
            "offsets",
            fill(
                r#"{"pe":{"dtype":"F32","shape":[1],"data_offsets":["#,
                &|_| "0".to_owned(),
                "]}}",
            ),
        ),
        (
            "a name",
            fill("{\"\\n", &|_| "nnnnnnnn".to_owned(), "\":7}"),
        ),
        (
            "a type",
            fill(
                "{\"pe\":{\"dtype\":\"\\n",
                &|_| "nnnnnnnn".to_owned(),
                "\"}}",
            ),
        ),
        (
            "a key twice",
            fill(
                "{\"__metadata__\":{\"a\":\"\",\"b\":\"",
                &|_| "nnnnnnnn".to_owned(),
                "\",\"a\":\"\"}}",
            ),
        ),
        (
            "factors",
            fill(
                r#"{"__metadata__":{"positional_encoding":"{\"format\":1,\"scheme\":\"rotary\",\"config\":{\"rotary_dim\":8,\"base\":1e4,\"scaling\":{\"long_rope\":{\"short_factor\":["#,
                &|_| "1".to_owned(),
                r#"]}}}}"}}"#,
            ),
        ),
        ("spaces", format!("{{}}{}", " ".repeat(bytes))),
        ("brackets", format!("{{\"a\":{}", "[".repeat(bytes))),
    ];
    for (name, header) in cases {
        let file = raw(&header, &[]);
        fs::write(&path, &file).unwrap();
        let (_, inspected) = watch(|| checkpoint::inspect(&path));
        let (loaded, load) = watch(|| checkpoint::load(&path, &Device::Cpu));
        let (rotary, load_rotary) = watch(|| checkpoint::load_rotary(&path, &Device::Cpu));
        for error in [loaded.unwrap_err(), rotary.unwrap_err()] {
            let error = bad::message(&error);
            assert!(
                error.len() < 10_000,
                "{name}: {} bytes of message",
                error.len()
            );
        }
        for taken in [inspected, load, load_rotary] {
            let spare = SMALL.min(HEADERS);
            assert!(taken.largest <= file.len() + spare, "{name}: {taken:?}");
            assert!(taken.peak <= 16 * file.len() + SMALL, "{name}: {taken:?}");
        }
    }
}

#[test]
fn a_table_takes_its_own_size_and_a_constant() {
    let (_dir, path) = temp();
    for dtype in FLOATS {
        let spec = TableSpec {
            dtype,
            ..spec(512, 4096)
        };
        checkpoint::export(&path, &spec).unwrap();
        let file = fs::metadata(&path).unwrap().len() as usize;
        let (loaded, taken) = watch(|| checkpoint::load(&path, &Device::Cpu));
        loaded.unwrap();
        assert!(taken.largest <= file + SMALL, "{taken:?}");
        assert!(taken.peak <= file + SMALL, "{taken:?}");
    }
}
