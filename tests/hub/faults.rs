//! Servers that are missing, slow or wrong.

use super::*;

#[test]
fn missing_file_says_so() {
    let server = with_file(Reply::file(&table()));
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
fn server_that_is_not_there_is_reported() {
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

/// Every fault leaves no trace in the cache, ends in time, and does not
/// keep the next download from succeeding.
#[test]
fn faults_of_the_server_poison_nothing() {
    let good = table();
    let page = b"<!DOCTYPE html><html>try again</html>";
    let zeros = "0".repeat(64);
    let stalled = Reply {
        sent: 100,
        linger: 2 * PATIENCE,
        ..Reply::file(&good)
    };
    let silent = Reply {
        sent: 0,
        linger: 2 * PATIENCE,
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
    assert_eq!(faults.len(), 36);
    let _watchdog = Watchdog::new("faults of the server");
    thread::scope(|scope| {
        for (name, fault, message) in &faults {
            let good = &good;
            scope.spawn(move || {
                let bad = with_file(fault.clone());
                let (dir, mut hub) = hub(&bad);
                hub.max_bytes = 100_000;
                if !fault.linger.is_zero() {
                    hub.timeouts = hasty();
                }
                let error = hub.fetch(&file()).unwrap_err().to_string();
                assert!(error.contains(message), "{name}: {error}\n{message}");
                assert!(files_below(dir.path()).is_empty(), "{name}");
                let server = with_file(Reply::file(good));
                hub.endpoint = server.address.clone();
                hub.timeouts = patient();
                hub.load(&file(), &LoadOptions::default()).unwrap();
            });
        }
    });
}

#[test]
fn slow_server_is_cut_off_in_the_end() {
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
    let _watchdog = Watchdog::new("slow server");
    let error = hub.fetch(&file()).unwrap_err().to_string();
    assert!(error.contains("timeout"), "{error}");
    assert!(files_below(dir.path()).is_empty());
}

#[test]
fn server_that_falls_silent_is_given_up_before_the_whole_time_is_over() {
    let good = table();
    let before_headers = Server::new(|_| {
        thread::sleep(2 * PATIENCE);
        Reply::new(404, b"")
    });
    let in_the_body = with_file(Reply {
        sent: 100,
        linger: 2 * PATIENCE,
        ..Reply::file(&good)
    });
    for server in [before_headers, in_the_body] {
        let (dir, mut hub) = hub(&server);
        hub.timeouts.stall = hasty().stall;
        hub.timeouts.total = 10 * PATIENCE;
        let _watchdog = Watchdog::new("silent server");
        let error = hub.fetch(&file()).unwrap_err().to_string();
        assert!(error.contains("time"), "{error}");
        assert!(files_below(dir.path()).is_empty());
    }
}
