//! Three good files, cut at every byte and with every bit of their headers turned.
//!
//! The rule for a flipped bit: either it is an error, or the header that results is as
//! well-formed as before, says nothing false about the entries, and the entries are those of
//! the good file, bit for bit. That can only be so where the header says something that no entry
//! depends on: the name of a tensor, the name of the metadata's key (without which the entries
//! are those of a file that says nothing about itself), white space, and in a specification what
//! makes no difference to its numbers. A caller who asks for the name and for the
//! specification, as `asked` does, gets an error in all of these cases but the last two.

use super::*;
use pe_candle::checkpoint::{RotarySpec, RotaryTables};
use pe_core::{RopeScaling, RotaryConfig};

/// What a reading of a good file gives: the numbers, and what is said about them.
#[derive(Debug, PartialEq)]
struct Read {
    entries: Vec<Vec<u64>>,
    said: String,
}

type Reader = fn(&Path) -> candle_core::Result<Read>;

/// A file, how it is read as it is, and how by somebody who knows what it should be.
struct Good {
    bytes: Vec<u8>,
    read: Reader,
    asked: Reader,
}

fn patterns(tensor: &Tensor) -> Vec<u64> {
    bits(tensor).into_iter().map(f64::to_bits).collect()
}

fn read(options: &LoadOptions, path: &Path) -> candle_core::Result<Read> {
    let loaded = options.load(path)?;
    Ok(Read {
        entries: vec![patterns(&loaded.table)],
        said: format!("{:?} {:?}", loaded.names[0], loaded.spec),
    })
}

fn read_rotary(options: &LoadOptions<RotaryTables>, path: &Path) -> candle_core::Result<Read> {
    let loaded = options.load_as(path)?;
    Ok(Read {
        entries: [&loaded.table.cos, &loaded.table.sin, &loaded.table.inv_freq]
            .map(patterns)
            .into(),
        said: format!("{:?}", loaded.spec),
    })
}

fn config() -> RotaryConfig {
    RotaryConfig {
        scaling: RopeScaling::Linear { factor: 4.0 },
        max_position_embeddings: Some(4096),
        ..RotaryConfig::new(8)
    }
}

/// An additive table, a rotary one, and one of another program among other tensors.
fn good() -> [Good; 3] {
    let (_dir, path) = temp();
    checkpoint::export(&path, &spec(8, 3)).unwrap();
    let additive = fs::read(&path).unwrap();
    let rotary = RotarySpec::new(config(), 5, 3, DType::BF16).unwrap();
    checkpoint::export(&path, &rotary).unwrap();
    let rotary = fs::read(&path).unwrap();
    let (a, b) = (exact(4, 3, DType::F16), exact(6, 2, DType::F32));
    let foreign = foreign(&[
        ("bias", &b.flatten_all().unwrap()),
        ("emb.pe", &a.reshape((1, 3, 4)).unwrap()),
    ]);
    [
        Good {
            bytes: additive,
            read: |path| read(&LoadOptions::default(), path),
            asked: |path| {
                let options = LoadOptions {
                    tensor_names: vec!["pe".to_owned()],
                    config: Some(SinusoidalConfig::new(8)),
                    start: Some(0),
                    rows: Some(3),
                    ..LoadOptions::default()
                };
                read(&options, path)
            },
        },
        Good {
            bytes: rotary,
            read: |path| read_rotary(&LoadOptions::default(), path),
            asked: |path| {
                let options = LoadOptions::<RotaryTables> {
                    config: Some(config()),
                    start: Some(5),
                    ..LoadOptions::default()
                };
                read_rotary(&options, path)
            },
        },
        Good {
            bytes: foreign,
            read: |path| read(&LoadOptions::default(), path),
            asked: |path| {
                let options = LoadOptions {
                    tensor_names: vec!["emb.pe".to_owned()],
                    config: Some(SinusoidalConfig::new(4)),
                    rows: Some(3),
                    ..LoadOptions::default()
                };
                read(&options, path)
            },
        },
    ]
}

fn header(bytes: &[u8]) -> usize {
    8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize
}

fn is_refusal(error: &candle_core::Error, path: &Path) -> bool {
    let error = bad::message(error);
    let name = format!("{}: ", path.display());
    error.starts_with(&name) && error.len() > name.len() && !error.contains(is_invisible)
}

#[test]
fn file_truncated_at_any_byte_is_an_error() {
    let (_dir, path) = temp();
    let mut cuts = 0;
    for good in good() {
        let first = header(&good.bytes);
        for length in 0..good.bytes.len() {
            fs::write(&path, &good.bytes[..length]).unwrap();
            for read in [good.read, good.asked] {
                let error = read(&path).unwrap_err();
                assert!(is_refusal(&error, &path), "{length}: {error}");
                let what = match length {
                    0..8 => "too few for a safetensors header",
                    _ if length < first => "the header's length is given as",
                    _ => "bytes of data, the file holds",
                };
                assert!(error.to_string().contains(what), "{length}: {error}");
            }
            checkpoint::inspect(&path).unwrap_err();
            cuts += 1;
        }
        let longer = [&good.bytes[..], &[0]].concat();
        fs::write(&path, longer).unwrap();
        let error = (good.read)(&path).unwrap_err().to_string();
        assert!(error.contains("bytes of data, the file holds"), "{error}");
    }
    assert_eq!(cuts, 1232);
}

#[test]
fn flipped_bits_of_a_header_are_errors_or_change_no_number() {
    let (_dir, path) = temp();
    let (mut turned, mut taken, mut asked_for) = (0, 0, 0);
    for good in good() {
        fs::write(&path, &good.bytes).unwrap();
        let as_it_was = (good.read)(&path).unwrap();
        assert_eq!((good.asked)(&path).unwrap(), as_it_was);
        for bit in 0..8 * header(&good.bytes) {
            let mut bytes = good.bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, &bytes).unwrap();
            turned += 1;
            match (good.read)(&path) {
                Err(error) => assert!(is_refusal(&error, &path), "{bit}: {error}"),
                Ok(read) => {
                    taken += 1;
                    assert_eq!(read.entries, as_it_was.entries, "{bit}");
                    let theirs = safetensors::SafeTensors::deserialize(&bytes);
                    assert!(theirs.is_ok(), "{bit}");
                }
            }
            match (good.asked)(&path) {
                Err(error) => assert!(is_refusal(&error, &path), "{bit}: {error}"),
                Ok(read) => {
                    asked_for += 1;
                    assert_eq!(read.entries, as_it_was.entries, "{bit}");
                    // What the file says is what was asked for, or it says nothing.
                    let same = read.said == as_it_was.said || read.said.ends_with("None");
                    assert!(same, "{bit}: {read:?}");
                }
            }
        }
    }
    // The names have 2 and 10 bytes, the metadata's key 19, and there is the padding.
    assert_eq!((turned, taken, asked_for), (8000, 224, 159));
}
