//! What reading takes: no piece of memory larger than the file and a constant.

use super::*;
use crate::allocations::watch;

/// Files, small and hostile: the constant is for buffers and for the frequencies of the widest
/// table there can be, which a specification of a few bytes may ask for.
const SMALL: usize = 32 << 20;

/// Files whose headers fill them, where no frequencies are computed: the constant is for buffers.
const BUFFERS: usize = 16 << 20;

#[test]
fn hostile_files_take_at_most_their_bytes_and_a_constant_in_memory() {
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
fn headers_that_grow_in_memory_are_bounded_by_their_length_slow() {
    let (_dir, path) = temp();
    let bytes = 4_000_000;
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
        let (rotary, load_rotary) =
            watch(|| checkpoint::load_as::<checkpoint::RotaryTables>(&path, &Device::Cpu));
        for error in [loaded.unwrap_err(), rotary.unwrap_err()] {
            let error = bad::message(&error);
            assert!(
                error.len() < 10_000,
                "{name}: {} bytes of message",
                error.len()
            );
        }
        for taken in [inspected, load, load_rotary] {
            assert!(taken.largest <= file.len() + BUFFERS, "{name}: {taken:?}");
            assert!(taken.peak <= 8 * file.len() + BUFFERS, "{name}: {taken:?}");
        }
    }
}

#[test]
fn header_takes_the_stated_multiple_of_its_length_slow() {
    let (_dir, path) = temp();
    let bytes = 15_000_000;
    let tensors = |count: usize, entry: &str| {
        let length = bytes / count - entry.len() - 10;
        let one = |n: usize| format!("\"{n:06}{}\":{entry}", "n".repeat(length.max(1)));
        format!("{{{}}}", (0..count).map(one).collect::<Vec<_>>().join(","))
    };
    let empty = r#"{"dtype":"U8","shape":[0],"data_offsets":[0,0]}"#;
    let wide = empty.replace("[0]", &format!("[{}0]", "0,".repeat(63)));
    let value = "v".repeat(bytes / 65_536 - 20);
    let keys: Vec<String> = (0..65_536)
        .map(|n| format!("\"{n}\":\"{value}\""))
        .collect();
    let hidden = "\u{7f}".repeat(bytes);
    let cases = [
        ("the most tensors", tensors(1 << 18, empty), true),
        ("the most dimensions", tensors(bytes / 200, &wide), true),
        ("long names", tensors(30, empty), true),
        (
            "the most metadata",
            format!(r#"{{"__metadata__":{{{}}}}}"#, keys.join(",")),
            true,
        ),
        ("a name", format!(r#"{{"{hidden}":{empty}}}"#), false),
        (
            "a key",
            format!(r#"{{"__metadata__":{{"{hidden}":""}}}}"#),
            true,
        ),
        (
            "a name twice",
            format!(r#"{{"{0}":{empty},"{0}":{empty}}}"#, &hidden[..bytes / 2]),
            false,
        ),
        (
            "a wrong name",
            format!(r#"{{"{hidden}":{}}}"#, empty.replace("0,0", "0,1")),
            false,
        ),
        (
            "a type",
            format!(r#"{{"pe":{{"dtype":"{hidden}"}}}}"#),
            false,
        ),
        (
            "a shape",
            format!(r#"{{"pe":{{"dtype":"U8","shape":"{hidden}"}}}}"#),
            false,
        ),
        ("a tensor", format!(r#"{{"pe":"{hidden}"}}"#), false),
        (
            "metadata",
            format!(r#"{{"__metadata__":"{hidden}"}}"#),
            false,
        ),
        ("a field", format!(r#"{{"pe":{{"{hidden}":1}}}}"#), false),
        (
            "a specification",
            format!(r#"{{"__metadata__":{{"positional_encoding":"{hidden}"}}}}"#),
            true,
        ),
    ];
    for (name, header, good) in cases {
        let file = raw(&header, &[]);
        drop(header);
        fs::write(&path, &file).unwrap();
        let length = file.len();
        drop(file);
        let (inspected, taken) = watch(|| checkpoint::inspect(&path));
        assert_eq!(inspected.is_ok(), good, "{name}");
        println!(
            "{name}: {:.2} of {length}: {taken:?}",
            taken.peak as f64 / length as f64
        );
        drop(inspected);
        let (loaded, loading) = watch(|| checkpoint::load(&path, &Device::Cpu).map(|_| ()));
        loaded.unwrap_err();
        for taken in [taken, loading] {
            assert!(taken.largest <= length + BUFFERS, "{name}: {taken:?}");
            assert!(taken.peak <= 8 * length + BUFFERS, "{name}: {taken:?}");
        }
    }
}

#[test]
fn more_tensors_and_longer_texts_than_any_file_has_are_refused() {
    let (_dir, path) = temp();
    let entry = r#"{"dtype":"U8","shape":[0],"data_offsets":[0,0]}"#;
    for (count, good) in [(1 << 18, true), ((1 << 18) + 1, false)] {
        let entries: Vec<String> = (0..count).map(|n| format!("\"{n}\":{entry}")).collect();
        fs::write(&path, raw(&format!("{{{}}}", entries.join(",")), &[])).unwrap();
        match checkpoint::inspect(&path) {
            Ok(report) => assert!(good && report.tensors.len() == count),
            Err(error) => {
                let error = bad::message(&error);
                assert!(
                    !good && error.contains("more than 262144 tensors"),
                    "{error}"
                );
            }
        }
    }
    for (limit, more) in [(1 << 20, 0), (1 << 20, 1), (32 << 20, 0), (32 << 20, 1)] {
        // What is escaped counts unchanged in the file; a quote that is does not end the text.
        let length = limit + more;
        let long = format!("{}\\\"", "n".repeat(length - 2));
        let header = match limit {
            0x10_0000 => format!(r#"{{"__metadata__":{{"a":"b"}},"{long}":{entry}}}"#),
            _ => format!(r#"{{"__metadata__":{{"a":"{long}"}},"b":{entry}}}"#),
        };
        fs::write(&path, raw(&header, &[])).unwrap();
        match checkpoint::inspect(&path) {
            Ok(report) => {
                let lengths = [report.tensors[0].name.len(), report.metadata[0].1.len()];
                assert!(more == 0 && lengths.contains(&(length - 1)), "{lengths:?}");
            }
            Err(error) => {
                let error = bad::message(&error);
                let expected = format!("has a text of {length} bytes, above the limit of {limit}");
                assert!(more == 1 && error.contains(&expected), "{error}");
            }
        }
    }
}

#[test]
fn table_takes_its_own_size_and_a_constant() {
    let (_dir, path) = temp();
    for dtype in FLOATS {
        let spec = spec_of(512, 0, 4096, dtype);
        checkpoint::export(&path, &spec).unwrap();
        let file = fs::metadata(&path).unwrap().len() as usize;
        let (loaded, taken) = watch(|| checkpoint::load(&path, &Device::Cpu));
        loaded.unwrap();
        assert!(taken.largest <= file + SMALL, "{taken:?}");
        assert!(taken.peak <= file + SMALL, "{taken:?}");
    }
}
