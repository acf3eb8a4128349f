//! The arguments of `pe-demo encode`.

use std::path::PathBuf;

use clap::Args;
use pe_core::{MAX_D_MODEL, POSITIONS};

use super::numbers::whole;
use super::values::{origin, output, picture, sentence, vectors};
use crate::encoder::device::DeviceName;
use crate::encoder::{DEFAULT_HEADS, DEFAULT_LAYERS, DEFAULT_ROWS, MAX_TOKENS, Norm, Scheme};

pub(super) const ENCODE_EXAMPLES: &str = "\
Examples:
  pe-demo encode \"To be or not to be\"
  pe-demo encode --file text.txt --causal
  zcat text.gz | pe-demo encode --file - --output vectors.safetensors
  pe-demo encode --file text.txt -o vectors.jsonl --embeddings bert.safetensors
  pe-demo encode --tokenizer google-bert/bert-base-uncased
  pe-demo encode --embeddings google-bert/bert-base-uncased
  pe-demo encode --embeddings FacebookAI/roberta-base --position-embeddings \\
      --position-offset 2
  pe-demo encode --weights pe-demo-train/order-rotary-0.safetensors
  pe-demo encode --weights owner/name@v2:rotary.safetensors

FILE|REPO is the name of a file, or else owner/name[@revision][:file] of a repository on the \
Hugging Face hub. An existing file of that name comes first; ./owner/name is never a \
repository. Without :file it is tokenizer.json or model.safetensors. Files are fetched once, \
into the hub's cache (HF_HOME); interrupted downloads resume. With HF_HUB_OFFLINE=1 only the \
cache is used.

A tensor may be named after another colon, FILE:TENSOR. The default is the tensor with a name that ends in \
embeddings.word_embeddings.weight (or position_embeddings), as in BERT, DistilBERT, and \
RoBERTa. Only that tensor is read. The tokenizer is then the repository's, or the \
tokenizer.json next to the file, unless --tokenizer names another.

A checkpoint may be in shards: a directory or a repository with \
model.safetensors.index.json, or that file. Only the shard of the tensor is read.

--output: the mean of each sentence's vectors after the last layer, in the order of the \
input; tensor `vectors` [sentences, d_model], or a JSON object per line. The file is written \
atomically, and a sentence's vector has the same bits whatever the other sentences are (on \
the CPU; --device cuda and metal, which need a build with the feature of that name, promise \
no bits). A line has at most 1 MiB, a sentence 2048 tokens.

Exit codes: 0 done, 1 a failure (files, network, sizes), 2 bad usage, 130 stopped by Ctrl-C \
while writing vectors.";

/// The value of `--position-embeddings` alone. No file or repository can have this name.
pub(crate) const SAME: &str = "/";

/// The file of the table that is written with the built-in sentences.
pub(crate) const DEFAULT_TABLE: &str = "pe-demo-table.safetensors";

fn table_help() -> String {
    format!("File for the sinusoidal table [default: {DEFAULT_TABLE}, without sentences]")
}

/// The input of `encode`, the model, and the outputs.
#[derive(Debug, Args)]
pub(crate) struct EncodeArgs {
    /// Sentences to encode instead of the built-in ones; `-` reads standard input
    #[arg(value_name = "SENTENCE", value_parser = sentence)]
    pub(crate) sentences: Vec<String>,
    /// File of sentences, one per line; `-` is standard input
    #[arg(
        help_heading = "Text",
        long,
        value_name = "FILE",
        conflicts_with = "sentences"
    )]
    pub(crate) file: Option<PathBuf>,
    /// Tokenizer: a tokenizer.json, or a repository on the Hugging Face hub
    #[arg(help_heading = "Text", long, value_name = "FILE|REPO", value_parser = origin)]
    pub(crate) tokenizer: Option<String>,
    /// Weights written by `pe-demo train`, which determine the encoder
    #[arg(
        help_heading = "Weights",
        long,
        value_name = "FILE|REPO",
        value_parser = origin,
        conflicts_with_all = [
            "tokenizer", "scheme", "d_model", "heads", "layers", "max_seq_len", "norm", "causal",
            "seed", "table"
        ]
    )]
    pub(crate) weights: Option<String>,
    /// Token embeddings of a BERT-like checkpoint, which determine the width
    #[arg(
        help_heading = "Weights",
        long,
        value_name = "FILE|REPO",
        value_parser = origin,
        conflicts_with_all = ["weights", "d_model"]
    )]
    pub(crate) embeddings: Option<String>,
    /// Position embeddings of the same checkpoint, or of =FILE|REPO[:TENSOR]
    #[arg(
        help_heading = "Weights",
        hide_short_help = true,
        long,
        value_name = "WHERE",
        value_parser = origin,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = SAME,
        conflicts_with_all = ["scheme", "max_seq_len"]
    )]
    pub(crate) position_embeddings: Option<String>,
    /// Row of the first token's position embedding (RoBERTa: 2)
    #[arg(
        help_heading = "Weights",
        hide_short_help = true,
        long,
        value_name = "N",
        value_parser = whole::<usize>(0, 65_536),
        allow_negative_numbers = true
    )]
    pub(crate) position_offset: Option<usize>,
    /// Positional encoding scheme
    #[arg(
        help_heading = "Encoder",
        long,
        value_enum,
        default_value_t,
        value_name = "SCHEME"
    )]
    pub(crate) scheme: Scheme,
    /// Width of the token embeddings
    #[arg(
        help_heading = "Encoder",
        long,
        default_value_t = 256,
        value_name = "N",
        value_parser = whole::<usize>(1, MAX_D_MODEL as u64),
        allow_negative_numbers = true
    )]
    pub(crate) d_model: usize,
    /// Attention heads per layer
    #[arg(
        help_heading = "Encoder",
        long,
        default_value_t = DEFAULT_HEADS,
        value_name = "N",
        value_parser = whole::<usize>(1, MAX_D_MODEL as u64),
        allow_negative_numbers = true
    )]
    pub(crate) heads: usize,
    /// Number of layers
    #[arg(
        help_heading = "Encoder",
        long,
        default_value_t = DEFAULT_LAYERS,
        value_name = "N",
        value_parser = whole::<usize>(1, MAX_D_MODEL as u64),
        allow_negative_numbers = true
    )]
    pub(crate) layers: usize,
    #[arg(
        help_heading = "Encoder",
        hide_short_help = true,
        long,
        help = format!("Maximum sequence length [default: {DEFAULT_ROWS}]"),
        long_help = format!(
            "Maximum sequence length [default: {DEFAULT_ROWS}]\n\nWithout it the table grows with \
             the longest sentence, and has {MAX_TOKENS} rows for a long text."
        ),
        value_name = "N",
        value_parser = whole::<usize>(1, POSITIONS),
        allow_negative_numbers = true
    )]
    pub(crate) max_seq_len: Option<usize>,
    /// Normalize after each residual connection (post) or before each sublayer (pre)
    #[arg(
        help_heading = "Encoder",
        hide_short_help = true,
        long,
        value_enum,
        default_value_t,
        value_name = "WHERE",
        hide_possible_values = true
    )]
    pub(crate) norm: Norm,
    /// Hide later tokens (look-ahead mask)
    #[arg(help_heading = "Encoder", long)]
    pub(crate) causal: bool,
    /// Seed of the weights
    #[arg(
        help_heading = "Encoder",
        hide_short_help = true,
        long,
        default_value_t = 0,
        value_name = "N",
        value_parser = whole::<u64>(0, u64::MAX),
        allow_negative_numbers = true
    )]
    pub(crate) seed: u64,
    /// Device: cpu, cuda, cuda:N, or metal
    #[arg(
        help_heading = "Encoder",
        hide_short_help = true,
        long,
        value_name = "DEVICE",
        default_value_t
    )]
    pub(crate) device: DeviceName,
    /// File for a vector per sentence, .safetensors or .jsonl
    #[arg(
        help_heading = "Output",
        short,
        long,
        value_name = "FILE",
        value_parser = vectors(),
        conflicts_with_all = ["attention", "table"]
    )]
    pub(crate) output: Option<PathBuf>,
    /// File for the attention weights of the first sentence, .svg, .png, or .pdf
    #[arg(help_heading = "Output", hide_short_help = true, long, value_name = "FILE", value_parser = picture())]
    pub(crate) attention: Option<PathBuf>,
    #[arg(help_heading = "Output", hide_short_help = true, long, help = table_help(), value_name = "FILE", value_parser = output(), conflicts_with = "no_table")]
    pub(crate) table: Option<PathBuf>,
    /// Do not write the table of the built-in sentences
    #[arg(help_heading = "Output", long)]
    pub(crate) no_table: bool,
    /// Print one JSON document instead of text
    #[arg(help_heading = "Output", long)]
    pub(crate) json: bool,
}
