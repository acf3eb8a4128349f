//! The cache: without a network, after the branch moved, damaged.

use super::*;

#[test]
fn offline_without_the_file_makes_no_request() {
    let server = with_file(Reply::file(&table()));
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
fn branch_that_moved_is_followed_on_demand() {
    let other = "f".repeat(40);
    let first = with_file(Reply::file(&table()));
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
fn cache_that_cannot_be_written_is_an_error() {
    let server = with_file(Reply::file(&table()));
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
fn dangling_link_in_the_cache_is_mended() {
    let server = with_file(Reply::file(&table()));
    let (dir, hub) = hub(&server);
    hub.fetch(&file()).unwrap();
    fs::remove_file(dir.path().join("hub/models--owner--name/blobs/etag-1")).unwrap();
    hub.load(&file(), &LoadOptions::default()).unwrap();
    assert_eq!(server.requests().len(), 2);
}
