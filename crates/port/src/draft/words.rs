//! The vocabulary of a draft: what a CUDA word is called in Metal, and which words need more than another name. Data
//! and look-ups only; `knowledge/` explains the same to people.

/// What to do with a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Another word.
    Rename(&'static str),
    /// Goes away.
    Drop,
    /// Goes away with its argument list.
    DropCall,
    /// A call whose first argument, a mask of lanes, must name all of them and goes away; the helper takes the lane.
    Shuffle(&'static str),
    /// A call whose first argument, a mask of lanes, must name all of them and goes away.
    Vote(&'static str),
    /// A call without arguments that becomes this text, parentheses included.
    Whole(&'static str),
    /// A load: `f(p)` becomes `*(p)`.
    Load,
    /// A store: `f(p, v)` becomes `*(p) = (v)`.
    Store,
    /// An atomic with this function of Metal.
    Atomic(&'static str),
    /// A helper of the prelude with this name.
    Helper(&'static str),
    /// Metal has nothing that means the same.
    Refuse(&'static str),
}

/// The rule for a word of device code, if it has one.
pub fn rule(word: &str) -> Option<Rule> {
    use Rule as R;
    Some(match word {
        "__device__" | "__host__" | "__forceinline__" | "__inline__" | "__noinline__" | "__restrict__"
        | "__restrict" | "__global__" | "__grid_constant__" => R::Drop,
        "__launch_bounds__" | "__maxnreg__" => R::DropCall,
        "warpSize" => R::Rename("32"),
        "__shared__" => R::Rename("threadgroup"),
        "__constant__" => R::Rename("constant"),
        "__align__" => R::Rename("alignas"),
        "__half" => R::Rename("half"),
        "__half2" => R::Rename("half2"),
        "__nv_bfloat16" => R::Rename("bfloat"),
        "make_int2" => R::Rename("int2"),
        "make_int3" => R::Rename("int3"),
        "make_int4" => R::Rename("int4"),
        "make_uint2" => R::Rename("uint2"),
        "make_uint3" => R::Rename("uint3"),
        "make_uint4" => R::Rename("uint4"),
        "make_float2" => R::Rename("float2"),
        "make_float3" => R::Rename("float3"),
        "make_float4" => R::Rename("float4"),
        "make_uchar4" => R::Rename("uchar4"),
        "__syncwarp" => R::Whole("simdgroup_barrier(mem_flags::mem_threadgroup)"),
        "__activemask" => R::Whole("uint(simd_vote::vote_t(simd_active_threads_mask()))"),
        "__shfl_sync" => R::Shuffle("cuda_shfl"),
        "__shfl_up_sync" => R::Shuffle("cuda_shfl_up"),
        "__shfl_down_sync" => R::Shuffle("cuda_shfl_down"),
        "__shfl_xor_sync" => R::Shuffle("cuda_shfl_xor"),
        "__ballot_sync" => R::Vote("cuda_ballot"),
        "__any_sync" => R::Vote("simd_any"),
        "__all_sync" => R::Vote("simd_all"),
        "__reduce_add_sync" => R::Vote("simd_sum"),
        "__reduce_min_sync" => R::Vote("simd_min"),
        "__reduce_max_sync" => R::Vote("simd_max"),
        "__ldg" | "__ldcs" | "__ldcg" | "__ldca" | "__ldlu" => R::Load,
        "__stcs" | "__stcg" | "__stwb" | "__stwt" => R::Store,
        "atomicAdd" => R::Atomic("atomic_fetch_add_explicit"),
        "atomicSub" => R::Atomic("atomic_fetch_sub_explicit"),
        "atomicMin" => R::Atomic("atomic_fetch_min_explicit"),
        "atomicMax" => R::Atomic("atomic_fetch_max_explicit"),
        "atomicAnd" => R::Atomic("atomic_fetch_and_explicit"),
        "atomicOr" => R::Atomic("atomic_fetch_or_explicit"),
        "atomicXor" => R::Atomic("atomic_fetch_xor_explicit"),
        "atomicExch" => R::Atomic("atomic_exchange_explicit"),
        "expf" | "exp" => R::Rename("CUDA_MATH::exp"),
        "exp2f" | "exp2" => R::Rename("CUDA_MATH::exp2"),
        "exp10f" => R::Rename("CUDA_MATH::exp10"),
        "logf" | "log" => R::Rename("CUDA_MATH::log"),
        "log2f" | "log2" => R::Rename("CUDA_MATH::log2"),
        "log10f" | "log10" => R::Rename("CUDA_MATH::log10"),
        "sinf" | "sin" => R::Rename("CUDA_MATH::sin"),
        "cosf" | "cos" => R::Rename("CUDA_MATH::cos"),
        "tanf" | "tan" => R::Rename("CUDA_MATH::tan"),
        "tanhf" | "tanh" => R::Rename("CUDA_MATH::tanh"),
        "powf" | "pow" => R::Rename("CUDA_MATH::pow"),
        "sqrtf" | "sqrt" => R::Rename("CUDA_MATH::sqrt"),
        "rsqrtf" | "rsqrt" => R::Rename("CUDA_MATH::rsqrt"),
        "__expf" => R::Rename("fast::exp"),
        "__exp10f" => R::Rename("fast::exp10"),
        "__logf" => R::Rename("fast::log"),
        "__log2f" => R::Rename("fast::log2"),
        "__sinf" => R::Rename("fast::sin"),
        "__cosf" => R::Rename("fast::cos"),
        "__powf" => R::Rename("fast::pow"),
        "__frsqrt_rn" => R::Rename("precise::rsqrt"),
        "__fsqrt_rn" => R::Rename("precise::sqrt"),
        "fmaf" | "__fmaf_rn" => R::Rename("fma"),
        "fmaxf" => R::Rename("fmax"),
        "fminf" => R::Rename("fmin"),
        "fabsf" => R::Rename("fabs"),
        "floorf" => R::Rename("floor"),
        "ceilf" => R::Rename("ceil"),
        "truncf" => R::Rename("trunc"),
        "roundf" => R::Rename("round"),
        "rintf" | "nearbyintf" => R::Rename("rint"),
        "fmodf" => R::Rename("fmod"),
        "copysignf" => R::Rename("copysign"),
        "__saturatef" => R::Rename("saturate"),
        "__popc" => R::Rename("popcount"),
        "__clz" => R::Rename("clz"),
        "__brev" => R::Rename("reverse_bits"),
        "__int_as_float" | "__uint_as_float" => R::Rename("as_type<float>"),
        "__float_as_int" => R::Rename("as_type<int>"),
        "__float_as_uint" => R::Rename("as_type<uint>"),
        "__float2half" | "__float2half_rn" => R::Rename("half"),
        "__half2float" | "__int2float_rn" | "__uint2float_rn" => R::Rename("float"),
        "log1pf" | "log1p" => R::Helper("cuda_log1p"),
        "expm1f" | "expm1" => R::Helper("cuda_expm1"),
        "__fdividef" | "fdividef" => R::Helper("cuda_divide"),
        "__ffs" => R::Helper("cuda_ffs"),
        "__threadfence" | "__threadfence_block" | "__threadfence_system" => {
            R::Refuse("Metal orders device memory between threadgroups at the end of a dispatch only")
        }
        "atomicCAS" | "atomicInc" | "atomicDec" => {
            R::Refuse("it takes a loop of atomic_compare_exchange_weak_explicit, which depends on the type")
        }
        "__syncthreads_count" | "__syncthreads_or" | "__syncthreads_and" => {
            R::Refuse("Metal has no barrier that votes: reduce through threadgroup memory")
        }
        "__match_any_sync" | "__match_all_sync" => R::Refuse("Metal has no vote that compares values"),
        "erff" | "erfcf" | "erfinvf" | "lgammaf" | "tgammaf" | "normcdff" | "cbrtf" | "hypotf" => {
            R::Refuse("Metal's library has no such function: write out a polynomial or an identity")
        }
        "cooperative_groups" | "cg" => {
            R::Refuse("cooperative groups have no counterpart: write barriers and shuffles instead")
        }
        "asm" | "__asm__" => R::Refuse("inline PTX has no counterpart"),
        "double" => R::Refuse("Metal has no double; narrowing it would change the answer silently"),
        "clock" | "clock64" => R::Refuse("kernels cannot read a clock in Metal"),
        "malloc" | "free" | "new" | "delete" => R::Refuse("kernels cannot allocate memory in Metal"),
        _ => return None,
    })
}

/// Words that mean something in MSL and nothing in CUDA: variables of these names get an underscore.
pub fn is_taken(word: &str) -> bool {
    matches!(
        word,
        "device"
            | "constant"
            | "threadgroup"
            | "thread"
            | "kernel"
            | "vertex"
            | "fragment"
            | "sampler"
            | "bfloat"
            | "metal"
            | "packed_float3"
            | "array"
    )
}

/// A helper: its name and its definition.
pub struct Helper {
    /// Name.
    pub name: &'static str,
    /// Definition.
    pub text: &'static str,
}

/// Helpers of the prelude, in the order in which they are written.
pub const HELPERS: &[Helper] = &[
    Helper {
        name: "cuda_shfl",
        text: "// A value from another lane of the segment of `width` lanes.\n\
               template <typename CudaValue> inline CudaValue cuda_shfl(CudaValue v, int from, uint lane, uint width = 32) {\n\
               \x20   return simd_shuffle(v, ushort((lane & ~(width - 1)) | (uint(from) & (width - 1))));\n}\n",
    },
    Helper {
        name: "cuda_shfl_up",
        text: "// CUDA's: the first lanes of a segment keep their own value; Metal leaves them undefined.\n\
               template <typename CudaValue> inline CudaValue cuda_shfl_up(CudaValue v, uint delta, uint lane, uint width = 32) {\n\
               #if EXACT_EDGES\n\
               \x20   return simd_shuffle(v, ushort((lane & (width - 1)) >= delta ? lane - delta : lane));\n\
               #else\n\
               \x20   return simd_shuffle_up(v, ushort(delta));\n\
               #endif\n}\n",
    },
    Helper {
        name: "cuda_shfl_down",
        text: "// CUDA's: the last lanes of a segment keep their own value; Metal leaves them undefined.\n\
               template <typename CudaValue> inline CudaValue cuda_shfl_down(CudaValue v, uint delta, uint lane, uint width = 32) {\n\
               #if EXACT_EDGES\n\
               \x20   return simd_shuffle(v, ushort((lane & (width - 1)) + delta < width ? lane + delta : lane));\n\
               #else\n\
               \x20   return simd_shuffle_down(v, ushort(delta));\n\
               #endif\n}\n",
    },
    Helper {
        name: "cuda_shfl_xor",
        text: "// Lanes paired by the bits of `mask`; all within one simdgroup.\n\
               template <typename CudaValue> inline CudaValue cuda_shfl_xor(CudaValue v, int mask, uint) {\n\
               \x20   return simd_shuffle_xor(v, ushort(mask));\n}\n",
    },
    Helper {
        name: "cuda_ballot",
        text: "// One bit a lane.\n\
               inline uint cuda_ballot(bool p) { return uint(simd_vote::vote_t(simd_ballot(p))); }\n",
    },
    Helper {
        name: "cuda_log1p",
        text: "// log(1 + x) without loss for small x (Kahan): Metal has none.\n\
               inline float cuda_log1p(float x) {\n\
               \x20   float u = 1.0f + x;\n\
               \x20   return u == 1.0f ? x : (u == INFINITY ? u : CUDA_MATH::log(u) * (x / (u - 1.0f)));\n}\n",
    },
    Helper {
        name: "cuda_expm1",
        text: "// exp(x) - 1 without loss for small x (Kahan): Metal has none.\n\
               inline float cuda_expm1(float x) {\n\
               \x20   float u = CUDA_MATH::exp(x);\n\
               \x20   return u == 1.0f ? x : (u - 1.0f == -1.0f ? -1.0f : (u - 1.0f) * (x / CUDA_MATH::log(u)));\n}\n",
    },
    Helper { name: "cuda_divide", text: "inline float cuda_divide(float x, float y) { return x / y; }\n" },
    Helper { name: "cuda_ffs", text: "inline int cuda_ffs(int x) { return x == 0 ? 0 : int(ctz(uint(x))) + 1; }\n" },
];
