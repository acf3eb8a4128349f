//! `pe-demo`: shows what positional encodings do; exports and inspects exact tables.

#![forbid(unsafe_code)]

use std::io::{self, BufWriter};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut stdin = io::stdin().lock();
    let mut stdout = BufWriter::new(io::stdout().lock());
    // Not locked: progress bars draw there from other threads.
    let mut stderr = io::stderr();
    pe_demo::run(std::env::args_os(), &mut stdin, &mut stdout, &mut stderr).into()
}
