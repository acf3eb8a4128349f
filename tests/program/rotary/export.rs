//! `pe-demo export --scheme rotary` writes the tables that its options specify.

use candle_core::DType;
use pe_core::{
    Llama3Scaling, LongRopeScaling, RopeScaling, Rotary, RotaryConfig, RotaryRecipe, YarnScaling,
};

use super::{case, config_file, export, f64s};
use crate::util::{arg, file, run, run_json};

/// Every configuration of a released model, read, exported and inspected: the frequencies are
/// those that the formulas give in interval arithmetic, and in f32 with the recipe within one
/// unit of what transformers gives.
#[test]
fn configurations_of_released_models_give_their_frequencies() {
    let cases = pe_tests::rotary::cases();
    assert!(cases.len() >= 80);
    for case in cases {
        let (directory, config) = config_file(&case.config);
        let out = directory.path().join("rotary.safetensors");
        let mut options = format!("--config {} --max-seq-len 3", arg(&config));
        if let Some(length) = case.seq_len {
            options += &format!(" --seq-len {length}");
        }
        if let Some(name) = &case.layer_type {
            options += &format!(" --layer-type {name}");
        }
        let (loaded, _) = export(&out, &format!("{options} --dtype f64"));
        assert_eq!(
            f64s(&loaded.table.inv_freq),
            case.inv_freq_exact,
            "{}",
            case.name
        );
        assert_eq!(
            loaded.spec.scheme().frequencies().attention_factor(),
            case.attention_factor_exact
        );
        assert_eq!(loaded.table.cos.dims(), [3, case.rotary_dim / 2]);

        let (loaded, text) = export(&out, &format!("{options} --recipe hf-f32"));
        assert_eq!(loaded.spec.config().recipe, RotaryRecipe::HfF32);
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains("entries of the recipe hf-f32"), "{text}");
        let found = loaded.table.inv_freq.to_vec1::<f32>().unwrap();
        for (found, expected) in found.iter().zip(&case.inv_freq_f32) {
            let units = found.to_bits().abs_diff(expected.to_bits());
            assert!(units <= 1, "{}: {found} {expected}", case.name);
        }
        let report = run_json(&format!("inspect {}", arg(&out)));
        assert_eq!(report["table"]["status"], "right", "{}", case.name);
        let entries = case.rotary_dim / 2 * 7;
        assert_eq!(report["table"]["entries"], entries);
        // Page after page within 80 columns.
        for page in [
            text,
            run(&format!("inspect {}", arg(&out))),
            run(&format!("inspect {}", arg(&config))),
        ] {
            assert!(
                page.lines().all(|line| line.chars().count() <= 80),
                "{page}"
            );
        }
    }
}

#[test]
fn scalings_can_be_given_on_the_command_line() {
    let (_guard, path) = file("rotary.safetensors");
    let list = "[1,1.5,2,3]";
    let longrope = format!(
        "longrope:short_factor=[1,1,1,1],long_factor={list},original_max_position_embeddings=16,\
         factor=2.5"
    );
    for (text, scaling, longest) in [
        ("default", RopeScaling::Default, None),
        ("linear:factor=4", RopeScaling::Linear { factor: 4.0 }, None),
        (
            "dynamic:factor=2,max_position_embeddings=20",
            RopeScaling::Dynamic { factor: 2.0 },
            Some(20),
        ),
        (
            "yarn:factor=4,original_max_position_embeddings=64,beta_fast=16.5,beta_slow=2,\
             mscale=0.7,mscale_all_dim=0.5,truncate=false",
            RopeScaling::Yarn(YarnScaling {
                beta_fast: 16.5,
                beta_slow: 2.0,
                mscale: Some(0.7),
                mscale_all_dim: Some(0.5),
                truncate: false,
                ..YarnScaling::new(4.0, 64)
            }),
            None,
        ),
        (
            &longrope,
            RopeScaling::LongRope(LongRopeScaling {
                factor: Some(2.5),
                ..LongRopeScaling::new(vec![1.0; 4], vec![1.0, 1.5, 2.0, 3.0], 16)
            }),
            None,
        ),
        (
            "llama3:factor=8,low_freq_factor=1,high_freq_factor=4,\
             original_max_position_embeddings=8192",
            RopeScaling::Llama3(Llama3Scaling {
                factor: 8.0,
                low_freq_factor: 1.0,
                high_freq_factor: 4.0,
                original_max_position_embeddings: 8192,
            }),
            None,
        ),
        (
            "proportional:partial_rotary_factor=0.5",
            RopeScaling::Proportional {
                partial_rotary_factor: 0.5,
                factor: 1.0,
            },
            None,
        ),
    ] {
        let options = format!("--head-dim 8 --theta 12345.678 --max-seq-len 40 --scaling {text}");
        let (loaded, _) = export(&path, &options);
        let config = RotaryConfig {
            base: 12345.678,
            scaling,
            max_position_embeddings: longest,
            ..RotaryConfig::new(8)
        };
        assert_eq!(*loaded.spec.config(), config, "{text}");
        let rotary = Rotary::new(config).unwrap();
        assert_eq!(
            loaded.spec.scheme().seq_len(),
            rotary.depends_on_seq_len().then_some(40)
        );
        let frequencies = rotary.frequencies(40).unwrap();
        assert_eq!(
            loaded.spec.scheme().frequencies().attention_factor(),
            frequencies.attention_factor()
        );
        let tables = frequencies.tables::<f32>(0..40).unwrap();
        let cos: Vec<f32> = loaded.table.cos.flatten_all().unwrap().to_vec1().unwrap();
        assert_eq!(cos, tables.cos.as_slice(), "{text}");
        let out = run(&format!("inspect {}", arg(&path)));
        assert!(
            out.contains("right: all 324 entries are as specified"),
            "{out}"
        );
        let name = text.split(':').next().unwrap();
        let words = if name == "default" {
            "no scaling"
        } else {
            name
        };
        let flat = out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(&format!("base 12345.678, {words}")), "{out}");
    }
}

#[test]
fn options_reach_the_table_and_equal_options_give_equal_bytes() {
    let (_guard, path) = file("rotary.safetensors");
    let with = |options: &str| export(&path, &format!("--head-dim 64 --max-seq-len 10 {options}"));
    let (loaded, text) = with("");
    assert_eq!(*loaded.spec.config(), RotaryConfig::new(64));
    assert_eq!(
        (loaded.spec.start(), loaded.spec.rows(), loaded.spec.dtype()),
        (0, 10, DType::F32)
    );
    for words in [
        "tensors cos and sin [10, 32] f32, inv_freq [32] f32, 2,688 bytes",
        "positions 0 to 9; 32 pairs of columns, base 10000, no scaling",
    ] {
        assert!(text.contains(words), "{text}");
    }
    let first = std::fs::read(&path).unwrap();
    with("--scaling default --theta 10000 --recipe exact --dtype f32");
    assert!(std::fs::read(&path).unwrap() == first);

    assert_eq!(with("--start 4294967286").0.spec.start(), (1 << 32) - 10);
    assert_eq!(with("--rotary-dim 16").0.spec.config().rotary_dim, 16);
    // A width whose part of the head is no binary fraction.
    assert_eq!(with("--rotary-dim 58").0.spec.config().rotary_dim, 58);
    for (name, dtype) in [
        ("f64", DType::F64),
        ("f16", DType::F16),
        ("bf16", DType::BF16),
    ] {
        let (loaded, _) = with(&format!("--dtype {name}"));
        assert_eq!(
            (loaded.table.cos.dtype(), loaded.table.sin.dtype()),
            (dtype, dtype)
        );
    }
    let (_, text) = with("--seq-len 999");
    assert!(text.contains("--seq-len 999 makes no difference"), "{text}");
}

#[test]
fn sequence_length_chooses_the_frequencies() {
    let phi = case("Phi-3.5-mini-instruct||131072");
    let (directory, config) = config_file(&phi.config);
    let out = directory.path().join("rotary.safetensors");
    let config = arg(&config);
    let with = |rows: &str, more: &str| {
        let options = format!("--config {config} --dtype f64 --max-seq-len {rows} {more}");
        f64s(&export(&out, &options).0.table.inv_freq)
    };
    assert_eq!(with("4097", ""), phi.inv_freq_exact);
    assert_eq!(with("1", "--seq-len 5000"), phi.inv_freq_exact);
    assert_eq!(with("2", "--start 4095"), phi.inv_freq_exact);
    let short = case("Phi-3.5-mini-instruct||4096").inv_freq_exact;
    assert_ne!(short, phi.inv_freq_exact);
    assert_eq!(with("4096", ""), short);
    assert_eq!(with("5000", "--seq-len 4096"), short);
}

#[test]
fn rows_reach_the_models_longest_unless_given() {
    let (directory, config) = config_file(&case("pythia-160m").config);
    let out = directory.path().join("rotary.safetensors");
    let (loaded, text) = export(&out, &format!("--config {}", arg(&config)));
    assert_eq!(loaded.spec.positions(), 0..2048);
    assert!(
        text.contains("half-split: columns 1 and 9 form pair 1"),
        "{text}"
    );
    let (loaded, _) = export(&out, &format!("--config {} --start 2000", arg(&config)));
    assert_eq!(loaded.spec.positions(), 2000..2048);
}

#[test]
fn wrong_entries_are_named_with_their_tensor() {
    let (_guard, path) = file("rotary.safetensors");
    export(&path, "--head-dim 8 --max-seq-len 10 --start 5");
    let mut bytes = std::fs::read(&path).unwrap();
    let sin = bytes.len() - 10 * 4 * 4;
    bytes[sin + (2 * 4 + 3) * 4] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let text = crate::util::run_with(&format!("inspect {}", arg(&path)), "");
    assert_eq!(text.outcome, pe_demo::Outcome::Failure);
    let flat = text.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = "wrong: 1 of 84 entries differ; the first is sin, row 2, pair 3 (position 7): ";
    assert!(flat.contains(words), "{}", text.out);
    let json = crate::util::run_with(&format!("inspect --json {}", arg(&path)), "");
    let report: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(report["table"]["status"], "wrong");
    assert_eq!(report["table"]["specification"]["scheme"], "rotary");
    let first = &report["table"]["first_wrong"];
    assert_eq!(
        (&first["tensor"], &first["pair"]),
        (&"sin".into(), &3.into())
    );
    assert_eq!((&first["row"], &first["position"]), (&2.into(), &7.into()));
}
