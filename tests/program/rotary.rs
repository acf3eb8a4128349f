//! Rotary tables and models' configurations on the command line.

mod config;
mod config_files;
mod export;
mod gguf;

use std::path::{Path, PathBuf};

use candle_core::Device;
use pe_candle::checkpoint::{self, RotarySpec, RotaryTables, RotaryTensors};
use pe_tests::rotary::Case;
use tempfile::TempDir;

use crate::util::{arg, run};

/// The case of a released model with a name that begins with `name`.
fn case(name: &str) -> Case {
    let cases = pe_tests::rotary::cases();
    let found = cases.into_iter().find(|case| case.name.starts_with(name));
    found.unwrap_or_else(|| panic!("no case {name}"))
}

/// A directory with a `config.json` of this content.
fn config_file(content: &str) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config.json");
    std::fs::write(&path, content).unwrap();
    (directory, path)
}

/// The written file.
struct Exported {
    spec: RotarySpec,
    table: RotaryTensors,
}

/// Exports over `path` with further options and loads what was written.
fn export(path: &Path, options: &str) -> (Exported, String) {
    let text = run(&format!(
        "export --scheme rotary -o {} {options}",
        arg(path)
    ));
    let loaded = checkpoint::load_as::<RotaryTables>(path, &Device::Cpu).unwrap();
    let (spec, table) = (loaded.spec.unwrap(), loaded.table);
    (Exported { spec, table }, text)
}

fn f64s(tensor: &candle_core::Tensor) -> Vec<f64> {
    let wide = tensor.to_dtype(candle_core::DType::F64).unwrap();
    wide.flatten_all().unwrap().to_vec1().unwrap()
}
