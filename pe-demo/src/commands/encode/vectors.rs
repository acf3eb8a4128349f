//! `--output`: a vector for each sentence, in a file.

use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result, bail};
use serde::Serialize;
use serde_json::json;

use super::stream::{self, Done, Job, Totals};
use crate::terminal::numbers::thousands;
use crate::terminal::page::Page;
use crate::terminal::width::clean_path;
use crate::text::sentences::Texts;

/// The tensor's name, and that of the one metadata key.
const TENSOR: &str = "vectors";
const METADATA_KEY: &str = "pe_demo_vectors";

/// The origin of the vectors, for readers of the file.
#[derive(Debug, Clone, Serialize)]
pub(super) struct About {
    pub(super) program: &'static str,
    pub(super) version: &'static str,
    pub(super) pooling: &'static str,
    pub(super) tokenizer: String,
    pub(super) weights: String,
    pub(super) scheme: &'static str,
    pub(super) causal: bool,
    pub(super) seed: u64,
}

/// The file that was written.
#[derive(Debug, Serialize)]
pub(super) struct Written {
    file: PathBuf,
    /// The tensor in it, or null for lines of JSON.
    tensor: Option<&'static str>,
    d_model: usize,
    #[serde(flatten)]
    pub(super) totals: Totals,
    about: About,
}

/// Encodes all sentences into a file, which is replaced in one step at the end. `None` if Ctrl-C
/// ended it before; the file is then as it was.
pub(super) fn write(
    path: &Path,
    job: &Job<'_>,
    texts: &mut Texts<'_>,
    about: About,
) -> Result<Option<Written>> {
    let width = job.encoder.config().d_model();
    let lines = path.extension().is_some_and(|ending| ending == "jsonl");
    let mut totals = None;
    let mut failure: Option<Error> = None;
    let written = pe_candle::checkpoint::replace(path, |out| {
        let result = match lines {
            true => jsonl(path, job, texts, out),
            false => safetensors(path, job, texts, &about, out),
        };
        match result {
            Ok(Some(done)) => {
                totals = Some(done);
                return Ok(());
            }
            // An error, so that nothing is replaced. Nobody sees it.
            Ok(None) => {}
            Err(error) => failure = Some(error),
        }
        Err(io::Error::other("not finished"))
    });
    match (totals, failure, written) {
        (_, Some(error), _) => Err(error),
        (None, None, Err(_)) if job.interrupt.asked() => Ok(None),
        (_, None, Err(error)) => Err(error).with_context(|| path.display().to_string()),
        (None, None, Ok(())) => Ok(None),
        (Some(totals), None, Ok(())) => Ok(Some(Written {
            file: path.to_owned(),
            tensor: (!lines).then_some(TENSOR),
            d_model: width,
            totals,
            about,
        })),
    }
}

/// Writes a line of JSON for each sentence.
fn jsonl(
    path: &Path,
    job: &Job<'_>,
    texts: &mut Texts<'_>,
    out: &mut dyn Write,
) -> Result<Option<Totals>> {
    #[derive(Serialize)]
    struct Line<'a> {
        index: u64,
        text: &'a str,
        tokens: usize,
        vector: &'a [f32],
    }
    let mut index = 0;
    let here = || path.display().to_string();
    stream::run(job, texts, &mut |done: &Done<'_>| {
        let line = Line {
            index,
            text: &done.text.text,
            tokens: done.tokens,
            vector: done.vector,
        };
        serde_json::to_writer(&mut *out, &line).with_context(here)?;
        out.write_all(b"\n").with_context(here)?;
        index += 1;
        Ok(())
    })
}

/// Writes one tensor. Its header comes first and states the number of rows, which only the end of
/// the input tells: the rows wait in a file without a name, on the same disk.
fn safetensors(
    path: &Path,
    job: &Job<'_>,
    texts: &mut Texts<'_>,
    about: &About,
    out: &mut dyn Write,
) -> Result<Option<Totals>> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let there = || path.display().to_string();
    let here = || {
        format!(
            "{}: a file for the vectors in {}",
            there(),
            folder.display()
        )
    };
    let waiting = tempfile::tempfile_in(folder).with_context(here)?;
    let mut waiting = BufWriter::new(waiting);
    let totals = stream::run(job, texts, &mut |done: &Done<'_>| {
        for x in done.vector {
            waiting.write_all(&x.to_le_bytes()).with_context(here)?;
        }
        Ok(())
    })?;
    let Some(totals) = totals else {
        return Ok(None);
    };
    let width = job.encoder.config().d_model() as u64;
    let bytes = totals.sentences * width * 4;
    out.write_all(&header(about, totals.sentences, width)?)
        .with_context(there)?;
    let mut waiting = waiting
        .into_inner()
        .map_err(io::IntoInnerError::into_error)
        .with_context(here)?;
    waiting.seek(SeekFrom::Start(0)).with_context(here)?;
    let copied = io::copy(&mut waiting.take(bytes), out).with_context(there)?;
    if copied != bytes {
        bail!("{}: {copied} bytes of {bytes} are left", here());
    }
    Ok(Some(totals))
}

/// Returns the length of the header and the header, padded so that the tensor begins at a multiple of 8.
fn header(about: &About, rows: u64, width: u64) -> Result<Vec<u8>> {
    let header = json!({
        "__metadata__": { METADATA_KEY: serde_json::to_string(about)? },
        TENSOR: { "dtype": "F32", "shape": [rows, width], "data_offsets": [0, rows * width * 4] },
    });
    let mut text = serde_json::to_vec(&header)?;
    text.resize(text.len().next_multiple_of(8), b' ');
    Ok([&(text.len() as u64).to_le_bytes()[..], &text].concat())
}

impl Written {
    pub(super) fn page(&self) -> Page {
        let mut page = Page::new();
        page.wrap("wrote ", &clean_path(&self.file));
        let totals = &self.totals;
        let rows = thousands(totals.sentences);
        page.line(match self.tensor {
            Some(tensor) => format!(
                "  tensor {tensor} [{}, {}] f32",
                totals.sentences, self.d_model
            ),
            None => format!("  {rows} lines with vectors of {} numbers", self.d_model),
        });
        page.line(format!(
            "  {rows} sentences of {} to {} tokens, {} in all",
            totals.shortest,
            totals.longest,
            thousands(totals.tokens)
        ));
        page
    }
}
