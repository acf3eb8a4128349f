//! The papers that the figures show.

use serde_json::{Value, json};

/// A paper.
struct Paper {
    /// Its address on the page.
    id: &'static str,
    authors: &'static str,
    year: u32,
    title: &'static str,
    /// Its number on arXiv, or where else it appeared.
    place: Place,
    /// The figures that show it.
    figures: &'static [&'static str],
}

enum Place {
    Arxiv(&'static str),
    Journal(&'static str),
}

const PAPERS: [Paper; 14] = [
    Paper {
        id: "keys",
        authors: "Keys",
        year: 1981,
        title: "Cubic Convolution Interpolation for Digital Image Processing",
        place: Place::Journal(
            "IEEE Transactions on Acoustics, Speech, and Signal Processing 29(6)",
        ),
        figures: &["resize-kernels"],
    },
    Paper {
        id: "transformer",
        authors: "Vaswani et al.",
        year: 2017,
        title: "Attention Is All You Need",
        place: Place::Arxiv("1706.03762"),
        figures: &[
            "angle-rates",
            "angle-map",
            "sinusoids",
            "encoding-map",
            "encoding-matrix",
            "inverted-map",
            "transposed",
            "transposed-corner",
            "tiles",
            "dimensions",
            "dimension-pairs",
            "dot-product",
            "sse",
            "distances",
            "shifted-map",
            "rings",
            "distance-decay",
        ],
    },
    Paper {
        id: "transformer-xl",
        authors: "Dai et al.",
        year: 2019,
        title: "Transformer-XL: Attentive Language Models Beyond a Fixed-Length Context",
        place: Place::Arxiv("1901.02860"),
        figures: &["distance-decay"],
    },
    Paper {
        id: "t5",
        authors: "Raffel et al.",
        year: 2019,
        title: "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer",
        place: Place::Arxiv("1910.10683"),
        figures: &["t5-buckets"],
    },
    Paper {
        id: "vit",
        authors: "Dosovitskiy et al.",
        year: 2020,
        title: "An Image is Worth 16x16 Words: Transformers for Image Recognition at Scale",
        place: Place::Arxiv("2010.11929"),
        figures: &["grid-similarity", "resize-kernels"],
    },
    Paper {
        id: "nerf",
        authors: "Mildenhall et al.",
        year: 2020,
        title: "NeRF: Representing Scenes as Neural Radiance Fields for View Synthesis",
        place: Place::Arxiv("2003.08934"),
        figures: &["fourier-fit"],
    },
    Paper {
        id: "fourier",
        authors: "Tancik et al.",
        year: 2020,
        title: "Fourier Features Let Networks Learn High Frequency Functions in Low Dimensional Domains",
        place: Place::Arxiv("2006.10739"),
        figures: &["fourier-fit"],
    },
    Paper {
        id: "rotary",
        authors: "Su et al.",
        year: 2021,
        title: "RoFormer: Enhanced Transformer with Rotary Position Embedding",
        place: Place::Arxiv("2104.09864"),
        figures: &["rotary-frequencies", "rotary-wavelengths", "distance-decay"],
    },
    Paper {
        id: "alibi",
        authors: "Press et al.",
        year: 2021,
        title: "Train Short, Test Long: Attention with Linear Biases Enables Input Length Extrapolation",
        place: Place::Arxiv("2108.12409"),
        figures: &["alibi-slopes", "distance-decay"],
    },
    Paper {
        id: "mae",
        authors: "He et al.",
        year: 2021,
        title: "Masked Autoencoders Are Scalable Vision Learners",
        place: Place::Arxiv("2111.06377"),
        figures: &["grid-similarity"],
    },
    Paper {
        id: "xpos",
        authors: "Sun et al.",
        year: 2022,
        title: "A Length-Extrapolatable Transformer",
        place: Place::Arxiv("2212.10554"),
        figures: &["distance-decay"],
    },
    Paper {
        id: "interpolation",
        authors: "Chen et al.",
        year: 2023,
        title: "Extending Context Window of Large Language Models via Positional Interpolation",
        place: Place::Arxiv("2306.15595"),
        figures: &[],
    },
    Paper {
        id: "yarn",
        authors: "Peng et al.",
        year: 2023,
        title: "YaRN: Efficient Context Window Extension of Large Language Models",
        place: Place::Arxiv("2309.00071"),
        figures: &["rotary-frequencies", "rotary-wavelengths"],
    },
    Paper {
        id: "llama3",
        authors: "Grattafiori et al.",
        year: 2024,
        title: "The Llama 3 Herd of Models",
        place: Place::Arxiv("2407.21783"),
        figures: &["rotary-frequencies", "rotary-wavelengths"],
    },
];

/// Returns the list at the end of the page.
pub(super) fn papers() -> Vec<Value> {
    let paper = |paper: &Paper| {
        let (arxiv, journal) = match paper.place {
            Place::Arxiv(number) => (vec![json!({ "number": number })], String::new()),
            Place::Journal(name) => (Vec::new(), name.to_owned()),
        };
        json!({
            "id": paper.id,
            "authors": paper.authors,
            "year": paper.year,
            "title": paper.title,
            "arxiv": arxiv,
            "journal": journal,
        })
    };
    PAPERS.iter().map(paper).collect()
}

/// Returns the papers of a figure in short, each with its address on the page.
pub(super) fn of_figure(name: &str) -> Vec<Value> {
    let papers = PAPERS.iter().filter(|paper| paper.figures.contains(&name));
    let mut separator = "";
    papers
        .map(|paper| {
            let before = std::mem::replace(&mut separator, "; ");
            json!({ "id": paper.id, "before": before, "authors": paper.authors, "year": paper.year })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::CATALOG;

    #[test]
    fn papers_name_figures_of_the_catalog() {
        let names: Vec<&str> = CATALOG.iter().map(|entry| entry.name).collect();
        for paper in &PAPERS {
            for figure in paper.figures {
                assert!(names.contains(figure), "{}: {figure}", paper.id);
            }
        }
        assert!(PAPERS.is_sorted_by_key(|paper| paper.year));
    }
}
