//! Control: blocks, branches, reconvergence, barriers, the end.
//!
//! Lanes that wait are kept by block. The lanes with the earliest block always run, so all that can still reach a block
//! have reached it when it runs: that is reconvergence at the immediate post-dominator or earlier.

use super::{Inst, Stop, Warp, next};

/// Start of a block. `a`: block, `x`: cost.
pub unsafe fn enter(w: *mut Warp, i: *const Inst) -> *const Inst {
    // SAFETY: counts has an entry for each block of the code.
    unsafe {
        let c = &mut *(*w).counts.add((*i).a as usize);
        c.runs += 1;
        c.lanes += u64::from((*w).mask.count_ones());
        (*w).fuel -= (*i).x as i64;
        if (*w).fuel < 0 {
            return slice(w, i);
        }
        next(i)
    }
}

#[cold]
unsafe fn slice(w: *mut Warp, i: *const Inst) -> *const Inst {
    // SAFETY: as `enter`.
    unsafe {
        (*w).stop = Stop::Slice;
        (*w).resume = next(i);
        std::ptr::null()
    }
}

/// Goes to a block with the current lanes.
#[inline(always)]
unsafe fn goto(w: *mut Warp, block: u32) -> *const Inst {
    // SAFETY: `block_first` has an entry for each block.
    unsafe {
        if block >= (*w).next_park {
            return meet(w, block);
        }
        (*w).code.add(*(*w).block_first.add(block as usize) as usize)
    }
}

/// Goes to a block that is not before all waiting ones.
#[cold]
unsafe fn meet(w: *mut Warp, block: u32) -> *const Inst {
    // SAFETY: the caller's.
    unsafe {
        let mask = (*w).mask;
        park(w, block, mask);
        earliest(w)
    }
}

/// Lets lanes wait at a block.
unsafe fn park(w: *mut Warp, block: u32, mask: u32) {
    // SAFETY: `w` is valid.
    let list = unsafe { &mut (*w).parked };
    match list.binary_search_by(|p| block.cmp(&p.0)) {
        Ok(k) => {
            if let Some(p) = list.get_mut(k) {
                p.1 |= mask;
            }
        }
        Err(k) => list.insert(k, (block, mask)),
    }
}

/// Runs the lanes that wait at the earliest block, or stops when none wait.
unsafe fn earliest(w: *mut Warp) -> *const Inst {
    // SAFETY: `w` is valid, blocks are in range.
    unsafe {
        let list = &mut (*w).parked;
        let Some((block, mask)) = list.pop() else {
            (*w).stop = Stop::Done;
            return std::ptr::null();
        };
        (*w).next_park = list.last().map_or(u32::MAX, |p| p.0);
        (*w).mask = mask;
        (*w).code.add(*(*w).block_first.add(block as usize) as usize)
    }
}

/// `a`: block.
pub unsafe fn jump(w: *mut Warp, i: *const Inst) -> *const Inst {
    // SAFETY: as `goto`.
    unsafe { goto(w, (*i).a) }
}

/// `c`: predicate, the same in all active lanes; `a`, `b`: blocks.
pub unsafe fn branch(w: *mut Warp, i: *const Inst) -> *const Inst {
    // SAFETY: as `goto`.
    unsafe {
        let p = *(*w).at::<u32>((*i).c);
        goto(w, if p & (*w).mask != 0 { (*i).a } else { (*i).b })
    }
}

/// `c`: predicate; `a`, `b`: blocks; `d`: this block.
pub unsafe fn split(w: *mut Warp, i: *const Inst) -> *const Inst {
    // SAFETY: as `goto`.
    unsafe {
        let mask = (*w).mask;
        let p = *(*w).at::<u32>((*i).c) & mask;
        let q = mask & !p;
        if q == 0 {
            return goto(w, (*i).a);
        }
        if p == 0 {
            return goto(w, (*i).b);
        }
        (*(*w).counts.add((*i).d as usize)).splits += 1;
        park(w, (*i).a, p);
        park(w, (*i).b, q);
        earliest(w)
    }
}

/// The lanes are done.
pub unsafe fn ret(w: *mut Warp, _: *const Inst) -> *const Inst {
    // SAFETY: `w` is valid.
    unsafe {
        (*w).alive &= !(*w).mask;
        earliest(w)
    }
}

/// Barrier of the threadgroup.
pub unsafe fn barrier(w: *mut Warp, i: *const Inst) -> *const Inst {
    // SAFETY: `w` is valid.
    unsafe {
        (*w).stop = Stop::Barrier;
        (*w).resume = next(i);
        std::ptr::null()
    }
}

/// Does nothing (barriers and fences that only observers see).
pub unsafe fn nothing(_: *mut Warp, i: *const Inst) -> *const Inst {
    // SAFETY: not the last instruction.
    unsafe { next(i) }
}
