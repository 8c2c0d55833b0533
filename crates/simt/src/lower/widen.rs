//! Joins loads of neighbouring elements into one vector load, as compilers for GPUs do: Apple GPUs load up to four
//! elements at once and ask no more of the address than one element's alignment. Keeps meaning.

use rustc_hash::FxHashMap;

use super::sir::{Args, Elem, Func, Index, Mem, Op, Space, V};

/// What loads must share to be neighbours: the operands of the address, and what is loaded.
type Key = (Args, Space, Elem, Index, u8);

/// Loads that nothing written since could have changed, with their place in the block.
type Open = FxHashMap<Key, Vec<(Mem, usize, V)>>;

/// Runs it on all blocks.
pub fn join_loads(f: &mut Func) {
    let mut parts: FxHashMap<V, Vec<V>> = FxHashMap::default();
    for b in &f.blocks {
        for &v in &b.nodes {
            if let (Op::Part(_), Some(&load)) = (f.node(v).op, f.node(v).args.first()) {
                parts.entry(load).or_default().push(v);
            }
        }
    }
    for b in 0..f.blocks.len() {
        let mut open = Open::default();
        let nodes = f.blocks[b].nodes.clone();
        for (at, &v) in nodes.iter().enumerate() {
            let n = f.node(v);
            match n.op {
                Op::Load(m) if !m.volatile && !m.atomic && matches!(m.space, Space::Device | Space::Threadgroup) => {
                    let key = (n.args.clone(), m.space, m.elem, m.index, m.shift);
                    open.entry(key).or_default().push((m, at, v));
                }
                Op::Store(w) => settle(f, &parts, &mut open, |s| w.space == s || w.space == Space::Generic),
                op if op.has_effect() => settle(f, &parts, &mut open, |_| true),
                _ => {}
            }
        }
        settle(f, &parts, &mut open, |_| true);
    }
}

/// Joins what can be joined of the loads from some spaces, which are about to be written.
fn settle(f: &mut Func, parts: &FxHashMap<V, Vec<V>>, open: &mut Open, of: impl Fn(Space) -> bool) {
    let mut ready: Vec<_> = open.extract_if(|k, _| of(k.1)).map(|(_, list)| list).collect();
    // The map has no order of its own; the outcome must have one.
    ready.sort_by_key(|list| list.first().map(|l| l.1));
    for mut list in ready {
        list.sort_by_key(|(m, at, _)| (m.offset, *at));
        let mut rest = list.as_slice();
        while let Some(first) = rest.first() {
            let most = if first.0.elem == Elem::B64 { 2 } else { 4 };
            let mut count = 0;
            let members = rest
                .iter()
                .take_while(|(m, ..)| {
                    let next = first.0.offset + i64::from(count) * i64::from(m.elem.bytes());
                    let fits = m.offset == next && count + m.count <= most;
                    count += if fits { m.count } else { 0 };
                    fits
                })
                .count()
                .max(1);
            let (run, others) = rest.split_at(members);
            if run.len() > 1 {
                join(f, parts, run, count);
            }
            rest = others;
        }
    }
}

/// Makes one load of a run of neighbours, at the place of the earliest.
fn join(f: &mut Func, parts: &FxHashMap<V, Vec<V>>, run: &[(Mem, usize, V)], count: u8) {
    let Some(&(_, _, earliest)) = run.iter().min_by_key(|(_, at, _)| *at) else { return };
    let mut before = 0;
    for (m, _, v) in run {
        for &p in parts.get(v).into_iter().flatten() {
            let node = &mut f.nodes[p as usize];
            if let Op::Part(k) = &mut node.op {
                *k += before;
            }
            node.args[0] = earliest;
        }
        before += m.count;
    }
    f.nodes[earliest as usize].op = Op::Load(Mem { count, ..run[0].0 });
}

#[cfg(test)]
mod tests {
    use super::super::sir::{Block, Class, NO_POS, Node, Term};
    use super::*;
    use smallvec::smallvec;

    fn push(f: &mut Func, op: Op, class: Class, args: Args) -> V {
        f.nodes.push(Node { op, class, args, pos: NO_POS, narrow: false, contract: false });
        let v = f.nodes.len() as V - 1;
        f.blocks[0].nodes.push(v);
        v
    }

    fn mem(space: Space, offset: i64) -> Mem {
        Mem {
            space,
            elem: Elem::B32,
            count: 1,
            index: Index::None,
            shift: 0,
            offset,
            align: 4,
            atomic: false,
            volatile: false,
        }
    }

    /// Loads at offsets from one base, with a store to a space after the second; gives each load's part.
    fn func(offsets: &[i64], store: Option<Space>) -> (Func, Vec<V>) {
        let block = Block { phis: vec![], nodes: vec![], term: Term::Ret, term_pos: NO_POS };
        let mut f = Func { blocks: vec![block], ..Func::default() };
        let base = push(&mut f, Op::Param(0), Class::B64, smallvec![]);
        let mut out = Vec::new();
        for (i, &o) in offsets.iter().enumerate() {
            let load = push(&mut f, Op::Load(mem(Space::Device, o)), Class::None, smallvec![base]);
            out.push(push(&mut f, Op::Part(0), Class::B32, smallvec![load]));
            if let (1, Some(space)) = (i, store) {
                push(&mut f, Op::Store(mem(space, 64)), Class::None, smallvec![out[0], base]);
            }
        }
        join_loads(&mut f);
        (f, out)
    }

    fn load_of(f: &Func, part: V) -> (V, Op, Mem) {
        let n = f.node(part);
        let Op::Load(m) = f.node(n.args[0]).op else { panic!("no load") };
        (n.args[0], n.op, m)
    }

    #[test]
    fn neighbours_in_any_order_become_one_load_of_four_at_most() {
        let (f, parts) = func(&[8, 4, 0, 12, 16], None);
        let first = load_of(&f, parts[0]);
        assert_eq!((first.1, first.2.offset, first.2.count), (Op::Part(2), 0, 4));
        for (p, k) in parts.iter().zip([2, 1, 0, 3]) {
            assert_eq!((load_of(&f, *p).0, f.node(*p).op), (first.0, Op::Part(k)));
        }
        let last = load_of(&f, parts[4]);
        assert!(last.0 != first.0 && last.2.count == 1);
    }

    #[test]
    fn a_store_between_keeps_loads_apart_where_it_may_write_what_they_read() {
        let (f, parts) = func(&[0, 4, 8], Some(Space::Device));
        assert_eq!(load_of(&f, parts[0]).0, load_of(&f, parts[1]).0);
        assert_ne!(load_of(&f, parts[0]).0, load_of(&f, parts[2]).0);
        let (f, parts) = func(&[0, 4, 8], Some(Space::Threadgroup));
        assert_eq!(load_of(&f, parts[0]).0, load_of(&f, parts[2]).0);
        let (f, parts) = func(&[0, 0, 8], None);
        assert_eq!(parts.iter().map(|p| load_of(&f, *p).2.count).collect::<Vec<_>>(), [1, 1, 1]);
    }
}
