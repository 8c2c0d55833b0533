//! Instructions. Resolves local and block names to indices.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::ReadError;
use super::cursor::Cursor;
use super::debug::DebugInfo;
use super::ir::{
    Block, CallArg, Callee, Const, FloatPred, Function, Inst, InstKind, IntPred, Param, RmwOp, Type, Value,
};
use super::lexer::Tok;
use super::parse_const::{bin_op, cast_op, constant, flags};

/// Names of one function while it is read.
pub struct FnParser<'a> {
    locals: FxHashMap<String, u32>,
    blocks: FxHashMap<String, u32>,
    next_number: u32,
    info: &'a DebugInfo,
    /// Locals with the variables whose values they are.
    variables: Vec<(u32, Arc<str>)>,
}

impl<'a> FnParser<'a> {
    /// An empty name table.
    pub fn new(info: &'a DebugInfo) -> Self {
        Self { locals: FxHashMap::default(), blocks: FxHashMap::default(), next_number: 0, info, variables: Vec::new() }
    }

    /// `(float %x, !12, !DIExpression(), !13)`, which is left unread: the local is the value of that variable. A value
    /// that is no local, or only a part of the variable, is passed over.
    pub fn debug_value(&mut self, c: &Cursor<'_>) {
        // Types have few tokens.
        let mut depth = 0;
        let comma = (0..32).find(|&k| {
            match c.peek_at(k) {
                Some(Tok::Punct(b'(' | b'<' | b'{' | b'[')) => depth += 1,
                Some(Tok::Punct(b')' | b'>' | b'}' | b']')) => depth -= 1,
                Some(Tok::Punct(b',')) => return depth == 1,
                _ => {}
            }
            false
        });
        let Some(comma) = comma.filter(|k| *k > 0) else { return };
        let metadata = |k: usize| usize::from(matches!(c.peek_at(k), Some(Tok::Word("metadata"))));
        let id = comma + 1 + metadata(comma + 1);
        let expression = id + 2 + metadata(id + 2);
        // What an expression may do to a value that is still the whole variable: name its address space.
        let harmless = |t| match t {
            Some(Tok::Word(w)) => matches!(w, "DW_OP_constu" | "DW_OP_swap" | "DW_OP_xderef"),
            t => t.is_some(),
        };
        let whole = c.peek_at(expression) == Some(Tok::Meta("DIExpression"))
            && (2..16).map(|k| c.peek_at(expression + k)).take_while(|t| *t != Some(Tok::Punct(b')'))).all(harmless);
        if let (true, Some(Tok::Local(n)), Some(Tok::Meta(id))) = (whole, c.peek_at(comma - 1), c.peek_at(id))
            && let Some(name) = id.parse().ok().and_then(|id: u32| self.info.variables.get(&id))
        {
            let name = Arc::clone(name);
            let local = self.local(n);
            self.variables.push((local, name));
        }
    }

    /// Index of a local by name.
    pub fn local(&mut self, name: &str) -> u32 {
        if let Some(&i) = self.locals.get(name) {
            return i;
        }
        if let Ok(n) = name.parse::<u32>() {
            self.next_number = self.next_number.max(n.saturating_add(1));
        }
        let i = self.locals.len() as u32;
        self.locals.insert(name.to_owned(), i);
        i
    }

    /// The next implicit number, as a name.
    pub fn fresh_number(&mut self) -> String {
        let n = self.next_number;
        self.next_number = n.saturating_add(1);
        n.to_string()
    }

    /// A local with the next implicit number.
    pub fn fresh_numbered(&mut self) -> u32 {
        let n = self.fresh_number();
        self.local(&n)
    }

    /// Index of a block by name.
    pub fn block(&mut self, name: &str) -> u32 {
        let n = self.blocks.len() as u32;
        *self.blocks.entry(name.to_owned()).or_insert(n)
    }

    /// Puts the function together.
    pub fn finish(
        self,
        c: &Cursor<'_>,
        name: Arc<str>,
        ret: Type,
        params: Vec<Param>,
        blocks: Vec<Option<Block>>,
    ) -> Result<Function, ReadError> {
        let n = self.blocks.len();
        let mut out = Vec::with_capacity(n);
        for b in blocks {
            match b {
                Some(b) if b.insts.last().is_some_and(|i| is_terminator(&i.kind)) => {
                    let early = b.insts.iter().rev().skip(1).any(|i| is_terminator(&i.kind));
                    if early {
                        return c.err(format!("a block of @{name} has a terminator before its end"));
                    }
                    out.push(b);
                }
                _ => return c.err(format!("a block of @{name} is missing or does not end in a terminator")),
            }
        }
        if out.len() != n || out.is_empty() {
            return c.err(format!("@{name} branches to a block that does not exist"));
        }
        Ok(Function { name, ret, params, blocks: out, locals: self.locals.len() as u32, variables: self.variables })
    }

    fn value(&mut self, c: &mut Cursor<'_>, ty: &Type) -> Result<Value, ReadError> {
        if let Some(Tok::Local(n)) = c.peek() {
            c.skip();
            return Ok(Value::Local(self.local(n)));
        }
        Ok(Value::Const(Arc::new(constant(c, ty)?)))
    }

    fn typed(&mut self, c: &mut Cursor<'_>) -> Result<(Type, Value), ReadError> {
        let ty = c.ty()?;
        let v = self.value(c, &ty)?;
        Ok((ty, v))
    }

    fn comma_typed(&mut self, c: &mut Cursor<'_>) -> Result<(Type, Value), ReadError> {
        c.expect(b',')?;
        self.typed(c)
    }

    fn label(&mut self, c: &mut Cursor<'_>) -> Result<u32, ReadError> {
        if !c.eat_word("label") {
            return c.err("expected `label`");
        }
        match c.next()? {
            Tok::Local(n) => Ok(self.block(n)),
            t => c.err(format!("expected a block name, found {t:?}")),
        }
    }

    /// One instruction with its attachments.
    pub fn inst(&mut self, c: &mut Cursor<'_>) -> Result<Inst, ReadError> {
        let result = match (c.peek(), c.peek_at(1)) {
            (Some(Tok::Local(n)), Some(Tok::Punct(b'='))) => {
                c.skip();
                c.skip();
                Some(self.local(n))
            }
            _ => None,
        };
        let op = match c.next()? {
            Tok::Word(w) => w,
            t => return c.err(format!("expected an instruction, found {t:?}")),
        };
        let (ty, kind) = self.body(c, op)?;
        let loc = self.attachments(c)?;
        let result = if ty == Type::Void { None } else { result };
        Ok(Inst { result, ty, kind, loc })
    }

    /// `, align 4, !dbg !12, !tbaa !3 …`; alignment has been taken where it matters.
    fn attachments(&mut self, c: &mut Cursor<'_>) -> Result<Option<u32>, ReadError> {
        let mut loc = None;
        while c.eat_punct(b',') {
            match c.next()? {
                Tok::Meta("dbg") => {
                    if let Tok::Meta(n) = c.next()? {
                        if n.starts_with("DI") {
                            c.skip_group()?;
                        } else {
                            loc = n.parse().ok().and_then(|n: u32| self.info.by_id.get(&n).copied());
                        }
                    }
                }
                Tok::Meta(_) => match c.next()? {
                    // An inline node: `!srcloc !{…}`, `!x !DIExpression(…)`.
                    Tok::Meta(_) if matches!(c.peek(), Some(Tok::Punct(b'{' | b'('))) => c.skip_group()?,
                    _ => {}
                },
                Tok::Word("align") => {
                    c.uint()?;
                }
                Tok::Word("addrspace") => c.skip_group()?,
                t => return c.err(format!("unexpected {t:?} after an instruction")),
            }
        }
        Ok(loc)
    }

    fn align(c: &mut Cursor<'_>) -> Result<u32, ReadError> {
        if c.peek() == Some(Tok::Punct(b',')) && c.peek_at(1) == Some(Tok::Word("align")) {
            c.skip();
            c.skip();
            return Ok(c.uint()?.min(1 << 20) as u32);
        }
        Ok(1)
    }

    fn body(&mut self, c: &mut Cursor<'_>, op: &str) -> Result<(Type, InstKind), ReadError> {
        if let Some(op) = bin_op(op) {
            let contract = flags(c)?;
            let (ty, a) = self.typed(c)?;
            c.expect(b',')?;
            let b = self.value(c, &ty)?;
            return Ok((ty, InstKind::Bin { op, contract, a, b }));
        }
        if let Some(op) = cast_op(op) {
            flags(c)?;
            let (from, v) = self.typed(c)?;
            if !c.eat_word("to") {
                return c.err("expected `to`");
            }
            return Ok((c.ty()?, InstKind::Cast { op, from, v }));
        }
        Ok(match op {
            "fneg" => {
                flags(c)?;
                let (ty, v) = self.typed(c)?;
                (ty, InstKind::FNeg(v))
            }
            "icmp" => {
                flags(c)?;
                let pred = int_pred(c)?;
                let (ty, a) = self.typed(c)?;
                c.expect(b',')?;
                let b = self.value(c, &ty)?;
                (bool_like(&ty), InstKind::ICmp { pred, ty, a, b })
            }
            "fcmp" => {
                flags(c)?;
                let pred = float_pred(c)?;
                let (ty, a) = self.typed(c)?;
                c.expect(b',')?;
                let b = self.value(c, &ty)?;
                (bool_like(&ty), InstKind::FCmp { pred, ty, a, b })
            }
            "select" => {
                flags(c)?;
                let (cond_ty, cond) = self.typed(c)?;
                let (ty, a) = self.comma_typed(c)?;
                let (_, b) = self.comma_typed(c)?;
                (ty, InstKind::Select { cond_ty, cond, a, b })
            }
            "phi" => self.phi(c)?,
            "load" => self.load(c)?,
            "store" => self.store(c)?,
            "getelementptr" => {
                flags(c)?;
                let src = c.ty()?;
                let (base_ty, base) = self.comma_typed(c)?;
                let mut indices = Vec::new();
                while matches!(c.peek_at(1), Some(Tok::Word(_) | Tok::Punct(b'<')))
                    && c.peek() == Some(Tok::Punct(b','))
                {
                    indices.push(self.comma_typed(c)?);
                }
                (base_ty.clone(), InstKind::Gep { src, base_ty, base, indices })
            }
            "alloca" => {
                c.eat_word("inalloca");
                c.eat_word("swifterror");
                let of = c.ty()?;
                let mut count = None;
                let mut align = 1;
                let mut space = 0;
                while c.peek() == Some(Tok::Punct(b',')) && !matches!(c.peek_at(1), Some(Tok::Meta(_))) {
                    c.skip();
                    match c.peek() {
                        Some(Tok::Word("align")) => {
                            c.skip();
                            align = c.uint()? as u32;
                        }
                        Some(Tok::Word("addrspace")) => space = c.addrspace()?,
                        _ => count = Some(self.typed(c)?),
                    }
                }
                (Type::Ptr(space), InstKind::Alloca { of, count, align })
            }
            "tail" | "musttail" | "notail" => {
                if !c.eat_word("call") {
                    return c.err("expected `call`");
                }
                self.call(c)?
            }
            "call" => self.call(c)?,
            "extractelement" => {
                let (vec_ty, v) = self.typed(c)?;
                let (_, idx) = self.comma_typed(c)?;
                let ty = match &vec_ty {
                    Type::Vector(_, e) => (**e).clone(),
                    _ => return c.err("extractelement of something that is not a vector"),
                };
                (ty, InstKind::ExtractElement { vec_ty, v, idx })
            }
            "insertelement" => {
                let (ty, v) = self.typed(c)?;
                let (_, elem) = self.comma_typed(c)?;
                let (_, idx) = self.comma_typed(c)?;
                (ty, InstKind::InsertElement { v, elem, idx })
            }
            "shufflevector" => self.shuffle(c)?,
            "extractvalue" => {
                let (agg_ty, v) = self.typed(c)?;
                let path = path(c)?;
                // The exact result type follows from the path; the lowering computes it from `agg_ty`.
                (Type::Opaque, InstKind::ExtractValue { agg_ty, v, path })
            }
            "insertvalue" => {
                let (ty, v) = self.typed(c)?;
                let (elem_ty, elem) = self.comma_typed(c)?;
                let path = path(c)?;
                (ty, InstKind::InsertValue { v, elem_ty, elem, path })
            }
            "atomicrmw" => {
                c.eat_word("volatile");
                let op = rmw_op(c)?;
                let (pt, ptr) = self.typed(c)?;
                let (ty, v) = self.comma_typed(c)?;
                ordering(c)?;
                (ty, InstKind::AtomicRmw { op, ptr, space: space_of(c, &pt)?, v })
            }
            "cmpxchg" => {
                c.eat_word("weak");
                c.eat_word("volatile");
                let (pt, ptr) = self.typed(c)?;
                let (ty, cmp) = self.comma_typed(c)?;
                let (_, new) = self.comma_typed(c)?;
                ordering(c)?;
                let res = Type::Struct { packed: false, fields: Arc::from([ty.clone(), Type::Int(1)]) };
                (res, InstKind::CmpXchg { ty, ptr, space: space_of(c, &pt)?, cmp, new })
            }
            "fence" => {
                ordering(c)?;
                (Type::Void, InstKind::Fence)
            }
            "freeze" => {
                let (ty, v) = self.typed(c)?;
                (ty, InstKind::Freeze(v))
            }
            "br" => {
                if c.peek() == Some(Tok::Word("label")) {
                    (Type::Void, InstKind::Br(self.label(c)?))
                } else {
                    let (_, v) = self.typed(c)?;
                    c.expect(b',')?;
                    let t = self.label(c)?;
                    c.expect(b',')?;
                    let f = self.label(c)?;
                    (Type::Void, InstKind::CondBr(v, t, f))
                }
            }
            "switch" => {
                let (ty, v) = self.typed(c)?;
                c.expect(b',')?;
                let default = self.label(c)?;
                c.expect(b'[')?;
                let mut cases = Vec::new();
                while !c.eat_punct(b']') {
                    let t = c.ty()?;
                    let Const::Int(k) = constant(c, &t)? else { return c.err("switch case is not an integer") };
                    c.expect(b',')?;
                    cases.push((k, self.label(c)?));
                }
                (Type::Void, InstKind::Switch { ty, v, default, cases })
            }
            "ret" => {
                if c.eat_word("void") {
                    (Type::Void, InstKind::Ret(None))
                } else {
                    (Type::Void, InstKind::Ret(Some(self.typed(c)?)))
                }
            }
            "unreachable" => (Type::Void, InstKind::Unreachable),
            _ => return c.err(format!("instruction `{op}` is not supported")),
        })
    }

    fn phi(&mut self, c: &mut Cursor<'_>) -> Result<(Type, InstKind), ReadError> {
        flags(c)?;
        let ty = c.ty()?;
        let mut v = Vec::new();
        loop {
            c.expect(b'[')?;
            let x = self.value(c, &ty)?;
            c.expect(b',')?;
            let from = match c.next()? {
                Tok::Local(n) => self.block(n),
                t => return c.err(format!("expected a block name, found {t:?}")),
            };
            c.expect(b']')?;
            v.push((x, from));
            if c.peek() != Some(Tok::Punct(b',')) || c.peek_at(1) != Some(Tok::Punct(b'[')) {
                break;
            }
            c.skip();
        }
        Ok((ty, InstKind::Phi(v)))
    }

    fn load(&mut self, c: &mut Cursor<'_>) -> Result<(Type, InstKind), ReadError> {
        let atomic = c.eat_word("atomic");
        let volatile = c.eat_word("volatile");
        let ty = c.ty()?;
        let (pt, ptr) = self.comma_typed(c)?;
        if atomic {
            ordering(c)?;
        }
        let align = Self::align(c)?;
        Ok((ty, InstKind::Load { ptr, space: space_of(c, &pt)?, align, volatile, atomic }))
    }

    fn store(&mut self, c: &mut Cursor<'_>) -> Result<(Type, InstKind), ReadError> {
        let atomic = c.eat_word("atomic");
        let volatile = c.eat_word("volatile");
        let (ty, v) = self.typed(c)?;
        let (pt, ptr) = self.comma_typed(c)?;
        if atomic {
            ordering(c)?;
        }
        let align = Self::align(c)?;
        Ok((Type::Void, InstKind::Store { ty, v, ptr, space: space_of(c, &pt)?, align, volatile, atomic }))
    }

    fn shuffle(&mut self, c: &mut Cursor<'_>) -> Result<(Type, InstKind), ReadError> {
        let (vec_ty, a) = self.typed(c)?;
        let (_, b) = self.comma_typed(c)?;
        c.expect(b',')?;
        let mt = c.ty()?;
        let m = constant(c, &mt)?;
        let (Type::Vector(n, _), Type::Vector(_, e)) = (&mt, &vec_ty) else {
            return c.err("shufflevector of something that is not a vector");
        };
        let pick = |k: &Const| if let Const::Int(i) = k { u32::try_from(*i).ok() } else { None };
        let mask: Vec<Option<u32>> = match &m {
            Const::Aggregate(v) => v.iter().map(|(_, k)| pick(k)).collect(),
            Const::Splat(_, k) => vec![pick(k); *n as usize],
            Const::Zero => vec![Some(0); *n as usize],
            _ => vec![None; *n as usize],
        };
        if mask.len() != *n as usize {
            return c.err("shuffle mask has the wrong length");
        }
        Ok((Type::Vector(*n, e.clone()), InstKind::Shuffle { vec_ty, a, b, mask }))
    }

    fn call(&mut self, c: &mut Cursor<'_>) -> Result<(Type, InstKind), ReadError> {
        let contract = flags(c)?;
        c.attributes()?;
        let ty = c.ty()?;
        if c.peek() == Some(Tok::Punct(b'(')) {
            // The full function type of a variadic callee.
            c.skip_group()?;
        }
        let callee = match c.next()? {
            Tok::Global(n) => Callee::Direct(Arc::from(n)),
            Tok::Local(n) => Callee::Indirect(format!("a call through the pointer %{n}")),
            Tok::Word("asm") => {
                while !matches!(c.peek(), Some(Tok::Punct(b'(')) | None) {
                    c.skip();
                }
                Callee::Indirect("inline assembly".to_owned())
            }
            t => return c.err(format!("expected a function, found {t:?}")),
        };
        if matches!(&callee, Callee::Direct(n) if &**n == "llvm.dbg.value") {
            self.debug_value(c);
        }
        c.expect(b'(')?;
        let mut args = Vec::new();
        if !c.eat_punct(b')') {
            loop {
                let ty = c.ty()?;
                if ty == Type::Opaque {
                    // Metadata operand: `metadata !12`, `metadata !DIExpression()`, `metadata ptr %x`.
                    while !matches!(c.peek(), Some(Tok::Punct(b',' | b')')) | None) {
                        if matches!(c.peek(), Some(Tok::Punct(b'(' | b'{'))) {
                            c.skip_group()?;
                        } else {
                            c.skip();
                        }
                    }
                    args.push(CallArg { ty, value: None, byval: None, align: 1 });
                } else {
                    let a = c.attributes()?;
                    let v = self.value(c, &ty)?;
                    args.push(CallArg { ty, value: Some(v), byval: a.byval, align: a.align });
                }
                if !c.eat_punct(b',') {
                    break;
                }
            }
            c.expect(b')')?;
        }
        c.call_attributes()?;
        if c.peek() == Some(Tok::Punct(b'[')) {
            c.skip_group()?; // operand bundles
        }
        Ok((ty, InstKind::Call { callee, args, contract }))
    }
}

fn is_terminator(k: &InstKind) -> bool {
    matches!(
        k,
        InstKind::Br(_) | InstKind::CondBr(..) | InstKind::Switch { .. } | InstKind::Ret(_) | InstKind::Unreachable
    )
}

fn space_of(c: &Cursor<'_>, ty: &Type) -> Result<u32, ReadError> {
    match ty {
        Type::Ptr(s) => Ok(*s),
        _ => c.err("expected a pointer"),
    }
}

fn bool_like(ty: &Type) -> Type {
    match ty {
        Type::Vector(n, _) => Type::Vector(*n, Arc::new(Type::Int(1))),
        _ => Type::Int(1),
    }
}

fn path(c: &mut Cursor<'_>) -> Result<Vec<u32>, ReadError> {
    let mut v = Vec::new();
    while c.peek() == Some(Tok::Punct(b',')) && matches!(c.peek_at(1), Some(Tok::Int(_))) {
        c.skip();
        v.push(c.uint()? as u32);
    }
    Ok(v)
}

/// `syncscope("…") monotonic acquire …`: words up to the comma or the end of the line.
fn ordering(c: &mut Cursor<'_>) -> Result<(), ReadError> {
    if c.eat_word("syncscope") {
        c.skip_group()?;
    }
    while let Some(Tok::Word("monotonic" | "unordered" | "acquire" | "release" | "acq_rel" | "seq_cst")) = c.peek() {
        c.skip();
    }
    Ok(())
}

fn int_pred(c: &mut Cursor<'_>) -> Result<IntPred, ReadError> {
    Ok(match c.next()? {
        Tok::Word("eq") => IntPred::Eq,
        Tok::Word("ne") => IntPred::Ne,
        Tok::Word("ugt") => IntPred::Ugt,
        Tok::Word("uge") => IntPred::Uge,
        Tok::Word("ult") => IntPred::Ult,
        Tok::Word("ule") => IntPred::Ule,
        Tok::Word("sgt") => IntPred::Sgt,
        Tok::Word("sge") => IntPred::Sge,
        Tok::Word("slt") => IntPred::Slt,
        Tok::Word("sle") => IntPred::Sle,
        t => return c.err(format!("{t:?} is not an integer comparison")),
    })
}

fn float_pred(c: &mut Cursor<'_>) -> Result<FloatPred, ReadError> {
    Ok(match c.next()? {
        Tok::Word("false") => FloatPred::False,
        Tok::Word("oeq") => FloatPred::Oeq,
        Tok::Word("ogt") => FloatPred::Ogt,
        Tok::Word("oge") => FloatPred::Oge,
        Tok::Word("olt") => FloatPred::Olt,
        Tok::Word("ole") => FloatPred::Ole,
        Tok::Word("one") => FloatPred::One,
        Tok::Word("ord") => FloatPred::Ord,
        Tok::Word("ueq") => FloatPred::Ueq,
        Tok::Word("ugt") => FloatPred::Ugt,
        Tok::Word("uge") => FloatPred::Uge,
        Tok::Word("ult") => FloatPred::Ult,
        Tok::Word("ule") => FloatPred::Ule,
        Tok::Word("une") => FloatPred::Une,
        Tok::Word("uno") => FloatPred::Uno,
        Tok::Word("true") => FloatPred::True,
        t => return c.err(format!("{t:?} is not a floating-point comparison")),
    })
}

fn rmw_op(c: &mut Cursor<'_>) -> Result<RmwOp, ReadError> {
    Ok(match c.next()? {
        Tok::Word("xchg") => RmwOp::Xchg,
        Tok::Word("add") => RmwOp::Add,
        Tok::Word("sub") => RmwOp::Sub,
        Tok::Word("and") => RmwOp::And,
        Tok::Word("nand") => RmwOp::Nand,
        Tok::Word("or") => RmwOp::Or,
        Tok::Word("xor") => RmwOp::Xor,
        Tok::Word("max") => RmwOp::Max,
        Tok::Word("min") => RmwOp::Min,
        Tok::Word("umax") => RmwOp::UMax,
        Tok::Word("umin") => RmwOp::UMin,
        Tok::Word("fadd") => RmwOp::FAdd,
        Tok::Word("fsub") => RmwOp::FSub,
        Tok::Word("fmax") => RmwOp::FMax,
        Tok::Word("fmin") => RmwOp::FMin,
        t => return c.err(format!("{t:?} is not an atomic operation this reader knows")),
    })
}
