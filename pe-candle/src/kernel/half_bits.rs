//! Conversions between `f32` and the bits of 16-bit float types, one by one.
//!
//! They have no branches, so loops over them become vector code on every instruction set, and they are the reference of
//! the conversions that an instruction set has. Those of `half` ask the CPU for F16C for each element, or take branches:
//! 4 to 18 ns per element where these take a fraction of one.

const INFINITY: u32 = 0x7f80_0000;
const MAGNITUDE: u32 = 0x7fff_ffff;

/// Converts the bits of a `bf16`.
#[inline(always)]
pub(super) fn widen_bf16(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// Returns the bits of the nearest `bf16`.
#[inline(always)]
pub(super) fn narrow_bf16(single: f32) -> u16 {
    let bits = single.to_bits();
    let nearest = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
    let nan = (bits >> 16) | 0x40;
    let is_nan = bits & MAGNITUDE > INFINITY;
    (if is_nan { nan } else { nearest }) as u16
}

/// Converts the bits of an `f16`.
#[inline(always)]
pub(super) fn widen_f16(bits: u16) -> f32 {
    /// The difference of the exponents' biases: 127 - 15.
    const SHIFT: u32 = 112 << 23;
    const QUIET: u32 = 1 << 22;
    const SUBNORMAL_UNIT: f32 = 1.0 / (1 << 24) as f32;
    let bits = u32::from(bits);
    let size = bits & 0x7fff;
    let normal = (size << 13) + SHIFT;
    // Infinity and NaN have the largest exponent in either type.
    let special = normal + SHIFT;
    let subnormal = (size as i32 as f32 * SUBNORMAL_UNIT).to_bits();
    // A NaN becomes quiet, as on CPUs.
    let special = if size > 0x7c00 {
        special | QUIET
    } else {
        special
    };
    let wide = if size >= 0x7c00 { special } else { normal };
    let wide = if size < 0x400 { subnormal } else { wide };
    f32::from_bits(wide | (bits & 0x8000) << 16)
}

/// Returns the bits of the nearest `f16`.
#[inline(always)]
pub(super) fn narrow_f16(single: f32) -> u16 {
    /// 2^-14 and 2^16: the least normal value, and the least infinite one.
    const NORMAL: u32 = (127 - 14) << 23;
    const TOO_LARGE: u32 = (127 + 16) << 23;
    let bits = single.to_bits();
    let size = bits & MAGNITUDE;
    // A value that is rounded up beyond the largest number becomes infinity without a case of its own.
    let normal = size.wrapping_add(0xfff + ((size >> 13) & 1)) >> 13;
    let normal = normal.wrapping_sub(112 << 10);
    // The unit of 0.5 in f32 is the unit of subnormal numbers: the addition rounds.
    let subnormal = (f32::from_bits(size) + 0.5).to_bits();
    let subnormal = subnormal.wrapping_sub(0.5f32.to_bits());
    let nan = 0x7e00 | (size >> 13) & 0x3ff;
    let special = if size > INFINITY { nan } else { 0x7c00 };
    let narrow = if size < NORMAL { subnormal } else { normal };
    let narrow = if size >= TOO_LARGE { special } else { narrow };
    (narrow | (bits >> 16) & 0x8000) as u16
}
