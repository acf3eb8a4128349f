//! Messages about files of any content: on one line, and of limited length.

use std::borrow::Cow;

use pe_core::text::escape;

/// Returns an error with a message of one line, whatever the message quotes.
pub(crate) fn error(message: impl std::fmt::Display) -> candle_core::Error {
    let message = message.to_string();
    candle_core::Error::Msg(escape(&message).into_owned())
}

/// Returns a reason that may quote a file of any content on one line, shortened.
pub(crate) fn shown(reason: &str) -> String {
    escape(&shortened(reason)).into_owned()
}

/// Quotes a name of any content on one line, shortened.
pub(crate) fn quoted(name: &str) -> String {
    escape(&format!("{:?}", shortened(name))).into_owned()
}

/// Returns the beginning and the end of a long text, which often names a place.
fn shortened(text: &str) -> Cow<'_, str> {
    const HEAD: usize = 400;
    const TAIL: usize = 80;
    let end_of_head = text.char_indices().nth(HEAD);
    let begin_of_tail = text.char_indices().rev().nth(TAIL - 1);
    match (end_of_head, begin_of_tail) {
        (Some((head, _)), Some((tail, _))) if head < tail => {
            let part = |range| text.get(range).unwrap_or_default();
            Cow::Owned(format!("{} ... {}", part(0..head), part(tail..text.len())))
        }
        _ => Cow::Borrowed(text),
    }
}

/// Returns the message of an error without its backtrace, for another message.
pub(crate) fn reason(error: &candle_core::Error) -> String {
    match error {
        candle_core::Error::WithBacktrace { inner, .. } => reason(inner),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_reasons_keep_their_beginning_and_their_end() {
        let whole = "a".repeat(400) + &"b".repeat(80);
        assert_eq!(shown(&whole), whole);
        let long = "a".repeat(400) + "x" + &"b".repeat(80);
        let wanted = "a".repeat(400) + " ... " + &"b".repeat(80);
        assert_eq!(shown(&long), wanted);
        assert_eq!(
            shown("row 3:\n\u{1b}[31m\"red\""),
            r#"row 3:\n\u{1b}[31m"red""#
        );
    }
}
