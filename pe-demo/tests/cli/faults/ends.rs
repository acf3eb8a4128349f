//! Readers that go away, and Ctrl-C.

use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::ground::Ground;

/// Far above the time of any step on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// The number of Ctrl-C.
const SIGINT: i32 = 2;

#[test]
fn reader_that_goes_away_is_no_failure() {
    let ground = Ground::new();
    for line in [
        "$pe a --no-table --d-model 8",
        "$pe a --no-table --d-model 8 --json",
        "seq 3000 | $pe --file - --no-table --d-model 8 --json -q",
        "$pe export --d-model 8 --max-seq-len 3 -o new.safetensors",
        "$pe inspect weights.safetensors",
        "$pe inspect weights.safetensors --json",
        "$pe inspect config.json",
        "$pe plot sse -o figures",
        "$pe train --steps 1 --scheme none --task order --seeds 1 --d-model 8 --heads 1 --layers 1 \
         --length 8 -o folder",
        "$pe man",
        "$pe man -o manual",
        "$pe completions bash",
        "$pe --help",
        "$pe export --help",
    ] {
        // `:` reads nothing at all; the program's own exit code is what counts.
        for reader in [":", "head -1 >/dev/null"] {
            let output = ground.shell(&format!("({line}; echo $? >&2) | {reader}"));
            let error = String::from_utf8_lossy(&output.stderr);
            assert_eq!(
                error.lines().last(),
                Some("0"),
                "{line} | {reader}: {error}"
            );
            assert!(error.lines().count() <= 2, "{line}: {error}");
            assert!(!error.contains("panicked"), "{line}: {error}");
        }
    }
}

/// Sends Ctrl-C to a process, when it is ready for it.
fn interrupt(id: u32, ready: impl Fn() -> bool) {
    let start = Instant::now();
    while !ready() {
        let waited = start.elapsed();
        assert!(waited < PATIENCE, "it does not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut kill = std::process::Command::new("kill");
    let sent = kill.args(["-INT", &id.to_string()]).status();
    assert!(sent.expect("kill runs").success());
}

/// Runs until `ready`, then Ctrl-C: 130, as the program's own code or as a shell has it for the
/// signal. It leaves the files of `kept` alone.
fn ends(line: &str, ready: impl Fn(&Ground, u32) -> bool, kept: &[&str]) {
    let ground = Ground::new();
    let before = ground.files();
    let child = ground
        .command(&format!("exec $pe {line}"))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let id = child.id();
    interrupt(id, || ready(&ground, id));
    let output = child.wait_with_output().expect("the program ends");
    let (status, error) = (output.status, String::from_utf8_lossy(&output.stderr));
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    assert_eq!(code, Some(128 + SIGINT), "{line}: {error}");
    assert!(
        error.lines().count() <= 1 && !error.contains("panicked"),
        "{line}: {error}"
    );
    let mut after = ground.files();
    for name in kept {
        let path = ground.path().join(name).display().to_string();
        let (start, end) = path.split_once('*').unwrap_or((&path, ""));
        let found = after.len();
        after.retain(|path, bytes| {
            let kept = path.starts_with(start) && path.ends_with(end);
            // A picture that is there is there to its end.
            assert!(
                !kept || end != ".png" || bytes.ends_with(b"IEND\xaeB`\x82"),
                "{path}"
            );
            !kept
        });
        assert!(after.len() < found, "{line}: no {name}");
    }
    let names: Vec<&String> = after.keys().collect();
    assert!(before == after, "{line} left {names:?}");
}

/// Returns whether a process has read or written at least `least` bytes, including its libraries.
#[cfg(target_os = "linux")]
fn has_moved(id: u32, counter: &str, least: u64) -> bool {
    let text = std::fs::read_to_string(format!("/proc/{id}/io")).unwrap_or_default();
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(counter));
    let bytes = lines
        .next()
        .and_then(|rest| rest.trim().parse::<u64>().ok());
    bytes.is_some_and(|bytes| bytes >= least)
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_during_a_long_export_leaves_the_old_file() {
    let written = |_: &Ground, id: u32| has_moved(id, "wchar:", 1 << 20);
    let export = "export --d-model 4096 --max-seq-len 1000000 -o";
    ends(&format!("{export} old.safetensors"), written, &[]);
    ends(&format!("{export} new.safetensors"), written, &[]);
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_during_figures_or_a_report_leaves_whole_files() {
    for line in ["report -o old.jsonl", "report -o new.html"] {
        ends(line, |_, id| has_computed(id), &[]);
    }
    // The figures that are done stay.
    let first = |ground: &Ground, _: u32| ground.path().join("folder/angle-rates.png").exists();
    ends("plot -o folder", first, &["folder/*.png"]);
}

/// Whether a process has computed for more than 20 ms.
#[cfg(target_os = "linux")]
fn has_computed(id: u32) -> bool {
    let text = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let name = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = name.split_whitespace().nth(11);
    ticks.and_then(|ticks| ticks.parse::<u64>().ok()) > Some(2)
}

/// Whether a process waits and has a handler for Ctrl-C.
#[cfg(target_os = "linux")]
fn waits(id: u32) -> bool {
    let text = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    let caught = line("SigCgt:").and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    let asleep = line("State:").is_some_and(|state| state.trim().starts_with('S'));
    asleep && caught.is_some_and(|mask| mask & (1 << (SIGINT - 1)) != 0)
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_ends_the_wait_for_a_line() {
    use std::io::Write;

    let ground = Ground::new();
    let before = ground.files();
    let mut child = ground
        .command("exec $pe --d-model 8 --layers 1 --file - -o old.jsonl")
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // It stays open: whoever types has more to say.
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(b"a line\n").expect("the program reads");
    let asleep = std::cell::Cell::new(0);
    interrupt(child.id(), || {
        asleep.set(if waits(child.id()) {
            asleep.get() + 1
        } else {
            0
        });
        asleep.get() > 20
    });
    let start = Instant::now();
    let status = loop {
        match child.try_wait().expect("a status") {
            Some(status) => break status,
            None if start.elapsed() > PATIENCE => {
                child.kill().expect("killed");
                panic!("it still waits");
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    assert_eq!(status.code(), Some(128 + SIGINT));
    assert!(before == ground.files());
}

#[test]
fn ctrl_c_during_a_training_keeps_the_best_weights() {
    let saved = |ground: &Ground, _: u32| {
        let state = ground
            .path()
            .join("folder/order-sinusoidal-0.state.safetensors");
        state.exists()
    };
    ends(
        "train --scheme sinusoidal --task order --seeds 1 --d-model 8 --heads 1 --layers 1 \
         --length 8 --batch 1 --steps 1000000 -o folder",
        saved,
        &[
            "folder/losses.csv",
            "folder/losses-order.svg",
            "folder/order-sinusoidal-0.safetensors",
            "folder/order-sinusoidal-0.state.safetensors",
        ],
    );
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_during_the_encoding_of_a_stream_leaves_the_old_file() {
    let ground = Ground::new();
    let before = ground.files();
    for line in [
        "seq 100000000 | (exec $pe --d-model 8 --layers 1 --file - -o old.jsonl)",
        "seq 100000000 | (exec $pe --d-model 8 --layers 1 --file - -o new.safetensors)",
    ] {
        // The shell is told the program's number, so that the signal goes to no other.
        let line = line.replace("exec $pe", "sh -c 'echo $$ >&3; exec \"$0\" \"$@\"' $pe");
        let line = format!("({line}; echo $? >&2) 3>number");
        let child = ground
            .command(&line)
            .stderr(Stdio::piped())
            .spawn()
            .expect("the shell starts");
        let number = || {
            let text = std::fs::read_to_string(ground.path().join("number")).unwrap_or_default();
            text.trim().parse::<u32>().ok()
        };
        let start = Instant::now();
        while number().is_none() && start.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(5));
        }
        let id = number().expect("a number");
        interrupt(id, || has_moved(id, "wchar:", 100_000));
        let output = child.wait_with_output().expect("the shell ends");
        let error = String::from_utf8_lossy(&output.stderr);
        // It says so, unless it was waiting for a line just then.
        let said = error.lines().next_back();
        assert!(
            said == Some("130") && error.lines().count() <= 2,
            "{line}: {error}"
        );
        assert!(!error.contains("panicked"), "{line}: {error}");
        std::fs::remove_file(ground.path().join("number")).expect("removed");
        assert!(before == ground.files(), "{line}");
    }
}
