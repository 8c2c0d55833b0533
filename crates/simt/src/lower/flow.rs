//! Makes the [`Shape`] of a kernel from its SSA form: which instruction waits for which. Knows the SSA form and classes;
//! must not know costs.

use rustc_hash::FxHashMap;

use super::sir::{BlockId, Func, InstrClass, Op, Term, V};
use crate::shape::{BlockShape, NO_POINT, NodeShape, PhiShape, Shape};

/// Values that an operand may stand for once free operations are looked through; more add nothing to the wait.
const MAX_OPERANDS: usize = 8;

/// Builds shapes block by block.
pub struct Flow<'a> {
    f: &'a Func,
    classes: &'a [Option<InstrClass>],
    /// What a value waits for, free operations looked through.
    through: FxHashMap<V, Vec<u32>>,
    /// Extra numbers, for instructions that have no value of their own.
    next: u32,
    blocks: Vec<BlockShape>,
}

impl<'a> Flow<'a> {
    /// For `f`, whose nodes have these classes.
    pub fn new(f: &'a Func, classes: &'a [Option<InstrClass>]) -> Self {
        Self { f, classes, through: FxHashMap::default(), next: f.nodes.len() as u32, blocks: Vec::new() }
    }

    /// The instructions and phis that `v` waits for.
    fn waits(&mut self, v: V, depth: u32) -> Vec<u32> {
        if let Some(found) = self.through.get(&v) {
            return found.clone();
        }
        let node = self.f.node(v);
        let list = match node.op {
            _ if self.classes.get(v as usize).copied().flatten().is_some() => vec![v],
            Op::Phi => vec![v],
            Op::Const(_) | Op::Param(_) | Op::Nop => Vec::new(),
            // A value that depends on nothing but free operations is there from the start.
            _ if depth > 64 => Vec::new(),
            _ => {
                let args = node.args.clone();
                let mut list: Vec<u32> = args.iter().flat_map(|&a| self.waits(a, depth + 1)).collect();
                list.sort_unstable();
                list.dedup();
                list.truncate(MAX_OPERANDS);
                list
            }
        };
        self.through.insert(v, list.clone());
        list
    }

    fn operands(&mut self, args: &[V]) -> Vec<u32> {
        let mut list: Vec<u32> = args.iter().flat_map(|&a| self.waits(a, 0)).collect();
        list.sort_unstable();
        list.dedup();
        list
    }

    /// Adds block `b`. `points` gives the program point of its memory instructions; `number` maps blocks to those of the
    /// linear program; `copies` is how many register copies end it.
    pub fn block(&mut self, b: BlockId, points: &FxHashMap<V, u32>, number: &dyn Fn(BlockId) -> u32, copies: usize) {
        let blk = &self.f.blocks[b as usize];
        let mut out = BlockShape::default();
        for (v, list) in &blk.phis {
            let mut from = Vec::new();
            for &(p, x) in list {
                // Of several, the one made last decides; the others are older as a rule.
                if let Some(&w) = self.waits(x, 0).iter().max() {
                    from.push((number(p), w));
                }
            }
            out.phis.push(PhiShape { value: *v, from });
        }
        for &v in &blk.nodes {
            let Some(class) = self.classes.get(v as usize).copied().flatten() else { continue };
            let node = self.f.node(v);
            let operands = self.operands(&node.args);
            let words = node
                .op
                .mem(node.args.len())
                .map_or(0, |(m, _)| (m.elem.bytes() * u32::from(m.count)).div_ceil(4).min(255) as u8);
            let point = points.get(&v).copied().unwrap_or(NO_POINT);
            out.nodes.push(NodeShape { class, value: v, operands, point, words });
        }
        for _ in 0..copies {
            let value = self.fresh();
            out.nodes.push(NodeShape {
                class: InstrClass::Move,
                value,
                operands: Vec::new(),
                point: NO_POINT,
                words: 0,
            });
        }
        if let Term::CondBr(c, ..) = blk.term {
            let value = self.fresh();
            let operands = self.operands(&[c]);
            out.nodes.push(NodeShape { class: InstrClass::Branch, value, operands, point: NO_POINT, words: 0 });
        }
        self.blocks.push(out);
    }

    fn fresh(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    /// The shape, with values renumbered densely.
    pub fn finish(self) -> Shape {
        let mut dense: FxHashMap<u32, u32> = FxHashMap::default();
        let mut blocks = self.blocks;
        for b in &blocks {
            for v in b.phis.iter().map(|p| p.value).chain(b.nodes.iter().map(|n| n.value)) {
                let next = dense.len() as u32;
                dense.entry(v).or_insert(next);
            }
        }
        for b in &mut blocks {
            for p in &mut b.phis {
                p.value = dense.get(&p.value).copied().unwrap_or(0);
                p.from.retain_mut(|(_, v)| dense.get(v).map(|&d| *v = d).is_some());
            }
            for n in &mut b.nodes {
                n.value = dense.get(&n.value).copied().unwrap_or(0);
                n.operands.retain_mut(|v| dense.get(v).map(|&d| *v = d).is_some());
            }
        }
        let private_bytes = self.f.private_bytes;
        Shape { blocks, values: dense.len() as u32, register_halves: 0, private_bytes }
    }
}
