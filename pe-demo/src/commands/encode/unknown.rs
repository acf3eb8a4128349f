//! Text that the tokenizer does not know.

use serde::Serialize;

use super::parts::Parts;
use crate::commands::studies::Section;
use crate::terminal::color::Style;
use crate::terminal::numbers::thousands;
use crate::terminal::page::Page;
use crate::terminal::width::{clean, prose};
use crate::text::scripts;
use crate::text::tokenizer::{Sentence, Token};
use crate::words::lengths::ranges;

/// Sentences with text that the tokenizer does not know.
#[derive(Debug, Serialize)]
pub(super) struct Unknown {
    /// The token in its place.
    token: String,
    /// The number of such tokens.
    tokens: usize,
    /// Of all tokens but those around sentences.
    of: usize,
    /// Numbers of the sentences, from 1.
    sentences: Vec<usize>,
    /// Scripts of these sentences other than Latin.
    scripts: Vec<&'static str>,
}

impl Unknown {
    /// Looks for unknown tokens. Returns `None` if all are known.
    pub(super) fn of(parts: &Parts, sentences: &[Sentence]) -> Option<Self> {
        let unknown = parts.tokenizer.unknown()?;
        let mut found = Self {
            token: String::new(),
            tokens: 0,
            of: 0,
            sentences: Vec::new(),
            scripts: Vec::new(),
        };
        for (sentence, number) in sentences.iter().zip(1..) {
            found.of += sentence
                .tokens
                .iter()
                .filter(|token| !token.special)
                .count();
            let unknown = |token: &&Token| token.id == unknown;
            let Some(first) = sentence.tokens.iter().find(unknown) else {
                continue;
            };
            found.token.clone_from(&first.token);
            found.tokens += sentence.tokens.iter().filter(unknown).count();
            found.sentences.push(number);
            for script in scripts::of(&sentence.text) {
                if !found.scripts.contains(&script) {
                    found.scripts.push(script);
                }
            }
        }
        (found.tokens > 0).then_some(found)
    }
}

impl Section for Unknown {
    fn print(&self, page: &mut Page, _: &[Sentence]) {
        let scripts = match &self.scripts[..] {
            [] => String::new(),
            scripts => format!(" ({})", scripts.join(", ")),
        };
        let label = page.styled("Unknown text: ", Style::Yellow);
        page.line("");
        page.paragraph(&format!(
            "{label}{} of {} tokens are {}, in sentence {}{scripts}. The tokenizer has no token for these \
             texts, so all of them are one and the same to the encoder. --tokenizer FILE|REPO names one that \
             does, such as google-bert/bert-base-multilingual-cased.",
            thousands(self.tokens as u64),
            thousands(self.of as u64),
            prose(&self.token, 24),
            clean(&ranges(&self.sentences), 60),
        ));
    }
}
