//! Completions, manual pages, help, and how much is said.

use pe_demo::{Color, Outcome, Terminal};

use pe_tests::snapshot;

use crate::util::{arg, file, run, run_usage, run_with};

const COMMANDS: [&str; 12] = [
    "encode",
    "diagnose",
    "export",
    "inspect",
    "convert",
    "identify",
    "resize",
    "train",
    "plot",
    "report",
    "completions",
    "man",
];

#[test]
fn completions_exist_for_every_shell_and_command() {
    for (shell, part) in [
        (
            "bash",
            "complete -F _pe__demo -o bashdefault -o default pe-demo",
        ),
        ("zsh", "#compdef pe-demo"),
        ("fish", "complete -c pe-demo"),
        ("powershell", "Register-ArgumentCompleter"),
        ("elvish", "edit:completion"),
    ] {
        let script = run(&format!("completions {shell}"));
        assert!(script.contains(part), "{shell}");
        for word in COMMANDS
            .into_iter()
            .chain(["embeddings", "quiet", "max-seq-len"])
        {
            assert!(script.contains(word), "{shell}: {word}");
        }
        // Names of figures and presets are completed, too.
        let values = [
            "rotary-wavelengths",
            "stable-diffusion",
            "vit-mae",
            "nerf-pytorch",
        ];
        let completed = values.iter().all(|value| script.contains(value));
        assert_eq!(
            completed,
            ["bash", "zsh", "fish"].contains(&shell),
            "{shell}"
        );
        assert_eq!(run(&format!("completions {shell}")), script);
    }
    assert!(run_usage("completions dos").contains("dos"));
}

/// The texts that users read first are kept word for word.
#[test]
fn snapshots_of_help_and_manual_pages() {
    let mut texts = vec![
        ("help".to_owned(), run("--help")),
        ("man".to_owned(), run("man")),
    ];
    for command in COMMANDS {
        texts.push((format!("help-{command}"), run(&format!("help {command}"))));
        texts.push((format!("man-{command}"), run(&format!("man {command}"))));
    }
    let version = env!("CARGO_PKG_VERSION");
    for (_, text) in &mut texts {
        *text = text.replace(version, "VERSION");
    }
    snapshot::assert_texts("program/snapshots", &texts);
}

#[test]
fn manual_pages_exist_for_every_command() {
    assert!(run_usage("man nothing").contains("there are encode, export"));

    let (guard, path) = file("man1");
    let said = run(&format!("man -o {}", arg(&path)));
    assert_eq!(said.lines().count(), 1 + COMMANDS.len());
    for command in COMMANDS {
        let file = path.join(format!("pe-demo-{command}.1"));
        let page = std::fs::read_to_string(&file).unwrap();
        assert!(
            page.contains(&format!("pe\\-demo\\-{command}")),
            "{command}"
        );
        assert!(page.contains("Examples:"), "{command}");
    }
    assert_eq!(run(&format!("-q man -o {}", arg(&path))), "");
    drop(guard);
}

#[test]
fn help_has_examples_and_no_colors() {
    for command in COMMANDS {
        for args in [
            &format!("{command} --help"),
            &format!("help {command}"),
            &format!("-q {command} -h"),
        ] {
            let help = run(args);
            assert!(help.contains("\nExamples:\n  "), "{args:?}");
            assert!(help.contains(&format!("pe-demo {command}")), "{args:?}");
            assert!(
                help.contains("--quiet") && help.contains("--verbose"),
                "{args:?}"
            );
            assert!(!help.contains('\x1b'), "{args:?}");
        }
    }
    assert!(run("--help").contains("NO_COLOR"));
}

/// A screen of 50 lines has room for the prompt, too.
#[test]
fn short_help_fits_a_screen_and_is_part_of_the_whole() {
    for command in COMMANDS {
        let (short, whole) = (
            run(&format!("{command} -h")),
            run(&format!("{command} --help")),
        );
        assert!(
            short.lines().count() <= 48,
            "{command}: {}\n{short}",
            short.lines().count()
        );
        assert!(short.lines().count() <= whole.lines().count(), "{command}");
        assert_eq!(whole, run(&format!("help {command}")));
        assert!(
            whole.contains("Exit codes:") || command == "completions",
            "{command}"
        );
        assert!(!short.contains("Exit codes:"), "{command}");
        let first = short
            .split("\nExamples:\n")
            .nth(1)
            .unwrap()
            .lines()
            .next()
            .unwrap();
        assert!(whole.contains(first), "{command}: {first}");
    }
    let (short, whole) = (run("-h"), run("--help"));
    assert!(short.lines().count() <= 48, "{short}");
    for help in [short, whole] {
        for command in COMMANDS {
            assert!(
                help.contains(&format!("\n  {command} ")),
                "{command}\n{help}"
            );
        }
        assert!(help.contains("Look into models and tables:"), "{help}");
    }
}

/// Runs the program on a terminal of a width.
fn on_terminal(columns: usize, line: &str) -> String {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let terminal = Terminal {
        stdout: Color::On,
        stderr: Color::On,
        columns: Some(columns),
    };
    let args = format!("pe-demo {line}");
    pe_demo::run_in(
        terminal,
        args.split(' '),
        &mut std::io::empty(),
        &mut out,
        &mut err,
    );
    String::from_utf8(out).unwrap()
}

/// A text without the numbers of styles.
fn plain(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + part.split_once('m').map_or("", |(_, rest)| rest)
    })
}

#[test]
fn paragraphs_have_the_width_of_the_terminal() {
    for line in ["--help", "export --help", "encode --no-table --d-model 16"] {
        let longest = |columns| {
            let text = plain(&on_terminal(columns, line));
            text.lines().map(|line| line.chars().count()).max().unwrap()
        };
        assert!(
            (81..=100).contains(&longest(200)),
            "{line}: {}",
            longest(200)
        );
        assert!(longest(80) <= 80, "{line}: {}", longest(80));
        let narrow = plain(&on_terminal(40, line));
        let lines = [
            "Explore positional encodings with a toy\n",
            "Write a table of encodings to a\nsafetensors",
            "An encoder turns each token, a word or a\npiece of one",
        ];
        assert!(lines.iter().any(|line| narrow.contains(line)), "{narrow}");
    }
    // Words stay, whatever the width.
    let words = |text: &str| {
        text.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let page = |columns| {
        words(&plain(&on_terminal(
            columns,
            "encode --no-table --d-model 16 word",
        )))
    };
    assert_eq!(page(40), page(200));
    assert_eq!(page(40), words(&run("encode --no-table --d-model 16 word")));
}

#[test]
fn colors_add_nothing_but_styles() {
    let colored = on_terminal(80, "encode --no-table");
    assert!(colored.contains("\x1b[1mWord order, without and with positions\x1b[0m"));
    assert!(colored.contains("\x1b[32m    1.056\x1b[0m"), "{colored}");
    assert_eq!(plain(&colored), run("encode --no-table"));
    // JSON has none.
    assert!(!on_terminal(80, "encode --no-table --json").contains('\x1b'));
}

/// Paragraphs fill the lines of 80 columns: the first word of a line would not fit on the one before.
#[test]
fn paragraphs_of_help_have_no_breaks_of_their_own() {
    for command in COMMANDS {
        let help = run(&format!("{command} --help"));
        let (_, end) = help.split_once("\nExamples:\n").unwrap();
        let lines: Vec<&str> = end.lines().collect();
        for pair in lines.windows(2) {
            let plain = |line: &str| !line.is_empty() && !line.starts_with(' ');
            if plain(pair[0]) && plain(pair[1]) {
                let word = pair[1].split(' ').next().unwrap();
                assert!(pair[0].len() + 1 + word.len() > 80, "{command}: {pair:?}");
            }
        }
    }
}

#[test]
fn quiet_is_results_and_errors_only() {
    let (guard, table) = file("t.safetensors");
    let export = format!("export --d-model 8 --max-seq-len 3 -o {}", arg(&table));
    assert!(run(&export).contains("wrote"));
    assert_eq!(run(&format!("-q {export}")), "");
    assert_eq!(run(&format!("{export} --quiet")), "");
    assert!(run(&format!("-q inspect {}", arg(&table))).contains("[3, 8]"));
    assert!(run("--quiet --no-table 'a b'").contains("position"));
    let nothing = guard.path().join("nothing");
    let failed = run_with(&format!("-q inspect {}", arg(&nothing)), "");
    assert_eq!(failed.outcome, Outcome::Failure);
    assert!(failed.err.contains("nothing"));
}

#[test]
fn verbose_tells_what_is_read() {
    let spoken = run_with("-v encode --no-table 'a b'", "");
    assert_eq!(spoken.outcome, Outcome::Success);
    assert!(
        spoken.err.contains("pe-demo: tokenizer built-in with"),
        "{}",
        spoken.err
    );
    assert_eq!(run("--no-table 'a b'"), spoken.out);
}

/// Before a command's name they are still options, and the name is no sentence.
#[test]
fn options_for_all_may_stand_before_the_command() {
    for option in ["-q", "-v", "--verbose"] {
        let out = run_with(&format!("{option} encode --no-table train"), "").out;
        assert!(out.contains("  1  train"), "{out}");
    }
    let out = run("-q --no-table 'a b' train");
    assert!(out.contains("  2  train"), "{out}");
}
