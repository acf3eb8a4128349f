//! Any text as the numbers of a command line: read without a panic, and none outside its
//! bounds. One argument a line; a specification is made of what they say.

use candle_core::DType;
use pe_candle::checkpoint::SinusoidalSpec;
use pe_core::hf_config::{self, UnknownKeys};
use pe_core::{Base, POSITIONS, Rotary, SinusoidalConfig};
use pe_demo::numbers;

/// Wider tables are left out: they cost time and show nothing new.
const WIDEST: u64 = 4096;

pub fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let mut config = SinusoidalConfig::new(64);
    let (mut start, mut rows) = (0, 1);
    for (at, line) in text.split('\n').take(8).enumerate() {
        // As an option would take it.
        match at {
            0 => config.d_model = whole(line, 1, WIDEST).unwrap_or(64) as usize,
            1 => rows = whole(line, 1, POSITIONS).unwrap_or(1) as usize,
            2 => start = whole(line, 0, POSITIONS - 1).unwrap_or(0),
            _ => {}
        }
        whole(line, 0, u64::MAX);
        let small: Result<u32, _> = numbers::whole(0, u64::MAX)(line);
        assert!(small.is_err() || line.parse::<u32>().is_ok());
        if let Ok(number) = numbers::positive(line) {
            assert!(number > 0.0 && number < f64::INFINITY);
            config.base = match at % 2 {
                0 => Base::Value(number),
                _ => Base::MinRate(number),
            };
        }
        if let Ok(number) = numbers::probability(line) {
            assert!((0.0..1.0).contains(&number));
        }
        if let Ok(spacing) = numbers::parse_spacing(line) {
            config.spacing = spacing;
        }
        if let Ok(scaling) = numbers::scaling(line)
            && computed(line.as_bytes(), 32)
        {
            scaled(scaling);
        }
    }
    if !computed(input, 32) {
        return;
    }
    if let Ok(spec) = SinusoidalSpec::new(config, start, rows, DType::F32) {
        let json = spec.to_json().unwrap();
        assert_eq!(SinusoidalSpec::from_json(&json).unwrap(), spec);
    }
}

/// A whole number is what an exact reading of its digits says.
fn whole(text: &str, least: u64, most: u64) -> Option<u64> {
    let read: Option<u64> = numbers::whole(least, most)(text).ok();
    let digits = text.strip_prefix('+').unwrap_or(text);
    let exact = digits
        .bytes()
        .try_fold(0u128, |sum, digit| match digit {
            b'0'..=b'9' => Some((sum * 10 + u128::from(digit - b'0')).min(1 << 100)),
            _ => None,
        })
        .filter(|_| !digits.is_empty());
    let within = exact.filter(|exact| (u128::from(least)..=u128::from(most)).contains(exact));
    assert_eq!(read.map(u128::from), within, "{text:?}");
    read
}

/// The keys mean what they mean in a config.json.
fn scaled(scaling: numbers::Scaling) {
    let mut keys = scaling.keys;
    let longest = keys.remove("max_position_embeddings");
    keys.insert("rope_type".to_owned(), scaling.name.into());
    let document = serde_json::json!({
        "head_dim": 32,
        "rope_theta": 10000.0,
        "max_position_embeddings": longest,
        "rope_scaling": keys,
    });
    let Ok(model) = hf_config::read(&document.to_string(), UnknownKeys::Reject) else {
        return;
    };
    for layer in &model.layers {
        if let Ok(rotary) = Rotary::new(layer.rotary.clone()) {
            let _ = rotary.frequencies(8192);
        }
    }
}

/// Whether this input is one of those, about one in `of`, whose numbers are computed too: that
/// takes a hundred times as long as reading them.
fn computed(input: &[u8], of: u32) -> bool {
    let hash = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    (input.iter().fold(0x811C_9DC5, hash) >> 8).is_multiple_of(of)
}
