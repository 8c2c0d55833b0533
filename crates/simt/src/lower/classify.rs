//! Counts: the class an operation has on a GPU's pipes, or none where the instruction set makes it free. Knows the SSA
//! form; must not know costs.

use super::passes::use_counts;
use super::sir::{Class, Cvt, FBin, FUn, Func, IOp, IUn, InstrClass, Op, ShuffleKind, Space, Term, V};

/// Class of each node; `None` for free ones.
///
/// Free are: constants and kernel arguments; conversions between binary16 and binary32; negation and absolute value whose
/// users all take a modified source; masks that keep narrow integers clean; extensions of 32-bit indices; comparisons
/// that feed selections or branches alone; and everything that depends on kernel arguments alone, which the
/// compiler moves to the launch's preamble.
pub fn classify(f: &Func) -> Vec<Option<InstrClass>> {
    let uses = use_counts(f);
    let users = users(f);
    let preamble = preamble(f);
    let mut out = vec![None; f.nodes.len()];
    for b in &f.blocks {
        for &v in &b.nodes {
            if preamble[v as usize] {
                continue;
            }
            out[v as usize] = class(f, v, &uses, &users);
        }
    }
    out
}

/// Users of each node among nodes; branch conditions are marked by the node itself.
fn users(f: &Func) -> Vec<Vec<V>> {
    let mut u: Vec<Vec<V>> = vec![Vec::new(); f.nodes.len()];
    for b in &f.blocks {
        for &v in &b.nodes {
            for &a in &f.node(v).args {
                u[a as usize].push(v);
            }
        }
        for (p, list) in &b.phis {
            for &(_, a) in list {
                u[a as usize].push(*p);
            }
        }
        if let Term::CondBr(c, ..) = b.term {
            u[c as usize].push(c);
        }
    }
    u
}

/// Nodes whose value is the same for the whole launch.
fn preamble(f: &Func) -> Vec<bool> {
    use ksearch_msl::abi::SpecialRegister as Sr;
    let mut p = vec![false; f.nodes.len()];
    for (i, n) in f.nodes.iter().enumerate() {
        p[i] = matches!(n.op, Op::Const(_) | Op::Param(_));
    }
    for b in &f.blocks {
        for &v in &b.nodes {
            let n = f.node(v);
            let all = n.args.iter().all(|&a| p[a as usize]);
            p[v as usize] |= match n.op {
                Op::Sr(r) => matches!(
                    r,
                    Sr::GroupSizeX
                        | Sr::GroupSizeY
                        | Sr::GroupSizeZ
                        | Sr::GroupsX
                        | Sr::GroupsY
                        | Sr::GroupsZ
                        | Sr::GridSizeX
                        | Sr::GridSizeY
                        | Sr::GridSizeZ
                        | Sr::Simdgroups
                ),
                // Small constant-space structures are read in the preamble.
                Op::Load(m) => all && m.space == Space::Device && !m.volatile && f.read_only_param(n.args[0]),
                Op::Part(_) => all,
                op => op.is_pure() && all && !n.args.is_empty(),
            };
        }
    }
    p
}

fn class(f: &Func, v: V, uses: &[u32], users: &[Vec<V>]) -> Option<InstrClass> {
    let n = f.node(v);
    let all_users = |ok: &dyn Fn(&Op) -> bool| {
        uses[v as usize] > 0 && users[v as usize].iter().all(|&u| u != v && ok(&f.node(u).op))
    };
    let feeds_select = || {
        uses[v as usize] > 0
            && users[v as usize].iter().all(|&u| u == v || matches!(f.node(u).op, Op::Sel if f.node(u).args[0] == v))
    };
    let float_user = |o: &Op| {
        matches!(
            o,
            Op::FBin(FBin::Add | FBin::Sub | FBin::Mul | FBin::Min | FBin::Max)
                | Op::Fma { .. }
                | Op::FmaF16
                | Op::FCmp(_)
                | Op::FUn(
                    FUn::Rcp
                        | FUn::Sqrt
                        | FUn::Rsqrt
                        | FUn::Exp2
                        | FUn::Log2
                        | FUn::Neg
                        | FUn::RoundF16
                        | FUn::Floor
                        | FUn::Ceil
                        | FUn::Trunc
                        | FUn::Rint
                )
        )
    };
    Some(match n.op {
        Op::Nop | Op::Const(_) | Op::Param(_) | Op::Phi | Op::Part(_) => return None,
        Op::Sr(_) => InstrClass::Move,
        Op::I32(op) => match op {
            // Masks by 0xff and 0xffff are register halves and conversions.
            IOp::And if matches!(f.const_of(n.args[1]), Some(0xff | 0xffff)) => return None,
            IOp::Add | IOp::Sub => InstrClass::IntAdd,
            IOp::Mul => InstrClass::IntMul,
            IOp::UDiv | IOp::SDiv | IOp::URem | IOp::SRem => InstrClass::IntDiv,
            IOp::Shl | IOp::LShr | IOp::AShr => InstrClass::Shift,
            IOp::And | IOp::Or | IOp::Xor => InstrClass::Bitwise,
            IOp::SMin | IOp::SMax | IOp::UMin | IOp::UMax => InstrClass::CompareSelect,
        },
        Op::I64(IOp::UDiv | IOp::SDiv | IOp::URem | IOp::SRem) => InstrClass::IntDiv,
        Op::I64(_) | Op::IUn64(_) => InstrClass::Int64,
        Op::IUn32(IUn::SExt(8 | 16)) => return None,
        Op::IUn32(_) | Op::Fshl(_) => InstrClass::Shift,
        // No Apple GPU has double precision: the class only keeps the count whole.
        Op::FBin64(_) | Op::FUn64(_) | Op::Fma64 => InstrClass::Int64,
        Op::FBin(op) => match op {
            FBin::Add | FBin::Sub | FBin::Mul => fp(f, v, users),
            FBin::Min | FBin::Max | FBin::Minimum | FBin::Maximum => InstrClass::CompareSelect,
            FBin::Copysign => InstrClass::Bitwise,
            FBin::Div | FBin::FastDiv => InstrClass::Rcp,
            FBin::Pow | FBin::Powr => InstrClass::Exp2,
            FBin::Ldexp => InstrClass::Convert,
            FBin::Rem | FBin::Atan2 | FBin::Hypot => InstrClass::Special,
        },
        Op::Fma { .. } => fp(f, v, users),
        Op::FmaF16 => InstrClass::Fp16,
        Op::FUn(op) => match op {
            FUn::Neg | FUn::Abs => {
                if all_users(&float_user) {
                    return None;
                }
                InstrClass::Bitwise
            }
            FUn::RoundF16 | FUn::RoundBf16 | FUn::F16Bits | FUn::F16From | FUn::Bf16Bits | FUn::Bf16From => {
                return None;
            }
            FUn::Floor | FUn::Ceil | FUn::Trunc | FUn::Rint | FUn::Round => InstrClass::Convert,
            FUn::Sqrt | FUn::Rsqrt => InstrClass::Sqrt,
            FUn::Rcp => InstrClass::Rcp,
            FUn::Exp | FUn::Exp2 | FUn::Exp10 | FUn::Log | FUn::Log2 | FUn::Log10 => InstrClass::Exp2,
            FUn::Sin | FUn::Cos | FUn::Sinpi | FUn::Cospi => InstrClass::SinCos,
            _ => InstrClass::Special,
        },
        Op::Cvt(c) => match c {
            Cvt::Zext64 | Cvt::Lo | Cvt::Hi => return None,
            Cvt::Sext64 => {
                // An index of an address extends for free.
                if all_users(&|o: &Op| matches!(o, Op::Load(_) | Op::Store(_))) {
                    return None;
                }
                InstrClass::Shift
            }
            _ => InstrClass::Convert,
        },
        Op::Pack => return None,
        Op::ICmp32(_) | Op::ICmp64(_) | Op::FCmp(_) | Op::FCmp64(_) => {
            if feeds_select() {
                return None;
            }
            InstrClass::CompareSelect
        }
        Op::PAnd | Op::POr | Op::PXor | Op::PNot => InstrClass::Bitwise,
        Op::Sel => InstrClass::CompareSelect,
        Op::Load(m) => match (m.space, m.atomic) {
            (Space::Private, _) => InstrClass::Private,
            (Space::Threadgroup, false) => InstrClass::LoadThreadgroup,
            (Space::Threadgroup, true) => InstrClass::AtomicThreadgroup,
            (_, false) => InstrClass::LoadDevice,
            (_, true) => InstrClass::AtomicDevice,
        },
        Op::Store(m) => match (m.space, m.atomic) {
            (Space::Private, _) => InstrClass::Private,
            (Space::Threadgroup, false) => InstrClass::StoreThreadgroup,
            (Space::Threadgroup, true) => InstrClass::AtomicThreadgroup,
            (_, false) => InstrClass::StoreDevice,
            (_, true) => InstrClass::AtomicDevice,
        },
        Op::Rmw(_, m) | Op::CmpXchg(m) => match m.space {
            Space::Threadgroup => InstrClass::AtomicThreadgroup,
            Space::Private => InstrClass::Private,
            _ => InstrClass::AtomicDevice,
        },
        Op::Shuffle(k) => {
            let lane_known = n.args.get(1).is_none_or(|&l| f.const_of(l).is_some());
            if lane_known || !matches!(k, ShuffleKind::Index | ShuffleKind::QuadIndex) {
                InstrClass::Shuffle
            } else {
                InstrClass::ShuffleRandom
            }
        }
        Op::Reduce(..) | Op::QuadReduce(..) => InstrClass::SimdReduce,
        Op::Ballot | Op::ActiveMask | Op::IsFirst => InstrClass::Vote,
        Op::Mma(0) => InstrClass::Mma32,
        Op::Mma(_) => InstrClass::Mma16,
        Op::Barrier(_) => InstrClass::Barrier,
        Op::SimdBarrier(_) | Op::Fence(_) => InstrClass::SimdBarrier,
        Op::Trap(_) => InstrClass::Branch,
    })
}

/// A floating operation whose result goes straight to a 16-bit rounding runs on the 16-bit pipe.
fn fp(f: &Func, v: V, users: &[Vec<V>]) -> InstrClass {
    let half =
        users[v as usize].iter().any(|&u| u != v && matches!(f.node(u).op, Op::FUn(FUn::RoundF16 | FUn::RoundBf16)));
    let narrow_in = f.node(v).args.iter().all(|&a| f.node(a).narrow || f.const_of(a).is_some());
    if half && narrow_in { InstrClass::Fp16 } else { InstrClass::Fp32 }
}

/// 16-bit register halves that a value takes.
pub fn halves(f: &Func, v: V) -> u32 {
    let n = f.node(v);
    match n.class {
        Class::None => 0,
        Class::Pred => 1,
        Class::B32 => {
            if n.narrow {
                1
            } else {
                2
            }
        }
        Class::B64 => 4,
    }
}
