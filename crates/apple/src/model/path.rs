//! The dependent path of one simdgroup: walks recorded traces in order, as a core that issues in order between blocks and
//! reorders within them, and says what the time of one simdgroup alone is made of. Knows shapes and classes; must not know
//! chips.

use std::collections::HashMap;

use ksearch_simt::observe::reuse::DISTANCES;
use ksearch_simt::shape::{NO_POINT, NodeShape};
use ksearch_simt::{Detail, InstrClass as C};
use serde::{Deserialize, Serialize};

/// Visits of blocks that are walked of each trace, and instructions in them.
const VISITS: usize = 1500;
/// See [`VISITS`].
const INSTRUCTIONS: usize = 40_000;
/// Lines that the first-level cache is taken to keep for one threadgroup, when it is asked what a load on the path waits for.
const NEAR: u32 = 24;

/// What a time on the path is made of. Each number is counted in the unit its comment names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Path {
    /// Issue slots.
    pub slots: f64,
    /// Cycles of waiting for simple arithmetic.
    pub simple: f64,
    /// Cycles of waiting for complex arithmetic, matrices, reductions.
    pub complex: f64,
    /// Loads of threadgroup memory.
    pub threadgroup: f64,
    /// Loads of device memory.
    pub device: f64,
    /// Of those, the ones that the first level does not hold.
    pub missed: f64,
    /// Accesses of private memory.
    pub private: f64,
    /// Barriers.
    pub barriers: f64,
    /// Branches.
    pub branches: f64,
    /// Cycles of issuing matrix instructions.
    pub matrix: f64,
}

/// Weights with which the walk decides which of several chains is the longest; near the fitted ones.
const WALK: Path = Path {
    slots: 1.8,
    simple: 1.0,
    complex: 1.0,
    threadgroup: 40.0,
    device: 80.0,
    missed: 120.0,
    private: 80.0,
    barriers: 20.0,
    branches: 4.0,
    matrix: 1.0,
};

impl Path {
    /// Cycles, with the cycles of each part in `w`.
    pub fn cycles(&self, w: &Self) -> f64 {
        self.slots * w.slots
            + self.simple * w.simple
            + self.complex * w.complex
            + self.threadgroup * w.threadgroup
            + self.device * w.device
            + self.missed * w.missed
            + self.private * w.private
            + self.barriers * w.barriers
            + self.branches * w.branches
            + self.matrix * w.matrix
    }

    fn combine(&self, o: &Self, f: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            slots: f(self.slots, o.slots),
            simple: f(self.simple, o.simple),
            complex: f(self.complex, o.complex),
            threadgroup: f(self.threadgroup, o.threadgroup),
            device: f(self.device, o.device),
            missed: f(self.missed, o.missed),
            private: f(self.private, o.private),
            barriers: f(self.barriers, o.barriers),
            branches: f(self.branches, o.branches),
            matrix: f(self.matrix, o.matrix),
        }
    }
}

/// A point on the path: when, and what of.
#[derive(Clone, Copy, Debug, Default)]
struct When {
    at: f64,
    of: Path,
}

/// What an instruction costs on the walk: issue slots, and what a dependent one waits for.
struct Step {
    value: u32,
    operands: Vec<u32>,
    issue: Path,
    issue_cycles: f64,
    wait: Path,
    wait_cycles: f64,
    class: C,
}

/// Issue slots of an instruction of one simdgroup alone. Those of the integer-and-complex pipe take 4 to 8 cycles there
/// (metal-benchmarks), a slot about two.
fn slots(class: C) -> f64 {
    match class {
        C::SimdReduce | C::SinCos | C::Special => 8.0,
        C::ShuffleRandom => 15.0,
        C::IntDiv => 12.0,
        C::Sqrt => 4.0,
        C::Rcp => 3.0,
        C::Int64 | C::Exp2 | C::IntMul | C::Shift | C::Convert => 2.0,
        C::Mma32 | C::Mma16 => 0.01,
        _ => 1.0,
    }
}

/// What a dependent instruction waits for. Cycles of arithmetic: metal-benchmarks' adjusted latencies, for f32 between
/// its two values (2.2 in a loop, 6 for a chain of three-operand multiply-adds).
fn wait(class: C, missed: f64) -> Path {
    let simple = |c| Path { simple: c, ..Path::default() };
    let complex = |c| Path { complex: c, ..Path::default() };
    match class {
        C::Fp32 => simple(4.5),
        C::Fp16 | C::IntAdd | C::Bitwise => simple(3.5),
        C::CompareSelect => simple(4.7),
        C::Move => simple(2.0),
        C::Int64 => simple(10.0),
        C::Vote => simple(5.0),
        C::Shuffle => simple(5.7),
        C::IntMul | C::Shift | C::Convert => complex(6.0),
        C::IntDiv => complex(60.0),
        C::Rcp | C::Exp2 => complex(8.0),
        C::Sqrt => complex(11.0),
        C::SinCos => complex(30.0),
        C::Special => complex(50.0),
        C::ShuffleRandom => complex(45.0),
        C::SimdReduce => complex(28.0),
        C::Mma32 => complex(36.0),
        C::Mma16 => complex(34.0),
        C::LoadThreadgroup | C::AtomicThreadgroup => Path { threadgroup: 1.0, ..Path::default() },
        C::LoadDevice | C::AtomicDevice => Path { device: 1.0, missed, ..Path::default() },
        C::Private => Path { private: 1.0, ..Path::default() },
        C::StoreDevice | C::StoreThreadgroup | C::Branch | C::Barrier | C::SimdBarrier => Path::default(),
    }
}

fn step(n: &NodeShape, missed: &HashMap<u32, f64>) -> Step {
    let matrix = match n.class {
        C::Mma32 => 18.0,
        C::Mma16 => 17.0,
        _ => 0.0,
    };
    let one = if n.point == NO_POINT { slots(n.class) } else { 1.0 };
    let issue = Path { slots: one, matrix, ..Path::default() };
    let wait = wait(n.class, missed.get(&n.point).copied().unwrap_or(0.0));
    Step {
        value: n.value,
        operands: n.operands.clone(),
        issue_cycles: issue.cycles(&WALK),
        issue,
        wait_cycles: wait.cycles(&WALK),
        wait,
        class: n.class,
    }
}

/// The path of one simdgroup, mean over all that ran. What a trace left out counts as what it kept of the same block.
pub fn path(detail: &Detail, simdgroups: u64) -> Path {
    let missed: HashMap<u32, f64> = detail
        .points
        .iter()
        .map(|p| {
            let all: u64 = p.reuse.iter().sum();
            let far: u64 = p
                .reuse
                .iter()
                .enumerate()
                .filter(|(i, _)| DISTANCES.get(*i).is_none_or(|d| *d > NEAR))
                .map(|(_, n)| n)
                .sum();
            (p.point, far as f64 / all.max(1) as f64)
        })
        .collect();
    let blocks: Vec<Vec<Step>> =
        detail.shape.blocks.iter().map(|b| b.nodes.iter().map(|n| step(n, &missed)).collect()).collect();
    let totals: Vec<When> = blocks
        .iter()
        .map(|steps| {
            let of = steps.iter().fold(Path::default(), |sum, s| sum.combine(&s.issue, |a, b| a + b));
            When { at: of.cycles(&WALK), of }
        })
        .collect();
    let mut sums = vec![(Path::default(), 0u64); blocks.len()];
    for trace in &detail.traces {
        walk(detail, &blocks, &totals, &trace.blocks, &mut sums);
    }
    let mut out = Path::default();
    for (b, runs) in detail.blocks.iter().enumerate().filter(|(_, r)| r.runs > 0) {
        let times = runs.runs as f64 / simdgroups.max(1) as f64;
        let (sum, visits) = sums.get(b).copied().unwrap_or_default();
        if visits > 0 {
            out = out.combine(&sum, |a, s| a + s / visits as f64 * times);
        } else if let Some(total) = totals.get(b) {
            out = out.combine(&total.of, |a, s| a + s * times);
        }
    }
    out
}

/// Walks one trace and adds what each block's visits take.
fn walk(detail: &Detail, blocks: &[Vec<Step>], totals: &[When], trace: &[u32], sums: &mut [(Path, u64)]) {
    let mut ready: Vec<Option<When>> = vec![None; detail.shape.values as usize];
    let known = |ready: &[Option<When>], v: u32| ready.get(v as usize).copied().flatten();
    let set = |ready: &mut [Option<When>], v: u32, when: When| {
        if let Some(slot) = ready.get_mut(v as usize) {
            *slot = Some(when);
        }
    };
    let mut left = INSTRUCTIONS;
    let mut front = When::default();
    let mut previous = u32::MAX;
    for &b in trace.iter().take(VISITS) {
        let (Some(steps), Some(shape), Some(total)) =
            (blocks.get(b as usize), detail.shape.blocks.get(b as usize), totals.get(b as usize))
        else {
            continue;
        };
        for phi in &shape.phis {
            let from = phi.from.iter().find(|(p, _)| *p == previous);
            if let Some(when) = from.and_then(|(_, v)| known(&ready, *v)) {
                set(&mut ready, phi.value, when);
            }
        }
        let start = front;
        // Nothing is faster than issuing all of it.
        let mut end = When { at: start.at + total.at, of: start.of.combine(&total.of, |a, x| a + x) };
        for s in steps {
            let begin =
                s.operands.iter().filter_map(|o| known(&ready, *o)).fold(start, |a, w| if w.at > a.at { w } else { a });
            let done = begin.at + s.issue_cycles;
            if done > end.at {
                end = When { at: done, of: begin.of.combine(&s.issue, |a, x| a + x) };
            }
            match s.class {
                C::Barrier => {
                    end.at += WALK.barriers;
                    end.of.barriers += 1.0;
                }
                C::Branch => {
                    end.at += WALK.branches;
                    end.of.branches += 1.0;
                }
                _ => {}
            }
            if s.wait_cycles > 0.0 {
                let of = begin.of.combine(&s.wait, |a, x| a + x);
                set(&mut ready, s.value, When { at: begin.at + s.wait_cycles, of });
            }
        }
        if let Some((sum, visits)) = sums.get_mut(b as usize) {
            *sum = sum.combine(&end.of, |a, x| a + x).combine(&start.of, |a, x| a - x);
            *visits += 1;
        }
        front = end;
        previous = b;
        let Some(rest) = left.checked_sub(steps.len()) else { return };
        left = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ksearch_simt::BlockRuns;
    use ksearch_simt::observe::trace::Trace;
    use ksearch_simt::shape::{BlockShape, Shape};

    fn node(class: C, value: u32, operands: &[u32]) -> NodeShape {
        NodeShape { class, value, operands: operands.to_vec(), point: NO_POINT, words: 0 }
    }

    fn detail(nodes: Vec<NodeShape>) -> Detail {
        Detail {
            shape: Shape {
                values: nodes.len() as u32,
                blocks: vec![BlockShape { phis: vec![], nodes }],
                ..Shape::default()
            },
            blocks: vec![BlockRuns { runs: 1, lanes: 32, splits: 0 }],
            traces: vec![Trace { group: 0, simdgroup: 0, blocks: vec![0] }],
            ..Detail::default()
        }
    }

    #[test]
    fn a_chain_waits_and_independent_work_does_not() {
        let chain: Vec<_> =
            (0..8u32).map(|i| node(C::Fp32, i, &i.checked_sub(1).into_iter().collect::<Vec<_>>())).collect();
        let wide: Vec<_> = (0..8).map(|i| node(C::Fp32, i, &[])).collect();
        let (a, b) = (path(&detail(chain), 1), path(&detail(wide), 1));
        assert!(a.simple > 30.0 && b.simple == 0.0, "{a:?} {b:?}");
        assert_eq!(b.slots, 8.0);
    }

    #[test]
    fn loads_before_their_uses_wait_once() {
        let loads = vec![
            node(C::LoadThreadgroup, 0, &[]),
            node(C::LoadThreadgroup, 1, &[]),
            node(C::Fp32, 2, &[0, 1]),
            node(C::StoreDevice, 3, &[2]),
        ];
        let p = path(&detail(loads), 1);
        assert_eq!((p.threadgroup, p.device), (1.0, 0.0));
    }

    #[test]
    fn blocks_that_no_trace_saw_count_their_issue() {
        let mut d = detail(vec![node(C::Fp32, 0, &[])]);
        d.traces.clear();
        d.blocks[0].runs = 5;
        assert_eq!(path(&d, 1).slots, 5.0);
    }
}
