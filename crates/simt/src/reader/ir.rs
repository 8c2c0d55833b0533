//! Typed form of the LLVM IR that the reader accepts. Data only: knows neither text nor machine.

use std::sync::Arc;

/// A first-class or aggregate type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// No value.
    Void,
    /// Integer of this many bits.
    Int(u32),
    /// IEEE binary16.
    Half,
    /// bfloat16.
    BFloat,
    /// IEEE binary32.
    Float,
    /// IEEE binary64.
    Double,
    /// Opaque pointer in an address space.
    Ptr(u32),
    /// Fixed vector.
    Vector(u32, Arc<Type>),
    /// Array.
    Array(u64, Arc<Type>),
    /// Structure.
    Struct {
        /// No padding between fields.
        packed: bool,
        /// Field types.
        fields: Arc<[Type]>,
    },
    /// A named structure, looked up in [`Module::types`].
    Named(Arc<str>),
    /// Metadata, tokens, labels and target types: accepted where they cannot matter.
    Opaque,
}

/// A value as an operand.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A local (argument or instruction result), by index into the function's name table.
    Local(u32),
    /// A constant.
    Const(Arc<Const>),
}

/// A constant. Its type stands where it is used.
#[derive(Clone, Debug, PartialEq)]
pub enum Const {
    /// Integer, boolean or null pointer, two's complement in 128 bits.
    Int(u128),
    /// Floating point; the value of every narrower type is exact in it (NaN payloads of binary64 included).
    Float(f64),
    /// Bits of a 16-bit float literal.
    Float16(u16),
    /// `undef` or `poison`.
    Undef,
    /// `zeroinitializer`.
    Zero,
    /// Address of a global, by name.
    Global(Arc<str>),
    /// Elements of an array, vector or structure.
    Aggregate(Vec<(Type, Const)>),
    /// The same element everywhere.
    Splat(Type, Box<Const>),
    /// Bytes of a character array.
    Bytes(Vec<u8>),
    /// Constant `getelementptr`.
    Gep {
        /// Type the indices walk.
        ty: Type,
        /// Base pointer.
        base: Box<Const>,
        /// Indices with their types.
        indices: Vec<(Type, Const)>,
    },
    /// Constant cast.
    Cast {
        /// Which cast.
        op: CastOp,
        /// Source type.
        from: Type,
        /// Operand.
        value: Box<Const>,
        /// Result type.
        to: Type,
    },
    /// Constant binary operation on integers.
    Bin {
        /// Which operation.
        op: BinOp,
        /// Operand type.
        ty: Type,
        /// Left operand.
        a: Box<Const>,
        /// Right operand.
        b: Box<Const>,
    },
}

/// Two-operand instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum BinOp {
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
    FAdd,
    FSub,
    FMul,
    FDiv,
    FRem,
}

/// Cast instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum CastOp {
    Trunc,
    ZExt,
    SExt,
    FpTrunc,
    FpExt,
    FpToUi,
    FpToSi,
    UiToFp,
    SiToFp,
    PtrToInt,
    IntToPtr,
    BitCast,
    AddrSpaceCast,
}

/// Integer comparison predicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum IntPred {
    Eq,
    Ne,
    Ugt,
    Uge,
    Ult,
    Ule,
    Sgt,
    Sge,
    Slt,
    Sle,
}

/// Floating-point comparison predicates. `O*`: false on NaN, `U*`: true on NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum FloatPred {
    False,
    Oeq,
    Ogt,
    Oge,
    Olt,
    Ole,
    One,
    Ord,
    Ueq,
    Ugt,
    Uge,
    Ult,
    Ule,
    Une,
    Uno,
    True,
}

/// Atomic read-modify-write operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum RmwOp {
    Xchg,
    Add,
    Sub,
    And,
    Nand,
    Or,
    Xor,
    Max,
    Min,
    UMax,
    UMin,
    FAdd,
    FSub,
    FMax,
    FMin,
}

/// Index into [`Module::locations`].
pub type LocId = u32;

/// An instruction with its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Inst {
    /// Local that receives the result.
    pub result: Option<u32>,
    /// Type of the result; [`Type::Void`] when there is none.
    pub ty: Type,
    /// What it does.
    pub kind: InstKind,
    /// Debug location.
    pub loc: Option<LocId>,
}

/// A call's argument.
#[derive(Clone, Debug, PartialEq)]
pub struct CallArg {
    /// Type.
    pub ty: Type,
    /// Value; `None` for metadata.
    pub value: Option<Value>,
    /// Pointee of a `byval` argument: the callee gets its own copy.
    pub byval: Option<Type>,
    /// Alignment the caller promises for a pointer.
    pub align: u32,
}

/// What an instruction does.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum InstKind {
    Bin { op: BinOp, contract: bool, a: Value, b: Value },
    FNeg(Value),
    ICmp { pred: IntPred, ty: Type, a: Value, b: Value },
    FCmp { pred: FloatPred, ty: Type, a: Value, b: Value },
    Cast { op: CastOp, from: Type, v: Value },
    Select { cond_ty: Type, cond: Value, a: Value, b: Value },
    Phi(Vec<(Value, u32)>),
    Load { ptr: Value, space: u32, align: u32, volatile: bool, atomic: bool },
    Store { ty: Type, v: Value, ptr: Value, space: u32, align: u32, volatile: bool, atomic: bool },
    Gep { src: Type, base_ty: Type, base: Value, indices: Vec<(Type, Value)> },
    Alloca { of: Type, count: Option<(Type, Value)>, align: u32 },
    Call { callee: Callee, args: Vec<CallArg>, contract: bool },
    ExtractElement { vec_ty: Type, v: Value, idx: Value },
    InsertElement { v: Value, elem: Value, idx: Value },
    Shuffle { vec_ty: Type, a: Value, b: Value, mask: Vec<Option<u32>> },
    ExtractValue { agg_ty: Type, v: Value, path: Vec<u32> },
    InsertValue { v: Value, elem_ty: Type, elem: Value, path: Vec<u32> },
    AtomicRmw { op: RmwOp, ptr: Value, space: u32, v: Value },
    CmpXchg { ty: Type, ptr: Value, space: u32, cmp: Value, new: Value },
    Fence,
    Freeze(Value),
    Br(u32),
    CondBr(Value, u32, u32),
    Switch { ty: Type, v: Value, default: u32, cases: Vec<(u128, u32)> },
    Ret(Option<(Type, Value)>),
    Unreachable,
}

/// Target of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Callee {
    /// A function by name.
    Direct(Arc<str>),
    /// A pointer or inline assembly: cannot run.
    Indirect(String),
}

/// A parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Type.
    pub ty: Type,
    /// Local that holds it.
    pub local: u32,
}

/// A basic block.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// Instructions; the last one is the terminator.
    pub insts: Vec<Inst>,
}

/// A function with a body.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Name.
    pub name: Arc<str>,
    /// Result type.
    pub ret: Type,
    /// Parameters.
    pub params: Vec<Param>,
    /// Blocks; the first is the entry.
    pub blocks: Vec<Block>,
    /// Number of locals.
    pub locals: u32,
    /// Locals with the user's variables whose values they are, where debug information says so.
    pub variables: Vec<(u32, Arc<str>)>,
}

/// A global variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Global {
    /// Name.
    pub name: Arc<str>,
    /// Address space.
    pub space: u32,
    /// Type.
    pub ty: Type,
    /// Initial value; `None` for external ones.
    pub init: Option<Const>,
    /// Alignment, 0 when not given.
    pub align: u32,
    /// `constant` rather than `global`.
    pub constant: bool,
}

/// A debug location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// 1-based line; 0 when unknown.
    pub line: u32,
    /// 1-based column; 0 when unknown.
    pub column: u32,
    /// Index into [`Module::files`].
    pub file: Option<u32>,
    /// Where the code was inlined.
    pub inlined_at: Option<LocId>,
}

/// A module.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Module {
    /// Named structures.
    pub types: rustc_hash::FxHashMap<Arc<str>, Type>,
    /// Globals.
    pub globals: Vec<Global>,
    /// Functions with bodies.
    pub functions: Vec<Function>,
    /// Debug locations.
    pub locations: Vec<Location>,
    /// Source files.
    pub files: Vec<String>,
}

impl Module {
    /// The function with this name, when it has a body.
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|f| &*f.name == name)
    }

    /// The global with this name.
    pub fn global(&self, name: &str) -> Option<&Global> {
        self.globals.iter().find(|g| &*g.name == name)
    }

    /// Looks through names of structures.
    pub fn resolve<'a>(&'a self, ty: &'a Type) -> &'a Type {
        let mut ty = ty;
        // A name may be an alias of a name; the chain is bounded by the number of names.
        for _ in 0..=self.types.len() {
            match ty {
                Type::Named(n) => match self.types.get(n) {
                    Some(t) => ty = t,
                    None => return &Type::Opaque,
                },
                _ => return ty,
            }
        }
        &Type::Opaque
    }
}
