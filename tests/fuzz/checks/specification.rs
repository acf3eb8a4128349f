//! Any text as the specification in a file: read without a panic, and what is accepted is
//! written again as what it was, with tables of finite numbers.

use pe_candle::checkpoint::{RotarySpec, SinusoidalSpec};

/// Wider rows are left out: they cost time and show nothing new.
const WIDEST: usize = 4096;

pub fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let additive = SinusoidalSpec::from_json(text);
    let rotary = RotarySpec::from_json(text);
    assert!(additive.is_err() || rotary.is_err());
    if !computed(input, 16) {
        return;
    }
    if let Ok(spec) = additive {
        let json = spec.to_json().unwrap();
        assert_eq!(SinusoidalSpec::from_json(&json).unwrap(), spec);
        let encoding = spec.scheme();
        if encoding.d_model() <= WIDEST && spec.rows() > 0 {
            let mut row = vec![0f32; encoding.d_model()];
            encoding.fill(spec.start(), &mut row).unwrap();
            assert!(row.iter().all(|entry| entry.abs() <= 1.0), "{row:?}");
        }
    }
    if let Ok(spec) = rotary {
        let json = spec.to_json().unwrap();
        assert_eq!(RotarySpec::from_json(&json).unwrap(), spec);
        let frequencies = spec.scheme().frequencies();
        let pairs = frequencies.pairs();
        if pairs <= WIDEST && spec.rows() > 0 {
            let (mut cos, mut sin) = (vec![0f64; pairs], vec![0f64; pairs]);
            frequencies.fill(spec.start(), &mut cos, &mut sin).unwrap();
            let most = frequencies.attention_factor().abs() * (1.0 + f64::EPSILON);
            let fits = |entry: &f64| entry.abs() <= most;
            assert!(cos.iter().chain(&sin).all(fits), "{most} {cos:?} {sin:?}");
        }
    }
}

/// Whether this input is one of those, about one in `of`, whose numbers are computed too: that
/// takes a hundred times as long as reading them.
fn computed(input: &[u8], of: u32) -> bool {
    let hash = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    (input.iter().fold(0x811C_9DC5, hash) >> 8).is_multiple_of(of)
}
