//! The tables of a layer: cosines and sines of its positions, all of them, as many as were asked
//! for, or one pair for each set of frequencies.

use std::ops::{Range, RangeInclusive};

use candle_core::{DType, Device, Result, Tensor, WithDType, bail};
use half::{bf16, f16};
use pe_core::{Element, Rotary, RotaryFrequencies};

use crate::layers::config::Growth;
use crate::layers::published::Published;
use crate::layers::rows::{check_size, grown};
use crate::tensors::convert::table_to_tensor;

/// Sets of frequencies whose tables are kept: those that were used last. LongRoPE has two;
/// dynamic scaling has a new one for each length.
const KEPT: usize = 2;

/// Cosines and sines of the positions `start ..`, `[rows, pairs]` each.
#[derive(Debug, Clone)]
pub(super) struct Angles {
    pub(super) start: usize,
    pub(super) cos: Tensor,
    pub(super) sin: Tensor,
}

impl Angles {
    /// Cosines and sines of a range of positions.
    pub(super) fn make(
        frequencies: &RotaryFrequencies,
        positions: Range<usize>,
        dtype: DType,
        device: &Device,
    ) -> Result<Self> {
        fn of<T: Element + WithDType>(
            frequencies: &RotaryFrequencies,
            positions: Range<usize>,
            device: &Device,
        ) -> Result<Angles> {
            let range = positions.start as u64..positions.end as u64;
            let tables = frequencies.tables::<T>(range)?;
            Ok(Angles {
                start: positions.start,
                cos: table_to_tensor(tables.cos, device)?,
                sin: table_to_tensor(tables.sin, device)?,
            })
        }
        match dtype {
            DType::F32 => of::<f32>(frequencies, positions, device),
            DType::F64 => of::<f64>(frequencies, positions, device),
            DType::F16 => of::<f16>(frequencies, positions, device),
            DType::BF16 => of::<bf16>(frequencies, positions, device),
            other => bail!("tables are f32, f64, f16 or bf16, not {}", other.as_str()),
        }
    }

    pub(super) fn end(&self) -> usize {
        self.start + self.cos.dims().first().copied().unwrap_or(0)
    }

    fn cover(&self, positions: &Range<usize>) -> bool {
        self.start <= positions.start && positions.end <= self.end()
    }
}

/// Where the tables come from.
#[derive(Debug)]
pub(super) struct Tables {
    rotary: Rotary,
    dtype: DType,
    device: Device,
    /// The most positions there may be.
    limit: usize,
    state: State,
}

#[derive(Debug)]
enum State {
    /// All positions up to the limit.
    Whole(Angles),
    /// What was made until now; nothing at first.
    Kept {
        sets: Published<Vec<Set>>,
        /// The frequencies of the longest sequence.
        longest: RotaryFrequencies,
    },
}

/// The tables of one set of frequencies.
#[derive(Debug, Clone)]
struct Set {
    /// Sequence lengths at which the set is known to hold.
    seq_lens: RangeInclusive<usize>,
    frequencies: RotaryFrequencies,
    angles: Angles,
}

impl Tables {
    /// The positions `0 .. limit`. Where the frequencies depend on the sequence length, nothing
    /// is made before it is known.
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
            State::Whole(Angles::make(&longest, 0..limit, dtype, device)?)
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

    /// The rows of the longest tables built until now.
    pub(super) fn built(&self) -> usize {
        match &self.state {
            State::Whole(_) => self.limit,
            State::Kept { sets, .. } => {
                let ends = sets.get().into_iter().map(|set| set.angles.end());
                ends.max().unwrap_or(0)
            }
        }
    }

    /// Tables that hold these positions, not none and within the limit, with the frequencies of
    /// a sequence of `seq_len`.
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

    /// The sets kept, with one more or a longer one, and the tables asked for.
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
        // A set holds for all lengths between two at which it does.
        if last < self.limit && *longest == frequencies {
            last = self.limit;
        }
        let depends = self.rotary.depends_on_seq_len();
        if !depends {
            first = 0;
        }
        let angles = match known.map(|set| set.angles) {
            Some(angles) if angles.cover(&positions) => angles,
            // Dynamic scaling may want this set for one call.
            None if depends => self.make(&frequencies, positions)?,
            _ => self.make(&frequencies, 0..grown(positions.end, self.limit))?,
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

    fn make(&self, frequencies: &RotaryFrequencies, positions: Range<usize>) -> Result<Angles> {
        Angles::make(frequencies, positions, self.dtype, &self.device)
    }
}

fn find(sets: &[Set], positions: &Range<usize>, seq_len: usize) -> Option<Angles> {
    let set = sets.iter().find(|set| set.seq_lens.contains(&seq_len))?;
    set.angles.cover(positions).then(|| set.angles.clone())
}
