//! What `pe-demo` prints and writes.

use pe_candle::checkpoint::{self, AnySpec};
use pe_core::SinusoidalConfig;
use pe_demo::Outcome;

use crate::tolerance;
use crate::tolerance::SIX_DECIMALS_CUT;
use crate::util::{arg, file, run, run_json, run_with};

#[test]
fn d1_d2_d3_d4_all_stand_in_the_report() {
    let out = run("--no-table");
    for part in [
        "position  0      1        2        3",
        "[CLS]  anthony  hopkins  admired  michael  bay",
        "Word order, without and with positions",
        "hopkins (2) -> bay (5) -> great (8)",
        "c = -0.989992   s =  0.141120",
        "Encoding retained per layer",
        "after layer 2",
        "Masked attention",
        "largest weight on padding                                            0",
    ] {
        assert!(out.contains(part), "{part}");
    }
}

#[test]
fn d1_the_table_used_is_written_and_right() {
    let (_guard, path) = file("table.safetensors");
    let report = run_json(&format!("--table {}", arg(&path)));
    assert_eq!(report["table"]["file"], arg(&path));
    assert_eq!(report["table"]["shape"], serde_json::json!([50, 256]));
    let starts = report["table"]["last_row_starts"].as_array().unwrap();
    for (entry, expected) in starts
        .iter()
        .zip([-0.953753, 0.300593, 0.998991, -0.044921])
    {
        assert!((entry.as_f64().unwrap() - expected).abs() <= SIX_DECIMALS_CUT);
    }
    let report = checkpoint::inspect(&path).unwrap();
    let checkpoint::SpecStatus::Valid(AnySpec::Sinusoidal(spec)) = report.spec else {
        panic!("{:?}", report.spec);
    };
    assert_eq!(*spec.config(), SinusoidalConfig::new(256));
    assert!(checkpoint::compare(&path, &spec).unwrap().is_right());
    assert!(run(&format!("inspect {}", arg(&path))).contains("right: all 12,800 entries"));
}

#[test]
fn table_grows_with_the_sentences_up_to_the_given_length() {
    let long = "word ".repeat(80);
    let (_guard, path) = file("table.safetensors");
    let report = run_json(&["--table", arg(&path), &long]);
    assert_eq!(report["table"]["shape"], serde_json::json!([82, 256]));
    let run = run_with(&["--max-seq-len", "81", "--no-table", &long], "");
    assert_eq!(run.outcome, Outcome::Failure);
    assert!(
        run.err.contains("sentence 1 has 82 tokens, at most 81"),
        "{}",
        run.err
    );
}

#[test]
fn runs_repeat_and_seeds_differ() {
    let seed = |seed| run(&format!("--no-table --json --seed {seed}"));
    assert_eq!(seed("5"), seed("5"));
    assert_ne!(seed("5"), seed("6"));
    assert_eq!(run("--no-table"), run("encode --no-table"));
}

#[test]
fn json_holds_what_the_text_shows() {
    let report = run_json("--no-table");
    assert_eq!(report["program"], "pe-demo");
    assert_eq!(report["model"]["d_model"], 256);
    assert_eq!(report["sentences"][0]["tokens"][2]["token"], "hopkins");
    assert_eq!(report["sentences"][0]["tokens"][2]["position"], 2);
    assert!(report["order"]["without"].as_f64().unwrap() < tolerance::SAME_WITHOUT_POSITIONS);
    assert!(report["order"]["with"].as_f64().unwrap() > 0.1);
    assert_eq!(report["same_shift"]["steps"], 3);
    assert_eq!(report["trace"]["residual"].as_array().unwrap().len(), 3);
    assert_eq!(report["masks"]["max_padding_weight"], 0.0);
    assert!(report["table"].is_null());
}

#[test]
fn sentences_beyond_the_first_are_counted_and_in_the_json() {
    let text: String = (0..700)
        .map(|n| format!("sentence number {n} of a text\n"))
        .collect();
    let line = "--no-table --d-model 16 --heads 2 -";
    let run = run_with(line, &text);
    assert_eq!((run.outcome, run.err.as_str()), (Outcome::Success, ""));
    assert!(run.out.contains("  4  sentence number 3 of a text"));
    assert!(!run.out.contains("sentence number 4 "), "{}", run.out);
    let flat = run.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.contains("And 696 more sentences of 8 to 10 tokens: --json lists them"),
        "{flat}"
    );
    assert!(run.out.lines().count() < 130, "{}", run.out);
    let json = run_with(&format!("{line} --json"), &text).out;
    assert!(json.contains("sentence number 699 of a text"));
}

/// What positions change comes first, then the reason, then the details.
#[test]
fn sections_come_in_the_order_of_interest() {
    let page = run("--no-table");
    let places = [
        "what positions do",
        "Word order, without and with positions",
        "largest difference in",
        "Why? Attention",
        "The encoder\n",
        "Shifts by one rotation",
        "Encoding retained per layer",
        "Sentences, and the position of each token",
        "Masked attention",
    ]
    .map(|words| {
        page.find(words)
            .unwrap_or_else(|| panic!("{words}\n{page}"))
    });
    assert!(places.is_sorted(), "{places:?}\n{page}");
    // A few lines below the command.
    assert!(
        page.lines().take(14).any(|line| line.contains("1.056")),
        "{page}"
    );
    for control in [
        "control: one position too far",
        "control: without them",
        "Control: guessing",
        "Controls: masks",
    ] {
        assert!(page.contains(control), "{control}\n{page}");
    }
}

#[test]
fn text_that_the_tokenizer_does_not_know_is_named_with_its_script() {
    for (text, scripts) in [
        ("语言模型", "(Chinese)"),
        ("Привет мир", "(Cyrillic)"),
        ("مرحبا hello", "(Arabic)"),
        ("so happy 🎉", "(symbols and emoji)"),
    ] {
        let page = run(&["--no-table", "order matters", text]);
        let flat = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains("tokens are [UNK], in sentence 2"), "{page}");
        assert!(
            flat.contains(scripts) && flat.contains("--tokenizer"),
            "{page}"
        );
        let report = run_json(&["--no-table", "order matters", text]);
        assert_eq!(
            report["unknown"]["sentences"],
            serde_json::json!([2]),
            "{text}"
        );
        assert!(report["unknown"]["tokens"].as_u64().unwrap() > 0, "{text}");
    }
    assert!(!run("--no-table").contains("Unknown text"));
    assert!(run_json("--no-table")["unknown"].is_null());
}

#[test]
fn sentence_of_one_word_is_enough() {
    for args in ["--no-table x", "--no-table --max-seq-len 3 x"] {
        let out = run(args);
        assert!(!out.contains("NaN") && !out.contains("inf"), "{out}");
    }
}
