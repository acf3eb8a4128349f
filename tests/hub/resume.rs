//! Downloads that break off, and continue.

use super::*;
use pe_candle::hub::Received;

/// A hub that gives a content under its hash and honors ranges. The first answer breaks off
/// after `first` bytes. `range` may make other headers of `bytes a-b/total`.
fn breaking(content: Vec<u8>, first: usize, range: fn(String) -> Option<String>) -> Server {
    let broken = Mutex::new(false);
    Server::new(move |request| {
        let total = content.len();
        let hash = format!("\"{}\"", sha256(&content));
        let from = request.header("range").map(|range| {
            let from = range.strip_prefix("bytes=").unwrap();
            from.strip_suffix('-').unwrap().parse::<usize>().unwrap()
        });
        let reply = match from
            .and_then(|from| Some((from, range(format!("bytes {from}-{}/{total}", total - 1))?)))
        {
            Some((from, range)) => Reply {
                status: 206,
                ..Reply::file(&content[from..]).with("Content-Range", &range)
            },
            None => Reply::file(&content),
        };
        let sent = match std::mem::replace(&mut *broken.lock().unwrap(), true) {
            true => reply.sent,
            false => first,
        };
        Reply {
            sent,
            ..reply.with("ETag", &hash)
        }
    })
}

/// Some 100 KiB that are no table.
fn content() -> Vec<u8> {
    let words: Vec<String> = (0..20_000).map(|n| n.to_string()).collect();
    format!("[{}]", words.join(",")).into_bytes()
}

fn part(dir: &TempDir, content: &[u8]) -> std::path::PathBuf {
    let name = format!("{}.pe-part", sha256(content));
    dir.path().join("hub/models--owner--name/blobs").join(name)
}

fn asked() -> HubFile {
    HubFile::new("owner/name", "numbers.json")
}

/// Breaks off a first download after 40,000 bytes.
fn begun(content: &[u8], range: fn(String) -> Option<String>) -> (TempDir, Hub, Server) {
    let server = breaking(content.to_vec(), 40_000, range);
    let (dir, hub) = hub(&server);
    let error = hub.fetch(&asked()).unwrap_err().to_string();
    assert!(error.contains("after 40000 "), "{error}");
    assert_eq!(fs::read(part(&dir, content)).unwrap(), content[..40_000]);
    (dir, hub, server)
}

#[test]
fn received_part_of_a_large_file_is_not_fetched_again() {
    let content = content();
    let (dir, mut hub, server) = begun(&content, Some);
    let told = Arc::new(Mutex::new(Vec::new()));
    let list = Arc::clone(&told);
    hub.progress = Some(Arc::new(move |received| {
        list.lock().unwrap().push(received)
    }));
    let path = hub.fetch(&asked()).unwrap();
    assert_eq!(fs::read(path).unwrap(), content);
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    assert_eq!(requests[1].header("range"), None);
    assert_eq!(requests[2].header("range"), Some("bytes=40000-"));
    assert!(!part(&dir, &content).exists());
    assert_eq!(files_below(dir.path()).len(), 3);

    let told = told.lock().unwrap();
    let total = Some(content.len() as u64);
    assert_eq!(
        told[0],
        Received {
            bytes: 40_000,
            total
        }
    );
    assert!(told.windows(2).all(|pair| pair[0].bytes < pair[1].bytes));
    assert_eq!(told.last().unwrap().bytes, content.len() as u64);
}

#[test]
fn server_without_ranges_gives_the_whole_again() {
    let content = content();
    let (dir, hub, _server) = begun(&content, |_| None);
    assert_eq!(fs::read(hub.fetch(&asked()).unwrap()).unwrap(), content);
    assert!(!part(&dir, &content).exists());
}

#[test]
fn part_that_is_damaged_costs_a_download_and_nothing_else() {
    let content = content();
    let (dir, hub, _server) = begun(&content, Some);
    let part = part(&dir, &content);
    let mut bytes = fs::read(&part).unwrap();
    bytes[17] ^= 1;
    fs::write(&part, &bytes).unwrap();
    let error = hub.fetch(&asked()).unwrap_err().to_string();
    assert!(error.contains("the content's SHA-256 is"), "{error}");
    assert!(!part.exists());
    assert_eq!(fs::read(hub.fetch(&asked()).unwrap()).unwrap(), content);

    // Longer than the content: begun again.
    let (dir, hub, server) = begun(&content, Some);
    fs::write(self::part(&dir, &content), vec![0; 1 << 20]).unwrap();
    assert_eq!(fs::read(hub.fetch(&asked()).unwrap()).unwrap(), content);
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn range_that_is_not_the_one_asked_for_is_refused() {
    let content = content();
    for range in [
        |_| Some("bytes 0-5/6".to_owned()),
        |range: String| Some(range + "0"),
        |_| Some(String::new()),
    ] as [fn(String) -> Option<String>; 3]
    {
        let (_dir, hub, _server) = begun(&content, range);
        let error = hub.fetch(&asked()).unwrap_err().to_string();
        assert!(error.contains("asked for bytes 40000 to "), "{error}");
    }
}

#[test]
fn concurrent_resumed_downloads_all_get_the_file() {
    let content = content();
    let (dir, hub, _server) = begun(&content, Some);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(fs::read(hub.fetch(&asked()).unwrap()).unwrap(), content));
        }
    });
    assert_eq!(files_below(dir.path()).len(), 3);
}
