//! Tables are identified and converted, whatever their format; other files are named.

use std::io::Write;
use std::path::{Path, PathBuf};

use pe_core::{Preset, Sinusoidal, SinusoidalConfig};
use serde_json::Value;

use crate::util::{arg, run, run_error as fails, run_json};

fn table(config: SinusoidalConfig, rows: u64) -> Vec<f32> {
    let encoding = Sinusoidal::new(config).unwrap();
    encoding.table::<f32>(0..rows).unwrap().into_vec()
}

/// An array of NumPy.
fn npy(values: &[f32], shape: &str) -> Vec<u8> {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend((header.len() as u16).to_le_bytes());
    out.extend(header.as_bytes());
    out.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    out
}

fn written(dir: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = dir.join(name);
    std::fs::File::create(&path)
        .unwrap()
        .write_all(bytes)
        .unwrap();
    path
}

/// The objects that `identify --json` prints, one for each line.
fn identified(path: &Path) -> Vec<Value> {
    let out = run(&format!("identify --json {}", arg(path)));
    out.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn json_names_are_those_that_other_programs_read() {
    let dir = tempfile::tempdir().unwrap();
    let values = table(Preset::Whisper.config(16), 40);
    let path = written(dir.path(), "table.npy", &npy(&values, "(40, 16)"));
    let found = identified(&path);
    let [found] = found.as_slice() else {
        panic!("{found:?}")
    };
    assert_eq!(found["tensor"], "table");
    assert_eq!(found["scheme"], "sinusoidal");
    assert_eq!(found["layout"], "concatenated");
    assert_eq!(found["spacing"], "inclusive");
    assert_eq!(
        (&found["base"], &found["start"]),
        (&10000.0.into(), &0.0.into())
    );
    assert_eq!(
        (&found["recipe"], &found["equal_share"]),
        (&"exact".into(), &1.0.into())
    );
    assert_eq!(found["largest_error"], 0.0);
    let presets: Vec<&str> = found["presets"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(Value::as_str)
        .collect();
    assert!(presets.contains(&"whisper"), "{presets:?}");
    assert_eq!(found["preset"], presets[0]);
}

#[test]
fn formats_give_the_same_table() {
    let dir = tempfile::tempdir().unwrap();
    let config = SinusoidalConfig::new(12);
    let values = table(config, 30);
    let text: Vec<String> = values
        .chunks(12)
        .map(|row| row.iter().map(f32::to_string).collect::<Vec<_>>().join(","))
        .collect();
    let safetensors = dir.path().join("table.safetensors");
    let device = candle_core::Device::Cpu;
    let tensor = candle_core::Tensor::from_slice(&values, (30, 12), &device).unwrap();
    let archive = dir.path().join("table.npz");
    let batch = tensor.unsqueeze(0).unwrap();
    candle_core::Tensor::write_npz(&[("table", batch)], &archive).unwrap();
    candle_core::safetensors::save(&[("table", tensor)].into(), &safetensors).unwrap();
    let files = [
        written(dir.path(), "table.npy", &npy(&values, "(30, 12)")),
        archive,
        written(dir.path(), "table.csv", text.join("\n").as_bytes()),
        safetensors,
    ];
    for file in &files {
        let found = identified(file);
        let [found] = found.as_slice() else {
            panic!("{found:?}")
        };
        assert_eq!(found["tensor"], "table", "{}", file.display());
        assert_eq!(found["preset"], "paper", "{}", file.display());
        assert_eq!(found["equal_share"], 1.0, "{}", file.display());
    }
    // `inspect` tells the same of a file without a specification.
    let out = run(&format!("inspect {}", arg(&files[3])));
    assert!(out.contains("table: sinusoidal: interleaved"), "{out}");
}

#[test]
fn other_formats_are_named_and_cut_files_are_errors() {
    let dir = tempfile::tempdir().unwrap();
    let array = npy(&table(SinusoidalConfig::new(4), 5), "(5, 4)");
    for (name, bytes, expected) in [
        ("model.bin", &b"\x80\x02}q\x00."[..], "PyTorch"),
        ("model.h5", b"\x89HDF\r\n\x1a\n\0\0\0\0\0\0\0\0", "HDF5"),
        ("table.gz", b"\x1f\x8b\x08\0\0\0\0\0\0\0", "gzip"),
        (
            "cut.npy",
            &array[..array.len() - 1],
            "the file ends within the data",
        ),
        (
            "huge.npy",
            &npy(&[], "(18446744073709551615, 2)"),
            "needs more bytes than there are",
        ),
        ("zip.npz", b"PK\x03\x04\0\0\0\0\0\0\0\0\0\0\0\0", "zip.npz"),
        (
            "text.csv",
            b"1,2\n3\n",
            "line 2 has 1 numbers, the first row 2",
        ),
        (
            "noise",
            b"\xff\xff\xff\xff\xff\xff\xff\xff\xff",
            "not a safetensors",
        ),
        ("empty.safetensors", b"", "too few"),
    ] {
        let path = written(dir.path(), name, bytes);
        let err = fails(&format!("identify {}", arg(&path)));
        assert!(err.contains(expected), "{name}: {err}");
    }
    let path = written(dir.path(), "table.npy", &array);
    let err = fails(&format!("identify {} --tensor other", arg(&path)));
    assert!(err.contains("no tensor \"other\""), "{err}");
}

#[test]
fn conversion_permutes_or_computes_and_refuses_the_rest() {
    let dir = tempfile::tempdir().unwrap();
    // A row of f32 arithmetic, so that a permutation shows in the bits.
    let mut values = table(SinusoidalConfig::new(8), 20);
    values[9] = f32::from_bits(values[9].to_bits() + 1);
    let path = written(dir.path(), "table.npy", &npy(&values, "(20, 8)"));
    let [halves, back, whisper] =
        ["halves", "back", "whisper"].map(|name| dir.path().join(format!("{name}.safetensors")));
    let out = run(&format!(
        "convert {} --layout concatenated -o {}",
        arg(&path),
        arg(&halves)
    ));
    assert!(out.contains("keeps its bits"), "{out}");
    run(&format!(
        "convert {} --layout interleaved -o {}",
        arg(&halves),
        arg(&back)
    ));
    let device = candle_core::Device::Cpu;
    let read = |path: &Path| {
        let tensors = candle_core::safetensors::load(path, &device).unwrap();
        tensors["table"]
            .flatten_all()
            .unwrap()
            .to_vec1::<f32>()
            .unwrap()
    };
    assert_eq!(read(&back), values);
    let out = run(&format!(
        "convert {} --to whisper -o {}",
        arg(&path),
        arg(&whisper)
    ));
    assert!(out.contains("computed again"), "{out}");
    assert_eq!(read(&whisper), table(Preset::Whisper.config(8), 20));
    let inspected = run_json(&format!("inspect {}", arg(&whisper)));
    assert_eq!(inspected["table"]["status"], "right");

    let learned: Vec<f32> = (0..40).map(|i| ((i * i * 7) % 31) as f32 / 31.0).collect();
    let path = written(dir.path(), "learned.npy", &npy(&learned, "(5, 8)"));
    let refused = dir.path().join("refused.safetensors");
    let err = fails(&format!(
        "convert {} --to whisper -o {}",
        arg(&path),
        arg(&refused)
    ));
    assert!(
        err.contains("is learned, which has no other convention"),
        "{err}"
    );
    assert!(!refused.exists());
}

#[test]
fn weights_are_permuted_in_each_head_and_back() {
    let dir = tempfile::tempdir().unwrap();
    let device = candle_core::Device::Cpu;
    let (heads, kv_heads, head_dim, width) = (4, 2, 8, 6);
    let weight = |rows: usize, shift: f32| {
        let values: Vec<f32> = (0..rows * width).map(|i| i as f32 + shift).collect();
        candle_core::Tensor::from_vec(values, (rows, width), &device).unwrap()
    };
    let name = |rest: &str| format!("model.layers.0.self_attn.{rest}");
    let tensors = std::collections::HashMap::from([
        (name("q_proj.weight"), weight(heads * head_dim, 0.0)),
        (name("k_proj.weight"), weight(kv_heads * head_dim, 0.5)),
        (name("v_proj.weight"), weight(kv_heads * head_dim, 0.25)),
        (
            name("q_norm.weight"),
            weight(head_dim, 0.0)
                .narrow(1, 0, 1)
                .unwrap()
                .squeeze(1)
                .unwrap(),
        ),
    ]);
    let [from, to, back] =
        ["a", "b", "c"].map(|name| dir.path().join(format!("{name}.safetensors")));
    candle_core::safetensors::save(&tensors, &from).unwrap();
    let options = "--num-heads 4 --num-kv-heads 2 --head-dim 8 --rotary-dim 4";
    let out = run(&format!(
        "convert {} --layout interleaved {options} -o {}",
        arg(&from),
        arg(&to)
    ));
    assert!(
        out.contains("3 tensors") && out.contains("unchanged: 1 other"),
        "{out}"
    );
    run(&format!(
        "convert {} --layout half-split {options} -o {}",
        arg(&to),
        arg(&back)
    ));
    let read = |path: &Path| candle_core::safetensors::load(path, &device).unwrap();
    let (there, again) = (read(&to), read(&back));
    let flat =
        |tensor: &candle_core::Tensor| tensor.flatten_all().unwrap().to_vec1::<f32>().unwrap();
    for (name, tensor) in &tensors {
        assert_eq!(flat(&again[name]), flat(tensor), "{name}");
    }
    let weights = flat(&there[&name("q_proj.weight")]);
    let expected = pe_core::permute_rows(
        &flat(&tensors[&name("q_proj.weight")]),
        pe_core::PairLayout::HalfSplit,
        pe_core::PairLayout::Interleaved,
        4,
        head_dim,
        width,
    );
    assert_eq!(weights, expected.unwrap());
    assert_eq!(
        flat(&there[&name("v_proj.weight")]),
        flat(&tensors[&name("v_proj.weight")])
    );

    // Heads that are not those of the file.
    let err = fails(&format!(
        "convert {} --layout interleaved --num-heads 3 --head-dim 8 -o {}",
        arg(&from),
        arg(&dir.path().join("none.safetensors"))
    ));
    assert!(err.contains("not those of 3 and 3 heads of 8"), "{err}");
    assert!(!dir.path().join("none.safetensors").exists());
}
