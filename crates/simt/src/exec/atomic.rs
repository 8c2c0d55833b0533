//! Read-modify-write and compare-exchange, lane by lane. Every address is checked before it is touched.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::group::Env;
use super::mem::{RMWS, addresses, bits, done, elem_of, lane_value};
use super::place::{Place, place, private_byte};
use super::plain::tell_lanes;
use super::problem::Problem;
use super::{Inst, OpFn, Warp, mem_checked};
use crate::lower::sir::{Elem, RmwOp, Space};
use crate::observe::{AccessKind, Observer};

fn apply32(op: RmwOp, old: u32, v: u32) -> u32 {
    let (x, y) = (f32::from_bits(old), f32::from_bits(v));
    match op {
        RmwOp::Xchg => v,
        RmwOp::Add => old.wrapping_add(v),
        RmwOp::Sub => old.wrapping_sub(v),
        RmwOp::And => old & v,
        RmwOp::Nand => !(old & v),
        RmwOp::Or => old | v,
        RmwOp::Xor => old ^ v,
        RmwOp::Max => (old as i32).max(v as i32) as u32,
        RmwOp::Min => (old as i32).min(v as i32) as u32,
        RmwOp::UMax => old.max(v),
        RmwOp::UMin => old.min(v),
        RmwOp::FAdd => (x + y).to_bits(),
        RmwOp::FSub => (x - y).to_bits(),
        RmwOp::FMax => x.max(y).to_bits(),
        RmwOp::FMin => x.min(y).to_bits(),
    }
}

fn apply64(op: RmwOp, old: u64, v: u64) -> u64 {
    match op {
        RmwOp::Xchg => v,
        RmwOp::Add => old.wrapping_add(v),
        RmwOp::Sub => old.wrapping_sub(v),
        RmwOp::And => old & v,
        RmwOp::Nand => !(old & v),
        RmwOp::Or => old | v,
        RmwOp::Xor => old ^ v,
        RmwOp::Max => (old as i64).max(v as i64) as u64,
        RmwOp::Min => (old as i64).min(v as i64) as u64,
        RmwOp::UMax => old.max(v),
        RmwOp::UMin => old.min(v),
        // Floating atomics have 32 bits.
        RmwOp::FAdd | RmwOp::FSub | RmwOp::FMax | RmwOp::FMin => old,
    }
}

/// Read-modify-write and compare-exchange. `lists[d..]`: result (and success), then value (or expected and new).
unsafe fn atomic<O: Observer, const CAS: bool>(w: *mut Warp, i: *const Inst) -> *const Inst {
    // SAFETY: as `load`; host atomics are used on addresses that are checked to be aligned.
    unsafe {
        let i = &*i;
        let op = RMWS[(i.c >> bits::RMW & 15) as usize % RMWS.len()];
        let wide = elem_of(i.c) == Elem::B64;
        let size = if wide { 8u64 } else { 4 };
        let addrs = addresses(w, i);
        if O::EVENTS {
            tell_lanes::<O>(w, i, AccessKind::Atomic, &addrs);
        }
        let list = (*w).lists.add(i.d as usize);
        let mut success = 0u32;
        let mut m = (*w).mask;
        while m != 0 {
            let lane = m.trailing_zeros() as usize;
            m &= m - 1;
            if addrs[lane] & (size - 1) != 0 {
                let env = &mut *(*w).env.cast::<Env<'_, O>>();
                env.problem(w, i.id, lane, Problem::Misaligned { address: addrs[lane], align: size, size });
                continue;
            }
            let placed = place::<O>(w, i, lane, addrs[lane], size, true);
            let (p, space) = match placed {
                Place::Host(p, _, space) => (p, space),
                // A word of private memory is one word on the host; wider atomics on it are refused by the lowering.
                Place::Private(at, _) if !wide => ((*w).private.add(private_byte(at, lane)), Space::Private),
                _ => continue,
            };
            let values = list.add(if CAS { 2 } else { 1 });
            if O::SANITIZE {
                mem_checked::before_atomic::<O>(w, i, lane, addrs[lane], size as u32, space);
                mem_checked::atomic_taint::<O>(w, i, lane, placed, size as usize, *list, *values);
            }
            let v = lane_value(w, *values, lane, wide);
            let old = if CAS {
                let new = lane_value(w, *values.add(1), lane, wide);
                let (old, ok) = if wide {
                    let r = AtomicU64::from_ptr(p.cast()).compare_exchange(v, new, Ordering::SeqCst, Ordering::SeqCst);
                    (r.unwrap_or_else(|x| x), r.is_ok())
                } else {
                    let r = AtomicU32::from_ptr(p.cast()).compare_exchange(
                        v as u32,
                        new as u32,
                        Ordering::SeqCst,
                        Ordering::SeqCst,
                    );
                    (u64::from(r.unwrap_or_else(|x| x)), r.is_ok())
                };
                success |= u32::from(ok) << lane;
                old
            } else if wide {
                let a = AtomicU64::from_ptr(p.cast());
                let f = |x| Some(apply64(op, x, v));
                a.fetch_update(Ordering::SeqCst, Ordering::SeqCst, f).unwrap_or_else(|x| x)
            } else {
                let a = AtomicU32::from_ptr(p.cast());
                let f = |x| Some(apply32(op, x, v as u32));
                u64::from(a.fetch_update(Ordering::SeqCst, Ordering::SeqCst, f).unwrap_or_else(|x| x))
            };
            let d = *list;
            if wide {
                *(*w).at::<u64>(d).add(lane) = old;
            } else {
                *(*w).at::<u32>(d).add(lane) = old as u32;
            }
            placed.mark(0, size as usize, true);
        }
        if CAS {
            *(*w).at::<u32>(*list.add(1)) = success;
        }
        if O::SANITIZE {
            mem_checked::address_taint::<O>(w, i);
            mem_checked::drain::<O>(w);
        }
        done::<O>(w, i)
    }
}

/// The function of an atomic.
pub fn select<O: Observer>(cas: bool) -> OpFn {
    if cas { atomic::<O, true> } else { atomic::<O, false> }
}
