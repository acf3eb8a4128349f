//! A hub on this machine that answers as told.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The commit that everything is at.
pub const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// A request as the server saw it.
#[derive(Debug, Clone)]
pub struct Request {
    /// `GET`, `HEAD`.
    pub method: String,
    /// Path with its leading slash.
    pub path: String,
    headers: Vec<(String, String)>,
}

impl Request {
    /// The value of a header, whatever the case of its name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self
            .headers
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// Response of the server.
#[derive(Clone)]
pub struct Reply {
    /// 0 for no HTTP.
    pub status: u16,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// The whole body.
    pub body: Vec<u8>,
    /// The bytes of the body that are sent; the rest is withheld.
    pub sent: usize,
    /// Time for which the connection stays open after that.
    pub linger: Duration,
}

impl Reply {
    /// A status and a body.
    pub fn new(status: u16, body: &[u8]) -> Self {
        Self {
            status,
            headers: vec![("Content-Length".to_owned(), body.len().to_string())],
            body: body.to_vec(),
            sent: body.len(),
            linger: Duration::ZERO,
        }
    }

    /// A file as the hub answers it.
    pub fn file(body: &[u8]) -> Self {
        Self::new(200, body)
            .with("ETag", "\"etag-1\"")
            .with("X-Repo-Commit", COMMIT)
    }

    /// Sets a header, in place of one of that name.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers
            .retain(|(key, _)| !key.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Removes a header.
    pub fn without(mut self, name: &str) -> Self {
        self.headers
            .retain(|(key, _)| !key.eq_ignore_ascii_case(name));
        self
    }
}

type Answer = dyn Fn(&Request) -> Reply + Send + Sync;

/// A server with its log. Its threads end with the test's process.
pub struct Server {
    /// Scheme, host and port.
    pub address: String,
    /// Requests.
    pub log: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// Answers each request on a thread of its own.
    pub fn new(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
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

    /// A hub with files at paths.
    pub fn with_files(files: Vec<(String, Reply)>) -> Self {
        Self::new(move |request| {
            let found = files.iter().find(|(path, _)| *path == request.path);
            match found {
                Some((_, reply)) => reply.clone(),
                None => Reply::new(404, b"").with("X-Error-Message", "Entry not found"),
            }
        })
    }

    /// Returns the requests so far.
    pub fn requests(&self) -> Vec<Request> {
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
