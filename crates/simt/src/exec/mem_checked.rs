//! Loads and stores under the sanitizers: lane by lane, with initialisation, alignment and races. Knows the shadows that
//! hang beside memory and registers.

use super::cross::SCALAR;
use super::group::Env;
use super::lanes::{Simd, put};
use super::mem::{ELEMS, addresses, bits, count_of, done, lane_value};
use super::place::{Place, aligned, get_at, place, put_at};
use super::problem::Use;
use super::{Inst, Warp, next, row_checked, taint};
use crate::lower::sir::Space;
use crate::observe::race::LaneAccess;
use crate::observe::{AccessKind, Observer};

/// Reports an address that nothing has written.
pub unsafe fn address_taint<O: Observer>(w: *mut Warp, i: &Inst) {
    // SAFETY: slots come from the program.
    unsafe {
        let mask = (*w).mask;
        let base = taint::get(w, i.a / 4) & mask;
        if base != 0 {
            taint::used::<O>(w, i.a / 4, base, i.id, Use::Address);
        }
        if i.c >> bits::INDEX & 3 != 0 {
            let index = taint::get(w, i.b / 4) & mask;
            if index != 0 {
                taint::used::<O>(w, i.b / 4, index, i.id, Use::Address);
            }
        }
    }
}

/// Turns what the observer has found into faults.
pub unsafe fn drain<O: Observer>(w: *mut Warp) {
    // SAFETY: `env` is of observer type `O`.
    unsafe {
        let env = &mut *(*w).env.cast::<Env<'_, O>>();
        while let Some((space, race)) = env.observer.race() {
            env.race(space, race);
        }
    }
}

unsafe fn watch<O: Observer>(w: *mut Warp, space: Space, a: &LaneAccess<'_>) {
    // SAFETY: `env` is of observer type `O`.
    unsafe {
        let env = &mut *(*w).env.cast::<Env<'_, O>>();
        env.observer.lane(space, a);
    }
}

fn thread(index: u32, lane: usize) -> u32 {
    index * 32 + lane as u32
}

/// Tells the observer of an atomic lane.
pub unsafe fn before_atomic<O: Observer>(w: *mut Warp, i: &Inst, lane: usize, address: u64, bytes: u32, space: Space) {
    // SAFETY: as `watch`.
    unsafe {
        let thread = thread((*w).index, lane);
        let a =
            LaneAccess { kind: AccessKind::Atomic, address, bytes, thread, point: i.id, writes: true, change: None };
        watch::<O>(w, space, &a);
    }
}

/// Definedness of an atomic's result, and of the value it adds.
pub unsafe fn atomic_taint<O: Observer>(
    w: *mut Warp,
    i: &Inst,
    lane: usize,
    place: Place,
    size: usize,
    dst: u32,
    value: u32,
) {
    // SAFETY: `place` has checked `size` bytes and their flags.
    unsafe {
        let fresh = !place.is_written(0, size);
        let slot = (dst & !SCALAR) / 4;
        let old = taint::get(w, slot) & !(1 << lane);
        taint::set(w, slot, old | u32::from(fresh) << lane, i.id);
        let v = (value & !SCALAR) / 4;
        let t = taint::get(w, v) & (*w).mask & (1 << lane);
        if t != 0 {
            taint::used::<O>(w, v, t, i.id, Use::Store);
        }
    }
}

/// A load.
///
/// # Safety
/// `i` is an instruction of the code that `w` runs under observer `O`, and the host has instruction set `I`.
#[inline(always)]
pub(super) unsafe fn load<O: Observer, I: Simd, const E: usize>(w: *mut Warp, i: *const Inst) -> *const Inst {
    // SAFETY: the caller's.
    unsafe {
        let i = &*i;
        if (*w).tainted {
            address_taint::<O>(w, i);
        }
        if row_checked::load::<O, I, E>(w, i) { next(i) } else { load_lanes::<O, E>(w, i) }
    }
}

/// A load, lane by lane.
#[cold]
unsafe fn load_lanes<O: Observer, const E: usize>(w: *mut Warp, i: &Inst) -> *const Inst {
    // SAFETY: operands come from the assembler, addresses are checked by `place`.
    unsafe {
        let e = ELEMS[E];
        let n = count_of(i.c);
        let step = e.bytes() as usize;
        let size = step * n;
        let mask = (*w).mask;
        let list = (*w).lists.add(i.d as usize);
        let scalar = i.c & bits::RESULT_SCALAR != 0;
        let addrs = addresses(w, i);
        aligned::<O>(w, i, &addrs);
        let kind = if i.c & bits::ATOMIC != 0 { AccessKind::Atomic } else { AccessKind::Load };
        let mut fresh = [0u32; 4];
        // A scalar load stands for all lanes; two of them are enough to tell apart one reader and several.
        let first = mask.trailing_zeros() & 31;
        let last = 31 - (mask.leading_zeros() & 31);
        let mut m = if scalar { 1 << first | 1 << last } else { mask };
        while m != 0 {
            let lane = m.trailing_zeros() as usize;
            m &= m - 1;
            let p = place::<O>(w, i, lane, addrs[lane], size as u64, false);
            if let Place::Host(_, _, space) = p
                && space != Space::Private
            {
                let a = LaneAccess {
                    kind,
                    address: address_in(space, addrs[lane]),
                    bytes: size as u32,
                    thread: thread((*w).index, lane),
                    point: i.id,
                    writes: false,
                    change: None,
                };
                watch::<O>(w, space, &a);
            }
            for (k, fresh) in fresh.iter_mut().enumerate().take(n) {
                if !p.is_written(k * step, step) {
                    *fresh |= 1 << lane;
                }
                let v = get_at(w, e, p, lane, k * step);
                let d = *list.add(k);
                if scalar {
                    *(*w).at::<u64>(d & !SCALAR) = v;
                } else if e.bytes() == 8 {
                    *(*w).at::<u64>(d).add(lane) = v;
                } else {
                    *(*w).at::<u32>(d).add(lane) = v as u32;
                }
            }
        }
        for (k, fresh) in fresh.iter().enumerate().take(n) {
            let slot = (*list.add(k) & !SCALAR) / 4;
            let t =
                if scalar { if *fresh != 0 { u32::MAX } else { 0 } } else { *fresh | (taint::get(w, slot) & !mask) };
            taint::set(w, slot, t, i.id);
        }
        drain::<O>(w);
        done::<O>(w, i)
    }
}

/// Address within its space.
fn address_in(space: Space, address: u64) -> u64 {
    if space == Space::Device { address } else { address & 0xffff_ffff }
}

/// A store.
///
/// # Safety
/// As [`load`].
#[inline(always)]
pub(super) unsafe fn store<O: Observer, I: Simd, const E: usize>(w: *mut Warp, i: *const Inst) -> *const Inst {
    // SAFETY: the caller's.
    unsafe {
        let i = &*i;
        if (*w).tainted {
            address_taint::<O>(w, i);
        }
        if row_checked::store::<O, I, E>(w, i) { next(i) } else { store_lanes::<O, E>(w, i) }
    }
}

/// A store, lane by lane.
#[cold]
unsafe fn store_lanes<O: Observer, const E: usize>(w: *mut Warp, i: &Inst) -> *const Inst {
    // SAFETY: as `load_lanes`.
    unsafe {
        let e = ELEMS[E];
        let n = count_of(i.c);
        let step = e.bytes() as usize;
        let size = step * n;
        let mask = (*w).mask;
        let addrs = addresses(w, i);
        aligned::<O>(w, i, &addrs);
        let list = (*w).lists.add(i.d as usize);
        let atomic = i.c & bits::ATOMIC != 0;
        let mut m = mask;
        while m != 0 {
            let lane = m.trailing_zeros() as usize;
            m &= m - 1;
            let p = place::<O>(w, i, lane, addrs[lane], size as u64, true);
            if matches!(p, Place::Refused) {
                continue;
            }
            let device = matches!(p, Place::Host(_, _, Space::Device));
            // At most four words or two double words.
            let mut values = [0u64; 4];
            for (k, v) in values.iter_mut().enumerate().take(n) {
                let s = *list.add(k);
                *v = lane_value(w, s, lane, e.bytes() == 8);
                let slot = (s & !SCALAR) / 4;
                let t = taint::get(w, slot) & 1 << lane;
                if t != 0 && device {
                    taint::used::<O>(w, slot, t, i.id, Use::Store);
                }
                p.mark(k * step, step, t == 0 || device);
            }
            if let Place::Host(host, _, space) = p {
                let mut new = [0u8; 16];
                for (k, v) in values.iter().enumerate().take(n) {
                    put(e, new.as_mut_ptr().add(k * step), *v);
                }
                let old = std::slice::from_raw_parts(host, size);
                let a = LaneAccess {
                    kind: if atomic { AccessKind::Atomic } else { AccessKind::Store },
                    address: address_in(space, addrs[lane]),
                    bytes: size as u32,
                    thread: thread((*w).index, lane),
                    point: i.id,
                    writes: true,
                    change: if atomic { None } else { Some((old, &new[..size])) },
                };
                watch::<O>(w, space, &a);
            }
            for (k, v) in values.iter().enumerate().take(n) {
                put_at(w, e, p, lane, k * step, *v);
            }
        }
        drain::<O>(w);
        done::<O>(w, i)
    }
}
