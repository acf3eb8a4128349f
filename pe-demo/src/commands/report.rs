//! `pe-demo report`: all figures and their numbers on one page.
//!
//! The page is one file. Style, script and pictures are in it, and its policy forbids it to
//! load anything. Its sliders redraw three pictures by the formulas of the paper. Its first
//! numbers are computed here, by `pe-core`, and the script must agree with them.

mod live;
mod template;

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use serde_json::{Value, json};

use crate::chart;
use crate::cli::ReportArgs;
use crate::figures::{Entry, SECTIONS, Settings};
use crate::sources::write::write;
use crate::terminal::numbers::{six_digits, thousands};
use crate::terminal::outcome::Outcome;
use crate::terminal::page::Page;
use crate::terminal::width::clean_path;

/// The width of the figures in pixels: with it their text can be read on a phone.
const WIDTH: u32 = 410;

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
    let mut sections = Vec::new();
    for section in SECTIONS {
        let figures = section.figures.iter().map(|entry| figure(entry));
        let figures = figures.collect::<Result<Vec<_>>>()?;
        sections.push(json!({ "title": section.title, "lead": section.lead, "figures": figures }));
    }
    let [light, dark] = chart::theme();
    let style = template::fill(
        include_str!("report/style.css"),
        &json!({ "light": light, "dark": dark }),
    )?;
    template::fill(
        include_str!("report/page.html"),
        &json!({
            "style": style,
            "live": [live::values()?],
            "sections": sections,
            "data": live::data(),
            "script": live::script(),
            "version": env!("CARGO_PKG_VERSION"),
        }),
    )
}

/// Builds a figure with its words and numbers.
fn figure(entry: &Entry) -> Result<Value> {
    let figure = entry.build(&Settings::default())?;
    let facts = figure.facts.iter().map(|fact| {
        let (value, text) = (format!("{:e}", fact.value), six_digits(fact.value));
        json!({ "what": fact.what, "value": value, "text": text })
    });
    Ok(json!({
        "name": figure.name,
        "picture": chart::inline_svg(&figure, WIDTH)?,
        "about": entry.about,
        "facts": facts.collect::<Vec<_>>(),
    }))
}
