//! Library functions of one binary32 value: a form without branches, which loops over lanes turn into vector code, and a
//! plain form for the arguments that the first does not cover. Both work in binary64 and round once, so results are
//! within a unit in the last place. Knows numbers alone.

// Inlined into loops over lanes, as the rest of the semantics.
#![allow(clippy::inline_always)]

use std::f64::consts::{LN_2, LOG2_10, LOG2_E, LOG10_2, PI};

use crate::lower::sir::FUn;
use crate::semantics64 as double;

/// Adding this to a small number rounds it to an integer, which then stands in the low bits.
const MAGIC: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52

/// `2^t` for `|t|` up to 1000.
#[inline(always)]
fn exp2_core(t: f64) -> f64 {
    let shifted = t + MAGIC;
    let r = (t - (shifted - MAGIC)) * LN_2;
    // Taylor's series; |r| is at most 0.35, so the first term left out is below 2e-13.
    let mut p = 1.0 / 3_628_800.0;
    for c in
        [1.0 / 362_880.0, 1.0 / 40_320.0, 1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0]
    {
        p = p * r + c;
    }
    f64::from_bits(p.to_bits().wrapping_add(shifted.to_bits() << 52))
}

/// `2^t`, clamped to where binary32 is infinite or zero anyway.
#[inline(always)]
fn exp2_any(t: f64) -> f64 {
    let c = if t > 300.0 { 300.0 } else { t };
    let c = if c > -300.0 { c } else { -300.0 };
    let r = exp2_core(c);
    if t.is_nan() { t } else { r }
}

/// Exponent and natural logarithm of the significand of a positive finite number.
#[inline(always)]
fn split_log(x: f64) -> (f64, f64) {
    let bits = x.to_bits();
    // The significand goes to [sqrt(1/2), sqrt(2)).
    let k = (bits.wrapping_sub(std::f64::consts::FRAC_1_SQRT_2.to_bits()) as i64) >> 52;
    let m = f64::from_bits(bits.wrapping_sub((k << 52) as u64));
    let k = f64::from_bits(0x4338_0000_0000_0000u64.wrapping_add(k as u64)) - MAGIC;
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    // atanh's series; z is below 0.0295, so the first term left out is below 2e-12.
    let mut p = 1.0 / 13.0;
    for c in [1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 0.2, 1.0 / 3.0, 1.0] {
        p = p * z + c;
    }
    (k, 2.0 * s * p)
}

/// A logarithm from exponent and significand, with the special cases of all of them.
#[inline(always)]
fn log_with(x: f32, scale_k: f64, scale_m: f64) -> f32 {
    let d = f64::from(x);
    let (k, l) = split_log(if x > 0.0 && x < f32::INFINITY { d } else { 1.0 });
    let r = (k * scale_k + l * scale_m) as f32;
    let r = if x == f32::INFINITY { x } else { r };
    let r = if x == 0.0 { f32::NEG_INFINITY } else { r };
    if x < 0.0 || x.is_nan() { f32::NAN } else { r }
}

/// Quadrant and remainder of an angle below a million.
#[inline(always)]
fn quadrant(d: f64) -> (u64, f64) {
    let shifted = d * (2.0 / PI) + MAGIC;
    let k = shifted - MAGIC;
    // pi/2 in two parts: the first has 33 significant bits, so its product with k is exact.
    let hi = 1.570_796_326_734_125_6;
    let lo = 6.077_100_506_506_192e-11;
    (shifted.to_bits(), (d - k * hi) - k * lo)
}

#[inline(always)]
fn sin_poly(r: f64) -> f64 {
    let z = r * r;
    let mut p = 1.0 / 6_227_020_800.0;
    for c in [-1.0 / 39_916_800.0, 1.0 / 362_880.0, -1.0 / 5040.0, 1.0 / 120.0, -1.0 / 6.0, 1.0] {
        p = p * z + c;
    }
    p * r
}

#[inline(always)]
fn cos_poly(r: f64) -> f64 {
    let z = r * r;
    let mut p = 1.0 / 479_001_600.0;
    for c in [-1.0 / 3_628_800.0, 1.0 / 40_320.0, -1.0 / 720.0, 1.0 / 24.0, -0.5, 1.0] {
        p = p * z + c;
    }
    p
}

/// Sine (`turn` 0) or cosine (`turn` 1).
#[inline(always)]
fn sin_cos(d: f64, turn: u64) -> f64 {
    let (k, r) = quadrant(d);
    let q = k.wrapping_add(turn);
    let v = if q & 1 == 0 { sin_poly(r) } else { cos_poly(r) };
    f64::from_bits(v.to_bits() ^ (q & 2) << 62)
}

/// Does [`fast`] know the function?
pub const fn has_fast(op: FUn) -> bool {
    matches!(
        op,
        FUn::Exp
            | FUn::Exp2
            | FUn::Exp10
            | FUn::Log
            | FUn::Log2
            | FUn::Log10
            | FUn::Sin
            | FUn::Cos
            | FUn::Tan
            | FUn::Sinh
            | FUn::Cosh
            | FUn::Tanh
            | FUn::Rsqrt
    )
}

/// Arguments that [`fast`] does not cover.
#[inline(always)]
pub fn is_hard(op: FUn, x: f32) -> bool {
    match op {
        // Angles whose reduction needs more digits; NaN and infinity too.
        FUn::Sin | FUn::Cos | FUn::Tan => x.abs() >= 1.0e6 || x.is_nan(),
        // Differences of numbers that are almost equal.
        FUn::Sinh | FUn::Tanh => x.abs() < 1.0e-3,
        _ => false,
    }
}

/// The form without branches.
#[inline(always)]
pub fn fast(op: FUn, x: f32) -> f32 {
    let d = f64::from(x);
    match op {
        FUn::Exp => exp2_any(d * LOG2_E) as f32,
        FUn::Exp2 => exp2_any(d) as f32,
        FUn::Exp10 => exp2_any(d * LOG2_10) as f32,
        FUn::Log => log_with(x, LN_2, 1.0),
        FUn::Log2 => log_with(x, 1.0, LOG2_E),
        FUn::Log10 => log_with(x, LOG10_2, std::f64::consts::LOG10_E),
        FUn::Sin => sin_cos(d, 0) as f32,
        FUn::Cos => sin_cos(d, 1) as f32,
        FUn::Tan => (sin_cos(d, 0) / sin_cos(d, 1)) as f32,
        FUn::Sinh => {
            let e = exp2_any(d * LOG2_E);
            ((e - 1.0 / e) * 0.5) as f32
        }
        FUn::Cosh => {
            let e = exp2_any(d * LOG2_E);
            ((e + 1.0 / e) * 0.5) as f32
        }
        FUn::Tanh => {
            let e = exp2_any(d * (2.0 * LOG2_E));
            (1.0 - 2.0 / (e + 1.0)) as f32
        }
        FUn::Rsqrt => 1.0 / x.sqrt(),
        _ => x,
    }
}

/// `x^y` for positive finite `x` and finite `y`.
#[inline(always)]
pub fn fast_pow(x: f32, y: f32) -> f32 {
    let (k, l) = split_log(f64::from(x));
    exp2_any((k + l * LOG2_E) * f64::from(y)) as f32
}

/// Arguments that [`fast_pow`] does not cover.
#[inline(always)]
pub fn is_hard_pow(x: f32, y: f32) -> bool {
    !(x > 0.0 && x < f32::INFINITY && y.abs() < f32::INFINITY)
}

/// Any function, any argument: computed in binary64 and rounded once.
pub fn exact(op: FUn, x: f32) -> f32 {
    double::library(op, f64::from(x)) as f32
}

/// The function as the machine computes it, whichever form that takes.
pub fn eval(op: FUn, x: f32) -> f32 {
    if has_fast(op) && !is_hard(op, x) { fast(op, x) } else { exact(op, x) }
}

/// `x^y` as the machine computes it.
pub fn pow(x: f32, y: f32) -> f32 {
    if is_hard_pow(x, y) { f64::from(x).powf(f64::from(y)) as f32 } else { fast_pow(x, y) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Distance in units of the last place.
    fn ulps(a: f32, b: f32) -> u32 {
        if a == b || (a.is_nan() && b.is_nan()) {
            return 0;
        }
        let key = |x: f32| {
            let b = x.to_bits() as i32;
            i64::from(if b < 0 { i32::MIN.wrapping_sub(b) } else { b })
        };
        (key(a) - key(b)).unsigned_abs().min(u64::from(u32::MAX)) as u32
    }

    #[test]
    fn the_form_without_branches_is_within_one_ulp() {
        let ops = [
            FUn::Exp,
            FUn::Exp2,
            FUn::Exp10,
            FUn::Log,
            FUn::Log2,
            FUn::Log10,
            FUn::Sin,
            FUn::Cos,
            FUn::Tan,
            FUn::Sinh,
            FUn::Cosh,
            FUn::Tanh,
            FUn::Rsqrt,
        ];
        let mut seed = 12345u32;
        for op in ops {
            assert!(has_fast(op));
            let check = |x: f32| {
                if !is_hard(op, x) {
                    let (a, b) = (fast(op, x), exact(op, x));
                    assert!(ulps(a, b) <= 1, "{op:?}({x}) = {a}, exactly {b}");
                }
            };
            for x in [
                0.0,
                -0.0,
                1.0,
                -1.0,
                f32::INFINITY,
                f32::NEG_INFINITY,
                f32::NAN,
                1e-45,
                3e38,
                -3e38,
                88.7,
                -103.9,
                127.99,
                -149.5,
            ] {
                check(x);
            }
            for _ in 0..30_000 {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                check(f32::from_bits(seed));
                check((seed >> 8) as f32 / 65536.0 - 128.0);
            }
        }
    }

    #[test]
    fn powers() {
        let mut seed = 99u32;
        let mut next = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) as f32 / 65536.0
        };
        for _ in 0..30_000 {
            let (x, y) = (next(), next() / 16.0 - 8.0);
            assert!(ulps(pow(x, y), f64::from(x).powf(f64::from(y)) as f32) <= 1, "{x}^{y}");
        }
        for (x, y) in [(0.0, 0.0), (-2.0, 3.0), (-2.0, 0.5), (f32::INFINITY, -1.0), (0.0, -2.0), (1.0, f32::NAN)] {
            assert_eq!(ulps(pow(x, y), x.powf(y)), 0, "{x}^{y}");
        }
    }

    #[test]
    fn inverse_error_function() {
        for k in -999..1000 {
            let y = k as f32 / 1000.0;
            let back = libm::erf(f64::from(exact(FUn::Erfinv, y)));
            assert!((back - f64::from(y)).abs() < 1e-6, "{y}");
        }
    }
}
