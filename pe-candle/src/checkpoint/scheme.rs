//! What every specification says of itself: its format, and the scheme that it is of.

use serde::Deserialize;

use super::file::message::{quoted, shown};
use super::file::object::Object;

/// The metadata key under which the specification stands, the only key written.
pub const METADATA_KEY: &str = "positional_encoding";

/// The version of the JSON object that this crate reads and writes.
pub const FORMAT: u32 = 1;

/// The scheme of additive tables; that of rotary ones is
/// [`ROTARY_SCHEME`](crate::checkpoint::ROTARY_SCHEME).
pub const SCHEME: &str = "sinusoidal";

/// The scheme of rotary tables.
pub const ROTARY_SCHEME: &str = "rotary";

/// The most bytes of text. The longest specifications are lists of factors, one for each pair.
const LONGEST: usize = 16 << 20;

/// What every version of the object has.
#[derive(Deserialize)]
struct Head {
    format: u64,
    scheme: String,
}

/// The kinds of tables that have a specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    Sinusoidal,
    Rotary,
}

/// What a specification is about, if this version reads its format.
pub(crate) fn scheme_of(text: &str) -> std::result::Result<Scheme, String> {
    // A number takes two bytes here and eight in memory.
    if text.len() > LONGEST {
        return Err(format!(
            "{} bytes of text, above the limit of {LONGEST}",
            text.len()
        ));
    }
    let head: Head = parse(text)?;
    if head.format != u64::from(FORMAT) {
        return Err(format!(
            "format {} is not known (this version reads format {FORMAT})",
            head.format
        ));
    }
    match head.scheme.as_str() {
        SCHEME => Ok(Scheme::Sinusoidal),
        ROTARY_SCHEME => Ok(Scheme::Rotary),
        other => Err(format!(
            "scheme {} is not known (this version reads {SCHEME:?} and {ROTARY_SCHEME:?})",
            quoted(other)
        )),
    }
}

pub(crate) fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> std::result::Result<T, String> {
    match serde_json::from_str(text) {
        Ok(Object(value)) => Ok(value),
        Err(error) => Err(shown(&error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specifications_up_to_the_longest_are_parsed() {
        let text = r#"{"format": 1, "scheme": "sinusoidal"}"#;
        let padded = |length: usize| " ".repeat(length - text.len()) + text;
        assert_eq!(scheme_of(&padded(LONGEST)), Ok(Scheme::Sinusoidal));
        let error = scheme_of(&padded(LONGEST + 1)).unwrap_err();
        assert_eq!(error, "16777217 bytes of text, above the limit of 16777216");
    }
}
