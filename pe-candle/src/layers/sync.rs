//! The locks of growing tables. `tests/growth` substitutes a model checker's locks under these names
//! and tests `published.rs` for all orders of threads.

pub(crate) use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};
