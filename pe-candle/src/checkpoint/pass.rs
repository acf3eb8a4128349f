//! One pass over the tables of a file: each block is read, converted, and checked while it is in the
//! cache, by several threads where that pays.
//!
//! One thread at a time reads the file, in order. Meanwhile the others convert and check their
//! blocks, and touch the memory for them.

use std::marker::PhantomData;
use std::slice::ChunksMut;
use std::sync::{Mutex, PoisonError};

use candle_core::Result;
use pe_core::Element;

use super::comparison::Comparison;
use super::file::blocks::{Block, row_and_column};
use super::file::element::{self, decode, elements, first_not_finite, is_finite};
use super::file::read::{Blocks, TableFile, reserve};
use super::scheme::Scheme;
use super::tables::Tables;
use super::verify::{Checker, Checks};
use crate::kernel::raw::{threads, together};

/// Treatment of infinite and NaN entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum NonFinite {
    /// Returns an error that names the first.
    #[default]
    Reject,
    /// Accepts them. A comparison still finds them.
    Accept,
}

/// Least size of tables, in bytes, that several threads read. Their memory then comes zeroed from the
/// system. Smaller tables are appended to on one thread, because zeroing them costs as much as the
/// threads save.
const PARALLEL: usize = 32 << 20;

/// An entry that is not finite, or no longer finite after the conversion.
struct NotFinite {
    table: usize,
    row: usize,
    column: usize,
    value: f64,
    was_finite: bool,
}

/// Converts and checks the blocks of tables of `F` that become tables of `D`.
struct Pass<'a, S, F, D> {
    tables: &'a Tables,
    non_finite: NonFinite,
    checker: Option<Checker<'a, S, F>>,
    not_finite: Option<NotFinite>,
    bytes: Vec<Vec<u8>>,
    wide: Vec<Vec<u8>>,
    becomes: PhantomData<D>,
}

impl<'a, S: Scheme, F: Element, D: Element> Pass<'a, S, F, D> {
    fn new(tables: &'a Tables, non_finite: NonFinite, checks: Option<&'a Checks<'a, S>>) -> Self {
        Self {
            tables,
            non_finite,
            checker: checks.map(Checker::new),
            not_finite: None,
            bytes: Vec::new(),
            wide: vec![Vec::new(); tables.tables.len()],
            becomes: PhantomData,
        }
    }

    /// Converts the block that was read into `bytes`, with the entries of each table to a slice of
    /// `out`, and checks it.
    fn block(&mut self, block: &Block, out: &mut [&mut [D]]) -> Result<()> {
        let read = match self.tables.widening() {
            Some(value) => {
                for (bytes, wide) in self.bytes.iter().zip(&mut self.wide) {
                    element::widen::<F>(bytes, value, wide);
                }
                &self.wide
            }
            None => &self.bytes,
        };
        let read: Vec<&[u8]> = read.iter().map(Vec::as_slice).collect();
        for (table, (bytes, out)) in read.iter().zip(out).enumerate() {
            decode::<F, D>(bytes, out);
            if self.non_finite == NonFinite::Reject
                // An entry that is not finite before the conversion is not finite after it.
                && let Some(at) = first_not_finite(out)
            {
                let entry = block.entries.start.saturating_add(at);
                let (row, column) = row_and_column(entry, self.tables.width);
                let found = elements::<F>(bytes).nth(at);
                let found = NotFinite {
                    table,
                    row,
                    column,
                    value: found.map_or(f64::NAN, Element::to_f64),
                    was_finite: found.is_some_and(is_finite),
                };
                keep_first(&mut self.not_finite, found);
            }
        }
        match &mut self.checker {
            Some(checker) => checker.block(block.row, &read),
            None => Ok(()),
        }
    }
}

fn keep_first(first: &mut Option<NotFinite>, found: NotFinite) {
    if first.as_ref().is_none_or(|first| found.row < first.row) {
        *first = Some(found);
    }
}

/// Reads the entries of each table as `D`. The comparison is empty without checks.
pub(crate) fn entries<S: Scheme, F: Element, D: Element>(
    file: &mut TableFile,
    tables: &Tables,
    non_finite: NonFinite,
    checks: Option<&Checks<'_, S>>,
) -> Result<(Vec<Vec<D>>, Comparison)> {
    let new = || Pass::<S, F, D>::new(tables, non_finite, checks);
    let rows = tables
        .blocks()
        .map_err(|reason| tables.error(file, reason))?;
    let (count, per_block) = (rows.entries(), rows.entries_per_block());
    let mut entries: Vec<Vec<D>> = Vec::new();
    for table in &tables.tables {
        let mut list = Vec::new();
        reserve(&mut list, count).map_err(|e| file.error_of(&table.name, e))?;
        entries.push(list);
    }
    let mut blocks = file.blocks(&tables.tables, rows);
    let passes = if threads_pay::<D>(tables, count) {
        // The memory exists, as was just seen. This asks for it zeroed.
        entries = entries.iter().map(|_| D::zeros(count)).collect();
        let mut chunks: Vec<ChunksMut<'_, D>> = entries
            .iter_mut()
            .map(|entries| entries.chunks_mut(per_block))
            .collect();
        let places = std::iter::from_fn(|| chunks.iter_mut().map(Iterator::next).collect());
        on_threads(blocks, places, new)?
    } else {
        let mut pass = new();
        while let Some(block) = blocks.next(&mut pass.bytes)? {
            let end = block.entries.end;
            let places = entries.iter_mut().map(|entries| {
                entries.resize(end, D::default());
                entries.get_mut(block.entries.clone()).unwrap_or_default()
            });
            pass.block(&block, &mut places.collect::<Vec<_>>())?;
        }
        vec![pass]
    };
    let (not_finite, comparison) = sum_up(passes);
    if let Some(found) = not_finite {
        let NotFinite {
            row, column, value, ..
        } = found;
        let beyond = match found.was_finite {
            true => format!(", beyond the range of {}", D::NAME),
            false => String::new(),
        };
        let reason = format!("the entry at row {row}, column {column} is {value:?}{beyond}");
        let table = tables.tables.get(found.table);
        let name = table.map_or("", |table| table.name.as_str());
        return Err(file.error_of(name, reason));
    }
    Ok((entries, comparison))
}

/// Compares the entries of the tables and keeps none of them.
pub(crate) fn compare<S: Scheme, T: Element>(
    file: &mut TableFile,
    checks: &Checks<'_, S>,
) -> Result<Comparison> {
    let tables = checks.tables;
    let new = || Pass::<S, T, T>::new(tables, NonFinite::Accept, Some(checks));
    let rows = tables
        .blocks()
        .map_err(|reason| tables.error(file, reason))?;
    let parallel = threads_pay::<T>(tables, rows.entries());
    let mut blocks = file.blocks(&tables.tables, rows);
    let passes = if parallel {
        on_threads(blocks, std::iter::repeat_with(Vec::new), new)?
    } else {
        let mut pass = new();
        while let Some(block) = blocks.next(&mut pass.bytes)? {
            pass.block(&block, &mut [])?;
        }
        vec![pass]
    };
    Ok(sum_up(passes).1)
}

/// Lets each thread read and convert the next block until none is left.
fn on_threads<'a, 'o, S: Scheme, F: Element, D: Element>(
    blocks: Blocks<'_>,
    places: impl Iterator<Item = Vec<&'o mut [D]>> + Send,
    new: impl Fn() -> Pass<'a, S, F, D> + Sync,
) -> Result<Vec<Pass<'a, S, F, D>>> {
    let (source, done) = (Mutex::new((blocks, places)), Mutex::new(Vec::new()));
    let work = || {
        let mut pass = new();
        loop {
            let mut source = source.lock().unwrap_or_else(PoisonError::into_inner);
            let (blocks, places) = &mut *source;
            let next = blocks.next(&mut pass.bytes)?.zip(places.next());
            drop(source);
            match next {
                Some((block, mut places)) => pass.block(&block, &mut places)?,
                None => return Ok(pass),
            }
        }
    };
    together(threads().saturating_sub(1), &|| {
        let pass = work();
        let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
        done.push(pass);
    });
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.into_iter().collect()
}

/// Joins the findings of several threads into those of one.
fn sum_up<S, F, D>(passes: Vec<Pass<'_, S, F, D>>) -> (Option<NotFinite>, Comparison) {
    let (mut not_finite, mut comparison) = (None, Comparison::default());
    for pass in passes {
        if let Some(found) = pass.not_finite {
            keep_first(&mut not_finite, found);
        }
        if let Some(checker) = pass.checker {
            comparison = comparison.and(checker.comparison);
        }
    }
    (not_finite, comparison)
}

/// Returns whether the tables are large enough for several threads, and the pool has several.
fn threads_pay<T>(tables: &Tables, entries: usize) -> bool {
    let all = entries.saturating_mul(tables.tables.len());
    all >= const { PARALLEL / size_of::<T>() } && threads() > 1
}
