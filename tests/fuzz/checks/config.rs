//! Any text as a model's config.json: read without a panic, strictly or not, and what is
//! accepted gives frequencies or an error, slopes or buckets of an attention bias, and rows of a learned table.

use pe_core::Rotary;
use pe_core::hf_config::{self, HfBias, UnknownKeys};

/// Wider heads are left out: they cost time and show nothing new.
const WIDEST: usize = 4096;

const DISTANCES: [i64; 7] = [i64::MIN, -5000, -1, 0, 1, 5000, i64::MAX];

pub fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    check_bias(text);
    check_learned(text);
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
    for index in 0..model.layer_types.len() {
        let unrotated = model.unrotated.contains(&index);
        assert!(!unrotated || model.layer_at(index).is_ok_and(|layer| layer.is_none()));
    }
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

/// The learned table: read without a panic, and what is accepted has a row of position 0.
fn check_learned(text: &str) {
    if let Ok(learned) = hf_config::read_learned(text) {
        assert!(learned.first_row < learned.table_rows);
        let after = learned.padding_row.map(|row| row as usize + 1);
        assert!(after.is_none_or(|row| row == learned.first_row));
    }
}

/// The bias of attention: read without a panic, and what is accepted has slopes or buckets.
fn check_bias(text: &str) {
    match hf_config::read_bias(text) {
        Ok(Some(HfBias::Alibi(config))) => {
            let slopes = pe_core::alibi_slopes::<f32>(&config).unwrap();
            assert_eq!(slopes.len(), config.num_heads);
            assert!(slopes.iter().all(|slope| (0.0..=1.0).contains(slope)));
        }
        Ok(Some(HfBias::Buckets { buckets, .. })) => check_buckets(buckets),
        Ok(Some(HfBias::Boxes {
            tokens,
            coordinates,
            ..
        })) => [tokens, coordinates].into_iter().for_each(check_buckets),
        Ok(Some(HfBias::Disentangled { buckets, .. })) => {
            let buckets = pe_core::DebertaBuckets::new(buckets).unwrap();
            for distance in DISTANCES {
                assert!((buckets.row(distance) as usize) < 2 * buckets.span());
            }
        }
        _ => {}
    }
}

fn check_buckets(config: pe_core::T5BucketsConfig) {
    let buckets = pe_core::T5Buckets::new(config).unwrap();
    for distance in DISTANCES {
        assert!((buckets.bucket(distance) as usize) < config.num_buckets);
    }
}

/// Whether this input is one of those, about one in `of`, whose numbers are computed too: that
/// takes a hundred times as long as reading them.
fn computed(input: &[u8], of: u32) -> bool {
    let hash = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    (input.iter().fold(0x811C_9DC5, hash) >> 8).is_multiple_of(of)
}
