//! Elements as little-endian bytes, and what their bit patterns say.

use half::f16;
use pe_core::Element;

/// Appends the elements as little-endian bytes.
pub(crate) fn encode<T: Element>(elements: &[T], out: &mut Vec<u8>) {
    // A loop for each size, so that the compiler makes block moves of them.
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

/// Appends the elements that the little-endian bytes hold.
pub(crate) fn decode<T: Element>(bytes: &[u8], out: &mut Vec<T>) {
    match size_of::<T>() {
        2 => out.extend(
            bytes
                .as_chunks()
                .0
                .iter()
                .map(|b| T::from_pattern(u16::from_le_bytes(*b).into())),
        ),
        4 => out.extend(
            bytes
                .as_chunks()
                .0
                .iter()
                .map(|b| T::from_pattern(u32::from_le_bytes(*b).into())),
        ),
        _ => out.extend(
            bytes
                .as_chunks()
                .0
                .iter()
                .map(|b| T::from_pattern(u64::from_le_bytes(*b))),
        ),
    }
}

/// The value of an F8_E4M3 element: a sign, four bits of exponent with bias 7, three of
/// fraction; no infinities, all ones is NaN.
pub(crate) fn f8_e4m3(byte: u8) -> f64 {
    let magnitude = match byte & 0x7F {
        0x7F => f64::NAN,
        // As an f16, whose exponent has bias 15.
        bits => f64::from(f16::from_bits(u16::from(bits) << 7)) * 256.0,
    };
    if byte & 0x80 == 0 {
        magnitude
    } else {
        -magnitude
    }
}

/// The value of an F8_E5M2 element: the upper half of an f16.
pub(crate) fn f8_e5m2(byte: u8) -> f64 {
    f64::from(f16::from_bits(u16::from(byte) << 8))
}

/// The first element that is infinite or NaN.
pub(crate) fn first_not_finite<T: Element>(elements: &[T]) -> Option<usize> {
    // Without a way out of the loop it takes a vector at a time.
    let all = elements.iter().fold(true, |all, e| all & is_finite(*e));
    (!all).then(|| elements.iter().position(|e| !is_finite(*e)))?
}

/// Whether the elements are the same bit for bit.
pub(crate) fn same_bits<T: Element>(a: &[T], b: &[T]) -> bool {
    let difference = a
        .iter()
        .zip(b)
        .fold(0, |bits, (a, b)| bits | (a.pattern() ^ b.pattern()));
    a.len() == b.len() && difference == 0
}

/// Whether the element is neither infinite nor NaN.
pub(crate) fn is_finite<T: Element>(element: T) -> bool {
    let fraction_bits = T::PRECISION - 1;
    let exponent_bits = size_of::<T>() as u32 * 8 - T::PRECISION;
    let all_ones = ((1u64 << exponent_bits) - 1) << fraction_bits;
    element.pattern() & all_ones != all_ones
}

/// How many representable values lie between two elements, 0 if they are
/// equal; `u64::MAX` if one of them is NaN.
pub(crate) fn ulps<T: Element>(a: T, b: T) -> u64 {
    if a.to_f64().is_nan() || b.to_f64().is_nan() {
        return u64::MAX;
    }
    rank(a).abs_diff(rank(b))
}

/// The place of an element among all values of its type; 0 for both zeros.
fn rank<T: Element>(element: T) -> i64 {
    let sign = 1u64 << (size_of::<T>() * 8 - 1);
    let pattern = element.pattern();
    let magnitude = (pattern & (sign - 1)) as i64;
    if pattern & sign == 0 {
        magnitude
    } else {
        -magnitude
    }
}

/// Calls a generic function with the element type that a `DType` stands for.
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
            other => match $crate::checkpoint::spec::dtype_name(other) {
                Err(error) => Err(error),
                Ok(name) => Err(candle_core::Error::Msg(format!("no table of {name}"))),
            },
        }
    };
}

pub(crate) use with_element;
