//! Elements that a pass reads and replaces, in place or in new memory.

use std::marker::PhantomData;
use std::mem::{MaybeUninit, take};
use std::{ptr, slice};

/// Bytes in a cache line, and in the longest vector.
pub(crate) const LINE: usize = 64;

/// Elements in memory: the index of the first, the distance between two, and their number.
pub(crate) type Run = (usize, usize, usize);

/// Elements of a source, and the memory for their results: the source itself, or new memory that is written in order.
///
/// A pass selects a run of the source and replaces its elements from the front.
pub(crate) struct Stream<'a, T> {
    /// All elements. They are written to only without new memory.
    source: *mut T,
    len: usize,
    /// The end of the new memory.
    end: Option<*mut T>,
    /// The addresses of the next element of the run and of its result, and the number of elements left.
    from: *const T,
    to: *mut T,
    left: usize,
    /// Gathered elements.
    scratch: Vec<T>,
    /// No stream may be used as another: each has a lifetime of its own.
    brand: PhantomData<fn(&'a ()) -> &'a ()>,
}

impl<'a, T: Copy + Default> Stream<'a, T> {
    /// Returns a stream that replaces elements where they are. All of them are selected.
    pub(crate) fn in_place(xs: &'a mut [T]) -> Self {
        let (source, len) = (xs.as_mut_ptr(), xs.len());
        Self::with(source, len, source, None, len)
    }

    /// Returns a stream into new memory. Nothing is selected.
    pub(super) fn into_new(xs: &'a [T], new: &'a mut [MaybeUninit<T>]) -> Self {
        let range = new.as_mut_ptr_range();
        let (to, end) = (range.start.cast(), Some(range.end.cast()));
        Self::with(xs.as_ptr().cast_mut(), xs.len(), to, end, 0)
    }

    fn with(source: *mut T, len: usize, to: *mut T, end: Option<*mut T>, left: usize) -> Self {
        Self {
            source,
            len,
            end,
            from: source,
            to,
            left,
            scratch: Vec::new(),
            brand: PhantomData,
        }
    }

    /// Returns how many elements of the run are left.
    #[inline(always)]
    pub(crate) fn left(&self) -> usize {
        self.left
    }

    /// Returns the number of elements that the new memory has room for.
    pub(crate) fn room(&self) -> usize {
        let bytes = self.end.map(|end| end.addr() - self.to.addr());
        bytes.map_or(self.len, |bytes| bytes / size_of::<T>())
    }

    /// Returns the number of elements up to the next result at the start of a cache line.
    #[inline(always)]
    pub(crate) fn to_line(&self) -> usize {
        self.to.align_offset(LINE)
    }

    /// Selects a run of neighboring elements.
    ///
    /// # Panics
    /// Panics if the source has no such elements, or the new memory no room for them.
    #[inline(always)]
    pub(crate) fn select(&mut self, start: usize, len: usize) {
        assert!(
            start <= self.len && len <= self.len - start,
            "a run beyond the elements"
        );
        self.begin(self.source.wrapping_add(start), len);
    }

    #[inline(always)]
    fn begin(&mut self, from: *mut T, len: usize) {
        match self.end {
            None => self.to = from,
            Some(_) => assert!(len <= self.room(), "a run beyond the new memory"),
        }
        (self.from, self.left) = (from, len);
    }

    /// Selects copies of the elements of some runs, one run behind the other.
    ///
    /// # Panics
    /// Panics if the source has no such elements, or the new memory no room for them.
    #[inline(never)]
    pub(crate) fn gather(&mut self, runs: &mut dyn Iterator<Item = Run>) {
        self.left = 0;
        self.scratch.clear();
        // SAFETY: the elements are borrowed for 'a, and nobody writes to them while the slice is in use, in this loop.
        let source = unsafe { slice::from_raw_parts(self.source, self.len) };
        for (start, step, len) in runs {
            match step {
                1 => self.scratch.extend_from_slice(&source[start..start + len]),
                _ => {
                    let elements = (0..len).map(|index| source[start + index * step]);
                    self.scratch.extend(elements);
                }
            }
        }
        let (from, len) = (self.scratch.as_mut_ptr(), self.scratch.len());
        self.begin(from, len);
    }

    /// Puts the results of gathered elements in the place of the elements, unless they are in new memory.
    ///
    /// # Panics
    /// Panics if the runs are not those that were gathered.
    #[inline(never)]
    pub(crate) fn scatter(&mut self, runs: &mut dyn Iterator<Item = Run>) {
        if self.end.is_some() {
            return;
        }
        self.left = 0;
        let scratch = take(&mut self.scratch);
        // SAFETY: the elements are borrowed mutably for 'a, and this slice is the only access to them, in this loop.
        let source = unsafe { slice::from_raw_parts_mut(self.source, self.len) };
        let mut results = scratch.iter();
        for (start, step, len) in runs {
            for (index, result) in results.by_ref().take(len).enumerate() {
                source[start + index * step] = *result;
            }
        }
        self.scratch = scratch;
    }

    /// Replaces `N` elements for each item, as long as there are items and so many elements.
    #[inline(always)]
    pub(crate) fn replace<const N: usize, E>(
        &mut self,
        items: impl Iterator<Item = E>,
        mut f: impl FnMut([T; N], E) -> [T; N],
    ) {
        let (from, to) = (self.from.cast::<[T; N]>(), self.to.cast::<[T; N]>());
        let mut replaced = 0;
        for (index, item) in (0..self.left / N).zip(items) {
            // SAFETY: the run has `left` elements that can be read and `left` that can be written, so N from
            // `index * N` on; `begin` has seen to that. They may be the same.
            unsafe { to.add(index).write(f(from.add(index).read(), item)) };
            replaced += N;
        }
        self.advance(replaced);
    }

    /// Replaces the next `len` elements, at most `N`: a chunk that is padded with arbitrary elements.
    #[inline(always)]
    pub(crate) fn replace_few<const N: usize>(
        &mut self,
        len: usize,
        f: impl FnOnce([T; N]) -> [T; N],
    ) {
        assert!(len <= self.left && len <= N, "too few elements");
        let mut x = [T::default(); N];
        // SAFETY: as in `replace`, and the arrays have `N` elements.
        unsafe { ptr::copy_nonoverlapping(self.from, x.as_mut_ptr(), len) };
        let y = f(x);
        // SAFETY: as above.
        unsafe { ptr::copy_nonoverlapping(y.as_ptr(), self.to, len) };
        self.advance(len);
    }

    /// Replaces the first `2 * half` elements of the run in pairs of two that are `half` apart: `N` pairs for each of
    /// the chunks, and then one pair for each of the others.
    ///
    /// # Panics
    /// Panics if the run is shorter, or has more pairs than chunks and others.
    #[inline(always)]
    pub(crate) fn replace_pairs<const N: usize, A, B>(
        &mut self,
        half: usize,
        chunks: impl Iterator<Item = A>,
        others: impl Iterator<Item = B>,
        mut f: impl FnMut([T; N], [T; N], A) -> [[T; N]; 2],
        mut g: impl FnMut(T, T, B) -> [T; 2],
    ) {
        assert!(half <= self.left / 2, "too few elements");
        let (from, to) = (self.from, self.to);
        let mut at = 0;
        for (_, item) in (0..half / N).zip(chunks) {
            // SAFETY: as in `replace`: `at + N <= half` and `2 * half <= left`.
            unsafe {
                let (a, b) = (from.add(at), from.add(half + at));
                let [y, z] = f(a.cast::<[T; N]>().read(), b.cast::<[T; N]>().read(), item);
                to.add(at).cast::<[T; N]>().write(y);
                to.add(half + at).cast::<[T; N]>().write(z);
            }
            at += N;
        }
        for (_, item) in (at..half).zip(others) {
            // SAFETY: as above, with `at < half`.
            unsafe {
                let [y, z] = g(from.add(at).read(), from.add(half + at).read(), item);
                to.add(at).write(y);
                to.add(half + at).write(z);
            }
            at += 1;
        }
        assert!(at == half, "{at} of {half} pairs were replaced");
        self.advance(2 * half);
    }

    /// Leaves the other elements of the run unchanged.
    #[inline(always)]
    pub(crate) fn keep(&mut self) {
        if !ptr::eq(self.from, self.to) {
            // SAFETY: as in `replace`.
            unsafe { ptr::copy(self.from, self.to, self.left) };
        }
        self.advance(self.left);
    }

    #[inline(always)]
    fn advance(&mut self, len: usize) {
        (self.from, self.to) = (self.from.wrapping_add(len), self.to.wrapping_add(len));
        self.left -= len;
    }

    /// Writes `runs` runs of `len` results each, one behind the other, through streams of their own into the new
    /// memory, in any order.
    ///
    /// # Panics
    /// Panics if the new memory has no room, or a run is not filled.
    pub(crate) fn write_runs(
        &mut self,
        runs: usize,
        len: usize,
        fill: impl FnOnce(&mut [Stream<'_, T>]),
    ) {
        assert!(
            self.end.is_some() && runs * len <= self.room(),
            "runs beyond the new memory"
        );
        let place = |run: usize| self.to.wrapping_add(run * len);
        let stream = |run| Stream::with(self.source, self.len, place(run), Some(place(run + 1)), 0);
        let mut streams: Vec<_> = (0..runs).map(stream).collect();
        fill(&mut streams);
        for (run, stream) in streams.iter().enumerate() {
            stream.check_filled(place(run + 1));
        }
        self.left = 0;
        self.to = place(runs);
    }

    /// Panics unless everything up to this end was written.
    pub(super) fn check_filled(&self, end: *const T) {
        let filled = ptr::eq(self.to, end) && self.end.is_some_and(|own| ptr::eq(own, end));
        assert!(
            filled,
            "a kernel has left {} elements unwritten",
            self.room()
        );
    }
}
