//! `pe-demo train`, on encoders small enough to learn in seconds.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use pe_demo::Outcome;
use pe_tests::snapshot;
use serde_json::Value;

use crate::util::{arg, file, run, run_error, run_json, run_with};

/// Sizes at which every scheme with positions learns the order within 150 steps.
const SMALL: &str = "--task order --seeds 1 --heads 2 --layers 1 --batch 16 --length 8 \
                     --learning-rate 0.01";

/// Sizes at which nothing is learned, and everything is written.
const TINY: &str = "--d-model 8 --heads 2 --layers 1 --batch 2 --length 8 --test-lengths 9";

/// The schemes that one layer suffices for.
const FOUR: &str = "--scheme none,sinusoidal,learned,rotary";

fn small(directory: &Path, more: &str) -> String {
    format!("train --d-model 32 {SMALL} -o {} {more}", arg(directory))
}

/// The files of a directory.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(directory).unwrap();
    entries
        .map(|entry| entry.unwrap())
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, std::fs::read(entry.path()).unwrap())
        })
        .collect()
}

/// Equal names and bytes; a difference is told without printing the bytes.
fn assert_same_files(left: &Path, right: &Path) {
    let (left, right) = (files(left), files(right));
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&left), names(&right));
    for (name, bytes) in &left {
        assert!(bytes == &right[name], "{name} differs");
    }
}

#[test]
fn order_alone_decides_the_answer_and_positions_alone_show_it_slow() {
    let directory = tempfile::tempdir().unwrap();
    let lengths = "--test-lengths 16,32";
    let report = run_json(&small(
        directory.path(),
        &format!("--steps 150 {FOUR} {lengths}"),
    ));
    assert_eq!(report["test_lengths"], serde_json::json!([8, 16, 32]));
    let schemes = report["results"].as_array().unwrap();
    let schemes: Vec<&Value> = schemes
        .iter()
        .filter(|one| one["scaling"] == "none")
        .collect();
    let accuracy =
        |index: usize, length: usize| schemes[index]["accuracy"][length]["mean"].as_f64();
    let names: Vec<&str> = schemes
        .iter()
        .map(|one| one["scheme"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["none", "sinusoidal", "learned", "rotary"]);
    // Twins have the same words. Without positions both get the same answer, which is right for
    // one of them at most, at every length.
    for length in 0..3 {
        let share = accuracy(0, length).unwrap();
        assert!(share <= 0.5, "none: {share}");
    }
    assert!(accuracy(0, 0).unwrap() > 0.25);
    for (index, name) in names.iter().enumerate().skip(1) {
        let share = accuracy(index, 0).unwrap();
        assert!(share >= 0.9, "{name}: {share}");
    }
    // There are rows for 8 tokens.
    assert_eq!((accuracy(2, 1), accuracy(2, 2)), (None, None));
    assert!(accuracy(1, 2).is_some() && accuracy(3, 2).is_some());

    // Files: losses of every step, and a picture.
    let losses = std::fs::read_to_string(directory.path().join("losses.csv")).unwrap();
    assert_eq!(
        losses.lines().next(),
        Some("step,order-none-0,order-sinusoidal-0,order-learned-0,order-rotary-0")
    );
    assert_eq!(losses.lines().count(), 151);
    let picture = std::fs::read_to_string(directory.path().join("losses-order.svg")).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains("sinusoidal"));

    weights_are_what_is_saved(directory.path(), report["trainings"].as_array().unwrap());
    trained_weights_answer(directory.path());
}

/// No table that can be computed is in a file.
fn weights_are_what_is_saved(directory: &Path, schemes: &[Value]) {
    let saved = |scheme: &str| {
        let path = directory.join(format!("order-{scheme}-0.safetensors"));
        pe_candle::checkpoint::inspect(path).unwrap()
    };
    let names = |scheme: &str| -> Vec<(String, Vec<usize>)> {
        let tensors = saved(scheme).tensors.into_iter();
        tensors.map(|tensor| (tensor.name, tensor.shape)).collect()
    };
    for scheme in schemes {
        let report = saved(scheme["scheme"].as_str().unwrap());
        let bytes: u64 = report.tensors.iter().map(|tensor| tensor.bytes).sum();
        assert_eq!(bytes, 4 * scheme["weights"].as_u64().unwrap());
        assert_eq!(report.metadata.len(), 1);
        let json: Value = serde_json::from_str(&report.metadata[0].1).unwrap();
        assert_eq!(json["model"]["scheme"], scheme["scheme"]);
    }
    let none = names("none");
    assert!(none.iter().all(|(name, _)| !name.contains("position")));
    assert_eq!(names("sinusoidal"), none);
    assert_eq!(names("rotary"), none);
    let mut learned = names("learned");
    learned.retain(|tensor| !none.contains(tensor));
    let table = ("encoder.position.weight".to_owned(), vec![8, 32]);
    assert_eq!(learned, [table]);
}

/// `encode --weights`.
fn trained_weights_answer(directory: &Path) {
    let weights = |scheme: &str| directory.join(format!("order-{scheme}-0.safetensors"));
    let twins = ["The king feared the dwarf.", "The dwarf feared the king."];
    for scheme in ["sinusoidal", "learned", "rotary"] {
        let path = weights(scheme);
        let report = run_json(&["encode", "--weights", arg(&path), twins[0], twins[1]]);
        assert_eq!(report["model"]["scheme"], scheme);
        assert_eq!(report["answers"][0]["answer"], "king", "{scheme}");
        assert_eq!(report["answers"][1]["answer"], "dwarf", "{scheme}");
        assert_eq!(
            report["attention"][0]["weights"][0][0][0]
                .as_array()
                .unwrap()
                .len(),
            8
        );
        assert!(report["table"].is_null());
    }
    let none = run_json(&[
        "encode",
        "--weights",
        arg(&weights("none")),
        twins[0],
        twins[1],
    ]);
    assert_eq!(none["answers"][0]["answer"], none["answers"][1]["answer"]);

    let picture = directory.join("attention.svg");
    let rotary = weights("rotary");
    let page = run(&format!(
        "encode --weights {} --attention {}",
        arg(&rotary),
        arg(&picture)
    ));
    for part in [
        "Agent of the sentence",
        "layer 1 head 2",
        "steps of training",
        "rotary positions",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(page.lines().all(|line| line.chars().count() <= 80));
    let picture = std::fs::read_to_string(picture).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains("layer 1 head 2"));

    let long = "The king who slept in the garden feared the dwarf.";
    let learned = weights("learned");
    let error = run_error(&["encode", "--weights", arg(&learned), long]);
    assert!(
        error.contains("sentence 1 has 13 tokens, at most 8") && error.contains("learned"),
        "{error}"
    );
    let state = directory.join("order-rotary-0.state.safetensors");
    let error = run_error(&format!("encode --weights {}", arg(&state)));
    assert!(error.contains("the state of a training"), "{error}");
}

/// A causal mask alone needs two layers, to count and to compare.
#[test]
fn buckets_and_a_causal_mask_alone_show_the_order_slow() {
    let directory = tempfile::tempdir().unwrap();
    let folder = arg(directory.path());
    let sizes = "--task order --seeds 1 --d-model 32 --heads 2 --batch 16 --length 8 \
                 --test-lengths 16 --learning-rate 0.01";
    let learn = "--steps 200 --scheme nope-causal,t5";
    let report = run_json(&format!("train {sizes} {learn} -o {folder}"));
    let schemes = report["results"].as_array().unwrap();
    let names: Vec<_> = schemes
        .iter()
        .map(|one| one["scheme"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["t5", "nope-causal"]);
    for one in schemes {
        let accuracy = one["accuracy"].as_array().unwrap();
        assert!(accuracy[0]["mean"].as_f64().unwrap() > 0.9, "{one}");
        // There are buckets for every distance.
        assert!(accuracy.iter().all(Value::is_object), "{one}");
    }
    // The buckets are weights, the slopes of ALiBi are not.
    run(&format!(
        "train {sizes} --steps 1 --scheme alibi -o {folder}"
    ));
    let path = |scheme: &str| {
        directory
            .path()
            .join(format!("order-{scheme}-0.safetensors"))
    };
    let tensors = |scheme| {
        pe_candle::checkpoint::inspect(path(scheme))
            .unwrap()
            .tensors
    };
    let named = |scheme| {
        let tensors = tensors(scheme).into_iter();
        tensors
            .map(|tensor| (tensor.name, tensor.shape))
            .collect::<Vec<_>>()
    };
    let mut of_t5 = named("t5");
    of_t5.retain(|tensor| !named("alibi").contains(tensor));
    let name = "encoder.position.relative_attention_bias.weight".to_owned();
    assert_eq!(of_t5, [(name, vec![32, 2])]);
    assert_eq!(named("alibi"), named("nope-causal"));
    for scheme in ["t5", "nope-causal"] {
        let twins = ["The king feared the dwarf.", "The dwarf feared the king."];
        let path = path(scheme);
        let answers = run_json(&["encode", "--weights", arg(&path), twins[0], twins[1]]);
        assert_eq!(answers["model"]["scheme"], scheme);
        assert_eq!(answers["answers"][0]["answer"], "king", "{scheme}");
        assert_eq!(answers["answers"][1]["answer"], "dwarf", "{scheme}");
    }
}

fn tiny(directory: &Path, more: &str) -> String {
    format!("train {TINY} -o {} {more}", arg(directory))
}

#[test]
fn resumed_training_gives_the_same_bits_slow() {
    let whole = tempfile::tempdir().unwrap();
    let parts = tempfile::tempdir().unwrap();
    // From before and from after a look at the validation sentences, and with trainings that are new.
    let schemes = "--scheme learned,sinusoidal-offsets";
    let resume = |steps: u64| {
        let options = format!("--steps {steps} {schemes} --seeds 2 --resume");
        let resumed = run_with(&tiny(parts.path(), &options), "");
        assert_eq!(resumed.outcome, Outcome::Success, "{}", resumed.err);
        resumed.err
    };
    run(&tiny(
        whole.path(),
        &format!("--steps 53 {schemes} --seeds 2"),
    ));
    run(&tiny(
        parts.path(),
        &format!("--steps 20 {schemes} --seeds 1 --task order"),
    ));
    let said = resume(51);
    let new = "no state to resume of order-learned-1, order-sinusoidal-offsets-1, \
               distance-learned-0 and 3 others: training from the start";
    assert!(said.contains(new), "{said}");
    assert_eq!(resume(53), "");
    assert_same_files(whole.path(), parts.path());
}

#[test]
fn resuming_needs_a_checkpoint_and_reports_what_starts_again() {
    let directory = tempfile::tempdir().unwrap();
    let nowhere = directory.path().join("nowhere");
    let error = run_error(&tiny(
        &nowhere,
        "--steps 1 --resume --scheme none --seeds 1",
    ));
    let expected = "nowhere: no state to resume of order-none-0, distance-none-0\n";
    assert!(error.ends_with(expected), "{error}");
    assert!(!nowhere.exists());

    let some = directory.path().join("some");
    run(&tiny(&some, "--steps 1 --scheme none --task order"));
    // What the user asked for comes before what follows from it.
    let wide = TINY.replace("--d-model 8", "--d-model 16");
    let error = run_error(&format!(
        "train {wide} --resume --scheme none -o {}",
        arg(&some)
    ));
    assert!(error.contains("trained with d_model 8, not 16"), "{error}");
}

/// The shape of a document: the keys with the types of their values, and of lists the first element
/// that is not null.
fn shape(value: &Value, path: &str, lines: &mut Vec<String>) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                shape(value, &format!("{path}.{key}"), lines);
            }
        }
        Value::Array(list) => {
            let first = list.iter().find(|one| !one.is_null());
            shape(first.unwrap_or(&Value::Null), &format!("{path}[]"), lines);
        }
        Value::Null => lines.push(format!("{path} null")),
        Value::Bool(_) => lines.push(format!("{path} bool")),
        Value::Number(_) => lines.push(format!("{path} number")),
        Value::String(_) => lines.push(format!("{path} string")),
    }
}

#[test]
fn results_are_means_and_ranges_of_the_tests_of_each_seed() {
    let directory = tempfile::tempdir().unwrap();
    let report = run_json(&tiny(
        directory.path(),
        "--steps 2 --scheme none,learned,rotary --seeds 2 --seed 7 --test-lengths 9,16",
    ));
    let mut lines = Vec::new();
    shape(&report, "", &mut lines);
    let schema = lines.join("\n") + "\n";
    snapshot::assert_texts("program/train", &[("schema".to_owned(), schema)]);

    assert_eq!(report["test_lengths"], serde_json::json!([8, 9, 16]));
    let trainings = report["trainings"].as_array().unwrap();
    let names = |one: &Value, keys: [&str; 3]| keys.map(|key| one[key].to_string());
    let trained: Vec<_> = trainings
        .iter()
        .map(|one| {
            names(one, ["task", "scheme", "seed"])
                .join(" ")
                .replace('"', "")
        })
        .collect();
    assert_eq!(trained.len(), 12);
    assert_eq!(
        trained[..3],
        ["order none 7", "order none 8", "order learned 7"]
    );
    assert_eq!(trained[11], "distance rotary 8");

    // A line for each task, scheme, scaling, seed, and length; the results follow from them.
    let table = std::fs::read_to_string(directory.path().join("accuracies.csv")).unwrap();
    let lines: Vec<Vec<&str>> = table
        .lines()
        .skip(1)
        .map(|line| line.split(',').collect())
        .collect();
    assert_eq!(lines.len(), 2 * 5 * 2 * 3);
    let results = report["results"].as_array().unwrap();
    assert_eq!(results.len(), 2 * 5);
    for (row, lines) in results.iter().zip(lines.chunks(6)) {
        for at in 0..3 {
            let seeds = [&lines[at], &lines[3 + at]];
            let numbers = |column: usize| seeds.map(|line| line[column].parse::<f64>().ok());
            let [Some(one), Some(other)] = numbers(5) else {
                assert_eq!(row["scheme"], "learned");
                assert!(at > 0 && row["accuracy"][at].is_null(), "{row}");
                continue;
            };
            let spread = &row["accuracy"][at];
            assert_eq!(spread["mean"], (one + other) / 2.0);
            assert_eq!(spread["least"], one.min(other));
            assert_eq!(spread["most"], one.max(other));
            for line in seeds {
                // Shares of 400 answers, without rounding of their sum.
                let shares = [5, 6, 7].map(|column| line[column].parse::<f64>().unwrap());
                let counts = shares.map(|share| (share * 400.0).round());
                assert_eq!(counts.iter().sum::<f64>(), 400.0, "{line:?}");
                assert_eq!(counts.map(|count| count / 400.0), shares, "{line:?}");
            }
        }
    }
    // Scaled frequencies change the answers beyond the trained length, and only there.
    let rotary = |scaling: &str| {
        let same = |row: &&Value| row["scheme"] == "rotary" && row["scaling"] == scaling;
        let rows = results.iter().filter(same);
        let at = |at: usize| {
            rows.clone()
                .map(|row| row["accuracy"][at].clone())
                .collect::<Vec<_>>()
        };
        [at(0), at(2)]
    };
    let [plain, linear, yarn] = ["none", "linear", "yarn"].map(rotary);
    assert!(plain[0] == linear[0] && plain[0] == yarn[0]);
    assert!(plain[1] != linear[1] && plain[1] != yarn[1] && linear[1] != yarn[1]);

    let weights = directory.path().join("distance-rotary-8.safetensors");
    let look = run(&format!("encode --weights {}", arg(&weights)));
    for part in [
        "Three places before the gate",
        "hat dwarf king lamp stone gate",
    ] {
        assert!(look.contains(part), "{part}: {look}");
    }

    let picture =
        std::fs::read_to_string(directory.path().join("accuracies-distance.svg")).unwrap();
    for part in [
        "trained length",
        "a guess between the two people",
        "rotary yarn",
        "Accuracy against length: distance",
    ] {
        assert!(picture.contains(part), "{part}");
    }
}

#[test]
fn files_that_no_training_wrote_are_not_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let table = directory.path().join("order-sinusoidal-0.safetensors");
    run(&format!(
        "export --d-model 8 --max-seq-len 3 -o {}",
        arg(&table)
    ));
    std::fs::write(
        directory.path().join("order-rotary-0.state.safetensors"),
        "mine",
    )
    .unwrap();
    let before = files(directory.path());
    for scheme in ["sinusoidal", "rotary", "all"] {
        let options = format!("--steps 1 --scheme {scheme}");
        let error = run_error(&small(directory.path(), &options));
        let name = match scheme {
            "rotary" => "order-rotary-0.state.safetensors: ",
            _ => "order-sinusoidal-0.safetensors: not written by pe-demo train",
        };
        assert!(error.contains(name), "{error}");
        assert!(before == files(directory.path()), "{scheme}");
    }
    run(&small(directory.path(), "--steps 1 --scheme none"));
    run(&small(directory.path(), "--steps 1 --scheme none"));
}

#[test]
fn short_training_is_not_taken_for_one_without_positions() {
    let directory = tempfile::tempdir().unwrap();
    let said = run(&tiny(
        directory.path(),
        "--steps 1 --task order --seeds 1 --scheme none,t5,alibi",
    ));
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let parts = [
        "alibi and t5 did not learn it in 1 step; none sees which words there are, not where, and \
         has to guess.",
        "One seed has no range: --seeds 3 shows whether such differences are more than chance.",
    ];
    for part in parts {
        assert!(said.contains(part), "{part}: {said}");
    }
}

/// Sizes at which Candle uses several threads, if there are.
fn wide(directory: &Path, more: &str) -> String {
    format!(
        "train --task order --seeds 1 --steps 6 --batch 40 --test-lengths 32 -o {} {more}",
        arg(directory)
    )
}

/// Trains with these numbers of threads, each in a process of its own, and compares the files.
fn same_bits(schemes: &str, threads: &[&str]) {
    let here = tempfile::tempdir().unwrap();
    run(&wide(here.path(), schemes));
    for threads in threads {
        let there = tempfile::tempdir().unwrap();
        let output = Command::new(std::env::current_exe().unwrap())
            .args([
                "--ignored",
                "--exact",
                "train::trains_in_a_process_of_its_own",
            ])
            .env("RAYON_NUM_THREADS", threads)
            .env("PE_DEMO_TEST_OUTPUT", there.path())
            .env("PE_DEMO_TEST_SCHEMES", schemes)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success() && text.contains("1 passed"),
            "{text}"
        );
        assert_same_files(here.path(), there.path());
    }
    let other = tempfile::tempdir().unwrap();
    run(&wide(other.path(), "--seed 1 --scheme learned"));
    let weights = |directory: &Path, seed: u64| {
        files(directory)[&format!("order-learned-{seed}.safetensors")].clone()
    };
    assert!(weights(here.path(), 0) != weights(other.path(), 1));
}

#[test]
fn same_seed_gives_the_same_bits_for_any_number_of_threads() {
    same_bits("--scheme learned", &["1", "3"]);
}

#[test]
#[ignore = "a minute: the test above with all schemes"]
fn same_seed_gives_the_same_bits_with_every_scheme() {
    same_bits("", &["1", "2", "3"]);
}

#[test]
#[ignore = "run by another test in a process of its own"]
fn trains_in_a_process_of_its_own() {
    let Some(directory) = std::env::var_os("PE_DEMO_TEST_OUTPUT") else {
        return;
    };
    let schemes = std::env::var("PE_DEMO_TEST_SCHEMES").unwrap();
    run(&wide(Path::new(&directory), &schemes));
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_what_was_reached() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--ignored",
            "--exact",
            "train::trains_until_it_is_interrupted",
        ])
        .env("PE_DEMO_TEST_OUTPUT", directory.path())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let weights = directory.path().join("order-rotary-0.safetensors");
    while !weights.exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap()
            .success()
    );
    assert!(child.wait().unwrap().success());

    // The best weights are there, and the training continues from where it was.
    run(&format!("encode --weights {}", arg(&weights)));
    let losses = std::fs::read_to_string(directory.path().join("losses.csv")).unwrap();
    let steps = losses.lines().count() + 5;
    let rotary = format!("--scheme rotary --steps {steps}");
    run(&small(directory.path(), &format!("{rotary} --resume")));
    let whole = tempfile::tempdir().unwrap();
    run(&small(whole.path(), &rotary));
    assert_same_files(whole.path(), directory.path());
}

#[cfg(unix)]
#[test]
#[ignore = "run by another test, which interrupts it"]
fn trains_until_it_is_interrupted() {
    let Some(directory) = std::env::var_os("PE_DEMO_TEST_OUTPUT") else {
        return;
    };
    let directory = Path::new(&directory);
    let args = small(directory, "--scheme rotary --steps 1000000");
    let run = run_with(&args, "");
    assert_eq!((run.outcome, run.err.as_str()), (Outcome::Interrupted, ""));
    assert!(run.out.contains("Interrupted") && run.out.contains("--resume"));
    let code = std::process::ExitCode::from(run.outcome);
    assert_eq!(
        format!("{code:?}"),
        format!("{:?}", std::process::ExitCode::from(130))
    );
}

#[test]
fn files_that_are_none_of_ours_are_refused() {
    let (guard, path) = file("table.safetensors");
    run(&format!("--table {} --d-model 16", arg(&path)));
    let error = run_error(&format!("encode --weights {}", arg(&path)));
    assert!(error.contains("not written by pe-demo train"), "{error}");

    let directory = guard.path().join("training");
    run(&small(&directory, "--scheme none --steps 2"));
    let other = "--scheme none --steps 2 --resume --dropout 0.5";
    let error = run_error(&small(&directory, other));
    assert!(error.contains("trained with dropout 0.1"), "{error}");
    assert!(error.ends_with(", not 0.5\n"), "{error}");

    // Cut short, and with a tensor less than its description needs.
    let weights = directory.join("order-none-0.safetensors");
    let bytes = std::fs::read(&weights).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 4]).unwrap();
    assert!(run_error(&format!("encode --weights {}", arg(&path))).contains("table.safetensors"));
    let changed = String::from_utf8_lossy(&bytes[8..2000]).into_owned();
    let at = 8 + changed.find("answer.weight").unwrap();
    let mut changed = bytes.clone();
    changed[at..at + 13].copy_from_slice(b"answer.weighs");
    std::fs::write(&path, &changed).unwrap();
    let error = run_error(&format!("encode --weights {}", arg(&path)));
    assert!(error.contains("answer.weight"), "{error}");
    assert!(run_error(&format!("train -o {}", arg(&weights))).contains("order-none-0.safetensors"));
}
