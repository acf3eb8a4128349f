//! `pe-demo report`: all figures and their numbers on one page.
//!
//! The page is one file: style, script and pictures are in it, and its policy forbids it to
//! load anything. Its sliders redraw three pictures by the formulas of the paper; the
//! numbers that it starts with are written here, by `pe-core`, and the script must agree.

mod live;
mod text;

use std::io::Write;

use anyhow::{Context, Result};

use crate::chart::{self, Figure};
use crate::cli::ReportArgs;
use crate::figures::{CATALOG, Settings};
use crate::sources::write::write;
use crate::terminal::numbers::thousands;
use crate::terminal::outcome::Outcome;
use crate::terminal::page::Page;
use crate::terminal::width::clean_path;

/// The width of the figures in pixels: with it their text can be read on a phone.
const WIDTH: u32 = 410;

pub(crate) fn run(args: &ReportArgs, out: &mut dyn Write) -> Result<Outcome> {
    let html = html()?;
    write(&args.output, html.as_bytes())?;
    let mut page = Page::new();
    let bytes = thousands(html.len() as u64);
    let path = clean_path(&args.output);
    page.wrap("wrote ", &format!("{path} ({bytes} bytes)"));
    out.write_all(page.text().as_bytes())?;
    Ok(Outcome::Success)
}

/// The whole page.
fn html() -> Result<String> {
    let mut sections = String::new();
    for section in text::SECTIONS {
        sections += &format!(
            "<section>\n<h2>{}</h2>\n<p class=\"lead\">{}</p>\n",
            chart::escape(section.title),
            chart::escape(section.lead)
        );
        for (name, about) in section.figures {
            let entry = CATALOG
                .iter()
                .find(|entry| entry.name == *name)
                .with_context(|| format!("no figure is called {name}"))?;
            sections += &figure_html(&(entry.build)(&Settings::default())?, about)?;
        }
        sections += "</section>\n";
    }
    let style = format!("{}{}", include_str!("report/style.css"), chart::theme());
    Ok(fill(
        include_str!("report/page.html"),
        &[
            ("style", &style),
            ("live", &live::html()?),
            ("sections", &sections),
            ("data", &live::data()?),
            (
                "script",
                concat!(
                    include_str!("report/number.js"),
                    include_str!("report/live.js")
                ),
            ),
            ("version", env!("CARGO_PKG_VERSION")),
        ],
    ))
}

/// The template with `{{name}}` replaced by what goes there. What goes in is not looked at
/// again, so that braces in it stay.
fn fill(template: &str, parts: &[(&str, &str)]) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some(start) = rest.find("{{") {
        let (before, from) = rest.split_at(start);
        out += before;
        let end = from.find("}}").map_or(from.len(), |end| end + 2);
        let name = from[..end].trim_matches(['{', '}']);
        if let Some((_, part)) = parts.iter().find(|(known, _)| *known == name) {
            out += part;
        }
        rest = &from[end..];
    }
    out + rest
}

fn figure_html(figure: &Figure, about: &str) -> Result<String> {
    let svg = chart::inline_svg(figure, WIDTH)?;
    let mut facts = String::new();
    for fact in &figure.facts {
        facts += &format!(
            "<div><dt>{}</dt><dd>{}</dd></div>\n",
            chart::escape(&fact.what),
            number(fact.value)
        );
    }
    Ok(format!(
        "<figure id=\"{}\">\n<div class=\"picture\">{svg}</div>\n<figcaption><p>{}</p>\n\
         <dl>\n{facts}</dl></figcaption>\n</figure>\n",
        figure.name,
        chart::escape(about)
    ))
}

/// A number for people, and behind it the number itself.
fn number(value: f64) -> String {
    format!("<data value=\"{value:e}\">{}</data>", short(value))
}

/// Six digits after the point, or powers of ten where that would show little; digit for digit as
/// the page's script writes it (`number.js`).
fn short(value: f64) -> String {
    let size = value.abs();
    let text = if size == size.trunc() && size < 1e15 {
        format!("{size}")
    } else if (1e-3..1e9).contains(&size) {
        half_up(size, |size, digits| format!("{size:.digits$}"))
    } else {
        let text = half_up(size, |size, digits| format!("{size:.digits$e}"));
        match text
            .split_once('e')
            .map(|(digits, power)| (digits, power.parse()))
        {
            Some((digits, Ok(power))) => format!("{digits} \u{d7} {}", chart::power_of_ten(power)),
            _ => text,
        }
    };
    if value < 0.0 {
        format!("\u{2212}{text}")
    } else {
        text
    }
}

/// A number with six digits after the point. The standard library rounds ties to even, scripts
/// round them up.
fn half_up(size: f64, write: impl Fn(f64, usize) -> String) -> String {
    // No f64 has more digits.
    let exact = write(size, 1100);
    let digits = exact.split(['.', 'e']).nth(1).unwrap_or_default();
    let tie = digits
        .get(6..)
        .and_then(|rest| rest.strip_prefix('5'))
        .is_some_and(|rest| rest.bytes().all(|digit| digit == b'0'));
    write(if tie { size.next_up() } else { size }, 6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_has_a_place_and_words_on_the_page() {
        let mut named: Vec<&str> = Vec::new();
        for section in text::SECTIONS {
            for (name, about) in section.figures {
                assert!(about.len() > 80, "{name}: {about}");
                named.push(name);
            }
        }
        named.sort_unstable();
        let mut known: Vec<&str> = CATALOG.iter().map(|entry| entry.name).collect();
        known.sort_unstable();
        assert_eq!(named, known);
    }

    #[test]
    fn templates_are_filled_once() {
        let filled = fill("a {{x}} b {{y}} {c}", &[("x", "{{y}}"), ("y", "2")]);
        assert_eq!(filled, "a {{y}} b 2 {c}");
    }

    #[test]
    fn numbers_for_people() {
        // The page's script is held against the same list by tests/report/check.py.
        let list = include_str!("../../tests/report/numbers.csv");
        for line in list.lines().skip(1) {
            let (value, text) = line.split_once(',').unwrap();
            assert_eq!(short(value.parse().unwrap()), text, "{value}");
        }
        assert!(list.lines().count() > 40);
        assert_eq!(number(0.5), "<data value=\"5e-1\">0.500000</data>");
    }
}
