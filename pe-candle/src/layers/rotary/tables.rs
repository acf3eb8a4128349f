//! Tables of a rotary layer: cosines and sines of its positions, built at once or as calls need them,
//! for one or several sets of frequencies.

use std::ops::{Range, RangeInclusive};

use candle_core::{DType, Device, Result, Tensor};
use pe_core::{Rotary, RotaryFrequencies};

use crate::layers::config::Growth;
use crate::layers::published::Published;
use crate::layers::rows::{check_size, grown};
use crate::tensors::convert::cos_sin_tensors;

/// Number of sets of frequencies, the last ones used, that the layer keeps tables of. LongRoPE has two.
/// Dynamic scaling has a new one for each length.
const KEPT: usize = 2;

/// Cosines and sines of positions starting at `start`, of shape `[rows, pairs]` each.
#[derive(Debug, Clone)]
pub(super) struct Angles {
    pub(super) start: usize,
    pub(super) cos: Tensor,
    pub(super) sin: Tensor,
}

impl Angles {
    /// Computes the cosines and sines of a range of positions.
    pub(super) fn compute(
        frequencies: &RotaryFrequencies,
        positions: Range<usize>,
        dtype: DType,
        device: &Device,
    ) -> Result<Self> {
        let range = positions.start as u64..positions.end as u64;
        let [cos, sin] = cos_sin_tensors(frequencies, range, dtype, device)?;
        let start = positions.start;
        Ok(Self { start, cos, sin })
    }

    pub(super) fn end(&self) -> usize {
        self.start + self.cos.dims().first().copied().unwrap_or(0)
    }

    fn cover(&self, positions: &Range<usize>) -> bool {
        self.start <= positions.start && positions.end <= self.end()
    }
}

/// The tables of a layer.
#[derive(Debug)]
pub(super) struct Tables {
    rotary: Rotary,
    dtype: DType,
    device: Device,
    /// Maximum sequence length.
    limit: usize,
    state: State,
}

#[derive(Debug)]
enum State {
    /// All positions up to the limit.
    Whole(Angles),
    /// The tables built so far, none at first.
    Kept {
        sets: Published<Vec<Set>>,
        /// Frequencies of the longest sequence.
        longest: RotaryFrequencies,
    },
}

/// The tables of one set of frequencies.
#[derive(Debug, Clone)]
struct Set {
    /// Sequence lengths that are known to have these frequencies.
    seq_lens: RangeInclusive<usize>,
    frequencies: RotaryFrequencies,
    angles: Angles,
}

impl Tables {
    /// Returns tables of the positions `0 .. limit`. If the frequencies depend on the sequence length,
    /// nothing is built before a call.
    pub(super) fn new(
        rotary: Rotary,
        limit: usize,
        growth: Growth,
        dtype: DType,
        device: &Device,
    ) -> Result<Self> {
        check_size(limit, rotary.pairs(), dtype)?;
        let longest = rotary.frequencies(limit)?;
        let state = if growth == Growth::AtOnce && !rotary.depends_on_seq_len() {
            State::Whole(Angles::compute(&longest, 0..limit, dtype, device)?)
        } else {
            State::Kept {
                sets: Published::new(Vec::new()),
                longest,
            }
        };
        Ok(Self {
            rotary,
            dtype,
            device: device.clone(),
            limit,
            state,
        })
    }

    pub(super) fn rotary(&self) -> &Rotary {
        &self.rotary
    }

    pub(super) fn dtype(&self) -> DType {
        self.dtype
    }

    pub(super) fn device(&self) -> &Device {
        &self.device
    }

    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// Returns the number of rows of the longest tables built so far.
    pub(super) fn built(&self) -> usize {
        match &self.state {
            State::Whole(_) => self.limit,
            State::Kept { sets, .. } => {
                let ends = sets.get().into_iter().map(|set| set.angles.end());
                ends.max().unwrap_or(0)
            }
        }
    }

    /// Returns tables that contain the positions, with the frequencies of a sequence of `seq_len`. The
    /// range must not be empty and must be within the limit.
    pub(super) fn get(&self, positions: Range<usize>, seq_len: usize) -> Result<Angles> {
        let (sets, longest) = match &self.state {
            State::Whole(angles) => return Ok(angles.clone()),
            State::Kept { sets, longest } => (sets, longest),
        };
        sets.find_or_build(
            |kept| find(kept, &positions, seq_len),
            |kept| self.with(kept, longest, positions.clone(), seq_len),
        )
    }

    /// Adds a set or extends one. Returns the kept sets and the requested tables.
    fn with(
        &self,
        mut kept: Vec<Set>,
        longest: &RotaryFrequencies,
        positions: Range<usize>,
        seq_len: usize,
    ) -> Result<(Vec<Set>, Angles)> {
        let frequencies = self.rotary.frequencies(seq_len)?;
        let known = kept
            .iter()
            .position(|set| set.frequencies == frequencies)
            .map(|index| kept.remove(index));
        let (mut first, mut last) = match &known {
            Some(set) => (
                *set.seq_lens.start().min(&seq_len),
                *set.seq_lens.end().max(&seq_len),
            ),
            None => (seq_len, seq_len),
        };
        // A set is valid for all lengths between two for which it is valid.
        if last < self.limit && *longest == frequencies {
            last = self.limit;
        }
        let depends = self.rotary.depends_on_seq_len();
        if !depends {
            first = 0;
        }
        let angles = match known.map(|set| set.angles) {
            Some(angles) if angles.cover(&positions) => angles,
            // Dynamic scaling may need this set for a single call.
            None if depends => self.compute(&frequencies, positions)?,
            _ => self.compute(&frequencies, 0..grown(positions.end, self.limit))?,
        };
        let set = Set {
            seq_lens: first..=last,
            frequencies,
            angles: angles.clone(),
        };
        kept.insert(0, set);
        kept.truncate(KEPT);
        Ok((kept, angles))
    }

    fn compute(&self, frequencies: &RotaryFrequencies, positions: Range<usize>) -> Result<Angles> {
        Angles::compute(frequencies, positions, self.dtype, &self.device)
    }
}

fn find(sets: &[Set], positions: &Range<usize>, seq_len: usize) -> Option<Angles> {
    let set = sets.iter().find(|set| set.seq_lens.contains(&seq_len))?;
    set.angles.cover(positions).then(|| set.angles.clone())
}
