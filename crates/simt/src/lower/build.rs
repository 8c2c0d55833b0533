//! Walks an IR function and its callees and builds the SSA form: blocks, phis, constants, inlined calls, positions.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use ksearch_msl::SourcePos;

use super::LowerError;
use super::layout::{self, Scalar};
use super::make::Maker;
use super::sir::{Args, Block, BlockId, Class, Cvt, Func, IOp, Op, Term, V};
use crate::reader::ir::{BinOp, CastOp, Const, Function, InstKind, LocId, Module, Type, Value};

/// Scalars of one IR value.
pub type Val = SmallVec<[V; 4]>;

/// A program may have this many nodes.
const MAX_NODES: usize = 4_000_000;
/// Calls may nest this deep.
const MAX_CALLS: usize = 64;

/// Tags of generic 64-bit pointers.
pub const TAG_THREADGROUP: u64 = 1 << 60;
/// See [`TAG_THREADGROUP`].
pub const TAG_PRIVATE: u64 = 2 << 60;
/// Base address of the constant globals: the last buffer slot. Addresses carry the buffer in bits 40 and up; offset 0 lies
/// in the middle of the slot, so that negative offsets still name their buffer.
pub const CONSTANTS_BASE: u64 = (0xffff << 40) + (1 << 39);

/// A phi whose operands are still to come: IR block, result nodes, incoming values, type.
pub type OpenPhi<'m> = (u32, Val, &'m [(Value, u32)], Type);

/// State of one function body while it is walked.
pub struct Frame<'m> {
    pub func: &'m Function,
    /// Scalars by local.
    pub vals: Vec<Option<Val>>,
    /// SIR block by IR block.
    pub blocks: Vec<Option<BlockId>>,
    /// SIR predecessors by IR edge.
    pub edges: FxHashMap<(u32, u32), Vec<BlockId>>,
    /// Phis to fill: IR block, result nodes, incoming.
    pub phis: Vec<OpenPhi<'m>>,
    /// Where `ret` goes and the values it brings; `None` in the kernel itself.
    pub returns: Option<(BlockId, Vec<(BlockId, Val)>)>,
}

/// Builder of one kernel.
pub struct Builder<'m> {
    pub m: &'m Module,
    pub mk: Maker,
    /// Offsets of threadgroup globals.
    threadgroup: FxHashMap<Arc<str>, u32>,
    /// Addresses of constant globals.
    constants: FxHashMap<Arc<str>, u64>,
    /// Functions being inlined, for recursion.
    stack: Vec<Arc<str>>,
    /// Position of the innermost call whose site is in a user's file.
    call_pos: u32,
    pos_ids: FxHashMap<LocId, u32>,
    pos_index: FxHashMap<SourcePos, u32>,
}

/// Builds the kernel whose IR function is `symbol`.
pub fn build(m: &Module, symbol: &str) -> Result<Func, LowerError> {
    let func = m.function(symbol).ok_or_else(|| LowerError::NoFunction(symbol.to_owned()))?;
    let mut b = Builder {
        m,
        mk: Maker::new(),
        threadgroup: FxHashMap::default(),
        constants: FxHashMap::default(),
        stack: Vec::new(),
        call_pos: super::sir::NO_POS,
        pos_ids: FxHashMap::default(),
        pos_index: FxHashMap::default(),
    };
    b.mk.cur = b.new_block();
    let mut args = Vec::new();
    for (i, p) in func.params.iter().enumerate() {
        let class = match m.resolve(&p.ty) {
            Type::Ptr(1 | 2) => Class::B64,
            Type::Ptr(3) => Class::B32,
            _ => {
                return Err(LowerError::malformed(
                    "a kernel argument that is not a device, constant or threadgroup pointer",
                ));
            }
        };
        b.mk.f.constant_params.push(matches!(m.resolve(&p.ty), Type::Ptr(2)));
        let v = b.mk.push(Op::Param(i as u32), class, Args::new());
        args.push(smallvec::smallvec![v]);
    }
    b.function(func, args, None)?;
    let f = &mut b.mk.f;
    if f.blocks.len() > u32::MAX as usize / 2 {
        return Err(LowerError::unsupported("a kernel this large"));
    }
    Ok(std::mem::take(f))
}

impl<'m> Builder<'m> {
    /// A new empty block.
    pub fn new_block(&mut self) -> BlockId {
        self.mk.f.blocks.push(Block {
            phis: Vec::new(),
            nodes: Vec::new(),
            term: Term::Unreachable,
            term_pos: super::sir::NO_POS,
        });
        self.mk.f.blocks.len() as BlockId - 1
    }

    /// Ends the current block.
    pub fn end(&mut self, term: Term) {
        let pos = self.mk.pos;
        let cur = self.mk.cur as usize;
        if let Some(b) = self.mk.f.blocks.get_mut(cur) {
            b.term = term;
            b.term_pos = pos;
        }
    }

    /// Position of a debug location: the innermost one in a user's file. Files whose name starts with `<` are the
    /// library's own.
    fn position(&mut self, loc: Option<LocId>) -> u32 {
        let Some(id) = loc else { return self.call_pos };
        if let Some(&p) = self.pos_ids.get(&id) {
            return if p == super::sir::NO_POS { self.call_pos } else { p };
        }
        let mut at = Some(id);
        let mut found = super::sir::NO_POS;
        for _ in 0..256 {
            let Some(l) = at.and_then(|i| self.m.locations.get(i as usize)) else { break };
            if l.line != 0
                && let Some(file) = l.file.and_then(|f| self.m.files.get(f as usize))
                && !file.starts_with('<')
            {
                let pos = SourcePos { file: file.clone(), line: l.line, column: l.column };
                found = self.intern(pos);
                break;
            }
            at = l.inlined_at;
        }
        self.pos_ids.insert(id, found);
        if found == super::sir::NO_POS { self.call_pos } else { found }
    }

    fn intern(&mut self, pos: SourcePos) -> u32 {
        if let Some(&i) = self.pos_index.get(&pos) {
            return i;
        }
        let i = self.mk.f.positions.len() as u32;
        self.mk.f.positions.push(pos.clone());
        self.pos_index.insert(pos, i);
        i
    }

    /// The position of the instruction being lowered.
    pub fn here(&self) -> Option<SourcePos> {
        self.mk.f.positions.get(self.mk.pos as usize).cloned()
    }

    /// Lowers a function body in place. The result is the returned value.
    pub fn function(&mut self, func: &'m Function, args: Vec<Val>, at: Option<u32>) -> Result<Val, LowerError> {
        if self.stack.contains(&func.name) {
            return Err(LowerError::unsupported(format!("recursion (`{}` calls itself)", func.name)));
        }
        if self.stack.len() >= MAX_CALLS {
            return Err(LowerError::unsupported("calls nested deeper than 64"));
        }
        self.stack.push(func.name.clone());
        let saved = std::mem::replace(&mut self.call_pos, at.unwrap_or(super::sir::NO_POS));
        let returns = if at.is_some() { Some((self.new_block(), Vec::new())) } else { None };
        let mut fr = Frame {
            func,
            vals: vec![None; func.locals as usize],
            blocks: vec![None; func.blocks.len()],
            edges: FxHashMap::default(),
            phis: Vec::new(),
            returns,
        };
        for (p, v) in func.params.iter().zip(args) {
            if let Some(slot) = fr.vals.get_mut(p.local as usize) {
                *slot = Some(v);
            }
        }
        let order = reverse_post_order(func);
        for &b in &order {
            let id = if b == 0 { self.mk.cur } else { self.new_block() };
            fr.blocks[b as usize] = Some(id);
        }
        for &b in &order {
            self.block(&mut fr, b)?;
        }
        self.fill_phis(&mut fr)?;
        self.stack.pop();
        self.call_pos = saved;
        self.name_values(&fr);
        let Some((cont, rets)) = fr.returns else { return Ok(Val::new()) };
        self.mk.cur = cont;
        let mut kinds = Vec::new();
        layout::leaves(self.m, &func.ret, 0, &mut kinds)?;
        let mut out = Val::new();
        for (k, (_, s)) in kinds.iter().enumerate() {
            let incoming: Vec<(BlockId, V)> = rets.iter().filter_map(|(b, v)| v.get(k).map(|&v| (*b, v))).collect();
            match incoming.as_slice() {
                [] => out.push(self.zero(*s)),
                [(_, v)] => out.push(*v),
                _ => {
                    let v = self.mk.push(Op::Phi, class_of(*s), Args::new());
                    self.mark(v, *s);
                    self.mk.f.blocks[cont as usize].phis.push((v, incoming));
                    out.push(v);
                }
            }
        }
        Ok(out)
    }

    fn block(&mut self, fr: &mut Frame<'m>, b: u32) -> Result<(), LowerError> {
        let Some(id) = fr.blocks[b as usize] else { return Ok(()) };
        self.mk.cur = id;
        let func = fr.func;
        for inst in &func.blocks[b as usize].insts {
            if self.mk.f.nodes.len() > MAX_NODES {
                return Err(LowerError::unsupported("a kernel of more than four million operations"));
            }
            self.mk.pos = self.position(inst.loc);
            self.mk.contract = false;
            if let InstKind::Phi(incoming) = &inst.kind {
                let mut kinds = Vec::new();
                layout::leaves(self.m, &inst.ty, 0, &mut kinds)?;
                let mut v = Val::new();
                for (_, s) in kinds {
                    let n = self.mk.push(Op::Phi, class_of(s), Args::new());
                    self.mark(n, s);
                    v.push(n);
                }
                set(fr, inst.result, v.clone());
                fr.phis.push((b, v, incoming, inst.ty.clone()));
                continue;
            }
            let pos = self.here();
            self.inst(fr, b, inst).map_err(|e| e.at(pos))?;
        }
        Ok(())
    }

    /// Gives values the names of the variables that hold them.
    fn name_values(&mut self, fr: &Frame<'m>) {
        for (local, name) in &fr.func.variables {
            let Some(Some(values)) = fr.vals.get(*local as usize) else { continue };
            for (k, &v) in values.iter().enumerate() {
                if self.mk.f.const_of(v).is_some() {
                    continue;
                }
                let name = match (values.len(), k) {
                    (1, _) => Arc::clone(name),
                    (2..=4, 0..4) => Arc::from(format!("{name}.{}", ["x", "y", "z", "w"][k])),
                    _ => Arc::from(format!("{name}[{k}]")),
                };
                // The first is what a value was made for; others got it later.
                self.mk.f.variables.entry(v).or_insert(name);
            }
        }
    }

    fn fill_phis(&mut self, fr: &mut Frame<'m>) -> Result<(), LowerError> {
        for (b, nodes, incoming, ty) in std::mem::take(&mut fr.phis) {
            let Some(id) = fr.blocks[b as usize] else { continue };
            let mut lists: Vec<Vec<(BlockId, V)>> = vec![Vec::new(); nodes.len()];
            let mut done = FxHashSet::default();
            for (v, from) in incoming {
                // Several edges from one block carry the same value; unreachable blocks carry none.
                if !done.insert(*from) {
                    continue;
                }
                let Some(preds) = fr.edges.get(&(*from, b)).cloned() else { continue };
                let vals = self.value(fr, &ty, v)?;
                for (k, list) in lists.iter_mut().enumerate() {
                    let x = *vals.get(k).ok_or_else(|| LowerError::malformed("phi of values of two shapes"))?;
                    list.extend(preds.iter().map(|&p| (p, x)));
                }
            }
            for (v, list) in nodes.into_iter().zip(lists) {
                self.mk.f.blocks[id as usize].phis.push((v, list));
            }
        }
        Ok(())
    }

    /// Remembers that the current block branches to IR block `to`.
    pub fn edge(&mut self, fr: &mut Frame<'m>, from: u32, to: u32) -> Result<BlockId, LowerError> {
        let id = fr.blocks.get(to as usize).copied().flatten();
        let id = id.ok_or_else(|| LowerError::malformed("a branch to a missing block"))?;
        let list = fr.edges.entry((from, to)).or_default();
        if !list.contains(&self.mk.cur) {
            list.push(self.mk.cur);
        }
        Ok(id)
    }

    /// Scalars of an operand.
    pub fn value(&mut self, fr: &Frame<'m>, ty: &Type, v: &Value) -> Result<Val, LowerError> {
        match v {
            Value::Local(i) => fr
                .vals
                .get(*i as usize)
                .and_then(Clone::clone)
                .ok_or_else(|| LowerError::malformed("a value is used before it is defined")),
            Value::Const(c) => {
                let mut out = Val::new();
                self.constant(ty, c, &mut out)?;
                Ok(out)
            }
        }
    }

    /// The one scalar of an operand.
    pub fn scalar(&mut self, fr: &Frame<'m>, ty: &Type, v: &Value) -> Result<V, LowerError> {
        let v = self.value(fr, ty, v)?;
        v.first().copied().ok_or_else(|| LowerError::malformed("a scalar was expected"))
    }

    /// Zero of a kind.
    pub fn zero(&mut self, s: Scalar) -> V {
        match class_of(s) {
            Class::Pred => self.mk.cpred(false),
            Class::B64 => self.mk.c64(0),
            _ => self.mk.c32(0),
        }
    }

    /// Marks values of at most 16 bits.
    pub fn mark(&mut self, v: V, s: Scalar) -> V {
        if matches!(s, Scalar::F16 | Scalar::Bf16 | Scalar::Int(2..=16)) { self.mk.narrow(v) } else { v }
    }

    /// Scalars of a constant.
    pub fn constant(&mut self, ty: &Type, c: &Const, out: &mut Val) -> Result<(), LowerError> {
        let ty = self.m.resolve(ty);
        match (c, ty) {
            (Const::Undef | Const::Zero, _) => {
                let mut kinds = Vec::new();
                layout::leaves(self.m, ty, 0, &mut kinds)?;
                for (_, s) in kinds {
                    let z = self.zero(s);
                    out.push(z);
                }
            }
            (Const::Int(v), Type::Int(b)) => match b {
                1 => out.push(self.mk.cpred(v & 1 == 1)),
                2..=32 => out.push(self.mk.c32((*v & ((1u128 << b) - 1)) as u32)),
                33..=64 => out.push(self.mk.c64((*v & ((1u128 << b) - 1)) as u64)),
                65..=128 => {
                    out.push(self.mk.c64(*v as u64));
                    let hi = (*v >> 64) as u64;
                    if *b <= 96 {
                        out.push(self.mk.c32(hi as u32 & (u32::MAX >> (96 - b))));
                    } else {
                        out.push(self.mk.c64(hi & (u64::MAX >> (128 - b))));
                    }
                }
                _ => return Err(LowerError::unsupported(format!("integers of {b} bits"))),
            },
            (Const::Int(_), Type::Ptr(s)) => {
                let z = self.zero(Scalar::Ptr(*s));
                out.push(z);
            }
            (Const::Float(v), Type::Float | Type::Half | Type::BFloat) => {
                // A double literal of a narrower value is exact; NaN payloads shift with the significand.
                let v = self.mk.c32((*v as f32).to_bits());
                out.push(v);
            }
            (Const::Float(v), Type::Double) => {
                let v = self.mk.c64(v.to_bits());
                out.push(v);
            }
            (Const::Float16(b), Type::Half) => {
                let v = self.mk.c32(half::f16::from_bits(*b).to_f32().to_bits());
                out.push(v);
            }
            (Const::Float16(b), Type::BFloat) => {
                let v = self.mk.c32(u32::from(*b) << 16);
                out.push(v);
            }
            (Const::Global(n), Type::Ptr(space)) => {
                let v = self.global(n, *space)?;
                out.push(v);
            }
            (Const::Aggregate(v), _) => {
                for (t, c) in v {
                    self.constant(t, c, out)?;
                }
            }
            (Const::Splat(t, c), Type::Vector(n, _)) => {
                for _ in 0..*n {
                    self.constant(t, c, out)?;
                }
            }
            (Const::Bytes(b), _) => {
                for &x in b {
                    let v = self.mk.c32(u32::from(x));
                    out.push(v);
                }
            }
            (Const::Gep { ty, base, indices }, Type::Ptr(space)) => {
                let mut b = Val::new();
                self.constant(&Type::Ptr(*space), base, &mut b)?;
                let mut off = 0i64;
                let mut at = ty.clone();
                for (k, (_, i)) in indices.iter().enumerate() {
                    let Const::Int(i) = i else {
                        return Err(LowerError::unsupported("a constant address with a computed index"));
                    };
                    let i = *i as i64;
                    if k == 0 {
                        off = off.wrapping_add(i.wrapping_mul(layout::size(self.m, &at) as i64));
                    } else {
                        let (o, t) = self.step(&at, i)?;
                        off = off.wrapping_add(o);
                        at = t;
                    }
                }
                let base = *b.first().ok_or_else(|| LowerError::malformed("a constant address without a base"))?;
                out.push(self.offset(base, off));
            }
            (Const::Cast { op, from, value, to }, _) => {
                let mut v = Val::new();
                self.constant(from, value, &mut v)?;
                let r = self.cast(*op, from, to, v)?;
                out.extend(r);
            }
            (Const::Bin { op, ty, a, b }, _) => {
                let (mut x, mut y) = (Val::new(), Val::new());
                self.constant(ty, a, &mut x)?;
                self.constant(ty, b, &mut y)?;
                let iop = match op {
                    BinOp::Add => IOp::Add,
                    BinOp::Sub => IOp::Sub,
                    BinOp::Mul => IOp::Mul,
                    BinOp::Xor => IOp::Xor,
                    BinOp::And => IOp::And,
                    BinOp::Or => IOp::Or,
                    BinOp::Shl => IOp::Shl,
                    _ => return Err(LowerError::unsupported("this constant expression")),
                };
                for (x, y) in x.into_iter().zip(y) {
                    let wide = self.mk.f.node(x).class == Class::B64;
                    let v = if wide { self.mk.i64(iop, x, y) } else { self.mk.i32(iop, x, y) };
                    out.push(v);
                }
            }
            _ => return Err(LowerError::malformed("a constant that does not fit its type")),
        }
        Ok(())
    }

    /// Offset of element or field `i` of an aggregate, and its type.
    pub fn step(&self, ty: &Type, i: i64) -> Result<(i64, Type), LowerError> {
        match self.m.resolve(ty) {
            Type::Array(_, e) | Type::Vector(_, e) => {
                Ok((i.wrapping_mul(layout::size(self.m, e) as i64), (**e).clone()))
            }
            Type::Struct { packed, fields } => usize::try_from(i)
                .ok()
                .and_then(|i| layout::field(self.m, fields, *packed, i))
                .map(|(o, t)| (o as i64, t))
                .ok_or_else(|| LowerError::malformed("a field that does not exist")),
            _ => Err(LowerError::malformed("an index into a scalar")),
        }
    }

    /// A pointer plus constant bytes.
    pub fn offset(&mut self, base: V, bytes: i64) -> V {
        if self.mk.f.node(base).class == Class::B64 {
            let o = self.mk.c64(bytes as u64);
            self.mk.i64(IOp::Add, base, o)
        } else {
            let o = self.mk.c32(bytes as u32);
            self.mk.i32(IOp::Add, base, o)
        }
    }

    fn global(&mut self, name: &Arc<str>, space: u32) -> Result<V, LowerError> {
        let g = self.m.global(name).ok_or_else(|| {
            LowerError::unsupported(format!("the address of `{name}`, which is not a variable of this source"))
        })?;
        let (size, align) = (layout::size(self.m, &g.ty), layout::align(self.m, &g.ty).max(u64::from(g.align)).max(1));
        match g.space {
            3 => {
                let off = if let Some(&o) = self.threadgroup.get(name) {
                    o
                } else {
                    let at = u64::from(self.mk.f.static_threadgroup).next_multiple_of(align);
                    let end = at.saturating_add(size);
                    if end > 1 << 30 {
                        return Err(LowerError::unsupported("a gigabyte of threadgroup memory"));
                    }
                    self.mk.f.static_threadgroup = end as u32;
                    self.threadgroup.insert(name.clone(), at as u32);
                    at as u32
                };
                let v = self.mk.c32(off);
                if space == 4 {
                    let w = self.mk.cvt(Cvt::Zext64, v);
                    let t = self.mk.c64(TAG_THREADGROUP);
                    return Ok(self.mk.i64(IOp::Or, w, t));
                }
                Ok(v)
            }
            _ => {
                if !g.constant && g.space != 2 {
                    return Err(LowerError::unsupported(format!("the mutable program-scope variable `{name}`")));
                }
                let addr = if let Some(&a) = self.constants.get(name) {
                    a
                } else {
                    let bytes = &mut self.mk.f.constants;
                    let at = (bytes.len() as u64).next_multiple_of(align);
                    if at.saturating_add(size) > 1 << 28 {
                        return Err(LowerError::unsupported("more than 256 MiB of constants"));
                    }
                    bytes.resize((at + size) as usize, 0);
                    self.constants.insert(name.clone(), CONSTANTS_BASE + at);
                    if let Some(init) = &g.init {
                        self.place(&g.ty, init, at as usize)?;
                    }
                    CONSTANTS_BASE + at
                };
                Ok(self.mk.c64(addr))
            }
        }
    }

    /// Writes a constant into the pool of constants.
    fn place(&mut self, ty: &Type, c: &Const, at: usize) -> Result<(), LowerError> {
        let ty = self.m.resolve(ty).clone();
        let n = layout::size(self.m, &ty) as usize;
        let mut put = |b: &[u8]| {
            if let Some(dst) = self.mk.f.constants.get_mut(at..at + b.len()) {
                dst.copy_from_slice(b);
            }
        };
        match (c, &ty) {
            (Const::Undef | Const::Zero, _) => {}
            (Const::Int(v), Type::Int(b)) => {
                let v = if *b < 128 { v & ((1u128 << b) - 1) } else { *v };
                put(v.to_le_bytes().get(..n.min(16)).unwrap_or(&[]));
            }
            (Const::Int(_), Type::Ptr(_)) => {}
            (Const::Float(v), Type::Float) => put(&(*v as f32).to_le_bytes()),
            (Const::Float(v), Type::Half) => put(&half::f16::from_f64(*v).to_le_bytes()),
            (Const::Float(v), Type::BFloat) => put(&half::bf16::from_f64(*v).to_le_bytes()),
            (Const::Float(v), Type::Double) => put(&v.to_le_bytes()),
            (Const::Float16(b), _) => put(&b.to_le_bytes()),
            (Const::Bytes(b), _) => put(b),
            (Const::Splat(t, c), Type::Vector(k, _)) => {
                let step = layout::size(self.m, t) as usize;
                for i in 0..*k as usize {
                    self.place(t, c, at + i * step)?;
                }
            }
            (Const::Aggregate(v), _) => {
                for (i, (t, c)) in v.iter().enumerate() {
                    let (o, _) = self.step(&ty, i as i64)?;
                    self.place(t, c, at + o as usize)?;
                }
            }
            (_, Type::Ptr(_)) => {
                let mut out = Val::new();
                self.constant(&ty, c, &mut out)?;
                let v = out.first().and_then(|&v| self.mk.f.const_of(v));
                let v = v.ok_or_else(|| LowerError::unsupported("a constant that holds a computed address"))?;
                if let Some(dst) = self.mk.f.constants.get_mut(at..at + 8) {
                    dst.copy_from_slice(&v.to_le_bytes());
                }
            }
            _ => return Err(LowerError::unsupported("this initialiser of a constant")),
        }
        Ok(())
    }

    /// Casts of scalars, element by element; `bitcast` through bits.
    pub fn cast(&mut self, op: CastOp, from: &Type, to: &Type, v: Val) -> Result<Val, LowerError> {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        layout::leaves(self.m, from, 0, &mut a)?;
        layout::leaves(self.m, to, 0, &mut b)?;
        let wide = |t: &Type| matches!(t, Type::Int(65..=128));
        if wide(self.m.resolve(from)) || wide(self.m.resolve(to)) {
            return self.cast_wide(op, &a, &b, &v);
        }
        if op == CastOp::BitCast {
            return Ok(self.bitcast(&a, &b, &v));
        }
        if a.len() != b.len() || v.len() != a.len() {
            return Err(LowerError::malformed("a cast between shapes"));
        }
        let mut out = Val::new();
        for ((x, (_, s)), (_, t)) in v.into_iter().zip(a).zip(b) {
            let r = self.cast_scalar(op, s, t, x)?;
            out.push(self.mark(r, t));
        }
        Ok(out)
    }
}

/// Register class of a scalar.
pub fn class_of(s: Scalar) -> Class {
    match s {
        Scalar::Int(1) => Class::Pred,
        Scalar::Int(33..) | Scalar::F64 | Scalar::Ptr(1 | 2 | 4) => Class::B64,
        _ => Class::B32,
    }
}

/// Sets a local.
pub fn set(fr: &mut Frame<'_>, local: Option<u32>, v: Val) {
    if let Some(slot) = local.and_then(|l| fr.vals.get_mut(l as usize)) {
        *slot = Some(v);
    }
}

fn reverse_post_order(f: &Function) -> Vec<u32> {
    let succs = |b: u32| -> Vec<u32> {
        match f.blocks[b as usize].insts.last().map(|i| &i.kind) {
            Some(InstKind::Br(t)) => vec![*t],
            Some(InstKind::CondBr(_, t, e)) => vec![*t, *e],
            Some(InstKind::Switch { default, cases, .. }) => cases.iter().map(|c| c.1).chain([*default]).collect(),
            _ => Vec::new(),
        }
    };
    let mut seen = vec![false; f.blocks.len()];
    let mut post = Vec::new();
    let mut stack = vec![(0u32, succs(0), 0usize)];
    seen[0] = true;
    while let Some((b, list, i)) = stack.last_mut() {
        if let Some(&s) = list.get(*i) {
            *i += 1;
            if let Some(flag) = seen.get_mut(s as usize)
                && !*flag
            {
                *flag = true;
                stack.push((s, succs(s), 0));
            }
        } else {
            post.push(*b);
            stack.pop();
        }
    }
    post.reverse();
    post
}
