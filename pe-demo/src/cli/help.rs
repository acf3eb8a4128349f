//! Help: commands in groups, a short form of each text, lines of the terminal's width.

use clap::CommandFactory;

use super::program::Cli;
use crate::terminal::color::Terminal;
use crate::terminal::page::Page;
use crate::terminal::width::pad;

/// The commands by their purpose, each once. `help` is clap's own.
const GROUPS: [(&str, &[&str]); 4] = [
    (
        "See what positions do",
        &["encode", "plot", "report", "train"],
    ),
    (
        "Look into models and tables",
        &["inspect", "diagnose", "identify"],
    ),
    (
        "Write tables and checkpoints",
        &["export", "convert", "resize"],
    ),
    ("Help and shells", &["completions", "man", "help"]),
];

/// The number of examples in the short help of a command.
const FEW: usize = 2;

/// Returns the command line with its help.
pub(crate) fn command() -> clap::Command {
    let width = Terminal::current().paragraph();
    let mut program = Cli::command().term_width(width);
    let names: Vec<String> = program
        .get_subcommands()
        .map(|command| command.get_name().to_owned())
        .collect();
    for name in names {
        program = program.mut_subcommand(name, |command| {
            let command = command.mut_args(whole);
            let text = command.get_after_long_help().map(ToString::to_string);
            match text.as_deref().and_then(first_examples) {
                Some(examples) => command.after_help(examples),
                None => command,
            }
        });
    }
    let list = list(&program);
    let style = *program.get_styles().get_header();
    program.help_template(format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}\
         {style}Options:{style:#}\n{{options}}{{after-help}}"
    ))
}

/// Gives an option that the short help leaves out its text in the whole one, which manual pages have too.
fn whole(argument: clap::Arg) -> clap::Arg {
    let has_one_text = argument.is_hide_short_help_set() && argument.get_long_help().is_none();
    match argument.get_help().cloned() {
        Some(help) if has_one_text => argument.long_help(help),
        _ => argument,
    }
}

/// Returns the commands in groups, each with a line of what it does.
fn list(program: &clap::Command) -> String {
    let mut page = Page::new();
    let style = program.get_styles().get_header();
    for (heading, names) in GROUPS {
        page.line(format!("{style}{heading}:{style:#}"));
        for name in names {
            let command = program.find_subcommand(name);
            let about = command.and_then(clap::Command::get_about);
            let about = about.map_or(
                "Print this help, or that of a command".to_owned(),
                |about| about.to_string(),
            );
            page.wrap(&format!("  {}", pad(name, 13)), &about);
        }
        page.line("");
    }
    page.text().to_owned()
}

/// Returns the first examples of a text that begins with some.
fn first_examples(text: &str) -> Option<String> {
    let (_, examples) = text.split_once("Examples:\n")?;
    let mut few = "Examples:".to_owned();
    let mut count = 0;
    for line in examples.lines().take_while(|line| !line.is_empty()) {
        few += "\n";
        few += line;
        count += usize::from(!line.ends_with('\\'));
        if count == FEW {
            break;
        }
    }
    Some(few)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_is_in_one_group() {
        let mut program = command();
        program.build();
        let mut names: Vec<&str> = program.get_subcommands().map(|c| c.get_name()).collect();
        let mut grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        names.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(names, grouped);
    }

    #[test]
    fn short_help_has_the_first_examples_whole() {
        let text = "About.\n\nExamples:\n  a \\\n      b\n  c\n  d\n\nMore.";
        assert_eq!(
            first_examples(text).as_deref(),
            Some("Examples:\n  a \\\n      b\n  c")
        );
        assert_eq!(first_examples("Nothing."), None);
    }
}
