//! Where elements come from and results go to.

use super::isa::STEP;
use super::mask::GROUP;
use super::raw::{LINE, Room};

/// Elements that are taken in order, and replaced or written elsewhere.
pub(crate) trait Place<T> {
    /// How many elements are left.
    fn left(&self) -> usize;

    /// How many of `len` elements to take before the others, so that the results of those lie
    /// at the beginning of a line of the cache: vectors that cross lines cost up to twice as
    /// much. None where it does not pay.
    fn lead(&self, len: usize) -> usize;

    /// Takes as many elements as there are entries, a step at a time. Where less than a step
    /// is left, what is missing is made up, and the results of it are dropped.
    fn steps<P: Copy + Default>(
        &mut self,
        entries: &[P],
        f: impl FnMut([T; STEP], [P; STEP]) -> [T; STEP],
    );

    /// Takes as many elements as there are entries, a multiple of [`GROUP`]. For each group
    /// four values are made first, one for each of its steps.
    fn groups<P: Copy + Default, S: Copy>(
        &mut self,
        entries: &[P],
        make: impl FnMut() -> [S; STEPS],
        f: impl FnMut(S, [T; STEP], [P; STEP]) -> [T; STEP],
    );
}

/// Steps in a group.
const STEPS: usize = GROUP / STEP;

/// Elements from which on it pays to begin at a line of the cache.
const LONG: usize = 1024;

/// `to_line` if a run is long.
#[inline(always)]
fn lead(len: usize, to_line: usize) -> usize {
    if len >= LONG && to_line < LONG {
        to_line
    } else {
        0
    }
}

/// In place.
pub(crate) struct Change<'a, T>(pub(crate) &'a mut [T]);

impl<T: Copy + Default> Place<T> for Change<'_, T> {
    #[inline(always)]
    fn left(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn lead(&self, len: usize) -> usize {
        lead(len, self.0.as_ptr().align_offset(LINE))
    }

    #[inline(always)]
    fn steps<P: Copy + Default>(
        &mut self,
        entries: &[P],
        mut f: impl FnMut([T; STEP], [P; STEP]) -> [T; STEP],
    ) {
        let (first, others) = entries.split_at(self.lead(entries.len()));
        for entries in [first, others] {
            let (run, rest) = std::mem::take(&mut self.0).split_at_mut(entries.len());
            let ((xs, last), (entries, last_entries)) = (run.as_chunks_mut(), entries.as_chunks());
            for (x, entries) in xs.iter_mut().zip(entries) {
                *x = f(*x, *entries);
            }
            if !last.is_empty() {
                let ys = f(padded(last), padded(last_entries));
                last.copy_from_slice(&ys[..last.len()]);
            }
            self.0 = rest;
        }
    }

    #[inline(always)]
    fn groups<P: Copy + Default, S: Copy>(
        &mut self,
        entries: &[P],
        mut make: impl FnMut() -> [S; STEPS],
        mut f: impl FnMut(S, [T; STEP], [P; STEP]) -> [T; STEP],
    ) {
        let (run, rest) = std::mem::take(&mut self.0).split_at_mut(entries.len());
        let (xs, entries) = (
            run.as_chunks_mut::<GROUP>().0,
            entries.as_chunks::<GROUP>().0,
        );
        for (xs, entries) in xs.iter_mut().zip(entries) {
            let steps = xs.as_chunks_mut().0.iter_mut().zip(entries.as_chunks().0);
            for ((x, entries), s) in steps.zip(make()) {
                *x = f(s, *x, *entries);
            }
        }
        self.0 = rest;
    }
}

/// From a slice into room that is at least as large.
pub(crate) struct Write<'a, 'r, T>(pub(crate) &'a [T], pub(crate) &'a mut Room<'r, T>);

impl<T: Copy + Default> Place<T> for Write<'_, '_, T> {
    #[inline(always)]
    fn left(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn lead(&self, len: usize) -> usize {
        lead(len, self.1.to_line())
    }

    #[inline(always)]
    fn steps<P: Copy + Default>(
        &mut self,
        entries: &[P],
        mut f: impl FnMut([T; STEP], [P; STEP]) -> [T; STEP],
    ) {
        let (first, others) = entries.split_at(self.lead(entries.len()));
        for entries in [first, others] {
            let (run, rest) = self.0.split_at(entries.len());
            let ((xs, last), (entries, last_entries)) = (run.as_chunks(), entries.as_chunks());
            self.1.write_blocks(xs.iter().zip(entries).map(
                #[inline(always)]
                |(x, entries)| [f(*x, *entries)],
            ));
            if !last.is_empty() {
                let ys = f(padded(last), padded(last_entries));
                self.1.write(&ys[..last.len()]);
            }
            self.0 = rest;
        }
    }

    #[inline(always)]
    fn groups<P: Copy + Default, S: Copy>(
        &mut self,
        entries: &[P],
        mut make: impl FnMut() -> [S; STEPS],
        mut f: impl FnMut(S, [T; STEP], [P; STEP]) -> [T; STEP],
    ) {
        let (run, rest) = self.0.split_at(entries.len());
        let (xs, entries) = (run.as_chunks::<GROUP>().0, entries.as_chunks::<GROUP>().0);
        self.1.write_blocks(xs.iter().zip(entries).map(
            #[inline(always)]
            |(xs, entries)| {
                let mut ys = [[T::default(); STEP]; STEPS];
                let steps = xs.as_chunks().0.iter().zip(entries.as_chunks().0);
                for (((x, entries), s), y) in steps.zip(make()).zip(&mut ys) {
                    *y = f(s, *x, *entries);
                }
                ys
            },
        ));
        self.0 = rest;
    }
}

/// The elements, and as many more as make an array.
#[inline(always)]
fn padded<T: Copy + Default, const N: usize>(from: &[T]) -> [T; N] {
    let mut array = [T::default(); N];
    array[..from.len()].copy_from_slice(from);
    array
}
