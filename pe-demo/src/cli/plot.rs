//! The arguments of `plot` and `report`.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use pe_core::{MAX_D_MODEL, POSITIONS, Preset};

use super::numbers::{positive, whole};
use super::values::{page_file, preset, preset_help};
use crate::figures::CATALOG;

const PLOT_EXAMPLES: &str = "\
Examples:
  pe-demo plot                                   all figures, in ./figures
  pe-demo plot --list                            their names
  pe-demo plot rings distances -o pictures --format svg
  pe-demo plot rotary-wavelengths -o figure.pdf  one, into a file
  pe-demo plot sse --theme transparent           for any page, light or dark
  pe-demo plot encoding-map --d-model 128 --max-seq-len 131072 --data csv
  pe-demo plot sse --base 100 --data json
  pe-demo plot sse encoding-map --preset whisper
  pe-demo plot rotary-wavelengths --config llama/config.json --config qwen.json

The options about the table replace the sizes of the figures \
that have such a number. Long tables are sampled: no more rows and columns of a map than a \
PNG has pixels for, and at most 2048 points of a curve, are computed and drawn, equally far \
apart, and the figure says which, and which pairs turn too fast to be seen so (they alias). \
Each figure of a table names its convention; --preset chooses another for all of them. Equal \
arguments give equal bytes.

PNG files state their size on paper (192 pixels per inch), all files title and description. PDF \
files need no fonts.

Exit codes: 0 written, 1 not written (files, memory), 2 bad usage.";

pub(super) const REPORT_EXAMPLES: &str = "\
Examples:
  pe-demo report                                 report.html
  pe-demo report -o encodings.html

The page needs no network and no other file.

Exit codes: 0 written, 1 not written (files, memory), 2 bad usage.";

/// Lists the figures by name, then examples.
pub(super) fn plot_help() -> String {
    let mut text = "Figures:\n".to_owned();
    for entry in CATALOG {
        text += &format!("  {:<20} {}\n", entry.name, entry.summary);
    }
    text + "\n" + PLOT_EXAMPLES
}

/// Kind of the pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum FormatArg {
    /// Pixels
    #[default]
    Png,
    /// Lines and text
    Svg,
    /// A page for print
    Pdf,
}

/// Ground of the pictures, and colors that are legible on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ThemeArg {
    /// Dark on white
    #[default]
    Light,
    /// Light on black
    Dark,
    /// No ground; legible on white and on black
    Transparent,
}

/// Kind of the files of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DataArg {
    /// One document per figure
    Json,
    /// One number per line
    Csv,
}

/// The figures to draw, and their table.
#[derive(Debug, Args)]
pub(crate) struct PlotArgs {
    /// Names of figures, as listed below [default: all]
    #[arg(
        value_name = "FIGURE",
        value_parser = PossibleValuesParser::new(CATALOG.iter().map(|entry| entry.name)),
        hide_possible_values = true
    )]
    pub(crate) figures: Vec<String>,
    /// Folder for the files, made if it does not exist; for one figure also a .png, .svg, or .pdf
    #[arg(
        help_heading = "Pictures",
        short,
        long,
        value_name = "DIR|FILE",
        default_value = "figures"
    )]
    pub(crate) output: PathBuf,
    /// Kind of the pictures [default: png]; the rings come as a GIF as well
    #[arg(help_heading = "Pictures", long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<FormatArg>,
    /// Ground of the pictures; the GIF is never transparent
    #[arg(
        help_heading = "Pictures",
        long,
        value_enum,
        default_value_t,
        value_name = "THEME"
    )]
    pub(crate) theme: ThemeArg,
    /// List the figures instead of drawing them
    #[arg(help_heading = "Pictures", long)]
    pub(crate) list: bool,
    /// Print the list as one JSON document
    #[arg(help_heading = "Pictures", long, requires = "list")]
    pub(crate) json: bool,
    /// Write the numbers of each figure, too
    #[arg(help_heading = "Pictures", long, value_enum, value_name = "FORMAT")]
    pub(crate) data: Option<DataArg>,
    /// Convention of a known library [default: each figure's own]
    #[arg(
        help_heading = "Tables",
        long,
        value_parser = preset(),
        value_name = "NAME",
        hide_possible_values = true,
        long_help = preset_help()
    )]
    pub(crate) preset: Option<Preset>,
    /// Width of the table [default: each figure's own]
    #[arg(
        help_heading = "Tables",
        long,
        value_name = "N",
        value_parser = whole::<usize>(1, MAX_D_MODEL as u64),
        allow_negative_numbers = true
    )]
    pub(crate) d_model: Option<usize>,
    /// Number of positions [default: each figure's own]
    #[arg(
        help_heading = "Tables",
        long,
        value_name = "N",
        value_parser = whole::<u64>(1, POSITIONS),
        allow_negative_numbers = true
    )]
    pub(crate) max_seq_len: Option<u64>,
    /// First position [default: 0]
    #[arg(
        help_heading = "Tables",
        long,
        value_name = "P",
        value_parser = whole::<u64>(0, POSITIONS - 1),
        allow_negative_numbers = true
    )]
    pub(crate) start: Option<u64>,
    /// Base of the frequencies [default: 10000]
    #[arg(
        help_heading = "Tables",
        long,
        value_name = "B",
        value_parser = positive,
        allow_hyphen_values = true
    )]
    pub(crate) base: Option<f64>,
    /// A model's config.json for the rotary figures; repeat it to compare
    #[arg(help_heading = "Tables", long, value_name = "FILE")]
    pub(crate) config: Vec<PathBuf>,
}

/// The file of the page.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// File to write
    #[arg(short, long, value_name = "FILE", default_value = "report.html", value_parser = page_file())]
    pub(crate) output: PathBuf,
}
