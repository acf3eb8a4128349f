//! Text for a terminal: tables of at most 80 columns, paragraphs of its width.

use unicode_segmentation::UnicodeSegmentation;

use super::color::{Color, Style, Terminal};
use super::width::{WIDTH, columns, pad};

/// A growing text with lines that fit the terminal.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    text: String,
    /// Columns of paragraphs.
    width: usize,
    color: Color,
}

impl Page {
    /// Begins a page for the standard output of the run.
    pub(crate) fn new() -> Self {
        let terminal = Terminal::current();
        Self {
            text: String::new(),
            width: terminal.paragraph(),
            color: terminal.stdout,
        }
    }

    /// Returns a text in a style, where the page has colors. It takes no further columns.
    pub(crate) fn styled(&self, text: &str, style: Style) -> String {
        self.color.styled(text, style)
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Writes a line, unchanged.
    pub(crate) fn line(&mut self, line: impl AsRef<str>) {
        self.text += line.as_ref().trim_end();
        self.text.push('\n');
    }

    /// Writes an empty line, then an underlined heading.
    pub(crate) fn heading(&mut self, heading: &str) {
        self.line("");
        self.line(self.styled(heading, Style::Bold));
        self.line(self.styled(&"-".repeat(columns(heading)), Style::Faint));
    }

    /// Writes a paragraph.
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
            if used > indent && used + 1 + wide > self.width {
                self.line(&line);
                line = " ".repeat(indent);
                used = indent;
            }
            if used > indent {
                line.push(' ');
                used += 1;
            }
            if used + wide <= self.width {
                line += word;
                used += wide;
                continue;
            }
            for character in word.graphemes(true) {
                let wide = columns(character);
                if used > indent && used + wide > self.width {
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

    /// Writes a grid of named rows, cut into bands that fit the page: as many columns side by side
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
    fn paragraphs_have_the_width_of_the_terminal_within_limits() {
        for (columns, longest) in [(None, 80), (Some(40), 40), (Some(5), 20), (Some(200), 100)] {
            let terminal = Terminal {
                columns,
                ..Terminal::default()
            };
            terminal.begin();
            let lines = wrapped("", &"ab ".repeat(200));
            let most = lines.iter().map(|line| line.len()).max();
            // Words of two letters and a space.
            assert_eq!(most, Some((longest + 1) / 3 * 3 - 1), "{columns:?}");
        }
        Terminal::default().begin();
    }

    #[test]
    fn headings_are_bold_in_color() {
        let color = Terminal {
            stdout: Color::On,
            ..Terminal::default()
        };
        color.begin();
        let mut page = Page::new();
        page.heading("Ab");
        assert_eq!(page.text(), "\n\x1b[1mAb\x1b[0m\n\x1b[2m--\x1b[0m\n");
        Terminal::default().begin();
    }

    #[test]
    fn wide_characters_take_two_columns_and_are_not_torn_apart() {
        // 39 characters of two columns next to an indent of one: one column stays free.
        let lines = wrapped("|", &"語".repeat(40));
        assert_eq!(lines, [format!("|{}", "語".repeat(39)), " 語".to_owned()]);
        // A family of three joined by invisible characters takes two columns.
        let family = "👨\u{200d}👩\u{200d}👧";
        let lines = wrapped("", &family.repeat(41));
        assert_eq!(lines, [family.repeat(40), family.to_owned()]);
        // So does a flag of two letters. An accent takes none.
        assert_eq!(wrapped("", &"🇫🇷".repeat(41))[1], "🇫🇷");
        assert_eq!(wrapped("", &"e\u{301}".repeat(81))[1], "e\u{301}");
    }
}
