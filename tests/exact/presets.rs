//! Every preset against the numbers of its reference.

use pe_core::{
    Direction, Element, OddWidth, PairLayout, Preset, Recipe, RotaryRecipe, SinusoidLayout,
    Sinusoidal, SinusoidalConfig,
};
use pe_tests::golden::{self, numbers};
use pe_tests::tolerance;
use serde_json::Value;

/// The preset that a golden case belongs to.
fn config(case: &Value) -> Option<SinusoidalConfig> {
    let d = case["d"].as_u64().unwrap() as usize;
    let name = case["preset"].as_str().unwrap();
    let preset = match name {
        // Not tables of positions but of tokens: tested with the layer.
        "fairseq-forward" => return None,
        "fairseq-no-padding" => Preset::Tensor2tensor,
        "diffusers" => {
            let shift = pe_core::Spacing::Shifted(case["shift"].as_f64().unwrap());
            // Two of the four are the presets, as they are.
            return Some(match (case["flip"] == true, case["shift"] == 1) {
                (false, true) => Preset::Diffusers.config(d),
                (true, false) => Preset::StableDiffusion.config(d),
                (false, false) => SinusoidalConfig {
                    spacing: shift,
                    ..Preset::Diffusers.config(d)
                },
                (true, true) => SinusoidalConfig {
                    spacing: shift,
                    ..Preset::StableDiffusion.config(d)
                },
            });
        }
        name => name.parse().unwrap(),
    };
    Some(preset.config(d))
}

#[test]
fn presets_give_the_numbers_of_their_references() {
    let golden: Value = golden::json("presets.json");
    let mut seen = std::collections::BTreeSet::new();
    for case in golden["cases"].as_array().unwrap() {
        let Some(config) = config(case) else { continue };
        let name = case["preset"].as_str().unwrap();
        let positions = numbers(&case["positions"]);
        let columns: Option<Vec<f64>> =
            (!case["columns"].is_null()).then(|| numbers(&case["columns"]));
        let encoding = Sinusoidal::new(config).unwrap();
        let table = encoding.table_at_reals::<f64>(&positions).unwrap();
        let is_f32 = case["dtype"] == "float32";
        for ((position, row), expected) in positions
            .iter()
            .zip(table.iter_rows())
            .zip(case["values"].as_array().unwrap())
        {
            let tolerance = match name {
                _ if !is_f32 => tolerance::REFERENCE_F64,
                "marian" | "tf-tutorial" => {
                    tolerance::REFERENCE_F64_CAST_TO_F32 + tolerance::REFERENCE_F64
                }
                _ if *position <= 100.0 => tolerance::REFERENCE_F32_TO_100,
                _ => tolerance::REFERENCE_F32_TO_5000,
            };
            let expected = numbers(expected);
            let found: Vec<f64> = match &columns {
                None => row.to_vec(),
                Some(columns) => columns.iter().map(|c| row[*c as usize]).collect(),
            };
            assert_eq!(found.len(), expected.len());
            for (column, (found, expected)) in found.iter().zip(&expected).enumerate() {
                assert!(
                    (found - expected).abs() <= tolerance,
                    "{name} {config:?} position {position} column {column}: \
                     {found} against the reference's {expected}"
                );
            }
        }
        seen.insert(name.to_owned());
    }
    for name in Preset::ALL.map(Preset::name) {
        // Stable Diffusion's cases are those of diffusers with `flip`.
        assert!(
            name == "stable-diffusion" || seen.contains(name),
            "{name} has no golden case"
        );
    }
}

#[test]
fn presets_refuse_the_widths_that_their_references_refuse() {
    let golden: Value = golden::json("presets.json");
    let refused = golden["meta"]["refused"].as_array().unwrap();
    assert!(!refused.is_empty());
    for case in refused {
        let preset: Preset = case["preset"].as_str().unwrap().parse().unwrap();
        let d = case["d"].as_u64().unwrap() as usize;
        let error = Sinusoidal::new(preset.config(d)).unwrap_err();
        assert_eq!(error, pe_core::Error::OddDModel { d_model: d });
    }
}

/// fairseq's padding row is zero in ranges, lists and reals, and nowhere else.
#[test]
fn fairseq_padding_row() {
    let encoding = Sinusoidal::new(Preset::Fairseq.config(64)).unwrap();
    let table = encoding.table::<f32>(0..100).unwrap();
    let list = encoding.table_at::<f32>(&[0, 1, 2]).unwrap();
    let reals = encoding.table_at_reals::<f32>(&[0.0, 1.0, 2.0]).unwrap();
    assert_eq!(list, reals);
    for (position, row) in table.iter_rows().enumerate() {
        assert_eq!(row.iter().all(|entry| *entry == 0.0), position == 1);
        if position < 3 {
            assert_eq!(Some(row), list.row(position));
        }
    }
}

/// Checks that names parse to the values that they name, that JSON spells them in the same way, and that an unknown name is
/// an error that lists them.
fn check_names<T>(kind: &str, all: &[T])
where
    T: Copy + std::fmt::Debug + PartialEq + std::fmt::Display + serde::Serialize,
    T: std::str::FromStr<Err = pe_core::Error>,
{
    let names: Vec<String> = all.iter().map(T::to_string).collect();
    for (value, name) in all.iter().zip(&names) {
        assert_eq!(name.parse(), Ok(*value));
        assert_eq!(serde_json::to_value(value).unwrap(), *name);
    }
    assert_eq!(
        "papre".parse::<T>().unwrap_err().to_string(),
        format!("unknown {kind} \"papre\"; known: {}", names.join(", "))
    );
}

#[test]
fn names_parse_to_what_they_name() {
    for preset in Preset::ALL {
        assert_eq!(preset.to_string().parse(), Ok(preset));
    }
    let error = "papre".parse::<Preset>().unwrap_err().to_string();
    assert!(
        error.contains("\"papre\"") && error.contains("whisper"),
        "{error}"
    );
    check_names("layout", &SinusoidLayout::ALL);
    check_names("treatment of odd widths", &OddWidth::ALL);
    check_names("recipe", &Recipe::ALL);
    check_names("pair layout", &PairLayout::ALL);
    check_names("rotary recipe", &RotaryRecipe::ALL);
    check_names("direction", &Direction::ALL);
}

/// Every preset survives the trip through JSON.
#[test]
fn configs_round_trip_through_json() {
    for preset in Preset::ALL {
        let config = preset.config(512);
        let json = serde_json::to_string(&config).unwrap();
        assert_eq!(
            serde_json::from_str::<SinusoidalConfig>(&json).unwrap(),
            config,
            "{json}"
        );
    }
    let short: SinusoidalConfig = serde_json::from_str(r#"{"d_model": 8}"#).unwrap();
    assert_eq!(short, SinusoidalConfig::new(8));
    assert!(serde_json::from_str::<SinusoidalConfig>(r#"{"d_model": 8, "bse": 1}"#).is_err());
}

/// Entry types report their names as safetensors tools write them.
#[test]
fn type_names() {
    assert_eq!(
        [
            f32::NAME,
            f64::NAME,
            pe_core::f16::NAME,
            pe_core::bf16::NAME
        ],
        ["f32", "f64", "f16", "bf16"]
    );
}
