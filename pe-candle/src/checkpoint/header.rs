//! The header of a safetensors file, read strictly.
//!
//! A file is eight bytes that give the header's length, the header, and the
//! tensors' bytes. The header is a JSON object: tensor names, each with `dtype`,
//! `shape` and `data_offsets`, and perhaps `__metadata__`, a map of strings. What is
//! checked here: the object has no key twice, every byte after the header belongs to
//! exactly one tensor, and every tensor's bytes are those that its shape needs.
//!
//! What a header makes a reader hold is bounded by its own length: lists in which a few bytes
//! of text become many in memory have a greatest length.

use std::collections::HashSet;
use std::fmt;

use safetensors::Dtype;
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::object::Object;
use super::shown;

/// The length of the length.
pub(crate) const PREFIX: u64 = 8;

/// The name that a tensor cannot have.
pub(crate) const METADATA: &str = "__metadata__";

/// The most dimensions that a tensor can have here.
const MAX_RANK: usize = 64;

/// The most keys that the metadata can have here.
const MAX_METADATA: usize = 1 << 16;

/// The largest sizes that a reader accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the tensor read; 16 GiB by default, as
    /// [`MAX_TABLE_BYTES`](pe_core::MAX_TABLE_BYTES).
    pub table_bytes: u64,
    /// Bytes of the whole file; unlimited by default, because what is not the table
    /// is not read.
    pub file_bytes: u64,
    /// Bytes of the header; 100,000,000 by default, as in the safetensors crate. Reading it
    /// takes some times as much memory, in pieces that are none larger than twice it.
    pub header_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            table_bytes: pe_core::MAX_TABLE_BYTES,
            file_bytes: u64::MAX,
            header_bytes: 100_000_000,
        }
    }
}

/// A checked header.
#[derive(Debug, Clone)]
pub(crate) struct Header {
    /// In the order of their bytes.
    pub(crate) tensors: Vec<TensorInfo>,
    /// In the order of the file.
    pub(crate) metadata: Vec<(String, String)>,
}

/// Where a tensor's bytes stand, and what they are.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TensorInfo {
    pub(crate) name: String,
    pub(crate) dtype: Dtype,
    pub(crate) shape: Vec<usize>,
    /// From the end of the header.
    pub(crate) begin: u64,
    pub(crate) end: u64,
    /// From the one to the other.
    pub(crate) bytes: u64,
}

impl Header {
    /// Reads and checks the header of a file that has `data_bytes` bytes after it. The
    /// error is the reason, with the tensor's name where there is one.
    pub(crate) fn parse(text: &[u8], data_bytes: u64) -> Result<Self, String> {
        let text =
            std::str::from_utf8(text).map_err(|e| format!("the header is not UTF-8: {e}"))?;
        if !text.starts_with('{') {
            return Err("the header does not begin with '{'".to_owned());
        }
        let object: Entries = serde_json::from_str(text)
            .map_err(|e| format!("the header is not valid: {}", shown(&e.to_string())))?;
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
                    shown(&format!("{:?}", tensor.name)),
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
}

/// The header's object as it stands in the file.
struct Entries {
    tensors: Vec<(String, Entry)>,
    metadata: Vec<(String, String)>,
}

#[derive(Deserialize)]
struct Entry {
    dtype: Dtype,
    #[serde(deserialize_with = "shape")]
    shape: Vec<u64>,
    data_offsets: (u64, u64),
}

impl Entry {
    fn check(self, name: String) -> Result<TensorInfo, String> {
        let of = |reason: String| format!("tensor {}: {reason}", shown(&format!("{name:?}")));
        let (begin, end) = self.data_offsets;
        let Some(bytes) = end.checked_sub(begin) else {
            return Err(of(format!(
                "ends at byte {end}, before its begin at byte {begin}"
            )));
        };
        let shape: Option<Vec<usize>> = self
            .shape
            .iter()
            .map(|dim| usize::try_from(*dim).ok())
            .collect();
        let needed = shape.as_ref().and_then(|shape| {
            shape
                .iter()
                .try_fold(1usize, |count, dim| count.checked_mul(*dim))?
                .checked_mul(self.dtype.bitsize())
        });
        let (Some(shape), Some(bits)) = (shape, needed) else {
            return Err(of(format!(
                "the number of elements of shape {:?} overflows",
                self.shape
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
                let mut seen = HashSet::new();
                let mut object = Entries {
                    tensors: Vec::new(),
                    metadata: Vec::new(),
                };
                while let Some(name) = map.next_key::<String>()? {
                    if !seen.insert(name.clone()) {
                        return Err(A::Error::custom(format!("the key {name:?} stands twice")));
                    }
                    if name == METADATA {
                        let strings: Option<Strings> = map.next_value()?;
                        object.metadata = strings.map_or_else(Vec::new, |strings| strings.0);
                    } else {
                        let Object(entry) = map.next_value().map_err(|error| {
                            A::Error::custom(format!("tensor {name:?}: {error}"))
                        })?;
                        object.tensors.push((name, entry));
                    }
                }
                Ok(object)
            }
        }
        deserializer.deserialize_map(Keys)
    }
}

/// A list of dimensions, not longer than any tensor's.
fn shape<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u64>, D::Error> {
    struct Dims;
    impl<'de> Visitor<'de> for Dims {
        type Value = Vec<u64>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of dimensions")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<u64>, A::Error> {
            let mut dims = Vec::new();
            while let Some(dim) = list.next_element()? {
                if dims.len() == MAX_RANK {
                    let reason = format!("a shape of more than {MAX_RANK} dimensions");
                    return Err(A::Error::custom(reason));
                }
                dims.push(dim);
            }
            Ok(dims)
        }
    }
    deserializer.deserialize_seq(Dims)
}

/// The metadata: a map of strings without a key twice.
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
                let mut seen = HashSet::new();
                let mut pairs = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, String>()? {
                    if pairs.len() == MAX_METADATA {
                        let reason = format!("more than {MAX_METADATA} metadata keys");
                        return Err(A::Error::custom(reason));
                    }
                    if !seen.insert(key.clone()) {
                        return Err(A::Error::custom(format!(
                            "the metadata key {key:?} stands twice"
                        )));
                    }
                    pairs.push((key, value));
                }
                Ok(Strings(pairs))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}
