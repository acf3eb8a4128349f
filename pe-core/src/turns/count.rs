//! A count of the sets of frequencies that were computed, for the tests.

use std::cell::Cell;

thread_local! {
    static COMPUTED: Cell<u64> = const { Cell::new(0) };
}

/// Counts one set.
pub(crate) fn count() {
    COMPUTED.with(|computed| computed.set(computed.get().wrapping_add(1)));
}

/// Returns how many sets of frequencies this thread has computed.
pub fn frequencies_computed() -> u64 {
    COMPUTED.with(Cell::get)
}
