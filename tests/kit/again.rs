//! A test run once more, in a process of its own: in another working directory, under other limits,
//! as another user.

use std::env;
use std::ffi::{OsStr, OsString};
use std::process::Command;

/// The variable with the argument of the process.
const GIVEN: &str = "PE_TEST_AGAIN";

/// Returns the argument of the test, if this is the process that runs it again.
pub fn given() -> Option<OsString> {
    env::var_os(GIVEN)
}

/// The test must pass in the process that `command` starts, which runs it alone.
pub fn passes(command: &mut Command, given: impl AsRef<OsStr>) {
    let output = command.env(GIVEN, given).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
}

/// The test must pass for somebody without rights, where whoever runs the tests has them all and may
/// be another. The binary goes into `dir`, which everybody may read then.
#[cfg(unix)]
pub fn passes_without_rights(test: &str, dir: &std::path::Path) {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    assert!(given().is_none(), "somebody without rights has them");
    let program = dir.join("test");
    fs::copy(env::current_exe().unwrap(), &program).unwrap();
    fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(program);
    command.args(["--exact", test]).current_dir("/");
    command.env("TMPDIR", "/tmp").uid(65_534).gid(65_534);
    passes(&mut command, "1");
}
