//! Resizing of a learned grid in a file, once for all.

use std::io::{Error as IoError, Write};
use std::path::Path;

use candle_core::{DType, Device, Result, Tensor};
use pe_core::{PatchOrder, ResizeConfig};
use safetensors::Dtype;
use serde_json::json;

use crate::checkpoint::file::element::{encode, with_element};
use crate::checkpoint::file::header::{METADATA, TensorInfo};
use crate::checkpoint::file::limits::Limits;
use crate::checkpoint::file::message::{self, quoted, reason};
use crate::checkpoint::file::read::TableFile;
use crate::checkpoint::file::replace::replace;
use crate::checkpoint::scheme::METADATA_KEY;
use crate::layers::grid::config::{LearnedGridConfig, LearnedGridShape};
use crate::layers::grid::learned::LearnedGrid;

/// A learned grid in a file, and the size that it is resized to.
#[derive(Debug, Clone, PartialEq)]
pub struct TableResize {
    /// Name of the tensor. Its shape is `[N, D]`, `[1, N, D]`, `[1, H, W, D]`, or `[1, D, H, W]`.
    pub tensor: String,
    /// Sides of the grid.
    pub from: Vec<usize>,
    /// Sides after resizing.
    pub to: Vec<usize>,
    /// Way of resizing.
    pub resize: ResizeConfig,
    /// Rows after the grid, which are kept. All other rows that are not of the grid are before it.
    pub rows_after: usize,
}

/// What [`resize`] has written.
#[derive(Debug, Clone, PartialEq)]
pub struct ResizedTable {
    /// Type of the entries.
    pub dtype: DType,
    /// Shape before.
    pub from: Vec<usize>,
    /// Shape after.
    pub to: Vec<usize>,
    /// Rows before the grid, such as that of a class token.
    pub rows_before: usize,
    /// Number of the other tensors of the file, which are unchanged.
    pub others: usize,
}

/// Resizes a learned grid of a safetensors file and writes a file with it. All other tensors and the
/// metadata are unchanged, and the tensors keep their order.
///
/// The entries are those of [`LearnedGrid::resized`](crate::LearnedGrid::resized). The new file is
/// written atomically as by [`save`](crate::checkpoint::save). It may replace the given one. Equal input
/// gives equal bytes.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let [from, to] = ["vit.safetensors", "vit-384.safetensors"].map(|name| dir.path().join(name));
/// use candle_core::{Device, Tensor};
/// use pe_candle::checkpoint::{TableResize, resize};
/// use pe_candle::ResizePreset;
///
/// let table = Tensor::randn(0f32, 0.02, (1, 197, 64), &Device::Cpu)?;
/// candle_core::safetensors::save(&[("pos_embed", table)].into(), &from)?;
/// let table = TableResize {
///     tensor: "pos_embed".to_owned(),
///     from: vec![14, 14],
///     to: vec![24, 24],
///     resize: ResizePreset::Timm.config(),
///     rows_after: 0,
/// };
/// assert_eq!(resize(&from, &to, &table)?.to, [1, 577, 64]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns an error if
/// - the file cannot be read, or has no such tensor,
/// - the tensor is not of a float type, or its shape does not match the sides,
/// - the file has the specification of a computed table,
/// - the grid cannot be resized (see [`AxisTaps::new`](pe_core::AxisTaps::new)),
/// - the new file cannot be written.
pub fn resize<P: AsRef<Path>, Q: AsRef<Path>>(
    from: P,
    to: Q,
    table: &TableResize,
) -> Result<ResizedTable> {
    let mut file = TableFile::open(from.as_ref(), Limits::default())?;
    if file.header.metadata(METADATA_KEY).is_some() {
        return Err(file.error("the file holds a computed table: export one of the new size"));
    }
    let Some(tensor) = file.header.tensor(&table.tensor).cloned() else {
        let name = quoted(&table.tensor);
        return Err(file.error(format_args!(
            "no tensor {name}; the file holds {}",
            file.list()
        )));
    };
    let (config, dtype) = config(table, &tensor).map_err(|why| file.error_of(&tensor.name, why))?;
    let bytes = file.read_all(&tensor)?;
    let (shape, bytes) = resized(&config, table, &tensor, dtype, &bytes)
        .map_err(|error| file.error_of(&tensor.name, reason(&error)))?;
    let others = file.header.tensors.len().saturating_sub(1);
    let header = header(&file, &tensor.name, &shape, bytes.len())?;
    let to = to.as_ref();
    replace(to, |out| {
        out.write_all(&header)?;
        for info in file.header.tensors.clone() {
            if info.name == tensor.name {
                out.write_all(&bytes)?;
            } else {
                copy(&mut file, &info, out)?;
            }
        }
        Ok(())
    })
    .map_err(|why| message::error(format_args!("{}: {why}", to.display())))?;
    Ok(ResizedTable {
        dtype,
        from: tensor.shape,
        to: shape,
        rows_before: config.rows_before,
        others,
    })
}

/// Reads the kind of shape, the width, and the rows before the grid from the shape of a tensor. The error is the
/// reason.
fn config(
    table: &TableResize,
    tensor: &TensorInfo,
) -> std::result::Result<(LearnedGridConfig, DType), String> {
    let dtype = match tensor.dtype {
        Dtype::F32 => DType::F32,
        Dtype::F64 => DType::F64,
        Dtype::F16 => DType::F16,
        Dtype::BF16 => DType::BF16,
        other => {
            return Err(format!(
                "a grid of {other} cannot be resized: F32, F64, F16, BF16"
            ));
        }
    };
    let (shape, sides) = (&tensor.shape[..], &table.from);
    let cells = LearnedGridConfig::cells_of(sides);
    let kept = cells.saturating_add(table.rows_after);
    let (kind, rows, width) = match shape {
        [rows, width] => (LearnedGridShape::Rows, *rows, *width),
        [1, rows, width] => (LearnedGridShape::BatchOfRows, *rows, *width),
        [1, own @ .., width] if own == &sides[..] => {
            (LearnedGridShape::ChannelsLast, cells, *width)
        }
        [1, width, own @ ..] if own == &sides[..] => {
            (LearnedGridShape::ChannelsFirst, cells, *width)
        }
        _ => {
            return Err(format!(
                "shape {shape:?} is not [N, D], [1, N, D], [1, {sides:?}, D] or [1, D, {sides:?}]"
            ));
        }
    };
    let Some(rows_before) = rows.checked_sub(kept) else {
        let after = table.rows_after;
        return Err(format!(
            "shape {shape:?} has {rows} rows, fewer than a grid of sides {sides:?} with {after} rows after it"
        ));
    };
    let config = LearnedGridConfig {
        rows_before,
        rows_after: table.rows_after,
        resize: table.resize,
        order: PatchOrder::RowMajor,
        shape: kind,
        ..LearnedGridConfig::new(sides.clone(), width)
    };
    Ok((config, dtype))
}

/// Computes the shape and the bytes of the resized tensor.
fn resized(
    config: &LearnedGridConfig,
    table: &TableResize,
    tensor: &TensorInfo,
    dtype: DType,
    bytes: &[u8],
) -> Result<(Vec<usize>, Vec<u8>)> {
    let given = Tensor::from_raw_buffer(bytes, dtype, &tensor.shape, &Device::Cpu)?;
    let mut rows = LearnedGrid::from_table(config.clone(), given)?.resized(&table.to)?;
    let shape = LearnedGridConfig {
        sides: table.to.clone(),
        ..config.clone()
    }
    .dims();
    if config.shape == LearnedGridShape::ChannelsFirst {
        rows = rows.t()?.contiguous()?;
    }
    let rows = rows.flatten_all()?;
    let mut bytes = Vec::new();
    with_element!(dtype, T => {
        encode(&rows.to_vec1::<T>()?, &mut bytes);
        Ok::<_, candle_core::Error>(())
    })?;
    Ok((shape, bytes))
}

/// Builds the header of the new file: the old one with another shape and other places.
fn header(file: &TableFile, name: &str, shape: &[usize], bytes: usize) -> Result<Vec<u8>> {
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
        let (shape, bytes) = if tensor.name == name {
            (shape, bytes as u64)
        } else {
            (&tensor.shape[..], tensor.bytes)
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
fn copy(file: &mut TableFile, tensor: &TensorInfo, out: &mut dyn Write) -> std::io::Result<()> {
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
