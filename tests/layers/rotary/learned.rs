//! Learned frequencies: values and gradients against torch, against the composition of Candle's
//! operations, and against finite differences; weights under the references' names.

use candle_core::Var;
use candle_nn::{VarBuilder, VarMap};
use pe_candle::testing::InstructionSet;
use pe_candle::{LearnedFrequencies, LearnedRotary, LearnedRotaryConfig, rotary};
use pe_core::RopeScaling;
use pe_tests::{golden, rejected, tolerance};
use serde_json::Value;

use super::*;

fn close(found: &Tensor, wanted: &[f64], tolerance: f64, what: &str) {
    let found = f64s(found);
    assert_eq!(found.len(), wanted.len(), "{what}");
    for (index, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        let error = (found - wanted).abs();
        assert!(error <= tolerance, "{what} {index}: {found} {wanted}");
    }
}

/// Values and gradients, of the input and of the weights, as torch computes them in f64.
#[test]
fn values_and_gradients_are_those_of_torch() {
    let all: Value = golden::json("learned_rotary.json");
    for case in all["cases"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let list = |key: &str| serde_json::from_value::<Vec<f64>>(case[key].clone()).unwrap();
        let dims = |key: &str| serde_json::from_value::<Vec<usize>>(case[key].clone()).unwrap();
        let of = |values: Vec<f64>, shape: Vec<usize>| {
            let xs = Tensor::from_vec(values, shape, CPU).unwrap();
            Var::from_tensor(&xs.to_dtype(DType::F32).unwrap()).unwrap()
        };
        let (key, config, positions) = match name {
            "mixed" => {
                let positions: Vec<Vec<f64>> =
                    serde_json::from_value(case["positions"].clone()).unwrap();
                let positions = Tensor::new(positions, CPU).unwrap();
                ("freqs", LearnedRotaryConfig::mixed(2, 3, 8), positions)
            }
            _ => {
                let positions = Tensor::new(list("positions"), CPU).unwrap();
                let config = LearnedRotaryConfig::scaled(RotaryConfig::new(8));
                ("alpha", config, positions)
            }
        };
        let weights = of(list("weights"), dims("weights_shape"));
        let tensors = [(format!("rope.{key}"), weights.as_tensor().clone())];
        let vb = VarBuilder::from_tensors(tensors.into(), DType::F32, CPU);
        let rope = LearnedRotary::new(config, vb.pp("rope")).unwrap();
        let x = of(list("x"), dims("shape"));
        let loss = of(list("loss"), dims("shape"));
        for rope in [rope.clone(), rope.by_reference(Route::Operations)] {
            let angles = rope.angles(1, &positions).unwrap();
            let (y, again) = rope.apply_qkv(&x, &x, &angles).unwrap();
            assert_eq!(bits(&y), bits(&again));
            close(&y, &list("y"), tolerance::LEARNED_ROTARY, name);
            let sum = (&y * loss.as_tensor()).unwrap().sum_all().unwrap();
            let gradients = sum.backward().unwrap();
            close(
                gradients.get(&x).unwrap(),
                &list("x_grad"),
                tolerance::LEARNED_ROTARY,
                name,
            );
            let of_weights = gradients.get(rope.weights()).unwrap();
            // Angles have positions of up to 50 as factors.
            let wanted = list("weights_grad");
            let size = wanted.iter().fold(1f64, |size, x| size.max(x.abs()));
            close(of_weights, &wanted, size * tolerance::LEARNED_ROTARY, name);
        }
    }
}

/// The fused passes against the composition, over shapes of angles, orders, layouts, types, and
/// instruction sets.
#[test]
fn fused_passes_equal_the_composition() {
    let (batch, heads, time, width) = (2, 3, 40, 22);
    for (pairs, dtype) in [
        (11, DType::F32),
        (8, DType::F32),
        (9, DType::BF16),
        (11, DType::F16),
        (5, DType::F64),
    ] {
        let (of_angles, tolerance) = match dtype {
            DType::F64 => (DType::F64, tolerance::LEARNED_ROTARY_F64),
            DType::F32 => (DType::F32, tolerance::LEARNED_ROTARY),
            _ => (DType::F32, tolerance::LEARNED_ROTARY_HALF),
        };
        for order in ORDERS {
            for layout in LAYOUTS {
                let rope = layer_of(LearnedRotaryConfig {
                    layout,
                    axis_order: order,
                    ..LearnedRotaryConfig::mixed(1, heads, 4)
                });
                let shape = shape_of(order, batch, heads, time, width);
                let xs = Var::from_tensor(&numbers(&shape, dtype, 5)).unwrap();
                let weights = numbers(&shape, dtype, 11);
                for shape_of_angles in [
                    vec![time, pairs],
                    vec![batch, time, pairs],
                    vec![1, heads, time, pairs],
                ] {
                    let angles = numbers(&shape_of_angles, of_angles, 9);
                    let angles = Var::from_tensor(&(angles * 3.0).unwrap()).unwrap();
                    let run = |rope: &LearnedRotary| {
                        let (ys, _) = rope.apply_qkv(&xs, &xs, &angles).unwrap();
                        let loss = (&ys * &weights).unwrap().sum_all().unwrap();
                        let gradients = loss.backward().unwrap();
                        let of = |var: &Var| gradients.get(var).unwrap().clone();
                        [ys, of(&xs), of(&angles)]
                    };
                    let wanted = run(&rope.by_reference(Route::Operations));
                    for (set, on) in InstructionSet::available() {
                        let what =
                            format!("{set} {dtype:?} {order:?} {layout:?} {shape_of_angles:?}");
                        for (found, wanted) in run(&rope.on(on)).iter().zip(&wanted) {
                            assert_eq!(
                                (found.dims(), found.dtype()),
                                (wanted.dims(), wanted.dtype())
                            );
                            close(found, &f64s(wanted), tolerance, &what);
                        }
                    }
                }
            }
        }
    }
}

fn layer_of(config: LearnedRotaryConfig) -> LearnedRotary {
    let vb = VarBuilder::from_varmap(&VarMap::new(), DType::F32, CPU);
    LearnedRotary::new(config, vb).unwrap()
}

/// Inputs of any strides, and more rows than one thread takes.
#[test]
fn views_and_large_inputs_are_rotated_as_copies_are() {
    let angles = numbers(&[40, 6], DType::F32, 1);
    let (layout, order) = (PairLayout::HalfSplit, HeadOrder::HeadFirst);
    for (name, xs) in views([2, 3, 40, 12], DType::F32) {
        let of = |xs: &Tensor| rotary::rotate_by_angles(xs, &angles, layout, order).unwrap();
        assert!(
            bits(&of(&xs)) == bits(&of(&xs.contiguous().unwrap())),
            "{name}"
        );
    }
    let rope = layer_of(LearnedRotaryConfig::scaled(RotaryConfig::new(64)));
    let xs = Var::from_tensor(&numbers(&[2, 8, 300, 64], DType::F32, 2)).unwrap();
    let steps: Vec<u32> = (0..300).collect();
    let positions = Tensor::from_vec(steps, 300, CPU).unwrap();
    let run = |rope: &LearnedRotary| {
        let angles = rope.angles(0, &positions).unwrap();
        let (ys, _) = rope.apply_qkv(&xs, &xs, &angles).unwrap();
        let gradients = ys
            .sqr()
            .unwrap()
            .narrow(3, 0, 40)
            .unwrap()
            .sum_all()
            .unwrap();
        let gradients = gradients.backward().unwrap();
        (ys, gradients.get(rope.weights()).unwrap().clone())
    };
    let (found, wanted) = (run(&rope), run(&rope.by_reference(Route::Operations)));
    close(&found.0, &f64s(&wanted.0), tolerance::LEARNED_ROTARY, "ys");
    let sizes = f64s(&wanted.1)
        .into_iter()
        .fold(1f64, |size, x| size.max(x.abs()));
    close(
        &found.1,
        &f64s(&wanted.1),
        sizes * tolerance::LEARNED_ROTARY,
        "alpha",
    );
}

#[test]
fn gradients_are_finite_differences() {
    let angles = Var::from_tensor(&numbers(&[3, 2], DType::F64, 1)).unwrap();
    let xs = Var::from_tensor(&numbers(&[1, 2, 3, 5], DType::F64, 2)).unwrap();
    let loss = |xs: &Tensor, angles: &Tensor| {
        let (layout, order) = (PairLayout::Interleaved, HeadOrder::HeadFirst);
        let ys = rotary::rotate_by_angles(xs, angles, layout, order).unwrap();
        (ys.sqr().unwrap() * numbers(&[1, 2, 3, 5], DType::F64, 3))
            .unwrap()
            .sum_all()
            .unwrap()
    };
    let gradients = loss(&xs, &angles).backward().unwrap();
    let step = 1e-6;
    for (var, of_angles) in [(&angles, true), (&xs, false)] {
        let found = f64s(gradients.get(var).unwrap());
        let values = f64s(var);
        for (index, found) in found.iter().enumerate() {
            let at = |by: f64| {
                let mut values = values.clone();
                values[index] += by;
                let moved = Tensor::from_vec(values, var.dims(), CPU).unwrap();
                let (x, a) = if of_angles {
                    (xs.as_tensor(), &moved)
                } else {
                    (&moved, angles.as_tensor())
                };
                loss(x, a).to_scalar::<f64>().unwrap()
            };
            let slope = (at(step) - at(-step)) / (2.0 * step);
            assert!(
                (slope - found).abs() < tolerance::FINITE_DIFFERENCE,
                "{index}: {slope} {found}"
            );
        }
    }
}

/// New weights have timm's magnitudes, in directions that the seed draws, and are saved under its name.
#[test]
fn new_weights_are_drawn_and_named_as_the_references_do() {
    let variables = VarMap::new();
    let vb = VarBuilder::from_varmap(&variables, DType::F32, CPU);
    let config = LearnedRotaryConfig::mixed(2, 3, 16);
    let rope = LearnedRotary::new(config.clone(), vb.pp("rope")).unwrap();
    let scaled = LearnedRotaryConfig::scaled(RotaryConfig::new(8));
    let alpha = LearnedRotary::new(scaled, vb.pp("rotary_emb")).unwrap();
    assert_eq!(f64s(alpha.weights()), [0.0; 4]);
    let mut names: Vec<String> = variables.data().lock().unwrap().keys().cloned().collect();
    names.sort();
    assert_eq!(names, ["rope.freqs", "rotary_emb.alpha"]);
    let weights = f64s(rope.weights());
    assert_eq!(rope.weights().dims(), [2, 2, 3, 8]);
    let (xs, ys) = weights.split_at(48);
    for (index, (x, y)) in xs.iter().zip(ys).enumerate() {
        // 10^(-4 i / 16).
        let size = [
            1.0,
            0.5623413251903491,
            0.31622776601683794,
            0.1778279410038923,
        ][index % 4];
        assert!(
            ((x * x + y * y).sqrt() - size).abs() < tolerance::LEARNED_ROTARY,
            "{index}"
        );
    }
    // The second half of the columns is at a right angle to the first.
    assert!((xs[0] * xs[4] + ys[0] * ys[4]).abs() < tolerance::LEARNED_ROTARY);
    assert_ne!(xs[0], xs[8]);
    // Weights that are there stay, and a seed draws the same again.
    let mut again = LearnedRotary::new(config.clone(), vb.pp("rope")).unwrap();
    assert_eq!(f64s(again.weights()), weights);
    again = layer_of(config);
    assert_eq!(f64s(again.weights()), weights);
}

#[test]
fn wrong_calls_are_named() {
    let of = |config| {
        let vb = VarBuilder::from_varmap(&VarMap::new(), DType::F32, CPU);
        error_of(LearnedRotary::new(config, vb))
    };
    let rope = layer_of(LearnedRotaryConfig::mixed(2, 3, 8));
    let zeros = |shape: &[usize]| Tensor::zeros(shape, DType::F32, CPU).unwrap();
    let rotate = |xs: &Tensor, angles: &Tensor| {
        let (layout, order) = (PairLayout::HalfSplit, HeadOrder::HeadFirst);
        error_of(rotary::rotate_by_angles(xs, angles, layout, order))
    };
    let xs = zeros(&[1, 3, 5, 8]);
    let dynamic = RotaryConfig {
        scaling: RopeScaling::Dynamic { factor: 2.0 },
        max_position_embeddings: Some(64),
        ..RotaryConfig::new(8)
    };
    let base = LearnedRotaryConfig {
        frequencies: LearnedFrequencies::Mixed {
            depth: 1,
            num_heads: 1,
            head_dim: 8,
            base: -1.0,
            seed: 0,
        },
        ..LearnedRotaryConfig::mixed(1, 1, 8)
    };
    rejected! {
        of(LearnedRotaryConfig::mixed(2, 3, 6)) => "…a head_dim that is a multiple of 4…",
        of(base) => "…base -1.0 is not a positive finite number…",
        of(LearnedRotaryConfig::scaled(dynamic)) => "…not defined for dynamic scaling…",
        of(LearnedRotaryConfig::scaled(RotaryConfig::new(7))) => "…rotary_dim 7…",
        error_of(rope.angles(2, &zeros(&[4, 2]))) => "…block 2 does not exist: there are 2…",
        error_of(rope.angles(0, &zeros(&[4, 3]))) => "…positions must have shape [patches, 2], got [4, 3]…",
        rotate(&xs, &zeros(&[4, 4])) => "…angles must have shape [5, pairs], [1, 5, pairs] or [1, 3, 5, pairs], got [4, 4]…",
        rotate(&xs, &zeros(&[5, 5])) => "…angles have 5 columns: the input of head_dim 8 takes 1..=4…",
        rotate(&zeros(&[3, 5, 8]), &zeros(&[5, 4])) => "…the input: head-first input must have shape…",
        rotate(&xs, &zeros(&[5, 4]).to_dtype(DType::F64).unwrap()) => "…the input is f32: angles must be f32, not f64…",
    }
    // Nothing to rotate.
    let none = zeros(&[1, 3, 0, 8]);
    let ys = rotary::rotate_by_angles(
        &none,
        &zeros(&[0, 4]),
        PairLayout::HalfSplit,
        HeadOrder::HeadFirst,
    );
    assert_eq!(ys.unwrap().dims(), none.dims());
}
