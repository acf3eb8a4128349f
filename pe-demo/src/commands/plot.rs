//! `pe-demo plot`: figures of encodings, written to a folder or a file.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::chart::{self, Figure, Format, Theme};
use crate::cli::{DataArg, FormatArg, PlotArgs, ThemeArg};
use crate::figures::{CATALOG, Entry, SECTIONS, Setting, Settings};
use crate::sources::overwrite::{self, Named};
use crate::sources::write::write;
use crate::terminal::outcome::{BadUsage, Outcome};
use crate::terminal::page::Page;
use crate::terminal::width::clean_path;

/// Width of the animation.
const FRAME: u32 = 640;

/// Draws the figures that are asked for and writes their files, or lists the figures.
pub(crate) fn run(options: &Options, out: &mut dyn Write) -> Result<Outcome> {
    if let Some(list) = options.list {
        out.write_all(options.listed(list).as_bytes())?;
        return Ok(Outcome::Success);
    }
    // All numbers first, so that what makes no sense comes to light before anything is written.
    let build = |entry: &&'static Entry| {
        let figure = entry.build(&options.settings);
        figure
            .with_context(|| format!("figure {}", entry.name))
            .map(|figure| (*entry, figure))
    };
    let figures = options.entries.iter().map(build);
    let figures = figures.collect::<Result<Vec<_>>>()?;
    if let Place::Folder(folder) = &options.place {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    for (entry, figure) in &figures {
        let mut page = Page::new();
        for (ending, bytes, what) in files(entry, figure, options)? {
            let path = options.place.of(entry, ending);
            write(&path, &bytes)?;
            page.wrap("wrote ", &format!("{} ({what})", clean_path(&path)));
        }
        out.write_all(page.text().as_bytes())?;
        out.flush()?;
    }
    Ok(Outcome::Success)
}

/// Form of the list of figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum List {
    Text,
    Json,
}

/// Place of the files.
#[derive(Debug)]
enum Place {
    Folder(PathBuf),
    /// The picture of the only figure. Other files of the figure have the same name with other endings.
    File(PathBuf),
}

impl Place {
    fn of(&self, entry: &Entry, ending: &str) -> PathBuf {
        match self {
            Self::Folder(folder) => folder.join(format!("{}.{ending}", entry.name)),
            Self::File(file) if Format::of(file).is_some_and(|own| own.ending() == ending) => {
                file.clone()
            }
            Self::File(file) => file.with_extension(ending),
        }
    }
}

/// The options of `pe-demo plot`, checked.
pub(crate) struct Options {
    /// Each figure once, in the order of the catalog.
    entries: Vec<&'static Entry>,
    settings: Settings,
    place: Place,
    format: Format,
    theme: Theme,
    data: Option<DataArg>,
    list: Option<List>,
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
        let format = args.format.map(|format| match format {
            FormatArg::Png => Format::Png,
            FormatArg::Svg => Format::Svg,
            FormatArg::Pdf => Format::Pdf,
        });
        let (place, format) = place(args.output, format, entries.len())?;
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
            place,
            format,
            theme: match args.theme {
                ThemeArg::Light => Theme::Light,
                ThemeArg::Dark => Theme::Dark,
                ThemeArg::Transparent => Theme::Transparent,
            },
            data: args.data,
            list: match (args.list, args.json) {
                (false, _) => None,
                (true, false) => Some(List::Text),
                (true, true) => Some(List::Json),
            },
        };
        let configs = options.settings.configs.iter();
        let inputs: Vec<Named> = configs.map(|path| ("--config", path.clone())).collect();
        overwrite::check(&options.outputs(), &inputs)?;
        Ok(options)
    }

    /// Returns every file that may be written. Not every figure has an animation.
    fn outputs(&self) -> Vec<Named> {
        let endings = [
            Some(self.format.ending()),
            Some("gif"),
            self.data.map(|data| match data {
                DataArg::Json => "json",
                DataArg::Csv => "csv",
            }),
        ];
        let files = |entry: &&'static Entry| {
            let entry = *entry;
            let file = move |ending: &str| ("--output", self.place.of(entry, ending));
            endings.into_iter().flatten().map(file)
        };
        self.entries.iter().flat_map(files).collect()
    }

    /// Writes the names of the figures with a line about each, in groups.
    fn listed(&self, list: List) -> String {
        let wanted =
            |entry: &&&'static Entry| self.entries.iter().any(|other| other.name == entry.name);
        let groups = SECTIONS.iter().map(|section| {
            let figures = section.figures.iter().filter(wanted);
            (section.title, figures.copied().collect::<Vec<_>>())
        });
        let groups = groups.filter(|(_, figures)| !figures.is_empty());
        match list {
            List::Text => {
                let mut page = Page::new();
                for (index, (title, figures)) in groups.enumerate() {
                    if index > 0 {
                        page.line("");
                    }
                    page.line(title);
                    for entry in figures {
                        page.wrap(&format!("  {:<20} ", entry.name), entry.summary);
                    }
                }
                page.text().to_owned()
            }
            List::Json => {
                let figures = groups.flat_map(|(title, figures)| {
                    figures
                        .into_iter()
                        .map(move |entry| described(title, entry))
                });
                let figures: Vec<Value> = figures.collect();
                format!("{}\n", json!({ "figures": figures }))
            }
        }
    }
}

fn described(group: &str, entry: &Entry) -> Value {
    let options = entry.uses.iter().map(|setting| setting.option());
    json!({
        "name": entry.name,
        "group": group,
        "summary": entry.summary,
        "about": entry.about,
        "options": options.collect::<Vec<_>>(),
    })
}

/// Returns the place that `--output` names, and the format of the pictures there.
fn place(
    output: PathBuf,
    format: Option<Format>,
    figures: usize,
) -> Result<(Place, Format), BadUsage> {
    let named = Format::of(&output).filter(|_| !output.is_dir());
    let Some(named) = named else {
        return Ok((Place::Folder(output), format.unwrap_or(Format::Png)));
    };
    let path = clean_path(&output);
    if figures != 1 {
        return Err(BadUsage(format!(
            "--output {path} is one picture, and there are {figures} figures; name one of them, or a folder"
        )));
    }
    if let Some(format) = format.filter(|format| *format != named) {
        return Err(BadUsage(format!(
            "--output {path} does not end in .{}, as --format states",
            format.ending()
        )));
    }
    Ok((Place::File(output), named))
}

/// Returns the files of a figure: ending, bytes, and contents in words.
fn files(
    entry: &Entry,
    figure: &Figure,
    options: &Options,
) -> Result<Vec<(&'static str, Vec<u8>, String)>> {
    let picture = chart::picture(figure, options.format, options.theme, entry.about)?;
    let (width, height) = picture.size;
    let units = match options.format {
        Format::Pdf => " points",
        Format::Png | Format::Svg => "",
    };
    let size = format!("{width} x {height}{units}");
    let mut files = vec![(options.format.ending(), picture.bytes, size)];
    if let Some(gif) = chart::gif(figure, FRAME, options.theme)? {
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
        for (format, data) in [("png", "json"), ("svg", "csv"), ("pdf", "json")] {
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
