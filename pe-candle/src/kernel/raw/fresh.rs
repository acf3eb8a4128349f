//! Vectors whose memory is written once, by one thread or several.

use std::marker::PhantomData;
use std::mem::{MaybeUninit, take};

use rayon::prelude::*;

/// Room for elements that are still to be written, in order.
///
/// It gets smaller only by what is written into it: with none left, all of it is initialised.
pub(crate) struct Room<'a, T> {
    left: &'a mut [MaybeUninit<T>],
    /// No room may be taken for another: the lifetime is one room's own.
    brand: PhantomData<fn(&'a ()) -> &'a ()>,
}

impl<T: Copy> Room<'_, T> {
    /// How many elements are still to be written.
    #[inline(always)]
    pub(crate) fn left(&self) -> usize {
        self.left.len()
    }

    /// Writes blocks of `M` times `N` elements, as long as there are some and room for them.
    #[inline(always)]
    pub(crate) fn write_blocks<const N: usize, const M: usize>(
        &mut self,
        blocks: impl Iterator<Item = [[T; N]; M]>,
    ) {
        let places = self.left.as_chunks_mut::<N>().0.as_chunks_mut::<M>().0;
        let mut written = 0;
        for (to, block) in places.iter_mut().zip(blocks) {
            for (to, step) in to.iter_mut().zip(block) {
                to.write_copy_of_slice(&step);
            }
            written += N * M;
        }
        self.left = take(&mut self.left).split_at_mut(written).1;
    }

    /// Writes two runs of `len` elements each, the second behind the first: blocks of both at a
    /// time, and single elements of both after them.
    ///
    /// # Panics
    /// If there is no room, or there are fewer blocks and elements.
    #[inline(always)]
    pub(crate) fn write_two<const N: usize>(
        &mut self,
        len: usize,
        blocks: impl Iterator<Item = [[T; N]; 2]>,
        elements: impl Iterator<Item = [T; 2]>,
    ) {
        let (first, rest) = take(&mut self.left).split_at_mut(len);
        let (second, rest) = rest.split_at_mut(len);
        let ((firsts, first), (seconds, second)) =
            (first.as_chunks_mut::<N>(), second.as_chunks_mut::<N>());
        let mut written = 0;
        for ((a, b), block) in firsts.iter_mut().zip(seconds).zip(blocks) {
            a.write_copy_of_slice(&block[0]);
            b.write_copy_of_slice(&block[1]);
            written += N;
        }
        for ((a, b), element) in first.iter_mut().zip(second).zip(elements) {
            a.write(element[0]);
            b.write(element[1]);
            written += 1;
        }
        assert!(written == len, "{written} of {len} elements were written");
        self.left = rest;
    }

    /// Writes `runs` runs of `len` elements each, one behind the other, through rooms of their
    /// own, in whatever order.
    ///
    /// # Panics
    /// If there is no room, or a run is not filled.
    pub(crate) fn write_runs(&mut self, runs: usize, len: usize, fill: impl FnOnce(&mut [Self])) {
        let (mine, rest) = take(&mut self.left).split_at_mut(runs * len);
        let ends: Vec<_> = mine
            .chunks_mut(len)
            .map(|run| run.as_ptr_range().end)
            .collect();
        let mut rooms: Vec<_> = mine
            .chunks_mut(len)
            .map(|left| Self {
                left,
                brand: PhantomData,
            })
            .collect();
        fill(&mut rooms);
        // As in `fresh`: what is left of each begins where its run ends.
        for (room, end) in rooms.iter().zip(ends) {
            let filled = room.left.is_empty() && room.left.as_ptr() == end;
            assert!(
                filled,
                "a kernel has left {} elements unwritten",
                room.left()
            );
        }
        self.left = rest;
    }

    /// Writes as many of the elements as there is room for.
    #[inline(always)]
    pub(crate) fn write(&mut self, elements: &[T]) {
        let len = elements.len().min(self.left.len());
        let (to, rest) = take(&mut self.left).split_at_mut(len);
        to.write_copy_of_slice(&elements[..len]);
        self.left = rest;
    }
}

/// A vector of `count` elements, filled in pieces of `piece` elements by the threads of the
/// pool, or by this thread if it is one piece. `fill` gets the index of a piece's first element,
/// and must write the whole piece.
///
/// A panic of `fill` is handed on, and the memory given back unread.
///
/// # Panics
/// If a piece is not filled.
pub(crate) fn fresh<T: Copy + Send>(
    count: usize,
    piece: usize,
    fill: impl Fn(usize, &mut Room<'_, T>) + Sync,
) -> Vec<T> {
    let mut made = Vec::with_capacity(count);
    let all = &mut made.spare_capacity_mut()[..count];
    super::advise_huge_pages(all);
    let fill = |(index, left): (usize, &mut [MaybeUninit<T>])| {
        let end = left.as_ptr_range().end;
        let mut room = Room {
            left,
            brand: PhantomData,
        };
        fill(index * piece, &mut room);
        // What is left begins where the piece ends, so nothing of it was passed over.
        let filled = room.left.is_empty() && room.left.as_ptr() == end;
        assert!(
            filled,
            "a kernel has left {} elements unwritten",
            room.left()
        );
    };
    if count <= piece {
        fill((0, all));
    } else {
        all.par_chunks_mut(piece).enumerate().for_each(fill);
    }
    // SAFETY: the capacity is at least `count`. Each of the first `count` elements lies in one
    // piece, and each piece was found filled above, or the assertion or `fill` had panicked: a
    // room's slice is private, gets shorter only in `write_blocks`, `write_two` and `write`, by
    // what they have just written at its beginning, and in `write_runs`, by runs that were
    // found filled in the same way (or becomes one without address, if a panic was caught
    // on the way: that is found too), and ends with the piece.
    unsafe { made.set_len(count) };
    made
}
