//! Meaning of floating operations in double precision on one lane, on bits unless a line says otherwise; and the library
//! functions, which binary32 rounds from here. Knows no programs or lanes.

// See `semantics`.
#![allow(clippy::inline_always)]

use std::f64::consts::PI;

use crate::lower::sir::{FBin, FUn, FloatPred};
use crate::semantics::{f32_to_bf16, f32_to_f16};

fn f(x: u64) -> f64 {
    f64::from_bits(x)
}

/// Two-operand operations.
#[inline(always)]
pub fn fbin(op: FBin, a: u64, b: u64) -> u64 {
    let (x, y) = (f(a), f(b));
    let r = match op {
        FBin::Add => x + y,
        FBin::Sub => x - y,
        FBin::Mul => x * y,
        FBin::Div | FBin::FastDiv => x / y,
        FBin::Rem => x % y,
        FBin::Min => x.min(y),
        FBin::Max => x.max(y),
        FBin::Minimum if x == 0.0 && y == 0.0 => f(a | b),
        FBin::Maximum if x == 0.0 && y == 0.0 => f(a & b),
        FBin::Minimum | FBin::Maximum if x.is_nan() || y.is_nan() => f64::NAN,
        FBin::Minimum => x.min(y),
        FBin::Maximum => x.max(y),
        FBin::Copysign => x.copysign(y),
        FBin::Pow => x.powf(y),
        FBin::Powr if x < 0.0 => f64::NAN,
        FBin::Powr => x.powf(y),
        FBin::Atan2 => x.atan2(y),
        FBin::Ldexp => libm::ldexp(x, y as i32),
        FBin::Hypot => x.hypot(y),
    };
    r.to_bits()
}

/// One-operand operations.
#[inline(always)]
pub fn fun(op: FUn, a: u64) -> u64 {
    let x = f(a);
    match op {
        FUn::Neg => a ^ (1 << 63),
        FUn::Abs => a & !(1 << 63),
        FUn::Floor => x.floor().to_bits(),
        FUn::Ceil => x.ceil().to_bits(),
        FUn::Trunc => x.trunc().to_bits(),
        FUn::Rint => x.round_ties_even().to_bits(),
        FUn::Round => x.round().to_bits(),
        FUn::Sqrt => x.sqrt().to_bits(),
        FUn::Rcp => (1.0 / x).to_bits(),
        _ => library(op, x).to_bits(),
    }
}

/// Library functions, on values: those of the host's mathematical library, within about one unit in the last place.
/// Operations that are none give their operand.
pub fn library(op: FUn, d: f64) -> f64 {
    match op {
        FUn::Rsqrt => 1.0 / d.sqrt(),
        FUn::Exp => d.exp(),
        FUn::Exp2 => d.exp2(),
        FUn::Exp10 => 10f64.powf(d),
        FUn::Log => d.ln(),
        FUn::Log2 => d.log2(),
        FUn::Log10 => d.log10(),
        FUn::Sin => d.sin(),
        FUn::Cos => d.cos(),
        FUn::Tan => d.tan(),
        FUn::Asin => d.asin(),
        FUn::Acos => d.acos(),
        FUn::Atan => d.atan(),
        FUn::Sinh => d.sinh(),
        FUn::Cosh => d.cosh(),
        FUn::Tanh => d.tanh(),
        FUn::Asinh => d.asinh(),
        FUn::Acosh => d.acosh(),
        FUn::Atanh => d.atanh(),
        FUn::Erf => libm::erf(d),
        FUn::Erfc => libm::erfc(d),
        FUn::Erfinv => erfinv(d),
        FUn::Lgamma => libm::lgamma(d),
        FUn::Tgamma => libm::tgamma(d),
        FUn::Expm1 => d.exp_m1(),
        FUn::Log1p => d.ln_1p(),
        FUn::Cbrt => d.cbrt(),
        FUn::Sinpi => turns(d).0,
        FUn::Cospi => turns(d).1,
        FUn::Tanpi => {
            let (s, c) = turns(d);
            s / c
        }
        _ => d,
    }
}

/// Sine and cosine of `pi * d`. Reduced to an eighth of a turn before anything is rounded, so that zeros are zeros.
fn turns(d: f64) -> (f64, f64) {
    let r = d % 2.0;
    let quarter = (2.0 * r).round();
    let (s, c) = (PI * (r - 0.5 * quarter)).sin_cos();
    match (quarter as i32).rem_euclid(4) {
        0 => (s, c),
        1 => (c, 0.0 - s),
        2 => (0.0 - s, -c),
        _ => (-c, s),
    }
}

/// Inverse error function by Newton's method on `erf`, from the logarithmic estimate of Winitzki (2008).
fn erfinv(y: f64) -> f64 {
    if y.is_nan() || y.abs() > 1.0 {
        return f64::NAN;
    }
    if y.abs() == 1.0 {
        return y * f64::INFINITY;
    }
    let a = 0.147;
    let l = (1.0 - y * y).ln();
    let t = 2.0 / (PI * a) + l / 2.0;
    let mut x = (((t * t - l / a).sqrt() - t).sqrt()).copysign(y);
    for _ in 0..4 {
        let slope = std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp();
        // `erfc` keeps its digits where `erf` is close to one.
        let err = if y > 0.5 {
            (1.0 - y) - libm::erfc(x)
        } else if y < -0.5 {
            libm::erfc(-x) - (1.0 + y)
        } else {
            libm::erf(x) - y
        };
        if slope > 0.0 {
            x -= err / slope;
        }
    }
    x
}

/// `a·b + c` with one rounding.
#[inline(always)]
pub fn fma(a: u64, b: u64, c: u64) -> u64 {
    f(a).mul_add(f(b), f(c)).to_bits()
}

/// A value to an integer: saturating, NaN to 0, the result zero-extended from `bits`.
#[inline(always)]
pub fn float_to_int(signed: bool, bits: u8, x: f64) -> u64 {
    let mask = if bits >= 64 { u64::MAX } else { (1u64 << bits) - 1 };
    if signed {
        let hi = (mask >> 1) as i64;
        (x as i64).clamp(-hi - 1, hi) as u64 & mask
    } else {
        (x as u64).min(mask)
    }
}

/// The binary32 value that a later rounding to fewer bits treats as the value itself: truncated, with its last bit set
/// if anything was lost (rounding to odd; Boldo and Melquiond, 2008).
#[inline(always)]
fn round_to_odd(x: f64) -> u32 {
    let near = x as f32;
    let back = f64::from(near);
    let away = u32::from(back.abs() > x.abs());
    // True of NaN too, which the set bit leaves a NaN.
    let lost = u32::from(back.to_bits() != x.to_bits());
    (near.to_bits() - away) | lost
}

/// Bits of the nearest binary16 value, ties to even.
#[inline(always)]
pub fn to_f16(x: f64) -> u16 {
    f32_to_f16(round_to_odd(x))
}

/// Bits of the nearest bfloat16 value, ties to even.
#[inline(always)]
pub fn to_bf16(x: f64) -> u16 {
    f32_to_bf16(round_to_odd(x))
}

/// Comparison.
#[inline(always)]
#[allow(clippy::needless_bitwise_bool)] // No branches, so that lanes vectorise.
pub fn fcmp(p: FloatPred, a: u64, b: u64) -> bool {
    let (x, y) = (f(a), f(b));
    let [less, equal, greater, unordered] = outcomes(p);
    (less & (x < y)) | (equal & (x == y)) | (greater & (x > y)) | (unordered & (x.is_nan() | y.is_nan()))
}

/// Outcomes that a comparison holds for: less, equal, greater, unordered.
const fn outcomes(p: FloatPred) -> [bool; 4] {
    let bits = match p {
        FloatPred::False => 0b0000,
        FloatPred::Oeq => 0b0100,
        FloatPred::Ogt => 0b0010,
        FloatPred::Oge => 0b0110,
        FloatPred::Olt => 0b1000,
        FloatPred::Ole => 0b1100,
        FloatPred::One => 0b1010,
        FloatPred::Ord => 0b1110,
        FloatPred::Ueq => 0b0101,
        FloatPred::Ugt => 0b0011,
        FloatPred::Uge => 0b0111,
        FloatPred::Ult => 0b1001,
        FloatPred::Ule => 0b1101,
        FloatPred::Une => 0b1011,
        FloatPred::Uno => 0b0001,
        FloatPred::True => 0b1111,
    };
    [bits & 8 != 0, bits & 4 != 0, bits & 2 != 0, bits & 1 != 0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    /// The nearest of all values of a 16-bit format, ties to even, found by looking.
    fn nearest(x: f64, values: &[(f64, u16)]) -> u16 {
        let k = values.partition_point(|v| v.0 < x);
        match (k.checked_sub(1).and_then(|k| values.get(k)), values.get(k)) {
            (Some(lo), Some(hi)) => {
                let (below, above) = (x - lo.0, hi.0 - x);
                if below < above || (below == above && lo.1 & 1 == 0) { lo.1 } else { hi.1 }
            }
            (_, Some(v)) | (Some(v), None) => v.1,
            (None, None) => 0,
        }
    }

    #[test]
    fn sixteen_bit_results_are_rounded_once() {
        // Positive finite values and the first one beyond, which stands for infinity.
        let halves: Vec<(f64, u16)> =
            (0..0x7c00u16).map(|b| (f16::from_bits(b).to_f64(), b)).chain([(65536.0, 0x7c00)]).collect();
        let bfloats: Vec<(f64, u16)> =
            (0..0x7f80u16).map(|b| (bf16::from_bits(b).to_f64(), b)).chain([(2f64.powi(128), 0x7f80)]).collect();
        for values in [&halves, &bfloats] {
            let to = |x: f64| if values.len() == halves.len() { to_f16(x) } else { to_bf16(x) };
            for w in values.windows(2) {
                let tie = w[0].0.midpoint(w[1].0);
                // Just beside a tie: a rounding to binary32 in between would land on it.
                for x in [tie, tie.next_up(), tie.next_down(), w[0].0, w[0].0.next_up()] {
                    assert_eq!(to(x), nearest(x, values), "{x:e}");
                    assert_eq!(to(-x), nearest(x, values) | 0x8000, "{x:e}");
                }
            }
        }
        assert_eq!(to_f16(1e300), 0x7c00);
        assert_eq!(to_f16(f64::NEG_INFINITY), 0xfc00);
        assert!(f16::from_bits(to_f16(f64::NAN)).is_nan() && bf16::from_bits(to_bf16(f64::NAN)).is_nan());
    }

    #[test]
    fn half_turns_are_exact() {
        for k in -8i32..=8 {
            let x = f64::from(k) / 2.0;
            let (s, c) = turns(x);
            let want = [(0.0, 1.0), (1.0, 0.0), (0.0, -1.0), (-1.0, 0.0)][k.rem_euclid(4) as usize];
            assert_eq!((s, c), want, "{x}");
        }
        assert!((turns(0.1).0 - (0.1 * PI).sin()).abs() < 1e-16);
        assert!((turns(1e9 + 0.25).1 - 0.5f64.sqrt()).abs() < 1e-15);
        assert!(turns(f64::INFINITY).0.is_nan());
    }

    #[test]
    fn integers_saturate() {
        assert_eq!(float_to_int(true, 8, -1e9), 0x80);
        assert_eq!(float_to_int(true, 8, 1e9), 0x7f);
        assert_eq!(float_to_int(false, 16, 1e9), 0xffff);
        assert_eq!(float_to_int(false, 32, -3.7), 0);
        assert_eq!(float_to_int(true, 32, -3.7), (-3i32) as u32 as u64);
        assert_eq!(float_to_int(true, 64, f64::INFINITY), i64::MAX as u64);
        assert_eq!(float_to_int(true, 64, f64::NEG_INFINITY), i64::MIN as u64);
        assert_eq!(float_to_int(false, 64, 1e300), u64::MAX);
        assert_eq!(float_to_int(true, 64, f64::NAN), 0);
    }
}
