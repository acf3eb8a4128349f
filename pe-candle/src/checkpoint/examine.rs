//! One pass over a table in a file: each block is read, turned into entries and looked at while
//! it is in the cache, by as many threads as pay.
//!
//! The file is read in order, by one thread at a time; what is done with a block, finding the
//! memory for it included, others do meanwhile.

use std::sync::{Mutex, PoisonError};

use candle_core::Result;
use pe_core::Element;
use safetensors::Dtype;

use super::file::blocks::{Block, row_and_column};
use super::file::element::{self, decode, elements, first_not_finite, is_finite};
use super::file::read::{Blocks, TableFile, TableInfo, reserve};
use super::verify::{Checker, Checks, Comparison};
use crate::kernel::raw::{threads, together};

/// What happens to infinite and NaN entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum NonFinite {
    /// An error that names the first.
    #[default]
    Reject,
    /// They are let through (a comparison, where there is one, still finds them).
    Accept,
}

/// Bytes of a table from which on it is read into memory that the system has zeroed, piece by
/// piece by several threads. Less is appended to on one thread, since zeroing it costs as much
/// as the threads save.
const PARALLEL: usize = 32 << 20;

/// An entry that is not finite, or not any more.
struct NotFinite {
    row: usize,
    column: usize,
    value: f64,
    was_finite: bool,
}

/// Looks at the blocks of a table of `F` that becomes one of `D`.
struct Examiner<'a, F, D> {
    table: &'a TableInfo,
    non_finite: NonFinite,
    checker: Option<Checker<'a, F>>,
    not_finite: Option<NotFinite>,
    bytes: Vec<u8>,
    wide: Vec<u8>,
    becomes: std::marker::PhantomData<D>,
}

impl<'a, F: Element, D: Element> Examiner<'a, F, D> {
    fn new(table: &'a TableInfo, non_finite: NonFinite, checks: Option<&'a Checks>) -> Self {
        Self {
            table,
            non_finite,
            checker: checks.map(Checker::new),
            not_finite: None,
            bytes: Vec::new(),
            wide: Vec::new(),
            becomes: std::marker::PhantomData,
        }
    }

    /// Takes up the block that was read into `bytes`, whose entries go to `out`.
    fn block(&mut self, block: &Block, out: &mut [D]) -> Result<()> {
        let narrow: Option<fn(u8) -> f64> = match self.table.tensor.dtype {
            Dtype::F8_E4M3 => Some(element::f8_e4m3),
            Dtype::F8_E5M2 => Some(element::f8_e5m2),
            _ => None,
        };
        let bytes = match narrow {
            Some(value) => {
                element::widen::<F>(&self.bytes, value, &mut self.wide);
                &self.wide
            }
            None => &self.bytes,
        };
        if !out.is_empty() {
            decode::<F, D>(bytes, out);
        }
        if self.non_finite == NonFinite::Reject && self.not_finite.is_none() {
            // What is not finite before the conversion is not after it either.
            self.not_finite = first_not_finite(out).map(|at| {
                let entry = block.entries.start.saturating_add(at);
                let (row, column) = row_and_column(entry, self.table.width);
                let found = elements::<F>(bytes).nth(at);
                NotFinite {
                    row,
                    column,
                    value: found.map_or(f64::NAN, Element::to_f64),
                    was_finite: found.is_some_and(is_finite),
                }
            });
        }
        match &mut self.checker {
            Some(checker) => checker.block(block.row, bytes),
            None => Ok(()),
        }
    }
}

/// Reads the table's entries as `D`. The comparison is empty if there are no checks.
pub(crate) fn entries<F: Element, D: Element>(
    file: &mut TableFile,
    table: &TableInfo,
    non_finite: NonFinite,
    checks: Option<&Checks>,
) -> Result<(Vec<D>, Comparison)> {
    let make = || Examiner::<F, D>::new(table, non_finite, checks);
    let mut blocks = file.blocks(table)?;
    let count = blocks.entries();
    let mut entries: Vec<D> = Vec::new();
    reserve(&mut entries, count).map_err(|e| blocks.error(e))?;
    let examiners = if threads_pay::<D>(count) {
        // The memory is there, as was just seen; this asks for it zeroed.
        drop(std::mem::take(&mut entries));
        entries = D::zeros(count);
        let places = entries.chunks_mut(blocks.entries_per_block());
        on_threads(blocks, places, make)?
    } else {
        let mut examiner = make();
        while let Some(block) = blocks.next(&mut examiner.bytes)? {
            entries.resize(block.entries.end, D::default());
            let Some(place) = entries.get_mut(block.entries.clone()) else {
                return Err(blocks.error(format!("row {}: no place", block.row)));
            };
            examiner.block(&block, place)?;
        }
        vec![examiner]
    };
    let (not_finite, comparison) = sum_up(examiners);
    if let Some(NotFinite {
        row,
        column,
        value,
        was_finite,
    }) = not_finite
    {
        let beyond = if was_finite {
            format!(", beyond the range of {}", D::NAME)
        } else {
            String::new()
        };
        let reason = format!("the entry at row {row}, column {column} is {value:?}{beyond}");
        return Err(file.error_of(&table.tensor.name, reason));
    }
    Ok((entries, comparison))
}

/// Compares the table's entries and keeps none of them.
pub(crate) fn compare<T: Element>(
    file: &mut TableFile,
    table: &TableInfo,
    checks: &Checks,
) -> Result<Comparison> {
    let make = || Examiner::<T, T>::new(table, NonFinite::Accept, Some(checks));
    let blocks = file.blocks(table)?;
    let examiners = if threads_pay::<T>(blocks.entries()) {
        on_threads(blocks, std::iter::repeat_with(|| &mut [][..]), make)?
    } else {
        let mut blocks = blocks;
        let mut examiner = make();
        while let Some(block) = blocks.next(&mut examiner.bytes)? {
            examiner.block(&block, &mut [])?;
        }
        vec![examiner]
    };
    Ok(sum_up(examiners).1)
}

/// Each thread takes the next block and its place until there are none.
fn on_threads<'a, 'o, F: Element, D: Element>(
    blocks: Blocks<'_>,
    places: impl Iterator<Item = &'o mut [D]> + Send,
    make: impl Fn() -> Examiner<'a, F, D> + Sync,
) -> Result<Vec<Examiner<'a, F, D>>> {
    let (source, done) = (Mutex::new((blocks, places)), Mutex::new(Vec::new()));
    let examine = || {
        let mut examiner = make();
        loop {
            let mut source = source.lock().unwrap_or_else(PoisonError::into_inner);
            let (blocks, places) = &mut *source;
            let next = blocks.next(&mut examiner.bytes)?.zip(places.next());
            drop(source);
            match next {
                Some((block, place)) => examiner.block(&block, place)?,
                None => return Ok(examiner),
            }
        }
    };
    together(threads().saturating_sub(1), &|| {
        let examined = examine();
        let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
        done.push(examined);
    });
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.into_iter().collect()
}

/// What several threads found, as if one had.
fn sum_up<F, D>(examiners: Vec<Examiner<'_, F, D>>) -> (Option<NotFinite>, Comparison) {
    let (mut not_finite, mut comparison) = (None::<NotFinite>, Comparison::default());
    for examiner in examiners {
        if let Some(found) = examiner.not_finite
            && not_finite
                .as_ref()
                .is_none_or(|first| found.row < first.row)
        {
            not_finite = Some(found);
        }
        if let Some(checker) = examiner.checker {
            comparison = comparison.and(checker.comparison);
        }
    }
    (not_finite, comparison)
}

/// Whether there are several threads, and work for them in so many entries.
fn threads_pay<T>(entries: usize) -> bool {
    entries >= const { PARALLEL / size_of::<T>() } && threads() > 1
}
