//! Names of repositories, revisions and files.

use super::*;

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
    assert_eq!(repos.len() + revisions.len() + files.len(), 83);
    assert!(server.requests().is_empty());
    assert!(files_below(dir.path()).is_empty());
    // The message shows no character that a reader would not see, whatever it quotes.
    let hostile =
        "a\u{1b}[2J\n\u{7f}\u{85}\u{200b}\u{2028}\u{61c}\u{feff}\u{e0041}\u{fe0f}\u{3164}b";
    let good = || HubFile::new("a/b", "a.json");
    let hostile_hub = Hub {
        endpoint: hostile.to_owned(),
        cache_dir: dir.path().join(hostile),
        ..hub.clone()
    };
    let offline = Hub {
        network: Network::Offline,
        ..hostile_hub.clone()
    };
    for (hub, file) in [
        (&hub, HubFile::new("a/b", hostile)),
        (&hub, HubFile::new(hostile, "a.json")),
        (&hub, good().revision(hostile)),
        (&hub, good().sha256(hostile)),
        (&hostile_hub, good()),
        (&offline, good()),
        (
            &offline,
            HubFile::new("a/b", "\u{200b}\u{e0041}\u{3164}.json"),
        ),
    ] {
        for result in [hub.fetch(&file), hub.download(&file)] {
            let error = result.unwrap_err().to_string();
            assert!(!error.contains(is_invisible), "{error:?}");
        }
    }
    // A cache of that name that cannot be made.
    fs::write(dir.path().join(hostile), "in the way").unwrap();
    let blocked = Hub {
        endpoint: server.address.clone(),
        ..hostile_hub
    };
    let error = blocked.fetch(&good()).unwrap_err().to_string();
    assert!(!error.contains(is_invisible), "{error:?}");
}
