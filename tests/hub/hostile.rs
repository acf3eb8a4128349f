//! Servers that answer with anything at all: bytes unchanged, whatever they are. Each is
//! rejected in time, nothing of it comes into the cache or next to it, and the next good download
//! into the same cache succeeds.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;

use super::*;

/// Response to a connection.
#[derive(Clone)]
enum Answer {
    /// These bytes, then the end of the connection.
    Bytes(Vec<u8>),
    /// These bytes, then these again and again, with a pause between them.
    Endless(Vec<u8>, Vec<u8>, Duration),
    /// These bytes, then silence.
    Silent(Vec<u8>),
}

/// A server that gives every connection the same.
fn server(answer: Answer) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let answer = answer.clone();
            thread::spawn(move || respond(stream.unwrap(), answer));
        }
    });
    address
}

fn respond(mut stream: TcpStream, answer: Answer) {
    let mut request = BufReader::new(stream.try_clone().unwrap());
    let mut line = String::new();
    // The end of the request's head; its body is empty.
    while request.read_line(&mut line).unwrap_or(0) > 2 {
        line.clear();
    }
    match answer {
        Answer::Bytes(bytes) => {
            let _ = stream.write_all(&bytes);
        }
        Answer::Endless(first, again, pause) => {
            let mut result = stream.write_all(&first);
            while result.is_ok() {
                thread::sleep(pause);
                result = stream.write_all(&again);
            }
        }
        Answer::Silent(bytes) => {
            let _ = stream.write_all(&bytes);
            thread::sleep(2 * PATIENCE);
        }
    }
}

/// The head of a good answer with a table, its headers changed: `from` gives way to `to`.
fn head(from: &str, to: &str) -> Vec<u8> {
    let head = good_head(table().len());
    assert!(head.contains(from), "{head}{from}");
    head.replacen(from, to, 1).into_bytes()
}

fn good_head(length: usize) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nConnection: close\r\nETag: \"etag-1\"\r\nX-Repo-Commit: {COMMIT}\r\n\
         Content-Length: {length}\r\n\r\n"
    )
}

fn with_table(head: Vec<u8>) -> Answer {
    Answer::Bytes([head, table()].concat())
}

/// Asks for a file, sees it rejected, and then has it from a good server.
fn refused(name: &str, address: String, message: &str, timeouts: Timeouts) {
    let (dir, mut hub) = hub_at(address);
    hub.timeouts = timeouts;
    let error = hub.fetch(&file()).unwrap_err().to_string();
    assert!(error.contains(message), "{name}: {error}\n{message}");
    assert!(!error.contains(is_invisible), "{name}: {error}");
    assert!(files_below(dir.path()).is_empty(), "{name}");
    let good = with_file(Reply::file(&table()));
    hub.endpoint = good.address.clone();
    hub.timeouts = patient();
    let loaded = hub.load(&file(), &LoadOptions::default());
    assert_eq!(loaded.unwrap().spec, Some(spec()), "{name}");
    assert_eq!(files_below(dir.path()).len(), 3, "{name}");
}

fn hub_at(address: String) -> (TempDir, Hub) {
    let server = Server {
        address,
        log: Arc::default(),
    };
    let (dir, mut hub) = hub(&server);
    hub.max_bytes = 100_000;
    (dir, hub)
}

/// Many at once: they mostly wait.
fn all_refused(cases: Vec<(String, Answer, String)>) {
    let _watchdog = Watchdog::new("hostile servers");
    // Most of the time is waiting.
    for some in cases.chunks(40) {
        thread::scope(|scope| {
            for (name, answer, message) in some {
                let timeouts = match answer {
                    Answer::Bytes(_) => patient(),
                    _ => hasty(),
                };
                scope.spawn(move || refused(name, server(answer.clone()), message, timeouts));
            }
        });
    }
}

#[test]
fn hostile_headers_are_refused() {
    let tag = "\"etag-1\"";
    let length = format!("Content-Length: {}", table().len());
    let mut cases: Vec<(String, Answer, String)> = Vec::new();
    let mut add = |from: &str, to: &str, message: &str| {
        let name = format!("{from} -> {to}");
        cases.push((name, with_table(head(from, to)), message.to_owned()));
    };
    for etag in [
        "\"../etag\"",
        "\"../../../../../../tmp/x\"",
        "/etc/passwd",
        "\"a/b\"",
        "\"a\\b\"",
        "\"..\"",
        "\".\"",
        "\".hidden\"",
        "\"a..b\"",
        "\"%2e%2e%2fx\"",
        "\"a b\"",
        "\"a:b\"",
        "\"C:x\"",
        "\"a\tb\"",
        "\"\"",
        "W/\"../x\"",
        "W/",
        "\"caf\u{e9}\"",
        "\"a;b\"",
        "\"*\"",
        "\"~\"",
        "\"$(x)\"",
    ] {
        add(tag, etag, "ETag");
    }
    add(tag, &format!("\"{}\"", "a".repeat(129)), "ETag");
    let wrong = "the content's SHA-256 is";
    add(tag, &format!("\"{}\"", "0".repeat(64)), wrong);
    add(
        tag,
        &format!("{tag}\r\nX-Linked-Etag: \"{}\"", "0".repeat(64)),
        wrong,
    );
    add(tag, &format!("{tag}\r\nX-Linked-Etag: \"../x\""), "ETag");
    for commit in [
        "main".to_owned(),
        String::new(),
        "../../../../../../../../../../tmp/pe-test-x".to_owned(),
        COMMIT[1..].to_owned(),
        format!("{COMMIT}0"),
        COMMIT.to_uppercase(),
        COMMIT.replace('0', "g"),
        format!("{}/..", &COMMIT[3..]),
        format!("{COMMIT} {COMMIT}"),
        "%2e".repeat(13) + "x",
        ".".repeat(40),
    ] {
        add(COMMIT, &commit, "X-Repo-Commit");
    }
    for size in ["5", "0", "18446744073709551615", "1000000"] {
        add(
            &length,
            &format!("{length}\r\nX-Linked-Size: {size}"),
            &format!("the hub says {size}"),
        );
    }
    for (bad, message) in [
        ("-1", ""),
        ("18446744073709551616", ""),
        ("1e3", ""),
        ("0x10", ""),
        ("9999999999999", "above the limit of"),
        ("5\r\nContent-Length: 700", ""),
    ] {
        add(&length, &format!("Content-Length: {bad}"), message);
    }
    add(
        &length,
        &format!("{length}\r\nContent-Encoding: br"),
        "the content comes in the encoding \"br\"",
    );
    add(
        &length,
        &format!("{length}\r\nContent-Encoding: \u{1b}[2J"),
        "",
    );
    add(&length, "Transfer-Encoding: chunked", "");
    assert_eq!(cases.len(), 50);
    all_refused(cases);
}

#[test]
fn hostile_servers_are_refused_in_time() {
    let table = table();
    let pause = Duration::from_millis(20);
    let chunked = head(
        &format!("Content-Length: {}", table.len()),
        "Transfer-Encoding: chunked",
    );
    let unmeasured = head(&format!("Content-Length: {}\r\n", table.len()), "");
    let status = |status: &str| head("200 OK", status);
    let bytes = |text: &[u8]| Answer::Bytes(text.to_vec());
    let drip = |first: &[u8], again: &[u8]| Answer::Endless(first.to_vec(), again.to_vec(), pause);
    let flood = |first: &[u8], again: &[u8]| {
        Answer::Endless(first.to_vec(), again.repeat(4096), Duration::ZERO)
    };
    let cases: Vec<(&str, Answer, &str)> = vec![
        ("nothing", bytes(b""), ""),
        ("silence", Answer::Silent(vec![]), "time"),
        ("half a status", bytes(b"HTTP/1.1 2"), ""),
        ("half a status, then silence", Answer::Silent(b"HTTP/1.1 2".to_vec()), "time"),
        ("half a head", Answer::Bytes(head("\r\n\r\n", "\r\n")), ""),
        ("half a head, then silence", Answer::Silent(head("\r\n\r\n", "\r\n")), "time"),
        ("another protocol", bytes(b"SSH-2.0-OpenSSH_9.9\r\n"), ""),
        ("an alert of TLS", bytes(b"\x15\x03\x01\x00\x02\x02\x46"), ""),
        ("no version", bytes(b"200 OK\r\n\r\n"), ""),
        ("a status that is none", Answer::Bytes(status("2OO OK")), ""),
        ("a status beyond all", Answer::Bytes(status("99999 OK")), ""),
        ("a name for a header that is none", Answer::Bytes(head("ETag:", "E\0Tag:")), ""),
        ("headers without end", flood(b"HTTP/1.1 200 OK\r\n", b"X-A: aaaaaaaaaaaaaaaa\r\n"), ""),
        ("a header without end", flood(b"HTTP/1.1 200 OK\r\nX-A: ", b"a"), ""),
        ("a status without end", flood(b"HTTP/1.1 200 ", b"a"), ""),
        ("a head that drips", drip(b"HTTP/1.1 200 OK\r\n", b"X-A: a\r\n"), ""),
        ("continue, continue", drip(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), ""),
        ("hints, hints", drip(b"", b"HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n"), ""),
        ("a body that drips", drip(&head("200", "200"), b"x"), ""),
        ("chunks that drip", drip(&chunked, b"1\r\nx\r\n"), ""),
        ("chunks without end", flood(&chunked, b"10\r\nxxxxxxxxxxxxxxxx\r\n"), "longer than 100000 bytes"),
        ("a body without end", flood(&unmeasured, b"x"), "longer than 100000 bytes"),
        ("a length of a chunk without end", flood(&chunked, b"0"), ""),
        ("a chunk of more bytes than there are", Answer::Bytes([&chunked[..], b"ffffffffffffffff\r\nx"].concat()), ""),
        ("a chunk of less than none", Answer::Bytes([&chunked[..], b"-1\r\nx"].concat()), ""),
        ("chunks that are none", Answer::Bytes([&chunked[..], &table].concat()), ""),
        ("chunks that end early", Answer::Bytes([&chunked[..], b"10\r\nxxxx"].concat()), ""),
        ("trailers without end", flood(&[&chunked[..], b"0\r\n"].concat(), b"X-A: a\r\n"), ""),
        ("a short body", Answer::Bytes([head("200", "200"), table[..table.len() - 1].to_vec()].concat()), "after "),
        ("a body that stalls", Answer::Silent([head("200", "200"), table[..100].to_vec()].concat()), "after 100 bytes"),
        ("a body of nothing, unmeasured", Answer::Bytes(unmeasured.clone()), "too few"),
        ("an error page, unmeasured", Answer::Bytes([&unmeasured[..], b"<!DOCTYPE html>"].concat()), "is this a safetensors file?"),
        ("500 with the file", Answer::Bytes([status("500 X"), table.clone()].concat()), "status 500"),
        ("304 with the file", Answer::Bytes([status("304 X"), table.clone()].concat()), ""),
        ("300 with the file", Answer::Bytes([status("300 X"), table.clone()].concat()), "status 300"),
        ("206 with the file", Answer::Bytes([status("206 X"), table.clone()].concat()), "status 206"),
        ("404 with a message for terminals", bytes(b"HTTP/1.1 404 X\r\nConnection: close\r\nX-Error-Message: \x1b[2J\x1b]0;x\x07gone\r\nContent-Length: 0\r\n\r\n"), ""),
        ("switching protocols", bytes(b"HTTP/1.1 101 X\r\nUpgrade: x\r\n\r\n"), ""),
    ];
    assert_eq!(cases.len(), 38);
    let own =
        |(name, answer, message): (&str, _, &str)| (name.to_owned(), answer, message.to_owned());
    all_refused(cases.into_iter().map(own).collect());
}

#[test]
fn redirects_lead_to_the_file_or_to_an_error() {
    // Where the hub sends its caller, and what is there.
    let good = table();
    let (hash, size) = (sha256(&good), good.len().to_string());
    let other = |answer: Answer| server(answer);
    let silent = other(Answer::Silent(vec![]));
    let wrong = {
        let mut wrong = good.clone();
        let end = wrong.len();
        wrong[end - 1] ^= 1;
        Server::new(move |_| Reply::new(200, &wrong)).address
    };
    let missing = Server::new(|_| Reply::new(404, b"")).address;
    let error = Server::new(|_| Reply::new(503, b"<html>")).address;
    let back_and_forth = {
        let place: Arc<Mutex<String>> = Arc::default();
        let told = place.clone();
        let there =
            Server::new(move |_| Reply::new(302, b"").with("Location", &told.lock().unwrap()));
        *place.lock().unwrap() = format!("{}/y", there.address);
        there.address
    };
    // A port that no server of these tests can get.
    let closed = "http://127.0.0.1:1";
    let cases: [(String, &str); 17] = [
        (format!("{silent}/x"), "time"),
        (format!("{wrong}/x"), "the content's SHA-256 is"),
        (format!("{missing}/x"), "status 404"),
        (format!("{error}/x"), "status 503"),
        (format!("{back_and_forth}/x"), "more than 5 redirects"),
        (format!("{closed}/x"), "no connection to"),
        (
            "http://user:secret@127.0.0.1/x".to_owned(),
            "is not one of http or https",
        ),
        ("javascript:alert(1)".to_owned(), "the address"),
        ("data:text/plain,x".to_owned(), "the address"),
        (
            "ftp://127.0.0.1/x".to_owned(),
            "is not one of http or https",
        ),
        ("http://".to_owned(), "the address"),
        ("http://127.0.0.1:99999/x".to_owned(), ""),
        ("http://[::1/x".to_owned(), "the address"),
        ("http://a b/x".to_owned(), "the address"),
        (String::new(), ""),
        ("?x".to_owned(), "the address"),
        (format!("/{}", "x".repeat(60_000)), ""),
    ];
    thread::scope(|scope| {
        for (location, message) in cases {
            let (hash, size) = (hash.clone(), size.clone());
            scope.spawn(move || {
                let hub = {
                    let location = location.clone();
                    Server::new(move |_| {
                        Reply::new(302, b"")
                            .with("X-Repo-Commit", COMMIT)
                            .with("X-Linked-Etag", &format!("\"{hash}\""))
                            .with("X-Linked-Size", &size)
                            .with("Location", &location)
                    })
                };
                refused(&location, hub.address, message, hasty());
            });
        }
    });
}

#[test]
fn good_response_to_head_does_not_vouch_for_the_body() {
    // Asked for the head alone it answers well, for the file with a fault.
    let good = table();
    let server = Server::new(move |request| match request.method.as_str() {
        "HEAD" => Reply::file(&good),
        _ => Reply::new(500, b"<html>a fault</html>"),
    });
    refused(
        "500 after a good HEAD",
        server.address,
        "status 500",
        patient(),
    );
}

#[test]
fn sha_256_that_the_caller_knows_is_looked_at() {
    let good = table();
    let server = with_file(Reply::file(&good));
    let (dir, hub) = hub(&server);
    for digits in ["", "abc", &"g".repeat(64), &"A".repeat(64), &"0".repeat(63)] {
        let error = hub.fetch(&file().sha256(digits)).unwrap_err().to_string();
        assert!(error.contains("is not valid"), "{error}");
    }
    assert!(server.requests().is_empty());
    let zeros = "0".repeat(64);
    let error = hub.fetch(&file().sha256(&zeros)).unwrap_err().to_string();
    let expected = format!("SHA-256 is {}, {zeros} was asked for", sha256(&good));
    assert!(error.contains(&expected), "{error}");
    assert!(files_below(dir.path()).is_empty());

    let known = file().sha256(sha256(&good));
    let path = hub.fetch(&known).unwrap();
    assert_eq!(server.requests().len(), 2);
    hub.fetch(&known).unwrap();
    assert_eq!(server.requests().len(), 2);
    // What came into the cache by another way is looked at as well, and mended.
    fs::write(&path, "something else").unwrap();
    let offline = Hub {
        network: Network::Offline,
        ..hub.clone()
    };
    let error = offline.fetch(&known).unwrap_err().to_string();
    assert!(error.contains("is not in the cache"), "{error}");
    hub.fetch(&known).unwrap();
    assert_eq!(server.requests().len(), 3);
    assert_eq!(fs::read(offline.fetch(&known).unwrap()).unwrap(), good);
}
