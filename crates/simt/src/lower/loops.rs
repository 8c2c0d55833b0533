//! Brings loops into the form the machine needs: one latch, a preheader, closed SSA (values leave a loop through phis of
//! its exit blocks), no critical edges; and moves invariant code out of them.

use rustc_hash::FxHashMap;

use super::LowerError;
use super::cfg::Cfg;
use super::sir::{Args, Block, BlockId, Func, Node, Op, Term, V};

fn new_block(f: &mut Func, to: BlockId, pos: u32) -> BlockId {
    f.blocks.push(Block { phis: Vec::new(), nodes: Vec::new(), term: Term::Br(to), term_pos: pos });
    f.blocks.len() as BlockId - 1
}

fn new_phi(f: &mut Func, like: V) -> V {
    let n = f.node(like).clone();
    f.nodes.push(Node { op: Op::Phi, args: Args::new(), ..n });
    f.nodes.len() as V - 1
}

/// Redirects the edges from `preds` to `to` through a new block, merging phi operands there.
fn funnel(f: &mut Func, preds: &[BlockId], to: BlockId) -> BlockId {
    let pos = preds.first().map_or(super::sir::NO_POS, |&p| f.blocks[p as usize].term_pos);
    let mid = new_block(f, to, pos);
    for &p in preds {
        f.blocks[p as usize].term.map_succs(|s| if s == to { mid } else { s });
    }
    let mut phis = std::mem::take(&mut f.blocks[to as usize].phis);
    for (v, list) in &mut phis {
        let moved: Vec<(BlockId, V)> = list.iter().filter(|(p, _)| preds.contains(p)).copied().collect();
        list.retain(|(p, _)| !preds.contains(p));
        let same = moved.first().map(|x| x.1).filter(|x| moved.iter().all(|y| y.1 == *x));
        let x = match same {
            Some(x) => x,
            None => {
                let n = new_phi(f, *v);
                f.blocks[mid as usize].phis.push((n, moved));
                n
            }
        };
        list.push((mid, x));
    }
    f.blocks[to as usize].phis = phis;
    mid
}

/// One latch and one preheader for each loop.
pub fn canonicalise(f: &mut Func) -> Result<(), LowerError> {
    let cfg = Cfg::acyclic_facts(f);
    let mut by_header: FxHashMap<BlockId, Vec<BlockId>> = FxHashMap::default();
    for (l, h) in cfg.back_edges(f)? {
        by_header.entry(h).or_default().push(l);
    }
    let mut headers: Vec<_> = by_header.into_iter().collect();
    headers.sort_by_key(|(h, _)| cfg.index[*h as usize]);
    for (h, latches) in headers {
        // A latch that also leaves the loop is fine; several are funnelled. The latch must branch back alone when it
        // carries phi copies, which splitting critical edges sees to.
        if latches.len() > 1 {
            funnel(f, &latches, h);
        }
        let latch_now: Vec<BlockId> = f.preds()[h as usize].clone();
        let entries: Vec<BlockId> =
            latch_now.into_iter().filter(|p| !latches.contains(p) && (*p as usize) < cfg.index.len()).collect();
        let plain = match entries.as_slice() {
            [p] => f.blocks[*p as usize].term.succs().len() == 1,
            _ => false,
        };
        if !plain && !entries.is_empty() {
            funnel(f, &entries, h);
        }
    }
    Ok(())
}

/// Puts a block on each edge from a block with several successors to one with several predecessors, and on each edge
/// that leaves a loop towards a block with other predecessors or phis.
pub fn split_critical_edges(f: &mut Func) {
    let preds = f.preds();
    for b in 0..f.blocks.len() as BlockId {
        let succs = f.blocks[b as usize].term.succs();
        if succs.len() < 2 {
            continue;
        }
        for s in succs {
            if preds[s as usize].len() > 1 || !f.blocks[s as usize].phis.is_empty() {
                let pos = f.blocks[b as usize].term_pos;
                let mid = new_block(f, s, pos);
                f.blocks[b as usize].term.map_succs(|t| if t == s { mid } else { t });
                for (_, list) in &mut f.blocks[s as usize].phis {
                    for (p, _) in list {
                        if *p == b {
                            *p = mid;
                        }
                    }
                }
            }
        }
    }
}

/// Moves pure nodes whose operands are defined outside a loop to the block before it.
pub fn hoist_invariants(f: &mut Func, cfg: &Cfg) {
    let mut home: Vec<Option<BlockId>> = vec![None; f.nodes.len()];
    for (i, b) in f.blocks.iter().enumerate() {
        for &v in b.nodes.iter().chain(b.phis.iter().map(|p| &p.0)) {
            home[v as usize] = Some(i as BlockId);
        }
    }
    // Outer loops last, so that a node climbs level by level.
    for (id, l) in cfg.loops.iter().enumerate().rev() {
        let Some(&pre) = cfg.preds[l.header as usize].iter().find(|&&p| p != l.latch) else { continue };
        let mut order: Vec<BlockId> = l.blocks.clone();
        order.sort_by_key(|&b| cfg.index[b as usize]);
        for b in order {
            let nodes = std::mem::take(&mut f.blocks[b as usize].nodes);
            let mut kept = Vec::with_capacity(nodes.len());
            for v in nodes {
                let n = f.node(v);
                let invariant =
                    n.op.is_pure() && n.args.iter().all(|&a| home[a as usize].is_none_or(|h| !cfg.in_loop(h, id)));
                if invariant {
                    f.blocks[pre as usize].nodes.push(v);
                    home[v as usize] = Some(pre);
                } else {
                    kept.push(v);
                }
            }
            f.blocks[b as usize].nodes = kept;
        }
    }
}

/// Makes every value that is used outside the loop it is defined in pass through a phi of an exit block.
pub fn close(f: &mut Func) -> Result<(), LowerError> {
    let cfg = Cfg::new(f)?;
    let mut home: Vec<Option<BlockId>> = vec![None; f.nodes.len()];
    for (i, b) in f.blocks.iter().enumerate() {
        for &v in b.nodes.iter().chain(b.phis.iter().map(|p| &p.0)) {
            home[v as usize] = Some(i as BlockId);
        }
    }
    // Inner loops first: their exit phis are ordinary values of the outer loop.
    for id in (0..cfg.loops.len()).rev() {
        let mut exits: Vec<BlockId> = Vec::new();
        for &b in &cfg.loops[id].blocks {
            for s in f.blocks[b as usize].term.succs() {
                if !cfg.in_loop(s, id) && !exits.contains(&s) {
                    exits.push(s);
                }
            }
        }
        exits.sort_by_key(|&e| cfg.index[e as usize]);
        let mut escaping: Vec<V> = Vec::new();
        let inside = |h: Option<BlockId>| h.is_some_and(|h| cfg.in_loop(h, id));
        let mut seen = rustc_hash::FxHashSet::default();
        for (i, b) in f.blocks.iter().enumerate() {
            let b_in = cfg.in_loop(i as BlockId, id);
            let mut note = |v: V| {
                if inside(home[v as usize]) && seen.insert(v) {
                    escaping.push(v);
                }
            };
            if !b_in {
                for &v in &b.nodes {
                    f.node(v).args.iter().copied().for_each(&mut note);
                }
                if let Term::CondBr(c, ..) = b.term {
                    note(c);
                }
            }
            for (_, list) in &b.phis {
                for &(p, v) in list {
                    // A phi operand is used at the end of its predecessor.
                    if !cfg.in_loop(p, id) {
                        note(v);
                    }
                }
            }
        }
        // Phis of exit blocks that take a value straight from the loop are closed already.
        for v in escaping {
            close_value(f, &cfg, &mut home, id, &exits, v);
        }
    }
    Ok(())
}

/// Rewrites the uses of `v` outside loop `id` by SSA construction from phis at the exits.
fn close_value(f: &mut Func, cfg: &Cfg, home: &mut Vec<Option<BlockId>>, id: usize, exits: &[BlockId], v: V) {
    let Some(def) = home[v as usize] else { return };
    let mut at_end: FxHashMap<BlockId, V> = FxHashMap::default();
    for &e in exits {
        if !cfg.dominates(def, e) {
            continue;
        }
        let p = new_phi(f, v);
        home.push(Some(e));
        let list = cfg.preds[e as usize].iter().map(|&q| (q, v)).collect();
        f.blocks[e as usize].phis.push((p, list));
        at_end.insert(e, p);
    }
    // Uses outside, each reached by exactly the exit phis that dominate it or by merges of them.
    let n_blocks = f.blocks.len() as BlockId;
    for b in 0..n_blocks {
        if cfg.index[b as usize] == u32::MAX {
            continue;
        }
        if !cfg.in_loop(b, id) {
            let uses: Vec<V> = f.blocks[b as usize].nodes.clone();
            for u in uses {
                if f.node(u).args.contains(&v) {
                    let x = reaching(f, cfg, home, &mut at_end, id, v, b);
                    for a in &mut f.nodes[u as usize].args {
                        if *a == v {
                            *a = x;
                        }
                    }
                }
            }
            if matches!(f.blocks[b as usize].term, Term::CondBr(c, ..) if c == v) {
                let x = reaching(f, cfg, home, &mut at_end, id, v, b);
                if let Term::CondBr(c, ..) = &mut f.blocks[b as usize].term {
                    *c = x;
                }
            }
        }
        let n_phis = f.blocks[b as usize].phis.len();
        for k in 0..n_phis {
            let entries = f.blocks[b as usize].phis[k].1.clone();
            for (j, (p, x)) in entries.into_iter().enumerate() {
                if x == v && !cfg.in_loop(p, id) {
                    let r = reaching(f, cfg, home, &mut at_end, id, v, p);
                    f.blocks[b as usize].phis[k].1[j].1 = r;
                }
            }
        }
    }
}

/// The value that stands for `v` at the end of block `b`, outside loop `id`.
fn reaching(
    f: &mut Func,
    cfg: &Cfg,
    home: &mut Vec<Option<BlockId>>,
    at_end: &mut FxHashMap<BlockId, V>,
    id: usize,
    v: V,
    b: BlockId,
) -> V {
    // Walk up while there is one way to come; a chain is filled in at once, so deep graphs need no deep recursion.
    let mut chain = Vec::new();
    let mut at = b;
    let found = loop {
        if let Some(&x) = at_end.get(&at) {
            break x;
        }
        if cfg.in_loop(at, id) {
            break v;
        }
        chain.push(at);
        let preds: Vec<BlockId> =
            cfg.preds[at as usize].iter().copied().filter(|&p| cfg.index[p as usize] != u32::MAX).collect();
        match preds.as_slice() {
            [] => break v,
            [p] => at = *p,
            _ => {
                let phi = new_phi(f, v);
                home.push(Some(at));
                at_end.insert(at, phi);
                let mut list = Vec::new();
                for p in preds {
                    let x = reaching(f, cfg, home, at_end, id, v, p);
                    list.push((p, x));
                }
                f.blocks[at as usize].phis.push((phi, list));
                break phi;
            }
        }
    };
    for c in chain {
        at_end.insert(c, found);
    }
    found
}
