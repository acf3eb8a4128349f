//! The rotation of a tensor of heads: rows shared out among threads, on the instruction set chosen.

use std::iter::once;

use pe_core::PairLayout;

use super::heads::Heads;
use super::pairs::rotate_row;
use crate::kernel::dispatch::Input;
use crate::kernel::element::{Activation, Entry};
use crate::kernel::isa::{Isa, Level, Work};
use crate::kernel::raw::{Stream, fresh, share_out, threads};
use crate::kernel::token_rows::TokenRows;

/// Number of elements at which a second thread starts to pay, as for the additive kernels.
const PARALLEL: usize = 1 << 18;

/// Positions of a run that are rotated at a time where runs of many heads are written side by side.
const TILE: usize = 32;

/// Rotates the rows `first .. end` of a tensor. The stream starts at the element with index `offset`.
pub(super) trait RowPass<T>: Sync {
    fn rotate(&self, first: usize, end: usize, offset: usize, stream: &mut Stream<'_, T>);
}

/// Returns the rotated rows in row-major order, or `None` if they replaced the others. In place, no two elements may share
/// their memory.
pub(super) fn run<T: Activation>(
    heads: &Heads,
    xs: Input<'_, [T]>,
    pass: &dyn RowPass<T>,
) -> Option<Vec<T>> {
    match xs {
        Input::Read(xs) => Some(map(heads, xs, pass)),
        Input::InPlace(xs) => {
            map_in_place(heads, xs, pass);
            None
        }
    }
}

fn map<T: Activation>(heads: &Heads, xs: &[T], pass: &dyn RowPass<T>) -> Vec<T> {
    let (rows, width) = (heads.rows(), heads.width);
    let count = rows * width;
    let share = share(rows, width).unwrap_or(rows);
    let Some(time) = heads.scattered_runs().filter(|time| *time > TILE) else {
        return fresh(xs, count, share * width, &|first, stream| {
            let first = first / width;
            pass.rotate(first, first + stream.room() / width, 0, stream);
        });
    };
    // Runs of heads side by side, some positions at a time: what lies together is read together.
    let share = share.next_multiple_of(time);
    fresh(xs, count, share * width, &|first, stream| {
        let (first, runs) = (first / width, stream.room() / (time * width));
        stream.write_runs(runs, time * width, |streams| {
            for tile in (0..time).step_by(TILE) {
                for (stream, first) in streams.iter_mut().zip((first..).step_by(time)) {
                    pass.rotate(first + tile, first + time.min(tile + TILE), 0, stream);
                }
            }
        });
    })
}

fn map_in_place<T: Activation>(heads: &Heads, xs: &mut [T], pass: &dyn RowPass<T>) {
    let (rows, width) = (heads.rows(), heads.width);
    // Blocks of rows with memory of their own: single rows, or all rows of an outer index.
    let blocks = match heads.contiguous() {
        true => Some((1, width)),
        false => heads.blocks(),
    };
    let (Some(share), Some((block, stride))) = (share(rows, width), blocks) else {
        pass.rotate(0, rows, 0, &mut Stream::in_place(xs));
        return;
    };
    let (start, share) = (heads.start, share.div_ceil(block));
    let end = xs.len().min(start + rows / block * stride);
    let shares = xs[start..end].chunks_mut(share * stride);
    share_out(shares.enumerate(), |(index, xs)| {
        let first = index * share;
        let end = rows.min((first + share) * block);
        let stream = &mut Stream::in_place(xs);
        pass.rotate(first * block, end, start + first * stride, stream);
    });
}

/// Returns the number of rows that a thread rotates at a time, if several threads pay.
fn share(rows: usize, width: usize) -> Option<usize> {
    let threads = threads();
    (rows * width >= PARALLEL && threads > 1).then(|| rows.div_ceil(4 * threads))
}

/// A rotation of the rows of a tensor.
pub(super) struct Rows<'a, T: Activation, P> {
    pub(super) level: Level,
    pub(super) heads: Heads,
    /// `[rows, pairs]` each, with rows `stride` apart.
    pub(super) cos: &'a [P],
    pub(super) sin: &'a [P],
    pub(super) pairs: usize,
    pub(super) stride: usize,
    pub(super) tokens: &'a TokenRows,
    pub(super) layout: PairLayout,
    /// The factor of the sine: 1 or -1.
    pub(super) sign: T::Compute,
}

impl<T: Activation, P: Entry<T::Compute>> RowPass<T> for Rows<'_, T, P> {
    fn rotate(&self, first: usize, end: usize, offset: usize, stream: &mut Stream<'_, T>) {
        self.level.run(Part {
            rows: self,
            first,
            end,
            offset,
            stream,
        });
    }
}

/// The rows `first .. end`.
struct Part<'a, 's, T: Activation, P> {
    rows: &'a Rows<'a, T, P>,
    first: usize,
    end: usize,
    offset: usize,
    stream: &'a mut Stream<'s, T>,
}

impl<T: Activation, P: Entry<T::Compute>> Work for Part<'_, '_, T, P> {
    type Output = ();

    /// Interleaved pairs are moved in half as many registers. Elements of 64 bits are bound by memory.
    const AVX512: bool = size_of::<T>() < 8;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let (stream, rows) = (self.stream, self.rows);
        let Heads { width, step, .. } = rows.heads;
        let steps = rows.heads.time();
        rows.heads.visit(
            self.first,
            self.end,
            #[inline(always)]
            |start, [batch, head], time| {
                let group = match rows.tokens {
                    TokenRows::PerHead => head,
                    _ => batch,
                };
                let row = rows.tokens.of(group, time, steps) * rows.stride;
                let end = row + rows.pairs;
                let angles = (&rows.cos[row..end], &rows.sin[row..end]);
                let run = (start - self.offset, step, width);
                match step {
                    1 => stream.select(run.0, width),
                    _ => stream.gather(&mut once(run)),
                }
                rotate_row(isa, rows.layout, stream, angles, rows.sign);
                if step != 1 {
                    stream.scatter(&mut once(run));
                }
            },
        );
    }
}
