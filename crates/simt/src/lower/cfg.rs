//! Control-flow facts of a kernel: order, dominators, post-dominators, loops. Knows blocks, no operations.

use super::LowerError;
use super::sir::{BlockId, Func};

/// No block.
pub const NONE: BlockId = BlockId::MAX;

/// A natural loop.
#[derive(Clone, Debug)]
pub struct Loop {
    /// The block every iteration starts with.
    pub header: BlockId,
    /// The block that branches back.
    pub latch: BlockId,
    /// Enclosing loop.
    pub parent: Option<usize>,
    /// Blocks, inner loops included.
    pub blocks: Vec<BlockId>,
}

/// Facts about one state of the graph.
#[derive(Clone, Debug)]
pub struct Cfg {
    /// Predecessors.
    pub preds: Vec<Vec<BlockId>>,
    /// Reachable blocks in topological order (back edges aside) with the blocks of each loop contiguous.
    pub order: Vec<BlockId>,
    /// Position in `order`; `u32::MAX` for unreachable blocks.
    pub index: Vec<u32>,
    /// Immediate dominator.
    pub idom: Vec<BlockId>,
    /// Loops, outer before inner.
    pub loops: Vec<Loop>,
    /// Innermost loop of each block.
    pub loop_of: Vec<Option<usize>>,
}

fn rpo(f: &Func) -> Vec<BlockId> {
    let mut seen = vec![false; f.blocks.len()];
    let mut post = Vec::new();
    let mut stack = vec![(0u32, f.blocks[0].term.succs(), 0usize)];
    seen[0] = true;
    while let Some((b, succs, i)) = stack.last_mut() {
        // Visited in reverse, so that the first successor comes first in the result.
        if *i < succs.len() {
            let s = succs[succs.len() - 1 - *i];
            *i += 1;
            if !seen[s as usize] {
                seen[s as usize] = true;
                stack.push((s, f.blocks[s as usize].term.succs(), 0));
            }
        } else {
            post.push(*b);
            stack.pop();
        }
    }
    post.reverse();
    post
}

/// Immediate dominators by the algorithm of Cooper, Harvey and Kennedy (2001).
fn dominators(order: &[BlockId], index: &[u32], preds: &[Vec<BlockId>]) -> Vec<BlockId> {
    let mut idom = vec![NONE; index.len()];
    let Some(&root) = order.first() else { return idom };
    idom[root as usize] = root;
    let mut changed = true;
    while changed {
        changed = false;
        for &b in order.iter().skip(1) {
            let mut new = NONE;
            for &p in &preds[b as usize] {
                if index[p as usize] == u32::MAX || idom[p as usize] == NONE {
                    continue;
                }
                if new == NONE {
                    new = p;
                    continue;
                }
                let (mut x, mut y) = (p, new);
                while x != y {
                    while index[x as usize] > index[y as usize] {
                        x = idom[x as usize];
                    }
                    while index[y as usize] > index[x as usize] {
                        y = idom[y as usize];
                    }
                }
                new = x;
            }
            if new != idom[b as usize] {
                idom[b as usize] = new;
                changed = true;
            }
        }
    }
    idom
}

impl Cfg {
    /// Analyses the graph. Loops must be natural and have one latch each: see [`super::loops::canonicalise`].
    pub fn new(f: &Func) -> Result<Self, LowerError> {
        let mut c = Self::acyclic_facts(f);
        c.find_loops(f)?;
        c.adopt_exit_edges(f);
        c.arrange(f)?;
        Ok(c)
    }

    /// Order and dominators only.
    pub fn acyclic_facts(f: &Func) -> Self {
        let preds = f.preds();
        let order = rpo(f);
        let mut index = vec![u32::MAX; f.blocks.len()];
        for (i, &b) in order.iter().enumerate() {
            index[b as usize] = i as u32;
        }
        let idom = dominators(&order, &index, &preds);
        let n = f.blocks.len();
        Self { preds, order, index, idom, loops: Vec::new(), loop_of: vec![None; n] }
    }

    /// Does `a` dominate `b`?
    pub fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        let mut b = b;
        loop {
            if a == b {
                return true;
            }
            let up = self.idom[b as usize];
            if up == b || up == NONE {
                return false;
            }
            b = up;
        }
    }

    /// Back edges: an edge to a block that dominates its source.
    pub fn back_edges(&self, f: &Func) -> Result<Vec<(BlockId, BlockId)>, LowerError> {
        let mut out = Vec::new();
        for &b in &self.order {
            for s in f.blocks[b as usize].term.succs() {
                if self.index[s as usize] <= self.index[b as usize] {
                    if !self.dominates(s, b) {
                        return Err(LowerError::unsupported("a loop with two entries"));
                    }
                    if !out.contains(&(b, s)) {
                        out.push((b, s));
                    }
                }
            }
        }
        Ok(out)
    }

    fn find_loops(&mut self, f: &Func) -> Result<(), LowerError> {
        let mut edges = self.back_edges(f)?;
        // Outer loops have headers earlier in the order.
        edges.sort_by_key(|&(l, h)| (self.index[h as usize], std::cmp::Reverse(self.index[l as usize])));
        for (latch, header) in edges {
            if self.loops.last().is_some_and(|l| l.header == header) {
                return Err(LowerError::malformed("a loop with two latches"));
            }
            let mut blocks = vec![header];
            let mut inside = vec![false; f.blocks.len()];
            inside[header as usize] = true;
            let mut work = vec![latch];
            while let Some(b) = work.pop() {
                if std::mem::replace(&mut inside[b as usize], true) {
                    continue;
                }
                blocks.push(b);
                work.extend(self.preds[b as usize].iter().filter(|&&p| self.index[p as usize] != u32::MAX));
            }
            let parent = self.loop_of[header as usize];
            let id = self.loops.len();
            for &b in &blocks {
                self.loop_of[b as usize] = Some(id);
            }
            self.loops.push(Loop { header, latch, parent, blocks });
        }
        Ok(())
    }

    /// Counts the blocks on edges that leave a loop as part of it: lanes must make the copies such a block holds when
    /// they leave, not when all have left and others have overwritten what is to be copied.
    fn adopt_exit_edges(&mut self, f: &Func) {
        for &b in &self.order {
            let blk = &f.blocks[b as usize];
            let [p] = self.preds[b as usize].as_slice() else { continue };
            if !blk.nodes.is_empty() || !matches!(blk.term, super::sir::Term::Br(_)) {
                continue;
            }
            let home = self.loop_of[b as usize];
            let inner = self.loop_of[*p as usize];
            let mut at = inner;
            while at != home {
                let Some(l) = at else { break };
                self.loops[l].blocks.push(b);
                at = self.loops[l].parent;
            }
            // Only where the edge really leaves `inner`; otherwise `home` is inside it and nothing was added.
            if at == home && inner != home {
                self.loop_of[b as usize] = inner;
            }
        }
    }

    /// Is block `b` in loop `l`?
    pub fn in_loop(&self, b: BlockId, l: usize) -> bool {
        let mut at = self.loop_of[b as usize];
        while let Some(i) = at {
            if i == l {
                return true;
            }
            at = self.loops[i].parent;
        }
        false
    }

    /// Reorders so that loops are contiguous: a topological order in which each loop, once entered, is finished.
    fn arrange(&mut self, f: &Func) -> Result<(), LowerError> {
        let mut out = Vec::with_capacity(self.order.len());
        self.emit(f, None, 0, &mut out)?;
        if out.len() != self.order.len() {
            return Err(LowerError::malformed("blocks that cannot be ordered"));
        }
        for (i, &b) in out.iter().enumerate() {
            self.index[b as usize] = i as u32;
        }
        self.order = out;
        Ok(())
    }

    /// The loop directly inside `outer` that holds `b`; `None` when `b` is in `outer` itself.
    fn child(&self, b: BlockId, outer: Option<usize>) -> Option<usize> {
        let mut at = self.loop_of[b as usize];
        let mut last = None;
        while at != outer {
            last = at;
            at = self.loops[at?].parent;
        }
        last
    }

    fn emit(&self, f: &Func, outer: Option<usize>, depth: u32, out: &mut Vec<BlockId>) -> Result<(), LowerError> {
        if depth > 200 {
            return Err(LowerError::unsupported("loops nested deeper than 200"));
        }
        let blocks: Vec<BlockId> = match outer {
            None => self.order.clone(),
            Some(l) => {
                let mut b = self.loops[l].blocks.clone();
                b.sort_by_key(|&b| self.index[b as usize]);
                b
            }
        };
        let header = outer.map_or(0, |l| self.loops[l].header);
        // Units: a block, or a whole inner loop (named by its header).
        let unit = |b: BlockId| self.child(b, outer).map_or(b, |l| self.loops[l].header);
        let mut waiting = vec![0u32; f.blocks.len()];
        let inside = |b: BlockId| outer.is_none_or(|l| self.in_loop(b, l)) && self.index[b as usize] != u32::MAX;
        let mut succs: rustc_hash::FxHashMap<BlockId, Vec<BlockId>> = rustc_hash::FxHashMap::default();
        for &b in &blocks {
            let u = unit(b);
            for s in f.blocks[b as usize].term.succs() {
                if !inside(s) || s == header {
                    continue;
                }
                let t = unit(s);
                if t != u {
                    let list = succs.entry(u).or_default();
                    if !list.contains(&t) {
                        list.push(t);
                        waiting[t as usize] += 1;
                    }
                }
            }
        }
        // Depth first: a unit is placed once all its predecessors are, and the one last made ready goes first, which
        // keeps the two sides of a branch apart and short-lived values short.
        // The latch goes last: lanes that leave must have left before the others start over.
        let latch = outer.map(|l| unit(self.loops[l].latch));
        let mut ready = vec![unit(header)];
        // Blocks on exit edges go first: what they copy need then not be kept while the rest of the loop runs.
        let leaves =
            |u: BlockId| outer.is_some_and(|l| f.blocks[u as usize].term.succs().iter().all(|&s| !self.in_loop(s, l)));
        while let Some(at) = ready
            .iter()
            .rposition(|&u| leaves(u))
            .or_else(|| ready.iter().rposition(|&u| Some(u) != latch))
            .or(ready.len().checked_sub(1))
        {
            let u = ready.remove(at);
            match self.child(u, outer) {
                Some(l) => self.emit(f, Some(l), depth + 1, out)?,
                None => out.push(u),
            }
            if let Some(list) = succs.get(&u) {
                for &t in list.iter().rev() {
                    let w = &mut waiting[t as usize];
                    *w -= 1;
                    if *w == 0 {
                        ready.push(t);
                    }
                }
            }
        }
        Ok(())
    }

    /// Immediate post-dominators within one iteration of a loop: going back to its header and leaving it both count as
    /// the end. `NONE` where that end is the only one, and outside the loop. Loops inside it run to their own ends.
    pub fn iteration_post_dominators(&self, f: &Func, l: usize) -> Vec<BlockId> {
        let n = f.blocks.len();
        let root = n as BlockId;
        let header = self.loops[l].header;
        let mut rev: Vec<Vec<BlockId>> = vec![Vec::new(); n + 1]; // predecessors in the reversed graph
        let mut fwd: Vec<Vec<BlockId>> = vec![Vec::new(); n + 1]; // successors in the reversed graph
        let mut link = |from: BlockId, to: BlockId| {
            rev[to as usize].push(from);
            fwd[from as usize].push(to);
        };
        for &b in &self.loops[l].blocks {
            let succs = f.blocks[b as usize].term.succs();
            if succs.is_empty() {
                link(root, b);
            }
            for s in succs {
                link(if s == header || !self.in_loop(s, l) { root } else { s }, b);
            }
        }
        // An endless inner loop has no way out: its latch is one.
        for (i, inner) in self.loops.iter().enumerate() {
            let endless = i != l
                && self.in_loop(inner.header, l)
                && !inner
                    .blocks
                    .iter()
                    .any(|&b| f.blocks[b as usize].term.succs().iter().any(|&s| !self.in_loop(s, i)));
            if endless {
                link(root, inner.latch);
            }
        }
        let mut seen = vec![false; n + 1];
        let mut post = Vec::new();
        let mut stack = vec![(root, 0usize)];
        seen[n] = true;
        while let Some((b, i)) = stack.last_mut() {
            if let Some(&s) = fwd[*b as usize].get(*i) {
                *i += 1;
                if !seen[s as usize] {
                    seen[s as usize] = true;
                    stack.push((s, 0));
                }
            } else {
                post.push(*b);
                stack.pop();
            }
        }
        post.reverse();
        let mut index = vec![u32::MAX; n + 1];
        for (i, &b) in post.iter().enumerate() {
            index[b as usize] = i as u32;
        }
        let mut ip = dominators(&post, &index, &rev);
        ip.truncate(n);
        for p in &mut ip {
            if *p == root {
                *p = NONE;
            }
        }
        ip
    }
}
