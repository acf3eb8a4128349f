//! The report of `train`.

use std::process::{Command, Output, Stdio};

use crate::{pe_demo, text};

fn train(directory: &std::path::Path, threads: &str, args: &[&str]) -> Output {
    let small = "train --steps 60 --d-model 8 --heads 1 --layers 1 --length 8 --batch 2";
    let output = Command::new(env!("CARGO_BIN_EXE_pe-demo"))
        .args(small.split(' ').chain(args.iter().copied()))
        .current_dir(directory)
        .env("RAYON_NUM_THREADS", threads)
        .stdin(Stdio::null())
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    output
}

#[test]
fn report_names_its_columns_its_weights_and_every_file() {
    let directory = tempfile::tempdir().expect("a directory");
    let output = train(directory.path(), "2", &[]);
    let said = text(&output.stdout);
    let line = said.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "kept validation training scheme step loss right loss time",
        "Kept and tested are the weights of the step with the most right answers to 300 \
         validation sentences",
        "not those of the last step; they are looked at every 50 steps and at the end",
        "Training loss: the mean of the last 50 steps, with dropout",
        "The 8 schemes were trained in parallel, 2 at a time on one thread each; their times \
         overlap.",
    ] {
        assert!(line.contains(part), "{part}: {said}");
    }
    // All files are named, and no others.
    let folder = directory.path().join("pe-demo-train");
    let mut files = 0;
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let name = entry.expect("an entry").file_name();
        let name = format!("pe-demo-train/{}", name.to_string_lossy());
        assert!(
            said.lines().any(|line| line.ends_with(&name)),
            "{name}: {said}"
        );
        files += 1;
    }
    // Weights and losses of each scheme, the losses of all, and the figure.
    assert_eq!(files, 18);
    assert_eq!(said.matches("  pe-demo-train/").count(), files, "{said}");
    assert!(
        said.lines().all(|line| line.chars().count() <= 80),
        "{said}"
    );
}

#[test]
fn figures_are_those_of_the_weights_that_are_kept() {
    let directory = tempfile::tempdir().expect("a directory");
    let output = train(directory.path(), "1", &["--json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["parallel"], 1);
    for scheme in report["schemes"].as_array().expect("a list") {
        let path = scheme["weights_file"].as_str().expect("a path");
        let file = pe_candle::checkpoint::inspect(directory.path().join(path)).expect("weights");
        let about: serde_json::Value =
            serde_json::from_str(&file.metadata[0].1).expect("a description");
        for (shown, kept) in [
            ("best_step", "step"),
            ("validation_loss", "loss"),
            ("validation_accuracy", "accuracy"),
        ] {
            assert!(scheme[shown].is_number(), "{scheme}");
            assert_eq!(scheme[shown], about["best"][kept], "{shown}");
        }
        let step = scheme["best_step"].as_u64();
        assert!(step == Some(50) || step == Some(60), "{step:?}");
    }
    let one = train(directory.path(), "2", &["--scheme", "none", "-o", "one"]);
    let said = text(&one.stdout);
    assert!(
        said.contains("All together took") && !said.contains("parallel"),
        "{said}"
    );
    let serial = train(directory.path(), "1", &[]);
    let said = text(&serial.stdout);
    assert!(
        said.contains("One scheme was trained after another"),
        "{said}"
    );
}

#[test]
fn quiet_training_shows_its_figures_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    let output = train(directory.path(), "2", &["-q", "--scheme", "rotary"]);
    let said = text(&output.stdout);
    for part in ["Accuracy on 1,000", "Losses (nats)", "rotary"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    for part in [
        "Files",
        "pe-demo-train",
        "Agent of the sentence",
        "--weights",
        "steps    1",
    ] {
        assert!(!said.contains(part), "{part}: {said}");
    }
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn losses_that_no_training_wrote_are_not_replaced() {
    let directory = tempfile::tempdir().expect("a directory");
    let here = directory.path();
    let folder = here.join("pe-demo-train");
    std::fs::create_dir(&folder).expect("a folder");
    let own = |name: &str| {
        let output = pe_demo(here, "train --steps 1 --d-model 8 --resume");
        let said = text(&output.stderr);
        let expected = format!("pe-demo-train/{name}: not written by pe-demo train\n");
        assert!(said.ends_with(&expected), "{said}");
        assert_eq!(output.status.code(), Some(1));
    };
    for (name, content) in [
        ("losses.csv", "epoch,loss\n1,2\n"),
        (
            "losses.svg",
            "<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>",
        ),
    ] {
        std::fs::write(folder.join(name), content).expect("written");
        own(name);
        let kept = std::fs::read_to_string(folder.join(name)).expect("read");
        assert_eq!(kept, content);
        std::fs::remove_file(folder.join(name)).expect("removed");
    }
    // Those of a training are.
    for _ in 0..2 {
        train(here, "1", &["--scheme", "none"]);
    }
}
