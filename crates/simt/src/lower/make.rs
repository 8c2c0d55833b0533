//! Makes nodes, folding constants and identities on the way. Knows the SSA form alone.

use smallvec::smallvec;

use super::sir::{Args, BlockId, Class, Cvt, FBin, FUn, FloatPred, Func, IOp, IUn, IntPred, Node, Op, V};
use crate::semantics as sem;
use crate::semantics64 as double;

/// Appends nodes to a block of a function.
#[derive(Debug, Default)]
pub struct Maker {
    /// The function that grows.
    pub f: Func,
    /// Block that receives nodes.
    pub cur: BlockId,
    /// Position given to new nodes.
    pub pos: u32,
    /// `contract` flag given to new floating nodes.
    pub contract: bool,
    consts: rustc_hash::FxHashMap<(u64, Class), V>,
}

impl Maker {
    /// An empty function.
    pub fn new() -> Self {
        Self { pos: super::sir::NO_POS, ..Self::default() }
    }

    /// Appends a node.
    pub fn push(&mut self, op: Op, class: Class, args: Args) -> V {
        let v = self.f.nodes.len() as V;
        self.f.nodes.push(Node { op, class, args, pos: self.pos, narrow: false, contract: self.contract });
        if !matches!(op, Op::Const(_) | Op::Phi)
            && let Some(b) = self.f.blocks.get_mut(self.cur as usize)
        {
            b.nodes.push(v);
        }
        v
    }

    /// Marks a value as 16 bits or fewer.
    pub fn narrow(&mut self, v: V) -> V {
        let n = &mut self.f.nodes[v as usize];
        if !matches!(n.op, Op::Const(_)) {
            n.narrow = true;
        }
        v
    }

    fn constant(&mut self, c: u64, class: Class) -> V {
        if let Some(&v) = self.consts.get(&(c, class)) {
            return v;
        }
        let v = self.push(Op::Const(c), class, Args::new());
        self.consts.insert((c, class), v);
        v
    }

    /// A 32-bit constant.
    pub fn c32(&mut self, c: u32) -> V {
        self.constant(u64::from(c), Class::B32)
    }

    /// A 64-bit constant.
    pub fn c64(&mut self, c: u64) -> V {
        self.constant(c, Class::B64)
    }

    /// A constant predicate.
    pub fn cpred(&mut self, b: bool) -> V {
        self.constant(u64::from(b), Class::Pred)
    }

    /// Value of a constant predicate.
    pub fn pred_const(&self, v: V) -> Option<bool> {
        self.k(v).map(|k| k != 0)
    }

    fn k(&self, v: V) -> Option<u64> {
        self.f.const_of(v)
    }

    /// Integer operation in 32 bits.
    pub fn i32(&mut self, op: IOp, a: V, b: V) -> V {
        let (ka, kb) = (self.k(a), self.k(b));
        if let (Some(x), Some(y)) = (ka, kb) {
            return self.c32(sem::iop32(op, x as u32, y as u32));
        }
        let (a, b, kb) = if commutes(op) && ka.is_some() { (b, a, ka) } else { (a, b, kb) };
        if let Some(y) = kb {
            let y = y as u32;
            match (op, y) {
                (IOp::Add | IOp::Sub | IOp::Or | IOp::Xor | IOp::Shl | IOp::LShr | IOp::AShr | IOp::UMax, 0)
                | (IOp::And, u32::MAX)
                | (IOp::Mul | IOp::UDiv | IOp::SDiv, 1) => return a,
                (IOp::And | IOp::Mul, 0) => return self.c32(0),
                (IOp::Mul, y) if y.is_power_of_two() => {
                    let s = self.c32(y.trailing_zeros());
                    return self.i32(IOp::Shl, a, s);
                }
                (IOp::UDiv, y) if y.is_power_of_two() => {
                    let s = self.c32(y.trailing_zeros());
                    return self.i32(IOp::LShr, a, s);
                }
                (IOp::URem, y) if y.is_power_of_two() => {
                    let s = self.c32(y - 1);
                    return self.i32(IOp::And, a, s);
                }
                (IOp::Sub, y) => {
                    let s = self.c32(y.wrapping_neg());
                    return self.i32(IOp::Add, a, s);
                }
                (IOp::Add, y) => {
                    // (x + c) + y: constants meet.
                    let n = self.f.node(a);
                    if n.op == Op::I32(IOp::Add)
                        && let (Some(&x), Some(&c)) = (n.args.first(), n.args.get(1))
                        && let Some(c) = self.k(c)
                    {
                        let s = self.c32((c as u32).wrapping_add(y));
                        return self.i32(IOp::Add, x, s);
                    }
                }
                (IOp::And, y) => {
                    // A mask over a mask, or over a value known to be narrower.
                    let n = self.f.node(a);
                    if n.op == Op::I32(IOp::And)
                        && let (Some(&x), Some(&c)) = (n.args.first(), n.args.get(1))
                        && let Some(c) = self.k(c)
                    {
                        let s = self.c32(c as u32 & y);
                        return self.i32(IOp::And, x, s);
                    }
                }
                _ => {}
            }
        }
        self.push(Op::I32(op), Class::B32, smallvec![a, b])
    }

    /// Integer operation in 64 bits. Shift amounts are 64-bit values.
    pub fn i64(&mut self, op: IOp, a: V, b: V) -> V {
        let (ka, kb) = (self.k(a), self.k(b));
        if let (Some(x), Some(y)) = (ka, kb) {
            return self.c64(sem::iop64(op, x, y));
        }
        let (a, b, kb) = if commutes(op) && ka.is_some() { (b, a, ka) } else { (a, b, kb) };
        if let Some(y) = kb {
            match (op, y) {
                (IOp::Add | IOp::Sub | IOp::Or | IOp::Xor | IOp::Shl | IOp::LShr | IOp::AShr | IOp::UMax, 0)
                | (IOp::And, u64::MAX)
                | (IOp::Mul | IOp::UDiv | IOp::SDiv, 1) => return a,
                (IOp::And | IOp::Mul, 0) => return self.c64(0),
                (IOp::Mul, y) if y.is_power_of_two() => {
                    let s = self.c64(u64::from(y.trailing_zeros()));
                    return self.i64(IOp::Shl, a, s);
                }
                (IOp::UDiv, y) if y.is_power_of_two() => {
                    let s = self.c64(u64::from(y.trailing_zeros()));
                    return self.i64(IOp::LShr, a, s);
                }
                (IOp::URem, y) if y.is_power_of_two() => {
                    let s = self.c64(y - 1);
                    return self.i64(IOp::And, a, s);
                }
                (IOp::Sub, y) => {
                    let s = self.c64(y.wrapping_neg());
                    return self.i64(IOp::Add, a, s);
                }
                (IOp::And, 0xffff_ffff) => {
                    let lo = self.cvt(Cvt::Lo, a);
                    return self.cvt(Cvt::Zext64, lo);
                }
                (IOp::LShr, 32) => {
                    let hi = self.cvt(Cvt::Hi, a);
                    return self.cvt(Cvt::Zext64, hi);
                }
                (IOp::Add, y) => {
                    let n = self.f.node(a);
                    if n.op == Op::I64(IOp::Add)
                        && let (Some(&x), Some(&c)) = (n.args.first(), n.args.get(1))
                        && let Some(c) = self.k(c)
                    {
                        let s = self.c64(c.wrapping_add(y));
                        return self.i64(IOp::Add, x, s);
                    }
                }
                _ => {}
            }
        }
        self.push(Op::I64(op), Class::B64, smallvec![a, b])
    }

    /// One-operand integer operation in 32 bits.
    pub fn iun32(&mut self, op: IUn, a: V) -> V {
        if let Some(x) = self.k(a) {
            return self.c32(sem::iun32(op, x as u32));
        }
        self.push(Op::IUn32(op), Class::B32, smallvec![a])
    }

    /// One-operand integer operation in 64 bits.
    pub fn iun64(&mut self, op: IUn, a: V) -> V {
        if let Some(x) = self.k(a) {
            return self.c64(sem::iun64(op, x));
        }
        self.push(Op::IUn64(op), Class::B64, smallvec![a])
    }

    fn is_wide(&self, v: V) -> bool {
        self.f.node(v).class == Class::B64
    }

    /// Two-operand floating operation; the class of the operands decides the precision.
    pub fn fbin(&mut self, op: FBin, a: V, b: V) -> V {
        if self.is_wide(a) {
            if let (Some(x), Some(y)) = (self.k(a), self.k(b)) {
                return self.c64(double::fbin(op, x, y));
            }
            return self.push(Op::FBin64(op), Class::B64, smallvec![a, b]);
        }
        if let (Some(x), Some(y)) = (self.k(a), self.k(b)) {
            return self.c32(sem::fbin(op, x as u32, y as u32));
        }
        self.push(Op::FBin(op), Class::B32, smallvec![a, b])
    }

    /// One-operand floating operation; the class of the operand decides the precision.
    pub fn fun(&mut self, op: FUn, a: V) -> V {
        if self.is_wide(a) {
            if let Some(x) = self.k(a) {
                return self.c64(double::fun(op, x));
            }
            return self.push(Op::FUn64(op), Class::B64, smallvec![a]);
        }
        if let Some(x) = self.k(a) {
            return self.c32(sem::fun(op, x as u32));
        }
        let inner = self.f.node(a).op;
        match (op, inner) {
            (FUn::Neg, Op::FUn(FUn::Neg)) | (FUn::F16Bits, Op::FUn(FUn::F16From)) => {
                return self.f.node(a).args[0];
            }
            (FUn::RoundF16, Op::FUn(FUn::RoundF16 | FUn::F16From) | Op::FmaF16) => return a,
            (FUn::RoundBf16, Op::FUn(FUn::RoundBf16 | FUn::Bf16From)) => return a,
            (FUn::F16From, Op::FUn(FUn::F16Bits)) => {
                let x = self.f.node(a).args[0];
                if matches!(self.f.node(x).op, Op::FUn(FUn::RoundF16 | FUn::F16From)) {
                    return x;
                }
            }
            _ => {}
        }
        self.push(Op::FUn(op), Class::B32, smallvec![a])
    }

    /// Conversion.
    pub fn cvt(&mut self, op: Cvt, a: V) -> V {
        let class = match op {
            Cvt::Zext64 | Cvt::Sext64 | Cvt::FToD | Cvt::IToD { .. } | Cvt::LToD { .. } => Class::B64,
            Cvt::FToI { bits, .. } | Cvt::DToI { bits, .. } if bits > 32 => Class::B64,
            _ => Class::B32,
        };
        if let Some(x) = self.k(a) {
            return self.constant(sem::cvt(op, x), class);
        }
        let n = self.f.node(a);
        match (op, n.op) {
            (Cvt::Lo, Op::Cvt(Cvt::Zext64 | Cvt::Sext64) | Op::Pack) => return n.args[0],
            (Cvt::Hi, Op::Pack) => return n.args[1],
            (Cvt::Hi, Op::Cvt(Cvt::Zext64)) => return self.c32(0),
            // The low half of a sum is the sum of the low halves.
            (Cvt::Lo, Op::I64(i @ (IOp::Add | IOp::Sub | IOp::Mul | IOp::And | IOp::Or | IOp::Xor))) => {
                let (x, y) = (n.args[0], n.args[1]);
                let (x, y) = (self.cvt(Cvt::Lo, x), self.cvt(Cvt::Lo, y));
                return self.i32(i, x, y);
            }
            (Cvt::Lo, Op::I64(IOp::Shl)) => {
                let (x, s) = (n.args[0], n.args[1]);
                if let Some(s) = self.k(s) {
                    let x = self.cvt(Cvt::Lo, x);
                    let s = if s < 32 { self.c32(s as u32) } else { return self.c32(0) };
                    return self.i32(IOp::Shl, x, s);
                }
            }
            _ => {}
        }
        self.push(Op::Cvt(op), class, smallvec![a])
    }

    /// Joins two halves.
    pub fn pack(&mut self, lo: V, hi: V) -> V {
        if let (Some(l), Some(h)) = (self.k(lo), self.k(hi)) {
            return self.c64((l & 0xffff_ffff) | (h << 32));
        }
        let (a, b) = (self.f.node(lo), self.f.node(hi));
        if a.op == Op::Cvt(Cvt::Lo) && b.op == Op::Cvt(Cvt::Hi) && a.args[0] == b.args[0] {
            return a.args[0];
        }
        if self.k(hi) == Some(0) {
            return self.cvt(Cvt::Zext64, lo);
        }
        self.push(Op::Pack, Class::B64, smallvec![lo, hi])
    }

    /// Integer comparison; the class of the operands decides the width.
    pub fn icmp(&mut self, p: IntPred, a: V, b: V) -> V {
        let wide = self.is_wide(a);
        if let (Some(x), Some(y)) = (self.k(a), self.k(b)) {
            let r = if wide { sem::icmp64(p, x, y) } else { sem::icmp32(p, x as u32, y as u32) };
            return self.cpred(r);
        }
        let op = if wide { Op::ICmp64(p) } else { Op::ICmp32(p) };
        self.push(op, Class::Pred, smallvec![a, b])
    }

    /// Floating number to integer; the class of the operand decides the precision.
    pub fn float_to_int(&mut self, signed: bool, bits: u8, a: V) -> V {
        self.cvt(if self.is_wide(a) { Cvt::DToI { signed, bits } } else { Cvt::FToI { signed, bits } }, a)
    }

    /// Floating comparison; the class of the operands decides the precision.
    pub fn fcmp(&mut self, p: FloatPred, a: V, b: V) -> V {
        if self.is_wide(a) {
            if let (Some(x), Some(y)) = (self.k(a), self.k(b)) {
                return self.cpred(double::fcmp(p, x, y));
            }
            return self.push(Op::FCmp64(p), Class::Pred, smallvec![a, b]);
        }
        if let (Some(x), Some(y)) = (self.k(a), self.k(b)) {
            return self.cpred(sem::fcmp(p, x as u32, y as u32));
        }
        self.push(Op::FCmp(p), Class::Pred, smallvec![a, b])
    }

    /// Conjunction.
    pub fn pand(&mut self, a: V, b: V) -> V {
        match (self.pred_const(a), self.pred_const(b)) {
            (Some(true), _) => b,
            (_, Some(true)) => a,
            (Some(false), _) => a,
            (_, Some(false)) => b,
            _ => self.push(Op::PAnd, Class::Pred, smallvec![a, b]),
        }
    }

    /// Disjunction.
    pub fn por(&mut self, a: V, b: V) -> V {
        match (self.pred_const(a), self.pred_const(b)) {
            (Some(false), _) => b,
            (_, Some(false)) => a,
            (Some(true), _) => a,
            (_, Some(true)) => b,
            _ => self.push(Op::POr, Class::Pred, smallvec![a, b]),
        }
    }

    /// Exclusive or.
    pub fn pxor(&mut self, a: V, b: V) -> V {
        match (self.pred_const(a), self.pred_const(b)) {
            (Some(false), _) => b,
            (_, Some(false)) => a,
            (Some(true), _) => self.pnot(b),
            (_, Some(true)) => self.pnot(a),
            _ => self.push(Op::PXor, Class::Pred, smallvec![a, b]),
        }
    }

    /// Negation; comparisons absorb it.
    pub fn pnot(&mut self, a: V) -> V {
        if let Some(k) = self.pred_const(a) {
            return self.cpred(!k);
        }
        let n = self.f.node(a);
        let args = n.args.clone();
        match n.op {
            Op::PNot => args[0],
            Op::ICmp32(p) => self.push(Op::ICmp32(invert_int(p)), Class::Pred, args),
            Op::ICmp64(p) => self.push(Op::ICmp64(invert_int(p)), Class::Pred, args),
            Op::FCmp(p) => self.push(Op::FCmp(invert_float(p)), Class::Pred, args),
            Op::FCmp64(p) => self.push(Op::FCmp64(invert_float(p)), Class::Pred, args),
            _ => self.push(Op::PNot, Class::Pred, smallvec![a]),
        }
    }

    /// Selection between values of one class.
    pub fn sel(&mut self, p: V, a: V, b: V) -> V {
        if a == b {
            return a;
        }
        match self.pred_const(p) {
            Some(true) => return a,
            Some(false) => return b,
            None => {}
        }
        let class = self.f.node(a).class;
        if class == Class::Pred {
            match (self.pred_const(a), self.pred_const(b)) {
                (Some(true), Some(false)) => return p,
                (Some(false), Some(true)) => return self.pnot(p),
                (Some(true), _) => return self.por(p, b),
                (_, Some(false)) => return self.pand(p, a),
                (Some(false), _) => {
                    let n = self.pnot(p);
                    return self.pand(n, b);
                }
                (_, Some(true)) => {
                    let n = self.pnot(p);
                    return self.por(n, a);
                }
                _ => {}
            }
        }
        self.push(Op::Sel, class, smallvec![p, a, b])
    }
}

fn commutes(op: IOp) -> bool {
    matches!(op, IOp::Add | IOp::Mul | IOp::And | IOp::Or | IOp::Xor | IOp::SMin | IOp::SMax | IOp::UMin | IOp::UMax)
}

/// The opposite integer comparison.
pub fn invert_int(p: IntPred) -> IntPred {
    match p {
        IntPred::Eq => IntPred::Ne,
        IntPred::Ne => IntPred::Eq,
        IntPred::Ugt => IntPred::Ule,
        IntPred::Uge => IntPred::Ult,
        IntPred::Ult => IntPred::Uge,
        IntPred::Ule => IntPred::Ugt,
        IntPred::Sgt => IntPred::Sle,
        IntPred::Sge => IntPred::Slt,
        IntPred::Slt => IntPred::Sge,
        IntPred::Sle => IntPred::Sgt,
    }
}

fn invert_float(p: FloatPred) -> FloatPred {
    match p {
        FloatPred::False => FloatPred::True,
        FloatPred::True => FloatPred::False,
        FloatPred::Oeq => FloatPred::Une,
        FloatPred::Une => FloatPred::Oeq,
        FloatPred::Ogt => FloatPred::Ule,
        FloatPred::Ule => FloatPred::Ogt,
        FloatPred::Oge => FloatPred::Ult,
        FloatPred::Ult => FloatPred::Oge,
        FloatPred::Olt => FloatPred::Uge,
        FloatPred::Uge => FloatPred::Olt,
        FloatPred::Ole => FloatPred::Ugt,
        FloatPred::Ugt => FloatPred::Ole,
        FloatPred::One => FloatPred::Ueq,
        FloatPred::Ueq => FloatPred::One,
        FloatPred::Ord => FloatPred::Uno,
        FloatPred::Uno => FloatPred::Ord,
    }
}
