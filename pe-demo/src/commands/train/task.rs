//! The task: who does it?
//!
//! A sentence names two people, and one does something to the other: "the king feared the
//! dwarf". The answer is the agent, which comes first. Both have the same words around
//! them in "the dwarf feared the king", where the answer is the other one: as a bag of words
//! the two sentences are equal, and whoever cannot see the order guesses between two names.
//!
//! Longer sentences have phrases in between that change nothing: "last year the king from the
//! city never feared the dwarf at midnight".

mod draws;
mod words;

use anyhow::Result;

use self::draws::{Draws, Stream};
use self::words::{PHRASES, Plan, SLOTS, Words};
use crate::encoder::trained::classifier::Example;
use crate::text::tokenizer::Tokenizer;

/// The people, one token each; the answer is one of them.
pub(crate) const PEOPLE: [&str; 16] = [
    "baker", "doctor", "driver", "dwarf", "farmer", "giant", "judge", "king", "lawyer", "painter",
    "queen", "sailor", "singer", "teacher", "thief", "witch",
];

/// The tokens of a sentence without any phrase in between: `[CLS]`, five words, the full stop
/// and `[SEP]`.
pub(crate) const SHORTEST: usize = 8;

/// Pairs of people with the sentences of validation, and of the test. The
/// training has the rest, 84 of 120.
const VALIDATION_COUNT: usize = 12;
const TEST_COUNT: usize = 24;

/// The purposes of sentences. No pair of people appears in two of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Split {
    Train,
    Validation,
    Test,
}

/// Makes sentences, always the same for the same seed.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    seed: u64,
    /// Unordered pairs of people, in an order drawn from the seed.
    pairs: Vec<(usize, usize)>,
    words: Words,
}

impl Task {
    /// Sentences in the tokens of the tokenizer that the program carries.
    pub(crate) fn new(seed: u64, tokenizer: &Tokenizer) -> Result<Self> {
        let mut pairs: Vec<(usize, usize)> = (0..PEOPLE.len())
            .flat_map(|one| (0..one).map(move |other| (other, one)))
            .collect();
        let mut draws = Draws::new(seed, Stream::Pairs, 0);
        // Fisher and Yates' shuffle.
        for last in (1..pairs.len()).rev() {
            pairs.swap(last, draws.below(last + 1));
        }
        Ok(Self {
            seed,
            pairs,
            words: Words::new(tokenizer)?,
        })
    }

    /// A sentence of training: of `SHORTEST..=longest` tokens.
    pub(crate) fn train(&self, index: u64, longest: usize) -> Example {
        let mut draws = Draws::new(self.seed, Stream::Train, index);
        let len = SHORTEST + draws.below(longest.saturating_sub(SHORTEST) + 1);
        let plan = self.plan(Split::Train, len, &mut draws);
        self.words.example(&plan)
    }

    /// Returns sentences of `len` tokens each, in minimal pairs: the two people change places.
    pub(crate) fn minimal_pairs(&self, split: Split, count: usize, len: usize) -> Vec<Example> {
        let stream = match split {
            Split::Train => Stream::Train,
            Split::Validation => Stream::Validation,
            Split::Test => Stream::Test,
        };
        (0..count as u64)
            .flat_map(|index| {
                let mut draws = Draws::new(self.seed, stream, index);
                let plan = self.plan(split, len, &mut draws);
                let mirrored = Plan {
                    doer: plan.other,
                    other: plan.doer,
                    ..plan.clone()
                };
                [self.words.example(&plan), self.words.example(&mirrored)]
            })
            .collect()
    }

    fn pairs(&self, split: Split) -> &[(usize, usize)] {
        let (validation, rest) = self.pairs.split_at(VALIDATION_COUNT);
        let (test, train) = rest.split_at(TEST_COUNT);
        match split {
            Split::Train => train,
            Split::Validation => validation,
            Split::Test => test,
        }
    }

    fn plan(&self, split: Split, len: usize, draws: &mut Draws) -> Plan {
        let pairs = self.pairs(split);
        let (one, other) = pairs[draws.below(pairs.len())];
        let (doer, other) = match draws.below(2) {
            0 => (one, other),
            _ => (other, one),
        };
        let mut plan = Plan {
            doer,
            other,
            verb: draws.below(words::VERBS.len()),
            phrases: Default::default(),
        };
        let mut missing = len.saturating_sub(SHORTEST);
        while missing > 0 {
            let slot = draws.below(SLOTS);
            let phrase = draws.below(PHRASES);
            let tokens = self.words.phrases[slot][phrase].len();
            // One that is too long is drawn again; there are adverbs of one token.
            if tokens <= missing {
                plan.phrases[slot].push(phrase);
                missing -= tokens;
            }
        }
        plan
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tokenizer::TokenizerSource;
    use std::collections::HashSet;

    fn task() -> (Task, Tokenizer) {
        let tokenizer = Tokenizer::load(&TokenizerSource::BuiltIn).unwrap();
        (Task::new(3, &tokenizer).unwrap(), tokenizer)
    }

    fn people(task: &Task, example: &Example) -> (usize, usize) {
        let mut found: Vec<usize> = Vec::new();
        for id in &example.ids {
            found.extend(task.words.people.iter().position(|ids| ids == &[*id]));
        }
        assert_eq!(found.len(), 2);
        assert_eq!(found[0], example.answer as usize);
        (found[0].min(found[1]), found[0].max(found[1]))
    }

    #[test]
    fn sentences_have_the_length_asked_for_and_the_tokens_of_their_text() {
        let (task, tokenizer) = task();
        for len in [8, 9, 16, 32, 64] {
            for example in task.minimal_pairs(Split::Test, 50, len) {
                assert_eq!(example.ids.len(), len);
            }
        }
        let lengths: HashSet<usize> = (0..500).map(|at| task.train(at, 16).ids.len()).collect();
        assert_eq!(lengths, (8..=16).collect());
        let plan = Plan {
            doer: 7,
            other: 3,
            verb: 2,
            phrases: [vec![1], vec![2], vec![0], vec![], vec![1]],
        };
        let text = "last year the king from the city never feared the dwarf at midnight.";
        assert_eq!(
            task.words.example(&plan).ids,
            tokenizer.encode(text).unwrap().ids()
        );
    }

    #[test]
    fn twins_have_the_same_words_and_other_answers() {
        let (task, _) = task();
        for twins in task.minimal_pairs(Split::Test, 100, 24).chunks(2) {
            let sorted = |example: &Example| {
                let mut ids = example.ids.clone();
                ids.sort_unstable();
                ids
            };
            assert_eq!(sorted(&twins[0]), sorted(&twins[1]));
            assert_ne!(twins[0].answer, twins[1].answer);
        }
    }

    #[test]
    fn pairs_of_people_are_in_one_split_each() {
        let (task, _) = task();
        let of = |split| -> HashSet<(usize, usize)> {
            let examples = match split {
                Split::Train => (0..4000).map(|index| task.train(index, 16)).collect(),
                split => task.minimal_pairs(split, 1000, 16),
            };
            examples
                .iter()
                .map(|example| people(&task, example))
                .collect()
        };
        let [train, validation, test] = [Split::Train, Split::Validation, Split::Test].map(of);
        assert_eq!((train.len(), validation.len(), test.len()), (84, 12, 24));
        assert!(train.is_disjoint(&validation));
        assert!(train.is_disjoint(&test));
        assert!(validation.is_disjoint(&test));
    }

    #[test]
    fn every_person_stands_in_the_training() {
        for seed in 0..20 {
            let tokenizer = Tokenizer::load(&TokenizerSource::BuiltIn).unwrap();
            let task = Task::new(seed, &tokenizer).unwrap();
            let pairs = task.pairs(Split::Train).iter();
            let seen: HashSet<usize> = pairs.flat_map(|(a, b)| [*a, *b]).collect();
            assert_eq!(seen.len(), PEOPLE.len());
        }
    }
}
