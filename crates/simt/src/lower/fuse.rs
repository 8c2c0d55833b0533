//! Fuses what a GPU's instruction set fuses: multiply and add, negations, address modes. Keeps meaning, except that a
//! product and a sum which both allow contraction are rounded once.

use smallvec::smallvec;

use super::passes::{replace, use_counts};
use super::sir::{BlockId, Class, Cvt, FBin, FUn, Func, IOp, Index, Node, Op, Space, V};

/// Runs all fusions.
pub fn fuse(f: &mut Func) {
    multiply_add(f);
    addresses(f);
}

fn is_mul(f: &Func, v: V, uses: &[u32]) -> bool {
    let n = f.node(v);
    n.op == Op::FBin(FBin::Mul) && n.contract && uses[v as usize] == 1
}

fn strip_neg(f: &Func, v: V) -> (V, bool) {
    let n = f.node(v);
    if n.op == Op::FUn(FUn::Neg) { (n.args[0], true) } else { (v, false) }
}

/// A negation of a product that allows contraction, or the product itself.
fn product(f: &Func, v: V, uses: &[u32]) -> Option<(V, bool)> {
    let (x, neg) = strip_neg(f, v);
    (is_mul(f, x, uses) && (!neg || uses[v as usize] == 1)).then_some((x, neg))
}

fn multiply_add(f: &mut Func) {
    let uses = use_counts(f);
    let mut extra: Vec<(BlockId, usize, V)> = Vec::new();
    let mut map = rustc_hash::FxHashMap::default();
    for b in 0..f.blocks.len() {
        for i in 0..f.blocks[b].nodes.len() {
            let v = f.blocks[b].nodes[i];
            let n = f.node(v);
            let (op, contract) = (n.op, n.contract);
            match op {
                Op::FBin(FBin::Add | FBin::Sub) => {
                    let (x, y) = (n.args[0], n.args[1]);
                    let sub = op == Op::FBin(FBin::Sub);
                    let found = if contract {
                        match (product(f, x, &uses), product(f, y, &uses)) {
                            (Some((m, neg)), _) => Some((m, neg, y, sub)),
                            (None, Some((m, neg))) => Some((m, neg != sub, x, false)),
                            _ => None,
                        }
                    } else {
                        None
                    };
                    if let Some((m, neg_product, addend, neg_addend)) = found {
                        let (a, b) = (f.node(m).args[0], f.node(m).args[1]);
                        set_fma(f, v, a, b, addend, neg_product, neg_addend);
                    } else {
                        // x + -y = x - y, x - -y = x + y
                        let (y2, neg) = strip_neg(f, y);
                        if neg {
                            let node = &mut f.nodes[v as usize];
                            node.op = Op::FBin(if sub { FBin::Add } else { FBin::Sub });
                            node.args[1] = y2;
                        }
                    }
                }
                Op::Fma { neg_product, neg_addend } => {
                    let (a, b, c) = (n.args[0], n.args[1], n.args[2]);
                    set_fma(f, v, a, b, c, neg_product, neg_addend);
                }
                Op::FUn(FUn::RoundF16) => {
                    // Binary16: round(round(a*b) + c) with contraction is one operation.
                    let s = n.args[0];
                    let sn = f.node(s);
                    let sub = sn.op == Op::FBin(FBin::Sub);
                    if !(sub || sn.op == Op::FBin(FBin::Add)) || !sn.contract || uses[s as usize] != 1 {
                        continue;
                    }
                    let half_mul = |x: V| {
                        let (r, neg) = strip_neg(f, x);
                        let rn = f.node(r);
                        let inner = rn.args.first().copied().unwrap_or(0);
                        (rn.op == Op::FUn(FUn::RoundF16)
                            && uses[r as usize] == 1
                            && uses[x as usize] == 1
                            && is_mul(f, inner, &uses))
                        .then_some((inner, neg))
                    };
                    let (x, y) = (sn.args[0], sn.args[1]);
                    let found = match (half_mul(x), half_mul(y)) {
                        (Some((m, neg)), _) => Some((m, neg, y, sub)),
                        (None, Some((m, neg))) => Some((m, neg != sub, x, false)),
                        _ => None,
                    };
                    let Some((m, neg_product, addend, neg_addend)) = found else { continue };
                    let (mut a, b2) = (f.node(m).args[0], f.node(m).args[1]);
                    let mut c = addend;
                    let pos = f.node(v).pos;
                    let mut negate = |f: &mut Func, x: V| {
                        f.nodes.push(Node {
                            op: Op::FUn(FUn::Neg),
                            class: Class::B32,
                            args: smallvec![x],
                            pos,
                            narrow: true,
                            contract: false,
                        });
                        let n = f.nodes.len() as V - 1;
                        extra.push((b as BlockId, i, n));
                        n
                    };
                    if neg_product {
                        a = negate(f, a);
                    }
                    if neg_addend {
                        c = negate(f, c);
                    }
                    let node = &mut f.nodes[v as usize];
                    node.op = Op::FmaF16;
                    node.args = smallvec![a, b2, c];
                }
                Op::FUn(FUn::Neg) => {
                    // -(-x)
                    let (x, neg) = strip_neg(f, n.args[0]);
                    if neg {
                        map.insert(v, x);
                    }
                }
                _ => {}
            }
        }
    }
    // Later insertions first, so that positions stay valid.
    for (b, i, n) in extra.into_iter().rev() {
        f.blocks[b as usize].nodes.insert(i, n);
    }
    replace(f, &map);
}

fn set_fma(f: &mut Func, v: V, a: V, b: V, c: V, neg_product: bool, neg_addend: bool) {
    let ((a, na), (b, nb), (c, nc)) = (strip_neg(f, a), strip_neg(f, b), strip_neg(f, c));
    let node = &mut f.nodes[v as usize];
    node.op = Op::Fma { neg_product: neg_product ^ na ^ nb, neg_addend: neg_addend ^ nc };
    node.args = smallvec![a, b, c];
}

/// Folds constants, scaled indices and extensions into memory operands.
fn addresses(f: &mut Func) {
    let zero = zero(f);
    for b in 0..f.blocks.len() {
        for i in 0..f.blocks[b].nodes.len() {
            let v = f.blocks[b].nodes[i];
            let n = f.node(v);
            let Some((mut m, at)) = n.op.mem(n.args.len()) else { continue };
            if m.index != Index::None {
                continue;
            }
            let mut base = n.args[at];
            let mut index = None;
            if m.space == Space::Device || m.space == Space::Generic {
                loop {
                    let bn = f.node(base);
                    if bn.op != Op::I64(IOp::Add) {
                        break;
                    }
                    let (x, y) = (bn.args[0], bn.args[1]);
                    if let Some(c) = f.const_of(y) {
                        m.offset = m.offset.wrapping_add(c as i64);
                        base = x;
                        continue;
                    }
                    if index.is_none() {
                        if let Some((ix, kind, shift)) = scaled64(f, y) {
                            index = Some((ix, kind, shift));
                            base = x;
                            continue;
                        }
                        if let Some((ix, kind, shift)) = scaled64(f, x) {
                            index = Some((ix, kind, shift));
                            base = y;
                            continue;
                        }
                    }
                    break;
                }
            } else {
                loop {
                    let bn = f.node(base);
                    if let (Op::Const(c), None) = (bn.op, index) {
                        // A constant address: keep the base zero and the offset whole.
                        if c != 0 {
                            m.offset = m.offset.wrapping_add(c as u32 as i64);
                            base = zero;
                        }
                        break;
                    }
                    if bn.op != Op::I32(IOp::Add) {
                        break;
                    }
                    let (x, y) = (bn.args[0], bn.args[1]);
                    if let Some(c) = f.const_of(y) {
                        m.offset = m.offset.wrapping_add(c as u32 as i32 as i64);
                        base = x;
                        continue;
                    }
                    if index.is_none() {
                        index = Some(match (scaled32(f, y), scaled32(f, x)) {
                            (Some((ix, s)), _) => {
                                base = x;
                                (ix, Index::Zext, s)
                            }
                            (None, Some((ix, s))) => {
                                base = y;
                                (ix, Index::Zext, s)
                            }
                            _ => {
                                base = x;
                                (y, Index::Zext, 0)
                            }
                        });
                        continue;
                    }
                    break;
                }
            }
            let node = &mut f.nodes[v as usize];
            node.args[at] = base;
            if let Some((ix, kind, shift)) = index {
                m.index = kind;
                m.shift = shift;
                node.args.insert(at + 1, ix);
            }
            match &mut node.op {
                Op::Load(x) | Op::Store(x) | Op::Rmw(_, x) | Op::CmpXchg(x) => *x = m,
                _ => {}
            }
        }
    }
}

fn zero(f: &mut Func) -> V {
    let found = f.nodes.iter().position(|n| n.op == Op::Const(0) && n.class == Class::B32);
    if let Some(i) = found {
        return i as V;
    }
    f.nodes.push(Node {
        op: Op::Const(0),
        class: Class::B32,
        args: smallvec![],
        pos: super::sir::NO_POS,
        narrow: false,
        contract: false,
    });
    f.nodes.len() as V - 1
}

/// `ext(index) << shift` with an extension from 32 bits.
fn scaled64(f: &Func, v: V) -> Option<(V, Index, u8)> {
    let n = f.node(v);
    let (x, shift) = match n.op {
        Op::I64(IOp::Shl) => (n.args[0], f.const_of(n.args[1]).filter(|&s| s <= 6)?),
        _ => (v, 0),
    };
    let xn = f.node(x);
    match xn.op {
        Op::Cvt(Cvt::Sext64) => Some((xn.args[0], Index::Sext, shift as u8)),
        Op::Cvt(Cvt::Zext64) => Some((xn.args[0], Index::Zext, shift as u8)),
        _ => None,
    }
}

/// `index << shift` in 32 bits.
fn scaled32(f: &Func, v: V) -> Option<(V, u8)> {
    let n = f.node(v);
    match n.op {
        Op::I32(IOp::Shl) => Some((n.args[0], f.const_of(n.args[1]).filter(|&s| s <= 6)? as u8)),
        _ => None,
    }
}
