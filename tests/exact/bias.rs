//! Biases of attention against Arb, and against the functions of transformers.

use std::sync::OnceLock;

use pe_core::hf_config::{HfBias, read_bias};
use pe_core::{
    AlibiConfig, AlibiSlopes, BucketDirection, DebertaBuckets, DebertaBucketsConfig, Element,
    Error, POSITIONS, RelativeIndex, T5Buckets, T5BucketsConfig, alibi_distances, alibi_positions,
    alibi_slopes, bf16, decomposed_index, f16, relative_distances, swin_v2_coordinates,
};
use pe_tests::golden::{self, patterns};
use pe_tests::tolerance::{ALIBI_SLOPE_ULP, SWIN_V2_ULP};
use serde_json::Value;

/// The distances that `make_biases.py` tries.
const FAR: i64 = 4096;

fn golden() -> &'static Value {
    static GOLDEN: OnceLock<Value> = OnceLock::new();
    GOLDEN.get_or_init(|| golden::json("biases.json"))
}

fn cases(key: &str) -> &'static [Value] {
    golden()[key].as_array().unwrap()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

fn size(value: &Value) -> usize {
    number(value) as usize
}

fn config(case: &Value) -> AlibiConfig {
    AlibiConfig {
        bias_max: case["bias_max"].as_f64().unwrap(),
        ..AlibiConfig::new(size(&case["heads"]))
    }
}

#[test]
fn slopes_are_the_nearest_floats_for_all_numbers_of_heads() {
    fn check<T: Element>(case: &Value) {
        let found = alibi_slopes::<T>(&config(case)).unwrap();
        let found: Vec<_> = found.into_iter().map(T::pattern).collect();
        assert_eq!(
            found,
            patterns(&case["exact"][T::NAME]),
            "{} {}",
            case["heads"],
            T::NAME
        );
    }
    for case in cases("slopes") {
        check::<f64>(case);
        check::<f32>(case);
        check::<f16>(case);
        check::<bf16>(case);
    }
}

#[test]
fn slopes_of_bloom_mpt_and_falcon_have_this_order() {
    for case in cases("slopes") {
        let single = alibi_slopes::<f32>(&config(case)).unwrap();
        for of in ["bloom", "mpt"] {
            if case[of].is_null() {
                continue;
            }
            for (found, wanted) in single.iter().zip(patterns(&case[of])) {
                let ulp = u64::from(found.to_bits()).abs_diff(wanted);
                assert!(
                    ulp <= u64::from(ALIBI_SLOPE_ULP),
                    "{of} {}: {ulp}",
                    case["heads"]
                );
            }
        }
        if !case["falcon_bf16"].is_null() {
            let found = alibi_slopes::<bf16>(&config(case)).unwrap();
            let found: Vec<_> = found.into_iter().map(Element::to_f64).collect();
            let wanted = patterns(&case["falcon_bf16"]);
            let wanted: Vec<_> = wanted
                .iter()
                .map(|bits| bf16::from_bits(*bits as u16).to_f64())
                .collect();
            assert_eq!(found, wanted, "{}", case["heads"]);
        }
    }
}

#[test]
fn biases_by_distance_are_slopes_times_distances_rounded_once() {
    let config = AlibiConfig::new(3);
    let slopes = alibi_slopes::<f64>(&config).unwrap();
    let (q_len, kv_len, offset) = (5, 300, 290);
    let distances = relative_distances(q_len, kv_len, offset as u64).unwrap();
    let found = alibi_distances::<f64>(&config, q_len, kv_len, offset as u64).unwrap();
    assert_eq!((found.rows(), found.width()), (3, 304));
    for (row, slope) in found.iter_rows().zip(&slopes) {
        for (value, distance) in row.iter().zip(distances.clone()) {
            // 2^-4 and 2^-8 are exact; 2^-2 is too.
            assert_eq!(*value, -slope * distance.abs() as f64);
        }
    }
    // Row i of the matrix is a slice, and its entry of distance 0 is the key at the query's position.
    for i in 0..q_len {
        let row = &found.row(1).unwrap()[q_len - 1 - i..][..kv_len];
        assert_eq!(row.iter().position(|value| *value == 0.0), Some(offset + i));
    }
    let found = alibi_positions::<f32>(&config, &[-3, 0, 7]).unwrap();
    assert_eq!(found.row(0), Some(&[-0.1875, 0.0, 0.4375][..]));
}

/// Expands the runs of a case, and compares every distance. Returns how many differ.
fn differences(case: &Value, bucket: impl Fn(i64) -> i64) -> Vec<i64> {
    let runs: Vec<_> = case["runs"].as_array().unwrap().iter().collect();
    let mut differ = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        let (first, wanted) = (run[0].as_i64().unwrap(), run[1].as_i64().unwrap());
        let end = runs
            .get(index + 1)
            .map_or(FAR + 1, |next| next[0].as_i64().unwrap());
        differ.extend((first..end).filter(|distance| bucket(*distance) != wanted));
    }
    differ
}

#[test]
fn buckets_equal_those_of_transformers_at_every_distance() {
    for case in cases("buckets") {
        let buckets = T5Buckets::new(T5BucketsConfig {
            num_buckets: size(&case["num_buckets"]),
            max_distance: number(&case["max_distance"]) as u32,
            direction: match case["bidirectional"].as_bool().unwrap() {
                true => BucketDirection::Bidirectional,
                false => BucketDirection::Unidirectional,
            },
        })
        .unwrap();
        let differ = differences(case, |distance| buckets.bucket(distance).into());
        println!(
            "{} {} {} {}: {differ:?}",
            case["model"], case["num_buckets"], case["max_distance"], case["bidirectional"]
        );
        assert!(
            differ.is_empty(),
            "{} {}",
            case["model"],
            case["num_buckets"]
        );
    }
}

#[test]
fn buckets_of_deberta_equal_those_of_transformers_at_every_distance() {
    for case in cases("deberta_buckets") {
        let buckets = DebertaBuckets::new(DebertaBucketsConfig {
            position_buckets: Some(size(&case["position_buckets"])),
            max_relative_positions: number(&case["max_relative_positions"]) as u32,
        })
        .unwrap();
        let span = buckets.span() as i64;
        let limited = |bucket: i64| (bucket + span).clamp(0, 2 * span - 1);
        let runs = case["runs"].as_array().unwrap();
        let runs: Vec<_> = runs
            .iter()
            .map(|run| serde_json::json!([run[0], limited(run[1].as_i64().unwrap())]))
            .collect();
        let differ = differences(&serde_json::json!({ "runs": runs }), |distance| {
            buckets.row(distance).into()
        });
        println!(
            "{} {}: {differ:?}",
            case["position_buckets"], case["max_relative_positions"]
        );
        assert!(differ.is_empty(), "{}", case["position_buckets"]);
    }
}

#[test]
fn index_tables_equal_those_of_swin_beit_and_levit() {
    for case in cases("indices") {
        let at = |key: &str| size(&case[key]);
        let found = match case["kind"].as_str().unwrap() {
            "swin" => RelativeIndex::swin(at("height"), at("width")),
            "beit" => RelativeIndex::beit(at("height"), at("width")),
            _ => RelativeIndex::levit(at("q"), at("kv"), at("stride")),
        }
        .unwrap();
        let wanted = case["index"].as_array().unwrap();
        assert_eq!(found.index().rows(), wanted.len());
        for (row, wanted) in found.index().iter_rows().zip(wanted) {
            let wanted: Vec<_> = wanted
                .as_array()
                .unwrap()
                .iter()
                .map(|i| number(i) as u32)
                .collect();
            assert_eq!(row, wanted, "{}", case["kind"]);
        }
        let most = found.index().as_slice().iter().max().unwrap();
        assert!((*most as usize) < found.rows());
    }
}

#[test]
fn coordinates_of_swin_v2_are_the_nearest_floats() {
    for case in cases("swinv2") {
        let pair = |key: &str| (size(&case[key][0]), size(&case[key][1]));
        let (window, pretrained) = (pair("window"), pair("pretrained"));
        let pretrained = (pretrained.0 > 0).then_some(pretrained);
        let found = swin_v2_coordinates::<f32>(window.0, window.1, pretrained).unwrap();
        let wide = swin_v2_coordinates::<f64>(window.0, window.1, pretrained).unwrap();
        let wanted = case["table"]["values"].as_array().unwrap();
        assert_eq!(found.as_slice().len(), wanted.len());
        for ((found, wide), wanted) in found.as_slice().iter().zip(wide.as_slice()).zip(wanted) {
            let wanted = wanted.as_f64().unwrap() as f32;
            let ulp = found.to_bits().abs_diff(wanted.to_bits());
            let zeros = *found == 0.0 && wanted == 0.0;
            assert!(zeros || ulp <= SWIN_V2_ULP, "{found} {wanted}");
            assert_eq!(*found, *wide as f32);
        }
    }
    // 1 + 8 x 7/7 = 9 and 1 + 8 x 7/8 = 8, whose logarithm is an integer.
    let table = swin_v2_coordinates::<f64>(8, 1, Some((9, 2))).unwrap();
    assert_eq!(table.row(14), Some(&[1.0, 0.0][..]));
}

#[test]
fn coordinates_of_sam_equal_its_products() {
    for case in cases("sam_indices") {
        let (q, kv) = (size(&case["q"]), size(&case["kv"]));
        let found = decomposed_index(q, kv).unwrap();
        let multiple = q.max(kv).is_multiple_of(q.min(kv));
        for (row, wanted) in found.iter_rows().zip(case["index"].as_array().unwrap()) {
            for (found, wanted) in row.iter().zip(wanted.as_array().unwrap()) {
                let difference = u64::from(*found).abs_diff(number(wanted));
                assert!(
                    difference <= u64::from(!multiple),
                    "{q} {kv}: {found} {wanted}"
                );
            }
        }
    }
}

#[test]
fn invalid_biases_are_errors_that_name_the_values() {
    fn message<T>(result: pe_core::Result<T>) -> String {
        result
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    }
    let t5 = |num_buckets, max_distance, direction| {
        message(T5Buckets::new(T5BucketsConfig {
            num_buckets,
            max_distance,
            direction,
        }))
    };
    let deberta = |buckets, max_relative_positions| {
        message(DebertaBuckets::new(DebertaBucketsConfig {
            position_buckets: Some(buckets),
            max_relative_positions,
        }))
    };
    let slopes = |config| message(alibi_slopes::<f32>(&config));
    let huge = usize::MAX;
    for (found, wanted) in [
        (slopes(AlibiConfig::new(0)), "num_heads 0 is not 1..=65536"),
        (
            slopes(AlibiConfig::new(huge)),
            "num_heads 18446744073709551615 is not 1..=65536",
        ),
        (
            slopes(AlibiConfig {
                bias_max: -1.0,
                ..AlibiConfig::new(4)
            }),
            "alibi_bias_max -1.0 is not a positive finite number",
        ),
        (
            t5(31, 128, BucketDirection::Bidirectional),
            "relative_attention_num_buckets 31 is not 2..=4096 on each side",
        ),
        (
            t5(huge, 128, BucketDirection::Unidirectional),
            "relative_attention_num_buckets 18446744073709551615 is not 2..=4096 on each side",
        ),
        (
            t5(32, 8, BucketDirection::Bidirectional),
            "relative_attention_max_distance 8 is not above the number of buckets of single distances",
        ),
        (
            deberta(7, 512),
            "position_buckets 7 is not an even number within 4..=8192",
        ),
        (
            deberta(256, 129),
            "max_relative_positions 129 is not more than half of position_buckets, plus 1",
        ),
        (
            message(relative_distances(0, 3, 0)),
            "q_len 0 is not at least 1",
        ),
        (
            message(relative_distances(1, 0, 0)),
            "kv_len 0 is not at least 1",
        ),
        (
            message(relative_distances(huge, huge, 0)),
            "18446744073709551615 tokens exceed the limit of 268435456 in one call",
        ),
        (
            message(relative_distances(2, 1, u64::MAX)),
            "positions 18446744073709551615..18446744073709551615 are not an ascending range within 0..4294967296",
        ),
        (
            message(RelativeIndex::swin(0, 3)),
            "rows 0 is not at least 1",
        ),
        (
            message(RelativeIndex::swin(huge, huge)),
            "18446744073709551615 tokens exceed the limit of 268435456 in one call",
        ),
        (
            message(RelativeIndex::levit(2, 2, 0)),
            "stride 0 is not 1..=65536",
        ),
        (
            message(decomposed_index(1 << 20, 1 << 20)),
            "1099511627776 tokens exceed the limit of 268435456 in one call",
        ),
        (
            message(swin_v2_coordinates::<f32>(2, 2, Some((1, 4)))),
            "pretrained_window_size 1 is not at least 2",
        ),
        // Two coordinates for each of 16383 x 16383 distances.
        (
            message(swin_v2_coordinates::<f32>(8192, 8192, None)),
            "536805378 tokens exceed the limit of 268435456 in one call",
        ),
    ] {
        assert_eq!(found, wanted);
    }
}

/// The keys of `config.json`, with the defaults of transformers.
#[test]
fn biases_of_config_files() {
    let read = |text: &str| read_bias(text);
    let found = |text: &str| read(text).unwrap();
    let buckets = |num_buckets, max_distance| T5BucketsConfig {
        num_buckets,
        max_distance,
        direction: BucketDirection::Bidirectional,
    };
    let alibi = |num_heads, bias_max| {
        Some(HfBias::Alibi(AlibiConfig {
            num_heads,
            bias_max,
        }))
    };
    let of = |num_heads, num, most| {
        let buckets = buckets(num, most);
        Some(HfBias::Buckets { num_heads, buckets })
    };
    assert_eq!(
        found(r#"{"model_type": "bloom", "n_head": 112}"#),
        alibi(112, 8.0)
    );
    // Baichuan-13B, and 7B, which rotates.
    assert_eq!(
        found(r#"{"model_type": "baichuan", "hidden_size": 5120, "num_attention_heads": 40}"#),
        alibi(40, 8.0)
    );
    assert_eq!(
        found(r#"{"model_type": "baichuan", "hidden_size": 4096, "num_attention_heads": 32}"#),
        None
    );
    assert_eq!(
        found(r#"{"model_type": "mpt", "n_heads": 64}"#),
        alibi(64, 8.0)
    );
    let mpt = r#"{"model_type": "mpt", "n_heads": 4, "attn_config": {"alibi_bias_max": 16}}"#;
    assert_eq!(found(mpt), alibi(4, 16.0));
    let mpt = r#"{"model_type": "mpt", "n_heads": 4, "attn_config": {"alibi": false}}"#;
    assert_eq!(found(mpt), None);
    let falcon = r#"{"model_type": "falcon", "num_attention_heads": 71, "alibi": true}"#;
    assert_eq!(found(falcon), alibi(71, 8.0));
    assert_eq!(found(&falcon.replace("true", "false")), None);
    let jina =
        r#"{"model_type": "bert", "num_attention_heads": 12, "position_embedding_type": "alibi"}"#;
    assert_eq!(found(jina), alibi(12, 8.0));
    assert_eq!(
        found(r#"{"model_type": "mt5", "num_heads": 6}"#),
        of(6, 32, 128)
    );
    let t5 = r#"{"model_type": "t5", "num_heads": 8, "relative_attention_num_buckets": 64, "relative_attention_max_distance": 256}"#;
    assert_eq!(found(t5), of(8, 64, 256));
    assert_eq!(
        found(r#"{"model_type": "wavlm", "num_attention_heads": 12}"#),
        of(12, 320, 800)
    );
    let nested = r#"{"model_type": "pix2struct", "initializer_factor": NaN, "vision_config": {"num_heads": 3},
        "text_config": {"model_type": "pix2struct_text_model", "num_heads": 12}}"#;
    assert_eq!(found(nested), of(12, 32, 128));
    let layoutlm = r#"{"model_type": "layoutlmv3", "num_attention_heads": 12}"#;
    let (tokens, coordinates) = (buckets(32, 128), buckets(64, 256));
    let boxes = HfBias::Boxes {
        num_heads: 12,
        tokens,
        coordinates,
    };
    assert_eq!(found(layoutlm), Some(boxes));
    let deberta = r#"{"model_type": "deberta-v2", "num_attention_heads": 12, "relative_attention": true,
        "position_buckets": 256, "max_relative_positions": -1, "max_position_embeddings": 512, "pos_att_type": "p2c|c2p"}"#;
    let disentangled = |position_buckets, position_to_content| HfBias::Disentangled {
        num_heads: 12,
        buckets: DebertaBucketsConfig {
            position_buckets,
            max_relative_positions: 512,
        },
        content_to_position: true,
        position_to_content,
    };
    assert_eq!(found(deberta), Some(disentangled(Some(256), true)));
    let listed = deberta
        .replace(r#""p2c|c2p""#, r#"["c2p"]"#)
        .replace("256", "-1");
    assert_eq!(found(&listed), Some(disentangled(None, false)));
    assert_eq!(
        found(r#"{"model_type": "llama", "num_attention_heads": 12}"#),
        None
    );
    for (text, wanted) in [
        ("[]", "config.json: the text is not a JSON object"),
        (
            r#"{"model_type": "bloom"}"#,
            "config.json: num_attention_heads is missing, and the bias has one slope or value per head",
        ),
        (
            r#"{"text_config": {"model_type": "mpt", "n_heads": 4, "attn_config": {"alibi": 3}}}"#,
            "config.json: text_config.attn_config.alibi is not true or false",
        ),
        (
            r#"{"model_type": "bloom", "n_head": 0}"#,
            "num_heads 0 is not 1..=65536",
        ),
        (
            r#"{"model_type": "bloom", "n_head": -3}"#,
            "config.json: n_head is not a count",
        ),
        (
            r#"{"model_type": "t5", "num_heads": 8, "relative_attention_num_buckets": 31}"#,
            "relative_attention_num_buckets 31 is not 2..=4096 on each side",
        ),
    ] {
        assert_eq!(read(text).unwrap_err().to_string(), wanted);
    }
}

/// Every key of a bias with every kind of value: an error, or a specification that its constructor accepts.
#[test]
fn biases_of_config_files_with_any_values_are_valid_or_errors() {
    let bases = [
        r#"{"model_type": "bloom", "n_head": 4}"#,
        r#"{"model_type": "mpt", "n_heads": 4, "attn_config": {"alibi": true, "alibi_bias_max": 8}}"#,
        r#"{"model_type": "falcon", "num_attention_heads": 4, "alibi": true}"#,
        r#"{"model_type": "bert", "num_attention_heads": 4, "position_embedding_type": "alibi"}"#,
        r#"{"model_type": "t5", "num_heads": 4, "relative_attention_num_buckets": 32, "relative_attention_max_distance": 128}"#,
        r#"{"model_type": "wavlm", "num_attention_heads": 4, "num_buckets": 320, "max_bucket_distance": 800}"#,
        r#"{"model_type": "layoutlmv3", "num_attention_heads": 4, "has_relative_attention_bias": true, "rel_pos_bins": 32,
            "max_rel_pos": 128, "has_spatial_attention_bias": true, "rel_2d_pos_bins": 64, "max_rel_2d_pos": 256}"#,
        r#"{"model_type": "deberta-v2", "num_attention_heads": 4, "relative_attention": true, "position_buckets": 256,
            "max_relative_positions": 512, "max_position_embeddings": 512, "pos_att_type": ["c2p", "p2c"]}"#,
    ];
    let values = [
        "null",
        "true",
        "false",
        "-1",
        "0",
        "1",
        "2",
        "3",
        "31",
        "4096",
        "65537",
        "4294967296",
        "9223372036854775807",
        "18446744073709551615",
        "-9223372036854775808",
        "0.5",
        "1e-320",
        "1e308",
        "-0.0",
        "NaN",
        "Infinity",
        "\"\"",
        "\"alibi\"",
        "\"c2p|p2c\"",
        "[]",
        "[1, null]",
        "{}",
        "{\"alibi\": 2}",
    ];
    let (mut read, mut rejected) = (0, 0);
    for base in bases {
        let object: serde_json::Map<String, Value> = serde_json::from_str(base).unwrap();
        for (key, old) in &object {
            for value in values {
                let (old, key) = (format!("\"{key}\":{old}"), format!("\"{key}\":{value}"));
                let text = serde_json::to_string(&object).unwrap().replace(&old, &key);
                for text in [text.clone(), format!("{{\"text_config\": {text}}}")] {
                    match read_bias(text.as_str()) {
                        Ok(Some(bias)) => assert!(is_valid(bias), "{text}"),
                        Ok(None) => {}
                        Err(error) => {
                            assert!(!error.to_string().contains('\n'), "{error}");
                            rejected += 1;
                            continue;
                        }
                    }
                    read += 1;
                }
            }
        }
    }
    assert!(read > 300 && rejected > 1000, "{read} {rejected}");
}

fn is_valid(bias: HfBias) -> bool {
    match bias {
        HfBias::Alibi(config) => alibi_slopes::<f64>(&config).is_ok(),
        HfBias::Buckets { buckets, .. } => T5Buckets::new(buckets).is_ok(),
        HfBias::Boxes {
            tokens,
            coordinates,
            ..
        } => [tokens, coordinates]
            .iter()
            .all(|config| T5Buckets::new(*config).is_ok()),
        HfBias::Disentangled { buckets, .. } => DebertaBuckets::new(buckets).is_ok(),
        _ => false,
    }
}

#[test]
fn rows_of_distances_are_the_products_and_their_ranges_are_checked() {
    let config = AlibiConfig::new(3);
    let slopes = AlibiSlopes::new(config).unwrap();
    for distances in [0..5u64, 3..3, 7..8, POSITIONS - 2..POSITIONS] {
        let count = (distances.end - distances.start) as usize;
        let mut rows = vec![1f32; 3 * count];
        slopes.fill_distances(distances.clone(), &mut rows).unwrap();
        let positions: Vec<i64> = distances.map(|distance| -(distance as i64)).collect();
        let heads = alibi_positions::<f32>(&config, &positions).unwrap();
        for (at, row) in rows.chunks(3).enumerate() {
            for (head, found) in row.iter().enumerate() {
                assert_eq!(Some(*found), heads.get(head, at), "{positions:?}");
            }
        }
    }
    let mut two = [0f32; 6];
    for (start, end) in [(5, 3), (POSITIONS - 1, POSITIONS + 1)] {
        let error = slopes.fill_distances(start..end, &mut two).unwrap_err();
        assert!(matches!(error, Error::Range { .. }), "{error}");
    }
    let error = slopes.fill_distances(0..3, &mut two).unwrap_err();
    assert!(
        matches!(error, Error::Length { expected: 9, .. }),
        "{error}"
    );
}
