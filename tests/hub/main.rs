//! Files from the hub, against a small server on this machine.

mod cache;
mod downloads;
mod environment;
mod faults;
mod hostile;
mod names;
mod places;
#[cfg(unix)]
mod planted;
mod resume;

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use candle_core::{DType, Device};
use pe_candle::checkpoint::{self, LoadOptions, SinusoidalSpec};
use pe_candle::hub::{Hub, HubFile, Network, Timeouts};
use pe_core::SinusoidalConfig;
use pe_core::text::is_invisible;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use pe_tests::again;
use pe_tests::server::{COMMIT, Reply, Server};
use pe_tests::watchdog::{PATIENCE, Watchdog};

const TABLE: &str = "/owner/name/resolve/main/table.safetensors";

/// Returns a hub at the server, with a cache of its own. It waits as long as a busy machine may need.
fn hub(server: &Server) -> (TempDir, Hub) {
    let dir = tempfile::tempdir().unwrap();
    let mut hub = Hub::new(dir.path().join("hub"));
    hub.endpoint = server.address.clone();
    hub.timeouts = patient();
    (dir, hub)
}

fn patient() -> Timeouts {
    Timeouts {
        connect: PATIENCE / 5,
        stall: PATIENCE / 5,
        total: PATIENCE / 2,
    }
}

/// Timeouts for servers that never end an answer.
fn hasty() -> Timeouts {
    Timeouts {
        stall: Duration::from_millis(1000),
        total: Duration::from_secs(3),
        ..patient()
    }
}

/// A hub with one file at [`TABLE`].
fn with_file(reply: Reply) -> Server {
    Server::with_files(vec![(TABLE.to_owned(), reply)])
}

fn file() -> HubFile {
    HubFile::new("owner/name", "table.safetensors")
}

fn table() -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("table.safetensors");
    checkpoint::export(&path, &spec()).unwrap();
    fs::read(path).unwrap()
}

fn spec() -> SinusoidalSpec {
    SinusoidalSpec::new(SinusoidalConfig::new(16), 0, 10, DType::F32).unwrap()
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect()
}

/// All files and links below a directory.
fn files_below(path: &Path) -> Vec<String> {
    let mut list = Vec::new();
    let Ok(entries) = fs::read_dir(path) else {
        return list;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            list.extend(files_below(&path));
        } else {
            list.push(path.to_str().unwrap().to_owned());
        }
    }
    list
}
