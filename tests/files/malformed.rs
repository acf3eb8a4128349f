//! Limits of reading. Malformed files are in `hostile/refused.txt`.

use super::*;
use crate::again;
use pe_core::MAX_D_MODEL;

#[test]
fn missing_files_are_named() {
    let (_dir, path) = temp();
    assert!(load_error(&path.with_extension("missing")).contains("table.missing: "));
}

#[test]
fn headers_accepted_here_are_accepted_by_the_safetensors_crate() {
    // Random edits of a good file: whatever passes here passes there, with the same tensors.
    let (_dir, path) = temp();
    let a = exact(8, 2, DType::F32);
    let b = exact(4, 3, DType::F16);
    let good = foreign(&[("a", &a), ("b", &b)]);
    let header = 8 + u64::from_le_bytes(good[..8].try_into().unwrap()) as usize;
    let mut state = 12345u64;
    let mut next = |below: usize| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    let alphabet = b"0123456789{}[],:\"FU-. ab";
    let mut accepted = 0;
    for _ in 0..3000 {
        let mut bytes = good.clone();
        for _ in 0..=next(2) {
            bytes[8 + next(header - 8)] = alphabet[next(alphabet.len())];
        }
        fs::write(&path, &bytes).unwrap();
        if let Ok(report) = checkpoint::inspect(&path) {
            accepted += 1;
            let theirs = safetensors::SafeTensors::deserialize(&bytes).unwrap();
            assert_eq!(theirs.len(), report.tensors.len());
            for tensor in &report.tensors {
                let other = theirs.tensor(&tensor.name).unwrap();
                assert_eq!(other.shape(), tensor.shape);
                assert_eq!(other.data().len() as u64, tensor.bytes);
            }
        }
    }
    assert_eq!(accepted, 70);
}

#[test]
fn limits_are_kept() {
    let (_dir, path) = temp();
    checkpoint::export(&path, &spec(8, 2)).unwrap();
    let size = fs::metadata(&path).unwrap().len();
    let with = |limits| {
        LoadOptions {
            limits,
            ..LoadOptions::default()
        }
        .load(&path)
    };
    let limits = Limits::default();
    with(Limits {
        file_bytes: size,
        table_bytes: 64,
        ..limits
    })
    .unwrap();
    let error = with(Limits {
        file_bytes: size - 1,
        ..limits
    })
    .unwrap_err()
    .to_string();
    assert!(
        error.contains(&format!(
            "has {size} bytes, above the limit of {}",
            size - 1
        )),
        "{error}"
    );
    let error = with(Limits {
        table_bytes: 63,
        ..limits
    })
    .unwrap_err()
    .to_string();
    assert!(
        error.contains("tensor \"pe\": 64 bytes, above the limit of 63"),
        "{error}"
    );
    let error = with(Limits {
        header_bytes: 10,
        ..limits
    })
    .unwrap_err()
    .to_string();
    assert!(error.contains("above the limit of 10"), "{error}");
}

#[test]
fn table_in_a_file_larger_than_memory_limits_is_read_alone() {
    // A sparse file of 64 GiB: only the header and the table are read.
    let (_dir, path) = temp();
    let big = 1u64 << 36;
    let header = format!(
        r#"{{"pe":{{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}},"weights":{{"dtype":"U8","shape":[{big}],"data_offsets":[8,{}]}}}}"#,
        big + 8
    );
    fs::write(&path, raw(&header, &[0; 8])).unwrap();
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    if file.set_len(16 + header.len() as u64 + big).is_err() {
        return; // a file system without sparse files
    }
    assert_eq!(
        checkpoint::load(&path, &Device::Cpu).unwrap().table.dims(),
        [1, 2]
    );
    assert_eq!(checkpoint::inspect(&path).unwrap().tensors.len(), 2);
    let options = LoadOptions {
        tensor_names: vec!["weights".to_owned()],
        ..LoadOptions::default()
    };
    options.load(&path).unwrap_err();
}

/// The limit itself is allowed, one byte less is not enough.
#[test]
fn headers_up_to_their_limit_are_read() {
    let (_dir, path) = temp();
    fs::write(&path, foreign(&[("pe", &exact(8, 4, DType::F32))])).unwrap();
    let length = u64::from_le_bytes(fs::read(&path).unwrap()[..8].try_into().unwrap());
    let load = |header_bytes| {
        let limits = Limits {
            header_bytes,
            ..Limits::default()
        };
        let options = LoadOptions {
            limits,
            ..LoadOptions::default()
        };
        options.load(&path).map_err(|error| error.to_string())
    };
    assert_eq!(load(length).unwrap().table.dims(), [4, 8]);
    let error = load(length - 1).unwrap_err();
    let limit = format!("above the limit of {}", length - 1);
    assert!(error.contains(&limit), "{error}");
}

/// The widest table there may be; and one column more.
#[test]
fn widths_up_to_their_limit_are_read() {
    let (_dir, path) = temp();
    for width in [MAX_D_MODEL, MAX_D_MODEL + 1] {
        let table = Tensor::zeros((1, width), DType::BF16, &Device::Cpu).unwrap();
        fs::write(&path, foreign(&[("pe", &table)])).unwrap();
        if width == MAX_D_MODEL {
            let loaded = checkpoint::load(&path, &Device::Cpu).unwrap();
            assert_eq!(loaded.table.dims(), [1, width]);
        } else {
            let error = load_error(&path);
            let outside = format!("the width {width} is outside 1..={MAX_D_MODEL}");
            assert!(error.contains(&outside), "{error}");
        }
    }
}

/// The tensors of a file are listed, up to sixteen.
#[test]
fn tensors_in_place_of_the_table_are_listed() {
    let (_dir, path) = temp();
    let vector = Tensor::zeros(3, DType::F32, &Device::Cpu).unwrap();
    for count in [0, 1, 16, 17, 20] {
        let names: Vec<String> = (0..count).map(|n| format!("t{n:02}")).collect();
        let tensors: Vec<_> = names.iter().map(|name| (name.as_str(), &vector)).collect();
        fs::write(&path, foreign(&tensors)).unwrap();
        let error = load_error(&path);
        for name in names.iter().take(16) {
            assert!(error.contains(name.as_str()), "{error}");
        }
        let more = format!("and {} more", count.max(16) - 16);
        assert_eq!(error.contains(" more"), count > 16, "{error}");
        assert_eq!(error.contains(&more), count > 16, "{error}");
        assert_eq!(error.contains("no tensors"), count == 0, "{error}");
    }
}

/// A table without memory for it is an error and not an abort: 3 GiB of zeros that take no
/// place on the disk, read by a process that may have 2 GiB.
#[cfg(target_os = "linux")]
#[test]
fn table_larger_than_memory_is_an_error() {
    const NAME: &str = "malformed::table_larger_than_memory_is_an_error";
    if let Some(path) = again::given() {
        let error = load_error(Path::new(&path));
        assert!(
            error.contains("no memory for 805306368 elements of 4 bytes"),
            "{error}"
        );
        return;
    }
    let (_dir, path) = temp();
    let bytes = 3u64 << 30;
    let header =
        format!(r#"{{"pe":{{"dtype":"F32","shape":[786432,1024],"data_offsets":[0,{bytes}]}}}}"#);
    let start = raw(&header, &[]);
    fs::write(&path, &start).unwrap();
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(start.len() as u64 + bytes).unwrap();
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", "ulimit -v 2097152 && exec \"$0\" --exact \"$1\""])
        .arg(std::env::current_exe().unwrap())
        .arg(NAME);
    again::passes(&mut command, &path);
}
