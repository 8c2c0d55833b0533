//! A plain executor of LLVM IR: one thread at a time, value by value, straight from the reader's form. Slow and simple on
//! purpose; shares the definitions of scalar operations with the machine, and nothing of lowering, masks or registers.
//! Threads stop at collective operations until all threads of their simdgroup (or group) have come.

use std::collections::HashMap;

use ksearch_simt::lower::sir::{Cvt, FBin, FUn, IOp, IUn};
use ksearch_simt::reader::ir::{BinOp, Callee, CastOp, Const, Function, Inst, InstKind, Module, Type, Value};
use ksearch_simt::semantics as sem;

/// Why a kernel cannot be run here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck(pub String);

fn stuck<T>(what: impl Into<String>) -> Result<T, Stuck> {
    Err(Stuck(what.into()))
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
enum Val {
    /// Integer, zero-extended from its width.
    Int(u64),
    /// Binary32, also for binary16 values.
    Float(u32),
    /// Memory object and byte offset.
    Ptr(Object, i64),
    List(Vec<Val>),
}

/// A piece of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Object {
    /// Buffer of an argument.
    Buffer(usize),
    /// Global in threadgroup memory, by position in the module.
    Threadgroup(usize),
    /// Private variable of the running thread, by number.
    Private(usize),
}

struct Frame<'m> {
    f: &'m Function,
    block: usize,
    before: usize,
    at: usize,
    locals: Vec<Option<Val>>,
    /// Local of the caller that takes the result.
    into: Option<u32>,
}

struct Thread<'m> {
    frames: Vec<Frame<'m>>,
    private: Vec<Vec<u8>>,
    id: u32,
    /// Collective operation it waits at: name and operands.
    waits: Option<(String, Vec<Val>)>,
    steps: u64,
}

/// One group's launch.
pub struct Reference<'m> {
    m: &'m Module,
    /// Contents of the buffers, by argument.
    pub buffers: Vec<Vec<u8>>,
    threadgroup: HashMap<usize, Vec<u8>>,
    threads: u32,
    group: u32,
}

/// Steps a thread may take.
const MAX_STEPS: u64 = 1_000_000;

impl<'m> Reference<'m> {
    /// Over these buffers, with so many threads a group.
    pub fn new(m: &'m Module, buffers: Vec<Vec<u8>>, threads: u32) -> Self {
        Self { m, buffers, threadgroup: HashMap::new(), threads, group: 0 }
    }

    /// Runs groups `0..groups` of a kernel.
    pub fn run(&mut self, symbol: &str, groups: u32) -> Result<(), Stuck> {
        for g in 0..groups {
            self.group = g;
            self.threadgroup.clear();
            self.run_group(symbol)?;
        }
        Ok(())
    }

    fn run_group(&mut self, symbol: &str) -> Result<(), Stuck> {
        let m = self.m;
        let Some(f) = m.function(symbol) else { return stuck("no such function") };
        let mut threads: Vec<Thread<'m>> = (0..self.threads)
            .map(|id| {
                let mut locals = vec![None; f.locals as usize];
                for (k, p) in f.params.iter().enumerate() {
                    locals[p.local as usize] = Some(Val::Ptr(Object::Buffer(k), 0));
                }
                let frame = Frame { f, block: 0, before: 0, at: 0, locals, into: None };
                Thread { frames: vec![frame], private: Vec::new(), id, waits: None, steps: 0 }
            })
            .collect();
        loop {
            for t in &mut threads {
                while t.waits.is_none() && !t.frames.is_empty() {
                    self.step(t)?;
                }
            }
            if threads.iter().all(|t| t.frames.is_empty()) {
                return Ok(());
            }
            if threads.iter().any(|t| t.waits.is_none()) {
                return stuck("a collective operation that not all threads reach");
            }
            for simd in threads.chunks_mut(32) {
                collective(simd)?;
            }
        }
    }

    fn step(&mut self, t: &mut Thread<'m>) -> Result<(), Stuck> {
        t.steps += 1;
        if t.steps > MAX_STEPS {
            return stuck("too many steps");
        }
        let Some(fr) = t.frames.last() else { return Ok(()) };
        let f = fr.f;
        let inst = &f.blocks[fr.block].insts[fr.at];
        match &inst.kind {
            InstKind::Br(b) => self.go(t, *b),
            InstKind::CondBr(c, a, b) => {
                let c = self.value(t, &Type::Int(1), c)?;
                let to = if c == Val::Int(0) { *b } else { *a };
                self.go(t, to)
            }
            InstKind::Switch { ty, v, default, cases } => {
                let Val::Int(x) = self.value(t, ty, v)? else { return stuck("switch on no integer") };
                let to = cases.iter().find(|c| mask(c.0 as u64, ty) == x).map_or(*default, |c| c.1);
                self.go(t, to)
            }
            InstKind::Ret(v) => {
                let r = match v {
                    Some((ty, v)) => Some(self.value(t, ty, v)?),
                    None => None,
                };
                let into = t.frames.pop().and_then(|f| f.into);
                if let (Some(local), Some(r), Some(fr)) = (into, r, t.frames.last_mut()) {
                    fr.locals[local as usize] = Some(r);
                }
                if let Some(fr) = t.frames.last_mut() {
                    fr.at += 1;
                }
                Ok(())
            }
            InstKind::Unreachable => stuck("unreachable"),
            InstKind::Call { callee: Callee::Direct(name), args, .. } => {
                let mut vals = Vec::new();
                for a in args {
                    let Some(v) = &a.value else { continue };
                    vals.push(self.value(t, &a.ty, v)?);
                }
                if let Some(callee) = self.m.function(name) {
                    let mut locals = vec![None; callee.locals as usize];
                    for (p, v) in callee.params.iter().zip(vals) {
                        locals[p.local as usize] = Some(v);
                    }
                    t.frames.push(Frame { f: callee, block: 0, before: 0, at: 0, locals, into: inst.result });
                    return Ok(());
                }
                match self.external(t.id, name, inst, &vals)? {
                    Some(r) => Self::set(t, inst, r),
                    None => {
                        t.waits = Some((name.to_string(), vals));
                        Ok(())
                    }
                }
            }
            _ => {
                let r = self.compute(t, inst)?;
                Self::set(t, inst, r)
            }
        }
    }

    fn set(t: &mut Thread<'m>, inst: &Inst, v: Val) -> Result<(), Stuck> {
        let Some(fr) = t.frames.last_mut() else { return stuck("no frame") };
        if let Some(l) = inst.result {
            fr.locals[l as usize] = Some(v);
        }
        fr.at += 1;
        Ok(())
    }

    /// Enters a block: its phis take their values all at once.
    fn go(&mut self, t: &mut Thread<'m>, to: u32) -> Result<(), Stuck> {
        let Some(fr) = t.frames.last_mut() else { return stuck("no frame") };
        fr.before = fr.block;
        fr.block = to as usize;
        fr.at = 0;
        let (f, before) = (fr.f, fr.before);
        let mut new = Vec::new();
        for inst in &f.blocks[to as usize].insts {
            let InstKind::Phi(list) = &inst.kind else { break };
            let Some((v, _)) = list.iter().find(|x| x.1 as usize == before) else { return stuck("phi") };
            new.push((inst.result, self.value(t, &inst.ty, v)?));
        }
        if let Some(fr) = t.frames.last_mut() {
            fr.at = new.len();
            for (l, v) in new {
                if let Some(l) = l {
                    fr.locals[l as usize] = Some(v);
                }
            }
        }
        Ok(())
    }

    fn value(&self, t: &Thread<'m>, ty: &Type, v: &Value) -> Result<Val, Stuck> {
        match v {
            Value::Local(l) => t
                .frames
                .last()
                .and_then(|f| f.locals.get(*l as usize).cloned().flatten())
                .ok_or_else(|| Stuck("use before definition".to_owned())),
            Value::Const(c) => self.constant(ty, c),
        }
    }

    fn constant(&self, ty: &Type, c: &Const) -> Result<Val, Stuck> {
        Ok(match (c, ty) {
            (Const::Int(v), Type::Int(_)) => Val::Int(mask(*v as u64, ty)),
            (Const::Float(v), Type::Float | Type::Half) => Val::Float((*v as f32).to_bits()),
            (Const::Float16(b), Type::Half) => Val::Float(sem::f16_to_f32(*b)),
            (Const::Undef | Const::Zero, Type::Int(_)) => Val::Int(0),
            (Const::Undef | Const::Zero, Type::Float | Type::Half) => Val::Float(0),
            (Const::Undef | Const::Zero, Type::Vector(n, e)) => {
                Val::List(vec![self.constant(e, &Const::Zero)?; *n as usize])
            }
            (Const::Splat(t, k), Type::Vector(n, _)) => Val::List(vec![self.constant(t, k)?; *n as usize]),
            (Const::Aggregate(v), _) => {
                Val::List(v.iter().map(|(t, k)| self.constant(t, k)).collect::<Result<_, _>>()?)
            }
            (Const::Global(n), _) => {
                let k = self.m.globals.iter().position(|g| g.name == *n);
                match k {
                    Some(k) => Val::Ptr(Object::Threadgroup(k), 0),
                    None => return stuck("unknown global"),
                }
            }
            _ => return stuck("this constant"),
        })
    }

    /// Functions that one thread can do alone; `None` for collective ones.
    fn external(&self, id: u32, name: &str, inst: &Inst, a: &[Val]) -> Result<Option<Val>, Stuck> {
        let int = |k: usize| match a.get(k) {
            Some(Val::Int(x)) => Ok(*x as u32),
            _ => stuck("an integer operand"),
        };
        let float = |k: usize| match a.get(k) {
            Some(Val::Float(x)) => Ok(*x),
            _ => stuck("a floating operand"),
        };
        let base = name.strip_prefix("llvm.").and_then(|n| n.split('.').next()).unwrap_or(name);
        let _ = inst;
        Ok(Some(match base {
            "__ks_sr" => Val::Int(u64::from(match int(0)? {
                0 => id,
                3 => self.group,
                12 => id % 32,
                13 => id / 32,
                19 => self.group * self.threads + id,
                n => return stuck(format!("special register {n}")),
            })),
            "fma" => Val::Float(sem::fma(false, false, float(0)?, float(1)?, float(2)?)),
            "fabs" => Val::Float(sem::fun(FUn::Abs, float(0)?)),
            "floor" => Val::Float(sem::fun(FUn::Floor, float(0)?)),
            "minnum" => Val::Float(sem::fbin(FBin::Min, float(0)?, float(1)?)),
            "maxnum" => Val::Float(sem::fbin(FBin::Max, float(0)?, float(1)?)),
            "ctpop" => Val::Int(u64::from(sem::iun32(IUn::Popcnt, int(0)?))),
            "smax" => Val::Int(u64::from(sem::iop32(IOp::SMax, int(0)?, int(1)?))),
            "umin" => Val::Int(u64::from(sem::iop32(IOp::UMin, int(0)?, int(1)?))),
            "fshl" => Val::Int(u64::from(sem::fshl(32, int(0)?, int(1)?, int(2)?))),
            "__ks_threadgroup_barrier"
            | "__ks_shuffle_xor_i32"
            | "__ks_simd_sum_i32"
            | "__ks_simd_max_u32"
            | "__ks_ballot" => return Ok(None),
            _ => return stuck(format!("the function {name}")),
        }))
    }

    fn compute(&mut self, t: &mut Thread<'m>, inst: &Inst) -> Result<Val, Stuck> {
        let ty = &inst.ty;
        Ok(match &inst.kind {
            InstKind::Bin { op, a, b, .. } => {
                let (x, y) = (self.value(t, ty, a)?, self.value(t, ty, b)?);
                each2(ty, &x, &y, &|ty, x, y| bin(*op, ty, x, y))?
            }
            InstKind::FNeg(v) => match self.value(t, ty, v)? {
                Val::Float(x) => Val::Float(x ^ 0x8000_0000),
                _ => return stuck("fneg"),
            },
            InstKind::ICmp { pred, ty, a, b } => {
                let (x, y) = (self.value(t, ty, a)?, self.value(t, ty, b)?);
                let (Val::Int(x), Val::Int(y)) = (x, y) else { return stuck("icmp") };
                Val::Int(u64::from(sem::icmp64(*pred, sign(x, ty), sign(y, ty))))
            }
            InstKind::FCmp { pred, ty, a, b } => {
                let (x, y) = (self.value(t, ty, a)?, self.value(t, ty, b)?);
                let (Val::Float(x), Val::Float(y)) = (x, y) else { return stuck("fcmp") };
                Val::Int(u64::from(sem::fcmp(*pred, x, y)))
            }
            InstKind::Select { cond, a, b, .. } => {
                let c = self.value(t, &Type::Int(1), cond)?;
                self.value(t, ty, if c == Val::Int(0) { b } else { a })?
            }
            InstKind::Cast { op, from, v } => cast(*op, from, ty, &self.value(t, from, v)?)?,
            InstKind::Freeze(v) => self.value(t, ty, v)?,
            InstKind::ExtractElement { vec_ty, v, idx } => {
                let (v, i) = (self.value(t, vec_ty, v)?, self.value(t, &Type::Int(64), idx)?);
                match (v, i) {
                    (Val::List(v), Val::Int(i)) => v.get(i as usize).cloned().unwrap_or(Val::Int(0)),
                    _ => return stuck("extractelement"),
                }
            }
            InstKind::InsertElement { v, elem, idx } => {
                let Type::Vector(_, e) = ty else { return stuck("insertelement") };
                let i = self.value(t, &Type::Int(64), idx)?;
                match (self.value(t, ty, v)?, self.value(t, e, elem)?, i) {
                    (Val::List(mut v), x, Val::Int(i)) => {
                        if let Some(s) = v.get_mut(i as usize) {
                            *s = x;
                        }
                        Val::List(v)
                    }
                    _ => return stuck("insertelement"),
                }
            }
            InstKind::Shuffle { vec_ty, a, b, mask } => {
                let (Val::List(x), Val::List(y)) = (self.value(t, vec_ty, a)?, self.value(t, vec_ty, b)?) else {
                    return stuck("shufflevector");
                };
                let all: Vec<Val> = x.into_iter().chain(y).collect();
                let pick = |m: &Option<u32>| m.and_then(|i| all.get(i as usize).cloned()).unwrap_or(Val::Int(0));
                Val::List(mask.iter().map(pick).collect())
            }
            InstKind::Alloca { of, .. } => {
                t.private.push(vec![0; bytes(of)? as usize]);
                Val::Ptr(Object::Private(t.private.len() - 1), 0)
            }
            InstKind::Gep { src, base_ty, base, indices } => {
                let Val::Ptr(o, mut off) = self.value(t, base_ty, base)? else { return stuck("gep") };
                let mut at = src.clone();
                for (k, (ity, i)) in indices.iter().enumerate() {
                    let Val::Int(i) = self.value(t, ity, i)? else { return stuck("gep index") };
                    if k > 0 {
                        at = match &at {
                            Type::Array(_, e) => (**e).clone(),
                            _ => return stuck("gep into this"),
                        };
                    }
                    off += sign(i, ity) as i64 * bytes(&at)? as i64;
                }
                Val::Ptr(o, off)
            }
            InstKind::Load { ptr, .. } => {
                let p = self.value(t, &Type::Ptr(0), ptr)?;
                let b = self.memory(t, &p, bytes(ty)?)?.to_vec();
                let mut w = [0u8; 8];
                w[..b.len()].copy_from_slice(&b);
                let x = u64::from_le_bytes(w);
                match ty {
                    Type::Float => Val::Float(x as u32),
                    Type::Int(_) => Val::Int(x),
                    _ => return stuck("load of this type"),
                }
            }
            InstKind::Store { ty, v, ptr, .. } => {
                let v = self.value(t, ty, v)?;
                let p = self.value(t, &Type::Ptr(0), ptr)?;
                let x = match v {
                    Val::Int(x) => x,
                    Val::Float(x) => u64::from(x),
                    _ => return stuck("store of this type"),
                };
                let n = bytes(ty)?;
                self.memory(t, &p, n)?.copy_from_slice(&x.to_le_bytes()[..n as usize]);
                Val::Int(0)
            }
            k => return stuck(format!("{k:?}")),
        })
    }

    fn memory<'a>(&'a mut self, t: &'a mut Thread<'m>, p: &Val, n: u64) -> Result<&'a mut [u8], Stuck> {
        let Val::Ptr(o, off) = p else { return stuck("no pointer") };
        let size = |k: usize| self.m.globals.get(k).map_or(0, |g| bytes(&g.ty).unwrap_or(0)) as usize;
        let m = match o {
            Object::Buffer(k) => self.buffers.get_mut(*k),
            Object::Threadgroup(k) => {
                let n = size(*k);
                Some(self.threadgroup.entry(*k).or_insert_with(|| vec![0; n]))
            }
            Object::Private(k) => t.private.get_mut(*k),
        };
        let from = usize::try_from(*off).map_err(|_| Stuck("out of bounds".to_owned()))?;
        m.and_then(|m| m.get_mut(from..from + n as usize)).ok_or_else(|| Stuck("out of bounds".to_owned()))
    }
}

/// Carries out the collective operation that all threads of a simdgroup wait at.
fn collective(simd: &mut [Thread<'_>]) -> Result<(), Stuck> {
    let Some((name, _)) = simd.first().and_then(|t| t.waits.clone()) else { return stuck("nobody waits") };
    if simd.iter().any(|t| t.waits.as_ref().is_none_or(|w| w.0 != name)) {
        return stuck("threads wait at different operations");
    }
    let operand = |t: &Thread<'_>, k: usize| match t.waits.as_ref().and_then(|w| w.1.get(k)) {
        Some(Val::Int(x)) => *x as u32,
        _ => 0,
    };
    let xs: Vec<u32> = simd.iter().map(|t| operand(t, 0)).collect();
    let results: Vec<u64> = simd
        .iter()
        .enumerate()
        .map(|(l, t)| match name.as_str() {
            "__ks_shuffle_xor_i32" => u64::from(xs.get(l ^ operand(t, 1) as usize).copied().unwrap_or(0)),
            "__ks_simd_sum_i32" => u64::from(xs.iter().fold(0u32, |a, &b| a.wrapping_add(b))),
            "__ks_simd_max_u32" => u64::from(xs.iter().copied().max().unwrap_or(0)),
            "__ks_ballot" => xs.iter().enumerate().fold(0, |m, (k, &x)| m | u64::from(x != 0) << k),
            _ => 0,
        })
        .collect();
    for (t, r) in simd.iter_mut().zip(results) {
        t.waits = None;
        let Some(fr) = t.frames.last_mut() else { continue };
        let inst = &fr.f.blocks[fr.block].insts[fr.at];
        if let Some(l) = inst.result {
            fr.locals[l as usize] = Some(Val::Int(r));
        }
        fr.at += 1;
    }
    Ok(())
}

fn bytes(ty: &Type) -> Result<u64, Stuck> {
    Ok(match ty {
        Type::Int(b) => u64::from(b.div_ceil(8)),
        Type::Float => 4,
        Type::Half => 2,
        Type::Array(n, e) => n * bytes(e)?,
        _ => return stuck("the size of this type"),
    })
}

fn width(ty: &Type) -> u32 {
    match ty {
        Type::Int(b) => *b,
        _ => 64,
    }
}

fn mask(x: u64, ty: &Type) -> u64 {
    match width(ty) {
        64.. => x,
        b => x & ((1 << b) - 1),
    }
}

/// Sign-extends to 64 bits. Unsigned order is the same on both forms of two values of one width.
fn sign(x: u64, ty: &Type) -> u64 {
    let s = 64 - width(ty).min(64);
    (((x << s) as i64) >> s) as u64
}

fn each2(ty: &Type, x: &Val, y: &Val, f: &dyn Fn(&Type, &Val, &Val) -> Result<Val, Stuck>) -> Result<Val, Stuck> {
    match (ty, x, y) {
        (Type::Vector(_, e), Val::List(x), Val::List(y)) => {
            Ok(Val::List(x.iter().zip(y).map(|(x, y)| f(e, x, y)).collect::<Result<_, _>>()?))
        }
        _ => f(ty, x, y),
    }
}

fn bin(op: BinOp, ty: &Type, x: &Val, y: &Val) -> Result<Val, Stuck> {
    let round = |r: u32| if *ty == Type::Half { sem::fun(FUn::RoundF16, r) } else { r };
    match (x, y) {
        (Val::Float(x), Val::Float(y)) => {
            let f = match op {
                BinOp::FAdd => FBin::Add,
                BinOp::FSub => FBin::Sub,
                BinOp::FMul => FBin::Mul,
                BinOp::FDiv => FBin::Div,
                _ => return stuck("this floating operation"),
            };
            Ok(Val::Float(round(sem::fbin(f, *x, *y))))
        }
        (Val::Int(x), Val::Int(y)) => {
            let (sx, sy) = (sign(*x, ty), sign(*y, ty));
            let r = match op {
                BinOp::Add => x.wrapping_add(*y),
                BinOp::Sub => x.wrapping_sub(*y),
                BinOp::Mul => x.wrapping_mul(*y),
                BinOp::UDiv => sem::iop64(IOp::UDiv, *x, *y),
                BinOp::URem => sem::iop64(IOp::URem, *x, *y),
                BinOp::SDiv => sem::iop64(IOp::SDiv, sx, sy),
                BinOp::SRem => sem::iop64(IOp::SRem, sx, sy),
                BinOp::And => x & y,
                BinOp::Or => x | y,
                BinOp::Xor => x ^ y,
                BinOp::Shl => sem::iop64(IOp::Shl, *x, *y),
                BinOp::LShr => sem::iop64(IOp::LShr, *x, *y),
                BinOp::AShr => sem::iop64(IOp::AShr, sx, *y),
                _ => return stuck("this integer operation"),
            };
            Ok(Val::Int(mask(r, ty)))
        }
        _ => stuck("operands of two kinds"),
    }
}

fn cast(op: CastOp, from: &Type, to: &Type, v: &Val) -> Result<Val, Stuck> {
    Ok(match (op, v) {
        (CastOp::Trunc | CastOp::ZExt, Val::Int(x)) => Val::Int(mask(*x, to)),
        (CastOp::SExt, Val::Int(x)) => Val::Int(mask(sign(*x, from), to)),
        (CastOp::FpTrunc, Val::Float(x)) => Val::Float(sem::fun(FUn::RoundF16, *x)),
        (CastOp::FpExt, Val::Float(x)) => Val::Float(*x),
        (CastOp::SiToFp, Val::Int(x)) => Val::Float(sem::cvt(Cvt::LToF { signed: true }, sign(*x, from)) as u32),
        (CastOp::FpToSi, Val::Float(x)) => Val::Int(sem::ftoi(true, width(to) as u8, *x)),
        _ => return stuck("this cast"),
    })
}
