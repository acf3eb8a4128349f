//! The sentences of a task, in splits that share no pair of people.

mod distance;
mod draws;
mod order;
mod tokens;

use anyhow::Result;

use self::draws::{Draws, Stream};
use self::tokens::Tokens;
use crate::encoder::trained::classifier::Example;
use crate::encoder::trained::task::Task;
use crate::text::tokenizer::Tokenizer;

/// The people, one token each. The answer is one of them.
pub(super) const PEOPLE: [&str; 16] = [
    "baker", "doctor", "driver", "dwarf", "farmer", "giant", "judge", "king", "lawyer", "painter",
    "queen", "sailor", "singer", "teacher", "thief", "witch",
];

/// The tokens of the shortest sentence of either task: `[CLS]`, six others, and `[SEP]`.
pub(super) const SHORTEST: usize = 8;

/// Pairs of people with the sentences of validation, and of the test. The
/// training has the rest, 84 of 120.
const VALIDATION_COUNT: usize = 12;
const TEST_COUNT: usize = 24;

/// The purposes of sentences. No pair of people appears in two of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Split {
    Train,
    Validation,
    Test,
}

/// Makes sentences, always the same for the same seed.
#[derive(Debug, Clone)]
pub(super) struct Sentences {
    seed: u64,
    /// Unordered pairs of people, in an order drawn from the seed.
    pairs: Vec<(usize, usize)>,
    /// The tokens before and after every sentence.
    around: [u32; 2],
    people: Vec<Tokens>,
    words: Words,
}

/// The words of a task.
#[derive(Debug, Clone)]
enum Words {
    Order(order::Words),
    Distance(distance::Words),
}

impl Sentences {
    /// Sentences in the tokens of the tokenizer that the program carries.
    pub(super) fn new(task: Task, seed: u64, tokenizer: &Tokenizer) -> Result<Self> {
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
            around: tokens::around(tokenizer)?,
            people: tokens::all(tokenizer, &PEOPLE)?,
            words: match task {
                Task::Order => Words::Order(order::Words::new(tokenizer)?),
                Task::Distance => Words::Distance(distance::Words::new(tokenizer)?),
            },
        })
    }

    /// Draws a sentence of training: of `SHORTEST..=longest` tokens.
    pub(super) fn train(&self, index: u64, longest: usize) -> Example {
        let mut draws = Draws::new(self.seed, Stream::Train, index);
        let len = SHORTEST + draws.below(longest.saturating_sub(SHORTEST) + 1);
        let [example, _] = self.minimal_pair(Split::Train, len, &mut draws);
        example
    }

    /// Returns sentences of `len` tokens each, in minimal pairs: the two people change places, and
    /// the answer is the other one.
    pub(super) fn minimal_pairs(&self, split: Split, count: usize, len: usize) -> Vec<Example> {
        let stream = match split {
            Split::Train => Stream::Train,
            Split::Validation => Stream::Validation,
            Split::Test => Stream::Test,
        };
        let pair = |index| self.minimal_pair(split, len, &mut Draws::new(self.seed, stream, index));
        (0..count as u64).flat_map(pair).collect()
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

    fn minimal_pair(&self, split: Split, len: usize, draws: &mut Draws) -> [Example; 2] {
        let pairs = self.pairs(split);
        let (one, other) = pairs[draws.below(pairs.len())];
        let (answer, other) = match draws.below(2) {
            0 => (one, other),
            _ => (other, one),
        };
        let both = [(answer, other), (other, answer)];
        match &self.words {
            Words::Order(words) => {
                let plan = words.plan(len, draws);
                both.map(|people| self.example(people, |one, other| words.write(&plan, one, other)))
            }
            Words::Distance(words) => {
                let plan = words.plan(len, draws);
                both.map(|people| self.example(people, |one, other| words.write(&plan, one, other)))
            }
        }
    }

    /// Puts the words of a sentence about two people, of whom the first is the answer, between the
    /// tokens around them.
    fn example(
        &self,
        (answer, other): (usize, usize),
        write: impl Fn(&Tokens, &Tokens) -> Tokens,
    ) -> Example {
        let [start, end] = self.around;
        let mut ids = vec![start];
        ids.extend(write(&self.people[answer], &self.people[other]));
        ids.push(end);
        Example {
            ids,
            answer: answer as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tokenizer::TokenizerSource;
    use std::collections::HashSet;

    fn of(task: Task, seed: u64) -> Sentences {
        let tokenizer = Tokenizer::load(&TokenizerSource::BuiltIn).unwrap();
        Sentences::new(task, seed, &tokenizer).unwrap()
    }

    fn people(sentences: &Sentences, example: &Example) -> (usize, usize) {
        let mut found: Vec<usize> = Vec::new();
        for id in &example.ids {
            found.extend(sentences.people.iter().position(|ids| ids == &[*id]));
        }
        assert_eq!(found.len(), 2);
        assert!(found.contains(&(example.answer as usize)));
        (found[0].min(found[1]), found[0].max(found[1]))
    }

    #[test]
    fn sentences_have_the_length_asked_for() {
        for sentences in Task::ALL.map(|task| of(task, 3)) {
            for len in [8, 9, 16, 32, 64] {
                for example in sentences.minimal_pairs(Split::Test, 50, len) {
                    assert_eq!(example.ids.len(), len);
                }
            }
            let lengths: HashSet<usize> = (0..500)
                .map(|at| sentences.train(at, 16).ids.len())
                .collect();
            assert_eq!(lengths, (8..=16).collect());
        }
    }

    #[test]
    fn minimal_pairs_have_the_same_words_and_other_answers() {
        for sentences in Task::ALL.map(|task| of(task, 3)) {
            for twins in sentences.minimal_pairs(Split::Test, 100, 24).chunks(2) {
                let sorted = |example: &Example| {
                    let mut ids = example.ids.clone();
                    ids.sort_unstable();
                    ids
                };
                assert_eq!(sorted(&twins[0]), sorted(&twins[1]));
                assert_ne!(twins[0].answer, twins[1].answer);
            }
        }
    }

    #[test]
    fn pairs_of_people_are_in_one_split_each() {
        for sentences in Task::ALL.map(|task| of(task, 3)) {
            let of = |split| -> HashSet<(usize, usize)> {
                let examples = match split {
                    Split::Train => (0..4000).map(|index| sentences.train(index, 16)).collect(),
                    split => sentences.minimal_pairs(split, 1000, 16),
                };
                let people = |example| people(&sentences, example);
                examples.iter().map(people).collect()
            };
            let [train, validation, test] = [Split::Train, Split::Validation, Split::Test].map(of);
            assert_eq!((train.len(), validation.len(), test.len()), (84, 12, 24));
            assert!(train.is_disjoint(&validation));
            assert!(train.is_disjoint(&test));
            assert!(validation.is_disjoint(&test));
        }
    }

    #[test]
    fn every_person_stands_in_the_training() {
        for seed in 0..20 {
            let sentences = of(Task::Order, seed);
            let pairs = sentences.pairs(Split::Train).iter();
            let seen: HashSet<usize> = pairs.flat_map(|(a, b)| [*a, *b]).collect();
            assert_eq!(seen.len(), PEOPLE.len());
        }
    }
}
