//! Which values are the same in all active lanes, and which branches split a simdgroup. Knows the machine's rule of
//! reconvergence: lanes run in block order, so lanes in a loop iterate together and meet at its latch.

use rustc_hash::FxHashMap;

use super::cfg::{Cfg, NONE};
use super::sir::{BlockId, Func, Op, ReduceOp, ShuffleKind, Space, Term, V};
use ksearch_msl::abi::SpecialRegister as Sr;

/// Result of the analysis.
#[derive(Clone, Debug)]
pub struct Divergence {
    /// Per value: may lanes differ?
    pub value: Vec<bool>,
    /// Per block: may its branch split the active lanes?
    pub branch: Vec<bool>,
    /// Per loop: may lanes leave in different iterations?
    pub exits: Vec<bool>,
}

/// Is this special register the same in a whole simdgroup?
pub fn uniform_register(r: Sr) -> bool {
    !matches!(
        r,
        Sr::ThreadInGroupX
            | Sr::ThreadInGroupY
            | Sr::ThreadInGroupZ
            | Sr::Lane
            | Sr::ThreadIndex
            | Sr::ThreadInGridX
            | Sr::ThreadInGridY
            | Sr::ThreadInGridZ
    )
}

fn node_divergent(f: &Func, v: V, d: &[bool]) -> bool {
    let n = f.node(v);
    let any = || n.args.iter().any(|&a| d[a as usize]);
    match n.op {
        Op::Sr(r) => !uniform_register(r),
        Op::Load(m) => m.space == Space::Private || m.atomic || (m.space == Space::Generic) || any(),
        Op::Rmw(..) | Op::CmpXchg(_) | Op::IsFirst | Op::Mma(_) | Op::QuadReduce(..) => true,
        Op::Shuffle(ShuffleKind::BroadcastFirst) | Op::Ballot | Op::ActiveMask => false,
        Op::Shuffle(ShuffleKind::Index | ShuffleKind::Broadcast) => d[n.args[1] as usize],
        Op::Shuffle(_) => true,
        Op::Reduce(op, _) => matches!(
            op,
            ReduceOp::InclusiveSum | ReduceOp::ExclusiveSum | ReduceOp::InclusiveProduct | ReduceOp::ExclusiveProduct
        ),
        _ => any(),
    }
}

/// Labels carried forward from the two sides of a branch.
struct Labels {
    of: FxHashMap<BlockId, BlockId>,
    joins: Vec<BlockId>,
}

impl Labels {
    /// A path with label `l` reaches `s`: the first label stays, another one makes a join.
    fn reach(&mut self, s: BlockId, l: BlockId) {
        match self.of.get(&s) {
            None => {
                self.of.insert(s, l);
            }
            Some(&m) if m != l => {
                self.of.insert(s, s);
                if !self.joins.contains(&s) {
                    self.joins.push(s);
                }
            }
            _ => {}
        }
    }
}

/// Blocks where paths from the two sides of the branch of `b` meet. A path that starts its loop over may leave the loop
/// at any of its exits in a later iteration.
fn joins(f: &Func, cfg: &Cfg, exits: &[Vec<BlockId>], b: BlockId) -> Vec<BlockId> {
    let mut labels = Labels { of: FxHashMap::default(), joins: Vec::new() };
    let back = |header: BlockId| cfg.loops.iter().position(|l| l.header == header);
    let start = cfg.index[b as usize];
    let step = |labels: &mut Labels, from: BlockId, s: BlockId, l: BlockId| {
        if cfg.index[s as usize] > cfg.index[from as usize] {
            labels.reach(s, l);
        } else if let Some(id) = back(s) {
            for &e in &exits[id] {
                labels.reach(e, l);
            }
        }
    };
    for s in f.blocks[b as usize].term.succs() {
        step(&mut labels, b, s, s);
    }
    for &x in cfg.order.iter().skip(start as usize + 1) {
        let Some(&l) = labels.of.get(&x) else { continue };
        for s in f.blocks[x as usize].term.succs() {
            step(&mut labels, x, s, l);
        }
    }
    labels.joins
}

/// Runs the analysis.
pub fn analyse(f: &Func, cfg: &Cfg) -> Divergence {
    let ipdom: Vec<Vec<BlockId>> = (0..cfg.loops.len()).map(|l| cfg.iteration_post_dominators(f, l)).collect();
    let post_dominates = |l: usize, x: BlockId, b: BlockId| {
        let mut at = b;
        while at != NONE {
            if at == x {
                return true;
            }
            at = ipdom[l][at as usize];
        }
        false
    };
    let mut d = Divergence {
        value: vec![false; f.nodes.len()],
        branch: vec![false; f.blocks.len()],
        exits: vec![false; cfg.loops.len()],
    };
    let mut join = vec![false; f.blocks.len()];
    let targets: Vec<Vec<BlockId>> = cfg
        .loops
        .iter()
        .enumerate()
        .map(|(id, l)| {
            let mut t: Vec<BlockId> = l
                .blocks
                .iter()
                .flat_map(|&b| f.blocks[b as usize].term.succs())
                .filter(|&s| !cfg.in_loop(s, id))
                .collect();
            t.sort_unstable();
            t.dedup();
            t
        })
        .collect();
    loop {
        let mut changed = false;
        for &b in &cfg.order {
            let blk = &f.blocks[b as usize];
            for (v, list) in &blk.phis {
                if d.value[*v as usize] {
                    continue;
                }
                // Closed-SSA phis of a loop that lanes leave at different times.
                let leaves_divergent = list.iter().any(|&(p, _)| {
                    let mut at = cfg.loop_of[p as usize];
                    while let Some(l) = at {
                        if cfg.in_loop(b, l) {
                            break;
                        }
                        if d.exits[l] {
                            return true;
                        }
                        at = cfg.loops[l].parent;
                    }
                    false
                });
                if join[b as usize] || leaves_divergent || list.iter().any(|&(_, x)| d.value[x as usize]) {
                    d.value[*v as usize] = true;
                    changed = true;
                }
            }
            for &v in &blk.nodes {
                if !d.value[v as usize] && node_divergent(f, v, &d.value) {
                    d.value[v as usize] = true;
                    changed = true;
                }
            }
            if let Term::CondBr(c, ..) = blk.term
                && d.value[c as usize]
                && !d.branch[b as usize]
            {
                d.branch[b as usize] = true;
                changed = true;
                for j in joins(f, cfg, &targets, b) {
                    join[j as usize] = true;
                }
            }
        }
        for (id, l) in cfg.loops.iter().enumerate() {
            if d.exits[id] {
                continue;
            }
            let split: Vec<BlockId> = l.blocks.iter().copied().filter(|&b| d.branch[b as usize]).collect();
            let exit_split = l.blocks.iter().any(|&x| {
                let leaves = f.blocks[x as usize].term.succs().iter().any(|&s| !cfg.in_loop(s, id));
                leaves
                    && split.iter().any(|&b| {
                        b == x || (cfg.index[x as usize] > cfg.index[b as usize] && !post_dominates(id, x, b))
                    })
            });
            if exit_split {
                d.exits[id] = true;
                changed = true;
            }
        }
        if !changed {
            return d;
        }
    }
}
