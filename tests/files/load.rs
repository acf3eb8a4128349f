//! Tables from files.

use super::*;

#[test]
fn tables_come_back_in_every_type() {
    let (_dir, path) = temp();
    let config = SinusoidalConfig {
        base: Base::Value(12345.678),
        layout: SinusoidLayout::ConcatenatedCosFirst,
        spacing: Spacing::Shifted(0.5),
        odd_width: OddWidth::ZeroPad,
        padding_idx: Some(102),
        ..SinusoidalConfig::new(33)
    };
    for dtype in FLOATS {
        let spec = SinusoidalSpec::new(config, 100, 50, dtype).unwrap();
        checkpoint::export(&path, &spec).unwrap();
        let loaded = checkpoint::load(&path, &Device::Cpu).unwrap();
        assert_eq!(loaded.spec, Some(spec));
        assert_eq!(
            (loaded.table.dtype(), loaded.table.dims()),
            (dtype, &[50, 33][..])
        );
        let encoding = Sinusoidal::new(config).unwrap();
        let table = sinusoidal_tensor(&encoding, 100..150, dtype, &Device::Cpu).unwrap();
        assert_eq!(bits(&loaded.table), bits(&table));
    }
}

#[test]
fn conversion_rounds_once() {
    // Values whose nearest f32 lies on a midpoint of the half type, the true value next to it.
    let midpoint_bf16 = 1.0 + pow2(-8);
    let midpoint_f16 = 1.0 + pow2(-11);
    let tiny = pow2(-40);
    let values = [
        midpoint_bf16 + tiny,
        midpoint_bf16 - tiny,
        midpoint_f16 + tiny,
        -midpoint_f16 - tiny,
    ];
    let table = Tensor::from_vec(values.to_vec(), (1, 4), &Device::Cpu).unwrap();
    let (_dir, path) = temp();
    fs::write(&path, foreign(&[("pe", &table)])).unwrap();
    let load = |dtype| {
        let options = LoadOptions {
            dtype: Some(dtype),
            ..LoadOptions::default()
        };
        bits(&options.load(&path).unwrap().table)
    };
    assert_eq!(
        load(DType::BF16),
        values.map(|v| <bf16 as Element>::from_f64(v).to_f64())
    );
    assert_eq!(load(DType::BF16)[0], 1.0 + pow2(-7));
    assert_eq!(
        load(DType::F16),
        values.map(|v| <f16 as Element>::from_f64(v).to_f64())
    );
    assert_eq!(load(DType::F16)[2], 1.0 + pow2(-10));
    assert_eq!(load(DType::F32), values.map(|v| f64::from(v as f32)));
    assert_eq!(load(DType::F64), values);
    let options = LoadOptions {
        dtype: Some(DType::U8),
        ..LoadOptions::default()
    };
    assert!(
        options
            .load(&path)
            .unwrap_err()
            .to_string()
            .contains("elements of type u8")
    );
}

#[test]
fn conversion_that_makes_an_infinity_is_an_error_unless_accepted() {
    let (_dir, path) = temp();
    // 65520 is the first number that becomes infinite in f16.
    for (value, from, to, shown) in [
        (1e6, DType::F32, DType::F16, "1000000.0"),
        (65520.0, DType::F32, DType::F16, "65520.0"),
        (-65536.0, DType::BF16, DType::F16, "-65536.0"),
        (1e300, DType::F64, DType::F32, "1e300"),
        (-1e300, DType::F64, DType::BF16, "-1e300"),
        (
            f32::MAX.into(),
            DType::F32,
            DType::BF16,
            "3.4028234663852886e38",
        ),
    ] {
        let table = Tensor::from_vec(vec![0.5, 1.0, 0.25, value], (2, 2), &Device::Cpu).unwrap();
        let table = table.to_dtype(from).unwrap();
        fs::write(&path, foreign(&[("pe", &table)])).unwrap();
        checkpoint::load(&path, &Device::Cpu).unwrap();
        let converting = LoadOptions {
            dtype: Some(to),
            ..LoadOptions::default()
        };
        let error = converting.load(&path).unwrap_err().to_string();
        let message = format!(
            "table.safetensors: tensor \"pe\": the entry at row 1, column 1 is {shown}, \
             beyond the range of {}",
            to.as_str()
        );
        assert!(error.contains(&message), "{error}");
        let accepting = LoadOptions {
            non_finite: NonFinite::Accept,
            ..converting
        };
        let loaded = bits(&accepting.load(&path).unwrap().table);
        assert_eq!(loaded[3], f64::INFINITY.copysign(value));
    }
    let table = Tensor::new(&[[65519f32, -65519.0]], &Device::Cpu).unwrap();
    fs::write(&path, foreign(&[("pe", &table)])).unwrap();
    let converting = LoadOptions {
        dtype: Some(DType::F16),
        ..LoadOptions::default()
    };
    let loaded = converting.load(&path).unwrap();
    assert_eq!(bits(&loaded.table), [65504.0, -65504.0]);
}

/// A file with one tensor `pe` of an eight-bit type.
fn eight_bit(dtype: &str, shape: [usize; 2], data: &[u8]) -> Vec<u8> {
    let header = format!(
        r#"{{"pe":{{"dtype":"{dtype}","shape":{shape:?},"data_offsets":[0,{}]}}}}"#,
        data.len()
    );
    raw(&header, data)
}

#[test]
fn eight_bit_tables_are_read_without_loss() {
    let (_dir, path) = temp();
    let all: Vec<u8> = (0..=255).collect();
    for dtype in ["F8_E4M3", "F8_E5M2"] {
        // From the definitions: sign, exponent, fraction.
        let value = |byte: u8| {
            let (fraction_bits, bias) = if dtype == "F8_E4M3" { (3, 7) } else { (2, 15) };
            let exponent = i32::from((byte & 0x7F) >> fraction_bits);
            let fraction = f64::from(byte & ((1 << fraction_bits) - 1)) * pow2(-fraction_bits);
            let magnitude = match (dtype, byte & 0x7F, exponent) {
                ("F8_E4M3", 0x7F, _) => f64::NAN,
                ("F8_E5M2", 0x7C, _) => f64::INFINITY,
                ("F8_E5M2", 0x7D..=0x7F, _) => f64::NAN,
                (_, _, 0) => fraction * pow2(1 - bias),
                _ => (1.0 + fraction) * pow2(exponent - bias),
            };
            if byte < 0x80 { magnitude } else { -magnitude }
        };
        let finite: Vec<u8> = all
            .iter()
            .copied()
            .filter(|b| value(*b).is_finite())
            .collect();
        assert_eq!(finite.len(), if dtype == "F8_E4M3" { 254 } else { 248 });
        let width = finite.len() / 2;
        fs::write(&path, eight_bit(dtype, [2, width], &finite)).unwrap();
        let loaded = checkpoint::load(&path, &Device::Cpu).unwrap();
        assert_eq!((loaded.table.dtype(), loaded.spec), (DType::F32, None));
        assert_eq!(loaded.table.dims(), [2, width]);
        let patterns = |values: Vec<f64>| values.into_iter().map(f64::to_bits).collect::<Vec<_>>();
        let wanted = patterns(finite.iter().map(|byte| value(*byte)).collect());
        assert_eq!(patterns(bits(&loaded.table)), wanted);
        for to in FLOATS {
            let options = LoadOptions {
                dtype: Some(to),
                ..LoadOptions::default()
            };
            let loaded = options.load(&path).unwrap();
            assert_eq!(loaded.table.dtype(), to);
            assert_eq!(patterns(bits(&loaded.table)), wanted);
        }
        assert_eq!(checkpoint::inspect(&path).unwrap().tensors[0].dtype, dtype);
        // NaN and infinities are seen.
        fs::write(&path, eight_bit(dtype, [2, 128], &all)).unwrap();
        let error = load_error(&path);
        let first = if dtype == "F8_E4M3" {
            "column 127 is NaN"
        } else {
            "column 124 is inf"
        };
        assert!(error.contains(first), "{error}");
        let options = LoadOptions {
            non_finite: NonFinite::Accept,
            ..LoadOptions::default()
        };
        let loaded = bits(&options.load(&path).unwrap().table);
        for (byte, found) in all.iter().zip(loaded) {
            assert!(found == value(*byte) || found.is_nan() && value(*byte).is_nan());
        }
    }
    // As Candle itself reads them.
    let table = exact(16, 40, DType::F32).to_dtype(DType::F8E4M3).unwrap();
    fs::write(&path, foreign(&[("pe", &table)])).unwrap();
    let loaded = checkpoint::load(&path, &Device::Cpu).unwrap().table;
    assert_eq!(bits(&loaded), bits(&table));
    // Compared with what was asked for, within half a unit of theirs.
    let with = |tolerance| LoadOptions {
        config: Some(SinusoidalConfig::new(16)),
        tolerance,
        ..LoadOptions::default()
    };
    with(pow2(-5)).load(&path).unwrap();
    with(pow2(-6)).load(&path).unwrap_err();
    // No specification is one of eight bits.
    let error = checkpoint::compare(&path, &spec(16, 40)).unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("says dtype f32, the tensor has f8_e4m3"),
        "{error}"
    );
    let metadata = [(
        checkpoint::METADATA_KEY.to_owned(),
        spec(16, 40).to_json().unwrap(),
    )];
    let bytes = safetensors::serialize([("pe", &table)], Some(metadata.into())).unwrap();
    fs::write(&path, bytes).unwrap();
    let error = load_error(&path);
    assert!(
        error.contains("says dtype f32, the tensor has f8_e4m3"),
        "{error}"
    );
    // Other types of eight bits are not for tables.
    fs::write(&path, eight_bit("F8_E8M0", [2, 128], &all)).unwrap();
    let error = checkpoint::load(&path, &Device::Cpu)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("elements of type F8_E8M0 are not those of a table (F32, F64, F16, BF16,"),
        "{error}"
    );
    let options = LoadOptions {
        dtype: Some(DType::F8E4M3),
        ..LoadOptions::default()
    };
    fs::write(&path, eight_bit("F8_E4M3", [1, 2], &[0, 56])).unwrap();
    let error = options.load(&path).unwrap_err().to_string();
    assert!(
        error.contains("cannot have elements of type f8e4m3"),
        "{error}"
    );
}

#[test]
fn tables_of_others_are_taken_in_every_shape_and_under_any_name() {
    let (_dir, path) = temp();
    for dtype in FLOATS {
        let table = exact(16, 10, dtype);
        for dims in [vec![10, 16], vec![1, 10, 16], vec![10, 1, 16]] {
            for name in ["pe", "pos_encoder.pe", "embeddings.position_ids_table"] {
                let tensor = table.reshape(dims.as_slice()).unwrap();
                fs::write(&path, foreign(&[(name, &tensor)])).unwrap();
                let loaded = checkpoint::load(&path, &Device::Cpu).unwrap();
                assert_eq!((loaded.names[0].as_str(), loaded.spec), (name, None));
                assert_eq!(loaded.table.dims(), [10, 16]);
                assert_eq!(bits(&loaded.table), bits(&table));
            }
        }
    }
    // One position: every shape at once.
    let one = exact(16, 1, DType::F32).reshape((1, 1, 16)).unwrap();
    fs::write(&path, foreign(&[("pe", &one)])).unwrap();
    assert_eq!(
        checkpoint::load(&path, &Device::Cpu).unwrap().table.dims(),
        [1, 16]
    );
}

#[test]
fn table_is_found_among_other_tensors_or_they_are_listed() {
    let (_dir, path) = temp();
    let table = exact(16, 10, DType::F32);
    let bias = Tensor::zeros(16, DType::F32, &Device::Cpu).unwrap();
    let ids = Tensor::zeros((1, 10), DType::I64, &Device::Cpu).unwrap();
    let weight = Tensor::zeros((16, 16), DType::F32, &Device::Cpu).unwrap();
    // The only float tensor of rank 2 or 3.
    fs::write(
        &path,
        foreign(&[("b", &bias), ("x.table", &table), ("ids", &ids)]),
    )
    .unwrap();
    assert_eq!(
        checkpoint::load(&path, &Device::Cpu).unwrap().names[0],
        "x.table"
    );
    // `pe` before any other.
    fs::write(&path, foreign(&[("a", &weight), ("pe", &table)])).unwrap();
    assert_eq!(
        checkpoint::load(&path, &Device::Cpu).unwrap().names[0],
        "pe"
    );
    // Two: the caller must say.
    fs::write(
        &path,
        foreign(&[("a", &weight), ("x.table", &table), ("ids", &ids)]),
    )
    .unwrap();
    let error = load_error(&path);
    for part in [
        "table.safetensors",
        "no tensor \"pe\"",
        "\"a\" F32 [16, 16]",
        "\"x.table\" F32 [10, 16]",
        "\"ids\" I64 [1, 10]",
    ] {
        assert!(error.contains(part), "{error}");
    }
    assert_eq!(named("x.table").load(&path).unwrap().names[0], "x.table");
    let error = named("y").load(&path).unwrap_err().to_string();
    assert!(
        error.contains("no tensor \"y\"; the file holds \"ids\""),
        "{error}"
    );
    let error = named("ids").load(&path).unwrap_err().to_string();
    assert!(
        error.contains("tensor \"ids\": elements of type I64"),
        "{error}"
    );
    // Shapes that are no table.
    for dims in [vec![160], vec![2, 5, 16], vec![1, 10, 16, 1], vec![]] {
        let count = dims.iter().product::<usize>();
        let odd = Tensor::zeros(count, DType::F32, &Device::Cpu)
            .unwrap()
            .reshape(dims)
            .unwrap();
        fs::write(&path, foreign(&[("pe", &odd)])).unwrap();
        let error = load_error(&path);
        assert!(error.contains("tensor \"pe\": shape"), "{error}");
    }
    fs::write(&path, foreign(&[])).unwrap();
    assert!(load_error(&path).contains("the file holds no tensors"));
}

#[test]
fn misaligned_data_is_read() {
    let (_dir, path) = temp();
    let table = exact(16, 4, DType::F64);
    let mut data = Vec::new();
    for value in bits(&table) {
        data.extend(value.to_le_bytes());
    }
    for spaces in 0..8 {
        // The header's length shifts the data to every alignment; a U8 tensor shifts it again.
        let header = format!(
            r#"{{"a":{{"dtype":"U8","shape":[1],"data_offsets":[0,1]}},"pe":{{"dtype":"F64","shape":[4,16],"data_offsets":[1,{}]}}}}{}"#,
            1 + data.len(),
            " ".repeat(spaces)
        );
        let mut bytes = vec![7];
        bytes.extend(&data);
        fs::write(&path, raw(&header, &bytes)).unwrap();
        let loaded = checkpoint::load(&path, &Device::Cpu).unwrap();
        assert_eq!(bits(&loaded.table), bits(&table));
    }
}
