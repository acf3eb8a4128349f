//! The tables of a layer: cosines and sines of its positions, fixed, growing, or one pair for
//! each set of frequencies.

use std::ops::{Range, RangeInclusive};

use candle_core::{DType, Device, Result, Tensor, WithDType, bail};
use half::{bf16, f16};
use pe_core::{Element, Rotary, RotaryFrequencies};

use crate::convert::{core_error, table_to_tensor};
use crate::published::Published;
use crate::rows::next_size;

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
            let tables = frequencies.tables::<T>(range).map_err(core_error)?;
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
    Fixed(Angles),
    /// What was made until now.
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
    /// The positions `0 .. rows`, and more of them up to `limit` on demand. Where the
    /// frequencies depend on the sequence length, nothing is made before it is known.
    pub(super) fn new(
        rotary: Rotary,
        rows: usize,
        limit: usize,
        dtype: DType,
        device: &Device,
    ) -> Result<Self> {
        let longest = rotary.frequencies(limit).map_err(core_error)?;
        let kept = |sets, longest| State::Kept {
            sets: Published::new(sets),
            longest,
        };
        let state = if rotary.depends_on_seq_len() {
            kept(Vec::new(), longest)
        } else {
            let angles = Angles::make(&longest, 0..rows, dtype, device)?;
            if rows == limit {
                State::Fixed(angles)
            } else {
                let set = Set {
                    seq_lens: 0..=limit,
                    frequencies: longest.clone(),
                    angles,
                };
                kept(vec![set], longest)
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

    /// Tables that hold these positions, not none and within the limit, with the frequencies of
    /// a sequence of `seq_len`.
    pub(super) fn get(&self, positions: Range<usize>, seq_len: usize) -> Result<Angles> {
        let (sets, longest) = match &self.state {
            State::Fixed(angles) => return Ok(angles.clone()),
            State::Kept { sets, longest } => (sets, longest),
        };
        sets.find_or_make(
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
        let frequencies = self.rotary.frequencies(seq_len).map_err(core_error)?;
        let known = kept
            .iter()
            .position(|set| same(&set.frequencies, &frequencies))
            .map(|index| kept.remove(index));
        let (first, mut last) = match &known {
            Some(set) => (
                *set.seq_lens.start().min(&seq_len),
                *set.seq_lens.end().max(&seq_len),
            ),
            None => (seq_len, seq_len),
        };
        // A set holds for all lengths between two at which it does.
        if last < self.limit && same(longest, &frequencies) {
            last = self.limit;
        }
        let angles = match known.map(|set| set.angles) {
            Some(angles) if angles.cover(&positions) => angles,
            // What was used before will go on being used.
            Some(angles) => self.make(&frequencies, 0..self.next_size(&angles, &positions))?,
            None => self.make(&frequencies, positions)?,
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

    /// The size of tables that take the place of others.
    fn next_size(&self, angles: &Angles, positions: &Range<usize>) -> usize {
        let row_bytes = self.rotary.pairs() as u64 * self.dtype.size_in_bytes() as u64;
        next_size(angles.end(), row_bytes, self.limit).max(positions.end)
    }

    fn make(&self, frequencies: &RotaryFrequencies, positions: Range<usize>) -> Result<Angles> {
        Angles::make(frequencies, positions, self.dtype, &self.device)
    }
}

fn find(sets: &[Set], positions: &Range<usize>, seq_len: usize) -> Option<Angles> {
    let set = sets.iter().find(|set| set.seq_lens.contains(&seq_len))?;
    set.angles.cover(positions).then(|| set.angles.clone())
}

/// Whether two sets give the same tables.
fn same(a: &RotaryFrequencies, b: &RotaryFrequencies) -> bool {
    a.attention_factor() == b.attention_factor() && a.inv_freq() == b.inv_freq()
}
