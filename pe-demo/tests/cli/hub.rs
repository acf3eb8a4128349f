//! A hub on this machine with one file in one repository.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::{one_line_error, text};

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
    let body = include_bytes!("../../assets/tokenizer.json");
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
