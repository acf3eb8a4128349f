//! Text for a terminal of 80 columns.

use std::ops::Range;
use std::path::Path;

use pe_core::text::is_invisible;
use serde::Serialize;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// The columns of a page.
pub(crate) const WIDTH: usize = 80;

/// The most code points kept of what a reader sees as one character.
const MAX_STACK: usize = 16;

/// A growing text whose lines fit the terminal.
#[derive(Debug, Clone, Default)]
pub(crate) struct Page {
    text: String,
}

impl Page {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// A line as it is.
    pub(crate) fn line(&mut self, line: impl AsRef<str>) {
        self.text += line.as_ref().trim_end();
        self.text.push('\n');
    }

    /// An empty line, then an underlined heading.
    pub(crate) fn heading(&mut self, heading: &str) {
        self.line("");
        self.line(heading);
        self.line("-".repeat(columns(heading)));
    }

    /// A paragraph.
    pub(crate) fn paragraph(&mut self, text: &str) {
        self.wrap("", text);
    }

    /// Words after a prefix, broken at spaces, and where a word alone is longer than a line,
    /// between its characters. Later lines are indented by the width of the prefix.
    pub(crate) fn wrap(&mut self, prefix: &str, text: &str) {
        let indent = columns(prefix);
        let mut line = prefix.to_owned();
        let mut used = indent;
        for word in text.split_whitespace() {
            let wide = columns(word);
            if used > indent && used + 1 + wide > WIDTH {
                self.line(&line);
                line = " ".repeat(indent);
                used = indent;
            }
            if used > indent {
                line.push(' ');
                used += 1;
            }
            if used + wide <= WIDTH {
                line += word;
                used += wide;
                continue;
            }
            for character in word.graphemes(true) {
                let wide = columns(character);
                if used > indent && used + wide > WIDTH {
                    self.line(&line);
                    line = " ".repeat(indent);
                    used = indent;
                }
                line += character;
                used += wide;
            }
        }
        self.line(&line);
    }

    /// A grid of named rows, cut into bands that fit the page: as many columns side by side
    /// as there is room for, the rest below.
    pub(crate) fn bands(&mut self, indent: &str, rows: &[(&str, Vec<String>)]) {
        let names = rows
            .iter()
            .map(|(name, _)| columns(name))
            .max()
            .unwrap_or(0);
        let room = WIDTH.saturating_sub(columns(indent) + names);
        let count = rows.iter().map(|(_, cells)| cells.len()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..count)
            .map(|at| {
                let cells = rows.iter().filter_map(|(_, cells)| cells.get(at));
                2 + cells.map(|cell| columns(cell)).max().unwrap_or(0)
            })
            .collect();
        let mut start = 0;
        while start < count {
            let mut used = 0;
            let band = widths[start..]
                .iter()
                .take_while(|width| {
                    used += **width;
                    used <= room
                })
                .count()
                .max(1);
            for (name, cells) in rows {
                let mut line = format!("{indent}{}", pad(name, names));
                for at in start..(start + band).min(cells.len()) {
                    line += "  ";
                    line += &pad(&cells[at], widths[at] - 2);
                }
                self.line(&line);
            }
            start += band;
        }
    }
}

/// The columns that a text takes on a terminal: two for a Chinese character, none for a
/// combining accent.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// A text with spaces after it, up to a width.
pub(crate) fn pad(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(columns(text));
    format!("{text}{}", " ".repeat(missing))
}

/// A text with spaces before it, up to a width.
pub(crate) fn pad_left(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(columns(text));
    format!("{}{text}", " ".repeat(missing))
}

/// A name or a message that cannot upset a terminal and hides nothing, shortened with an ellipsis to a
/// number of columns.
pub(crate) fn clean(text: &str, width: usize) -> String {
    shortened(text, width, is_invisible)
}

/// What people wrote, a sentence or a token of it, likewise; the joiners and variation selectors that scripts
/// and emoji are written with stay.
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

/// A path that cannot upset a terminal.
pub(crate) fn path(path: &Path) -> String {
    clean(&path.display().to_string(), usize::MAX)
}

/// A number with its thousands apart.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A difference: three digits, or in powers of ten where it is small.
pub(crate) fn difference(value: f64) -> String {
    if value == 0.0 {
        "0".to_owned()
    } else if value >= 0.001 {
        format!("{value:.3}")
    } else {
        format!("{value:.1e}")
    }
}

/// A number as people write it: `1` and not `1.0`, `1e-300` and not 300 zeros.
pub(crate) fn short(number: f64) -> String {
    let text = format!("{number:?}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// The positions of a table's rows.
pub(crate) fn positions(range: Range<u64>) -> String {
    if range.is_empty() {
        return "no positions".to_owned();
    }
    format!("positions {} to {}", range.start, range.end - 1)
}

/// The name of a choice, as it stands in files and on the command line.
pub(crate) fn kebab<T: Serialize + std::fmt::Debug>(choice: &T) -> String {
    match serde_json::to_value(choice) {
        Ok(serde_json::Value::String(name)) => name,
        _ => format!("{choice:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(prefix: &str, text: &str) -> Vec<String> {
        let mut page = Page::new();
        page.wrap(prefix, text);
        page.text().lines().map(str::to_owned).collect()
    }

    #[test]
    fn words_longer_than_a_line_are_broken_and_nothing_is_lost() {
        let long = "x".repeat(200);
        let lines = wrapped("1: ", &format!("see {long} end"));
        let widths: Vec<usize> = lines.iter().map(|line| columns(line)).collect();
        assert_eq!(widths, [6, 80, 80, 3 + 46 + 4]);
        assert_eq!(lines[0], "1: see");
        assert!(lines[3].starts_with("   x") && lines[3].ends_with("x end"));
        let letters = lines.iter().flat_map(|line| line.matches('x')).count();
        assert_eq!(letters, 200);
        // A word that fills a line exactly stays whole.
        assert_eq!(wrapped("", &"y".repeat(80)), ["y".repeat(80)]);
    }

    #[test]
    fn wide_characters_take_two_columns_and_are_not_torn_apart() {
        // 39 characters of two columns beside an indent of one: one column stays free.
        let lines = wrapped("|", &"語".repeat(40));
        assert_eq!(lines, [format!("|{}", "語".repeat(39)), " 語".to_owned()]);
        // A family of three joined by invisible characters takes two columns.
        let family = "👨\u{200d}👩\u{200d}👧";
        let lines = wrapped("", &family.repeat(41));
        assert_eq!(lines, [family.repeat(40), family.to_owned()]);
        // So does a flag of two letters; an accent takes none.
        assert_eq!(wrapped("", &"🇫🇷".repeat(41))[1], "🇫🇷");
        assert_eq!(wrapped("", &"e\u{301}".repeat(81))[1], "e\u{301}");
    }

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
    fn a_text_cannot_upset_a_terminal() {
        assert_eq!(
            clean("\u{1b}[1m\u{202e}x\r\n", 99),
            "\\u{1b}[1m\\u{202e}x\\r\\n"
        );
        // Nothing in a name is hidden; what a sentence is written with stays.
        let name = "a\u{7f}\u{85}\u{61c}\u{200b}\u{200d}\u{feff}\u{e0041}\u{fe0f}b";
        assert_eq!(clean(name, 99), pe_core::text::escape(name));
        let family = "\u{1f468}\u{200d}\u{1f469}\u{fe0f}";
        assert_eq!(prose(family, 99), family);
        assert_eq!(prose("a\u{200b}\u{202e}b\n", 99), r"a\u{200b}\u{202e}b\n");
        let heap = format!("a{}", "\u{301}".repeat(100_000));
        assert_eq!(clean(&heap, 99).chars().count(), MAX_STACK);
    }
}
