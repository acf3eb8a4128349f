//! The loops of the additive passes over elements, their entries, and the words of a mask.

use std::mem::take;

use pulp::bytemuck::Pod;
use pulp::cast;

use crate::kernel::element::Activation;
use crate::kernel::isa::{CHUNK, Isa};
use crate::kernel::mask::GROUP;
use crate::kernel::raw::Stream;
use crate::kernel::words::Words;

/// Entries or words of runs that have none.
pub(super) const NOTHING: &[(); usize::MAX] = &[(); usize::MAX];

/// Number of elements at which it starts to pay to begin at a cache line.
const LONG: usize = 1024;

/// Returns how many of `len` elements to replace before the others, so that the results of those begin at a cache line:
/// vectors that cross lines cost up to twice as much. None where it does not pay.
#[inline(always)]
fn lead<T: Activation>(stream: &Stream<'_, T>, len: usize) -> usize {
    let to_line = stream.to_line();
    if len >= LONG && to_line < LONG {
        to_line
    } else {
        0
    }
}

/// Replaces as many elements as there are entries.
#[inline(always)]
pub(super) fn replace_aligned<T: Activation, P: Copy + Default>(
    stream: &mut Stream<'_, T>,
    entries: &[P],
    f: impl Fn([T; CHUNK], [P; CHUNK]) -> [T; CHUNK],
) {
    let (first, others) = entries.split_at(lead(stream, entries.len()));
    for entries in [first, others] {
        replace(
            stream,
            entries,
            &NOTHING[..entries.len()],
            #[inline(always)]
            |x, entries, _| f(x, entries),
        );
    }
}

/// Replaces as many elements as there are entries, starting at index `first`, with the words of a mask.
#[inline(always)]
// Not `&f`: a call through a reference is not always inlined, and then compiled for the baseline.
#[allow(clippy::redundant_closure)]
pub(super) fn replace_masked<I: Isa, T: Activation, P: Pod + Default>(
    stream: &mut Stream<'_, T>,
    words: &mut Words<I>,
    mut first: usize,
    mut entries: &[P],
    f: impl Fn([T; CHUNK], [P; CHUNK], [u32; CHUNK]) -> [T; CHUNK],
) {
    let mut lead = lead(stream, entries.len());
    // Words come in blocks of four.
    if !(first + lead).is_multiple_of(4) {
        lead = (first.next_multiple_of(4) - first).min(entries.len());
    }
    while !entries.is_empty() {
        let mut len = 0;
        if I::GROUPS && lead == 0 {
            let (groups, count) = words.groups(first);
            let (whole, _) = entries.as_chunks();
            let whole = &whole[..count.min(whole.len())];
            stream.replace(
                whole.iter().enumerate(),
                #[inline(always)]
                |x, (group, entries)| {
                    in_chunks(
                        (x, *entries, groups.words(group)),
                        #[inline(always)]
                        |x, entries, words| f(x, entries, words),
                    )
                },
            );
            len = GROUP * whole.len();
        }
        if len == 0 {
            let wanted = match take(&mut lead) {
                0 => entries.len(),
                lead => lead,
            };
            let words = words.from(first, wanted);
            len = match words.len() {
                fewer if fewer < wanted => fewer / CHUNK * CHUNK,
                _ => wanted,
            };
            replace(
                stream,
                &entries[..len],
                &words[..len],
                #[inline(always)]
                |x, entries, words| f(x, entries, words),
            );
        }
        (first, entries) = (first + len, &entries[len..]);
    }
}

/// Applies `f` to the chunks of a group: elements, entries, and words.
#[inline(always)]
fn in_chunks<T: Pod, P: Pod>(
    (x, entries, words): ([T; GROUP], [P; GROUP], [u32; GROUP]),
    f: impl Fn([T; CHUNK], [P; CHUNK], [u32; CHUNK]) -> [T; CHUNK],
) -> [T; GROUP] {
    let x: [[T; CHUNK]; 4] = cast(x);
    let entries: [[P; CHUNK]; 4] = cast(entries);
    let words: [[u32; CHUNK]; 4] = cast(words);
    cast([
        f(x[0], entries[0], words[0]),
        f(x[1], entries[1], words[1]),
        f(x[2], entries[2], words[2]),
        f(x[3], entries[3], words[3]),
    ])
}

/// Replaces as many elements as there are entries and words, a chunk at a time. Where less than a chunk is left, its
/// other elements are padding, and their results are dropped.
#[inline(always)]
fn replace<T: Activation, P: Copy + Default, W: Copy + Default>(
    stream: &mut Stream<'_, T>,
    entries: &[P],
    words: &[W],
    f: impl Fn([T; CHUNK], [P; CHUNK], [W; CHUNK]) -> [T; CHUNK],
) {
    let ((chunks, last), (of_words, last_words)) = (entries.as_chunks(), words.as_chunks());
    stream.replace(
        chunks.iter().zip(of_words),
        #[inline(always)]
        |x, (entries, words)| f(x, *entries, *words),
    );
    if !last.is_empty() {
        stream.replace_few(
            last.len(),
            #[inline(always)]
            |x| f(x, padded(last), padded(last_words)),
        );
    }
}

/// Returns the elements, padded to a chunk.
#[inline(always)]
pub(super) fn padded<T: Copy + Default>(from: &[T]) -> [T; CHUNK] {
    let mut chunk = [T::default(); CHUNK];
    chunk[..from.len()].copy_from_slice(from);
    chunk
}
