//! Which table a figure shows, and which of its entries.

use anyhow::{Result, bail};
use pe_core::{Base, Error, POSITIONS, Sinusoidal, SinusoidalConfig};

use crate::console::BadUsage;
use crate::page::thousands;
use crate::plot::scale::step;

/// What the user asks for in place of a figure's own table.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settings {
    pub(crate) d_model: Option<usize>,
    pub(crate) base: Option<f64>,
    pub(crate) start: Option<u64>,
    pub(crate) max_seq_len: Option<u64>,
}

/// The most rows, and the most columns, of a map: a picture shows no more.
pub(crate) const MOST_CELLS: u64 = 1024;

/// The most points of a curve.
pub(crate) const MOST_POINTS: u64 = 2048;

/// A table that is never built as a whole.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub(crate) encoding: Sinusoidal,
    start: u64,
    rows: u64,
}

impl Source {
    /// The figure's own specification and number of rows, where the settings say nothing else.
    pub(crate) fn new(
        settings: &Settings,
        mut config: SinusoidalConfig,
        rows: u64,
    ) -> Result<Self> {
        if let Some(d_model) = settings.d_model {
            config.d_model = d_model;
        }
        if let Some(base) = settings.base {
            config.base = Base::Value(base);
        }
        let encoding = match Sinusoidal::new(config) {
            Ok(encoding) => encoding,
            Err(Error::OddDModel { d_model }) => bail!(BadUsage(format!(
                "--d-model {d_model} is odd, and figures show whole pairs of columns"
            ))),
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
            start,
            rows,
        })
    }

    pub(crate) fn d_model(&self) -> usize {
        self.encoding.d_model()
    }

    /// The first position.
    pub(crate) fn first(&self) -> u64 {
        self.start
    }

    /// The last position.
    pub(crate) fn last(&self) -> u64 {
        self.start + self.rows - 1
    }

    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// At most `most` positions, equally far apart.
    pub(crate) fn positions(&self, most: u64) -> Vec<u32> {
        let step = step(self.rows, most);
        (0..self.rows.div_ceil(step))
            .map(|k| (self.start + k * step) as u32)
            .collect()
    }

    /// At most `most` columns, equally far apart.
    pub(crate) fn columns(&self, most: u64) -> Vec<usize> {
        sampled(self.d_model(), most)
    }

    /// Entries of the table, row by row; only these rows are computed, one at a time.
    pub(crate) fn entries(&self, positions: &[u32], columns: &[usize]) -> Result<Vec<f64>> {
        let mut row = vec![0.0; self.d_model()];
        let mut values = Vec::with_capacity(positions.len() * columns.len());
        for position in positions {
            self.encoding.fill_at(&[*position], &mut row)?;
            values.extend(columns.iter().map(|column| row[*column]));
        }
        Ok(values)
    }

    /// "50 positions, d_model 512, base 10000", and what is left out.
    pub(crate) fn describe(&self, most: u64) -> String {
        let base = crate::plot::scale::label(self.encoding.config().base.value());
        let mut text = format!(
            "{} positions{}, d_model {}, base {base}",
            thousands(self.rows),
            match self.start {
                0 => String::new(),
                start => format!(" from {}", thousands(start)),
            },
            self.d_model(),
        );
        for (what, count) in [("position", self.rows), ("column", self.d_model() as u64)] {
            let step = step(count, most);
            if step > 1 {
                text += &format!("; every {} {what} shown", ordinal(step));
            }
        }
        text
    }
}

/// At most `most` of the indices below `count`, equally far apart.
pub(crate) fn sampled(count: usize, most: u64) -> Vec<usize> {
    let step = step(count as u64, most) as usize;
    (0..count).step_by(step).collect()
}

/// "2nd", "128th".
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
    fn a_long_table_is_sampled_and_says_so() {
        let settings = Settings {
            d_model: Some(128),
            max_seq_len: Some(131_072),
            ..Settings::default()
        };
        let source = Source::new(&settings, SinusoidalConfig::new(512), 50).unwrap();
        let positions = source.positions(MOST_CELLS);
        assert_eq!((positions.len(), positions[1]), (1024, 128));
        let note = source.describe(MOST_CELLS);
        assert_eq!(
            note,
            "131,072 positions, d_model 128, base 10,000; every 128th position shown"
        );
        assert_eq!(ordinal(111), "111th");
        assert_eq!(ordinal(1002), "1,002nd");
    }
}
