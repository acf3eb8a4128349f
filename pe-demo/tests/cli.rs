//! The real program: exit codes, pipes, files, width.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn pe_demo(directory: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pe-demo"))
        .args(args)
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .expect("the program starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("output is UTF-8")
}

/// Standard error holds one line that begins with the program's name.
fn one_line_error(output: &Output) -> &str {
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stdout), "");
    let error = text(&output.stderr);
    assert_eq!(error.lines().count(), 1, "{error}");
    error.strip_prefix("pe-demo: ").expect("the program's name")
}

#[test]
fn two_runs_print_and_write_the_same_bytes_whatever_the_threads() {
    let runs: Vec<(Vec<u8>, Vec<u8>)> = ["1", "2", "5"]
        .map(|threads| {
            let directory = tempfile::tempdir().expect("a directory");
            let output = Command::new(env!("CARGO_BIN_EXE_pe-demo"))
                .current_dir(&directory)
                .env("RAYON_NUM_THREADS", threads)
                .stdin(Stdio::null())
                .output()
                .expect("the program starts");
            assert!(output.status.success(), "{}", text(&output.stderr));
            assert_eq!(text(&output.stderr), "");
            let table = std::fs::read(directory.path().join("pe-demo-table.safetensors"));
            (output.stdout, table.expect("the table was written"))
        })
        .into();
    assert!(runs[0] == runs[1] && runs[0] == runs[2]);
}

#[test]
fn every_line_fits_80_columns() {
    let directory = tempfile::tempdir().expect("a directory");
    let long = "word ".repeat(60);
    for args in [
        &[][..],
        &["--help"],
        &["export", "--help"],
        &["inspect", "--help"],
        &["encode", "--help"],
        &["--causal", "--norm", "pre", long.as_str(), "a b c"],
        &[
            "export",
            "--d-model",
            "8",
            "--max-seq-len",
            "3",
            "-o",
            "t.st",
        ],
        &["inspect", "t.st"],
    ] {
        let output = pe_demo(directory.path(), args);
        assert!(
            output.status.success(),
            "{args:?}: {}",
            text(&output.stderr)
        );
        for line in text(&output.stdout).lines() {
            assert!(line.chars().count() <= 80, "{args:?}: {line:?}");
            assert!(
                line.trim_end() == line || args.contains(&"--help"),
                "{line:?}"
            );
        }
    }
}

#[test]
fn a_closed_pipe_ends_the_program_quietly() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_pe-demo"))
        .args(["--no-table", "--d-model", "32", "--file", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // More output than a pipe holds, so that the program must notice.
    let mut stdin = child.stdin.take().expect("a pipe");
    for line in 0..2000 {
        writeln!(stdin, "sentence number {line} of a long text").expect("the program reads");
    }
    drop(stdin);
    let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut first = String::new();
    stdout.read_line(&mut first).expect("a first line");
    drop(stdout);
    let output = child.wait_with_output().expect("the program ends");
    assert!(first.starts_with("pe-demo "));
    assert_eq!(text(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn bad_usage_is_exit_code_2() {
    let directory = tempfile::tempdir().expect("a directory");
    for args in [
        &["--no-such-option"][..],
        &["export", "--d-model", "8"],
        &[
            "export",
            "--preset",
            "nobody",
            "--d-model",
            "8",
            "--max-seq-len",
            "3",
            "-o",
            "t",
        ],
        &["--table", "t", "--no-table"],
        &["a sentence", "--file", "text.txt"],
        &["inspect"],
    ] {
        let output = pe_demo(directory.path(), args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert_eq!(text(&output.stdout), "", "{args:?}");
        assert!(text(&output.stderr).starts_with("error: "), "{args:?}");
    }
}

#[test]
fn run_time_errors_are_one_line_and_exit_code_1() {
    let directory = tempfile::tempdir().expect("a directory");
    let error = |args: &[&str]| one_line_error(&pe_demo(directory.path(), args)).to_owned();
    assert!(error(&["inspect", "nothing.safetensors"]).starts_with("nothing.safetensors: "));
    assert!(error(&["--file", "nothing.txt"]).starts_with("nothing.txt: "));
    assert!(error(&["--tokenizer", "no.json"]).contains("there is no file no.json"));
    assert!(error(&["--table", "nowhere/table.safetensors"]).contains("nowhere/"));
    assert!(error(&["--d-model", "250"]).contains("d_model 250 cannot be shared evenly by 4"));
    assert!(error(&["--max-seq-len", "5"]).contains("sentence 1 has 12 tokens, at most 5"));
    assert!(error(&[""]).contains("sentence 1 is empty"));
    let odd = ["export", "--d-model", "7", "--max-seq-len", "3", "-o", "t"];
    assert!(error(&odd).contains("d_model 7 is odd"));
}

#[test]
fn an_absurd_table_is_refused_at_once() {
    let directory = tempfile::tempdir().expect("a directory");
    for rows in ["1000000000000", "4000000000", "18446744073709551615"] {
        let start = std::time::Instant::now();
        let args = [
            "export",
            "--d-model",
            "512",
            "--max-seq-len",
            rows,
            "-o",
            "t",
        ];
        let output = pe_demo(directory.path(), &args);
        let error = one_line_error(&output);
        assert!(
            error.contains(rows) || error.contains("4294967296"),
            "{error}"
        );
        // Most of it is starting the program.
        assert!(start.elapsed().as_millis() < 2000);
    }
}

#[test]
fn a_directory_that_cannot_be_written_only_costs_the_table() {
    let directory = tempfile::tempdir().expect("a directory");
    // Whoever runs the tests as root may write anywhere: a directory of the table's
    // name cannot be replaced by anybody.
    std::fs::create_dir(directory.path().join("pe-demo-table.safetensors")).expect("made");
    let output = pe_demo(directory.path(), &[]);
    assert!(output.status.success());
    assert!(text(&output.stdout).contains("not written: "));
}

/// A hub on this machine with one file in one repository.
#[cfg(feature = "hub")]
mod hub {
    use std::io::{BufRead, BufReader, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    /// Serves `tokenizer.json` of `owner/name` at `v1` until the tests end.
    fn serve() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = answer(stream);
            }
        });
        format!("http://{address}")
    }

    fn answer(mut stream: TcpStream) -> std::io::Result<()> {
        let body = include_bytes!("../assets/tokenizer.json");
        let mut lines = BufReader::new(stream.try_clone()?).lines();
        let request = lines.next().transpose()?.unwrap_or_default();
        for line in lines.by_ref() {
            if line?.is_empty() {
                break;
            }
        }
        let mut words = request.split(' ');
        let (method, path) = (words.next(), words.next());
        if path != Some("/owner/name/resolve/v1/tokenizer.json") {
            return stream.write_all(
                b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            );
        }
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nETag: \"abc123\"\r\n\
             X-Repo-Commit: {COMMIT}\r\nConnection: close\r\n\r\n",
            body.len()
        )?;
        if method == Some("GET") {
            stream.write_all(body)?;
        }
        Ok(())
    }

    fn with_hub(endpoint: &str, home: &Path, tokenizer: &str) -> Output {
        Command::new(env!("CARGO_BIN_EXE_pe-demo"))
            .args(["--no-table", "--tokenizer", tokenizer])
            .current_dir(home)
            .env("HF_ENDPOINT", endpoint)
            .env("HF_HOME", home)
            .env_remove("HF_HUB_OFFLINE")
            .env_remove("HF_TOKEN")
            .stdin(Stdio::null())
            .output()
            .expect("the program starts")
    }

    #[test]
    fn a_tokenizer_comes_from_the_hub_and_then_from_the_cache() {
        let home = tempfile::tempdir().expect("a directory");
        let output = with_hub(&serve(), home.path(), "owner/name@v1");
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(text(&output.stdout).contains("tokenizer owner/name@v1"));
        // Port 9 answers nobody: this time nothing is fetched.
        let again = with_hub("http://127.0.0.1:9", home.path(), "owner/name@v1");
        assert_eq!(text(&again.stdout), text(&output.stdout));
    }

    #[test]
    fn a_hub_that_does_not_help_is_one_line_of_error() {
        let home = tempfile::tempdir().expect("a directory");
        for endpoint in ["http://127.0.0.1:9", &serve()] {
            let output = with_hub(endpoint, home.path(), "owner/other");
            let error = one_line_error(&output);
            assert!(
                error.contains("there is no file owner/other here"),
                "{error}"
            );
            assert!(error.contains(endpoint), "{error}");
        }
    }
}
