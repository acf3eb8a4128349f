//! Vectors with memory that is written once, by one thread or several.

use std::hint::black_box;
use std::mem::MaybeUninit;

use half::vec::HalfBitsVecExt;
use half::{bf16, f16};

use super::helpers::share_out;
use super::pages::advise_huge_pages;
use super::stream::Stream;

/// Returns a vector of `count` elements, filled from `xs` in pieces of `piece` elements by this thread and its helpers,
/// or by this thread alone if it is one piece. `fill` gets the index of a piece's first element, and must write the
/// whole piece.
///
/// A panic of `fill` is handed on, and the memory given back unread.
///
/// # Panics
/// Panics if a piece is not filled.
pub(crate) fn fresh<T: Copy + Default + Send + Sync>(
    xs: &[T],
    count: usize,
    piece: usize,
    fill: &(dyn Fn(usize, &mut Stream<'_, T>) + Sync),
) -> Vec<T> {
    let mut made = Vec::with_capacity(count);
    let all = &mut made.spare_capacity_mut()[..count];
    advise_huge_pages(all);
    let fill = |(index, new): (usize, &mut [MaybeUninit<T>])| {
        let end = new.as_ptr_range().end.cast();
        let mut stream = Stream::into_new(xs, new);
        fill(index * piece, &mut stream);
        stream.check_filled(end);
    };
    if count <= piece {
        fill((0, all));
    } else {
        share_out(all.chunks_mut(piece).enumerate(), fill);
    }
    // SAFETY: the capacity is at least `count`. Each of the first `count` elements lies in one piece, and each piece was
    // found filled above, or the assertion or `fill` had panicked: a stream that begins where its new memory does gets
    // to the end of it only by `advance` behind what was written, and by `write_runs` behind runs that were found filled
    // in the same way. Its lifetime keeps another stream from being put in its place.
    unsafe { made.set_len(count) };
    made
}

/// A type with zeros straight from the allocator: `vec!` requests zeroed memory for primitive types alone.
pub(crate) trait Zeros: Copy {
    fn zeros(count: usize) -> Vec<Self>;
}

macro_rules! impl_zeros {
    ($($type:ty: $zeros:expr;)*) => {
        $(impl Zeros for $type {
            fn zeros(count: usize) -> Vec<Self> {
                $zeros(count)
            }
        })*
    };
}

impl_zeros! {
    f32: |count| vec![0.; count];
    f64: |count| vec![0.; count];
    f16: |count| vec![0u16; count].reinterpret_into();
    bf16: |count| vec![0u16; count].reinterpret_into();
}

/// Returns whether `count` elements fit into memory now.
pub(crate) fn has_memory<T>(count: usize) -> bool {
    let mut trial = Vec::<T>::new();
    let reserved = trial.try_reserve_exact(count).is_ok();
    // The compiler may remove allocations that nothing uses, and then assumes that they succeed.
    black_box(trial);
    reserved
}

/// Returns a vector of zeros: memory that has not been touched yet, if it is large. Returns `None` if it does not fit.
pub(crate) fn zeros<T: Zeros>(count: usize) -> Option<Vec<T>> {
    let mut zeros = has_memory::<T>(count).then(|| T::zeros(count))?;
    advise_huge_pages(&mut zeros);
    Some(zeros)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// Adds one to the numbers `0 ..`, in chunks, in single elements, and in runs of several lengths.
    fn count_up(first: usize, stream: &mut Stream<'_, u32>) {
        let mut next = first;
        while stream.room() > 0 {
            stream.select(next, stream.room().min(11 + next % 5));
            next += stream.left();
            stream.replace(0..2, |x: [u32; 4], _| x.map(|x| x + 1));
            stream.replace_few(stream.left().min(3), |x: [u32; 3]| x.map(|x| x + 1));
            stream.replace(std::iter::repeat(()), |x: [u32; 1], ()| [x[0] + 1]);
        }
    }

    fn numbers(count: usize) -> Vec<u32> {
        (0..count as u32).collect()
    }

    #[test]
    fn every_size_is_written_whole() {
        for count in (0..100).chain([1000, 4099]) {
            for piece in [1, 7, 8, 25, 1024, 5000] {
                let made = fresh(&numbers(count), count, piece, &count_up);
                assert!(made.iter().copied().eq(1..=count as u32), "{count} {piece}");
            }
        }
    }

    #[test]
    fn panic_leaks_nothing() {
        for piece in [100, 1000] {
            let made = catch_unwind(|| {
                fresh(&numbers(1000), 1000, piece, &|first, stream| {
                    stream.select(first, 3);
                    stream.keep();
                    assert!(first != 300 && piece != 1000, "in the middle");
                    count_up(first + 3, stream);
                })
            });
            assert!(made.is_err());
        }
    }

    type Fill = fn(&mut Stream<'_, u32>);

    /// Checks that a vector of 20 elements that is filled in this way is never returned.
    fn found(fill: Fill) {
        for piece in [10, 20] {
            let made = catch_unwind(|| fresh(&numbers(40), 20, piece, &|_, stream| fill(stream)));
            assert!(made.is_err());
        }
    }

    #[test]
    fn unfilled_parts_are_found() {
        let fills: [Fill; 9] = [
            |_| {},
            |stream| stream.select(0, 10),
            |stream| {
                stream.select(0, 9);
                stream.keep();
            },
            // More than fits.
            |stream| stream.select(0, 21),
            |stream| stream.gather(&mut [(0, 2, 11), (0, 1, 10)].into_iter()),
            // Elements that the source does not have.
            |stream| stream.select(31, 10),
            |stream| stream.select(usize::MAX, 2),
            // A panic on the way that is caught.
            |stream| {
                stream.select(0, stream.room());
                let replaced = || stream.replace(0..9, |_: [u32; 1], _| panic!());
                assert!(catch_unwind(AssertUnwindSafe(replaced)).is_err());
            },
            |stream| {
                stream.select(0, 10);
                let none = std::iter::empty::<()>;
                stream.replace_pairs(
                    5,
                    none(),
                    none(),
                    |a: [_; 4], b, ()| [a, b],
                    |a, b, ()| [a, b],
                );
            },
        ];
        fills.into_iter().for_each(found);
    }

    #[test]
    fn pairs_and_runs_of_their_own_are_written_whole() {
        for half in 0..40 {
            let made = fresh(&numbers(2 * half + 3), 2 * half + 3, 100, &|_, stream| {
                stream.select(0, 2 * half + 3);
                let swap = |a: [u32; 4], b, ()| [b, a];
                let ones = |a, b, ()| [b, a];
                stream.replace_pairs(
                    half,
                    std::iter::repeat(()),
                    std::iter::repeat(()),
                    swap,
                    ones,
                );
                stream.keep();
            });
            let half = half as u32;
            let wanted = (half..2 * half)
                .chain(0..half)
                .chain(2 * half..2 * half + 3);
            assert!(made.iter().copied().eq(wanted), "{half}");
        }
        let made = fresh(&numbers(60), 60, 30, &|first, stream| {
            stream.write_runs(3, 10, |streams| {
                for step in 0..5 {
                    for (run, stream) in streams.iter_mut().enumerate().rev() {
                        stream.select(first + 10 * run + 2 * step, 2);
                        stream.keep();
                    }
                }
            });
        });
        assert!(made.iter().copied().eq(0..60));
    }

    #[test]
    fn runs_that_are_not_filled_are_found() {
        fn whole(stream: &mut Stream<'_, u32>) {
            stream.select(0, stream.room());
            stream.keep();
        }
        let fills: [Fill; 4] = [
            |stream| stream.write_runs(2, stream.room() / 2, |streams| whole(&mut streams[0])),
            |stream| stream.write_runs(2, 11, |streams| streams.iter_mut().for_each(whole)),
            |stream| {
                stream.write_runs(2, stream.room() / 2, |streams| {
                    // One stream in the place of two.
                    whole(&mut streams[0]);
                    streams.swap(0, 1);
                    whole(&mut streams[1]);
                });
            },
            |stream| {
                let runs = || stream.write_runs(2, 5, |_| panic!());
                assert!(catch_unwind(AssertUnwindSafe(runs)).is_err());
            },
        ];
        fills.into_iter().for_each(found);
    }

    #[test]
    fn gathered_elements_are_replaced_in_new_memory_or_put_back() {
        let runs = || [(1, 3, 4), (2, 1, 2), (30, 0, 1)].into_iter();
        let minus = |stream: &mut Stream<'_, u32>| {
            stream.gather(&mut runs());
            stream.replace(0..stream.left(), |x: [u32; 1], _| [1000 - x[0]]);
            stream.scatter(&mut runs());
        };
        let indices = [1, 4, 7, 10, 2, 3, 30];
        let made = fresh(&numbers(40), 7, 7, &|_, stream| minus(stream));
        assert_eq!(made, indices.map(|x| 1000 - x));
        let mut xs = numbers(40);
        minus(&mut Stream::in_place(&mut xs));
        for (index, x) in (0..).zip(xs) {
            assert_eq!(
                x,
                if indices.contains(&index) {
                    1000 - index
                } else {
                    index
                }
            );
        }
    }

    #[test]
    fn zeros_are_zero() {
        fn of<T: Zeros + Into<f64>>() {
            for count in [0, 1, 1000, 3 << 20] {
                let zeros = zeros::<T>(count).unwrap();
                assert_eq!(zeros.len(), count);
                assert!(
                    zeros
                        .into_iter()
                        .step_by(1 + count / 1000)
                        .all(|x| x.into().to_bits() == 0)
                );
            }
            assert!(zeros::<T>(isize::MAX as usize).is_none());
            assert!(zeros::<T>(isize::MAX as usize / size_of::<T>()).is_none());
        }
        of::<f32>();
        of::<f64>();
        of::<f16>();
        of::<bf16>();
    }
}
