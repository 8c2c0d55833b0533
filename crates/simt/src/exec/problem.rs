//! What can go wrong in a lane, and the words for it. Must not know how it was found.

use super::group::Env;
use crate::fault::{Access, FaultKind};
use crate::lower::linear::LOp;
use crate::lower::sir::{Op, Space};
use crate::observe::{Observer, buffer_of};

/// What went wrong in one lane.
#[derive(Clone, Copy, Debug)]
pub enum Problem {
    /// Outside every buffer.
    Bounds {
        /// Where it was meant to go.
        space: Space,
        /// Address.
        address: u64,
        /// Bytes.
        size: u64,
        /// A write?
        write: bool,
    },
    /// A write to a read-only buffer.
    ReadOnly {
        /// Address.
        address: u64,
        /// Bytes.
        size: u64,
    },
    /// Not aligned.
    Misaligned {
        /// Address.
        address: u64,
        /// Alignment it should have.
        align: u64,
        /// Bytes.
        size: u64,
    },
    /// `__ks_trap`.
    Trap {
        /// Its code.
        code: u32,
    },
    /// The end of a path that has none.
    Unreachable,
    /// A barrier that some lanes or simdgroups miss.
    Barrier {
        /// Lanes that reached it.
        reached: u32,
        /// Lanes of the simdgroup that were launched.
        launched: u32,
        /// Lanes that had ended.
        ended: u32,
    },
    /// Simdgroups wait at different barriers, or one has ended.
    GroupBarrier {
        /// The other simdgroup.
        other: u32,
        /// Program point it waits at; `None` when it has ended.
        point: Option<u32>,
    },
    /// A value that nothing has written was used.
    Uninitialised {
        /// Program point of the use.
        used_at: u32,
        /// What for.
        how: Use,
    },
    /// The budget is used up.
    Runaway {
        /// Instructions allowed.
        limit: u64,
    },
}

/// What an undefined value was used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// It decided a branch.
    Branch,
    /// It formed an address.
    Address,
    /// It was stored in device memory.
    Store,
}

impl<O: Observer> Env<'_, O> {
    /// A buffer as its user knows it.
    pub(super) fn buffer_name(&self, id: u32) -> String {
        match self.shared.names.get(id as usize) {
            Some(n) if !n.is_empty() => format!("`{n}`"),
            _ if id == 0xffff => "the constants of the kernel".to_owned(),
            _ => format!("buffer {}", id.saturating_sub(1)),
        }
    }

    fn bounds(&self, space: Space, address: u64, size: u64, write: bool) -> (String, String) {
        let verb = if write { "write" } else { "read" };
        match space {
            Space::Threadgroup => (
                format!(
                    "{verb} of {size} bytes at offset {} of threadgroup memory, which has {} bytes",
                    address as u32 as i32, self.threadgroup_len
                ),
                "Check the index against the size of the threadgroup array, or give the dispatch more threadgroup memory."
                    .to_owned(),
            ),
            Space::Private => (
                format!("{verb} of {size} bytes outside the thread's local variables"),
                "Check the index of the local array.".to_owned(),
            ),
            _ => {
                let (id, off) = buffer_of(address);
                let v = self.view(address);
                if v.present {
                    (
                        format!(
                            "{verb} of {size} bytes at offset {off} of {}, which has {} bytes",
                            self.buffer_name(id),
                            v.len
                        ),
                        if overflowed(off, v.len) {
                            "A 32-bit index has overflowed: compute the offset in 64 bits (size_t, ulong or long)."
                        } else {
                            "Guard the access with the buffer's length, or launch fewer threads."
                        }
                        .to_owned(),
                    )
                } else {
                    (
                        format!("{verb} of {size} bytes at address {address:#x}, which belongs to no buffer"),
                        "The pointer is null or was computed from a value that is not a pointer.".to_owned(),
                    )
                }
            }
        }
    }

    /// Kind, message, advice and the other place of a problem at an instruction.
    pub(super) fn describe(&self, id: u32, p: &Problem) -> (FaultKind, String, String, Option<Access>) {
        match *p {
            Problem::Bounds { space, address, size, write } => {
                let (m, h) = self.bounds(space, address, size, write);
                (FaultKind::OutOfBounds, m, h, None)
            }
            Problem::ReadOnly { address, size } => {
                let (b, off) = buffer_of(address);
                (
                    FaultKind::ReadOnlyWrite,
                    format!("write of {size} bytes at offset {off} of {}, which is read-only", self.buffer_name(b)),
                    "Write to an output buffer, or bind this one as writable.".to_owned(),
                    None,
                )
            }
            Problem::Misaligned { address, align, size } => {
                let m = self.shared.lowered.insts.get(id as usize).map(|i| i.op);
                let device = matches!(m, Some(LOp::Op(Op::Load(m) | Op::Store(m) | Op::Rmw(_, m) | Op::CmpXchg(m)))
                    if m.space == Space::Device || m.space == Space::Generic);
                let place = if device {
                    let (b, off) = buffer_of(address);
                    format!("offset {off} of {}", self.buffer_name(b))
                } else {
                    format!("offset {address}")
                };
                (
                    FaultKind::Misaligned,
                    format!("access of {size} bytes at {place}, which is not a multiple of {align}"),
                    "Use a packed vector type or scalar accesses, or align the address.".to_owned(),
                    None,
                )
            }
            Problem::Trap { code: ksearch_msl::abi::TRAP_WARP_MASK } => (
                FaultKind::Unsupported,
                "the mask of this warp function leaves out a lane that calls it".to_owned(),
                "Name every lane that makes the call, and no other, in the mask.".to_owned(),
                None,
            ),
            Problem::Trap { code } => (
                FaultKind::Unsupported,
                format!("the kernel reached a construct that cannot run (note {code})"),
                "See the front end's note on this construct.".to_owned(),
                None,
            ),
            Problem::Unreachable => (
                FaultKind::Unsupported,
                "the kernel reached code that has undefined behaviour".to_owned(),
                "Look for an endless loop without effects, a missing return value or a division by zero.".to_owned(),
                None,
            ),
            Problem::Barrier { reached, launched, ended } => {
                let missing = launched & !reached;
                let how = if missing & !ended == 0 { "have returned already" } else { "are on another path" };
                (
                    FaultKind::BarrierDivergence,
                    format!(
                        "barrier reached by {} of {} threads of the simdgroup; the others {how}",
                        reached.count_ones(),
                        launched.count_ones()
                    ),
                    "Move the barrier out of divergent control flow, and let threads without work reach it too."
                        .to_owned(),
                    None,
                )
            }
            Problem::GroupBarrier { other, point } => {
                let pos = point.and_then(|p| self.shared.lowered.insts.get(p as usize)).map(|i| i.pos);
                let other_access = point.map(|_| Access {
                    pos: pos.and_then(|p| self.shared.lowered.position(p).cloned()),
                    group: self.group,
                    simdgroup: other,
                    lane: 0,
                });
                let m = if point.is_some() {
                    format!("barrier reached while simdgroup {other} waits at another barrier")
                } else {
                    format!("barrier reached while simdgroup {other} has returned already")
                };
                (
                    FaultKind::BarrierDivergence,
                    m,
                    "All simdgroups of a threadgroup must reach the same barriers.".to_owned(),
                    other_access,
                )
            }
            Problem::Uninitialised { used_at, how } => {
                let op = self.shared.lowered.insts.get(id as usize).map(|i| i.op);
                let what = match op {
                    Some(LOp::Op(Op::Load(m))) if m.space == Space::Threadgroup => "threadgroup memory",
                    Some(LOp::Op(Op::Load(m))) if m.space == Space::Private => "a local variable",
                    Some(LOp::Op(Op::Shuffle(_))) => "a lane that does not run",
                    _ => "memory",
                };
                let how = match how {
                    Use::Branch => "decides a branch",
                    Use::Address => "forms an address",
                    Use::Store => "is stored",
                };
                let pos = self.shared.lowered.insts.get(used_at as usize).map_or(u32::MAX, |i| i.pos);
                let other = Access {
                    pos: self.shared.lowered.position(pos).cloned(),
                    group: self.group,
                    simdgroup: 0,
                    lane: 0,
                };
                (
                    FaultKind::UninitializedRead,
                    format!("a value read from {what} that nothing has written {how}"),
                    "Initialise it first, or do not let this thread use it.".to_owned(),
                    Some(other),
                )
            }
            Problem::Runaway { limit } => (
                FaultKind::Runaway,
                format!("one threadgroup ran more than {limit} simdgroup instructions"),
                "Look for a loop that does not end, or raise the instruction budget.".to_owned(),
                None,
            ),
        }
    }
}

/// Is a negative offset what a 32-bit index leaves after it passed 2^31? Then it is inside the buffer once 2^32 elements of
/// some usual size are added.
fn overflowed(offset: i64, len: u64) -> bool {
    offset < 0 && [1i64, 2, 4, 8, 16].iter().any(|size| u64::try_from(offset + (size << 32)).is_ok_and(|o| o < len))
}
