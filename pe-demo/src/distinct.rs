//! What is read is not written over.

use std::path::Path;

use crate::console::BadUsage;

/// An option and the file that it names.
pub(crate) type Named<'a> = (&'static str, &'a Path);

/// That a file to write is none of those to read, by whatever name: the result would take the
/// place of what it was made from.
pub(crate) fn check(output: Named<'_>, inputs: &[Named<'_>]) -> Result<(), BadUsage> {
    let (option, path) = output;
    match inputs.iter().find(|(_, input)| same(path, input)) {
        None => Ok(()),
        Some((reads, input)) => Err(BadUsage(format!(
            "{option} {} would replace what {reads} {} reads",
            path.display(),
            input.display()
        ))),
    }
}

/// Whether two names are of one file. A file that is not there is no other.
fn same(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b || linked(&a, &b),
        _ => false,
    }
}

/// Whether two files share their content.
#[cfg(unix)]
fn linked(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (a.metadata(), b.metadata()) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn linked(_: &Path, _: &Path) -> bool {
    false
}
