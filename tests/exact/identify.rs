//! Conventions are recognized from the numbers of tables that other libraries computed.

use pe_core::{
    AlibiConfig, Identification, Identified, Llama3Scaling, RopeScaling, Rotary, RotaryColumns,
    RotaryConfig, RotaryPart, Sinusoidal, YarnScaling, alibi_positions, bf16, f16, identify,
};
use pe_tests::golden;
use safetensors::{Dtype, SafeTensors};
use serde_json::Value;

/// The convention of one tensor of a file.
fn of_tensor(file: &SafeTensors<'_>, name: &str) -> Identification {
    let tensor = file.tensor(name).unwrap();
    let bytes = tensor.data();
    let halves = || {
        bytes
            .chunks_exact(2)
            .map(|b| u16::from_le_bytes([b[0], b[1]]))
    };
    let shape = tensor.shape();
    match tensor.dtype() {
        Dtype::F32 => {
            let words = bytes
                .chunks_exact(4)
                .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
            identify(&words.collect::<Vec<f32>>(), shape).unwrap()
        }
        Dtype::F16 => identify(&halves().map(f16::from_bits).collect::<Vec<_>>(), shape).unwrap(),
        Dtype::BF16 => identify(&halves().map(bf16::from_bits).collect::<Vec<_>>(), shape).unwrap(),
        other => panic!("{other:?}"),
    }
}

/// The difference from the truth, if there is one.
fn mistake(found: &Identification, truth: &Value) -> Option<String> {
    let text = |key: &str| truth[key].as_str().unwrap_or_default();
    let number = |key: &str| truth[key].as_f64().unwrap_or(f64::NAN);
    if found.found.name() != text("scheme") {
        return Some(format!("is taken for {}", found.found.name()));
    }
    let wrong = match &found.found {
        Identified::Sinusoidal {
            config,
            start,
            scale,
            ..
        } => {
            let odd = truth["odd"].as_str();
            let padding = truth["padding_idx"].as_u64();
            let spacing = match (text("spacing"), config.recipe.name()) {
                // diffusers' own recipe is defined with its own spacing.
                ("paper" | "inclusive", "diffusers-f32") => "shifted",
                (spacing, _) => spacing,
            };
            let base_error = config.base.value() / number("base") - 1.0;
            config.layout.name() != text("layout")
                || config.spacing.name() != spacing
                || base_error.abs() > 1e-12
                || *start != number("start")
                || *scale != number("scale")
                || odd.is_some_and(|odd| odd != config.odd_width.name())
                || padding != config.padding_idx.map(u64::from)
        }
        Identified::Rotary {
            config,
            part,
            columns,
            attention_factor,
        } => {
            let part_name = match part {
                RotaryPart::Cos => "cos",
                RotaryPart::Sin => "sin",
            };
            let columns = match columns {
                RotaryColumns::Once => "once",
                RotaryColumns::Concatenated => "concatenated",
                RotaryColumns::Repeated => "repeated",
            };
            part_name != text("part")
                || columns != text("columns")
                || config.base != number("base")
                || (attention_factor - number("factor")).abs() > 5e-3
        }
        Identified::InvFreq { config } => {
            let (factor, original) = match &config.scaling {
                RopeScaling::Linear { factor } => (Some(*factor), None),
                RopeScaling::Llama3(s) => {
                    (Some(s.factor), Some(s.original_max_position_embeddings))
                }
                RopeScaling::Yarn(s) => (Some(s.factor), Some(s.original_max_position_embeddings)),
                _ => (None, None),
            };
            config.base != number("base")
                || config.scaling.name() != text("scaling")
                || factor != truth["factor"].as_f64()
                || original.map(|n| n as u64) != truth["original"].as_u64()
        }
        Identified::Alibi { config, .. } => config.bias_max != number("bias_max"),
        Identified::Grid { preset, sides } => {
            let expected: Vec<usize> = serde_json::from_value(truth["sides"].clone()).unwrap();
            preset.name() != text("preset") || *sides != expected
        }
        _ => false,
    };
    wrong.then(|| format!("{:?}", found.found))
}

/// The wrong answers about a file, and the number of its tensors.
fn mistakes(bytes: &[u8]) -> (Vec<String>, usize) {
    let file = SafeTensors::deserialize(bytes).unwrap();
    let (_, metadata) = SafeTensors::read_metadata(bytes).unwrap();
    let truth = &metadata.metadata().as_ref().unwrap()["truth"];
    let truths: Value = serde_json::from_str(truth).unwrap();
    let names = file.names();
    let of_name = |name: &&str| {
        let truth = &truths[name];
        mistake(&of_tensor(&file, name), truth).map(|wrong| format!("{name} {truth}: {wrong}"))
    };
    (names.iter().filter_map(of_name).collect(), names.len())
}

#[test]
fn tables_of_libraries_are_identified_and_others_are_not() {
    let bytes = std::fs::read(golden::path("identify.safetensors")).unwrap();
    let (wrong, count) = mistakes(&bytes);
    assert_eq!(count, 112);
    assert!(
        wrong.is_empty(),
        "{} of {count}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn scalings_are_identified_from_frequencies_alone() {
    let llama3 = |factor, original_max_position_embeddings| {
        RopeScaling::Llama3(Llama3Scaling {
            factor,
            low_freq_factor: 1.0,
            high_freq_factor: 4.0,
            original_max_position_embeddings,
        })
    };
    for scaling in [
        RopeScaling::Default,
        RopeScaling::Linear { factor: 4.0 },
        llama3(8.0, 8192),
        llama3(32.0, 8192),
        llama3(16.0, 10_000),
        RopeScaling::Yarn(YarnScaling::new(4.0, 32_768)),
    ] {
        let config = RotaryConfig {
            base: 500_000.0,
            scaling,
            ..RotaryConfig::new(128)
        };
        let frequencies = Rotary::new(config.clone()).unwrap().frequencies(4096);
        let frequencies = frequencies.unwrap().inv_freq_f32();
        let found = identify(&frequencies, &[64]).unwrap().found;
        let Identified::InvFreq { config: found } = found else {
            panic!("{:?} is taken for {found:?}", config.scaling);
        };
        assert_eq!((found.base, found.scaling), (config.base, config.scaling));
    }
}

#[test]
fn biases_of_alibi_are_identified_with_three_keys_or_more() {
    let config = AlibiConfig::new(8);
    for keys in [2i64, 3, 4, 50] {
        let positions: Vec<i64> = (0..keys).map(|key| key - (keys - 1)).collect();
        let biases = alibi_positions::<f32>(&config, &positions).unwrap();
        let found = identify(biases.as_slice(), &[8, keys as usize]).unwrap();
        let expected = Identified::Alibi {
            config,
            negative: false,
            keys: Some(keys as usize),
        };
        assert_eq!(found.found == expected, keys > 2, "{:?}", found.found);
    }
}

#[test]
fn tables_of_rotary_embeddings_are_identified_with_four_rows_or_more() {
    let frequencies = Rotary::new(RotaryConfig::new(16)).unwrap().frequencies(0);
    for rows in [3, 4, 5] {
        let cos = frequencies
            .as_ref()
            .unwrap()
            .tables::<f64>(0..rows)
            .unwrap()
            .cos;
        let found = identify(cos.as_slice(), &[rows as usize, 8]).unwrap().found;
        let rotary = matches!(found, Identified::Rotary { .. });
        assert_eq!(rotary, rows > 3, "{rows} rows: {found:?}");
    }
}

/// More than half a period of the second slowest pair away from zero: 6283 positions.
#[test]
fn tables_that_begin_far_from_zero_are_identified() {
    for start in [8000u64, 15_000] {
        let encoding = Sinusoidal::paper(16).unwrap();
        let table = encoding.table::<f32>(start..start + 64).unwrap();
        let found = identify(table.as_slice(), &[64, 16]).unwrap().found;
        let Identified::Sinusoidal { start: first, .. } = found else {
            panic!("{found:?}");
        };
        assert_eq!(first, start as f64);
    }
}

/// Half a step of bf16 is 0.002, a step 0.004.
#[test]
fn factors_near_one_are_not_taken_for_one() {
    let table = Sinusoidal::paper(64).unwrap().table::<f64>(0..256).unwrap();
    let scaled: Vec<bf16> = table
        .as_slice()
        .iter()
        .map(|x| bf16::from_f64(1.003 * x))
        .collect();
    let found = identify(&scaled, &[256, 64]).unwrap().found;
    let Identified::Sinusoidal { scale, .. } = found else {
        panic!("{found:?}");
    };
    assert!(scale > 1.0 && scale < 1.006, "{scale}");
}

/// A larger file by `golden/make_identify.py`, which this variable names: see the script.
#[test]
#[ignore = "needs a file: PE_IDENTIFY=FILE"]
fn tables_of_a_large_file_are_identified() {
    let path = std::env::var_os("PE_IDENTIFY").unwrap();
    let (wrong, count) = mistakes(&std::fs::read(path).unwrap());
    assert!(
        wrong.is_empty(),
        "{} of {count}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
