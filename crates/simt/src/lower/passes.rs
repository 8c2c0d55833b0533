//! Clean-up of the SSA form: unreachable blocks, straight-line merging, dead code, common subexpressions. Keeps meaning.

use rustc_hash::FxHashMap;

use super::cfg::Cfg;
use super::sir::{Args, BlockId, Class, Func, Op, Term, V};

/// Replaces values by others, chains included.
pub fn replace(f: &mut Func, map: &FxHashMap<V, V>) {
    if map.is_empty() {
        return;
    }
    let find = |mut v: V| {
        // Chains are acyclic by construction; the bound is a belt.
        for _ in 0..1_000_000 {
            match map.get(&v) {
                Some(&n) if n != v => v = n,
                _ => break,
            }
        }
        v
    };
    for n in &mut f.nodes {
        for a in &mut n.args {
            *a = find(*a);
        }
    }
    for b in &mut f.blocks {
        for (_, list) in &mut b.phis {
            for (_, v) in list {
                *v = find(*v);
            }
        }
        if let Term::CondBr(c, ..) = &mut b.term {
            *c = find(*c);
        }
    }
}

/// Empties unreachable blocks and drops phi operands that come from them.
pub fn remove_unreachable(f: &mut Func) {
    let cfg = Cfg::acyclic_facts(f);
    let live: Vec<bool> = cfg.index.iter().map(|&i| i != u32::MAX).collect();
    for (i, b) in f.blocks.iter_mut().enumerate() {
        if !live[i] {
            b.nodes.clear();
            b.phis.clear();
            b.term = Term::Unreachable;
        }
    }
    let preds = f.preds();
    for (i, b) in f.blocks.iter_mut().enumerate() {
        for (_, list) in &mut b.phis {
            list.retain(|(p, _)| preds[i].contains(p));
        }
    }
    trivial_phis(f);
}

/// Phis whose operands are all the same value are that value.
pub fn trivial_phis(f: &mut Func) {
    loop {
        let mut map: FxHashMap<V, V> = FxHashMap::default();
        for b in &mut f.blocks {
            b.phis.retain(|(v, list)| {
                let mut same = None;
                for &(_, x) in list {
                    if x == *v || same == Some(x) {
                        continue;
                    }
                    if same.is_some() {
                        return true;
                    }
                    same = Some(x);
                }
                match same {
                    Some(x) if !map.contains_key(&x) => {
                        map.insert(*v, x);
                        false
                    }
                    _ => true,
                }
            });
        }
        if map.is_empty() {
            return;
        }
        replace(f, &map);
    }
}

/// Joins a block with its only successor when that has no other predecessor.
pub fn merge_blocks(f: &mut Func) {
    let mut preds = f.preds();
    for b in 0..f.blocks.len() as BlockId {
        while let Term::Br(s) = f.blocks[b as usize].term {
            let single = preds[s as usize].as_slice() == [b];
            if !single || s == b || s == 0 || !f.blocks[s as usize].phis.is_empty() {
                break;
            }
            let nodes = std::mem::take(&mut f.blocks[s as usize].nodes);
            let term = std::mem::replace(&mut f.blocks[s as usize].term, Term::Unreachable);
            let pos = f.blocks[s as usize].term_pos;
            for t in term.succs() {
                for p in &mut preds[t as usize] {
                    if *p == s {
                        *p = b;
                    }
                }
                for (_, list) in &mut f.blocks[t as usize].phis {
                    for (p, _) in list {
                        if *p == s {
                            *p = b;
                        }
                    }
                }
            }
            preds[s as usize].clear();
            let blk = &mut f.blocks[b as usize];
            blk.nodes.extend(nodes);
            blk.term = term;
            blk.term_pos = pos;
        }
    }
}

/// Number of uses of each value.
pub fn use_counts(f: &Func) -> Vec<u32> {
    let mut n = vec![0u32; f.nodes.len()];
    for b in &f.blocks {
        for &v in &b.nodes {
            for &a in &f.node(v).args {
                n[a as usize] += 1;
            }
        }
        for (_, list) in &b.phis {
            for &(_, a) in list {
                n[a as usize] += 1;
            }
        }
        if let Term::CondBr(c, ..) = b.term {
            n[c as usize] += 1;
        }
    }
    n
}

/// Drops nodes and phis that nothing needs.
pub fn dead_code(f: &mut Func) {
    let mut live = vec![false; f.nodes.len()];
    let mut work = Vec::new();
    let mark = |v: V, live: &mut Vec<bool>, work: &mut Vec<V>| {
        if !std::mem::replace(&mut live[v as usize], true) {
            work.push(v);
        }
    };
    let mut phi_args: FxHashMap<V, Vec<V>> = FxHashMap::default();
    for b in &f.blocks {
        for &v in &b.nodes {
            if f.node(v).op.has_effect() {
                mark(v, &mut live, &mut work);
            }
        }
        if let Term::CondBr(c, ..) = b.term {
            mark(c, &mut live, &mut work);
        }
        for (v, list) in &b.phis {
            phi_args.insert(*v, list.iter().map(|x| x.1).collect());
        }
    }
    while let Some(v) = work.pop() {
        for &a in &f.nodes[v as usize].args {
            mark(a, &mut live, &mut work);
        }
        if let Some(list) = phi_args.get(&v) {
            for &a in list {
                mark(a, &mut live, &mut work);
            }
        }
    }
    for b in &mut f.blocks {
        b.nodes.retain(|&v| live[v as usize]);
        b.phis.retain(|(v, _)| live[*v as usize]);
    }
}

/// Common subexpressions: a pure node that a dominating block has computed already is replaced by that one.
pub fn common_subexpressions(f: &mut Func) {
    let cfg = Cfg::acyclic_facts(f);
    let mut map: FxHashMap<V, V> = FxHashMap::default();
    let mut table: FxHashMap<(Op, Class, Args), Vec<(BlockId, V)>> = FxHashMap::default();
    for &b in &cfg.order {
        let nodes = std::mem::take(&mut f.blocks[b as usize].nodes);
        let mut kept = Vec::with_capacity(nodes.len());
        for v in nodes {
            let n = &mut f.nodes[v as usize];
            for a in &mut n.args {
                while let Some(&r) = map.get(a) {
                    *a = r;
                }
            }
            if !n.op.is_pure() {
                kept.push(v);
                continue;
            }
            let key = (n.op, n.class, n.args.clone());
            let list = table.entry(key).or_default();
            if let Some(&(_, old)) = list.iter().find(|(d, _)| cfg.dominates(*d, b)) {
                map.insert(v, old);
            } else {
                list.push((b, v));
                kept.push(v);
            }
        }
        f.blocks[b as usize].nodes = kept;
    }
    replace(f, &map);
}
