//! A value that any number of threads read while one of them builds its successor.
//!
//! `tests/growth` tests these rules for every order of threads:
//!
//! - A thread waits for a new value only if it needs it.
//! - Each value is built from the one before it, so nothing is lost.
//! - One thread at a time builds a value.
//! - A call returns what it asked for, even if other threads have replaced the value since.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use super::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};

/// A value that threads read and replace.
#[derive(Debug)]
pub(crate) struct Published<T> {
    /// Locked only to copy the value or to replace it.
    value: RwLock<T>,
    /// Locked while a new value is built.
    builder: Mutex<()>,
}

impl<T: Clone> Published<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            value: RwLock::new(value),
            builder: Mutex::new(()),
        }
    }

    /// Returns a copy of the current value.
    pub(crate) fn get(&self) -> T {
        self.read().clone()
    }

    /// Returns the result of `find` on the value. If `find` returns `None`, `build` returns a new value,
    /// which replaces the old one, and the result. If `build` fails, the value is unchanged.
    pub(crate) fn find_or_build<A, E>(
        &self,
        find: impl Fn(&T) -> Option<A>,
        build: impl FnOnce(T) -> Result<(T, A), E>,
    ) -> Result<A, E> {
        if let Some(found) = find(&self.read()) {
            return Ok(found);
        }
        let _building = self.builder.lock().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have built it in the meantime.
        let value = self.get();
        if let Some(found) = find(&value) {
            return Ok(found);
        }
        let (next, found) = build(value)?;
        *self.value.write().unwrap_or_else(PoisonError::into_inner) = next;
        Ok(found)
    }

    /// Locks the value for reading. A poisoned lock is harmless, because values are replaced as a whole.
    fn read(&self) -> RwLockReadGuard<'_, T> {
        self.value.read().unwrap_or_else(PoisonError::into_inner)
    }
}
