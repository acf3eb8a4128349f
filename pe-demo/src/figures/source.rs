//! The table that a figure shows, and the entries it samples.

use std::path::PathBuf;

use anyhow::{Result, bail};
use pe_core::{
    Base, Error, POSITIONS, Preset, SinusoidLayout, Sinusoidal, SinusoidalConfig, Spacing,
};

use crate::chart::step;
use crate::terminal::numbers::thousands;
use crate::terminal::outcome::BadUsage;

// Names of axes.
pub(super) const POSITION: &str = "position";
pub(super) const COLUMN: &str = "column";
pub(super) const PAIR: &str = "pair";

/// The user's choices in place of a figure's own table.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settings {
    pub(crate) preset: Option<Preset>,
    pub(crate) d_model: Option<usize>,
    pub(crate) base: Option<f64>,
    pub(crate) start: Option<u64>,
    pub(crate) max_seq_len: Option<u64>,
    /// Files config.json of models, for the rotary figures.
    pub(crate) configs: Vec<PathBuf>,
}

/// The most rows, and the most columns, of a map: a picture shows no more.
pub(crate) const MOST_CELLS: u64 = 1024;

/// Points of a smooth line from one position, or pair, to the next.
pub(crate) const FINER: u64 = 8;

/// The most positions with a smooth line between them.
const MOST_SMOOTH: u64 = 256;

/// The most points of a curve.
pub(crate) const MOST_POINTS: u64 = 2048;

/// A table that is never built as a whole.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub(crate) encoding: Sinusoidal,
    preset: Preset,
    start: u64,
    rows: u64,
}

impl Source {
    /// Builds the source from the figure's own convention, width and number of rows, where the
    /// settings state nothing else.
    ///
    /// A padding row is left out: every row is that of its position.
    pub(crate) fn new(
        settings: &Settings,
        preset: Preset,
        d_model: usize,
        rows: u64,
    ) -> Result<Self> {
        let preset = settings.preset.unwrap_or(preset);
        let d_model = settings.d_model.unwrap_or(d_model);
        if d_model % 2 == 1 {
            bail!(BadUsage(format!(
                "--d-model {d_model} is odd, and figures show whole pairs of columns"
            )));
        }
        let preset_config = preset.config(d_model);
        let config = SinusoidalConfig {
            base: settings.base.map_or(preset_config.base, Base::Value),
            padding_idx: None,
            ..preset_config
        };
        let encoding = match Sinusoidal::new(config) {
            Ok(encoding) => encoding,
            Err(error @ (Error::Frequency { .. } | Error::FreqShift { .. })) => {
                bail!(BadUsage(format!("--base and --d-model: {error}")))
            }
            Err(error) => return Err(error.into()),
        };
        let start = settings.start.unwrap_or(0);
        let rows = settings.max_seq_len.unwrap_or(rows);
        if start.saturating_add(rows) > POSITIONS {
            bail!(BadUsage(format!(
                "--start {start} and --max-seq-len {rows} ask for positions {start}..{}, which \
                 run past {POSITIONS}",
                start.saturating_add(rows)
            )));
        }
        Ok(Self {
            encoding,
            preset,
            start,
            rows,
        })
    }

    pub(crate) fn d_model(&self) -> usize {
        self.encoding.d_model()
    }

    /// Describes which columns are sines.
    pub(crate) fn arrangement(&self) -> &'static str {
        match self.encoding.config().layout {
            SinusoidLayout::Interleaved => "Sines and cosines in turn",
            SinusoidLayout::Concatenated => "Sines on the left, cosines on the right",
            SinusoidLayout::ConcatenatedCosFirst => "Cosines on the left, sines on the right",
        }
    }

    /// Returns the columns of a pair's sine and cosine.
    pub(crate) fn columns_of(&self, pair: usize) -> (usize, usize) {
        let pairs = self.encoding.pairs();
        match self.encoding.config().layout {
            SinusoidLayout::Interleaved => (2 * pair, 2 * pair + 1),
            SinusoidLayout::Concatenated => (pair, pairs + pair),
            SinusoidLayout::ConcatenatedCosFirst => (pairs + pair, pair),
        }
    }

    /// Returns the pair of a column, and whether the column is the sine or the cosine.
    pub(crate) fn at(&self, column: usize) -> (usize, &'static str) {
        let pair = match self.encoding.config().layout {
            SinusoidLayout::Interleaved => column / 2,
            _ => column % self.encoding.pairs(),
        };
        let sine = self.columns_of(pair).0 == column;
        (pair, if sine { "sine" } else { "cosine" })
    }

    /// Returns the first position.
    pub(crate) fn first(&self) -> u64 {
        self.start
    }

    /// Returns the last position.
    pub(crate) fn last(&self) -> u64 {
        self.start + self.rows - 1
    }

    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns at most `most` positions, equally far apart.
    pub(crate) fn positions(&self, most: u64) -> Vec<u32> {
        let step = step(self.rows, most);
        (0..self.rows.div_ceil(step))
            .map(|k| (self.start + k * step) as u32)
            .collect()
    }

    /// Returns places from the first position to the last, several for each, for a smooth line. There are none if the
    /// line would need too many entries, or if positions are too close for it.
    pub(crate) fn between(&self) -> Vec<f64> {
        let count = (self.rows - 1).saturating_mul(FINER) + 1;
        let entries = count.saturating_mul(self.d_model() as u64);
        if self.rows < 2 || self.rows > MOST_SMOOTH || entries > 1 << 21 {
            return Vec::new();
        }
        (0..count)
            .map(|k| self.start as f64 + k as f64 / FINER as f64)
            .collect()
    }

    /// Returns the same convention with several pairs in the place of each, for a smooth line over the pairs. Pair
    /// `FINER` x i of it is pair i.
    pub(crate) fn finer(&self) -> Option<Self> {
        let (finer, config) = (FINER as usize, *self.encoding.config());
        let pairs = self.encoding.pairs();
        let (pairs, spacing) = match config.spacing {
            Spacing::Paper => (pairs * finer, Spacing::Paper),
            Spacing::Inclusive => ((pairs - 1) * finer + 1, Spacing::Inclusive),
            Spacing::Shifted(shift) => (pairs * finer, Spacing::Shifted(shift * FINER as f64)),
            _ => return None,
        };
        let config = SinusoidalConfig {
            d_model: 2 * pairs,
            spacing,
            ..config
        };
        let encoding = Sinusoidal::new(config).ok()?;
        Some(Self {
            encoding,
            ..self.clone()
        })
    }

    /// Returns at most `most` columns, equally far apart.
    pub(crate) fn columns(&self, most: u64) -> Vec<usize> {
        sampled(self.d_model(), most)
    }

    /// Computes entries of the table, row by row. No other row is computed.
    pub(crate) fn entries(&self, positions: &[u32], columns: &[usize]) -> Result<Vec<f64>> {
        let mut row = vec![0.0; self.d_model()];
        let mut values = Vec::with_capacity(positions.len() * columns.len());
        for position in positions {
            self.encoding.fill_at(&[*position], &mut row)?;
            values.extend(columns.iter().map(|column| row[*column]));
        }
        Ok(values)
    }

    /// Describes the convention: "rate of pair i base^(−2i/d) (paper)".
    pub(crate) fn convention(&self) -> String {
        format!("rate of pair i {}", formula(&self.encoding, self.preset))
    }

    /// Describes the table, "50 positions, d_model 512, base 10000", its convention, and the sampling if
    /// at most `most_positions` and `most_columns` are shown.
    pub(crate) fn describe(&self, most_positions: u64, most_columns: u64) -> String {
        self.sampling(most_positions, COLUMN, self.d_model(), most_columns)
    }

    /// Describes the table for a figure of pairs.
    pub(crate) fn describe_pairs(&self, most_positions: u64, most_pairs: u64) -> String {
        self.sampling(most_positions, PAIR, self.encoding.pairs(), most_pairs)
    }

    fn sampling(&self, most_positions: u64, what: &str, count: usize, most: u64) -> String {
        let base = crate::chart::label(self.encoding.config().base.value());
        let mut text = format!(
            "{} positions{}, d_model {}, base {base}, {}",
            thousands(self.rows),
            match self.start {
                0 => String::new(),
                start => format!(" from {}", thousands(start)),
            },
            self.d_model(),
            self.convention(),
        );
        let every = step(self.rows, most_positions);
        if every > 1 {
            text += &format!("; every {} position shown", ordinal(every));
        }
        let every_other = step(count as u64, most);
        if every_other > 1 {
            text += &format!("; every {} {what} shown", ordinal(every_other));
        }
        text + &self.aliases(every)
    }

    /// Names the pairs that alias if every `step`-th position is shown.
    fn aliases(&self, step: u64) -> String {
        let rates = self.encoding.inv_freq();
        let fast = |rate: &f64| rate * step as f64 > std::f64::consts::PI;
        // Rates fall or rise from pair to pair.
        match (rates.iter().position(fast), rates.iter().rposition(fast)) {
            (Some(first), Some(last)) => {
                let pairs = match last - first {
                    0 => format!("pair {first} aliases"),
                    _ => format!("pairs {first} to {last} alias"),
                };
                format!("; {pairs} (over half a turn from one shown to the next)")
            }
            _ => String::new(),
        }
    }
}

/// Writes the formula for the rate of pair i, and its preset: "base^(−2i/d) (paper)".
pub(crate) fn formula(encoding: &Sinusoidal, preset: Preset) -> String {
    let exponent = match encoding.config().spacing {
        Spacing::Paper => "2i/d".to_owned(),
        Spacing::Inclusive => "i/(n\u{2212}1)".to_owned(),
        Spacing::Shifted(0.0) => "i/n".to_owned(),
        Spacing::Shifted(shift) => format!("i/(n\u{2212}{shift})"),
        other => other.name().to_owned(),
    };
    let pairs = if exponent.contains('n') {
        ", n = d/2"
    } else {
        ""
    };
    format!("base^(\u{2212}{exponent}){pairs} ({preset})")
}

/// Returns the least and the greatest of values and `one` more.
pub(crate) fn extent(values: &[f64], one: f64) -> (f64, f64) {
    let wider = |(low, high): (f64, f64), value: &f64| (low.min(*value), high.max(*value));
    values.iter().fold((one, one), wider)
}

/// Returns at most `most` of the indices below `count`, equally far apart.
pub(crate) fn sampled(count: usize, most: u64) -> Vec<usize> {
    let step = step(count as u64, most) as usize;
    (0..count).step_by(step).collect()
}

/// Writes an ordinal: "2nd", "128th".
pub(crate) fn ordinal(number: u64) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{}{ending}", thousands(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_tables_are_sampled_and_say_so() {
        let settings = Settings {
            d_model: Some(128),
            max_seq_len: Some(131_072),
            ..Settings::default()
        };
        let source = Source::new(&settings, Preset::Paper, 512, 50).unwrap();
        let positions = source.positions(MOST_CELLS);
        assert_eq!((positions.len(), positions[1]), (1024, 128));
        // Pair 25 turns by 128 x 10000^(-50/128) = 3.5 radians, pair 26 by 3.04.
        assert_eq!(
            source.describe(MOST_CELLS, MOST_CELLS),
            "131,072 positions, d_model 128, base 10,000, rate of pair i base^(\u{2212}2i/d) \
             (paper); every 128th position shown; pairs 0 to 25 alias (over half a turn from one \
             shown to the next)"
        );
        let settings = Settings {
            preset: Some(Preset::StableDiffusion),
            ..Settings::default()
        };
        let source = Source::new(&settings, Preset::Paper, 512, 50).unwrap();
        assert_eq!(
            source.describe(MOST_CELLS, 100),
            "50 positions, d_model 512, base 10,000, rate of pair i base^(\u{2212}i/n), n = d/2 \
             (stable-diffusion); every 6th column shown"
        );
        assert_eq!(source.columns_of(3), (259, 3));
        assert_eq!((source.at(3), source.at(259)), ((3, "cosine"), (3, "sine")));
        assert_eq!(ordinal(111), "111th");
        assert_eq!(ordinal(1002), "1,002nd");
    }
}
