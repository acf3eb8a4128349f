//! What the demo measures (D2, D3), and that its measures measure something.

use pe_core::Sinusoidal;
use pe_demo::encoder::Encoder;
use pe_demo::mask::Sight;
use pe_demo::studies::{Masks, Order, SameShift, Trace};
use pe_demo::tokenizer::Sentence;

use crate::tolerance;
use crate::tolerance::{F32_ENCODER, F32_ROTATION, F32_SOFTMAX_SUM};
use crate::util::{encoder, sentences, tokenizer};

fn encode(texts: &[&str]) -> Vec<Sentence> {
    let tokenizer = tokenizer();
    texts
        .iter()
        .map(|text| tokenizer.encode(text).unwrap())
        .collect()
}

fn trace(encoder: &Encoder, sentences: &[Sentence]) -> Trace {
    Trace::of(encoder, &[sentences], Sight::Whole).unwrap()
}

#[test]
fn d2_hopkins_to_bay_and_bay_to_great_are_the_same_rotation() {
    let sentences = sentences();
    let study = SameShift::of(&encoder(), &sentences).unwrap().unwrap();
    assert_eq!((study.sentence, study.steps), (0, 3));
    let words = study
        .positions
        .map(|at| sentences[0].tokens[at].token.as_str());
    assert_eq!(words, ["hopkins", "bay", "great"]);
    assert!(study.max_error <= F32_ROTATION);
    // The first two land, the third shows that another place is another rotation.
    assert!(
        study.checks[..2]
            .iter()
            .all(|check| check.error <= F32_ROTATION)
    );
    assert!(study.checks[2].error > 0.1);

    // [[c, s], [-s, c]] of pair 0 is the turn by 3 radians.
    let shift = Sinusoidal::paper(64).unwrap().shift(3).unwrap();
    let (sin, cos) = shift.rotations()[0];
    assert_eq!((study.rotations[0].sin, study.rotations[0].cos), (sin, cos));
    assert!((cos - -0.989_992_496_600_445_4).abs() < tolerance::ANGLE_ADDITION);
}

#[test]
fn d2_every_word_of_the_built_in_sentences_is_one_token() {
    for sentence in sentences() {
        let words = sentence.text.split_whitespace().count();
        let signs = sentence.text.matches(['.', ',']).count();
        assert_eq!(
            sentence.tokens.len(),
            words + signs + 2,
            "{}",
            sentence.text
        );
        assert!(sentence.tokens.iter().all(|token| token.id != 1), "[UNK]");
    }
}

#[test]
fn order_shows_only_with_the_encoding() {
    let order = Order::of(&encoder(), &sentences(), Sight::Whole)
        .unwrap()
        .unwrap();
    assert_eq!((order.sentence, order.permutation), (0, Some(1)));
    assert!(order.without <= F32_ENCODER && order.mean_without <= F32_ENCODER);
    assert!(order.with > 0.1 && order.mean_with > 0.01);

    // One sentence alone is turned round.
    let one = encode(&["the cat saw the dog"]);
    let order = Order::of(&encoder(), &one, Sight::Whole).unwrap().unwrap();
    assert_eq!((order.sentence, order.permutation), (0, None));
    assert!(order.without <= F32_ENCODER && order.with > 0.1);

    // A mask that looks back only gives the order away.
    let order = Order::of(&encoder(), &one, Sight::Past).unwrap().unwrap();
    assert!(order.causal && order.without > 0.01);

    // One word has no order.
    let word = encode(&["cat", "dog dog dog"]);
    assert_eq!(Order::of(&encoder(), &word, Sight::Whole).unwrap(), None);
}

#[test]
fn d3_residual_connections_carry_the_encoding_on() {
    let trace = trace(&encoder(), &sentences());
    assert_eq!(trace.residual.len(), 3);
    assert_eq!(trace.tokens, 12 + 12 + 8 + 15);
    assert_eq!(trace.candidates, 15);
    // Before the first layer the change is the encoding.
    assert!((trace.residual[0].correlation - 1.0).abs() < tolerance::F32_CORRELATION);
    assert_eq!(trace.residual[0], trace.no_residual[0]);
    for (with, without) in trace.residual.iter().zip(&trace.no_residual).skip(1) {
        assert!(with.correlation > 0.15, "{with:?}");
        assert!(without.correlation.abs() < 0.1, "{without:?}");
        assert!(
            with.read_back > 2 * without.read_back,
            "{with:?} {without:?}"
        );
    }
}

#[test]
fn d3_the_measure_does_not_depend_on_how_sentences_are_batched() {
    let sentences = sentences();
    let encoder = encoder();
    let together = trace(&encoder, &sentences);
    let apart: Vec<&[Sentence]> = sentences.chunks(1).collect();
    let apart = Trace::of(&encoder, &apart, Sight::Whole).unwrap();
    for (a, b) in together.residual.iter().zip(&apart.residual) {
        assert!((a.correlation - b.correlation).abs() < tolerance::BATCHED_CORRELATION);
        assert_eq!(a.read_back, b.read_back);
    }
}

#[test]
fn d4_the_masks_hide_padding_and_future() {
    let sentences = sentences();
    let masks = Masks::of(&encoder(), &sentences).unwrap().unwrap();
    assert_eq!((masks.sentence, masks.padded_len), (2, 15));
    assert!(masks.max_sum_error <= F32_SOFTMAX_SUM);
    assert_eq!(
        (masks.max_padding_weight, masks.max_future_weight),
        (0.0, 0.0)
    );
    assert!(masks.padding_effect <= F32_ENCODER);
    assert!(masks.future_effect <= F32_ENCODER);
    assert_eq!((masks.map.len(), masks.map[0].len()), (8, 15));
}

#[test]
fn short_sentences_have_smaller_shifts() {
    let study = |texts: &[&str]| SameShift::of(&encoder(), &encode(texts)).unwrap().unwrap();
    assert_eq!(study(&["cat"]).steps, 1);
    assert_eq!(study(&["cat"]).positions, [0, 1, 2]);
    assert_eq!(study(&["the cat saw"]).steps, 2);
    assert_eq!(study(&["cat", "the cat saw the dog ."]).sentence, 1);
}
