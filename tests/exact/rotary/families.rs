//! What the model types of `families.rs` imply where a `config.json` is silent, against transformers'
//! own classes. The other types are tested in `classes.rs`.

use std::collections::BTreeMap;

use pe_core::PairLayout;
use pe_core::hf_config::{self, UnknownKeys};
use pe_tests::golden;
use serde_json::json;

#[test]
fn model_types_imply_what_transformers_implies() {
    let mut models: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
    for row in golden::rows("families.csv") {
        models.entry(row[0].clone()).or_default().push(row);
    }
    assert_eq!(models.len(), 9);
    for (model_type, rows) in models {
        let config = json!({
            "model_type": model_type, "hidden_size": 12 * 96, "num_attention_heads": 12
        });
        let model = hf_config::read(&config.to_string(), UnknownKeys::Reject)
            .unwrap_or_else(|error| panic!("{model_type}: {error}"));
        assert_eq!(model.layers.len(), rows.len(), "{model_type}");
        for row in rows {
            let [_, layer_type, theta, partial, head_dim, pairs] = &row[..] else {
                panic!("{row:?}");
            };
            let [theta, partial, head_dim] =
                [theta, partial, head_dim].map(|number| number.parse::<f64>().unwrap());
            let layer_type = (!layer_type.is_empty()).then_some(layer_type.as_str());
            let layer = model.layer(layer_type).unwrap();
            assert_eq!(layer.layer_type.as_deref(), layer_type, "{model_type}");
            assert_eq!(layer.rotary.base, theta, "{model_type}");
            assert_eq!(layer.head_dim as f64, head_dim, "{model_type}");
            let rotary_dim = layer.rotary.rotary_dim as f64;
            assert_eq!(rotary_dim, head_dim * partial, "{model_type}");
            let layout = match pairs.as_str() {
                "interleaved" => PairLayout::Interleaved,
                "half-split" => PairLayout::HalfSplit,
                "?" => continue,
                other => panic!("{other}"),
            };
            assert_eq!(layer.layout, layout, "{model_type}");
        }
    }
}

/// With one set of frequencies the usual types are alike. An invented name is rejected.
#[test]
fn layers_are_found_by_their_names() {
    let read = |model_type: &str| {
        let config = json!({
            "model_type": model_type, "hidden_size": 1152, "num_attention_heads": 12
        });
        hf_config::read(&config.to_string(), UnknownKeys::Reject).unwrap()
    };
    let one = read("llama");
    for name in ["full_attention", "sliding_attention"] {
        assert_eq!(one.layer(Some(name)).unwrap(), &one.layers[0]);
    }
    let invented = one.layer(Some("anything")).unwrap_err().to_string();
    assert_eq!(
        invented,
        "unknown layer type \"anything\"; known: chunked_attention, full_attention, sliding_attention"
    );
    assert_eq!(one.layer(None).unwrap(), &one.layers[0]);
    let two = read("olmo3");
    assert_eq!(
        two.layer(Some("sliding_attention")).unwrap(),
        &two.layers[1]
    );
    for name in [None, Some("chunked_attention")] {
        let error = two.layer(name).unwrap_err().to_string();
        assert!(
            error.contains("full_attention, sliding_attention"),
            "{error}"
        );
    }
    // One set that has a name is not for others.
    let named = json!({
        "model_type": "llama", "hidden_size": 1152, "num_attention_heads": 12,
        "rope_parameters": {"sliding_attention": {"rope_type": "default", "rope_theta": 7.0}}
    });
    let named = hf_config::read(&named.to_string(), UnknownKeys::Reject).unwrap();
    assert_eq!(named.layer(None).unwrap().rotary.base, 7.0);
    assert!(named.layer(Some("full_attention")).is_err());
}
