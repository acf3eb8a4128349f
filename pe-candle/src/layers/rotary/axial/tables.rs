//! Tables of the layer over several axes, built once for each grid or list of coordinates.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use candle_core::{D, DType, Device, Result, Tensor, WithDType, bail};
use half::{bf16, f16};
use pe_core::{AxialTables, AxisPairing, CosSin, Element, PairLayout, PatchGrid, Table};

use super::positions::{AxialPositions, Coordinates};
use super::{AxialRotaryEmbedding, Shared};
use crate::tensors::convert::{Zeros, large_zeros, table_to_tensor};

/// Number of grids or lists of coordinates, the last ones built, that the layer keeps tables of.
const KEPT: usize = 4;

/// Columns of a head that rotate together, with their cosines and sines.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub(super) start: usize,
    pub(super) width: usize,
    /// `[T, pairs]` or `[B, T, pairs]`, contiguous.
    pub(super) cos: Tensor,
    pub(super) sin: Tensor,
}

/// The tables of a call.
#[derive(Debug, Clone)]
pub(super) struct Built {
    pub(super) blocks: Vec<Block>,
    /// Those of the second columns of the only block, with the pairings that are not rotations.
    pub(super) second: Option<Block>,
    /// Tokens of a sequence, including those that are not rotated.
    pub(super) rows: usize,
    pub(super) unrotated: usize,
    /// Number of sequences, or `None` if all have the same positions.
    pub(super) sequences: Option<usize>,
}

/// Tables that a layer keeps, with the positions that they are of.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    key: Key,
    built: Built,
}

#[derive(Debug, Clone, PartialEq)]
enum Key {
    Grid(Vec<usize>),
    Images(Vec<PatchGrid>),
    Coordinates(Coordinates),
}

impl AxialRotaryEmbedding {
    /// Returns the tables of a call's positions.
    pub(super) fn tables(&self, positions: AxialPositions<'_>) -> Result<Built> {
        let Shared {
            config,
            rotary,
            kept,
            ..
        } = self.shared.as_ref();
        let key = match positions {
            AxialPositions::Grid(sizes) => Key::Grid(sizes.to_vec()),
            AxialPositions::Images(images) => Key::Images(images.to_vec()),
            AxialPositions::Coordinates(tensor) => {
                let axis = config.coordinate_axis;
                Key::Coordinates(Coordinates::read(tensor, rotary.axes(), axis)?)
            }
        };
        kept.find_or_build(
            |kept| {
                let found = kept.iter().find(|kept| kept.key == key);
                found.map(|kept| kept.built.clone())
            },
            |mut kept| {
                let built = self.shared.build(&key)?;
                let key = key.clone();
                kept.truncate(KEPT.saturating_sub(1));
                let next = Kept {
                    key,
                    built: built.clone(),
                };
                kept.insert(0, next);
                Ok((kept, built))
            },
        )
    }
}

impl Shared {
    fn build(&self, key: &Key) -> Result<Built> {
        match self.table_dtype {
            DType::F32 => self.of::<f32>(key),
            DType::F64 => self.of::<f64>(key),
            DType::F16 => self.of::<f16>(key),
            DType::BF16 => self.of::<bf16>(key),
            other => bail!("tables are f32, f64, f16 or bf16, not {}", other.as_str()),
        }
    }

    fn of<T: Element + WithDType + Zeros>(&self, key: &Key) -> Result<Built> {
        let rotary = &self.rotary;
        let (tables, sequences) = match key {
            Key::Grid(sizes) => (self.grid::<T>(sizes)?, None),
            Key::Images(images) => (rotary.images_tables::<T>(images)?, None),
            Key::Coordinates(Coordinates { lists, sequences }) => {
                let lists: Vec<&[f64]> = lists.iter().map(Vec::as_slice).collect();
                let count = sequences.unwrap_or(1);
                (
                    rotary.batch_tables_at_reals::<T>(&lists, count)?,
                    *sequences,
                )
            }
        };
        let AxialTables { first, second } = tables;
        let (rows, config) = (first.cos.rows(), rotary.config());
        let rows = rows.checked_div(sequences.unwrap_or(1)).unwrap_or(0);
        let first = self.block(first, rows, sequences)?;
        let second = second.map(|second| self.block(second, rows, sequences));
        let blocks = match (&config.pairing, config.layout) {
            (AxisPairing::PerAxis, PairLayout::HalfSplit) => self.split(&first)?,
            _ => vec![first],
        };
        Ok(Built {
            blocks,
            second: second.transpose()?,
            rows,
            unrotated: config.prefix_tokens.saturating_add(config.suffix_tokens),
            sequences,
        })
    }

    /// Computes the tables of a grid, in huge pages if they are large.
    fn grid<T: Element + Zeros>(&self, sizes: &[usize]) -> Result<AxialTables<T>> {
        let (rotary, pairs) = (&self.rotary, self.rotary.pairs());
        let rows = 0..rotary.grid_rows(sizes)?;
        let large = || large_zeros::<T>(pairs, &rows).filter(|_| rotary.is_rotation());
        let (Some(mut cos), Some(mut sin)) = (large(), large()) else {
            return Ok(rotary.grid_tables(sizes)?);
        };
        rotary.fill_grid(sizes, &mut cos, &mut sin)?;
        let [cos, sin] = [cos, sin].map(|entries| Table::from_vec(entries, pairs));
        let first = CosSin {
            cos: cos?,
            sin: sin?,
        };
        Ok(AxialTables {
            first,
            second: None,
        })
    }

    /// Returns the block of a complete head.
    fn block<T: Element + WithDType>(
        &self,
        CosSin { cos, sin }: CosSin<T>,
        rows: usize,
        sequences: Option<usize>,
    ) -> Result<Block> {
        let pairs = cos.width();
        let tensor = |table| {
            let table = table_to_tensor(table, &Device::Cpu)?.to_device(&self.device)?;
            match sequences {
                Some(count) => table.reshape((count, rows, pairs)),
                None => Ok(table),
            }
        };
        Ok(Block {
            start: 0,
            width: self.config.rotary.head_dim,
            cos: tensor(cos)?,
            sin: tensor(sin)?,
        })
    }

    /// Divides the block of a head into those of its axes.
    fn split(&self, whole: &Block) -> Result<Vec<Block>> {
        let config = self.rotary.config();
        let mut start = config.leading_pairs.saturating_mul(2);
        let mut blocks = Vec::with_capacity(config.axes.len());
        for axis in &config.axes {
            let (first, pairs) = (start / 2, axis.width / 2);
            let part = |table: &Tensor| table.narrow(D::Minus1, first, pairs)?.contiguous();
            blocks.push(Block {
                start,
                width: axis.width,
                cos: part(&whole.cos)?,
                sin: part(&whole.sin)?,
            });
            start = start.saturating_add(axis.width);
        }
        Ok(blocks)
    }
}
