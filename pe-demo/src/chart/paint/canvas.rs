//! What the plotting library draws into: a [`Scene`] with fractions of pixels.
//!
//! The library's coordinates are whole numbers. Here one of them is a sixteenth of a pixel, so
//! that curves are smooth; its own backends would round each point of a curve to a pixel.

use std::cell::RefCell;
use std::convert::Infallible;
use std::rc::Rc;

use plotters::element::{Drawable, PointCollection};
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind,
    FontStyle, FontTransform,
};

use super::color::Rgb;
use super::font::{CAPITALS, Weight};
use super::scene::{Anchor, Cells, Closed, Heading, Image, Ink, Item, Point, Scene, Text};

/// Units of the library in a pixel.
pub(crate) const UNITS: i32 = 16;

/// Pixels in the library's units.
pub(crate) fn units(pixels: f64) -> i32 {
    (pixels * f64::from(UNITS)).round() as i32
}

type Outcome = Result<(), DrawingErrorKind<Infallible>>;

/// A backend that remembers what was drawn.
pub(crate) struct Canvas {
    scene: Rc<RefCell<Scene>>,
}

impl Canvas {
    /// A canvas that adds to a scene.
    pub(crate) fn new(scene: &Rc<RefCell<Scene>>) -> Self {
        Self {
            scene: Rc::clone(scene),
        }
    }

    fn push(&mut self, item: Item) {
        self.scene.borrow_mut().items.push(item);
    }
}

fn point((x, y): BackendCoord) -> Point {
    (x as f32 / UNITS as f32, y as f32 / UNITS as f32)
}

fn ink(color: BackendColor) -> Option<Ink> {
    let (r, g, b) = color.rgb;
    (color.alpha > 0.0).then_some(Ink {
        rgb: Rgb(r, g, b),
        opacity: color.alpha as f32,
    })
}

fn width<S: BackendStyle>(style: &S) -> f32 {
    style.stroke_width() as f32 / UNITS as f32
}

impl DrawingBackend for Canvas {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        let (width, height) = self.scene.borrow().size;
        (width * UNITS as u32, height * UNITS as u32)
    }

    fn ensure_prepared(&mut self) -> Outcome {
        Ok(())
    }

    fn present(&mut self) -> Outcome {
        Ok(())
    }

    fn draw_pixel(&mut self, at: BackendCoord, color: BackendColor) -> Outcome {
        self.draw_rect(at, (at.0 + 1, at.1 + 1), &color, true)
    }

    fn draw_line<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
    ) -> Outcome {
        self.draw_path([from, to], style)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        upper_left: BackendCoord,
        bottom_right: BackendCoord,
        style: &S,
        fill: bool,
    ) -> Outcome {
        let ((x0, y0), (x1, y1)) = (point(upper_left), point(bottom_right));
        let points = vec![(x0, y0), (x1, y0), (x1, y1), (x0, y1)];
        if let Some(ink) = ink(style.color()) {
            self.push(if fill {
                Item::Area { points, ink }
            } else {
                Item::Stroke {
                    points,
                    closed: Closed::Yes,
                    width: width(style),
                    ink,
                }
            });
        }
        Ok(())
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Outcome {
        if let Some(ink) = ink(style.color()) {
            self.push(Item::Stroke {
                points: path.into_iter().map(point).collect(),
                closed: Closed::No,
                width: width(style),
                ink,
            });
        }
        Ok(())
    }

    fn draw_circle<S: BackendStyle>(
        &mut self,
        center: BackendCoord,
        radius: u32,
        style: &S,
        _fill: bool,
    ) -> Outcome {
        if let Some(ink) = ink(style.color()) {
            self.push(Item::Disc {
                center: point(center),
                radius: radius as f32 / UNITS as f32,
                ink,
            });
        }
        Ok(())
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        corners: I,
        style: &S,
    ) -> Outcome {
        if let Some(ink) = ink(style.color()) {
            self.push(Item::Area {
                points: corners.into_iter().map(point).collect(),
                ink,
            });
        }
        Ok(())
    }

    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        at: BackendCoord,
    ) -> Outcome {
        let Some(ink) = ink(style.color()) else {
            return Ok(());
        };
        let size = style.size() as f32 / UNITS as f32;
        let anchor = style.anchor();
        // From the anchor down to the baseline, as the text reads.
        let down = match anchor.v_pos {
            VPos::Top => CAPITALS * size,
            VPos::Center => CAPITALS / 2.0 * size,
            VPos::Bottom => 0.0,
        };
        let (x, y) = point(at);
        let (at, heading) = match style.transform() {
            FontTransform::Rotate270 => ((x + down, y), Heading::Up),
            _ => ((x, y + down), Heading::Right),
        };
        self.push(Item::Text(Text {
            at,
            text: text.to_owned(),
            size,
            weight: match style.style() {
                FontStyle::Bold => Weight::Medium,
                _ => Weight::Regular,
            },
            anchor: match anchor.h_pos {
                HPos::Left => Anchor::Start,
                HPos::Center => Anchor::Middle,
                HPos::Right => Anchor::End,
            },
            heading,
            ink,
        }));
        Ok(())
    }

    fn estimate_text_size<S: BackendTextStyle>(
        &self,
        text: &str,
        style: &S,
    ) -> Result<(u32, u32), DrawingErrorKind<Infallible>> {
        let weight = match style.style() {
            FontStyle::Bold => Weight::Medium,
            _ => Weight::Regular,
        };
        let ems = weight
            .width(text)
            .map_err(|error| DrawingErrorKind::FontError(error.into()))?;
        let size = style.size() as f32;
        Ok(((ems * size) as u32, size as u32))
    }
}

/// Cells stretched between two corners, as an element of the library.
pub(crate) struct Picture<C> {
    corners: [C; 2],
    cells: Cells,
}

impl<C> Picture<C> {
    /// Cells between two opposite corners.
    pub(crate) fn new(corners: [C; 2], cells: Cells) -> Self {
        Self { corners, cells }
    }
}

impl<'a, C> PointCollection<'a, C> for &'a Picture<C> {
    type Point = &'a C;
    type IntoIter = &'a [C];

    fn point_iter(self) -> Self::IntoIter {
        &self.corners
    }
}

impl<C> Drawable<Canvas> for Picture<C> {
    fn draw<I: Iterator<Item = BackendCoord>>(
        &self,
        mut corners: I,
        canvas: &mut Canvas,
        _: (u32, u32),
    ) -> Outcome {
        if let (Some(one), Some(other)) = (corners.next(), corners.next()) {
            let ((x0, y0), (x1, y1)) = (point(one), point(other));
            canvas.push(Item::Image(Image {
                at: (x0.min(x1), y0.min(y1)),
                extent: ((x1 - x0).abs(), (y1 - y0).abs()),
                cells: self.cells.clone(),
            }));
        }
        Ok(())
    }
}
