//! The choices behind the rows of a table, in one place. The tests force each of them.

use pulp::Arch;

use crate::rows::lane::Lane;
use crate::rows::threads::Threads;
use crate::sincos::Rungs;
use crate::sincos::backend::Backend;

/// The way in which rows are written. The bits do not depend on it.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// The instruction set.
    pub backend: Backend,
    /// The computation of entries.
    pub method: Method,
    /// The threads that compute them.
    pub threads: Threads,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            backend: Backend::best(),
            method: Method::Auto,
            threads: Threads::Auto,
        }
    }
}

impl Plan {
    /// Creates the plan of one thread.
    pub fn on(backend: Backend, method: Method) -> Self {
        Self {
            backend,
            method,
            threads: Threads::One,
        }
    }

    /// Returns whether a recurrence writes `rows` consecutive rows.
    pub(crate) fn recurs<T: Lane>(self, rows: u64) -> bool {
        match self.method {
            Method::Auto => rows >= few_rows::<T>(self.backend.arch()),
            Method::Recurrence => rows > 0,
            Method::Entries(_) => false,
        }
    }
}

/// The computation of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// At least `few_rows` consecutive rows by recurrence, others as single rows in lanes.
    Auto,
    /// Consecutive rows by recurrence, however few they are.
    Recurrence,
    /// Each entry alone, on the given rungs.
    Entries(Rungs),
}

impl Method {
    /// Returns the rungs of entries that are computed alone.
    pub(crate) fn rungs(self) -> Rungs {
        match self {
            Self::Entries(rungs) => rungs,
            Self::Auto | Self::Recurrence => Rungs::Ladder,
        }
    }
}

/// Returns the number of rows below which single rows are faster than setting up a recurrence.
///
/// As measured, f32, f16, and bf16 break even at 27 to 40 rows on the baseline instruction set, at 31
/// to 56 with AVX2, and at 39 to 90 with AVX-512. The limits are 32, 48, and 64. f64 breaks even at 10
/// to 17 rows, and its limit is 10.
fn few_rows<T: Lane>(arch: Arch) -> u64 {
    match (T::SINGLE, arch) {
        (false, _) => 10,
        (true, Arch::Scalar) => 32,
        #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
        (true, Arch::V4(_)) => 64,
        (true, _) => 48,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::f16;

    /// All methods produce the same bits, so tests that force the recurrence would prove nothing
    /// without it.
    #[test]
    fn recurrence_serves_many_rows_and_plans_that_force_it() {
        fn check<T: Lane>(backend: Backend) {
            let many = few_rows::<T>(backend.arch());
            assert!(many > 2);
            for (method, rows, expected) in [
                (Method::Auto, 0, false),
                (Method::Auto, 1, false),
                (Method::Auto, many - 1, false),
                (Method::Auto, many, true),
                (Method::Auto, many + 1, true),
                (Method::Recurrence, 0, false),
                (Method::Recurrence, 1, true),
                (Method::Recurrence, many, true),
                (Method::Entries(Rungs::Ladder), many, false),
                (Method::Entries(Rungs::From128), 1, false),
                (Method::Entries(Rungs::Only320), many, false),
            ] {
                let found = Plan::on(backend, method).recurs::<T>(rows);
                assert_eq!(found, expected, "{}, {method:?}, {rows} rows", T::TYPE);
            }
        }
        for (_, backend) in Backend::available() {
            check::<f32>(backend);
            check::<f64>(backend);
            check::<f16>(backend);
        }
    }
}
