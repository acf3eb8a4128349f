//! A scene as SVG. Text stays text, in the reader's own sans-serif font.

use std::fmt::Write;

use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::Caption;
use super::color::{PAPER, Theme, Tone};
use super::font::Weight;
use super::scene::{Anchor, Closed, Heading, Image, Ink, Item, Point, Scene, Text};

const FONTS: &str = "Roboto,system-ui,'Helvetica Neue',Arial,sans-serif";

/// Destination of a drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// A file of its own, on a theme's ground.
    File(Theme),
    /// A place inside a page, in the page's colors.
    Page,
}

impl Target {
    /// Formats a color: as a number, or as the page's variable.
    fn color(self, tone: Tone) -> String {
        match self {
            Self::File(theme) => tone.of(theme).hex(),
            Self::Page => format!("var(--{})", tone.name),
        }
    }
}

/// Builds the document. Its caption is for those who cannot see it.
pub(crate) fn document(scene: &Scene, target: Target, caption: &Caption<'_>) -> Result<String> {
    let (width, height) = scene.size;
    let Caption {
        name,
        title,
        description,
    } = *caption;
    let (title, description) = (escape(title), escape(description));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" font-family=\"{FONTS}\" \
         stroke-linecap=\"round\" stroke-linejoin=\"round\" role=\"img\" "
    );
    // On a page a title would be shown at the pointer, and names would have to be unique.
    match target {
        Target::File(_) => write!(
            out,
            "aria-labelledby=\"{name}-title {name}-desc\">\n<title id=\"{name}-title\">{title}</title>\n\
             <desc id=\"{name}-desc\">{description}</desc>\n"
        )?,
        Target::Page => write!(out, "aria-label=\"{title}\">\n<desc>{description}</desc>\n")?,
    }
    if let Target::File(Theme::Light | Theme::Dark) = target {
        let paper = target.color(PAPER);
        writeln!(
            out,
            "<rect width=\"{width}\" height=\"{height}\" fill=\"{paper}\"/>"
        )?;
    }
    for item in &scene.items {
        draw(&mut out, item, target)?;
    }
    out += "</svg>\n";
    Ok(out)
}

fn draw(out: &mut String, item: &Item, target: Target) -> Result<()> {
    match item {
        Item::Stroke {
            points,
            closed,
            width,
            dash,
            ink,
        } => {
            let end = match closed {
                Closed::Yes => "Z",
                Closed::No => "",
            };
            writeln!(
                out,
                "<path d=\"{}{end}\" fill=\"none\" stroke=\"{}\"{}{} stroke-width=\"{}\"/>",
                path(points),
                target.color(ink.tone),
                opacity("stroke-opacity", *ink, target),
                dashes(dash),
                short(*width)
            )?;
        }
        Item::Disc {
            center,
            radius,
            ink,
        } => writeln!(
            out,
            "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\"{}/>",
            short(center.0),
            short(center.1),
            short(*radius),
            target.color(ink.tone),
            opacity("fill-opacity", *ink, target)
        )?,
        Item::Text(text) => write_text(out, text, target)?,
        Item::Image(image) => write_image(out, image)?,
    }
    Ok(())
}

/// Least width in pixels of a text that states its width.
const LONG: f64 = 100.0;

fn write_text(out: &mut String, text: &Text, target: Target) -> Result<()> {
    let (x, y) = (short(text.at.0), short(text.at.1));
    let anchor = match text.anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let weight = match text.weight {
        Weight::Regular => "",
        Weight::Medium => " font-weight=\"500\"",
    };
    // Lines were broken for the program's own font. Another one gets the same space.
    let width = text.weight.width(&text.text)? * text.size;
    let length = if width > LONG {
        format!(
            " textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\"",
            short(width)
        )
    } else {
        String::new()
    };
    let turn = match text.heading {
        Heading::Right => String::new(),
        Heading::Up => format!(" transform=\"rotate(-90 {x} {y})\""),
    };
    writeln!(
        out,
        "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\"{weight}{anchor}{length}{turn} fill=\"{}\">{}</text>",
        short(text.size),
        target.color(text.ink.tone),
        escape(&text.text)
    )?;
    Ok(())
}

fn write_image(out: &mut String, image: &Image) -> Result<()> {
    let png = super::png::indexed(&image.cells)?;
    writeln!(
        out,
        "<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" \
         style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{}\"/>",
        short(image.at.0),
        short(image.at.1),
        short(image.extent.0),
        short(image.extent.1),
        BASE64.encode(png)
    )?;
    Ok(())
}

/// Writes a line through points, each but the first as the step from the previous one.
fn path(points: &[Point]) -> String {
    // Hundredths of a pixel, so that nothing is lost in the sum of the steps.
    let whole = |v: f64| (v * 100.0).round() as i64;
    let mut text = String::new();
    let mut last = (0, 0);
    for (index, (x, y)) in points.iter().enumerate() {
        let next = (whole(*x), whole(*y));
        let (dx, dy) = (next.0 - last.0, next.1 - last.1);
        text += match index {
            0 => "M",
            1 => "l",
            _ if dx < 0 => "",
            _ => " ",
        };
        text += &hundredths(dx);
        if dy >= 0 {
            text.push(' ');
        }
        text += &hundredths(dy);
        last = next;
    }
    text
}

fn short(number: f64) -> String {
    hundredths((number * 100.0).round() as i64)
}

/// Writes a number of hundredths in as few characters as possible.
fn hundredths(number: i64) -> String {
    let sign = if number < 0 { "-" } else { "" };
    let (whole, rest) = (number.abs() / 100, number.abs() % 100);
    let whole = if whole == 0 && rest != 0 {
        String::new()
    } else {
        whole.to_string()
    };
    match rest {
        0 => format!("{sign}{whole}"),
        _ if rest % 10 == 0 => format!("{sign}{whole}.{}", rest / 10),
        _ => format!("{sign}{whole}.{rest:02}"),
    }
}

fn opacity(name: &str, ink: Ink, target: Target) -> String {
    let opacity = match target {
        Target::File(theme) => ink.opacity * ink.tone.opacity(theme),
        Target::Page => ink.opacity,
    };
    if opacity < 1.0 {
        format!(" {name}=\"{}\"", short(opacity))
    } else {
        String::new()
    }
}

fn dashes(dash: &[f64]) -> String {
    if dash.is_empty() {
        return String::new();
    }
    let lengths: Vec<String> = dash.iter().map(|length| short(*length)).collect();
    format!(" stroke-dasharray=\"{}\"", lengths.join(" "))
}

/// Escapes a text for markup.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_steps_add_up() {
        assert_eq!(short(0.0), "0");
        assert_eq!(short(-0.5), "-.5");
        assert_eq!(short(12.25), "12.25");
        assert_eq!(short(3.05), "3.05");
        assert_eq!(
            path(&[(1.0, 2.0), (2.5, 1.5), (1.5, 3.0)]),
            "M1 2l1.5-.5-1 1.5"
        );
    }

    #[test]
    fn markup_in_texts_stays_text() {
        assert_eq!(escape("a<b & \"c\""), "a&lt;b &amp; &quot;c&quot;");
    }
}
