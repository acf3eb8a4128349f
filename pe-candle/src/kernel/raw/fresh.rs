//! Vectors whose memory is written once, by one thread or several.

use std::alloc::{Layout, alloc_zeroed};
use std::marker::PhantomData;
use std::mem::{MaybeUninit, take};

use pulp::bytemuck::Zeroable;

use super::helpers::share_out;
use super::pages::advise_huge_pages;

/// Bytes in a line of the cache, which are those of the longest vectors too.
pub(crate) const LINE: usize = 64;

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

    /// How many elements the next one is away from the beginning of a line of the cache.
    #[inline(always)]
    pub(crate) fn to_line(&self) -> usize {
        self.left.as_ptr().align_offset(LINE)
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

/// A vector of `count` elements, filled in pieces of `piece` elements by this thread and its
/// helpers, or by this thread alone if it is one piece. `fill` gets the index of a piece's first element,
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
    advise_huge_pages(all);
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
        share_out(all.chunks_mut(piece).enumerate(), fill);
    }
    // SAFETY: the capacity is at least `count`. Each of the first `count` elements lies in one
    // piece, and each piece was found filled above, or the assertion or `fill` had panicked: a
    // room's slice is private, gets shorter only in `write_blocks`, `write_two` and `write`, by
    // what they have just written at its beginning, and in `write_runs`, by runs that were found
    // filled in the same way (or becomes one without address, if a panic was caught
    // on the way: that is found too), and ends with the piece.
    unsafe { made.set_len(count) };
    made
}

/// A vector of zeros as the system gives them: memory that has not been touched yet, where it
/// is large. `None` if there is not enough.
pub(crate) fn zeros<T: Copy + Zeroable>(count: usize) -> Option<Vec<T>> {
    let layout = Layout::array::<T>(count).ok()?;
    if layout.size() == 0 {
        return Some(vec![T::zeroed(); count]);
    }
    // SAFETY: the size is not zero.
    let memory = unsafe { alloc_zeroed(layout) }.cast::<T>();
    if memory.is_null() {
        return None;
    }
    // SAFETY: `memory` is from the global allocator, for `count` elements and aligned for them;
    // all its bytes are zero, which is a value of a `Zeroable` type.
    let mut zeros = unsafe { Vec::from_raw_parts(memory, count, count) };
    // SAFETY: what is initialised may be taken for what perhaps is not; the advice writes nothing.
    let uninit = unsafe { &mut *(zeros.as_mut_slice() as *mut [T] as *mut [MaybeUninit<T>]) };
    advise_huge_pages(uninit);
    Some(zeros)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes the numbers `first ..` in blocks and in single elements.
    fn count_up(first: usize, room: &mut Room<'_, u32>) {
        let mut next = first as u32;
        while room.left() > 0 {
            let before = room.left();
            room.write_blocks((0..3).map(|block| {
                [0, 4].map(|step| [0, 1, 2, 3].map(|lane| next + 8 * block + step + lane))
            }));
            next += (before - room.left()) as u32;
            room.write(&[next]);
            next += 1;
        }
    }

    #[test]
    fn every_size_is_written_whole() {
        for count in (0..100).chain([1000, 4099]) {
            for piece in [1, 7, 8, 25, 1024, 5000] {
                let made = fresh(count, piece, count_up);
                assert!(made.iter().copied().eq(0..count as u32), "{count} {piece}");
            }
        }
    }

    #[test]
    fn a_panic_gives_nothing_away() {
        for piece in [100, 1000] {
            let made = std::panic::catch_unwind(|| {
                fresh(1000, piece, |first, room: &mut Room<'_, u32>| {
                    room.write(&[1, 2, 3]);
                    assert!(first != 300 && piece != 1000, "in the middle");
                    count_up(first + 3, room);
                })
            });
            assert!(made.is_err());
        }
    }

    #[test]
    fn what_is_not_filled_is_found() {
        type Fill = fn(usize, &mut Room<'_, u32>);
        let fills: [Fill; 3] = [
            |_, _| {},
            |_, room| room.write(&[0; 99]),
            |_, room| {
                // A panic on the way that is caught.
                let blocks = std::iter::from_fn(|| -> Option<[[u32; 4]; 1]> { panic!() });
                let room = std::panic::AssertUnwindSafe(room);
                let caught = std::panic::catch_unwind(move || {
                    let room = room;
                    room.0.write_blocks(blocks);
                });
                assert!(caught.is_err());
            },
        ];
        for fill in fills {
            for piece in [100, 200] {
                let made = std::panic::catch_unwind(|| fresh(200, piece, fill));
                assert!(made.is_err());
            }
        }
    }

    #[test]
    fn two_runs_and_runs_of_their_own_are_written_whole() {
        for len in 0..40u32 {
            let made = fresh(2 * len as usize, 100, |_, room| {
                let blocks = (0..len / 4).map(|block| {
                    [0, len].map(|from| [0, 1, 2, 3].map(|lane| from + 4 * block + lane))
                });
                let elements = (len - len % 4..len).map(|at| [at, len + at]);
                room.write_two(len as usize, blocks, elements);
            });
            assert!(made.iter().copied().eq(0..2 * len), "{len}");
        }
        let made = fresh(60, 30, |first, room| {
            room.write_runs(3, 10, |rooms| {
                for step in 0..5 {
                    for (run, room) in rooms.iter_mut().enumerate().rev() {
                        let next = (first + 10 * run + 2 * step) as u32;
                        room.write(&[next, next + 1]);
                    }
                }
            });
        });
        assert!(made.iter().copied().eq(0..60));
    }

    #[test]
    fn runs_that_are_not_filled_are_found() {
        type Fill = fn(&mut Room<'_, u32>);
        let fills: [Fill; 6] = [
            |room| room.write_two::<4>(10, std::iter::empty(), std::iter::empty()),
            |room| room.write_two(10, std::iter::repeat([[1; 4]; 2]), std::iter::once([1; 2])),
            |room| room.write_two::<4>(11, std::iter::empty(), std::iter::empty()),
            |room| room.write_runs(2, 10, |rooms| rooms[0].write(&[1; 10])),
            |room| {
                room.write_runs(2, 10, |rooms| {
                    // One room in the place of two.
                    rooms[0].write(&[1; 10]);
                    rooms.swap(0, 1);
                    rooms[1].write(&[1; 10]);
                });
            },
            |room| {
                let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    room.write_runs(2, 10, |_| panic!());
                }));
                assert!(caught.is_err());
            },
        ];
        for (index, fill) in fills.into_iter().enumerate() {
            let made = std::panic::catch_unwind(|| fresh(20, 20, |_, room| fill(room)));
            assert!(made.is_err(), "{index}");
        }
    }

    #[test]
    fn zeros_are_zero() {
        for count in [0, 1, 1000, 3 << 20] {
            let zeros = zeros::<u32>(count).unwrap();
            assert_eq!(zeros.len(), count);
            assert!(zeros.iter().step_by(1 + count / 1000).all(|x| *x == 0));
        }
        assert!(zeros::<u64>(usize::MAX / 4).is_none());
        assert!(zeros::<u8>(isize::MAX as usize).is_none());
    }
}
