//! Files from the hub, against a small server on this machine.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use candle_core::{DType, Device};
use pe_candle::checkpoint::{self, LoadOptions, TableSpec};
use pe_candle::hub::{Hub, HubFile, Network, Timeouts};
use pe_core::SinusoidalConfig;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const TABLE: &str = "/owner/name/resolve/main/table.safetensors";

/// A request as the server saw it.
#[derive(Debug, Clone)]
struct Request {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
}

impl Request {
    fn header(&self, name: &str) -> Option<&str> {
        let found = self
            .headers
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// What the server answers.
#[derive(Clone)]
struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    /// The bytes of the body that are sent; the rest is withheld.
    sent: usize,
    /// How long the connection stays open after that.
    linger: Duration,
}

impl Reply {
    fn new(status: u16, body: &[u8]) -> Self {
        Self {
            status,
            headers: vec![("Content-Length".to_owned(), body.len().to_string())],
            body: body.to_vec(),
            sent: body.len(),
            linger: Duration::ZERO,
        }
    }

    /// A file as the hub answers it.
    fn file(body: &[u8]) -> Self {
        Self::new(200, body)
            .with("ETag", "\"etag-1\"")
            .with("X-Repo-Commit", COMMIT)
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        self.headers
            .retain(|(key, _)| !key.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    fn without(mut self, name: &str) -> Self {
        self.headers
            .retain(|(key, _)| !key.eq_ignore_ascii_case(name));
        self
    }
}

type Answer = dyn Fn(&Request) -> Reply + Send + Sync;

/// A server with its log. Its threads end with the test's process.
struct Server {
    address: String,
    log: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    fn new(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let log = Arc::new(Mutex::new(Vec::new()));
        let answer: Arc<Answer> = Arc::new(answer);
        let seen = log.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (answer, seen) = (answer.clone(), seen.clone());
                thread::spawn(move || serve(stream.unwrap(), &*answer, &seen));
            }
        });
        Self { address, log }
    }

    /// A hub with one file at [`TABLE`].
    fn with_file(reply: Reply) -> Self {
        Self::new(move |request| match request.path.as_str() {
            TABLE => reply.clone(),
            _ => Reply::new(404, b"").with("X-Error-Message", "Entry not found"),
        })
    }

    fn requests(&self) -> Vec<Request> {
        self.log.lock().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, answer: &Answer, log: &Mutex<Vec<Request>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut line = String::new();
    if reader.read_line(&mut line).unwrap_or(0) == 0 {
        return;
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let mut request = Request {
        method: words.next().unwrap(),
        path: words.next().unwrap(),
        headers: Vec::new(),
    };
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let Some((key, value)) = line.trim_end().split_once(':') else {
            break;
        };
        request
            .headers
            .push((key.to_owned(), value.trim().to_owned()));
    }
    log.lock().unwrap().push(request.clone());
    let reply = answer(&request);
    let mut text = format!("HTTP/1.1 {} X\r\nConnection: close\r\n", reply.status);
    for (key, value) in &reply.headers {
        text.push_str(&format!("{key}: {value}\r\n"));
    }
    text.push_str("\r\n");
    // The client may have gone; that is its right.
    let _ = stream.write_all(text.as_bytes());
    if request.method != "HEAD" {
        let _ = stream.write_all(&reply.body[..reply.sent]);
    }
    let _ = stream.flush();
    thread::sleep(reply.linger);
}

/// A hub at the server, with a cache of its own and short waits.
fn hub(server: &Server) -> (TempDir, Hub) {
    let dir = tempfile::tempdir().unwrap();
    let mut hub = Hub::new(dir.path().join("hub"));
    hub.endpoint = server.address.clone();
    hub.timeouts = Timeouts {
        connect: Duration::from_secs(5),
        stall: Duration::from_millis(300),
        total: Duration::from_secs(2),
    };
    (dir, hub)
}

fn file() -> HubFile {
    HubFile::new("owner/name", "table.safetensors")
}

fn table() -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("table.safetensors");
    checkpoint::export(&path, &spec()).unwrap();
    fs::read(path).unwrap()
}

fn spec() -> TableSpec {
    TableSpec::new(SinusoidalConfig::new(16), 0, 10, DType::F32)
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect()
}

/// All files and links below a directory.
fn files_below(path: &Path) -> Vec<String> {
    let mut list = Vec::new();
    let Ok(entries) = fs::read_dir(path) else {
        return list;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            list.extend(files_below(&path));
        } else {
            list.push(path.to_str().unwrap().to_owned());
        }
    }
    list
}

#[test]
fn a_table_is_fetched_once_and_loaded_from_the_cache_after_that() {
    let server = Server::with_file(Reply::file(&table()));
    let (dir, hub) = hub(&server);
    let loaded = hub.load(&file(), &LoadOptions::default()).unwrap();
    assert_eq!(loaded.spec, Some(spec()));
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(
        (requests[0].method.as_str(), requests[0].path.as_str()),
        ("GET", TABLE)
    );
    assert_eq!(requests[0].header("authorization"), None);

    // The layout that the Python library and hf-hub read.
    let root = dir.path().join("hub/models--owner--name");
    let pointer = root
        .join("snapshots")
        .join(COMMIT)
        .join("table.safetensors");
    assert_eq!(hub.fetch(&file()).unwrap(), pointer);
    assert_eq!(fs::read_to_string(root.join("refs/main")).unwrap(), COMMIT);
    assert_eq!(fs::read(root.join("blobs/etag-1")).unwrap(), table());
    assert_eq!(fs::read(&pointer).unwrap(), table());
    #[cfg(unix)]
    assert_eq!(
        fs::read_link(&pointer).unwrap(),
        Path::new("../../blobs/etag-1")
    );
    assert_eq!(files_below(dir.path()).len(), 3);

    // From the cache, offline and online, by branch and by commit.
    let offline = Hub {
        network: Network::Offline,
        ..hub.clone()
    };
    for file in [file(), file().revision(COMMIT)] {
        offline.load(&file, &LoadOptions::default()).unwrap();
        hub.load(&file, &LoadOptions::default()).unwrap();
    }
    assert_eq!(server.requests().len(), 1);
    // Asked for explicitly, again.
    hub.download(&file()).unwrap();
    assert_eq!(server.requests().len(), 2);
    assert_eq!(files_below(dir.path()).len(), 3);
    let error = offline.download(&file()).unwrap_err().to_string();
    assert!(error.contains("forbids to fetch it"), "{error}");
}

#[test]
fn files_in_folders_revisions_with_slashes_and_odd_names_are_found() {
    let server = Server::new(|request| {
        assert!(
            request.path.starts_with("/name/resolve/refs%2Fpr%2F1/"),
            "{}",
            request.path
        );
        Reply::file(b"{\"a\": 1}")
    });
    let (dir, hub) = hub(&server);
    for (name, path) in [
        ("sub/deeper/tokenizer.json", "sub/deeper/tokenizer.json"),
        ("a b#c?%41.json", ""),
        ("a b#c%41+&.json", "a%20b%23c%2541%2B%26.json"),
        ("naïve.json", "na%C3%AFve.json"),
        (".hidden", ".hidden"),
    ] {
        let file = HubFile::new("name", name).revision("refs/pr/1");
        if path.is_empty() {
            hub.fetch(&file).unwrap_err();
            continue;
        }
        let found = hub.fetch(&file).unwrap();
        assert_eq!(fs::read(&found).unwrap(), b"{\"a\": 1}");
        let expected = format!("hub/models--name/snapshots/{COMMIT}/{name}");
        assert_eq!(found, dir.path().join(expected));
        assert!(server.requests().last().unwrap().path.ends_with(path));
        assert_eq!(hub.fetch(&file).unwrap(), found);
    }
    assert_eq!(server.requests().len(), 4);
}

#[test]
fn a_missing_file_says_so() {
    let server = Server::with_file(Reply::file(&table()));
    let (dir, hub) = hub(&server);
    let missing = HubFile::new("owner/name", "other.safetensors").revision("v1");
    let error = hub.fetch(&missing).unwrap_err().to_string();
    for part in [
        "cannot fetch \"other.safetensors\" in \"owner/name\" at \"v1\" from http://127.0.0.1:",
        "there is no such repository, revision or file (status 404)",
        "the hub says \"Entry not found\"",
    ] {
        assert!(error.contains(part), "{error}");
    }
    assert!(files_below(dir.path()).is_empty());
}

#[test]
fn offline_without_the_file_makes_no_request() {
    let server = Server::with_file(Reply::file(&table()));
    let (_dir, mut hub) = hub(&server);
    hub.network = Network::Offline;
    let error = hub.fetch(&file()).unwrap_err().to_string();
    assert!(
        error.contains("is not in the cache") && error.contains("HF_HUB_OFFLINE"),
        "{error}"
    );
    assert!(server.requests().is_empty());
}

#[test]
fn without_a_server_the_message_is_clear() {
    // A port that was free a moment ago.
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let dir = tempfile::tempdir().unwrap();
    let mut hub = Hub::new(dir.path());
    hub.endpoint = format!("http://127.0.0.1:{port}");
    let error = hub.fetch(&file()).unwrap_err().to_string();
    assert!(
        error.contains("no connection to http://127.0.0.1:"),
        "{error}"
    );
    assert!(error.contains("is there a network?"), "{error}");
    for endpoint in [
        "",
        "hub",
        "ftp://127.0.0.1",
        "http://user:secret@127.0.0.1",
        "http://",
        "file:///etc",
        "http://a b",
    ] {
        hub.endpoint = endpoint.to_owned();
        let error = hub.fetch(&file()).unwrap_err().to_string();
        assert!(error.contains("the address"), "{endpoint}: {error}");
    }
}

#[test]
fn invalid_names_are_refused_before_any_request() {
    let server = Server::new(|_| Reply::file(b"{}"));
    let (dir, hub) = hub(&server);
    let long = "a".repeat(97);
    let repos = [
        "",
        "/",
        "a/",
        "/a",
        "a/b/c",
        "..",
        "../a",
        "a/..",
        ".",
        "a/.",
        "a//b",
        "a b",
        "a\\b",
        "a\0",
        "a\n",
        "a?b",
        "a#b",
        "a%2Fb",
        "a:b",
        "a@b",
        "-a/b",
        "a/-b",
        "a/b-",
        "a/b.",
        ".a/b",
        "a/b.git",
        "a--b/c",
        "a/b--c",
        "a..b",
        "naïve/b",
        long.as_str(),
        "http://a/b",
        "C:/a",
    ];
    for repo in repos {
        let error = hub
            .fetch(&HubFile::new(repo, "a.json"))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("repository") && error.contains("is not valid"),
            "{repo:?}: {error}"
        );
    }
    let long = "a".repeat(256);
    let revisions = [
        "",
        ".",
        "..",
        "../main",
        "a/../b",
        "/main",
        "main/",
        "a//b",
        "a b",
        "a\\b",
        "a\r\nHost: b",
        "a?b",
        "a#b",
        "a%2e",
        "a:b",
        "a@{1}",
        "a..b",
        "a^",
        "~1",
        "a.lock",
        "-a",
        ".a",
        long.as_str(),
    ];
    for revision in revisions {
        let file = HubFile::new("a/b", "a.json").revision(revision);
        let error = hub.fetch(&file).unwrap_err().to_string();
        assert!(
            error.contains("revision") && error.contains("is not valid"),
            "{revision:?}: {error}"
        );
    }
    let long = "a/".repeat(600) + "a";
    let longer = "a".repeat(256);
    let files = [
        "",
        ".",
        "..",
        "/etc/passwd",
        "../a",
        "a/../b",
        "a/..",
        "a//b",
        "a/",
        "./a",
        "a\\..\\b",
        "C:\\a",
        "C:a",
        "a\0b",
        "a\nb",
        "a\u{85}b",
        "a\"b",
        "a|b",
        "a*b",
        "a?b",
        "a<b",
        "a.",
        "a ",
        " a",
        "a/b./c",
        long.as_str(),
        longer.as_str(),
    ];
    for name in files {
        let error = hub
            .fetch(&HubFile::new("a/b", name))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("file name") && error.contains("is not valid"),
            "{name:?}: {error}"
        );
    }
    assert!(repos.len() + revisions.len() + files.len() > 80);
    assert!(server.requests().is_empty());
    assert!(files_below(dir.path()).is_empty());
    // The message escapes what would disturb a terminal.
    let error = hub
        .fetch(&HubFile::new("a/b", "a\u{1b}[2Jb"))
        .unwrap_err()
        .to_string();
    assert!(!error.contains('\u{1b}'), "{error}");
}

/// Every fault leaves no trace in the cache, ends in time, and does not
/// stand in the way of the next download.
#[test]
fn faults_of_the_server_poison_nothing() {
    let good = table();
    let page = b"<!DOCTYPE html><html>try again</html>";
    let zeros = "0".repeat(64);
    let stalled = Reply {
        sent: 100,
        linger: Duration::from_secs(4),
        ..Reply::file(&good)
    };
    let silent = Reply {
        sent: 0,
        linger: Duration::from_secs(4),
        ..Reply::file(&good)
            .without("content-length")
            .with("Transfer-Encoding", "chunked")
    };
    let faults: Vec<(&str, Reply, &str)> = vec![
        ("401", Reply::new(401, b""), "access is denied"),
        (
            "403",
            Reply::new(403, b"").with("X-Error-Message", "gated"),
            "the hub says \"gated\"",
        ),
        ("429", Reply::new(429, b""), "too many requests"),
        (
            "500",
            Reply::new(500, page),
            "the hub has a fault (status 500)",
        ),
        (
            "503 with the headers of a file",
            Reply {
                status: 503,
                ..Reply::file(&good)
            },
            "status 503",
        ),
        (
            "204",
            Reply {
                status: 204,
                ..Reply::file(b"")
            },
            "status 204",
        ),
        (
            "206",
            Reply {
                status: 206,
                ..Reply::file(&good)
            },
            "status 206",
        ),
        (
            "an error page",
            Reply::file(page),
            "the content is not what its name says",
        ),
        (
            "an empty body",
            Reply::file(b""),
            "too few for a safetensors header",
        ),
        (
            "a short body",
            Reply {
                sent: 100,
                ..Reply::file(&good)
            },
            "after 100",
        ),
        (
            "a table cut off",
            Reply::file(&good[..good.len() - 1]),
            "the content is not what its name says",
        ),
        ("a stalled body", stalled, "after 100 bytes: timeout"),
        ("a silent body", silent, "after 0 bytes: timeout"),
        (
            "a longer file than described",
            Reply::file(&good).with("X-Linked-Size", "5"),
            "the hub says 5",
        ),
        (
            "an absurd length",
            Reply::file(&good).with("Content-Length", "9999999999999"),
            "above the limit of",
        ),
        (
            "a negative length",
            Reply::file(&good).with("Content-Length", "-1"),
            "",
        ),
        (
            "a wrong hash",
            Reply::file(&good).with("ETag", &format!("\"{zeros}\"")),
            "the content's SHA-256 is",
        ),
        (
            "a wrong linked hash",
            Reply::file(&good).with("X-Linked-Etag", &zeros),
            "the content's SHA-256 is",
        ),
        (
            "compressed",
            Reply::file(&good).with("Content-Encoding", "br"),
            "the content comes in the encoding \"br\"",
        ),
        (
            "not as compressed as it says",
            Reply::file(&good).with("Content-Encoding", "gzip"),
            "after 0 bytes",
        ),
        (
            "no commit",
            Reply::file(&good).without("x-repo-commit"),
            "no X-Repo-Commit",
        ),
        (
            "a short commit",
            Reply::file(&good).with("X-Repo-Commit", "main"),
            "is not 40 hexadecimal digits",
        ),
        (
            "a commit that is a path",
            Reply::file(&good).with("X-Repo-Commit", "../../../../../../tmp/x"),
            "is not 40",
        ),
        ("no etag", Reply::file(&good).without("etag"), "no ETag"),
        (
            "an empty etag",
            Reply::file(&good).with("ETag", "\"\""),
            "ETag",
        ),
        (
            "an etag that is a path",
            Reply::file(&good).with("ETag", "\"../../x\""),
            "ETag",
        ),
        (
            "an absolute etag",
            Reply::file(&good).with("ETag", "/tmp/x"),
            "ETag",
        ),
        (
            "an etag of dots",
            Reply::file(&good).with("ETag", "\"..\""),
            "ETag",
        ),
        (
            "an etag with a backslash",
            Reply::file(&good).with("ETag", "\"a\\b\""),
            "ETag",
        ),
        (
            "a long etag",
            Reply::file(&good).with("ETag", &"a".repeat(200)),
            "ETag",
        ),
        (
            "a redirect to itself",
            Reply::new(302, b"").with("Location", TABLE),
            "more than 5 redirects",
        ),
        (
            "a redirect to nowhere",
            Reply::new(302, b""),
            "without a Location",
        ),
        (
            "a redirect to a file",
            Reply::new(302, b"").with("Location", "file:///etc/passwd"),
            "the address \"file:///etc/passwd\" is not",
        ),
        (
            "a redirect without a scheme",
            Reply::new(302, b"").with("Location", "//127.0.0.1/x"),
            "is not one of http or https",
        ),
        (
            "a relative redirect",
            Reply::new(302, b"").with("Location", "other"),
            "is not one of http or https",
        ),
        (
            "no HTTP",
            Reply {
                status: 0,
                ..Reply::file(&good)
            },
            "",
        ),
    ];
    assert!(faults.len() > 30);
    thread::scope(|scope| {
        for (name, fault, message) in &faults {
            let good = &good;
            scope.spawn(move || {
                let fault = fault.clone();
                let bad = Server::with_file(fault);
                let (dir, mut hub) = hub(&bad);
                hub.max_bytes = 100_000;
                let start = Instant::now();
                let error = hub.fetch(&file()).unwrap_err().to_string();
                assert!(error.contains(message), "{name}: {error}\n{message}");
                assert!(start.elapsed() < Duration::from_secs(4), "{name}");
                assert!(files_below(dir.path()).is_empty(), "{name}");
                let server = Server::with_file(Reply::file(good));
                hub.endpoint = server.address.clone();
                hub.load(&file(), &LoadOptions::default()).unwrap();
            });
        }
    });
}

#[test]
fn a_slow_server_is_cut_off_in_the_end() {
    // A byte now and then: never stalled, never done.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let head = format!(
            "HTTP/1.1 200 X\r\nETag: a\r\nX-Repo-Commit: {COMMIT}\r\nContent-Length: 1000\r\n\r\n"
        );
        let _ = stream.write_all(head.as_bytes());
        while stream.write_all(b"x").is_ok() {
            thread::sleep(Duration::from_millis(50));
        }
    });
    let server = Server {
        address,
        log: Arc::default(),
    };
    let (dir, mut hub) = hub(&server);
    hub.timeouts.total = Duration::from_millis(700);
    let start = Instant::now();
    let error = hub.fetch(&file()).unwrap_err().to_string();
    assert!(error.contains("timeout"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(4));
    assert!(files_below(dir.path()).is_empty());
}

#[test]
fn a_server_that_falls_silent_is_given_up_before_the_whole_time_is_over() {
    let good = table();
    let before_headers = Server::new(|_| {
        thread::sleep(Duration::from_secs(5));
        Reply::new(404, b"")
    });
    let in_the_body = Server::with_file(Reply {
        sent: 100,
        linger: Duration::from_secs(5),
        ..Reply::file(&good)
    });
    for server in [before_headers, in_the_body] {
        let (dir, mut hub) = hub(&server);
        hub.timeouts.total = Duration::from_secs(3600);
        let start = Instant::now();
        let error = hub.fetch(&file()).unwrap_err().to_string();
        assert!(error.contains("time"), "{error}");
        assert!(start.elapsed() < Duration::from_secs(4), "{error}");
        assert!(files_below(dir.path()).is_empty());
    }
}

#[test]
fn large_files_come_from_another_server_which_never_sees_the_token() {
    let content = table();
    let body = content.clone();
    let store = Server::new(move |_| Reply::new(200, &body).with("ETag", "\"of-the-store\""));
    let location = format!("{}/bucket/x?signature=1", store.address);
    let (hash, size) = (sha256(&content), content.len().to_string());
    let server = Server::new(move |request| match request.path.as_str() {
        // A repository that was renamed, then a large file.
        TABLE => Reply::new(307, b"").with("Location", "/new/name/resolve/main/table.safetensors"),
        _ => Reply::new(302, b"")
            .with("X-Repo-Commit", COMMIT)
            .with("X-Linked-Etag", &format!("\"{hash}\""))
            .with("X-Linked-Size", &size)
            .with("ETag", "\"of-the-pointer\"")
            .with("Location", &location),
    });
    let (dir, mut hub) = hub(&server);
    hub.token = Some("secret".to_owned());
    hub.load(&file(), &LoadOptions::default()).unwrap();
    let asked = server.requests();
    assert_eq!(asked.len(), 2);
    assert!(
        asked
            .iter()
            .all(|r| r.header("authorization") == Some("Bearer secret"))
    );
    let stored = store.requests();
    assert_eq!(stored.len(), 1);
    assert_eq!(stored[0].path, "/bucket/x?signature=1");
    assert_eq!(stored[0].header("authorization"), None);
    let blob = dir
        .path()
        .join("hub/models--owner--name/blobs")
        .join(sha256(&content));
    assert_eq!(fs::read(blob).unwrap(), content);
    assert!(!format!("{hub:?}").contains("secret"));
}

#[test]
fn content_of_unknown_length_is_taken_up_to_the_limit() {
    let mut body = Vec::new();
    for piece in table().chunks(100) {
        body.extend(format!("{:x}\r\n", piece.len()).as_bytes());
        body.extend(piece);
        body.extend(b"\r\n");
    }
    let unfinished = body.clone();
    body.extend(b"0\r\n\r\n");
    let chunked = |body: &[u8]| {
        Reply::file(body)
            .without("content-length")
            .with("Transfer-Encoding", "chunked")
    };
    let server = Server::with_file(chunked(&body));
    let (dir, mut hub) = hub(&server);
    hub.max_bytes = 500;
    let error = hub.fetch(&file()).unwrap_err().to_string();
    assert!(error.contains("longer than 500 bytes"), "{error}");
    hub.max_bytes = 100_000;
    hub.load(&file(), &LoadOptions::default()).unwrap();
    fs::remove_dir_all(dir.path().join("hub")).unwrap();
    hub.endpoint = Server::with_file(chunked(&unfinished)).address;
    hub.fetch(&file()).unwrap_err();
    assert!(files_below(dir.path()).is_empty());
}

#[test]
fn many_at_once_get_the_file() {
    let server = Server::with_file(Reply::file(&table()));
    let (dir, hub) = hub(&server);
    thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| hub.load(&file(), &LoadOptions::default()).unwrap());
        }
    });
    assert_eq!(files_below(dir.path()).len(), 3);
}

#[test]
fn a_branch_that_moved_is_followed_on_demand() {
    let other = "f".repeat(40);
    let first = Server::with_file(Reply::file(&table()));
    let moved = Reply::file(b"{}")
        .with("ETag", "etag-2")
        .with("X-Repo-Commit", &other);
    let second = Server::new(move |_| moved.clone());
    let (_dir, mut hub) = hub(&first);
    let json = HubFile::new("owner/name", "x.json");
    hub.fetch(&file()).unwrap();
    hub.endpoint = second.address.clone();
    let old = hub.fetch(&file()).unwrap();
    let new = hub.fetch(&json).unwrap();
    assert!(new.to_str().unwrap().contains(&other));
    assert!(old.exists());
    // The old snapshot is still there by its commit.
    assert_eq!(hub.fetch(&file().revision(COMMIT)).unwrap(), old);
}

#[cfg(unix)]
#[test]
fn a_cache_that_cannot_be_written_is_an_error() {
    let server = Server::with_file(Reply::file(&table()));
    let (dir, mut hub) = hub(&server);
    let blocked = dir.path().join("file");
    fs::write(&blocked, "").unwrap();
    hub.cache_dir = blocked.join("hub");
    let error = hub.fetch(&file()).unwrap_err().to_string();
    assert!(
        error.contains("cache ") && error.contains("file/hub"),
        "{error}"
    );
}

#[cfg(unix)]
#[test]
fn a_dangling_link_in_the_cache_is_mended() {
    let server = Server::with_file(Reply::file(&table()));
    let (dir, hub) = hub(&server);
    hub.fetch(&file()).unwrap();
    fs::remove_file(dir.path().join("hub/models--owner--name/blobs/etag-1")).unwrap();
    hub.load(&file(), &LoadOptions::default()).unwrap();
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn the_environment_describes_the_hub() {
    // The environment belongs to the process, so the test runs itself again.
    const CHILD: &str = "PE_TEST_HUB_CHILD";
    if std::env::var(CHILD).is_ok() {
        let home = std::env::var("HF_HOME").unwrap();
        let hub = Hub::from_env().unwrap();
        assert_eq!(hub.cache_dir, Path::new(&home).join("hub"));
        assert_eq!(hub.endpoint, "http://127.0.0.1:9");
        assert_eq!(hub.network, Network::Offline);
        let expected = std::env::var("HF_TOKEN").unwrap_or_else(|_| "of-the-file".to_owned());
        assert_eq!(hub.token, Some(expected));
        let error = pe_candle::hub::load(&file(), &Device::Cpu)
            .unwrap_err()
            .to_string();
        assert!(error.contains("HF_HUB_OFFLINE"), "{error}");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("token"), "of-the-file\n").unwrap();
    for token in [None, Some("of-the-environment")] {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "hub::the_environment_describes_the_hub"])
            .env(CHILD, "1")
            .env("HF_HOME", dir.path())
            .env("HF_ENDPOINT", "http://127.0.0.1:9")
            .env("HF_HUB_OFFLINE", "1")
            .env_remove("HF_TOKEN");
        if let Some(token) = token {
            command.env("HF_TOKEN", token);
        }
        let output = command.output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stdout)
        );
    }
}
