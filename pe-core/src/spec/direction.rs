//! The direction in which pairs rotate.

/// Direction in which a pair of columns rotates as the position grows.
///
/// The two directions have the same cosines, and sines of opposite sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Direction {
    /// From the first column of the pair to the second, `(a, b) -> (a cos - b sin, a sin + b cos)`:
    /// the paper, and nearly all models.
    #[default]
    Counterclockwise,
    /// From the second column to the first, `(a, b) -> (a cos + b sin, b cos - a sin)`: nanochat.
    Clockwise,
}

impl_names!(Direction, "direction");

impl Direction {
    /// All directions.
    pub const ALL: [Self; 2] = [Self::Counterclockwise, Self::Clockwise];

    /// Returns the name used in messages, in files, and on command lines, which [`str::parse`] accepts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Counterclockwise => "counterclockwise",
            Self::Clockwise => "clockwise",
        }
    }

    /// Returns whether this is the default, which files leave out.
    #[cfg(feature = "serde")]
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
