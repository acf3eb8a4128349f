//! Contents of written files.

use super::*;

#[test]
fn equal_input_gives_equal_bytes_by_every_way() {
    let (dir, path) = temp();
    for dtype in FLOATS {
        let spec = spec_of(32, 5, 40, dtype);
        let encoding = Sinusoidal::new(*spec.config()).unwrap();
        let tensor = sinusoidal_tensor(&encoding, 5..45, dtype, &Device::Cpu).unwrap();
        checkpoint::save(&path, &tensor, &spec).unwrap();
        let first = fs::read(&path).unwrap();
        for _ in 0..20 {
            checkpoint::save(&path, &tensor, &spec).unwrap();
            assert!(fs::read(&path).unwrap() == first, "{dtype:?}");
        }
        // A view that is not contiguous, and other ways to the same table.
        let view = tensor.t().unwrap().contiguous().unwrap().t().unwrap();
        assert!(!view.is_contiguous());
        let narrowed = Tensor::cat(&[&tensor, &tensor], 0)
            .unwrap()
            .narrow(0, 40, 40)
            .unwrap();
        for same in [view, narrowed] {
            checkpoint::save(&path, &same, &spec).unwrap();
            assert!(fs::read(&path).unwrap() == first, "{dtype:?}");
        }
        checkpoint::export(&path, &spec).unwrap();
        assert!(fs::read(&path).unwrap() == first, "{dtype:?}");
        macro_rules! table {
            ($t:ty) => {
                checkpoint::save(&path, &encoding.table::<$t>(5..45).unwrap(), &spec).unwrap()
            };
        }
        match dtype {
            DType::F32 => table!(f32),
            DType::F64 => table!(f64),
            DType::F16 => table!(f16),
            _ => table!(bf16),
        }
        assert!(fs::read(&path).unwrap() == first, "{dtype:?}");
        // The same bytes as the safetensors crate's own.
        let metadata = [(checkpoint::METADATA_KEY.to_owned(), spec.to_json().unwrap())];
        let theirs = safetensors::serialize([("pe", &tensor)], Some(metadata.into())).unwrap();
        assert!(theirs == first, "{dtype:?}");
    }
    assert_holds(dir.path(), &["table.safetensors"]);
}

#[test]
fn blocks_do_not_show_in_the_file() {
    // Several blocks with a short last one, and rows wider than a block.
    let (_dir, path) = temp();
    for (d_model, rows, dtype) in [
        (514, 1000, DType::F32),
        (514, 1000, DType::BF16),
        (1 << 18, 3, DType::F64),
        (2, 150_001, DType::F32),
    ] {
        let spec = spec_of(d_model, 0, rows, dtype);
        checkpoint::export(&path, &spec).unwrap();
        let by_export = fs::read(&path).unwrap();
        let tensor = exact(d_model, rows as u64, dtype);
        checkpoint::save(&path, &tensor, &spec).unwrap();
        assert!(fs::read(&path).unwrap() == by_export);
        let loaded = checkpoint::load(&path, &Device::Cpu).unwrap();
        assert!(bits(&loaded.table) == bits(&tensor));
        let comparison = checkpoint::compare(&path, &spec).unwrap();
        assert_eq!(comparison.entries, (d_model * rows) as u64);
        assert!(comparison.is_right());
    }
}

#[test]
fn tensor_that_is_not_what_the_specification_says_is_not_written() {
    let (dir, path) = temp();
    let table = exact(16, 4, DType::F32);
    for (bad, message) in [
        (
            spec(16, 5),
            "the table has shape [4, 16], the specification [5, 16]",
        ),
        (
            spec(18, 4),
            "the table has shape [4, 16], the specification [4, 18]",
        ),
        (
            spec_of(16, 0, 4, DType::F16),
            "dtype f32, the specification f16",
        ),
    ] {
        let error = checkpoint::save(&path, &table, &bad)
            .unwrap_err()
            .to_string();
        assert!(error.contains(message), "{error}");
        let table = Sinusoidal::paper(16).unwrap().table::<f32>(0..4).unwrap();
        let error = checkpoint::save(&path, &table, &bad)
            .unwrap_err()
            .to_string();
        assert!(error.contains(message), "{error}");
    }
    for tensor_name in ["", "__metadata__"] {
        let options = SaveOptions {
            tensor_names: vec![tensor_name.to_owned()],
        };
        let error = options
            .save(&path, &table, &spec(16, 4))
            .unwrap_err()
            .to_string();
        assert!(error.contains("a tensor cannot have the name"), "{error}");
    }
    assert_holds(dir.path(), &[]);
}

#[test]
fn awkward_tensor_names_come_back() {
    let (_dir, path) = temp();
    for name in [
        "a.b",
        "\"quoted\"",
        "naïve \u{1F600}",
        "line\nbreak",
        " ",
        "\0",
    ] {
        let options = SaveOptions {
            tensor_names: vec![name.to_owned()],
        };
        options.export(&path, &spec(8, 2)).unwrap();
        let loaded = checkpoint::load(&path, &Device::Cpu).unwrap();
        assert_eq!(loaded.names[0], name);
    }
}

#[test]
fn empty_table_is_a_table() {
    let (_dir, path) = temp();
    checkpoint::export(&path, &spec(8, 0)).unwrap();
    let loaded = checkpoint::load(&path, &Device::Cpu).unwrap();
    assert_eq!(loaded.table.dims(), [0, 8]);
    checkpoint::save(&path, &loaded.table, &spec(8, 0)).unwrap();
    assert_eq!(
        checkpoint::load(&path, &Device::Cpu).unwrap().spec,
        Some(spec(8, 0))
    );
}
