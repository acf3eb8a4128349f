//! The figures by name.

use anyhow::Result;

use super::{Settings, binary, curves, maps, rates, rings, rotary, similarity};
use crate::chart::Figure;

/// A figure that can be asked for.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    /// One line for `--help`.
    pub(crate) summary: &'static str,
    /// Which of the settings change it.
    pub(crate) uses: &'static [Setting],
    pub(crate) build: fn(&Settings) -> Result<Figure>,
}

/// One of the options about the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setting {
    Preset,
    DModel,
    MaxSeqLen,
    Start,
    Base,
    Config,
}

impl Setting {
    /// The option's name on the command line.
    pub(crate) fn option(self) -> &'static str {
        match self {
            Self::Preset => "--preset",
            Self::DModel => "--d-model",
            Self::MaxSeqLen => "--max-seq-len",
            Self::Start => "--start",
            Self::Base => "--base",
            Self::Config => "--config",
        }
    }
}

const ALL: &[Setting] = &[
    Setting::Preset,
    Setting::DModel,
    Setting::MaxSeqLen,
    Setting::Start,
    Setting::Base,
];

/// All figures, in the order of the source documents.
pub(crate) const CATALOG: &[Entry] = &[
    Entry {
        name: "angle-rates",
        summary: "how fast each pair turns, on a logarithmic axis",
        uses: &[Setting::Preset, Setting::DModel, Setting::Base],
        build: rates::angle_rates,
    },
    Entry {
        name: "angle-map",
        summary: "angles in degrees, all positions and pairs",
        uses: ALL,
        build: maps::angle_map,
    },
    Entry {
        name: "encoding-map",
        summary: "the table, all sines, then all cosines",
        uses: ALL,
        build: maps::encoding_map,
    },
    Entry {
        name: "dot-product",
        summary: "dot product of every position with position 20",
        uses: ALL,
        build: similarity::dot_product,
    },
    Entry {
        name: "sse",
        summary: "squared distance of every position from position 20",
        uses: ALL,
        build: similarity::sse,
    },
    Entry {
        name: "shifted-map",
        summary: "the table turned back by ten positions",
        uses: ALL,
        build: maps::shifted_map,
    },
    Entry {
        name: "sinusoids",
        summary: "positions 0, 4, 8, 12 as waves over the pairs",
        uses: ALL,
        build: curves::sinusoids,
    },
    Entry {
        name: "encoding-matrix",
        summary: "the paper's table, 100 x 512",
        uses: ALL,
        build: maps::encoding_matrix,
    },
    Entry {
        name: "binary",
        summary: "positions as binary numbers of 64 bits",
        uses: &[Setting::MaxSeqLen, Setting::Start],
        build: binary::binary,
    },
    Entry {
        name: "transposed",
        summary: "the table on its side, 1000 positions",
        uses: ALL,
        build: maps::transposed,
    },
    Entry {
        name: "transposed-corner",
        summary: "its first 64 columns and positions",
        uses: ALL,
        build: maps::transposed_corner,
    },
    Entry {
        name: "tiles",
        summary: "one tile per position, 0 to 7",
        uses: ALL,
        build: maps::tiles,
    },
    Entry {
        name: "distances",
        summary: "distances between 64 positions",
        uses: ALL,
        build: similarity::distances,
    },
    Entry {
        name: "dimension-pairs",
        summary: "eight columns over 32 positions, each on axes of its own",
        uses: ALL,
        build: curves::dimension_pairs,
    },
    Entry {
        name: "inverted-map",
        summary: "the table from the top down, 50 x 256",
        uses: ALL,
        build: maps::inverted_map,
    },
    Entry {
        name: "rings",
        summary: "one circle per pair, turned by the position; also a GIF",
        uses: ALL,
        build: rings::rings,
    },
    Entry {
        name: "dimensions",
        summary: "columns 4 to 7 over 100 positions, with a legend",
        uses: ALL,
        build: curves::dimensions,
    },
    Entry {
        name: "rotary-frequencies",
        summary: "rotary frequencies of several models",
        uses: &[Setting::Config],
        build: rotary::rotary_frequencies,
    },
    Entry {
        name: "rotary-wavelengths",
        summary: "their wavelengths against the trained lengths",
        uses: &[Setting::Config],
        build: rotary::rotary_wavelengths,
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Image, SCALE, images};

    /// The panels' maps of a figure; the last image is the color bar.
    fn maps(name: &str, settings: &Settings) -> Vec<Image> {
        let entry = CATALOG.iter().find(|entry| entry.name == name).unwrap();
        let mut images = images(&(entry.build)(settings).unwrap()).unwrap();
        images.pop();
        images
    }

    /// What the note calls every Nth position is what is drawn.
    #[test]
    fn a_png_has_a_pixel_for_every_cell_of_a_map() {
        let settings = Settings {
            d_model: Some(4096),
            start: Some(4_294_000_000),
            max_seq_len: Some(3071),
            ..Settings::default()
        };
        for name in [
            "binary",
            "angle-map",
            "encoding-map",
            "shifted-map",
            "encoding-matrix",
            "transposed",
            "transposed-corner",
            "inverted-map",
            "distances",
        ] {
            for image in maps(name, &settings) {
                let pixels = |extent: f32| (extent * SCALE as f32).floor() as usize;
                let (columns, rows) = (pixels(image.extent.0), pixels(image.extent.1));
                assert!(
                    image.cells.columns <= columns && image.cells.rows <= rows,
                    "{name}: {} x {} cells on {columns} x {rows} pixels",
                    image.cells.columns,
                    image.cells.rows
                );
            }
        }
    }

    #[test]
    fn panels_above_each_other_are_equally_high() {
        let images = maps("shifted-map", &Settings::default());
        assert_eq!(images.len(), 2);
        assert!((images[0].extent.1 - images[1].extent.1).abs() < 0.1);
        assert_eq!(images[0].cells.levels.len(), 40 * 512);
    }
}
