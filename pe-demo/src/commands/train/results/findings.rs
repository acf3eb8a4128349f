//! What the numbers of a task say, in words.

use super::{Results, Row, Spread};
use crate::encoder::Scheme;
use crate::encoder::trained::task::Task;
use crate::terminal::numbers::{percent, thousands};

/// From here on an encoder answers nearly all.
const SOLVED: f64 = 0.9;

/// Farther than this from a guess is not by chance, with a few hundred sentences.
const CHANCE: f64 = 0.05;

/// A row at one length.
type At<'a> = (&'a Row, Spread);

/// Returns paragraphs about a task.
pub(super) fn findings(results: &Results, task: Task) -> Vec<String> {
    let last = results.lengths().len().saturating_sub(1);
    let mut texts = vec![learned(results, task)];
    texts.extend(compared(results, task, last));
    texts.extend(below(results, task));
    texts
}

fn at(results: &Results, task: Task, index: usize) -> Vec<At<'_>> {
    let rows = results.rows().filter(|row| row.task == task);
    let rows = rows.filter_map(|row| Some((row, row.spread.get(index).copied().flatten()?)));
    rows.collect()
}

/// Describes which schemes learned the task at the trained length.
fn learned(results: &Results, task: Task) -> String {
    let trained = results.trained_length();
    let index = results.lengths().iter().position(|len| *len == trained);
    let rows = at(results, task, index.unwrap_or(0));
    // Scaled frequencies are those of the training here.
    let rows = rows.into_iter().filter(|(row, _)| row.scaling() == "none");
    let (mut solved, mut some, mut not) = (Vec::new(), Vec::new(), Vec::new());
    for (row, spread) in rows {
        match spread {
            Spread { least, .. } if least >= SOLVED => solved.push(row.name()),
            Spread { mean, .. } if mean > results.chance() + CHANCE => some.push(row.name()),
            _ => not.push(row.name()),
        }
    }
    let blind = Scheme::None.name();
    let knows_words = not.iter().any(|name| name == blind);
    not.retain(|name| name != blind);
    let mut parts = Vec::new();
    if !solved.is_empty() {
        parts.push(format!(
            "9 of 10 or more right with every seed: {}",
            list(&solved)
        ));
    }
    if !some.is_empty() {
        parts.push(format!("better than a guess: {}", list(&some)));
    }
    if !not.is_empty() {
        let steps = results.settings.steps;
        parts.push(format!(
            "{} did not learn it in {} step{}",
            list(&not),
            thousands(steps),
            if steps == 1 { "" } else { "s" }
        ));
    }
    if knows_words {
        parts.push(format!(
            "{blind} sees which words there are, not where, and has to guess"
        ));
    }
    format!(
        "At {trained} tokens, the longest of the training, {}.",
        parts.join("; ")
    )
}

/// Compares the schemes at a length: their differences with the range over the seeds.
fn compared(results: &Results, task: Task, index: usize) -> Option<String> {
    let len = *results.lengths().get(index)?;
    let mut rows = at(results, task, index);
    rows.sort_by(|a, b| b.1.mean.total_cmp(&a.1.mean));
    let ((best, top), rest) = rows.split_first()?;
    let (_, worst) = rest.last()?;
    let lead = format!(
        "At {len} tokens {} is best ({})",
        best.name(),
        percent(top.mean)
    );
    if results.settings.seeds == 1 {
        return Some(format!(
            "{lead}. One seed has no range: --seeds 3 shows whether such differences are more \
             than chance."
        ));
    }
    let names = |rows: &[At<'_>]| list(&rows.iter().map(|(row, _)| row.name()).collect::<Vec<_>>());
    let overlaps = |(_, spread): &At<'_>| spread.most >= top.least;
    let (tied, behind): (Vec<At<'_>>, Vec<At<'_>>) = rest.iter().copied().partition(overlaps);
    let order = match (tied.as_slice(), behind.as_slice()) {
        ([], _) => {
            ", and with its worst seed still better than all others with their best".to_owned()
        }
        (tied, []) => format!(", but the seeds do not tell it from {}", names(tied)),
        (tied, behind) => format!(
            ", but the seeds do not tell it from {}: their ranges overlap. Every seed of {} is \
             below every one of its own",
            names(tied),
            names(behind)
        ),
    };
    let range = |(_, spread): &&At<'_>| spread.most - spread.least;
    let widest = rows.iter().max_by(|a, b| range(a).total_cmp(&range(b)))?;
    let (between, within) = (top.mean - worst.mean, range(&widest));
    let points = |share: f64| format!("{:.0} points", 100.0 * share);
    Some(format!(
        "{lead}{order}. Best and worst mean are {} apart, the seeds of one scheme at most {} ({}): \
         the differences between the schemes are {} than that range.",
        points(between),
        points(within),
        widest.0.name(),
        if between > within {
            "larger"
        } else {
            "not larger"
        }
    ))
}

/// Explains the means below a guess by what was answered instead.
fn below(results: &Results, task: Task) -> Option<String> {
    let limit = results.chance() - CHANCE;
    let mut cases = Vec::new();
    let (mut strangers, mut inverted) = (0, 0);
    for row in results.rows().filter(|row| row.task == task) {
        let places = row.spread.iter().enumerate();
        let found = places.filter_map(|(at, spread)| Some((at, (*spread)?)));
        let lowest = found.min_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
        let Some((at, spread)) = lowest.filter(|(_, spread)| spread.mean < limit) else {
            continue;
        };
        let share = |list: &[Option<f64>]| list.get(at).copied().flatten().unwrap_or(0.0);
        let (other, nobody) = (share(&row.other), share(&row.nobody));
        match nobody > other {
            true => strangers += 1,
            false => inverted += 1,
        }
        cases.push(format!(
            "{} at {} tokens ({} right, {} the other person, {} somebody who is not in the \
             sentence)",
            row.name(),
            results.lengths()[at],
            percent(spread.mean),
            percent(other),
            percent(nobody)
        ));
    }
    let why = match (strangers, inverted) {
        (0, 0) => return None,
        (_, 0) => {
            "A guess between the two people is right half of the time. These encoders do not \
             guess between them: they mostly name people whom the sentence does not mention, so \
             they no longer find the two names"
        }
        (0, _) => {
            "These encoders still name people of the sentence, but more often the wrong one: \
             they take one of the two for the other at places that training never showed"
        }
        _ => {
            "Where strangers are named more often than the other person, the encoder no longer \
             finds the two names; elsewhere it finds them, and takes one for the other"
        }
    };
    Some(format!("Below a guess: {}. {why}.", cases.join("; ")))
}

/// Joins names: `a`, `a and b`, `a, b, and c`.
fn list(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [one, other] => format!("{one} and {other}"),
        [first @ .., last] => format!("{}, and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::train::job::Scaling;
    use crate::commands::train::options::Settings;

    /// Results at 16 and 64 tokens: the accuracies of two seeds each, and the share of strangers.
    fn results(rows: &[(Scheme, [[f64; 2]; 2], f64)]) -> Results {
        let row = |(scheme, accuracies, nobody): &(Scheme, [[f64; 2]; 2], f64)| {
            let spread = |[one, other]: [f64; 2]| Spread {
                mean: (one + other) / 2.0,
                least: one.min(other),
                most: one.max(other),
            };
            let spread = accuracies.map(spread);
            Row {
                task: Task::Order,
                scheme: *scheme,
                scaling: Scaling::None,
                spread: spread.map(Some).to_vec(),
                other: spread
                    .map(|spread| Some(1.0 - spread.mean - nobody))
                    .to_vec(),
                nobody: vec![Some(*nobody); 2],
                runs: Vec::new(),
            }
        };
        Results {
            program: "",
            version: "",
            settings: Settings {
                steps: 600,
                batch: 1,
                seed: 0,
                seeds: 2,
                length: 16,
                d_model: 8,
                heads: 1,
                layers: 1,
                learning_rate: 0.1,
                dropout: 0.0,
            },
            chance: 0.5,
            test_sentences: 400,
            test_lengths: vec![16, 64],
            trainings: Vec::new(),
            results: rows.iter().map(row).collect(),
            parallel: 1,
            files: Vec::new(),
            seconds: 0.0,
            losses: Vec::new(),
        }
    }

    #[test]
    fn words_follow_from_the_numbers() {
        let blind = (Scheme::None, [[0.5, 0.5], [0.5, 0.5]], 0.0);
        let rotary = (Scheme::Rotary, [[0.99, 0.95], [0.2, 0.1]], 0.7);
        let alibi = (Scheme::Alibi, [[0.8, 0.95], [0.96, 0.9]], 0.0);
        let t5 = (Scheme::T5, [[0.51, 0.5], [0.99, 0.95]], 0.0);
        let texts = findings(&results(&[blind, rotary, alibi, t5]), Task::Order);
        assert_eq!(
            texts[0],
            "At 16 tokens, the longest of the training, 9 of 10 or more right with \
             every seed: rotary; better than a guess: alibi; t5 did not learn it in 600 steps; none sees which \
             words there are, not where, and has to guess."
        );
        assert_eq!(
            texts[1],
            "At 64 tokens t5 is best (97.0 %), but the seeds do not tell it from alibi: their ranges \
             overlap. Every seed of none and rotary is below every one of its own. Best and worst \
             mean are 82 points apart, the seeds of one scheme at most 10 points (rotary): the \
             differences between the schemes are larger than that range."
        );
        assert!(
            texts[2].starts_with(
                "Below a guess: rotary at 64 tokens (15.0 % right, 15.0 % the other person, 70.0 % \
                 somebody who is not in the sentence). A guess between the two people is right half"
            ),
            "{}",
            texts[2]
        );
        let inverted = (Scheme::Rotary, [[0.99, 0.95], [0.2, 0.1]], 0.1);
        let texts = findings(&results(&[blind, inverted]), Task::Order);
        assert!(texts[1].contains("none is best (50.0 %), and with its worst seed still better"));
        assert!(
            texts[2].contains("more often the wrong one"),
            "{}",
            texts[2]
        );
        let equal = (Scheme::Alibi, [[0.9, 0.9], [0.5, 0.9]], 0.0);
        let texts = findings(&results(&[equal, (Scheme::T5, equal.1, 0.0)]), Task::Order);
        assert!(
            texts[1].contains("are not larger than that range"),
            "{}",
            texts[1]
        );
        assert_eq!(texts.len(), 2);
    }
}
