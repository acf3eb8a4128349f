//! The toy encoder: masks (D4), residual connections (D3), modes, weights.

use candle_core::{D, Device, Tensor};
use pe_candle::PositionalEncodingConfig;
use pe_demo::encoder::{
    Batch, Encoder, EncoderConfig, EncoderOutput, Mode, Norm, Residual, Scheme,
};
use pe_demo::mask::{Mask, Sight};

use crate::tolerance;
use crate::tolerance::{F32_ENCODER, F32_SOFTMAX_SUM};
use crate::util::{encoder, encoder_of, max_difference};

const SHORT: &[u32] = &[2, 109, 206, 214, 3];
const LONG: &[u32] = &[2, 185, 183, 168, 184, 176, 135, 42, 174, 169, 17, 3];

fn batch(sentences: &[&[u32]]) -> Batch {
    Batch::new(sentences, 0, &Device::Cpu).unwrap()
}

fn forward(encoder: &Encoder, sentences: &[&[u32]], sight: Sight) -> EncoderOutput {
    encoder
        .forward(&batch(sentences), sight, Mode::Eval)
        .unwrap()
}

/// The vectors of the first `len` tokens of a sentence, as the last layer gives them.
fn vectors(output: &EncoderOutput, sentence: usize, len: usize) -> Tensor {
    let last = output.last().unwrap();
    last.get(sentence).unwrap().narrow(0, 0, len).unwrap()
}

fn weights(output: &EncoderOutput) -> Vec<Vec<Vec<Vec<f32>>>> {
    let layers = output.attention.iter();
    layers
        .flat_map(|layer| {
            let (batch, heads, len, _) = layer.dims4().unwrap();
            let flat = layer.reshape((batch * heads, len, len)).unwrap();
            let all = flat.to_vec3::<f32>().unwrap();
            all.chunks(heads).map(<[_]>::to_vec).collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn d4_rows_sum_to_one_and_padding_gets_no_weight() {
    let encoder = encoder();
    for sight in [Sight::Whole, Sight::Past] {
        let output = forward(&encoder, &[SHORT, LONG], sight);
        for (index, heads) in weights(&output).iter().enumerate() {
            // Layers one after another, two sentences each.
            let len = [SHORT, LONG][index % 2].len();
            for row in heads.iter().flatten() {
                let sum: f64 = row.iter().map(|w| f64::from(*w)).sum();
                assert!((sum - 1.0).abs() <= F32_SOFTMAX_SUM, "{sum}");
                assert!(row[len..].iter().all(|weight| *weight == 0.0));
                assert!(row[..1].iter().all(|weight| *weight > 0.0));
            }
        }
    }
}

#[test]
fn d4_padding_does_not_change_the_other_rows() {
    for norm in [Norm::Post, Norm::Pre] {
        let encoder = encoder().variant(Scheme::Sinusoidal, norm, Residual::Added);
        for sight in [Sight::Whole, Sight::Past] {
            let together = forward(&encoder, &[SHORT, LONG], sight);
            for (index, sentence) in [SHORT, LONG].into_iter().enumerate() {
                let alone = forward(&encoder, &[sentence], sight);
                let difference = max_difference(
                    &vectors(&alone, 0, sentence.len()),
                    &vectors(&together, index, sentence.len()),
                );
                assert!(difference <= F32_ENCODER, "{difference}");
            }
        }
    }
}

#[test]
fn d4_look_ahead_mask_is_lower_triangular() {
    let output = forward(&encoder(), &[LONG], Sight::Past);
    for head in weights(&output).iter().flatten() {
        for (query, row) in head.iter().enumerate() {
            for (key, weight) in row.iter().enumerate() {
                assert_eq!(*weight == 0.0, key > query, "query {query}, key {key}");
            }
        }
        assert_eq!(head[0][0], 1.0);
    }
}

#[test]
fn d4_the_past_does_not_depend_on_the_future() {
    let encoder = encoder();
    let whole = forward(&encoder, &[LONG], Sight::Past);
    let mut changed = LONG.to_vec();
    changed[8..].fill(42);
    let changed = forward(&encoder, &[&changed], Sight::Past);
    let prefix = forward(&encoder, &[&LONG[..8]], Sight::Past);
    assert_eq!(
        max_difference(&vectors(&whole, 0, 8), &vectors(&changed, 0, 8)),
        0.0
    );
    assert!(max_difference(&vectors(&whole, 0, 8), &vectors(&prefix, 0, 8)) <= F32_ENCODER);

    // Without the mask the future shows.
    let whole = forward(&encoder, &[LONG], Sight::Whole);
    let prefix = forward(&encoder, &[&LONG[..8]], Sight::Whole);
    assert!(max_difference(&vectors(&whole, 0, 8), &vectors(&prefix, 0, 8)) > tolerance::VISIBLE);
}

#[test]
fn d4_a_row_that_sees_nothing_is_zero_and_no_nan() {
    let mask = Mask::new(&[0, 2], 3, Sight::Whole, &Device::Cpu).unwrap();
    let scores = Tensor::new(&[[1e30f32, -1e30, 0.0]; 3], &Device::Cpu).unwrap();
    let scores = scores
        .broadcast_as((2, 4, 3, 3))
        .unwrap()
        .contiguous()
        .unwrap();
    let weights = mask.softmax(&scores).unwrap();
    let sums = weights.sum(D::Minus1).unwrap();
    let zeros = sums.get(0).unwrap();
    assert_eq!(max_difference(&zeros, &zeros.zeros_like().unwrap()), 0.0);
    let ones = sums.get(1).unwrap();
    assert_eq!(max_difference(&ones, &ones.ones_like().unwrap()), 0.0);

    let output = forward(&encoder(), &[&[], SHORT], Sight::Past);
    let last = output.last().unwrap();
    assert_eq!(max_difference(last, last), 0.0); // all finite
}

#[test]
fn permuting_tokens_permutes_vectors_without_positions() {
    let encoder = encoder();
    let backwards: Vec<u32> = LONG.iter().rev().copied().collect();
    let rows: Vec<u32> = (0..LONG.len() as u32).rev().collect();
    let rows = Tensor::new(rows, &Device::Cpu).unwrap();
    let difference = |scheme| {
        let encoder = encoder.variant(scheme, Norm::Post, Residual::Added);
        let forwards = vectors(&forward(&encoder, &[LONG], Sight::Whole), 0, LONG.len());
        let backwards = forward(&encoder, &[&backwards], Sight::Whole);
        let backwards = vectors(&backwards, 0, LONG.len());
        max_difference(&forwards, &backwards.index_select(&rows, 0).unwrap())
    };
    assert!(difference(Scheme::None) <= F32_ENCODER);
    assert!(difference(Scheme::Sinusoidal) > 0.1);
}

#[test]
fn d3_the_encoding_is_added_once_before_the_first_layer() {
    let encoder = encoder();
    let bare = encoder.variant(Scheme::None, Norm::Post, Residual::Added);
    let with = forward(&encoder, &[LONG], Sight::Whole);
    let without = forward(&bare, &[LONG], Sight::Whole);
    let added = (&without.hidden[0].get(0).unwrap()
        + encoder.position().encoding(0, LONG.len()).unwrap())
    .unwrap();
    assert_eq!(max_difference(&with.hidden[0].get(0).unwrap(), &added), 0.0);
    assert_eq!(with.hidden.len(), encoder.config().layers + 1);
    assert_eq!(with.attention.len(), encoder.config().layers);
}

#[test]
fn training_drops_and_evaluation_does_not() {
    let encoder = encoder();
    let sentences = batch(&[SHORT, LONG]);
    let run = |mode| {
        let output = encoder.forward(&sentences, Sight::Whole, mode).unwrap();
        output.last().unwrap().clone()
    };
    let eval = run(Mode::Eval);
    assert_eq!(max_difference(&eval, &run(Mode::Eval)), 0.0);
    let train = run(Mode::Train);
    assert!(max_difference(&eval, &train) > tolerance::VISIBLE);
    // The next step drops others.
    assert!(max_difference(&train, &run(Mode::Train)) > tolerance::VISIBLE);
}

#[test]
fn gradients_reach_every_weight() {
    use candle_core::DType;
    use candle_nn::{VarBuilder, VarMap};
    let vars = VarMap::new();
    let vb = VarBuilder::from_varmap(&vars, DType::F32, &Device::Cpu);
    let config = EncoderConfig {
        position: PositionalEncodingConfig {
            max_seq_len: 16,
            ..PositionalEncodingConfig::new(16)
        },
        norm: Norm::Pre,
        ..EncoderConfig::new(256, 16)
    };
    let parameters = config.parameters().unwrap();
    let encoder = Encoder::new(config, &vb).unwrap();
    // The table of positions is no variable.
    let count: usize = vars.all_vars().iter().map(|var| var.elem_count()).sum();
    assert_eq!(count as u64, parameters);
    let output = encoder
        .forward(&batch(&[SHORT, LONG]), Sight::Past, Mode::Train)
        .unwrap();
    let gradients = output
        .last()
        .unwrap()
        .sqr()
        .unwrap()
        .sum_all()
        .unwrap()
        .backward()
        .unwrap();
    for var in vars.all_vars() {
        let gradient = gradients.get(&var).expect("a gradient");
        let size = gradient
            .abs()
            .unwrap()
            .sum_all()
            .unwrap()
            .to_scalar::<f32>()
            .unwrap();
        assert!(size.is_finite());
    }
}

#[test]
fn sizes_that_do_not_fit_are_errors_with_their_values() {
    let error = |change: &dyn Fn(&mut EncoderConfig)| {
        let mut config = EncoderConfig::new(100, 64);
        change(&mut config);
        let weights = pe_demo::weights::Seeded::new(0);
        let vb = weights.var_builder(candle_core::DType::F32, &Device::Cpu);
        Encoder::new(config, &vb).unwrap_err().to_string()
    };
    assert!(error(&|c| c.heads = 5).contains("d_model 64 cannot be shared evenly by 5 heads"));
    assert!(error(&|c| c.heads = 0).contains("0 heads"));
    assert!(error(&|c| c.layers = 0).contains("layers is 0"));
    assert!(error(&|c| c.vocab_size = usize::MAX).contains("above the limit"));
    assert!(error(&|c| c.layers = usize::MAX).contains("above the limit"));
    assert!(error(&|c| c.position.sinusoidal.d_model = 7).contains("7 is odd"));

    let encoder = encoder_of(EncoderConfig::new(100, 64));
    let run = |ids: &[u32]| encoder.forward(&batch(&[ids]), Sight::Whole, Mode::Eval);
    assert!(run(&[99]).is_ok());
    assert!(run(&[100]).is_err());
}
