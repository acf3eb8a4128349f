//! A line of text as outlines on the page.

use ab_glyph::OutlineCurve;
use anyhow::Result;

use super::scene::{Anchor, Heading, Text};

/// A point on the page.
pub(super) type At = (f32, f32);

/// One step along the outline of a letter.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    Move(At),
    Line(At),
    /// A parabola: its control point, and its end.
    Quad(At, At),
    /// A cubic curve: its control points, and its end.
    Cubic(At, At, At),
}

/// Returns the outlines of a text in the scene's coordinates.
pub(super) fn outlines(text: &Text) -> Result<Vec<Step>> {
    let size = text.size as f32;
    let back = match text.anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => text.weight.width(&text.text)? as f32 / 2.0,
        Anchor::End => text.weight.width(&text.text)? as f32,
    };
    let (x, y) = (text.at.0 as f32, text.at.1 as f32);
    let mut steps = Vec::new();
    for (start, curves) in text.weight.outlines(&text.text)? {
        let place = |p: ab_glyph::Point| {
            let (along, up) = ((start - back + p.x) * size, p.y * size);
            match text.heading {
                Heading::Right => (x + along, y - up),
                Heading::Up => (x - up, y - along),
            }
        };
        // A letter is one closed line or several. A new one begins where a curve does not continue the last.
        let mut end = None;
        for curve in curves {
            let (OutlineCurve::Line(a, _) | OutlineCurve::Quad(a, ..) | OutlineCurve::Cubic(a, ..)) =
                &curve;
            let begin = place(*a);
            if end != Some(begin) {
                steps.push(Step::Move(begin));
            }
            let (step, last) = match curve {
                OutlineCurve::Line(_, b) => (Step::Line(place(b)), place(b)),
                OutlineCurve::Quad(_, b, c) => (Step::Quad(place(b), place(c)), place(c)),
                OutlineCurve::Cubic(_, b, c, d) => {
                    (Step::Cubic(place(b), place(c), place(d)), place(d))
                }
            };
            steps.push(step);
            end = Some(last);
        }
    }
    Ok(steps)
}
