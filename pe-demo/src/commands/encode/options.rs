//! The options of `pe-demo encode`, checked.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::cli::{DEFAULT_TABLE, EncodeArgs, SAME, needs};
use crate::encoder::device::DeviceName;
use crate::encoder::mask::Sight;
use crate::encoder::{Norm, Scheme, check_widths};
use crate::sources::overwrite::{self, Named};
use crate::terminal::outcome::BadUsage;

/// The sentences, the encoder, and the result.
#[derive(Debug)]
pub(crate) struct Options {
    pub(super) sentences: Vec<String>,
    pub(super) file: Option<PathBuf>,
    pub(super) tokenizer: Option<String>,
    pub(super) weights: Weights,
    /// The width, unless the weights state it.
    pub(super) d_model: usize,
    pub(super) heads: usize,
    pub(super) layers: usize,
    pub(super) max_seq_len: Option<usize>,
    pub(super) norm: Norm,
    pub(super) scheme: Scheme,
    pub(super) sight: Sight,
    pub(super) seed: u64,
    pub(super) device: DeviceName,
    pub(super) result: Wanted,
    pub(super) json: bool,
    /// The files that are written.
    pub(super) outputs: Vec<Named>,
}

/// The origin of the weights.
#[derive(Debug)]
pub(super) enum Weights {
    /// All from the seed.
    Seeded,
    /// All from the seed but the embeddings of a checkpoint.
    Pretrained(Pretrained),
    /// All from a file that `pe-demo train` wrote.
    Trained(String),
}

/// Embeddings of a checkpoint.
#[derive(Debug)]
pub(super) struct Pretrained {
    pub(super) tokens: String,
    pub(super) positions: Option<PretrainedPositions>,
}

/// Position embeddings of a checkpoint.
#[derive(Debug)]
pub(super) struct PretrainedPositions {
    /// `None` for the checkpoint of the token embeddings.
    pub(super) name: Option<String>,
    /// The row of the first token.
    pub(super) offset: usize,
}

/// The result that is wanted.
#[derive(Debug)]
pub(super) enum Wanted {
    /// A file with a vector for each.
    Vectors(PathBuf),
    /// A close look.
    Look {
        /// The file for a figure of attention weights.
        attention: Option<PathBuf>,
        table: Option<TableOption>,
    },
}

/// The file of the table of encodings.
#[derive(Debug)]
pub(super) struct TableOption {
    pub(super) file: PathBuf,
    /// Whether an option asked for it.
    pub(super) asked: bool,
}

impl Options {
    /// Checks the arguments together.
    pub(crate) fn new(args: EncodeArgs) -> Result<Self, BadUsage> {
        check_needs(&args)?;
        let table = table(&args);
        let outputs = outputs(&args, table.as_ref());
        overwrite::check(&outputs, &inputs(&args))?;
        check_scheme(&args)?;
        let positions = args.position_embeddings.map(|name| PretrainedPositions {
            name: (name != SAME).then_some(name),
            offset: args.position_offset.unwrap_or(0),
        });
        Ok(Self {
            sentences: args.sentences,
            file: args.file,
            tokenizer: args.tokenizer,
            weights: match (args.weights, args.embeddings) {
                (Some(file), _) => Weights::Trained(file),
                (None, Some(tokens)) => Weights::Pretrained(Pretrained { tokens, positions }),
                (None, None) => Weights::Seeded,
            },
            d_model: args.d_model,
            heads: args.heads,
            layers: args.layers,
            max_seq_len: args.max_seq_len,
            norm: args.norm,
            scheme: args.scheme,
            sight: match args.causal {
                true => Sight::Past,
                false => Sight::Whole,
            },
            seed: args.seed,
            device: args.device,
            result: match args.output {
                Some(file) => Wanted::Vectors(file),
                None => Wanted::Look {
                    attention: args.attention,
                    table,
                },
            },
            json: args.json,
            outputs,
        })
    }
}

fn check_needs(args: &EncodeArgs) -> Result<(), BadUsage> {
    let positions = ("--position-embeddings", args.position_embeddings.is_some());
    needs::check(&[
        (positions, ("--embeddings", args.embeddings.is_some())),
        (
            ("--position-offset", args.position_offset.is_some()),
            positions,
        ),
        (
            ("--attention", args.attention.is_some()),
            ("--weights", args.weights.is_some()),
        ),
    ])
}

fn check_scheme(args: &EncodeArgs) -> Result<(), BadUsage> {
    let EncodeArgs { d_model, heads, .. } = args;
    let scheme_of_table = match args.position_embeddings {
        Some(_) => Scheme::Learned,
        None => args.scheme,
    };
    if args.table.is_some() && scheme_of_table != Scheme::Sinusoidal {
        return Err(BadUsage(format!(
            "--table writes the table of --scheme sinusoidal, not of {}",
            scheme_of_table.name()
        )));
    }
    // The width of embeddings is known once they are read.
    match args.embeddings {
        Some(_) => Ok(()),
        None => check_widths(*d_model, *heads, [args.scheme]).map_err(|error| {
            BadUsage(error.of(&format!("--d-model {d_model}"), &format!("--heads {heads}")))
        }),
    }
}

/// Returns the file for the table of encodings: the one asked for, or the default one if the
/// built-in sentences are shown, or none.
fn table(args: &EncodeArgs) -> Option<TableOption> {
    if let Some(file) = &args.table {
        return Some(TableOption {
            file: file.clone(),
            asked: true,
        });
    }
    let bare = args.sentences.is_empty()
        && args.file.is_none()
        && args.output.is_none()
        && args.weights.is_none()
        && args.position_embeddings.is_none()
        && args.scheme == Scheme::Sinusoidal;
    (bare && !args.no_table).then(|| TableOption {
        file: DEFAULT_TABLE.into(),
        asked: false,
    })
}

/// Returns every file that is written.
fn outputs(args: &EncodeArgs, table: Option<&TableOption>) -> Vec<Named> {
    let named = |option, file: Option<&PathBuf>| Some((option, file?.clone()));
    let table_name = match args.table {
        Some(_) => "--table",
        None => "the table",
    };
    let all = [
        named("--output", args.output.as_ref()),
        named("--attention", args.attention.as_ref()),
        named(table_name, table.map(|table| &table.file)),
    ];
    all.into_iter().flatten().collect()
}

/// Returns every file that an option names to be read.
fn inputs(args: &EncodeArgs) -> Vec<Named> {
    let mut inputs: Vec<Named> = Vec::new();
    inputs.extend(args.file.iter().map(|path| ("--file", path.clone())));
    if args.sentences == ["-"] || args.file.as_deref() == Some(Path::new("-")) {
        inputs.push(("standard input", PathBuf::from("/dev/stdin")));
    }
    for (option, name) in [
        ("--tokenizer", &args.tokenizer),
        ("--weights", &args.weights),
        ("--embeddings", &args.embeddings),
        ("--position-embeddings", &args.position_embeddings),
    ] {
        let Some(name) = name else { continue };
        inputs.push((option, PathBuf::from(name)));
        // With the name of a tensor behind it.
        let file = name.rsplit_once(':').map(|(file, _)| PathBuf::from(file));
        inputs.extend(file.map(|file| (option, file)));
    }
    inputs
}
