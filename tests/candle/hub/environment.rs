//! The settings that come from the environment.

use super::*;

#[test]
fn the_environment_describes_the_hub() {
    // The environment belongs to the process, so the test runs itself again.
    const CHILD: &str = "PE_TEST_HUB_CHILD";
    if std::env::var(CHILD).is_ok() {
        let home = std::env::var("HF_HOME").unwrap();
        let hub = Hub::from_env().unwrap();
        assert_eq!(hub.cache_dir, Path::new(&home).join("hub"));
        assert_eq!(hub.endpoint, "http://127.0.0.1:9");
        assert_eq!(hub.network, Network::Offline);
        let expected = std::env::var("HF_TOKEN").unwrap_or_else(|_| "of-the-file".to_owned());
        assert_eq!(hub.token, Some(expected));
        let error = pe_candle::hub::load(&file(), &Device::Cpu)
            .unwrap_err()
            .to_string();
        assert!(error.contains("HF_HUB_OFFLINE"), "{error}");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("token"), "of-the-file\n").unwrap();
    for token in [None, Some("of-the-environment")] {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args([
                "--exact",
                "hub::environment::the_environment_describes_the_hub",
            ])
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
