//! Any bytes as a GGUF file: read without a panic, strictly or not, and what is accepted gives
//! frequencies or an error.

use std::io::Cursor;

use pe_core::Rotary;
use pe_core::gguf;
use pe_core::hf_config::{HfModel, UnknownKeys};

pub fn check(input: &[u8]) {
    let read = |unknown| gguf::read_file(&mut Cursor::new(input), unknown);
    let strict = read(UnknownKeys::Reject);
    let model = match read(UnknownKeys::Warn) {
        Err(_) => {
            assert!(strict.is_err());
            return;
        }
        Ok(HfModel::Other(_)) => return,
        Ok(HfModel::Rotary(model)) => model,
    };
    assert_eq!(strict.is_ok(), model.warnings.is_empty());
    for layer in &model.layers {
        assert!(layer.rotary.rotary_dim <= layer.head_dim);
        if layer.rotary.rotary_dim > 512 {
            continue;
        }
        let Ok(rotary) = Rotary::new(layer.rotary.clone()) else {
            continue;
        };
        for seq_len in [0, 1 << 20] {
            let Ok(frequencies) = rotary.frequencies(seq_len) else {
                continue;
            };
            let pairs = frequencies.pairs();
            let (mut cos, mut sin) = (vec![0f32; pairs], vec![0f32; pairs]);
            frequencies.fill(1, &mut cos, &mut sin).unwrap();
            assert!(cos.iter().chain(&sin).all(|entry| !entry.is_nan()));
        }
    }
}
