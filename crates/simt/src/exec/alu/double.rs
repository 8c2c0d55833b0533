//! Double precision. Only references use it, so one function serves all kinds of operands, but for the commonest
//! operations; the immediate says which operand is a scalar.

#[allow(clippy::wildcard_imports)] // The second half of its parent: it needs every shape that stands there.
use super::*;
use crate::semantics64 as double;

/// Bits of the immediate: operands that are scalars, and a scalar result.
const A: u64 = 1 << 8;
const B: u64 = 1 << 9;
const C: u64 = 1 << 10;
const SCALAR: u64 = 1 << 11;

#[inline(always)]
unsafe fn read(w: *mut Warp, off: u32, uniform: bool, c: usize) -> [u64; CHUNK] {
    // SAFETY: as `r64`.
    unsafe { if uniform { r64::<true>(w, off, c) } else { r64::<false>(w, off, c) } }
}

bodies! {
    fma<; >(w, i) {
        if i.x & SCALAR != 0 {
            *(*w).at::<u64>(i.d) = double::fma(*(*w).at(i.a), *(*w).at(i.b), *(*w).at(i.c));
        } else {
            for c in 0..2 {
                let (a, b) = (read(w, i.a, i.x & A != 0, c), read(w, i.b, i.x & B != 0, c));
                let d = read(w, i.c, i.x & C != 0, c);
                let mut r = [0u64; CHUNK];
                for l in 0..CHUNK { r[l] = double::fma(a[l], b[l], d[l]); }
                w64(w, i.d, c, r);
            }
        }
    }
    any1<; >(w, i) {
        let op = FUNS[(i.x & 0xff) as usize % FUNS.len()];
        if i.x & SCALAR != 0 {
            *(*w).at::<u64>(i.d) = double::fun(op, *(*w).at(i.a));
        } else {
            for c in 0..2 {
                w64(w, i.d, c, read(w, i.a, i.x & A != 0, c).map(|a| double::fun(op, a)));
            }
        }
    }
    any2<; >(w, i) {
        let op = FBINS[(i.x & 0xff) as usize % FBINS.len()];
        if i.x & SCALAR != 0 {
            *(*w).at::<u64>(i.d) = double::fbin(op, *(*w).at(i.a), *(*w).at(i.b));
        } else {
            for c in 0..2 {
                let (a, b) = (read(w, i.a, i.x & A != 0, c), read(w, i.b, i.x & B != 0, c));
                let mut r = [0u64; CHUNK];
                for l in 0..CHUNK { r[l] = double::fbin(op, a[l], b[l]); }
                w64(w, i.d, c, r);
            }
        }
    }
    compare<; >(w, i) {
        let p = FLOAT_PREDS[(i.x & 0xff) as usize % FLOAT_PREDS.len()];
        let mut m = 0u32;
        for c in 0..2 {
            let (a, b) = (read(w, i.a, i.x & A != 0, c), read(w, i.b, i.x & B != 0, c));
            let mut h = 0u32;
            for l in 0..CHUNK { h |= u32::from(double::fcmp(p, a[l], b[l])) << l; }
            m |= h << (c * CHUNK);
        }
        *(*w).at::<u32>(i.d) = m;
    }
    to_narrow_integer<; >(w, i) {
        let (signed, bits) = (i.x & B != 0, i.x as u8);
        if i.x & SCALAR != 0 {
            *(*w).at::<u64>(i.d) = double::float_to_int(signed, bits, *(*w).at(i.a));
        } else {
            for c in 0..2 {
                let a = read(w, i.a, i.x & A != 0, c);
                w32(w, i.d, c, a.map(|a| double::float_to_int(signed, bits, f64::from_bits(a)) as u32));
            }
        }
    }
}

struct Bin<const N: usize>;
impl<const N: usize> Wide2 for Bin<N> {
    #[inline(always)]
    fn f(a: u64, b: u64) -> u64 {
        double::fbin(FBINS[N], a, b)
    }
}
struct Un<const N: usize>;
impl<const N: usize> Wide1 for Un<N> {
    #[inline(always)]
    fn f(a: u64, _: u64) -> u64 {
        double::fun(FUNS[N], a)
    }
}
/// Binary32 to binary64.
struct FromFloat;
impl Widen for FromFloat {
    #[inline(always)]
    fn f(a: u32, _: u64) -> u64 {
        sem::cvt(Cvt::FToD, u64::from(a))
    }
}
struct FromInt<const SIGNED: bool>;
impl<const SIGNED: bool> Widen for FromInt<SIGNED> {
    #[inline(always)]
    fn f(a: u32, _: u64) -> u64 {
        sem::cvt(Cvt::IToD { signed: SIGNED }, u64::from(a))
    }
}
impl<const SIGNED: bool> Wide1 for FromInt<SIGNED> {
    #[inline(always)]
    fn f(a: u64, _: u64) -> u64 {
        sem::cvt(Cvt::LToD { signed: SIGNED }, a)
    }
}
/// To an integer of more than 32 bits; the immediate is the width.
struct ToInt<const SIGNED: bool>;
impl<const SIGNED: bool> Wide1 for ToInt<SIGNED> {
    #[inline(always)]
    fn f(a: u64, x: u64) -> u64 {
        double::float_to_int(SIGNED, x as u8, f64::from_bits(a))
    }
}
/// To a narrower float: 0 binary32, 1 binary16, 2 bfloat16.
struct Round<const N: usize>;
impl<const N: usize> Narrow for Round<N> {
    #[inline(always)]
    fn f(a: u64) -> u32 {
        sem::cvt([Cvt::DToF, Cvt::DToF16, Cvt::DToBf16][N], a) as u32
    }
}

/// As [`super::select`], for operations in double precision.
pub fn select(op: Op, k: Kinds) -> Option<(OpFn, u64)> {
    let kinds = [(k.a, A), (k.b, B), (k.c, C), (k.scalar, SCALAR)];
    let x = kinds.iter().filter(|(on, _)| *on).fold(0, |x, (_, bit)| x | bit);
    Some(match op {
        Op::FBin64(o @ (FBin::Add | FBin::Sub | FBin::Mul | FBin::Div | FBin::Min | FBin::Max)) => {
            (by_index!(o as usize, g2, Bin, k; 0 1 2 3 5 6), 0)
        }
        Op::FBin64(o) => (any2::pick(k.isa), x | o as u64),
        Op::FUn64(o @ (FUn::Neg | FUn::Abs | FUn::Floor | FUn::Sqrt)) => {
            (by_index!(o as usize, g1, Un, k; 0 1 2 13), 0)
        }
        Op::FUn64(o) => (any1::pick(k.isa), x | o as u64),
        Op::Fma64 => (fma::pick(k.isa), x),
        Op::FCmp64(p) => (compare::pick(k.isa), x | p as u64),
        Op::Cvt(c) => match c {
            Cvt::FToD => (up::<FromFloat>(k)?, 0),
            Cvt::IToD { signed: true } => (up::<FromInt<true>>(k)?, 0),
            Cvt::IToD { signed: false } => (up::<FromInt<false>>(k)?, 0),
            Cvt::LToD { signed: true } => (g1::<FromInt<true>>(k)?, 0),
            Cvt::LToD { signed: false } => (g1::<FromInt<false>>(k)?, 0),
            Cvt::DToF => (down::<Round<0>>(k)?, 0),
            Cvt::DToF16 => (down::<Round<1>>(k)?, 0),
            Cvt::DToBf16 => (down::<Round<2>>(k)?, 0),
            Cvt::DToI { signed, bits: bits @ 33.. } => {
                let f = if signed { g1::<ToInt<true>>(k)? } else { g1::<ToInt<false>>(k)? };
                (f, u64::from(bits))
            }
            Cvt::DToI { signed, bits } => {
                let signed = if signed { B } else { 0 };
                (to_narrow_integer::pick(k.isa), (x & (A | SCALAR)) | signed | u64::from(bits))
            }
            _ => return None,
        },
        _ => return None,
    })
}
