//! Any number of sentences, window by window.
//!
//! ```text
//! lines ─► window of some thousands ─► tokens ─► batches of one length ─► vectors ─► in order ─► sink
//!              (memory is bounded)     └───────── one thread per worker ─────────┘
//! ```
//!
//! A batch holds sentences of one length, so that nothing is padded and a sentence's vector has
//! the bits that it has alone.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use indicatif::ProgressBar;
use serde::Serialize;

use super::parts::Limit;
use crate::encoder::mask::Sight;
use crate::encoder::{Batch, Encoder, Mode};
use crate::terminal::interrupt::Interrupt;
use crate::terminal::numbers::thousands;
use crate::terminal::workers::Workers;
use crate::text::sentences::{SentenceNames, Text, Texts};
use crate::text::tokenizer::Tokenizer;

/// The most sentences of a window.
const WINDOW: usize = 8192;

/// The bytes of text after which a window ends, and of its vectors.
const WINDOW_BYTES: u64 = 4 << 20;
const VECTOR_BYTES: usize = 64 << 20;

/// The tokens of a batch, if more than one sentence is in it: their vectors stay in the cache.
const BATCH_TOKENS: usize = 512;

/// The most attention weights of a batch of several sentences and a layer: 4 MiB.
const BATCH_WEIGHTS: usize = 1 << 20;

/// Sentences are small: a worker takes some at a time.
const SENTENCES_AT_A_TIME: usize = 4;

/// The encoder of sentences and its surroundings.
pub(super) struct Job<'a> {
    pub(super) tokenizer: &'a Tokenizer,
    pub(super) encoder: &'a Encoder,
    pub(super) sight: Sight,
    pub(super) limit: Limit,
    pub(super) bar: &'a ProgressBar,
    pub(super) interrupt: &'a Interrupt,
}

/// A sentence done.
pub(super) struct Done<'a> {
    pub(super) text: &'a Text,
    pub(super) tokens: usize,
    /// The mean of its tokens' vectors.
    pub(super) vector: &'a [f32],
}

/// Counts over all sentences.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub(super) struct Totals {
    pub(super) sentences: u64,
    pub(super) tokens: u64,
    /// Tokens of the shortest and of the longest sentence.
    pub(super) shortest: usize,
    pub(super) longest: usize,
    #[serde(skip)]
    pub(super) time: Duration,
}

impl Totals {
    fn add(&mut self, tokens: usize) {
        self.shortest = match self.sentences {
            0 => tokens,
            _ => self.shortest.min(tokens),
        };
        self.longest = self.longest.max(tokens);
        self.sentences += 1;
        self.tokens += tokens as u64;
    }

    /// Formats `1,000 sentences, 12,345 tokens in 1.2 s: 10,000 tokens/s`.
    pub(super) fn speed(&self) -> String {
        let seconds = self.time.as_secs_f64();
        format!(
            "{} sentences, {} tokens in {seconds:.1} s: {} tokens/s",
            thousands(self.sentences),
            thousands(self.tokens),
            thousands((self.tokens as f64 / seconds.max(1e-9)) as u64)
        )
    }
}

/// Encodes all sentences and hands them over in their order. `None` if Ctrl-C ended it before.
pub(super) fn run(
    job: &Job<'_>,
    texts: &mut Texts<'_>,
    sink: &mut dyn FnMut(&Done<'_>) -> Result<()>,
) -> Result<Option<Totals>> {
    let start = Instant::now();
    let workers = Workers::new(usize::MAX, SENTENCES_AT_A_TIME)?;
    let names = texts.names();
    let width = job.encoder.config().d_model();
    let window = WINDOW.min(VECTOR_BYTES / (4 * width)).max(1);
    let mut totals = Totals::default();
    let counted = AtomicU64::new(0);
    loop {
        let window = job.interrupt.while_waiting(|| read(texts, window))?;
        if window.is_empty() {
            break;
        }
        let ids = workers.each(window.len(), |at| tokens(job, &names, &window[at]))?;
        let batches = batches(&ids, job.encoder.config().heads);
        let encode = |at: usize| -> Result<Vec<f32>> {
            if job.interrupt.asked() {
                return Ok(Vec::new());
            }
            let batch: &[usize] = &batches[at];
            let vectors = pooled(job, &ids, batch)?;
            let bytes = batch.iter().map(|at| window[*at].bytes).sum();
            job.bar.inc(bytes);
            let tokens = (batch.len() * ids[batch[0]].len()) as u64;
            let tokens = counted.fetch_add(tokens, Ordering::Relaxed) + tokens;
            let speed = tokens as f64 / start.elapsed().as_secs_f64().max(1e-9);
            job.bar
                .set_message(format!("{} tokens/s", thousands(speed as u64)));
            Ok(vectors)
        };
        let encoded = workers.each(batches.len(), encode)?;
        if job.interrupt.asked() {
            return Ok(None);
        }
        let mut vectors: Vec<&[f32]> = vec![&[]; window.len()];
        for (batch, encoded) in batches.iter().zip(&encoded) {
            for (at, vector) in batch.iter().zip(encoded.chunks_exact(width)) {
                vectors[*at] = vector;
            }
        }
        for ((text, ids), vector) in window.iter().zip(&ids).zip(vectors) {
            totals.add(ids.len());
            sink(&Done {
                text,
                tokens: ids.len(),
                vector,
            })?;
        }
    }
    totals.time = start.elapsed();
    Ok(Some(totals))
}

/// Returns the next sentences, as many as are worked on at a time.
fn read(texts: &mut Texts<'_>, most: usize) -> Result<Vec<Text>> {
    let (mut window, mut bytes) = (Vec::new(), 0);
    while window.len() < most && bytes < WINDOW_BYTES {
        let Some(text) = texts.next()? else { break };
        bytes += text.bytes;
        window.push(text);
    }
    Ok(window)
}

fn tokens(job: &Job<'_>, names: &SentenceNames, text: &Text) -> Result<Vec<u32>> {
    let here = || names.of(text.number);
    let ids = job.tokenizer.ids(&text.text).with_context(here)?;
    job.limit.check(&here(), ids.len())?;
    Ok(ids)
}

/// Groups sentences of one length, the longest first.
fn batches(ids: &[Vec<u32>], heads: usize) -> Vec<Vec<usize>> {
    let length = |at: &usize| ids[*at].len();
    let mut order: Vec<usize> = (0..ids.len()).collect();
    order.sort_by_key(|at| (std::cmp::Reverse(length(at)), *at));
    let mut batches = Vec::new();
    for same in order.chunk_by(|a, b| length(a) == length(b)) {
        let len = length(&same[0]).max(1);
        let most = (BATCH_TOKENS / len).min(BATCH_WEIGHTS / (heads * len * len));
        batches.extend(same.chunks(most.max(1)).map(<[usize]>::to_vec));
    }
    batches
}

/// Returns the means of the last layer's vectors, one after another.
fn pooled(job: &Job<'_>, ids: &[Vec<u32>], batch: &[usize]) -> Result<Vec<f32>> {
    let sentences: Vec<&[u32]> = batch.iter().map(|at| ids[*at].as_slice()).collect();
    let len = sentences[0].len();
    let batch = Batch::new(&sentences, 0, job.encoder.device())?;
    let output = job.encoder.forward(&batch, job.sight, Mode::Eval)?;
    let width = job.encoder.config().d_model();
    let vectors = output.last()?.flatten_all()?.to_vec1::<f32>()?;
    let mut means = Vec::with_capacity(sentences.len() * width);
    let mut sums = vec![0.0_f64; width];
    for sentence in vectors.chunks_exact(len * width) {
        sums.fill(0.0);
        for vector in sentence.chunks_exact(width) {
            for (sum, x) in sums.iter_mut().zip(vector) {
                *sum += f64::from(*x);
            }
        }
        means.extend(sums.iter().map(|sum| (sum / len as f64) as f32));
    }
    Ok(means)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_lengths(lengths: &[usize]) -> Vec<Vec<u32>> {
        lengths.iter().map(|len| vec![0; *len]).collect()
    }

    #[test]
    fn batches_hold_every_sentence_once_and_one_length() {
        let ids = of_lengths(&[5, 7, 5, 300, 5, 7, 2000, 300, 300, 1]);
        let found = batches(&ids, 2);
        let expected: [&[usize]; 7] = [&[6], &[3], &[7], &[8], &[1, 5], &[0, 2, 4], &[9]];
        assert_eq!(found, expected);
        let many = of_lengths(&[8; 1000]);
        let found = batches(&many, 2);
        let sizes: Vec<usize> = found.iter().map(Vec::len).collect();
        assert_eq!(sizes.iter().sum::<usize>(), 1000);
        assert!(sizes.iter().all(|size| size * 8 <= BATCH_TOKENS));
    }

    #[test]
    fn totals_know_the_extremes() {
        let mut totals = Totals::default();
        for tokens in [7, 3, 12] {
            totals.add(tokens);
        }
        totals.time = Duration::from_millis(500);
        assert_eq!((totals.shortest, totals.longest), (3, 12));
        assert_eq!(
            totals.speed(),
            "3 sentences, 22 tokens in 0.5 s: 44 tokens/s"
        );
    }
}
