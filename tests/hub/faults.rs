//! Servers that are missing, slow or wrong.

use pe_tests::table::{Row, rows};

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

/// Answers that are wrong: changes of a good answer, and the words of the error. Wrong headers are in `hostile.rs`.
const FAULTS: &str = "
bare; status 401 => access is denied
bare; status 403; X-Error-Message: gated => the hub says \"gated\"
bare; status 429 => too many requests
page; status 500 => the hub has a fault (status 500)
status 503 => status 503
sent 0; Content-Length: 0; status 204 => status 204
status 206 => status 206
page => the content is not what its name says
empty => too few for a safetensors header
sent 100 => after 100
cut => the content is not what its name says
sent 100; lingers => after 100 bytes: timeout
sent 0; without content-length; Transfer-Encoding: chunked; lingers => after 0 bytes: timeout
Content-Encoding: gzip => after 0 bytes
without x-repo-commit => no X-Repo-Commit
without etag => no ETag
bare; status 302; Location: /owner/name/resolve/main/table.safetensors => more than 5 redirects
bare; status 302 => without a Location
bare; status 302; Location: file:///etc/passwd => the address \"file:///etc/passwd\" is not
bare; status 302; Location: //127.0.0.1/x => is not one of http or https
bare; status 302; Location: other => is not one of http or https
status 0 => ";

/// Returns the good answer with changes.
fn changed(changes: &str) -> Reply {
    let good = table();
    let mut reply = Reply::file(&good);
    for change in changes.split("; ") {
        let (word, value) = change.split_once(' ').unwrap_or((change, ""));
        match word {
            "bare" => reply = Reply::new(200, b""),
            "page" => reply = Reply::file(b"<!DOCTYPE html><html>try again</html>"),
            "empty" => reply = Reply::file(b""),
            "cut" => reply = Reply::file(&good[..good.len() - 1]),
            "status" => reply.status = value.parse().unwrap(),
            "sent" => reply.sent = value.parse().unwrap(),
            "lingers" => reply.linger = 2 * PATIENCE,
            "without" => reply = reply.without(value),
            header => reply = reply.with(header.strip_suffix(':').unwrap(), value),
        }
    }
    reply
}

/// Every fault leaves no trace in the cache, ends in time, and does not
/// keep the next download from succeeding.
#[test]
fn faults_of_the_server_poison_nothing() {
    let faults = rows(FAULTS);
    assert_eq!(faults.len(), 22);
    let _watchdog = Watchdog::new("faults of the server");
    thread::scope(|scope| {
        for Row {
            left: name,
            right: message,
            ..
        } in faults
        {
            scope.spawn(move || {
                let fault = changed(name);
                let bad = with_file(fault.clone());
                let (dir, mut hub) = hub(&bad);
                hub.max_bytes = 100_000;
                if !fault.linger.is_zero() {
                    hub.timeouts = hasty();
                }
                let error = hub.fetch(&file()).unwrap_err().to_string();
                assert!(error.contains(message), "{name}: {error}\n{message}");
                assert!(files_below(dir.path()).is_empty(), "{name}");
                let server = with_file(Reply::file(&table()));
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
