//! Threads for many independent jobs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::{Result, anyhow};
use rayon::ThreadPool;

/// Threads with a pool of one thread each, so that Candle starts no others inside a job.
pub(crate) struct Workers {
    pools: Vec<ThreadPool>,
    /// Jobs that a worker takes at a time.
    block: usize,
}

impl Workers {
    /// Starts as many workers as rayon's pool has threads (`RAYON_NUM_THREADS`), but at most `most`.
    /// Each takes `block` jobs at a time, more than one if jobs are small.
    pub(crate) fn new(most: usize, block: usize) -> Result<Self> {
        let pool = || rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let pools = (0..rayon::current_num_threads().min(most)).map(|_| pool());
        let pools = pools.collect::<Result<_, _>>();
        Ok(Self {
            pools: pools.map_err(|error| anyhow!("cannot start the threads: {error}"))?,
            block,
        })
    }

    /// Returns the number of workers.
    pub(crate) fn count(&self) -> usize {
        self.pools.len()
    }

    /// Returns the results of `count` jobs in the order of their numbers.
    ///
    /// # Errors
    /// Returns the first error in that order.
    pub(crate) fn each<T: Send>(
        &self,
        count: usize,
        work: impl Fn(usize) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let next = AtomicUsize::new(0);
        let done: Mutex<Vec<(usize, Result<T>)>> = Mutex::new(Vec::with_capacity(count));
        let run = || {
            // Collected here, so that the lock is taken once.
            let mut own = Vec::new();
            loop {
                let first = next.fetch_add(self.block, Ordering::Relaxed);
                if first >= count {
                    break;
                }
                own.extend((first..(first + self.block).min(count)).map(|at| (at, work(at))));
            }
            done.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .extend(own);
        };
        let joined: Result<()> = std::thread::scope(|scope| {
            let handles: Vec<_> = self
                .pools
                .iter()
                .map(|pool| scope.spawn(|| pool.install(run)))
                .collect();
            for handle in handles {
                handle.join().map_err(|_| anyhow!("a worker panicked"))?;
            }
            Ok(())
        });
        joined?;
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_unstable_by_key(|(at, _)| *at);
        done.into_iter().map(|(_, result)| result).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_keep_the_order_and_tell_the_first_error() -> Result<()> {
        let workers = Workers::new(usize::MAX, 4)?;
        let squares = workers.each(1000, |at| Ok(at * at))?;
        assert!(
            squares
                .iter()
                .enumerate()
                .all(|(at, square)| at * at == *square)
        );
        assert!(
            workers
                .each(0, |_| Ok(()))
                .is_ok_and(|none| none.is_empty())
        );
        let error = workers.each(100, |at| match at % 40 {
            39 => Err(anyhow!("{at}")),
            _ => Ok(()),
        });
        assert_eq!(
            error.map_err(|error| error.to_string()),
            Err("39".to_owned())
        );
        Ok(())
    }

    #[test]
    fn workers_are_no_more_than_asked_for() -> Result<()> {
        let workers = Workers::new(1, 1)?;
        assert_eq!(workers.count(), 1);
        assert_eq!(workers.each(3, Ok)?, [0, 1, 2]);
        Ok(())
    }
}
