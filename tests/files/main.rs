//! Tables in safetensors files: read strictly, written atomically.

mod allocations;
mod corpus;
mod gguf;
mod hostile;
mod inspect;
mod interrupted;
mod load;
mod malformed;
mod messages;
mod old;
mod once;
mod replace;
mod resize;
mod rotary;
mod save;
mod schemes;
mod spec;
mod threads;
mod var_builder;
mod verify;

use std::fs;
use std::path::{Path, PathBuf};

use candle_core::{DType, Device, Tensor};
use candle_nn::{VarBuilder, VarMap};
use half::{bf16, f16};
use pe_candle::checkpoint::{
    self, AnySpec, Limits, LoadOptions, NonFinite, SaveOptions, SinusoidalSpec, SpecStatus,
    TableOrigin, Verify,
};
use pe_candle::{PositionalEncodingConfig, sinusoidal_tensor};
use pe_core::{
    Base, Element, OddWidth, Preset, Recipe, SinusoidLayout, Sinusoidal, SinusoidalConfig, Spacing,
};
use proptest::prelude::*;
use tempfile::TempDir;

use pe_tests::again;

const FLOATS: [DType; 4] = [DType::F32, DType::F64, DType::F16, DType::BF16];

fn temp() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("table.safetensors");
    (dir, path)
}

fn spec(d_model: usize, rows: usize) -> SinusoidalSpec {
    spec_of(d_model, 0, rows, DType::F32)
}

fn spec_of(d_model: usize, start: u64, rows: usize, dtype: DType) -> SinusoidalSpec {
    SinusoidalSpec::new(SinusoidalConfig::new(d_model), start, rows, dtype).unwrap()
}

/// Options that ask for a table by its name.
fn named(name: &str) -> LoadOptions {
    LoadOptions {
        tensor_names: vec![name.to_owned()],
        ..LoadOptions::default()
    }
}

/// A file with any header and any data.
fn raw(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

/// A file as another program writes it: tensors of the entries given.
fn foreign(tensors: &[(&str, &Tensor)]) -> Vec<u8> {
    safetensors::serialize(tensors.iter().map(|(n, t)| (n.to_string(), *t)), None).unwrap()
}

fn exact(d_model: usize, rows: u64, dtype: DType) -> Tensor {
    let encoding = Sinusoidal::paper(d_model).unwrap();
    sinusoidal_tensor(&encoding, 0..rows, dtype, &Device::Cpu).unwrap()
}

fn bits(tensor: &Tensor) -> Vec<f64> {
    let mut flat = tensor.flatten_all().unwrap();
    if flat.dtype() == DType::F8E4M3 {
        // Candle 0.11 never returns from a conversion of F8E4M3 to f64.
        flat = flat.to_dtype(DType::F32).unwrap();
    }
    flat.to_dtype(DType::F64).unwrap().to_vec1().unwrap()
}

fn load_error(path: &Path) -> String {
    checkpoint::load(path, &Device::Cpu)
        .unwrap_err()
        .to_string()
}

/// No temporary file, nothing but what is listed.
fn assert_holds(dir: &Path, names: &[&str]) {
    let mut found: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    found.sort();
    assert_eq!(found, names);
}

/// 2^n.
fn pow2(n: i32) -> f64 {
    f64::from_bits(((1023 + n) as u64) << 52)
}
