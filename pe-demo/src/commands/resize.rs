//! `pe-demo resize`: a learned grid in a safetensors file, resized once for all.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use pe_candle::checkpoint::{self, TableResize};
use pe_core::{ResizeConfig, ResizeKernel};

use crate::cli::ResizeArgs;
use crate::sources::overwrite;
use crate::terminal::emit::print;
use crate::terminal::outcome::{BadUsage, Outcome};
use crate::terminal::page::Page;
use crate::terminal::width::{clean, clean_path};

/// What to resize, and where to.
#[derive(Debug)]
pub(crate) struct Options {
    file: PathBuf,
    output: PathBuf,
    table: TableResize,
}

impl Options {
    pub(crate) fn new(args: ResizeArgs) -> Result<Self> {
        let output = [("--output", args.output.clone())];
        overwrite::check(&output, &[("the file", args.file.clone())])?;
        Ok(Self {
            table: table(&args)?,
            file: args.file,
            output: args.output,
        })
    }
}

pub(crate) fn run(options: &Options, out: &mut dyn Write) -> Result<Outcome> {
    let Options {
        file,
        output,
        table,
    } = options;
    let done = checkpoint::resize(file, output, table)?;
    let mut page = Page::new();
    page.wrap("wrote ", &clean_path(output));
    page.wrap(
        "  ",
        &format!(
            "tensor {} {:?} {}, resized to {:?}",
            clean(&table.tensor, 200),
            done.from,
            done.dtype.as_str(),
            done.to,
        ),
    );
    let kept = [(done.rows_before, "before"), (table.rows_after, "after")];
    for (rows, place) in kept {
        if rows > 0 {
            let noun = if rows == 1 { "row" } else { "rows" };
            page.line(format!("  kept: {rows} {noun} {place} the grid"));
        }
    }
    page.line(format!("  unchanged: {} other tensors", done.others));
    print(out, &page)?;
    Ok(Outcome::Success)
}

/// Checks the arguments together.
fn table(args: &ResizeArgs) -> Result<TableResize> {
    let (from, to) = (args.from.0.clone(), args.to.0.clone());
    if from.len() != to.len() {
        let (a, b) = (from.len(), to.len());
        let why = format!("--from has {a} sides and --to has {b}");
        return Err(BadUsage(why).into());
    }
    let plain = ResizeConfig::new(args.kernel.unwrap_or(ResizeKernel::Bicubic));
    let mut table = TableResize {
        tensor: args.tensor.clone(),
        from,
        to,
        resize: ResizeConfig {
            antialias: args.antialias,
            align_corners: args.align_corners,
            ..plain
        },
        rows_after: 0,
    };
    if let Some(preset) = args.preset {
        table.resize = preset.config();
        [_, table.rows_after] = preset.kept_rows();
        if preset.swaps_sides() {
            table.from.reverse();
        }
    }
    if let Some(rows) = args.rows_after {
        table.rows_after = rows;
    }
    // The options of the kernel, whatever the sizes.
    if args.preset.is_none() {
        let options = table.resize.taps(1, 1).map(drop);
        options.map_err(|error| BadUsage(error.to_string()))?;
    }
    Ok(table)
}
