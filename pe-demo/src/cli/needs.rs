//! Options that need another one.

use crate::terminal::outcome::BadUsage;

/// An option and whether it is given.
pub(crate) type Given = (&'static str, bool);

/// Checks that each option given has the option that it needs.
///
/// clap's own `requires` lapses if the needed option conflicts with another one given.
pub(crate) fn check(needs: &[(Given, Given)]) -> Result<(), BadUsage> {
    match needs.iter().find(|(of, on)| of.1 && !on.1) {
        Some((of, on)) => Err(BadUsage(format!("{} is required by {}", on.0, of.0))),
        None => Ok(()),
    }
}
