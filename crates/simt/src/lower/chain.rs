//! Longest dependent chain of a block, for the latency term of a timing model. Knows classes, not cycles: to choose
//! among chains it weighs an instruction by a typical latency ratio, and reports only counts.

use rustc_hash::FxHashMap;

use super::sir::{BlockId, Func, InstrClass, Op, V};

/// Relative latencies used to pick the longest chain (a floating add is 1). From the ratios of published tables; only
/// the order matters.
fn weight(c: InstrClass) -> u32 {
    use InstrClass as C;
    match c {
        C::LoadDevice | C::AtomicDevice | C::Private => 60,
        C::LoadThreadgroup | C::AtomicThreadgroup => 12,
        C::Shuffle | C::ShuffleRandom | C::SimdReduce | C::Mma32 | C::Mma16 => 6,
        C::Special | C::SinCos | C::IntDiv => 8,
        C::Sqrt | C::Exp2 | C::Rcp | C::IntMul | C::Int64 => 3,
        C::StoreDevice | C::StoreThreadgroup | C::Branch | C::Barrier | C::SimdBarrier => 1,
        _ => 1,
    }
}

/// Counts by class along the longest chain from the block's start to its end, and how many rounds of device loads it
/// has.
pub fn block_chain(f: &Func, b: BlockId, classes: &[Option<InstrClass>]) -> (Vec<(InstrClass, u32)>, u32) {
    // Per node: weight of the longest chain that ends in it, the node before it, rounds of loads.
    let mut best: FxHashMap<V, (u32, Option<V>, u32)> = FxHashMap::default();
    let mut end: Option<V> = None;
    for &v in &f.blocks[b as usize].nodes {
        let n = f.node(v);
        let (mut w, mut from, mut loads) = (0, None, 0);
        for a in &n.args {
            if let Some(&(x, _, l)) = best.get(a)
                && (x > w || from.is_none())
            {
                (w, from, loads) = (x, Some(*a), l);
            }
        }
        if let Some(c) = classes[v as usize] {
            w += weight(c);
            loads += u32::from(c == InstrClass::LoadDevice);
        }
        if matches!(n.op, Op::Store(_)) {
            // A store ends no chain: nothing waits for it.
            continue;
        }
        best.insert(v, (w, from, loads));
        if end.and_then(|e| best.get(&e)).is_none_or(|x| w > x.0) {
            end = Some(v);
        }
    }
    let mut counts: Vec<(InstrClass, u32)> = Vec::new();
    let loads = end.and_then(|e| best.get(&e)).map_or(0, |x| x.2);
    let mut at = end;
    while let Some(v) = at {
        if let Some(c) = classes[v as usize] {
            match counts.iter_mut().find(|x| x.0 == c) {
                Some(x) => x.1 += 1,
                None => counts.push((c, 1)),
            }
        }
        at = best.get(&v).and_then(|x| x.1);
    }
    (counts, loads)
}
