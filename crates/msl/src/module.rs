//! The front end's product: entry points with their signatures, and LLVM IR. Knows nothing about execution.

use std::collections::BTreeMap;

use crate::diag::{Diagnostic, SourcePos};

/// How far clang optimises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Optimise {
    /// `-O2`: the form whose instructions are counted and timed.
    #[default]
    Speed,
    /// Every load and store of `device`, `constant` and `threadgroup` memory stays as written: the form the
    /// sanitizers see.
    Faithful,
}

/// What a source is written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Language {
    /// The Metal Shading Language.
    #[default]
    Metal,
    /// CUDA C++: the device code of a `.cu` file. A kernel's scalar parameters are `Buffer`s of one constant element;
    /// the block of dynamic shared memory, where a source has one, is a last `Threadgroup` parameter, `dynamic_shared`.
    Cuda,
}

/// What to compile and how.
#[derive(Clone, Debug, Default)]
pub struct CompileOptions {
    /// Language.
    pub language: Language,
    /// Macros, in order.
    pub defines: Vec<(String, String)>,
    /// Values of function constants, by name or decimal index, as C++ literals (`true`, `32`, `0.5f`).
    pub constants: BTreeMap<String, String>,
    /// Optimisation.
    pub optimise: Optimise,
    /// Kernels to compile, by the host's names; all when empty. Compiling one kernel of a large file this way takes a
    /// fraction of the time. The module's entries are those compiled. A CUDA kernel template is asked for with its
    /// arguments: `k<float, 256>`.
    pub only: Vec<String>,
    /// Fast math as Metal's default has it (contraction, reciprocals, no signed zeros). NaN and infinity stay honest.
    pub fast_math: bool,
    /// Is there a `double`? It and its vectors exist then, and a floating literal without a suffix is one, as in C++. MSL
    /// has none: this is for references, which nothing but the simulator runs.
    pub double: bool,
    /// Say in the IR which values are those of the user's variables.
    pub variables: bool,
}

/// Special value a parameter is filled with by the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Builtin {
    /// `thread_position_in_grid`
    ThreadPositionInGrid,
    /// `thread_position_in_threadgroup`
    ThreadPositionInThreadgroup,
    /// `threadgroup_position_in_grid`
    ThreadgroupPositionInGrid,
    /// `threads_per_grid`
    ThreadsPerGrid,
    /// `threads_per_threadgroup`, `dispatch_threads_per_threadgroup`
    ThreadsPerThreadgroup,
    /// `threadgroups_per_grid`
    ThreadgroupsPerGrid,
    /// `thread_index_in_threadgroup`
    ThreadIndexInThreadgroup,
    /// `thread_index_in_simdgroup`
    ThreadIndexInSimdgroup,
    /// `simdgroup_index_in_threadgroup`
    SimdgroupIndexInThreadgroup,
    /// `simdgroups_per_threadgroup`, `dispatch_simdgroups_per_threadgroup`
    SimdgroupsPerThreadgroup,
    /// `threads_per_simdgroup`, `thread_execution_width`
    ThreadsPerSimdgroup,
    /// `thread_index_in_quadgroup`
    ThreadIndexInQuadgroup,
    /// `quadgroup_index_in_threadgroup`
    QuadgroupIndexInThreadgroup,
    /// `quadgroups_per_threadgroup`
    QuadgroupsPerThreadgroup,
    /// `grid_origin` and the stage-in kin
    GridOrigin,
}

/// What kind of thing a kernel parameter is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// A `device` or `constant` pointer or reference.
    Buffer {
        /// `[[buffer(index)]]`, assigned in order when absent.
        index: u32,
        /// `true` for the `constant` address space.
        constant: bool,
        /// `true` where the pointee is const (always for `constant`).
        read_only: bool,
        /// `true` for a reference (one element, e.g. `constant uint& n`).
        reference: bool,
        /// Pointee type as written, e.g. `float4`, `Params`.
        element: String,
        /// Size of the pointee in bytes.
        element_bytes: u32,
    },
    /// A `threadgroup` pointer sized by the host.
    Threadgroup {
        /// `[[threadgroup(index)]]`.
        index: u32,
        /// `true` for a reference (one element).
        reference: bool,
        /// Pointee type as written.
        element: String,
        /// Size of the pointee in bytes.
        element_bytes: u32,
    },
    /// A value filled in by the machine inside the wrapper; it takes no IR argument.
    Builtin(Builtin),
}

/// One parameter of an entry point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Name as written; empty when unnamed.
    pub name: String,
    /// What it is.
    pub kind: ParamKind,
    /// The function constant that decides whether the parameter exists (`[[function_constant(c)]]` beside its index).
    /// It always takes an IR argument; the host may leave it unbound when the constant is false.
    pub condition: Option<String>,
    /// Where it stands.
    pub pos: SourcePos,
}

/// A kernel that can be launched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryPoint {
    /// Name the host uses: the `host_name` if there is one.
    pub name: String,
    /// Name of the IR function. Its IR arguments are the `Buffer` and `Threadgroup` parameters, in order, each a
    /// pointer in address space 1 (device), 2 (constant) or 3 (threadgroup).
    pub symbol: String,
    /// Parameters, in order.
    pub params: Vec<Param>,
    /// `[[max_total_threads_per_threadgroup(n)]]`.
    pub max_threads: Option<u32>,
    /// Bytes of threadgroup memory that the source itself declares and this kernel uses; the host adds what it gives to
    /// the `Threadgroup` parameters. 0 from a listing that did not compile the source.
    pub threadgroup_bytes: u32,
    /// Where it is defined.
    pub pos: SourcePos,
}

/// Threadgroup memory that the source declares: one global in address space 3.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadgroupVariable {
    /// Name of the IR global, without the `@`.
    pub symbol: String,
    /// Name as written.
    pub name: String,
    /// Size in bytes.
    pub bytes: u32,
    /// Alignment in bytes.
    pub align: u32,
    /// Where it is declared.
    pub pos: SourcePos,
}

/// A function constant the source declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionConstant {
    /// Name as written.
    pub name: String,
    /// `[[function_constant(index)]]`.
    pub index: u32,
    /// Type as written.
    pub ty: String,
    /// Was it given a value?
    pub defined: bool,
}

/// A compiled source.
#[derive(Clone, Debug)]
pub struct Module {
    /// Kernels, in source order.
    pub entries: Vec<EntryPoint>,
    /// LLVM IR text for `spir64`. Statically declared threadgroup memory is a global in address space 3, private
    /// memory is `alloca`. External functions are those of [`crate::abi`] and LLVM intrinsics, nothing else.
    /// `!dbg` locations name the user's own file, line and column.
    pub ir: String,
    /// Function constants.
    pub constants: Vec<FunctionConstant>,
    /// Threadgroup memory that the source declares and some kernel uses.
    pub threadgroup: Vec<ThreadgroupVariable>,
    /// Warnings.
    pub warnings: Vec<Diagnostic>,
}

/// A source compiled for NVIDIA GPUs. A kernel's arguments are, in order: a 64-bit device address for each `Buffer`
/// parameter; for each `Threadgroup` parameter its 32-bit byte offset in the dynamic shared memory, which the host sizes
/// at launch; and the grid's three sizes in threads, 32 bits each. Blocks are threadgroups, warps are simdgroups.
#[derive(Clone, Debug)]
pub struct PtxModule {
    /// Kernels, in source order; `symbol` names them in the PTX.
    pub entries: Vec<EntryPoint>,
    /// PTX text.
    pub ptx: String,
    /// Function constants.
    pub constants: Vec<FunctionConstant>,
    /// Threadgroup memory that the source declares: static shared memory.
    pub threadgroup: Vec<ThreadgroupVariable>,
    /// Warnings.
    pub warnings: Vec<Diagnostic>,
}
