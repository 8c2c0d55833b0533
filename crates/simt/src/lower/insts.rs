//! Lowers IR instructions other than memory and calls: arithmetic, comparisons, casts, vectors, control.

use smallvec::smallvec;

use super::LowerError;
use super::build::{Builder, Frame, Val, set};
use super::layout::{self, Scalar};
use super::sir::{Class, Cvt, FBin, FUn, IOp, IUn, IntPred, Term, V};
use crate::reader::ir::{BinOp, Inst, InstKind, Type, Value};

impl<'m> Builder<'m> {
    /// Scalar kinds of a type.
    pub fn kinds(&self, ty: &Type) -> Result<Vec<Scalar>, LowerError> {
        let mut v = Vec::new();
        layout::leaves(self.m, ty, 0, &mut v)?;
        Ok(v.into_iter().map(|(_, s)| s).collect())
    }

    /// Lowers one instruction.
    pub fn inst(&mut self, fr: &mut Frame<'m>, b: u32, inst: &'m Inst) -> Result<(), LowerError> {
        let ty = &inst.ty;
        let out: Val = match &inst.kind {
            InstKind::Bin { op, contract, a, b } => {
                self.mk.contract = *contract;
                let (x, y) = (self.value(fr, ty, a)?, self.value(fr, ty, b)?);
                if let Type::Int(w @ 65..=128) = self.m.resolve(ty) {
                    self.bin_wide(*op, *w, &x, &y)?
                } else {
                    let kinds = self.kinds(ty)?;
                    let mut out = Val::new();
                    for ((s, x), y) in kinds.into_iter().zip(x).zip(y) {
                        let v = self.bin(*op, s, x, y)?;
                        out.push(self.mark(v, s));
                    }
                    out
                }
            }
            InstKind::FNeg(v) => {
                let kinds = self.kinds(ty)?;
                let v = self.value(fr, ty, v)?;
                let mut out = Val::new();
                for (s, x) in kinds.into_iter().zip(v) {
                    let n = self.mk.fun(FUn::Neg, x);
                    out.push(self.mark(n, s));
                }
                out
            }
            InstKind::ICmp { pred, ty, a, b } => {
                let kinds = self.kinds(ty)?;
                let (x, y) = (self.value(fr, ty, a)?, self.value(fr, ty, b)?);
                if kinds.len() == 2 && matches!(self.m.resolve(ty), Type::Int(65..)) {
                    smallvec![self.icmp_wide(*pred, &x, &y)?]
                } else {
                    let mut out = Val::new();
                    for ((s, x), y) in kinds.into_iter().zip(x).zip(y) {
                        out.push(self.icmp(*pred, s, x, y));
                    }
                    out
                }
            }
            InstKind::FCmp { pred, ty, a, b } => {
                let (x, y) = (self.value(fr, ty, a)?, self.value(fr, ty, b)?);
                let mut out = Val::new();
                for (x, y) in x.into_iter().zip(y) {
                    out.push(self.mk.fcmp(*pred, x, y));
                }
                out
            }
            InstKind::Cast { op, from, v } => {
                let v = self.value(fr, from, v)?;
                self.cast(*op, from, ty, v)?
            }
            InstKind::Select { cond_ty, cond, a, b } => {
                let c = self.value(fr, cond_ty, cond)?;
                let (x, y) = (self.value(fr, ty, a)?, self.value(fr, ty, b)?);
                let kinds = self.kinds(ty)?;
                let mut out = Val::new();
                for (k, ((x, y), s)) in x.into_iter().zip(y).zip(kinds).enumerate() {
                    let p = c.get(k).or(c.first()).copied();
                    let p = p.ok_or_else(|| LowerError::malformed("select without a condition"))?;
                    let p = if c.len() == 1 { c[0] } else { p };
                    let v = self.mk.sel(p, x, y);
                    out.push(self.mark(v, s));
                }
                out
            }
            InstKind::Load { ptr, space, align, volatile, atomic } => {
                self.load(fr, ty, ptr, *space, *align, *volatile, *atomic)?
            }
            InstKind::Store { ty, v, ptr, space, align, volatile, atomic } => {
                let v = self.value(fr, ty, v)?;
                self.store(fr, ty, &v, ptr, *space, *align, *volatile, *atomic)?;
                Val::new()
            }
            InstKind::Gep { src, base_ty, base, indices } => smallvec![self.gep(fr, src, base_ty, base, indices)?],
            InstKind::Alloca { of, count, align } => {
                if let Some((_, Value::Local(_))) = count {
                    return Err(LowerError::unsupported("an array whose length is not constant"));
                }
                let n = match count {
                    Some((t, v)) => {
                        let v = self.scalar(fr, t, v)?;
                        self.mk.f.const_of(v).unwrap_or(1)
                    }
                    None => 1,
                };
                smallvec![self.alloca(of, n, *align)?]
            }
            InstKind::Call { callee, args, contract } => {
                self.mk.contract = *contract;
                self.call(fr, ty, callee, args)?
            }
            InstKind::ExtractElement { vec_ty, v, idx } => {
                let v = self.value(fr, vec_ty, v)?;
                let i = self.scalar(fr, &Type::Int(64), idx)?;
                let kinds = self.kinds(ty)?;
                let s = *kinds.first().ok_or_else(|| LowerError::malformed("extractelement"))?;
                smallvec![self.extract(&v, i, s)?]
            }
            InstKind::InsertElement { v, elem, idx } => {
                let Type::Vector(_, et) = ty else { return Err(LowerError::malformed("insertelement")) };
                let mut v = self.value(fr, ty, v)?;
                let e = self.scalar(fr, et, elem)?;
                let i = self.scalar(fr, &Type::Int(64), idx)?;
                match self.mk.f.const_of(i) {
                    Some(k) => {
                        if let Some(slot) = v.get_mut(k as usize) {
                            *slot = e;
                        }
                    }
                    None => {
                        for k in 0..v.len() {
                            let p = self.index_is(i, k as u64);
                            v[k] = self.mk.sel(p, e, v[k]);
                        }
                    }
                }
                v
            }
            InstKind::Shuffle { vec_ty, a, b, mask } => {
                let (x, y) = (self.value(fr, vec_ty, a)?, self.value(fr, vec_ty, b)?);
                let kinds = self.kinds(vec_ty)?;
                let s = *kinds.first().ok_or_else(|| LowerError::malformed("shufflevector"))?;
                let mut out = Val::new();
                for m in mask {
                    let v = m.and_then(|i| x.iter().chain(y.iter()).nth(i as usize).copied());
                    out.push(match v {
                        Some(v) => v,
                        None => self.zero(s),
                    });
                }
                out
            }
            InstKind::ExtractValue { agg_ty, v, path } => {
                let v = self.value(fr, agg_ty, v)?;
                let (from, n) = self.member(agg_ty, path)?;
                v.get(from..from + n).ok_or_else(|| LowerError::malformed("extractvalue"))?.into()
            }
            InstKind::InsertValue { v, elem_ty, elem, path } => {
                let mut v = self.value(fr, ty, v)?;
                let e = self.value(fr, elem_ty, elem)?;
                let (from, n) = self.member(ty, path)?;
                let dst = v.get_mut(from..from + n).ok_or_else(|| LowerError::malformed("insertvalue"))?;
                for (d, s) in dst.iter_mut().zip(e) {
                    *d = s;
                }
                v
            }
            InstKind::AtomicRmw { op, ptr, space, v } => {
                let x = self.scalar(fr, ty, v)?;
                smallvec![self.rmw(fr, *op, ty, ptr, *space, x)?]
            }
            InstKind::CmpXchg { ty, ptr, space, cmp, new } => {
                let (c, n) = (self.scalar(fr, ty, cmp)?, self.scalar(fr, ty, new)?);
                self.cmpxchg(fr, ty, ptr, *space, c, n)?
            }
            InstKind::Fence => {
                self.fence(3);
                Val::new()
            }
            InstKind::Freeze(v) => self.value(fr, ty, v)?,
            _ => return self.terminator(fr, b, inst),
        };
        set(fr, inst.result, out);
        Ok(())
    }

    fn terminator(&mut self, fr: &mut Frame<'m>, b: u32, inst: &'m Inst) -> Result<(), LowerError> {
        let term = match &inst.kind {
            InstKind::Br(t) => Term::Br(self.edge(fr, b, *t)?),
            InstKind::CondBr(c, t, e) => {
                let c = self.scalar(fr, &Type::Int(1), c)?;
                match self.mk.pred_const(c) {
                    _ if t == e => Term::Br(self.edge(fr, b, *t)?),
                    Some(k) => Term::Br(self.edge(fr, b, if k { *t } else { *e })?),
                    None => Term::CondBr(c, self.edge(fr, b, *t)?, self.edge(fr, b, *e)?),
                }
            }
            InstKind::Switch { ty, v, default, cases } => {
                // A chain of comparisons: GPUs have no jump tables.
                let x = self.scalar(fr, ty, v)?;
                for (k, t) in cases {
                    if t == default {
                        continue;
                    }
                    let mut c = Val::new();
                    self.constant(ty, &crate::reader::ir::Const::Int(*k), &mut c)?;
                    let k = *c.first().ok_or_else(|| LowerError::malformed("switch"))?;
                    let p = if self.mk.f.node(x).class == Class::Pred {
                        let q = self.mk.pxor(x, k);
                        self.mk.pnot(q)
                    } else {
                        self.mk.icmp(IntPred::Eq, x, k)
                    };
                    let to = self.edge(fr, b, *t)?;
                    let next = self.new_block();
                    self.end(Term::CondBr(p, to, next));
                    self.mk.cur = next;
                }
                Term::Br(self.edge(fr, b, *default)?)
            }
            InstKind::Ret(v) => {
                let v = match v {
                    Some((t, v)) => self.value(fr, t, v)?,
                    None => Val::new(),
                };
                match &mut fr.returns {
                    Some((cont, list)) => {
                        list.push((self.mk.cur, v));
                        Term::Br(*cont)
                    }
                    None => Term::Ret,
                }
            }
            InstKind::Unreachable => Term::Unreachable,
            _ => return Err(LowerError::malformed("an instruction that is not one")),
        };
        self.end(term);
        Ok(())
    }

    /// Positions of the scalars that `path` selects in an aggregate.
    fn member(&self, ty: &Type, path: &[u32]) -> Result<(usize, usize), LowerError> {
        let mut at = ty.clone();
        let mut from = 0usize;
        for &i in path {
            let before: Vec<Type> = match self.m.resolve(&at) {
                Type::Struct { fields, .. } => fields.iter().take(i as usize).cloned().collect(),
                Type::Array(_, e) => vec![(**e).clone(); i as usize],
                _ => return Err(LowerError::malformed("a path into a scalar")),
            };
            for t in &before {
                from += self.kinds(t)?.len();
            }
            at = self.step(&at, i64::from(i))?.1;
        }
        Ok((from, self.kinds(&at)?.len()))
    }

    /// Comparison of a vector index with a constant.
    fn index_is(&mut self, i: V, k: u64) -> V {
        let c = if self.mk.f.node(i).class == Class::B64 { self.mk.c64(k) } else { self.mk.c32(k as u32) };
        self.mk.icmp(IntPred::Eq, i, c)
    }

    /// Element of a vector by a value.
    fn extract(&mut self, v: &Val, i: V, s: Scalar) -> Result<V, LowerError> {
        if let Some(k) = self.mk.f.const_of(i) {
            return Ok(match v.get(k as usize) {
                Some(&x) => x,
                None => self.zero(s),
            });
        }
        let mut r = *v.first().ok_or_else(|| LowerError::malformed("extractelement of nothing"))?;
        for (k, &x) in v.iter().enumerate().skip(1) {
            let p = self.index_is(i, k as u64);
            r = self.mk.sel(p, x, r);
        }
        Ok(self.mark(r, s))
    }

    /// Keeps a value zero-extended from `bits`.
    pub(super) fn clean(&mut self, v: V, bits: u8) -> V {
        match bits {
            32 | 64 => v,
            0..=31 => {
                let m = self.mk.c32((1u32 << bits) - 1);
                self.mk.i32(IOp::And, v, m)
            }
            _ => {
                let m = self.mk.c64((1u64 << bits) - 1);
                self.mk.i64(IOp::And, v, m)
            }
        }
    }

    /// Sign-extends a value of `bits` to its register.
    pub fn sext_in_register(&mut self, v: V, bits: u8) -> V {
        match bits {
            32 | 64 => v,
            0..=31 => self.mk.iun32(IUn::SExt(bits), v),
            _ => self.mk.iun64(IUn::SExt(bits), v),
        }
    }

    fn bin(&mut self, op: BinOp, s: Scalar, x: V, y: V) -> Result<V, LowerError> {
        match s {
            Scalar::Int(1) => Ok(match op {
                BinOp::And | BinOp::Mul => self.mk.pand(x, y),
                BinOp::Or => self.mk.por(x, y),
                BinOp::Xor | BinOp::Add | BinOp::Sub => self.mk.pxor(x, y),
                BinOp::UDiv | BinOp::SDiv | BinOp::Shl | BinOp::LShr | BinOp::AShr => x,
                _ => self.mk.cpred(false),
            }),
            Scalar::Int(bits) => {
                let iop = match op {
                    BinOp::Add => IOp::Add,
                    BinOp::Sub => IOp::Sub,
                    BinOp::Mul => IOp::Mul,
                    BinOp::UDiv => IOp::UDiv,
                    BinOp::SDiv => IOp::SDiv,
                    BinOp::URem => IOp::URem,
                    BinOp::SRem => IOp::SRem,
                    BinOp::Shl => IOp::Shl,
                    BinOp::LShr => IOp::LShr,
                    BinOp::AShr => IOp::AShr,
                    BinOp::And => IOp::And,
                    BinOp::Or => IOp::Or,
                    BinOp::Xor => IOp::Xor,
                    _ => return Err(LowerError::malformed("a floating operation on integers")),
                };
                let (mut x, mut y) = (x, y);
                if matches!(iop, IOp::SDiv | IOp::SRem) {
                    x = self.sext_in_register(x, bits);
                    y = self.sext_in_register(y, bits);
                } else if iop == IOp::AShr {
                    x = self.sext_in_register(x, bits);
                }
                let r = if bits > 32 { self.mk.i64(iop, x, y) } else { self.mk.i32(iop, x, y) };
                let exact = matches!(iop, IOp::And | IOp::Or | IOp::Xor | IOp::UDiv | IOp::URem | IOp::LShr);
                Ok(if exact { r } else { self.clean(r, bits) })
            }
            Scalar::F16 | Scalar::Bf16 | Scalar::F32 | Scalar::F64 => {
                let fop = match op {
                    BinOp::FAdd => FBin::Add,
                    BinOp::FSub => FBin::Sub,
                    BinOp::FMul => FBin::Mul,
                    BinOp::FDiv => FBin::Div,
                    BinOp::FRem => FBin::Rem,
                    _ => return Err(LowerError::malformed("an integer operation on floats")),
                };
                let r = self.mk.fbin(fop, x, y);
                Ok(self.round(r, s))
            }
            Scalar::Ptr(_) => Err(LowerError::malformed("arithmetic on pointers")),
        }
    }

    /// Rounds a binary32 result to its kind. One rounding to binary32 before it is harmless for `+ - * / sqrt`:
    /// 24 bits are at least twice 11 plus 2.
    pub fn round(&mut self, v: V, s: Scalar) -> V {
        match s {
            Scalar::F16 => self.mk.fun(FUn::RoundF16, v),
            Scalar::Bf16 => self.mk.fun(FUn::RoundBf16, v),
            _ => v,
        }
    }

    /// Integer comparison of one scalar kind.
    pub fn icmp(&mut self, pred: IntPred, s: Scalar, x: V, y: V) -> V {
        match s {
            Scalar::Int(1) => {
                // As unsigned: 0 < 1; as signed: 1 is -1.
                let nx = self.mk.pnot(x);
                let ny = self.mk.pnot(y);
                match pred {
                    IntPred::Ne => self.mk.pxor(x, y),
                    IntPred::Eq => self.mk.pxor(nx, y),
                    IntPred::Ugt | IntPred::Slt => self.mk.pand(x, ny),
                    IntPred::Ult | IntPred::Sgt => self.mk.pand(nx, y),
                    IntPred::Uge | IntPred::Sle => self.mk.por(x, ny),
                    IntPred::Ule | IntPred::Sge => self.mk.por(nx, y),
                }
            }
            Scalar::Int(bits) => {
                let signed = matches!(pred, IntPred::Sgt | IntPred::Sge | IntPred::Slt | IntPred::Sle);
                let (x, y) =
                    if signed { (self.sext_in_register(x, bits), self.sext_in_register(y, bits)) } else { (x, y) };
                self.mk.icmp(pred, x, y)
            }
            _ => self.mk.icmp(pred, x, y),
        }
    }

    /// Bitwise operations and constant shifts of integers wider than 64 bits.
    fn bin_wide(&mut self, op: BinOp, bits: u32, x: &Val, y: &Val) -> Result<Val, LowerError> {
        let bad = || LowerError::unsupported("arithmetic on integers wider than 64 bits");
        let hi_bits = (bits - 64) as u8;
        let (Some(&xl), Some(&xh), Some(&yl), Some(&yh)) = (x.first(), x.get(1), y.first(), y.get(1)) else {
            return Err(bad());
        };
        let hi_wide = hi_bits > 32;
        let iop = match op {
            BinOp::And => IOp::And,
            BinOp::Or => IOp::Or,
            BinOp::Xor => IOp::Xor,
            BinOp::Shl | BinOp::LShr => {
                let s = self.mk.f.const_of(yl).filter(|_| self.mk.f.const_of(yh) == Some(0)).ok_or_else(bad)? as u32;
                let (h, hb) = (xh, u32::from(hi_bits));
                let h64 = if hi_wide { h } else { self.mk.cvt(Cvt::Zext64, h) };
                let mut pieces = Vec::new();
                for (at, w) in [(0, xl), (64, h64)] {
                    let (lo, hi) = (self.mk.cvt(Cvt::Lo, w), self.mk.cvt(Cvt::Hi, w));
                    pieces.push((at, 32, lo));
                    pieces.push((at + 32, 32, hi));
                }
                let base = 256u32;
                let from = if op == BinOp::Shl { base.saturating_sub(s) } else { base.saturating_add(s) };
                let shifted: Vec<(u32, u32, V)> = pieces.into_iter().map(|(a, n, v)| (a + base, n, v)).collect();
                let part = |b: &mut Self, o: u32, n: u32| b.gather_bits(&shifted, from + o, n);
                let (a, c) = (part(self, 0, 32), part(self, 32, 32));
                let lo = self.mk.pack(a, c);
                let hi = if hi_wide {
                    let (a, c) = (part(self, 64, 32), part(self, 96, hb - 32));
                    self.mk.pack(a, c)
                } else {
                    part(self, 64, hb)
                };
                return Ok(smallvec![lo, hi]);
            }
            _ => return Err(bad()),
        };
        let lo = self.mk.i64(iop, xl, yl);
        let hi = if hi_wide { self.mk.i64(iop, xh, yh) } else { self.mk.i32(iop, xh, yh) };
        Ok(smallvec![lo, hi])
    }

    fn icmp_wide(&mut self, pred: IntPred, x: &Val, y: &Val) -> Result<V, LowerError> {
        let (Some(&xl), Some(&xh), Some(&yl), Some(&yh)) = (x.first(), x.get(1), y.first(), y.get(1)) else {
            return Err(LowerError::malformed("comparison"));
        };
        let (a, b) = (self.mk.icmp(IntPred::Eq, xl, yl), self.mk.icmp(IntPred::Eq, xh, yh));
        let eq = self.mk.pand(a, b);
        match pred {
            IntPred::Eq => Ok(eq),
            IntPred::Ne => Ok(self.mk.pnot(eq)),
            _ => Err(LowerError::unsupported("ordering of integers wider than 64 bits")),
        }
    }
}
