//! Turns a linear program into function pointers for one observer and one host instruction set.

use super::cross::{self, operand};
use super::{Code, Inst, Isa, OpFn, Warp, alu, atomic, control, mem, taint};
use crate::lower::linear::{LInst, LOp, Lowered};
use crate::lower::sir::Op;
use crate::observe::Observer;

/// The program has an operation that the machine has no function for: a mistake of ours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no machine function for {0}")]
pub struct Unassembled(String);

/// Assembles.
pub fn assemble<O: Observer>(l: &Lowered, isa: Isa) -> Result<Code, Unassembled> {
    let mut code = Code {
        insts: Vec::with_capacity(l.insts.len()),
        block_first: l.blocks.iter().map(|b| b.first).collect(),
        lists: Vec::new(),
        block_cost: l.blocks.iter().map(|b| (b.issue.len() as u32).max(1)).collect(),
        rules: if O::SANITIZE { l.insts.iter().map(taint::rule).collect() } else { Vec::new() },
    };
    let mut block = 0u32;
    for (id, i) in l.insts.iter().enumerate() {
        if let LOp::Enter(b) = i.op {
            block = b;
        }
        let inst = one::<O>(i, id as u32, block, isa, &mut code)?;
        code.insts.push(inst);
    }
    Ok(code)
}

fn blank(run: OpFn, id: u32) -> Inst {
    Inst { run, d: 0, a: 0, b: 0, c: 0, x: 0, y: 0, id }
}

fn one<O: Observer>(i: &LInst, id: u32, block: u32, isa: Isa, code: &mut Code) -> Result<Inst, Unassembled> {
    let bad = || Unassembled(format!("{:?}", i.op));
    let arg = |k: usize| i.args.get(k).copied().ok_or_else(bad);
    let dst = |k: usize| i.dst.get(k).copied().ok_or_else(bad);
    Ok(match i.op {
        LOp::Enter(b) => {
            let cost = code.block_cost.get(b as usize).copied().unwrap_or(1);
            let run = if O::EVENTS { enter::<O> } else { control::enter };
            Inst { a: b, x: u64::from(cost), ..blank(run, id) }
        }
        LOp::Copy => {
            let (d, s) = (dst(0)?, arg(0)?);
            Inst { d: d.off, a: s.off, ..blank(alu::select_copy(isa, d, s), id) }
        }
        LOp::Jump(b) => Inst { a: b, ..blank(control::jump, id) },
        LOp::Branch(t, e) => Inst { a: t, b: e, c: arg(0)?.off, ..blank(control::branch, id) },
        LOp::Split(t, e) => Inst { a: t, b: e, c: arg(0)?.off, d: block, ..blank(control::split, id) },
        LOp::Ret => blank(control::ret, id),
        LOp::Unreachable => blank(unreachable::<O>, id),
        LOp::Op(op) => match op {
            Op::Param(n) => Inst { d: dst(0)?.off, x: u64::from(n), ..blank(param::<O>, id) },
            Op::Sr(r) => {
                let d = dst(0)?;
                let x = if d.uniform { r as u64 } else { lane_register(r) };
                Inst { d: d.off, x, ..blank(alu::select_sr(isa, d.uniform), id) }
            }
            Op::Load(m) => {
                let at = list(code, i.dst.iter().map(|&r| operand(r)));
                let scalar = i.dst.first().is_some_and(|r| r.uniform);
                Inst { d: at, ..memory(i, m, 0, scalar, None, mem::select_load::<O>(m.elem, isa), id).ok_or_else(bad)? }
            }
            Op::Store(m) => {
                let n = usize::from(m.count);
                let at = list(code, i.args.iter().take(n).map(|&r| operand(r)));
                Inst { d: at, ..memory(i, m, n, false, None, mem::select_store::<O>(m.elem, isa), id).ok_or_else(bad)? }
            }
            Op::Rmw(op, m) => {
                let at = list(code, i.dst.iter().chain(i.args.iter().take(1)).map(|&r| operand(r)));
                Inst { d: at, ..memory(i, m, 1, false, Some(op), atomic::select::<O>(false), id).ok_or_else(bad)? }
            }
            Op::CmpXchg(m) => {
                let at = list(code, i.dst.iter().chain(i.args.iter().take(2)).map(|&r| operand(r)));
                Inst { d: at, ..memory(i, m, 2, false, None, atomic::select::<O>(true), id).ok_or_else(bad)? }
            }
            Op::Barrier(f) => Inst { x: u64::from(f), ..blank(control::barrier, id) },
            Op::SimdBarrier(f) if O::SANITIZE => Inst { x: u64::from(f), ..blank(simd_barrier::<O>, id) },
            Op::SimdBarrier(_) | Op::Fence(_) => blank(control::nothing, id),
            Op::Trap(c) => Inst { x: u64::from(c), ..blank(trap::<O>, id) },
            _ => {
                if let Some(c) = cross::select(op) {
                    let mut out = Inst { x: c.x, y: c.y, ..blank(c.run, id) };
                    if c.listed {
                        out.y = list(code, i.args.iter().chain(i.dst.iter()).map(|&r| operand(r)));
                    } else {
                        // Masks and 64-bit results are read and written where they are.
                        let raw = matches!(op, Op::Ballot | Op::ActiveMask | Op::IsFirst);
                        let enc = |r| if raw { crate::lower::linear::Reg::off(r) } else { operand(r) };
                        out.d = enc(dst(0)?);
                        out.a = i.args.first().map_or(0, |&r| enc(r));
                        out.b = i.args.get(1).map_or(0, |&r| enc(r));
                        if matches!(op, Op::Shuffle(_)) && i.args.len() > 2 {
                            // Value, fill, delta, modulo.
                            out.c = enc(arg(1)?);
                            out.b = enc(arg(2)?);
                            out.y = i.args.get(3).map_or(0, |&r| enc(r));
                        }
                    }
                    if O::SANITIZE
                        && matches!(op, Op::Shuffle(_))
                        && let Some(rule) = code.rules.get_mut(id as usize)
                    {
                        rule.plain = out.run;
                        out.run = taint::shuffle::<O>;
                    }
                    return Ok(out);
                }
                let d = dst(0)?;
                let (run, x) = alu::select(isa, op, d, &i.args).ok_or_else(bad)?;
                let off = |k: usize| i.args.get(k).map_or(0, |r| r.off);
                Inst { d: d.off, a: off(0), b: off(1), c: off(2), x, ..blank(run, id) }
            }
        },
    })
}

fn list(code: &mut Code, items: impl Iterator<Item = u32>) -> u32 {
    let at = code.lists.len() as u32;
    code.lists.extend(items);
    at
}

fn memory(
    i: &LInst,
    m: crate::lower::sir::Mem,
    base: usize,
    result_scalar: bool,
    rmw: Option<crate::lower::sir::RmwOp>,
    run: OpFn,
    id: u32,
) -> Option<Inst> {
    let b = *i.args.get(base)?;
    let index = i.args.get(base + 1);
    let c = mem::pack(m, b.uniform, index.is_some_and(|r| r.uniform), result_scalar, rmw);
    Some(Inst { a: b.off, b: index.map_or(0, |r| r.off), c, x: m.offset as u64, ..blank(run, id) })
}

/// Row of [`Warp::lane_sr`] of a register that differs by lane.
fn lane_register(r: ksearch_msl::abi::SpecialRegister) -> u64 {
    use ksearch_msl::abi::SpecialRegister as Sr;
    match r {
        Sr::ThreadInGroupX => 0,
        Sr::ThreadInGroupY => 1,
        Sr::ThreadInGroupZ => 2,
        Sr::ThreadInGridX => 3,
        Sr::ThreadInGridY => 4,
        Sr::ThreadInGridZ => 5,
        Sr::Lane => 6,
        _ => 7,
    }
}

unsafe fn param<O: Observer>(w: *mut Warp, i: *const Inst) -> *const Inst {
    // SAFETY: `env` is of this observer type; the launch has as many arguments as the kernel.
    unsafe {
        let env = &*(*w).env.cast::<super::group::Env<'_, O>>();
        let v = env.shared.args.get((*i).x as usize).copied().unwrap_or(0);
        *(*w).at::<u64>((*i).d) = v;
        super::next(i)
    }
}

/// Start of a block, told to the observer. `a`: block, `x`: cost.
unsafe fn enter<O: Observer>(w: *mut Warp, i: *const Inst) -> *const Inst {
    // SAFETY: as `param`, and as `control::enter`.
    unsafe {
        let env = &mut *(*w).env.cast::<super::group::Env<'_, O>>();
        env.observer.enter((*w).index, (*i).a);
        control::enter(w, i)
    }
}

/// `x`: flags.
unsafe fn simd_barrier<O: Observer>(w: *mut Warp, i: *const Inst) -> *const Inst {
    // SAFETY: as `param`.
    unsafe {
        let env = &mut *(*w).env.cast::<super::group::Env<'_, O>>();
        env.observer.simd_barrier((*w).index, (*i).x as u32);
        super::next(i)
    }
}

unsafe fn trap<O: Observer>(w: *mut Warp, i: *const Inst) -> *const Inst {
    // SAFETY: as `param`.
    unsafe {
        let env = &mut *(*w).env.cast::<super::group::Env<'_, O>>();
        let lane = (*w).mask.trailing_zeros() as usize & 31;
        env.problem(w, (*i).id, lane, super::problem::Problem::Trap { code: (*i).x as u32 });
        env.stopped = true;
        (*w).stop = super::Stop::Fault;
        (*w).resume = i;
        std::ptr::null()
    }
}

unsafe fn unreachable<O: Observer>(w: *mut Warp, i: *const Inst) -> *const Inst {
    // SAFETY: as `param`.
    unsafe {
        let env = &mut *(*w).env.cast::<super::group::Env<'_, O>>();
        let lane = (*w).mask.trailing_zeros() as usize & 31;
        env.problem(w, (*i).id, lane, super::problem::Problem::Unreachable);
        env.stopped = true;
        (*w).stop = super::Stop::Fault;
        (*w).resume = i;
        std::ptr::null()
    }
}
