//! Traces: the blocks that a few simdgroups went through, in order, with long repetitions cut. Knows block numbers alone.

use serde::{Deserialize, Serialize};

/// Times that one trace keeps the same block; after that it pauses until a rarer block comes.
const REPEATS: u16 = 40;
/// Blocks that a trace keeps at most.
const LENGTH: usize = 1 << 14;

/// The way of one simdgroup.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// Linear threadgroup.
    pub group: u64,
    /// Simdgroup in it.
    pub simdgroup: u32,
    /// Blocks in order. Where a block has come many times, further visits are left out.
    pub blocks: Vec<u32>,
}

/// Records traces of chosen simdgroups.
#[derive(Debug, Default)]
pub struct Recorder {
    /// Linear threadgroups to record, ascending.
    wanted: Vec<u64>,
    /// The group that runs, if it is one of them.
    group: Option<u64>,
    /// Simdgroup that is recorded beside the first.
    other: u32,
    /// Visits by recorded simdgroup and block.
    visits: [Vec<u16>; 2],
    open: [Trace; 2],
    /// Finished traces.
    pub done: Vec<Trace>,
}

impl Recorder {
    /// Chooses what to record: the first simdgroup and simdgroup `other` of these groups.
    pub fn plan(&mut self, groups: &[u64], other: u32) {
        self.wanted = groups.to_vec();
        self.other = other;
    }

    /// A group starts.
    pub fn start(&mut self, group: u64) {
        self.group = self.wanted.contains(&group).then_some(group);
        if self.group.is_some() {
            for v in &mut self.visits {
                v.clear();
            }
            self.open = [0, self.other].map(|simdgroup| Trace { group, simdgroup, blocks: Vec::new() });
        }
    }

    /// A simdgroup enters a block.
    #[inline]
    pub fn enter(&mut self, simdgroup: u32, block: u32) {
        if self.group.is_none() || (simdgroup != 0 && simdgroup != self.other) {
            return;
        }
        let k = usize::from(simdgroup != 0);
        let visits = &mut self.visits[k];
        let b = block as usize;
        if b >= visits.len() {
            visits.resize(b + 1, 0);
        }
        if visits[b] < REPEATS && self.open[k].blocks.len() < LENGTH {
            visits[b] += 1;
            self.open[k].blocks.push(block);
        }
    }

    /// The group ended.
    pub fn end(&mut self) {
        if self.group.take().is_some() {
            let [first, other] = std::mem::take(&mut self.open);
            self.done.push(first);
            if self.other != 0 {
                self.done.push(other);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_chosen_groups_and_cuts_repetitions() {
        let mut r = Recorder::default();
        r.plan(&[5], 3);
        r.start(4);
        r.enter(0, 1);
        r.end();
        r.start(5);
        for _ in 0..1000 {
            r.enter(0, 1);
        }
        r.enter(0, 2);
        r.enter(1, 7);
        r.enter(3, 9);
        r.end();
        assert_eq!(r.done.len(), 2);
        assert_eq!(r.done[0].blocks.len(), usize::from(REPEATS) + 1);
        assert_eq!(r.done[0].blocks.last(), Some(&2));
        assert_eq!((r.done[1].simdgroup, r.done[1].blocks.as_slice()), (3, &[9][..]));
    }
}
