//! Memory operands: how they are packed, what addresses they form, and which function carries out an access. Must not know
//! what lies at an address.

use super::cross::SCALAR;
use super::group::Env;
use super::lanes::{Avx2, Avx512, Longs, Portable, Simd, Words};
use super::{Inst, Isa, LANES, OpFn, Warp, mem_checked, next, plain};
use crate::lower::sir::{Elem, Index, Mem, RmwOp, Space};
use crate::observe::Observer;

/// Fields of `Inst::c` of a memory instruction.
pub(super) mod bits {
    pub const BASE_SCALAR: u32 = 1;
    pub const INDEX_SCALAR: u32 = 2;
    pub const INDEX: u32 = 2; // 2 bits at 2
    pub const SHIFT: u32 = 4; // 3 bits
    pub const COUNT: u32 = 7; // 3 bits
    pub const ALIGN: u32 = 10; // 5 bits, log2
    pub const ATOMIC: u32 = 1 << 15;
    pub const RESULT_SCALAR: u32 = 1 << 16;
    pub const ELEM: u32 = 17; // 3 bits
    pub const SPACE: u32 = 20; // 2 bits
    pub const RMW: u32 = 22; // 4 bits
}

pub(super) const ELEMS: [Elem; 6] = [Elem::U8, Elem::U16, Elem::F16, Elem::Bf16, Elem::B32, Elem::B64];
pub(super) const SPACES: [Space; 4] = [Space::Device, Space::Threadgroup, Space::Private, Space::Generic];
pub(super) const RMWS: [RmwOp; 15] = [
    RmwOp::Xchg,
    RmwOp::Add,
    RmwOp::Sub,
    RmwOp::And,
    RmwOp::Nand,
    RmwOp::Or,
    RmwOp::Xor,
    RmwOp::Max,
    RmwOp::Min,
    RmwOp::UMax,
    RmwOp::UMin,
    RmwOp::FAdd,
    RmwOp::FSub,
    RmwOp::FMax,
    RmwOp::FMin,
];

/// Packs a memory operand.
pub fn pack(m: Mem, base_scalar: bool, index_scalar: bool, result_scalar: bool, rmw: Option<RmwOp>) -> u32 {
    let index = match m.index {
        Index::None => 0,
        Index::Sext => 1,
        Index::Zext => 2,
        Index::Wide => 3,
    };
    u32::from(base_scalar) * bits::BASE_SCALAR
        | u32::from(index_scalar) * bits::INDEX_SCALAR
        | index << bits::INDEX
        | u32::from(m.shift) << bits::SHIFT
        | u32::from(m.count) << bits::COUNT
        | (m.align.max(1).ilog2() & 31) << bits::ALIGN
        | u32::from(m.atomic) * bits::ATOMIC
        | u32::from(result_scalar) * bits::RESULT_SCALAR
        | (m.elem as u32) << bits::ELEM
        | (m.space as u32) << bits::SPACE
        | rmw.map_or(0, |r| r as u32) << bits::RMW
}

pub(super) fn index_of(c: u32) -> u32 {
    (c >> bits::INDEX) & 3
}
pub(super) fn elem_of(c: u32) -> Elem {
    ELEMS[(c >> bits::ELEM & 7) as usize % ELEMS.len()]
}
pub(super) fn space_of(c: u32) -> Space {
    SPACES[(c >> bits::SPACE & 3) as usize]
}
pub(super) fn count_of(c: u32) -> usize {
    (c >> bits::COUNT & 7) as usize
}

/// A buffer as the machine sees it.
#[derive(Clone, Copy)]
pub struct View {
    /// First byte on the host.
    pub ptr: *mut u8,
    /// Bytes.
    pub len: u64,
    /// One flag per byte: has it been written? Null when all bytes count as written.
    pub written: *mut bool,
    /// May the kernel write it?
    pub read_only: bool,
    /// Is there such a buffer at all?
    pub present: bool,
    /// May this launch write it? Otherwise nothing can race on it.
    pub contended: bool,
}

// SAFETY: kernels run on several host threads share device memory as GPUs do. All accesses go through raw pointers,
// are bounds-checked, and are single machine loads and stores; a kernel that races gets some value, never a broken host.
unsafe impl Send for View {}
// SAFETY: as above.
unsafe impl Sync for View {}

/// Longs of all lanes; those of lanes that do not run are meaningless.
#[inline(always)]
pub(super) unsafe fn addresses(w: *mut Warp, i: &Inst) -> Longs {
    // SAFETY: operands come from the assembler.
    unsafe {
        let c = i.c;
        let wide = space_of(c) == Space::Device || space_of(c) == Space::Generic;
        let shift = c >> bits::SHIFT & 7;
        let mut out = [i.x; LANES];
        if c & bits::BASE_SCALAR != 0 {
            let b = if wide { *(*w).at::<u64>(i.a) } else { u64::from(*(*w).at::<u32>(i.a)) };
            for o in &mut out {
                *o = o.wrapping_add(b);
            }
        } else if wide {
            let b = &*(*w).at::<Longs>(i.a);
            for (o, b) in out.iter_mut().zip(b) {
                *o = o.wrapping_add(*b);
            }
        } else {
            let b = &*(*w).at::<[u32; LANES]>(i.a);
            for (o, b) in out.iter_mut().zip(b) {
                *o = o.wrapping_add(u64::from(*b));
            }
        }
        match c >> bits::INDEX & 3 {
            0 => {}
            3 => {
                let scalar = c & bits::INDEX_SCALAR != 0;
                for (l, o) in out.iter_mut().enumerate() {
                    let v = *(*w).at::<u64>(i.b).add(if scalar { 0 } else { l });
                    *o = o.wrapping_add(v << shift);
                }
            }
            kind => {
                let scalar = c & bits::INDEX_SCALAR != 0;
                for (l, o) in out.iter_mut().enumerate() {
                    let v = *(*w).at::<u32>(i.b).add(if scalar { 0 } else { l });
                    let v = if kind == 1 { v as i32 as i64 as u64 } else { u64::from(v) };
                    *o = o.wrapping_add(v << shift);
                }
            }
        }
        if !wide {
            // Offsets wrap in 32 bits, as the hardware's do.
            for o in &mut out {
                *o &= 0xffff_ffff;
            }
        }
        out
    }
}

/// The address when base and index are scalars.
#[inline(always)]
pub(super) unsafe fn scalar_address(w: *mut Warp, i: &Inst) -> u64 {
    // SAFETY: operands come from the assembler.
    unsafe {
        let wide = matches!(space_of(i.c), Space::Device | Space::Generic);
        let shift = i.c >> bits::SHIFT & 7;
        let base = if wide { *(*w).at::<u64>(i.a) } else { u64::from(*(*w).at::<u32>(i.a)) };
        let index = match i.c >> bits::INDEX & 3 {
            0 => 0,
            1 => *(*w).at::<u32>(i.b) as i32 as i64 as u64,
            2 => u64::from(*(*w).at::<u32>(i.b)),
            _ => *(*w).at::<u64>(i.b),
        };
        let a = base.wrapping_add(index << shift).wrapping_add(i.x);
        if wide { a } else { a & 0xffff_ffff }
    }
}

/// After a memory instruction: stop if a fault ends the launch.
#[inline(always)]
pub(super) unsafe fn done<O: Observer>(w: *mut Warp, i: &Inst) -> *const Inst {
    // SAFETY: as `place`.
    unsafe {
        let env = &mut *(*w).env.cast::<Env<'_, O>>();
        if env.stopped {
            (*w).stop = super::Stop::Fault;
            (*w).resume = i;
            return std::ptr::null();
        }
        next(i)
    }
}

/// Pointer to the value of a store's operand, splatted into `tmp` when it is a scalar.
#[inline(always)]
pub(super) unsafe fn words(w: *mut Warp, s: u32) -> Words {
    // SAFETY: operands come from the assembler.
    unsafe { if s & SCALAR != 0 { [*(*w).at::<u32>(s & !SCALAR); LANES] } else { *(*w).at::<Words>(s) } }
}

/// A value operand of one lane.
pub(super) unsafe fn lane_value(w: *mut Warp, s: u32, lane: usize, wide: bool) -> u64 {
    // SAFETY: operands come from the assembler.
    unsafe {
        let at = if s & SCALAR != 0 { 0 } else { lane };
        if wide { *(*w).at::<u64>(s & !SCALAR).add(at) } else { u64::from(*(*w).at::<u32>(s & !SCALAR).add(at)) }
    }
}

#[inline(always)]
unsafe fn load<O: Observer, I: Simd, const E: usize>(w: *mut Warp, i: *const Inst) -> *const Inst {
    // SAFETY: the caller's.
    unsafe { if O::SANITIZE { mem_checked::load::<O, I, E>(w, i) } else { plain::load::<O, I, E>(w, i) } }
}

#[inline(always)]
unsafe fn store<O: Observer, I: Simd, const E: usize>(w: *mut Warp, i: *const Inst) -> *const Inst {
    // SAFETY: the caller's.
    unsafe { if O::SANITIZE { mem_checked::store::<O, I, E>(w, i) } else { plain::store::<O, I, E>(w, i) } }
}

/// Copies of `load` and `store` for each host instruction set.
macro_rules! copies {
    ($($body:ident: $portable:ident $avx2:ident $avx512:ident;)*) => {$(
        unsafe fn $portable<O: Observer, const E: usize>(w: *mut Warp, i: *const Inst) -> *const Inst {
            // SAFETY: as the body.
            unsafe { $body::<O, Portable, E>(w, i) }
        }
        #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,f16c"))]
        unsafe fn $avx2<O: Observer, const E: usize>(w: *mut Warp, i: *const Inst) -> *const Inst {
            // SAFETY: as the body; picked only where the features are present.
            unsafe { $body::<O, Avx2, E>(w, i) }
        }
        #[cfg_attr(
            target_arch = "x86_64",
            target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")
        )]
        unsafe fn $avx512<O: Observer, const E: usize>(w: *mut Warp, i: *const Inst) -> *const Inst {
            // SAFETY: as the body; picked only where the features are present.
            unsafe { $body::<O, Avx512, E>(w, i) }
        }
    )*};
}

copies! {
    load: load_portable load_avx2 load_avx512;
    store: store_portable store_avx2 store_avx512;
}

macro_rules! by_elem {
    ($e:expr, $f:ident, $o:ident) => {
        match $e {
            Elem::U8 => $f::<$o, 0>,
            Elem::U16 => $f::<$o, 1>,
            Elem::F16 => $f::<$o, 2>,
            Elem::Bf16 => $f::<$o, 3>,
            Elem::B32 => $f::<$o, 4>,
            Elem::B64 => $f::<$o, 5>,
        }
    };
}

/// The function of a load.
pub fn select_load<O: Observer>(e: Elem, isa: Isa) -> OpFn {
    match isa {
        Isa::Generic => by_elem!(e, load_portable, O),
        Isa::Avx2 => by_elem!(e, load_avx2, O),
        Isa::Avx512 => by_elem!(e, load_avx512, O),
    }
}

/// The function of a store.
pub fn select_store<O: Observer>(e: Elem, isa: Isa) -> OpFn {
    match isa {
        Isa::Generic => by_elem!(e, store_portable, O),
        Isa::Avx2 => by_elem!(e, store_avx2, O),
        Isa::Avx512 => by_elem!(e, store_avx512, O),
    }
}
