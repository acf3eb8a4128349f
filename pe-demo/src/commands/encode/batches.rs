//! Batches of sentences.

use crate::text::tokenizer::Sentence;

/// The most attention weights of a batch and layer: 64 MiB.
const MAX_BATCH_WEIGHTS: usize = 1 << 24;

/// Maximum number of traced tokens. Their vectors are held in memory.
const MAX_TRACED_TOKENS: usize = 1 << 12;

/// Returns the sentences at the beginning, few enough to keep all their vectors.
pub(super) fn first(sentences: &[Sentence]) -> &[Sentence] {
    let mut tokens = 0;
    let more = sentences.iter().skip(1).take_while(|sentence| {
        tokens += sentence.tokens.len();
        tokens <= MAX_TRACED_TOKENS
    });
    &sentences[..(1 + more.count()).min(sentences.len())]
}

/// Returns runs of sentences that are encoded together, as many as memory allows.
pub(super) fn batches(sentences: &[Sentence], heads: usize) -> Vec<&[Sentence]> {
    let mut batches = Vec::new();
    let mut start = 0;
    let mut longest = 0;
    for (index, sentence) in sentences.iter().enumerate() {
        longest = longest.max(sentence.tokens.len());
        let weights = (index + 1 - start) * heads * longest * longest;
        if index > start && weights > MAX_BATCH_WEIGHTS {
            batches.push(&sentences[start..index]);
            start = index;
            longest = sentence.tokens.len();
        }
    }
    batches.push(&sentences[start..]);
    batches
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tokenizer::Token;

    fn sentences(lengths: &[usize]) -> Vec<Sentence> {
        let token = Token {
            token: "a".to_owned(),
            id: 0,
            position: 0,
            special: false,
        };
        let sentence = |len: &usize| Sentence {
            text: String::new(),
            tokens: vec![token.clone(); *len],
        };
        lengths.iter().map(sentence).collect()
    }

    #[test]
    fn batches_hold_every_sentence_once_and_are_bounded() {
        let sentences = sentences(&[10, 2000, 2000, 2000, 4096, 10, 10]);
        let batches = batches(&sentences, 2);
        let sizes: Vec<usize> = batches.iter().map(|batch| batch.len()).collect();
        // 2 x 2000^2 weights fit twice; 2 x 4096^2 are too many, so each runs alone.
        assert_eq!(sizes, [2, 2, 1, 2]);
    }

    #[test]
    fn traces_are_followed_for_a_bounded_number_of_tokens() {
        assert_eq!(first(&sentences(&[5000, 5000])).len(), 1);
        assert_eq!(first(&sentences(&[10, 4096, 1])).len(), 2);
        assert_eq!(first(&sentences(&[10; 1000])).len(), 410);
        assert_eq!(first(&[]).len(), 0);
    }
}
