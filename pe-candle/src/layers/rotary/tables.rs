//! Tables of a rotary layer: cosines and sines of its positions, built at once or as calls need them,
//! for one or several sets of frequencies.

use std::ops::{Range, RangeInclusive};

use candle_core::{DType, Device, Result, Tensor};
use pe_core::{RopeScaling, Rotary, RotaryConfig, RotaryFrequencies, RotaryRecipe};

use crate::layers::config::Growth;
use crate::layers::published::Published;
use crate::layers::rows::{check_size, grown};
use crate::tensors::convert::{cos_sin_tensors, step_tensors};

/// Number of sets of frequencies, the last ones used, that the layer keeps tables of. LongRoPE has two.
/// Dynamic scaling has a new one for each length.
const KEPT: usize = 2;

/// Number of steps of decoding for which rows are computed at once, where each step has frequencies of its own. One row takes
/// 0.26 us, and the rest of a new set 0.9 us.
const STEPS: usize = 32;

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
    /// `None` for steps of decoding: the last position of each length has the frequencies of its own length.
    frequencies: Option<RotaryFrequencies>,
    angles: Angles,
}

impl Set {
    /// Returns whether the set has rows of the positions for a sequence of `seq_len`.
    fn serves(&self, positions: &Range<usize>, seq_len: usize) -> bool {
        self.seq_lens.contains(&seq_len)
            && self.angles.cover(positions)
            && (self.frequencies.is_some() || is_step(positions, seq_len))
    }
}

/// Returns whether the positions are the last one of a sequence.
fn is_step(positions: &Range<usize>, seq_len: usize) -> bool {
    positions.end == seq_len && positions.len() == 1
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
        if let Some(before) = self.step_before(&kept, &positions, seq_len) {
            let set = self.steps(seq_len)?;
            let angles = set.angles.clone();
            if let Some(place) = kept.get_mut(before) {
                *place = set;
            }
            return Ok((kept, angles));
        }
        let frequencies = self.rotary.frequencies(seq_len)?;
        let known = kept
            .iter()
            .position(|set| set.frequencies.as_ref() == Some(&frequencies))
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
            frequencies: Some(frequencies),
            angles: angles.clone(),
        };
        kept.insert(0, set);
        kept.truncate(KEPT);
        Ok((kept, angles))
    }

    /// Returns the index of the set of the step before this one, if every step has frequencies of its own that
    /// take little time.
    fn step_before(&self, kept: &[Set], positions: &Range<usize>, seq_len: usize) -> Option<usize> {
        let RotaryConfig {
            scaling,
            recipe,
            max_position_embeddings,
            ..
        } = self.rotary.config();
        let trained = max_position_embeddings.filter(|_| is_step(positions, seq_len))?;
        let exact = *recipe == RotaryRecipe::Exact && self.dtype == DType::F32;
        let own = matches!(scaling, RopeScaling::Dynamic { .. }) && exact && seq_len > trained;
        let next = |set: &Set| set.seq_lens.end().checked_add(1) == Some(seq_len);
        kept.iter().position(|set| own && next(set))
    }

    /// Computes the rows of the last positions of a sequence of `seq_len` and of longer ones.
    fn steps(&self, seq_len: usize) -> Result<Set> {
        let start = seq_len.saturating_sub(1);
        let end = start.saturating_add(STEPS).min(self.limit);
        let range = start as u64..end as u64;
        let [cos, sin] = step_tensors(&self.rotary, range, &self.device)?;
        Ok(Set {
            seq_lens: seq_len..=end,
            frequencies: None,
            angles: Angles { start, cos, sin },
        })
    }

    fn compute(&self, frequencies: &RotaryFrequencies, positions: Range<usize>) -> Result<Angles> {
        Angles::compute(frequencies, positions, self.dtype, &self.device)
    }
}

fn find(sets: &[Set], positions: &Range<usize>, seq_len: usize) -> Option<Angles> {
    let set = sets.iter().find(|set| set.serves(positions, seq_len))?;
    Some(set.angles.clone())
}
