//! GGUF files: against llama.cpp's formulas, and malformed ones.

use std::io::Cursor;

use pe_core::gguf::{self, GgufFactors, GgufHeader, GgufValue};
use pe_core::hf_config::{HfModel, HfRotary, HfScheme, UnknownKeys};
use pe_core::{MropeArrangement, PairLayout, Rotary};
use pe_tests::{golden, rejected};
use serde::Deserialize;

#[derive(Deserialize)]
struct File {
    name: String,
    bytes: String,
    layers: Vec<Layer>,
}

#[derive(Deserialize)]
struct Layer {
    inv_freq: Vec<f64>,
    attention_factor: f64,
    layout: String,
    head_dim: usize,
    #[serde(default)]
    seq_len: usize,
    layer_type: Option<String>,
    sections: Option<[usize; 3]>,
}

fn files() -> Vec<(File, Vec<u8>)> {
    let files: Vec<File> = golden::json("gguf.json");
    let bytes = |text: &str| -> Vec<u8> {
        let pairs = (0..text.len()).step_by(2);
        pairs
            .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
            .collect()
    };
    files
        .into_iter()
        .map(|file| {
            let bytes = bytes(&file.bytes);
            (file, bytes)
        })
        .collect()
}

fn read(bytes: &[u8]) -> pe_core::Result<HfModel> {
    gguf::read_file(&mut Cursor::new(bytes), UnknownKeys::Reject)
}

fn rotary(metadata: &[(&str, GgufValue)], factors: &GgufFactors) -> pe_core::Result<HfRotary> {
    let metadata: Vec<_> = metadata
        .iter()
        .map(|(key, value)| ((*key).to_owned(), value.clone()))
        .collect();
    match gguf::read(&metadata, factors, UnknownKeys::Reject)? {
        HfModel::Rotary(model) => Ok(model),
        HfModel::Other(other) => panic!("{other:?}"),
    }
}

#[test]
fn files_give_the_angles_of_llama_cpp() {
    for (file, bytes) in files() {
        let name = &file.name;
        let model = match read(&bytes).unwrap_or_else(|error| panic!("{name}: {error}")) {
            HfModel::Rotary(model) => model,
            HfModel::Other(other) => panic!("{name}: {other:?}"),
        };
        for wanted in &file.layers {
            let layer = model.layer(wanted.layer_type.as_deref()).unwrap();
            let layout = match layer.layout {
                PairLayout::HalfSplit => "half-split",
                PairLayout::Interleaved => "interleaved",
            };
            assert_eq!(
                (layout, layer.head_dim),
                (&*wanted.layout, wanted.head_dim),
                "{name}"
            );
            let set = Rotary::new(layer.rotary.clone())
                .unwrap()
                .frequencies(wanted.seq_len)
                .unwrap();
            assert_eq!(set.inv_freq(), wanted.inv_freq, "{name}");
            assert_eq!(set.attention_factor(), wanted.attention_factor, "{name}");
            assert_eq!(
                layer.mrope.map(|mrope| mrope.sections),
                wanted.sections,
                "{name}"
            );
        }
    }
}

/// A file cut anywhere in its header is an error, and none of its bits panics.
#[test]
fn truncated_and_flipped_files_are_errors_or_read() {
    for (file, bytes) in files().into_iter().take(3) {
        for end in 0..bytes.len() {
            assert!(
                read(&bytes[..end]).is_err() || end + 64 > bytes.len(),
                "{} {end}",
                file.name
            );
        }
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << bit;
                let _ = read(&flipped);
            }
        }
    }
}

/// The parts of a header.
struct Parts(Vec<u8>);

impl Parts {
    fn new(version: u32, tensors: u64, keys: u64) -> Self {
        let mut bytes = Vec::from(*b"GGUF");
        bytes.extend(version.to_le_bytes());
        bytes.extend(tensors.to_le_bytes());
        bytes.extend(keys.to_le_bytes());
        Self(bytes)
    }

    fn text(mut self, text: &[u8]) -> Self {
        self.0.extend((text.len() as u64).to_le_bytes());
        self.0.extend(text);
        self
    }

    fn u32(mut self, value: u32) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    fn u64(mut self, value: u64) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }

    fn tensor(self, name: &str, dims: &[u64], kind: u32, begin: u64) -> Self {
        let start = self.text(name.as_bytes()).u32(dims.len() as u32);
        dims.iter()
            .fold(start, |parts, dim| parts.u64(*dim))
            .u32(kind)
            .u64(begin)
    }
}

#[test]
fn malformed_headers_are_errors_with_the_reason() {
    let new = Parts::new;
    let rope = |kind: u32| new(3, 0, 1).text(b"llama.rope.x").u32(kind);
    let zeros = [0; 64];
    let error = |Parts(bytes): Parts| -> String {
        let error = GgufHeader::read(&bytes[..], bytes.len() as u64).unwrap_err();
        error.to_string().strip_prefix("GGUF: ").unwrap().to_owned()
    };
    rejected! { error;
        Parts(b"GGML".to_vec()) => "does not begin with the magic GGUF",
        Parts(b"GG".to_vec()) => "the file ends within its header, at byte 0",
        new(1, 0, 0) => "version 1 is not 2 or 3",
        new(4, 0, 0) => "version 4 is not 2 or 3",
        new(3 << 24, 0, 0) => "the file is big-endian, which is not supported",
        new(3, u64::MAX, 0) => "18446744073709551615 tensors are above 262144",
        new(3, 0, 65_537) => "65537 keys are above 65536",
        new(3, 0, 65_536) => "65536 keys and 0 tensors need 851968 bytes, but 0 are left",
        new(3, 0, 1).u64(u64::MAX).bytes(&zeros) => "a key has 18446744073709551615 elements, but 64 bytes are left",
        new(3, 0, 1).text(&[b'a'; 70_000]) => "a key has 70000 bytes, above 65535",
        new(3, 0, 1).text(&[0xff; 8]).bytes(&zeros) => "a key is not UTF-8",
        rope(13).bytes(&zeros) => "\"llama.rope.x\" has the unknown type 13",
        rope(7).bytes(&[2; 8]) => "\"llama.rope.x\" is 2, neither true nor false",
        rope(8).u64(1 << 40).bytes(&zeros) => "\"llama.rope.x\" has 1099511627776 elements, but 64 bytes are left",
        rope(9).u32(4).u64(1 << 62).bytes(&zeros) => "\"llama.rope.x\" has 4611686018427387904 elements, but 64 bytes are left",
        rope(9).u32(9).u64(1).bytes(&zeros) => "\"llama.rope.x\" is a list of lists",
        rope(9).u32(0).u64(70_000).bytes(&[0; 70_000]) => "\"llama.rope.x\" has 70000 elements, above 65536",
        new(3, 0, 1).text(b"tokenizer.x").u32(9).u32(8).u64(1).u64(99) => "\"tokenizer.x\" has 99 elements, but 0 bytes are left",
        new(3, 0, 2).text(b"a").u32(0).bytes(&[1]).text(b"a").u32(0).bytes(&[1; 9]) => "the key \"a\" occurs twice",
        new(3, 0, 1).text(b"general.alignment").u32(4).u32(33) =>
            "general.alignment is Unsigned(33), not a power of two up to 1048576",
        new(3, 1, 0).tensor("a", &[1, 1, 1, 1, 1], 0, 0) => "the tensor \"a\" has 5 dimensions, above 4",
        new(3, 1, 0).tensor("a", &[1 << 40, 1 << 40], 0, 0) => "the tensor \"a\" has more than 2^64 elements",
        new(3, 2, 0).tensor("a", &[], 0, 0).tensor("a", &[], 0, 0) => "the tensor \"a\" occurs twice",
        new(3, 1, 0).tensor("a", &[1], 0, 7).bytes(&zeros) => "the tensor \"a\" begins at 7, not aligned",
        new(3, 1, 0).tensor("a\x1b", &[100], 0, 0).bytes(&zeros) => "the tensor \"a\\u{1b}\" extends past the end of the file",
        new(3, 1, 0).tensor("a", &[1 << 63], 0, 0).bytes(&zeros) => "the tensor \"a\" extends past the end of the file",
        new(3, 1, 0).tensor("a", &[1], 99, 1 << 40).bytes(&zeros) => "the tensor \"a\" extends past the end of the file",
    }
}

#[test]
fn factors_are_read_strictly() {
    let file = |name: &str, kind: u32, count: u64, data: &[u8]| {
        let Parts(mut bytes) = Parts::new(3, 1, 0).tensor(name, &[count], kind, 0);
        bytes.resize(bytes.len().next_multiple_of(32), 0);
        bytes.extend(data);
        let header = GgufHeader::read(&bytes[..], bytes.len() as u64).unwrap();
        GgufFactors::read(&header, &mut Cursor::new(bytes)).map_err(|error| error.to_string())
    };
    let one = file("rope_freqs.weight", 0, 1, &1.5f32.to_le_bytes()).unwrap();
    assert_eq!(one.freqs, Some(vec![1.5]));
    let layer = file("blk.3.rope_freqs.weight", 1, 1, &[0, 0x3c]).unwrap();
    assert_eq!(layer.freqs, Some(vec![1.0]));
    let bf16 = file("rope_freqs.weight", 30, 1, &[0x80, 0x3f]).unwrap();
    assert_eq!(bf16.freqs, Some(vec![1.0]));
    let other = file("blk.3.attn_q.weight", 0, 1, &[0; 4]).unwrap();
    assert_eq!(other, GgufFactors::default());
    for (found, expected) in [
        (
            file("rope_freqs.weight", 8, 32, &[0; 34]),
            "GGUF: rope_freqs.weight has the type 8 of ggml, not f32, f16, or bf16",
        ),
        (
            file("rope_freqs.weight", 0, 65_537, &[0; 4 * 65_537]),
            "GGUF: rope_freqs.weight has 65537 elements, above 65536",
        ),
        (
            file("rope_factors_long.weight", 0, 1, &[0; 4]),
            "GGUF: rope_factors_short.weight is missing, and the other is not",
        ),
    ] {
        assert_eq!(found.unwrap_err(), expected);
    }
}

/// llama.cpp would combine them. No released model has both.
#[test]
fn factors_by_length_with_the_ramp_of_yarn_are_refused_with_the_reason() {
    use GgufValue::{Float, Text, Unsigned};
    let metadata = [
        ("general.architecture", Text("phi3".to_owned())),
        ("phi3.context_length", Unsigned(128)),
        ("phi3.embedding_length", Unsigned(16)),
        ("phi3.attention.head_count", Unsigned(2)),
        ("phi3.rope.scaling.type", Text("yarn".to_owned())),
        ("phi3.rope.scaling.factor", Float(4.0)),
    ];
    let factors = GgufFactors {
        short_long: Some((vec![1.0; 4], vec![2.0; 4])),
        ..GgufFactors::default()
    };
    let error = rotary(&metadata, &factors).unwrap_err().to_string();
    assert_eq!(
        error,
        "GGUF: rope.scaling.type is \"yarn\" and rope_factors_long.weight is there: llama.cpp would apply YaRN's ramp to \
         frequencies that depend on the length, which no released model has; factors by length need the type \"longrope\""
    );
    let longrope = [("phi3.rope.scaling.type", Text("longrope".to_owned()))];
    rotary(&[&metadata[..4], &longrope].concat(), &factors).unwrap();
}

#[test]
fn metadata_that_does_not_fit_is_an_error() {
    use GgufValue::{Float, List, Signed, Text, Unsigned};
    let architecture = ("general.architecture", Text("llama".to_owned()));
    let sizes = [
        architecture.clone(),
        ("llama.embedding_length", Unsigned(64)),
        (
            "llama.attention.head_count",
            List(vec![Unsigned(4), Signed(0), Unsigned(4)]),
        ),
    ];
    let with = |key: &'static str, value: GgufValue| {
        let mut metadata = sizes.to_vec();
        metadata.push((key, value));
        rotary(&metadata, &GgufFactors::default())
    };
    let fine = rotary(&sizes, &GgufFactors::default()).unwrap();
    assert_eq!(
        (fine.layers[0].head_dim, fine.model_type.as_deref()),
        (16, Some("llama"))
    );
    for (key, value, expected) in [
        (
            "llama.rope.freq_base",
            Unsigned(3),
            "rope.freq_base is Unsigned(3), not a finite number",
        ),
        (
            "llama.rope.freq_base",
            Float(f64::NAN),
            "rope.freq_base is Float(NaN), not a finite number",
        ),
        (
            "llama.rope.dimension_count",
            Float(8.0),
            "rope.dimension_count is Float(8.0), not a whole number",
        ),
        (
            "llama.rope.dimension_count",
            Signed(-8),
            "rope.dimension_count is Signed(-8), not a whole number",
        ),
        (
            "llama.rope.dimension_count",
            Unsigned(8),
            "rope.dimension_count 8 does not fit heads of 16 columns",
        ),
        (
            "llama.rope.scaling.type",
            Text("x\n".to_owned()),
            "rope.scaling.type is \"x\\n\"; known: none, linear, longrope, yarn",
        ),
        (
            "llama.rope.scaling.type",
            Text("yarn".to_owned()),
            "rope.scaling.original_context_length is missing",
        ),
        (
            "llama.rope.scaling.alpha",
            Float(2.0),
            "has keys that would be ignored: llama.rope.scaling.alpha (has no effect)",
        ),
        (
            "llama.rope.dimension_sections",
            Unsigned(1),
            "rope.dimension_sections is not a list",
        ),
        (
            "llama.rope.dimension_sections",
            List(vec![Unsigned(1)]),
            "rope.dimension_sections is [1], not time, height, width, and 0",
        ),
    ] {
        let error = with(key, value).unwrap_err().to_string();
        assert_eq!(error, format!("GGUF: {expected}"), "{key}");
    }
    let factors = GgufFactors {
        freqs: Some(vec![1.0; 7]),
        ..GgufFactors::default()
    };
    let error = rotary(&sizes, &factors).unwrap_err().to_string();
    assert_eq!(error, "GGUF: 7 factors are given for 8 pairs");
    let error = rotary(&[architecture], &GgufFactors::default())
        .unwrap_err()
        .to_string();
    assert!(error.contains("attention.key_length is missing"), "{error}");
    assert_eq!(
        rotary(&[], &GgufFactors::default())
            .unwrap_err()
            .to_string(),
        "GGUF: general.architecture is missing"
    );
    let unknown = [
        ("general.architecture", Text("quux".to_owned())),
        ("quux.attention.key_length", Unsigned(64)),
    ];
    let error = rotary(&unknown, &GgufFactors::default())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("\"quux\" is not known: pairs half of the width apart are assumed"),
        "{error}"
    );
}

#[test]
fn architectures_rotate_as_in_llama_cpp() {
    use GgufValue::{List, Text, Unsigned};
    let read = |name: &str, more: &[(&str, GgufValue)]| {
        let mut metadata = vec![
            ("general.architecture".to_owned(), Text(name.to_owned())),
            (format!("{name}.attention.key_length"), Unsigned(16)),
        ];
        metadata.extend(
            more.iter()
                .map(|(key, value)| (format!("{name}.{key}"), value.clone())),
        );
        gguf::read(&metadata, &GgufFactors::default(), UnknownKeys::Reject).unwrap()
    };
    let layer = |name: &str, more: &[(&str, GgufValue)]| match read(name, more) {
        HfModel::Rotary(model) => model,
        HfModel::Other(other) => panic!("{other:?}"),
    };
    for (names, layout) in [
        (
            ["llama", "mistral3", "deepseek2", "glm4", "cohere2"],
            PairLayout::Interleaved,
        ),
        (
            ["qwen2", "gemma3", "glm4moe", "gptneox", "phi3"],
            PairLayout::HalfSplit,
        ),
    ] {
        for name in names {
            assert_eq!(layer(name, &[]).layers[0].layout, layout, "{name}");
        }
    }
    for (name, scheme) in [
        ("gpt2", HfScheme::Learned),
        ("bert", HfScheme::Learned),
        ("bloom", HfScheme::Alibi),
        ("t5", HfScheme::RelativeBuckets),
        ("mamba", HfScheme::None),
    ] {
        let HfModel::Other(other) = read(name, &[]) else {
            panic!("{name}")
        };
        assert_eq!(other.schemes, [scheme], "{name}");
    }
    let smollm = layer("smollm3", &[("block_count", Unsigned(8))]);
    assert_eq!(smollm.unrotated, [3, 7]);
    let cohere = layer("cohere2", &[("attention.sliding_window", Unsigned(8))]);
    assert_eq!(cohere.unrotated_types, ["full_attention"]);
    let sections = |name| {
        let sections = [4, 2, 2, 0].map(Unsigned).to_vec();
        layer(name, &[("rope.dimension_sections", List(sections))]).layers[0]
            .mrope
            .unwrap()
    };
    assert_eq!(sections("qwen2vl").arrangement, MropeArrangement::Chunked);
    assert_eq!(
        sections("qwen3vl").arrangement,
        MropeArrangement::Interleaved
    );
}
