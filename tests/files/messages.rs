//! Every message is one line without invisible characters, whatever it quotes: paths, names of
//! tensors, keys, values, and what other libraries say about them.

use pe_candle::checkpoint::RotarySpec;
use pe_core::RotaryConfig;
use pe_core::text::is_invisible;

use super::hostile::bad::message;
use super::*;

/// One of each kind of character that every message must escape.
const HOSTILE: &str = "a\n\r\t\u{1b}[2J\u{7f}\u{85}\u{9b}\u{ad}\u{34f}\u{61c}\u{115f}\u{180e}\
    \u{200b}\u{200d}\u{200f}\u{2028}\u{2029}\u{202e}\u{2060}\u{2066}\u{3164}\u{fe0f}\u{feff}\
    \u{ffa0}\u{fff9}\u{e0001}\u{e0041}z";

/// Checks the message of an error, which names the hostile text or the file.
fn assert_one_line<T>(result: candle_core::Result<T>, about: &str) {
    let text = match result {
        Ok(_) => panic!("{about}: taken"),
        Err(error) => message(&error),
    };
    assert_shown(&text, about);
}

fn assert_shown(text: &str, about: &str) {
    assert!(
        !text.is_empty() && !text.contains(is_invisible),
        "{about}: {text:?}"
    );
}

/// Files that quote the hostile text wherever a file can hold text.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    let quoted = serde_json::to_string(HOSTILE).unwrap();
    let inner = &quoted[1..quoted.len() - 1];
    let entry = r#"{"dtype":"F32","shape":[2,4],"data_offsets":[0,32]}"#;
    let rotary = RotarySpec::new(RotaryConfig::new(8), 0, 4, DType::F32)
        .unwrap()
        .to_json()
        .unwrap();
    let additive = spec(4, 2).to_json().unwrap();
    let mut list = vec![
        (
            "name",
            format!(r#"{{{quoted}:{}}}"#, entry.replace("2,4", "2,5")),
        ),
        (
            "names",
            format!(
                r#"{{{quoted}:{entry},"b{inner}":{}}}"#,
                entry.replace("0,32", "32,64")
            ),
        ),
        (
            "name twice",
            format!(r#"{{{quoted}:{entry},{quoted}:{entry}}}"#),
        ),
        (
            "type",
            format!(r#"{{"pe":{{"dtype":{quoted},"shape":[8],"data_offsets":[0,32]}}}}"#),
        ),
        (
            "shape",
            format!(r#"{{"pe":{{"dtype":"F32","shape":{quoted},"data_offsets":[0,32]}}}}"#),
        ),
        (
            "dimension",
            format!(r#"{{"pe":{{"dtype":"F32","shape":[{quoted}],"data_offsets":[0,32]}}}}"#),
        ),
        (
            "offsets",
            format!(r#"{{"pe":{{"dtype":"F32","shape":[8],"data_offsets":{quoted}}}}}"#),
        ),
        ("description", format!(r#"{{{quoted}:{quoted}}}"#)),
        ("field", format!(r#"{{{quoted}:{{{quoted}:1}}}}"#)),
        ("metadata", format!(r#"{{"__metadata__":{quoted}}}"#)),
        (
            "metadata key twice",
            format!(r#"{{"__metadata__":{{{quoted}:"",{quoted}:""}}}}"#),
        ),
        (
            "metadata value",
            format!(r#"{{"__metadata__":{{{quoted}:7}}}}"#),
        ),
        ("no JSON", format!("{{{HOSTILE}")),
    ];
    let mut specified = |about, text: &str| {
        let text = serde_json::to_string(text).unwrap();
        let metadata = format!(r#""__metadata__":{{"positional_encoding":{text}}}"#);
        list.push((about, format!(r#"{{{metadata},{quoted}:{entry}}}"#)));
    };
    specified("specification", HOSTILE);
    for text in [&additive, &rotary] {
        for (from, to) in [
            ("sinusoidal", inner),
            ("rotary\"", &format!("{inner}\"")),
            ("f32", inner),
            ("\"start\"", &quoted),
            ("\"rows\":", &format!("{quoted}:1,\"rows\":")),
            ("\"config\":{", &format!("\"config\":{{{quoted}:1,")),
            ("\"config\":{", &format!("\"config\":{quoted},\"x\":{{")),
            ("interleaved", inner),
            ("\"default\"", &quoted),
            ("10000.0", &quoted),
        ] {
            if text.contains(from) {
                specified("specification", &text.replacen(from, to, 1));
            }
        }
    }
    assert!(list.len() > 25, "{}", list.len());
    list.into_iter()
        .map(|(about, header)| (about, raw(&header, &[0; 32])))
        .collect()
}

#[test]
fn files_of_hostile_text_by_a_hostile_name() {
    let dir = tempfile::tempdir().unwrap();
    // A name of a file has at most 255 bytes, and no NUL.
    let path = dir.path().join(format!("{HOSTILE}.safetensors"));
    let spec = spec(4, 3);
    for (about, bytes) in files() {
        fs::write(&path, &bytes).unwrap();
        assert_one_line(checkpoint::load(&path, &Device::Cpu), about);
        assert_one_line(
            checkpoint::load_as::<checkpoint::RotaryTables>(&path, &Device::Cpu),
            about,
        );
        assert_one_line(named(HOSTILE).compare(&path, &spec), about);
        assert_one_line(named("no\n\u{200b}").compare(&path, &spec), about);
        let asked = LoadOptions {
            tensor_names: vec![HOSTILE.to_owned()],
            rows: Some(77),
            ..LoadOptions::default()
        };
        assert_one_line(asked.load(&path), about);
        match checkpoint::inspect(&path) {
            Ok(report) => {
                if let Err(reason) = &report.table {
                    assert_shown(reason, about);
                }
                if let SpecStatus::Invalid(reason) = &report.spec {
                    assert_shown(reason, about);
                }
            }
            Err(error) => assert_shown(&message(&error), about),
        }
    }
    for text in [
        HOSTILE,
        &serde_json::to_string(HOSTILE).unwrap(),
        &format!(
            "{{\"format\":1,\"scheme\":{}}}",
            serde_json::to_string(HOSTILE).unwrap()
        ),
    ] {
        assert_one_line(SinusoidalSpec::from_json(text), text);
        assert_one_line(RotarySpec::from_json(text), text);
    }
}

#[test]
fn good_files_that_are_refused_and_places_that_cannot_be_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(HOSTILE);
    let good = spec(4, 2);
    let options = SaveOptions {
        tensor_names: vec![HOSTILE.to_owned()],
    };
    options.export(&path, &good).unwrap();
    // The tensor's name comes back as it is.
    assert_eq!(checkpoint::inspect(&path).unwrap().tensors[0].name, HOSTILE);
    assert_eq!(
        checkpoint::load(&path, &Device::Cpu).unwrap().names[0],
        HOSTILE
    );
    for options in [
        LoadOptions {
            rows: Some(3),
            ..LoadOptions::default()
        },
        LoadOptions {
            config: Some(SinusoidalConfig::new(6)),
            ..LoadOptions::default()
        },
        LoadOptions {
            start: Some(3),
            ..LoadOptions::default()
        },
        LoadOptions {
            limits: Limits {
                table_bytes: 1,
                ..Limits::default()
            },
            ..LoadOptions::default()
        },
        LoadOptions {
            limits: Limits {
                header_bytes: 1,
                ..Limits::default()
            },
            ..LoadOptions::default()
        },
        LoadOptions {
            limits: Limits {
                file_bytes: 1,
                ..Limits::default()
            },
            ..LoadOptions::default()
        },
    ] {
        assert_one_line(options.load(&path), "asked for something else");
    }
    assert_one_line(checkpoint::compare(&path, &spec(4, 3)), "rows");
    let loaded = || checkpoint::load(&path, &Device::Cpu).unwrap();
    assert_one_line(
        loaded().into_layer(PositionalEncodingConfig::new(6)),
        "another layer",
    );
    let late = spec_of(4, 1, 2, DType::F32);
    options.export(&path, &late).unwrap();
    assert_one_line(
        loaded().into_layer(PositionalEncodingConfig::new(4)),
        "a late table",
    );
    let mut wrong = fs::read(&path).unwrap();
    let end = wrong.len();
    wrong[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    fs::write(&path, &wrong).unwrap();
    assert_one_line(checkpoint::load(&path, &Device::Cpu), "NaN");
    wrong[end - 4..].copy_from_slice(&7f32.to_le_bytes());
    fs::write(&path, &wrong).unwrap();
    assert_one_line(checkpoint::load(&path, &Device::Cpu), "a wrong entry");

    let table = exact(4, 2, DType::F32);
    let missing = path.join("below");
    let folder = dir.path().join(format!("folder{HOSTILE}"));
    fs::create_dir(&folder).unwrap();
    let absent = dir.path().join(format!("absent{HOSTILE}")).join("file");
    for place in [&missing, &folder, &absent] {
        assert_one_line(checkpoint::load(place, &Device::Cpu), "reading");
        assert_one_line(checkpoint::inspect(place), "reading");
        assert_one_line(checkpoint::save(place, &table, &good), "saving");
        assert_one_line(checkpoint::export(place, &good), "exporting");
        let replaced = checkpoint::replace(place, |_| Ok(())).unwrap_err();
        assert_shown(&replaced.to_string(), "replacing");
    }
    assert_one_line(checkpoint::save(&path, &table, &spec(4, 3)), "shape");
    let other = spec_of(4, 0, 2, DType::F64);
    assert_one_line(checkpoint::save(&path, &table, &other), "type");
    let rows = Sinusoidal::paper(4).unwrap().table::<f32>(0..2).unwrap();
    assert_one_line(checkpoint::save(&path, &rows, &spec(4, 3)), "shape");
    assert_one_line(checkpoint::save(&path, &rows, &other), "type");
    let rotary = RotarySpec::new(RotaryConfig::new(8), 0, 4, DType::F32).unwrap();
    assert_one_line(checkpoint::export(&missing, &rotary), "below a file");
    assert_one_line(checkpoint::compare(&path, &rotary), "not rotary");
}

#[test]
fn variables_of_hostile_names() {
    let vars = VarMap::new();
    let vb = VarBuilder::from_varmap(&vars, DType::F32, &Device::Cpu).pp(HOSTILE);
    let config = SinusoidalConfig::new(4);
    for shape in [(2, 4), (3, 4)] {
        let tensor = Tensor::ones(shape, DType::F32, &Device::Cpu).unwrap();
        let tensors = std::collections::HashMap::from([(format!("{HOSTILE}.{HOSTILE}"), tensor)]);
        let vb = VarBuilder::from_tensors(tensors, DType::F32, &Device::Cpu).pp(HOSTILE);
        assert_one_line(
            checkpoint::from_var_builder(&vb, HOSTILE, &config, 2),
            "stored",
        );
    }
    let _ = checkpoint::from_var_builder(&vb, HOSTILE, &config, 2).unwrap();
}
