//! What is read from a `config.json` against what transformers' rotary classes and attention layers
//! do: pairs of columns, direction, frequencies, coordinates.

use std::collections::BTreeMap;

use pe_core::hf_config::{self, HfLayer, HfRotary, UnknownKeys};
use pe_core::{
    Direction, MropeArrangement, PairLayout, RopeScaling, Rotary, RotaryConfig, RotaryRecipe,
};
use pe_tests::{golden, tolerance};
use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Deserialize)]
struct Golden {
    inv_freq: Vec<Vec<f32>>,
    classes: Vec<Class>,
    surveyed: Vec<Surveyed>,
    varied: Vec<Varied>,
}

/// The frequencies of a class with more keys than its default configuration.
#[derive(Deserialize)]
struct Varied {
    class: String,
    keys: Map<String, Value>,
    /// All keys, if the class needs others too.
    given: Option<Map<String, Value>>,
    /// The type of the layers, the frequencies, and the attention factor.
    layers: Vec<(Option<String>, usize, f64)>,
}

#[derive(Deserialize, Clone)]
struct Class {
    class: String,
    model_type: String,
    layer_type: Option<String>,
    layout: String,
    pairs: usize,
    direction: String,
    axes: Option<String>,
    attention_factor: f64,
    inv_freq: usize,
    config: Map<String, Value>,
    #[serde(default)]
    unrotated: Vec<usize>,
    #[serde(default)]
    unrotated_types: Vec<String>,
}

/// A configuration class with keys about rotary embeddings, itself or in a part.
#[derive(Deserialize)]
struct Surveyed {
    class: String,
    model_type: String,
    kind: String,
    config: Option<Map<String, Value>>,
    #[serde(default)]
    layers: Vec<Part>,
}

/// Values of the rotary class for a part of a composite configuration.
#[derive(Deserialize)]
struct Part {
    part: String,
    class: String,
    layer_type: Option<String>,
    inv_freq: usize,
    attention_factor: f64,
}

/// Model types that are not read as transformers reads them, and how they are told apart: a part of
/// the warning or of the error.
const TOLD: [(&str, [&str; 2]); 1] = [(
    "hunyuan_vl_text",
    [
        "mrope_section has 4 entries, not 3",
        "the columns of a pair follow different coordinates",
    ],
)];

/// Model types that rotate only if their file states so. By default they do not.
const BY_REQUEST: [&str; 3] = ["esm", "granitemoehybrid", "zamba2"];

/// Model types that the script does not probe and that `families.csv` or a test of its own holds.
const ELSEWHERE: [&str; 5] = ["codegen", "gptj", "internlm3", "iquestcoder", "roformer"];

fn golden() -> Golden {
    golden::json("rotary_classes.json")
}

/// What a file says that leaves everything about rotary embeddings to the class.
fn silent(config: &Map<String, Value>) -> Map<String, Value> {
    let kept = |key: &str| {
        let widths = [
            "hidden_size",
            "n_embd",
            "d_model",
            "n_heads",
            "qk_rope_head_dim",
            "position_embedding_type",
            "use_mem_rope",
            "attention_head_dim",
        ];
        widths.contains(&key) || key == "model_type" || key.contains("num_attention_heads")
    };
    let entries = config.iter().filter(|(key, _)| kept(key));
    entries
        .map(|(key, value)| (key.clone(), value.clone()))
        .chain(
            config
                .get_key_value("max_position_embeddings")
                .map(|(key, value)| (key.clone(), value.clone())),
        )
        .collect()
}

/// Compares a layer with the class, and names the first difference.
fn compare(layer: &HfLayer, class: &Class, expected: &[f32]) -> Result<(), String> {
    let layout = match layer.layout {
        PairLayout::HalfSplit => "half-split",
        PairLayout::Interleaved => "interleaved",
    };
    if layout != class.layout {
        return Err(format!("{layout} instead of {}", class.layout));
    }
    let direction = match layer.rotary.direction {
        Direction::Counterclockwise => "forward",
        Direction::Clockwise => "reversed",
    };
    if direction != class.direction {
        return Err(format!("{direction} instead of {}", class.direction));
    }
    let rotary = Rotary::new(RotaryConfig {
        recipe: RotaryRecipe::HfF32,
        ..layer.rotary.clone()
    })
    .map_err(|error| error.to_string())?;
    let found = rotary.frequencies(0).map_err(|error| error.to_string())?;
    let ours = found.inv_freq_f32();
    // A proportional scaling has still pairs at the end, of frequency 0.
    let rotated = ours.iter().filter(|f| **f != 0.0).count();
    if rotated != class.pairs || ours.len() != expected.len() {
        return Err(format!(
            "{rotated} pairs of {} instead of {}",
            ours.len(),
            class.pairs
        ));
    }
    let units = match &layer.rotary.scaling {
        RopeScaling::Llama3(llama3) => {
            tolerance::ROTARY_CLASS_ULP + tolerance::ROTARY_LLAMA3_ULP * llama3.factor.ceil() as u32
        }
        _ => tolerance::ROTARY_CLASS_ULP,
    };
    for (pair, (ours, theirs)) in ours.iter().zip(expected).enumerate() {
        if ours.to_bits().abs_diff(theirs.to_bits()) > units {
            return Err(format!(
                "frequency {ours:e} instead of {theirs:e} of pair {pair}"
            ));
        }
    }
    let factor = found.attention_factor();
    let error = (factor - class.attention_factor).abs();
    if error > tolerance::ROTARY_ATTENTION_FACTOR * factor {
        return Err(format!(
            "attention factor {factor} instead of {}",
            class.attention_factor
        ));
    }
    let Some(axes) = class.axes.as_ref().filter(|axes| !axes.contains('?')) else {
        return Ok(());
    };
    let Some(mrope) = &layer.mrope else {
        return Err("no split between coordinates".to_owned());
    };
    let [time, height, width] = mrope.sections;
    let ours: String = match mrope.arrangement {
        MropeArrangement::Chunked => "0".repeat(time) + &"1".repeat(height) + &"2".repeat(width),
        MropeArrangement::SpatialFirst => "12".repeat(height) + &"0".repeat(time),
        MropeArrangement::Interleaved => (0..class.pairs)
            .map(|pair| match pair % 3 {
                1 if pair < 3 * height => '1',
                2 if pair < 3 * width => '2',
                _ => '0',
            })
            .collect(),
    };
    if ours != *axes {
        return Err(format!("coordinates {ours} instead of {axes}"));
    }
    Ok(())
}

/// Reads each class' own settings, and files that leave them out.
#[test]
fn classes_are_read_as_they_rotate_or_rejected() {
    let Golden {
        inv_freq, classes, ..
    } = golden();
    let mut told: BTreeMap<&str, usize> = BTreeMap::new();
    let mut compared = 0;
    for class in classes.iter().filter(|class| !class.model_type.is_empty()) {
        for config in [class.config.clone(), silent(&class.config)] {
            let name = format!("{} ({}) {config:?}", class.class, class.model_type);
            let expectation = TOLD.iter().find(|(name, _)| *name == class.model_type);
            let read = hf_config::read(&Value::Object(config), UnknownKeys::Warn);
            match (expectation, read) {
                (Some((name, [how, _])), Err(error)) => {
                    assert!(error.to_string().contains(how), "{name}: {error}");
                    *told.entry(name).or_default() += 1;
                }
                (Some((name, [_, how])), Ok(model)) => {
                    assert!(
                        model.warnings.iter().any(|w| w.contains(how)),
                        "{name}: {:?}",
                        model.warnings
                    );
                    *told.entry(name).or_default() += 1;
                }
                (None, Err(error)) => panic!("{name}: {error}"),
                (None, Ok(model)) => {
                    let layer = model
                        .layer(class.layer_type.as_deref())
                        .unwrap_or_else(|error| panic!("{name}: {error}"));
                    if let Err(difference) = compare(layer, class, &inv_freq[class.inv_freq]) {
                        panic!("{name}: {difference}");
                    }
                    assert_eq!(model.unrotated_types, class.unrotated_types, "{name}");
                    if class.unrotated_types.is_empty() {
                        assert_eq!(model.unrotated, class.unrotated, "{name}");
                    }
                    compared += 1;
                }
            }
        }
    }
    assert_eq!(told, TOLD.iter().map(|(name, _)| (*name, 2)).collect());
    assert_eq!(compared, 428);
}

/// Compares a composite configuration with what transformers makes of the part that is read.
fn compare_part(model: &HfRotary, surveyed: &Surveyed, golden: &Golden) -> Result<(), String> {
    let read = ["text_config", "language_config", "llm_config"];
    let parts: Vec<_> = surveyed
        .layers
        .iter()
        .filter(|l| read.contains(&&*l.part))
        .collect();
    let known = |class: &&Class| Some(&class.model_type) == model.model_type.as_ref();
    let expected: Vec<Class> = if parts.is_empty() {
        golden.classes.iter().filter(known).cloned().collect()
    } else {
        let of = |part: &&Part| {
            let alike =
                |class: &&Class| class.class == part.class && class.layer_type == part.layer_type;
            let mut class = golden.classes.iter().find(alike).cloned().unwrap();
            class.inv_freq = part.inv_freq;
            class.attention_factor = part.attention_factor;
            let rotates = |f: &&f32| **f != 0.0;
            let pairs = golden.inv_freq[part.inv_freq]
                .iter()
                .filter(rotates)
                .count();
            if pairs != class.pairs {
                (class.pairs, class.axes) = (pairs, None);
            }
            class
        };
        parts.iter().map(of).collect()
    };
    if expected.is_empty() {
        return Err(format!("{:?} is not probed", model.model_type));
    }
    for class in &expected {
        let layer = model
            .layer(class.layer_type.as_deref())
            .map_err(|error| error.to_string())?;
        compare(layer, class, &golden.inv_freq[class.inv_freq])?;
    }
    Ok(())
}

/// Every configuration class of transformers with keys about rotary embeddings: read as transformers
/// reads it, or rejected, or warned about, and never silently different.
#[test]
fn configuration_classes_are_never_silently_different() {
    let golden = golden();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for surveyed in &golden.surveyed {
        let name = format!(
            "{} ({}), {}",
            surveyed.class, surveyed.model_type, surveyed.kind
        );
        let Some(config) = &surveyed.config else {
            *counts.entry("without a default").or_default() += 1;
            continue;
        };
        let outcome = match hf_config::read(&Value::Object(config.clone()), UnknownKeys::Warn) {
            Err(error) => {
                let error = error.to_string();
                match &*surveyed.kind {
                    "several coordinates" if !surveyed.model_type.is_empty() => {
                        assert!(error.contains("several coordinates"), "{name}: {error}");
                    }
                    "one position" if BY_REQUEST.contains(&&*surveyed.model_type) => {
                        assert!(error.contains("has no rotary embedding"), "{name}: {error}");
                    }
                    "one position" => {
                        let told = TOLD.iter().find(|(told, _)| *told == surveyed.model_type);
                        assert!(told.is_some(), "{name}: {error}");
                    }
                    _ => {}
                }
                println!("{name}: {error}");
                "refused"
            }
            Ok(model) => {
                let difference = match &*surveyed.kind {
                    "parts" => compare_part(&model, surveyed, &golden),
                    // The other test compares these.
                    "one position" => Ok(()),
                    _ if ELSEWHERE.contains(&&*surveyed.model_type) => Ok(()),
                    kind => Err(kind.to_owned()),
                };
                match difference {
                    Ok(()) => "as transformers",
                    Err(difference) => {
                        let warnings = model.warnings.join("; ");
                        println!("{name}: {difference}: {warnings}");
                        assert!(!warnings.is_empty(), "{name}: {difference}");
                        "warned"
                    }
                }
            }
        };
        *counts.entry(outcome).or_default() += 1;
    }
    assert_eq!(golden.surveyed.len(), 375);
    let wanted = [("as transformers", 300), ("refused", 73), ("warned", 2)];
    assert_eq!(counts, BTreeMap::from(wanted));
}

/// Keys that some classes use and others ignore: read as transformers reads them, or rejected, or warned
/// about, and never silently different.
#[test]
fn keys_are_never_silently_different() {
    let golden = golden();
    let (mut counts, mut silent_ones) = (BTreeMap::new(), Vec::new());
    for varied in &golden.varied {
        let mut classes = golden.classes.iter();
        let class = classes.find(|class| class.class == varied.class).unwrap();
        let mut config = silent(&class.config);
        config.extend(varied.given.as_ref().unwrap_or(&varied.keys).clone());
        let name = format!("{} {:?}", class.model_type, varied.keys);
        let outcome = match hf_config::read(&Value::Object(config), UnknownKeys::Warn) {
            Err(_) => "refused",
            Ok(model)
                if model
                    .layers
                    .iter()
                    .any(|layer| Rotary::new(layer.rotary.clone()).is_err()) =>
            {
                "refused"
            }
            Ok(model) => {
                let same = varied
                    .layers
                    .iter()
                    .try_for_each(|(layer_type, index, factor)| {
                        let layer = model
                            .layer(layer_type.as_deref())
                            .map_err(|e| e.to_string())?;
                        let expected = &golden.inv_freq[*index];
                        let mut class = class.clone();
                        class.inv_freq = *index;
                        class.attention_factor = *factor;
                        class.pairs = expected.iter().filter(|f| **f != 0.0).count();
                        class.axes = None;
                        compare(layer, &class, expected)
                    });
                match (same.is_ok(), model.warnings.is_empty()) {
                    (true, true) => "as transformers",
                    (true, false) => "as transformers, warned",
                    (false, false) => "different, warned",
                    // The released model's own code reads it.
                    (false, true)
                        if class.model_type == "dbrx"
                            && varied.keys.contains_key("attn_config") =>
                    {
                        "as the released model"
                    }
                    (false, true) => {
                        silent_ones.push(format!("{name}: {same:?}"));
                        "silent"
                    }
                }
            }
        };
        *counts.entry(outcome).or_insert(0) += 1;
    }
    assert!(silent_ones.is_empty(), "{counts:?}\n{silent_ones:#?}");
    let wanted = [
        ("as transformers", 1624),
        ("as transformers, warned", 2089),
        ("as the released model", 1),
        ("different, warned", 24),
        ("refused", 27),
    ];
    assert_eq!(counts, BTreeMap::from(wanted));
}

#[test]
fn unknown_model_types_are_never_read_silently() {
    let text =
        r#"{"model_type": "quux", "hidden_size": 64, "num_attention_heads": 4, "rope_theta": 1e6}"#;
    let model = hf_config::read(text, UnknownKeys::Warn).unwrap();
    let expected = "model_type (\"quux\" is not known: half-split pairs over the whole head, and a base \
                    of 10000 where the file has none, are assumed)";
    assert_eq!(model.warnings, [expected]);
    let error = hf_config::read(text, UnknownKeys::Reject)
        .unwrap_err()
        .to_string();
    assert!(error.contains(expected), "{error}");
}

/// Missing keys are never guessed silently.
#[test]
fn missing_bases_and_flags_without_effect_are_told() {
    let dims = r#""hidden_size": 256, "num_attention_heads": 2"#;
    for (config, told) in [
        (
            format!(r#"{{{dims}, "rotary_pct": 1.0}}"#),
            "rope_theta (is missing, and so is the model type: 10000 assumed)",
        ),
        (
            format!(
                r#"{{{dims}, "model_type": "qwen2_vl", "rope_theta": 1e6,
                    "rope_scaling": {{"type": "mrope", "mrope_section": [16, 24, 24], "mrope_interleaved": true}}}}"#
            ),
            "rope_scaling.mrope_interleaved (has no effect with this model type)",
        ),
    ] {
        let model = hf_config::read(&config, UnknownKeys::Warn).unwrap();
        assert_eq!(model.warnings, [told]);
        assert!(hf_config::read(&config, UnknownKeys::Reject).is_err());
    }
}
