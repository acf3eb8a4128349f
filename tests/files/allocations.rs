//! Memory that a piece of work requests, counted on its own thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Memory requested by a thread.
#[derive(Debug, Clone, Copy, Default)]
pub struct Taken {
    /// The largest piece.
    pub largest: usize,
    /// The most held at a time, beyond what was held at the beginning.
    pub peak: usize,
    held: isize,
}

thread_local! {
    static TAKEN: Cell<Option<Taken>> = const { Cell::new(None) };
}

/// Runs the work and returns the memory that this thread requested meanwhile.
pub fn watch<R>(work: impl FnOnce() -> R) -> (R, Taken) {
    TAKEN.set(Some(Taken::default()));
    let result = work();
    let taken = TAKEN.take();
    (result, taken.unwrap_or_default())
}

/// The system's allocator, which counts.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Notes that an allocation of `new` bytes replaces one of `old` bytes.
fn note(bytes: usize, instead_of: usize) {
    // At the end of a thread there is no counting.
    let _ = TAKEN.try_with(|cell| {
        if let Some(mut taken) = cell.get() {
            taken.largest = taken.largest.max(bytes);
            taken.held += bytes as isize - instead_of as isize;
            taken.peak = taken.peak.max(taken.held.max(0) as usize);
            cell.set(Some(taken));
        }
    });
}

// SAFETY: every call goes to the system's allocator as it came; what is counted is in a cell of
// the thread that allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size(), 0);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size(), 0);
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size, layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.realloc(place, layout, size) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        note(0, layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(place, layout) }
    }
}
