//! Where one lane's access lands: buffers, threadgroup memory, private memory with its interleaved layout, and the flags of
//! written bytes beside them. Knows addresses, no instructions but for what they say of an access.

use super::group::Env;
use super::lanes::{Longs, get, put};
use super::mem::{bits, count_of, elem_of, space_of};
use super::problem::Problem;
use super::{Inst, LANES, Warp};
use crate::lower::sir::{Elem, Space};
use crate::lower::{TAG_PRIVATE, TAG_THREADGROUP};
use crate::observe::Observer;

/// Where one lane's access lands.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// Host address, flags of written bytes (or null), space.
    Host(*mut u8, *mut bool, Space),
    /// Offset in the lane's private memory; flags of its first byte (or null), the others are laid out as memory is.
    Private(u32, *mut bool),
    /// A fault has been reported.
    Refused,
}

impl Place {
    /// Are the `n` bytes from `at` written, as far as that is known?
    #[inline(always)]
    pub(super) unsafe fn is_written(self, at: usize, n: usize) -> bool {
        // SAFETY: flags cover the access.
        unsafe {
            match self {
                Self::Host(_, f, _) => f.is_null() || all_set(f.add(at), n),
                Self::Private(_, f) if f.is_null() => true,
                Self::Private(from, f) => {
                    if (from as usize + at).is_multiple_of(4) && n == 4 {
                        return all_set(f.add(private_step(from, at)), 4);
                    }
                    (0..n).all(|k| *f.add(private_step(from, at + k)))
                }
                Self::Refused => true,
            }
        }
    }

    /// Marks the `n` bytes from `at`.
    #[inline(always)]
    pub(super) unsafe fn mark(self, at: usize, n: usize, written: bool) {
        // SAFETY: flags cover the access.
        unsafe {
            match self {
                Self::Host(_, f, _) if !f.is_null() => f.add(at).write_bytes(u8::from(written), n),
                Self::Private(from, f) if !f.is_null() => {
                    for k in 0..n {
                        *f.add(private_step(from, at + k)) = written;
                    }
                }
                _ => {}
            }
        }
    }
}

/// Distance in interleaved private memory from byte `from` to the byte `at` bytes on.
#[inline(always)]
pub(super) fn private_step(from: u32, at: usize) -> usize {
    private_byte(from + at as u32, 0) - private_byte(from, 0)
}

/// Are all of `n` flags set?
#[inline(always)]
pub(super) unsafe fn all_set(f: *const bool, n: usize) -> bool {
    // SAFETY: the caller's.
    unsafe {
        match n {
            1 => *f,
            2 => f.cast::<u16>().read_unaligned() == 0x0101,
            4 => f.cast::<u32>().read_unaligned() == 0x0101_0101,
            8 => f.cast::<u64>().read_unaligned() == 0x0101_0101_0101_0101,
            _ => (0..n).all(|k| *f.add(k)),
        }
    }
}

/// Host address of a byte of a lane's private memory: words are interleaved by lane, so that lanes that use the same
/// variable touch one row.
#[inline(always)]
pub(super) fn private_byte(at: u32, lane: usize) -> usize {
    (at as usize >> 2) * 4 * LANES + lane * 4 + (at as usize & 3)
}

/// Flags of a private byte, laid out as private memory is.
#[inline(always)]
pub(super) unsafe fn private_flags<O: Observer>(w: *mut Warp, at: u32, lane: usize) -> *mut bool {
    // SAFETY: the shadow is as large as private memory.
    unsafe { if O::SANITIZE { (*w).private_init.add(private_byte(at, lane)) } else { std::ptr::null_mut() } }
}

/// Checks one lane's access and finds where it lands.
#[inline(always)]
pub(super) unsafe fn place<O: Observer>(
    w: *mut Warp,
    i: &Inst,
    lane: usize,
    addr: u64,
    size: u64,
    write: bool,
) -> Place {
    // SAFETY: `env` belongs to this simdgroup and its observer type (see `Warp::env`).
    unsafe {
        let env = &mut *(*w).env.cast::<Env<'_, O>>();
        let mut space = space_of(i.c);
        let mut at = addr;
        if space == Space::Generic {
            (space, at) = match addr & (3 << 60) {
                TAG_THREADGROUP => (Space::Threadgroup, addr & 0xffff_ffff),
                TAG_PRIVATE => (Space::Private, addr & 0xffff_ffff),
                _ => (Space::Device, addr),
            };
        }
        match space {
            Space::Threadgroup => {
                if at + size <= u64::from(env.threadgroup_len) {
                    let flags = if O::SANITIZE { env.threadgroup_init.add(at as usize) } else { std::ptr::null_mut() };
                    return Place::Host(env.threadgroup.add(at as usize), flags, space);
                }
            }
            Space::Private => {
                if at + size <= u64::from((*w).private_bytes) {
                    return Place::Private(at as u32, private_flags::<O>(w, at as u32, lane));
                }
            }
            _ => {
                let off = (at & ((1 << 40) - 1)).wrapping_sub(1 << 39);
                let v = env.view(at);
                if off <= v.len && size <= v.len - off {
                    if write && v.read_only {
                        env.problem(w, i.id, lane, Problem::ReadOnly { address: at, size });
                        return Place::Refused;
                    }
                    let flags = if v.written.is_null() { v.written } else { v.written.add(off as usize) };
                    return Place::Host(v.ptr.add(off as usize), flags, Space::Device);
                }
            }
        }
        env.problem(w, i.id, lane, Problem::Bounds { space, address: at, size, write });
        Place::Refused
    }
}

/// Reads the element `at` bytes into a place.
#[inline(always)]
pub(super) unsafe fn get_at(w: *mut Warp, e: Elem, p: Place, lane: usize, at: usize) -> u64 {
    // SAFETY: `place` has checked the whole access.
    unsafe {
        match p {
            Place::Host(p, ..) => get(e, p.add(at)),
            Place::Private(from, _) => {
                let mut raw = [0u8; 8];
                for (k, b) in raw.iter_mut().enumerate().take(e.bytes() as usize) {
                    *b = *(*w).private.add(private_byte(from + (at + k) as u32, lane));
                }
                get(e, raw.as_ptr())
            }
            Place::Refused => 0,
        }
    }
}

/// Writes the element `at` bytes into a place.
#[inline(always)]
pub(super) unsafe fn put_at(w: *mut Warp, e: Elem, p: Place, lane: usize, at: usize, v: u64) {
    // SAFETY: as `get_at`.
    unsafe {
        match p {
            Place::Host(p, ..) => put(e, p.add(at), v),
            Place::Private(from, _) => {
                let mut raw = [0u8; 8];
                put(e, raw.as_mut_ptr(), v);
                for (k, b) in raw.iter().enumerate().take(e.bytes() as usize) {
                    *(*w).private.add(private_byte(from + (at + k) as u32, lane)) = *b;
                }
            }
            Place::Refused => {}
        }
    }
}

/// Reports the first lane whose address is not aligned as the access says.
pub(super) unsafe fn aligned<O: Observer>(w: *mut Warp, i: &Inst, addrs: &Longs) {
    // SAFETY: as `place`.
    unsafe {
        let log = i.c >> bits::ALIGN & 31;
        let low = (1u64 << log) - 1;
        if low == 0 {
            return;
        }
        let env = &mut *(*w).env.cast::<Env<'_, O>>();
        for (lane, &a) in addrs.iter().enumerate() {
            if (*w).mask >> lane & 1 == 1 && a & low != 0 {
                let size = u64::from(elem_of(i.c).bytes()) * count_of(i.c) as u64;
                env.problem(w, i.id, lane, Problem::Misaligned { address: a, align: 1 << log, size });
                break;
            }
        }
    }
}
