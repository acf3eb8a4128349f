//! A grid over shapes, strides, types, positions, values and configurations: each case is rejected
//! with a message where it must be, or gives what Candle's own operations give, bit for bit. Which of
//! the two is said beforehand, by the case and not by the code under test. Panics are counted.

mod additive;
mod configs;
mod dropout;
mod ids;
mod rotary;

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

use candle_core::{DType, Device, Result, Tensor};

use pe_tests::layers::{bits, changed, copy_with_strides, steps};

use crate::util::{f64s, numbers};

const CPU: &Device = &Device::Cpu;

/// Outcomes of the cases.
#[derive(Debug, Default)]
struct Tally {
    /// Rejected, as they had to be.
    errors: usize,
    /// Right to the bit.
    right: usize,
    /// Anything else, panics among them.
    faults: Vec<String>,
    panics: usize,
}

/// Expected outcome of a case.
enum Wanted {
    Refused,
    /// The numbers, by a plain way.
    Right(Result<Tensor>),
}

impl Tally {
    /// Runs a case. `found` may panic; the count continues.
    fn case(
        &mut self,
        what: impl Fn() -> String,
        wanted: Wanted,
        found: impl FnOnce() -> Result<Tensor>,
    ) {
        let found = match catch_unwind(AssertUnwindSafe(found)) {
            Ok(found) => found,
            Err(_) => {
                self.panics += 1;
                return self.faults.push(format!("{}: panicked", what()));
            }
        };
        match (found, wanted) {
            (Err(error), Wanted::Refused) => {
                let text = error.to_string();
                let first = text.lines().next().unwrap_or_default();
                // A message that names something, not a bare "error".
                if first.len() < 12 {
                    return self.faults.push(format!("{}: message {first:?}", what()));
                }
                self.errors += 1;
            }
            (Err(error), Wanted::Right(_)) => {
                self.faults
                    .push(format!("{}: refused with {error}", what()));
            }
            (Ok(found), Wanted::Refused) => {
                let dims = found.dims();
                self.faults
                    .push(format!("{}: not refused, gave {dims:?}", what()));
            }
            (Ok(found), Wanted::Right(wanted)) => {
                let wanted = wanted.unwrap();
                let same = found.dims() == wanted.dims()
                    && found.dtype() == wanted.dtype()
                    && bits(&found) == bits(&wanted);
                if same {
                    self.right += 1;
                } else {
                    self.faults.push(format!("{}: wrong numbers", what()));
                }
            }
        }
    }

    /// Runs a case that must be rejected.
    fn refused(&mut self, what: impl Display, found: impl FnOnce() -> Result<Tensor>) {
        self.case(|| what.to_string(), Wanted::Refused, found);
    }

    /// Runs a case that has a result.
    fn right(
        &mut self,
        what: impl Display,
        wanted: Result<Tensor>,
        found: impl FnOnce() -> Result<Tensor>,
    ) {
        self.case(|| what.to_string(), Wanted::Right(wanted), found);
    }

    fn join(&mut self, other: Self) {
        self.errors += other.errors;
        self.right += other.right;
        self.panics += other.panics;
        self.faults.extend(other.faults);
    }
}

/// Values of an input.
#[derive(Debug, Clone, Copy)]
enum Values {
    Usual,
    /// Infinities, NaN, zeros of both signs, the largest and the smallest number in places.
    Special,
}

const VALUES: [Values; 2] = [Values::Usual, Values::Special];

fn filled(shape: &[usize], dtype: DType, values: Values) -> Tensor {
    let usual = numbers(shape, dtype, 77);
    let Values::Special = values else {
        return usual;
    };
    let special = [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        -0.0,
        0.0,
        f64::from(f32::MAX),
        1e-45,
        65_504.0,
    ];
    let count = usual.elem_count();
    let mut all = f64s(&usual);
    for (index, x) in all.iter_mut().enumerate().take(count) {
        if index % 3 == 1 {
            *x = special[index / 3 % special.len()];
        }
    }
    let wide = Tensor::from_vec(all, shape, CPU).unwrap();
    wide.to_dtype(dtype).unwrap()
}

/// Layout of an input in memory.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Strides {
    Contiguous,
    /// The first and the last axis changed places.
    Transposed,
    /// The middle of wider rows.
    Narrowed,
    /// One element along the first axis.
    Broadcast,
}

const STRIDES: [Strides; 4] = [
    Strides::Contiguous,
    Strides::Transposed,
    Strides::Narrowed,
    Strides::Broadcast,
];

fn input(shape: &[usize], dtype: DType, strides: Strides, values: Values) -> Tensor {
    let last = shape.len() - 1;
    let mut other = shape.to_vec();
    let made = match strides {
        Strides::Contiguous => filled(shape, dtype, values),
        Strides::Transposed => {
            other.swap(0, last);
            filled(&other, dtype, values).transpose(0, last).unwrap()
        }
        Strides::Narrowed => {
            other[last] += 5;
            let wider = filled(&other, dtype, values);
            wider.narrow(last, 3, shape[last]).unwrap()
        }
        Strides::Broadcast => {
            other[0] = 1;
            filled(&other, dtype, values).broadcast_as(shape).unwrap()
        }
    };
    assert_eq!(made.dims(), shape);
    made
}

/// Half types are computed in `f32`, as documented.
fn wide(dtype: DType) -> DType {
    match dtype {
        DType::F16 | DType::BF16 => DType::F32,
        other => other,
    }
}

/// `xs` declared to be of another shape, without the memory for it.
fn declared(shape: &[usize], dtype: DType) -> Tensor {
    let kept: Vec<usize> = shape.iter().map(|dim| 1.min(*dim)).collect();
    Tensor::zeros(kept, dtype, CPU)
        .unwrap()
        .broadcast_as(shape)
        .unwrap()
}

/// A part of the grid, by name.
type Part = (&'static str, fn() -> Tally);

#[test]
fn grid_cases_are_refused_or_right() {
    let parts: [Part; 5] = [
        ("additive", additive::run),
        ("dropout", dropout::run),
        ("rotary", rotary::run),
        ("position ids", ids::run),
        ("configurations", configs::run),
    ];
    let mut all = Tally::default();
    for (name, part) in parts {
        let tally = part();
        println!(
            "{name}: {} refused, {} right, {} panics, {} faults",
            tally.errors,
            tally.right,
            tally.panics,
            tally.faults.len()
        );
        assert!(
            tally.errors > 0 && tally.right > 0,
            "{name} has one class only"
        );
        all.join(tally);
    }
    let total = all.errors + all.right + all.faults.len();
    println!(
        "all: {total} cases, {} refused, {} right",
        all.errors, all.right
    );
    let some: Vec<_> = all.faults.iter().take(20).collect();
    assert!(
        all.faults.is_empty(),
        "{} faults: {some:#?}",
        all.faults.len()
    );
    assert_eq!(all.panics, 0);
    // The figures of DESIGN.md.
    assert_eq!((all.errors, all.right), (26_075, 17_169));
}
