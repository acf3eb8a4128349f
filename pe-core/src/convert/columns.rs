//! Columns of one sinusoidal convention in another.

use crate::error::Result;
use crate::families::sinusoidal::{Sinusoidal, SinusoidalConfig};
use crate::rows::columns::{Column, Columns};
use crate::spec::recipe::Recipe;

/// Returns, for each column of the convention `to`, the column of `from` with the same sines or cosines, or `None`
/// for a column of zeros. The whole result is `None` if a column of `to` is not in `from`: the table then has to be
/// computed.
///
/// Recipes do not count: a permutation keeps the entries.
///
/// ```
/// use pe_core::{SinusoidLayout, SinusoidalConfig, convert_columns};
///
/// let paper = SinusoidalConfig::new(6);
/// let halves = SinusoidalConfig { layout: SinusoidLayout::Concatenated, ..paper };
/// let columns = convert_columns(&paper, &halves)?;
/// assert_eq!(columns, Some(vec![Some(0), Some(2), Some(4), Some(1), Some(3), Some(5)]));
/// let other = SinusoidalConfig { base: pe_core::Base::Value(500.0), ..paper };
/// assert_eq!(convert_columns(&paper, &other)?, None);
/// # Ok::<(), pe_core::Error>(())
/// ```
///
/// # Errors
/// Returns the errors of [`Sinusoidal::new`].
pub fn convert_columns(
    from: &SinusoidalConfig,
    to: &SinusoidalConfig,
) -> Result<Option<Vec<Option<usize>>>> {
    let frequencies = |config: &SinusoidalConfig| -> Result<Vec<f64>> {
        let recipe = Recipe::Exact;
        Ok(Sinusoidal::new(SinusoidalConfig { recipe, ..*config })?.inv_freq())
    };
    let (ours, theirs) = (frequencies(from)?, frequencies(to)?);
    if from.padding_idx != to.padding_idx {
        return Ok(None);
    }
    let source = Columns::new(from.d_model, from.layout, from.odd_width)?;
    let target = Columns::new(to.d_model, to.layout, to.odd_width)?;
    // Each pair has one sine and one cosine at most.
    let mut sines = vec![None; source.pairs];
    let mut cosines = vec![None; source.pairs];
    for at in 0..from.d_model {
        match source.at(at) {
            Column::Sine(pair) => sines[pair] = Some(at),
            Column::Cosine(pair) => cosines[pair] = Some(at),
            Column::Zero => {}
        }
    }
    let column_of = |places: &[Option<usize>], pair: usize| {
        let same = ours.get(pair)? == theirs.get(pair)?;
        places
            .get(pair)
            .copied()
            .flatten()
            .filter(|_| same)
            .map(Some)
    };
    let columns = (0..to.d_model).map(|at| match target.at(at) {
        Column::Sine(pair) => column_of(&sines, pair),
        Column::Cosine(pair) => column_of(&cosines, pair),
        Column::Zero => Some(None),
    });
    Ok(columns.collect())
}
