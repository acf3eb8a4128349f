//! GGUF headers against Candle's own reader, and layers of GGUF files.

use std::io::Cursor;

use candle_core::quantized::gguf_file::{self, Value};
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{DType, Device, Tensor};
use pe_candle::gguf::{GgufFactors, GgufHeader, GgufValue};
use pe_candle::{PairLayout, RopeScaling, RotaryEmbedding, RotaryEmbeddingConfig};
use proptest::prelude::*;

fn written(metadata: &[(String, Value)], factors: &[f32], dtype: GgmlDType) -> Vec<u8> {
    let tensor = Tensor::new(factors, &Device::Cpu).unwrap();
    let tensor = QTensor::quantize(&tensor, dtype).unwrap();
    let metadata: Vec<_> = metadata
        .iter()
        .map(|(key, value)| (&**key, value))
        .collect();
    let mut bytes = Cursor::new(Vec::new());
    gguf_file::write(&mut bytes, &metadata, &[("rope_freqs.weight", &tensor)]).unwrap();
    bytes.into_inner()
}

fn value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        any::<u8>().prop_map(Value::U8),
        any::<i8>().prop_map(Value::I8),
        any::<u16>().prop_map(Value::U16),
        any::<i16>().prop_map(Value::I16),
        any::<u32>().prop_map(Value::U32),
        any::<i32>().prop_map(Value::I32),
        any::<u64>().prop_map(Value::U64),
        any::<i64>().prop_map(Value::I64),
        any::<f32>().prop_map(Value::F32),
        any::<f64>().prop_map(Value::F64),
        any::<bool>().prop_map(Value::Bool),
        "[a-zé]{0,20}".prop_map(Value::String),
    ];
    let list = (scalar.clone(), 1usize..6).prop_map(|(item, len)| Value::Array(vec![item; len]));
    prop_oneof![3 => scalar, 1 => list]
}

fn ours(value: &Value) -> GgufValue {
    match value {
        Value::U8(v) => GgufValue::Unsigned((*v).into()),
        Value::U16(v) => GgufValue::Unsigned((*v).into()),
        Value::U32(v) => GgufValue::Unsigned((*v).into()),
        Value::U64(v) => GgufValue::Unsigned(*v),
        Value::I8(v) => GgufValue::Signed((*v).into()),
        Value::I16(v) => GgufValue::Signed((*v).into()),
        Value::I32(v) => GgufValue::Signed((*v).into()),
        Value::I64(v) => GgufValue::Signed(*v),
        Value::F32(v) => GgufValue::Float((*v).into()),
        Value::F64(v) => GgufValue::Float(*v),
        Value::Bool(v) => GgufValue::Bool(*v),
        Value::String(v) => GgufValue::Text(v.clone()),
        Value::Array(list) => GgufValue::List(list.iter().map(ours).collect()),
    }
}

proptest! {
    #[test]
    fn headers_are_those_of_candle(
        values in proptest::collection::vec(value(), 0..12),
        factors in proptest::collection::vec(0.5f32..100.0, 1..40),
        half in any::<bool>(),
    ) {
        let key = |index: usize| match index % 2 {
            0 => format!("a.rope.key_{index}"),
            _ => format!("tokenizer.key_{index}"),
        };
        let metadata: Vec<_> = values.into_iter().enumerate().map(|(i, v)| (key(i), v)).collect();
        let dtype = if half { GgmlDType::F16 } else { GgmlDType::F32 };
        let bytes = written(&metadata, &factors, dtype);
        let header = GgufHeader::read(&bytes[..], bytes.len() as u64).unwrap();
        let mut reader = Cursor::new(&bytes);
        let theirs = gguf_file::Content::read(&mut reader).unwrap();
        let kept: Vec<_> = metadata.iter().filter(|(key, _)| key.starts_with('a')).collect();
        prop_assert_eq!(header.metadata.len(), kept.len());
        for ((key, value), (wanted, _)) in header.metadata.iter().zip(kept) {
            prop_assert_eq!(key, wanted);
            prop_assert_eq!(value, &ours(&theirs.metadata[key]));
        }
        let tensor = theirs.tensor(&mut reader, "rope_freqs.weight", &Device::Cpu).unwrap();
        let wanted = tensor.dequantize(&Device::Cpu).unwrap().to_vec1::<f32>().unwrap();
        let found = GgufFactors::read(&header, &mut Cursor::new(&bytes)).unwrap();
        prop_assert_eq!(found.freqs, Some(wanted));
    }
}

#[test]
fn layers_of_gguf_files_rotate_with_their_factors() {
    let text = |text: &str| Value::String(text.to_owned());
    let metadata = [
        ("general.architecture", text("llama")),
        ("llama.context_length", Value::U32(64)),
        ("llama.embedding_length", Value::U32(64)),
        ("llama.attention.head_count", Value::U32(4)),
        ("llama.rope.freq_base", Value::F32(500_000.0)),
    ]
    .map(|(key, value)| (key.to_owned(), value));
    let factors = [1.0, 1.0, 1.5, 2.0, 4.0, 8.0, 8.0, 8.0];
    let bytes = written(&metadata, &factors, GgmlDType::F32);
    let cpu = &Device::Cpu;
    let rotary =
        RotaryEmbedding::from_gguf(&mut Cursor::new(&bytes), None, DType::F32, cpu).unwrap();
    let config = rotary.config();
    assert_eq!(
        (config.layout, config.head_dim(), config.max_seq_len()),
        (PairLayout::Interleaved, 16, 64)
    );
    let divisors = factors.map(f64::from).to_vec();
    let scaling = RopeScaling::Divided {
        yarn: None,
        divisors,
        attention_factor: 1.0,
    };
    assert_eq!(config.rotary.scaling, scaling);
    let xs = Tensor::ones((1, 2, 3, 16), DType::F32, cpu).unwrap();
    assert_eq!(rotary.apply(&xs, 5).unwrap().dims(), [1, 2, 3, 16]);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    std::fs::write(&path, &bytes).unwrap();
    let of_path = RotaryEmbedding::from_gguf_file(&path, None, DType::F32, cpu).unwrap();
    assert_eq!(of_path.config(), config);
    std::fs::write(&path, &bytes[..40]).unwrap();
    let missing = folder.path().join("other.gguf");
    for (path, expected) in [
        (path.as_path(), "GGUF: "),
        (&missing, "No such file"),
        (folder.path(), "not a regular file"),
    ] {
        let error = RotaryEmbeddingConfig::from_gguf_file(path, None)
            .unwrap_err()
            .to_string();
        let begin = format!("{path:?}: {expected}");
        assert!(error.starts_with(&begin), "{error}");
    }
    let error = RotaryEmbeddingConfig::from_gguf(&mut Cursor::new(&bytes[..40]), None);
    assert!(error.unwrap_err().to_string().contains("GGUF: "));
    let invented = RotaryEmbeddingConfig::from_gguf(&mut Cursor::new(&bytes), Some("x"));
    assert!(
        invented
            .unwrap_err()
            .to_string()
            .contains("unknown layer type")
    );
}
