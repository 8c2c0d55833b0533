//! The SIMT program in SSA form: scalar values of three register classes, blocks, phis. Data only: knows neither LLVM IR
//! nor how a program is run.
//!
//! Every value is one per lane. Integers narrower than their register are kept zero-extended. 16-bit floats are kept
//! as the binary32 value they stand for, so that widening them is no operation at all. Pointers to `device` and
//! `constant` memory are 64-bit addresses, pointers to `threadgroup` and private memory 32-bit offsets.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

pub use crate::counters::InstrClass;
pub use crate::reader::ir::{FloatPred, IntPred, RmwOp};
use ksearch_msl::SourcePos;
use ksearch_msl::abi::SpecialRegister;

/// A value: index of the node that defines it.
pub type V = u32;
/// A block index.
pub type BlockId = u32;

/// Register class of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// No value, or several (see [`Op::Part`]).
    None,
    /// One bit per lane.
    Pred,
    /// 32 bits per lane.
    B32,
    /// 64 bits per lane.
    B64,
}

/// Integer operations of two operands, in 32 or 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum IOp {
    Add,
    Sub,
    Mul,
    UDiv,
    SDiv,
    URem,
    SRem,
    Shl,
    LShr,
    AShr,
    And,
    Or,
    Xor,
    SMin,
    SMax,
    UMin,
    UMax,
}

/// Integer operations of one operand, in 32 or 64 bits. The number is the operand's width in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum IUn {
    Clz(u8),
    Ctz(u8),
    Popcnt,
    Bitrev(u8),
    Bswap(u8),
    /// Sign extension from this many bits to the register.
    SExt(u8),
}

/// Floating operations of two operands, in binary32 or binary64. The exponent of `Ldexp` is an integer in binary32 and a
/// binary64 value in binary64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum FBin {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    /// `minNum`: a NaN operand loses.
    Min,
    Max,
    /// `minimum`: a NaN operand wins.
    Minimum,
    Maximum,
    Copysign,
    /// Division at fast precision (`__ks_div_f32`).
    FastDiv,
    Pow,
    Powr,
    Atan2,
    Ldexp,
    Hypot,
}

/// Floating operations of one operand, in binary32 or (but for those about 16-bit floats) in binary64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum FUn {
    Neg,
    Abs,
    Floor,
    Ceil,
    Trunc,
    /// To nearest, ties to even.
    Rint,
    /// To nearest, ties away from zero.
    Round,
    /// Round to binary16 and back.
    RoundF16,
    /// Round to bfloat16 and back.
    RoundBf16,
    /// Bits of the binary16 value.
    F16Bits,
    /// Binary16 bits to binary32.
    F16From,
    /// Bits of the bfloat16 value.
    Bf16Bits,
    /// Bfloat16 bits to binary32.
    Bf16From,
    Sqrt,
    Rsqrt,
    Rcp,
    Exp,
    Exp2,
    Exp10,
    Log,
    Log2,
    Log10,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
    Erf,
    Erfinv,
    Lgamma,
    Tgamma,
    Sinpi,
    Cospi,
    Tanpi,
    Erfc,
    Expm1,
    Log1p,
    Cbrt,
}

/// Conversions between classes or between number kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Cvt {
    /// B32 to B64, zero-extended.
    Zext64,
    /// B32 to B64, sign-extended.
    Sext64,
    /// Low half of a B64.
    Lo,
    /// High half of a B64.
    Hi,
    /// Binary32 to integer of `bits` (result zero-extended), saturating, NaN to 0. To B64 where `bits` > 32.
    FToI { signed: bool, bits: u8 },
    /// 32-bit integer (sign- or zero-extended) to binary32.
    IToF { signed: bool },
    /// 64-bit integer to binary32.
    LToF { signed: bool },
    /// Binary32 to binary64.
    FToD,
    /// Binary64 to binary32.
    DToF,
    /// Binary64 to binary16 in one rounding, kept as binary32.
    DToF16,
    /// Binary64 to bfloat16 in one rounding, kept as binary32.
    DToBf16,
    /// As [`Self::FToI`], from binary64.
    DToI { signed: bool, bits: u8 },
    /// 32-bit integer to binary64.
    IToD { signed: bool },
    /// 64-bit integer to binary64.
    LToD { signed: bool },
}

/// How a shuffle picks its source lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum ShuffleKind {
    Index,
    Xor,
    Up,
    Down,
    RotateUp,
    RotateDown,
    /// Lane past the end takes the fill value; operands: value, fill, delta, modulo.
    FillUp,
    FillDown,
    Broadcast,
    /// Value of the first active lane.
    BroadcastFirst,
    QuadIndex,
    QuadXor,
    QuadUp,
    QuadDown,
    QuadBroadcast,
}

/// Reductions and scans over a simdgroup or quad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum ReduceOp {
    Sum,
    Product,
    Min,
    Max,
    And,
    Or,
    Xor,
    InclusiveSum,
    ExclusiveSum,
    InclusiveProduct,
    ExclusiveProduct,
}

/// Element type of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Num {
    F32,
    I32,
    U32,
}

/// Memory spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// `device` and `constant` memory: 64-bit addresses.
    Device,
    /// `threadgroup` memory: 32-bit offsets.
    Threadgroup,
    /// Private memory: 32-bit offsets into the thread's frame.
    Private,
    /// Decided by the tag of a 64-bit address.
    Generic,
}

/// Element of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Elem {
    U8,
    U16,
    F16,
    Bf16,
    B32,
    B64,
}

impl Elem {
    /// Size in bytes.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::U8 => 1,
            Self::U16 | Self::F16 | Self::Bf16 => 2,
            Self::B32 => 4,
            Self::B64 => 8,
        }
    }
}

/// How the index operand of an address becomes 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Index {
    /// No index operand.
    None,
    /// 32-bit, sign-extended.
    Sext,
    /// 32-bit, zero-extended.
    Zext,
    /// 64-bit.
    Wide,
}

/// A memory operand: `base + (index << shift) + offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mem {
    /// Where.
    pub space: Space,
    /// What.
    pub elem: Elem,
    /// Consecutive elements.
    pub count: u8,
    /// Second operand of the address.
    pub index: Index,
    /// Left shift of the index.
    pub shift: u8,
    /// Constant bytes.
    pub offset: i64,
    /// Alignment the IR promises, bytes.
    pub align: u32,
    /// Atomic load or store.
    pub atomic: bool,
    /// `volatile`: never merged or dropped.
    pub volatile: bool,
}

/// What a node computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Op {
    /// Removed.
    Nop,
    Const(u64),
    /// Kernel argument.
    Param(u32),
    Sr(SpecialRegister),
    /// Operands are in [`Func::phis`].
    Phi,
    I32(IOp),
    I64(IOp),
    IUn32(IUn),
    IUn64(IUn),
    /// Funnel shift left: operands high, low, amount; the number is the width (8, 16 or 32).
    Fshl(u8),
    FBin(FBin),
    FUn(FUn),
    FBin64(FBin),
    FUn64(FUn),
    /// `±(a·b) ± c`, rounded once.
    Fma {
        neg_product: bool,
        neg_addend: bool,
    },
    /// `a·b + c` in binary64, rounded once.
    Fma64,
    /// The same in binary16: operands are binary16 values, one rounding to binary16.
    FmaF16,
    Cvt(Cvt),
    /// Low and high halves to a B64.
    Pack,
    ICmp32(IntPred),
    ICmp64(IntPred),
    FCmp(FloatPred),
    FCmp64(FloatPred),
    PAnd,
    POr,
    PXor,
    PNot,
    /// Predicate, then, else.
    Sel,
    /// Result `k` of a node with several.
    Part(u8),
    /// Operands: base, index if the memory operand has one.
    Load(Mem),
    /// Operands: values, base, index.
    Store(Mem),
    /// Operands: value, base, index. Integer operations on B32 or B64 elements, floating ones on B32.
    Rmw(RmwOp, Mem),
    /// Operands: expected, new, base, index. Results: old value, success.
    CmpXchg(Mem),
    /// Operands: value, lane (or value, fill, delta, modulo).
    Shuffle(ShuffleKind),
    Reduce(ReduceOp, Num),
    QuadReduce(ReduceOp, Num),
    /// Predicate to a 64-bit mask.
    Ballot,
    ActiveMask,
    /// True in the first active lane.
    IsFirst,
    /// Operands: a0 a1 b0 b1 c0 c1; the number is the kind of `__ks_mma_8x8`. Two results.
    Mma(u8),
    Barrier(u8),
    SimdBarrier(u8),
    Fence(u8),
    Trap(u32),
}

impl Op {
    /// Must it stay where it is even when nothing uses it?
    pub fn has_effect(self) -> bool {
        match self {
            Self::Load(m) => m.volatile || m.atomic,
            Self::Store(_)
            | Self::Rmw(..)
            | Self::CmpXchg(_)
            | Self::Barrier(_)
            | Self::SimdBarrier(_)
            | Self::Fence(_)
            | Self::Trap(_) => true,
            _ => false,
        }
    }

    /// Does its result depend on its operands (and constants of the launch) alone?
    pub fn is_pure(self) -> bool {
        !self.has_effect() && !self.is_cross_lane() && !matches!(self, Self::Load(_) | Self::Phi | Self::Part(_))
    }

    /// Does it read other lanes or the mask?
    pub fn is_cross_lane(self) -> bool {
        matches!(
            self,
            Self::Shuffle(_)
                | Self::Reduce(..)
                | Self::QuadReduce(..)
                | Self::Ballot
                | Self::ActiveMask
                | Self::IsFirst
                | Self::Mma(_)
        )
    }

    /// The memory operand and the position of its base among the operands.
    pub fn mem(self, n_args: usize) -> Option<(Mem, usize)> {
        let (Self::Load(m) | Self::Store(m) | Self::Rmw(_, m) | Self::CmpXchg(m)) = self else { return None };
        let tail = if m.index == Index::None { 1 } else { 2 };
        Some((m, n_args.saturating_sub(tail)))
    }
}

/// Operands of a node.
pub type Args = SmallVec<[V; 4]>;

/// A node.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it computes.
    pub op: Op,
    /// Class of the result.
    pub class: Class,
    /// Operands.
    pub args: Args,
    /// Index into [`Func::positions`]; `u32::MAX` when unknown.
    pub pos: u32,
    /// The value has 16 bits or fewer (it takes half a register).
    pub narrow: bool,
    /// A floating operation that may be fused with another.
    pub contract: bool,
}

/// No position.
pub const NO_POS: u32 = u32::MAX;

/// End of a block.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Term {
    Br(BlockId),
    CondBr(V, BlockId, BlockId),
    Ret,
    Unreachable,
}

impl Term {
    /// Successors, in order, maybe with repeats.
    pub fn succs(&self) -> SmallVec<[BlockId; 2]> {
        match self {
            Self::Br(b) => smallvec::smallvec![*b],
            Self::CondBr(_, t, f) => smallvec::smallvec![*t, *f],
            Self::Ret | Self::Unreachable => SmallVec::new(),
        }
    }

    /// Replaces each successor.
    pub fn map_succs(&mut self, mut f: impl FnMut(BlockId) -> BlockId) {
        match self {
            Self::Br(b) => *b = f(*b),
            Self::CondBr(_, t, e) => {
                *t = f(*t);
                *e = f(*e);
            }
            Self::Ret | Self::Unreachable => {}
        }
    }
}

/// A block: phis, then nodes in order, then the terminator.
#[derive(Clone, Debug)]
pub struct Block {
    /// Phis with their operands by predecessor.
    pub phis: Vec<(V, Vec<(BlockId, V)>)>,
    /// Nodes in order.
    pub nodes: Vec<V>,
    /// End.
    pub term: Term,
    /// Position of the terminator.
    pub term_pos: u32,
}

/// A kernel in SSA form.
#[derive(Clone, Debug, Default)]
pub struct Func {
    /// All nodes.
    pub nodes: Vec<Node>,
    /// Blocks; the first is the entry.
    pub blocks: Vec<Block>,
    /// Source positions.
    pub positions: Vec<SourcePos>,
    /// Threadgroup memory declared by the kernel, bytes.
    pub static_threadgroup: u32,
    /// Private memory per thread, bytes.
    pub private_bytes: u32,
    /// Contents of the constant globals.
    pub constants: Vec<u8>,
    /// Names of the user's variables by value.
    pub variables: FxHashMap<V, Arc<str>>,
    /// Per parameter: does it point to the `constant` space?
    pub constant_params: Vec<bool>,
}

impl Func {
    /// The node of a value.
    pub fn node(&self, v: V) -> &Node {
        &self.nodes[v as usize]
    }

    /// Value of a constant.
    pub fn const_of(&self, v: V) -> Option<u64> {
        match self.node(v).op {
            Op::Const(c) => Some(c),
            _ => None,
        }
    }

    /// Predecessors of each block, each once.
    pub fn preds(&self) -> Vec<Vec<BlockId>> {
        let mut p: Vec<Vec<BlockId>> = vec![Vec::new(); self.blocks.len()];
        for (i, b) in self.blocks.iter().enumerate() {
            for s in b.term.succs() {
                let list = &mut p[s as usize];
                if !list.contains(&(i as u32)) {
                    list.push(i as u32);
                }
            }
        }
        p
    }
}

impl Func {
    /// Is `v` a kernel argument whose memory the kernel cannot write?
    pub fn read_only_param(&self, v: V) -> bool {
        matches!(self.node(v).op, Op::Param(i) if self.constant_params.get(i as usize).copied().unwrap_or(false))
    }
}
