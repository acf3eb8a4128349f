//! `pe-demo convert`: a table of one convention in another, or weights in the other pair layout.

mod table;
mod weights;

use std::io::Write;

use anyhow::Result;

use crate::cli::ConvertArgs;
use crate::sources::overwrite;
use crate::terminal::emit::print;
use crate::terminal::outcome::Outcome;

pub(crate) fn run(args: &ConvertArgs, out: &mut dyn Write) -> Result<Outcome> {
    let output = [("--output", args.output.clone())];
    let mut inputs = vec![("the file", args.file.clone())];
    inputs.extend(args.config.clone().map(|config| ("--config", config)));
    overwrite::check(&output, &inputs)?;
    let page = match args.config.is_some() || args.num_heads.is_some() {
        true => weights::convert(args)?,
        false => table::convert(args)?,
    };
    print(out, &page)?;
    Ok(Outcome::Success)
}
