//! Files that an earlier version wrote (tests/golden/files).

use pe_candle::checkpoint::{RotaryTables, Scheme};

use super::*;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/files")
}

/// Loads a file, with every entry compared, and writes it again.
fn written_again<S: Scheme>(old: &Path, new: &Path) {
    let loaded = checkpoint::load_as::<S>(old, &Device::Cpu).unwrap();
    checkpoint::export(new, &loaded.spec.unwrap()).unwrap();
}

#[test]
fn files_of_an_earlier_version_load_and_are_written_again_byte_for_byte() {
    let (_dir, new) = temp();
    let mut names: Vec<String> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names.len(), 8, "{names:?}");
    for name in names {
        let old = folder().join(&name);
        match name.starts_with("rotary") {
            true => written_again::<RotaryTables>(&old, &new),
            false => written_again::<Sinusoidal>(&old, &new),
        }
        assert!(fs::read(&new).unwrap() == fs::read(&old).unwrap(), "{name}");
    }
}
