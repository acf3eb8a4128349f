//! A hub on this machine with one file in one repository.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use crate::checkpoints::{TOKENIZER, WORDS, index, shards};
use crate::{one_line_error, text};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// Requests: method and path.
type Asked = Arc<Mutex<Vec<String>>>;

/// Serves files at paths until the tests end.
fn serve(files: Vec<(&'static str, Vec<u8>)>) -> (String, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let asked = Asked::default();
    let log = asked.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ = answer(stream, &files, &log);
        }
    });
    (format!("http://{address}"), asked)
}

/// Serves `tokenizer.json` of `owner/name` at `v1`.
fn serve_tokenizer() -> String {
    let tokenizer = include_bytes!("../../assets/tokenizer.json").to_vec();
    serve(vec![("/owner/name/resolve/v1/tokenizer.json", tokenizer)]).0
}

fn answer(
    mut stream: TcpStream,
    files: &[(&str, Vec<u8>)],
    asked: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    for line in lines.by_ref() {
        if line?.is_empty() {
            break;
        }
    }
    let mut words = request.split(' ');
    let (method, path) = (words.next(), words.next().unwrap_or_default());
    if let (Some(method), Ok(mut asked)) = (method, asked.lock()) {
        asked.push(format!("{method} {path}"));
    }
    let Some((at, (_, body))) = files.iter().enumerate().find(|(_, file)| file.0 == path) else {
        return stream.write_all(
            b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        );
    };
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nETag: \"abc{at}\"\r\n\
         X-Repo-Commit: {COMMIT}\r\nConnection: close\r\n\r\n",
        body.len()
    )?;
    if method == Some("GET") {
        stream.write_all(body)?;
    }
    Ok(())
}

fn with_hub(endpoint: &str, home: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pe-demo"))
        .args(args)
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
fn tokenizer_comes_from_the_hub_and_then_from_the_cache() {
    let home = tempfile::tempdir().expect("a directory");
    let args = ["--no-table", "--tokenizer", "owner/name@v1"];
    let output = with_hub(&serve_tokenizer(), home.path(), &args);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("tokenizer owner/name@v1"));
    // Port 9 answers nobody: this time nothing is fetched.
    let again = with_hub("http://127.0.0.1:9", home.path(), &args);
    assert_eq!(text(&again.stdout), text(&output.stdout));
}

#[test]
fn hub_that_does_not_help_is_one_line_of_error() {
    let home = tempfile::tempdir().expect("a directory");
    for endpoint in ["http://127.0.0.1:9", &serve_tokenizer()] {
        let output = with_hub(endpoint, home.path(), &["--tokenizer", "owner/other"]);
        let error = one_line_error(&output);
        assert!(
            error.contains("there is no file owner/other here"),
            "{error}"
        );
        assert!(error.contains(endpoint), "{error}");
    }
}

#[test]
fn checkpoint_in_shards_needs_the_index_and_one_shard() {
    let home = tempfile::tempdir().expect("a directory");
    let local = home.path().join("local");
    shards(&local);
    let read = |name: &str| std::fs::read(local.join(name)).expect("a file");
    let files = vec![
        (
            "/owner/bert/resolve/main/model.safetensors.index.json",
            index().into_bytes(),
        ),
        (
            "/owner/bert/resolve/main/model-1.safetensors",
            read("model-1.safetensors"),
        ),
        (
            "/owner/bert/resolve/main/model-2.safetensors",
            read("model-2.safetensors"),
        ),
        ("/owner/bert/resolve/main/tokenizer.json", TOKENIZER.into()),
        (
            "/owner/bert/resolve/main/sub/x.index.json",
            index().into_bytes(),
        ),
        (
            "/owner/bert/resolve/main/sub/model-2.safetensors",
            read("model-2.safetensors"),
        ),
    ];
    let (endpoint, asked) = serve(files);
    let run = |endpoint: &str, name: &str| {
        let args = [
            "--json",
            "--heads",
            "2",
            "--embeddings",
            name,
            "order matters",
        ];
        with_hub(endpoint, home.path(), &args)
    };
    let json = |output: &Output| -> serde_json::Value {
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let sizes = json(&run(&endpoint, "local"))["sizes"].clone();
    let fetched = || -> Vec<String> {
        let mut asked = asked.lock().expect("a list");
        let got = asked.drain(..).filter_map(|line| {
            let file = line.strip_prefix("GET /owner/bert/resolve/main/")?;
            Some(file.to_owned())
        });
        let mut got: Vec<String> = got.collect();
        got.sort();
        got.dedup();
        got
    };
    assert_eq!(fetched(), [""; 0]);
    assert_eq!(json(&run(&endpoint, "owner/bert"))["sizes"], sizes);
    let whole = "model.safetensors".to_owned();
    let mut got = fetched();
    // The name of a checkpoint in one file is tried first; a hub may be asked by HEAD or GET.
    got.retain(|name| *name != whole);
    let expected = [
        "model-2.safetensors",
        "model.safetensors.index.json",
        "tokenizer.json",
    ];
    assert_eq!(got, expected);
    // From the cache, with a hub that answers nobody; and from an index in a folder.
    assert_eq!(
        json(&run("http://127.0.0.1:9", "owner/bert"))["sizes"],
        sizes
    );
    let named = format!("owner/bert:sub/x.index.json:{WORDS}");
    assert_eq!(json(&run(&endpoint, &named))["sizes"], sizes);
    assert_eq!(fetched(), ["sub/model-2.safetensors", "sub/x.index.json"]);

    // A shard that the hub does not have; a repository with neither name.
    let missing = run(&endpoint, "owner/bert:bert.other");
    let error = one_line_error(&missing);
    for part in [
        "model.safetensors.index.json: tensor bert.other in model-3.safetensors",
        "404",
    ] {
        assert!(error.contains(part), "{error}");
    }
    let other = run(&endpoint, "owner/other");
    let error = one_line_error(&other);
    assert!(
        error.contains("there is no file owner/other here"),
        "{error}"
    );
    assert!(
        error.contains("\"model.safetensors\" in \"owner/other\""),
        "{error}"
    );
}
