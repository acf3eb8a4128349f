//! Any text as a model's config.json: read without a panic, strictly or not, and what is
//! accepted gives frequencies or an error.

use pe_core::Rotary;
use pe_core::hf_config::{self, UnknownKeys};

/// Wider heads are left out: they cost time and show nothing new.
const WIDEST: usize = 4096;

pub fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let strict = hf_config::read(text, UnknownKeys::Reject);
    let Ok(model) = hf_config::read(text, UnknownKeys::Warn) else {
        assert!(strict.is_err());
        return;
    };
    match strict {
        Ok(strict) => assert!(strict.warnings.is_empty() && strict == model),
        Err(_) => assert!(!model.warnings.is_empty()),
    }
    assert!(!model.layers.is_empty());
    if !computed(input, 32) {
        return;
    }
    for layer in &model.layers {
        assert!(layer.rotary.rotary_dim <= layer.head_dim);
        if layer.rotary.rotary_dim > WIDEST {
            continue;
        }
        let Ok(rotary) = Rotary::new(layer.rotary.clone()) else {
            continue;
        };
        assert_eq!(rotary.config(), &layer.rotary);
        for seq_len in [0, 1, 4096, 1 << 20] {
            let Ok(frequencies) = rotary.frequencies(seq_len) else {
                continue;
            };
            assert_eq!(2 * frequencies.pairs(), layer.rotary.rotary_dim);
            let pairs = frequencies.pairs();
            let (mut cos, mut sin) = (vec![0f32; pairs], vec![0f32; pairs]);
            frequencies.fill(1, &mut cos, &mut sin).unwrap();
            assert!(cos.iter().chain(&sin).all(|entry| !entry.is_nan()));
        }
    }
}

/// Whether this input is one of those, about one in `of`, whose numbers are computed too: that
/// takes a hundred times as long as reading them.
fn computed(input: &[u8], of: u32) -> bool {
    let hash = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    (input.iter().fold(0x811C_9DC5, hash) >> 8).is_multiple_of(of)
}
