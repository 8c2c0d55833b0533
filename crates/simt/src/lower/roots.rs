//! Which kernel arguments memory operations go through. Knows the SSA form alone.

use rustc_hash::FxHashMap;

use super::sir::{Func, IOp, Op, Space, V};

/// The parameter that an address is computed from.
fn root(f: &Func, phis: &FxHashMap<V, Vec<V>>, v: V) -> Option<u32> {
    let mut found = None;
    let mut seen = rustc_hash::FxHashSet::default();
    let mut work = vec![v];
    while let Some(v) = work.pop() {
        if !seen.insert(v) {
            continue;
        }
        let n = f.node(v);
        match n.op {
            Op::Param(p) => {
                if found.is_some_and(|x| x != p) {
                    return None;
                }
                found = Some(p);
            }
            Op::I64(IOp::Add) => {
                // One side is the pointer: the one that leads to a parameter without other arithmetic.
                let mut pointers = n.args.iter().copied().filter(|&a| is_pointer(f, phis, a));
                work.push(pointers.next()?);
                if pointers.next().is_some() {
                    return None;
                }
            }
            Op::Sel => work.extend(n.args.iter().skip(1)),
            Op::Phi => work.extend(phis.get(&v)?.iter()),
            _ => return None,
        }
    }
    found
}

/// Does a chain of additions, selections and phis lead from `v` to a parameter?
fn is_pointer(f: &Func, phis: &FxHashMap<V, Vec<V>>, v: V) -> bool {
    let mut seen = rustc_hash::FxHashSet::default();
    let mut work = vec![v];
    while let Some(v) = work.pop() {
        if !seen.insert(v) {
            continue;
        }
        let n = f.node(v);
        match n.op {
            Op::Param(_) => return true,
            Op::I64(IOp::Add) => work.extend(n.args.iter()),
            Op::Sel => work.extend(n.args.iter().skip(1)),
            Op::Phi => work.extend(phis.get(&v).into_iter().flatten()),
            _ => {}
        }
    }
    false
}

/// Parameters that stores and atomics on device memory go through; `None` when one cannot be told.
pub fn written(f: &Func) -> Option<Vec<u32>> {
    let mut phis: FxHashMap<V, Vec<V>> = FxHashMap::default();
    for b in &f.blocks {
        for (v, list) in &b.phis {
            phis.insert(*v, list.iter().map(|x| x.1).collect());
        }
    }
    let mut out = Vec::new();
    for b in &f.blocks {
        for &v in &b.nodes {
            let n = f.node(v);
            if !matches!(n.op, Op::Store(_) | Op::Rmw(..) | Op::CmpXchg(_)) {
                continue;
            }
            let Some((m, at)) = n.op.mem(n.args.len()) else { continue };
            match m.space {
                Space::Device => {
                    let p = root(f, &phis, n.args[at])?;
                    if !out.contains(&p) {
                        out.push(p);
                    }
                }
                Space::Generic => return None,
                Space::Threadgroup | Space::Private => {}
            }
        }
    }
    Some(out)
}

/// Parameters without uses.
pub fn unused(f: &Func) -> Vec<u32> {
    let uses = super::passes::use_counts(f);
    let mut used = rustc_hash::FxHashSet::default();
    for (i, n) in f.nodes.iter().enumerate() {
        if let Op::Param(p) = n.op
            && uses[i] > 0
        {
            used.insert(p);
        }
    }
    (0..f.constant_params.len() as u32).filter(|p| !used.contains(p)).collect()
}
