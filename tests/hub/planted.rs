//! Things that somebody else put into the cache, in the places where a download reads or writes.

use std::os::unix::fs::{FileTypeExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use super::*;

/// What no download may change.
const VICTIM: &[u8] = b"somebody's file";

/// A cache next to a file and a folder that do not belong to it.
struct Ground {
    dir: TempDir,
    hub: Hub,
    _server: Server,
}

impl Ground {
    fn new(etag: &str) -> Self {
        let server = with_file(Reply::file(&table()).with("ETag", etag));
        let (dir, hub) = hub(&server);
        fs::create_dir_all(dir.path().join("outside")).unwrap();
        fs::write(dir.path().join("victim"), VICTIM).unwrap();
        Self {
            dir,
            hub,
            _server: server,
        }
    }

    fn victim(&self) -> PathBuf {
        self.dir.path().join("victim")
    }

    fn outside(&self) -> PathBuf {
        self.dir.path().join("outside")
    }

    /// A place in the repository's folder, whose own folder is there.
    fn place(&self, name: &str) -> PathBuf {
        let place = self.dir.path().join("hub/models--owner--name").join(name);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        place
    }

    /// Fetching is rejected with the path of the place; what lies outside stays as it was.
    fn refused(&self, place: &Path, about: &str) {
        let error = self.hub.fetch(&file()).unwrap_err().to_string();
        assert!(
            error.contains(&place.display().to_string()),
            "{about}: {error}"
        );
        assert!(!error.contains('\n'), "{about}: {error}");
        self.unchanged(about);
    }

    fn unchanged(&self, about: &str) {
        assert_eq!(fs::read(self.victim()).unwrap(), VICTIM, "{about}");
        assert!(files_below(&self.outside()).is_empty(), "{about}");
        assert!(
            fs::read_dir(self.outside()).unwrap().next().is_none(),
            "{about}"
        );
        assert!(!self.dir.path().join("new").exists(), "{about}");
    }

    fn works(&self, about: &str) {
        let loaded = self.hub.load(&file(), &LoadOptions::default());
        assert_eq!(loaded.unwrap().spec, Some(spec()), "{about}");
        self.unchanged(about);
    }
}

fn pipe(place: &Path) {
    assert!(
        Command::new("mkfifo")
            .arg(place)
            .status()
            .unwrap()
            .success()
    );
}

/// Puts one thing after another in a place; each is rejected there, and nothing but it.
fn each_is_refused(etag: &str, name: &str, things: &[&str]) {
    for thing in things {
        let ground = Ground::new(etag);
        let place = ground.place(name);
        let _socket = match *thing {
            "link" => symlink(ground.victim(), &place).map(|()| None),
            "link to nothing" => symlink(ground.dir.path().join("new"), &place).map(|()| None),
            "link to a device" => symlink("/dev/zero", &place).map(|()| None),
            "hard link" => fs::hard_link(ground.victim(), &place).map(|()| None),
            "folder" => fs::create_dir(&place).map(|()| None),
            "pipe" => {
                pipe(&place);
                Ok(None)
            }
            "socket" => {
                // The name of a socket is short when it is made.
                let short = ground.dir.path().join("s");
                let socket = UnixListener::bind(&short).unwrap();
                fs::rename(short, &place).map(|()| Some(socket))
            }
            _ => panic!("{thing}"),
        }
        .unwrap();
        let before = fs::symlink_metadata(&place).unwrap().file_type();
        let _watchdog = Watchdog::new("things in place of files");
        ground.refused(&place, thing);
        assert_eq!(fs::symlink_metadata(&place).unwrap().file_type(), before);
        match before.is_dir() {
            true => fs::remove_dir(&place),
            false => fs::remove_file(&place),
        }
        .unwrap();
        ground.works(thing);
        assert!(!fs::symlink_metadata(&place).is_ok_and(|there| there.file_type().is_fifo()));
    }
}

#[test]
fn part_is_written_through_no_link_and_is_a_file_of_its_own() {
    let hash = sha256(&table());
    each_is_refused(
        &hash,
        &format!("blobs/{hash}.pe-part"),
        &[
            "link",
            "link to nothing",
            "link to a device",
            "hard link",
            "folder",
            "pipe",
            "socket",
        ],
    );
}

#[test]
fn reference_is_written_through_no_link_and_named_where_it_is_none() {
    each_is_refused(
        "etag-1",
        "refs/main",
        &[
            "link",
            "link to nothing",
            "link to a device",
            "folder",
            "pipe",
            "socket",
        ],
    );
}

#[test]
fn content_that_is_no_file_is_named() {
    each_is_refused(
        "etag-1",
        "blobs/etag-1",
        &["folder", "pipe", "socket", "link"],
    );
    let hash = sha256(&table());
    each_is_refused(
        &hash,
        &format!("blobs/{hash}"),
        &["folder", "pipe", "socket"],
    );
}

#[test]
fn entry_that_is_no_file_of_the_repository_is_named() {
    for offline in [false, true] {
        for thing in ["link", "link to a device", "folder", "pipe"] {
            let mut ground = Ground::new("etag-1");
            fs::write(ground.place("refs/main"), COMMIT).unwrap();
            let place = ground.place(&format!("snapshots/{COMMIT}/table.safetensors"));
            match thing {
                "link" => symlink(ground.victim(), &place).unwrap(),
                "link to a device" => symlink("/dev/zero", &place).unwrap(),
                "folder" => fs::create_dir(&place).unwrap(),
                _ => pipe(&place),
            }
            if offline {
                ground.hub.network = Network::Offline;
            }
            ground.refused(&place, thing);
        }
    }
    // Another's file of the same cache is not this repository's either.
    let ground = Ground::new("etag-1");
    fs::write(ground.place("refs/main"), COMMIT).unwrap();
    let other = ground.dir.path().join("hub/models--owner--other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("table.safetensors"), table()).unwrap();
    let place = ground.place(&format!("snapshots/{COMMIT}/table.safetensors"));
    symlink(other.join("table.safetensors"), &place).unwrap();
    ground.refused(&place, "another repository");
    // A download puts the right link there.
    ground.hub.download(&file()).unwrap();
    ground.works("after a download");
}

#[test]
fn folders_of_the_repository_that_lead_elsewhere_are_named() {
    for name in ["blobs", "snapshots", "refs", &format!("snapshots/{COMMIT}")] {
        let ground = Ground::new("etag-1");
        let place = ground.place(name);
        symlink(ground.outside(), &place).unwrap();
        ground.refused(&place, name);
        fs::remove_file(&place).unwrap();
        ground.works(name);
    }
    // The cache and a repository's folder may lie on another disk.
    for name in ["hub", "hub/models--owner--name"] {
        let ground = Ground::new("etag-1");
        let place = ground.dir.path().join(name);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        let disk = tempfile::tempdir().unwrap();
        symlink(disk.path(), &place).unwrap();
        ground.works(name);
        ground.works(name);
        assert!(!files_below(disk.path()).is_empty(), "{name}");
    }
}

#[test]
fn reference_is_not_read_through_a_folder_that_leads_elsewhere() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("main"), COMMIT).unwrap();
    let mut ground = Ground::new("etag-1");
    symlink(outside.path(), ground.place("refs")).unwrap();
    ground.hub.network = Network::Offline;
    let error = ground.hub.fetch(&file()).unwrap_err().to_string();
    assert!(
        error.contains("refs/main leads to") && error.contains("outside of the repository's"),
        "{error}"
    );
}

#[test]
fn etag_that_names_what_is_not_a_content_is_refused() {
    let hash = sha256(&table());
    for etag in [
        format!("{hash}.pe-part"),
        format!("{hash}.PE-PART"),
        "a.pe-part".to_owned(),
        "a.incomplete".to_owned(),
        "a.lock".to_owned(),
        "a.sync.part".to_owned(),
    ] {
        let ground = Ground::new(&format!("\"{etag}\""));
        let error = ground.hub.fetch(&file()).unwrap_err().to_string();
        assert!(error.contains("ETag") && error.contains(&etag), "{error}");
        assert!(
            files_below(&ground.dir.path().join("hub")).is_empty(),
            "{etag}"
        );
    }
    Ground::new("a.pe-part-2").works("another ending");
}

#[test]
fn file_pinned_to_a_commit_does_not_change() {
    // Another commit, whose file is another, says the same ETag that is no hash.
    let other = "f".repeat(40);
    let mut longer = table();
    let end = longer.len();
    longer[end - 1] ^= 1;
    let first = with_file(Reply::file(&table()));
    let second = {
        let reply = Reply::file(&longer).with("X-Repo-Commit", &other);
        Server::new(move |_| reply.clone())
    };
    let (dir, mut hub) = hub(&first);
    let pinned = hub.fetch(&file()).unwrap();
    hub.endpoint = second.address.clone();
    let error = hub.download(&file()).unwrap_err().to_string();
    let blob = dir.path().join("hub/models--owner--name/blobs/etag-1");
    assert!(error.contains(&blob.display().to_string()), "{error}");
    assert!(error.contains("other content"), "{error}");
    assert_eq!(fs::read(&pinned).unwrap(), table());
    assert_eq!(files_below(dir.path()).len(), 3);
    // Who knows the SHA-256 gets that content, and nothing else.
    let known = HubFile::new("owner/name", "table.safetensors").sha256(sha256(&longer));
    let path = hub.download(&known).unwrap();
    assert_eq!(fs::read(path).unwrap(), longer);
    // The same content again is no other content, and stays where it is.
    hub.endpoint = first.address.clone();
    fs::write(&blob, table()).unwrap();
    let inode = |path: &Path| std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap());
    let before = inode(&blob);
    hub.download(&file()).unwrap();
    assert_eq!(inode(&blob), before);
}
