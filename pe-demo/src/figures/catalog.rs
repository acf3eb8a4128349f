//! The figures: names, words, settings, and builders.

use super::entry::{Entry, Setting};
use super::{biases, binary, curves, grids, maps, rates, rings, rotary, similarity};

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
];

/// The sections of the page, in its order.
pub(crate) const SECTIONS: &[Section] = &[
    Section {
        title: "From counting to turning",
        lead: "A position can be written as a binary number. Its lowest bit flips at every step, \
               the next at every second, and so on: a ladder of rhythms. Sines and cosines are the \
               same ladder with round steps.",
        figures: &[&BINARY, &ANGLE_RATES, &ANGLE_MAP, &SINUSOIDS],
    },
    Section {
        title: "The table",
        lead: "One row per position, one column per sine or cosine. Every entry here is the number \
               nearest to the true value.",
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
        lead: "Down a column, the table is a plain wave over the positions.",
        figures: &[&DIMENSIONS, &DIMENSION_PAIRS],
    },
    Section {
        title: "Near and far",
        lead: "Vectors of positions can be compared like any others. What comes out depends on how \
               far apart the positions are and on nothing else.",
        figures: &[&DOT_PRODUCT, &SSE, &DISTANCES],
    },
    Section {
        title: "A step is a rotation",
        lead: "Going on by k positions turns each pair by k times its angle, whatever the \
               position. A model can learn that turn once and use it everywhere.",
        figures: &[&SHIFTED_MAP, &RINGS],
    },
    Section {
        title: "Rotary embeddings",
        lead: "Most models of today turn pairs of their queries and keys by the same angles \
               instead of adding a vector. What is left of the absolute positions in a dot product \
               is their difference.",
        figures: &[&ROTARY_FREQUENCIES, &ROTARY_WAVELENGTHS],
    },
    Section {
        title: "Biases of attention",
        lead: "Other models leave vectors as they are and change the scores: a number for each \
               distance, computed or trained, is added before the softmax.",
        figures: &[&ALIBI_SLOPES, &T5_BUCKETS, &DISTANCE_DECAY],
    },
    Section {
        title: "Images",
        lead: "A patch of an image has two positions, and its encoding an axis for each.",
        figures: &[&GRID_SIMILARITY, &RESIZE_KERNELS],
    },
];

const BINARY: Entry = Entry {
    name: "binary",
    title: "Positions as binary numbers",
    summary: "positions as binary numbers, bit by bit",
    about: "Each row is one bit. Low bits are fast, high bits slow, and those above the seventh \
            never move below position 128: the same waste that slow pairs of an encoding have at \
            short lengths.",
    uses: &[Setting::MaxSeqLen, Setting::Start],
    builder: binary::binary,
};

const ANGLE_RATES: Entry = Entry {
    name: "angle-rates",
    title: "Rotation rate of each pair",
    summary: "how fast each pair turns, and how far conventions differ",
    about: "Each pair of columns turns by a fixed angle per position. From the first pair to the \
            last the angle falls by equal factors, a straight line on the axis above. Whether the \
            last pair is at 1/base or one step before is a matter of convention. Above, the two \
            look like one line; their ratio, below, grows to a few percent, and tables of the two \
            kinds do not fit each other.",
    uses: &[Setting::Preset, Setting::DModel, Setting::Base],
    builder: rates::angle_rates,
};

const ANGLE_MAP: Entry = Entry {
    name: "angle-map",
    title: "Angle of every pair at every position",
    summary: "angles in degrees, all positions and pairs",
    about: "The angle that each pair has reached. Colors run around the circle, so that 360 \
            degrees are 0 degrees again. On the left whole turns follow each other closely; on the \
            right pairs have barely left their start after five hundred positions.",
    uses: ALL,
    builder: maps::angle_map,
};

const SINUSOIDS: Entry = Entry {
    name: "sinusoids",
    title: "Four positions as sinusoids over the dimension",
    summary: "positions 0, 4, 8, 12 as waves over the pairs",
    about: "A position seen across the pairs: a wave that slows down to the right. Later positions \
            begin with more turns, and no two waves are the same.",
    uses: ALL,
    builder: curves::sinusoids,
};

const ENCODING_MAP: Entry = Entry {
    name: "encoding-map",
    title: "Sines on the left, cosines on the right",
    summary: "the table, all sines, then all cosines",
    about: "All sines in the left half, all cosines in the right: the order of TensorFlow's \
            notebook, of fairseq and of Whisper.",
    uses: ALL,
    builder: maps::encoding_map,
};

const ENCODING_MATRIX: Entry = Entry {
    name: "encoding-matrix",
    title: "The paper's matrix, sines and cosines in turn",
    summary: "the paper's table, 100 x 512",
    about: "Sines and cosines in turn, the order of the paper. Stripes on the right are slow \
            cosines near 1 beside slow sines near 0. The longest wave is not 2π times the base: \
            the last exponent stops one step short of 1.",
    uses: ALL,
    builder: maps::encoding_matrix,
};

const INVERTED_MAP: Entry = Entry {
    name: "inverted-map",
    title: "Read from the top down, like a text",
    summary: "the table from the top down, 50 x 256",
    about: "The same at width 256 with the first position at the top, as a sentence on a page \
            would have it.",
    uses: ALL,
    builder: maps::inverted_map,
};

const TRANSPOSED: Entry = Entry {
    name: "transposed",
    title: "Each position a column of waves",
    summary: "the table on its side, 1000 positions",
    about: "On its side, over a thousand positions: each wave runs from left to right, and the \
            front of red and blue moves up with the logarithm of the position.",
    uses: ALL,
    builder: maps::transposed,
};

const TRANSPOSED_CORNER: Entry = Entry {
    name: "transposed-corner",
    title: "The first {} columns, cell by cell",
    summary: "its first 64 columns and positions",
    about: "The fast corner of the same table, each cell to be seen. Neighboring rows are a sine \
            and a cosine of one frequency, a quarter of a turn apart.",
    uses: ALL,
    builder: maps::transposed_corner,
};

const TILES: Entry = Entry {
    name: "tiles",
    title: "One tile per position",
    summary: "one tile per position, 0 to 7",
    about: "The vectors of the first eight positions, wrapped into tiles. They differ in their \
            first lines only, where the fast columns are; the rest is still the chessboard of sine \
            0 and cosine 1.",
    uses: ALL,
    builder: maps::tiles,
};

const DIMENSIONS: Entry = Entry {
    name: "dimensions",
    title: "Four columns over the positions",
    summary: "columns 4 to 7 over 100 positions, with a legend",
    about: "Four columns of a narrow table: two frequencies, each as sine and cosine. Together the \
            two tell where on its circle a pair is; one alone would leave two candidates.",
    uses: ALL,
    builder: curves::dimensions,
};

const DIMENSION_PAIRS: Entry = Entry {
    name: "dimension-pairs",
    title: "Waves grow longer from column to column",
    summary: "eight columns over 32 positions, each on axes of its own",
    about: "Columns taken from a wide table. From one panel to the next the wave grows a little \
            longer; dots are the positions at which it is read.",
    uses: ALL,
    builder: curves::dimension_pairs,
};

const DOT_PRODUCT: Entry = Entry {
    name: "dot-product",
    title: "Dot product with position {}",
    summary: "dot product of every position with position 20",
    about: "The dot product of position 20 with all others is greatest at 20 itself, where each of \
            the pairs adds one, and the same to the left and to the right. The rates are those of \
            TensorFlow's notebook, whose last pair is at 1/base; with the paper's, as under the \
            sliders, the numbers differ in the fourth digit.",
    uses: ALL,
    builder: similarity::dot_product,
};

const SSE: Entry = Entry {
    name: "sse",
    title: "Squared distance from position {}",
    summary: "squared distance of every position from position 20",
    about: "The squared distance tells the same from the other side: it is the width minus twice \
            the dot product.",
    uses: ALL,
    builder: similarity::sse,
};

const DISTANCES: Entry = Entry {
    name: "distances",
    title: "Distance between any two positions",
    summary: "distances between 64 positions",
    about: "Every row is the one above it, moved by one: the distance belongs to the lag. It grows \
            at first, but not for ever; from the lag named here on a farther position may be \
            nearer in the table.",
    uses: ALL,
    builder: similarity::distances,
};

const SHIFTED_MAP: Entry = Entry {
    name: "shifted-map",
    title: "Ten positions back is a rotation",
    summary: "the table turned back by ten positions",
    about: "Above: the rows of positions 10 to 49. In the middle: the same rows, turned back by ten \
            with one matrix. Below: the rows of positions 0 to 39, computed directly. What differs \
            is less than the last digit of a float.",
    uses: ALL,
    builder: maps::shifted_map,
};

const RINGS: Entry = Entry {
    name: "rings",
    title: "One circle per pair, all turned by one position",
    summary: "one circle per pair, turned by the position; also a GIF",
    about: "All pairs of one position at once, the fastest in front. The point of each pair is at \
            (cosine, sine) on its circle. As the position grows the thread winds up from the \
            front.",
    uses: ALL,
    builder: rings::rings,
};

const ROTARY_FREQUENCIES: Entry = Entry {
    name: "rotary-frequencies",
    title: "Rotary frequencies of models",
    summary: "rotary frequencies of several models",
    about: "A greater base makes the slow pairs slower. Llama 3.1 and YaRN leave the fast pairs as \
            they are and slow the others down, with a bend in between, so that longer texts do not \
            turn them farther than they have turned before. The ratio of the rates shows it.",
    uses: &[Setting::Config],
    builder: rotary::rotary_frequencies,
};

const ROTARY_WAVELENGTHS: Entry = Entry {
    name: "rotary-wavelengths",
    title: "Wavelengths against trained lengths",
    summary: "their wavelengths against the trained lengths",
    about: "Gray lines are the lengths that the models state, before and after their frequencies \
            were scaled; thin curves are the wavelengths before that. The first training had the \
            thin curve, or the only one. Where it is above the first length, a pair did not come \
            full circle: beyond that length it takes angles that the model had never seen.",
    uses: &[Setting::Config],
    builder: rotary::rotary_wavelengths,
};

const ALIBI_SLOPES: Entry = Entry {
    name: "alibi-slopes",
    title: "ALiBi: a slope for each head",
    summary: "ALiBi's bias of eight heads by distance",
    about: "Each head subtracts its slope times the distance from the score. The first head sees \
            a few neighbors and little else; the last one still sees hundreds of tokens back. \
            Nothing is trained, and no distance is too far to have a bias.",
    uses: &[],
    builder: biases::alibi_slopes,
};

const T5_BUCKETS: Entry = Entry {
    name: "t5-buckets",
    title: "T5: distances share buckets",
    summary: "T5's bucket of every distance, encoder and decoder",
    about: "Near distances have a bucket each. Farther ones share buckets that grow by equal \
            factors, and all from 128 on share the last. A model learns one number for each \
            bucket and head. An encoder needs half of the buckets for keys after the query; a \
            decoder has none there, and all of them for the past.",
    uses: &[],
    builder: biases::t5_buckets,
};

const DISTANCE_DECAY: Entry = Entry {
    name: "distance-decay",
    title: "What distance leaves of a score",
    summary: "decay of every computed scheme over the distance",
    about: "Sinusoidal and rotary scores fall with the logarithm of the distance, alike for one \
            base; a greater base moves the fall to the right. ALiBi falls exponentially: \
            each head has a horizon of its own, beyond which nothing is left.",
    uses: &[],
    builder: biases::distance_decay,
};

const GRID_SIMILARITY: Entry = Entry {
    name: "grid-similarity",
    title: "Every cell of a grid compared with all others",
    summary: "similarity maps of a grid of 7 x 7 patches",
    about: "The figure of the paper on vision transformers, for the computed grid of ViT-MAE. \
            Each small map belongs to the patch at its place. Its row and its column are as \
            bright as its neighborhood, because each axis has half of the columns.",
    uses: &[],
    builder: grids::grid_similarity,
};

const RESIZE_KERNELS: Entry = Entry {
    name: "resize-kernels",
    title: "How grids of positions are resized",
    summary: "weights of resizing: four kernels, and antialiasing",
    about: "A learned grid in another size is a weighted sum of its rows. Bicubic kernels have \
            negative weights, and torch's swings farther than PIL's. Where a grid shrinks, only \
            antialiasing lets every position take part.",
    uses: &[],
    builder: grids::resize_kernels,
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
