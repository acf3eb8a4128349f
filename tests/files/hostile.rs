//! Files made to do harm: every one is rejected with a message that names the file, the tensor
//! where there is one, and the reason, on one line that a terminal can be shown; and none makes
//! the reader take more memory than there are bytes in the file, and a constant.

pub(super) mod bad;
mod content;
mod flips;
mod headers;
mod memory;
mod races;
mod table;

use pe_core::text::is_invisible;

use super::*;
use bad::Bad;

/// Every hand-made file.
fn all() -> Vec<Bad> {
    [
        headers::all(),
        content::all(),
        table::all(),
        table::rotary_tensors(),
    ]
    .concat()
}

#[test]
fn hostile_files_are_rejected_with_their_reason() {
    let (dir, path) = temp();
    let mut classes: Vec<&str> = Vec::new();
    let (bad, mut missing) = (all(), Vec::new());
    for (at, file) in bad.iter().enumerate() {
        fs::write(&path, &file.bytes).unwrap();
        let error = file.refusal(&path);
        let about = format!("{} {at}: {}\n{error}", file.class, file.shown());
        let name = format!("{}: ", path.display());
        assert!(error.starts_with(&name), "{about}");
        for part in &file.says {
            if !error.contains(part) {
                missing.push(format!("{about}\n{part}\n"));
            }
        }
        assert!(!error.contains(is_invisible), "{about}");
        assert!(error.len() < 2000 + name.len(), "{about}");
        // The other ways into a file do not panic either.
        let _ = checkpoint::inspect(&path);
        let _ = checkpoint::load(&path, &Device::Cpu);
        let _ = checkpoint::load_as::<checkpoint::RotaryTables>(&path, &Device::Cpu);
        let _ = checkpoint::compare(&path, &spec(4, 2));
        if !classes.contains(&file.class) {
            classes.push(file.class);
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    // The figures of DESIGN.md.
    assert_eq!((bad.len(), classes.len()), (436, 27), "{classes:?}");
    assert_holds(dir.path(), &["table.safetensors"]);
}

#[test]
fn file_that_begins_anywhere_in_memory_is_read() {
    // Headers of any length: the entries are at any address modulo eight.
    let (_dir, path) = temp();
    for padding in 0..16 {
        let header = format!(
            r#"{{"pe":{{"dtype":"F32","shape":[1,4],"data_offsets":[0,16]}}}}{}"#,
            " ".repeat(padding)
        );
        let row: Vec<u8> = [0f32, 1.0, 0.0, 1.0].map(f32::to_le_bytes).concat();
        fs::write(&path, raw(&header, &row)).unwrap();
        let loaded = checkpoint::load(&path, &Device::Cpu).unwrap();
        assert_eq!(bits(&loaded.table), [0.0, 1.0, 0.0, 1.0]);
    }
}
