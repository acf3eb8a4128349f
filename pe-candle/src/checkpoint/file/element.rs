//! Elements as little-endian bytes, and properties of their bit patterns.

use std::any::TypeId;

use candle_core::{DType, Result, bail};
use half::f16;
use pe_core::Element;

use super::message::quoted;

/// Appends the elements as little-endian bytes.
pub(crate) fn encode<T: Element>(elements: &[T], out: &mut Vec<u8>) {
    // One loop per size compiles to block moves.
    match size_of::<T>() {
        2 => out.extend(
            elements
                .iter()
                .flat_map(|e| (e.pattern() as u16).to_le_bytes()),
        ),
        4 => out.extend(
            elements
                .iter()
                .flat_map(|e| (e.pattern() as u32).to_le_bytes()),
        ),
        _ => out.extend(elements.iter().flat_map(|e| e.pattern().to_le_bytes())),
    }
}

/// Reads elements of type `F` from little-endian bytes and converts them to `D`: bit for bit, or else with
/// one rounding.
pub(crate) fn decode<F: Element, D: Element>(bytes: &[u8], out: &mut [D]) {
    if TypeId::of::<F>() == TypeId::of::<D>() {
        each::<F, D>(bytes, out, D::from_pattern);
    } else {
        each::<F, D>(bytes, out, |bits| {
            D::from_f64(F::from_pattern(bits).to_f64())
        });
    }
}

/// Converts with one loop per size, which compiles to block moves.
#[inline(always)]
fn each<F: Element, D>(bytes: &[u8], out: &mut [D], of: impl Fn(u64) -> D) {
    match size_of::<F>() {
        2 => {
            for (out, b) in out.iter_mut().zip(bytes.as_chunks().0) {
                *out = of(u16::from_le_bytes(*b).into());
            }
        }
        4 => {
            for (out, b) in out.iter_mut().zip(bytes.as_chunks().0) {
                *out = of(u32::from_le_bytes(*b).into());
            }
        }
        _ => {
            for (out, b) in out.iter_mut().zip(bytes.as_chunks().0) {
                *out = of(u64::from_le_bytes(*b));
            }
        }
    }
}

/// Reads elements from little-endian bytes.
pub(crate) fn elements<T: Element>(bytes: &[u8]) -> impl ExactSizeIterator<Item = T> {
    bytes.chunks_exact(size_of::<T>()).map(|bytes| {
        let bytes = bytes.iter().rev();
        T::from_pattern(bytes.fold(0, |pattern, byte| pattern << 8 | u64::from(*byte)))
    })
}

/// Widens elements of one byte to the little-endian bytes of the same values in `T`.
pub(crate) fn widen<T: Element>(bytes: &[u8], value: fn(u8) -> f64, out: &mut Vec<u8>) {
    let values: Vec<T> = bytes.iter().map(|byte| T::from_f64(value(*byte))).collect();
    out.clear();
    encode(&values, out);
}

/// Returns the value of an F8_E4M3 element: a sign, four bits of exponent with bias 7, three of
/// fraction. It has no infinities, and all ones is NaN.
pub(crate) fn f8_e4m3(byte: u8) -> f64 {
    let magnitude = match byte & 0x7F {
        0x7F => f64::NAN,
        // As an f16, which has bias 15.
        bits => f64::from(f16::from_bits(u16::from(bits) << 7)) * 256.0,
    };
    if byte & 0x80 == 0 {
        magnitude
    } else {
        -magnitude
    }
}

/// Returns the value of an F8_E5M2 element, the upper half of an f16.
pub(crate) fn f8_e5m2(byte: u8) -> f64 {
    f64::from(f16::from_bits(u16::from(byte) << 8))
}

/// Finds the first element that is infinite or NaN.
pub(crate) fn first_not_finite<T: Element>(elements: &[T]) -> Option<usize> {
    // A loop without an early exit is vectorized.
    let all = elements.iter().fold(true, |all, e| all & is_finite(*e));
    (!all).then(|| elements.iter().position(|e| !is_finite(*e)))?
}

/// Returns whether little-endian bytes hold these elements, bit for bit.
pub(crate) fn same_bits<T: Element>(bytes: &[u8], elements: &[T]) -> bool {
    // One loop per size, as in `each`. A loop without an early exit is vectorized.
    let difference = match size_of::<T>() {
        2 => {
            let pairs = bytes.as_chunks().0.iter().zip(elements);
            let differ = pairs.fold(0, |bits, (b, e)| {
                bits | (u16::from_le_bytes(*b) ^ e.pattern() as u16)
            });
            u64::from(differ)
        }
        4 => {
            let pairs = bytes.as_chunks().0.iter().zip(elements);
            let differ = pairs.fold(0, |bits, (b, e)| {
                bits | (u32::from_le_bytes(*b) ^ e.pattern() as u32)
            });
            u64::from(differ)
        }
        _ => {
            let pairs = bytes.as_chunks().0.iter().zip(elements);
            pairs.fold(0, |bits, (b, e)| {
                bits | (u64::from_le_bytes(*b) ^ e.pattern())
            })
        }
    };
    bytes.len() == size_of_val(elements) && difference == 0
}

/// Returns whether the element is neither infinite nor NaN.
pub(crate) fn is_finite<T: Element>(element: T) -> bool {
    let all_ones = const {
        let fraction_bits = T::PRECISION - 1;
        let exponent_bits = size_of::<T>() as u32 * 8 - T::PRECISION;
        ((1u64 << exponent_bits) - 1) << fraction_bits
    };
    element.pattern() & all_ones != all_ones
}

/// Returns the distance of two elements in representable values: 0 if they are equal, `u64::MAX` if one of
/// them is NaN.
pub(crate) fn ulps<T: Element>(a: T, b: T) -> u64 {
    if a.to_f64().is_nan() || b.to_f64().is_nan() {
        return u64::MAX;
    }
    rank(a).abs_diff(rank(b))
}

/// Returns the rank of an element among all values of its type, 0 for both zeros.
fn rank<T: Element>(element: T) -> i64 {
    let sign = const { 1u64 << (size_of::<T>() * 8 - 1) };
    let pattern = element.pattern();
    let magnitude = (pattern & !sign) as i64;
    if pattern & sign == 0 {
        magnitude
    } else {
        // Without the sign bit it has a negative.
        magnitude.wrapping_neg()
    }
}

/// Returns the name of a table's element type, or an error for other types.
pub(crate) fn dtype_name(dtype: DType) -> Result<&'static str> {
    match dtype {
        DType::F32 | DType::F64 | DType::F16 | DType::BF16 => Ok(dtype.as_str()),
        other => bail!(
            "a table cannot have elements of type {} (it can of f32, f64, f16, bf16)",
            other.as_str()
        ),
    }
}

pub(crate) fn dtype_from_name(name: &str) -> std::result::Result<DType, String> {
    match name {
        "f32" => Ok(DType::F32),
        "f64" => Ok(DType::F64),
        "f16" => Ok(DType::F16),
        "bf16" => Ok(DType::BF16),
        other => Err(format!(
            "dtype {} is not one of f32, f64, f16, bf16",
            quoted(other)
        )),
    }
}

/// Evaluates an expression with the element type of a `DType`.
macro_rules! with_element {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            candle_core::DType::F32 => {
                type $T = f32;
                $body
            }
            candle_core::DType::F64 => {
                type $T = f64;
                $body
            }
            candle_core::DType::F16 => {
                type $T = half::f16;
                $body
            }
            candle_core::DType::BF16 => {
                type $T = half::bf16;
                $body
            }
            other => match $crate::checkpoint::file::element::dtype_name(other) {
                Err(error) => Err(error),
                Ok(name) => Err(candle_core::Error::Msg(format!("no table of {name}"))),
            },
        }
    };
}

pub(crate) use with_element;

#[cfg(test)]
mod tests {
    use super::*;
    use half::bf16;

    fn bytes_of<T: Element>(elements: &[T]) -> Vec<u8> {
        let size = size_of::<T>();
        let bytes = |e: &T| e.pattern().to_le_bytes().into_iter().take(size);
        elements.iter().flat_map(bytes).collect()
    }

    #[allow(clippy::arithmetic_side_effects)] // what a test counts is small
    fn every_bit_counts<T: Element>(of: impl Fn(f64) -> T) {
        let elements: Vec<T> = (0..37).map(|i| of(f64::from(i) * 0.37 - 3.0)).collect();
        let bytes = bytes_of(&elements);
        assert!(same_bits(&bytes, &elements));
        for bit in 0..8 * bytes.len() {
            let mut turned = bytes.clone();
            turned[bit / 8] ^= 1 << (bit % 8);
            assert!(!same_bits(&turned, &elements), "bit {bit}");
            // The same bit of another element must not cancel it.
            let other = (bit / 8 + size_of::<T>()) % bytes.len();
            turned[other] ^= 1 << (bit % 8);
            assert!(!same_bits(&turned, &elements), "bit {bit}, twice");
        }
        assert!(!same_bits(&bytes[..bytes.len() - 1], &elements));
        assert!(!same_bits(
            &bytes[..bytes.len() - size_of::<T>()],
            &elements
        ));
        assert!(!same_bits(&bytes, &elements[..36]));
    }

    #[test]
    fn equal_bits_are_told_from_all_others() {
        every_bit_counts(f16::from_f64);
        every_bit_counts(bf16::from_f64);
        every_bit_counts(|value| value as f32);
        every_bit_counts(|value| value);
    }
}
