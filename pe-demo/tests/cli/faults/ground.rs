//! The folder of the failing runs.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::pe_demo;

/// Paths and contents.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

/// A folder with good files and bad ones.
pub(super) struct Ground {
    directory: tempfile::TempDir,
}

impl Ground {
    pub(super) fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let ground = Self { directory };
        let train = "train --steps 1 --scheme sinusoidal --task order --seeds 1 --d-model 8 \
                     --heads 1 --layers 1 --length 8 --batch 1 -o good -q";
        let output = pe_demo(ground.path(), train);
        assert!(output.status.success(), "{output:?}");
        let weights = std::fs::read(ground.path().join("good/order-sinusoidal-0.safetensors"));
        let weights = weights.expect("weights");
        ground.write("old.safetensors", b"what was there before");
        ground.write("old.jsonl", b"what was there before");
        ground.write("text.jsonl", b"a line\nanother line\n");
        ground.write("empty", b"");
        ground.write("blank", b" \n\n\t\n");
        ground.write("latin1.txt", b"caf\xe9\n");
        ground.write("garbage", b"\x93NUMPY\x01\x00v\x00{'descr': '<f4'}");
        ground.write("cut.json", br#"{"model_type": "llama", "rope_"#);
        ground.write("list.json", b"[1, 2, 3]");
        ground.write("deep.json", "[".repeat(100_000).as_bytes());
        ground.write(
            "config.json",
            br#"{"model_type":"llama","hidden_size":64,"num_attention_heads":4,
                 "max_position_embeddings":32,"rope_theta":10000.0}"#,
        );
        ground.write(
            "nan.json",
            br#"{"model_type":"llama","hidden_size":64,"num_attention_heads":4,
                 "max_position_embeddings":32,"rope_theta":NaN}"#,
        );
        ground.write(
            "negative.json",
            br#"{"model_type":"llama","hidden_size":64,"num_attention_heads":4,
                 "max_position_embeddings":32,"rope_theta":-1.0}"#,
        );
        std::fs::create_dir(ground.path().join("figures")).expect("a folder");
        ground.write(
            "figures/rotary-frequencies.json",
            br#"{"model_type":"llama","hidden_size":64,"num_attention_heads":4,
                 "max_position_embeddings":32,"rope_theta":10000.0}"#,
        );
        let sparse = std::fs::File::create(ground.path().join("sparse.json"));
        sparse
            .and_then(|file| file.set_len(16 << 30))
            .expect("a file of holes");
        crate::checkpoints::shards(&ground.path().join("shards"));
        ground.write("weights.safetensors", &weights);
        ground.write("cut.safetensors", &weights[..weights.len() - 1]);
        ground.write("header.safetensors", &weights[..100]);
        ground.write("huge.safetensors", &[0xff; 64]);
        let replaced = |old: &str, new: &str| {
            assert_eq!(old.len(), new.len());
            let at = weights
                .windows(old.len())
                .position(|part| part == old.as_bytes());
            let at = at.unwrap_or_else(|| panic!("{old} in the header"));
            let mut bytes = weights.clone();
            bytes[at..at + new.len()].copy_from_slice(new.as_bytes());
            bytes
        };
        let dtype = r#"answer.bias":{"dtype":"F32""#;
        ground.write(
            "dtype.safetensors",
            &replaced(dtype, &dtype.replace("F32", "I32")),
        );
        ground.write(
            "shape.safetensors",
            &replaced(r#""shape":[16,8]"#, r#""shape":[8,16]"#),
        );
        ground.write(
            "missing.safetensors",
            &replaced(r#""answer.bias""#, r#""answer.bios""#),
        );
        ground.write(
            "version.safetensors",
            &replaced(r#"\"version\":1"#, r#"\"version\":9"#),
        );
        let mut nan = weights.clone();
        let end = nan.len();
        nan[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
        ground.write("nan.safetensors", &nan);
        std::fs::create_dir(ground.path().join("folder")).expect("a folder");
        std::fs::create_dir(ground.path().join("folder.jsonl")).expect("a folder");
        for (target, name) in [
            ("text.jsonl", "link.jsonl"),
            ("shards/model-1.safetensors", "link.safetensors"),
        ] {
            std::os::unix::fs::symlink(target, ground.path().join(name)).expect("a link");
        }
        std::fs::hard_link(
            ground.path().join("text.jsonl"),
            ground.path().join("twin.jsonl"),
        )
        .expect("a link");
        let made = Command::new("mkfifo")
            .arg(ground.path().join("fifo.jsonl"))
            .status();
        assert!(made.expect("mkfifo runs").success());
        ground
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(super) fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path().join(name), bytes).expect("written");
    }

    /// A command for the shell, in the folder, with nothing to read.
    pub(super) fn command(&self, line: &str) -> Command {
        let mut command = Command::new("sh");
        command
            .args(["-c", line])
            .current_dir(self.path())
            .env("pe", env!("CARGO_BIN_EXE_pe-demo"))
            .env("RUST_BACKTRACE", "1")
            .env("HF_HUB_OFFLINE", "1")
            .env("HF_HOME", self.path().join("no-such-cache"))
            .stdin(Stdio::null());
        command
    }

    pub(super) fn shell(&self, line: &str) -> Output {
        self.command(line).output().expect("the shell starts")
    }

    /// Every file below the folder, hidden ones too, and its content.
    pub(super) fn files(&self) -> Files {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).expect("a folder") {
                let entry = entry.expect("an entry");
                let kind = entry.file_type().expect("a kind");
                let holes = entry.file_name() == "sparse.json";
                let content = match kind.is_file() && !holes {
                    true => std::fs::read(entry.path()).expect("a file"),
                    false => format!("{kind:?}").into_bytes(),
                };
                files.insert(entry.path().display().to_string(), content);
                if kind.is_dir() {
                    folders.push(entry.path());
                }
            }
        }
        files
    }
}
