//! The protocol by which tables grow, under every order of threads: pe-candle's own file, with the locks
//! of a model checker in place of the standard library's.
//!
//!     cargo test --manifest-path tests/growth/Cargo.toml

#![cfg(test)]

/// What `pe-candle/src/layers/sync.rs` is there.
mod sync {
    pub(crate) use std::sync::PoisonError;

    pub(crate) use loom::sync::{Mutex, RwLock, RwLockReadGuard};
}

#[path = "../../pe-candle/src/layers/published.rs"]
mod published;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use published::Published;

/// A table of this many rows, and the table that it was made from.
#[derive(Debug, Clone, PartialEq)]
struct Table {
    rows: usize,
    history: Vec<usize>,
}

impl Table {
    fn first() -> Self {
        Self {
            rows: 1,
            history: Vec::new(),
        }
    }

    /// At least twice as long, as in the layers.
    fn longer(self, rows: usize) -> Self {
        let mut history = self.history;
        history.push(self.rows);
        Self {
            rows: rows.max(2 * self.rows),
            history,
        }
    }
}

fn find(rows: usize) -> impl Fn(&Table) -> Option<usize> {
    move |table| (rows <= table.rows).then_some(table.rows)
}

/// Checks every order of threads; those that are interrupted more than three times left out.
fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

/// Three threads ask for different lengths: each gets its rows, tables are made one at a time and
/// each from the one before it, and the last is the longest.
#[test]
fn nothing_is_lost_in_any_order_of_threads() {
    check(|| {
        let table = Arc::new(Published::new(Table::first()));
        let (making, made) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let ask = {
            let (table, making, made) = (table.clone(), making.clone(), made.clone());
            move |rows: usize| {
                let before = table.get().rows;
                let found = table.find_or_build(find(rows), |old| {
                    assert_eq!(making.fetch_add(1, Ordering::SeqCst), 0, "two at a time");
                    assert!(old.rows < rows, "made for nothing");
                    let new = old.longer(rows);
                    made.fetch_add(1, Ordering::SeqCst);
                    making.fetch_sub(1, Ordering::SeqCst);
                    let rows = new.rows;
                    Ok::<_, ()>((new, rows))
                });
                assert!(found.is_ok_and(|found| found >= rows));
                assert!(table.get().rows >= rows.max(before), "it shrank");
            }
        };
        let others: Vec<_> = [3, 5]
            .map(|rows| {
                let ask = ask.clone();
                thread::spawn(move || ask(rows))
            })
            .into();
        ask(2);
        for other in others {
            other.join().unwrap();
        }
        let last = table.get();
        assert!(last.rows >= 5);
        // As many tables in its past as were made: none was thrown away.
        assert_eq!(last.history.len(), made.load(Ordering::SeqCst));
        assert!(last.history.is_sorted());
    });
}

/// A thread that could not make its table leaves the others theirs.
#[test]
fn error_changes_nothing_for_the_others() {
    check(|| {
        let table = Arc::new(Published::new(Table::first()));
        let failing = {
            let table = table.clone();
            thread::spawn(move || table.find_or_build(find(9), |_| Err::<(Table, usize), _>("no")))
        };
        let found = table.find_or_build(find(3), |old| {
            let new = old.longer(3);
            let rows = new.rows;
            Ok::<_, &str>((new, rows))
        });
        assert_eq!(found, Ok(3));
        assert_eq!(failing.join().unwrap(), Err("no"));
        assert_eq!(table.get().rows, 3);
    });
}

/// The same checks find the fault of a protocol that looks once: without the second look, a
/// thread replaces a longer table by a shorter one.
#[test]
#[should_panic(expected = "a longer table was lost")]
fn protocol_without_the_second_look_is_found_out() {
    check(|| {
        let table = Arc::new(sync::RwLock::new(Table::first()));
        let ask = |table: &sync::RwLock<Table>, rows: usize| {
            let old = table.read().unwrap().clone();
            if old.rows < rows {
                *table.write().unwrap() = old.longer(rows);
            }
        };
        let other = {
            let table = table.clone();
            thread::spawn(move || ask(&table, 7))
        };
        ask(&table, 3);
        other.join().unwrap();
        assert!(table.read().unwrap().rows >= 7, "a longer table was lost");
    });
}
