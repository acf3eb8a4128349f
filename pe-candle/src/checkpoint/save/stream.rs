//! A file with the tensors of another one, of which some are changed.

use std::io::{Error as IoError, Write};

use candle_core::Result;
use serde_json::json;

use crate::checkpoint::file::header::{METADATA, TensorInfo};
use crate::checkpoint::file::message::reason;
use crate::checkpoint::file::read::TableFile;

/// Builds the header of the new file: the old one, or with another shape and number of bytes of the tensor `changed`.
pub(super) fn header(
    file: &TableFile,
    changed: Option<(&str, &[usize], usize)>,
) -> Result<Vec<u8>> {
    let text = |value: &str| serde_json::to_string(value).map_err(|error| file.error(error));
    let mut parts = Vec::new();
    if !file.header.metadata.is_empty() {
        let mut pairs = Vec::new();
        for (key, value) in &file.header.metadata {
            pairs.push(format!("{}:{}", text(key)?, text(value)?));
        }
        parts.push(format!("{}:{{{}}}", text(METADATA)?, pairs.join(",")));
    }
    let mut at = 0u64;
    for tensor in &file.header.tensors {
        let (shape, bytes) = match changed {
            Some((name, shape, bytes)) if tensor.name == name => (shape, bytes as u64),
            _ => (&tensor.shape[..], tensor.bytes),
        };
        let end = at.saturating_add(bytes);
        let info = json!({"dtype": tensor.dtype, "shape": shape, "data_offsets": [at, end]});
        parts.push(format!("{}:{info}", text(&tensor.name)?));
        at = end;
    }
    let mut text = format!("{{{}}}", parts.join(",")).into_bytes();
    text.resize(text.len().next_multiple_of(8), b' ');
    let mut header = (text.len() as u64).to_le_bytes().to_vec();
    header.append(&mut text);
    Ok(header)
}

/// Copies the bytes of a tensor in blocks.
pub(super) fn copy(
    file: &mut TableFile,
    tensor: &TensorInfo,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    const BLOCK: u64 = 1 << 20;
    let (mut from, mut block) = (0, Vec::new());
    while from < tensor.bytes {
        let len = tensor.bytes.saturating_sub(from).min(BLOCK);
        block.resize(len as usize, 0);
        file.read_at(tensor, from, &mut block)
            .map_err(|error| IoError::other(reason(&error)))?;
        out.write_all(&block)?;
        from = from.saturating_add(len);
    }
    Ok(())
}
