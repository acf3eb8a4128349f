//! A scene as a page of PDF. Letters are outlines, so the file needs no font.

use std::collections::BTreeSet;
use std::io::Write;

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use pdf_writer::types::{LineCapStyle, LineJoinStyle, StructRole};
use pdf_writer::writers::StructTreeRoot;
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref, TextStr};

use super::color::{Dash, PAPER, Rgb, Theme};
use super::letters::{self, At, Step};
use super::scene::{Closed, Image, Ink, Item, Point, Scene};
use super::{Caption, PER_INCH, SOFTWARE};

/// Units of a page per pixel of the scene: 72 per inch.
const UNITS: f64 = 72.0 / PER_INCH;

/// A quarter of a circle is a cubic curve. Distance of its control points from its ends, in radii.
const KAPPA: f64 = 0.552_285;

/// Draws a scene as a document of one page. It has no date, so equal scenes give equal bytes.
pub(crate) fn page(scene: &Scene, theme: Theme, caption: &Caption<'_>) -> Result<Vec<u8>> {
    let [catalog, pages, page, content, info, tree, parents, figure] =
        std::array::from_fn(|index| Ref::new(index as i32 + 1));
    let mut pdf = Pdf::new();
    let mut start = pdf.catalog(catalog);
    start.pages(pages).lang(TextStr("en"));
    start.viewer_preferences().display_doc_title(true);
    start.mark_info().marked(true);
    start.pair(Name(b"StructTreeRoot"), tree);
    start.finish();
    pdf.document_info(info)
        .title(TextStr(caption.title))
        .subject(TextStr(caption.description))
        .creator(TextStr(SOFTWARE));

    // The drawing is one figure, with its words for those who cannot see it.
    let mut root = pdf.indirect(tree).start::<StructTreeRoot<'_>>();
    root.child(figure).parent_tree_next_key(1);
    root.parent_tree().nums().insert(0, parents);
    root.finish();
    pdf.indirect(parents).array().item(figure);
    let mut element = pdf.struct_element(figure);
    element.kind(StructRole::Figure).parent(tree).page(page);
    element.title(TextStr(caption.title));
    element.alt(TextStr(caption.description));
    element.pair(Name(b"K"), 0);
    element.finish();

    pdf.pages(pages).kids([page]).count(1);
    let [width, height] =
        [scene.size.0, scene.size.1].map(|pixels| (f64::from(pixels) * UNITS) as f32);
    let images: Vec<(String, Ref, &Image)> = scene
        .items
        .iter()
        .filter_map(|item| match item {
            Item::Image(image) => Some(image),
            _ => None,
        })
        .zip(9..)
        .map(|(image, number)| (format!("I{number}"), Ref::new(number), image))
        .collect();
    let mut sheet = pdf.page(page);
    sheet.media_box(Rect::new(0.0, 0.0, width, height));
    sheet.parent(pages).contents(content).struct_parents(0);
    let mut resources = sheet.resources();
    let mut objects = resources.x_objects();
    for (name, number, _) in &images {
        objects.pair(Name(name.as_bytes()), *number);
    }
    objects.finish();
    let mut states = resources.ext_g_states();
    for percent in opacities(scene, theme) {
        let mut state = states.insert(Name(&opacity_name(percent))).dict();
        let opacity = f32::from(percent) / 100.0;
        state.pair(Name(b"CA"), opacity).pair(Name(b"ca"), opacity);
    }
    states.finish();
    resources.finish();
    sheet.finish();
    for (_, number, image) in &images {
        embed(&mut pdf, *number, image)?;
    }
    let mut pen = Pen::new(theme, height);
    if theme != Theme::Transparent {
        let (right, bottom) = (f64::from(scene.size.0), f64::from(scene.size.1));
        let corners = [(0.0, 0.0), (right, 0.0), (right, bottom), (0.0, bottom)];
        pen.set_fill(PAPER.into());
        pen.line(&corners, Closed::Yes);
        pen.content.fill_nonzero();
    }
    let mut names = images.iter().map(|(name, ..)| name.as_bytes());
    for item in &scene.items {
        pen.draw(item, &mut names)?;
    }
    let drawn = deflated(&pen.finish())?;
    pdf.stream(content, &drawn).filter(Filter::FlateDecode);
    Ok(pdf.finish())
}

fn percent(ink: Ink, theme: Theme) -> u8 {
    (ink.opacity * ink.tone.opacity(theme) * 100.0).round() as u8
}

/// Returns the opacities of a scene in percent.
fn opacities(scene: &Scene, theme: Theme) -> BTreeSet<u8> {
    let inks = scene.items.iter().filter_map(|item| match item {
        Item::Stroke { ink, .. } | Item::Disc { ink, .. } => Some(*ink),
        Item::Text(text) => Some(text.ink),
        Item::Image(_) => None,
    });
    inks.map(|ink| percent(ink, theme)).chain([100]).collect()
}

fn opacity_name(percent: u8) -> Vec<u8> {
    format!("O{percent}").into_bytes()
}

fn deflated(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

/// Writes the cells of a map. Viewers that smooth pictures would blur cells of one pixel each, so
/// every cell has some.
fn embed(pdf: &mut Pdf, number: Ref, image: &Image) -> Result<()> {
    let cells = &image.cells;
    let finer = |extent: f64, count: usize| (4.0 * extent / count.max(1) as f64).ceil() as usize;
    let across = finer(image.extent.0, cells.columns).max(1);
    let down = finer(image.extent.1, cells.rows).max(1);
    let mut pixels = Vec::with_capacity(cells.levels.len() * across * down);
    for row in cells.levels.chunks_exact(cells.columns.max(1)) {
        let line = row
            .iter()
            .flat_map(|level| std::iter::repeat_n(*level, across));
        let line: Vec<u8> = line.collect();
        pixels.extend(std::iter::repeat_n(&line, down).flatten());
    }
    let palette: Vec<u8> = cells
        .palette
        .iter()
        .flat_map(|Rgb(r, g, b)| [*r, *g, *b])
        .collect();
    let pixels = deflated(&pixels)?;
    let side = |count: usize| i32::try_from(count).context("a picture this large");
    let mut object = pdf.image_xobject(number, &pixels);
    object.filter(Filter::FlateDecode);
    object.width(side(cells.columns * across)?);
    object.height(side(cells.rows * down)?);
    object.bits_per_component(8);
    object
        .color_space()
        .indexed(Name(b"DeviceRGB"), 255, &palette);
    Ok(())
}

/// Draws on a page, in the scene's coordinates.
struct Pen {
    content: Content,
    theme: Theme,
    opacity: u8,
}

impl Pen {
    fn new(theme: Theme, height: f32) -> Self {
        let mut content = Content::new();
        let mut figure = content.begin_marked_content_with_properties(Name(b"Figure"));
        figure.properties().identify(0);
        figure.finish();
        // Down from the upper left corner.
        content.transform([UNITS as f32, 0.0, 0.0, -UNITS as f32, 0.0, height]);
        content.set_line_cap(LineCapStyle::RoundCap);
        content.set_line_join(LineJoinStyle::RoundJoin);
        Self {
            content,
            theme,
            opacity: 100,
        }
    }

    fn finish(mut self) -> Vec<u8> {
        self.content.end_marked_content();
        self.content.finish().into_vec()
    }

    fn draw<'a>(&mut self, item: &Item, images: &mut impl Iterator<Item = &'a [u8]>) -> Result<()> {
        match item {
            Item::Stroke {
                points,
                closed,
                width,
                dash,
                ink,
            } => {
                self.set_stroke(*width, dash, *ink);
                self.line(points, *closed);
                self.content.stroke();
            }
            Item::Disc {
                center,
                radius,
                ink,
            } => {
                self.set_fill(*ink);
                self.circle(*center, *radius);
                self.content.fill_nonzero();
            }
            Item::Text(text) => {
                self.set_fill(text.ink);
                self.letters(&letters::outlines(text)?);
                self.content.fill_nonzero();
            }
            Item::Image(image) => {
                let (x, y) = short(image.at);
                let (width, height) = short(image.extent);
                self.content.save_state();
                // The first row of a picture is at the upper end of its square.
                self.content
                    .transform([width, 0.0, 0.0, -height, x, y + height]);
                if let Some(name) = images.next() {
                    self.content.x_object(Name(name));
                }
                self.content.restore_state();
            }
        }
        Ok(())
    }

    fn line(&mut self, points: &[Point], closed: Closed) {
        for (index, point) in points.iter().enumerate() {
            let (x, y) = short(*point);
            match index {
                0 => self.content.move_to(x, y),
                _ => self.content.line_to(x, y),
            };
        }
        // A point alone is a dot, because ends are round.
        if let ([point], Closed::No) = (points, closed) {
            let (x, y) = short(*point);
            self.content.line_to(x, y);
        }
        if closed == Closed::Yes && !points.is_empty() {
            self.content.close_path();
        }
    }

    fn circle(&mut self, (x, y): Point, radius: f64) {
        // From one end of a quarter to the next, clockwise from the right.
        let ends = [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0), (1.0, 0.0)];
        let place = |across: f64, down: f64| short((x + radius * across, y + radius * down));
        let (x, y) = place(1.0, 0.0);
        self.content.move_to(x, y);
        for pair in ends.windows(2) {
            let (a, b) = (pair[0], pair[1]);
            let p = place(a.0 + KAPPA * b.0, a.1 + KAPPA * b.1);
            let q = place(b.0 + KAPPA * a.0, b.1 + KAPPA * a.1);
            let end = place(b.0, b.1);
            self.content.cubic_to(p.0, p.1, q.0, q.1, end.0, end.1);
        }
        self.content.close_path();
    }

    fn letters(&mut self, steps: &[Step]) {
        let mut at: At = (0.0, 0.0);
        for step in steps {
            match *step {
                Step::Move(to) => {
                    let (x, y) = rounded(to);
                    self.content.move_to(x, y);
                    at = to;
                }
                Step::Line(to) => {
                    let (x, y) = rounded(to);
                    self.content.line_to(x, y);
                    at = to;
                }
                Step::Quad(control, to) => {
                    // The same curve with two control points.
                    let toward = |end: At| {
                        let part = |a: f32, b: f32| a + (b - a) * (2.0 / 3.0);
                        (part(end.0, control.0), part(end.1, control.1))
                    };
                    self.cubic(toward(at), toward(to), to);
                    at = to;
                }
                Step::Cubic(a, b, to) => {
                    self.cubic(a, b, to);
                    at = to;
                }
            }
        }
    }

    fn cubic(&mut self, a: At, b: At, to: At) {
        let [a, b, to] = [a, b, to].map(rounded);
        self.content.cubic_to(a.0, a.1, b.0, b.1, to.0, to.1);
    }

    /// Sets how the next line is drawn. Between the points of a path and its stroke nothing may be set.
    fn set_stroke(&mut self, width: f64, dash: Dash, ink: Ink) {
        let [r, g, b] = self.channels(ink);
        self.content.set_stroke_rgb(r, g, b);
        self.content.set_line_width(width as f32);
        let lengths = dash.iter().map(|length| *length as f32);
        self.content.set_dash_pattern(lengths, 0.0);
    }

    fn set_fill(&mut self, ink: Ink) {
        let [r, g, b] = self.channels(ink);
        self.content.set_fill_rgb(r, g, b);
    }

    /// Sets an ink's opacity and returns its color.
    fn channels(&mut self, ink: Ink) -> [f32; 3] {
        let opacity = percent(ink, self.theme);
        if opacity != self.opacity {
            self.content.set_parameters(Name(&opacity_name(opacity)));
            self.opacity = opacity;
        }
        let Rgb(r, g, b) = ink.tone.of(self.theme);
        [r, g, b].map(|channel| (f64::from(channel) / 255.0 * 1e4).round() as f32 / 1e4)
    }
}

/// Rounds a place to hundredths of a pixel.
fn short((x, y): Point) -> (f32, f32) {
    let short = |v: f64| ((v * 100.0).round() / 100.0) as f32;
    (short(x), short(y))
}

fn rounded((x, y): At) -> At {
    short((f64::from(x), f64::from(y)))
}
