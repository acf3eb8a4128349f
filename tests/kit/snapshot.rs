//! Texts of the program that are kept as files.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Compares the texts with the files of a folder of `tests`, one each and no other. With `UPDATE_SNAPSHOTS=1` writes them.
pub fn assert_texts(folder: &str, texts: &[(String, String)]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let file = |name: &str| folder.join(name).with_extension("txt");
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in texts {
            fs::write(file(name), text).unwrap();
        }
    }
    for (name, text) in texts {
        let path = file(name);
        let kept = fs::read_to_string(&path).unwrap_or_default();
        let kept = kept.replace("\r\n", "\n");
        let mut lines = kept.lines().zip(text.lines()).enumerate();
        let differ = lines.find(|(_, (kept, new))| kept != new);
        assert!(
            kept == *text,
            "{} is another text, from {differ:?} on. If the new one is right: UPDATE_SNAPSHOTS=1 \
             cargo test -p pe-tests --test program snapshots",
            path.display()
        );
    }
    let wanted: BTreeSet<PathBuf> = texts.iter().map(|(name, _)| file(name)).collect();
    let entries = fs::read_dir(&folder).unwrap();
    let found: BTreeSet<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(found, wanted);
}
