//! The task of distance: who stands three places before the gate?
//!
//! A row of things has two people in it, and both stand before the gate: "hat king dwarf lamp
//! stone gate". One stands exactly [`PLACES`] places before it, here the dwarf. The other one stands
//! nearer or farther, each as often, so that the order of the two does not tell which one it is.

use anyhow::Result;

use super::draws::Draws;
use super::tokens::{self, Tokens};
use crate::encoder::trained::task::PLACES;
use crate::text::tokenizer::Tokenizer;

/// The things in a row.
const THINGS: [&str; 16] = [
    "apple", "book", "box", "cake", "chair", "clock", "door", "flower", "hat", "house", "key",
    "lamp", "picture", "stone", "table", "wheel",
];

/// The distances of the other one: half of them are nearer.
const OTHERS: [usize; 4] = [PLACES - 2, PLACES - 1, PLACES + 1, PLACES + 2];

/// The places before the gate, at least, whichever distance the other one has.
const BEFORE: usize = PLACES + 2;

/// The contents of a row but its people.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// The thing at each place. The entries at the places of the people and of the gate are not used.
    things: Vec<usize>,
    gate: usize,
    /// The distance of the other one.
    other: usize,
}

/// The tokens of words.
#[derive(Debug, Clone)]
pub(super) struct Words {
    gate: Tokens,
    things: Vec<Tokens>,
}

impl Words {
    pub(super) fn new(tokenizer: &Tokenizer) -> Result<Self> {
        Ok(Self {
            gate: tokens::of(tokenizer, "gate")?,
            things: tokens::all(tokenizer, &THINGS)?,
        })
    }

    /// Draws a row of `len` tokens, those around it included.
    pub(super) fn plan(&self, len: usize, draws: &mut Draws) -> Plan {
        let places = len.saturating_sub(2).max(BEFORE + 1);
        Plan {
            gate: BEFORE + draws.below(places - BEFORE),
            other: OTHERS[draws.below(OTHERS.len())],
            things: (0..places).map(|_| draws.below(THINGS.len())).collect(),
        }
    }

    /// Returns the words of a row, where `one` stands at the distance that answers.
    pub(super) fn write(&self, plan: &Plan, one: &Tokens, other: &Tokens) -> Tokens {
        let mut row: Vec<&Tokens> = plan.things.iter().map(|at| &self.things[*at]).collect();
        row[plan.gate] = &self.gate;
        row[plan.gate - PLACES] = one;
        row[plan.gate - plan.other] = other;
        row.into_iter().flatten().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::draws::Stream;
    use super::*;
    use crate::text::tokenizer::TokenizerSource;

    #[test]
    fn order_of_the_people_tells_nothing_and_the_distance_all() {
        let tokenizer = Tokenizer::load(&TokenizerSource::BuiltIn).unwrap();
        let words = Words::new(&tokenizer).unwrap();
        let [king, dwarf] = ["king", "dwarf"].map(|name| tokens::of(&tokenizer, name).unwrap());
        for len in [8, 9, 16, 64] {
            let mut first = 0;
            let mut gates = std::collections::HashSet::new();
            for index in 0..400 {
                let plan = words.plan(len, &mut Draws::new(5, Stream::Train, index));
                let row = words.write(&plan, &king, &dwarf);
                assert_eq!(row.len(), len - 2);
                let place = |word: &Tokens| row.iter().position(|id| id == &word[0]).unwrap();
                let (king, dwarf, gate) = (place(&king), place(&dwarf), place(&words.gate));
                assert_eq!(king + PLACES, gate);
                assert!(dwarf < gate && (1..=5).contains(&(gate - dwarf)) && dwarf != king);
                first += usize::from(king < dwarf);
                gates.insert(gate);
            }
            assert!((160..=240).contains(&first), "{first}");
            assert_eq!(gates.len(), len - 7);
        }
    }
}
