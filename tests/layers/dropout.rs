//! Dropout: its generator, its mask, its gradient.

use candle_core::{DType, Device, ModuleT, Result, Tensor, Var};
use pe_candle::testing::{Planned, Route};
use pe_candle::{Dropout, philox4x32_10};

use crate::util::{
    assert_passes_with_gradients_kept, error_of, f64s, keeps, numbers, philox, round_to, views,
};

const CPU: &Device = &Device::Cpu;
const TYPES: [DType; 4] = [DType::F32, DType::F64, DType::F16, DType::BF16];

fn dropout(p: f32, seed: u64) -> Dropout {
    Dropout::new(p, seed).unwrap()
}

/// Returns the value of an element by the documentation.
fn element(dtype: DType, x: f64, p: f32, keep: bool) -> f64 {
    let factor = 1.0 / (1.0 - f64::from(p));
    match (keep, dtype) {
        (false, _) => 0.0,
        (true, DType::F64) => x * factor,
        (true, _) => round_to(dtype, x as f32 * factor as f32),
    }
}

#[test]
fn philox_gives_its_published_known_answers() {
    // kat_vectors of Random123, the library of the paper's authors.
    let vectors = [
        (
            [0; 4],
            [0; 2],
            [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8],
        ),
        (
            [u32::MAX; 4],
            [u32::MAX; 2],
            [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd],
        ),
        (
            [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344],
            [0xa4093822, 0x299f31d0],
            [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1],
        ),
    ];
    for (counter, key, wanted) in vectors {
        assert_eq!(philox4x32_10(counter, key), wanted);
        assert_eq!(philox(counter, key), wanted);
    }
}

#[test]
fn elements_follow_the_documented_mapping() -> Result<()> {
    let large = u64::from(u32::MAX) + 12;
    for (seed, step) in [
        (0, 0),
        (1, 0),
        (0, 1),
        (large, 3),
        (7, large),
        (u64::MAX, u64::MAX),
    ] {
        for p in [1e-3, 0.1, 0.5, 0.9, 1.0 - f32::EPSILON] {
            let dropout = dropout(p, seed);
            for dtype in TYPES {
                for length in [1, 2, 3, 4, 5, 127, 256] {
                    let xs = numbers(&[length], dtype, 1);
                    let ys = dropout.forward_at_step(&xs, step, true)?;
                    assert_eq!((ys.dims(), ys.dtype()), (xs.dims(), dtype));
                    let wanted: Vec<f64> = (0..)
                        .zip(f64s(&xs))
                        .map(|(index, x)| element(dtype, x, p, keeps(p, seed, step, index)))
                        .collect();
                    assert_eq!(f64s(&ys), wanted, "p {p} seed {seed} step {step} {dtype:?}");
                }
            }
            for index in [0, 1, 6, large, 4 * large + 1, u64::MAX] {
                assert_eq!(dropout.keeps(step, index), keeps(p, seed, step, index));
            }
        }
    }
    Ok(())
}

#[test]
fn threshold_is_p_times_2_to_the_32_and_itself_kept() {
    let word = |index: u64| philox([(index / 4) as u32, 0, 5, 0], [3, 0])[(index % 4) as usize];
    let p_of = |scaled: f64| (scaled / 4294967296.0) as f32;
    // Words with zeros at the end are thresholds of some p, exactly.
    let exact = (0..4096).filter(|index| word(*index) & 0xFF == 0);
    for index in exact.clone() {
        let p = p_of(f64::from(word(index)));
        assert!(dropout(p, 3).keeps(5, index));
        assert!(!dropout(p.next_up(), 3).keeps(5, index));
    }
    assert!(exact.count() > 5);
    // Below 2^22 a p can lie a quarter or three quarters above a word.
    let small = (0..65536).filter(|index| word(*index) < 1 << 22);
    for index in small.clone() {
        let word = f64::from(word(index));
        assert!(dropout(p_of(word + 0.25), 3).keeps(5, index));
        assert!(!dropout(p_of(word + 0.75), 3).keeps(5, index));
    }
    assert!(small.count() > 5);
}

#[test]
fn rate_is_p_and_the_mean_is_kept() -> Result<()> {
    let count = 1 << 20;
    let xs = Tensor::ones(count, DType::F64, CPU)?;
    for p in [0.001f32, 0.1, 0.25, 0.5, 0.75, 0.9, 0.999] {
        for step in 0..3 {
            let ys = f64s(&dropout(p, 42).forward_at_step(&xs, step, true)?);
            let kept = ys.iter().filter(|y| **y != 0.0).count() as f64;
            let (p, n) = (f64::from(p), count as f64);
            let sigma = (n * p * (1.0 - p)).sqrt();
            // Five standard deviations: a fair mask fails once in 1.7 million.
            let off = (kept - n * (1.0 - p)).abs() / sigma;
            assert!(off < 5.0, "p {p} step {step}: {off} sigma");
            let mean = ys.iter().sum::<f64>() / n;
            assert!(
                (mean - 1.0).abs() < 5.0 * sigma / (n * (1.0 - p)),
                "p {p}: mean {mean}"
            );
        }
    }
    Ok(())
}

#[test]
fn neighbors_rows_steps_and_seeds_are_independent() {
    let count = 1u64 << 16;
    let mask = |seed, step| {
        let dropout = dropout(0.5, seed);
        (0..count)
            .map(|index| dropout.keeps(step, index))
            .collect::<Vec<_>>()
    };
    let base = mask(3, 9);
    let agree = |other: &[bool]| base.iter().zip(other).filter(|(a, b)| a == b).count() as f64;
    let check = |what: &str, other: &[bool]| {
        let n = other.len().min(base.len()) as f64;
        let off = (agree(other) - n / 2.0).abs() / (n.sqrt() / 2.0);
        assert!(off < 5.0, "{what}: {off} sigma");
    };
    for lag in [1, 2, 3, 4, 8, 64, 512, 1024] {
        check(&format!("lag {lag}"), &base[lag..]);
    }
    for (seed, step) in [
        (3, 10),
        (3, 8),
        (4, 9),
        (2, 9),
        (9, 3),
        (3 + (1 << 32), 9),
        (3, 9 + (1 << 32)),
    ] {
        check(&format!("seed {seed} step {step}"), &mask(seed, step));
    }
}

#[test]
fn mask_depends_on_the_logical_index_alone() -> Result<()> {
    let dropout = dropout(0.4, 8);
    for dtype in TYPES {
        // Shapes.
        let flat = numbers(&[120], dtype, 2);
        let wanted = f64s(&dropout.forward_at_step(&flat, 5, true)?);
        for shape in [&[120][..], &[12, 10], &[2, 3, 20], &[1, 5, 4, 3, 2]] {
            let ys = dropout.forward_at_step(&flat.reshape(shape)?, 5, true)?;
            assert_eq!(ys.dims(), shape);
            assert_eq!(f64s(&ys), wanted);
        }
        // Strides and offsets.
        for shape in [&[6, 20][..], &[3, 5, 8], &[2, 3, 4, 5]] {
            for (view, xs) in views(shape, dtype) {
                let ys = dropout.forward_at_step(&xs, 5, true)?;
                let dense = dropout.forward_at_step(&xs.force_contiguous()?, 5, true)?;
                assert_eq!(f64s(&ys), f64s(&dense), "{view}");
                assert_eq!(ys.dims(), shape);
            }
        }
        let scalar = Tensor::new(1f32, CPU)?.to_dtype(dtype)?;
        assert_eq!(dropout.forward_at_step(&scalar, 5, true)?.dims(), [0; 0]);
    }
    Ok(())
}

#[test]
fn mask_is_the_same_in_every_thread() -> Result<()> {
    let dropout = dropout(0.3, 77);
    let xs = numbers(&[64, 33], DType::F32, 3);
    let wanted: Vec<_> = (0..8)
        .map(|step| dropout.forward_at_step(&xs, step, true).map(|ys| f64s(&ys)))
        .collect::<Result<_>>()?;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for (step, wanted) in (0..).zip(&wanted) {
                    let ys = dropout.forward_at_step(&xs, step, true).unwrap();
                    assert_eq!(&f64s(&ys), wanted);
                }
            });
        }
    });
    // Counted calls from many threads take each step once.
    dropout.set_step(0);
    let mut all: Vec<Vec<f64>> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| [(); 2].map(|()| f64s(&dropout.forward(&xs, true).unwrap()))))
            .collect();
        handles
            .into_iter()
            .flat_map(|handle| handle.join().unwrap())
            .collect()
    });
    assert_eq!(dropout.step(), 8);
    let order = |a: &Vec<f64>, b: &Vec<f64>| a.partial_cmp(b).unwrap();
    let mut wanted = wanted;
    all.sort_by(order);
    wanted.sort_by(order);
    assert_eq!(all, wanted);
    Ok(())
}

#[test]
fn run_can_be_repeated_and_resumed() -> Result<()> {
    let xs = Tensor::ones((8, 16), DType::F32, CPU)?;
    let run = |dropout: &Dropout, steps: usize| -> Result<Vec<Vec<f64>>> {
        (0..steps)
            .map(|_| dropout.forward_t(&xs, true).map(|ys| f64s(&ys)))
            .collect()
    };
    let first = dropout(0.5, 1);
    let whole = run(&first, 6)?;
    assert_eq!(first.step(), 6);
    for (step, one) in whole.iter().enumerate() {
        assert!(!whole[..step].contains(one), "step {step} repeats");
    }
    assert_eq!(run(&dropout(0.5, 1), 6)?, whole);
    assert_ne!(run(&dropout(0.5, 2), 1)?[0], whole[0]);
    let resumed = dropout(0.5, 1);
    resumed.set_step(4);
    assert_eq!(run(&resumed, 2)?, whole[4..]);
    // Evaluation and explicit steps do not count; clones count together.
    resumed.forward_t(&xs, false)?;
    assert_eq!(f64s(&resumed.forward_at_step(&xs, 2, true)?), whole[2]);
    assert_eq!(resumed.step(), 6);
    run(&resumed.clone(), 1)?;
    assert_eq!(resumed.step(), 7);
    // Whatever the probability and the input's size.
    let none = dropout(0.0, 1);
    run(&none, 3)?;
    none.forward(&Tensor::zeros((0, 3), DType::F32, CPU)?, true)?;
    assert_eq!(none.step(), 4);
    Ok(())
}

#[test]
fn evaluation_and_p_0_return_the_input_itself() -> Result<()> {
    for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16, DType::U32] {
        let xs = Tensor::ones((2, 3), dtype, CPU)?;
        for (p, train) in [(0.0, true), (0.0, false), (-0.0, true), (0.5, false)] {
            assert_eq!(dropout(p, 1).forward_t(&xs, train)?.id(), xs.id());
        }
    }
    Ok(())
}

#[test]
fn wrong_p_or_dtype_is_an_error_that_names_it() -> Result<()> {
    for p in [
        1.0,
        -f32::MIN_POSITIVE,
        1.5,
        -1.0,
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
    ] {
        assert_eq!(
            error_of(Dropout::new(p, 0)),
            format!("dropout probability p must lie in [0, 1), got {p}")
        );
    }
    for dtype in [DType::U8, DType::U32, DType::I64, DType::F8E4M3] {
        let xs = Tensor::ones((2, 2), DType::F32, CPU)?.to_dtype(dtype)?;
        let message = format!(
            "dropout takes f32, f64, f16 or bf16, not {}",
            dtype.as_str()
        );
        assert_eq!(error_of(dropout(0.5, 0).forward_t(&xs, true)), message);
        assert_eq!(
            error_of(
                dropout(0.5, 0)
                    .by_reference(Route::Operations)
                    .forward_at_step(&xs, 0, true)
            ),
            message
        );
    }
    Ok(())
}

#[test]
fn dropped_elements_are_zero_whatever_they_were() -> Result<()> {
    let special = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -1.0, -0.0];
    let xs: Vec<f32> = special.iter().copied().cycle().take(200).collect();
    for dtype in TYPES {
        let xs = Tensor::from_slice(&xs, 200, CPU)?.to_dtype(dtype)?;
        let dropout = dropout(0.5, 6);
        let ys = f64s(&dropout.forward_at_step(&xs, 0, true)?);
        for ((index, x), y) in (0..).zip(f64s(&xs)).zip(ys) {
            if dropout.keeps(0, index) {
                assert_eq!((2.0 * x).to_bits(), y.to_bits(), "{dtype:?} {index}");
            } else {
                assert_eq!(y.to_bits(), 0, "{dtype:?} {index}");
            }
        }
    }
    Ok(())
}

#[test]
fn gradient_has_the_mask_of_the_forward_pass() -> Result<()> {
    for dtype in TYPES {
        for p in [0.1f32, 0.5, 0.9] {
            let dropout = dropout(p, 13);
            let xs = Var::from_tensor(&numbers(&[6, 7], dtype, 4))?;
            for step in 0..3 {
                // A gradient that arrives transposed, as from a view of the output.
                let weights = numbers(&[7, 6], dtype, 5);
                let ys = dropout.forward(&xs, true)?.t()?;
                let gradients = (ys * &weights)?.sum_all()?.backward()?;
                let found = gradients.get(&xs).unwrap();
                assert_eq!(found.dtype(), dtype);
                let wanted: Vec<f64> = (0..)
                    .zip(f64s(&weights.t()?))
                    .map(|(index, weight)| element(dtype, weight, p, keeps(p, 13, step, index)))
                    .collect();
                assert_eq!(f64s(found), wanted, "{dtype:?} p {p} step {step}");
            }
        }
    }
    Ok(())
}

/// Candle detaches gradients unless told otherwise through the environment: the
/// check runs in a process of its own.
#[test]
fn second_derivative_exists() {
    assert_passes_with_gradients_kept("dropout::second_derivative");
}

#[test]
#[ignore = "started by second_derivative_exists"]
fn second_derivative() -> Result<()> {
    let (p, seed) = (0.5, 4);
    let dropout = dropout(p, seed);
    let xs = Var::from_tensor(&numbers(&[40], DType::F64, 6))?;
    // d2/dx2 of (m x)^2 is 2 m^2, with m = 2 where kept.
    let first = dropout.forward(&xs, true)?.sqr()?.sum_all()?.backward()?;
    let second = first.get(&xs).unwrap().sum_all()?.backward()?;
    let wanted: Vec<f64> = (0..40)
        .map(|i| if keeps(p, seed, 0, i) { 8.0 } else { 0.0 })
        .collect();
    assert_eq!(f64s(second.get(&xs).unwrap()), wanted);
    Ok(())
}

#[test]
fn route_of_the_gpus_gives_the_same_bits() -> Result<()> {
    let special = Tensor::new(
        &[
            f32::NAN,
            f32::INFINITY,
            f32::NEG_INFINITY,
            -0.0,
            1e-45,
            3e38,
        ],
        CPU,
    )?;
    for dtype in TYPES {
        for p in [1e-3f32, 0.1, 0.5, 0.99] {
            let dropout = dropout(p, 99);
            let mut inputs = vec![("special", special.to_dtype(dtype)?)];
            inputs.extend(views(&[6, 20], dtype));
            inputs.extend(views(&[2, 3, 4, 5], dtype));
            for (view, xs) in inputs {
                for step in 0..3 {
                    let plain = dropout.forward_at_step(&xs, step, true)?;
                    let portable = dropout
                        .by_reference(Route::Operations)
                        .forward_at_step(&xs, step, true)?;
                    let bits = |tensor: &Tensor| -> Vec<u64> {
                        f64s(tensor).into_iter().map(f64::to_bits).collect()
                    };
                    assert_eq!(bits(&portable), bits(&plain), "{dtype:?} {view} p {p}");
                    assert_eq!(portable.dims(), xs.dims());
                    assert_eq!(portable.dtype(), dtype);
                }
            }
        }
    }
    Ok(())
}

#[test]
fn refused_call_takes_no_step() -> Result<()> {
    let dropout = Dropout::new(0.5, 1)?;
    let ids = Tensor::new(&[1u32, 2], &Device::Cpu)?;
    assert!(dropout.forward(&ids, true).is_err());
    assert_eq!(dropout.step(), 0);
    dropout.forward(&Tensor::new(&[1f32, 2.], &Device::Cpu)?, true)?;
    assert_eq!(dropout.step(), 1);
    Ok(())
}
