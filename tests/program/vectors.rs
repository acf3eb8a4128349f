//! Many sentences, and `encode --output`.

use std::path::Path;

use pe_candle::PositionalEncodingConfig;
use pe_demo::Outcome;
use pe_demo::encoder::{Batch, EncoderConfig, Mode, Scheme};
use pe_demo::mask::Sight;
use serde_json::Value;

use crate::embeddings::WORDS;
use crate::tolerance::F32_ENCODER;
use crate::util::{arg, encoder_of, file, run_with, tokenizer};

const SMALL: &str = "encode --d-model 16 --layers 1 --heads=2";

/// Lines of many lengths in an order that mixes them: `a`, `b c d`, ...
fn text(lines: usize) -> String {
    let words = ["order", "matters", "much", "of", "a", "word"];
    let line = |at: usize| {
        let length = 1 + (at * 7 + at / 5) % 23;
        let words: Vec<&str> = (0..length)
            .map(|word| words[(at + word * word) % 6])
            .collect();
        words.join(" ") + "\n"
    };
    (0..lines).map(line).collect()
}

/// The vectors of sentences, bit by bit, and their texts.
fn encode(path: &Path, more: &str, stdin: &str) -> Vec<(String, Vec<u32>)> {
    // An option given twice is rejected: some calls name sizes of their own.
    let command = if more.contains("--d-model") {
        "encode"
    } else {
        SMALL
    };
    let line = format!("{command} -q --file - -o {} {more}", arg(path));
    let run = run_with(&line, stdin);
    assert_eq!(
        (run.outcome, run.err.as_str(), run.out.as_str()),
        (Outcome::Success, "", "")
    );
    let lines = std::fs::read_to_string(path).unwrap();
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines
        .enumerate()
        .map(|(at, line)| {
            assert_eq!(line["index"], at);
            let vector = line["vector"].as_array().unwrap().iter();
            let bits = vector
                .map(|x| (x.as_f64().unwrap() as f32).to_bits())
                .collect();
            (line["text"].as_str().unwrap().to_owned(), bits)
        })
        .collect()
}

#[test]
fn vector_has_the_same_bits_in_every_batch() {
    let (guard, path) = file("v.jsonl");
    // Without marks around a sentence there are sentences of a single token.
    let words = guard.path().join("words.json");
    std::fs::write(&words, WORDS).unwrap();
    let text = text(230);
    for more in [
        "--scheme none",
        "--scheme sinusoidal --causal",
        "--scheme learned --norm pre",
        &format!("--scheme rotary --tokenizer {}", arg(&words)),
        &format!("--tokenizer {} --d-model 4 --heads=1", arg(&words)),
        "--d-model 96 --heads=3 --layers 2",
    ] {
        let together = encode(&path, more, &text);
        assert_eq!(together.len(), 230);
        for at in [0, 3, 23, 100, 229] {
            let alone = encode(&path, more, text.lines().nth(at).unwrap());
            assert_eq!(alone[0], together[at], "{more:?} {at}");
        }
        let some: String = text
            .lines()
            .skip(50)
            .take(9)
            .map(|line| format!("{line}\n"))
            .collect();
        assert_eq!(encode(&path, more, &some), together[50..59], "{more:?}");
    }
}

#[test]
fn vector_is_the_mean_of_the_last_layer() {
    let (_guard, path) = file("v.jsonl");
    let text = "The cat saw the dog.\nA word.";
    let found = encode(&path, "--seed 11", text);
    let config = EncoderConfig {
        heads: 2,
        layers: 1,
        scheme: Scheme::Sinusoidal,
        position: PositionalEncodingConfig {
            max_seq_len: 64,
            ..PositionalEncodingConfig::new(16)
        },
        ..EncoderConfig::new(tokenizer().vocab_size(), 16)
    };
    // Seed 11 too.
    let encoder = encoder_of(config);
    for (line, (_, bits)) in text.lines().zip(found) {
        let ids = tokenizer().encode(line).unwrap().ids();
        let batch = Batch::new(&[&ids], 0, &candle_core::Device::Cpu).unwrap();
        let output = encoder.forward(&batch, Sight::Whole, Mode::Eval).unwrap();
        let mean = output.last().unwrap().mean(1).unwrap().get(0).unwrap();
        for (expected, bits) in mean.to_vec1::<f32>().unwrap().iter().zip(bits) {
            let difference = f64::from(expected - f32::from_bits(bits)).abs();
            assert!(
                difference <= F32_ENCODER,
                "{expected} {}",
                f32::from_bits(bits)
            );
        }
    }
}

#[test]
fn order_is_kept_across_windows() {
    let (guard, path) = file("v.jsonl");
    let tokenizer = guard.path().join("words.json");
    std::fs::write(&tokenizer, WORDS).unwrap();
    let words = ["order", "matters order", "much", "order matters much"];
    let text: String = (0..8500)
        .map(|at| format!("{}\n\n", words[(at + at / 3 + at / 7) % 4]))
        .collect();
    let options = format!("--tokenizer {}", arg(&tokenizer));
    let found = encode(&path, &options, &text);
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(found.len(), lines.len());
    let mut known = std::collections::HashMap::new();
    for (line, (text, bits)) in lines.iter().zip(&found) {
        assert_eq!(line, text);
        assert_eq!(known.entry(line).or_insert(bits), &bits);
    }
    assert_eq!(known.len(), 4);
}

#[test]
fn vectors_in_both_formats_are_equal_and_equal_input_gives_equal_bytes() {
    let (guard, path) = file("v.jsonl");
    let (text, table) = (text(40), guard.path().join("v.safetensors"));
    let lines = encode(&path, "", &text);
    let args = format!("{SMALL} --file - --output {}", arg(&table));
    let run = run_with(&args, &text);
    assert_eq!(run.outcome, Outcome::Success);
    assert!(
        run.out.contains("tensor vectors [40, 16] f32"),
        "{}",
        run.out
    );
    assert!(
        run.err.contains("40 sentences, ") && run.err.contains(" tokens/s"),
        "{}",
        run.err
    );
    let bytes = std::fs::read(&table).unwrap();
    let (_, header) = safetensors::SafeTensors::read_metadata(&bytes).unwrap();
    let metadata = header.metadata().clone().unwrap();
    assert_eq!(metadata.keys().collect::<Vec<_>>(), ["pe_demo_vectors"]);
    let about: Value = serde_json::from_str(&metadata["pe_demo_vectors"]).unwrap();
    assert_eq!(
        (&about["pooling"], &about["scheme"]),
        (&"mean".into(), &"sinusoidal".into())
    );
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let view = tensors.tensor("vectors").unwrap();
    assert_eq!(view.shape(), [40, 16]);
    let expected: Vec<u8> = lines
        .iter()
        .flat_map(|(_, bits)| bits)
        .flat_map(|bits| bits.to_le_bytes())
        .collect();
    assert!(view.data() == expected);
    assert_eq!((bytes.len() - expected.len()) % 8, 0);

    run_with(&args, &text);
    assert!(std::fs::read(&table).unwrap() == bytes);
    // Others read it too.
    let report = pe_candle::checkpoint::inspect(&table).unwrap();
    assert_eq!(report.tensors[0].shape, [40, 16]);
    assert_eq!(std::fs::read_dir(guard.path()).unwrap().count(), 2);

    let run = run_with(&format!("{args} -q --json"), &text);
    let report: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(
        (&report["sentences"], &report["d_model"]),
        (&40.into(), &16.into())
    );
    assert_eq!(run.err, "");
}

#[test]
fn file_is_written_whole_or_not_at_all() {
    for name in ["v.jsonl", "v.safetensors"] {
        let (guard, path) = file(name);
        let args = format!("{SMALL} --max-seq-len 40 --file - -o {}", arg(&path));
        let long = text(20) + &"word ".repeat(60) + "\n";
        let run = run_with(&args, &long);
        let expected = "pe-demo: standard input: line 21 has 62 tokens, at most 40 can be encoded (--max-seq-len)\n";
        assert_eq!(
            (run.outcome, run.err.as_str(), run.out.as_str()),
            (Outcome::Failure, expected, "")
        );
        assert_eq!(std::fs::read_dir(guard.path()).unwrap().count(), 0);

        assert_eq!(run_with(&args, &text(3)).outcome, Outcome::Success);
        let before = std::fs::read(&path).unwrap();
        for bad in [long.as_str(), "", "\n \n"] {
            assert_eq!(run_with(&args, bad).outcome, Outcome::Failure);
            assert!(std::fs::read(&path).unwrap() == before);
            assert_eq!(std::fs::read_dir(guard.path()).unwrap().count(), 1);
        }
        let nowhere = guard.path().join("nowhere").join(name);
        let args = format!("{SMALL} -o {} a", arg(&nowhere));
        assert!(run_with(&args, "").err.starts_with("pe-demo: "));
    }
}

#[test]
fn sentences_beyond_the_first_are_counted() {
    let args = "encode --layers 1 --heads=2 --no-table --d-model=4 --file -";
    let run = run_with(&format!("{args} --json"), &text(1100));
    assert_eq!(run.outcome, Outcome::Success);
    assert!(run.err.contains("1,100 sentences, "), "{}", run.err);
    let report: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(report["sentences"].as_array().unwrap().len(), 1000);
    assert_eq!(report["all"]["sentences"], 1100);
    assert_eq!(report["all"]["shortest"], 3);

    let few = run_with(args, &text(20));
    assert_eq!(few.err, "");
    assert!(!few.out.contains("were encoded"));
}
