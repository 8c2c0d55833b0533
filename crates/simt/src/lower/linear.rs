//! The finished program: blocks in their order, instructions with register operands, static facts for counters. Made
//! from the SSA form; knows how lanes reconverge (in block order), not how instructions are carried out.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use ksearch_msl::SourcePos;

use super::LowerError;
use super::alloc::{Live, assign};
use super::cfg::{Cfg, NONE};
use super::classify::{classify, halves};
use super::diverge::{Divergence, analyse};
use super::flow::Flow;
use super::sir::{BlockId, Class, Func, InstrClass, NO_POS, Op, Term, V};
use crate::shape::Shape;

/// A register operand: byte offset into the simdgroup's frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reg {
    /// Byte offset.
    pub off: u32,
    /// One scalar for the simdgroup rather than one per lane. Predicates are one mask either way.
    pub uniform: bool,
    /// Register class.
    pub class: Class,
}

/// A linear operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LOp {
    /// An SSA operation.
    Op(Op),
    /// Start of block.
    Enter(u32),
    /// Copy under the mask (phi).
    Copy,
    /// Jump to a block.
    Jump(u32),
    /// Branch whose condition is the same in all active lanes.
    Branch(u32, u32),
    /// Branch that may split the active lanes.
    Split(u32, u32),
    /// Lanes are done.
    Ret,
    /// Control never gets here.
    Unreachable,
}

/// A linear instruction.
#[derive(Clone, Debug)]
pub struct LInst {
    /// What to do.
    pub op: LOp,
    /// Results; several for loads of vectors.
    pub dst: SmallVec<[Reg; 2]>,
    /// Operands.
    pub args: SmallVec<[Reg; 4]>,
    /// Index into [`Lowered::positions`].
    pub pos: u32,
}

/// A block of the linear program.
#[derive(Clone, Debug)]
pub struct LBlock {
    /// Index of its first instruction.
    pub first: u32,
    /// Instructions a GPU would issue, by class and position.
    pub issue: Vec<(u32, InstrClass)>,
    /// Longest dependent chain through the block, by class.
    pub chain: Vec<(InstrClass, u32)>,
    /// Rounds of device loads on that chain.
    pub chain_loads: u32,
    /// Position of the terminator.
    pub term_pos: u32,
}

/// A lowered kernel.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// Instructions, block after block.
    pub insts: Vec<LInst>,
    /// Blocks in order.
    pub blocks: Vec<LBlock>,
    /// Bytes of a simdgroup's frame.
    pub frame_bytes: u32,
    /// Initial contents of scalar slots: offset, value, class.
    pub init: Vec<(u32, u64, Class)>,
    /// Source positions.
    pub positions: Vec<SourcePos>,
    /// Names of the user's variables, by instruction and number of the result (for a store: of the value it writes).
    pub variables: FxHashMap<(u32, u32), Arc<str>>,
    /// Threadgroup memory declared by the kernel, bytes.
    pub static_threadgroup: u32,
    /// Private memory per thread, bytes.
    pub private_bytes: u32,
    /// Contents of the constant globals.
    pub constants: Vec<u8>,
    /// 16-bit register halves live at most, per thread.
    pub register_halves: u32,
    /// What blocks issue and which results instructions wait for.
    pub shape: Arc<Shape>,
    /// Parameters whose memory the kernel may write; `None` when a store's pointer cannot be traced to one.
    pub written_params: Option<Vec<u32>>,
    /// Parameters that nothing in the kernel reads.
    pub unused_params: Vec<u32>,
}

impl Reg {
    /// The offset.
    pub fn off(self) -> u32 {
        self.off
    }
}

impl Lowered {
    /// Does any instruction read the register at `off`?
    pub fn is_read(&self, off: u32) -> bool {
        self.insts.iter().any(|i| i.args.iter().any(|a| a.off == off))
    }

    /// Program points of memory instructions that no block of the shape issues.
    pub fn in_advance(&self) -> Vec<u32> {
        let issued: FxHashSet<u32> = self.shape.blocks.iter().flat_map(|b| &b.nodes).map(|n| n.point).collect();
        let memory = |i: &LInst| matches!(i.op, LOp::Op(Op::Load(_) | Op::Store(_) | Op::Rmw(..) | Op::CmpXchg(_)));
        let points = self.insts.iter().enumerate().filter(|(_, i)| memory(i)).map(|(k, _)| k as u32);
        points.filter(|p| !issued.contains(p)).collect()
    }

    /// Bytes that every access to threadgroup and to device memory is a multiple of, at most 4.
    pub fn granules(&self) -> (u32, u32) {
        use super::sir::Space;
        let (mut t, mut d) = (4, 4);
        for i in &self.insts {
            let LOp::Op(Op::Load(m) | Op::Store(m) | Op::Rmw(_, m) | Op::CmpXchg(m)) = i.op else { continue };
            let bytes = m.elem.bytes().min(4);
            if matches!(m.space, Space::Threadgroup | Space::Generic) {
                t = t.min(bytes);
            }
            if matches!(m.space, Space::Device | Space::Generic) {
                d = d.min(bytes);
            }
        }
        (t, d)
    }

    /// Source position by index.
    pub fn position(&self, pos: u32) -> Option<&SourcePos> {
        if pos == NO_POS { None } else { self.positions.get(pos as usize) }
    }
}

/// Turns a closed SSA form into a linear program.
pub fn linearise(f: &Func) -> Result<Lowered, LowerError> {
    let cfg = Cfg::new(f)?;
    let div = analyse(f, &cfg);
    let l = Linear { f, cfg: &cfg, div: &div };
    l.run()
}

struct Linear<'a> {
    f: &'a Func,
    cfg: &'a Cfg,
    div: &'a Divergence,
}

/// Numbers of the linear order.
struct Numbers {
    /// Per value: instruction that defines it.
    def: Vec<u32>,
    /// Per block: first and last instruction; the last but one is the parallel copy.
    span: Vec<(u32, u32)>,
}

impl Linear<'_> {
    /// Block that control reaches when it goes to `b`: empty blocks are passed through.
    fn forward(&self, b: BlockId, empty: &[bool]) -> BlockId {
        let mut at = b;
        for _ in 0..64 {
            match self.f.blocks[at as usize].term {
                Term::Br(t) if empty[at as usize] && t != at => at = t,
                _ => return at,
            }
        }
        b
    }

    /// The latch of a loop in which lanes take different ways stays, empty or not: it is where they meet before they
    /// start over. Jumping to the header past it would let some lanes run ahead of others.
    fn keep_latches(&self, empty: &mut [bool]) {
        for l in &self.cfg.loops {
            if l.blocks.iter().any(|&b| self.div.branch[b as usize]) {
                empty[l.latch as usize] = false;
            }
        }
    }

    fn number(&self) -> Numbers {
        let f = self.f;
        let mut n = Numbers { def: vec![u32::MAX; f.nodes.len()], span: vec![(0, 0); f.blocks.len()] };
        let mut at = 0u32;
        for &b in &self.cfg.order {
            let first = at;
            for &(v, _) in &f.blocks[b as usize].phis {
                n.def[v as usize] = at;
            }
            at += 1;
            for &v in &f.blocks[b as usize].nodes {
                // Results of a node with several are written by the node itself.
                let node = f.node(v);
                n.def[v as usize] = if matches!(node.op, Op::Part(_)) { n.def[node.args[0] as usize] } else { at };
                at += 1;
            }
            // The parallel copy, then the terminator.
            at += 2;
            n.span[b as usize] = (first, at - 1);
        }
        n
    }

    /// Last instruction of the outermost loop that holds `b` but not `home`.
    fn loop_end(&self, b: BlockId, home: BlockId, n: &Numbers) -> Option<u32> {
        self.outermost(b, home)
            .map(|l| self.cfg.loops[l].blocks.iter().map(|&x| n.span[x as usize].1).max().unwrap_or(0))
    }

    fn outermost(&self, b: BlockId, home: BlockId) -> Option<usize> {
        let mut at = self.cfg.loop_of[b as usize];
        let mut found = None;
        while let Some(l) = at {
            if self.cfg.in_loop(home, l) {
                break;
            }
            found = Some(l);
            at = self.cfg.loops[l].parent;
        }
        found
    }

    /// Header of the outermost loop that an edge from `p` to `b` leaves and that lanes leave at different times.
    fn left_early(&self, p: BlockId, b: BlockId) -> Option<BlockId> {
        let mut at = self.cfg.loop_of[p as usize];
        let mut found = None;
        while let Some(l) = at {
            if self.cfg.in_loop(b, l) {
                break;
            }
            if self.div.exits[l] {
                found = Some(self.cfg.loops[l].header);
            }
            at = self.cfg.loops[l].parent;
        }
        found
    }

    fn live_ranges(&self, n: &Numbers) -> Vec<Live> {
        let f = self.f;
        let mut home = vec![NONE; f.nodes.len()];
        for &b in &self.cfg.order {
            for &v in &f.blocks[b as usize].nodes {
                home[v as usize] = b;
            }
            for &(v, _) in &f.blocks[b as usize].phis {
                home[v as usize] = b;
            }
        }
        // Last read of each value, loops included.
        let mut last: Vec<u32> = vec![0; f.nodes.len()];
        let mut note = |v: V, b: BlockId, at: u32| {
            let h = home[v as usize];
            if h == NONE {
                return;
            }
            let mut end = 2 * at;
            if b != h
                && let Some(e) = self.loop_end(b, h, n)
            {
                end = end.max(2 * e + 1);
            }
            last[v as usize] = last[v as usize].max(end);
        };
        for &b in &self.cfg.order {
            let blk = &f.blocks[b as usize];
            for &v in &blk.nodes {
                let node = f.node(v);
                if matches!(node.op, Op::Part(_)) {
                    continue;
                }
                for &a in &node.args {
                    note(a, b, n.def[v as usize]);
                }
            }
            if let Term::CondBr(c, ..) = blk.term {
                note(c, b, n.span[b as usize].1);
            }
            for (_, list) in &blk.phis {
                for &(p, x) in list {
                    note(x, p, n.span[p as usize].1 - 1);
                }
            }
        }
        let mut live = vec![Live::default(); f.nodes.len()];
        for &b in &self.cfg.order {
            let blk = &f.blocks[b as usize];
            for &v in &blk.nodes {
                if f.node(v).class != Class::None {
                    let d = 2 * n.def[v as usize] + 1;
                    live[v as usize].add(d, last[v as usize].max(d));
                }
            }
            for (v, list) in &blk.phis {
                // Written by copies at the ends of the predecessors; forward ones come before the block, the one
                // from a latch after it. Lanes that left a loop early keep their copy while others go on.
                let start = n.span[b as usize].0;
                let mut lo = 2 * start;
                let l = &mut live[*v as usize];
                for &(p, _) in list {
                    let copy = n.span[p as usize].1 - 1;
                    if copy < start {
                        lo = lo.min(2 * copy + 1);
                        if let Some(header) = self.left_early(p, b) {
                            lo = lo.min(2 * n.span[header as usize].0);
                        }
                    } else {
                        l.add(2 * copy + 1, 2 * n.span[p as usize].1 + 1);
                    }
                }
                l.add(lo, last[*v as usize].max(2 * start));
            }
        }
        live
    }

    fn run(&self) -> Result<Lowered, LowerError> {
        let f = self.f;
        let n = self.number();
        let live = self.live_ranges(&n);
        let uniform = |v: V| !self.div.value[v as usize];

        // Coalesce phis with their operands: inner loops first.
        let mut parent: Vec<V> = (0..f.nodes.len() as V).collect();
        fn find(parent: &mut [V], v: V) -> V {
            let mut r = v;
            while parent[r as usize] != r {
                r = parent[r as usize];
            }
            let mut at = v;
            while parent[at as usize] != r {
                at = std::mem::replace(&mut parent[at as usize], r);
            }
            r
        }
        let mut merged = live.clone();
        let depth = |b: BlockId| {
            let mut d = 0;
            let mut at = self.cfg.loop_of[b as usize];
            while let Some(l) = at {
                d += 1;
                at = self.cfg.loops[l].parent;
            }
            d
        };
        let mut pairs: Vec<(u32, V, V)> = Vec::new();
        for &b in &self.cfg.order {
            for (v, list) in &f.blocks[b as usize].phis {
                for &(p, x) in list {
                    pairs.push((depth(p), *v, x));
                }
            }
        }
        pairs.sort_by_key(|p| std::cmp::Reverse(p.0));
        for (_, v, x) in pairs {
            let compatible = f.const_of(x).is_none()
                && f.node(x).class == f.node(v).class
                && (uniform(x) == uniform(v) || f.node(v).class == Class::Pred);
            let (a, b) = (find(&mut parent, v), find(&mut parent, x));
            if compatible && a != b && !merged[a as usize].overlaps(&merged[b as usize]) {
                let other = std::mem::take(&mut merged[b as usize]);
                merged[a as usize].absorb(&other);
                parent[b as usize] = a;
            }
        }

        // Pools: lanes of 32 bits, lanes of 64 bits, scalars, masks.
        let pool = |v: V| match (f.node(v).class, uniform(v)) {
            (Class::Pred, _) => 3usize,
            (_, true) => 2,
            (Class::B64, _) => 1,
            _ => 0,
        };
        let mut members: [Vec<V>; 4] = Default::default();
        for v in 0..f.nodes.len() as V {
            if parent[v as usize] == v && !merged[v as usize].ranges.is_empty() {
                members[pool(v)].push(v);
            }
        }
        let sizes = [128u32, 256, 8, 4];
        let mut base = [0u32; 4];
        let mut slot_of: FxHashMap<V, u32> = FxHashMap::default();
        let mut at = 0u64;
        // The first slot of each vector pool takes results that nothing reads.
        for k in 0..4 {
            let items: Vec<Live> = members[k].iter().map(|&v| merged[v as usize].clone()).collect();
            let (slots, count) = assign(&items);
            base[k] = at as u32;
            for (&v, s) in members[k].iter().zip(slots) {
                slot_of.insert(v, base[k] + (s + 1) * sizes[k]);
            }
            at += u64::from(count + 1) * u64::from(sizes[k]);
            at = at.next_multiple_of(64);
        }
        let mut init = Vec::new();
        let mut consts: FxHashMap<V, u32> = FxHashMap::default();
        for (i, node) in f.nodes.iter().enumerate() {
            if let Op::Const(c) = node.op {
                consts.insert(i as V, at as u32);
                init.push((at as u32, c, node.class));
                at += 8;
            }
        }
        if at > 1 << 26 {
            return Err(LowerError::unsupported("a kernel that needs this many registers"));
        }
        let mut reg = |v: V| -> Reg {
            let class = f.node(v).class;
            if let Some(&off) = consts.get(&v) {
                return Reg { off, uniform: true, class };
            }
            let r = find(&mut parent, v);
            let off = slot_of.get(&r).copied().unwrap_or(base[pool(v)]);
            Reg { off, uniform: uniform(v), class }
        };

        let mut parts: FxHashMap<V, Vec<(u8, V)>> = FxHashMap::default();
        for &b in &self.cfg.order {
            for &v in &f.blocks[b as usize].nodes {
                if let Op::Part(k) = f.node(v).op {
                    parts.entry(f.node(v).args[0]).or_default().push((k, v));
                }
            }
        }

        // Copies that are left at the end of each block.
        let mut copies: Vec<Vec<(Reg, Reg)>> = vec![Vec::new(); f.blocks.len()];
        for &b in &self.cfg.order {
            for (v, list) in &f.blocks[b as usize].phis {
                let d = reg(*v);
                for &(p, x) in list {
                    let s = reg(x);
                    if s != d {
                        copies[p as usize].push((d, s));
                    }
                }
            }
        }
        let mut empty: Vec<bool> =
            (0..f.blocks.len()).map(|b| f.blocks[b].nodes.is_empty() && copies[b].is_empty() && b != 0).collect();
        self.keep_latches(&mut empty);
        let empty = empty;

        let classes = classify(f);
        let mut flow = Flow::new(f, &classes);
        let mut points: FxHashMap<V, u32> = FxHashMap::default();
        let mut out = Lowered {
            insts: Vec::new(),
            blocks: Vec::new(),
            frame_bytes: 0,
            init,
            positions: f.positions.clone(),
            variables: FxHashMap::default(),
            static_threadgroup: f.static_threadgroup,
            private_bytes: f.private_bytes,
            constants: f.constants.clone(),
            register_halves: self.pressure(&live, &uniform),
            shape: Arc::default(),
            written_params: super::roots::written(f),
            unused_params: super::roots::unused(f),
        };
        // Number of each block that stays.
        let mut number = vec![u32::MAX; f.blocks.len()];
        let mut count = 0;
        for &b in &self.cfg.order {
            if !empty[b as usize] || self.forward(b, &empty) == b {
                number[b as usize] = count;
                count += 1;
            }
        }
        for &b in &self.cfg.order {
            if number[b as usize] == u32::MAX {
                continue;
            }
            let blk = &f.blocks[b as usize];
            let first = out.insts.len() as u32;
            let id = number[b as usize];
            let pos_of = |v: V| f.node(v).pos;
            let insts = &mut out.insts;
            let push = |insts: &mut Vec<LInst>, op: LOp, dst: SmallVec<[Reg; 2]>, args: SmallVec<[Reg; 4]>, pos| {
                insts.push(LInst { op, dst, args, pos });
            };
            push(insts, LOp::Enter(id), SmallVec::new(), SmallVec::new(), blk.term_pos);
            for &v in &blk.nodes {
                let node = f.node(v);
                match node.op {
                    Op::Part(_) | Op::Nop => continue,
                    _ => {}
                }
                let mut dst: SmallVec<[Reg; 2]> = SmallVec::new();
                let count = match node.op {
                    Op::Load(m) => usize::from(m.count),
                    Op::CmpXchg(_) | Op::Mma(_) => 2,
                    _ => 0,
                };
                if count > 0 {
                    for k in 0..count {
                        let found = parts.get(&v).and_then(|p| p.iter().find(|x| usize::from(x.0) == k));
                        dst.push(match found {
                            Some(&(_, p)) => reg(p),
                            None => self.scratch(v, k, node.op, &base),
                        });
                    }
                } else if node.class != Class::None {
                    dst.push(reg(v));
                }
                let args = node.args.iter().map(|&a| reg(a)).collect();
                if !f.variables.is_empty() {
                    let at = insts.len() as u32;
                    let values: SmallVec<[(usize, V); 4]> = match node.op {
                        Op::Store(m) => node.args.iter().copied().take(usize::from(m.count)).enumerate().collect(),
                        _ if count > 0 => parts
                            .get(&v)
                            .map(|p| p.iter().map(|x| (usize::from(x.0), x.1)).collect())
                            .unwrap_or_default(),
                        _ => SmallVec::from_slice(&[(0, v)]),
                    };
                    for (k, v) in values {
                        if let Some(name) = f.variables.get(&v) {
                            out.variables.insert((at, k as u32), Arc::clone(name));
                        }
                    }
                }
                if node.op.mem(node.args.len()).is_some() {
                    points.insert(v, insts.len() as u32);
                }
                push(insts, LOp::Op(node.op), dst, args, pos_of(v));
            }
            for (d, s) in sequential(&copies[b as usize], &base) {
                push(insts, LOp::Copy, SmallVec::from_slice(&[d]), SmallVec::from_slice(&[s]), blk.term_pos);
            }
            let to = |t: BlockId| number[self.forward(t, &empty) as usize];
            let (op, args): (LOp, SmallVec<[Reg; 4]>) = match blk.term {
                Term::Br(t) => (LOp::Jump(to(t)), SmallVec::new()),
                Term::CondBr(c, t, e) => {
                    let (t, e) = (to(t), to(e));
                    let args = SmallVec::from_slice(&[reg(c)]);
                    let op = if self.div.branch[b as usize] { LOp::Split(t, e) } else { LOp::Branch(t, e) };
                    (op, args)
                }
                Term::Ret => (LOp::Ret, SmallVec::new()),
                Term::Unreachable => (LOp::Unreachable, SmallVec::new()),
            };
            push(insts, op, SmallVec::new(), args, blk.term_pos);
            let mut issue: Vec<(u32, InstrClass)> =
                blk.nodes.iter().filter_map(|&v| classes[v as usize].map(|c| (f.node(v).pos, c))).collect();
            issue.extend(
                copies[b as usize].iter().filter(|(d, _)| !d.uniform).map(|_| (blk.term_pos, InstrClass::Move)),
            );
            if matches!(blk.term, Term::CondBr(..)) {
                issue.push((blk.term_pos, InstrClass::Branch));
            }
            let moves = copies[b as usize].iter().filter(|(d, _)| !d.uniform).count();
            flow.block(b, &points, &|b| number[self.forward(b, &empty) as usize], moves);
            let (chain, chain_loads) = super::chain::block_chain(f, b, &classes);
            out.blocks.push(LBlock { first, issue, chain, chain_loads, term_pos: blk.term_pos });
        }
        out.frame_bytes = at.next_multiple_of(64) as u32;
        out.shape = Arc::new(Shape { register_halves: out.register_halves, ..flow.finish() });
        Ok(out)
    }

    /// A register for a result that nothing reads.
    fn scratch(&self, v: V, k: usize, op: Op, base: &[u32; 4]) -> Reg {
        use super::sir::Elem;
        let class = match op {
            Op::CmpXchg(_) if k == 1 => Class::Pred,
            Op::Load(m) | Op::CmpXchg(m) if m.elem == Elem::B64 => Class::B64,
            _ => Class::B32,
        };
        let uniform = !self.div.value[v as usize];
        let pool = match (class, uniform) {
            (Class::Pred, _) => 3,
            (_, true) => 2,
            (Class::B64, _) => 1,
            _ => 0,
        };
        Reg { off: base[pool], uniform, class }
    }

    /// Most register halves live at one point.
    fn pressure(&self, live: &[Live], uniform: &dyn Fn(V) -> bool) -> u32 {
        let _ = uniform;
        let mut events: Vec<(u32, i64)> = Vec::new();
        for (i, l) in live.iter().enumerate() {
            let h = i64::from(halves(self.f, i as V));
            for r in &l.ranges {
                if r.1 > r.0 {
                    events.push((r.0, h));
                    events.push((r.1, -h));
                }
            }
        }
        events.sort_unstable();
        let (mut now, mut max) = (0i64, 0i64);
        for (_, d) in events {
            now += d;
            max = max.max(now);
        }
        max as u32
    }
}

/// Orders parallel copies so that no source is overwritten before it is read; cycles go through a scratch slot.
fn sequential(copies: &[(Reg, Reg)], base: &[u32; 4]) -> Vec<(Reg, Reg)> {
    let mut left: Vec<(Reg, Reg)> = copies.to_vec();
    let mut out = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let free = left.iter().position(|(d, _)| !left.iter().any(|(e, s)| s.off == d.off && e.off != d.off));
        if let Some(i) = free {
            out.push(left.remove(i));
            continue;
        }
        // Every destination is still to be read: a cycle. Save one source.
        let (_, s) = left[0];
        let pool = match (s.class, s.uniform) {
            (Class::Pred, _) => 3,
            (_, true) => 2,
            (Class::B64, _) => 1,
            _ => 0,
        };
        let tmp = Reg { off: base[pool], ..s };
        out.push((tmp, s));
        for c in &mut left {
            if c.1.off == s.off {
                c.1 = tmp;
            }
        }
    }
    out
}
