//! A value that any number of threads read while one of them makes its successor.
//!
//! The rules are these, and `tests/growth` goes through every order of threads to see that they hold:
//! nobody waits for a value that is being made unless they need it; each value is made of the one
//! before it, so nothing of it is lost; values are made by one thread at a time; and what is
//! returned is what was asked for, whatever the others have put in its place since.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use super::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};

/// A value to be read and replaced.
#[derive(Debug)]
pub(crate) struct Published<T> {
    /// Held for reading only to take a copy, for writing only to put another in its place.
    value: RwLock<T>,
    /// Held while another is made.
    maker: Mutex<()>,
}

impl<T: Clone> Published<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            value: RwLock::new(value),
            maker: Mutex::new(()),
        }
    }

    /// The value as it is now.
    pub(crate) fn get(&self) -> T {
        self.read().clone()
    }

    /// What `find` takes of the value; if it takes nothing, what comes with the value that
    /// `make` makes of it, which then takes its place. An error of `make` leaves all as it was.
    pub(crate) fn find_or_make<A, E>(
        &self,
        find: impl Fn(&T) -> Option<A>,
        make: impl FnOnce(T) -> Result<(T, A), E>,
    ) -> Result<A, E> {
        if let Some(found) = find(&self.read()) {
            return Ok(found);
        }
        let _making = self.maker.lock().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have been here first.
        let value = self.get();
        if let Some(found) = find(&value) {
            return Ok(found);
        }
        let (next, found) = make(value)?;
        *self.value.write().unwrap_or_else(PoisonError::into_inner) = next;
        Ok(found)
    }

    /// Values are replaced whole: a thread that panicked has left none half made.
    fn read(&self) -> RwLockReadGuard<'_, T> {
        self.value.read().unwrap_or_else(PoisonError::into_inner)
    }
}
