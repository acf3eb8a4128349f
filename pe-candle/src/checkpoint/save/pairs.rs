//! Query and key weights of a checkpoint in the other pair layout.

use std::io::Error as IoError;
use std::path::Path;

use candle_core::Result;
use pe_core::{PairLayout, permutation};

use super::stream::{copy, header};
use crate::checkpoint::file::header::TensorInfo;
use crate::checkpoint::file::limits::Limits;
use crate::checkpoint::file::message::{self, quoted, reason};
use crate::checkpoint::file::read::TableFile;
use crate::checkpoint::file::replace::replace;

/// Heads of a model, and the pair layouts of its queries and keys before and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairConversion {
    /// Layout of the file.
    pub from: PairLayout,
    /// Layout of the new file.
    pub to: PairLayout,
    /// Number of query heads.
    pub num_heads: usize,
    /// Number of key heads.
    pub num_kv_heads: usize,
    /// Width of a head.
    pub head_dim: usize,
    /// Rotated columns of a head, the first ones.
    pub rotary_dim: usize,
}

/// Result of [`convert_pairs`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermutedWeights {
    /// Names of the tensors with permuted rows.
    pub permuted: Vec<String>,
    /// Number of the other tensors, which are unchanged.
    pub others: usize,
}

/// Rows of a tensor that are heads.
#[derive(Clone, Copy)]
enum Heads {
    /// Only queries.
    Queries,
    /// Only keys.
    Keys,
    /// Queries, then keys, then values.
    Stacked,
    /// Weights of a norm of each head, shared by the heads or not.
    Norm,
}

/// Converts the query and key weights of a checkpoint between the pair layouts, and writes a file with them.
/// A model with the new layout in its rotary embedding then computes the same attention.
///
/// The rows of `q_proj` and `k_proj` (also `wq`, `wk`, `qkv_proj`), of their biases, of `lora_B`, and of the
/// norms `q_norm` and `k_norm` are permuted in each head. All other tensors and the metadata are unchanged. One
/// tensor at a time is in memory. The new file is written atomically, as by [`save`](crate::checkpoint::save).
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let [from, to] = ["llama.safetensors", "hf.safetensors"].map(|name| dir.path().join(name));
/// use candle_core::{Device, Tensor};
/// use pe_candle::PairLayout;
/// use pe_candle::checkpoint::{PairConversion, convert_pairs};
///
/// let name = "model.layers.0.self_attn.q_proj.weight".to_owned();
/// let weight = Tensor::randn(0f32, 1., (8, 16), &Device::Cpu)?;
/// candle_core::safetensors::save(&[(name.clone(), weight)].into(), &from)?;
/// let heads = PairConversion {
///     from: PairLayout::Interleaved,
///     to: PairLayout::HalfSplit,
///     num_heads: 2,
///     num_kv_heads: 1,
///     head_dim: 4,
///     rotary_dim: 4,
/// };
/// assert_eq!(convert_pairs(&from, &to, &heads)?.permuted, [name]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns an error if
/// - the file cannot be read, or has no query and key weights,
/// - a tensor of queries or keys is quantized or of a kind that is not known, or its rows are not those of the
///   heads,
/// - `rotary_dim` is odd or exceeds `head_dim`,
/// - the new file cannot be written.
pub fn convert_pairs<P: AsRef<Path>, Q: AsRef<Path>>(
    from: P,
    to: Q,
    heads: &PairConversion,
) -> Result<PermutedWeights> {
    let mut file = TableFile::open(from.as_ref(), Limits::default())?;
    let order = permutation(heads.from, heads.to, heads.rotary_dim, heads.head_dim)
        .map_err(|error| file.error(error))?;
    let mut permuted = Vec::new();
    for tensor in &file.header.tensors {
        let rows = rows(heads, tensor).map_err(|why| file.error_of(&tensor.name, why))?;
        if rows.is_some() {
            permuted.push(tensor.name.clone());
        }
    }
    if permuted.is_empty() {
        return Err(file.error(format_args!(
            "no weights of queries and keys (q_proj, k_proj, wq, wk, qkv_proj); the file holds {}",
            file.list()
        )));
    }
    let others = file.header.tensors.len().saturating_sub(permuted.len());
    let header = header(&file, None)?;
    let to = to.as_ref();
    replace(to, |out| {
        out.write_all(&header)?;
        for tensor in file.header.tensors.clone() {
            let Some(rows) = rows(heads, &tensor).map_err(IoError::other)? else {
                copy(&mut file, &tensor, out)?;
                continue;
            };
            let read = file.read_all(&tensor);
            let bytes = read.map_err(|error| IoError::other(reason(&error)))?;
            out.write_all(&reordered(&bytes, rows, &order))?;
        }
        Ok(())
    })
    .map_err(|why| message::error(format_args!("{}: {why}", to.display())))?;
    Ok(PermutedWeights { permuted, others })
}

/// Rows of a tensor, of which the first ones are heads.
#[derive(Clone, Copy)]
struct Rows {
    rows: usize,
    /// Heads to permute.
    blocks: usize,
}

/// Returns the rows of a tensor to permute, or `None` for a tensor that has none. The error is the reason.
fn rows(heads: &PairConversion, tensor: &TensorInfo) -> std::result::Result<Option<Rows>, String> {
    let Some(kind) = kind(&tensor.name)? else {
        return Ok(None);
    };
    let PairConversion {
        num_heads,
        num_kv_heads,
        head_dim,
        ..
    } = *heads;
    let shape = &tensor.shape;
    let rows = match (kind, shape.as_slice()) {
        // [heads, head_dim], or all in one.
        (Heads::Norm, shape) => shape
            .iter()
            .fold(1, |n: usize, side| n.saturating_mul(*side)),
        (_, [rows, ..]) => *rows,
        (_, []) => 0,
    };
    // Heads, and all rows in heads.
    let stacked = num_heads.saturating_add(num_kv_heads);
    let known = match kind {
        Heads::Queries => vec![(num_heads, num_heads)],
        Heads::Keys => vec![(num_kv_heads, num_kv_heads)],
        Heads::Stacked => vec![(stacked, stacked.saturating_add(num_kv_heads))],
        Heads::Norm => [1, num_kv_heads, num_heads]
            .map(|heads| (heads, heads))
            .to_vec(),
    };
    let fits = |(_, all): &(usize, usize)| rows > 0 && all.saturating_mul(head_dim) == rows;
    match known.into_iter().find(fits) {
        Some((blocks, _)) => Ok(Some(Rows { rows, blocks })),
        None => Err(format!(
            "shape {shape:?} has {rows} rows, not those of {num_heads} and {num_kv_heads} heads of {head_dim}"
        )),
    }
}

/// Returns the rows of a tensor by its name. The error is the reason.
fn kind(name: &str) -> std::result::Result<Option<Heads>, String> {
    let mut parts = name.rsplit('.');
    let parameter = parts.next().unwrap_or_default();
    let (module, parameter) = match (parameter, parts.next()) {
        ("weight", Some(lora @ ("lora_A" | "lora_B"))) => (parts.next(), lora),
        (parameter, module) => (module, parameter),
    };
    let kind = match module {
        Some("q_proj" | "wq") => Heads::Queries,
        Some("k_proj" | "wk") => Heads::Keys,
        Some("qkv_proj") => Heads::Stacked,
        Some("q_norm" | "k_norm") => Heads::Norm,
        Some(fused @ ("query_key_value" | "Wqkv" | "c_attn" | "qkv")) => {
            return Err(format!(
                "the order of the rows of {} differs between models",
                quoted(fused)
            ));
        }
        _ => return Ok(None),
    };
    match parameter {
        "weight" | "bias" | "lora_B" => Ok(Some(kind)),
        // The input side of a low-rank update.
        "lora_A" => Ok(None),
        other => Err(format!("the parameter {} is not known", quoted(other))),
    }
}

/// Returns the bytes of a tensor with the rows of each of its heads in another order.
fn reordered(bytes: &[u8], heads: Rows, order: &[usize]) -> Vec<u8> {
    let row = bytes.len().checked_div(heads.rows).unwrap_or(0).max(1);
    let head = order.len().saturating_mul(row);
    let rotated = head.saturating_mul(heads.blocks).min(bytes.len());
    let (rotated, rest) = bytes.split_at(rotated);
    let mut out = Vec::with_capacity(bytes.len());
    for block in rotated.chunks(head.max(1)) {
        let rows: Vec<&[u8]> = block.chunks(row).collect();
        for from in order {
            out.extend(rows.get(*from).copied().into_iter().flatten());
        }
    }
    out.extend_from_slice(rest);
    out
}
