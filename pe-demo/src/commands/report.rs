//! `pe-demo report`: all figures and their numbers on one page.
//!
//! The page is one file. Style, fonts, script and pictures are in it, and its policy forbids it to load anything.
//! Each figure is there twice, drawn for a wide screen and for a narrow one, and the style sheet shows one of them.
//! The page has two sheets with sliders, redrawn by its script. Their first numbers are computed here, by `pe-core`,
//! and the script must agree with them.

mod live;
mod script;
mod sources;
mod template;

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};

use crate::chart::{self, Content, Figure};
use crate::cli::ReportArgs;
use crate::figures::{CATALOG, SECTIONS, Section, Settings};
use crate::sources::write::write;
use crate::terminal::numbers::{six_digits, thousands};
use crate::terminal::outcome::Outcome;
use crate::terminal::page::Page;
use crate::terminal::width::clean_path;

/// The width of the figures in pixels on a narrow screen, on which their text can be read on a phone.
const NARROW: u32 = 410;
/// The width of a figure that has another one next to it.
const HALF: u32 = 576;
/// The width of a figure that has a row for itself, and its caption next to it.
const WHOLE: u32 = 860;

/// The figure above which the sheet of rotary scores is placed.
const ROTARY: &str = "rotary-frequencies";

/// The options of `pe-demo report`.
pub(crate) struct Options {
    output: PathBuf,
}

impl From<ReportArgs> for Options {
    fn from(args: ReportArgs) -> Self {
        Self {
            output: args.output,
        }
    }
}

/// Builds the page and writes it.
pub(crate) fn run(options: &Options, out: &mut dyn Write) -> Result<Outcome> {
    let html = html()?;
    write(&options.output, html.as_bytes())?;
    let mut page = Page::new();
    let bytes = thousands(html.len() as u64);
    let path = clean_path(&options.output);
    page.wrap("wrote ", &format!("{path} ({bytes} bytes)"));
    out.write_all(page.text().as_bytes())?;
    Ok(Outcome::Success)
}

/// Builds the page.
fn html() -> Result<String> {
    let [light, dark] = chart::theme();
    let fonts = chart::FACES
        .map(|(weight, bytes)| json!({ "weight": weight, "bytes": BASE64.encode(bytes) }));
    let style = template::fill(
        include_str!("report/style.css"),
        &json!({ "light": light, "dark": dark, "fonts": fonts }),
    )?;
    let sections = SECTIONS.iter().map(section);
    template::fill(
        include_str!("report/page.html"),
        &json!({
            "style": style,
            "table": [live::table()?],
            "sections": sections.collect::<Result<Vec<_>>>()?,
            "papers": sources::papers(),
            "data": script::data(),
            "script": script::joined(),
            "count": CATALOG.len(),
            "version": env!("CARGO_PKG_VERSION"),
        }),
    )
}

/// Builds the address of a section from its title.
fn address(title: &str) -> String {
    title.to_lowercase().replace(' ', "-")
}

/// Builds a section with its figures.
fn section(section: &Section) -> Result<Value> {
    let figures = section.figures.iter();
    let figures = figures.map(|entry| Ok((entry.build(&Settings::default())?, entry.about)));
    let figures = figures.collect::<Result<Vec<_>>>()?;
    let places = places(figures.iter().map(|(figure, _)| needs_a_row(figure)));
    let figures = figures.iter().zip(places);
    let figures = figures.map(|((drawn, about), place)| figure(drawn, about, place));
    let rotary = section.figures.iter().filter(|entry| entry.name == ROTARY);
    let rotary = rotary.map(|_| live::rotary());
    Ok(json!({
        "id": address(section.title),
        "title": section.title,
        "lead": section.lead,
        "rotary": rotary.collect::<Result<Vec<_>>>()?,
        "figures": figures.collect::<Result<Vec<_>>>()?,
    }))
}

/// Place of a figure on a wide screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Next to another figure, the caption below.
    Half,
    /// In a row of its own, the caption next to it.
    Whole,
}

/// Returns whether a figure is too wide to have another one next to it.
fn needs_a_row(figure: &Figure) -> bool {
    figure.panels.len() > 1
        || figure
            .panels
            .iter()
            .any(|panel| matches!(panel.content, Content::Rings(_)))
}

/// Places figures in their order. A figure without a neighbor gets a row of its own.
fn places(need_a_row: impl Iterator<Item = bool>) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    let mut alone = false;
    for needs_a_row in need_a_row {
        if needs_a_row && alone {
            places.pop();
            places.push(Place::Whole);
        }
        places.push(if needs_a_row {
            Place::Whole
        } else {
            Place::Half
        });
        alone = !needs_a_row && !alone;
    }
    if alone {
        places.pop();
        places.push(Place::Whole);
    }
    places
}

/// Builds a figure with its words and numbers.
fn figure(figure: &Figure, about: &str, place: Place) -> Result<Value> {
    let facts = figure.facts.iter().map(|fact| {
        let (value, text) = (format!("{:e}", fact.value), six_digits(fact.value));
        json!({ "what": fact.what, "value": value, "text": text })
    });
    let (place, width) = match place {
        Place::Half => ("half", HALF),
        Place::Whole => ("whole", WHOLE),
    };
    Ok(json!({
        "name": figure.name,
        "place": place,
        "width": width.min(figure.shape.width),
        "title": figure.title,
        "note": figure.note,
        "wide": chart::inline_svg(figure, width)?,
        "narrow": chart::inline_svg(figure, NARROW)?,
        "about": about,
        "papers": sources::of_figure(figure.name),
        "facts": facts.collect::<Vec<_>>(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_without_a_neighbor_get_a_row() {
        use Place::{Half, Whole};
        let placed = |rows: &[bool]| places(rows.iter().copied());
        assert_eq!(placed(&[false, false]), [Half, Half]);
        assert_eq!(placed(&[false]), [Whole]);
        assert_eq!(
            placed(&[false, true, false, false]),
            [Whole, Whole, Half, Half]
        );
        assert_eq!(
            placed(&[false, false, false, true]),
            [Half, Half, Whole, Whole]
        );
        assert_eq!(placed(&[]), []);
    }

    /// A letter that the page's font lacks would be drawn in another one.
    #[test]
    fn page_has_the_letters_of_its_font_alone() {
        let html = html().unwrap();
        let body = html.split_once("<body>").unwrap().1;
        for c in body.chars().filter(|c| !c.is_control()) {
            assert!(chart::has_letter(c), "{c:?}");
        }
    }
}
