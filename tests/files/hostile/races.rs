//! Files that change while they are read.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

#[test]
fn file_truncated_while_it_is_read_is_an_error() {
    let (_dir, path) = temp();
    let spec = spec(256, 4096);
    checkpoint::export(&path, &spec).unwrap();
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    let whole = file.metadata().unwrap().len();
    let done = AtomicBool::new(false);
    let (mut read, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                // Never what it was: what is cut off comes back as zeros.
                file.set_len(whole / 2).unwrap();
                file.set_len(whole).unwrap();
                std::thread::yield_now();
            }
        });
        for _ in 0..100 {
            match checkpoint::load(&path, &Device::Cpu) {
                Ok(_) => read += 1,
                Err(error) => {
                    let error = error.to_string();
                    assert!(error.starts_with(path.to_str().unwrap()), "{error}");
                    refused += 1;
                }
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(refused > 0, "{read} {refused}");
}

#[cfg(unix)]
#[test]
fn pipe_put_in_the_place_of_a_file_does_not_hold_the_reader() {
    // Whenever the exchange happens, before the look at the file or after it, reading ends.
    let (dir, path) = temp();
    let (real, pipe) = (dir.path().join("real"), dir.path().join("pipe"));
    checkpoint::export(&real, &spec(8, 2)).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let link = dir.path().join("link");
            while !done.load(Ordering::Relaxed) {
                for target in [&real, &pipe] {
                    std::os::unix::fs::symlink(target, &link).unwrap();
                    fs::rename(&link, &path).unwrap();
                }
            }
        });
        while fs::symlink_metadata(&path).is_err() {
            std::thread::yield_now();
        }
        for _ in 0..2000 {
            if let Err(error) = checkpoint::load(&path, &Device::Cpu) {
                let error = error.to_string();
                assert!(error.contains("not a regular file"), "{error}");
            }
        }
        done.store(true, Ordering::Relaxed);
    });
}
