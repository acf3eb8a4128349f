//! Trains the tokenizer that `pe-demo` carries, from `assets/corpus.txt`.
//!
//! ```text
//! cargo run -p pe-demo --example train_tokenizer > tokenizer.json
//! ```
//!
//! A WordPiece vocabulary in BERT's manner: lower case, split at white space and
//! punctuation, `##` before the pieces inside a word, `[CLS]` and `[SEP]` around
//! a sentence. The same corpus gives the same bytes; the test below compares
//! them with the file in the tree.

use std::collections::BTreeSet;
use std::io::Write;

use anyhow::{Error, Result, anyhow};
use tokenizers::models::wordpiece::{WordPiece, WordPieceTrainer};
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::processors::bert::BertProcessing;
use tokenizers::tokenizer::{
    AddedToken, Model, NormalizedString, Normalizer, OffsetReferential, OffsetType,
    PreTokenizedString, PreTokenizer, Tokenizer, Trainer,
};

const CORPUS: &str = include_str!("../assets/corpus.txt");

/// Entries of the vocabulary, the special tokens included.
const VOCAB_SIZE: usize = 2000;

/// Weight of the built-in sentences: often enough for each of their words
/// to become a token.
const BUILT_IN_WEIGHT: usize = 20;

const SPECIAL: [&str; 4] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"];

fn main() -> Result<()> {
    Ok(std::io::stdout().write_all(&train()?)?)
}

/// The tokenizer as the bytes of its file.
fn train() -> Result<Vec<u8>> {
    let words = words()?;

    // The trainer numbers the characters inside words in the order of a hash
    // map, and breaks ties by those numbers. Naming all characters beforehand
    // makes the outcome repeatable. All of ASCII is there, so that digits and
    // signs which the corpus lacks are tokens too.
    let alphabet: BTreeSet<char> = ('!'..='~')
        .filter(|c| !c.is_ascii_uppercase())
        .chain(words.iter().flat_map(|word| word.chars()))
        .collect();
    let inner = alphabet
        .iter()
        .filter(|c| c.is_alphanumeric())
        .map(|c| format!("##{c}"));
    let first = SPECIAL
        .map(str::to_owned)
        .into_iter()
        .chain(alphabet.iter().map(char::to_string))
        .chain(inner)
        .map(|token| AddedToken::from(token, true))
        .collect();

    let mut trainer = WordPieceTrainer::builder()
        .vocab_size(VOCAB_SIZE)
        .min_frequency(1)
        .show_progress(false)
        .special_tokens(first)
        .build();
    trainer
        .feed(words.iter(), |word| Ok(vec![word.to_owned()]))
        .map_err(Error::msg)?;
    let mut model = WordPiece::default();
    trainer.train(&mut model).map_err(Error::msg)?;

    let id = |token: &str| {
        model
            .token_to_id(token)
            .map(|id| (token.to_owned(), id))
            .ok_or_else(|| anyhow!("the trainer left out {token}"))
    };
    let around = BertProcessing::new(id("[SEP]")?, id("[CLS]")?);
    let mut tokenizer = Tokenizer::new(model);
    tokenizer
        .with_normalizer(Some(BertNormalizer::default()))
        .map_err(Error::msg)?
        .with_pre_tokenizer(Some(BertPreTokenizer))
        .with_post_processor(Some(around))
        .with_decoder(Some(tokenizers::decoders::wordpiece::WordPiece::default()));
    tokenizer
        .add_special_tokens(SPECIAL.map(|token| AddedToken::from(token, true)))
        .map_err(Error::msg)?;
    let mut json = tokenizer.to_string(true).map_err(Error::msg)?;
    json.push('\n');
    Ok(json.into_bytes())
}

/// The words of the corpus, as the tokenizer will split them.
fn words() -> Result<Vec<String>> {
    let built_in = pe_demo::sentences::BUILT_IN
        .into_iter()
        .cycle()
        .take(BUILT_IN_WEIGHT * pe_demo::sentences::BUILT_IN.len());
    let mut words = Vec::new();
    for line in CORPUS.lines().chain(built_in) {
        let mut line = NormalizedString::from(line);
        BertNormalizer::default()
            .normalize(&mut line)
            .map_err(Error::msg)?;
        let mut line = PreTokenizedString::from(line);
        BertPreTokenizer
            .pre_tokenize(&mut line)
            .map_err(Error::msg)?;
        words.extend(
            line.get_splits(OffsetReferential::Original, OffsetType::Byte)
                .into_iter()
                .map(|(word, _, _)| word.to_owned()),
        );
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    #[test]
    fn training_again_gives_the_file_in_the_tree() {
        let again = super::train().expect("training works");
        assert!(again == include_bytes!("../assets/tokenizer.json"));
    }
}
