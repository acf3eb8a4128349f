//! Files that are read are not replaced.

use std::path::{Path, PathBuf};

use crate::terminal::outcome::BadUsage;

/// A file, and the option or the words that name it.
pub(crate) type Named = (&'static str, PathBuf);

/// Checks that no file to write is one of those to read, by whatever name.
///
/// # Errors
/// Returns an error if one is: the result would replace its source.
pub(crate) fn check(outputs: &[Named], inputs: &[Named]) -> Result<(), BadUsage> {
    for (writes, output) in outputs {
        if let Some((reads, input)) = inputs.iter().find(|(_, input)| same(output, input)) {
            return Err(BadUsage(format!(
                "{writes} {} would replace what {reads} {} reads",
                output.display(),
                input.display()
            )));
        }
    }
    Ok(())
}

/// Returns whether two names are of one existing file.
fn same(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b || linked(&a, &b),
        _ => false,
    }
}

/// Returns whether two files share their content.
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
