//! Weights of DeBERTa of a few heads at a time: those of the parts, with all gradients.

use super::*;
use candle_core::Var;
use pe_tests::tolerance::{BIAS_GRADIENT_F16, BIAS_GRADIENT_F32, BIAS_GRADIENT_F64};

fn layer(heads: usize, span: usize) -> Result<DebertaBias> {
    let buckets = DebertaBucketsConfig {
        position_buckets: Some(span),
        max_relative_positions: 4 * span as u32,
    };
    DebertaBias::new(DebertaBiasConfig::new(heads, buckets))
}

/// Queries, keys, and the embeddings of both kinds.
struct Inputs([Tensor; 4]);

impl Inputs {
    fn new([batch, heads, q_len, kv_len]: [usize; 4], span: usize, dtype: DType) -> Result<Self> {
        // Queries as they come from a projection, [batch, q_len, heads, head_dim].
        let q = numbers(&[batch, q_len, heads, 8], dtype, 81).transpose(1, 2)?;
        let k = numbers(&[batch, heads, kv_len, 8], dtype, 82);
        let rows = |seed| numbers(&[heads, 2 * span, 8], dtype, seed);
        Ok(Self([q, k, rows(83), rows(84)]))
    }

    fn kinds(&self, kinds: [bool; 2]) -> [Option<&Tensor>; 2] {
        [
            kinds[0].then_some(&self.0[2]),
            kinds[1].then_some(&self.0[3]),
        ]
    }
}

fn parts(layer: &DebertaBias, of: &Inputs, kinds: [bool; 2], mask: &ScoreMask) -> Result<Tensor> {
    let ([q, k, ..], [c2p, p2c]) = (&of.0, of.kinds(kinds));
    let bias = layer.bias(q, k, c2p, p2c, 0.2)?;
    let scores = q.contiguous()?.matmul(&k.t()?)?;
    softmax_with_bias(&scores, Some(&bias), 0.2, mask)
}

const KINDS: [[bool; 2]; 3] = [[true, true], [true, false], [false, true]];

#[test]
fn deberta_weights_equal_those_of_the_parts_with_gradients() -> Result<()> {
    let types = [
        (DType::F32, BIAS_GRADIENT_F32),
        (DType::F64, BIAS_GRADIENT_F64),
        (DType::F16, BIAS_GRADIENT_F16),
    ];
    // The last sizes have several blocks of heads, one of them smaller, for any number of threads up to four.
    for dims in [[2, 3, 5, 20], [1, 2, 17, 17], [2, 20, 96, 128]] {
        let [batch, heads, _, kv_len] = dims;
        let padding = (0..batch * kv_len).map(|key| u32::from(key % 5 != 1 && key > 3));
        let padding = Tensor::from_iter(padding, CPU)?.reshape((batch, kv_len))?;
        let masks = [
            ScoreMask::none(),
            ScoreMask::causal(2).with_padding(&padding)?,
        ];
        let span = kv_len.min(64) / 2;
        let layer = layer(heads, span)?;
        for (dtype, tolerance) in types {
            if kv_len == 128 && dtype == DType::F16 {
                continue;
            }
            let up = numbers(&dims, dtype, 85);
            let inputs = Inputs::new(dims, span, dtype)?;
            let vars = inputs.0.each_ref().map(|of| Var::from_tensor(of).unwrap());
            let tracked = Inputs(vars.each_ref().map(|var| var.as_tensor().clone()));
            for (kinds, mask) in KINDS.into_iter().zip(masks.iter().cycle()) {
                let what = format!("{dims:?} {dtype:?} {kinds:?}");
                let weights = |of: &Inputs| -> Result<Tensor> {
                    let [c2p, p2c] = of.kinds(kinds);
                    layer.weights(&of.0[0], &of.0[1], c2p, p2c, 0.2, mask)
                };
                let wanted = parts(&layer, &inputs, kinds, mask)?;
                let found = weights(&inputs)?;
                assert!(!found.track_op(), "{what}");
                assert_eq!(found.dtype(), dtype);
                assert_close(&found, &wanted, tolerance, &what);
                let grads = |y: Tensor| -> Result<Vec<Option<Tensor>>> {
                    let grads = (y * &up)?.to_dtype(DType::F64)?.sum_all()?.backward()?;
                    Ok(vars.iter().map(|var| grads.get(var).cloned()).collect())
                };
                let all = grads(weights(&tracked)?)?;
                let wanted = grads(parts(&layer, &tracked, kinds, mask)?)?;
                for (index, (found, wanted)) in all.iter().zip(&wanted).enumerate() {
                    let what = format!("{what}, gradient {index}");
                    assert_eq!(found.is_some(), wanted.is_some(), "{what}");
                    if let (Some(found), Some(wanted)) = (found, wanted) {
                        assert_eq!(found.dtype(), dtype);
                        let most = f64s(wanted)
                            .into_iter()
                            .fold(1.0, |a: f64, b| a.max(b.abs()));
                        let scaled = |of: &Tensor| of.to_dtype(DType::F64)? / most;
                        // Sums of many rounded products.
                        assert_close(&scaled(found)?, &scaled(wanted)?, 8.0 * tolerance, &what);
                    }
                }
            }
        }
    }
    Ok(())
}

#[test]
fn deberta_weights_of_wrong_shapes_are_rejected() -> Result<()> {
    let (layer, of) = (layer(2, 8)?, Inputs::new([2, 2, 5, 6], 8, DType::F32)?);
    let ([q, k, c2p, p2c], mask) = (&of.0, ScoreMask::none());
    let error =
        |q: &Tensor, k: &Tensor, c2p: Option<&Tensor>, p2c: Option<&Tensor>, mask: &ScoreMask| {
            error_of(layer.weights(q, k, c2p, p2c, 0.2, mask))
        };
    let text = error(q, &k.narrow(0, 0, 1)?, Some(c2p), None, &mask);
    assert!(
        text.contains("(2, 2, 5, 8) do not go with keys of shape (1, 2, 6, 8)"),
        "{text}"
    );
    let text = error(q, k, Some(c2p), Some(&p2c.narrow(1, 0, 3)?), &mask);
    assert!(
        text.contains("must have shape [2, 16, 8], got [2, 3, 8]"),
        "{text}"
    );
    let text = error(q, k, None, None, &mask);
    assert!(text.contains("needs c2p or p2c"), "{text}");
    let padding = ScoreMask::none().with_padding(&Tensor::ones((1, 6), DType::U8, CPU)?)?;
    let text = error(q, k, Some(c2p), Some(p2c), &padding);
    assert!(
        text.contains("[1, 6] does not go with scores of shape [2, 2, 5, 6]"),
        "{text}"
    );
    let packed = ScoreMask::none().with_packed(&[4])?;
    let text = error(q, k, Some(c2p), Some(p2c), &packed);
    assert!(
        text.contains("4 packed tokens do not go with 5 queries"),
        "{text}"
    );
    let text = error_of(layer.weights(q, k, Some(c2p), None, f64::NAN, &mask));
    assert!(text.contains("scale NaN"), "{text}");
    // Nothing to weigh, as by parts.
    let none = layer.weights(
        &q.narrow(0, 0, 0)?,
        &k.narrow(0, 0, 0)?,
        Some(c2p),
        None,
        0.2,
        &mask,
    );
    assert_eq!(
        none.map(|none| none.dims().to_vec()).ok(),
        Some(vec![0, 2, 5, 6])
    );
    Ok(())
}
