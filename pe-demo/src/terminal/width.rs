//! Texts by the columns that they take on a terminal.

use std::path::Path;

use pe_core::text::is_invisible;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// The columns of a page.
pub(crate) const WIDTH: usize = 80;

/// The most code points kept of what a reader sees as one character.
const MAX_STACK: usize = 16;

/// Returns the columns of a text on a terminal: two for a Chinese character, none for a combining
/// accent.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// Pads a text with spaces after it.
pub(crate) fn pad(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(columns(text));
    format!("{text}{}", " ".repeat(missing))
}

/// Pads a text with spaces before it.
pub(crate) fn pad_left(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(columns(text));
    format!("{}{text}", " ".repeat(missing))
}

/// Returns a name or a message with control and invisible characters escaped, shortened with an ellipsis
/// to a number of columns.
pub(crate) fn clean(text: &str, width: usize) -> String {
    shortened(text, width, is_invisible)
}

/// Returns a sentence or a token, cleaned and shortened likewise. The joiners and variation selectors of
/// scripts and emoji stay.
pub(crate) fn prose(text: &str, width: usize) -> String {
    let of_writing = |c| matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}');
    shortened(text, width, |c| is_invisible(c) && !of_writing(c))
}

fn shortened(text: &str, width: usize, is_hidden: impl Fn(char) -> bool) -> String {
    let mut clean = String::new();
    let mut used = 0;
    // Where to cut so that an ellipsis fits behind.
    let mut cut = 0;
    for character in text.graphemes(true) {
        let start = clean.len();
        for c in character.chars().take(MAX_STACK) {
            if is_hidden(c) {
                clean.extend(c.escape_default());
            } else {
                clean.push(c);
            }
        }
        used += columns(&clean[start..]);
        if used > width {
            clean.truncate(cut);
            clean.push('…');
            break;
        }
        if used < width {
            cut = clean.len();
        }
    }
    clean
}

/// Returns a path with control and invisible characters escaped.
pub(crate) fn clean_path(path: &Path) -> String {
    clean(&path.display().to_string(), usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortened_texts_end_with_an_ellipsis_inside_the_width() {
        assert_eq!(clean("hopkins", 7), "hopkins");
        assert_eq!(clean("hopkins", 6), "hopki…");
        assert_eq!(clean("語語語", 6), "語語語");
        assert_eq!(clean("語語語", 5), "語語…");
        assert_eq!(clean("語語語", 4), "語…");
        assert_eq!(columns(&clean(&"a\u{301}".repeat(9), 5)), 5);
        assert_eq!(pad("語", 4), "語  ");
        assert_eq!(pad_left("語", 4), "  語");
    }

    #[test]
    fn texts_cannot_upset_a_terminal() {
        assert_eq!(
            clean("\u{1b}[1m\u{202e}x\r\n", 99),
            "\\u{1b}[1m\\u{202e}x\\r\\n"
        );
        // Nothing in a name is hidden. What a sentence is written with stays.
        let name = "a\u{7f}\u{85}\u{61c}\u{200b}\u{200d}\u{feff}\u{e0041}\u{fe0f}b";
        assert_eq!(clean(name, 99), pe_core::text::escape(name));
        let family = "\u{1f468}\u{200d}\u{1f469}\u{fe0f}";
        assert_eq!(prose(family, 99), family);
        assert_eq!(prose("a\u{200b}\u{202e}b\n", 99), r"a\u{200b}\u{202e}b\n");
        let heap = format!("a{}", "\u{301}".repeat(100_000));
        assert_eq!(clean(&heap, 99).chars().count(), MAX_STACK);
    }
}
