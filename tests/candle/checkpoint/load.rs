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
        let spec = TableSpec::new(config, 100, 50, dtype);
        checkpoint::export(&path, &spec).unwrap();
        let loaded = checkpoint::load(&path, &Device::Cpu).unwrap();
        assert_eq!(loaded.spec, Some(spec));
        assert_eq!(
            (loaded.tensor.dtype(), loaded.tensor.dims()),
            (dtype, &[50, 33][..])
        );
        let encoding = Sinusoidal::new(config).unwrap();
        let table = sinusoidal_tensor(&encoding, 100..150, dtype, &Device::Cpu).unwrap();
        assert_eq!(bits(&loaded.tensor), bits(&table));
    }
}

#[test]
fn conversion_rounds_once() {
    // Values whose nearest f32 lies on a midpoint of the half type, the true value beside it.
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
        bits(&options.load(&path).unwrap().tensor)
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
fn tables_of_others_are_taken_in_every_shape_and_under_any_name() {
    let (_dir, path) = temp();
    for dtype in FLOATS {
        let table = exact(16, 10, dtype);
        for dims in [vec![10, 16], vec![1, 10, 16], vec![10, 1, 16]] {
            for name in ["pe", "pos_encoder.pe", "embeddings.position_ids_table"] {
                let tensor = table.reshape(dims.as_slice()).unwrap();
                fs::write(&path, foreign(&[(name, &tensor)])).unwrap();
                let loaded = checkpoint::load(&path, &Device::Cpu).unwrap();
                assert_eq!((loaded.name.as_str(), loaded.spec), (name, None));
                assert_eq!(loaded.tensor.dims(), [10, 16]);
                assert_eq!(bits(&loaded.tensor), bits(&table));
            }
        }
    }
    // One position: every shape at once.
    let one = exact(16, 1, DType::F32).reshape((1, 1, 16)).unwrap();
    fs::write(&path, foreign(&[("pe", &one)])).unwrap();
    assert_eq!(
        checkpoint::load(&path, &Device::Cpu).unwrap().tensor.dims(),
        [1, 16]
    );
}

#[test]
fn the_table_is_found_among_other_tensors_or_they_are_listed() {
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
        checkpoint::load(&path, &Device::Cpu).unwrap().name,
        "x.table"
    );
    // `pe` before any other.
    fs::write(&path, foreign(&[("a", &weight), ("pe", &table)])).unwrap();
    assert_eq!(checkpoint::load(&path, &Device::Cpu).unwrap().name, "pe");
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
    let named = |name: &str| LoadOptions {
        tensor_name: Some(name.to_owned()),
        ..LoadOptions::default()
    };
    assert_eq!(named("x.table").load(&path).unwrap().name, "x.table");
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
        assert_eq!(bits(&loaded.tensor), bits(&table));
    }
}
