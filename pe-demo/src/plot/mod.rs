//! `pe-demo plot`: figures of encodings.
//!
//! ```text
//! catalog ─► figures ─► Figure ─┬─► draw ─► paint ─► PNG, SVG, GIF
//!              (pe-core)          └─► data ─► JSON, CSV
//! ```
//!
//! A figure is made of numbers first. What is drawn and what is written as data are the
//! same numbers.

mod catalog;
mod data;
mod draw;
mod figure;
mod figures;
mod paint;
mod scale;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use pe_candle::checkpoint;

use crate::cli::{DataArg, FormatArg, PlotArgs};
use crate::terminal::console::{BadUsage, Outcome};
use crate::terminal::page::{self, Page};

pub(crate) use catalog::{CATALOG, Entry};
pub(crate) use figure::{Axis, Content, Curve, Figure, Map, Mark, Panel, Shape};
pub(crate) use figures::Settings;
pub(crate) use scale::power_of_ten;

use catalog::Setting;
pub(crate) use paint::color::Colors;
use paint::color::{AXIS, GRID, INK, MUTED, NEGATIVE, POSITIVE, Rgb};
use paint::{Background, Raster};

/// Pixels of a PNG for each of the layout's.
const SCALE: u32 = 2;
/// Width of the animation.
const FRAME: u32 = 640;

pub(crate) fn run(args: &PlotArgs, out: &mut dyn Write) -> Result<Outcome> {
    let entries = chosen(args)?;
    let settings = Settings {
        preset: args.preset,
        d_model: args.d_model,
        base: args.base,
        start: args.start,
        max_seq_len: args.max_seq_len,
        configs: args.config.clone(),
    };
    // All numbers first, so that what makes no sense comes to light before anything is written.
    let build =
        |entry: &Entry| (entry.build)(&settings).with_context(|| format!("figure {}", entry.name));
    let figures = entries.into_iter().map(build).collect::<Result<Vec<_>>>()?;
    std::fs::create_dir_all(&args.output)
        .with_context(|| format!("cannot make the folder {}", args.output.display()))?;
    for figure in &figures {
        let mut page = Page::new();
        for (path, bytes, what) in files(figure, args)? {
            write(&path, &bytes)?;
            page.wrap("wrote ", &format!("{} ({what})", page::path(&path)));
        }
        out.write_all(page.text().as_bytes())?;
        out.flush()?;
    }
    Ok(Outcome::Success)
}

/// The entries of the catalog that are asked for, each once.
fn chosen(args: &PlotArgs) -> Result<Vec<&'static Entry>> {
    let given = [
        (Setting::Preset, args.preset.is_some()),
        (Setting::DModel, args.d_model.is_some()),
        (Setting::MaxSeqLen, args.max_seq_len.is_some()),
        (Setting::Start, args.start.is_some()),
        (Setting::Base, args.base.is_some()),
        (Setting::Config, !args.config.is_empty()),
    ];
    let mut entries = Vec::new();
    for entry in CATALOG {
        if !args.figures.is_empty() && !args.figures.iter().any(|name| name == entry.name) {
            continue;
        }
        for (setting, given) in given {
            // Of all figures, those take an option that have a use for it.
            if given && !args.figures.is_empty() && !entry.uses.contains(&setting) {
                bail!(BadUsage(format!(
                    "{} changes nothing in {}",
                    setting.option(),
                    entry.name
                )));
            }
        }
        entries.push(entry);
    }
    Ok(entries)
}

/// The files of a figure: name, bytes, and what they are.
fn files(figure: &Figure, args: &PlotArgs) -> Result<Vec<(PathBuf, Vec<u8>, String)>> {
    let path = |ending: &str| args.output.join(format!("{}.{ending}", figure.name));
    let width = draw::fitted(figure, None);
    let scene = draw::scene(figure, width)?;
    let mut files = Vec::new();
    match args.format {
        FormatArg::Png => {
            let raster = Raster::of(&scene, SCALE)?;
            let size = format!("{} x {}", raster.width, raster.height);
            files.push((path("png"), paint::picture(&raster)?, size));
        }
        FormatArg::Svg => {
            let svg = paint::document(&scene, Background::White, &figure.title)?;
            let size = format!("{} x {}", scene.size.0, scene.size.1);
            files.push((path("svg"), svg.into_bytes(), size));
        }
    }
    if let Some(gif) = draw::frames(figure, draw::fitted(figure, Some(FRAME)), 1)? {
        files.push((path("gif"), gif, "animation".to_owned()));
    }
    match args.data {
        Some(DataArg::Json) => {
            let text = data::json(figure)?;
            files.push((path("json"), text.into_bytes(), "numbers".to_owned()));
        }
        Some(DataArg::Csv) => {
            let text = data::csv(figure);
            files.push((path("csv"), text.into_bytes(), "numbers".to_owned()));
        }
        None => {}
    }
    Ok(files)
}

/// Writes a file as a whole or not at all.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    checkpoint::replace(path, |file| file.write_all(bytes))
        .with_context(|| format!("cannot write {}", path.display()))
}

/// A figure as an SVG document.
pub(crate) fn svg(figure: &Figure) -> Result<Vec<u8>> {
    let scene = draw::scene(figure, draw::fitted(figure, None))?;
    Ok(paint::document(&scene, Background::White, &figure.title)?.into_bytes())
}

/// A figure as a PNG.
pub(crate) fn png(figure: &Figure) -> Result<Vec<u8>> {
    let scene = draw::scene(figure, draw::fitted(figure, None))?;
    paint::picture(&Raster::of(&scene, SCALE)?)
}

/// A figure inside a page, at most `width` pixels wide.
pub(crate) fn inline_svg(figure: &Figure, width: u32) -> Result<String> {
    let scene = draw::scene(figure, draw::fitted(figure, Some(width)))?;
    paint::document(&scene, Background::Clear, &figure.title)
}

/// A text inside markup.
pub(crate) fn escape(text: &str) -> String {
    paint::escape(text)
}

/// Style rules by which figures inside a page follow the page's colors.
pub(crate) fn theme() -> String {
    let mut rules = String::new();
    for (rgb, name) in [
        (INK, "ink"),
        (MUTED, "muted"),
        (AXIS, "axis"),
        (GRID, "grid"),
        (POSITIVE, "positive"),
        (NEGATIVE, "negative"),
    ] {
        let hex = rgb.hex();
        for property in ["fill", "stroke"] {
            rules += &format!("svg [{property}=\"{hex}\"] {{ {property}: var(--{name}); }}\n");
        }
    }
    rules
}

/// The colors from -1 to 1 as numbers 0xrrggbb, from step 1 to step 255.
pub(crate) fn diverging_palette() -> Vec<u32> {
    let number = |rgb: &Rgb| u32::from_be_bytes([0, rgb.0, rgb.1, rgb.2]);
    Colors::Diverging.palette().iter().map(number).collect()
}
