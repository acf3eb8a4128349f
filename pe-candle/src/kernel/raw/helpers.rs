//! Threads that run only pieces of this crate's own work.
//!
//! Rayon's pool is not for work under a lock, and Candle holds the lock of a tensor's memory during each
//! operation. The threads of the pool may all be waiting for that lock while the one that holds it waits for
//! them. A waiting thread of the pool also runs other jobs, and one of them may need the lock that the thread
//! holds itself. Helpers run nothing that waits for a lock, so waiting for them comes to an end.
//!
//! A caller does not depend on them either. It processes pieces as they do, and once none are left it
//! withdraws the calls that no helper has begun.

use std::any::Any;
use std::mem::transmute;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// All helpers, and the calls that they are asked for.
struct Helpers {
    state: Mutex<State>,
    /// A call waits for help.
    wanted: Condvar,
    /// The last helper has returned from a call.
    returned: Condvar,
}

struct State {
    threads: usize,
    calls: Vec<Call>,
    next_id: u64,
}

struct Call {
    id: u64,
    work: Work,
    /// Helpers that are still to begin.
    wanted: usize,
    /// Helpers that have begun and not returned.
    active: usize,
    panic: Option<Box<dyn Any + Send>>,
}

/// The work that a caller and its helpers run, on the caller's stack.
#[derive(Clone, Copy)]
struct Work(*const (dyn Fn() + Sync));

// SAFETY: what it points to is `Sync`.
unsafe impl Send for Work {}

static HELPERS: Helpers = Helpers {
    state: Mutex::new(State {
        threads: 0,
        calls: Vec::new(),
        next_id: 0,
    }),
    wanted: Condvar::new(),
    returned: Condvar::new(),
};

/// Hands each item to `work`, on this thread and on others, up to the number of threads of rayon's current pool. The caller
/// may hold any lock that `work` does not need.
///
/// A panic of `work` is handed on when all threads have returned.
pub(crate) fn share_out<I: Send>(
    items: impl ExactSizeIterator<Item = I> + Send,
    work: impl Fn(I) + Sync,
) {
    let helpers = threads().min(items.len()).saturating_sub(1);
    let items = Mutex::new(items.fuse());
    let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
    together(helpers, &|| {
        while let Some(item) = next() {
            work(item);
        }
    });
}

/// Returns the number of threads of rayon's current pool. The first call may start the pool.
pub(crate) fn threads() -> usize {
    rayon::current_num_threads()
}

/// Runs `work` on this thread, and meanwhile on up to `helpers` others. None of them runs it any longer when this
/// returns.
///
/// A panic is handed on.
pub(crate) fn together(helpers: usize, work: &(dyn Fn() + Sync)) {
    if helpers == 0 {
        work();
        return;
    }
    let id = HELPERS.ask(helpers, work);
    let own = catch_unwind(AssertUnwindSafe(work));
    let others = HELPERS.wait(id);
    if let Some(panic) = own.err().or(others) {
        resume_unwind(panic);
    }
}

impl Helpers {
    /// Asks for helpers: [`wait`](Self::wait) must be called before `work` ends.
    fn ask(&'static self, helpers: usize, work: &(dyn Fn() + Sync)) -> u64 {
        type Borrowed<'a> = *const (dyn Fn() + Sync + 'a);
        // SAFETY: only the lifetime is another one, of a type behind a pointer.
        let work = Work(unsafe { transmute::<Borrowed<'_>, Borrowed<'static>>(work) });
        let mut state = self.lock();
        while state.threads < helpers {
            let thread = thread::Builder::new().name("pe-helper".into());
            // Without them the caller does it all.
            let Ok(_) = thread.spawn(|| self.help()) else {
                break;
            };
            state.threads += 1;
        }
        let id = state.next_id;
        state.next_id += 1;
        state.calls.push(Call {
            id,
            work,
            wanted: helpers,
            active: 0,
            panic: None,
        });
        drop(state);
        for _ in 0..helpers {
            self.wanted.notify_one();
        }
        id
    }

    /// Withdraws a call, waits for those who have begun it and returns the panic of one of them.
    fn wait(&self, id: u64) -> Option<Box<dyn Any + Send>> {
        let mut state = self.lock();
        loop {
            let index = state.calls.iter().position(|call| call.id == id)?;
            let call = &mut state.calls[index];
            call.wanted = 0;
            if call.active == 0 {
                return state.calls.swap_remove(index).panic;
            }
            let waited = self.returned.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Runs the calls that helpers are asked for, forever.
    fn help(&self) -> ! {
        let mut state = self.lock();
        loop {
            let Some(call) = state.calls.iter_mut().find(|call| call.wanted > 0) else {
                let waited = self.wanted.wait(state);
                state = waited.unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            call.wanted -= 1;
            call.active += 1;
            let (id, work) = (call.id, call.work);
            drop(state);
            // SAFETY: `together` has `work` borrowed until `wait` has seen that no helper is active in
            // the call and has taken it away; this one became active while the call was there, and
            // is so until it has the lock again, below.
            let work = || unsafe { (*work.0)() };
            let panic = catch_unwind(AssertUnwindSafe(work)).err();
            state = self.lock();
            if let Some(call) = state.calls.iter_mut().find(|call| call.id == id) {
                call.active -= 1;
                match call.panic {
                    None => call.panic = panic,
                    // Dropping a payload may panic as well, with the caller still waiting.
                    Some(_) => std::mem::forget(panic),
                }
                if call.active == 0 {
                    self.returned.notify_all();
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn each_item_is_handed_out_once_whoever_calls() {
        thread::scope(|scope| {
            for caller in 0..4 {
                scope.spawn(move || {
                    for count in (0..40).chain([1000]) {
                        let mut seen = vec![0usize; count];
                        let items = seen.iter_mut().enumerate();
                        let pool = rayon::ThreadPoolBuilder::new().num_threads(caller + 1);
                        pool.build().unwrap().install(|| {
                            share_out(items, |(index, seen)| *seen += index + caller);
                        });
                        assert!(seen.into_iter().eq((0..count).map(|index| index + caller)));
                    }
                });
            }
        });
    }

    #[test]
    fn helpers_come_and_are_gone_when_the_call_returns() {
        for _ in 0..100 {
            let (inside, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let all = Barrier::new(3);
            together(2, &|| {
                inside.fetch_add(1, Ordering::SeqCst);
                all.wait();
                most.fetch_max(inside.load(Ordering::SeqCst), Ordering::SeqCst);
                all.wait();
                inside.fetch_sub(1, Ordering::SeqCst);
            });
            assert_eq!((inside.into_inner(), most.into_inner()), (0, 3));
        }
    }

    #[test]
    fn panic_is_handed_on_when_all_have_returned() {
        for of_caller in [true, false] {
            let caller = thread::current().id();
            let both = Barrier::new(2);
            let returned = AtomicUsize::new(0);
            let work = || {
                both.wait();
                assert!((thread::current().id() == caller) != of_caller, "as meant");
                thread::sleep(std::time::Duration::from_millis(20));
                returned.fetch_add(1, Ordering::SeqCst);
            };
            let panic = catch_unwind(AssertUnwindSafe(|| together(1, &work))).unwrap_err();
            assert!(
                panic
                    .downcast_ref::<&str>()
                    .is_some_and(|text| *text == "as meant")
            );
            assert_eq!(returned.load(Ordering::SeqCst), 1);
        }
    }

    #[test]
    fn calls_within_calls_come_to_an_end() {
        let count = AtomicUsize::new(0);
        let pieces = || {
            share_out(0..10, |_| {
                together(3, &|| {
                    count.fetch_add(1, Ordering::Relaxed);
                });
            });
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3);
        pool.build().unwrap().install(pieces);
        assert!(count.into_inner() >= 10);
    }
}
