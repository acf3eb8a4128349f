//! The task of order: who does it?
//!
//! A sentence names two people, and one does something to the other: "the king feared the
//! dwarf". The answer is the agent, which comes first. Both have the same words around
//! them in "the dwarf feared the king", where the answer is the other one: as a bag of words
//! the two sentences are equal, and whoever cannot see the order guesses between two names.
//!
//! Longer sentences have phrases in between that change nothing: "last year the king from the
//! city never feared the dwarf at midnight".

use anyhow::Result;

use super::draws::Draws;
use super::tokens::Tokens;
use super::{SHORTEST, tokens};
use crate::text::tokenizer::Tokenizer;

/// The verbs.
const VERBS: [&str; 14] = [
    "admired", "chased", "feared", "followed", "hated", "helped", "invited", "knew", "loved",
    "missed", "praised", "saw", "thanked", "watched",
];

/// Phrases that begin a sentence.
const OPENINGS: [&str; 6] = [
    "yesterday",
    "last year",
    "on monday",
    "in the morning",
    "after the dinner",
    "again",
];

/// Phrases that follow a person.
const CLAUSES: [&str; 6] = [
    "who laughed",
    "who slept",
    "from the city",
    "with the red hat",
    "who had lost the keys",
    "in the garden",
];

/// Words before the action.
const ADVERBS: [&str; 6] = ["never", "always", "soon", "quickly", "slowly", "once"];

/// Phrases that end a sentence.
const CLOSINGS: [&str; 6] = [
    "again",
    "at midnight",
    "on the bridge",
    "near the river",
    "for a long time",
    "yesterday",
];

/// The places for phrases: at the beginning, after the doer, before the verb, after the
/// other, at the end.
const SLOTS: usize = 5;

/// Phrases to choose from for each place.
const PHRASES: usize = 6;

const SLOT_PHRASES: [&[&str; PHRASES]; SLOTS] =
    [&OPENINGS, &CLAUSES, &ADVERBS, &CLAUSES, &CLOSINGS];

/// The contents of a sentence but its people.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    verb: usize,
    phrases: [Vec<usize>; SLOTS],
}

/// The tokens of words and phrases.
#[derive(Debug, Clone)]
pub(super) struct Words {
    the: Tokens,
    verbs: Vec<Tokens>,
    phrases: [Vec<Tokens>; SLOTS],
    stop: Tokens,
}

impl Words {
    pub(super) fn new(tokenizer: &Tokenizer) -> Result<Self> {
        let mut phrases: [Vec<Tokens>; SLOTS] = Default::default();
        for (slot, texts) in phrases.iter_mut().zip(SLOT_PHRASES) {
            *slot = tokens::all(tokenizer, texts)?;
        }
        Ok(Self {
            the: tokens::of(tokenizer, "the")?,
            verbs: tokens::all(tokenizer, &VERBS)?,
            phrases,
            stop: tokens::of(tokenizer, ".")?,
        })
    }

    /// Draws a sentence of `len` tokens.
    pub(super) fn plan(&self, len: usize, draws: &mut Draws) -> Plan {
        let mut plan = Plan {
            verb: draws.below(VERBS.len()),
            phrases: Default::default(),
        };
        let mut missing = len.saturating_sub(SHORTEST);
        while missing > 0 {
            let slot = draws.below(SLOTS);
            let phrase = draws.below(PHRASES);
            let tokens = self.phrases[slot][phrase].len();
            // One that is too long is drawn again. There are adverbs of one token.
            if tokens <= missing {
                plan.phrases[slot].push(phrase);
                missing -= tokens;
            }
        }
        plan
    }

    /// Returns the words of a sentence, where `doer` does it.
    pub(super) fn write(&self, plan: &Plan, doer: &Tokens, other: &Tokens) -> Tokens {
        let slot = |slot: usize| {
            plan.phrases[slot]
                .iter()
                .map(move |at| &self.phrases[slot][*at])
        };
        let mut text = Tokens::new();
        let mut put = |piece: &Tokens| text.extend_from_slice(piece);
        slot(0).for_each(&mut put);
        put(&self.the);
        put(doer);
        slot(1).for_each(&mut put);
        slot(2).for_each(&mut put);
        put(&self.verbs[plan.verb]);
        put(&self.the);
        put(other);
        slot(3).for_each(&mut put);
        slot(4).for_each(&mut put);
        put(&self.stop);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tokenizer::TokenizerSource;

    #[test]
    fn sentences_have_the_tokens_of_their_text() {
        let tokenizer = Tokenizer::load(&TokenizerSource::BuiltIn).unwrap();
        let words = Words::new(&tokenizer).unwrap();
        let plan = Plan {
            verb: 2,
            phrases: [vec![1], vec![2], vec![0], vec![], vec![1]],
        };
        let [king, dwarf] = ["king", "dwarf"].map(|name| tokens::of(&tokenizer, name).unwrap());
        let text = "last year the king from the city never feared the dwarf at midnight.";
        let ids = tokenizer.encode(text).unwrap().ids();
        assert_eq!(words.write(&plan, &king, &dwarf), ids[1..ids.len() - 1]);
    }
}
