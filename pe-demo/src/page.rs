//! Text for a terminal of 80 columns.

use std::path::Path;

use serde::Serialize;

/// The columns of a page.
pub(crate) const WIDTH: usize = 80;

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

    /// Words after a prefix, broken at spaces; later lines are indented by the width
    /// of the prefix. A word that is longer than a line keeps its line.
    pub(crate) fn wrap(&mut self, prefix: &str, text: &str) {
        let indent = " ".repeat(columns(prefix));
        let mut line = prefix.to_owned();
        let mut empty = true;
        for word in text.split_whitespace() {
            if !empty && columns(&line) + 1 + columns(word) > WIDTH {
                self.line(&line);
                line.clone_from(&indent);
                empty = true;
            }
            if !empty {
                line.push(' ');
            }
            line += word;
            empty = false;
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

/// The columns that a text takes, one per character.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().count()
}

/// A text with spaces up to a width.
pub(crate) fn pad(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(columns(text));
    format!("{text}{}", " ".repeat(missing))
}

/// A text that cannot upset a terminal, cut to a number of columns.
pub(crate) fn clean(text: &str, width: usize) -> String {
    let mut clean = String::new();
    for c in text.chars() {
        if c.is_control() {
            clean.extend(c.escape_default());
        } else {
            clean.push(c);
        }
    }
    if columns(&clean) > width {
        clean = clean.chars().take(width.saturating_sub(2)).collect();
        clean += "..";
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

/// The name of a choice, as it stands in files and on the command line.
pub(crate) fn kebab<T: Serialize + std::fmt::Debug>(choice: &T) -> String {
    match serde_json::to_value(choice) {
        Ok(serde_json::Value::String(name)) => name,
        _ => format!("{choice:?}"),
    }
}
