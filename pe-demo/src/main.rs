//! `pe-demo`: shows what positional encodings do, and exports and inspects exact tables.

#![forbid(unsafe_code)]

use std::io::{self, BufWriter};
use std::process::ExitCode;

use pe_demo::Terminal;

/// The C library's allocator maps results of 32 MiB and more again each time, and the system
/// zeroes them page by page: several times what the work itself takes. This one keeps them.
#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let mut stdin = io::stdin().lock();
    let mut stdout = BufWriter::new(io::stdout().lock());
    // Not locked: progress bars draw there from other threads.
    let mut stderr = io::stderr();
    let terminal = Terminal::of_this_process();
    let args = std::env::args_os();
    pe_demo::run_in(terminal, args, &mut stdin, &mut stdout, &mut stderr).into()
}
