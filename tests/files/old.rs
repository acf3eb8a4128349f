//! Files that an earlier version wrote (tests/golden/files).

use pe_candle::checkpoint::{RotaryTables, Scheme};

use super::*;

/// An f64 table with a derived attention factor that was rounded before the product.
const ROUNDED_FACTOR: &str = "rotary-yarn-f64.safetensors";

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
    assert_eq!(names.len(), 9, "{names:?}");
    names.retain(|name| name != ROUNDED_FACTOR);
    for name in names {
        let old = folder().join(&name);
        match name.starts_with("rotary") {
            true => written_again::<RotaryTables>(&old, &new),
            false => written_again::<Sinusoidal>(&old, &new),
        }
        assert!(fs::read(&new).unwrap() == fs::read(&old).unwrap(), "{name}");
    }
}

/// Its entries are up to an ulp from those of today. It loads unverified, with its entries as they are;
/// verified, the difference is reported.
#[test]
fn f64_tables_with_a_rounded_attention_factor_load_unverified() {
    let (_dir, new) = temp();
    let old = folder().join(ROUNDED_FACTOR);
    let Err(error) = checkpoint::load_as::<RotaryTables>(&old, &Device::Cpu) else {
        panic!("verified");
    };
    let error = error.to_string();
    assert!(
        error.contains("entries are wrong") && error.contains("(1 ulp apart)"),
        "{error}"
    );
    let options = LoadOptions::<RotaryTables> {
        verify: Verify::None,
        ..LoadOptions::default()
    };
    let loaded = options.load_as(&old).unwrap();
    let spec = loaded.spec.unwrap();
    let comparison = checkpoint::compare(&old, &spec).unwrap();
    assert_eq!((comparison.entries, comparison.max_ulps), (1032, 1));
    assert!(comparison.wrong > 0);
    checkpoint::export(&new, &spec).unwrap();
    let today = checkpoint::load_as::<RotaryTables>(&new, &Device::Cpu).unwrap();
    assert_ne!(bits(&loaded.table.cos), bits(&today.table.cos));
    assert_eq!(bits(&loaded.table.inv_freq), bits(&today.table.inv_freq));
}
