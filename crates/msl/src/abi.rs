//! The contract between the MSL library header and whatever executes its IR: the external functions a module may call.
//! Everything else is ordinary LLVM IR. Knows only names and types.
//!
//! Conventions: names start with `__ks_`; a type suffix is one of `i32 u32 f32 f16 f64` (16-bit integers and booleans are
//! widened by the header; 64-bit values are moved as two halves). Vectors are handled element by element in the header
//! unless a line says otherwise. All functions are `nounwind`; those marked *convergent* carry that attribute.
//!
//! | function | meaning |
//! |---|---|
//! | `i32 __ks_sr(i32 id)` | special register, see [`SpecialRegister`]; the id is a literal |
//! | `void __ks_threadgroup_barrier(i32 flags)` | convergent; flags are MSL `mem_flags`: 0 none, 1 device, 2 threadgroup, 4 texture |
//! | `void __ks_simdgroup_barrier(i32 flags)` | convergent |
//! | `void __ks_fence(i32 flags, i32 order, i32 scope)` | `atomic_thread_fence` |
//! | `i32 __ks_shuffle_i32(i32 v, i32 lane)` | convergent; value of lane `lane`; also `_xor` (mask), `_up`, `_down` (delta, lanes past the end keep undefined values: reads of inactive lanes are faults), `_rotate_up`, `_rotate_down` |
//! | `i32 __ks_shuffle_fill_up_i32(i32 v, i32 fill, i32 delta, i32 modulo)` | `simd_shuffle_and_fill_up`; `_down` likewise |
//! | `i32 __ks_broadcast_i32(i32 v, i32 lane)`, `i32 __ks_broadcast_first_i32(i32 v)` | convergent |
//! | `T __ks_simd_<op>_<T>(T v)` | convergent; op: `sum product min max and or xor prefix_inclusive_sum prefix_exclusive_sum prefix_inclusive_product prefix_exclusive_product`; T: `f32 i32 u32` (f16 through f32 in the header) |
//! | `i64 __ks_ballot(i32 predicate)`, `i64 __ks_active_mask()` | convergent |
//! | `i32 __ks_simd_is_first()` | convergent |
//! | `i32 __ks_quad_shuffle_i32(i32 v, i32 lane)` and `_xor _up _down _broadcast`, `T __ks_quad_<op>_<T>(T v)` | convergent, inside groups of four lanes |
//! | `f32 __ks_<fn>_f32(f32...)` | math at MSL's fast precision: `exp exp2 exp10 log log2 log10 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sqrt rsqrt rcp` (one argument), `div pow powr fmod atan2` (two) |
//! | `f32 __ks_precise_<fn>_f32(f32...)` | the same at `precise::` precision; also `erf erfinv lgamma tgamma` |
//! | `f32 __ks_sinpi_f32 cospi tanpi` | |
//! | `f64 __ks_<fn>_f64(f64...)` | every function above in double precision, for sources compiled with `CompileOptions::double`; also `erfc expm1 log1p cbrt` and, of two arguments, `hypot` |
//! | `<2 x float> __ks_mma_8x8(<2 x float> a, <2 x float> b, <2 x float> c, i32 kind)` | convergent; D = A·B + C on 8x8 tiles, two elements a lane in the layout of MLX's `BaseMMAFrag`; kind: 0 f32 accumulation, 1 f16, 2 bf16 (operands are widened, the result is rounded to the kind) |
//! | `i32 __ks_f32_to_bf16(f32)` | the 16 bits of the nearest bfloat (ties to even, NaN stays NaN), zero-extended; bfloat values are 16-bit integers in the IR and widen by a shift |
//! | `void __ks_trap(i32 code)` | the source reached a construct that cannot run; code indexes the module's notes |
//!
//! Everything else uses LLVM: `llvm.fma`, `llvm.fabs`, `llvm.minnum`, `llvm.maxnum`, `llvm.floor`, `llvm.ceil`,
//! `llvm.trunc`, `llvm.rint`, `llvm.round`, `llvm.copysign`, `llvm.ctpop`, `llvm.ctlz`, `llvm.cttz`, `llvm.bitreverse`,
//! `llvm.bswap`, `llvm.fshl`, `llvm.fshr`, `llvm.{s,u}{min,max}`, `llvm.abs`, `llvm.{s,u}{add,sub}.sat`, `llvm.mem{cpy,set,move}`,
//! `atomicrmw`, `cmpxchg`, atomic `load` and `store`.

/// Argument of `__ks_sr`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum SpecialRegister {
    /// Thread position in threadgroup, per axis.
    ThreadInGroupX = 0,
    /// Axis y.
    ThreadInGroupY = 1,
    /// Axis z.
    ThreadInGroupZ = 2,
    /// Threadgroup position in grid, per axis.
    GroupX = 3,
    /// Axis y.
    GroupY = 4,
    /// Axis z.
    GroupZ = 5,
    /// Threads per threadgroup, per axis, as dispatched.
    GroupSizeX = 6,
    /// Axis y.
    GroupSizeY = 7,
    /// Axis z.
    GroupSizeZ = 8,
    /// Threadgroups per grid, per axis.
    GroupsX = 9,
    /// Axis y.
    GroupsY = 10,
    /// Axis z.
    GroupsZ = 11,
    /// Lane in the simdgroup.
    Lane = 12,
    /// Simdgroup in the threadgroup.
    Simdgroup = 13,
    /// Simdgroups per threadgroup.
    Simdgroups = 14,
    /// Linear thread index in the threadgroup.
    ThreadIndex = 15,
    /// Threads per grid, per axis.
    GridSizeX = 16,
    /// Axis y.
    GridSizeY = 17,
    /// Axis z.
    GridSizeZ = 18,
    /// Thread position in grid, per axis.
    ThreadInGridX = 19,
    /// Axis y.
    ThreadInGridY = 20,
    /// Axis z.
    ThreadInGridZ = 21,
}

impl SpecialRegister {
    /// All registers, in the order of their ids.
    pub const ALL: [Self; 22] = [
        Self::ThreadInGroupX,
        Self::ThreadInGroupY,
        Self::ThreadInGroupZ,
        Self::GroupX,
        Self::GroupY,
        Self::GroupZ,
        Self::GroupSizeX,
        Self::GroupSizeY,
        Self::GroupSizeZ,
        Self::GroupsX,
        Self::GroupsY,
        Self::GroupsZ,
        Self::Lane,
        Self::Simdgroup,
        Self::Simdgroups,
        Self::ThreadIndex,
        Self::GridSizeX,
        Self::GridSizeY,
        Self::GridSizeZ,
        Self::ThreadInGridX,
        Self::ThreadInGridY,
        Self::ThreadInGridZ,
    ];

    /// The register with this id.
    pub fn from_id(id: u32) -> Option<Self> {
        Self::ALL.get(id as usize).copied()
    }
}

/// Note of `__ks_trap`: the mask of a CUDA warp function leaves out a lane that calls it.
pub const TRAP_WARP_MASK: u32 = 1;

/// Prefix of every external function.
pub const PREFIX: &str = "__ks_";
