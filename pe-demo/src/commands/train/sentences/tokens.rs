//! Words as tokens.

use anyhow::{Result, ensure};

use crate::text::tokenizer::Tokenizer;

/// The tokens of a piece of a sentence.
pub(super) type Tokens = Vec<u32>;

/// Returns the tokens of a text without those around it, one for each word.
pub(super) fn of(tokenizer: &Tokenizer, text: &str) -> Result<Tokens> {
    let tokens = tokenizer.encode(text)?.tokens;
    let words = tokens.iter().filter(|token| !token.special);
    let ids: Tokens = words.map(|token| token.id).collect();
    let count = text.split_whitespace().count();
    ensure!(
        ids.len() == count,
        "the tokenizer cuts \"{text}\" into {} tokens, not {count}",
        ids.len()
    );
    Ok(ids)
}

/// Returns the tokens of each text.
pub(super) fn all(tokenizer: &Tokenizer, texts: &[&str]) -> Result<Vec<Tokens>> {
    texts.iter().map(|text| of(tokenizer, text)).collect()
}

/// Returns the tokens before and after every sentence.
pub(super) fn around(tokenizer: &Tokenizer) -> Result<[u32; 2]> {
    let ids = tokenizer.encode(".")?.ids();
    match ids.as_slice() {
        [start, _, end] => Ok([*start, *end]),
        _ => anyhow::bail!("the tokenizer puts {} tokens around a word", ids.len()),
    }
}
