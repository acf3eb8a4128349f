//! Rotary tables in files.

use pe_candle::checkpoint::{RotarySpec, RotaryTables, RotaryTensors};
use pe_core::{
    Llama3Scaling, LongRopeScaling, RopeScaling, Rotary, RotaryConfig, RotaryRecipe, YarnScaling,
};

use super::*;

/// Every scaling, with an embedding of 16 columns.
fn configs() -> Vec<RotaryConfig> {
    let list = |step: f64| (0..8).map(|pair| 1.0 + step * f64::from(pair)).collect();
    [
        RopeScaling::Default,
        RopeScaling::Linear { factor: 4.0 },
        RopeScaling::Dynamic { factor: 2.0 },
        RopeScaling::Yarn(YarnScaling::new(8.0, 32)),
        RopeScaling::LongRope(LongRopeScaling::new(list(0.1), list(3.7), 32)),
        RopeScaling::Llama3(Llama3Scaling {
            factor: 8.0,
            low_freq_factor: 1.0,
            high_freq_factor: 4.0,
            original_max_position_embeddings: 32,
        }),
        RopeScaling::Proportional {
            partial_rotary_factor: 0.25,
            factor: 1.0,
        },
        RopeScaling::Custom {
            inv_freq: vec![1.0, 0.1, 1e-300, 0.0, 0.3, 5e-324, 1e9, 0.7],
            attention_factor: 1.1,
        },
    ]
    .map(|scaling| RotaryConfig {
        base: 12345.678,
        scaling,
        max_position_embeddings: Some(64),
        ..RotaryConfig::new(16)
    })
    .to_vec()
}

fn rotary(config: &RotaryConfig, start: u64, rows: usize, dtype: DType) -> RotarySpec {
    RotarySpec::new(config.clone(), start, rows, dtype).unwrap()
}

/// Cosines, sines and frequencies as pe-core gives them, widened.
fn expected(spec: &RotarySpec) -> [Vec<f64>; 3] {
    fn wide<T: Element>(table: pe_core::Table<T>) -> Vec<f64> {
        table.as_slice().iter().map(|e| e.to_f64()).collect()
    }
    let rotary = Rotary::new(spec.config().clone()).unwrap();
    let seq_len = spec.scheme().seq_len();
    let frequencies = rotary.frequencies(seq_len.unwrap_or(0)).unwrap();
    macro_rules! tables {
        ($t:ty) => {{
            let tables = frequencies.tables::<$t>(spec.positions()).unwrap();
            [wide(tables.cos), wide(tables.sin)]
        }};
    }
    let single = frequencies
        .inv_freq_f32()
        .iter()
        .map(|f| f64::from(*f))
        .collect();
    let ([cos, sin], inv_freq) = match spec.dtype() {
        DType::F32 => (tables!(f32), single),
        DType::F64 => (tables!(f64), frequencies.inv_freq()),
        DType::F16 => (tables!(f16), single),
        _ => (tables!(bf16), single),
    };
    [cos, sin, inv_freq]
}

#[test]
fn scalings_come_back_in_every_type_with_equal_bytes() {
    let (dir, path) = temp();
    for config in configs() {
        for dtype in FLOATS {
            for recipe in [RotaryRecipe::Exact, RotaryRecipe::HfF32] {
                let config = RotaryConfig {
                    recipe,
                    ..config.clone()
                };
                let spec = rotary(&config, 5, 70, dtype);
                checkpoint::export(&path, &spec).unwrap();
                let bytes = fs::read(&path).unwrap();
                checkpoint::export(&path, &spec).unwrap();
                assert!(fs::read(&path).unwrap() == bytes, "{spec:?}");

                let loaded = checkpoint::load_as::<RotaryTables>(&path, &Device::Cpu).unwrap();
                assert_eq!(loaded.spec, Some(spec.clone()));
                let [cos, sin, inv_freq] = expected(&spec);
                assert_eq!(loaded.table.cos.dims(), [70, 8]);
                assert_eq!(
                    (loaded.table.cos.dtype(), loaded.table.sin.dtype()),
                    (dtype, dtype)
                );
                assert_eq!(bits(&loaded.table.cos), cos, "{spec:?}");
                assert_eq!(bits(&loaded.table.sin), sin, "{spec:?}");
                assert_eq!(bits(&loaded.table.inv_freq), inv_freq, "{spec:?}");
                let narrow = if dtype == DType::F64 {
                    DType::F64
                } else {
                    DType::F32
                };
                assert_eq!(loaded.table.inv_freq.dtype(), narrow);

                let comparison = checkpoint::compare(&path, &spec).unwrap();
                assert!(comparison.is_right());
                assert_eq!(comparison.entries, 2 * 70 * 8 + 8);
                let report = checkpoint::inspect(&path).unwrap();
                assert_eq!(
                    report.spec,
                    SpecStatus::Valid(AnySpec::Rotary(spec.clone()))
                );
                // The bytes are those of the safetensors crate.
                let metadata = [(checkpoint::METADATA_KEY.to_owned(), spec.to_json().unwrap())];
                let tensors = [
                    ("sin", &loaded.table.sin),
                    ("cos", &loaded.table.cos),
                    ("inv_freq", &loaded.table.inv_freq),
                ];
                let theirs = safetensors::serialize(tensors, Some(metadata.into())).unwrap();
                assert!(theirs == bytes, "{spec:?}");
                let RotaryTensors { cos, sin, .. } = &loaded.table;
                checkpoint::save(&path, &[cos, sin], &spec).unwrap();
                assert!(fs::read(&path).unwrap() == bytes, "{spec:?}");
            }
        }
    }
    assert_holds(dir.path(), &["table.safetensors"]);
}

#[test]
fn blocks_do_not_show_in_the_file() {
    let (_dir, path) = temp();
    for (rotary_dim, rows, dtype) in [
        (128, 9001, DType::F32),
        (258, 5003, DType::BF16),
        (1 << 19, 3, DType::F32),
        (2, 300_001, DType::F16),
        (64, 0, DType::F64),
    ] {
        let spec = rotary(&RotaryConfig::new(rotary_dim), 1_000_000, rows, dtype);
        checkpoint::export(&path, &spec).unwrap();
        let loaded = checkpoint::load_as::<RotaryTables>(&path, &Device::Cpu).unwrap();
        let [cos, sin, _] = expected(&spec);
        assert!(bits(&loaded.table.cos) == cos && bits(&loaded.table.sin) == sin);
    }
}

/// Offset of the tensors in a file.
fn begins(bytes: &[u8], name: &str) -> usize {
    let (length, header) = safetensors::SafeTensors::read_metadata(bytes).unwrap();
    8 + length + header.info(name).unwrap().data_offsets.0
}

#[test]
fn wrong_bits_are_found_and_named() {
    let (_dir, path) = temp();
    let config = &configs()[3];
    for dtype in FLOATS {
        let spec = rotary(config, 7, 5000, dtype);
        let size = dtype.size_in_bytes();
        checkpoint::export(&path, &spec).unwrap();
        let good = fs::read(&path).unwrap();
        for (tensor, row, pair, words) in [
            ("cos", 0, 0, "at position 7, column 0: "),
            ("cos", 4999, 7, "at position 5006, column 7: "),
            ("sin", 2500, 3, "at position 2507, column 3: "),
            ("inv_freq", 0, 6, "the first at column 6: "),
        ] {
            let mut bad = good.clone();
            let size = if tensor == "inv_freq" {
                size.max(4)
            } else {
                size
            };
            bad[begins(&good, tensor) + (row * 8 + pair) * size] ^= 1;
            fs::write(&path, &bad).unwrap();
            let comparison = checkpoint::compare(&path, &spec).unwrap();
            assert_eq!((comparison.wrong, comparison.max_ulps), (1, 1));
            let first = comparison.first_wrong.as_ref().unwrap();
            assert_eq!((first.tensor.as_str(), first.column), (tensor, pair));
            assert!(comparison.to_string().contains(words), "{comparison}");
            let error = checkpoint::load_as::<RotaryTables>(&path, &Device::Cpu).unwrap_err();
            let named = format!("tensor {tensor:?}: by the file's own specification, 1 of ");
            let error = error.to_string();
            assert!(error.contains(&named) && error.contains(words), "{error}");
            // Not looked at, not found.
            let options = LoadOptions::<RotaryTables> {
                verify: Verify::None,
                ..LoadOptions::default()
            };
            options.load_as(&path).unwrap();
        }
    }
}

#[test]
fn cosines_are_wrong_before_sines() {
    let (_dir, path) = temp();
    let spec = rotary(&RotaryConfig::new(16), 0, 100, DType::F32);
    checkpoint::export(&path, &spec).unwrap();
    let good = fs::read(&path).unwrap();
    for (sine, cosine, first) in [
        ((20, 5), (20, 5), ("cos", 20, 5)),
        ((20, 5), (19, 7), ("cos", 19, 7)),
        ((20, 5), (20, 4), ("cos", 20, 4)),
        ((20, 5), (20, 6), ("sin", 20, 5)),
    ] {
        let mut bad = good.clone();
        for (tensor, (row, pair)) in [("sin", sine), ("cos", cosine)] {
            let at = begins(&good, tensor) + (row * 8 + pair) * 4;
            bad[at..at + 4].copy_from_slice(&2f32.to_le_bytes());
        }
        fs::write(&path, &bad).unwrap();
        let found = checkpoint::compare(&path, &spec).unwrap();
        let wrong = found.first_wrong.unwrap();
        assert_eq!((wrong.tensor.as_str(), wrong.row, wrong.column), first);
        // 2 is further from the smaller of the two.
        let tables = Rotary::new(spec.config().clone())
            .unwrap()
            .frequencies(0)
            .unwrap();
        let tables = tables.tables::<f32>(0..100).unwrap();
        let (sine, cosine) = (
            tables.sin.get(sine.0, sine.1),
            tables.cos.get(cosine.0, cosine.1),
        );
        let smaller = sine.unwrap().min(cosine.unwrap());
        assert_eq!(found.max_difference, 2.0 - f64::from(smaller));
    }
}

#[test]
fn first_wrong_entry_is_the_first_by_position() {
    let (_dir, path) = temp();
    let spec = rotary(&RotaryConfig::new(16), 0, 100, DType::F32);
    checkpoint::export(&path, &spec).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    for (tensor, row, pair) in [
        ("cos", 60, 1),
        ("sin", 20, 5),
        ("cos", 20, 5),
        ("sin", 20, 4),
    ] {
        let at = begins(&bytes, tensor) + (row * 8 + pair) * 4;
        bytes[at] ^= 1;
    }
    fs::write(&path, &bytes).unwrap();
    let comparison = checkpoint::compare(&path, &spec).unwrap();
    let first = comparison.first_wrong.unwrap();
    assert_eq!(
        (comparison.wrong, first.tensor.as_str(), first.row),
        (4, "sin", 20)
    );
    assert_eq!((first.column, first.position), (4, Some(20)));
    // A NaN counts as infinitely far.
    let at = begins(&bytes, "cos");
    bytes[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    fs::write(&path, &bytes).unwrap();
    let comparison = checkpoint::compare(&path, &spec).unwrap();
    assert_eq!((comparison.wrong, comparison.max_ulps), (5, u64::MAX));
    assert!(comparison.max_difference.is_nan());
    let options = LoadOptions::<RotaryTables> {
        verify: Verify::None,
        ..LoadOptions::default()
    };
    let error = options.load_as(&path).unwrap_err().to_string();
    assert!(
        error.contains("tensor \"cos\": the entry at row 0, column 0 is NaN"),
        "{error}"
    );
}

#[test]
fn sample_finds_what_is_in_its_rows() {
    let (_dir, path) = temp();
    let spec = rotary(&RotaryConfig::new(16), 0, 1000, DType::F32);
    checkpoint::export(&path, &spec).unwrap();
    let good = fs::read(&path).unwrap();
    let sample = LoadOptions::<RotaryTables> {
        verify: Verify::Sample,
        ..LoadOptions::default()
    };
    sample.load_as(&path).unwrap();
    for (row, found) in [(0, true), (999, true), (16, true), (17, false)] {
        let mut bad = good.clone();
        bad[begins(&good, "sin") + row * 8 * 4] ^= 1;
        fs::write(&path, &bad).unwrap();
        assert_eq!(sample.load_as(&path).is_err(), found, "{row}");
    }
}

#[test]
fn frequencies_that_depend_on_the_length_are_those_of_the_last_row() {
    for (at, grows) in [(0, false), (2, true), (3, false), (4, true)] {
        let config = &configs()[at];
        let spec = rotary(config, 100, 28, DType::F32);
        assert_eq!(spec.scheme().seq_len(), grows.then_some(128));
        let json = spec.to_json().unwrap();
        let (other, message) = match grows {
            true => (
                None,
                "depend on the sequence length, and no seq_len is given",
            ),
            false => (Some(128), "do not depend on it"),
        };
        let rotary = Rotary::new(config.clone()).unwrap();
        let error = RotaryTables::new(rotary, other).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
        let text = if grows {
            "\"seq_len\":128"
        } else {
            "\"seq_len\":null"
        };
        let swapped = if grows {
            "\"seq_len\":null"
        } else {
            "\"seq_len\":128"
        };
        assert!(json.contains(text), "{json}");
        let error = RotarySpec::from_json(&json.replace(text, swapped)).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
    }
    let longrope = &configs()[4];
    let (short, long) = (
        rotary(longrope, 0, 32, DType::F64),
        rotary(longrope, 0, 33, DType::F64),
    );
    assert_ne!(expected(&short)[2], expected(&long)[2]);
}

#[test]
fn json_without_the_optional_fields_is_the_default() {
    let json = "{\"format\":1,\"scheme\":\"rotary\",\"config\":{\"rotary_dim\":8,\"base\":10000},\
                \"start\":0,\"rows\":4,\"dtype\":\"f32\",\"attention_factor\":1}";
    let spec = RotarySpec::from_json(json).unwrap();
    assert_eq!(spec, rotary(&RotaryConfig::new(8), 0, 4, DType::F32));
}

#[test]
fn tensors_that_do_not_fit_a_specification_are_rejected_by_name() {
    let (_dir, path) = temp();
    let spec = rotary(&RotaryConfig::new(16), 0, 4, DType::F32);
    checkpoint::export(&path, &spec).unwrap();
    let loaded = checkpoint::load_as::<RotaryTables>(&path, &Device::Cpu).unwrap();
    let (cos, sin, inv_freq) = (&loaded.table.cos, &loaded.table.sin, &loaded.table.inv_freq);
    let short = cos.narrow(0, 0, 3).unwrap();
    let half = inv_freq.to_dtype(DType::F16).unwrap();
    for (tensors, message) in [
        (
            vec![("cos", cos), ("inv_freq", inv_freq)],
            "no tensor \"sin\"",
        ),
        (
            vec![("cos", &short), ("sin", sin), ("inv_freq", inv_freq)],
            "tensor \"cos\": the specification says rows 4, the tensor has 3",
        ),
        (
            vec![("cos", cos), ("sin", sin), ("inv_freq", &half)],
            "tensor \"inv_freq\": the specification says F32 [8], the tensor is F16 [8]",
        ),
    ] {
        let metadata = [(checkpoint::METADATA_KEY.to_owned(), spec.to_json().unwrap())];
        fs::write(
            &path,
            safetensors::serialize(tensors, Some(metadata.into())).unwrap(),
        )
        .unwrap();
        let error = checkpoint::load_as::<RotaryTables>(&path, &Device::Cpu)
            .unwrap_err()
            .to_string();
        assert!(error.contains(message), "{error}");
        let error = checkpoint::compare(&path, &spec).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
        match checkpoint::inspect(&path).unwrap().spec {
            SpecStatus::Invalid(reason) => assert!(reason.contains(message), "{reason}"),
            other => panic!("{other:?}"),
        }
    }
    // Files of the one kind, read as the other.
    fs::write(&path, foreign(&[("cos", cos), ("sin", sin)])).unwrap();
    let error = checkpoint::load_as::<RotaryTables>(&path, &Device::Cpu)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("no specification of a rotary table"),
        "{error}"
    );
    checkpoint::export(&path, &super::spec(16, 4)).unwrap();
    let error = checkpoint::load_as::<RotaryTables>(&path, &Device::Cpu)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("the scheme is \"sinusoidal\", \"rotary\" was asked for"),
        "{error}"
    );
    checkpoint::export(&path, &spec).unwrap();
    assert!(load_error(&path).contains("the scheme is \"rotary\", \"sinusoidal\" was asked for"));
}

#[test]
fn tables_that_were_not_asked_for_are_rejected() {
    let (_dir, path) = temp();
    let spec = rotary(&configs()[1], 8, 4, DType::F32);
    checkpoint::export(&path, &spec).unwrap();
    let ask = |config: Option<RotaryConfig>, start| LoadOptions::<RotaryTables> {
        config,
        start,
        ..LoadOptions::default()
    };
    ask(Some(spec.config().clone()), Some(8))
        .load_as(&path)
        .unwrap();
    let other = RotaryConfig {
        base: 500_000.0,
        ..spec.config().clone()
    };
    let error = ask(Some(other), None)
        .load_as(&path)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("base 12345.678, 500000.0 was asked for"),
        "{error}"
    );
    let error = ask(None, Some(0)).load_as(&path).unwrap_err().to_string();
    assert!(error.contains("has start 8, 0 was asked for"), "{error}");
    let limited = |table_bytes| LoadOptions::<RotaryTables> {
        limits: Limits {
            table_bytes,
            ..Limits::default()
        },
        ..LoadOptions::default()
    };
    limited(288).load_as(&path).unwrap();
    let error = limited(287).load_as(&path).unwrap_err().to_string();
    assert!(
        error.contains("288 bytes, above the limit of 287"),
        "{error}"
    );
}

#[test]
fn specification_that_makes_no_sense_cannot_be_built() {
    let of = RotaryConfig::new;
    let custom = |attention_factor| RotaryConfig {
        scaling: RopeScaling::Custom {
            inv_freq: vec![1.0; 4],
            attention_factor,
        },
        ..RotaryConfig::new(8)
    };
    let (f16, bf16, f32) = (DType::F16, DType::BF16, DType::F32);
    for (config, start, rows, dtype, message) in [
        (of(7), 0, 4, f32, "rotary_dim 7 is not an even number"),
        (
            of(128),
            0,
            1 << 32,
            f32,
            "tables of 4294967296 rows x 64 columns of f32 exceed the limit",
        ),
        (of(128), u64::MAX, 4, f32, "run past 4294967296"),
        (of(128), 0, 4, DType::U8, "elements of type u8"),
        (
            custom(70_000.0),
            0,
            4,
            f16,
            "the attention factor 70000.0 is beyond the range of f16",
        ),
        (
            custom(3.4e38),
            0,
            4,
            bf16,
            "the attention factor 3.4e38 is beyond the range of bf16",
        ),
        (
            custom(3.5e38),
            0,
            4,
            f32,
            "the attention factor 3.5e38 is beyond the range of f32",
        ),
        (
            custom(f64::NAN),
            0,
            4,
            f32,
            "attention_factor NaN is not a positive finite number",
        ),
    ] {
        let error = RotarySpec::new(config, start, rows, dtype);
        let error = error.unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

/// 16 GiB of cosines, sines and frequencies, to the byte, and one row more; factors as large as
/// their types.
#[test]
fn specifications_up_to_their_limits_are_valid() {
    // 64 pairs: 2 x 2 bytes each a row, and 4 bytes each of frequencies.
    let of = |rows| RotarySpec::new(RotaryConfig::new(128), 0, rows, DType::F16);
    assert_eq!(of((1 << 26) - 1).unwrap().bytes(), Some(16 << 30));
    let error = of(1 << 26).unwrap_err().to_string();
    assert!(error.contains("exceed the limit"), "{error}");
    for (dtype, attention_factor) in [
        (DType::F16, 65_504.0),
        (DType::BF16, 3.38e38),
        (DType::F32, 3.4e38),
        (DType::F64, 1e300),
    ] {
        let scaling = RopeScaling::Custom {
            inv_freq: vec![1.0; 4],
            attention_factor,
        };
        let config = RotaryConfig {
            scaling,
            ..RotaryConfig::new(8)
        };
        let _ = rotary(&config, 0, 4, dtype);
    }
}
