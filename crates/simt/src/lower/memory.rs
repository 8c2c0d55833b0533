//! Lowers memory instructions: addresses, loads, stores, block copies, atomics, private variables.

use smallvec::smallvec;

use super::LowerError;
use super::build::{Builder, Frame, TAG_PRIVATE, TAG_THREADGROUP, Val, class_of};
use super::layout::{self, Scalar};
use super::sir::{Args, Class, Cvt, Elem, IOp, Index, Mem, Op, RmwOp, Space, Term, V};
use crate::reader::ir::{Type, Value};

/// Block copies and fills longer than this many bytes are refused (clang never makes them for kernels).
const MAX_COPY: u64 = 1 << 16;

/// A piece of a memory access: elements that one instruction moves.
struct Run {
    offset: u64,
    elem: Elem,
    /// Positions among the leaves.
    leaves: Vec<usize>,
}

/// Leaves with their offsets, and the accesses that move them.
type Pieces = (Vec<(u64, Scalar)>, Vec<Run>);

impl<'m> Builder<'m> {
    fn space(space: u32) -> Result<Space, LowerError> {
        Ok(match space {
            0 | 5 => Space::Private,
            1 | 2 => Space::Device,
            3 => Space::Threadgroup,
            4 => Space::Generic,
            _ => return Err(LowerError::unsupported(format!("address space {space}"))),
        })
    }

    /// A generic pointer whose origin is known: its space and 32-bit offset.
    pub fn strip_generic(&mut self, v: V) -> Option<(Space, V)> {
        if let Some(c) = self.mk.f.const_of(v) {
            let space = match c & (3 << 60) {
                TAG_THREADGROUP => Space::Threadgroup,
                TAG_PRIVATE => Space::Private,
                _ => return None,
            };
            return Some((space, self.mk.c32(c as u32)));
        }
        let n = self.mk.f.node(v);
        let (op, args) = (n.op, n.args.clone());
        match (op, args.as_slice()) {
            (Op::I64(IOp::Or), &[w, t]) => {
                let space = match self.mk.f.const_of(t)? {
                    TAG_THREADGROUP => Space::Threadgroup,
                    TAG_PRIVATE => Space::Private,
                    _ => return None,
                };
                let w = self.mk.f.node(w);
                (w.op == Op::Cvt(Cvt::Zext64)).then(|| (space, w.args[0]))
            }
            (Op::I64(IOp::Add), &[p, off]) => {
                let (space, q) = self.strip_generic(p)?;
                let off = self.mk.cvt(Cvt::Lo, off);
                Some((space, self.mk.i32(IOp::Add, q, off)))
            }
            _ => None,
        }
    }

    /// Space and address of a pointer operand.
    fn address(&mut self, fr: &Frame<'m>, ptr: &Value, space: u32) -> Result<(Space, V), LowerError> {
        let p = self.scalar(fr, &Type::Ptr(space), ptr)?;
        let s = Self::space(space)?;
        if s == Space::Generic
            && let Some(k) = self.strip_generic(p)
        {
            return Ok(k);
        }
        Ok((s, p))
    }

    /// Address arithmetic. Constant parts meet in one addition at the end.
    pub fn gep(
        &mut self,
        fr: &Frame<'m>,
        src: &Type,
        base_ty: &Type,
        base: &Value,
        indices: &[(Type, Value)],
    ) -> Result<V, LowerError> {
        let mut p = self.scalar(fr, base_ty, base)?;
        let wide = self.mk.f.node(p).class == Class::B64;
        let mut constant = 0i64;
        let mut at = src.clone();
        for (k, (ity, i)) in indices.iter().enumerate() {
            let idx = self.scalar(fr, ity, i)?;
            let bits = match self.m.resolve(ity) {
                Type::Int(b @ 1..=64) => *b as u8,
                _ => return Err(LowerError::unsupported("an address with a vector of indices")),
            };
            let known = self.mk.f.const_of(idx).map(|c| {
                let s = 64 - u32::from(bits);
                ((c << s) as i64) >> s
            });
            let scale = match (k, self.m.resolve(&at)) {
                (0, _) => layout::size(self.m, &at),
                (_, Type::Struct { .. }) => {
                    let i = known.ok_or_else(|| LowerError::malformed("a computed field"))?;
                    let (o, t) = self.step(&at, i)?;
                    constant = constant.wrapping_add(o);
                    at = t;
                    continue;
                }
                _ => {
                    let (o, t) = self.step(&at, 1)?;
                    at = t;
                    o as u64
                }
            };
            if let Some(i) = known {
                constant = constant.wrapping_add(i.wrapping_mul(scale as i64));
                continue;
            }
            let idx = self.sext_in_register(idx, bits);
            p = if wide {
                let idx = if bits <= 32 { self.mk.cvt(Cvt::Sext64, idx) } else { idx };
                let s = self.mk.c64(scale);
                let scaled = self.mk.i64(IOp::Mul, idx, s);
                self.mk.i64(IOp::Add, p, scaled)
            } else {
                let idx = if bits > 32 { self.mk.cvt(Cvt::Lo, idx) } else { idx };
                let s = self.mk.c32(scale as u32);
                let scaled = self.mk.i32(IOp::Mul, idx, s);
                self.mk.i32(IOp::Add, p, scaled)
            };
        }
        Ok(self.offset(p, constant))
    }

    /// Cuts the leaves of a type into accesses of one instruction each: at most four elements of up to 32 bits, or two
    /// of 64, as Apple GPUs move them.
    fn runs(&self, ty: &Type) -> Result<Pieces, LowerError> {
        let mut leaves = Vec::new();
        layout::leaves(self.m, ty, 0, &mut leaves)?;
        let mut runs: Vec<Run> = Vec::new();
        for (k, &(offset, s)) in leaves.iter().enumerate() {
            let elem = elem_of(s);
            let max = if elem == Elem::B64 { 2 } else { 4 };
            match runs.last_mut() {
                Some(r)
                    if r.elem == elem
                        && r.leaves.len() < max
                        && r.offset + r.leaves.len() as u64 * u64::from(elem.bytes()) == offset =>
                {
                    r.leaves.push(k);
                }
                _ => runs.push(Run { offset, elem, leaves: vec![k] }),
            }
        }
        Ok((leaves, runs))
    }

    fn mem(space: Space, run: &Run, align: u32, volatile: bool, atomic: bool) -> Mem {
        let at = if run.offset == 0 { align } else { align.min(1 << run.offset.trailing_zeros().min(20)) };
        Mem {
            space,
            elem: run.elem,
            count: run.leaves.len() as u8,
            index: Index::None,
            shift: 0,
            offset: run.offset as i64,
            align: at.max(1),
            atomic,
            volatile,
        }
    }

    /// A load of any type.
    #[allow(clippy::too_many_arguments)]
    pub fn load(
        &mut self,
        fr: &Frame<'m>,
        ty: &Type,
        ptr: &Value,
        space: u32,
        align: u32,
        volatile: bool,
        atomic: bool,
    ) -> Result<Val, LowerError> {
        let (space, p) = self.address(fr, ptr, space)?;
        if let Some(int) = self.odd_integer(ty) {
            // Bytes of an integer that is no power of two wide: put together from its pieces.
            return Ok(self.load_odd(int, space, p, align));
        }
        let (leaves, runs) = self.runs(ty)?;
        let mut out: Val = smallvec![0; leaves.len()];
        for r in runs {
            let node = self.mk.push(Op::Load(Self::mem(space, &r, align, volatile, atomic)), Class::None, smallvec![p]);
            for (k, &leaf) in r.leaves.iter().enumerate() {
                let s = leaves[leaf].1;
                let class = if r.elem == Elem::B64 { Class::B64 } else { Class::B32 };
                let v = self.mk.push(Op::Part(k as u8), class, smallvec![node]);
                self.mark(v, s);
                out[leaf] = self.loaded(s, v);
            }
        }
        Ok(out)
    }

    fn loaded(&mut self, s: Scalar, v: V) -> V {
        match s {
            Scalar::Int(1) => {
                let one = self.mk.c32(1);
                let b = self.mk.i32(IOp::And, v, one);
                let z = self.mk.c32(0);
                self.mk.icmp(crate::reader::ir::IntPred::Ne, b, z)
            }
            Scalar::Ptr(_) if class_of(s) == Class::B32 => self.mk.cvt(Cvt::Lo, v),
            _ => v,
        }
    }

    fn stored(&mut self, s: Scalar, v: V) -> V {
        match s {
            Scalar::Int(1) => {
                let (a, z) = (self.mk.c32(1), self.mk.c32(0));
                self.mk.sel(v, a, z)
            }
            Scalar::Ptr(_) if class_of(s) == Class::B32 => self.mk.cvt(Cvt::Zext64, v),
            _ => v,
        }
    }

    /// Width of an integer type whose size in memory is no power of two.
    fn odd_integer(&self, ty: &Type) -> Option<u32> {
        match self.m.resolve(ty) {
            Type::Int(b) if *b <= 64 && !b.div_ceil(8).is_power_of_two() => Some(*b),
            _ => None,
        }
    }

    fn load_odd(&mut self, bits: u32, space: Space, p: V, align: u32) -> Val {
        let mut acc = self.mk.c64(0);
        for byte in 0..u64::from(bits.div_ceil(8)) {
            let run = Run { offset: byte, elem: Elem::U8, leaves: vec![0] };
            let mem = Self::mem(space, &run, align, false, false);
            let node = self.mk.push(Op::Load(mem), Class::None, smallvec![p]);
            let v = self.mk.push(Op::Part(0), Class::B32, smallvec![node]);
            let w = self.mk.cvt(Cvt::Zext64, v);
            let s = self.mk.c64(byte * 8);
            let w = self.mk.i64(IOp::Shl, w, s);
            acc = self.mk.i64(IOp::Or, acc, w);
        }
        let m = self.mk.c64((1u64 << bits) - 1);
        let v = self.mk.i64(IOp::And, acc, m);
        smallvec![if bits <= 32 { self.mk.cvt(Cvt::Lo, v) } else { v }]
    }

    /// A store of any type.
    #[allow(clippy::too_many_arguments)]
    pub fn store(
        &mut self,
        fr: &Frame<'m>,
        ty: &Type,
        v: &Val,
        ptr: &Value,
        space: u32,
        align: u32,
        volatile: bool,
        atomic: bool,
    ) -> Result<(), LowerError> {
        let (space, p) = self.address(fr, ptr, space)?;
        if let Some(bits) = self.odd_integer(ty) {
            let x = *v.first().ok_or_else(|| LowerError::malformed("store of nothing"))?;
            let x = if bits <= 32 { self.mk.cvt(Cvt::Zext64, x) } else { x };
            for byte in 0..u64::from(bits.div_ceil(8)) {
                let s = self.mk.c64(byte * 8);
                let w = self.mk.i64(IOp::LShr, x, s);
                let b = self.mk.cvt(Cvt::Lo, w);
                let run = Run { offset: byte, elem: Elem::U8, leaves: vec![0] };
                let mem = Self::mem(space, &run, align, false, false);
                self.mk.push(Op::Store(mem), Class::None, smallvec![b, p]);
            }
            return Ok(());
        }
        let (leaves, runs) = self.runs(ty)?;
        for r in runs {
            let mut args = Args::new();
            for &leaf in &r.leaves {
                let x = *v.get(leaf).ok_or_else(|| LowerError::malformed("store of a part"))?;
                args.push(self.stored(leaves[leaf].1, x));
            }
            args.push(p);
            self.mk.push(Op::Store(Self::mem(space, &r, align, volatile, atomic)), Class::None, args);
        }
        Ok(())
    }

    /// A private variable.
    pub fn alloca(&mut self, of: &Type, count: u64, align: u32) -> Result<V, LowerError> {
        let size = layout::size(self.m, of).saturating_mul(count);
        let align = layout::align(self.m, of).max(u64::from(align)).max(4);
        let at = u64::from(self.mk.f.private_bytes).next_multiple_of(align);
        let end = at.saturating_add(size.max(1));
        if end > 1 << 20 {
            return Err(LowerError::unsupported("more than 1 MiB of private memory per thread"));
        }
        self.mk.f.private_bytes = end as u32;
        Ok(self.mk.c32(at as u32))
    }

    /// `memcpy` and `memmove` of constant size: words as wide as both alignments allow, all loads first.
    pub fn copy(&mut self, dst: (Space, V), src: (Space, V), bytes: u64, align: u32) -> Result<(), LowerError> {
        if bytes > MAX_COPY {
            return Err(LowerError::unsupported("a block copy of more than 64 KiB"));
        }
        let unit = match align {
            4.. => Elem::B32,
            2 | 3 => Elem::U16,
            _ => Elem::U8,
        };
        let mut at = 0u64;
        let mut moved: Vec<(u64, Elem, Vec<V>)> = Vec::new();
        while at < bytes {
            let left = bytes - at;
            let mut elem = unit;
            while u64::from(elem.bytes()) > left {
                elem = if elem == Elem::B32 { Elem::U16 } else { Elem::U8 };
            }
            let n = (left / u64::from(elem.bytes())).min(4) as usize;
            let run = Run { offset: at, elem, leaves: vec![0; n] };
            let node =
                self.mk.push(Op::Load(Self::mem(src.0, &run, align, false, false)), Class::None, smallvec![src.1]);
            let parts = (0..n).map(|k| self.mk.push(Op::Part(k as u8), Class::B32, smallvec![node])).collect();
            moved.push((at, elem, parts));
            at += n as u64 * u64::from(elem.bytes());
        }
        for (at, elem, parts) in moved {
            let run = Run { offset: at, elem, leaves: vec![0; parts.len()] };
            let mut args: Args = parts.into_iter().collect();
            args.push(dst.1);
            self.mk.push(Op::Store(Self::mem(dst.0, &run, align, false, false)), Class::None, args);
        }
        Ok(())
    }

    /// `memset` of constant size.
    pub fn fill(&mut self, dst: (Space, V), byte: V, bytes: u64, align: u32) -> Result<(), LowerError> {
        if bytes > MAX_COPY {
            return Err(LowerError::unsupported("a block fill of more than 64 KiB"));
        }
        let k = self.mk.c32(0x0101_0101);
        let low = self.mk.c32(0xff);
        let byte = self.mk.i32(IOp::And, byte, low);
        let word = self.mk.i32(IOp::Mul, byte, k);
        let mut at = 0u64;
        while at < bytes {
            let left = bytes - at;
            let elem = if left >= 4 && align >= 4 { Elem::B32 } else { Elem::U8 };
            let n = (left / u64::from(elem.bytes())).min(4) as usize;
            let run = Run { offset: at, elem, leaves: vec![0; n] };
            let mut args: Args = smallvec![if elem == Elem::B32 { word } else { byte }; n];
            args.push(dst.1);
            self.mk.push(Op::Store(Self::mem(dst.0, &run, align, false, false)), Class::None, args);
            at += n as u64 * u64::from(elem.bytes());
        }
        Ok(())
    }

    /// A loop over units of a block: `body` gets the byte offset, as wide as the pointers are, of each unit.
    fn unit_loop(&mut self, bytes: V, from: V, unit: u32, body: &mut dyn FnMut(&mut Self, V)) {
        let entry = self.mk.cur;
        let (header, inside, done) = (self.new_block(), self.new_block(), self.new_block());
        self.end(Term::Br(header));
        self.mk.cur = header;
        let i = self.mk.push(Op::Phi, Class::B64, Args::new());
        let step = self.mk.c64(u64::from(unit));
        let next_end = self.mk.i64(IOp::Add, i, step);
        let more = self.mk.icmp(crate::reader::ir::IntPred::Ule, next_end, bytes);
        self.end(Term::CondBr(more, inside, done));
        self.mk.cur = inside;
        body(self, i);
        let latch = self.mk.cur;
        self.end(Term::Br(header));
        self.mk.f.blocks[header as usize].phis.push((i, vec![(entry, from), (latch, next_end)]));
        self.mk.cur = done;
    }

    fn plus(&mut self, p: V, off: V) -> V {
        if self.mk.f.node(p).class == Class::B64 {
            self.mk.i64(IOp::Add, p, off)
        } else {
            let lo = self.mk.cvt(Cvt::Lo, off);
            self.mk.i32(IOp::Add, p, lo)
        }
    }

    /// Units of a block of computed size: words as far as they go, then bytes.
    fn blocks_of(&mut self, bytes: V, align: u32, body: &mut dyn FnMut(&mut Self, V, Elem)) {
        let zero = self.mk.c64(0);
        if align < 4 {
            self.unit_loop(bytes, zero, 1, &mut |b, i| body(b, i, Elem::U8));
            return;
        }
        self.unit_loop(bytes, zero, 4, &mut |b, i| body(b, i, Elem::B32));
        let low = self.mk.c64(!3);
        let rest = self.mk.i64(IOp::And, bytes, low);
        self.unit_loop(bytes, rest, 1, &mut |b, i| body(b, i, Elem::U8));
    }

    /// `memcpy` of computed size.
    pub fn copy_loop(&mut self, dst: (Space, V), src: (Space, V), bytes: V, align: u32) {
        let bytes = self.widen(bytes);
        self.blocks_of(bytes, align, &mut |b, i, elem| {
            let run = Run { offset: 0, elem, leaves: vec![0] };
            let (d, s) = (b.plus(dst.1, i), b.plus(src.1, i));
            let align = elem.bytes();
            let node = b.mk.push(Op::Load(Self::mem(src.0, &run, align, false, false)), Class::None, smallvec![s]);
            let v = b.mk.push(Op::Part(0), Class::B32, smallvec![node]);
            b.mk.push(Op::Store(Self::mem(dst.0, &run, align, false, false)), Class::None, smallvec![v, d]);
        });
    }

    /// `memset` of computed size.
    pub fn fill_loop(&mut self, dst: (Space, V), byte: V, bytes: V, align: u32) {
        let bytes = self.widen(bytes);
        let (k, low) = (self.mk.c32(0x0101_0101), self.mk.c32(0xff));
        let byte = self.mk.i32(IOp::And, byte, low);
        let word = self.mk.i32(IOp::Mul, byte, k);
        self.blocks_of(bytes, align, &mut |b, i, elem| {
            let run = Run { offset: 0, elem, leaves: vec![0] };
            let d = b.plus(dst.1, i);
            let v = if elem == Elem::B32 { word } else { byte };
            let mem = Self::mem(dst.0, &run, elem.bytes(), false, false);
            b.mk.push(Op::Store(mem), Class::None, smallvec![v, d]);
        });
    }

    fn widen(&mut self, v: V) -> V {
        if self.mk.f.node(v).class == Class::B64 { v } else { self.mk.cvt(Cvt::Zext64, v) }
    }

    /// Space and address of a pointer argument of an intrinsic.
    pub fn pointer(&mut self, fr: &Frame<'m>, ty: &Type, v: &Value) -> Result<(Space, V), LowerError> {
        match self.m.resolve(ty) {
            Type::Ptr(s) => self.address(fr, v, *s),
            _ => Err(LowerError::malformed("a pointer was expected")),
        }
    }

    fn atomic_mem(&self, ty: &Type, space: Space) -> Result<(Mem, Class), LowerError> {
        let (elem, class) = match self.m.resolve(ty) {
            Type::Int(32) | Type::Float => (Elem::B32, Class::B32),
            Type::Int(64) if space != Space::Private => (Elem::B64, Class::B64),
            _ => return Err(LowerError::unsupported("an atomic of this type (32 and 64 bits there are)")),
        };
        let mem = Mem {
            space,
            elem,
            count: 1,
            index: Index::None,
            shift: 0,
            offset: 0,
            align: elem.bytes(),
            atomic: true,
            volatile: false,
        };
        Ok((mem, class))
    }

    /// Atomic read-modify-write.
    pub fn rmw(
        &mut self,
        fr: &Frame<'m>,
        op: RmwOp,
        ty: &Type,
        ptr: &Value,
        space: u32,
        v: V,
    ) -> Result<V, LowerError> {
        let (space, p) = self.address(fr, ptr, space)?;
        let (mem, class) = self.atomic_mem(ty, space)?;
        Ok(self.mk.push(Op::Rmw(op, mem), class, smallvec![v, p]))
    }

    /// Atomic compare and exchange: old value and success.
    pub fn cmpxchg(
        &mut self,
        fr: &Frame<'m>,
        ty: &Type,
        ptr: &Value,
        space: u32,
        cmp: V,
        new: V,
    ) -> Result<Val, LowerError> {
        let (space, p) = self.address(fr, ptr, space)?;
        let (mem, class) = self.atomic_mem(ty, space)?;
        let node = self.mk.push(Op::CmpXchg(mem), Class::None, smallvec![cmp, new, p]);
        let old = self.mk.push(Op::Part(0), class, smallvec![node]);
        let ok = self.mk.push(Op::Part(1), Class::Pred, smallvec![node]);
        Ok(smallvec![old, ok])
    }
}

fn elem_of(s: Scalar) -> Elem {
    match s {
        Scalar::Int(0..=8) => Elem::U8,
        Scalar::Int(9..=16) => Elem::U16,
        Scalar::Int(17..=32) | Scalar::F32 => Elem::B32,
        Scalar::F16 => Elem::F16,
        Scalar::Bf16 => Elem::Bf16,
        Scalar::Int(_) | Scalar::F64 | Scalar::Ptr(_) => Elem::B64,
    }
}
