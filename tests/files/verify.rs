//! Files that contradict their specification, or the caller's.

use pe_tests::tolerance;

use super::*;

/// Changes the entry at an index of the flat f32 table in a file.
fn change(path: &Path, entry: usize, value: f32) {
    let mut bytes = fs::read(path).unwrap();
    let header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let at = 8 + header + 4 * entry;
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    fs::write(path, bytes).unwrap();
}

#[test]
fn entries_that_differ_from_the_specification_are_counted_and_the_first_is_named() {
    let (_dir, path) = temp();
    let spec = spec_of(16, 1000, 300, DType::F32);
    checkpoint::export(&path, &spec).unwrap();
    let right = bits(&checkpoint::load(&path, &Device::Cpu).unwrap().table);
    let value = |at: usize| right[at] as f32;
    change(
        &path,
        16 * 7 + 3,
        f32::from_bits(value(16 * 7 + 3).to_bits() + 1),
    );
    change(
        &path,
        16 * 250 + 15,
        f32::from_bits(value(16 * 250 + 15).to_bits() - 5),
    );
    let comparison = checkpoint::compare(&path, &spec).unwrap();
    assert_eq!((comparison.entries, comparison.wrong), (4800, 2));
    assert_eq!(comparison.max_ulps, 5);
    let first = comparison.first_wrong.unwrap();
    assert_eq!(
        (first.position, first.row, first.column, first.ulps),
        (Some(1007), 7, 3, 1)
    );
    assert_eq!(first.expected, right[16 * 7 + 3]);
    assert!(
        comparison.max_difference > 0.0 && comparison.max_difference < tolerance::FIVE_ULPS_F32
    );

    let error = load_error(&path);
    for part in [
        "table.safetensors: tensor \"pe\": by the file's own specification, 2 of 4800 entries are wrong",
        "the first at position 1007, column 3: ",
        &format!(
            "{} where {} is right (1 ulp apart)",
            first.found as f32, first.expected as f32
        ),
    ] {
        assert!(error.contains(part), "{error}\n{part}");
    }
    // Within a tolerance they pass; unverified, too.
    for options in [
        LoadOptions {
            tolerance: tolerance::FIVE_ULPS_F32,
            ..LoadOptions::default()
        },
        LoadOptions {
            verify: Verify::None,
            ..LoadOptions::default()
        },
    ] {
        options.load(&path).unwrap();
    }
    // A sample sees first and last row, and some between.
    let sample = LoadOptions {
        verify: Verify::Sample,
        ..LoadOptions::default()
    };
    sample.load(&path).unwrap_err();
    change(&path, 16 * 250 + 15, value(16 * 250 + 15));
    sample.load(&path).unwrap();
    for row in [0, 5, 295, 299] {
        change(&path, 16 * row, 0.3);
        sample.load(&path).unwrap_err();
        change(&path, 16 * row, value(16 * row));
    }
    // Of the wrong sign, far away, and beyond all numbers.
    change(&path, 0, -f32::from_bits(1));
    assert_eq!(checkpoint::compare(&path, &spec).unwrap().wrong, 2);
    change(&path, 0, f32::NAN);
    let comparison = checkpoint::compare(&path, &spec).unwrap();
    assert_eq!((comparison.wrong, comparison.max_ulps), (2, u64::MAX));
    assert!(comparison.max_difference.is_nan());
    assert!(
        comparison.to_string().contains("NaN where "),
        "{comparison}"
    );
}

#[test]
fn ulps_count_representable_values_through_zero() {
    let (_dir, path) = temp();
    let spec = spec(2, 1); // [sin 0, cos 0] = [0, 1]
    checkpoint::export(&path, &spec).unwrap();
    let ulps = |value: f32| {
        change(&path, 0, value);
        checkpoint::compare(&path, &spec).unwrap().max_ulps
    };
    assert_eq!(ulps(-0.0), 0);
    assert_eq!(checkpoint::compare(&path, &spec).unwrap().wrong, 1);
    assert_eq!(ulps(f32::from_bits(3)), 3);
    assert_eq!(ulps(-f32::from_bits(2)), 2);
    assert_eq!(ulps(-1.0), u64::from(1f32.to_bits()));
    // Across zero: from 1 down to -1.
    change(&path, 0, 0.0);
    change(&path, 1, -1.0);
    let comparison = checkpoint::compare(&path, &spec).unwrap();
    assert_eq!(comparison.max_ulps, 2 * u64::from(1f32.to_bits()));
    assert_eq!(comparison.max_difference, 2.0);
    // One bit, the last.
    change(&path, 1, f32::from_bits(1f32.to_bits() ^ 1));
    let comparison = checkpoint::compare(&path, &spec).unwrap();
    assert_eq!((comparison.wrong, comparison.max_ulps), (1, 1));
}

#[test]
fn sign_of_a_zero_counts_unless_there_is_a_tolerance() {
    let (_dir, path) = temp();
    let plain = SinusoidalConfig::new(6);
    let zero_pad = SinusoidalConfig {
        odd_width: OddWidth::ZeroPad,
        ..SinusoidalConfig::new(7)
    };
    let padding = SinusoidalConfig {
        padding_idx: Some(2),
        ..plain
    };
    // sin(0), a column of zeros, a row of zeros.
    for (config, row, column) in [(plain, 0, 2), (zero_pad, 4, 6), (padding, 2, 1)] {
        for dtype in FLOATS {
            let spec = SinusoidalSpec::new(config, 0, 5, dtype).unwrap();
            checkpoint::export(&path, &spec).unwrap();
            let mut bytes = fs::read(&path).unwrap();
            let from_end = 5 * config.d_model - (row * config.d_model + column);
            let entry = bytes.len() - from_end * dtype.size_in_bytes();
            let last = entry + dtype.size_in_bytes() - 1;
            assert!(bytes[entry..=last].iter().all(|byte| *byte == 0));
            bytes[last] = 0x80;
            fs::write(&path, bytes).unwrap();

            let comparison = checkpoint::compare(&path, &spec).unwrap();
            assert_eq!((comparison.wrong, comparison.max_ulps), (1, 0));
            assert_eq!(comparison.max_difference, 0.0);
            let first = comparison.first_wrong.unwrap();
            assert_eq!((first.row, first.column, first.ulps), (row, column, 0));
            assert!(first.found.is_sign_negative() && first.expected.is_sign_positive());
            let error = load_error(&path);
            let message = format!(
                "the first at position {row}, column {column}: -0.0 where 0.0 is right \
                 (the sign of zero)"
            );
            assert!(error.contains(&message), "{error}");
            let tolerant = LoadOptions {
                tolerance: f64::MIN_POSITIVE,
                ..LoadOptions::default()
            };
            tolerant.load(&path).unwrap();
        }
    }
}

#[test]
fn tolerance_is_the_largest_difference_that_passes() {
    let (_dir, path) = temp();
    checkpoint::export(&path, &spec(2, 1)).unwrap();
    change(&path, 1, 1.0 - 1.0 / 1024.0);
    let with = |tolerance| LoadOptions {
        tolerance,
        ..LoadOptions::default()
    };
    with(pow2(-10)).load(&path).unwrap();
    with(pow2(-10) * 0.999).load(&path).unwrap_err();
    with(f64::NAN).load(&path).unwrap_err();
}

#[test]
fn first_infinite_entry_of_many_blocks_is_named() {
    let (_dir, path) = temp();
    checkpoint::export(&path, &spec(2, 400_000)).unwrap();
    change(&path, 700_000, f32::NAN);
    change(&path, 3, f32::INFINITY);
    let error = load_error(&path);
    assert!(error.contains("row 1, column 1 is inf"), "{error}");
}

#[test]
fn infinite_and_nan_entries_are_an_error_unless_accepted() {
    let (_dir, path) = temp();
    for dtype in FLOATS {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let mut values = bits(&exact(8, 4, DType::F64));
            values[21] = bad;
            let table = Tensor::from_vec(values, (4, 8), &Device::Cpu).unwrap();
            let table = table.to_dtype(dtype).unwrap();
            fs::write(&path, foreign(&[("pe", &table)])).unwrap();
            let error = load_error(&path);
            let message = format!("tensor \"pe\": the entry at row 2, column 5 is {bad}");
            assert!(error.contains(&message), "{error}");
            let options = LoadOptions {
                non_finite: NonFinite::Accept,
                ..LoadOptions::default()
            };
            let loaded = bits(&options.load(&path).unwrap().table);
            assert!(loaded[21] == bad || bad.is_nan() && loaded[21].is_nan());
        }
    }
    // Still an error where the entries are converted.
    let nan = Tensor::from_vec(vec![0f64, f64::NAN], (1, 2), &Device::Cpu).unwrap();
    fs::write(&path, foreign(&[("pe", &nan)])).unwrap();
    for dtype in FLOATS {
        let options = LoadOptions {
            dtype: Some(dtype),
            ..LoadOptions::default()
        };
        let error = options.load(&path).unwrap_err().to_string();
        assert!(error.contains("row 0, column 1 is NaN"), "{error}");
        assert!(!error.contains("beyond"), "{error}");
    }
    // The largest finite values are finite.
    let largest = Tensor::from_vec(vec![f16::MAX, f16::MIN], (1, 2), &Device::Cpu).unwrap();
    fs::write(&path, foreign(&[("pe", &largest)])).unwrap();
    checkpoint::load(&path, &Device::Cpu).unwrap();
}

#[test]
fn file_that_was_not_asked_for_names_the_difference() {
    let (_dir, path) = temp();
    checkpoint::export(&path, &spec_of(16, 3, 10, DType::F32)).unwrap();
    let config = SinusoidalConfig::new(16);
    let with = |config| LoadOptions {
        config: Some(config),
        ..LoadOptions::default()
    };
    with(config).load(&path).unwrap();
    for (options, message) in [
        (
            with(SinusoidalConfig {
                base: Base::Value(500.0),
                ..config
            }),
            r#"base {"value":10000.0}, {"value":500.0} was asked for"#,
        ),
        (
            with(SinusoidalConfig {
                layout: SinusoidLayout::Concatenated,
                ..config
            }),
            r#"layout "interleaved", "concatenated" was asked for"#,
        ),
        (
            with(SinusoidalConfig {
                spacing: Spacing::Inclusive,
                ..config
            }),
            r#"spacing "paper", "inclusive" was asked for"#,
        ),
        (
            with(SinusoidalConfig {
                odd_width: OddWidth::Truncate,
                ..config
            }),
            r#"odd_width "reject", "truncate" was asked for"#,
        ),
        (
            with(SinusoidalConfig {
                padding_idx: Some(1),
                ..config
            }),
            "padding_idx null, 1 was asked for",
        ),
        (
            with(SinusoidalConfig {
                recipe: Recipe::ExpF32,
                ..config
            }),
            r#"recipe "exact", "exp-f32" was asked for"#,
        ),
        (
            with(SinusoidalConfig::new(18)),
            "the table has 16 columns, d_model 18 was asked for",
        ),
        (
            LoadOptions {
                start: Some(0),
                ..LoadOptions::default()
            },
            "the specification has start 3, 0 was asked for",
        ),
        (
            LoadOptions {
                rows: Some(11),
                ..LoadOptions::default()
            },
            "the table has 10 rows, 11 were asked for",
        ),
    ] {
        let error = options.load(&path).unwrap_err().to_string();
        assert!(error.contains(message), "{error}\n{message}");
        assert!(
            error.contains("table.safetensors: tensor \"pe\": "),
            "{error}"
        );
    }
    let both = SinusoidalConfig {
        layout: SinusoidLayout::Concatenated,
        spacing: Spacing::Inclusive,
        ..config
    };
    let error = with(both).load(&path).unwrap_err().to_string();
    assert!(
        error.contains("layout") && error.contains("; spacing"),
        "{error}"
    );
}

#[test]
fn foreign_table_is_compared_with_what_was_asked_for() {
    let (_dir, path) = temp();
    let recipe = SinusoidalConfig {
        recipe: Recipe::ExpF32,
        ..SinusoidalConfig::new(64)
    };
    let encoding = Sinusoidal::new(recipe).unwrap();
    let table = sinusoidal_tensor(&encoding, 0..2048, DType::F32, &Device::Cpu).unwrap();
    fs::write(&path, foreign(&[("pos_encoder.pe", &table)])).unwrap();
    checkpoint::load(&path, &Device::Cpu).unwrap();
    let with = |config, tolerance| LoadOptions {
        config: Some(config),
        tolerance,
        ..LoadOptions::default()
    };
    with(recipe, 0.0).load(&path).unwrap();
    let error = with(SinusoidalConfig::new(64), 0.0)
        .load(&path)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("by the encoding asked for, ") && error.contains("entries are wrong"),
        "{error}"
    );
    with(SinusoidalConfig::new(64), 2e-4).load(&path).unwrap();
    with(Preset::Marian.config(64), 2e-4)
        .load(&path)
        .unwrap_err();
    let late = LoadOptions {
        start: Some(1),
        ..with(SinusoidalConfig::new(64), 2e-4)
    };
    late.load(&path).unwrap_err();
    // Without anything to compare the entries with, nobody can say where they begin.
    for start in [0, 1] {
        let options = LoadOptions {
            start: Some(start),
            ..LoadOptions::default()
        };
        let error = options.load(&path).unwrap_err().to_string();
        let message = format!("start {start} was asked for, but nothing says what position");
        assert!(error.contains(&message), "{error}");
    }
    let invalid = SinusoidalConfig {
        base: Base::Value(-1.0),
        ..SinusoidalConfig::new(64)
    };
    assert!(
        with(invalid, 0.0)
            .load(&path)
            .unwrap_err()
            .to_string()
            .contains("base -1")
    );
}

#[test]
fn metadata_and_tensor_must_agree() {
    let (_dir, path) = temp();
    let table = exact(16, 4, DType::F32);
    for (said, message) in [
        (
            spec(16, 5),
            "the specification says rows 5, the tensor has 4",
        ),
        (
            spec(18, 4),
            "the specification says d_model 18, the tensor has 16",
        ),
        (
            spec_of(16, 0, 4, DType::F16),
            "the specification says dtype f16, the tensor has f32",
        ),
        (spec_of(16, 1, 4, DType::F32), "entries are wrong"),
    ] {
        let metadata = [(checkpoint::METADATA_KEY.to_owned(), said.to_json().unwrap())];
        let bytes = safetensors::serialize([("pe", &table)], Some(metadata.into())).unwrap();
        fs::write(&path, bytes).unwrap();
        let error = load_error(&path);
        assert!(error.contains(message), "{error}");
    }
    let metadata = [(checkpoint::METADATA_KEY.to_owned(), "{}".to_owned())];
    fs::write(
        &path,
        safetensors::serialize([("pe", &table)], Some(metadata.into())).unwrap(),
    )
    .unwrap();
    let error = load_error(&path);
    assert!(
        error.contains("table.safetensors: specification: missing field `format`"),
        "{error}"
    );
    // Metadata of others says nothing about the table.
    let metadata = [
        ("format".to_owned(), "pt".to_owned()),
        ("x".to_owned(), "y".to_owned()),
    ];
    fs::write(
        &path,
        safetensors::serialize([("pe", &table)], Some(metadata.into())).unwrap(),
    )
    .unwrap();
    assert_eq!(checkpoint::load(&path, &Device::Cpu).unwrap().spec, None);
}

#[test]
fn loaded_table_becomes_a_layer_of_the_same_encoding() {
    let (_dir, path) = temp();
    checkpoint::export(&path, &spec(16, 12)).unwrap();
    let config = PositionalEncodingConfig::new(16);
    let loaded = || checkpoint::load(&path, &Device::Cpu).unwrap();
    let layer = loaded().into_layer(config.clone()).unwrap();
    assert_eq!(
        bits(&layer.table().unwrap()),
        bits(&exact(16, 12, DType::F32))
    );
    let other = PositionalEncodingConfig {
        sinusoidal: Preset::Whisper.config(16),
        ..config.clone()
    };
    let error = loaded().into_layer(other).unwrap_err().to_string();
    assert!(
        error.contains("layout \"interleaved\", \"concatenated\" was asked for"),
        "{error}"
    );
    checkpoint::export(&path, &spec_of(16, 5, 12, DType::F32)).unwrap();
    let error = loaded().into_layer(config).unwrap_err().to_string();
    assert!(error.contains("begins at position 5"), "{error}");
}
