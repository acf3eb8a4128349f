//! Specifications that cannot be: errors that name the values.

use pe_core::{
    Llama3Scaling, LongRopeScaling, MAX_D_MODEL, RopeScaling, Rotary, RotaryConfig, RotaryRecipe,
    YarnScaling,
};

fn error(config: &RotaryConfig) -> String {
    let message = |recipe| {
        let config = RotaryConfig {
            recipe,
            ..config.clone()
        };
        Rotary::new(config).unwrap_err().to_string()
    };
    let exact = message(RotaryRecipe::Exact);
    assert!(!message(RotaryRecipe::HfF32).is_empty());
    exact
}

fn scaled(scaling: RopeScaling) -> String {
    error(&RotaryConfig {
        scaling,
        max_position_embeddings: Some(4096),
        ..RotaryConfig::new(8)
    })
}

#[test]
fn widths_and_bases() {
    for rotary_dim in [0, 7, MAX_D_MODEL + 2] {
        assert_eq!(
            error(&RotaryConfig::new(rotary_dim)),
            format!("rotary_dim {rotary_dim} is not an even number within 2..=1048576")
        );
    }
    for base in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let config = RotaryConfig {
            base,
            ..RotaryConfig::new(8)
        };
        assert_eq!(
            error(&config),
            format!("base {base:?} is not a positive finite number")
        );
    }
    // Frequencies beyond 2^32, or beyond everything.
    for base in [1e-30, 1e-300, f64::MIN_POSITIVE] {
        let config = RotaryConfig {
            base,
            ..RotaryConfig::new(8)
        };
        assert!(
            error(&config).starts_with("inv_freq "),
            "{}",
            error(&config)
        );
    }
}

#[test]
fn factors() {
    for factor in [0.0, -2.0, f64::NAN, f64::INFINITY] {
        let expected = format!("factor {factor:?} is not a positive finite number");
        for scaling in [
            RopeScaling::Linear { factor },
            RopeScaling::Dynamic { factor },
            RopeScaling::Yarn(YarnScaling::new(factor, 4096)),
            RopeScaling::Llama3(Llama3Scaling {
                factor,
                low_freq_factor: 1.0,
                high_freq_factor: 4.0,
                original_max_position_embeddings: 8192,
            }),
            RopeScaling::LongRope(LongRopeScaling {
                factor: Some(factor),
                ..LongRopeScaling::new(vec![1.0; 4], vec![1.0; 4], 4096)
            }),
            RopeScaling::Proportional {
                partial_rotary_factor: 0.5,
                factor,
            },
        ] {
            assert_eq!(scaled(scaling), expected);
        }
    }
}

#[test]
fn lists_and_their_lengths() {
    let longrope = |short: Vec<f64>, long: Vec<f64>| {
        scaled(RopeScaling::LongRope(LongRopeScaling::new(
            short, long, 4096,
        )))
    };
    assert_eq!(
        longrope(vec![1.0; 3], vec![1.0; 4]),
        "short_factor holds 3 elements, 4 are needed"
    );
    assert_eq!(
        longrope(vec![1.0; 4], vec![1.0; 5]),
        "long_factor holds 5 elements, 4 are needed"
    );
    assert_eq!(
        longrope(vec![1.0; 4], vec![1.0, 2.0, 0.0, 1.0]),
        "long_factor 0.0 is not a positive finite number"
    );
    let custom = |inv_freq: Vec<f64>, attention_factor| {
        scaled(RopeScaling::Custom {
            inv_freq,
            attention_factor,
        })
    };
    assert_eq!(
        custom(vec![1.0; 5], 1.0),
        "inv_freq holds 5 elements, 4 are needed"
    );
    for (value, shown) in [
        (f64::NAN, "NaN"),
        (-0.5, "-0.5"),
        (f64::INFINITY, "inf"),
        (5e9, "5000000000.0"),
    ] {
        assert_eq!(
            custom(vec![1.0, 0.5, value, 0.1], 1.0),
            format!("inv_freq {shown} of pair 2 is not a number within 0..=4294967296")
        );
    }
    assert_eq!(
        custom(vec![1.0; 4], 0.0),
        "attention_factor 0.0 is not a positive finite number"
    );
}

#[test]
fn parameters_of_the_families() {
    let yarn = YarnScaling::new(4.0, 4096);
    let of = |yarn| scaled(RopeScaling::Yarn(yarn));
    assert_eq!(
        of(YarnScaling {
            beta_fast: 0.5,
            ..yarn
        }),
        "beta_fast 0.5 is below beta_slow 1.0"
    );
    assert_eq!(
        of(YarnScaling {
            beta_slow: f64::NAN,
            ..yarn
        }),
        "beta_slow NaN is not a positive finite number"
    );
    assert_eq!(
        of(YarnScaling {
            attention_factor: Some(-1.0),
            ..yarn
        }),
        "attention_factor -1.0 is not a positive finite number"
    );
    assert_eq!(
        of(YarnScaling {
            mscale: Some(f64::INFINITY),
            ..yarn
        }),
        "mscale inf is not a finite number of at least 0"
    );
    assert_eq!(
        of(YarnScaling::new(4.0, 0)),
        "original_max_position_embeddings 0.0 is not a positive finite number"
    );
    let base_1 = RotaryConfig {
        base: 1.0,
        scaling: RopeScaling::Yarn(yarn),
        ..RotaryConfig::new(8)
    };
    assert_eq!(
        error(&base_1),
        "base 1.0 is not above 1, as yarn scaling requires"
    );
    let llama3 = Llama3Scaling {
        factor: 8.0,
        low_freq_factor: 4.0,
        high_freq_factor: 1.0,
        original_max_position_embeddings: 8192,
    };
    assert_eq!(
        scaled(RopeScaling::Llama3(llama3)),
        "high_freq_factor 1.0 is below low_freq_factor 4.0"
    );
    for partial_rotary_factor in [-0.25, 1.5, f64::NAN] {
        let scaling = RopeScaling::Proportional {
            partial_rotary_factor,
            factor: 1.0,
        };
        assert_eq!(
            scaled(scaling),
            format!("partial_rotary_factor {partial_rotary_factor:?} is not a number within 0..=1")
        );
    }
    let without_length = RotaryConfig {
        scaling: RopeScaling::Dynamic { factor: 2.0 },
        ..RotaryConfig::new(8)
    };
    assert_eq!(
        error(&without_length),
        "dynamic scaling is not defined for a model without max_position_embeddings"
    );
    let two_columns = RotaryConfig {
        max_position_embeddings: Some(4096),
        rotary_dim: 2,
        ..without_length
    };
    assert_eq!(
        error(&two_columns),
        "dynamic scaling is not defined for a rotary_dim of 2"
    );
    let no_factor = RotaryConfig {
        scaling: RopeScaling::LongRope(LongRopeScaling::new(vec![1.0; 4], vec![1.0; 4], 4096)),
        ..RotaryConfig::new(8)
    };
    assert_eq!(
        error(&no_factor),
        "longrope scaling is not defined for a model without max_position_embeddings"
    );
}

#[test]
fn tables_check_ranges_lengths_and_sizes() {
    let set = Rotary::new(RotaryConfig::new(8)).unwrap();
    let set = set.frequencies(0).unwrap();
    let backwards = std::ops::Range { start: 5, end: 4 };
    assert!(set.tables::<f32>(backwards).is_err());
    assert!(set.tables::<f32>(0..(1 << 32) + 1).is_err());
    assert!(set.tables::<f32>(0..1 << 32).is_err());
    assert!(set.fill::<f32>(0, &mut [0.0; 8], &mut [0.0; 4]).is_err());
    assert!(set.fill::<f32>(0, &mut [0.0; 7], &mut [0.0; 7]).is_err());
    assert!(
        set.fill::<f32>(1 << 32, &mut [0.0; 4], &mut [0.0; 4])
            .is_err()
    );
    assert!(set.fill::<f32>(1 << 32, &mut [], &mut []).is_ok());
    let none = set.tables::<f32>(7..7).unwrap();
    assert_eq!((none.cos.rows(), none.sin.width()), (0, 4));
}
