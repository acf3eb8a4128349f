//! `pe-demo plot`: figures of encodings, written to a folder.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::chart::{self, Figure};
use crate::cli::{DataArg, FormatArg, PlotArgs};
use crate::figures::{CATALOG, Entry, Setting, Settings};
use crate::sources::overwrite::{self, Named};
use crate::sources::write::write;
use crate::terminal::outcome::{BadUsage, Outcome};
use crate::terminal::page::Page;
use crate::terminal::width::clean_path;

/// Width of the animation.
const FRAME: u32 = 640;

/// Draws the figures that are asked for and writes their files.
pub(crate) fn run(options: &Options, out: &mut dyn Write) -> Result<Outcome> {
    // All numbers first, so that what makes no sense comes to light before anything is written.
    let build = |entry: &Entry| {
        let figure = entry.build(&options.settings);
        figure.with_context(|| format!("figure {}", entry.name))
    };
    let figures = options.entries.iter().copied().map(build);
    let figures = figures.collect::<Result<Vec<_>>>()?;
    std::fs::create_dir_all(&options.folder)
        .with_context(|| format!("cannot make the folder {}", options.folder.display()))?;
    for figure in &figures {
        let mut page = Page::new();
        for (ending, bytes, what) in files(figure, options)? {
            let path = options.folder.join(format!("{}.{ending}", figure.name));
            write(&path, &bytes)?;
            page.wrap("wrote ", &format!("{} ({what})", clean_path(&path)));
        }
        out.write_all(page.text().as_bytes())?;
        out.flush()?;
    }
    Ok(Outcome::Success)
}

/// The options of `pe-demo plot`, checked.
pub(crate) struct Options {
    /// Each figure once, in the order of the catalog.
    entries: Vec<&'static Entry>,
    settings: Settings,
    folder: PathBuf,
    format: FormatArg,
    data: Option<DataArg>,
}

impl Options {
    /// Checks the arguments against each other.
    pub(crate) fn new(args: PlotArgs) -> Result<Self, BadUsage> {
        let given = [
            (Setting::Preset, args.preset.is_some()),
            (Setting::DModel, args.d_model.is_some()),
            (Setting::MaxSeqLen, args.max_seq_len.is_some()),
            (Setting::Start, args.start.is_some()),
            (Setting::Base, args.base.is_some()),
            (Setting::Config, !args.config.is_empty()),
        ];
        let asked = |entry: &Entry| args.figures.iter().any(|name| name == entry.name);
        let mut entries = CATALOG.to_vec();
        // Of all figures, those take an option that have a use for it.
        if !args.figures.is_empty() {
            entries.retain(|entry| asked(entry));
            for entry in &entries {
                let unused =
                    |(setting, given): &(Setting, bool)| *given && !entry.uses.contains(setting);
                if let Some((setting, _)) = given.iter().find(|each| unused(each)) {
                    return Err(BadUsage(format!(
                        "{} changes nothing in {}",
                        setting.option(),
                        entry.name
                    )));
                }
            }
        }
        let options = Self {
            entries,
            settings: Settings {
                preset: args.preset,
                d_model: args.d_model,
                base: args.base,
                start: args.start,
                max_seq_len: args.max_seq_len,
                configs: args.config,
            },
            folder: args.output,
            format: args.format,
            data: args.data,
        };
        let configs = options.settings.configs.iter();
        let inputs: Vec<Named> = configs.map(|path| ("--config", path.clone())).collect();
        overwrite::check(&options.outputs(), &inputs)?;
        Ok(options)
    }

    /// Returns every file that may be written. Not every figure has an animation.
    fn outputs(&self) -> Vec<Named> {
        let endings = [
            Some(match self.format {
                FormatArg::Png => "png",
                FormatArg::Svg => "svg",
            }),
            Some("gif"),
            self.data.map(|data| match data {
                DataArg::Json => "json",
                DataArg::Csv => "csv",
            }),
        ];
        let files = |entry: &&Entry| {
            let name = entry.name;
            let file = move |ending| ("--output", self.folder.join(format!("{name}.{ending}")));
            endings.into_iter().flatten().map(file)
        };
        self.entries.iter().flat_map(files).collect()
    }
}

/// Returns the files of a figure: ending, bytes, and contents in words.
fn files(figure: &Figure, options: &Options) -> Result<Vec<(&'static str, Vec<u8>, String)>> {
    let (ending, picture) = match options.format {
        FormatArg::Png => ("png", chart::png(figure)?),
        FormatArg::Svg => ("svg", chart::svg(figure)?),
    };
    let (width, height) = picture.size;
    let mut files = vec![(ending, picture.bytes, format!("{width} x {height}"))];
    if let Some(gif) = chart::gif(figure, FRAME)? {
        files.push(("gif", gif, "animation".to_owned()));
    }
    if let Some(data) = options.data {
        let (ending, text) = match data {
            DataArg::Json => ("json", chart::json(figure)?),
            DataArg::Csv => ("csv", chart::csv(figure)),
        };
        files.push((ending, text.into_bytes(), "numbers".to_owned()));
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    #[test]
    fn files_are_known_before_they_are_written() {
        for (format, data) in [("png", "json"), ("svg", "csv")] {
            let folder = tempfile::tempdir().unwrap();
            let output = folder.path().to_str().unwrap();
            let cli = Cli::try_parse_from([
                "pe-demo", "plot", "rings", "sse", "-o", output, "--format", format, "--data", data,
            ]);
            let Command::Plot(args) = cli.unwrap().command else {
                panic!("not plot");
            };
            let options = Options::new(args).unwrap();
            run(&options, &mut std::io::sink()).unwrap();
            let known: Vec<PathBuf> = options
                .outputs()
                .into_iter()
                .map(|(_, path)| path)
                .collect();
            let mut written = 0;
            for entry in std::fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                assert!(known.contains(&path), "{path:?} is not in {known:?}");
                written += 1;
            }
            // Two pictures, their numbers, and one animation of two that there may be.
            assert_eq!((written, known.len()), (5, 6));
        }
    }
}
