//! Lowers calls: functions of the module are inlined, LLVM intrinsics and the ABI's functions become operations.

use smallvec::smallvec;

use ksearch_msl::abi::{PREFIX, SpecialRegister};

use super::LowerError;
use super::build::{Builder, Frame, Val};
use super::layout::Scalar;
use super::sir::{Args, Class, Cvt, FBin, FUn, IOp, IUn, IntPred, Num, Op, ReduceOp, ShuffleKind, V};
use crate::reader::ir::{CallArg, Callee, Type};

impl<'m> Builder<'m> {
    /// A call of any kind.
    pub fn call(
        &mut self,
        fr: &mut Frame<'m>,
        ty: &'m Type,
        callee: &'m Callee,
        args: &'m [CallArg],
    ) -> Result<Val, LowerError> {
        let name = match callee {
            Callee::Direct(n) => n,
            Callee::Indirect(what) => return Err(LowerError::unsupported(what.clone())),
        };
        if let Some(rest) = name.strip_prefix("llvm.") {
            return self.intrinsic(fr, ty, rest, args);
        }
        let mut vals = Vec::with_capacity(args.len());
        for a in args {
            let v = a.value.as_ref().ok_or_else(|| LowerError::malformed("metadata as an argument"))?;
            vals.push(self.value(fr, &a.ty, v)?);
        }
        if let Some(f) = self.m.function(name) {
            for (a, v) in args.iter().zip(&mut vals) {
                let (Some(of), Some(p)) = (&a.byval, v.first().copied()) else { continue };
                let copy = self.alloca(of, 1, 4)?;
                let bytes = super::layout::size(self.m, of);
                let align = super::layout::align(self.m, of) as u32;
                let (space, p) = (super::sir::Space::Private, p);
                self.copy((space, copy), (space, p), bytes, align)?;
                *v = smallvec![copy];
            }
            if f.params.len() != vals.len() {
                return Err(LowerError::malformed("a call with the wrong number of arguments"));
            }
            let at = self.mk.pos;
            let r = self.function(f, vals, Some(at));
            self.mk.pos = at;
            return r;
        }
        let Some(rest) = name.strip_prefix(PREFIX) else {
            return Err(LowerError::unsupported(format!("a call of `{name}`, which has no definition")));
        };
        let mut flat = Args::new();
        for v in vals {
            flat.extend(v);
        }
        self.external(rest, ty, &flat)
    }

    fn literal(&self, v: V) -> Result<u64, LowerError> {
        self.mk.f.const_of(v).ok_or_else(|| LowerError::malformed("an operand that must be a literal is computed"))
    }

    fn cross(&mut self, op: Op, class: Class, args: Args) -> Val {
        smallvec![self.mk.push(op, class, args)]
    }

    /// Functions of the ABI.
    fn external(&mut self, name: &str, _ty: &Type, a: &Args) -> Result<Val, LowerError> {
        let unknown = || LowerError::unsupported(format!("a call of `{PREFIX}{name}`, which is not in the ABI"));
        let arg = |i: usize| a.get(i).copied().ok_or_else(|| LowerError::malformed("a call with too few arguments"));
        match name {
            "sr" => {
                let id = self.literal(arg(0)?)? as u32;
                let sr = SpecialRegister::from_id(id).ok_or_else(unknown)?;
                return Ok(self.cross(Op::Sr(sr), Class::B32, Args::new()));
            }
            "threadgroup_barrier" => {
                let f = self.literal(arg(0)?)? as u8;
                self.mk.push(Op::Barrier(f), Class::None, Args::new());
                return Ok(Val::new());
            }
            "simdgroup_barrier" => {
                let f = self.literal(arg(0)?)? as u8;
                self.mk.push(Op::SimdBarrier(f), Class::None, Args::new());
                return Ok(Val::new());
            }
            "fence" => {
                let f = self.literal(arg(0)?)? as u8;
                self.fence(f);
                return Ok(Val::new());
            }
            "ballot" => {
                let z = self.mk.c32(0);
                let p = self.mk.icmp(IntPred::Ne, arg(0)?, z);
                return Ok(self.cross(Op::Ballot, Class::B64, smallvec![p]));
            }
            "active_mask" => return Ok(self.cross(Op::ActiveMask, Class::B64, Args::new())),
            "simd_is_first" => {
                let p = self.mk.push(Op::IsFirst, Class::Pred, Args::new());
                let (one, z) = (self.mk.c32(1), self.mk.c32(0));
                return Ok(smallvec![self.mk.sel(p, one, z)]);
            }
            "f32_to_bf16" => return Ok(smallvec![self.mk.fun(FUn::Bf16Bits, arg(0)?)]),
            "mma_8x8" => {
                let kind = self.literal(arg(6)?)? as u8;
                let ops: Args = (0..6).map(arg).collect::<Result<_, _>>()?;
                let n = self.mk.push(Op::Mma(kind), Class::None, ops);
                let x = self.mk.push(Op::Part(0), Class::B32, smallvec![n]);
                let y = self.mk.push(Op::Part(1), Class::B32, smallvec![n]);
                return Ok(smallvec![x, y]);
            }
            "trap" => {
                let c = self.literal(arg(0)?)? as u32;
                self.mk.push(Op::Trap(c), Class::None, Args::new());
                return Ok(Val::new());
            }
            _ => {}
        }
        let (base, suffix) = name.rsplit_once('_').ok_or_else(unknown)?;
        if let Some(kind) = shuffle_kind(base) {
            let mut ops = a.clone();
            if kind == ShuffleKind::BroadcastFirst {
                ops.truncate(1);
            }
            // A 16-bit value travels in the low half of a register like any other.
            return Ok(self.cross(Op::Shuffle(kind), Class::B32, ops));
        }
        let num = match suffix {
            // Sums over lanes are made of shuffles in double precision.
            "f64" if a.iter().all(|&v| self.mk.f.node(v).class == Class::B64) => {
                return self.math(base, Scalar::F64, a);
            }
            "f32" | "f16" => Num::F32,
            "i32" => Num::I32,
            "u32" => Num::U32,
            _ => return Err(unknown()),
        };
        if let Some(op) = base.strip_prefix("simd_").and_then(reduce_op) {
            return Ok(self.cross(Op::Reduce(op, num), Class::B32, smallvec![arg(0)?]));
        }
        if let Some(op) = base.strip_prefix("quad_").and_then(reduce_op) {
            return Ok(self.cross(Op::QuadReduce(op, num), Class::B32, smallvec![arg(0)?]));
        }
        let s = match suffix {
            "f32" => Scalar::F32,
            "f16" => Scalar::F16,
            _ => return Err(unknown()),
        };
        self.math(base.strip_prefix("precise_").unwrap_or(base), s, a)
    }

    /// A mathematical function of the ABI.
    fn math(&mut self, f: &str, s: Scalar, a: &Args) -> Result<Val, LowerError> {
        let arg = |i: usize| a.get(i).copied().ok_or_else(|| LowerError::malformed("a call with too few arguments"));
        let r = if let Some(op) = math1(f) {
            self.mk.fun(op, arg(0)?)
        } else if let Some(op) = math2(f) {
            self.mk.fbin(op, arg(0)?, arg(1)?)
        } else {
            return Err(LowerError::unsupported(format!("a call of `{PREFIX}{f}`, which is not in the ABI")));
        };
        let r = self.round(r, s);
        Ok(smallvec![self.mark(r, s)])
    }

    /// A memory fence.
    pub fn fence(&mut self, flags: u8) {
        self.mk.push(Op::Fence(flags), Class::None, Args::new());
    }

    /// LLVM intrinsics; `name` lacks the `llvm.` prefix.
    fn intrinsic(&mut self, fr: &mut Frame<'m>, ty: &Type, name: &str, args: &'m [CallArg]) -> Result<Val, LowerError> {
        let base = name.split('.').next().unwrap_or(name);
        // Intrinsics without effect on values.
        if matches!(base, "lifetime" | "dbg" | "assume" | "experimental" | "donothing" | "invariant" | "prefetch")
            || name.starts_with("sideeffect")
        {
            return Ok(Val::new());
        }
        if matches!(base, "trap" | "debugtrap" | "ubsantrap") {
            self.mk.push(Op::Trap(u32::MAX), Class::None, Args::new());
            return Ok(Val::new());
        }
        let at = |i: usize| {
            args.get(i)
                .and_then(|a| a.value.as_ref().map(|v| (&a.ty, v)))
                .ok_or_else(|| LowerError::malformed("an intrinsic with too few arguments"))
        };
        if matches!(base, "memcpy" | "memmove" | "memset") {
            let (lt, lv) = at(2)?;
            let n = self.scalar(fr, lt, lv)?;
            let known = self.mk.f.const_of(n);
            let (dt, dv) = at(0)?;
            let dst = self.pointer(fr, dt, dv)?;
            let (st, sv) = at(1)?;
            let align = |i: usize| args.get(i).map_or(1, |a| a.align);
            if base == "memset" {
                let b = self.scalar(fr, st, sv)?;
                match known {
                    Some(n) => self.fill(dst, b, n, align(0))?,
                    None => self.fill_loop(dst, b, n, align(0)),
                }
            } else {
                let src = self.pointer(fr, st, sv)?;
                let align = align(0).min(align(1));
                match known {
                    Some(n) => self.copy(dst, src, n, align)?,
                    None if base == "memmove" && dst.0 == src.0 => {
                        return Err(LowerError::unsupported("an overlapping block copy of computed size"));
                    }
                    None => self.copy_loop(dst, src, n, align),
                }
            }
            return Ok(Val::new());
        }
        let mut ops: Vec<Val> = Vec::new();
        for a in args {
            let Some(v) = &a.value else { continue };
            ops.push(self.value(fr, &a.ty, v)?);
        }
        match base {
            "expect" | "ssa" | "ptrmask" | "launder" | "strip" => {
                return ops.into_iter().next().ok_or_else(|| LowerError::malformed("an intrinsic without operands"));
            }
            "vector" => return self.vector_reduce(name, args, &ops),
            "is" => return Err(LowerError::unsupported(format!("`llvm.{name}`"))),
            _ => {}
        }
        let kinds = self.kinds(ty)?;
        let in_kinds = match args.first() {
            Some(a) => self.kinds(&a.ty)?,
            None => Vec::new(),
        };
        let mut out = Val::new();
        for (k, s) in kinds.iter().enumerate() {
            // Operands that are scalars beside vectors (shift flags) are shared by all elements.
            let x: Args = ops.iter().filter_map(|o| o.get(k).or(o.first()).copied()).collect();
            let from = in_kinds.get(k).copied().unwrap_or(*s);
            let v = self.element(name, base, *s, from, &x)?;
            out.push(self.mark(v, *s));
        }
        if base.ends_with("overflow") || kinds.is_empty() {
            return Err(LowerError::unsupported(format!("`llvm.{name}`")));
        }
        Ok(out)
    }

    /// One element of an elementwise intrinsic.
    fn element(&mut self, name: &str, base: &str, s: Scalar, from: Scalar, x: &Args) -> Result<V, LowerError> {
        let unknown = || LowerError::unsupported(format!("`llvm.{name}`"));
        let arg = |i: usize| x.get(i).copied().ok_or_else(|| LowerError::malformed("too few operands"));
        let bits = match s {
            Scalar::Int(b) => b,
            _ => 32,
        };
        let wide = bits > 32;
        let signed_pair = |b: &mut Self| -> Result<(V, V), LowerError> {
            Ok((b.sext_in_register(arg(0)?, bits), b.sext_in_register(arg(1)?, bits)))
        };
        Ok(match base {
            "fma" | "fmuladd" => {
                let (a, b, c) = (arg(0)?, arg(1)?, arg(2)?);
                match s {
                    Scalar::F16 => self.mk.push(Op::FmaF16, Class::B32, smallvec![a, b, c]),
                    Scalar::F64 => self.mk.push(Op::Fma64, Class::B64, smallvec![a, b, c]),
                    _ => {
                        let op = Op::Fma { neg_product: false, neg_addend: false };
                        let v = self.mk.push(op, Class::B32, smallvec![a, b, c]);
                        self.round(v, s)
                    }
                }
            }
            "fabs" => self.mk.fun(FUn::Abs, arg(0)?),
            "minnum" | "minimumnum" => self.mk.fbin(FBin::Min, arg(0)?, arg(1)?),
            "maxnum" | "maximumnum" => self.mk.fbin(FBin::Max, arg(0)?, arg(1)?),
            "minimum" => self.mk.fbin(FBin::Minimum, arg(0)?, arg(1)?),
            "maximum" => self.mk.fbin(FBin::Maximum, arg(0)?, arg(1)?),
            "copysign" => self.mk.fbin(FBin::Copysign, arg(0)?, arg(1)?),
            "ldexp" => {
                let by = if s == Scalar::F64 { self.mk.cvt(Cvt::IToD { signed: true }, arg(1)?) } else { arg(1)? };
                let v = self.mk.fbin(FBin::Ldexp, arg(0)?, by);
                self.round(v, s)
            }
            "smin" | "smax" | "umin" | "umax" => {
                let op = match base {
                    "smin" => IOp::SMin,
                    "smax" => IOp::SMax,
                    "umin" => IOp::UMin,
                    _ => IOp::UMax,
                };
                if bits == 1 {
                    // As unsigned 1 is the larger, as signed the smaller.
                    let and = matches!(base, "umin" | "smax");
                    return Ok(if and { self.mk.pand(arg(0)?, arg(1)?) } else { self.mk.por(arg(0)?, arg(1)?) });
                }
                let signed = base.starts_with('s');
                let (a, b) = if signed { signed_pair(self)? } else { (arg(0)?, arg(1)?) };
                let r = if wide { self.mk.i64(op, a, b) } else { self.mk.i32(op, a, b) };
                self.truncate(r, bits)
            }
            "abs" => {
                let a = self.sext_in_register(arg(0)?, bits);
                let r = if wide {
                    let z = self.mk.c64(0);
                    let n = self.mk.i64(IOp::Sub, z, a);
                    self.mk.i64(IOp::SMax, a, n)
                } else {
                    let z = self.mk.c32(0);
                    let n = self.mk.i32(IOp::Sub, z, a);
                    self.mk.i32(IOp::SMax, a, n)
                };
                self.truncate(r, bits)
            }
            "ctpop" | "ctlz" | "cttz" | "bitreverse" | "bswap" => {
                let op = match base {
                    "ctpop" => IUn::Popcnt,
                    "ctlz" => IUn::Clz(bits),
                    "cttz" => IUn::Ctz(bits),
                    "bitreverse" => IUn::Bitrev(bits),
                    _ => IUn::Bswap(bits),
                };
                if wide { self.mk.iun64(op, arg(0)?) } else { self.mk.iun32(op, arg(0)?) }
            }
            "fshl" | "fshr" => self.funnel(base == "fshl", bits, arg(0)?, arg(1)?, arg(2)?)?,
            "sadd" | "uadd" | "ssub" | "usub" if name.contains(".sat") => {
                self.saturating(base, bits, arg(0)?, arg(1)?)?
            }
            "fptoui" | "fptosi" => self.mk.float_to_int(base == "fptosi", bits, arg(0)?),
            "canonicalize" | "arithmetic" => arg(0)?,
            "pow" => {
                let v = self.mk.fbin(FBin::Pow, arg(0)?, arg(1)?);
                self.round(v, s)
            }
            "powi" => {
                let signed = true;
                let e =
                    self.mk.cvt(if s == Scalar::F64 { Cvt::IToD { signed } } else { Cvt::IToF { signed } }, arg(1)?);
                let v = self.mk.fbin(FBin::Pow, arg(0)?, e);
                self.round(v, s)
            }
            _ => {
                let op = match base {
                    "floor" => FUn::Floor,
                    "ceil" => FUn::Ceil,
                    "trunc" => FUn::Trunc,
                    "rint" | "nearbyint" | "roundeven" => FUn::Rint,
                    "round" => FUn::Round,
                    b => math1(b).ok_or_else(unknown)?,
                };
                let _ = from;
                let v = self.mk.fun(op, arg(0)?);
                self.round(v, s)
            }
        })
    }

    fn truncate(&mut self, v: V, bits: u8) -> V {
        match bits {
            32 | 64 => v,
            33.. => {
                let m = self.mk.c64((1u64 << bits) - 1);
                self.mk.i64(IOp::And, v, m)
            }
            _ => {
                let m = self.mk.c32((1u32 << bits) - 1);
                self.mk.i32(IOp::And, v, m)
            }
        }
    }

    fn funnel(&mut self, left: bool, bits: u8, hi: V, lo: V, by: V) -> Result<V, LowerError> {
        match bits {
            8 | 16 | 32 => {
                // fshr(a, b, n) = fshl(a, b, -n) for n that is no multiple of the width, and b for those that are:
                // fshl(b, a, …) cannot give that, so n = 0 is chosen apart.
                if left {
                    return Ok(self.mk.push(Op::Fshl(bits), Class::B32, smallvec![hi, lo, by]));
                }
                let m = self.mk.c32(u32::from(bits) - 1);
                let n = self.mk.i32(IOp::And, by, m);
                let w = self.mk.c32(u32::from(bits));
                let back = self.mk.i32(IOp::Sub, w, n);
                let r = self.mk.push(Op::Fshl(bits), Class::B32, smallvec![hi, lo, back]);
                let z = self.mk.c32(0);
                let none = self.mk.icmp(IntPred::Eq, n, z);
                Ok(self.mk.sel(none, lo, r))
            }
            64 => {
                let m = self.mk.c64(63);
                let n = self.mk.i64(IOp::And, by, m);
                let w = self.mk.c64(64);
                let back = self.mk.i64(IOp::Sub, w, n);
                let (l, r) = if left { (n, back) } else { (back, n) };
                let a = self.mk.i64(IOp::Shl, hi, l);
                let b = self.mk.i64(IOp::LShr, lo, r);
                let both = self.mk.i64(IOp::Or, a, b);
                let z = self.mk.c64(0);
                let none = self.mk.icmp(IntPred::Eq, n, z);
                Ok(self.mk.sel(none, if left { hi } else { lo }, both))
            }
            _ => Err(LowerError::unsupported("a funnel shift of this width")),
        }
    }

    fn saturating(&mut self, base: &str, bits: u8, a: V, b: V) -> Result<V, LowerError> {
        if bits > 32 {
            return Err(LowerError::unsupported("saturating arithmetic in 64 bits"));
        }
        if base == "usub" {
            let m = self.mk.i32(IOp::UMax, a, b);
            return Ok(self.mk.i32(IOp::Sub, m, b));
        }
        if base == "uadd" {
            let max = self.mk.c32(if bits == 32 { u32::MAX } else { (1 << bits) - 1 });
            let room = self.mk.i32(IOp::Sub, max, a);
            let b = self.mk.i32(IOp::UMin, b, room);
            return Ok(self.mk.i32(IOp::Add, a, b));
        }
        // In 64 bits nothing overflows; then clamp.
        let (x, y) = (self.sext_in_register(a, bits), self.sext_in_register(b, bits));
        let (x, y) = (self.mk.cvt(Cvt::Sext64, x), self.mk.cvt(Cvt::Sext64, y));
        let r = self.mk.i64(if base == "sadd" { IOp::Add } else { IOp::Sub }, x, y);
        let hi = (1i64 << (bits - 1)) - 1;
        let (h, l) = (self.mk.c64(hi as u64), self.mk.c64((-hi - 1) as u64));
        let r = self.mk.i64(IOp::SMin, r, h);
        let r = self.mk.i64(IOp::SMax, r, l);
        let r = self.mk.cvt(Cvt::Lo, r);
        Ok(self.truncate(r, bits))
    }

    /// `llvm.vector.reduce.*`.
    fn vector_reduce(&mut self, name: &str, args: &'m [CallArg], ops: &[Val]) -> Result<Val, LowerError> {
        let unknown = || LowerError::unsupported(format!("`llvm.{name}`"));
        let op = name.strip_prefix("vector.reduce.").and_then(|r| r.split('.').next()).ok_or_else(unknown)?;
        let (vec, start) = match (op, ops) {
            ("fadd" | "fmul", [s, v]) => (v, s.first().copied()),
            (_, [v]) => (v, None),
            _ => return Err(unknown()),
        };
        let ty = args.get(usize::from(start.is_some())).map(|a| &a.ty).ok_or_else(unknown)?;
        let s = *self.kinds(ty)?.first().ok_or_else(unknown)?;
        let mut acc = start;
        for &x in vec {
            acc = Some(match acc {
                None => x,
                Some(a) => match (op, s) {
                    ("or", Scalar::Int(1)) => self.mk.por(a, x),
                    ("and", Scalar::Int(1)) => self.mk.pand(a, x),
                    ("xor" | "add", Scalar::Int(1)) => self.mk.pxor(a, x),
                    ("fadd" | "fmul", _) => {
                        let v = self.mk.fbin(if op == "fadd" { FBin::Add } else { FBin::Mul }, a, x);
                        self.round(v, s)
                    }
                    ("fmin" | "fmax" | "fminimum" | "fmaximum", _) => {
                        let f = match op {
                            "fmin" => FBin::Min,
                            "fmax" => FBin::Max,
                            "fminimum" => FBin::Minimum,
                            _ => FBin::Maximum,
                        };
                        self.mk.fbin(f, a, x)
                    }
                    (_, Scalar::Int(bits)) => {
                        let iop = match op {
                            "add" => IOp::Add,
                            "mul" => IOp::Mul,
                            "and" => IOp::And,
                            "or" => IOp::Or,
                            "xor" => IOp::Xor,
                            "smin" => IOp::SMin,
                            "smax" => IOp::SMax,
                            "umin" => IOp::UMin,
                            "umax" => IOp::UMax,
                            _ => return Err(unknown()),
                        };
                        let (mut a, mut x) = (a, x);
                        if matches!(iop, IOp::SMin | IOp::SMax) {
                            a = self.sext_in_register(a, bits);
                            x = self.sext_in_register(x, bits);
                        }
                        let r = if bits > 32 { self.mk.i64(iop, a, x) } else { self.mk.i32(iop, a, x) };
                        self.truncate(r, bits)
                    }
                    _ => return Err(unknown()),
                },
            });
        }
        Ok(smallvec![acc.ok_or_else(unknown)?])
    }
}

fn shuffle_kind(base: &str) -> Option<ShuffleKind> {
    Some(match base {
        "shuffle" => ShuffleKind::Index,
        "shuffle_xor" => ShuffleKind::Xor,
        "shuffle_up" => ShuffleKind::Up,
        "shuffle_down" => ShuffleKind::Down,
        "shuffle_rotate_up" => ShuffleKind::RotateUp,
        "shuffle_rotate_down" => ShuffleKind::RotateDown,
        "shuffle_fill_up" => ShuffleKind::FillUp,
        "shuffle_fill_down" => ShuffleKind::FillDown,
        "broadcast" => ShuffleKind::Broadcast,
        "broadcast_first" => ShuffleKind::BroadcastFirst,
        "quad_shuffle" => ShuffleKind::QuadIndex,
        "quad_shuffle_xor" => ShuffleKind::QuadXor,
        "quad_shuffle_up" => ShuffleKind::QuadUp,
        "quad_shuffle_down" => ShuffleKind::QuadDown,
        "quad_broadcast" | "quad_shuffle_broadcast" => ShuffleKind::QuadBroadcast,
        _ => return None,
    })
}

fn reduce_op(s: &str) -> Option<ReduceOp> {
    Some(match s {
        "sum" => ReduceOp::Sum,
        "product" => ReduceOp::Product,
        "min" => ReduceOp::Min,
        "max" => ReduceOp::Max,
        "and" => ReduceOp::And,
        "or" => ReduceOp::Or,
        "xor" => ReduceOp::Xor,
        "prefix_inclusive_sum" => ReduceOp::InclusiveSum,
        "prefix_exclusive_sum" => ReduceOp::ExclusiveSum,
        "prefix_inclusive_product" => ReduceOp::InclusiveProduct,
        "prefix_exclusive_product" => ReduceOp::ExclusiveProduct,
        _ => return None,
    })
}

fn math1(s: &str) -> Option<FUn> {
    Some(match s {
        "exp" => FUn::Exp,
        "exp2" => FUn::Exp2,
        "exp10" => FUn::Exp10,
        "log" => FUn::Log,
        "log2" => FUn::Log2,
        "log10" => FUn::Log10,
        "sin" => FUn::Sin,
        "cos" => FUn::Cos,
        "tan" => FUn::Tan,
        "asin" => FUn::Asin,
        "acos" => FUn::Acos,
        "atan" => FUn::Atan,
        "sinh" => FUn::Sinh,
        "cosh" => FUn::Cosh,
        "tanh" => FUn::Tanh,
        "asinh" => FUn::Asinh,
        "acosh" => FUn::Acosh,
        "atanh" => FUn::Atanh,
        "sqrt" => FUn::Sqrt,
        "rsqrt" => FUn::Rsqrt,
        "rcp" => FUn::Rcp,
        "erf" => FUn::Erf,
        "erfinv" => FUn::Erfinv,
        "lgamma" => FUn::Lgamma,
        "tgamma" => FUn::Tgamma,
        "sinpi" => FUn::Sinpi,
        "cospi" => FUn::Cospi,
        "tanpi" => FUn::Tanpi,
        "erfc" => FUn::Erfc,
        "expm1" => FUn::Expm1,
        "log1p" => FUn::Log1p,
        "cbrt" => FUn::Cbrt,
        "floor" => FUn::Floor,
        "ceil" => FUn::Ceil,
        "trunc" => FUn::Trunc,
        "rint" => FUn::Rint,
        "round" => FUn::Round,
        _ => return None,
    })
}

fn math2(s: &str) -> Option<FBin> {
    Some(match s {
        "div" => FBin::FastDiv,
        "pow" => FBin::Pow,
        "powr" => FBin::Powr,
        "fmod" => FBin::Rem,
        "atan2" => FBin::Atan2,
        "hypot" => FBin::Hypot,
        _ => return None,
    })
}
