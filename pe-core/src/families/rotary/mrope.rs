//! Positions in time, height, and width of a sequence of text, images, and videos.

use crate::error::{Error, Result};
use crate::families::rotary::patches::{PatchGrid, check_tokens};
use crate::limits::POSITIONS;

/// Segment of a sequence.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum MropeSegment {
    /// Text tokens. All three coordinates advance together.
    Text {
        /// Number of tokens.
        tokens: u32,
    },
    /// An image or a video, with one token per square of merged patches.
    Vision {
        /// Size in patches.
        grid: PatchGrid,
        /// Side of the squares of patches that become one token (`spatial_merge_size`, 2 in the
        /// Qwen models).
        merge: u32,
        /// Distance of two frames in time: 1 for Qwen2-VL and Qwen3-VL;
        /// `tokens_per_second x seconds_per_grid` for videos in Qwen2.5-VL. As in these models, the
        /// product with the frame index is computed in f32 and rounded down.
        time_interval: f64,
    },
}

/// Positions of all tokens of a sequence.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MropePositions {
    /// Positions in time.
    pub time: Vec<u32>,
    /// Positions in height.
    pub height: Vec<u32>,
    /// Positions in width.
    pub width: Vec<u32>,
    /// Difference between position and index of the tokens generated after the sequence
    /// (`rope_deltas`).
    pub delta: i64,
}

impl MropePositions {
    /// Returns the three lists, in the form that
    /// [`RotaryFrequencies::tables_by_axis`](crate::RotaryFrequencies::tables_by_axis) accepts.
    pub fn lists(&self) -> [&[u32]; 3] {
        [&self.time, &self.height, &self.width]
    }
}

/// Computes the positions that Qwen2-VL assigns to a sequence of text, images, and videos
/// (`get_rope_index`).
///
/// Text continues at the position after the last segment. In a vision segment that starts at `s`,
/// the token in frame `f`, row `r`, and column `c` has the positions
/// `s + floor(f x time_interval)`, `s + r`, and `s + c`. The segment occupies as many positions as
/// the larger of its merged rows and columns.
///
/// ```
/// use pe_core::{MropeSegment, PatchGrid, mrope_position_ids};
///
/// let grid = PatchGrid { frames: 1, rows: 4, columns: 6 };
/// let positions = mrope_position_ids(&[
///     MropeSegment::Text { tokens: 2 },
///     MropeSegment::Vision { grid, merge: 2, time_interval: 1.0 },
///     MropeSegment::Text { tokens: 1 },
/// ])?;
/// assert_eq!(positions.time, [0, 1, 2, 2, 2, 2, 2, 2, 5]);
/// assert_eq!(positions.height, [0, 1, 2, 2, 2, 3, 3, 3, 5]);
/// assert_eq!(positions.width, [0, 1, 2, 3, 4, 2, 3, 4, 5]);
/// assert_eq!(positions.delta, 6 - 9);
/// # Ok::<(), pe_core::Error>(())
/// ```
///
/// # Errors
/// Returns an error if
/// - a grid cannot be divided into squares,
/// - a time interval is negative or not finite,
/// - the sequence has more than 2^28 tokens,
/// - a position reaches 2^32.
pub fn mrope_position_ids(segments: &[MropeSegment]) -> Result<MropePositions> {
    let mut out = MropePositions::default();
    let mut next: u64 = 0;
    let mut largest: Option<u64> = None;
    let mut total: u64 = 0;
    for segment in segments {
        match *segment {
            MropeSegment::Text { tokens } => {
                let end = next + u64::from(tokens);
                check_end(next, end)?;
                total += u64::from(tokens);
                check_tokens(total)?;
                // The last position may be 2^32 - 1. The end then exceeds a u32.
                let all = (next..end).map(|position| position as u32);
                for list in [&mut out.time, &mut out.height, &mut out.width] {
                    list.extend(all.clone());
                }
                if tokens > 0 {
                    largest = largest.max(Some(end - 1));
                }
                next = end;
            }
            MropeSegment::Vision {
                grid,
                merge,
                time_interval,
            } => {
                if !(time_interval.is_finite() && time_interval >= 0.0) {
                    let (name, value) = ("time_interval", time_interval);
                    return Err(Error::Negative { name, value });
                }
                let merged = grid.merged(merge)?;
                total = total.saturating_add(merged.tokens());
                check_tokens(total)?;
                // transformers multiplies in f32.
                let time = |frame: u32| (frame as f32 * time_interval as f32).floor();
                let last = time(merged.frames.saturating_sub(1));
                let side = u64::from(merged.rows.max(merged.columns));
                let furthest = side.saturating_sub(1).max(last as u64);
                check_end(next, next.saturating_add(furthest).saturating_add(1))?;
                // An empty grid may have four billion empty frames.
                let frames = if merged.tokens() == 0 {
                    0
                } else {
                    merged.frames
                };
                for frame in 0..frames {
                    for row in 0..merged.rows {
                        for column in 0..merged.columns {
                            let start = next as u32;
                            out.time.push(start + time(frame) as u32);
                            out.height.push(start + row);
                            out.width.push(start + column);
                        }
                    }
                }
                if merged.tokens() > 0 {
                    largest = largest.max(Some(next + furthest));
                }
                next += side;
            }
        }
    }
    let tokens = out.time.len() as i64;
    out.delta = largest.map_or(0, |largest| largest as i64 + 1 - tokens);
    Ok(out)
}

fn check_end(start: u64, end: u64) -> Result<()> {
    if end > POSITIONS {
        return Err(Error::Range { start, end });
    }
    Ok(())
}
