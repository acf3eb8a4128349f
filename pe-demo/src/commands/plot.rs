//! `pe-demo plot`: figures of encodings, written to a folder.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::chart::{self, Figure};
use crate::cli::{DataArg, FormatArg, PlotArgs};
use crate::figures::{CATALOG, Entry, Setting, Settings};
use crate::sources::overwrite;
use crate::sources::write::write;
use crate::terminal::outcome::{BadUsage, Outcome};
use crate::terminal::page::Page;
use crate::terminal::width::clean_path;

/// Width of the animation.
const FRAME: u32 = 640;

pub(crate) fn run(args: &PlotArgs, out: &mut dyn Write) -> Result<Outcome> {
    let config = args.config.iter().map(|path| ("--config", path.clone()));
    overwrite::check(&args.outputs(), &config.collect::<Vec<_>>())?;
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
            page.wrap("wrote ", &format!("{} ({what})", clean_path(&path)));
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
    let mut files = Vec::new();
    let (ending, picture) = match args.format {
        FormatArg::Png => ("png", chart::png(figure)?),
        FormatArg::Svg => ("svg", chart::svg(figure)?),
    };
    let (width, height) = picture.size;
    files.push((path(ending), picture.bytes, format!("{width} x {height}")));
    if let Some(gif) = chart::gif(figure, FRAME)? {
        files.push((path("gif"), gif, "animation".to_owned()));
    }
    match args.data {
        Some(DataArg::Json) => {
            let text = chart::json(figure)?;
            files.push((path("json"), text.into_bytes(), "numbers".to_owned()));
        }
        Some(DataArg::Csv) => {
            let text = chart::csv(figure);
            files.push((path("csv"), text.into_bytes(), "numbers".to_owned()));
        }
        None => {}
    }
    Ok(files)
}
