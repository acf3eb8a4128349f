//! The number of threads that compute a table: one, or as many as rayon's pool has (feature `rayon`).
//!
//! Rows do not depend on each other, so pieces of a table are computed in parallel. The
//! bits are the same for any number of threads. The threads are not those of the pool: these may all
//! be waiting for a lock that the caller holds, and a caller that is one of them would
//! run other jobs of the pool while it waits. They are started for each table, in 12 to 40 us.

use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::rows::columns::Out;

/// The threads that compute a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threads {
    /// The calling thread.
    One,
    /// As many as rayon's pool has, whatever the size: for the tests.
    Pool,
    /// The same if that pays.
    Auto,
}

/// The fewest rows of a piece: it has to pay for its own seeds and fine table.
const FEWEST: u64 = 512;

/// Pieces per thread, so that a thread that is held up leaves work to the others.
const SHARES: u64 = 4;

/// Tables below this many bytes are computed by one thread: at 2 MiB two take longer than one, at 4 MiB between 0.8 and 1.0 times as
/// long, at 8 MiB between 0.65 and 0.85.
const SMALLEST: usize = 4 << 20;

impl Threads {
    /// Returns the rows of one piece, or `None` for a table of one piece.
    pub(crate) fn piece(self, rows: u64, row_bytes: usize, block: usize) -> Option<usize> {
        let bytes = rows.saturating_mul(row_bytes as u64);
        let pieces = match self {
            Self::One => false,
            Self::Pool => cfg!(feature = "rayon"),
            // One piece would keep the others waiting.
            Self::Auto => bytes >= SMALLEST as u64 && rows > FEWEST && pool_size() > 1,
        };
        if !pieces {
            return None;
        }
        let shares = SHARES * pool_size() as u64;
        let rows = rows.div_ceil(shares).max(FEWEST) as usize;
        Some(rows.next_multiple_of(block))
    }

    /// Does the same for tables in memory that is still to be allocated. One thread would write blocks into the cache, and
    /// several need all of it cleared before: at 4 MiB two take 1.2 to 1.5 times as long as one, and at 8 MiB as long.
    pub(crate) fn piece_of_new(self, rows: u64, row_bytes: usize, block: usize) -> Option<usize> {
        self.piece(rows, row_bytes / 2, block)
    }
}

/// Returns the number of threads of the current pool.
fn pool_size() -> usize {
    #[cfg(feature = "rayon")]
    return rayon::current_num_threads();
    #[cfg(not(feature = "rayon"))]
    1
}

/// Hands each piece of `size` entries of each slice, with its number, to `write`. Where the system
/// has no threads to give, this one does it all.
pub(crate) fn for_each_piece<T: Send>(
    out: Out<'_, T>,
    size: usize,
    write: impl Fn(usize, Out<'_, T>) + Sync + Send,
) {
    let helpers = pool_size().min(out.len().div_ceil(size)).saturating_sub(1);
    let pieces = Mutex::new(out.chunks(size).enumerate());
    let next = || pieces.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some((index, piece)) = next() {
            write(index, piece);
        }
    };
    thread::scope(|scope| {
        let started = |_: &usize| thread::Builder::new().spawn_scoped(scope, work).is_ok();
        let _ = (0..helpers).take_while(started).count();
        work();
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_makes_no_pieces() {
        assert_eq!(Threads::One.piece(u64::MAX, usize::MAX, 32), None);
    }

    #[cfg(not(feature = "rayon"))]
    #[test]
    fn pieces_need_a_pool() {
        for threads in [Threads::Pool, Threads::Auto] {
            assert_eq!(threads.piece(1 << 32, 4096, 32), None);
        }
    }

    #[cfg(feature = "rayon")]
    mod of_a_pool {
        use super::super::*;

        fn in_pool_of<R: Send>(threads: usize, what: impl FnOnce() -> R + Send) -> R {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            pool.build().unwrap().install(what)
        }

        /// Whether a table of this size is computed in pieces if that pays.
        fn in_pieces(bytes: usize) -> bool {
            Threads::Auto.piece(bytes as u64, 1, 32).is_some()
        }

        #[test]
        fn threads_have_four_pieces_of_whole_blocks() {
            let pieces = |rows| Threads::Pool.piece(rows, 8, 32);
            // 12 pieces of 1000 rows, and of 2000, in blocks of 32.
            assert_eq!(in_pool_of(3, || pieces(12_000)), Some(1_024));
            assert_eq!(in_pool_of(3, || pieces(24_000)), Some(2_016));
            assert_eq!(in_pool_of(1, || pieces(12_000)), Some(3_008));
            // No fewer than 512 rows.
            assert_eq!(in_pool_of(3, || pieces(100)), Some(512));
        }

        #[test]
        fn pool_threads_have_as_many_helpers_as_the_pool_has_threads() {
            for (threads, several) in [(1, false), (3, true)] {
                assert_eq!(in_pool_of(threads, || in_pieces(1 << 30)), several);
            }
        }

        #[test]
        fn each_piece_is_handed_out_once() {
            for (threads, len) in [(1, 100), (3, 100), (3, 5), (3, 0), (16, 1000)] {
                let (mut out, mut more) = (vec![0; len], vec![0; len]);
                in_pool_of(threads, || {
                    for_each_piece(Out([&mut out, &mut more]), 7, |index, piece| {
                        for slice in piece.0 {
                            (7 * index..)
                                .zip(slice)
                                .for_each(|(entry, at)| *at += entry);
                        }
                    });
                });
                assert!(out.into_iter().eq(0..len), "{threads} {len}");
                assert!(more.into_iter().eq(0..len), "{threads} {len}");
            }
        }

        /// Holds for any pool. The next test runs it in a pool of one thread and in one of several.
        #[test]
        fn large_tables_are_shared_out_where_the_pool_has_several_threads() {
            let several = rayon::current_num_threads() > 1;
            let sizes = [0, (4 << 20) - 1, 4 << 20, 1 << 30];
            assert_eq!(sizes.map(in_pieces), [false, false, several, several]);
            // Rows for one piece alone are not shared out, however wide.
            let pieces = [512, 513].map(|rows| Threads::Auto.piece(rows, 1 << 20, 32).is_some());
            assert_eq!(pieces, [false, several]);
        }

        #[test]
        fn large_tables_are_shared_out_among_three_threads_but_not_by_one() {
            let test = "large_tables_are_shared_out_where_the_pool_has_several_threads";
            for threads in ["1", "3"] {
                let (_crate, here) = module_path!().split_once("::").unwrap();
                let name = format!("{here}::{test}");
                let child = std::process::Command::new(std::env::current_exe().unwrap())
                    .args(["--exact", &name])
                    .env("RAYON_NUM_THREADS", threads)
                    .output()
                    .unwrap();
                let said = String::from_utf8_lossy(&child.stdout);
                assert!(child.status.success(), "{threads} threads: {said}");
                assert!(said.contains("1 passed"), "{threads} threads: {said}");
            }
        }
    }
}
