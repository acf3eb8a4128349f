//! Sources of sentences and tokenizers.

use pe_demo::Outcome;
use pe_demo::origin::HubName;
use pe_demo::tokenizer::{Tokenizer, TokenizerSource};

use crate::util::{arg, file, run, run_error, run_json, run_with, tokenizer};

fn texts(report: &serde_json::Value) -> Vec<&str> {
    let sentences = report["sentences"].as_array().unwrap().iter();
    sentences
        .map(|sentence| sentence["text"].as_str().unwrap())
        .collect()
}

#[test]
fn sentences_come_from_arguments_files_and_standard_input() {
    assert_eq!(
        texts(&run_json("--no-table 'one two' three")),
        ["one two", "three"]
    );

    let (_guard, path) = file("text.txt");
    std::fs::write(&path, "first line\n\n  second line \r\nthird").unwrap();
    let report = run_json(&format!("--no-table --file {}", arg(&path)));
    assert_eq!(texts(&report), ["first line", "second line", "third"]);

    for args in ["--no-table - --json", "--no-table --file - --json"] {
        let run = run_with(args, "from a pipe\n");
        assert_eq!(
            texts(&serde_json::from_str(&run.out).unwrap()),
            ["from a pipe"]
        );
    }

    // Nothing is read that was not asked for.
    let run = run_with("--no-table --json", "from a pipe\n");
    let report = serde_json::from_str(&run.out).unwrap();
    assert_eq!(texts(&report), pe_demo::sentences::BUILT_IN);
}

#[test]
fn texts_without_sentences_are_errors() {
    let (_guard, path) = file("text.txt");
    std::fs::write(&path, "\n \n").unwrap();
    assert!(run_error(&format!("--file {}", arg(&path))).contains("no sentences"));
    std::fs::write(&path, b"good\nb\xffd\n").unwrap();
    assert!(run_error(&format!("--file {}", arg(&path))).contains("line 2"));
    let run = run_with("--no-table -", "");
    assert_eq!(run.outcome, Outcome::Failure);
    assert_eq!(run.err, "pe-demo: standard input: no sentences\n");
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let out = run("--no-table 'red \u{1b}[31m or \u{7} not'");
    assert!(out.chars().all(|c| c == '\n' || !c.is_control()));
    assert!(out.contains("\\u{1b}[31m"));
    // Nor those that turn the direction of a line; nor in errors.
    let out = run("--no-table 'left \u{202e}right'");
    assert!(!out.contains('\u{202e}') && out.contains("\\u{202e}right"));
    let error = run_error("--file 'no\u{1b}[31m.txt'");
    assert!(error.starts_with("pe-demo: no\\u{1b}[31m.txt: "), "{error}");
}

#[test]
fn built_in_tokenizer_is_berts_kind() {
    let tokens = |text: &str| -> Vec<String> {
        let sentence = tokenizer().encode(text).unwrap();
        sentence
            .tokens
            .into_iter()
            .map(|token| token.token)
            .collect()
    };
    assert_eq!(
        tokens("The DIRECTOR."),
        ["[CLS]", "the", "director", ".", "[SEP]"]
    );
    assert_eq!(tokens("café"), tokens("CAFE"));
    assert_eq!(tokens("1234")[..3], ["[CLS]", "1", "##2"]);
    assert_eq!(tokens("語"), ["[CLS]", "[UNK]", "[SEP]"]);
    assert_eq!(tokenizer().vocab_size(), 2000);

    let sentence = tokenizer().encode("the cat").unwrap();
    let special: Vec<bool> = sentence.tokens.iter().map(|token| token.special).collect();
    assert_eq!(special, [true, false, false, true]);
    assert_eq!(sentence.tokens[2].position, 2);
}

/// A tokenizer of another kind: whole words, nothing around the sentence, and with padding
/// and truncation that must not matter.
const WORDS: &str = r#"{
  "version": "1.0",
  "truncation": {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0},
  "padding": {"strategy": {"Fixed": 9}, "direction": "Right", "pad_to_multiple_of": null,
              "pad_id": 0, "pad_type_id": 0, "pad_token": "<pad>"},
  "added_tokens": [], "normalizer": null,
  "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null, "decoder": null,
  "model": {"type": "WordLevel", "vocab": {"<pad>": 0, "?": 1, "order": 2, "matters": 7},
            "unk_token": "?"}
}"#;

#[test]
fn tokenizer_files_of_any_kind_are_read() {
    let (_guard, path) = file("words.json");
    std::fs::write(&path, WORDS).unwrap();
    let tokenizer: TokenizerSource = arg(&path).parse().unwrap();
    assert_eq!(tokenizer, TokenizerSource::File(path.clone()));
    let tokenizer = Tokenizer::load(&tokenizer).unwrap();
    assert_eq!(tokenizer.vocab_size(), 8);
    assert_eq!(
        tokenizer.encode("order matters much").unwrap().ids(),
        [2, 7, 1]
    );
    assert!(
        tokenizer
            .encode(" ")
            .unwrap_err()
            .to_string()
            .contains("has no tokens")
    );

    let args = [
        "--no-table",
        "--tokenizer",
        arg(&path),
        "order matters",
        "matters order",
    ];
    let report = run_json(&args);
    assert_eq!(report["model"]["vocab_size"], 8);
    assert_eq!(report["order"]["permutation"], 1);
}

#[test]
fn bad_tokenizers_are_errors_that_name_them() {
    let (_guard, path) = file("words.json");
    std::fs::write(&path, "{}").unwrap();
    let error = run_error(&format!("--tokenizer {}", arg(&path)));
    assert!(error.contains("words.json: not a tokenizer"), "{error}");
    // An id that would make the embedding absurdly large.
    std::fs::write(
        &path,
        WORDS.replace("\"matters\": 7", "\"matters\": 4294967295"),
    )
    .unwrap();
    let error = run_error(&format!("--no-table --tokenizer {} order", arg(&path)));
    assert!(error.contains("above the limit"), "{error}");
}

#[test]
fn names_that_are_no_files_may_be_repositories() {
    let of = |revision: Option<&str>, file: &str| {
        TokenizerSource::Hub(HubName {
            repository: "owner/na.me".to_owned(),
            revision: revision.map(str::to_owned),
            file: file.to_owned(),
        })
    };
    let parse = |text: &str| text.parse::<TokenizerSource>();
    for (text, name) in [
        ("owner/na.me", of(None, "tokenizer.json")),
        ("owner/na.me@v1", of(Some("v1"), "tokenizer.json")),
        (
            "owner/na.me@refs/pr/1",
            of(Some("refs/pr/1"), "tokenizer.json"),
        ),
        ("owner/na.me:sub/t.json", of(None, "sub/t.json")),
        ("owner/na.me@v1:t.json", of(Some("v1"), "t.json")),
    ] {
        assert_eq!(parse(text).unwrap(), name, "{text}");
    }
    for bad in [
        "",
        "name",
        "a/b/c",
        "../name",
        "/etc/none",
        "a/..",
        "a/b@",
        "a/b:",
        "a/b@../x",
        "a/t.json",
        "a/t.safetensors",
    ] {
        assert!(parse(bad).is_err(), "{bad}");
    }
    assert_eq!(of(Some("v1"), "t.json").to_string(), "owner/na.me@v1");
}

#[test]
fn sentence_without_tokens_is_named_but_not_in_full() {
    let (_guard, path) = file("words.json");
    let nothing = r#"{"type": "Replace", "pattern": {"Regex": "."}, "content": ""}"#;
    let tokenizer = WORDS.replace(
        "\"normalizer\": null",
        &format!("\"normalizer\": {nothing}"),
    );
    std::fs::write(&path, tokenizer).unwrap();
    let long = "x".repeat(10_000);
    let error = run_error(&["--no-table", "--tokenizer", arg(&path), &long]);
    assert!(error.contains("x…\" has no tokens"), "{error}");
    assert!(error.len() < 200, "{error}");
}
