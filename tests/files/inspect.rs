//! Contents of a file.

use super::*;

#[test]
fn safetensors_files_can_be_inspected() {
    let (_dir, path) = temp();
    let dtypes = [
        ("BOOL", 8),
        ("F4", 4),
        ("F6_E2M3", 6),
        ("F6_E3M2", 6),
        ("U8", 8),
        ("I8", 8),
        ("F8_E5M2", 8),
        ("F8_E4M3", 8),
        ("F8_E8M0", 8),
        ("I16", 16),
        ("U16", 16),
        ("F16", 16),
        ("BF16", 16),
        ("I32", 32),
        ("U32", 32),
        ("F32", 32),
        ("C64", 64),
        ("F64", 64),
        ("I64", 64),
        ("U64", 64),
    ];
    let mut entries = Vec::new();
    let mut at = 0;
    for (name, bits) in dtypes {
        entries.push(format!(
            r#""t.{name}":{{"dtype":"{name}","shape":[4,8],"data_offsets":[{at},{}]}}"#,
            at + 4 * bits
        ));
        at += 4 * bits;
    }
    entries.reverse();
    entries.push(
        r#""scalar":{"dtype":"I64","shape":[],"data_offsets":[0,8]}"#
            .replace("[0,8]", &format!("[{at},{}]", at + 8)),
    );
    entries.push(format!(
        r#""empty":{{"dtype":"I64","shape":[3,0],"data_offsets":[{0},{0}]}}"#,
        at + 8
    ));
    entries.push(r#""__metadata__":{"z":"1","a":"2","format":"pt"}"#.to_owned());
    let header = format!("{{{}}}", entries.join(","));
    fs::write(&path, raw(&header, &vec![0; at + 8])).unwrap();
    let report = checkpoint::inspect(&path).unwrap();
    assert_eq!(report.tensors.len(), dtypes.len() + 2);
    for (tensor, (name, bits)) in report.tensors.iter().zip(dtypes) {
        assert_eq!(
            (tensor.dtype.as_str(), tensor.bytes),
            (name, 4 * bits as u64)
        );
        assert_eq!(tensor.shape, [4, 8]);
    }
    assert_eq!(report.spec, SpecStatus::Absent);
    assert_eq!(report.metadata[0], ("z".to_owned(), "1".to_owned()));
    assert!(report.table.unwrap_err().contains("and 6 more"));
    assert_eq!(report.bytes, fs::metadata(&path).unwrap().len());
}

#[test]
fn ten_thousand_tensors_are_listed() {
    let (_dir, path) = temp();
    let entries: Vec<String> = (0..10_000)
        .map(|i| {
            format!(
                r#""layer.{i}":{{"dtype":"U8","shape":[1],"data_offsets":[{i},{}]}}"#,
                i + 1
            )
        })
        .collect();
    fs::write(
        &path,
        raw(&format!("{{{}}}", entries.join(",")), &[0; 10_000]),
    )
    .unwrap();
    assert_eq!(checkpoint::inspect(&path).unwrap().tensors.len(), 10_000);
}

#[test]
fn inspect_prints_the_specification() {
    let (_dir, path) = temp();
    let good = SinusoidalSpec::new(Preset::Fairseq.config(33), 0, 9, DType::BF16).unwrap();
    checkpoint::export(&path, &good).unwrap();
    let report = checkpoint::inspect(&path).unwrap();
    assert_eq!(
        report.spec,
        SpecStatus::Valid(AnySpec::Sinusoidal(good.clone()))
    );
    assert_eq!(report.table.as_deref(), Ok("pe"));
    assert_eq!(
        report.metadata,
        [(checkpoint::METADATA_KEY.to_owned(), good.to_json().unwrap())]
    );
    let table = exact(16, 4, DType::F32);
    for (text, message) in [
        ("{}".to_owned(), "missing field"),
        (
            spec(16, 4).to_json().unwrap().replace("f32", "f8"),
            "dtype \"f8\" is not one of",
        ),
        (
            spec(16, 4).to_json().unwrap().replace("16", "15"),
            "d_model 15 is odd",
        ),
        (
            spec(16, 5).to_json().unwrap(),
            "says rows 5, the tensor has 4",
        ),
    ] {
        let metadata = [(checkpoint::METADATA_KEY.to_owned(), text)];
        fs::write(
            &path,
            safetensors::serialize([("pe", &table)], Some(metadata.into())).unwrap(),
        )
        .unwrap();
        match checkpoint::inspect(&path).unwrap().spec {
            SpecStatus::Invalid(reason) => {
                assert!(reason.contains(message), "{reason}");
                // Whoever shows it says what it is about.
                assert!(!reason.contains("specification:"), "{reason}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn comparison_with_another_shape_is_an_error() {
    let (_dir, path) = temp();
    checkpoint::export(&path, &spec(16, 4)).unwrap();
    let error = checkpoint::compare(&path, &spec(16, 3))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("the specification says rows 3, the tensor has 4"),
        "{error}"
    );
    named("pe").compare(&path, &spec(16, 4)).unwrap();
    named("x").compare(&path, &spec(16, 4)).unwrap_err();
}
