//! The settings that come from the environment.

use super::*;

#[test]
fn environment_describes_the_hub() {
    // The environment belongs to the process, so the test runs itself again.
    const CHILD: &str = "PE_TEST_HUB_CHILD";
    if std::env::var(CHILD).is_ok() {
        let home = std::env::var("HF_HOME").unwrap();
        let hub = Hub::from_env().unwrap();
        assert_eq!(hub.cache_dir, Path::new(&home).join("hub"));
        assert_eq!(hub.endpoint, "http://127.0.0.1:9");
        assert_eq!(hub.network, Network::Offline);
        let expected = match std::env::var("HF_TOKEN") {
            Ok(token) => Some(token),
            Err(_) if Path::new(&home).join("token").is_file() => Some("of-the-file".to_owned()),
            Err(_) => None,
        };
        assert_eq!(hub.token, expected);
        let error = pe_candle::hub::load(&file(), &Device::Cpu)
            .unwrap_err()
            .to_string();
        assert!(error.contains("HF_HUB_OFFLINE"), "{error}");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("token"), "of-the-file\n").unwrap();
    // The last time the token's file is a pipe, which nobody writes to.
    for token in [None, Some("of-the-environment"), None] {
        if token.is_some() && cfg!(unix) {
            fs::remove_file(dir.path().join("token")).unwrap();
            let made = Command::new("mkfifo")
                .arg(dir.path().join("token"))
                .status();
            assert!(made.unwrap().success());
        }
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "environment::environment_describes_the_hub"])
            .env(CHILD, "1")
            .env("HF_HOME", dir.path())
            .env("HF_ENDPOINT", "http://127.0.0.1:9")
            .env("HF_HUB_OFFLINE", "1")
            .env_remove("HF_TOKEN");
        if let Some(token) = token {
            command.env("HF_TOKEN", token);
        }
        let output = command.output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stdout)
        );
    }
}
