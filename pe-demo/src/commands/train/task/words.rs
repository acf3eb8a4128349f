//! Words, phrases and how they make a sentence.

use anyhow::{Result, ensure};

use super::PEOPLE;
use crate::encoder::trained::classifier::Example;
use crate::text::tokenizer::Tokenizer;

/// The verbs.
pub(super) const VERBS: [&str; 14] = [
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
pub(super) const SLOTS: usize = 5;

/// Phrases to choose from for each place.
pub(super) const PHRASES: usize = 6;

const SLOT_PHRASES: [&[&str; PHRASES]; SLOTS] =
    [&OPENINGS, &CLAUSES, &ADVERBS, &CLAUSES, &CLOSINGS];

/// The contents of a sentence.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) doer: usize,
    pub(super) other: usize,
    pub(super) verb: usize,
    pub(super) phrases: [Vec<usize>; SLOTS],
}

/// The tokens of words and phrases.
#[derive(Debug, Clone)]
pub(super) struct Words {
    start: Vec<u32>,
    the: Vec<u32>,
    pub(super) people: Vec<Vec<u32>>,
    verbs: Vec<Vec<u32>>,
    pub(super) phrases: [Vec<Vec<u32>>; SLOTS],
    end: Vec<u32>,
}

impl Words {
    pub(super) fn new(tokenizer: &Tokenizer) -> Result<Self> {
        let inner = |text: &str| -> Result<Vec<u32>> {
            let tokens = tokenizer.encode(text)?.tokens;
            let words = tokens.iter().filter(|token| !token.special);
            let ids: Vec<u32> = words.map(|token| token.id).collect();
            let count = text.split_whitespace().count();
            ensure!(
                ids.len() == count,
                "the tokenizer cuts \"{text}\" into {} tokens, not {count}",
                ids.len()
            );
            Ok(ids)
        };
        let all = |texts: &[&str]| -> Result<Vec<Vec<u32>>> {
            texts.iter().map(|text| inner(text)).collect()
        };
        let around = tokenizer.encode(".")?.ids();
        let [start, stop, end] = around.as_slice() else {
            anyhow::bail!("the tokenizer puts {} tokens around a word", around.len());
        };
        let mut phrases: [Vec<Vec<u32>>; SLOTS] = Default::default();
        for (slot, texts) in phrases.iter_mut().zip(SLOT_PHRASES) {
            *slot = all(texts)?;
        }
        Ok(Self {
            start: vec![*start],
            the: inner("the")?,
            people: all(&PEOPLE)?,
            verbs: all(&VERBS)?,
            phrases,
            end: vec![*stop, *end],
        })
    }

    pub(super) fn example(&self, plan: &Plan) -> Example {
        let mut ids = self.start.clone();
        let mut put = |piece: &[u32]| ids.extend_from_slice(piece);
        let phrases = |slot: usize| {
            plan.phrases[slot]
                .iter()
                .map(move |at| &self.phrases[slot][*at])
        };
        phrases(0).for_each(|phrase| put(phrase));
        put(&self.the);
        put(&self.people[plan.doer]);
        phrases(1).for_each(|phrase| put(phrase));
        phrases(2).for_each(|phrase| put(phrase));
        put(&self.verbs[plan.verb]);
        put(&self.the);
        put(&self.people[plan.other]);
        phrases(3).for_each(|phrase| put(phrase));
        phrases(4).for_each(|phrase| put(phrase));
        put(&self.end);
        Example {
            ids,
            answer: plan.doer as u32,
        }
    }
}
