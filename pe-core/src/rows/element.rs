//! Element types of tables.

use std::ops::Range;

use half::{bf16, f16};

use crate::error::Result;
use crate::round::Float;
use crate::rows::columns::Out;
use crate::rows::lane::Lane;
use crate::rows::plan::Plan;
use crate::rows::single;
use crate::rows::writer::{Rows, Writer};
use crate::sincos::Rungs;
use crate::table::{Memory, Table};
use crate::turns::frequency::Frequency;
use crate::turns::position::Position;

/// Element type of a table: `f32`, `f64`, `f16`, or `bf16`.
///
/// The trait is sealed. It lets one implementation build tables of every type.
#[allow(private_bounds)] // seals the trait
pub trait Element:
    Float + Compiled + Copy + Default + PartialEq + std::fmt::Debug + Send + Sync + 'static
{
    /// Name of the type in safetensors metadata and on the command line: `f32`, `f64`, `f16`,
    /// `bf16`.
    const NAME: &'static str = Self::TYPE;

    /// Returns the value as `f64`, exactly.
    #[inline]
    fn to_f64(self) -> f64 {
        self.widen()
    }

    /// Returns the nearest value of this type, ties to even, in one rounding. Values beyond the
    /// range become infinite.
    #[inline]
    fn from_f64(value: f64) -> Self {
        Self::rounded(value)
    }
}

impl Element for f32 {}
impl Element for f64 {}
impl Element for f16 {}
impl Element for bf16 {}

/// The rows of one element type. Each type has its own copy of this code in this crate, so that it
/// is not compiled again in every crate that builds tables.
pub(crate) trait Compiled: Lane {
    /// Does the same as [`Rows::tables`].
    fn tables(rows: &Rows, plan: Plan, positions: Range<u64>) -> Result<[Table<Self>; 2]>;

    /// Does the same as [`Rows::fill`] after [`Rows::check`].
    fn fill(rows: &Rows, plan: Plan, start: u64, out: Out<'_, Self>) -> Result<()>;

    /// Writes the rows of the given positions.
    fn fill_at(rows: &Rows, positions: &[u32], out: Out<'_, Self>) -> Result<()>;

    /// Writes the rows of the given real positions.
    fn fill_at_reals(rows: &Rows, positions: &[f64], out: Out<'_, Self>) -> Result<()>;

    /// Does the same as [`single::fill_angles`] with the best instruction set.
    fn fill_angles(
        angles: &[u64],
        frequencies: &dyn Fn() -> Vec<Frequency>,
        position: u32,
        row: Out<'_, Self>,
    );

    /// Does the same as [`Writer::new`].
    fn writer(rows: &Rows, positions: Range<u64>) -> Writer<'_, Self>;

    /// Does the same as [`Writer::write_checked`].
    fn write_next(writer: &mut Writer<'_, Self>, out: Out<'_, Self>) -> Result<()>;

    /// Does the same as [`Rows::pair`].
    fn pair(rows: &Rows, pair: usize, position: Position, rungs: Rungs) -> [Self; 2];
}

macro_rules! compiled {
    ($($type:ty)*) => {$(
        impl Compiled for $type {
            #[inline(never)]
            fn tables(rows: &Rows, plan: Plan, positions: Range<u64>) -> Result<[Table<Self>; 2]> {
                rows.tables(plan, positions)
            }

            #[inline(never)]
            fn fill(rows: &Rows, plan: Plan, start: u64, out: Out<'_, Self>) -> Result<()> {
                rows.check(start, &out)?;
                rows.fill(plan, Memory::Used, start, out);
                Ok(())
            }

            #[inline(never)]
            fn fill_at(rows: &Rows, positions: &[u32], out: Out<'_, Self>) -> Result<()> {
                rows.fill_at(positions, out)
            }

            #[inline(never)]
            fn fill_at_reals(rows: &Rows, positions: &[f64], out: Out<'_, Self>) -> Result<()> {
                rows.fill_at_reals(positions, out)
            }

            #[inline(never)]
            fn fill_angles(
                angles: &[u64],
                frequencies: &dyn Fn() -> Vec<Frequency>,
                position: u32,
                row: Out<'_, Self>,
            ) {
                let arch = Plan::default().backend.arch();
                single::fill_angles(arch, angles, frequencies, position, row);
            }

            #[inline(never)]
            fn writer(rows: &Rows, positions: Range<u64>) -> Writer<'_, Self> {
                let count = positions.end - positions.start;
                Writer::new(rows, Plan::default(), positions.start, count)
            }

            #[inline(never)]
            fn write_next(writer: &mut Writer<'_, Self>, out: Out<'_, Self>) -> Result<()> {
                writer.write_checked(out)
            }

            #[inline(never)]
            fn pair(rows: &Rows, pair: usize, position: Position, rungs: Rungs) -> [Self; 2] {
                rows.pair(pair, position, rungs)
            }
        }
    )*};
}

compiled!(f32 f64 f16 bf16);
