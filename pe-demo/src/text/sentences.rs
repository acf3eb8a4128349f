//! The sentences to encode.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

/// Sentences of different lengths. The first two consist of the same words in
/// another order. In the first, "Hopkins" is as far before "Bay" as "Bay" before "great".
pub const BUILT_IN: [&str; 4] = [
    "Anthony Hopkins admired Michael Bay as a great director.",
    "Michael Bay admired Anthony Hopkins as a great director.",
    "The cat saw the dog.",
    "Without an order, a sentence is only a bag of words.",
];

/// Two sentences of the same words, of the kind that `pe-demo train` trains on.
pub const TWINS: [&str; 2] = [
    "The king from the city never feared the dwarf.",
    "The dwarf from the city never feared the king.",
];

/// Two rows of the same words, of the kind that `pe-demo train --task distance` trains on.
pub(crate) const ROWS: [&str; 2] = [
    "hat king dwarf lamp stone gate",
    "hat dwarf king lamp stone gate",
];

/// The most bytes of a line.
const MAX_LINE: usize = 1 << 20;

/// A sentence and where it is.
#[derive(Debug, Clone)]
pub(crate) struct Text {
    pub(crate) text: String,
    /// The line of a file, or the number of a sentence that was given, from 1.
    pub(crate) number: u64,
    /// Its bytes in the file.
    pub(crate) bytes: u64,
}

/// Sentences in their order, read on demand.
pub(crate) struct Texts<'a> {
    /// Read but not taken.
    ahead: VecDeque<Text>,
    lines: Option<Lines<'a>>,
}

impl<'a> Texts<'a> {
    /// Returns the sentences asked for: those given, a file's lines, or the built-in ones. A lone `-` means
    /// for standard input. It is read only on request: a program started without a terminal may have
    /// a standard input that never ends.
    pub(crate) fn open(
        given: &[String],
        file: Option<&Path>,
        stdin: &'a mut dyn BufRead,
        built_in: &[&str],
    ) -> Result<Self> {
        let from_stdin = given == ["-"] || file == Some(Path::new("-"));
        if from_stdin {
            return Self::of_lines(Lines::new(
                Box::new(stdin),
                "standard input".to_owned(),
                None,
            ));
        }
        if let Some(path) = file {
            let name = path.display().to_string();
            let file = File::open(path).with_context(|| name.clone())?;
            let metadata = file.metadata().with_context(|| name.clone())?;
            ensure!(!metadata.is_dir(), "{name}: is a directory, not a file");
            let bytes = metadata.is_file().then_some(metadata.len());
            return Self::of_lines(Lines::new(Box::new(BufReader::new(file)), name, bytes));
        }
        let mut ahead = VecDeque::new();
        let built_in = built_in.iter().map(|text| (*text).to_owned());
        let texts: Vec<String> = match given.is_empty() {
            true => built_in.collect(),
            false => given.to_vec(),
        };
        for (text, number) in texts.into_iter().zip(1..) {
            ensure!(!text.trim().is_empty(), "sentence {number} is empty");
            let bytes = text.len() as u64;
            ahead.push_back(Text {
                text,
                number,
                bytes,
            });
        }
        Ok(Self { ahead, lines: None })
    }

    /// Lines of which one at least is not blank.
    fn of_lines(mut lines: Lines<'a>) -> Result<Self> {
        let Some(first) = lines.next()? else {
            bail!("{}: no sentences", lines.name);
        };
        Ok(Self {
            ahead: VecDeque::from([first]),
            lines: Some(lines),
        })
    }

    /// Returns the next sentence.
    pub(crate) fn next(&mut self) -> Result<Option<Text>> {
        match (self.ahead.pop_front(), &mut self.lines) {
            (Some(text), _) => Ok(Some(text)),
            (None, Some(lines)) => lines.next(),
            (None, None) => Ok(None),
        }
    }

    /// Returns the first ones, up to a number of sentences and bytes, and whether there are more. They
    /// stay to be taken.
    pub(crate) fn first(&mut self, most: usize, bytes: u64) -> Result<(Vec<Text>, bool)> {
        let Some(lines) = &mut self.lines else {
            return Ok((self.ahead.iter().cloned().collect(), false));
        };
        let mut read: u64 = self.ahead.iter().map(|text| text.bytes).sum();
        while self.ahead.len() < most && read < bytes {
            let Some(text) = lines.next()? else {
                return Ok((self.ahead.iter().cloned().collect(), false));
            };
            read += text.bytes;
            self.ahead.push_back(text);
        }
        let first = self.ahead.iter().cloned().collect();
        let next = lines.next()?;
        let more = next.is_some();
        self.ahead.extend(next);
        Ok((first, more))
    }

    /// Returns the names of sentences in messages: `text.txt: line 7`, or `sentence 7`.
    pub(crate) fn names(&self) -> SentenceNames {
        SentenceNames(self.lines.as_ref().map(|lines| lines.name.clone()))
    }

    /// Returns the size of the file in bytes, if it is known.
    pub(crate) fn file_bytes(&self) -> Option<u64> {
        self.lines.as_ref()?.bytes
    }
}

/// The names of sentences in messages: their file, if they have one, and a number.
#[derive(Debug, Clone)]
pub(crate) struct SentenceNames(Option<String>);

impl SentenceNames {
    pub(crate) fn of(&self, number: u64) -> String {
        match &self.0 {
            Some(name) => format!("{name}: line {number}"),
            None => format!("sentence {number}"),
        }
    }
}

/// The lines that are not blank, without the white space around them.
struct Lines<'a> {
    reader: Box<dyn BufRead + 'a>,
    name: String,
    bytes: Option<u64>,
    number: u64,
}

impl<'a> Lines<'a> {
    fn new(reader: Box<dyn BufRead + 'a>, name: String, bytes: Option<u64>) -> Self {
        Self {
            reader,
            name,
            bytes,
            number: 0,
        }
    }

    fn next(&mut self) -> Result<Option<Text>> {
        let mut bytes = 0;
        loop {
            let Some(line) = self.line()? else {
                return Ok(None);
            };
            self.number += 1;
            // A last line may have no end. That is one byte too many then.
            bytes += line.len() as u64 + 1;
            let line = std::str::from_utf8(&line).with_context(|| self.here())?;
            let line = line.trim();
            if !line.is_empty() {
                return Ok(Some(Text {
                    text: line.to_owned(),
                    number: self.number,
                    bytes,
                }));
            }
        }
    }

    /// Reads a line without its end. Never more of it is held than the longest may have.
    fn line(&mut self) -> Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        loop {
            let piece = match self.reader.fill_buf() {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                piece => piece.with_context(|| self.name.clone())?,
            };
            if piece.is_empty() {
                return Ok((!line.is_empty()).then_some(line));
            }
            let end = piece.iter().position(|byte| *byte == b'\n');
            let length = end.unwrap_or(piece.len());
            if line.len() + length > MAX_LINE {
                self.number += 1;
                bail!("{}: longer than {MAX_LINE} bytes", self.here());
            }
            line.extend_from_slice(&piece[..length]);
            self.reader.consume(length + usize::from(end.is_some()));
            if end.is_some() {
                return Ok(Some(line));
            }
        }
    }

    fn here(&self) -> String {
        format!("{}: line {}", self.name, self.number)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Read};

    use super::*;

    fn texts(stdin: &mut dyn BufRead) -> Result<Vec<(u64, String)>> {
        let mut texts = Texts::open(&["-".to_owned()], None, stdin, &[])?;
        let mut list = Vec::new();
        while let Some(text) = texts.next()? {
            list.push((text.number, text.text));
        }
        Ok(list)
    }

    #[test]
    fn lines_are_numbered_with_the_blank_ones() -> Result<()> {
        for capacity in [1, 2, 3, 100] {
            let text = " one \n\n\r\ntwo\r\n \nthree";
            let mut stdin = BufReader::with_capacity(capacity, text.as_bytes());
            let expected = [(1, "one"), (4, "two"), (6, "three")];
            assert_eq!(
                texts(&mut stdin)?,
                expected.map(|(at, text)| (at, text.to_owned()))
            );
        }
        for nothing in ["", "\n\n", " "] {
            let error = texts(&mut nothing.as_bytes()).map_err(|e| e.to_string());
            assert_eq!(error, Err("standard input: no sentences".to_owned()));
        }
        Ok(())
    }

    #[test]
    fn endless_line_is_rejected_before_it_is_read() -> Result<()> {
        let mut longest = "x".repeat(MAX_LINE);
        assert_eq!(texts(&mut longest.as_bytes())?.len(), 1);
        longest.push('x');
        let error = texts(&mut longest.as_bytes()).map_err(|e| e.to_string());
        let expected = "standard input: line 1: longer than 1048576 bytes";
        assert_eq!(error, Err(expected.to_owned()));
        // After a good line, and never ending.
        let mut endless = BufReader::new(Cursor::new("good\n").chain(std::io::repeat(b'x')));
        let error = texts(&mut endless).map_err(|e| e.to_string());
        assert_eq!(error, Err(expected.replace("line 1", "line 2")));
        Ok(())
    }

    #[test]
    fn first_lines_are_not_taken_away() -> Result<()> {
        let mut stdin = "a\nb\nc\nd".as_bytes();
        let mut texts = Texts::open(&["-".to_owned()], None, &mut stdin, &[])?;
        let (first, more) = texts.first(2, 100)?;
        assert_eq!((first.len(), more), (2, true));
        let (first, more) = texts.first(4, 100)?;
        assert_eq!((first.len(), more), (4, false));
        let mut all = String::new();
        while let Some(text) = texts.next()? {
            all += &text.text;
        }
        assert_eq!(all, "abcd");
        Ok(())
    }
}
