//! The figures: names, words, settings, and builders.

use super::entry::{Entry, Setting};
use super::{biases, binary, curves, fourier, grids, maps, rates, rings, rotary, similarity};

/// Figures that belong together.
pub(crate) struct Section {
    pub(crate) title: &'static str,
    pub(crate) lead: &'static str,
    pub(crate) figures: &'static [&'static Entry],
}

/// The settings of a figure that shows a table.
const ALL: &[Setting] = &[
    Setting::Preset,
    Setting::DModel,
    Setting::MaxSeqLen,
    Setting::Start,
    Setting::Base,
];

/// All figures, in the order in which `plot` lists and draws them.
pub(crate) const CATALOG: &[&Entry] = &[
    &ANGLE_RATES,
    &ANGLE_MAP,
    &ENCODING_MAP,
    &DOT_PRODUCT,
    &SSE,
    &SHIFTED_MAP,
    &SINUSOIDS,
    &ENCODING_MATRIX,
    &BINARY,
    &TRANSPOSED,
    &TRANSPOSED_CORNER,
    &TILES,
    &DISTANCES,
    &DIMENSION_PAIRS,
    &INVERTED_MAP,
    &RINGS,
    &DIMENSIONS,
    &ROTARY_FREQUENCIES,
    &ROTARY_WAVELENGTHS,
    &ALIBI_SLOPES,
    &T5_BUCKETS,
    &DISTANCE_DECAY,
    &GRID_SIMILARITY,
    &RESIZE_KERNELS,
    &FOURIER_FIT,
];

/// The sections of the page, in its order.
pub(crate) const SECTIONS: &[Section] = &[
    Section {
        title: "Positions and frequencies",
        lead: "A binary counter writes a position with bits that flip at different rates. A \
               sinusoidal encoding does the same with sines and cosines, which change smoothly.",
        figures: &[&BINARY, &ANGLE_RATES, &ANGLE_MAP, &SINUSOIDS],
    },
    Section {
        title: "The table",
        lead: "The table has one row per position and one column per sine or cosine. Every entry \
               here is the number nearest to the true value.",
        figures: &[
            &ENCODING_MAP,
            &ENCODING_MATRIX,
            &INVERTED_MAP,
            &TRANSPOSED,
            &TRANSPOSED_CORNER,
            &TILES,
        ],
    },
    Section {
        title: "Single columns",
        lead: "Each column of the table is a wave over the positions.",
        figures: &[&DIMENSIONS, &DIMENSION_PAIRS],
    },
    Section {
        title: "Similarity and distance",
        lead: "The similarity of two positions depends on the distance between them, and on \
               nothing else.",
        figures: &[&DOT_PRODUCT, &SSE, &DISTANCES],
    },
    Section {
        title: "Steps as rotations",
        lead: "A step of k positions rotates each pair by k times its angle, whatever the \
               position. A model can learn that rotation once and use it everywhere.",
        figures: &[&SHIFTED_MAP, &RINGS],
    },
    Section {
        title: "Rotary embeddings",
        lead: "Most current models rotate pairs of their queries and keys by the same angles \
               instead of adding a vector. A score then depends on the distance of query and \
               key, not on their positions.",
        figures: &[&ROTARY_FREQUENCIES, &ROTARY_WAVELENGTHS],
    },
    Section {
        title: "Attention biases",
        lead: "Other models leave the vectors unchanged and add a number for each distance to \
               the scores, computed or trained, before the softmax.",
        figures: &[&ALIBI_SLOPES, &T5_BUCKETS, &DISTANCE_DECAY],
    },
    Section {
        title: "Images",
        lead: "A patch of an image has two positions, and its encoding has columns for each of \
               the two axes.",
        figures: &[&GRID_SIMILARITY, &RESIZE_KERNELS, &FOURIER_FIT],
    },
];

const BINARY: Entry = Entry {
    name: "binary",
    title: "Positions as binary numbers",
    summary: "positions as binary numbers, bit by bit",
    about: "Each bit of a counter flips half as often as the bit below it, and the high bits \
            never move at short lengths, which is the same waste as in the slow pairs of an \
            encoding.",
    uses: &[Setting::MaxSeqLen, Setting::Start],
    builder: binary::binary,
};

const ANGLE_RATES: Entry = Entry {
    name: "angle-rates",
    title: "Rotation rate of each pair",
    summary: "how fast each pair turns, and how far conventions differ",
    about: "The rates of the two conventions look like one line (above), but their ratio (below) \
            grows to a few percent, so tables of the two kinds do not fit each other. From the \
            first pair to the last, the angle per position falls by equal factors.",
    uses: &[Setting::Preset, Setting::DModel, Setting::Base],
    builder: rates::angle_rates,
};

const ANGLE_MAP: Entry = Entry {
    name: "angle-map",
    title: "Angle of every pair at every position",
    summary: "angles in degrees, all positions and pairs",
    about: "The first pairs complete a turn every few positions, and the last pairs barely leave \
            their start in five hundred. Colors run around the circle, so 360 degrees look like 0.",
    uses: ALL,
    builder: maps::angle_map,
};

const SINUSOIDS: Entry = Entry {
    name: "sinusoids",
    title: "Four positions as sinusoids over the dimension",
    summary: "positions 0, 4, 8, 12 as waves over the pairs",
    about: "Across the pairs, each position is a wave that slows down to the right, and a later \
            position starts with more turns.",
    uses: ALL,
    builder: curves::sinusoids,
};

const ENCODING_MAP: Entry = Entry {
    name: "encoding-map",
    title: "Sines on the left, cosines on the right",
    summary: "the table, all sines, then all cosines",
    about: "All sines come first and all cosines after them, which is the column order of \
            TensorFlow's notebook, fairseq, and Whisper.",
    uses: ALL,
    builder: maps::encoding_map,
};

const ENCODING_MATRIX: Entry = Entry {
    name: "encoding-matrix",
    title: "The paper's matrix, sines and cosines in turn",
    summary: "the paper's table, 100 x 512",
    about: "Sines and cosines alternate, so the slow pairs on the right are stripes of cosines \
            near 1 and sines near 0. The longest wavelength is below 2π times the base, because \
            the last exponent stops one step short of 1.",
    uses: ALL,
    builder: maps::encoding_matrix,
};

const INVERTED_MAP: Entry = Entry {
    name: "inverted-map",
    title: "Read from the top down, like a text",
    summary: "the table from the top down, 50 x 256",
    about: "The first position is at the top, like the first line of a page; otherwise this is \
            the paper's table at width 256.",
    uses: ALL,
    builder: maps::inverted_map,
};

const TRANSPOSED: Entry = Entry {
    name: "transposed",
    title: "Each position a column of waves",
    summary: "the table on its side, 1000 positions",
    about: "Over a thousand positions, the border between the columns that have turned and those \
            that have not rises with the logarithm of the position.",
    uses: ALL,
    builder: maps::transposed,
};

const TRANSPOSED_CORNER: Entry = Entry {
    name: "transposed-corner",
    title: "The first {} columns, cell by cell",
    summary: "its first 64 columns and positions",
    about: "In the fast corner of the same table, neighboring rows are the sine and the cosine \
            of one frequency, a quarter of a turn apart.",
    uses: ALL,
    builder: maps::transposed_corner,
};

const TILES: Entry = Entry {
    name: "tiles",
    title: "One tile per position",
    summary: "one tile per position, 0 to 7",
    about: "The vectors of the first eight positions differ only in their first lines, where the \
            fast columns are. The rest is still a chessboard of sines near 0 and cosines near 1.",
    uses: ALL,
    builder: maps::tiles,
};

const DIMENSIONS: Entry = Entry {
    name: "dimensions",
    title: "Four columns over the positions",
    summary: "columns 4 to 7 over 100 positions",
    about: "A sine and a cosine of one frequency together determine where a pair is on its \
            circle, and one of them alone leaves two candidates.",
    uses: ALL,
    builder: curves::dimensions,
};

const DIMENSION_PAIRS: Entry = Entry {
    name: "dimension-pairs",
    title: "Waves grow longer from column to column",
    summary: "eight columns over 32 positions, each on axes of its own",
    about: "From one panel to the next the wave grows a little longer, and the dots are the \
            positions at which it is sampled.",
    uses: ALL,
    builder: curves::dimension_pairs,
};

const DOT_PRODUCT: Entry = Entry {
    name: "dot-product",
    title: "Dot product with position {}",
    summary: "dot product of every position with position 20",
    about: "The dot product of position 20 with all others is greatest at 20 itself and falls \
            alike on both sides. The rates are those of TensorFlow's notebook, so the numbers \
            differ in the fourth digit from those of the sheet above, which has the paper's \
            rates.",
    uses: ALL,
    builder: similarity::dot_product,
};

const SSE: Entry = Entry {
    name: "sse",
    title: "Squared distance from position {}",
    summary: "squared distance of every position from position 20",
    about: "The squared distance shows the dot product from the other side, because it is the \
            width minus twice the dot product.",
    uses: ALL,
    builder: similarity::sse,
};

const DISTANCES: Entry = Entry {
    name: "distances",
    title: "Distance between any two positions",
    summary: "distances between 64 positions",
    about: "Each row is the row above it, shifted by one, because the distance depends on the \
            lag alone. It grows at first, but from the lag named here on a farther position may \
            be nearer in the table.",
    uses: ALL,
    builder: similarity::distances,
};

const SHIFTED_MAP: Entry = Entry {
    name: "shifted-map",
    title: "Ten positions back is a rotation",
    summary: "the table turned back by ten positions",
    about: "One rotation moves the rows of positions 10 to 49 (above) ten positions back (middle), to \
            those of positions 0 to 39 (below), with a difference of less than the last digit of a \
            float.",
    uses: ALL,
    builder: maps::shifted_map,
};

const RINGS: Entry = Entry {
    name: "rings",
    title: "One circle per pair, all turned by one position",
    summary: "one circle per pair, turned by the position; also a GIF",
    about: "Each pair is a point (cosine, sine) on a circle of its own, and as the position \
            grows the thread of points winds up from the fast pairs in front.",
    uses: ALL,
    builder: rings::rings,
};

const ROTARY_FREQUENCIES: Entry = Entry {
    name: "rotary-frequencies",
    title: "Rotary frequencies of models",
    summary: "rotary frequencies of several models",
    about: "A greater base slows down the slow pairs, and so do Llama 3.1 and YaRN, which leave \
            the fast pairs unchanged, with a bend in between.",
    uses: &[Setting::Config],
    builder: rotary::rotary_frequencies,
};

const ROTARY_WAVELENGTHS: Entry = Entry {
    name: "rotary-wavelengths",
    title: "Wavelengths against trained lengths",
    summary: "their wavelengths against the trained lengths",
    about: "A pair whose unscaled wavelength exceeds the first length of its model never \
            completed a turn in training, so longer texts rotate it to angles that the model has \
            never seen. Gray lines are the lengths that the models state, before and after a \
            scaling; thin curves are the unscaled wavelengths.",
    uses: &[Setting::Config],
    builder: rotary::rotary_wavelengths,
};

const ALIBI_SLOPES: Entry = Entry {
    name: "alibi-slopes",
    title: "ALiBi: a slope for each head",
    summary: "ALiBi's bias of eight heads by distance",
    about: "Each head subtracts its own slope times the distance from the score, so the first \
            head attends to a few neighbors and the last one still to tokens hundreds of \
            positions back.",
    uses: &[],
    builder: biases::alibi_slopes,
};

const T5_BUCKETS: Entry = Entry {
    name: "t5-buckets",
    title: "T5: distances share buckets",
    summary: "T5's bucket of every distance, encoder and decoder",
    about: "Near distances have a bucket each, farther ones share buckets that grow by equal \
            factors, and all from 128 on share the last. An encoder needs half of the buckets \
            for keys after the query; a decoder has none there.",
    uses: &[],
    builder: biases::t5_buckets,
};

const DISTANCE_DECAY: Entry = Entry {
    name: "distance-decay",
    title: "What distance leaves of a score",
    summary: "decay of every computed scheme over the distance",
    about: "Sinusoidal and rotary scores fall with the logarithm of the distance, but ALiBi's \
            weights fall exponentially, so each head has a horizon beyond which nothing is left.",
    uses: &[],
    builder: biases::distance_decay,
};

const GRID_SIMILARITY: Entry = Entry {
    name: "grid-similarity",
    title: "Every cell of a grid compared with all others",
    summary: "similarity maps of a grid of 7 x 7 patches",
    about: "A patch is most similar to the patches near it, along both axes alike, because each \
            axis has half of the columns of ViT-MAE's grid. Each small map belongs to the patch \
            at its place.",
    uses: &[],
    builder: grids::grid_similarity,
};

const RESIZE_KERNELS: Entry = Entry {
    name: "resize-kernels",
    title: "How grids of positions are resized",
    summary: "weights of resizing: four kernels, and antialiasing",
    about: "A learned grid in another size is a weighted sum of its rows, and where it shrinks, \
            only antialiasing lets every position take part. Bicubic kernels have negative \
            weights, and torch's swings farther than PIL's.",
    uses: &[],
    builder: grids::resize_kernels,
};

const FOURIER_FIT: Entry = Entry {
    name: "fourier-fit",
    title: "A picture from sines and cosines of its coordinates",
    summary: "a picture fitted by 0 to 6 of NeRF's frequencies",
    about: "NeRF's frequencies, octaves of half a turn, let a smooth fit draw edges, but those finer than \
            the distance of the given pixels invent what is between them.",
    uses: &[],
    builder: fourier::fourier_fit,
};

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::chart::{Figure, Image, SCALE, images, texts};
    use crate::figures::Settings;

    /// Returns the panels' maps of a figure. The last image is the color bar.
    fn maps(name: &str, settings: &Settings) -> Vec<Image> {
        let entry = CATALOG.iter().find(|entry| entry.name == name).unwrap();
        let mut images = images(&entry.build(settings).unwrap()).unwrap();
        images.pop();
        images
    }

    /// A note that names every Nth position is true of the PNG.
    #[test]
    fn png_has_a_pixel_for_every_cell_of_a_map() {
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
                let pixels = |extent: f64| (extent * f64::from(SCALE)).floor() as usize;
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
        assert_eq!(images.len(), 3);
        for image in &images[1..] {
            assert!((images[0].extent.1 - image.extent.1).abs() < 0.1);
        }
        assert_eq!(images[0].cells.levels.len(), 40 * 512);
    }

    /// On a phone, on a page, and as wide as a figure is by itself.
    #[test]
    fn texts_are_inside_the_figure_and_apart() {
        let mut faults = Vec::new();
        let mut check = |figure: &Figure| {
            for width in [360, 410, 559, 560, 700, 2000] {
                let ([right, bottom], texts) = texts(figure, width).unwrap();
                for (index, (text, a)) in texts.iter().enumerate() {
                    let name = figure.name;
                    let inside =
                        a[0] >= 0.0 && a[1] >= 0.0 && a[2] <= right && a[3] <= bottom - 2.0;
                    if !inside {
                        faults.push(format!(
                            "{name}, {width}: {text:?} at {a:?} of {right} x {bottom}"
                        ));
                    }
                    for (other, b) in &texts[..index] {
                        let apart = a[2] < b[0] || b[2] < a[0] || a[3] < b[1] || b[3] < a[1];
                        if !apart {
                            faults.push(format!(
                                "{name}, {width}: {text:?} {a:?} and {other:?} {b:?}"
                            ));
                        }
                    }
                }
            }
        };
        let long = Settings {
            d_model: Some(1024),
            start: Some(4_294_000_000),
            max_seq_len: Some(3071),
            ..Settings::default()
        };
        for entry in CATALOG {
            check(&entry.build(&Settings::default()).unwrap());
            if entry.uses.contains(&Setting::Start) {
                check(&entry.build(&long).unwrap());
            }
        }
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }

    #[test]
    fn every_figure_is_in_one_section_with_words() {
        let catalog: BTreeSet<&str> = CATALOG.iter().map(|entry| entry.name).collect();
        let on_page = || SECTIONS.iter().flat_map(|section| section.figures);
        let on_page_names: BTreeSet<&str> = on_page().map(|entry| entry.name).collect();
        assert_eq!(on_page_names, catalog);
        assert_eq!(
            (on_page().count(), catalog.len()),
            (CATALOG.len(), CATALOG.len())
        );
        for entry in CATALOG {
            assert!(entry.about.len() > 80, "{}: {}", entry.name, entry.about);
            assert_eq!(entry.build(&Settings::default()).unwrap().name, entry.name);
        }
    }
}
