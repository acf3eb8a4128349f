//! A scene as SVG. Text stays text, in the reader's own sans-serif font.

use std::fmt::Write;

use anyhow::Result;

use super::color::PAPER;
use super::font::Weight;
use super::scene::{Anchor, Closed, Heading, Image, Ink, Item, Point, Scene, Text};

const FONTS: &str = "Roboto,system-ui,'Helvetica Neue',Arial,sans-serif";

/// What lies behind the drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Background {
    White,
    Clear,
}

/// The whole document; `label` says what it shows to those who cannot see it.
pub(crate) fn document(scene: &Scene, background: Background, label: &str) -> Result<String> {
    let (width, height) = scene.size;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" font-family=\"{FONTS}\" \
         stroke-linecap=\"round\" stroke-linejoin=\"round\" role=\"img\" aria-label=\"{}\">\n",
        escape(label)
    );
    if background == Background::White {
        let paper = PAPER.hex();
        writeln!(
            out,
            "<rect width=\"{width}\" height=\"{height}\" fill=\"{paper}\"/>"
        )?;
    }
    for item in &scene.items {
        draw(&mut out, item)?;
    }
    out += "</svg>\n";
    Ok(out)
}

fn draw(out: &mut String, item: &Item) -> Result<()> {
    match item {
        Item::Stroke {
            points,
            closed,
            width,
            ink,
        } => {
            let end = match closed {
                Closed::Yes => "Z",
                Closed::No => "",
            };
            writeln!(
                out,
                "<path d=\"{}{end}\" fill=\"none\" stroke=\"{}\"{} stroke-width=\"{}\"/>",
                path(points),
                ink.rgb.hex(),
                opacity("stroke-opacity", *ink),
                short(*width)
            )?;
        }
        Item::Area { points, ink } => writeln!(
            out,
            "<path d=\"{}Z\" fill=\"{}\"{}/>",
            path(points),
            ink.rgb.hex(),
            opacity("fill-opacity", *ink)
        )?,
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
            ink.rgb.hex(),
            opacity("fill-opacity", *ink)
        )?,
        Item::Text(text) => write_text(out, text)?,
        Item::Image(image) => write_image(out, image)?,
    }
    Ok(())
}

/// Pixels from which on a text states its width.
const LONG: f32 = 100.0;

fn write_text(out: &mut String, text: &Text) -> Result<()> {
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
    // Lines were broken for the program's own font; another one gets as much room.
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
        text.ink.rgb.hex(),
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
        base64(&png)
    )?;
    Ok(())
}

/// A line through points, each but the first as the way from the one before.
fn path(points: &[Point]) -> String {
    // Hundredths of a pixel, so that nothing is lost in the sum of the steps.
    let whole = |v: f32| (f64::from(v) * 100.0).round() as i64;
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

fn short(number: f32) -> String {
    hundredths((f64::from(number) * 100.0).round() as i64)
}

/// A number of hundredths in as few characters as it takes.
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

fn opacity(name: &str, ink: Ink) -> String {
    if ink.opacity < 1.0 {
        format!(" {name}=\"{}\"", short(ink.opacity))
    } else {
        String::new()
    }
}

/// A text inside markup.
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

/// Bytes as text, RFC 4648.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for letter in 0..4 {
            if letter <= three.len() {
                let index = bits >> (18 - 6 * letter) & 63;
                out.push(char::from(LETTERS[index as usize]));
            } else {
                out.push('=');
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_as_in_the_standard() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        assert_eq!(base64(&[0xfb, 0xff]), "+/8=");
    }

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
