//! Putting a file in place.

use super::*;
use crate::again;

#[test]
fn failed_save_leaves_the_old_file_and_no_temporary() {
    let (dir, path) = temp();
    fs::write(&path, "old").unwrap();
    let table = exact(16, 4, DType::F32);
    checkpoint::save(&path, &table, &spec(16, 5)).unwrap_err();
    assert_eq!(fs::read(&path).unwrap(), b"old");

    let missing = dir.path().join("missing").join("table.safetensors");
    let error = checkpoint::save(&missing, &table, &spec(16, 4))
        .unwrap_err()
        .to_string();
    assert!(error.contains("missing"), "{error}");

    let directory = dir.path().join("directory");
    fs::create_dir(&directory).unwrap();
    let error = checkpoint::save(&directory, &table, &spec(16, 4))
        .unwrap_err()
        .to_string();
    assert!(error.contains("is a directory"), "{error}");
    assert_holds(&directory, &[]);

    let below_a_file = path.join("table.safetensors");
    checkpoint::save(&below_a_file, &table, &spec(16, 4)).unwrap_err();

    for nothing in ["", ".", "..", "/"] {
        let error = checkpoint::save(nothing, &table, &spec(16, 4))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("not the name of a file"),
            "{nothing}: {error}"
        );
    }
    let slash = format!("{}/new/", dir.path().display());
    let error = checkpoint::save(slash, &table, &spec(16, 4))
        .unwrap_err()
        .to_string();
    assert!(error.contains("not the name of a file"), "{error}");

    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_holds(dir.path(), &["directory", "table.safetensors"]);
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::process::Command;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn new_file_has_the_mode_of_any_new_file() {
        let (dir, path) = temp();
        let other = dir.path().join("other");
        fs::write(&other, "").unwrap();
        checkpoint::export(&path, &spec(8, 2)).unwrap();
        assert_eq!(mode(&path), mode(&other));
    }

    #[test]
    fn replaced_file_keeps_its_mode() {
        let (_dir, path) = temp();
        for kept in [0o600, 0o640, 0o666, 0o755] {
            fs::write(&path, "old").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(kept)).unwrap();
            checkpoint::export(&path, &spec(8, 2)).unwrap();
            assert_eq!(mode(&path), kept);
            assert!(checkpoint::load(&path, &Device::Cpu).is_ok());
        }
    }

    #[test]
    fn umask_of_another_process_is_kept() {
        // The umask belongs to the process, so the test runs itself again.
        const CHILD: &str = "PE_TEST_UMASK_CHILD";
        if let Ok(path) = std::env::var(CHILD) {
            checkpoint::export(path, &spec(8, 2)).unwrap();
            return;
        }
        for (umask, expected) in [("077", 0o600), ("027", 0o640), ("000", 0o666)] {
            let (_dir, path) = temp();
            let status = Command::new("sh")
                .args(["-c", "umask $0; exec \"$1\" --exact \"$2\""])
                .arg(umask)
                .arg(std::env::current_exe().unwrap())
                .arg("replace::unix::umask_of_another_process_is_kept")
                .env(CHILD, &path)
                .stdout(std::process::Stdio::null())
                .status()
                .unwrap();
            assert!(status.success());
            assert_eq!(mode(&path), expected, "umask {umask}");
        }
    }

    #[test]
    fn symbolic_link_stays_and_its_target_is_written() {
        let (dir, path) = temp();
        let sub = dir.path().join("sub");
        fs::create_dir(&sub).unwrap();
        fs::write(sub.join("real"), "old").unwrap();
        // Relative to the link's own directory, through a second link.
        symlink("sub/second", &path).unwrap();
        symlink("real", sub.join("second")).unwrap();
        checkpoint::export(&path, &spec(8, 2)).unwrap();
        assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
        assert!(
            fs::symlink_metadata(sub.join("second"))
                .unwrap()
                .is_symlink()
        );
        assert!(checkpoint::load(sub.join("real"), &Device::Cpu).is_ok());
        assert_holds(&sub, &["real", "second"]);

        // A link to a file that does not exist yet.
        fs::remove_file(sub.join("real")).unwrap();
        checkpoint::export(&path, &spec(8, 2)).unwrap();
        assert!(checkpoint::load(sub.join("real"), &Device::Cpu).is_ok());

        // Links in a circle, and a link to a directory.
        let circle = dir.path().join("circle");
        symlink("circle", &circle).unwrap();
        let error = checkpoint::export(&circle, &spec(8, 2))
            .unwrap_err()
            .to_string();
        assert!(error.contains("too many symbolic links"), "{error}");
        let to_directory = dir.path().join("to-directory");
        symlink("sub", &to_directory).unwrap();
        let error = checkpoint::export(&to_directory, &spec(8, 2))
            .unwrap_err()
            .to_string();
        assert!(error.contains("is a directory"), "{error}");
        assert_holds(
            dir.path(),
            &["circle", "sub", "table.safetensors", "to-directory"],
        );
    }

    #[test]
    fn devices_and_pipes_are_neither_replaced_nor_read() {
        let (dir, pipe) = temp();
        assert!(
            Command::new("mkfifo")
                .arg(&pipe)
                .status()
                .unwrap()
                .success()
        );
        let link = dir.path().join("link");
        symlink("/dev/null", &link).unwrap();
        for special in [Path::new("/dev/null"), &pipe, &link] {
            let before = fs::metadata(special).unwrap().ino();
            let error = checkpoint::export(special, &spec(8, 2))
                .unwrap_err()
                .to_string();
            assert!(error.contains("not a regular file"), "{error}");
            assert_eq!(fs::metadata(special).unwrap().ino(), before);
            let error = load_error(special);
            assert!(error.contains("not a regular file"), "{error}");
        }
        assert_holds(dir.path(), &["link", "table.safetensors"]);
        assert!(load_error(dir.path()).contains("not a regular file"));
    }

    #[test]
    fn errors_name_the_file_and_not_the_temporary_one() {
        // Where files have names, but none can be made: /proc.
        if Path::new("/proc/self/fd").is_dir() {
            let error = checkpoint::export("/proc/self/fd/table", &spec(8, 2))
                .unwrap_err()
                .to_string();
            assert!(
                error.starts_with("/proc/self/fd/table: no file can be made in /proc/self/fd: "),
                "{error}"
            );
            assert!(!error.contains(".pe-"), "{error}");
        }
        // A link to a pipe that has no name, as /dev/stdout may be.
        const CHILD: &str = "PE_TEST_PIPE_CHILD";
        if std::env::var_os(CHILD).is_some() {
            let error = checkpoint::export("/dev/stdout", &spec(8, 2))
                .unwrap_err()
                .to_string();
            assert!(
                error.starts_with("/dev/stdout: is not a regular file"),
                "{error}"
            );
            assert!(!error.contains(".pe-"), "{error}");
            return;
        }
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture"])
            .arg("replace::unix::errors_name_the_file_and_not_the_temporary_one")
            .env(CHILD, "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("1 passed"), "{text}");
    }

    #[test]
    fn reader_that_has_the_old_file_open_keeps_it() {
        use std::io::Read;
        let (_dir, path) = temp();
        fs::write(&path, "old").unwrap();
        let mut old = fs::File::open(&path).unwrap();
        checkpoint::export(&path, &spec(8, 2)).unwrap();
        let mut content = String::new();
        old.read_to_string(&mut content).unwrap();
        assert_eq!(content, "old");
    }
}

#[test]
fn writers_at_once_leave_one_whole_result() {
    let (dir, path) = temp();
    std::thread::scope(|scope| {
        for rows in 1..=8 {
            let path = &path;
            scope.spawn(move || {
                for _ in 0..20 {
                    checkpoint::export(path, &spec(64, rows * 10)).unwrap();
                    checkpoint::load(path, &Device::Cpu).unwrap();
                }
            });
        }
    });
    assert_holds(dir.path(), &["table.safetensors"]);
}

/// A name without a directory is one in the working directory, which a process of its own has.
#[test]
fn name_alone_is_one_in_the_working_directory() {
    const NAME: &str = "replace::name_alone_is_one_in_the_working_directory";
    if again::given().is_some() {
        checkpoint::save("table.safetensors", &exact(8, 4, DType::F32), &spec(8, 4)).unwrap();
        return;
    }
    let (dir, _) = temp();
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", NAME]).current_dir(dir.path());
    again::passes(&mut command, "1");
    let loaded = checkpoint::load(dir.path().join("table.safetensors"), &Device::Cpu).unwrap();
    assert_eq!(loaded.table.dims(), [4, 8]);
}

/// Errors of the system are passed on unchanged.
#[cfg(unix)]
#[test]
fn place_below_a_file_is_not_a_directory() {
    let (dir, path) = temp();
    fs::write(&path, "a file").unwrap();
    let error = checkpoint::replace(&path.join("below"), |file| file.write_all(b"x")).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotADirectory);
    assert!(error.raw_os_error().is_some(), "{error}");
    let missing = dir.path().join("missing").join("file");
    let error = checkpoint::replace(&missing, |file| file.write_all(b"x")).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    assert!(error.raw_os_error().is_some(), "{error}");
    assert_holds(dir.path(), &[path.file_name().unwrap().to_str().unwrap()]);
}

/// A directory that may be written but not read cannot be synced, and is no less good for that.
#[cfg(unix)]
#[test]
fn directory_that_may_not_be_read_takes_files() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    const NAME: &str = "replace::directory_that_may_not_be_read_takes_files";
    let (dir, path) = temp();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o300)).unwrap();
    if fs::read_dir(dir.path()).is_ok() {
        // Whoever may read anything may also be another.
        again::passes_without_rights(NAME, dir.path());
        return;
    }
    checkpoint::replace(&path, |file| file.write_all(b"whole")).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().size(), 5);
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"whole");
}
