//! Results on standard output, as text or as JSON.

use std::io::{self, BufWriter, Write};

use anyhow::Result;
use pe_core::text::is_invisible;
use serde::Serialize;

use super::page::Page;

/// Writes a result as one JSON document or as a page of text.
pub(crate) fn emit(
    out: &mut dyn Write,
    as_json: bool,
    value: &impl Serialize,
    page: impl FnOnce() -> Result<Page>,
) -> Result<()> {
    match as_json {
        true => json(out, value),
        false => print(out, &page()?),
    }
}

/// Writes a page of text.
pub(crate) fn print(out: &mut dyn Write, page: &Page) -> Result<()> {
    Ok(out.write_all(page.text().as_bytes())?)
}

/// Writes a document on one line.
pub(crate) fn print_line(out: &mut dyn Write, document: &impl Serialize) -> Result<()> {
    let mut out = Visible(BufWriter::new(out));
    serde_json::to_writer(&mut out, document)?;
    out.write_all(b"\n")?;
    out.flush()?;
    Ok(())
}

/// Writes a document and ends its last line.
///
/// A character that a terminal obeys or does not show is an escape such as `\u200b`, which reads
/// back as that character.
fn json(out: &mut dyn Write, document: &impl Serialize) -> Result<()> {
    let mut out = Visible(BufWriter::new(out));
    serde_json::to_writer_pretty(&mut out, document)?;
    out.write_all(b"\n")?;
    out.flush()?;
    Ok(())
}

/// Escapes invisible characters in JSON, which has them in strings only, but for the ends of lines.
struct Visible<W>(W);

impl<W: Write> Write for Visible<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The serializer writes whole characters.
        let text = std::str::from_utf8(bytes).map_err(io::Error::other)?;
        let mut from = 0;
        for (at, found) in text.match_indices(|c| c != '\n' && is_invisible(c)) {
            self.0.write_all(&bytes[from..at])?;
            for unit in found.encode_utf16() {
                write!(self.0, "\\u{unit:04x}")?;
            }
            from = at + found.len();
        }
        self.0.write_all(&bytes[from..])?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_are_escaped_and_read_back() -> Result<()> {
        let invisible: String = (0..=0x10FFFF)
            .filter_map(char::from_u32)
            .filter(|c| is_invisible(*c))
            .collect();
        let document =
            serde_json::json!({ invisible.as_str(): [invisible.as_str(), "é語\u{1f600}\\\""] });
        let mut out = Vec::new();
        json(&mut out, &document)?;
        let text = String::from_utf8(out)?;
        assert!(!text.contains(|c| c != '\n' && is_invisible(c)));
        assert!(text.contains("\\u200b\\u200c") && text.contains("\\udb40\\udc41"));
        assert!(text.contains("é語\u{1f600}"));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text)?, document);
        Ok(())
    }
}
