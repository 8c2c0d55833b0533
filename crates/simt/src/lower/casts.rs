//! Conversions between types of values, and between their bits. Must not know control flow or memory.

use super::LowerError;
use super::build::{Builder, TAG_PRIVATE, TAG_THREADGROUP, Val, class_of};
use super::layout::Scalar;
use super::sir::{Class, Cvt, FUn, IOp, IntPred, V};
use crate::reader::ir::CastOp;
use smallvec::smallvec;

impl Builder<'_> {
    /// One scalar cast.
    pub fn cast_scalar(&mut self, op: CastOp, s: Scalar, t: Scalar, x: V) -> Result<V, LowerError> {
        let bad = || LowerError::malformed("a cast between these kinds");
        Ok(match (op, s, t) {
            (CastOp::ZExt | CastOp::SExt, Scalar::Int(1), Scalar::Int(b)) => {
                let ones = if b == 64 { u64::MAX } else { (1u64 << b) - 1 };
                let one = if op == CastOp::SExt { ones } else { 1 };
                let (a, z) =
                    if b > 32 { (self.mk.c64(one), self.mk.c64(0)) } else { (self.mk.c32(one as u32), self.mk.c32(0)) };
                self.mk.sel(x, a, z)
            }
            (CastOp::ZExt, Scalar::Int(a), Scalar::Int(b)) => {
                if a <= 32 && b > 32 {
                    self.mk.cvt(Cvt::Zext64, x)
                } else {
                    x
                }
            }
            (CastOp::SExt, Scalar::Int(a), Scalar::Int(b)) => {
                let x = self.sext_in_register(x, a);
                let x = if a <= 32 && b > 32 { self.mk.cvt(Cvt::Sext64, x) } else { x };
                self.clean(x, b)
            }
            (CastOp::Trunc, Scalar::Int(a), Scalar::Int(b)) => {
                let x = if a > 32 && b <= 32 { self.mk.cvt(Cvt::Lo, x) } else { x };
                if b == 1 {
                    let one = if self.mk.f.node(x).class == Class::B64 { self.mk.c64(1) } else { self.mk.c32(1) };
                    let wide = self.mk.f.node(x).class == Class::B64;
                    let bit = if wide { self.mk.i64(IOp::And, x, one) } else { self.mk.i32(IOp::And, x, one) };
                    let zero = if wide { self.mk.c64(0) } else { self.mk.c32(0) };
                    self.mk.icmp(IntPred::Ne, bit, zero)
                } else {
                    self.clean(x, b)
                }
            }
            (CastOp::FpExt, Scalar::F16 | Scalar::Bf16 | Scalar::F32, Scalar::F64) => self.mk.cvt(Cvt::FToD, x),
            (CastOp::FpTrunc, Scalar::F64, Scalar::F32) => self.mk.cvt(Cvt::DToF, x),
            (CastOp::FpTrunc, Scalar::F64, Scalar::F16) => self.mk.cvt(Cvt::DToF16, x),
            (CastOp::FpTrunc, Scalar::F64, Scalar::Bf16) => self.mk.cvt(Cvt::DToBf16, x),
            (CastOp::FpExt, _, _) => x,
            (CastOp::FpTrunc, _, t) => self.round(x, t),
            (CastOp::FpToUi | CastOp::FpToSi, s, Scalar::Int(1)) => {
                let z = self.zero(s);
                self.mk.fcmp(crate::reader::ir::FloatPred::Une, x, z)
            }
            (CastOp::FpToUi, _, Scalar::Int(b)) => self.mk.float_to_int(false, b, x),
            (CastOp::FpToSi, _, Scalar::Int(b)) => self.mk.float_to_int(true, b, x),
            (CastOp::UiToFp | CastOp::SiToFp, Scalar::Int(1), Scalar::F64) => {
                let one = if op == CastOp::SiToFp { -1f64 } else { 1f64 };
                let (a, z) = (self.mk.c64(one.to_bits()), self.mk.c64(0));
                self.mk.sel(x, a, z)
            }
            (CastOp::UiToFp | CastOp::SiToFp, Scalar::Int(a), Scalar::F64) => {
                let signed = op == CastOp::SiToFp;
                let x = if signed { self.sext_in_register(x, a) } else { x };
                self.mk.cvt(if a > 32 { Cvt::LToD { signed } } else { Cvt::IToD { signed } }, x)
            }
            (CastOp::UiToFp | CastOp::SiToFp, Scalar::Int(1), _) => {
                let one = if op == CastOp::SiToFp { -1f32 } else { 1f32 };
                let (a, z) = (self.mk.c32(one.to_bits()), self.mk.c32(0));
                self.mk.sel(x, a, z)
            }
            (CastOp::UiToFp | CastOp::SiToFp, Scalar::Int(a), t) => {
                let signed = op == CastOp::SiToFp;
                let x = if signed { self.sext_in_register(x, a) } else { x };
                let r = self.mk.cvt(if a > 32 { Cvt::LToF { signed } } else { Cvt::IToF { signed } }, x);
                self.round(r, t)
            }
            (CastOp::PtrToInt, Scalar::Ptr(p), Scalar::Int(b)) => {
                let wide = class_of(Scalar::Ptr(p)) == Class::B64;
                match (wide, b > 32) {
                    (false, true) => self.mk.cvt(Cvt::Zext64, x),
                    (true, false) => {
                        let lo = self.mk.cvt(Cvt::Lo, x);
                        self.clean(lo, b)
                    }
                    _ => self.clean(x, b),
                }
            }
            (CastOp::IntToPtr, Scalar::Int(a), Scalar::Ptr(p)) => {
                let wide = class_of(Scalar::Ptr(p)) == Class::B64;
                match (a > 32, wide) {
                    (false, true) => self.mk.cvt(Cvt::Zext64, x),
                    (true, false) => self.mk.cvt(Cvt::Lo, x),
                    _ => x,
                }
            }
            (CastOp::AddrSpaceCast, Scalar::Ptr(a), Scalar::Ptr(b)) => match (a, b) {
                (3, 4) | (0, 4) => {
                    let w = self.mk.cvt(Cvt::Zext64, x);
                    let t = self.mk.c64(if a == 3 { TAG_THREADGROUP } else { TAG_PRIVATE });
                    self.mk.i64(IOp::Or, w, t)
                }
                (4, 3 | 0) => match self.strip_generic(x) {
                    Some((_, y)) => y,
                    None => self.mk.cvt(Cvt::Lo, x),
                },
                (1 | 2 | 4, 1 | 2 | 4) => x,
                (a, b) if a == b => x,
                _ => return Err(LowerError::unsupported("a cast between these address spaces")),
            },
            (CastOp::BitCast, s, t) => {
                self.bitcast(&[(0, s)], &[(0, t)], &smallvec![x]).into_iter().next().ok_or_else(bad)?
            }
            _ => return Err(bad()),
        })
    }

    /// Bits of a scalar as an integer.
    fn bits_of(&mut self, s: Scalar, x: V) -> (V, u32) {
        match s {
            Scalar::F16 => (self.mk.fun(FUn::F16Bits, x), 16),
            Scalar::Bf16 => (self.mk.fun(FUn::Bf16Bits, x), 16),
            Scalar::F32 => (x, 32),
            Scalar::F64 => (x, 64),
            Scalar::Int(1) => {
                let (a, z) = (self.mk.c32(1), self.mk.c32(0));
                (self.mk.sel(x, a, z), 1)
            }
            Scalar::Int(b) => (x, u32::from(b)),
            Scalar::Ptr(p) => {
                (if class_of(Scalar::Ptr(p)) == Class::B64 { x } else { self.mk.cvt(Cvt::Zext64, x) }, 64)
            }
        }
    }

    fn of_bits(&mut self, t: Scalar, x: V) -> V {
        match t {
            Scalar::F16 => self.mk.fun(FUn::F16From, x),
            Scalar::Bf16 => self.mk.fun(FUn::Bf16From, x),
            Scalar::Int(1) => {
                let z = self.mk.c32(0);
                self.mk.icmp(IntPred::Ne, x, z)
            }
            Scalar::Ptr(p) if class_of(Scalar::Ptr(p)) == Class::B32 => self.mk.cvt(Cvt::Lo, x),
            _ => x,
        }
    }

    /// Reinterprets bits: the source is cut into pieces of at most 32 bits, which the results are put together from.
    pub fn bitcast(&mut self, from: &[(u64, Scalar)], to: &[(u64, Scalar)], v: &Val) -> Val {
        if from.len() == to.len() && from.iter().zip(to).all(|(a, b)| a.1 == b.1) {
            return v.clone();
        }
        let mut pieces: Vec<(u32, u32, V)> = Vec::new(); // bit offset, bits, value
        let mut at = 0;
        for (&(_, s), &x) in from.iter().zip(v.iter()) {
            let (x, bits) = self.bits_of(s, x);
            if bits > 32 {
                let (lo, hi) = (self.mk.cvt(Cvt::Lo, x), self.mk.cvt(Cvt::Hi, x));
                pieces.push((at, 32, lo));
                pieces.push((at + 32, bits - 32, hi));
            } else {
                pieces.push((at, bits, x));
            }
            at += bits;
        }
        let mut out = Val::new();
        let mut at = 0;
        for &(_, t) in to {
            let bits = match t {
                Scalar::F16 | Scalar::Bf16 => 16,
                Scalar::F32 => 32,
                Scalar::Int(b) => u32::from(b),
                Scalar::F64 | Scalar::Ptr(_) => 64,
            };
            let x = if bits > 32 {
                let lo = self.gather_bits(&pieces, at, 32);
                let hi = self.gather_bits(&pieces, at + 32, bits - 32);
                self.mk.pack(lo, hi)
            } else {
                self.gather_bits(&pieces, at, bits)
            };
            let x = self.of_bits(t, x);
            out.push(self.mark(x, t));
            at += bits;
        }
        out
    }

    /// `bits` bits from bit `at` of a row of pieces.
    pub(super) fn gather_bits(&mut self, pieces: &[(u32, u32, V)], at: u32, bits: u32) -> V {
        let mut acc: Option<V> = None;
        for &(p, n, x) in pieces {
            let (lo, hi) = (p.max(at), (p + n).min(at + bits));
            if lo >= hi {
                continue;
            }
            let mut x = x;
            if lo > p {
                let s = self.mk.c32(lo - p);
                x = self.mk.i32(IOp::LShr, x, s);
            }
            if hi < p + n {
                let m = self.mk.c32(((1u64 << (hi - lo)) - 1) as u32);
                x = self.mk.i32(IOp::And, x, m);
            }
            if lo > at {
                let s = self.mk.c32(lo - at);
                x = self.mk.i32(IOp::Shl, x, s);
            }
            acc = Some(match acc {
                Some(a) => self.mk.i32(IOp::Or, a, x),
                None => x,
            });
        }
        acc.unwrap_or_else(|| self.mk.c32(0))
    }

    /// Casts to or from integers of 65 to 128 bits, which are two halves.
    pub fn cast_wide(
        &mut self,
        op: CastOp,
        from: &[(u64, Scalar)],
        to: &[(u64, Scalar)],
        v: &Val,
    ) -> Result<Val, LowerError> {
        match op {
            CastOp::BitCast => Ok(self.bitcast(from, to, v)),
            // Bits beyond the source read as zero.
            CastOp::ZExt | CastOp::Trunc => Ok(self.bitcast_unequal(from, to, v)),
            _ => Err(LowerError::unsupported("arithmetic on integers wider than 64 bits")),
        }
    }

    fn bitcast_unequal(&mut self, from: &[(u64, Scalar)], to: &[(u64, Scalar)], v: &Val) -> Val {
        // Force the general path even where the first leaves agree.
        let mut padded: Vec<(u64, Scalar)> = from.to_vec();
        let mut vals = v.clone();
        while padded.len() <= to.len() {
            padded.push((0, Scalar::Int(32)));
            let z = self.mk.c32(0);
            vals.push(z);
        }
        self.bitcast(&padded, to, &vals)
    }
}
