//! `pe-demo encode --scheme`: the toy encoder with other positions, or none.

use candle_core::{Device, Tensor};
use pe_candle::PositionalEncodingConfig;
use pe_demo::encoder::{Batch, Encoder, EncoderConfig, Mode, Norm, Residual, Scheme};
use pe_demo::mask::Sight;

use crate::tolerance;
use crate::tolerance::F32_ENCODER;
use crate::util::{encoder_of, max_difference, run, run_json};

const WORDS: [u32; 6] = [109, 862, 1132, 297, 652, 1128];

fn with(scheme: Scheme) -> Encoder {
    encoder_of(EncoderConfig {
        scheme,
        position: PositionalEncodingConfig {
            max_seq_len: 32,
            ..PositionalEncodingConfig::new(64)
        },
        ..EncoderConfig::new(2000, 64)
    })
}

/// The mean of a sentence's vectors.
fn mean(encoder: &Encoder, ids: &[u32]) -> candle_core::Tensor {
    let batch = Batch::new(&[ids], 0, &Device::Cpu).unwrap();
    let output = encoder.forward(&batch, Sight::Whole, Mode::Eval).unwrap();
    output.last().unwrap().mean(1).unwrap()
}

#[test]
fn schemes_but_none_see_the_order() {
    let mut backwards = WORDS;
    backwards.reverse();
    for scheme in Scheme::ALL {
        let encoder = with(scheme);
        let difference = max_difference(&mean(&encoder, &WORDS), &mean(&encoder, &backwards));
        match scheme {
            Scheme::None => assert!(difference <= F32_ENCODER, "{difference}"),
            // Distances alone are the same backwards. They are not in another order.
            Scheme::Alibi => {
                assert!(difference <= F32_ENCODER, "{difference}");
                let other = [WORDS[1], WORDS[4], WORDS[0], WORDS[5], WORDS[2], WORDS[3]];
                let difference = max_difference(&mean(&encoder, &WORDS), &mean(&encoder, &other));
                assert!(difference > tolerance::VISIBLE, "{difference}");
            }
            _ => assert!(difference > 0.02, "{}: {difference}", scheme.name()),
        }
    }
}

#[test]
fn rotary_scores_depend_on_distances() {
    // One layer's attention between the same words is the same wherever they are.
    let encoder = with(Scheme::Rotary);
    let shifted = [&[7; 5][..], &WORDS].concat();
    let attention = |ids: &[u32], from: usize| {
        let batch = Batch::new(&[ids], 0, &Device::Cpu).unwrap();
        let output = encoder.forward(&batch, Sight::Whole, Mode::Eval).unwrap();
        let weights = output.attention[0].narrow(2, from, 6).unwrap();
        let weights = weights.narrow(3, from, 6).unwrap();
        let sums = weights.sum_keepdim(3).unwrap();
        weights.broadcast_div(&sums).unwrap()
    };
    let difference = max_difference(&attention(&WORDS, 0), &attention(&shifted, 5));
    assert!(difference <= F32_ENCODER, "{difference}");
    // Another order is another score.
    let mut other = WORDS;
    other.swap(0, 5);
    assert!(max_difference(&attention(&WORDS, 0), &attention(&other, 0)) > tolerance::VISIBLE);
}

/// The weights of a layer without what queries and keys have in common: equal scores leave the bias alone.
#[test]
fn alibi_weights_fall_with_the_distance() {
    let encoder = with(Scheme::Alibi);
    let batch = Batch::new(&[&[7; 6], &[7; 4]], 0, &Device::Cpu).unwrap();
    let output = encoder.forward(&batch, Sight::Whole, Mode::Eval).unwrap();
    let weights = output.attention[0]
        .get(0)
        .unwrap()
        .to_vec3::<f32>()
        .unwrap();
    for (head, rows) in weights.iter().enumerate() {
        let slope = f64::from(1u32 << (2 * (head + 1))).recip();
        for (query, row) in rows.iter().enumerate() {
            for (key, weight) in row.iter().enumerate() {
                let ratio = f64::from(*weight) / f64::from(row[query]);
                let bias = Tensor::new(-slope * query.abs_diff(key) as f64, &Device::Cpu);
                let expected = bias
                    .and_then(|bias| bias.exp()?.to_scalar::<f64>())
                    .unwrap();
                let difference = (ratio - expected).abs();
                assert!(difference <= F32_ENCODER, "{head} {query} {key} {ratio}");
            }
        }
    }
    // Padding has no weight, and causal attention none for later tokens.
    let padded = output.attention[0].get(1).unwrap().narrow(2, 4, 2).unwrap();
    assert_eq!(max_difference(&padded, &padded.zeros_like().unwrap()), 0.0);
    let output = encoder.forward(&batch, Sight::Past, Mode::Eval).unwrap();
    let row = output.attention[0].get(0).unwrap().narrow(1, 0, 1).unwrap();
    let later = row.narrow(2, 1, 5).unwrap();
    assert_eq!(max_difference(&later, &later.zeros_like().unwrap()), 0.0);
}

/// The first token sees itself alone, whatever the rest is, and without being told.
#[test]
fn tokens_of_nope_causal_see_only_earlier_ones() {
    let encoder = with(Scheme::NopeCausal);
    let first = |ids: &[u32]| {
        let batch = Batch::new(&[ids], 0, &Device::Cpu).unwrap();
        let output = encoder.forward(&batch, Sight::Whole, Mode::Eval).unwrap();
        output.last().unwrap().narrow(1, 0, 1).unwrap()
    };
    let mut other = WORDS;
    other[1..].reverse();
    assert_eq!(max_difference(&first(&WORDS), &first(&other)), 0.0);
}

#[test]
fn learned_positions_end_where_they_were_made_for() {
    let encoder = with(Scheme::Learned);
    let run = |len: usize| {
        let batch = Batch::new(&[&vec![7; len]], 0, &Device::Cpu).unwrap();
        encoder.forward(&batch, Sight::Whole, Mode::Eval)
    };
    assert!(run(32).is_ok());
    let error = run(33).unwrap_err().to_string();
    assert!(
        error.contains("33 tokens") && error.contains("first 32"),
        "{error}"
    );
    // Rows are weights.
    let without = with(Scheme::None).config().parameters().unwrap();
    assert_eq!(encoder.config().parameters(), Some(without + 32 * 64));
    let other = with(Scheme::None).variant(Scheme::Learned, Norm::Post, Residual::Added);
    let batch = Batch::new(&[&WORDS], 0, &Device::Cpu).unwrap();
    let error = other.forward(&batch, Sight::Whole, Mode::Eval).unwrap_err();
    assert!(error.to_string().contains("not made for learned positions"));
}

#[test]
fn reports_tell_only_what_holds_for_the_scheme() {
    let json = |scheme| run_json(&format!("--scheme {scheme} --d-model 32"));
    for scheme in ["none", "learned", "rotary", "alibi", "t5", "nope-causal"] {
        let report = json(scheme);
        assert_eq!(report["model"]["scheme"], scheme);
        for absent in ["same_shift", "trace", "table"] {
            assert!(report[absent].is_null(), "{scheme}: {absent}");
        }
        assert!(report["order"]["without"].as_f64().unwrap() < tolerance::SAME_WITHOUT_POSITIONS);
        let with = report["order"]["with"].as_f64().unwrap();
        assert_eq!(
            with > tolerance::VISIBLE,
            scheme != "none",
            "{scheme}: {with}"
        );
        let page = run(&format!("--scheme {scheme} --d-model 32"));
        assert!(page.contains("Not shown") && !page.contains("the same rotation\n---"));
    }
    assert_eq!(run("--scheme sinusoidal --no-table"), run("--no-table"));
    let page = run("--scheme alibi")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(
        page.contains("it adds a bias to the attention scores"),
        "{page}"
    );
}
