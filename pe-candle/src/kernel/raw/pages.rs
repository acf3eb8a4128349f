//! Huge pages for large results.

/// Number of bytes at which huge pages are requested.
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) const LARGE: usize = 4 << 20;

/// Asks the operating system to back memory that is about to be written with huge pages, which it may do or not. The
/// advice names only pages that lie within the slice as a whole, so that no more memory is used than without it.
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) fn advise_huge_pages<T>(memory: &mut [T]) {
    /// The alignment of huge pages on most machines. Where they are larger, fewer of them fit.
    const HUGE: usize = 2 << 20;
    let bytes = size_of_val(memory);
    if bytes < LARGE {
        return;
    }
    let start = memory.as_mut_ptr().cast::<u8>();
    let before = start.align_offset(HUGE);
    let inside = bytes.saturating_sub(before) / HUGE * HUGE;
    if inside == 0 {
        return;
    }
    // SAFETY: the range lies within `memory`: `before + inside <= bytes`. The advice changes no
    // byte and no access right. An error is harmless: the pages stay small.
    unsafe {
        libc::madvise(start.add(before).cast(), inside, libc::MADV_HUGEPAGE);
    }
}

/// Other systems have no such advice.
#[cfg(any(not(target_os = "linux"), miri))]
pub(crate) const LARGE: usize = usize::MAX;

/// Does nothing.
#[cfg(any(not(target_os = "linux"), miri))]
pub(crate) fn advise_huge_pages<T>(_: &mut [T]) {}
