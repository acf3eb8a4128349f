//! The rotation of a tensor of heads: rows shared out among threads, on the instruction set
//! chosen.

use pe_core::PairLayout;

use super::heads::Heads;
use super::turn::{turn, write_turned};
use crate::kernel::isa::{Isa, Level, Work};
use crate::kernel::number::{Entry, Number};
use crate::kernel::raw::{Room, fresh, share_out, threads};
use crate::kernel::token_rows::TokenRows;

/// Elements from which on a second thread pays: as for the additive kernels.
const PARALLEL: usize = 1 << 18;

/// Positions of a run that are turned at a time where runs of many heads are written side by side.
const TILE: usize = 32;

/// A rotation of the rows of a tensor.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rotate<'a, T: Number, P> {
    pub(super) level: Level,
    pub(super) heads: Heads,
    /// `[rows, pairs]` each.
    pub(super) cos: &'a [P],
    pub(super) sin: &'a [P],
    pub(super) pairs: usize,
    pub(super) tokens: &'a TokenRows,
    pub(super) layout: PairLayout,
    /// What the sine is multiplied by: 1 or -1.
    pub(super) sign: T::Wide,
}

impl<T: Number, P: Entry<T::Wide>> Rotate<'_, T, P> {
    /// The rotated rows in row-major order.
    pub(super) fn map(&self, xs: &[T]) -> Vec<T> {
        let (rows, width) = (self.heads.rows(), self.heads.width);
        let write = |first, end, room: &mut Room<'_, T>| {
            self.level.run(Turn {
                rotate: *self,
                first,
                end,
                to: New { xs, room },
            });
        };
        let share = share(rows, width).unwrap_or(rows);
        let Some(time) = self.heads.scattered_runs().filter(|time| *time > TILE) else {
            return fresh(rows * width, share * width, |first, room| {
                let first = first / width;
                write(first, first + room.left() / width, room);
            });
        };
        // Runs of heads side by side, some positions at a time: what lies together is read
        // together.
        let share = share.next_multiple_of(time);
        fresh(rows * width, share * width, |first, room| {
            let (first, runs) = (first / width, room.left() / (time * width));
            room.write_runs(runs, time * width, |rooms| {
                for tile in (0..time).step_by(TILE) {
                    for (room, first) in rooms.iter_mut().zip((first..).step_by(time)) {
                        write(first + tile, first + time.min(tile + TILE), room);
                    }
                }
            });
        })
    }

    /// Rotates the rows where they are. No two elements may share a place.
    pub(super) fn map_in_place(&self, xs: &mut [T]) {
        let (rows, width) = (self.heads.rows(), self.heads.width);
        let own = |first, end, xs: &mut [T], offset| {
            self.level.run(Turn {
                rotate: *self,
                first,
                end,
                to: InPlace { xs, offset },
            });
        };
        let share = share(rows, width).filter(|_| self.heads.contiguous());
        let Some(share) = share else {
            own(0, rows, xs, 0);
            return;
        };
        let start = self.heads.start;
        let shares = xs[start..start + rows * width].chunks_mut(share * width);
        share_out(shares.enumerate(), |(index, xs)| {
            let first = index * share;
            own(first, first + xs.len() / width, xs, start + first * width);
        });
    }

    /// Cosines and sines of a token.
    #[inline(always)]
    fn angles(&self, batch: usize, time: usize) -> (&[P], &[P]) {
        let row = self.tokens.of(batch, time, self.heads.time()) * self.pairs;
        let end = row + self.pairs;
        (&self.cos[row..end], &self.sin[row..end])
    }
}

/// How many rows a thread takes at a time, if there is work for several.
fn share(rows: usize, width: usize) -> Option<usize> {
    let threads = threads();
    (rows * width >= PARALLEL && threads > 1).then(|| rows.div_ceil(4 * threads))
}

/// The rows `first .. end`.
struct Turn<'a, T: Number, P, To> {
    rotate: Rotate<'a, T, P>,
    first: usize,
    end: usize,
    to: To,
}

/// To new memory.
struct New<'a, 'r, T> {
    xs: &'a [T],
    room: &'a mut Room<'r, T>,
}

impl<T: Number, P: Entry<T::Wide>> Work for Turn<'_, T, P, New<'_, '_, T>> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let (rotate, New { xs, room }) = (self.rotate, self.to);
        let Rotate { layout, sign, .. } = rotate;
        let (width, step) = (rotate.heads.width, rotate.heads.step);
        let mut buffer = Buffer::new(width, step);
        rotate.heads.visit(
            self.first,
            self.end,
            #[inline(always)]
            |place, batch, time| {
                let (angles, from) = (rotate.angles(batch, time), &xs[place..]);
                let row = match &mut buffer {
                    None => &from[..width],
                    Some(buffer) => buffer.gather(from, step),
                };
                write_turned(isa, layout, row, angles, sign, room);
            },
        );
    }
}

/// In place, in a slice that begins `offset` elements into the storage.
struct InPlace<'a, T> {
    xs: &'a mut [T],
    offset: usize,
}

impl<T: Number, P: Entry<T::Wide>> Work for Turn<'_, T, P, InPlace<'_, T>> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let (rotate, InPlace { xs, offset }) = (self.rotate, self.to);
        let Rotate { layout, sign, .. } = rotate;
        let (width, step) = (rotate.heads.width, rotate.heads.step);
        let mut buffer = Buffer::new(width, step);
        rotate.heads.visit(
            self.first,
            self.end,
            #[inline(always)]
            |place, batch, time| {
                let angles = rotate.angles(batch, time);
                let own = &mut xs[place - offset..];
                match &mut buffer {
                    None => turn(isa, layout, &mut own[..width], angles, sign),
                    Some(buffer) => {
                        let row = buffer.gather(own, step);
                        turn(isa, layout, row, angles, sign);
                        for (index, value) in row.iter().enumerate() {
                            own[index * step] = *value;
                        }
                    }
                }
            },
        );
    }
}

/// Memory for a row whose elements do not follow each other.
struct Buffer<T>(Vec<T>);

impl<T: Number> Buffer<T> {
    /// `None` if the elements follow each other.
    fn new(width: usize, step: usize) -> Option<Self> {
        (step != 1).then(|| Self(vec![T::default(); width]))
    }

    /// The row that begins a slice, of elements `step` apart.
    fn gather(&mut self, from: &[T], step: usize) -> &mut [T] {
        for (index, to) in self.0.iter_mut().enumerate() {
            *to = from[index * step];
        }
        &mut self.0
    }
}
