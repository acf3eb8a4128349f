//! `pe-demo encode`, the default command: sentences through the toy encoder.
//!
//! Some sentences are looked at closely. Any number of them can become vectors in a file.

mod answers;
mod batches;
mod embeddings;
mod look;
mod maps;
mod options;
mod parts;
mod stream;
mod table;
mod unknown;
mod vectors;

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;

use self::embeddings::Norms;
use self::look::CloseLook;
use self::options::{TableOption, Wanted};
use self::parts::{Assembly, Parts};
use self::stream::{Job, Totals};
use self::table::TableFile;
use self::vectors::About;
use crate::encoder::mask::Sight;
use crate::encoder::trained::task::Task;
use crate::encoder::{DEFAULT_ROWS, MAX_TOKENS};
use crate::sources::overwrite;
use crate::terminal::emit::emit;
use crate::terminal::interrupt::Interrupt;
use crate::terminal::log::{Log, Verbosity};
use crate::terminal::outcome::Outcome;
use crate::terminal::progress;
use crate::text::sentences::{self, Texts};
use crate::text::tokenizer::Sentence;

pub(crate) use options::Options;

/// The most sentences that are looked at closely, and the bytes of text after which no more are.
const SHOWN: usize = 1000;
const SHOWN_BYTES: u64 = 1 << 20;

/// A run: the options, their files, and the log.
struct Run<'a, 'log> {
    options: &'a Options,
    parts: &'a Parts,
    log: &'a mut Log<'log>,
}

pub(crate) fn run(
    options: &Options,
    stdin: &mut dyn BufRead,
    out: &mut dyn Write,
    log: &mut Log<'_>,
) -> Result<Outcome> {
    let parts = &Parts::load(options, log)?;
    // Parts of a checkpoint and files from the hub, which the arguments do not name.
    overwrite::check(&options.outputs, &parts.read)?;
    let built_in: &[&str] = match parts.task() {
        None => &sentences::BUILT_IN,
        Some(Task::Order) => &sentences::TWINS,
        Some(Task::Distance) => &sentences::ROWS,
    };
    let mut texts = Texts::open(&options.sentences, options.file.as_deref(), stdin, built_in)?;
    let mut run = Run {
        options,
        parts,
        log,
    };
    match &options.result {
        Wanted::Vectors(file) => run.write_vectors(file, &mut texts, out),
        Wanted::Look { attention, table } => {
            run.look(attention.as_ref(), table.as_ref(), &mut texts, out)
        }
    }
}

impl Run<'_, '_> {
    /// Looks closely at the sentences, or at the first of many.
    fn look(
        &mut self,
        attention: Option<&PathBuf>,
        table: Option<&TableOption>,
        texts: &mut Texts<'_>,
        out: &mut dyn Write,
    ) -> Result<Outcome> {
        let (options, parts) = (self.options, self.parts);
        let (first, more) = texts.first(SHOWN, SHOWN_BYTES)?;
        let first = first.iter().map(|text| parts.tokenizer.encode(&text.text));
        let first: Vec<Sentence> = first.collect::<Result<_>>()?;
        parts.check_lengths(options, &first)?;
        let longest = first.iter().map(|s| s.tokens.len()).max().unwrap_or(0);
        let assembly = parts.assemble(options, if more { MAX_TOKENS } else { longest })?;
        let all = match more {
            false => None,
            true => match self.encode_all(&assembly, texts)? {
                Some(totals) => Some(totals),
                None => return Ok(Outcome::Interrupted),
            },
        };
        let rows = longest.max(DEFAULT_ROWS);
        let norms = assembly
            .pretrained
            .map(|pretrained| Norms::of(&assembly.encoder, pretrained, rows));
        let mut look = CloseLook::of(options, parts, &assembly, first, norms.transpose()?, all)?;
        if let Some(file) = attention {
            look.attention.draw(file, &look.sentences)?;
        }
        if let Some(table) = table {
            let mut file = TableFile::write(table, &assembly.encoder)?;
            file.silence(self.log.verbosity);
            look.table = Some(file);
        }
        emit(out, options.json, &look, || Ok(look.page()))?;
        Ok(Outcome::Success)
    }

    /// Writes a vector for each sentence to a file.
    fn write_vectors(
        &mut self,
        file: &Path,
        texts: &mut Texts<'_>,
        out: &mut dyn Write,
    ) -> Result<Outcome> {
        let options = self.options;
        let assembly = self.parts.assemble(options, MAX_TOKENS)?;
        let about = self.about(&assembly);
        let written = self.with_job(&assembly, texts, |job, texts| {
            vectors::write(file, job, texts, about)
        })?;
        let Some(written) = written else {
            let remark = format!("interrupted: {} is as it was", file.display());
            self.log.note(remark);
            return Ok(Outcome::Interrupted);
        };
        self.log.note(written.totals.speed());
        if options.json || self.log.verbosity != Verbosity::Quiet {
            emit(out, options.json, &written, || Ok(written.page()))?;
        }
        Ok(Outcome::Success)
    }

    /// Describes the vectors for whoever reads their file.
    fn about(&self, assembly: &Assembly<'_>) -> About {
        About {
            program: env!("CARGO_PKG_NAME"),
            version: env!("CARGO_PKG_VERSION"),
            pooling: "mean",
            tokenizer: self.parts.source.to_string(),
            weights: match &self.options.weights {
                options::Weights::Seeded => "seed".to_owned(),
                options::Weights::Pretrained(names) => names.tokens.clone(),
                options::Weights::Trained(file) => file.clone(),
            },
            scheme: assembly.encoder.config().scheme.name(),
            causal: self.options.sight == Sight::Past,
            seed: assembly.seed(self.options),
        }
    }

    /// Encodes all sentences and reports the speed. Returns `None` if Ctrl-C ended it.
    fn encode_all(
        &mut self,
        assembly: &Assembly<'_>,
        texts: &mut Texts<'_>,
    ) -> Result<Option<Totals>> {
        let totals = self.with_job(assembly, texts, |job, texts| {
            stream::run(job, texts, &mut |_| Ok(()))
        })?;
        if let Some(totals) = &totals {
            self.log.note(totals.speed());
        }
        Ok(totals)
    }

    /// Does work with a bar, which Ctrl-C can end.
    fn with_job<T>(
        &self,
        assembly: &Assembly<'_>,
        texts: &mut Texts<'_>,
        work: impl FnOnce(&Job<'_>, &mut Texts<'_>) -> Result<T>,
    ) -> Result<T> {
        let bytes = texts.file_bytes();
        // Nobody knows how many bytes come out of a pipe.
        let template = match bytes {
            Some(_) => "{wide_bar:.cyan} {bytes:>10}/{total_bytes}  {msg:<20} {eta:>4} left",
            None => "{spinner:.cyan} {bytes:>10}  {msg:<20} {elapsed}",
        };
        let bar = progress::bar(self.log.draw_target(), bytes, template);
        let interrupt = Interrupt::catch()?;
        let job = Job {
            tokenizer: &self.parts.tokenizer,
            encoder: &assembly.encoder,
            sight: self.options.sight,
            limit: self.parts.limit(self.options),
            bar: &bar,
            interrupt: &interrupt,
        };
        let result = work(&job, texts);
        bar.finish_and_clear();
        result
    }
}
