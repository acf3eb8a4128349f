//! What the page says about the figures.

/// Figures that belong together.
pub(super) struct Section {
    pub(super) title: &'static str,
    pub(super) lead: &'static str,
    /// Names of figures, and what there is to see in them.
    pub(super) figures: &'static [(&'static str, &'static str)],
}

pub(super) const SECTIONS: &[Section] = &[
    Section {
        title: "From counting to turning",
        lead: "A position can be written as a binary number. Its lowest bit flips at every step, the next \
               at every second, and so on: a ladder of rhythms. Sines and cosines are the same ladder \
               with round steps.",
        figures: &[
            (
                "binary",
                "Each row is one bit. Low bits are fast, high bits slow, and those above the seventh never \
                 move below position 128: the same waste that slow pairs of an encoding have at short lengths.",
            ),
            (
                "angle-rates",
                "Each pair of columns turns by a fixed angle per position. From the first pair to the last \
                 the angle falls by equal factors, a straight line on this axis. Whether the last pair is at \
                 1/base or one step before is a matter of convention; over hundreds of pairs it is a small \
                 difference, and yet tables of the two kinds do not fit each other.",
            ),
            (
                "angle-map",
                "The angle that each pair has reached. Colors run around the circle, so that 360 degrees are \
                 0 degrees again. On the left whole turns follow each other closely; on the right pairs have \
                 barely left their start after fifty positions.",
            ),
            (
                "sinusoids",
                "A position seen across the pairs: a wave that slows down to the right. Later positions begin \
                 with more turns, and no two waves are the same.",
            ),
        ],
    },
    Section {
        title: "The table",
        lead: "One row per position, one column per sine or cosine. Every entry here is the number nearest \
               to the true value.",
        figures: &[
            (
                "encoding-map",
                "All sines in the left half, all cosines in the right: the order of TensorFlow's notebook, of \
                 fairseq and of Whisper.",
            ),
            (
                "encoding-matrix",
                "Sines and cosines in turn, the order of the paper. Stripes on the right are slow cosines near 1 \
                 beside slow sines near 0. The longest wave is not 2π times the base: the last exponent \
                 stops one step short of 1.",
            ),
            (
                "inverted-map",
                "The same at width 256 with the first position at the top, as a sentence on a page would have it.",
            ),
            (
                "transposed",
                "On its side, over a thousand positions: each wave runs from left to right, and the front of red \
                 and blue moves up with the logarithm of the position.",
            ),
            (
                "transposed-corner",
                "The fast corner of the same table, each cell to be seen. Neighboring rows are a sine and a cosine \
                 of one frequency, a quarter of a turn apart.",
            ),
            (
                "tiles",
                "The vectors of the first eight positions, wrapped into tiles. They differ in their first lines only, \
                 where the fast columns are; the rest is still the chessboard of sine 0 and cosine 1.",
            ),
        ],
    },
    Section {
        title: "Single columns",
        lead: "Down a column, the table is a plain wave over the positions.",
        figures: &[
            (
                "dimensions",
                "Four columns of a narrow table: two frequencies, each as sine and cosine. Together the two tell \
                 where on its circle a pair is; one alone would leave two candidates.",
            ),
            (
                "dimension-pairs",
                "Columns taken from a wide table. From one panel to the next the wave grows a little longer; \
                 dots are the positions at which it is read.",
            ),
        ],
    },
    Section {
        title: "Near and far",
        lead: "Vectors of positions can be compared like any others. What comes out depends on how far apart \
               the positions are and on nothing else.",
        figures: &[
            (
                "dot-product",
                "The dot product of position 20 with all others is greatest at 20 itself, where each of the pairs \
                 adds one, and the same to the left and to the right. The rates are those of TensorFlow's notebook, \
                 whose last pair is at 1/base; with the paper's, as under the sliders, the numbers differ in the \
                 fourth digit.",
            ),
            (
                "sse",
                "The squared distance tells the same from the other side: it is the width minus twice the dot product.",
            ),
            (
                "distances",
                "Every row is the one above it, moved by one: the distance belongs to the lag. It grows at first, \
                 but not for ever; from the lag named here on a farther position may be nearer in the table.",
            ),
        ],
    },
    Section {
        title: "A step is a rotation",
        lead: "Going on by k positions turns each pair by k times its angle, whatever the position. A model can \
               learn that turn once and use it everywhere.",
        figures: &[
            (
                "shifted-map",
                "Above: the rows of positions 10 to 49, turned back by ten with one matrix. Below: the rows of \
                 positions 0 to 39, computed directly. What differs is less than the last digit of a float.",
            ),
            (
                "rings",
                "All pairs of one position at once, the fastest in front. The point of each pair is at (cosine, sine) \
                 on its circle. As the position grows the thread winds up from the front.",
            ),
        ],
    },
    Section {
        title: "Rotary embeddings",
        lead: "Most models of today turn pairs of their queries and keys by the same angles instead of adding \
               a vector. What is left of the absolute positions in a dot product is their difference.",
        figures: &[
            (
                "rotary-frequencies",
                "A greater base makes the slow pairs slower. Llama 3.1 and YaRN leave the fast pairs as they are and \
                 slow the others down, with a bend in between, so that longer texts do not turn them \
                 farther than they have turned before.",
            ),
            (
                "rotary-wavelengths",
                "Gray lines are the lengths that the models state, before and after their frequencies were scaled; \
                 thin curves are the wavelengths before that. The first training had the thin curve, or the only \
                 one. Where it is above the first length, a pair did not come full circle: beyond that length it \
                 takes angles that the model had never seen.",
            ),
        ],
    },
];
