//! The report of `train`.

use std::process::{Command, Output, Stdio};

use crate::{pe_demo, text};

fn train(directory: &std::path::Path, threads: &str, args: &[&str]) -> Output {
    let small = "train --steps 60 --d-model 8 --heads 1 --layers 1 --length 8 --batch 2 \
                 --test-lengths 9";
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
    let output = train(
        directory.path(),
        "2",
        &["--scheme", "none,learned,rotary", "--seeds", "2"],
    );
    let said = text(&output.stdout);
    let line = said.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "Order: right answers to 400 new sentences of each length and seed",
        "Distance: right answers to 400 new sentences of each length and seed",
        "scheme 8 tokens 9 tokens",
        "Each cell is the mean of 2 seeds and, in brackets, their range.",
        "kept validation training task, scheme step loss right loss time",
        "Kept and tested are the weights of the step with the most right answers to 300 \
         validation sentences",
        "not those of the last step; they are looked at every 50 steps and at the end",
        "Training loss: the mean of the last 50 steps, with dropout",
        "The 12 trainings ran in parallel, 2 at a time on one thread each; their times overlap.",
    ] {
        assert!(line.contains(part), "{part}: {said}");
    }
    // All files are named, and no others: those of the seeds as a shell expands them.
    let folder = directory.path().join("pe-demo-train");
    let named: Vec<String> = said
        .lines()
        .filter_map(|line| line.split("pe-demo-train/").nth(1))
        .flat_map(|name| match name.split_once("{0,1}") {
            Some((start, end)) => vec![format!("{start}0{end}"), format!("{start}1{end}")],
            None => vec![name.to_owned()],
        })
        .collect();
    let mut files = 0;
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let name = entry.expect("an entry").file_name();
        let name = name.to_string_lossy().into_owned();
        assert!(named.contains(&name), "{name}: {said}");
        files += 1;
    }
    // Weights and state of each training; losses and accuracies as a table and as a figure.
    assert_eq!(files, 2 * 12 + 6);
    assert_eq!(named.len(), files, "{said}");
    assert!(
        said.lines().all(|line| line.chars().count() <= 80),
        "{said}"
    );
}

#[test]
fn figures_are_those_of_the_weights_that_are_kept() {
    let directory = tempfile::tempdir().expect("a directory");
    let few = [
        "--task",
        "order",
        "--seeds",
        "1",
        "--scheme",
        "none,learned",
    ];
    let with = |more: &'static str| few.into_iter().chain([more]).collect::<Vec<_>>();
    let output = train(directory.path(), "1", &with("--json"));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["parallel"], 1);
    for scheme in report["trainings"].as_array().expect("a list") {
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
    let one = [
        "--task", "order", "--seeds", "1", "--scheme", "none", "-o", "one",
    ];
    let one = train(directory.path(), "2", &one);
    let said = text(&one.stdout);
    assert!(
        said.contains("All together took") && !said.contains("parallel"),
        "{said}"
    );
    let serial = train(directory.path(), "1", &with("--resume"));
    let said = text(&serial.stdout);
    assert!(said.contains("One training ran after another"), "{said}");
}

#[test]
fn quiet_training_shows_its_figures_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    let output = train(
        directory.path(),
        "2",
        &["-q", "--task", "order", "--scheme", "rotary"],
    );
    let said = text(&output.stdout);
    for part in [
        "Order: right answers to 400",
        "Losses (nats)",
        "rotary yarn",
    ] {
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
            "losses-distance.svg",
            "<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>",
        ),
        ("accuracies.csv", "task,accuracy\n"),
        ("accuracies-order.svg", "<svg>"),
    ] {
        std::fs::write(folder.join(name), content).expect("written");
        own(name);
        let kept = std::fs::read_to_string(folder.join(name)).expect("read");
        assert_eq!(kept, content);
        std::fs::remove_file(folder.join(name)).expect("removed");
    }
    // Those of a training are.
    for _ in 0..2 {
        train(here, "1", &["--scheme", "none", "--task", "order"]);
    }
}
