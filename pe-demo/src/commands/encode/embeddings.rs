//! Token and position embeddings of real checkpoints, and their norms.

mod norms;
mod shards;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use candle_core::{DType, Tensor};
use pe_candle::checkpoint::{self, Limits, LoadOptions, TensorReport, Verify};

use super::options::{Options, Pretrained};
use crate::encoder::{MAX_PARAMETERS, check_widths};
use crate::sources::origin::Origin;
use crate::sources::overwrite::Named;
use crate::terminal::log::Log;
use crate::terminal::width::{clean, clean_path};

pub(super) use norms::Norms;

/// The name that checkpoints of one file have on the hub.
pub(super) const FILE: &str = "model.safetensors";

/// The endings of the tensors' names in BERT, DistilBERT, RoBERTa, and similar models.
const TOKENS: &str = "embeddings.word_embeddings.weight";
const POSITIONS: &str = "embeddings.position_embeddings.weight";

/// The largest file that is fetched.
const MAX_BYTES: u64 = 16 << 30;

/// The types that such vectors have.
const TYPES: [&str; 4] = ["F32", "F16", "BF16", "F64"];

/// Embeddings of a checkpoint.
pub(super) struct Embeddings {
    pub(super) tokens: Vectors,
    pub(super) positions: Option<Vectors>,
}

/// A matrix of vectors, one per row.
pub(super) struct Vectors {
    pub(super) vectors: Tensor,
    pub(super) rows: usize,
    pub(super) width: usize,
    pub(super) tensor: String,
    /// The type in the file.
    dtype: String,
    /// The file, and the index that named it.
    files: Vec<PathBuf>,
}

impl Embeddings {
    /// Reads the embeddings that the options name. Also returns the origin of those of tokens.
    pub(super) fn load(
        options: &Options,
        names: &Pretrained,
        log: &mut Log<'_>,
    ) -> Result<(Self, Origin)> {
        let here = || "--embeddings";
        let (origin, tensor) = Origin::parse_tensor(&names.tokens, FILE).with_context(here)?;
        let tokens = Vectors::read(&origin, tensor.as_deref(), TOKENS, log).with_context(here)?;
        let (width, heads) = (tokens.width, options.heads);
        check_widths(width, heads, [options.scheme]).map_err(|error| {
            let (width, heads) = (format!("the width {width}"), format!("--heads {heads}"));
            anyhow!("--embeddings: {}", error.of(&width, &heads))
        })?;
        let positions = match &names.positions {
            None => None,
            Some(positions) => {
                let here = || "--position-embeddings";
                let (origin, tensor) = match &positions.name {
                    None => (origin.clone(), None),
                    Some(name) => Origin::parse_tensor(name, FILE).with_context(here)?,
                };
                let all = Vectors::read(&origin, tensor.as_deref(), POSITIONS, log);
                let rows = all.and_then(|all| all.starting_at(positions.offset, width));
                Some(rows.with_context(here)?)
            }
        };
        Ok((Self { tokens, positions }, origin))
    }

    /// Returns the files that the vectors came from.
    pub(super) fn files(&self) -> impl Iterator<Item = Named> {
        let positions = self.positions.iter();
        let all = positions.map(|positions| ("--position-embeddings", positions));
        std::iter::once(("--embeddings", &self.tokens))
            .chain(all)
            .flat_map(|(option, vectors)| vectors.files.iter().map(move |f| (option, f.clone())))
    }
}

impl Vectors {
    /// Reads one tensor of a checkpoint, and nothing else of it but headers.
    fn read(
        origin: &Origin,
        tensor: Option<&str>,
        ending: &str,
        log: &mut Log<'_>,
    ) -> Result<Self> {
        let found = shards::find(origin, tensor, ending, log)?;
        let vectors = Self::read_file(&found.file, found.tensor.as_deref(), ending, log);
        let (Some(index), Some(tensor)) = (found.index, found.tensor) else {
            return vectors;
        };
        let mut vectors = vectors
            .with_context(|| format!("{}: tensor {}", clean_path(&index), clean(&tensor, 200)))?;
        vectors.files.push(index);
        Ok(vectors)
    }

    fn read_file(
        path: &Path,
        tensor: Option<&str>,
        ending: &str,
        log: &mut Log<'_>,
    ) -> Result<Self> {
        let report = checkpoint::inspect(path)?;
        let found = find(&report.tensors, tensor, ending).with_context(|| clean_path(path))?;
        let (rows, width) = matrix(found).with_context(|| clean_path(path))?;
        let options = LoadOptions {
            tensor_names: vec![found.name.clone()],
            dtype: Some(DType::F32),
            verify: Verify::None,
            limits: Limits {
                table_bytes: MAX_PARAMETERS * 8,
                ..Limits::default()
            },
            ..LoadOptions::default()
        };
        let vectors = options.load(path)?.table;
        log.detail(format!(
            "{}: read {} {} [{rows}, {width}]",
            clean_path(path),
            clean(&found.name, 200),
            found.dtype
        ));
        Ok(Self {
            vectors,
            rows,
            width,
            tensor: found.name.clone(),
            dtype: found.dtype.to_lowercase(),
            files: vec![path.to_owned()],
        })
    }

    /// Returns the rows starting at `first`. Their width must be that of the token embeddings.
    fn starting_at(mut self, first: usize, width: usize) -> Result<Self> {
        let (name, rows) = (clean(&self.tensor, 200), self.rows);
        ensure!(
            self.width == width,
            "{name} has width {}, the words' vectors have {width}",
            self.width
        );
        ensure!(
            first < rows,
            "{name} has {rows} rows, --position-offset is {first}"
        );
        self.vectors = self.vectors.narrow(0, first, rows - first)?.contiguous()?;
        self.rows = rows - first;
        Ok(self)
    }
}

/// Returns the tensor of a name, or the one with a name that has an ending.
fn find<'a>(
    tensors: &'a [TensorReport],
    name: Option<&str>,
    ending: &str,
) -> Result<&'a TensorReport> {
    let names = || tensors.iter().map(|entry| entry.name.as_str());
    let wanted = match name {
        Some(name) => Some(name),
        None => by_ending(names(), ending)?,
    };
    let found = tensors
        .iter()
        .find(|entry| wanted == Some(entry.name.as_str()));
    let Some(found) = found else {
        let (what, name) = match name {
            Some(name) => ("no tensor", clean(name, 200)),
            None => ("no tensor with a name that ends in", ending.to_owned()),
        };
        bail!("{what} {name}; {}", matrices(tensors));
    };
    Ok(found)
}

/// Checks that a tensor is a matrix of vectors, and returns the number of its rows and their width.
fn matrix(found: &TensorReport) -> Result<(usize, usize)> {
    let name = clean(&found.name, 200);
    let [rows, width] = found.shape[..] else {
        bail!(
            "tensor {name} has shape {:?}, not [rows, width]",
            found.shape
        );
    };
    ensure!(
        TYPES.contains(&found.dtype.as_str()),
        "tensor {name} has type {}, not one of {}",
        found.dtype,
        TYPES.join(", ")
    );
    ensure!(
        rows > 0 && (rows as u64).saturating_mul(width as u64) <= MAX_PARAMETERS,
        "tensor {name} has {rows} x {width} entries, outside 1..={MAX_PARAMETERS}"
    );
    Ok((rows, width))
}

/// Returns the one name that has an ending after the name of a module.
fn by_ending<'a>(names: impl Iterator<Item = &'a str>, ending: &str) -> Result<Option<&'a str>> {
    let named = |name: &&str| {
        let before = name.strip_suffix(ending);
        before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
    };
    let found: Vec<&str> = names.filter(named).collect();
    match found[..] {
        [] => Ok(None),
        [one] => Ok(Some(one)),
        _ => {
            let names = found.iter().take(SHOWN).map(|name| clean(name, 100));
            bail!(
                "{} tensors have names that end in {ending}: {}; name one of them after a colon",
                found.len(),
                names.collect::<Vec<_>>().join(", ")
            )
        }
    }
}

/// The most names in a message.
const SHOWN: usize = 8;

/// Lists some of the tensors that could be meant.
fn matrices(tensors: &[TensorReport]) -> String {
    let all: Vec<&TensorReport> = tensors
        .iter()
        .filter(|entry| entry.shape.len() == 2)
        .collect();
    if all.is_empty() {
        return "the file has no matrices".to_owned();
    }
    let mut names: Vec<String> = all
        .iter()
        .take(SHOWN)
        .map(|entry| clean(&entry.name, 80))
        .collect();
    if all.len() > SHOWN {
        names.push(format!("and {} more", all.len() - SHOWN));
    }
    format!("its matrices are {}", names.join(", "))
}
