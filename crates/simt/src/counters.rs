//! Counters of one run: machine-independent counts that a timing model turns into time. Knows no chip.

use serde::{Deserialize, Serialize};

/// Class of an executed instruction, as GPU pipes see it after the lowering's fusions
/// (fused multiply-add, compare+select, free negate/absolute/half conversion, address modes).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum InstrClass {
    /// f32 add, multiply or fused multiply-add.
    Fp32,
    /// f16 or bf16 arithmetic.
    Fp16,
    /// f32 or integer minimum, maximum, compare, select.
    CompareSelect,
    /// 32-bit integer add or subtract.
    IntAdd,
    /// 32-bit bitwise.
    Bitwise,
    /// 32-bit multiply or multiply-add.
    IntMul,
    /// Shifts, bit field, population count, reversal.
    Shift,
    /// 64-bit arithmetic (counted once per 64-bit operation): integer, or double precision in references.
    Int64,
    /// Integer division or remainder.
    IntDiv,
    /// Conversion between float and integer, rounding.
    Convert,
    /// Reciprocal and division.
    Rcp,
    /// Square root and reciprocal square root.
    Sqrt,
    /// Base-2 exponential or logarithm (and those built on one).
    Exp2,
    /// Sine or cosine.
    SinCos,
    /// Any other library function (a sequence).
    Special,
    /// Register move, immediate, special register.
    Move,
    /// Shuffle with a lane pattern known statically or uniform (xor, up, down, broadcast).
    Shuffle,
    /// Shuffle with a source lane per lane.
    ShuffleRandom,
    /// Whole-simdgroup reduction or prefix operation.
    SimdReduce,
    /// Vote, ballot.
    Vote,
    /// 8x8x8 matrix multiply-accumulate, f32.
    Mma32,
    /// 8x8x8 matrix multiply-accumulate, 16-bit operands.
    Mma16,
    /// Load from device or constant memory.
    LoadDevice,
    /// Store to device memory.
    StoreDevice,
    /// Load from threadgroup memory.
    LoadThreadgroup,
    /// Store to threadgroup memory.
    StoreThreadgroup,
    /// Load or store of private memory that did not become a register.
    Private,
    /// Atomic on device memory.
    AtomicDevice,
    /// Atomic on threadgroup memory.
    AtomicThreadgroup,
    /// Branch, reconvergence.
    Branch,
    /// Barrier of the threadgroup.
    Barrier,
    /// Barrier of the simdgroup, fence.
    SimdBarrier,
}

impl InstrClass {
    /// Number of classes.
    pub const COUNT: usize = Self::SimdBarrier as usize + 1;

    /// Name as written in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fp32 => "fp32",
            Self::Fp16 => "fp16",
            Self::CompareSelect => "compare_select",
            Self::IntAdd => "int_add",
            Self::Bitwise => "bitwise",
            Self::IntMul => "int_mul",
            Self::Shift => "shift",
            Self::Int64 => "int64",
            Self::IntDiv => "int_div",
            Self::Convert => "convert",
            Self::Rcp => "rcp",
            Self::Sqrt => "sqrt",
            Self::Exp2 => "exp2",
            Self::SinCos => "sin_cos",
            Self::Special => "special",
            Self::Move => "move",
            Self::Shuffle => "shuffle",
            Self::ShuffleRandom => "shuffle_random",
            Self::SimdReduce => "simd_reduce",
            Self::Vote => "vote",
            Self::Mma32 => "mma32",
            Self::Mma16 => "mma16",
            Self::LoadDevice => "load_device",
            Self::StoreDevice => "store_device",
            Self::LoadThreadgroup => "load_threadgroup",
            Self::StoreThreadgroup => "store_threadgroup",
            Self::Private => "private",
            Self::AtomicDevice => "atomic_device",
            Self::AtomicThreadgroup => "atomic_threadgroup",
            Self::Branch => "branch",
            Self::Barrier => "barrier",
            Self::SimdBarrier => "simd_barrier",
        }
    }
}

/// Counts summed over all simdgroups that ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    /// Simdgroup instructions by class, indexed by `InstrClass as usize`.
    pub instructions: Vec<u64>,
    /// Active lanes summed over those instructions, by class.
    pub lanes: Vec<u64>,
    /// Simdgroups that ran.
    pub simdgroups: u64,
    /// Threadgroups that ran.
    pub groups: u64,
    /// Bytes the lanes asked for: device loads, device stores.
    pub device_bytes: [u64; 2],
    /// Distinct 128-byte lines per memory instruction, summed: device loads, device stores.
    pub device_lines: [u64; 2],
    /// Distinct 128-byte lines of device memory touched per threadgroup, summed over groups: loads, stores.
    pub group_lines: [u64; 2],
    /// Distinct 128-byte lines touched by the whole launch: loads, stores.
    pub launch_lines: [u64; 2],
    /// Bytes the lanes asked for in threadgroup memory: loads, stores.
    pub threadgroup_bytes: [u64; 2],
    /// Threadgroup-memory cycles at one 32-bit access of 32 conflict-free lanes each: loads, stores (32 banks of 4 bytes).
    pub threadgroup_passes: [u64; 2],
    /// Passes beyond those a conflict-free pattern would need.
    pub bank_conflicts: u64,
    /// Branches whose lanes went both ways.
    pub divergent_branches: u64,
    /// Barriers reached, per threadgroup, summed.
    pub barriers: u64,
    /// Instructions on the longest dependent chain of one simdgroup, weighted by class, mean over simdgroups (classes as above).
    pub chain: Vec<f64>,
    /// Loads of device memory on that chain (rounds of independent loads count once).
    pub chain_loads: f64,
    /// Serialised conflicts of atomics: lanes that hit an address another lane of the same instruction hits.
    pub atomic_conflicts: u64,
    /// 16-bit register halves live at most, per thread, by the lowering's liveness.
    pub register_halves: u32,
    /// Threadgroup memory per threadgroup in bytes, static and dynamic.
    pub threadgroup_memory: u32,
}
