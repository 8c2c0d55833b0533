//! Register pressure of what really ran: live values by block, from the kernel's shape and the ways that were taken. A
//! kernel with many variants is not judged by those that did not run. Knows shapes alone.

use std::collections::{BTreeMap, BTreeSet};

use ksearch_simt::{Detail, InstrClass as C};
use serde::{Deserialize, Serialize};

/// Rounds of the data flow at most; loops nest less deeply.
const ROUNDS: usize = 60;

/// Pressure of one block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BlockPressure {
    /// Times a simdgroup runs it.
    pub runs: f64,
    /// 32-bit registers live at most, in the compiler's order.
    pub live: f64,
    /// The same if all loads between two barriers are issued before everything else, as GPU compilers like to do.
    pub early: f64,
}

/// Registers of each block that ran.
pub fn pressure(detail: &Detail, simdgroups: u64) -> Vec<BlockPressure> {
    let blocks = &detail.shape.blocks;
    let mut next: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for t in &detail.traces {
        for w in t.blocks.windows(2) {
            if let [a, b] = w {
                next.entry(*a as usize).or_default().insert(*b as usize);
            }
        }
    }
    let mut words: BTreeMap<u32, f64> = BTreeMap::new();
    let (mut uses, mut defines) = (Vec::new(), Vec::new());
    for (i, b) in blocks.iter().enumerate() {
        let (mut u, mut d) = (BTreeSet::new(), BTreeSet::new());
        for p in &b.phis {
            words.insert(p.value, 1.0);
            d.insert(p.value);
            for (from, _) in &p.from {
                next.entry(*from as usize).or_default().insert(i);
            }
        }
        for n in &b.nodes {
            u.extend(n.operands.iter().filter(|o| !d.contains(o)).copied());
            d.insert(n.value);
            words.insert(n.value, width(n.class, n.words));
        }
        uses.push(u);
        defines.push(d);
    }
    let mut live_in = vec![BTreeSet::new(); blocks.len()];
    let mut live_out: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); blocks.len()];
    for _ in 0..ROUNDS {
        let mut changed = false;
        for i in (0..blocks.len()).rev() {
            let mut out: BTreeSet<u32> = BTreeSet::new();
            for &s in next.get(&i).into_iter().flatten() {
                out.extend(live_in.get(s).into_iter().flatten());
                for p in blocks.get(s).map(|b| b.phis.as_slice()).unwrap_or_default() {
                    out.remove(&p.value);
                    out.extend(p.from.iter().filter(|(f, _)| *f as usize == i).map(|(_, v)| *v));
                }
            }
            let mut entry = uses[i].clone();
            entry.extend(out.difference(&defines[i]));
            if out != live_out[i] || entry != live_in[i] {
                changed = true;
                live_out[i] = out;
                live_in[i] = entry;
            }
        }
        if !changed {
            break;
        }
    }
    let sum = |set: &BTreeSet<u32>| set.iter().map(|v| words.get(v).copied().unwrap_or(1.0)).sum::<f64>();
    let mut result = Vec::new();
    for (i, b) in blocks.iter().enumerate() {
        let runs = detail.blocks.get(i).map_or(0, |r| r.runs) as f64 / simdgroups.max(1) as f64;
        if runs <= 0.0 {
            continue;
        }
        let mut current = live_out[i].clone();
        let mut now = sum(&current);
        let mut live = now;
        for n in b.nodes.iter().rev() {
            if current.remove(&n.value) {
                now -= words.get(&n.value).copied().unwrap_or(1.0);
            }
            for o in &n.operands {
                if current.insert(*o) {
                    now += words.get(o).copied().unwrap_or(1.0);
                }
            }
            live = live.max(now);
        }
        let (mut loaded, mut most) = (0.0, 0.0f64);
        for n in &b.nodes {
            match n.class {
                C::LoadDevice | C::LoadThreadgroup => loaded += f64::from(n.words.max(1)),
                C::Barrier => loaded = 0.0,
                _ => {}
            }
            most = most.max(loaded);
        }
        result.push(BlockPressure { runs, live, early: live.max(sum(&live_in[i]) + most) });
    }
    result
}

/// 32-bit registers of a result.
fn width(class: C, words: u8) -> f64 {
    match class {
        C::StoreDevice | C::StoreThreadgroup | C::Branch | C::Barrier | C::SimdBarrier => 0.0,
        C::LoadDevice | C::LoadThreadgroup | C::Private => f64::from(words.max(1)),
        C::Mma32 | C::Int64 => 2.0,
        C::Fp16 => 0.5,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ksearch_simt::BlockRuns;
    use ksearch_simt::observe::trace::Trace;
    use ksearch_simt::shape::{BlockShape, NO_POINT, NodeShape, PhiShape, Shape};

    #[test]
    fn values_live_around_a_loop_count_and_early_loads_add() {
        let node = |class, value, operands: &[u32], words| NodeShape {
            class,
            value,
            operands: operands.to_vec(),
            point: NO_POINT,
            words,
        };
        // Block 0 makes value 0, which only block 2 uses; block 1 loops over two loads that are summed one by one.
        let blocks = vec![
            BlockShape { phis: vec![], nodes: vec![node(C::Fp32, 0, &[], 0)] },
            BlockShape {
                phis: vec![PhiShape { value: 1, from: vec![(1, 5)] }],
                nodes: vec![
                    node(C::LoadDevice, 2, &[], 4),
                    node(C::Fp32, 3, &[1, 2], 0),
                    node(C::LoadDevice, 4, &[], 4),
                    node(C::Fp32, 5, &[3, 4], 0),
                ],
            },
            BlockShape { phis: vec![], nodes: vec![node(C::StoreDevice, 6, &[0, 5], 1)] },
        ];
        let detail = Detail {
            shape: Shape { blocks, values: 7, ..Shape::default() },
            blocks: [1, 10, 1].map(|runs| BlockRuns { runs, lanes: 32, splits: 0 }).to_vec(),
            traces: vec![Trace { group: 0, simdgroup: 0, blocks: vec![0, 1, 1, 2] }],
            ..Detail::default()
        };
        let p = pressure(&detail, 1);
        assert_eq!(p.len(), 3);
        // The value of block 0, the sum, one load of four registers.
        assert_eq!((p[1].runs, p[1].live), (10.0, 6.0));
        assert_eq!(p[1].early, 9.0, "both loads at once, and what lives through");
    }
}
