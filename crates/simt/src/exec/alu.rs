//! Arithmetic: one generic body for each shape of operation, instantiated per operation, operand kind and host
//! instruction set. Writes all lanes of the result whatever the mask is.

use self::operators::{
    FBINS, FLOAT_PREDS, FToI, FToI32, FUNS, Fcmp, Float, Float1, Fma, FmaF16, Fshl, Hi, IToF, Icmp, Int, Int1, LToF,
    Lo, Rare, Sext, Zext, iun_index,
};
use super::{Inst, Isa, OpFn, Warp, next};
use crate::lower::linear::Reg;
use crate::lower::sir::{Class, Cvt, FBin, FUn, Op};
use crate::semantics as sem;

/// Lanes worked on at a time: small enough for the compiler to keep in vector registers.
const CHUNK: usize = 16;

/// 32 bits in, 32 bits out; `x` is the instruction's immediate.
trait Op1 {
    fn f(a: u32, x: u64) -> u32;
}
/// A library function with a form for vectors.
trait Math1 {
    const OP: FUn;
}
trait Op2 {
    fn f(a: u32, b: u32) -> u32;
}
trait Op3 {
    fn f(a: u32, b: u32, c: u32, x: u64) -> u32;
}
trait Wide1 {
    fn f(a: u64, x: u64) -> u64;
}
trait Wide2 {
    fn f(a: u64, b: u64) -> u64;
}
/// 32 bits to 64.
trait Widen {
    fn f(a: u32, x: u64) -> u64;
}
/// 64 bits to 32.
trait Narrow {
    fn f(a: u64) -> u32;
}
trait Cmp2 {
    fn f(a: u32, b: u32) -> bool;
}
trait WideCmp2 {
    fn f(a: u64, b: u64) -> bool;
}

/// A chunk of a 32-bit operand.
#[inline(always)]
unsafe fn r32<const U: bool>(w: *mut Warp, off: u32, c: usize) -> [u32; CHUNK] {
    // SAFETY: offsets come from the assembler; vector slots hold 32 words, scalar slots one.
    unsafe { if U { [*(*w).at::<u32>(off); CHUNK] } else { *(*w).at::<u32>(off).add(c * CHUNK).cast() } }
}

/// A chunk of a 64-bit operand.
#[inline(always)]
unsafe fn r64<const U: bool>(w: *mut Warp, off: u32, c: usize) -> [u64; CHUNK] {
    // SAFETY: as `r32`.
    unsafe { if U { [*(*w).at::<u64>(off); CHUNK] } else { *(*w).at::<u64>(off).add(c * CHUNK).cast() } }
}

#[inline(always)]
unsafe fn w32(w: *mut Warp, off: u32, c: usize, v: [u32; CHUNK]) {
    // SAFETY: as `r32`.
    unsafe { *(*w).at::<u32>(off).add(c * CHUNK).cast() = v }
}

#[inline(always)]
unsafe fn w64(w: *mut Warp, off: u32, c: usize, v: [u64; CHUNK]) {
    // SAFETY: as `r32`.
    unsafe { *(*w).at::<u64>(off).add(c * CHUNK).cast() = v }
}

/// Defines a body and its copies for each host instruction set, and a function that picks one.
macro_rules! bodies {
    ($( $(#[$doc:meta])* $name:ident < $($g:ident : $t:ident),* ; $($cg:ident),* > ($w:ident, $i:ident) $body:block )*) => {$(
        // Not every body has operands for which a wider instruction set pays.
        #[allow(dead_code)]
        mod $name {
            use super::*;
            #[inline(always)]
            pub unsafe fn generic<$($g: $t,)* $(const $cg: bool),*>($w: *mut Warp, $i: *const Inst) -> *const Inst {
                // SAFETY: the machine calls instructions with a warp of the same code (see `super::super::run`).
                unsafe {
                    let $i = &*$i;
                    $body
                    next($i)
                }
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,f16c")]
            pub unsafe fn avx2<$($g: $t,)* $(const $cg: bool),*>(w: *mut Warp, i: *const Inst) -> *const Inst {
                // SAFETY: as `generic`; the assembler picks this copy only where the features are present.
                unsafe { generic::<$($g,)* $($cg),*>(w, i) }
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
            pub unsafe fn avx512<$($g: $t,)* $(const $cg: bool),*>(w: *mut Warp, i: *const Inst) -> *const Inst {
                // SAFETY: as `avx2`.
                unsafe { generic::<$($g,)* $($cg),*>(w, i) }
            }
            pub fn pick<$($g: $t,)* $(const $cg: bool),*>(isa: Isa) -> OpFn {
                match isa {
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx2 => avx2::<$($g,)* $($cg),*>,
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx512 => avx512::<$($g,)* $($cg),*>,
                    _ => generic::<$($g,)* $($cg),*>,
                }
            }
        }
    )*};
}

bodies! {
    v1<O: Op1; >(w, i) {
        for c in 0..2 {
            let a = r32::<false>(w, i.a, c);
            let mut r = [0u32; CHUNK];
            for l in 0..CHUNK { r[l] = O::f(a[l], i.x); }
            w32(w, i.d, c, r);
        }
    }
    math1<O: Math1; >(w, i) {
        for c in 0..2 {
            let a = r32::<false>(w, i.a, c);
            let mut r = [0u32; CHUNK];
            let mut hard = 0u32;
            for l in 0..CHUNK {
                let x = f32::from_bits(a[l]);
                r[l] = sem::math::fast(O::OP, x).to_bits();
                hard |= u32::from(sem::math::is_hard(O::OP, x)) << l;
            }
            while hard != 0 {
                let l = hard.trailing_zeros() as usize % CHUNK;
                hard &= hard - 1;
                r[l] = sem::math::exact(O::OP, f32::from_bits(a[l])).to_bits();
            }
            w32(w, i.d, c, r);
        }
    }
    pow2<; UA, UB>(w, i) {
        for c in 0..2 {
            let (a, b) = (r32::<UA>(w, i.a, c), r32::<UB>(w, i.b, c));
            let mut r = [0u32; CHUNK];
            let mut hard = 0u32;
            for l in 0..CHUNK {
                let (x, y) = (f32::from_bits(a[l]), f32::from_bits(b[l]));
                r[l] = sem::math::fast_pow(x, y).to_bits();
                hard |= u32::from(sem::math::is_hard_pow(x, y)) << l;
            }
            while hard != 0 {
                let l = hard.trailing_zeros() as usize % CHUNK;
                hard &= hard - 1;
                // The immediate tells `pow` from `powr`.
                let op = if i.x == 0 { FBin::Pow } else { FBin::Powr };
                r[l] = sem::fbin(op, a[l], b[l]);
            }
            w32(w, i.d, c, r);
        }
    }
    s1<O: Op1; >(w, i) {
        *(*w).at::<u64>(i.d) = u64::from(O::f(*(*w).at(i.a), i.x));
    }
    v2<O: Op2; UA, UB>(w, i) {
        for c in 0..2 {
            let (a, b) = (r32::<UA>(w, i.a, c), r32::<UB>(w, i.b, c));
            let mut r = [0u32; CHUNK];
            for l in 0..CHUNK { r[l] = O::f(a[l], b[l]); }
            w32(w, i.d, c, r);
        }
    }
    s2<O: Op2; >(w, i) {
        *(*w).at::<u64>(i.d) = u64::from(O::f(*(*w).at(i.a), *(*w).at(i.b)));
    }
    v3<O: Op3; UA, UB, UC>(w, i) {
        for c in 0..2 {
            let (a, b, d) = (r32::<UA>(w, i.a, c), r32::<UB>(w, i.b, c), r32::<UC>(w, i.c, c));
            let mut r = [0u32; CHUNK];
            for l in 0..CHUNK { r[l] = O::f(a[l], b[l], d[l], i.x); }
            w32(w, i.d, c, r);
        }
    }
    s3<O: Op3; >(w, i) {
        *(*w).at::<u64>(i.d) = u64::from(O::f(*(*w).at(i.a), *(*w).at(i.b), *(*w).at(i.c), i.x));
    }
    wide1<O: Wide1; >(w, i) {
        for c in 0..2 {
            let a = r64::<false>(w, i.a, c);
            let mut r = [0u64; CHUNK];
            for l in 0..CHUNK { r[l] = O::f(a[l], i.x); }
            w64(w, i.d, c, r);
        }
    }
    swide1<O: Wide1; >(w, i) {
        *(*w).at::<u64>(i.d) = O::f(*(*w).at(i.a), i.x);
    }
    wide2<O: Wide2; UA, UB>(w, i) {
        for c in 0..2 {
            let (a, b) = (r64::<UA>(w, i.a, c), r64::<UB>(w, i.b, c));
            let mut r = [0u64; CHUNK];
            for l in 0..CHUNK { r[l] = O::f(a[l], b[l]); }
            w64(w, i.d, c, r);
        }
    }
    swide2<O: Wide2; >(w, i) {
        *(*w).at::<u64>(i.d) = O::f(*(*w).at(i.a), *(*w).at(i.b));
    }
    widen<O: Widen; >(w, i) {
        for c in 0..2 {
            let a = r32::<false>(w, i.a, c);
            let mut r = [0u64; CHUNK];
            for l in 0..CHUNK { r[l] = O::f(a[l], i.x); }
            w64(w, i.d, c, r);
        }
    }
    swiden<O: Widen; >(w, i) {
        *(*w).at::<u64>(i.d) = O::f(*(*w).at(i.a), i.x);
    }
    narrow<O: Narrow; >(w, i) {
        for c in 0..2 {
            let a = r64::<false>(w, i.a, c);
            let mut r = [0u32; CHUNK];
            for l in 0..CHUNK { r[l] = O::f(a[l]); }
            w32(w, i.d, c, r);
        }
    }
    snarrow<O: Narrow; >(w, i) {
        *(*w).at::<u64>(i.d) = u64::from(O::f(*(*w).at(i.a)));
    }
    pack<; UA, UB>(w, i) {
        for c in 0..2 {
            let (a, b) = (r32::<UA>(w, i.a, c), r32::<UB>(w, i.b, c));
            let mut r = [0u64; CHUNK];
            for l in 0..CHUNK { r[l] = u64::from(a[l]) | (u64::from(b[l]) << 32); }
            w64(w, i.d, c, r);
        }
    }
    spack<; >(w, i) {
        *(*w).at::<u64>(i.d) = u64::from(*(*w).at::<u32>(i.a)) | (u64::from(*(*w).at::<u32>(i.b)) << 32);
    }
    cmp<O: Cmp2; UA, UB>(w, i) {
        let mut m = 0u32;
        for c in 0..2 {
            let (a, b) = (r32::<UA>(w, i.a, c), r32::<UB>(w, i.b, c));
            let mut h = 0u32;
            for l in 0..CHUNK { h |= u32::from(O::f(a[l], b[l])) << l; }
            m |= h << (c * CHUNK);
        }
        *(*w).at::<u32>(i.d) = m;
    }
    scmp<O: Cmp2; >(w, i) {
        *(*w).at::<u32>(i.d) = 0u32.wrapping_sub(u32::from(O::f(*(*w).at(i.a), *(*w).at(i.b))));
    }
    wcmp<O: WideCmp2; UA, UB>(w, i) {
        let mut m = 0u32;
        for c in 0..2 {
            let (a, b) = (r64::<UA>(w, i.a, c), r64::<UB>(w, i.b, c));
            let mut h = 0u32;
            for l in 0..CHUNK { h |= u32::from(O::f(a[l], b[l])) << l; }
            m |= h << (c * CHUNK);
        }
        *(*w).at::<u32>(i.d) = m;
    }
    swcmp<O: WideCmp2; >(w, i) {
        *(*w).at::<u32>(i.d) = 0u32.wrapping_sub(u32::from(O::f(*(*w).at(i.a), *(*w).at(i.b))));
    }
    sel32<; UA, UB>(w, i) {
        let p = *(*w).at::<u32>(i.a);
        for c in 0..2 {
            let (a, b) = (r32::<UA>(w, i.b, c), r32::<UB>(w, i.c, c));
            let h = p >> (c * CHUNK);
            let mut r = [0u32; CHUNK];
            for l in 0..CHUNK { r[l] = if h >> l & 1 == 1 { a[l] } else { b[l] }; }
            w32(w, i.d, c, r);
        }
    }
    ssel32<; >(w, i) {
        let from = if *(*w).at::<u32>(i.a) != 0 { i.b } else { i.c };
        *(*w).at::<u64>(i.d) = u64::from(*(*w).at::<u32>(from));
    }
    sel64<; UA, UB>(w, i) {
        let p = *(*w).at::<u32>(i.a);
        for c in 0..2 {
            let (a, b) = (r64::<UA>(w, i.b, c), r64::<UB>(w, i.c, c));
            let h = p >> (c * CHUNK);
            let mut r = [0u64; CHUNK];
            for l in 0..CHUNK { r[l] = if h >> l & 1 == 1 { a[l] } else { b[l] }; }
            w64(w, i.d, c, r);
        }
    }
    ssel64<; >(w, i) {
        let from = if *(*w).at::<u32>(i.a) != 0 { i.b } else { i.c };
        *(*w).at::<u64>(i.d) = *(*w).at::<u64>(from);
    }
    selp<; >(w, i) {
        let (p, a, b) = (*(*w).at::<u32>(i.a), *(*w).at::<u32>(i.b), *(*w).at::<u32>(i.c));
        *(*w).at::<u32>(i.d) = (p & a) | (!p & b);
    }
    pand<; >(w, i) { *(*w).at::<u32>(i.d) = *(*w).at::<u32>(i.a) & *(*w).at::<u32>(i.b); }
    por<; >(w, i) { *(*w).at::<u32>(i.d) = *(*w).at::<u32>(i.a) | *(*w).at::<u32>(i.b); }
    pxor<; >(w, i) { *(*w).at::<u32>(i.d) = *(*w).at::<u32>(i.a) ^ *(*w).at::<u32>(i.b); }
    pnot<; >(w, i) { *(*w).at::<u32>(i.d) = !*(*w).at::<u32>(i.a); }
    copy32<; U>(w, i) {
        let p = (*w).mask;
        for c in 0..2 {
            let (a, b) = (r32::<U>(w, i.a, c), r32::<false>(w, i.d, c));
            let h = p >> (c * CHUNK);
            let mut r = [0u32; CHUNK];
            for l in 0..CHUNK { r[l] = if h >> l & 1 == 1 { a[l] } else { b[l] }; }
            w32(w, i.d, c, r);
        }
    }
    copy64<; U>(w, i) {
        let p = (*w).mask;
        for c in 0..2 {
            let (a, b) = (r64::<U>(w, i.a, c), r64::<false>(w, i.d, c));
            let h = p >> (c * CHUNK);
            let mut r = [0u64; CHUNK];
            for l in 0..CHUNK { r[l] = if h >> l & 1 == 1 { a[l] } else { b[l] }; }
            w64(w, i.d, c, r);
        }
    }
    copyp<; >(w, i) {
        let (m, a, d) = ((*w).mask, *(*w).at::<u32>(i.a), *(*w).at::<u32>(i.d));
        *(*w).at::<u32>(i.d) = (a & m) | (d & !m);
    }
    scopyp<; >(w, i) { *(*w).at::<u32>(i.d) = *(*w).at::<u32>(i.a); }
    scopy<; >(w, i) { *(*w).at::<u64>(i.d) = *(*w).at::<u64>(i.a); }
    sr_uniform<; >(w, i) { *(*w).at::<u64>(i.d) = u64::from((&(*w).sr)[(i.x & 31) as usize % 22]); }
    sr_lane<; >(w, i) { *(*w).at::<[u32; 32]>(i.d) = (&(*w).lane_sr)[(i.x & 7) as usize]; }
}

/// Kinds of the operands of an operation to pick.
#[derive(Clone, Copy)]
struct Kinds {
    isa: Isa,
    /// The result is a scalar.
    scalar: bool,
    a: bool,
    b: bool,
    c: bool,
}

// Some pickers have no function for some kinds of operands; all of them answer the same way, so that tables can hold any.
#[allow(clippy::unnecessary_wraps)]
fn f1<O: Op1>(k: Kinds) -> Option<OpFn> {
    Some(if k.scalar { s1::generic::<O> } else { v1::pick::<O>(k.isa) })
}
/// Library functions with a form for vectors.
#[allow(clippy::unnecessary_wraps)]
fn m1<O: Math1 + Op1>(k: Kinds) -> Option<OpFn> {
    Some(if k.scalar { s1::generic::<O> } else { math1::pick::<O>(k.isa) })
}
/// Operations that no host instruction set makes faster.
#[allow(clippy::unnecessary_wraps)]
fn p1<O: Op1>(k: Kinds) -> Option<OpFn> {
    Some(if k.scalar { s1::generic::<O> } else { v1::generic::<O> })
}
fn f2<O: Op2>(k: Kinds) -> Option<OpFn> {
    // An operation on scalars alone has a scalar result.
    Some(match (k.scalar, k.a, k.b) {
        (true, ..) => s2::generic::<O>,
        (_, false, false) => v2::pick::<O, false, false>(k.isa),
        (_, false, true) => v2::pick::<O, false, true>(k.isa),
        (_, true, false) => v2::pick::<O, true, false>(k.isa),
        (_, true, true) => return None,
    })
}
fn f3<O: Op3>(k: Kinds) -> Option<OpFn> {
    // An operation on scalars alone has a scalar result.
    Some(match (k.scalar, k.a, k.b, k.c) {
        (true, ..) => s3::pick::<O>(k.isa),
        (_, false, false, false) => v3::pick::<O, false, false, false>(k.isa),
        (_, false, false, true) => v3::pick::<O, false, false, true>(k.isa),
        (_, false, true, false) => v3::pick::<O, false, true, false>(k.isa),
        (_, false, true, true) => v3::pick::<O, false, true, true>(k.isa),
        (_, true, false, false) => v3::pick::<O, true, false, false>(k.isa),
        (_, true, false, true) => v3::pick::<O, true, false, true>(k.isa),
        (_, true, true, false) => v3::pick::<O, true, true, false>(k.isa),
        (_, true, true, true) => return None,
    })
}
#[allow(clippy::unnecessary_wraps)]
fn g1<O: Wide1>(k: Kinds) -> Option<OpFn> {
    Some(if k.scalar { swide1::generic::<O> } else { wide1::pick::<O>(k.isa) })
}
fn g2<O: Wide2>(k: Kinds) -> Option<OpFn> {
    // An operation on scalars alone has a scalar result.
    Some(match (k.scalar, k.a, k.b) {
        (true, ..) => swide2::generic::<O>,
        (_, false, false) => wide2::pick::<O, false, false>(k.isa),
        (_, false, true) => wide2::pick::<O, false, true>(k.isa),
        (_, true, false) => wide2::pick::<O, true, false>(k.isa),
        (_, true, true) => return None,
    })
}
#[allow(clippy::unnecessary_wraps)]
fn up<O: Widen>(k: Kinds) -> Option<OpFn> {
    Some(if k.scalar { swiden::generic::<O> } else { widen::pick::<O>(k.isa) })
}
#[allow(clippy::unnecessary_wraps)]
fn down<O: Narrow>(k: Kinds) -> Option<OpFn> {
    Some(if k.scalar { snarrow::generic::<O> } else { narrow::pick::<O>(k.isa) })
}
#[allow(clippy::unnecessary_wraps)]
fn c2<O: Cmp2>(k: Kinds) -> Option<OpFn> {
    Some(match (k.a, k.b) {
        (true, true) => scmp::generic::<O>,
        (false, false) => cmp::pick::<O, false, false>(k.isa),
        (false, true) => cmp::pick::<O, false, true>(k.isa),
        (true, false) => cmp::pick::<O, true, false>(k.isa),
    })
}
#[allow(clippy::unnecessary_wraps)]
fn cw2<O: WideCmp2>(k: Kinds) -> Option<OpFn> {
    Some(match (k.a, k.b) {
        (true, true) => swcmp::generic::<O>,
        (false, false) => wcmp::pick::<O, false, false>(k.isa),
        (false, true) => wcmp::pick::<O, false, true>(k.isa),
        (true, false) => wcmp::pick::<O, true, false>(k.isa),
    })
}

/// `f::<T<N>>(k)` for the `N` that `index` is.
macro_rules! by_index {
    ($index:expr, $f:ident, $t:ident, $k:expr; $($n:literal)*) => {
        match $index { $($n => $f::<$t<$n>>($k)?,)* _ => return None }
    };
}

mod double;
mod operators;

/// Does the operation have registers of this shape? Then the function and the immediate.
pub fn select(isa: Isa, op: Op, dst: Reg, args: &[Reg]) -> Option<(OpFn, u64)> {
    let u = |n: usize| args.get(n).is_some_and(|r| r.uniform);
    let k = Kinds { isa, scalar: dst.uniform && dst.class != Class::Pred, a: u(0), b: u(1), c: u(2) };
    // A vector result from one scalar operand does not occur: such results are scalars.
    let mut x = 0u64;
    let f = match op {
        Op::I32(o) => by_index!(o as usize, f2, Int, k; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16),
        Op::I64(o) => by_index!(o as usize, g2, Int, k; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16),
        Op::IUn32(o) => {
            let (n, w) = iun_index(o);
            x = w;
            by_index!(n, f1, Int1, k; 0 1 2 3 4 5)
        }
        Op::IUn64(o) => {
            let (n, w) = iun_index(o);
            x = w;
            by_index!(n, g1, Int1, k; 0 1 2 3 4 5)
        }
        Op::Fshl(w) => {
            x = u64::from(w);
            f3::<Fshl>(k)?
        }
        Op::FBin(o @ (FBin::Pow | FBin::Powr)) => {
            x = u64::from(o == FBin::Powr);
            match (k.scalar, k.a, k.b) {
                (true, ..) => by_index!(o as usize, f2, Float, k; 11 12),
                (_, false, false) => pow2::pick::<false, false>(isa),
                (_, false, true) => pow2::pick::<false, true>(isa),
                (_, true, _) => pow2::pick::<true, false>(isa),
            }
        }
        Op::FBin(o) => by_index!(o as usize, f2, Float, k; 0 1 2 3 4 5 6 7 8 9 10 13 14 15),
        Op::FUn(o) if o as usize >= 40 => {
            x = o as u64;
            p1::<Rare>(k)?
        }
        // Positions in `FUNS`: operations of the vector unit, functions with a form for vectors, the rest.
        Op::FUn(o) if sem::math::has_fast(o) => {
            by_index!(o as usize, m1, Float1, k; 14 16 17 18 19 20 21 22 23 24 28 29 30)
        }
        Op::FUn(o) if (o as usize) < 16 => {
            by_index!(o as usize, f1, Float1, k; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 15)
        }
        Op::FUn(o) => by_index!(o as usize, p1, Float1, k; 25 26 27 31 32 33 34 35 36 37 38 39),
        Op::Fma { neg_product, neg_addend } => {
            let n = usize::from(neg_product) | usize::from(neg_addend) << 1;
            by_index!(n, f3, Fma, k; 0 1 2 3)
        }
        Op::FmaF16 => f3::<FmaF16>(k)?,
        Op::Cvt(c) => match c {
            Cvt::Zext64 => up::<Zext>(k)?,
            Cvt::Sext64 => up::<Sext>(k)?,
            Cvt::Lo => down::<Lo>(k)?,
            Cvt::Hi => down::<Hi>(k)?,
            Cvt::FToI { signed, bits } => {
                x = u64::from(bits);
                match (signed, bits) {
                    (true, 32) => f1::<FToI32<true>>(k)?,
                    (false, 32) => f1::<FToI32<false>>(k)?,
                    (true, ..32) => f1::<FToI<true>>(k)?,
                    (false, ..32) => f1::<FToI<false>>(k)?,
                    (true, _) => up::<FToI<true>>(k)?,
                    (false, _) => up::<FToI<false>>(k)?,
                }
            }
            Cvt::IToF { signed: true } => f1::<IToF<true>>(k)?,
            Cvt::IToF { signed: false } => f1::<IToF<false>>(k)?,
            Cvt::LToF { signed: true } => down::<LToF<true>>(k)?,
            Cvt::LToF { signed: false } => down::<LToF<false>>(k)?,
            _ => return double::select(op, k),
        },
        Op::Pack => match (k.scalar, k.a, k.b) {
            (true, ..) => spack::pick(isa),
            (_, false, false) => pack::pick::<false, false>(isa),
            (_, false, true) => pack::pick::<false, true>(isa),
            (_, true, false) => pack::pick::<true, false>(isa),
            (_, true, true) => return None,
        },
        Op::ICmp32(p) => by_index!(p as usize, c2, Icmp, k; 0 1 2 3 4 5 6 7 8 9),
        Op::ICmp64(p) => by_index!(p as usize, cw2, Icmp, k; 0 1 2 3 4 5 6 7 8 9),
        Op::FCmp(p) => by_index!(p as usize, c2, Fcmp, k; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15),
        Op::PAnd => pand::pick(isa),
        Op::POr => por::pick(isa),
        Op::PXor => pxor::pick(isa),
        Op::PNot => pnot::pick(isa),
        Op::Sel => match (dst.class, k.scalar, k.b, k.c) {
            (Class::Pred, ..) => selp::pick(isa),
            (Class::B64, true, ..) => ssel64::pick(isa),
            (Class::B64, _, false, false) => sel64::pick::<false, false>(isa),
            (Class::B64, _, false, true) => sel64::pick::<false, true>(isa),
            (Class::B64, _, true, false) => sel64::pick::<true, false>(isa),
            (Class::B64, _, true, true) => sel64::pick::<true, true>(isa),
            (_, true, ..) => ssel32::pick(isa),
            (_, _, false, false) => sel32::pick::<false, false>(isa),
            (_, _, false, true) => sel32::pick::<false, true>(isa),
            (_, _, true, false) => sel32::pick::<true, false>(isa),
            (_, _, true, true) => sel32::pick::<true, true>(isa),
        },
        _ => return double::select(op, k),
    };
    Some((f, x))
}

/// The copy from `src` to `dst`.
pub fn select_copy(isa: Isa, dst: Reg, src: Reg) -> OpFn {
    match (dst.class, dst.uniform, src.uniform) {
        (Class::Pred, true, _) => scopyp::pick(isa),
        (Class::Pred, false, _) => copyp::pick(isa),
        (_, true, _) => scopy::pick(isa),
        (Class::B64, false, true) => copy64::pick::<true>(isa),
        (Class::B64, false, false) => copy64::pick::<false>(isa),
        (_, false, true) => copy32::pick::<true>(isa),
        (_, false, false) => copy32::pick::<false>(isa),
    }
}

/// Reads of special registers.
pub fn select_sr(isa: Isa, uniform: bool) -> OpFn {
    if uniform { sr_uniform::pick(isa) } else { sr_lane::pick(isa) }
}

#[cfg(test)]
mod tests {
    use super::operators::{INT_PREDS, IOPS};
    use super::*;

    #[test]
    fn tables_stand_in_the_order_of_their_types() {
        assert!(IOPS.iter().enumerate().all(|(i, &o)| o as usize == i));
        assert!(FBINS.iter().enumerate().all(|(i, &o)| o as usize == i));
        assert!(FUNS.iter().enumerate().all(|(i, &o)| o as usize == i));
        assert!(INT_PREDS.iter().enumerate().all(|(i, &o)| o as usize == i));
        assert!(FLOAT_PREDS.iter().enumerate().all(|(i, &o)| o as usize == i));
    }

    #[test]
    fn every_operation_has_a_function() {
        let reg = |class, uniform| Reg { off: 0, uniform, class };
        let v = reg(Class::B32, false);
        for isa in [Isa::Generic, Isa::Avx2, Isa::Avx512] {
            for (dst, a, b) in [
                (v, v, v),
                (v, v, reg(Class::B32, true)),
                (v, reg(Class::B32, true), v),
                (reg(Class::B32, true), reg(Class::B32, true), reg(Class::B32, true)),
            ] {
                for o in IOPS {
                    assert!(select(isa, Op::I32(o), dst, &[a, b]).is_some(), "{o:?}");
                    assert!(select(isa, Op::I64(o), dst, &[a, b]).is_some(), "{o:?}");
                }
                for o in FBINS {
                    assert!(select(isa, Op::FBin(o), dst, &[a, b]).is_some(), "{o:?}");
                }
            }
            for o in FUNS {
                assert!(select(isa, Op::FUn(o), v, &[v]).is_some(), "{o:?}");
            }
        }
    }
}
