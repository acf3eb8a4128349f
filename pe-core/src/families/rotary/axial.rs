//! Rotary embeddings over any number of axes, at integer, negative, or real positions.
//!
//! A token of an image has a row and a column, and one of a video a time too. [`AxialRotary`] divides the
//! pairs of a head between such axes. [`AxialRotaryPreset`] names the divisions of released models.

pub(crate) mod assembly;
mod config;
mod frequencies;
mod preset;

use std::sync::Arc;

use self::assembly::{Assembly, Coordinates, Unrotated};
use self::frequencies::{frequencies, places};
use crate::error::{Error, Result};
use crate::families::rotary::frequencies::RotaryFrequencies;
use crate::families::rotary::patches::{PatchGrid, check_tokens};
use crate::families::rotary::tables::CosSin;
use crate::limits::MAX_D_MODEL;
use crate::rows::columns::Out;
use crate::rows::element::Element;
use crate::spec::pair_layout::PairLayout;
use crate::table::Table;
use crate::turns::position::check_reals;

pub use config::{
    AxialRotaryConfig, AxisFrequencies, AxisPairing, FrequencyUnit, GridCoordinates, GridIndexing,
    RotaryAxis,
};
pub use preset::{AxialRotaryPreset, ntk_base};

/// Cosines and sines of tokens with several coordinates.
#[derive(Debug, Clone, PartialEq)]
pub struct AxialTables<T> {
    /// Those of the first column of each pair, `[tokens, pairs]` each. Where the embedding is a rotation,
    /// the second column has the same.
    pub first: CosSin<T>,
    /// Those of the second column of each pair, with the pairings that are not rotations:
    /// [`AxisPairing::Tiled`] and [`AxisPairing::ByColumn`].
    pub second: Option<CosSin<T>>,
}

/// A checked rotary embedding over several axes, the builder of [`AxialTables`].
///
/// The pair `(a, b)` of a token becomes `(a cos - b sin, b cos + a sin)` of `position x frequency`, where
/// each pair has the frequency and the position of its axis. Cloning is cheap.
///
/// # Accuracy
/// Every entry is the value of its type nearest to the cosine or sine of the exact product of the
/// frequency, a real number, and the position, which is the exact value of its `f64`. Positions of grids are the
/// `f64` values nearest to the formulas of [`GridCoordinates`]. In units of turns, the frequencies are exact
/// multiples of a turn, so that quarter turns have exact entries.
///
/// ```
/// use pe_core::{AxialRotary, AxialRotaryPreset};
///
/// let flux = AxialRotary::new(AxialRotaryPreset::Flux.config(128))?;
/// // An image of 64 x 48 tokens; the first coordinate, which numbers images, is 0.
/// let tables = flux.grid_tables::<f32>(&[1, 64, 48])?.first;
/// assert_eq!((tables.cos.rows(), tables.cos.width()), (64 * 48, 64));
/// // The same by explicit coordinates, for two of its tokens.
/// let tokens = flux.tables_at_reals::<f32>(&[&[0.0, 0.0], &[0.0, 1.0], &[5.0, 2.0]])?.first;
/// assert_eq!(tokens.sin.row(1), tables.sin.row(48 + 2));
/// # Ok::<(), pe_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct AxialRotary {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    config: AxialRotaryConfig,
    frequencies: Vec<RotaryFrequencies>,
    /// Axis of the first column of each rotated pair, and the index in its frequencies.
    places: Vec<(usize, usize)>,
    first: Assembly,
    second: Option<Assembly>,
}

impl AxialRotary {
    /// Checks the specification and computes its frequencies.
    ///
    /// # Errors
    /// Returns an error if
    /// - the number of axes is 0 or above 256,
    /// - a width is zero or odd, or the axes and leading pairs have more columns than `head_dim`,
    /// - `head_dim` exceeds [`MAX_D_MODEL`], or is not a multiple of `multiple_of`,
    /// - a list of axes or frequencies has another length than the pairs that it is for,
    /// - parts of the specification do not go together: a recipe or a scaling with frequencies that are not
    ///   powers of a base, a scaling by sequence length, an attention factor or a recipe in units of turns, an
    ///   alternating series for axes of different widths, tiled pairing of half-split pairs,
    /// - a frequency is not a number from 0 to 2^32 radians per position.
    pub fn new(config: AxialRotaryConfig) -> Result<Self> {
        let axes = config.axes.len();
        if !(1..=256).contains(&axes) {
            return Err(Error::Axes { axes });
        }
        let head_dim = config.head_dim;
        if head_dim > MAX_D_MODEL {
            return Err(Error::DModel { d_model: head_dim });
        }
        let multiple = config.multiple_of;
        if !head_dim.is_multiple_of(multiple) {
            return Err(Error::HeadWidth { head_dim, multiple });
        }
        let mut rotary_dim = config.leading_pairs.saturating_mul(2);
        for (axis, RotaryAxis { width, .. }) in config.axes.iter().enumerate() {
            let width = *width;
            if width == 0 || width > MAX_D_MODEL || !width.is_multiple_of(2) {
                return Err(Error::AxisWidth { axis, width });
            }
            rotary_dim = rotary_dim.saturating_add(width);
        }
        if rotary_dim > head_dim {
            return Err(Error::RotaryWidth {
                rotary_dim,
                head_dim,
            });
        }
        let places = places(&config)?;
        let frequencies = frequencies(&config, &places)?;
        let assembly =
            |places: &[_]| Assembly::new(frequencies.clone(), config.leading_pairs, places);
        Ok(Self {
            inner: Arc::new(Inner {
                first: assembly(&places.first),
                second: places.second.as_deref().map(assembly),
                places: places.first,
                frequencies,
                config,
            }),
        })
    }

    /// Returns the specification.
    pub fn config(&self) -> &AxialRotaryConfig {
        &self.inner.config
    }

    /// Returns the number of axes, which is the number of a token's coordinates.
    pub fn axes(&self) -> usize {
        self.inner.config.axes.len()
    }

    /// Returns the number of pairs, including leading ones that are not rotated.
    pub fn pairs(&self) -> usize {
        self.inner.config.leading_pairs + self.inner.places.len()
    }

    /// Returns whether the two columns of each pair have the same angle. Then scores depend on differences
    /// of positions alone.
    pub fn is_rotation(&self) -> bool {
        self.inner.second.is_none()
    }

    /// Returns axis and frequency of each pair, in radians per position, correctly rounded. Leading
    /// pairs have the frequency 0, on axis 0. With the pairings that are not rotations, these are axis and
    /// frequency of the first column of a pair.
    ///
    /// ```
    /// use pe_core::{AxialRotary, AxialRotaryPreset};
    ///
    /// let pixtral = AxialRotary::new(AxialRotaryPreset::Pixtral.config(8))?;
    /// assert_eq!(pixtral.inv_freq(), [(0, 1.0), (0, 0.01), (1, 0.1), (1, 0.001)]);
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    pub fn inv_freq(&self) -> Vec<(usize, f64)> {
        let Inner {
            config,
            frequencies,
            places,
            ..
        } = self.inner.as_ref();
        let numbers: Vec<Vec<f64>> = frequencies.iter().map(|f| f.inv_freq()).collect();
        let leading = std::iter::repeat_n((0, 0.0), config.leading_pairs);
        let rotated = places.iter().map(|(axis, i)| (*axis, numbers[*axis][*i]));
        leading.chain(rotated).collect()
    }

    /// Returns the two columns of a pair within a head.
    ///
    /// ```
    /// use pe_core::{AxialRotary, AxialRotaryPreset};
    ///
    /// // Half-split inside each axis' 16 columns.
    /// let gemma = AxialRotary::new(AxialRotaryPreset::Gemma4Vision.config(32))?;
    /// assert_eq!([0, 7, 8].map(|pair| gemma.columns(pair)), [(0, 8), (7, 15), (16, 24)]);
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    pub fn columns(&self, pair: usize) -> (usize, usize) {
        let AxialRotaryConfig {
            axes,
            leading_pairs,
            pairing,
            layout,
            ..
        } = self.config();
        if (pairing, layout) != (&AxisPairing::PerAxis, &PairLayout::HalfSplit) {
            return layout.columns(pair, self.pairs());
        }
        // The leading pairs are a block of their own.
        let mut start = 0;
        let blocks = std::iter::once(2 * leading_pairs).chain(axes.iter().map(|axis| axis.width));
        for width in blocks {
            if pair < (start + width) / 2 {
                let (a, b) = layout.columns(pair - start / 2, width / 2);
                return (start + a, start + b);
            }
            start += width;
        }
        (2 * pair, 2 * pair + 1)
    }

    /// Computes the tables of tokens with given positions: one list for each axis, all of the same length. Rows
    /// of the prefix and suffix tokens, which are not rotated, come before and after theirs.
    ///
    /// # Errors
    /// Returns an error if
    /// - the number of lists is not the number of axes, or their lengths differ,
    /// - a position is not finite or exceeds 2^53 in magnitude,
    /// - a table exceeds [`MAX_TABLE_BYTES`](crate::MAX_TABLE_BYTES), or memory is exhausted.
    pub fn tables_at_reals<T: Element>(&self, positions: &[&[f64]]) -> Result<AxialTables<T>> {
        self.batch_tables_at_reals(positions, 1)
    }

    /// Computes the tables of several sequences with equal numbers of tokens, one after the other. The lists
    /// hold the positions of all of them.
    ///
    /// # Errors
    /// Returns an error if the lists cannot be divided into `sequences` equal parts. Also returns the errors of
    /// [`tables_at_reals`](Self::tables_at_reals).
    pub fn batch_tables_at_reals<T: Element>(
        &self,
        positions: &[&[f64]],
        sequences: usize,
    ) -> Result<AxialTables<T>> {
        let length = |name, len, expected: usize| Error::Length {
            name,
            len,
            expected: expected as u64,
        };
        if positions.len() != self.axes() {
            return Err(length("the list of axes", positions.len(), self.axes()));
        }
        let tokens = positions.first().map_or(0, |list| list.len());
        for list in positions {
            if list.len() != tokens {
                return Err(length("a list of positions", list.len(), tokens));
            }
            check_reals(list)?;
        }
        check_tokens(tokens as u64)?;
        match tokens.checked_rem(sequences) {
            None if tokens > 0 => return Err(length("positions of no sequence", tokens, 0)),
            Some(rest) if rest > 0 => {
                return Err(length("a list of positions", tokens, tokens - rest));
            }
            _ => {}
        }
        let coordinates = positions
            .iter()
            .map(|list| Coordinates::of(list.iter().copied()));
        self.assembled(&coordinates.collect::<Vec<_>>(), sequences)
    }

    /// Computes the tables of a grid: of one size for each axis, or of one more in front, the number of
    /// frames that repeat. Rows of the prefix and suffix tokens, which are not rotated, come before and after
    /// those of the grid. The cosines and sines of an axis are computed once for each of its positions.
    ///
    /// # Errors
    /// Returns an error if
    /// - the number of sizes does not match the axes,
    /// - the grid has more than 2^28 tokens, or cannot be divided into the squares of its order,
    /// - a position exceeds 2^53 in magnitude.
    ///
    /// Also returns the errors of [`tables_at_reals`](Self::tables_at_reals).
    pub fn grid_tables<T: Element>(&self, sizes: &[usize]) -> Result<AxialTables<T>> {
        self.assembled(&self.grid(sizes)?, 1)
    }

    /// Returns the number of rows of a grid's tables, with those of the prefix and suffix tokens.
    ///
    /// # Errors
    /// Returns the errors of [`grid_tables`](Self::grid_tables) about the sizes.
    pub fn grid_rows(&self, sizes: &[usize]) -> Result<u64> {
        let tokens = self.grid_tokens(sizes)?;
        Ok(tokens.saturating_add(self.unrotated().count()))
    }

    /// Writes the cosines and sines of a grid into `cos` and `sin`, as [`grid_tables`](Self::grid_tables) computes them in
    /// [`AxialTables::first`].
    ///
    /// ```
    /// use pe_core::{AxialRotary, AxialRotaryPreset};
    ///
    /// let wan = AxialRotary::new(AxialRotaryPreset::Wan.config(64))?;
    /// let entries = wan.grid_rows(&[2, 3, 4])? as usize * wan.pairs();
    /// let (mut cos, mut sin) = (vec![0f32; entries], vec![0f32; entries]);
    /// wan.fill_grid(&[2, 3, 4], &mut cos, &mut sin)?;
    /// assert_eq!(wan.grid_tables::<f32>(&[2, 3, 4])?.first.cos.as_slice(), cos);
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if `cos` or `sin` does not have the size of the table. Also returns the errors of
    /// [`grid_tables`](Self::grid_tables).
    pub fn fill_grid<T: Element>(
        &self,
        sizes: &[usize],
        cos: &mut [T],
        sin: &mut [T],
    ) -> Result<()> {
        let expected = self.grid_rows(sizes)?.saturating_mul(self.pairs() as u64);
        for (name, len) in [("cos", cos.len()), ("sin", sin.len())] {
            if len as u64 != expected {
                return Err(Error::Length {
                    name,
                    len,
                    expected,
                });
            }
        }
        let (first, unrotated) = (&self.inner.first, self.unrotated());
        first.fill(&self.grid(sizes)?, unrotated, Out([cos, sin]))
    }

    /// Computes the tables of images or videos of any sizes, one after the other: the rows of
    /// [`grid_tables`](Self::grid_tables) for frames, rows, and columns of each, with its own prefix and suffix
    /// tokens.
    ///
    /// ```
    /// use pe_core::{AxialRotary, AxialRotaryPreset, PatchGrid};
    ///
    /// let pixtral = AxialRotary::new(AxialRotaryPreset::Pixtral.config(64))?;
    /// let images = [(2, 3), (4, 1)].map(|(rows, columns)| PatchGrid { frames: 1, rows, columns });
    /// let tables = pixtral.images_tables::<f32>(&images)?.first;
    /// assert_eq!(tables.cos.rows(), 2 * 3 + 4 * 1);
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the embedding has other than two or three axes, or the images have more than 2^28 tokens.
    /// Also returns the errors of [`grid_tables`](Self::grid_tables).
    pub fn images_tables<T: Element>(&self, images: &[PatchGrid]) -> Result<AxialTables<T>> {
        let unrotated = self.unrotated().count();
        let tokens = images.iter().fold(0u64, |tokens, image| {
            tokens
                .saturating_add(image.tokens())
                .saturating_add(unrotated)
        });
        check_tokens(tokens)?;
        let zeros = || -> Result<CosSin<T>> {
            let zeros = || Table::zeros(tokens, self.pairs());
            Ok(CosSin {
                cos: zeros()?,
                sin: zeros()?,
            })
        };
        let mut all = AxialTables {
            first: zeros()?,
            second: self.inner.second.as_ref().map(|_| zeros()).transpose()?,
        };
        let append = |all: &mut CosSin<T>, row: usize, image: &CosSin<T>| {
            for (all, image) in [(&mut all.cos, &image.cos), (&mut all.sin, &image.sin)] {
                let (start, entries) = (row * image.width(), image.as_slice());
                all.as_mut_slice()[start..start + entries.len()].copy_from_slice(entries);
            }
        };
        let (mut row, mut last) = (0, None);
        for image in images {
            let PatchGrid {
                frames,
                rows,
                columns,
            } = *image;
            let tables = match last.take() {
                Some((of, tables)) if of == *image => tables,
                _ => self.grid_tables(&[frames as usize, rows as usize, columns as usize])?,
            };
            append(&mut all.first, row, &tables.first);
            if let Some((all, second)) = all.second.as_mut().zip(tables.second.as_ref()) {
                append(all, row, second);
            }
            row += tables.first.cos.rows();
            last = Some((*image, tables));
        }
        Ok(all)
    }

    /// Returns the positions of a grid's tokens, one list for each axis.
    ///
    /// ```
    /// use pe_core::{AxialRotary, AxialRotaryPreset};
    ///
    /// let qwen = AxialRotary::new(AxialRotaryPreset::QwenImage.config(128))?;
    /// let [image, rows, columns] = &qwen.grid_positions(&[1, 2, 3])?[..] else { unreachable!() };
    /// assert_eq!(rows, &[-1.0, -1.0, -1.0, 0.0, 0.0, 0.0]); // around the center
    /// assert_eq!(columns, &[-2.0, -1.0, 0.0, -2.0, -1.0, 0.0]);
    /// # assert_eq!(image, &[0.0; 6]);
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`grid_tables`](Self::grid_tables), except those of tables.
    pub fn grid_positions(&self, sizes: &[usize]) -> Result<Vec<Vec<f64>>> {
        let grid = self.grid(sizes)?;
        Ok(grid.iter().map(Coordinates::to_positions).collect())
    }

    /// Returns the number of a grid's tokens.
    fn grid_tokens(&self, sizes: &[usize]) -> Result<u64> {
        let axes = self.axes();
        if sizes.len() != axes && sizes.len() != axes + 1 {
            let sizes = sizes.to_vec();
            return Err(Error::GridSizes { sizes, axes });
        }
        let tokens = sizes
            .iter()
            .fold(1u64, |tokens, size| tokens.saturating_mul(*size as u64));
        // A size of 0 does not excuse the others.
        let largest = sizes.iter().max().map_or(0, |size| *size as u64);
        check_tokens(tokens.max(largest))?;
        Ok(tokens)
    }

    /// Returns the coordinates of a grid's tokens.
    fn grid(&self, sizes: &[usize]) -> Result<Vec<Coordinates>> {
        let (config, axes) = (self.config(), self.axes());
        let tokens = self.grid_tokens(sizes)?;
        let (frames, of_axes) = sizes.split_at(sizes.len() - axes);
        let frames = frames.first().copied().unwrap_or(1);
        // The sizes are at most 2^28 now. The last two are those of rows and columns.
        let (outer, inner) = of_axes.split_at(axes.saturating_sub(2));
        let patches = config.order.patches(PatchGrid {
            frames: u32::from(tokens > 0),
            rows: if axes > 1 { inner[0] as u32 } else { 1 },
            columns: inner[inner.len() - 1] as u32,
        })?;
        let patches: Vec<_> = patches.collect();
        let mut lists: Vec<Vec<u32>> = vec![Vec::with_capacity(tokens as usize); axes];
        let times = match patches.is_empty() {
            true => 0,
            false => outer.iter().product(),
        };
        for time in (0..frames).flat_map(|_| 0..times) {
            let mut rest = time;
            for (list, size) in lists.iter_mut().zip(outer).rev() {
                list.extend(std::iter::repeat_n((rest % size) as u32, patches.len()));
                rest /= size;
            }
            if let Some(list) = axes.checked_sub(2).and_then(|at| lists.get_mut(at)) {
                list.extend(patches.iter().map(|(row, _)| row));
            }
            lists[axes - 1].extend(patches.iter().map(|(_, column)| column));
        }
        let mut of_axes = of_axes.to_vec();
        if config.indexing == GridIndexing::Xy && axes > 1 {
            lists.swap(axes - 2, axes - 1);
            of_axes.swap(axes - 2, axes - 1);
        }
        let coordinates = |((list, size), axis): ((Vec<u32>, usize), &RotaryAxis)| {
            let distinct = if list.is_empty() { 0 } else { size };
            let values = (0..distinct).map(|i| axis.coordinates.at(i, size));
            let values: Vec<f64> = values.collect();
            check_reals(&values)?;
            Ok(Coordinates::new(values, list))
        };
        let all = lists.into_iter().zip(of_axes).zip(&config.axes);
        all.map(coordinates).collect()
    }

    fn assembled<T: Element>(
        &self,
        coordinates: &[Coordinates],
        sequences: usize,
    ) -> Result<AxialTables<T>> {
        let unrotated = self.unrotated();
        let Inner { first, second, .. } = self.inner.as_ref();
        let tables = |assembly: &Assembly| assembly.tables(coordinates, sequences, unrotated);
        Ok(AxialTables {
            first: tables(first)?,
            second: second.as_ref().map(tables).transpose()?,
        })
    }

    fn unrotated(&self) -> Unrotated {
        let AxialRotaryConfig {
            prefix_tokens: before,
            suffix_tokens: after,
            ..
        } = *self.config();
        Unrotated { before, after }
    }
}
