//! Writers that are killed, or find no room: the file is the old one or the new one, and nothing
//! lies next to it.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::*;

/// Runs one test of this binary as a process of its own. `PLACE` names its file.
const PLACE: &str = "PE_TEST_INTERRUPTED";

/// The test's own name, as this binary knows it.
fn named(test: &str) -> String {
    format!("interrupted::{test}")
}

fn command(program: &str, before: &[&str], test: &str, path: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .args(before)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", "--test-threads=1", &named(test)])
        .env(PLACE, path)
        .env_remove("RUST_BACKTRACE")
        .stdin(Stdio::null());
    command
}

/// Rows of the large table: 12 MiB, many blocks of a writer.
const LARGE: usize = 3072;

/// Two large tables of the same size, of different positions.
fn large(start: u64) -> SinusoidalSpec {
    spec_of(1024, start, LARGE, DType::F32)
}

/// The file is one of those it may be.
fn is_one_of(path: &Path, may_be: &[Vec<u8>]) -> Option<usize> {
    let found = fs::read(path).unwrap();
    may_be.iter().position(|whole| *whole == found)
}

/// A child that writes until it is killed; it has said that it begins.
fn writer(test: &str, path: &Path) -> Child {
    let mut child = command("env", &[], test, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("writing") {
        line.clear();
        assert_ne!(lines.read_line(&mut line).unwrap(), 0, "the child ended");
    }
    child
}

#[test]
fn writer_killed_at_any_time_leaves_a_complete_file_and_nothing_else() {
    const KILLS: usize = 40;
    if let Some(path) = std::env::var_os(PLACE) {
        println!("writing");
        // Either of them first: both are found, also where few children get to a second file.
        let starts = [0, LARGE as u64].into_iter().cycle();
        for start in starts.skip(std::process::id() as usize % 2) {
            checkpoint::export(&path, &large(start)).unwrap();
        }
    }
    let (dir, path) = temp();
    let begin = Instant::now();
    let may_be = [0, LARGE as u64].map(|start| {
        checkpoint::export(&path, &large(start)).unwrap();
        fs::read(&path).unwrap()
    });
    // About what two files take, whatever else the machine does.
    let span = begin.elapsed().as_micros() as u64;
    let mut found = [0; 2];
    let mut left = 0;
    for kill in 0..KILLS as u64 {
        let mut child = writer(
            "writer_killed_at_any_time_leaves_a_complete_file_and_nothing_else",
            &path,
        );
        // Without a pattern.
        let wait = kill.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        std::thread::sleep(Duration::from_micros(wait % span));
        child.kill().unwrap();
        child.wait().unwrap();
        let Some(which) = is_one_of(&path, &may_be) else {
            panic!("kill {kill} left part of a file");
        };
        found[which] += 1;
        // Between the complete file's own name and the name it is to have lies a system call.
        left += fs::read_dir(dir.path()).unwrap().count() - 1;
    }
    println!("{KILLS} kills: {found:?}, {left} files left");
    // Some came before a file was there, some after.
    assert!(found.iter().all(|count| *count > 0), "{found:?}");
    #[cfg(target_os = "linux")]
    assert!(left <= 2, "{left} files were left");
    checkpoint::load(&path, &Device::Cpu).unwrap();
}

/// Runs the test's other half under a limit on the size of files, as `ulimit -f` counts it.
fn limited(script: &str, test: &str, path: &Path) -> (Option<i32>, String) {
    let output = command("sh", &["-c", script], test, path).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code(), text)
}

#[test]
fn limit_on_the_size_of_files_leaves_the_old_one() {
    let name = "limit_on_the_size_of_files_leaves_the_old_one";
    if let Some(path) = std::env::var_os(PLACE) {
        let error = checkpoint::export(&path, &large(0)).unwrap_err();
        println!("refused: {error}");
        return;
    }
    let (dir, path) = temp();
    checkpoint::export(&path, &spec(8, 2)).unwrap();
    let old = fs::read(&path).unwrap();
    // Programs that ignore the signal get an error.
    let script = "ulimit -f 1024; trap '' XFSZ; exec \"$0\" \"$@\"";
    let (code, text) = limited(script, name, &path);
    assert_eq!(code, Some(0), "{text}");
    let expected = format!("refused: {}: ", path.display());
    assert!(
        text.contains(&expected) && text.contains("File too large"),
        "{text}"
    );
    assert_eq!(fs::read(&path).unwrap(), old);
    assert_holds(dir.path(), &["table.safetensors"]);
    // Those that do not are killed by it.
    let (code, _) = limited("ulimit -f 1024; exec \"$0\" \"$@\"", name, &path);
    assert_ne!(code, Some(0));
    assert_eq!(fs::read(&path).unwrap(), old);
    #[cfg(target_os = "linux")]
    assert_holds(dir.path(), &["table.safetensors"]);
}

#[cfg(target_os = "linux")]
#[test]
fn full_disk_leaves_the_old_file() {
    let name = "full_disk_leaves_the_old_file";
    if let Some(path) = std::env::var_os(PLACE) {
        let path = Path::new(&path);
        checkpoint::export(path, &spec(8, 2)).unwrap();
        let old = fs::read(path).unwrap();
        for _ in 0..3 {
            let error = checkpoint::export(path, &large(0)).unwrap_err().to_string();
            assert!(error.contains("No space left on device"), "{error}");
            assert!(error.starts_with(path.to_str().unwrap()), "{error}");
            assert_eq!(fs::read(path).unwrap(), old);
            assert_holds(path.parent().unwrap(), &["table.safetensors"]);
        }
        // What was taken is free again.
        checkpoint::export(path, &spec(256, 100)).unwrap();
        println!("refused");
        return;
    }
    // A disk of one megabyte, in a world of its own.
    let (dir, path) = temp();
    let folder = dir.path().to_str().unwrap();
    let script =
        format!("mount -t tmpfs -o size=1m none '{folder}' || exit 77; exec \"$0\" \"$@\"");
    let before = ["-rm", "sh", "-c", &script];
    let output = match command("unshare", &before, name, &path).output() {
        Ok(output) if output.status.code() != Some(77) => output,
        _ => {
            println!("not tested: no small disk can be made here");
            return;
        }
    };
    let text = String::from_utf8_lossy(&output.stdout);
    if !text.contains("running 1 test") {
        println!("not tested: no small disk can be made here");
        return;
    }
    assert!(
        output.status.success() && text.contains("refused"),
        "{output:?}"
    );
}

/// The names in a folder of what is being written there.
fn drafts(folder: &Path) -> Vec<std::path::PathBuf> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let draft = |name: &str| name.starts_with(".pe-") && name.ends_with(".tmp");
    names
        .filter(|entry| draft(entry.file_name().to_str().unwrap()))
        .map(|entry| entry.path())
        .collect()
}

/// Without `/proc` no file can be given a name later, so it has one while it is written, as on
/// file systems without `O_TMPFILE`.
#[cfg(target_os = "linux")]
#[test]
fn file_that_needs_a_name_loses_it_by_errors_and_is_known_by_it_after_a_kill() {
    let name = "file_that_needs_a_name_loses_it_by_errors_and_is_known_by_it_after_a_kill";
    if let Some(path) = std::env::var_os(PLACE) {
        let path = Path::new(&path);
        let folder = path.parent().unwrap();
        checkpoint::export(path, &spec(8, 2)).unwrap();
        let old = fs::read(path).unwrap();
        for panics in [false, true] {
            let write = || {
                checkpoint::replace(path, |out| {
                    out.write_all(&[0; 1 << 16])?;
                    // It is this way of writing that is looked at.
                    assert_eq!(drafts(folder).len(), 1);
                    match panics {
                        true => panic!("on purpose"),
                        false => Err(std::io::Error::other("on purpose")),
                    }
                })
            };
            let ended = std::panic::catch_unwind(write);
            assert_eq!(ended.is_err(), panics);
            assert!(ended.is_err() || ended.unwrap().is_err());
            assert_eq!(fs::read(path).unwrap(), old);
            assert_holds(folder, &["table.safetensors"]);
        }
        checkpoint::export(path, &spec(8, 3)).unwrap();
        checkpoint::load(path, &Device::Cpu).unwrap();
        assert_holds(folder, &["table.safetensors"]);
        println!("writing");
        checkpoint::replace(path, |out| {
            out.write_all(&[0; 1 << 16])?;
            println!("begun");
            std::thread::sleep(Duration::from_secs(60));
            Ok(())
        })
        .unwrap();
    }
    let (dir, path) = temp();
    let script = "mount -t tmpfs none /proc || exit 77; exec \"$0\" \"$@\"";
    let mut child = command("unshare", &["-rm", "sh", "-c", script], name, &path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let text: Vec<String> = lines
        .map_while(Result::ok)
        .take_while(|l| l != "begun")
        .collect();
    child.kill().unwrap();
    child.wait().unwrap();
    if !text.iter().any(|line| line.contains("running 1 test")) {
        println!("not tested: /proc cannot be hidden here");
        return;
    }
    assert!(
        text.iter().any(|line| line.ends_with("writing")),
        "{text:?}"
    );
    // The old file is whole; what was to replace it is known by its name.
    let old = fs::read(&path).unwrap();
    checkpoint::load(&path, &Device::Cpu).unwrap();
    let left = drafts(dir.path());
    assert_eq!(left.len(), 1);
    checkpoint::export(&path, &spec(8, 4)).unwrap();
    assert_ne!(fs::read(&path).unwrap(), old);
    fs::remove_file(&left[0]).unwrap();
    assert_holds(dir.path(), &["table.safetensors"]);
}

#[test]
fn thousand_saves_of_a_table_are_one_file() {
    let (dir, path) = temp();
    let table = exact(16, 10, DType::F32);
    let spec = spec(16, 10);
    checkpoint::save(&path, &table, &spec).unwrap();
    let first = fs::read(&path).unwrap();
    for save in 0..1000 {
        match save % 2 {
            0 => checkpoint::save(&path, &table, &spec).unwrap(),
            _ => checkpoint::export(&path, &spec).unwrap(),
        }
        assert!(fs::read(&path).unwrap() == first, "save {save}");
    }
    assert_holds(dir.path(), &["table.safetensors"]);
}

#[test]
fn programs_at_once_leave_one_complete_result_for_every_reader() {
    let name = "programs_at_once_leave_one_complete_result_for_every_reader";
    if let Some(path) = std::env::var_os(PLACE) {
        println!("writing");
        let start = std::process::id() as u64 % 2 * 100;
        loop {
            checkpoint::export(&path, &spec_of(256, start, 500, DType::F32)).unwrap();
        }
    }
    let (dir, path) = temp();
    let may_be = [0, 100].map(|start| {
        checkpoint::export(&path, &spec_of(256, start, 500, DType::F32)).unwrap();
        fs::read(&path).unwrap()
    });
    let mut children = [writer(name, &path), writer(name, &path)];
    let end = Instant::now() + Duration::from_millis(1500);
    let mut reads = 0;
    while Instant::now() < end {
        assert!(is_one_of(&path, &may_be).is_some());
        reads += 1;
    }
    for child in &mut children {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(reads > 10, "{reads}");
    checkpoint::load(&path, &Device::Cpu).unwrap();
    assert!(fs::read_dir(dir.path()).unwrap().count() <= 3);
}

#[test]
fn hard_links_of_the_old_file_keep_the_old_content() {
    let (dir, path) = temp();
    fs::write(&path, "old").unwrap();
    let other = dir.path().join("other");
    fs::hard_link(&path, &other).unwrap();
    checkpoint::export(&path, &spec(8, 2)).unwrap();
    assert_eq!(fs::read(&other).unwrap(), b"old");
    checkpoint::load(&path, &Device::Cpu).unwrap();
}

#[test]
fn replaced_file_stays_its_owners() {
    use std::os::unix::fs::{MetadataExt, chown};
    let (_dir, path) = temp();
    fs::write(&path, "old").unwrap();
    if chown(&path, Some(1234), Some(1234)).is_err() {
        println!("not tested: this user may not give files away");
        return;
    }
    checkpoint::export(&path, &spec(8, 2)).unwrap();
    let metadata = fs::metadata(&path).unwrap();
    assert_eq!((metadata.uid(), metadata.gid()), (1234, 1234));
}

#[test]
fn reader_never_sees_a_file_of_no_bytes() {
    // Between the old file and the new there is no moment without one.
    let (_dir, path) = temp();
    checkpoint::export(&path, &spec(8, 2)).unwrap();
    let whole = fs::metadata(&path).unwrap().len();
    std::thread::scope(|scope| {
        let written = scope.spawn(|| {
            for _ in 0..100 {
                checkpoint::export(&path, &spec(8, 2)).unwrap();
            }
        });
        while !written.is_finished() {
            let mut bytes = Vec::new();
            let mut file = fs::File::open(&path).unwrap();
            file.read_to_end(&mut bytes).unwrap();
            assert_eq!(bytes.len() as u64, whole);
        }
    });
}
