//! A malformed file and the words of its error.

use super::*;

/// The reader of the file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum By {
    Load,
    LoadRotary,
}

#[derive(Clone)]
pub(super) struct Bad {
    pub(super) class: &'static str,
    pub(super) bytes: Vec<u8>,
    /// Words of the message.
    pub(super) says: Vec<String>,
    pub(super) by: By,
}

impl Bad {
    pub(super) fn new(class: &'static str, bytes: Vec<u8>, reason: &str) -> Self {
        Self {
            class,
            bytes,
            says: vec![reason.to_owned()],
            by: By::Load,
        }
    }

    /// Expects the message to name a tensor.
    pub(super) fn of(mut self, tensor: &str) -> Self {
        self.says.push(format!("{tensor:?}"));
        self
    }

    /// What becomes of reading the file.
    pub(super) fn read(&self, path: &Path) -> candle_core::Result<()> {
        match self.by {
            By::Load => checkpoint::load(path, &Device::Cpu).map(|_| ()),
            By::LoadRotary => {
                checkpoint::load_as::<checkpoint::RotaryTables>(path, &Device::Cpu).map(|_| ())
            }
        }
    }

    pub(super) fn refusal(&self, path: &Path) -> String {
        match self.read(path) {
            Err(error) => message(&error),
            Ok(()) => panic!("{} was taken: {}", self.class, self.shown()),
        }
    }

    /// The beginning of the file.
    pub(super) fn shown(&self) -> String {
        let end = self.bytes.len().min(300);
        String::from_utf8_lossy(&self.bytes[..end]).into_owned()
    }
}

/// A header with zeros behind it.
pub(super) fn zeros(class: &'static str, header: &str, data: usize, reason: &str) -> Bad {
    Bad::new(class, raw(header, &vec![0; data]), reason)
}

/// A file with the tensor `pe` of a given description.
pub(super) fn pe(class: &'static str, entry: &str, data: usize, reason: &str) -> Bad {
    zeros(class, &format!(r#"{{"pe":{entry}}}"#), data, reason).of("pe")
}

/// A description.
pub(super) fn entry(dtype: &str, shape: &str, offsets: &str) -> String {
    format!(r#"{{"dtype":{dtype},"shape":{shape},"data_offsets":{offsets}}}"#)
}

/// The message without a backtrace, which is on lines of its own.
pub(crate) fn message(error: &candle_core::Error) -> String {
    let text = error.to_string();
    match text.split_once("\n") {
        Some((message, _)) if std::env::var_os("RUST_BACKTRACE").is_some() => message.to_owned(),
        _ => text,
    }
}
