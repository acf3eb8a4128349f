//! Caches that cannot be written, are in use, or were left by others in any state.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use super::*;
use crate::again;

fn root(dir: &TempDir) -> std::path::PathBuf {
    dir.path().join("hub/models--owner--name")
}

#[test]
fn cache_without_room_for_files_is_an_error_until_repaired() {
    let server = with_file(Reply::file(&table()));
    // A file where a folder is due, at each level.
    for blocked in [
        "",
        "blobs",
        "snapshots",
        "refs",
        &format!("snapshots/{COMMIT}"),
    ] {
        let (dir, hub) = hub(&server);
        let place = match blocked {
            "" => root(&dir),
            _ => root(&dir).join(blocked),
        };
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(&place, "in the way").unwrap();
        let error = hub.fetch(&file()).unwrap_err().to_string();
        assert!(error.contains("cache "), "{blocked}: {error}");
        assert_eq!(fs::read(&place).unwrap(), b"in the way");
        fs::remove_file(&place).unwrap();
        hub.load(&file(), &LoadOptions::default()).unwrap();
    }
    // A folder where a file or a link is due.
    for blocked in [
        "blobs/etag-1",
        &format!("snapshots/{COMMIT}/table.safetensors"),
        "refs/main",
    ] {
        let (dir, hub) = hub(&server);
        let place = root(&dir).join(blocked);
        fs::create_dir_all(&place).unwrap();
        let error = hub.fetch(&file()).unwrap_err().to_string();
        assert!(error.contains("cache "), "{blocked}: {error}");
        fs::remove_dir(&place).unwrap();
        hub.load(&file(), &LoadOptions::default()).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn cache_that_may_only_be_read_is_an_error_and_what_is_in_it_is_used() {
    use std::os::unix::fs::PermissionsExt;
    const NAME: &str = "places::cache_that_may_only_be_read_is_an_error_and_what_is_in_it_is_used";
    let server = with_file(Reply::file(&table()));
    let (dir, hub) = hub(&server);
    hub.fetch(&file()).unwrap();
    let blobs = root(&dir).join("blobs");
    fs::set_permissions(&blobs, fs::Permissions::from_mode(0o555)).unwrap();
    if fs::write(blobs.join("probe"), "").is_ok() {
        // Whoever may write anywhere may also be another.
        again::passes_without_rights(NAME, dir.path());
        return;
    }
    hub.load(&file(), &LoadOptions::default()).unwrap();
    let error = hub.download(&file()).unwrap_err().to_string();
    assert!(error.contains("cache "), "{error}");
    hub.load(&file(), &LoadOptions::default()).unwrap();
    fs::set_permissions(&blobs, fs::Permissions::from_mode(0o755)).unwrap();
    hub.download(&file()).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn download_that_is_killed_leaves_a_part_to_resume_from_or_nothing() {
    const NAME: &str = "download_that_is_killed_leaves_a_part_to_resume_from_or_nothing";
    const CHILD: &str = "PE_TEST_HUB_KILLED";
    if let Ok(endpoint) = std::env::var(CHILD) {
        let mut hub = Hub::new(std::env::var("PE_TEST_HUB_CACHE").unwrap());
        hub.endpoint = endpoint;
        hub.timeouts.stall = 2 * PATIENCE;
        hub.progress = Some(Arc::new(|received| println!("received {}", received.bytes)));
        hub.fetch(&file()).unwrap();
        return;
    }
    // Half of the file comes, and the child is killed while it waits for the rest.
    let good = table();
    let half = good.len() / 2;
    let hash = sha256(&good);
    for (etag, left) in [("etag-1", None), (&hash, Some(format!("{hash}.pe-part")))] {
        let stalled = Reply {
            sent: half,
            linger: 2 * PATIENCE,
            ..Reply::file(&good).with("ETag", etag)
        };
        let server = with_file(stalled);
        let dir = tempfile::tempdir().unwrap();
        let cache = dir.path().join("hub");
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture", &format!("places::{NAME}")])
            .env(CHILD, &server.address)
            .env("PE_TEST_HUB_CACHE", &cache)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let half_is_there = format!("received {half}");
        let found = lines
            .map_while(Result::ok)
            .any(|line| line.ends_with(&half_is_there));
        assert!(found, "the child ended");
        child.kill().unwrap();
        child.wait().unwrap();
        let blobs = root(&dir).join("blobs");
        let expected: Vec<String> = left
            .iter()
            .map(|name| blobs.join(name).display().to_string())
            .collect();
        assert_eq!(files_below(&cache), expected);
        // The next download succeeds, and nothing else is left.
        let server = with_file(Reply::file(&good).with("ETag", etag));
        let mut hub = Hub::new(&cache);
        hub.endpoint = server.address.clone();
        hub.load(&file(), &LoadOptions::default()).unwrap();
        let mut files = files_below(&cache);
        files.sort();
        let snapshot = format!("snapshots/{COMMIT}/table.safetensors");
        let expected = [&format!("blobs/{etag}"), "refs/main", &snapshot];
        assert_eq!(
            files,
            expected.map(|name| root(&dir).join(name).display().to_string())
        );
    }
}

#[test]
fn locks_and_parts_that_others_left_are_in_nobodys_way() {
    let server = with_file(Reply::file(&table()));
    let (dir, hub) = hub(&server);
    let blobs = root(&dir).join("blobs");
    let locks = dir.path().join("hub/.locks/models--owner--name");
    for folder in [&blobs, &locks] {
        fs::create_dir_all(folder).unwrap();
        for left in ["etag-1.lock", "etag-1.incomplete", ".pe-abc123.tmp"] {
            fs::write(folder.join(left), "left").unwrap();
        }
    }
    // Held, as the Python library holds it while it downloads.
    let held = fs::File::open(locks.join("etag-1.lock")).unwrap();
    held.lock().unwrap();
    let _watchdog = Watchdog::new("locks of others");
    hub.load(&file(), &LoadOptions::default()).unwrap();
    assert_eq!(fs::read(blobs.join("etag-1.incomplete")).unwrap(), b"left");
}

#[test]
fn references_that_are_none_lead_nowhere() {
    let server = with_file(Reply::file(&table()));
    for text in [
        "",
        "\n",
        "main",
        "../../../../../../etc",
        "..",
        "/",
        &COMMIT[1..],
        &COMMIT.to_uppercase(),
        &format!("{COMMIT}/../../../x"),
        &"0".repeat(1 << 20),
    ] {
        let (dir, hub) = hub(&server);
        let refs = root(&dir).join("refs");
        fs::create_dir_all(&refs).unwrap();
        fs::write(refs.join("main"), text).unwrap();
        // A file that such a reference would lead to.
        let snapshots = root(&dir).join("snapshots");
        fs::create_dir_all(&snapshots).unwrap();
        for place in [&snapshots, &root(&dir), &dir.path().join("hub")] {
            fs::write(place.join("table.safetensors"), "another's").unwrap();
        }
        let found = hub.fetch(&file()).unwrap();
        assert_eq!(found, snapshots.join(COMMIT).join("table.safetensors"));
        assert_eq!(fs::read_to_string(refs.join("main")).unwrap(), COMMIT);
        hub.load(&file(), &LoadOptions::default()).unwrap();
    }
}

#[test]
fn file_is_there_all_the_time_while_its_branch_moves() {
    // Two commits of one file in turns: whoever looks finds one of them, whole.
    let (first, second) = (table(), {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.safetensors");
        let longer = SinusoidalSpec::new(*spec().config(), 0, 20, DType::F32).unwrap();
        checkpoint::export(&path, &longer).unwrap();
        fs::read(path).unwrap()
    });
    let turns = Mutex::new(0usize);
    let (a, b) = (first.clone(), second.clone());
    let server = Server::new(move |_| {
        let mut turns = turns.lock().unwrap();
        *turns += 1;
        match *turns % 2 {
            // The same commit once with another content: its link changes.
            1 => Reply::file(&a).with("ETag", &sha256(&a)),
            _ => Reply::file(&b).with("ETag", &sha256(&b)),
        }
    });
    let (dir, hub) = hub(&server);
    hub.fetch(&file()).unwrap();
    let offline = Hub {
        network: Network::Offline,
        ..hub.clone()
    };
    let done = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                let found = fs::read(offline.fetch(&file()).unwrap()).unwrap();
                assert!(found == first || found == second);
            }
        });
        for _ in 0..60 {
            hub.download(&file()).unwrap();
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(files_below(dir.path()).len(), 4);
}
