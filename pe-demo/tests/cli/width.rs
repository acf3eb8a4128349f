//! Every line fits a terminal of 80 columns.

use std::path::Path;
use std::process::Output;

use unicode_width::UnicodeWidthStr;

use crate::{pe_demo, text};

/// Every line takes at most 80 columns of a terminal and has no spaces at its end.
fn fits(directory: &Path, line: &str) -> Output {
    let output = pe_demo(directory, line);
    assert!(output.status.success(), "{line}: {}", text(&output.stderr));
    for row in text(&output.stdout).lines() {
        assert!(row.width() <= 80, "{line}: {} {row:?}", row.width());
        assert!(row.trim_end() == row || line.contains("--help"), "{row:?}");
    }
    output
}

#[test]
fn lines_fit_80_columns() {
    let directory = tempfile::tempdir().expect("a directory");
    let long = format!("--causal --norm pre '{}' 'a b c'", "word ".repeat(60));
    for line in [
        "",
        "--help",
        "export --help",
        "inspect --help",
        "encode --help",
        &long,
        // Ten tokens, the longest names and filling: the widest map of attention.
        "'without director anthony sentence hopkins michael admired great'",
        "--max-seq-len 1000000 --d-model 16 --seed 18446744073709551615",
        "export --d-model 8 --max-seq-len 3 -o t.st",
        "inspect t.st",
        "export --scheme rotary --head-dim 64 --max-seq-len 3 -o t.st --scaling yarn:factor=4,\
         original_max_position_embeddings=4096,mscale=0.707,mscale_all_dim=1.1",
        "inspect t.st",
    ] {
        fits(directory.path(), line);
    }
}

/// Sentences without spaces, of wide characters, of characters without width.
fn awkward() -> Vec<String> {
    [
        "我们都知道人工智能正在改变世界而位置编码是其中的一个重要组成部分没有它就没有顺序谢谢大家的阅读",
        "한국어 문장은 띄어쓰기가 있지만 글자의 너비는 두 칸이다. 그래서 줄이 넘칠 수 있다. 조심해야 한다.",
        "👩\u{200d}👩\u{200d}👧\u{200d}👦👍🏽🇫🇷❤\u{fe0f}",
        "Z\u{300}\u{301}\u{302}\u{303}a\u{30a}",
        "ａｂｃ１２３",
        "لا إله إلا الله",
        "soft\u{ad}hyphen\u{200b}zero",
    ]
    .into_iter()
    .flat_map(|text| [text.to_owned(), text.repeat(30), format!("a {}", text.repeat(7))])
    .chain([
        format!("see https://example.org/{}", "path/".repeat(15)),
        "x".repeat(99),
        "x".repeat(100_000),
        format!("a{}", "\u{301}".repeat(1000)),
    ])
    .collect()
}

#[test]
fn words_without_spaces_and_wide_characters_fit_80_columns() {
    let directory = tempfile::tempdir().expect("a directory");
    for sentence in awkward() {
        let line = format!("--no-table --d-model 16 --layers 1 -- '{sentence}'");
        fits(directory.path(), &line);
    }
}

#[test]
fn tokens_of_any_width_fit_80_columns_and_stand_under_their_positions() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut words: Vec<String> = awkward()
        .iter()
        .flat_map(|text| text.split_whitespace().map(str::to_owned))
        .collect();
    words.sort();
    words.dedup();
    let mut vocabulary = serde_json::json!({ "?": 0 });
    for (index, word) in words.iter().enumerate() {
        vocabulary[word] = (index + 1).into();
    }
    let tokenizer = serde_json::json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": null, "pre_tokenizer": { "type": "WhitespaceSplit" },
        "post_processor": null, "decoder": null,
        "model": { "type": "WordLevel", "vocab": vocabulary, "unk_token": "?" },
    });
    let file = directory.path().join("words.json");
    std::fs::write(file, tokenizer.to_string()).expect("written");
    let options = "--no-table --d-model 16 --tokenizer words.json";
    for few in words.chunks(7) {
        let sentence = few.join(" ");
        let output = fits(directory.path(), &format!("{options} -- '{sentence}' ?"));
        let lines: Vec<&str> = text(&output.stdout).lines().collect();
        let bands = lines
            .windows(3)
            .filter(|band| band[0].starts_with("     position"));
        for band in bands {
            // The last cell of each row begins in the same column.
            let start = |row: &str| {
                let last = row.rfind("  ").expect("a cell");
                row[..last].width()
            };
            assert_eq!(start(band[0]), start(band[1]), "{band:#?}");
            assert_eq!(start(band[0]), start(band[2]), "{band:#?}");
        }
    }
}

#[test]
fn inspect_fits_80_columns_whatever_the_names() {
    let directory = tempfile::tempdir().expect("a directory");
    let zeros = |shape: &[usize]| {
        candle_core::Tensor::zeros(shape, candle_core::DType::F32, &candle_core::Device::Cpu)
            .expect("zeros")
    };
    let weight = "bert.encoder.layer.10.attention.output.LayerNorm.weight";
    let tensors = std::collections::HashMap::from([
        (weight.to_owned(), zeros(&[768])),
        ("語".repeat(100), zeros(&[1; 30])),
        ("x".repeat(1000), zeros(&[300, 768])),
    ]);
    let path = directory.path().join("w.safetensors");
    candle_core::safetensors::save(&tensors, &path).expect("saved");
    let output = fits(directory.path(), "inspect w.safetensors");
    assert!(text(&output.stdout).contains("語…"));

    // With shapes of the usual size a name of the usual length is there in full.
    let tensors = std::collections::HashMap::from([(weight.to_owned(), zeros(&[768, 768]))]);
    candle_core::safetensors::save(&tensors, &path).expect("saved");
    let output = fits(directory.path(), "inspect w.safetensors");
    assert!(text(&output.stdout).contains(weight));
}
