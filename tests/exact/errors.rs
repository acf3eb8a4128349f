//! Invalid requests: errors that name the values, before anything is allocated.

use pe_core::hf_config::{self, UnknownKeys};
use pe_core::text::{escape, is_invisible};
use pe_core::{
    Base, Error, OddWidth, Preset, Recipe, Sinusoidal, SinusoidalConfig, Spacing, Table,
};

fn message(config: SinusoidalConfig) -> String {
    Sinusoidal::new(config).unwrap_err().to_string()
}

#[test]
fn specifications() {
    let ok = SinusoidalConfig::new(8);
    for d_model in [0, (1 << 20) + 1, usize::MAX] {
        let message = message(SinusoidalConfig { d_model, ..ok });
        assert_eq!(message, format!("d_model {d_model} is outside 1..=1048576"));
    }
    assert!(Sinusoidal::new(SinusoidalConfig::new(1 << 20)).is_ok());
    for base in [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let message = message(SinusoidalConfig {
            base: Base::Value(base),
            ..ok
        });
        assert_eq!(
            message,
            format!("base {base:?} is not a positive finite number")
        );
    }
    let rate = message(SinusoidalConfig {
        base: Base::MinRate(-1e-4),
        ..ok
    });
    assert_eq!(rate, "min_rate -0.0001 is not a positive finite number");
    // A single pair, or a width of one, does not hide a bad base.
    for d_model in [1, 2] {
        for odd_width in [OddWidth::ZeroPad, OddWidth::Truncate] {
            let config = SinusoidalConfig {
                d_model,
                odd_width,
                base: Base::Value(f64::NAN),
                ..ok
            };
            assert!(Sinusoidal::new(config).is_err());
        }
    }
    for shift in [
        4.0,
        5.0,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        1e300,
        1e-300,
    ] {
        let message = message(SinusoidalConfig {
            spacing: Spacing::Shifted(shift),
            ..ok
        });
        assert!(
            message.starts_with(&format!("downscale_freq_shift {shift:?} "))
                && message.contains("4 pairs"),
            "{message}"
        );
    }
    let fast = message(SinusoidalConfig {
        base: Base::Value(1e-300),
        ..ok
    });
    assert!(
        fast.contains("base 1e-300") && fast.contains("pair 1"),
        "{fast}"
    );
    let steep = message(SinusoidalConfig {
        spacing: Spacing::Shifted(4.0 - f64::EPSILON * 4.0),
        ..ok
    });
    assert!(steep.contains("pair 1"), "{steep}");
    let recipe = message(SinusoidalConfig {
        recipe: Recipe::PowF32,
        spacing: Spacing::Inclusive,
        ..ok
    });
    assert_eq!(
        recipe,
        "the recipe pow-f32 is not defined for inclusive spacing"
    );
}

/// A2, B5: odd widths are an explicit choice.
#[test]
fn a1_b5_odd_widths_are_refused_unless_chosen() {
    let error = Sinusoidal::paper(511).unwrap_err();
    assert_eq!(error, Error::OddDModel { d_model: 511 });
    assert!(error.to_string().contains("511"));
}

#[test]
fn requests() {
    let encoding = Sinusoidal::paper(8).unwrap();
    #[allow(clippy::reversed_empty_ranges)]
    for range in [5..4, 0..(1 << 32) + 1, u64::MAX - 1..u64::MAX] {
        let error = encoding.table::<f32>(range.clone()).unwrap_err();
        assert_eq!(
            error,
            Error::Range {
                start: range.start,
                end: range.end
            }
        );
    }
    // 10^12 entries of 8 bytes, rejected without a try.
    let wide = Sinusoidal::paper(1 << 20).unwrap();
    let error = wide.table::<f64>(0..1 << 32).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a table of 4294967296 rows x 1048576 columns of f64 exceeds the limit of 17179869184 bytes"
    );
    let mut out = [0f32; 15];
    let error = encoding.fill(0, &mut out).unwrap_err().to_string();
    assert_eq!(error, "out holds 15 elements, 8 are needed");
    assert!(encoding.fill(1 << 32, &mut out[..8]).is_err());
    assert!(encoding.fill((1 << 32) - 1, &mut out[..8]).is_ok());
    assert!(encoding.fill_at(&[1, 2, 3], &mut out).is_err());
    for value in [f64::NAN, f64::INFINITY, 1e16, -1e16] {
        let error = encoding.table_at_reals::<f32>(&[0.0, value]).unwrap_err();
        let message = error.to_string();
        assert!(
            message.contains("at index 1") && message.contains(&format!("{value:?}")),
            "{message}"
        );
    }
    // Nothing asked for, nothing wrong.
    assert_eq!(encoding.table::<f32>(3..3).unwrap().rows(), 0);
    assert_eq!(encoding.table_at::<f32>(&[]).unwrap().rows(), 0);
    encoding.fill::<f32>(17, &mut []).unwrap();
}

#[test]
fn tables() {
    let table = Table::from_vec(vec![1f32, 2., 3., 4., 5., 6.], 3).unwrap();
    assert_eq!((table.rows(), table.width()), (2, 3));
    assert_eq!(table.row(1), Some(&[4f32, 5., 6.][..]));
    assert_eq!(
        (table.row(2), table.get(0, 3), table.get(9, 0)),
        (None, None, None)
    );
    // No columns, no rows, no panic.
    let empty = Sinusoidal::paper(8)
        .and_then(|encoding| encoding.similarity_matrix(pe_core::Similarity::Dot, 0..3, 5..5))
        .unwrap();
    assert_eq!(
        (empty.width(), empty.row(0), empty.iter_rows().count()),
        (0, None, 0)
    );
    // Entries of no whole row, and how many those before it have.
    for (entries, width, expected) in [(1, 0, 0), (1, 2, 0), (11, 3, 9), (7, 3, 6)] {
        assert_eq!(
            Table::from_vec(vec![1f32; entries], width).unwrap_err(),
            Error::Length {
                name: "data",
                len: entries,
                expected,
            }
        );
    }
}

#[test]
fn shifts_and_similarities() {
    let encoding = Sinusoidal::paper(8).unwrap();
    let error = encoding.shift(1 << 32).unwrap_err().to_string();
    assert!(error.contains("4294967296"), "{error}");
    assert!(encoding.shift(i64::MIN).is_err());
    let far = encoding.shift((1 << 32) - 1).unwrap();
    assert!(far.compose(&far).is_err());
    let other = Sinusoidal::paper(10).unwrap().shift(1).unwrap();
    let error = far.compose(&other).unwrap_err().to_string();
    assert!(
        error.contains("d_model: 8") && error.contains("d_model: 10"),
        "{error}"
    );
    assert!(far.apply(&mut [0f32; 7]).is_err());
    let truncated = Sinusoidal::new(SinusoidalConfig {
        odd_width: OddWidth::Truncate,
        ..SinusoidalConfig::new(7)
    })
    .unwrap();
    let error = truncated.shift(1).unwrap_err().to_string();
    assert!(error.contains("cuts a pair in half"), "{error}");
    assert!(truncated.neighbor_distance().is_err());
    let recipe = Sinusoidal::new(SinusoidalConfig {
        recipe: Recipe::ExpF32,
        ..SinusoidalConfig::new(8)
    })
    .unwrap();
    assert!(recipe.shift(1).is_err());
    assert!(recipe.similarity(pe_core::Similarity::Dot, 0, 1).is_err());
}

/// One of each kind of character that every message must escape.
const HOSTILE: &str = "a\0\n\r\t\u{1b}[2J\u{7f}\u{85}\u{9b}\u{ad}\u{34f}\u{61c}\u{115f}\u{180e}\
    \u{200b}\u{200d}\u{200f}\u{2028}\u{2029}\u{202e}\u{2060}\u{2066}\u{3164}\u{fe0f}\u{feff}\
    \u{ffa0}\u{fff9}\u{1d173}\u{e0001}\u{e0041}\u{e0100}z";

/// Panics if a message is more than one line or holds an invisible character.
fn assert_shown(message: &str) {
    assert!(!message.contains(is_invisible), "{message:?}");
    assert!(!message.chars().any(char::is_control), "{message:?}");
}

#[test]
fn messages_are_one_line_whatever_they_quote() {
    let hostile = || HOSTILE.to_owned();
    for error in [
        Error::Mismatch {
            left: hostile(),
            right: hostile(),
        },
        Error::ModelConfig {
            key: hostile(),
            problem: hostile(),
        },
        Error::UnknownName {
            kind: "preset",
            name: hostile(),
            known: hostile(),
        },
        Error::NotRotary {
            model_type: Some(hostile()),
            scheme: hostile(),
        },
        Error::IgnoredKeys {
            keys: vec![hostile()],
        },
        Error::LayerType {
            layer_type: Some(hostile()),
            known: vec![hostile()],
        },
        HOSTILE.parse::<Preset>().unwrap_err(),
    ] {
        let message = error.to_string();
        assert_shown(&message);
        assert!(
            message.contains(r"a\u{0}\n\r\t\u{1b}[2J\u{7f}"),
            "{message}"
        );
    }
    // Every key and every text of a config.json, and texts that are no JSON.
    let quoted = serde_json::to_string(HOSTILE).unwrap();
    let texts = [
        format!("{{{quoted}"),
        HOSTILE.to_owned(),
        format!(r#"{{"model_type":{quoted},"head_dim":{quoted}}}"#),
        format!(r#"{{"model_type":{quoted},"alibi":true}}"#),
        format!(r#"{{"head_dim":64,"rope_theta":{quoted}}}"#),
        format!(r#"{{"head_dim":64,"rope_scaling":{{"rope_type":{quoted}}}}}"#),
        format!(r#"{{"head_dim":64,"rope_scaling":{{"rope_type":"linear","factor":{quoted}}}}}"#),
        format!(
            r#"{{"head_dim":64,"rope_scaling":{{"rope_type":"linear","factor":2,{quoted}:1}}}}"#
        ),
        format!(r#"{{"head_dim":64,"rope_parameters":{{{quoted}:{quoted}}}}}"#),
        format!(
            r#"{{"head_dim":64,"rope_{}":1}}"#,
            &quoted[1..quoted.len() - 1]
        ),
        format!(
            r#"{{"head_dim":64,"layer_types":[{quoted}],"rope_parameters":{{{quoted}:{{"rope_type":{quoted}}}}}}}"#
        ),
    ];
    for text in texts {
        let message = hf_config::read(&text, UnknownKeys::Reject)
            .unwrap_err()
            .to_string();
        assert_shown(&message);
    }
    let layers = format!(
        r#"{{"head_dim":64,"layer_types":[{quoted},"b"],"rope_parameters":{{{quoted}:{{"rope_type":"default","rope_theta":1e4}},"b":{{"rope_type":"default","rope_theta":1e6}}}}}}"#
    );
    let model = hf_config::read(&layers, UnknownKeys::Reject).unwrap();
    assert_shown(&model.layer(None).unwrap_err().to_string());
    assert_shown(
        &model
            .layer(Some(HOSTILE))
            .map(|_| String::new())
            .unwrap_or_else(|e| e.to_string()),
    );
}

#[test]
fn escaping_keeps_what_is_visible() {
    let visible = "wte.weight \"quoted\" back\\slash naïve e\u{301} 語 🇫🇷 \u{a0}\u{3000} \u{e000}";
    assert_eq!(escape(visible), visible);
    let escaped = escape(HOSTILE).into_owned();
    assert_shown(&escaped);
    assert!(escaped.starts_with('a') && escaped.ends_with(r"\u{e0041}\u{e0100}z"));
    assert_eq!(escape(&escaped), escaped);
    let invisible = (0..=0x10FFFF)
        .filter_map(char::from_u32)
        .filter(|c| is_invisible(*c));
    // 65 control characters, 4174 that Unicode 16 ignores by default, 2 separators, 3 annotations.
    assert_eq!(invisible.count(), 4244);
}
