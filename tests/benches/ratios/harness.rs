//! Measuring: the contestants of a row take turns.
//!
//! A machine that slows down slows all of them down, since each round gives every contestant
//! its turn, in an order that moves on by one each time. A turn begins with work that is not
//! timed: what the contestant before did to the allocator is settled there, and each is timed
//! in the state that it leaves behind itself, as in a program that does nothing else. (Without
//! it a table of 10 MiB took 3.7 times a fill and not 2.3, because Candle's turn made the
//! allocator return its memory, and the next table paid for mapping it again.)
//!
//! [`Caches::Cold`] rows have the caches emptied before each timing, for all alike: in a
//! program other work has been there since the last time. Results of 10 MiB that are made over
//! and over would stay in a third-level cache of 32 MiB, where a fill runs three times as fast
//! as memory takes it, and no program meets that. Giving a result back is part of the time.

use std::hint::black_box;
use std::time::{Duration, Instant};

use candle_core::Result;

use crate::report::Report;

/// A piece of work, done once.
pub(crate) type Work<'a> = Box<dyn FnMut() -> Result<()> + 'a>;

/// Short works are repeated until a timing lasts this long.
const TIMING: Duration = Duration::from_micros(100);

/// How long a turn is, as far as 1 to 16 timings can make it so.
const TURN: Duration = Duration::from_millis(40);

/// Twice the largest third-level caches that one core usually has to itself.
const EVICTION: usize = 64 << 20;

/// A work this long finds an allocator that has nothing to settle: its results are in new memory,
/// each time. It is not repeated for that, which would double the time that sizes of gigabytes take.
const LONG: Duration = Duration::from_millis(250);

/// Rounds that are measured if they stay within four times the budget, and at any cost.
const ROUNDS: usize = 5;
const FEWEST: usize = 3;

/// Where the memory that a contestant works on is, before it is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caches {
    /// As the contestant's own last repetition left them.
    Warm,
    /// Filled with something else.
    Cold,
}

/// A requirement on a contestant.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Bound {
    /// At most this multiple of the time of another.
    AtMost(f64, &'static str),
    /// At least this multiple of the speed of another.
    Faster(f64, &'static str),
    /// At most this number of seconds.
    Within(f64),
}

/// Contestants that do the same work, or one that bounds it.
pub(crate) struct Row<'a> {
    pub(crate) subject: &'static str,
    pub(crate) name: String,
    /// Bytes of one result, where the row is about a size.
    pub(crate) bytes: Option<usize>,
    pub(crate) bounds: Vec<(&'static str, Bound)>,
    contestants: Vec<Contestant<'a>>,
    budget: Duration,
    caches: Caches,
}

struct Contestant<'a> {
    name: &'static str,
    work: Work<'a>,
    /// Repetitions in a timing, and timings in a turn.
    repeats: u32,
    timings: u32,
    /// Repetitions before a turn's timings.
    before: u32,
    times: Vec<f64>,
}

/// The times of a contestant, in seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    pub(crate) name: &'static str,
    pub(crate) least: f64,
    pub(crate) quartiles: [f64; 2],
    pub(crate) median: f64,
    pub(crate) count: usize,
}

impl<'a> Row<'a> {
    pub(crate) fn new(subject: &'static str, name: impl Into<String>, caches: Caches) -> Self {
        Self {
            caches,
            subject,
            name: name.into(),
            bytes: None,
            bounds: Vec::new(),
            contestants: Vec::new(),
            budget: Duration::from_secs(2),
        }
    }

    /// The time spent on the row, warm-up included, if there are rounds enough in it.
    pub(crate) fn budget(mut self, budget: Duration) -> Self {
        self.budget = budget;
        self
    }

    pub(crate) fn bytes(mut self, bytes: usize) -> Self {
        self.bytes = Some(bytes);
        self
    }

    /// The others are compared with the first.
    pub(crate) fn with(
        mut self,
        name: &'static str,
        work: impl FnMut() -> Result<()> + 'a,
    ) -> Self {
        self.contestants.push(Contestant {
            name,
            work: Box::new(work),
            repeats: 1,
            timings: 1,
            before: 1,
            times: Vec::new(),
        });
        self
    }

    /// Asks something of a contestant.
    pub(crate) fn bound(mut self, name: &'static str, bound: Bound) -> Self {
        self.bounds.push((name, bound));
        self
    }

    /// Measures the row and enters it in the report.
    pub(crate) fn run(mut self, report: &mut Report) -> Result<()> {
        for contestant in &mut self.contestants {
            contestant.calibrate()?;
        }
        let count = self.contestants.len();
        let start = Instant::now();
        let mut round = 0;
        let eviction = Eviction::new(self.caches);
        while round < FEWEST || start.elapsed() < self.budget * if round < ROUNDS { 4 } else { 1 } {
            for turn in 0..count {
                self.contestants[(round + turn) % count].turn(&eviction)?;
            }
            round += 1;
        }
        let times: Vec<Times> = self
            .contestants
            .iter_mut()
            .map(Contestant::sum_up)
            .collect();
        report.enter(&self, &times)
    }
}

impl Contestant<'_> {
    fn calibrate(&mut self) -> Result<()> {
        let start = Instant::now();
        (self.work)()?;
        if start.elapsed() > LONG {
            self.before = 0;
            return Ok(());
        }
        let start = Instant::now();
        (self.work)()?;
        let once = start.elapsed().max(Duration::from_nanos(1));
        let fit = |time: Duration| (time.as_nanos() / once.as_nanos()) as u32;
        self.repeats = fit(TIMING).clamp(1, 10_000);
        self.timings = (fit(TURN) / self.repeats).clamp(1, 16);
        self.before = self.repeats;
        Ok(())
    }

    fn turn(&mut self, eviction: &Eviction) -> Result<()> {
        for _ in 0..self.before {
            (self.work)()?;
        }
        for _ in 0..self.timings {
            eviction.run();
            let start = Instant::now();
            for _ in 0..self.repeats {
                (self.work)()?;
            }
            let time = start.elapsed().as_secs_f64() / f64::from(self.repeats);
            self.times.push(time);
        }
        Ok(())
    }

    fn sum_up(&mut self) -> Times {
        self.times.sort_unstable_by(f64::total_cmp);
        let at = |share: usize| self.times[(self.times.len() - 1) * share / 4];
        Times {
            name: self.name,
            least: at(0),
            quartiles: [at(1), at(3)],
            median: at(2),
            count: self.times.len(),
        }
    }
}

/// Empties the caches by filling them with its own memory, unchanged, so that nothing of it is
/// still to be written back.
struct Eviction(Vec<u64>);

impl Eviction {
    fn new(caches: Caches) -> Self {
        Self(match caches {
            Caches::Warm => Vec::new(),
            Caches::Cold => vec![1; EVICTION / size_of::<u64>()],
        })
    }

    fn run(&self) {
        // One word of each line.
        black_box(self.0.iter().step_by(8).fold(0, |sum, word| sum ^ word));
    }
}

impl Bound {
    /// Measurements, and whether they meet the requirements.
    pub(crate) fn judge(
        self,
        median: f64,
        of: impl Fn(&str) -> Option<f64>,
    ) -> Option<(f64, bool)> {
        let (measured, met) = match self {
            Self::AtMost(most, other) => {
                let ratio = median / of(other)?;
                (ratio, ratio <= most)
            }
            Self::Faster(least, other) => {
                let ratio = of(other)? / median;
                (ratio, ratio >= least)
            }
            Self::Within(seconds) => (median, median <= seconds),
        };
        Some((measured, met))
    }
}
