//! Files that come as they should.

use super::*;

#[test]
fn table_is_fetched_once_and_loaded_from_the_cache_after_that() {
    let server = with_file(Reply::file(&table()));
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
    let server = with_file(chunked(&body));
    let (dir, mut hub) = hub(&server);
    hub.max_bytes = 500;
    let error = hub.fetch(&file()).unwrap_err().to_string();
    assert!(error.contains("longer than 500 bytes"), "{error}");
    hub.max_bytes = 100_000;
    hub.load(&file(), &LoadOptions::default()).unwrap();
    fs::remove_dir_all(dir.path().join("hub")).unwrap();
    hub.endpoint = with_file(chunked(&unfinished)).address;
    hub.fetch(&file()).unwrap_err();
    assert!(files_below(dir.path()).is_empty());
}

#[test]
fn concurrent_callers_get_the_file() {
    let server = with_file(Reply::file(&table()));
    let (dir, hub) = hub(&server);
    thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| hub.load(&file(), &LoadOptions::default()).unwrap());
        }
    });
    assert_eq!(files_below(dir.path()).len(), 3);
}
