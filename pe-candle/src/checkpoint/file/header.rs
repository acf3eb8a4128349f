//! The header of a safetensors file, read strictly.
//!
//! A file is eight bytes that give the header's length, the header, and the
//! tensors' bytes. The header is a JSON object: tensor names, each with `dtype`,
//! `shape` and `data_offsets`, and perhaps `__metadata__`, a map of strings. The checks:
//! the object has no key twice, every byte after the header belongs to exactly one
//! tensor, and every tensor has as many bytes as its shape needs.
//!
//! The memory for a header is bounded by its length. Lists in which a few bytes of text become many in
//! memory have a greatest length, and so do texts that a message may quote.

use std::collections::HashSet;
use std::fmt;

use safetensors::Dtype;
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::json::Object;
use super::message::{quoted, shown};

/// Number of bytes that give the header's length.
pub(crate) const PREFIX: u64 = 8;

/// The key of the metadata, which no tensor can have as its name.
pub(crate) const METADATA: &str = "__metadata__";

/// Largest number of tensors. Released checkpoints have up to some 100,000.
const MAX_TENSORS: usize = 1 << 18;

/// Largest number of dimensions of a tensor.
const MAX_RANK: usize = 64;

/// Largest number of metadata keys.
const MAX_METADATA: usize = 1 << 16;

/// Largest size of a tensor's name and of other texts outside the metadata, in bytes.
const MAX_STRING: usize = 1 << 20;

/// Largest size of a text among the metadata, in bytes: twice the longest specification, because quotes are
/// escaped.
const MAX_METADATA_STRING: usize = 32 << 20;

/// A checked header.
#[derive(Debug, Clone)]
pub(crate) struct Header {
    /// Tensors, in the order of their bytes.
    pub(crate) tensors: Vec<TensorInfo>,
    /// Metadata, in the order of the file.
    pub(crate) metadata: Vec<(String, String)>,
}

/// Place, type, and shape of a tensor's bytes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TensorInfo {
    pub(crate) name: String,
    pub(crate) dtype: Dtype,
    pub(crate) shape: Vec<usize>,
    /// First byte, counted from the end of the header.
    pub(crate) begin: u64,
    pub(crate) end: u64,
    /// Number of bytes, `end - begin`.
    pub(crate) bytes: u64,
}

impl Header {
    /// Reads and checks the header of a file that has `data_bytes` bytes after it. The
    /// error is the reason, with the tensor's name.
    pub(crate) fn parse(text: &[u8], data_bytes: u64) -> Result<Self, String> {
        let text =
            std::str::from_utf8(text).map_err(|e| format!("the header is not UTF-8: {e}"))?;
        if !text.starts_with('{') {
            return Err("the header does not begin with '{'".to_owned());
        }
        check_lengths(text)?;
        let invalid = |reason: &str| format!("the header is not valid: {}", shown(reason));
        let object: Entries =
            serde_json::from_str(text).map_err(|error| invalid(&error.to_string()))?;
        let names = object.tensors.iter().map(|(name, _)| name.as_str());
        if let Some(name) = repeated(names) {
            return Err(invalid(&format!("the key {} occurs twice", quoted(name))));
        }
        let keys = object.metadata.iter().map(|(key, _)| key.as_str());
        if let Some(key) = repeated(keys) {
            let reason = format!("the metadata key {} occurs twice", quoted(key));
            return Err(invalid(&reason));
        }
        let mut tensors = Vec::with_capacity(object.tensors.len());
        for (name, entry) in object.tensors {
            tensors.push(entry.check(name)?);
        }
        tensors.sort_by_key(|tensor| (tensor.begin, tensor.end));
        let mut at = 0;
        for tensor in &tensors {
            if tensor.begin != at {
                return Err(format!(
                    "tensor {}: begins at byte {} of the data, where byte {at} is due \
                     (tensors may neither overlap nor leave gaps)",
                    quoted(&tensor.name),
                    tensor.begin
                ));
            }
            at = tensor.end;
        }
        if at != data_bytes {
            return Err(format!(
                "the header describes {at} bytes of data, the file holds {data_bytes}"
            ));
        }
        Ok(Self {
            tensors,
            metadata: object.metadata,
        })
    }

    pub(crate) fn tensor(&self, name: &str) -> Option<&TensorInfo> {
        self.tensors.iter().find(|tensor| tensor.name == name)
    }

    pub(crate) fn metadata(&self, key: &str) -> Option<&str> {
        let pair = self.metadata.iter().find(|(name, _)| name == key);
        pair.map(|(_, text)| text.as_str())
    }
}

/// Returns an error if a text between quotes is longer than a message about it should have to hold. Texts among
/// the metadata, which may be long, are never quoted whole.
fn check_lengths(text: &str) -> Result<(), String> {
    let (mut depth, mut in_metadata) = (0usize, false);
    // First byte of the current text.
    let mut begin = None;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        let Some(from) = begin else {
            match byte {
                b'"' => begin = Some(at.saturating_add(1)),
                b'{' => depth = depth.saturating_add(1),
                b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            continue;
        };
        let end = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        if !end {
            continue;
        }
        begin = None;
        let found = text.get(from..at).unwrap_or_default();
        let limit = match depth > 1 && in_metadata {
            true => MAX_METADATA_STRING,
            false => MAX_STRING,
        };
        if found.len() > limit {
            let bytes = found.len();
            return Err(format!(
                "the header has a text of {bytes} bytes, above the limit of {limit}"
            ));
        }
        if depth == 1 {
            in_metadata = found == METADATA;
        }
    }
    Ok(())
}

/// Returns a name that an earlier one equals.
fn repeated<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> Option<&'a str> {
    let mut seen = HashSet::with_capacity(names.len());
    names.into_iter().find(|name| !seen.insert(*name))
}

/// The header's object, unchecked.
struct Entries {
    tensors: Vec<(String, Entry)>,
    metadata: Vec<(String, String)>,
}

#[derive(Deserialize)]
struct Entry {
    dtype: Dtype,
    #[serde(deserialize_with = "shape")]
    shape: Vec<usize>,
    data_offsets: (u64, u64),
}

impl Entry {
    fn check(self, name: String) -> Result<TensorInfo, String> {
        let of = |reason: String| format!("tensor {}: {reason}", quoted(&name));
        let (begin, end) = self.data_offsets;
        let Some(bytes) = end.checked_sub(begin) else {
            return Err(of(format!(
                "ends at byte {end}, before its begin at byte {begin}"
            )));
        };
        let shape = self.shape;
        let count = shape
            .iter()
            .try_fold(1usize, |count, dim| count.checked_mul(*dim));
        let Some(bits) = count.and_then(|count| count.checked_mul(self.dtype.bitsize())) else {
            return Err(of(format!(
                "the number of elements of shape {shape:?} overflows"
            )));
        };
        if bits % 8 != 0 || (bits / 8) as u64 != bytes {
            return Err(of(format!(
                "{shape:?} of {} needs {} bytes, the offsets give {bytes}",
                self.dtype,
                bits.div_ceil(8)
            )));
        }
        Ok(TensorInfo {
            name,
            dtype: self.dtype,
            shape,
            begin,
            end,
            bytes,
        })
    }
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = Entries;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of tensors")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut tensors = Vec::new();
                let mut metadata = None;
                while let Some(name) = map.next_key::<String>()? {
                    if name == METADATA {
                        let strings: Option<Strings> = map.next_value()?;
                        let pairs = strings.map_or_else(Vec::new, |strings| strings.0);
                        if metadata.replace(pairs).is_some() {
                            let reason = format!("the key {METADATA:?} occurs twice");
                            return Err(A::Error::custom(reason));
                        }
                    } else if tensors.len() == MAX_TENSORS {
                        return Err(A::Error::custom(format!("more than {MAX_TENSORS} tensors")));
                    } else {
                        let Object(entry) = map.next_value().map_err(|error: A::Error| {
                            let reason = shown(&error.to_string());
                            A::Error::custom(format!("tensor {}: {reason}", quoted(&name)))
                        })?;
                        tensors.push((name, entry));
                    }
                }
                Ok(Entries {
                    tensors,
                    metadata: metadata.unwrap_or_default(),
                })
            }
        }
        deserializer.deserialize_map(Keys)
    }
}

/// Reads a list of at most [`MAX_RANK`] dimensions.
fn shape<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<usize>, D::Error> {
    struct Dims;
    impl<'de> Visitor<'de> for Dims {
        type Value = Vec<usize>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of dimensions")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<usize>, A::Error> {
            let mut dims = Vec::new();
            while let Some(dim) = list.next_element()? {
                if dims.len() == MAX_RANK {
                    let reason = format!("a shape of more than {MAX_RANK} dimensions");
                    return Err(A::Error::custom(reason));
                }
                dims.push(dim);
            }
            dims.shrink_to_fit();
            Ok(dims)
        }
    }
    deserializer.deserialize_seq(Dims)
}

/// The metadata: a map of strings.
struct Strings(Vec<(String, String)>);

impl<'de> Deserialize<'de> for Strings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Strings;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of strings")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Strings, A::Error> {
                let mut pairs = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, String>()? {
                    if pairs.len() == MAX_METADATA {
                        let reason = format!("more than {MAX_METADATA} metadata keys");
                        return Err(A::Error::custom(reason));
                    }
                    pairs.push((key, value));
                }
                Ok(Strings(pairs))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}
