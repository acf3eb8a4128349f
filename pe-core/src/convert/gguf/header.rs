//! The header of a GGUF file, read strictly from its bytes.
//!
//! A file is the magic `GGUF`, a version, the numbers of tensors and of metadata, the metadata, the
//! descriptions of the tensors, and their data. Nothing is allocated before its size is checked
//! against the bytes that are left, and only the metadata that [`read`](super::read) uses is kept.

use std::collections::HashSet;
use std::io::Read;

use super::problem;
use crate::error::Result;

/// Largest number of tensors.
const MAX_TENSORS: u64 = 1 << 18;

/// Largest number of metadata keys.
const MAX_KEYS: u64 = 1 << 16;

/// Largest size of a key and of a kept text in bytes, as in llama.cpp.
const MAX_TEXT: u64 = 65_535;

/// Largest number of elements of a kept list.
const MAX_LIST: u64 = 1 << 16;

/// Largest number of dimensions of a tensor.
const MAX_RANK: u32 = 4;

/// A value of GGUF's metadata.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum GgufValue {
    /// An unsigned integer of 8 to 64 bits.
    Unsigned(u64),
    /// A signed integer of 8 to 64 bits.
    Signed(i64),
    /// A number of 32 or 64 bits, exact.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A text.
    Text(String),
    /// A list of values of one type.
    List(Vec<GgufValue>),
}

/// A tensor of a GGUF file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GgufTensor {
    /// Name of the tensor.
    pub name: String,
    /// Number of elements.
    pub elements: u64,
    /// Sides, the fastest last, as in PyTorch. (The file has the fastest first.)
    pub shape: Vec<u64>,
    /// Type of the elements by ggml's number: 0 for f32, 1 for f16, 30 for bf16.
    pub kind: u32,
    /// First byte of its data in the file.
    pub begin: u64,
}

/// The part of a GGUF header that is about positions.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct GgufHeader {
    /// Version of the format, 2 or 3.
    pub version: u32,
    /// Metadata of the model, without that of its tokenizer, in the order of the file.
    pub metadata: Vec<(String, GgufValue)>,
    /// All tensors.
    pub tensors: Vec<GgufTensor>,
}

/// The bytes of a header, with the number of bytes that are left in the file.
struct Bytes<R> {
    reader: R,
    read: u64,
    left: u64,
}

impl<R: Read> Bytes<R> {
    /// Reads `N` bytes.
    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<()> {
        let len = bytes.len() as u64;
        self.left = self.left.checked_sub(len).ok_or_else(|| {
            problem(format!(
                "the file ends within its header, at byte {}",
                self.read
            ))
        })?;
        self.reader
            .read_exact(bytes)
            .map_err(|error| problem(format!("byte {}: {error}", self.read)))?;
        self.read = self.read.saturating_add(len);
        Ok(())
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// Reads a length and checks it against the bytes that are left.
    fn length(&mut self, what: &str, size: u64) -> Result<u64> {
        let count = self.u64()?;
        match count.checked_mul(size) {
            Some(bytes) if bytes <= self.left => Ok(count),
            _ => Err(problem(format!(
                "{what} has {count} elements, but {} bytes are left",
                self.left
            ))),
        }
    }

    fn skip(&mut self, mut bytes: u64) -> Result<()> {
        let mut scratch = [0; 4096];
        while bytes > 0 {
            let part = bytes.min(scratch.len() as u64);
            let (head, _) = scratch.split_at_mut(usize::try_from(part).unwrap_or_default());
            self.fill(head)?;
            bytes = bytes.saturating_sub(part);
        }
        Ok(())
    }

    /// Reads a text of limited length.
    fn text(&mut self, what: &str) -> Result<String> {
        let len = self.length(what, 1)?;
        if len > MAX_TEXT {
            return Err(problem(format!("{what} has {len} bytes, above {MAX_TEXT}")));
        }
        let mut bytes = vec![0; usize::try_from(len).unwrap_or_default()];
        self.fill(&mut bytes)?;
        String::from_utf8(bytes).map_err(|_| problem(format!("{what} is not UTF-8")))
    }

    /// Reads a value of a type that is not a list.
    fn scalar(&mut self, kind: u32, what: &str) -> Result<GgufValue> {
        use GgufValue::{Bool, Float, Signed, Text, Unsigned};
        Ok(match kind {
            0 => Unsigned(u8::from_le_bytes(self.array()?).into()),
            1 => Signed(i8::from_le_bytes(self.array()?).into()),
            2 => Unsigned(u16::from_le_bytes(self.array()?).into()),
            3 => Signed(i16::from_le_bytes(self.array()?).into()),
            4 => Unsigned(self.u32()?.into()),
            5 => Signed(i32::from_le_bytes(self.array()?).into()),
            6 => Float(f32::from_le_bytes(self.array()?).into()),
            7 => match self.array()? {
                [0] => Bool(false),
                [1] => Bool(true),
                [byte] => return Err(problem(format!("{what} is {byte}, neither true nor false"))),
            },
            8 => Text(self.text(what)?),
            10 => Unsigned(self.u64()?),
            11 => Signed(i64::from_le_bytes(self.array()?)),
            12 => Float(f64::from_le_bytes(self.array()?)),
            9 => return Err(problem(format!("{what} is a list of lists"))),
            kind => return Err(problem(format!("{what} has the unknown type {kind}"))),
        })
    }

    /// Reads a value, or skips it.
    fn value(&mut self, what: &str, keep: bool) -> Result<Option<GgufValue>> {
        let kind = self.u32()?;
        if kind != 9 {
            return match keep {
                true => self.scalar(kind, what).map(Some),
                false => self.skip_scalars(kind, 1, what).map(|()| None),
            };
        }
        let kind = self.u32()?;
        let count = self.length(what, size_of(kind, what)?)?;
        if !keep {
            self.skip_scalars(kind, count, what)?;
            return Ok(None);
        }
        if count > MAX_LIST {
            return Err(problem(format!(
                "{what} has {count} elements, above {MAX_LIST}"
            )));
        }
        let mut list = Vec::with_capacity(usize::try_from(count).unwrap_or_default());
        for _ in 0..count {
            list.push(self.scalar(kind, what)?);
        }
        Ok(Some(GgufValue::List(list)))
    }

    fn skip_scalars(&mut self, kind: u32, count: u64, what: &str) -> Result<()> {
        let size = size_of(kind, what)?;
        if kind != 8 {
            return self.skip(count.saturating_mul(size));
        }
        for _ in 0..count {
            let len = self.length(what, 1)?;
            self.skip(len)?;
        }
        Ok(())
    }
}

/// Returns the least number of bytes of a value.
fn size_of(kind: u32, what: &str) -> Result<u64> {
    Ok(match kind {
        0 | 1 | 7 => 1,
        2 | 3 => 2,
        4..=6 => 4,
        8 | 10..=12 => 8,
        9 => return Err(problem(format!("{what} is a list of lists"))),
        kind => return Err(problem(format!("{what} has the unknown type {kind}"))),
    })
}

/// Returns the elements and bytes of a block of a type of ggml, if it is known here.
fn block(kind: u32) -> Option<(u64, u64)> {
    Some(match kind {
        0 | 26 => (1, 4),
        1 | 25 | 30 => (1, 2),
        24 => (1, 1),
        27 | 28 => (1, 8),
        2 => (32, 18),
        3 => (32, 20),
        6 => (32, 22),
        7 => (32, 24),
        8 => (32, 34),
        9 => (32, 36),
        10 => (256, 84),
        11 => (256, 110),
        12 => (256, 144),
        13 => (256, 176),
        14 => (256, 210),
        15 => (256, 292),
        _ => return None,
    })
}

/// Returns whether a key is about the model and not about its tokenizer.
fn is_kept(key: &str) -> bool {
    const NAMES: [&str; 5] = [
        ".context_length",
        ".embedding_length",
        ".block_count",
        ".attention.head_count",
        ".attention.kv_lora_rank",
    ];
    key == "general.architecture"
        || key == "general.alignment"
        || key.contains(".rope.")
        || key.contains(".attention.key_length")
        || key.contains(".attention.sliding_window")
        || NAMES.iter().any(|name| key.ends_with(name))
}

/// Returns whether a tensor holds factors of the frequencies.
pub(super) fn is_factors(name: &str) -> bool {
    let name = name.rsplit_once("blk.").map_or(name, |(_, rest)| {
        rest.split_once('.').map_or(rest, |(_, name)| name)
    });
    [
        "rope_freqs.weight",
        "rope_factors_long.weight",
        "rope_factors_short.weight",
    ]
    .contains(&name)
}

impl GgufHeader {
    /// Reads the header of a file of `file_bytes` bytes, of version 2 or 3.
    ///
    /// At most 64 KiB are allocated for a text, and 2 MiB for a list. The memory of all names is bounded by the
    /// size of the file.
    ///
    /// # Examples
    /// ```
    /// use pe_core::gguf::{GgufHeader, GgufValue};
    ///
    /// let mut file = Vec::from(*b"GGUF\x03\0\0\0");
    /// file.extend(0u64.to_le_bytes()); // tensors
    /// file.extend(1u64.to_le_bytes()); // metadata
    /// file.extend(20u64.to_le_bytes());
    /// file.extend(b"llama.rope.freq_base");
    /// file.extend(6u32.to_le_bytes()); // f32
    /// file.extend(500_000f32.to_le_bytes());
    /// let header = GgufHeader::read(&file[..], file.len() as u64)?;
    /// assert_eq!(header.metadata[0].1, GgufValue::Float(500_000.0));
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if
    /// - the file does not begin with the magic, or has another version or byte order,
    /// - a count, a length, or a tensor extends past the end of the file, or exceeds its limit,
    /// - a key or a tensor's name occurs twice, or a text is not UTF-8,
    /// - a type of a value is unknown, or a tensor is not aligned,
    /// - reading fails.
    pub fn read(reader: impl Read, file_bytes: u64) -> Result<Self> {
        let mut bytes = Bytes {
            reader,
            read: 0,
            left: file_bytes,
        };
        let version = version(&mut bytes)?;
        let (tensors, keys) = counts(&mut bytes)?;
        let mut names = HashSet::new();
        let mut metadata = Vec::new();
        for _ in 0..keys {
            let key = bytes.text("a key")?;
            let what = quoted(&key);
            if let Some(value) = bytes.value(&what, is_kept(&key))? {
                metadata.push((key.clone(), value));
            }
            if !names.insert(key) {
                return Err(problem(format!("the key {what} occurs twice")));
            }
        }
        names.clear();
        let mut described = Vec::new();
        for _ in 0..tensors {
            let tensor = tensor(&mut bytes)?;
            if !names.insert(tensor.name.clone()) {
                let what = quoted(&tensor.name);
                return Err(problem(format!("the tensor {what} occurs twice")));
            }
            described.push(tensor);
        }
        let alignment = alignment(&metadata)?;
        let data = bytes.read.checked_next_multiple_of(alignment);
        for tensor in &mut described {
            tensor.begin = begin(tensor, data, alignment, file_bytes)?;
        }
        Ok(Self {
            version,
            metadata,
            tensors: described,
        })
    }
}

/// Reads the magic and the version.
fn version(bytes: &mut Bytes<impl Read>) -> Result<u32> {
    if &bytes.array::<4>()? != b"GGUF" {
        return Err(problem("does not begin with the magic GGUF"));
    }
    let version = bytes.u32()?;
    match (version, version.swap_bytes()) {
        (2..=3, _) => Ok(version),
        (_, 2..=3) => Err(problem("the file is big-endian, which is not supported")),
        _ => Err(problem(format!("version {version} is not 2 or 3"))),
    }
}

/// Reads the numbers of tensors and of keys.
fn counts(bytes: &mut Bytes<impl Read>) -> Result<(u64, u64)> {
    let (tensors, keys) = (bytes.u64()?, bytes.u64()?);
    for (what, count, most) in [("tensors", tensors, MAX_TENSORS), ("keys", keys, MAX_KEYS)] {
        if count > most {
            return Err(problem(format!("{count} {what} are above {most}")));
        }
    }
    // A key takes at least 13 bytes, and a tensor 24.
    let least = keys
        .saturating_mul(13)
        .saturating_add(tensors.saturating_mul(24));
    if least > bytes.left {
        return Err(problem(format!(
            "{keys} keys and {tensors} tensors need {least} bytes, but {} are left",
            bytes.left
        )));
    }
    Ok((tensors, keys))
}

/// Returns the first byte of a tensor in a file with data that begin at `data`.
fn begin(tensor: &GgufTensor, data: Option<u64>, alignment: u64, file_bytes: u64) -> Result<u64> {
    let what = quoted(&tensor.name);
    if !tensor.begin.is_multiple_of(alignment) {
        let begin = tensor.begin;
        let why = format!("the tensor {what} begins at {begin}, not aligned");
        return Err(problem(why));
    }
    let begin = data.and_then(|data| data.checked_add(tensor.begin));
    let size = block(tensor.kind).map_or(Some(0), |(elements, size)| {
        tensor.elements.div_ceil(elements).checked_mul(size)
    });
    let end = begin.zip(size);
    let end = end.and_then(|(begin, size)| begin.checked_add(size));
    begin
        .filter(|_| end.is_some_and(|end| end <= file_bytes))
        .ok_or_else(|| {
            problem(format!(
                "the tensor {what} extends past the end of the file"
            ))
        })
}

/// Returns the alignment of the tensors' data.
fn alignment(metadata: &[(String, GgufValue)]) -> Result<u64> {
    let stated = metadata.iter().find(|(key, _)| key == "general.alignment");
    match stated.map(|(_, value)| value) {
        None => Ok(32),
        Some(GgufValue::Unsigned(stated)) if stated.is_power_of_two() && *stated <= 1 << 20 => {
            Ok(*stated)
        }
        Some(other) => Err(problem(format!(
            "general.alignment is {other:?}, not a power of two up to {}",
            1 << 20
        ))),
    }
}

/// Reads the description of a tensor. Its first byte counts from the beginning of the data.
fn tensor(bytes: &mut Bytes<impl Read>) -> Result<GgufTensor> {
    let name = bytes.text("the name of a tensor")?;
    let rank = bytes.u32()?;
    if rank > MAX_RANK {
        let what = quoted(&name);
        return Err(problem(format!(
            "the tensor {what} has {rank} dimensions, above {MAX_RANK}"
        )));
    }
    let (mut elements, mut shape) = (1u64, Vec::new());
    for _ in 0..rank {
        let side = bytes.u64()?;
        shape.insert(0, side);
        elements = elements.checked_mul(side).ok_or_else(|| {
            let what = quoted(&name);
            problem(format!("the tensor {what} has more than 2^64 elements"))
        })?;
    }
    Ok(GgufTensor {
        elements,
        shape,
        kind: bytes.u32()?,
        begin: bytes.u64()?,
        name,
    })
}

/// Returns a name on one line, shortened.
fn quoted(name: &str) -> String {
    let shown: String = name.chars().take(80).collect();
    format!("\"{}\"", shown.escape_debug())
}
