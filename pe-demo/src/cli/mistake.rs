//! Words that resemble the name of a command.

use super::help::command;
use crate::terminal::width::clean;

/// Returns a message if a lone word resembles the name of a command. Without it a misspelled command
/// would be encoded as a sentence.
pub(crate) fn of(word: &str) -> Option<String> {
    let mut program = command();
    program.build();
    if program.find_subcommand(word).is_some() {
        return None;
    }
    let lower = word.to_lowercase();
    let near = program
        .get_subcommands()
        .map(|command| command.get_name())
        .map(|name| (distance(&lower, name), name))
        .filter(|(steps, name)| *steps <= (name.len() / 3).max(1));
    let (_, name) = near.min()?;
    let word = clean(word, 40);
    Some(format!(
        "there is no command `{word}`; did you mean `{name}`? (`pe-demo encode {word}` encodes the \
         word as a sentence)"
    ))
}

/// Returns the fewest letters to insert, delete, replace, or exchange with their neighbors.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    // A word of any length may be given.
    if a.len() > 2 * b.len() {
        return usize::MAX;
    }
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_letters() {
        for (a, b, steps) in [
            ("", "man", 3),
            ("export", "export", 0),
            ("exprot", "export", 1),
            ("plto", "plot", 1),
            ("plots", "plot", 1),
            ("hello", "help", 2),
            ("decode", "encode", 2),
            ("kitten", "sitting", 3),
            ("ca", "abc", 3),
        ] {
            assert_eq!(distance(a, b), steps, "{a} {b}");
        }
        assert_eq!(distance(&"x".repeat(1 << 20), "man"), usize::MAX);
    }

    #[test]
    fn words_are_near_one_command_or_none() {
        let meant = |word: &str| {
            let text = of(word)?;
            let (_, rest) = text.split_once("did you mean `")?;
            Some(rest.split('`').next()?.to_owned())
        };
        for (word, command) in [
            ("exprot", "export"),
            ("Export", "export"),
            ("reprot", "report"),
            ("inspct", "inspect"),
            ("trian", "train"),
            ("plots", "plot"),
            ("completion", "completions"),
            ("mna", "man"),
            ("hepl", "help"),
        ] {
            assert_eq!(meant(word).as_deref(), Some(command), "{word}");
        }
        for word in [
            "hello", "order", "a", "it", "director", "export", "語", "- -", "",
        ] {
            assert_eq!(meant(word), None, "{word}");
        }
    }
}
