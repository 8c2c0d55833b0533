//! What each operation does to one lane: the operators that the bodies of the parent are instantiated with. Must not know
//! lanes, registers or instruction sets.

use super::{Cmp2, Math1, Narrow, Op1, Op2, Op3, Wide1, Wide2, WideCmp2, Widen};
use crate::lower::sir::{Cvt, FBin, FUn, FloatPred, IOp, IUn, IntPred};
use crate::semantics as sem;

pub(super) const IOPS: [IOp; 17] = [
    IOp::Add,
    IOp::Sub,
    IOp::Mul,
    IOp::UDiv,
    IOp::SDiv,
    IOp::URem,
    IOp::SRem,
    IOp::Shl,
    IOp::LShr,
    IOp::AShr,
    IOp::And,
    IOp::Or,
    IOp::Xor,
    IOp::SMin,
    IOp::SMax,
    IOp::UMin,
    IOp::UMax,
];
pub(super) const FBINS: [FBin; 16] = [
    FBin::Add,
    FBin::Sub,
    FBin::Mul,
    FBin::Div,
    FBin::Rem,
    FBin::Min,
    FBin::Max,
    FBin::Minimum,
    FBin::Maximum,
    FBin::Copysign,
    FBin::FastDiv,
    FBin::Pow,
    FBin::Powr,
    FBin::Atan2,
    FBin::Ldexp,
    FBin::Hypot,
];
pub(super) const FUNS: [FUn; 45] = [
    FUn::Neg,
    FUn::Abs,
    FUn::Floor,
    FUn::Ceil,
    FUn::Trunc,
    FUn::Rint,
    FUn::Round,
    FUn::RoundF16,
    FUn::RoundBf16,
    FUn::F16Bits,
    FUn::F16From,
    FUn::Bf16Bits,
    FUn::Bf16From,
    FUn::Sqrt,
    FUn::Rsqrt,
    FUn::Rcp,
    FUn::Exp,
    FUn::Exp2,
    FUn::Exp10,
    FUn::Log,
    FUn::Log2,
    FUn::Log10,
    FUn::Sin,
    FUn::Cos,
    FUn::Tan,
    FUn::Asin,
    FUn::Acos,
    FUn::Atan,
    FUn::Sinh,
    FUn::Cosh,
    FUn::Tanh,
    FUn::Asinh,
    FUn::Acosh,
    FUn::Atanh,
    FUn::Erf,
    FUn::Erfinv,
    FUn::Lgamma,
    FUn::Tgamma,
    FUn::Sinpi,
    FUn::Cospi,
    FUn::Tanpi,
    FUn::Erfc,
    FUn::Expm1,
    FUn::Log1p,
    FUn::Cbrt,
];
pub(super) const INT_PREDS: [IntPred; 10] = [
    IntPred::Eq,
    IntPred::Ne,
    IntPred::Ugt,
    IntPred::Uge,
    IntPred::Ult,
    IntPred::Ule,
    IntPred::Sgt,
    IntPred::Sge,
    IntPred::Slt,
    IntPred::Sle,
];
pub(super) const FLOAT_PREDS: [FloatPred; 16] = [
    FloatPred::False,
    FloatPred::Oeq,
    FloatPred::Ogt,
    FloatPred::Oge,
    FloatPred::Olt,
    FloatPred::Ole,
    FloatPred::One,
    FloatPred::Ord,
    FloatPred::Ueq,
    FloatPred::Ugt,
    FloatPred::Uge,
    FloatPred::Ult,
    FloatPred::Ule,
    FloatPred::Une,
    FloatPred::Uno,
    FloatPred::True,
];

pub(super) struct Int<const N: usize>;
impl<const N: usize> Op2 for Int<N> {
    #[inline(always)]
    fn f(a: u32, b: u32) -> u32 {
        sem::iop32(IOPS[N], a, b)
    }
}
impl<const N: usize> Wide2 for Int<N> {
    #[inline(always)]
    fn f(a: u64, b: u64) -> u64 {
        sem::iop64(IOPS[N], a, b)
    }
}
pub(super) struct Float<const N: usize>;
impl<const N: usize> Op2 for Float<N> {
    #[inline(always)]
    fn f(a: u32, b: u32) -> u32 {
        sem::fbin(FBINS[N], a, b)
    }
}
pub(super) struct Float1<const N: usize>;
impl<const N: usize> Op1 for Float1<N> {
    #[inline(always)]
    fn f(a: u32, _: u64) -> u32 {
        sem::fun(FUNS[N], a)
    }
}
impl<const N: usize> Math1 for Float1<N> {
    const OP: FUn = FUNS[N];
}
/// Rare functions; the immediate is the index.
pub(super) struct Rare;
impl Op1 for Rare {
    #[inline(always)]
    fn f(a: u32, x: u64) -> u32 {
        sem::fun(FUNS[x as usize % FUNS.len()], a)
    }
}
/// One-operand integer operations; the immediate is the width.
pub(super) struct Int1<const N: usize>;
pub(super) const fn iun(n: usize, w: u8) -> IUn {
    match n {
        0 => IUn::Clz(w),
        1 => IUn::Ctz(w),
        2 => IUn::Popcnt,
        3 => IUn::Bitrev(w),
        4 => IUn::Bswap(w),
        _ => IUn::SExt(w),
    }
}
pub(super) fn iun_index(op: IUn) -> (usize, u64) {
    match op {
        IUn::Clz(w) => (0, u64::from(w)),
        IUn::Ctz(w) => (1, u64::from(w)),
        IUn::Popcnt => (2, 0),
        IUn::Bitrev(w) => (3, u64::from(w)),
        IUn::Bswap(w) => (4, u64::from(w)),
        IUn::SExt(w) => (5, u64::from(w)),
    }
}
impl<const N: usize> Op1 for Int1<N> {
    #[inline(always)]
    fn f(a: u32, x: u64) -> u32 {
        sem::iun32(iun(N, x as u8), a)
    }
}
impl<const N: usize> Wide1 for Int1<N> {
    #[inline(always)]
    fn f(a: u64, x: u64) -> u64 {
        sem::iun64(iun(N, x as u8), a)
    }
}
pub(super) struct Icmp<const N: usize>;
impl<const N: usize> Cmp2 for Icmp<N> {
    #[inline(always)]
    fn f(a: u32, b: u32) -> bool {
        sem::icmp32(INT_PREDS[N], a, b)
    }
}
impl<const N: usize> WideCmp2 for Icmp<N> {
    #[inline(always)]
    fn f(a: u64, b: u64) -> bool {
        sem::icmp64(INT_PREDS[N], a, b)
    }
}
pub(super) struct Fcmp<const N: usize>;
impl<const N: usize> Cmp2 for Fcmp<N> {
    #[inline(always)]
    fn f(a: u32, b: u32) -> bool {
        sem::fcmp(FLOAT_PREDS[N], a, b)
    }
}
/// Bit 0 of `N`: negated product; bit 1: negated addend.
pub(super) struct Fma<const N: usize>;
impl<const N: usize> Op3 for Fma<N> {
    #[inline(always)]
    fn f(a: u32, b: u32, c: u32, _: u64) -> u32 {
        sem::fma(N & 1 == 1, N & 2 == 2, a, b, c)
    }
}
pub(super) struct FmaF16;
impl Op3 for FmaF16 {
    #[inline(always)]
    fn f(a: u32, b: u32, c: u32, _: u64) -> u32 {
        sem::fma_f16(a, b, c)
    }
}
pub(super) struct Fshl;
impl Op3 for Fshl {
    #[inline(always)]
    fn f(a: u32, b: u32, c: u32, x: u64) -> u32 {
        sem::fshl((x as u8).max(1), a, b, c)
    }
}
pub(super) struct Zext;
impl Widen for Zext {
    #[inline(always)]
    fn f(a: u32, _: u64) -> u64 {
        u64::from(a)
    }
}
pub(super) struct Sext;
impl Widen for Sext {
    #[inline(always)]
    fn f(a: u32, _: u64) -> u64 {
        a as i32 as i64 as u64
    }
}
pub(super) struct Lo;
impl Narrow for Lo {
    #[inline(always)]
    fn f(a: u64) -> u32 {
        a as u32
    }
}
pub(super) struct Hi;
impl Narrow for Hi {
    #[inline(always)]
    fn f(a: u64) -> u32 {
        (a >> 32) as u32
    }
}
/// Float to integer; the immediate is the width.
pub(super) struct FToI<const SIGNED: bool>;
impl<const SIGNED: bool> Op1 for FToI<SIGNED> {
    #[inline(always)]
    fn f(a: u32, x: u64) -> u32 {
        sem::ftoi(SIGNED, x as u8, a) as u32
    }
}
impl<const SIGNED: bool> Widen for FToI<SIGNED> {
    #[inline(always)]
    fn f(a: u32, x: u64) -> u64 {
        sem::ftoi(SIGNED, x as u8, a)
    }
}
pub(super) struct FToI32<const SIGNED: bool>;
impl<const SIGNED: bool> Op1 for FToI32<SIGNED> {
    #[inline(always)]
    fn f(a: u32, _: u64) -> u32 {
        let x = f32::from_bits(a);
        if SIGNED { x as i32 as u32 } else { x as u32 }
    }
}
pub(super) struct IToF<const SIGNED: bool>;
impl<const SIGNED: bool> Op1 for IToF<SIGNED> {
    #[inline(always)]
    fn f(a: u32, _: u64) -> u32 {
        sem::cvt(Cvt::IToF { signed: SIGNED }, u64::from(a)) as u32
    }
}
pub(super) struct LToF<const SIGNED: bool>;
impl<const SIGNED: bool> Narrow for LToF<SIGNED> {
    #[inline(always)]
    fn f(a: u64) -> u32 {
        sem::cvt(Cvt::LToF { signed: SIGNED }, a) as u32
    }
}
