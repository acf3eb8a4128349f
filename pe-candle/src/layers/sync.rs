//! The locks of this crate. `tests/growth` checks the file that uses them against all orders of
//! threads, with a model checker's locks under these names.

pub(crate) use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};
