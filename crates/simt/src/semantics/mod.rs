//! What each scalar operation computes, on one lane. The interpreter, constant folding and the reference executor share
//! these definitions; knows nothing of programs or lanes.

// The machine instantiates each function once per operation and host instruction set, inlined into a loop over lanes.
#![allow(clippy::inline_always)]

pub mod math;

use crate::lower::sir::{Cvt, FBin, FUn, FloatPred, IOp, IUn, IntPred};
use crate::semantics64 as double;

fn f(x: u32) -> f32 {
    f32::from_bits(x)
}

/// Integer operations in 32 bits. Division by zero gives 0; shift amounts are taken modulo 32.
#[inline(always)]
pub fn iop32(op: IOp, a: u32, b: u32) -> u32 {
    match op {
        IOp::Add => a.wrapping_add(b),
        IOp::Sub => a.wrapping_sub(b),
        IOp::Mul => a.wrapping_mul(b),
        IOp::UDiv => a.checked_div(b).unwrap_or(0),
        IOp::SDiv if b == 0 => 0,
        IOp::SDiv => (a as i32).wrapping_div(b as i32) as u32,
        IOp::URem => a.checked_rem(b).unwrap_or(0),
        IOp::SRem if b == 0 => 0,
        IOp::SRem => (a as i32).wrapping_rem(b as i32) as u32,
        IOp::Shl => a << (b & 31),
        IOp::LShr => a >> (b & 31),
        IOp::AShr => ((a as i32) >> (b & 31)) as u32,
        IOp::And => a & b,
        IOp::Or => a | b,
        IOp::Xor => a ^ b,
        IOp::SMin => (a as i32).min(b as i32) as u32,
        IOp::SMax => (a as i32).max(b as i32) as u32,
        IOp::UMin => a.min(b),
        IOp::UMax => a.max(b),
    }
}

/// Integer operations in 64 bits, as [`iop32`].
#[inline(always)]
pub fn iop64(op: IOp, a: u64, b: u64) -> u64 {
    match op {
        IOp::Add => a.wrapping_add(b),
        IOp::Sub => a.wrapping_sub(b),
        IOp::Mul => a.wrapping_mul(b),
        IOp::UDiv => a.checked_div(b).unwrap_or(0),
        IOp::SDiv if b == 0 => 0,
        IOp::SDiv => (a as i64).wrapping_div(b as i64) as u64,
        IOp::URem => a.checked_rem(b).unwrap_or(0),
        IOp::SRem if b == 0 => 0,
        IOp::SRem => (a as i64).wrapping_rem(b as i64) as u64,
        IOp::Shl => a << (b & 63),
        IOp::LShr => a >> (b & 63),
        IOp::AShr => ((a as i64) >> (b & 63)) as u64,
        IOp::And => a & b,
        IOp::Or => a | b,
        IOp::Xor => a ^ b,
        IOp::SMin => (a as i64).min(b as i64) as u64,
        IOp::SMax => (a as i64).max(b as i64) as u64,
        IOp::UMin => a.min(b),
        IOp::UMax => a.max(b),
    }
}

/// One-operand integer operations in 32 bits.
#[inline(always)]
pub fn iun32(op: IUn, a: u32) -> u32 {
    match op {
        IUn::Clz(w) => a.leading_zeros().wrapping_sub(32 - u32::from(w)),
        IUn::Ctz(w) => a.trailing_zeros().min(u32::from(w)),
        IUn::Popcnt => a.count_ones(),
        IUn::Bitrev(w) => a.reverse_bits() >> ((32 - u32::from(w)) & 31),
        IUn::Bswap(w) => a.swap_bytes() >> ((32 - u32::from(w)) & 31),
        IUn::SExt(w) => {
            let s = (32 - u32::from(w)) & 31;
            (((a << s) as i32) >> s) as u32
        }
    }
}

/// One-operand integer operations in 64 bits.
#[inline(always)]
pub fn iun64(op: IUn, a: u64) -> u64 {
    match op {
        IUn::Clz(w) => u64::from(a.leading_zeros()).wrapping_sub(64 - u64::from(w)),
        IUn::Ctz(w) => u64::from(a.trailing_zeros().min(u32::from(w))),
        IUn::Popcnt => u64::from(a.count_ones()),
        IUn::Bitrev(w) => a.reverse_bits() >> ((64 - u32::from(w)) & 63),
        IUn::Bswap(w) => a.swap_bytes() >> ((64 - u32::from(w)) & 63),
        IUn::SExt(w) => {
            let s = (64 - u32::from(w)) & 63;
            (((a << s) as i64) >> s) as u64
        }
    }
}

/// Funnel shift left of `w`-bit halves.
#[inline(always)]
pub fn fshl(w: u8, hi: u32, lo: u32, by: u32) -> u32 {
    let w = u32::from(w);
    let by = by % w;
    let both = (u64::from(hi) << w) | u64::from(lo);
    let r = (both << by) >> w;
    (r & ((1u64 << w) - 1)) as u32
}

/// Two-operand binary32 operations on bits.
#[inline(always)]
pub fn fbin(op: FBin, a: u32, b: u32) -> u32 {
    let (x, y) = (f(a), f(b));
    let r = match op {
        FBin::Add => x + y,
        FBin::Sub => x - y,
        FBin::Mul => x * y,
        FBin::Div | FBin::FastDiv => x / y,
        FBin::Rem => x % y,
        FBin::Min => x.min(y),
        FBin::Max => x.max(y),
        FBin::Minimum => {
            if x.is_nan() || y.is_nan() {
                f32::NAN
            } else if x == 0.0 && y == 0.0 {
                f(a | b)
            } else {
                x.min(y)
            }
        }
        FBin::Maximum => {
            if x.is_nan() || y.is_nan() {
                f32::NAN
            } else if x == 0.0 && y == 0.0 {
                f(a & b)
            } else {
                x.max(y)
            }
        }
        FBin::Copysign => x.copysign(y),
        FBin::Pow => math::pow(x, y),
        FBin::Powr => {
            if x < 0.0 {
                f32::NAN
            } else {
                math::pow(x, y)
            }
        }
        FBin::Atan2 => f64::from(x).atan2(f64::from(y)) as f32,
        FBin::Ldexp => {
            // Two steps, so that results in the subnormal range are reached; f64 holds every intermediate exactly.
            let n = (b as i32).clamp(-400, 400);
            (f64::from(x) * 2f64.powi(n / 2) * 2f64.powi(n - n / 2)) as f32
        }
        FBin::Hypot => f64::from(x).hypot(f64::from(y)) as f32,
    };
    r.to_bits()
}

/// Binary16 bits to binary32 bits, without branches. NaN payloads are kept.
#[inline(always)]
pub fn f16_to_f32(h: u16) -> u32 {
    let h = u32::from(h);
    let magnitude = (h & 0x7fff) << 13;
    // Multiplying by 2^112 rebases the exponent and normalises subnormals.
    let scaled = (f(magnitude) * f(0x7780_0000)).to_bits();
    let special = magnitude | 0x7f80_0000;
    (if magnitude >= 0x0f80_0000 { special } else { scaled }) | ((h & 0x8000) << 16)
}

/// Binary32 bits to binary16 bits, to nearest, ties to even, without branches.
#[inline(always)]
pub fn f32_to_f16(x: u32) -> u16 {
    let m = x & 0x7fff_ffff;
    // 2^16 and above overflow; NaNs become quiet and keep the top of their payload.
    let special = if m > 0x7f80_0000 { 0x7e00 | (m >> 13 & 0x3ff) } else { 0x7c00 };
    // Below 2^-14 the sum with 0.5 has the subnormal's last place as its own.
    let small = (f(m) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
    let normal = m.wrapping_add(0xc800_0fff).wrapping_add(m >> 13 & 1) >> 13;
    let r = if m >= 0x4780_0000 {
        special
    } else if m < 0x3880_0000 {
        small
    } else {
        normal
    };
    (r | (x >> 16 & 0x8000)) as u16
}

/// Binary32 bits to bfloat16 bits, to nearest, ties to even.
#[inline(always)]
pub fn f32_to_bf16(x: u32) -> u16 {
    let rounded = x.wrapping_add(0x7fff).wrapping_add(x >> 16 & 1) >> 16;
    let nan = (x >> 16) | 0x40;
    (if x & 0x7fff_ffff > 0x7f80_0000 { nan } else { rounded }) as u16
}

/// One-operand binary32 operations on bits.
#[inline(always)]
pub fn fun(op: FUn, a: u32) -> u32 {
    let x = f(a);
    match op {
        FUn::Neg => a ^ 0x8000_0000,
        FUn::Abs => a & 0x7fff_ffff,
        FUn::Floor => x.floor().to_bits(),
        FUn::Ceil => x.ceil().to_bits(),
        FUn::Trunc => x.trunc().to_bits(),
        FUn::Rint => x.round_ties_even().to_bits(),
        FUn::Round => x.round().to_bits(),
        FUn::RoundF16 => f16_to_f32(f32_to_f16(a)),
        FUn::RoundBf16 => u32::from(f32_to_bf16(a)) << 16,
        FUn::F16Bits => u32::from(f32_to_f16(a)),
        FUn::F16From => f16_to_f32(a as u16),
        FUn::Bf16Bits => u32::from(f32_to_bf16(a)),
        FUn::Bf16From => a << 16,
        FUn::Sqrt => x.sqrt().to_bits(),
        FUn::Rcp => (1.0 / x).to_bits(),
        _ => math::eval(op, x).to_bits(),
    }
}

/// `±(a·b) ± c` with one rounding.
#[inline(always)]
pub fn fma(neg_product: bool, neg_addend: bool, a: u32, b: u32, c: u32) -> u32 {
    let s = if neg_product { 0x8000_0000 } else { 0 };
    let t = if neg_addend { 0x8000_0000 } else { 0 };
    f(a ^ s).mul_add(f(b), f(c ^ t)).to_bits()
}

/// Fused multiply-add of binary16 values held as binary32, one rounding to binary16.
///
/// The product of two 11-bit significands is exact in f64, and so is every sum that can lie halfway between two
/// binary16 values (at most 33 bits apart), so rounding the f64 sum is the right single rounding.
#[inline(always)]
pub fn fma_f16(a: u32, b: u32, c: u32) -> u32 {
    let r = f64::from(f(a)) * f64::from(f(b)) + f64::from(f(c));
    f16_to_f32(double::to_f16(r))
}

/// Float to integer, saturating, NaN to 0, result zero-extended from `bits`.
#[inline(always)]
pub fn ftoi(signed: bool, bits: u8, a: u32) -> u64 {
    double::float_to_int(signed, bits, f64::from(f(a)))
}

/// Conversions; operands and results of either class travel in 64 bits.
#[inline(always)]
pub fn cvt(op: Cvt, a: u64) -> u64 {
    match op {
        Cvt::Zext64 | Cvt::Lo => a & 0xffff_ffff,
        Cvt::Sext64 => a as u32 as i32 as i64 as u64,
        Cvt::Hi => a >> 32,
        Cvt::FToI { signed, bits } => ftoi(signed, bits, a as u32),
        Cvt::IToF { signed: true } => u64::from((a as u32 as i32 as f32).to_bits()),
        Cvt::IToF { signed: false } => u64::from((a as u32 as f32).to_bits()),
        Cvt::LToF { signed: true } => u64::from((a as i64 as f32).to_bits()),
        Cvt::LToF { signed: false } => u64::from((a as f32).to_bits()),
        Cvt::FToD => f64::from(f(a as u32)).to_bits(),
        Cvt::DToF => u64::from((f64::from_bits(a) as f32).to_bits()),
        Cvt::DToF16 => u64::from(f16_to_f32(double::to_f16(f64::from_bits(a)))),
        Cvt::DToBf16 => u64::from(double::to_bf16(f64::from_bits(a))) << 16,
        Cvt::DToI { signed, bits } => double::float_to_int(signed, bits, f64::from_bits(a)),
        Cvt::IToD { signed: true } => f64::from(a as u32 as i32).to_bits(),
        Cvt::IToD { signed: false } => f64::from(a as u32).to_bits(),
        Cvt::LToD { signed: true } => (a as i64 as f64).to_bits(),
        Cvt::LToD { signed: false } => (a as f64).to_bits(),
    }
}

/// Integer comparison in 32 bits.
#[inline(always)]
pub fn icmp32(p: IntPred, a: u32, b: u32) -> bool {
    let (s, t) = (a as i32, b as i32);
    match p {
        IntPred::Eq => a == b,
        IntPred::Ne => a != b,
        IntPred::Ugt => a > b,
        IntPred::Uge => a >= b,
        IntPred::Ult => a < b,
        IntPred::Ule => a <= b,
        IntPred::Sgt => s > t,
        IntPred::Sge => s >= t,
        IntPred::Slt => s < t,
        IntPred::Sle => s <= t,
    }
}

/// Integer comparison in 64 bits.
#[inline(always)]
pub fn icmp64(p: IntPred, a: u64, b: u64) -> bool {
    let (s, t) = (a as i64, b as i64);
    match p {
        IntPred::Eq => a == b,
        IntPred::Ne => a != b,
        IntPred::Ugt => a > b,
        IntPred::Uge => a >= b,
        IntPred::Ult => a < b,
        IntPred::Ule => a <= b,
        IntPred::Sgt => s > t,
        IntPred::Sge => s >= t,
        IntPred::Slt => s < t,
        IntPred::Sle => s <= t,
    }
}

/// Binary32 comparison. Without branches, so that loops over lanes become vector code.
#[allow(clippy::needless_bitwise_bool)]
#[inline(always)]
pub fn fcmp(p: FloatPred, a: u32, b: u32) -> bool {
    let (x, y) = (f(a), f(b));
    let un = x.is_nan() | y.is_nan();
    match p {
        FloatPred::False => false,
        FloatPred::True => true,
        FloatPred::Oeq => x == y,
        FloatPred::Ogt => x > y,
        FloatPred::Oge => x >= y,
        FloatPred::Olt => x < y,
        FloatPred::Ole => x <= y,
        FloatPred::One => !un & (x != y),
        FloatPred::Ord => !un,
        FloatPred::Ueq => (x == y) | un,
        FloatPred::Ugt => (x > y) | un,
        FloatPred::Uge => (x >= y) | un,
        FloatPred::Ult => (x < y) | un,
        FloatPred::Ule => (x <= y) | un,
        FloatPred::Une => x != y,
        FloatPred::Uno => un,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    #[test]
    fn sixteen_bit_floats_convert_as_ieee_says() {
        for h in 0..=u16::MAX {
            let want = f16::from_bits(h).to_f32();
            let got = f32::from_bits(f16_to_f32(h));
            assert!(got == want || (got.is_nan() && want.is_nan()), "{h:#x}");
            if !want.is_nan() {
                assert_eq!(f32_to_f16(want.to_bits()), h);
            }
        }
        let mut x = 1u32;
        for _ in 0..2_000_000 {
            x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let v = f32::from_bits(x);
            if v.is_nan() {
                assert!(f16::from_bits(f32_to_f16(x)).is_nan() && bf16::from_bits(f32_to_bf16(x)).is_nan());
            } else {
                assert_eq!(f32_to_f16(x), f16::from_f32(v).to_bits(), "{v}");
                assert_eq!(f32_to_bf16(x), bf16::from_f32(v).to_bits(), "{v}");
            }
        }
        // Ties and the edges of the ranges.
        for v in [65519.996f32, 65520.0, 65504.0, 5.960_464_5e-8, 2.980_232_2e-8, 2.980_232_5e-8, 6.1e-5, 0.0, -0.0] {
            assert_eq!(f32_to_f16(v.to_bits()), f16::from_f32(v).to_bits(), "{v}");
        }
    }

    #[test]
    fn fused_half_multiply_add_rounds_once() {
        // 1 + 2^-10 squared minus 1 needs bits that a rounded product would lose.
        let h = |x: f32| f16::from_f32(x).to_f32().to_bits();
        let a = h(1.0 + 1.0 / 1024.0);
        let r = f32::from_bits(fma_f16(a, a, h(-1.0)));
        assert_eq!(r, f16::from_f64((1.0 + 1.0 / 1024.0f64).powi(2) - 1.0).to_f32());
    }
}
