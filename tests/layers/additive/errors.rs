//! Wrong configurations and inputs: errors that name the values.

use super::*;

#[test]
fn e4_longer_input_is_a_named_error() -> Result<()> {
    let layer = layer(PositionalEncodingConfig {
        max_seq_len: 10,
        ..config(4)
    });
    let xs = |time| Tensor::zeros((2, time, 4), DType::F32, CPU);
    assert!(layer.forward_t(&xs(10)?, false).is_ok());
    assert_eq!(
        error_of(layer.forward_t(&xs(11)?, false)),
        "positions 0..11 were asked for, but the table holds 10 rows (max_seq_len 10)"
    );
    assert!(layer.forward_at(&xs(3)?, 7, false).is_ok());
    assert_eq!(
        error_of(layer.forward_at(&xs(3)?, 8, false)),
        "positions 8..11 were asked for, but the table holds 10 rows (max_seq_len 10)"
    );
    assert_eq!(
        error_of(layer.forward_at(&xs(3)?, usize::MAX - 1, false)),
        format!("offset {} plus length 3 overflows", usize::MAX - 1)
    );
    assert_eq!(
        error_of(layer.encoding(9, 2)),
        "positions 9..11 were asked for, but the table holds 10 rows (max_seq_len 10)"
    );
    // A rejected call takes no dropout step.
    let layer = PositionalEncodingConfig {
        dropout: 0.5,
        ..layer.config().clone()
    };
    let layer = PositionalEncoding::new(layer, DType::F32, CPU)?;
    assert!(layer.forward_t(&xs(11)?, true).is_err());
    assert_eq!(layer.dropout().step(), 0);
    Ok(())
}

#[test]
fn wrong_inputs_are_errors_that_name_both_values() -> Result<()> {
    let layer = layer(config(4));
    let bad = |shape: &[usize], dtype| {
        error_of(layer.forward_t(&Tensor::zeros(shape, dtype, CPU).unwrap(), false))
    };
    assert_eq!(
        bad(&[1, 2, 3], DType::F32),
        "batch-first input must have shape [B, T, d_model] with d_model 4, got [1, 2, 3]"
    );
    assert!(bad(&[4], DType::F32).ends_with("got [4]"));
    assert!(bad(&[1, 1, 2, 4], DType::F32).ends_with("got [1, 1, 2, 4]"));
    for dtype in [DType::U8, DType::U32, DType::I64] {
        assert_eq!(
            bad(&[1, 2, 4], dtype),
            format!(
                "the input must be f32, f64, f16 or bf16, not {}",
                dtype.as_str()
            )
        );
    }
    for (made_for, given) in [
        (DType::BF16, DType::F32),
        (DType::F16, DType::BF16),
        (DType::BF16, DType::F16),
        (DType::F64, DType::F32),
        (DType::F16, DType::F64),
    ] {
        let layer = PositionalEncoding::new(config(4), made_for, CPU)?;
        let xs = Tensor::zeros((1, 2, 4), given, CPU)?;
        assert_eq!(
            error_of(layer.forward_t(&xs, false)),
            format!(
                "the input is {}, but the table is {}: it must be of that type or f32",
                given.as_str(),
                made_for.as_str()
            )
        );
    }
    Ok(())
}

#[test]
fn wrong_configs_are_errors_that_name_the_value() {
    let refused = |config| error_of(PositionalEncoding::new(config, DType::F32, CPU));
    assert!(refused(config(0)).contains("d_model 0 is outside"));
    assert!(refused(config(5)).contains("d_model 5 is odd"));
    let of = |max_seq_len| PositionalEncodingConfig {
        max_seq_len,
        ..config(4)
    };
    assert_eq!(refused(of(0)), "max_seq_len 0 is outside 1..=4294967296");
    assert_eq!(
        refused(of(1 << 33)),
        "max_seq_len 8589934592 is outside 1..=4294967296"
    );
    assert!(
        refused(PositionalEncodingConfig {
            max_seq_len: 1 << 32,
            ..config(1 << 20)
        })
        .contains("exceeds the limit")
    );
    for p in [-0.1, 1.0, 1.5, f32::NAN, f32::INFINITY] {
        let message = refused(PositionalEncodingConfig {
            dropout: p,
            ..config(4)
        });
        assert_eq!(
            message,
            format!("dropout probability p must lie in [0, 1), got {p}")
        );
    }
    let scale = EmbeddingScale::Factor(f64::INFINITY);
    assert_eq!(
        refused(PositionalEncodingConfig { scale, ..config(4) }),
        "the embedding scale inf is not a finite number within f32's range"
    );
    for (dtype, table) in [(DType::F32, DType::BF16), (DType::F16, DType::F64)] {
        let config = PositionalEncodingConfig {
            table_dtype: Some(table),
            ..config(4)
        };
        assert_eq!(
            error_of(PositionalEncoding::new(config, dtype, CPU)),
            format!(
                "the layer is {}, but the table is {}: it must be of that type or f32",
                dtype.as_str(),
                table.as_str()
            )
        );
    }
    assert_eq!(
        error_of(PositionalEncoding::new(config(4), DType::U32, CPU)),
        "the layer must be f32, f64, f16 or bf16, not u32"
    );
    // The defaults that the documentation states. A preset is the table alone: it drops nothing.
    let preset = PositionalEncodingConfig::from_preset(Preset::Whisper, 384);
    assert_eq!((preset.dropout, preset.max_seq_len), (0.0, 5000));
    let config = PositionalEncodingConfig::new(512);
    assert_eq!(
        (config.max_seq_len, config.dropout, config.seed),
        (5000, 0.1, 0)
    );
    assert_eq!(
        (config.axis_order, config.growth),
        (AxisOrder::BatchFirst, Growth::AsNeeded)
    );
    assert_eq!(
        (config.scale, config.table_dtype),
        (EmbeddingScale::None, None)
    );
}
