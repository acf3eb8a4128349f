//! Any bytes as a safetensors file: read without a panic, and what is accepted is what the
//! safetensors crate reads in them.

use std::fs::{File, OpenOptions};
use std::io::{Seek, Write};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use candle_core::Device;
use pe_candle::checkpoint::{
    self, AnySpec, LoadOptions, NonFinite, RotaryTables, SpecStatus, Verify,
};

/// Ends the header where the input leaves the length to be filled in.
const END: u8 = 0xFF;

/// The file, written again for each input: in memory where the system has such a place.
static PLACE: Mutex<Option<(PathBuf, File)>> = Mutex::new(None);

/// What the input stands for. Bytes that begin with `{` are a header up to the first byte that
/// no text has, and the data behind it: its length is put before it, or else hardly any input
/// would get past it. All others are the file itself.
pub fn file(input: &[u8]) -> Vec<u8> {
    if input.first() != Some(&b'{') {
        return input.to_vec();
    }
    let end = input.iter().position(|byte| *byte == END);
    let (header, data) = match end {
        Some(end) => (&input[..end], &input[end + 1..]),
        None => (input, &[][..]),
    };
    let length = (header.len() as u64).to_le_bytes();
    [&length, header, data].concat()
}

pub fn check(input: &[u8]) {
    let bytes = file(input);
    let mut place = PLACE.lock().unwrap_or_else(PoisonError::into_inner);
    let (path, open) = place.get_or_insert_with(|| {
        let memory = PathBuf::from("/dev/shm");
        let folder = if memory.is_dir() {
            memory
        } else {
            std::env::temp_dir()
        };
        let path = folder.join(format!("pe-reader-{}.safetensors", std::process::id()));
        let file = OpenOptions::new()
            .create(true)
            .truncate(true)
            .write(true)
            .open(&path)
            .unwrap();
        (path, file)
    });
    open.rewind().unwrap();
    open.set_len(0).unwrap();
    open.write_all(&bytes).unwrap();

    // Reading ends in the numbers or in a message about this file.
    let named = |error: candle_core::Error| {
        let message = error.to_string();
        assert!(message.starts_with(path.to_str().unwrap()), "{message}");
    };
    let report = match checkpoint::inspect(&*path) {
        Ok(report) => report,
        Err(error) => {
            named(error);
            return;
        }
    };
    let theirs = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(theirs.len(), report.tensors.len());
    for tensor in &report.tensors {
        let other = theirs.tensor(&tensor.name).unwrap();
        assert_eq!(other.shape(), tensor.shape);
        assert_eq!(other.data().len() as u64, tensor.bytes);
    }
    match checkpoint::load(&*path, &Device::Cpu) {
        Ok(loaded) => {
            assert_eq!(Ok(&loaded.names[0]), report.table.as_ref());
            if let Some(spec) = &loaded.spec {
                let valid = AnySpec::Sinusoidal(spec.clone());
                assert_eq!(report.spec, SpecStatus::Valid(valid));
                let found = checkpoint::compare(&*path, spec).unwrap();
                assert!(found.is_right());
            }
        }
        Err(error) => {
            // With fewer questions asked.
            let options = LoadOptions {
                verify: Verify::None,
                non_finite: NonFinite::Accept,
                ..LoadOptions::default()
            };
            let lenient = options.load(&*path);
            if let (Err(_), SpecStatus::Valid(AnySpec::Sinusoidal(spec))) = (&lenient, &report.spec)
            {
                panic!("{spec:?} was valid: {error}");
            }
            named(error);
        }
    }
    match checkpoint::load_as::<RotaryTables>(&*path, &Device::Cpu) {
        Ok(loaded) => {
            let spec = loaded.spec.unwrap();
            assert!(checkpoint::compare(&*path, &spec).unwrap().is_right());
            assert_eq!(report.spec, SpecStatus::Valid(AnySpec::Rotary(spec)));
        }
        Err(error) => named(error),
    }
}
